//! The layout of an output, and the kind of MadEvent in it.

use super::at::FolderEntryKind;
use super::card;
use super::fortran::Surroundings;
use super::listing::files;
use super::matrix_element::{is_ungrouped, latin};
use super::root::{OutputRoot, wrong};
use mebridge::process::Process;
use mebridge::{Error, Result};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The executables in a P directory that can be linked: MadEvent's own, those with the plugin, and aMC@NLO's.
pub const EXECUTABLES: [&str; 8] = [
    "madevent",
    "madevent_cpp",
    "madevent_cuda",
    "madevent_hip",
    "madevent_mintFO",
    "madevent_mintMC",
    "test_soft_col_limits",
    "check_poles",
];

/// An output of MG5aMC.
#[derive(Debug)]
pub struct OutputLayout {
    pub root: PathBuf,
    /// The selected P directories, by name.
    pub chosen: Vec<String>,
    /// Whether MadEvent requests batches of events (Source/vector.inc).
    pub vector: bool,
    /// Whether each P directory has a single matrix element, without a number.
    pub ungrouped: bool,
}

/// The program that calls the matrix elements of a P directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKind {
    /// MadEvent's own Fortran.
    Plain,
    /// MadEvent with the plugin CUDACPP.
    Plugin,
    /// aMC@NLO's programs.
    Nlo,
}

/// A P directory.
#[derive(Debug)]
pub struct Subprocess {
    pub name: String,
    pub path: PathBuf,
    pub kind: CallerKind,
}

impl CallerKind {
    /// Returns the names of its executables.
    pub fn executables(self) -> &'static [&'static str] {
        match self {
            CallerKind::Plain => &EXECUTABLES[..1],
            CallerKind::Plugin => &EXECUTABLES[..4],
            CallerKind::Nlo => &EXECUTABLES[4..],
        }
    }
}

impl OutputLayout {
    /// Finds the output of a path, which is the output or one of its P directories.
    pub fn find(path: &Path) -> Result<OutputLayout> {
        let path = path.canonicalize().map_err(Error::io(path))?;
        let is_root = |path: &Path| {
            path.join("SubProcesses").is_dir() && path.join("Source/make_opts").is_file()
        };
        let parent = |path: &Path| path.parent().map(Path::to_owned);
        let name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned());
        let (root, only) = if is_root(&path) {
            (path.clone(), None)
        } else if let Some(root) = parent(&path).filter(|p| is_root(p))
            && name(&path).as_deref() == Some("SubProcesses")
        {
            (root, None)
        } else if let Some(root) = parent(&path)
            .and_then(|p| parent(&p))
            .filter(|p| is_root(p))
        {
            (root, name(&path))
        } else {
            return Err(wrong(
                &path,
                "this is no output of `output madevent`, nor a P directory of one: there is no SubProcesses beside a \
                 Source/make_opts (an unpacked gridpack has it in its folder madevent)"
                    .into(),
            ));
        };
        if root.join("Source/RUNNING").is_dir() {
            return Err(wrong(
                &root,
                "parameters of its model run (Source/RUNNING), from an alpha_s that only MadEvent knows; make events by \
                 `mebridge events`, or leave it unlinked"
                    .into(),
            ));
        }
        let chosen = match only {
            Some(name) => vec![name],
            None => subprocesses(&root)?,
        };
        let folder = root.join("SubProcesses");
        let ungrouped: Result<Vec<bool>> = chosen
            .iter()
            .map(|name| is_ungrouped(&folder.join(name)))
            .collect();
        Ok(OutputLayout {
            ungrouped: ungrouped?.into_iter().any(|is| is),
            vector: root.join("Source/vector.inc").is_file(),
            root,
            chosen,
        })
    }

    /// Returns a P directory by its name.
    pub fn subprocess(&self, name: &str) -> Result<Subprocess> {
        let path = self.root.join("SubProcesses").join(name);
        if mebridge::import::is_nlo(&path) {
            return Ok(Subprocess {
                name: name.to_owned(),
                path,
                kind: CallerKind::Nlo,
            });
        }
        if !path.join("auto_dsig.f").is_file() {
            return Err(Error::NotProcessDirectory {
                path,
                missing: "it has no auto_dsig.f, so no madevent is made in it".into(),
            });
        }
        let kind = match path.join("CPPProcess.cc").is_file() {
            true => CallerKind::Plugin,
            false => CallerKind::Plain,
        };
        if kind == CallerKind::Plugin && !path.join("cudacpp.mk").is_file() {
            return Err(wrong(
                &path,
                "it has the plugin's CPPProcess.cc, but no cudacpp.mk: versions of the plugin before MG5aMC 3.6 are not \
                 known"
                    .into(),
            ));
        }
        Ok(Subprocess {
            name: name.to_owned(),
            path,
            kind,
        })
    }

    /// Whether the plugin wrote it.
    pub fn has_plugin(&self) -> bool {
        let is = |name: &String| {
            let subprocess = self.subprocess(name);
            subprocess.is_ok_and(|s| s.kind == CallerKind::Plugin)
        };
        self.chosen.iter().any(is)
    }

    /// Checks that an output with the plugin is linked as a whole, because its P directories share libraries.
    pub fn check_whole_output(&self) -> Result<()> {
        match self.chosen == subprocesses(&self.root)? {
            true => Ok(()),
            false => Err(wrong(
                &self.root,
                "the P directories of an output with the plugin share its libraries; name the whole output".into(),
            )),
        }
    }

    /// Returns the properties on which the Fortran depends besides the matrix elements.
    pub fn surroundings(&self) -> Result<Surroundings> {
        let path = self.root.join("Cards/run_card.dat");
        let text = match path.exists() {
            true => latin(&path)?,
            false => String::new(),
        };
        let number = |name: &str, default: f64| match card::entry(&text, name) {
            None => Ok(default),
            Some(value) => value
                .replace(['d', 'D'], "e")
                .parse()
                .map_err(|_| wrong(&path, format!("{name} is `{value}`, which is no number"))),
        };
        Ok(Surroundings {
            vector: self.vector,
            small_width: number("small_width_treatment", 1e-6)?,
            bw_cutoff: number("bwcutoff", 15.0)?,
        })
    }

    /// Returns the words, in upper case, of the files that declare the parameters of the model.
    pub fn variables(&self) -> Result<HashSet<String>> {
        let mut words = HashSet::new();
        for file in ["input.inc", "coupl.inc"] {
            let text = latin(&self.root.join("Source/MODEL").join(file))?;
            let found = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.extend(found.map(str::to_uppercase));
        }
        Ok(words)
    }

    /// Returns the folders in which the plugin builds: a folder, and `build.*` in it.
    fn build_folders(&self, root: &OutputRoot, folder: &str) -> Result<Vec<String>> {
        let inner = root.names(folder)?.into_iter().filter_map(|name| {
            let name = name.into_string().ok()?;
            name.starts_with("build.")
                .then(|| format!("{folder}/{name}"))
        });
        Ok(std::iter::once(folder.to_owned()).chain(inner).collect())
    }

    /// Returns products of the plugin's makefiles for a P directory and for the shared parts: its libraries, and the
    /// stamps for them. Paths are relative to the output; `ours` selects those that lead to our library.
    pub fn plugin_products(&self, directory: &str, ours: bool) -> Result<Vec<String>> {
        let root = OutputRoot::open(&self.root)?;
        let mut found = Vec::new();
        for folder in self.build_folders(&root, &format!("SubProcesses/{directory}"))? {
            let stamp = format!("{folder}/.cudacpplibs");
            if root.kind(&stamp).is_ok_and(|kind| kind.is_some()) {
                found.push(stamp);
            }
        }
        for folder in self.build_folders(&root, "lib")? {
            for name in root.names(&folder)? {
                let Ok(name) = name.into_string() else {
                    continue;
                };
                let path = format!("{folder}/{name}");
                let to = root.find(&path)?.and_then(|place| place.read_link());
                let to_us = to.is_some_and(|to| to.ends_with("libmebridge.so"));
                let plugins = name.starts_with("libmg5amc_") && name.ends_with(".so");
                // The name under which an installed library is loaded; the one in `lib` itself is in the journal.
                let soname = ours && name == "libmebridge.so.0" && folder != "lib";
                if (plugins || soname) && to_us == ours {
                    found.push(path);
                }
            }
        }
        Ok(found)
    }

    /// Removes the objects of an output that make recompiles: all of them depend on VECSIZE_MEMMAX. Returns the objects
    /// that are kept because make would not recompile them: those without a source, and those in a user's own folders
    /// without a makefile.
    pub fn remove_objects(&self, root: &OutputRoot) -> Result<Vec<PathBuf>> {
        let mut folders = vec![PathBuf::from("Source")];
        for folder in ["Source", "Source/PDF", "Source/BIAS", "SubProcesses"] {
            let names = root.names(folder)?.into_iter();
            folders.extend(names.map(|name| Path::new(folder).join(name)));
        }
        let mut stay = Vec::new();
        for folder in folders {
            // Nothing in links to other folders, or in files.
            let names = root.names(&folder)?;
            let is_made = COMPILED.iter().any(|&name| folder == Path::new(name))
                || MADE.iter().any(|&name| names.iter().any(|n| n == name));
            for name in &names {
                let path = folder.join(name);
                // The plugin's makefiles have a stamp for the contents of lib.
                if is_made && name == ".libs" {
                    root.remove(path)?;
                } else if path.extension().is_some_and(|e| e == "o") {
                    match is_made && sources_of(name).any(|source| names.contains(&source)) {
                        true => root.remove(path)?,
                        false => stay.push(path),
                    }
                }
            }
        }
        for (name, folder) in ARCHIVES {
            let path = format!("lib/lib{name}.a");
            let is_file = root.kind(&path)? == Some(FolderEntryKind::File);
            if is_file && !root.names(folder)?.is_empty() {
                root.remove(path)?;
            }
        }
        Ok(stay)
    }
}

/// Checks that MadEvent has a variable for each parameter of the card.
pub fn check_card(directory: &Path, process: &Process, known: &HashSet<String>) -> Result<()> {
    let from_card = process.model.card.iter().filter(|p| !p.index.is_empty());
    for parameter in from_card {
        if !known.contains(&parameter.name) {
            return Err(wrong(
                directory,
                format!(
                    "the parameter {} ({} {:?} of the card) has no variable in Source/MODEL/input.inc and coupl.inc, so \
                     an executable could not say what it runs with",
                    parameter.name, parameter.block, parameter.index
                ),
            ));
        }
    }
    Ok(())
}

/// Folders that MadEvent's makefiles compile.
const COMPILED: [&str; 5] = [
    "Source",
    "Source/MODEL",
    "Source/DHELAS",
    "Source/PDF",
    "Source/CERNLIB",
];

/// Files that show that make compiles another folder: makefiles, or the mark of a P directory.
const MADE: [&str; 4] = ["makefile", "Makefile", "GNUmakefile", "auto_dsig.f"];

/// Libraries of an output, and where they are compiled.
const ARCHIVES: [(&str, &str); 8] = [
    ("dhelas", "Source/DHELAS"),
    ("dsample", "Source"),
    ("generic", "Source"),
    ("pdf", "Source/PDF"),
    ("gammaUPC", "Source/PDF/gammaUPC"),
    ("model", "Source/MODEL"),
    ("cernlib", "Source/CERNLIB"),
    ("bias", "Source/BIAS"),
];

/// Returns the possible sources of an object, in the same folder: its name with the extension of a language. The
/// plugin's objects have a suffix for the target, and one of ours is made from the object of a matrix element.
fn sources_of(object: &OsStr) -> impl Iterator<Item = OsString> {
    const ENDINGS: [&str; 14] = [
        "f", "F", "for", "f77", "f90", "F90", "c", "C", "cc", "cpp", "cxx", "cu", "s", "S",
    ];
    let stem = Path::new(object).file_stem().unwrap_or_default();
    let name = stem.to_string_lossy();
    let kinds = ["_cudacpp", "_cpp", "_cuda", "_hip", "_fortran"];
    let plain = kinds.iter().find_map(|kind| name.strip_suffix(kind));
    let ours = name.strip_prefix("mebridge_fortran");
    let ours = ours.map(|number| format!("mebridge_matrix{number}"));
    let others = plain.map(str::to_owned).into_iter().chain(ours);
    let stems: Vec<OsString> = others
        .map(OsString::from)
        .chain([stem.to_owned()])
        .collect();
    stems.into_iter().flat_map(|stem| {
        ENDINGS.map(move |ending| {
            let mut source = stem.clone();
            source.push(".");
            source.push(ending);
            source
        })
    })
}

impl Subprocess {
    /// Returns the names of the executables in it; `madevent` may be a link to another one.
    pub fn executables(&self) -> Result<Vec<String>> {
        let known = self.kind.executables();
        let names = files(&self.path)?.into_iter().filter_map(|path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            known.contains(&name.as_str()).then_some(name)
        });
        Ok(names.collect())
    }
}

/// Returns the names of the P directories of MadEvent or aMC@NLO.
pub fn subprocesses(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("SubProcesses");
    let mut names: Vec<String> = files(&folder)?
        .into_iter()
        .filter(|path| path.join("auto_dsig.f").is_file() || mebridge::import::is_nlo(path))
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .filter(|name| name.starts_with('P'))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(wrong(
            &folder,
            "there is no P directory with an auto_dsig.f or a born.f in it: this is no output of `output madevent`, nor of \
             aMC@NLO"
                .into(),
        ));
    }
    Ok(names)
}
