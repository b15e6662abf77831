//! The files of an output on which a matrix element depends.

use super::statements;
use mebridge::files::{regular, temporary};
use mebridge::{Error, Result};
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

/// Size limit in bytes; larger files are ignored.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Extensions of files that are copied.
const EXTENSIONS: [&str; 6] = ["f", "inc", "dat", "mg", "txt", "f90"];

/// Files of one output, by their path in it.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The subprocess directory: `SubProcesses/P1_gg_ttx`.
    pub element: PathBuf,
    /// Path and contents.
    pub files: SortedMap<PathBuf, String>,
    /// Files that are links to others of these, with their targets.
    pub links: SortedMap<PathBuf, PathBuf>,
}

impl Tree {
    /// Reads the files of a subprocess directory.
    pub fn read(directory: &Path) -> Result<Tree> {
        let full = std::fs::canonicalize(directory).map_err(Error::io(directory))?;
        let name = full.file_name().unwrap_or_default().to_owned();
        let element = Path::new("SubProcesses").join(name);
        let output = full.join("..").join("..");
        let output = std::fs::canonicalize(&output).map_err(Error::io(&output))?;
        let mut tree = Tree {
            element: element.clone(),
            files: SortedMap::new(),
            links: SortedMap::new(),
        };
        let folders = [
            element,
            "SubProcesses".into(),
            "Source".into(),
            "Source/MODEL".into(),
            "Source/DHELAS".into(),
            "Cards".into(),
        ];
        for folder in folders {
            tree.add(&output, &folder)?;
        }
        let files = &tree.files;
        tree.links.retain(|_, to| files.contains_key(to));
        Ok(tree)
    }

    /// Writes all files under this folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        for path in self.files.keys() {
            let Some(real) = self.links.get(path) else {
                self.write_file(folder, path)?;
                continue;
            };
            let to = Tree::place(folder, path)?;
            symlink(folder.join(real), &to).map_err(Error::io(&to))?;
        }
        Ok(())
    }

    /// Writes one of the files.
    pub fn write_file(&self, folder: &Path, path: &Path) -> Result<()> {
        let to = Tree::place(folder, path)?;
        let text = self.files.get(path).map_or("", String::as_str);
        std::fs::write(&to, text).map_err(Error::io(&to))
    }

    /// Returns the path for writing one of the files, after making its folders. `folder` is a temporary one.
    fn place(folder: &Path, path: &Path) -> Result<PathBuf> {
        let to = folder.join(path);
        if let Some(parent) = path.parent() {
            temporary::make_folders(folder, parent).map_err(Error::io(&to))?;
        }
        Ok(to)
    }

    /// Returns a file's text.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<&str> {
        self.files.get(path.as_ref()).map(String::as_str)
    }

    /// Returns the Fortran files of a folder.
    pub fn sources(&self, folder: &str) -> Vec<PathBuf> {
        let is_source = |path: &&PathBuf| {
            path.parent() == Some(Path::new(folder)) && path.extension().is_some_and(|e| e == "f")
        };
        self.files.keys().filter(is_source).cloned().collect()
    }

    /// Whether this is a subprocess directory of aMC@NLO.
    pub fn is_nlo(&self) -> bool {
        self.text(self.element.join("born.f")).is_some()
    }

    /// Returns the matrix elements of the directory: number (empty for `matrix.f`) and file. MG5aMC's own file is
    /// preferred to one that a run derived from it. The Born of aMC@NLO follows its real emissions.
    pub fn elements(&self) -> Vec<(String, PathBuf)> {
        let start = if self.is_nlo() { "matrix_" } else { "matrix" };
        let mut found: SortedMap<(u32, String), PathBuf> = SortedMap::new();
        for path in self.sources(&self.element.to_string_lossy()) {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let Some(rest) = stem.strip_prefix(start) else {
                continue;
            };
            let (number, original) = match rest.strip_suffix("_orig") {
                Some(number) => (number, true),
                None => (rest, false),
            };
            if !number.bytes().all(|b| b.is_ascii_digit()) {
                continue;
            }
            let key = (number.parse().unwrap_or(0), number.to_owned());
            if !original || !found.contains_key(&key) {
                found.insert(key, path);
            }
        }
        let of_number = |((_, number), path)| (number, path);
        let mut elements: Vec<(String, PathBuf)> = found.into_iter().map(of_number).collect();
        if self.is_nlo() {
            let number = (elements.len() + 1).to_string();
            elements.push((number, self.element.join("born.f")));
        }
        elements
    }

    /// Reads the files of a folder, but not of its subfolders.
    fn add(&mut self, output: &Path, folder: &Path) -> Result<()> {
        let Ok(entries) = std::fs::read_dir(output.join(folder)) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let extension = Path::new(&name).extension().unwrap_or_default();
            if !EXTENSIONS.iter().any(|e| extension == *e) {
                continue;
            }
            // A dangling link counts as a missing file.
            let Ok(data) = std::fs::metadata(entry.path()) else {
                continue;
            };
            if !data.is_file() || data.len() > MAX_FILE_BYTES {
                continue;
            }
            let path = folder.join(name);
            let bytes =
                regular::read(&entry.path(), MAX_FILE_BYTES).map_err(Error::io(entry.path()))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Ok(real) = std::fs::canonicalize(entry.path())
                && let Ok(real) = real.strip_prefix(output)
                && real != path
            {
                self.links.insert(path.clone(), real.to_owned());
            }
            self.files.insert(path, text);
        }
        Ok(())
    }

    /// Returns the files that a file includes, directly or indirectly.
    pub fn includes(&self, file: &Path) -> SortedSet<PathBuf> {
        let mut found = SortedSet::new();
        if let Some(text) = self.text(file) {
            self.add_includes(text, file, &mut found);
        }
        found
    }

    /// The same for a text that replaces this file.
    pub fn add_includes(&self, text: &str, file: &Path, found: &mut SortedSet<PathBuf>) {
        for name in text.lines().filter_map(statements::included) {
            let beside = file.parent().unwrap_or(Path::new(""));
            let Some(path) = [beside, Path::new("Source")]
                .into_iter()
                .map(|folder| plain(&folder.join(name)))
                .find(|path| self.files.contains_key(path))
            else {
                continue;
            };
            // A link and its target belong together.
            found.extend(self.links.get(&path).cloned());
            if found.insert(path.clone())
                && let Some(text) = self.text(&path)
            {
                self.add_includes(text, &path, found);
            }
        }
    }
}

/// Returns a path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let p = "fortran/gg_ttx/SubProcesses/P1_gg_ttx";
        Tree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(p)).unwrap()
    }

    #[test]
    fn the_directory_that_comes_with_the_source_is_read() {
        let tree = tree();
        let matrix = Path::new("SubProcesses/P1_gg_ttx/matrix1.f").to_owned();
        assert_eq!(tree.elements(), [("1".to_owned(), matrix.clone())]);
        assert_eq!(tree.sources("Source/DHELAS").len(), 5);
        let includes = tree.includes(&matrix);
        assert!(includes.contains(Path::new("Source/vector.inc")));
    }

    #[test]
    fn paths_become_plain() {
        assert_eq!(plain(Path::new("a/b/../../c/./d")), Path::new("c/d"));
    }
}
