//! Calls gfortran's parts directly: the compiler proper, assembler and linker, without the driver and without the
//! linker's plugin. This is faster for many small programs.

use mebridge_oracle::child;
use mebridge_oracle::compiler::Compiler;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time limit, because a changed file may keep the compiler busy forever.
const LIMIT: Duration = Duration::from_secs(60);

/// The parts with their arguments.
#[derive(Clone, Debug)]
pub struct Quick {
    compiler: PathBuf,
    assembler: PathBuf,
    linker: PathBuf,
    flags: Vec<String>,
    /// The linker's arguments before and after the objects.
    before: Vec<String>,
    behind: Vec<String>,
    folder: PathBuf,
}

impl Quick {
    /// Asks gfortran for the commands that it would run. Work is done in this folder.
    pub fn new(compiler: &Compiler, folder: &Path) -> Result<Quick, String> {
        let ask = |arguments: &[&str]| {
            let output = Command::new("gfortran").args(arguments).output();
            let output = output.map_err(|e| e.to_string())?;
            Ok::<_, String>(output)
        };
        let part = |name: &str| {
            let output = ask(&[&format!("-print-prog-name={name}")])?;
            let text = String::from_utf8_lossy(&output.stdout);
            Ok::<_, String>(PathBuf::from(text.trim()))
        };
        let report = ask(&["-###", "meb_objects.o", "-o", "meb_program"])?;
        let text = String::from_utf8_lossy(&report.stderr);
        let line = text.lines().rfind(|line| line.contains("meb_objects.o"));
        let line = line.ok_or("gfortran does not say how it links")?;
        let words = words(line);
        let mut arguments = Vec::new();
        let mut skip = true; // collect2 itself
        for word in words {
            match () {
                () if std::mem::take(&mut skip) => {}
                () if word == "-plugin" || word == "-o" => skip = true,
                () if word.starts_with("-plugin-opt") => {}
                () => arguments.push(word),
            }
        }
        let at = arguments.iter().position(|word| word == "meb_objects.o");
        let gold = part("gold")?;
        let behind = arguments.split_off(at.ok_or("gfortran does not say how it links")?);
        Ok(Quick {
            compiler: part("f951")?,
            assembler: part("as")?,
            // gold is three times as fast, if it is installed.
            linker: match gold.is_absolute() {
                true => gold,
                false => part("ld")?,
            },
            flags: compiler.flags.clone(),
            before: arguments,
            behind: behind[1..].to_vec(),
            folder: folder.to_owned(),
        })
    }

    /// Compiles a file to an object.
    pub fn compile(&self, file: &Path, object: &Path) -> Result<(), String> {
        let assembly = self.folder.join("quick.s");
        let mut command = Command::new(&self.compiler);
        command.arg(file).arg("-quiet").args(&self.flags);
        command.arg("-o").arg(&assembly).current_dir(&self.folder);
        self.run(command)?;
        let mut command = Command::new(&self.assembler);
        command.arg("-o").arg(object).arg(&assembly);
        self.run(command)
    }

    /// Links objects to a program.
    pub fn link(&self, objects: &[PathBuf], program: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.linker);
        command.arg("-o").arg(program).args(&self.before);
        command.args(objects).args(&self.behind);
        self.run(command)
    }

    fn run(&self, command: Command) -> Result<(), String> {
        let errors = self.folder.join("quick.txt");
        child::run(command, None, &errors, LIMIT, Some(4 << 30)).map_err(|failure| {
            let text = std::fs::read_to_string(&errors).unwrap_or_default();
            let is_error = |line: &&str| line.contains("rror:") || line.contains("undefined ref");
            let line = text.lines().find(is_error);
            line.map_or(failure, str::to_owned)
        })
    }
}

/// Splits a command in the quoting of `-###` into words.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_are_one() {
        assert_eq!(words(r#" a "b c" -x"#), ["a", "b c", "-x"]);
    }
}
