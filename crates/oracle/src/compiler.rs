//! gfortran.

use super::child;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time limit, longer than the compiler takes for MG5aMC's largest files.
const LIMIT: Duration = Duration::from_secs(1800);

/// The compiler with its options, for the copy of an output at `root`.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// Where the copy is.
    pub root: PathBuf,
    /// Where objects and modules go.
    pub objects: PathBuf,
    /// Options.
    pub flags: Vec<String>,
}

/// Whether gfortran is installed.
pub fn is_there() -> bool {
    let version = Command::new("gfortran").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

impl Compiler {
    /// Makes a compiler with this optimisation; in quadruple precision with `quad`.
    pub fn new(root: &Path, objects: &Path, optimisation: &str, quad: bool) -> Compiler {
        let mut flags: Vec<String> = ["-w", "-ffixed-line-length-132", optimisation]
            .map(String::from)
            .into();
        if quad {
            flags.push("-freal-8-real-16".into());
        }
        for folder in ["Source", "Source/MODEL"] {
            flags.push(format!("-I{}", root.join(folder).display()));
        }
        flags.push(format!("-I{}", objects.display()));
        flags.push(format!("-J{}", objects.display()));
        Compiler {
            root: root.to_owned(),
            objects: objects.to_owned(),
            flags,
        }
    }

    /// Returns the path of a file's object.
    pub fn object(&self, file: &Path) -> PathBuf {
        let name = file.file_stem().unwrap_or_default();
        self.objects.join(name).with_extension("o")
    }

    /// Compiles files of the copy. A failure is reported with its first error.
    pub fn compile(&self, files: &[PathBuf]) -> Result<(), String> {
        if files.is_empty() {
            return Ok(());
        }
        let mut command = Command::new("gfortran");
        command.arg("-c").args(&self.flags);
        command.args(files.iter().map(|file| self.root.join(file)));
        command.current_dir(&self.objects);
        self.run(command)
    }

    /// Links objects; returns the routines, in lower case, that are missing for the result to be a program.
    pub fn link(&self, objects: &[PathBuf], program: &Path) -> Result<Vec<String>, String> {
        let mut command = Command::new("gfortran");
        command.args(objects).arg("-o").arg(program);
        // Without the plugin for link-time optimisation, of which there is none.
        command.args(["-fno-use-linker-plugin", "-Wl,--warn-unresolved-symbols"]);
        self.run(command)?;
        let found = std::fs::read_to_string(self.errors()).unwrap_or_default();
        let absent = lacking(&found);
        match found.lines().find_map(undefined) {
            Some(name) if absent.is_empty() => Err(format!("undefined reference to {name}")),
            _ => Ok(absent),
        }
    }

    /// The last message of the compiler.
    fn errors(&self) -> PathBuf {
        self.objects.join("errors.txt")
    }

    fn run(&self, command: Command) -> Result<(), String> {
        let errors = self.errors();
        child::run(command, None, &errors, LIMIT, None).map_err(|failure| {
            let text = std::fs::read_to_string(&errors).unwrap_or_default();
            first_error(&text, &self.root).unwrap_or(failure)
        })
    }
}

/// Returns the undefined name in a line of the linker's output.
fn undefined(line: &str) -> Option<&str> {
    let (_, name) = line.split_once("undefined reference to `")?;
    name.split('\'').next()
}

/// Returns the undefined routines in the linker's output.
fn lacking(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(undefined);
    let names = names.filter_map(|name| name.strip_suffix('_'));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the first error of gfortran's report, with file and line.
fn first_error(text: &str, root: &Path) -> Option<String> {
    let mut place = "";
    for line in text.lines() {
        if line.ends_with(':') && !line.starts_with(' ') {
            place = line;
        } else if line.starts_with("Error:") || line.starts_with("Fatal Error:") {
            let root = format!("{}/", root.display());
            return Some(format!("{place} {line}").replace(&root, ""));
        } else if let Some((_, name)) = line.split_once("undefined reference to ") {
            return Some(format!("undefined reference to {name}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_told_with_its_place() {
        let text = "/tmp/x/a.f:3:7:\n\n    3 |  CALL\n      |  1\nError: Bad thing at (1)\n";
        let messages = first_error(text, Path::new("/tmp/x"));
        assert_eq!(
            messages.as_deref(),
            Some("a.f:3:7: Error: Bad thing at (1)")
        );
    }

    #[test]
    fn names_that_are_lacking_are_found() {
        let text = "a.f:(.text+0x3): undefined reference to `foo_'\nb: more undefined references \
                    to `foo_' follow\nb.f:(.text): undefined reference to `bar_'\n";
        assert_eq!(lacking(text), ["bar", "foo"]);
    }
}
