//! The copy of an output in which its Fortran is compiled and run.

use super::compiler::Compiler;
use super::driver::{self, RunCard};
use super::matrix_element::{Caller, MatrixElement};
use super::points::Point;
use super::tree::Tree;
use super::{card, child, statements};
use mebridge::files::temporary::Temporary;
use mebridge::{Error, Result};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Memory limit in bytes, more than any matrix element needs, and less than would make a machine swap.
const MEMORY: u64 = 8 << 30;

/// Makes a private temporary folder, because its contents are compiled and run.
pub fn scratch() -> Result<Temporary> {
    let within = std::env::temp_dir();
    Temporary::folder(&within, 0o700).map_err(Error::io(within))
}

/// The Fortran's answer for one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// `ANS`.
    pub value: f64,
    /// The chosen helicity, from 1; 0 if it is not returned.
    pub helicity: u32,
    /// The chosen colour flow, from 1; 0 if it is not returned.
    pub color: u32,
    /// Helicities of the legs, if they are returned this way.
    pub helicities: Vec<i8>,
    /// Of a Born: its colour links and complex Borns, see [`super::born::parts`].
    pub parts: Vec<f64>,
}

/// A channel: its diagram, and a configuration with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Number of the diagram, from 1.
    pub diagram: u32,
    /// Number of the configuration, from 1.
    pub config: u32,
}

/// How common files are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objects {
    /// Each to an object, which may be replaced.
    ByFile,
    /// Those of a folder together where that is possible: most of the time goes into starts of the compiler.
    ByFolder,
}

/// A copy of an output with its common parts compiled.
pub struct FortranBuild {
    /// The files.
    pub tree: Tree,
    /// The compiler.
    pub compiler: Compiler,
    run_card: RunCard,
    /// Files that every program needs.
    pub common: Vec<PathBuf>,
    /// Whether the choice of colour flows is the directory's own.
    pub colors: bool,
    /// Folder in which programs run.
    running: PathBuf,
    scratch: Temporary,
    /// What [`FortranBuild::masses`] found.
    masses: Option<Option<(usize, Vec<f64>)>>,
}

impl FortranBuild {
    /// Copies the files and compiles what every matrix element needs.
    pub fn open(
        mut tree: Tree,
        optimisation: &str,
        quad: bool,
        kind: Objects,
    ) -> Result<std::result::Result<FortranBuild, String>> {
        let scratch = scratch()?;
        let [root, objects, running] =
            ["output", "objects", "run"].map(|name| scratch.path().join(name));
        for folder in [&root, &objects, &running] {
            std::fs::create_dir(folder).map_err(Error::io(folder))?;
        }
        if let Err(failure) = card::add(&mut tree) {
            return Ok(Err(failure));
        }
        let p = tree.element.clone();
        let mut add = |name: &str, text: String| {
            let path = p.join(name);
            tree.files.insert(path.clone(), text);
            path
        };
        // The module comes first, because others use it.
        let stand_ins = format!("{}{}", driver::sampler(), driver::stand_ins());
        let mut common = vec![add("meb_stand_ins.f", stand_ins)];
        let mut together = common.clone();
        for (folder, name) in [
            ("Source/DHELAS", "meb_dhelas.f"),
            ("Source/MODEL", "meb_model.f"),
        ] {
            let mut files = tree.sources(folder);
            files.retain(|file| !is_program(tree.text(file).unwrap_or("")));
            if kind == Objects::ByFolder && !files.is_empty() {
                let path = Path::new(folder).join(name);
                let text = files.iter().filter_map(|file| tree.text(file));
                let text = text.flat_map(|text| [text, "\n"]).collect();
                tree.files.insert(path.clone(), text);
                together.push(path);
            }
            common.extend(files);
        }
        let compiler = Compiler::new(&root, &objects, optimisation, quad);
        let mut build = FortranBuild {
            run_card: RunCard::read(&tree),
            tree,
            compiler,
            common,
            colors: false,
            running,
            scratch,
            masses: None,
        };
        build.tree.write(&root)?;
        for card in ["param_card.dat", "ident_card.dat"] {
            if let Some(text) = build.tree.text(Path::new("Cards").join(card)) {
                let to = build.running.join(card);
                std::fs::write(&to, text).map_err(Error::io(&to))?;
            }
        }
        if kind == Objects::ByFolder && build.compiler.compile(&together).is_ok() {
            build.common = together;
        } else if let Err(failure) = build.compiler.compile(&build.common) {
            return Ok(Err(failure));
        }
        build.add_color_choice()?;
        Ok(Ok(build))
    }

    /// Adds the directory's own choice of colour flows, or one that chooses nothing.
    fn add_color_choice(&mut self) -> Result<()> {
        let p = self.tree.element.clone();
        let nothing = "      SUBROUTINE SELECT_COLOR(RCOL,JAMP2,ICONFIG,IPROC,ICOL)
      REAL*8 RCOL,JAMP2(*)
      INTEGER ICONFIG,IPROC,ICOL
      ICOL=0
      END
";
        let by_itself = self.tree.text(p.join("select_color.f"));
        let own = [
            by_itself.map(str::to_owned),
            driver::color_choice(&self.tree),
        ];
        let own = own.into_iter().flatten();
        let own = own.map(|text| (driver::only_in_channels(&text), true));
        for (text, colors) in own.chain([(nothing.into(), false)]).collect::<Vec<_>>() {
            let path = self.add(&p.join("meb_select_color.f"), text)?;
            if self.compiler.compile(std::slice::from_ref(&path)).is_ok() {
                self.common.push(path);
                self.colors = colors;
                break;
            }
        }
        Ok(())
    }

    /// Adds a file, or replaces it.
    pub fn add(&mut self, path: &Path, text: String) -> Result<PathBuf> {
        self.tree.files.insert(path.to_owned(), text);
        self.tree.write_file(&self.compiler.root, path)?;
        Ok(path.to_owned())
    }

    /// Returns the temporary folder.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Returns the path of a file in the folder in which programs run.
    pub fn running(&self, file: &Path) -> PathBuf {
        self.running.join(file)
    }

    /// Writes the driver of a matrix element and returns its file.
    pub fn driver(&mut self, element: &MatrixElement) -> Result<PathBuf> {
        let text = driver::program(&self.tree, element, self.run_card);
        let name = format!("meb_driver{}.f", element.number);
        self.add(&self.tree.element.join(name), text)
    }

    /// Returns the objects of these files and of the common ones.
    pub fn objects(&self, files: &[&Path]) -> Vec<PathBuf> {
        let files = files.iter().copied();
        files
            .chain(self.common.iter().map(PathBuf::as_path))
            .map(|file| self.compiler.object(file))
            .collect()
    }

    /// Makes the program of a matrix element.
    pub fn program(
        &mut self,
        element: &MatrixElement,
    ) -> Result<std::result::Result<PathBuf, String>> {
        let program = self.folder().join(format!("oracle{}", element.number));
        Ok(self.complete(element, &program)?.map(|_| program))
    }

    /// Compiles the files of a program except for the common ones: the matrix element's own, the driver, and stubs for
    /// routines that do not exist.
    pub fn parts(
        &mut self,
        element: &MatrixElement,
    ) -> Result<std::result::Result<Vec<PathBuf>, String>> {
        let program = self.compiler.objects.join("complete");
        self.complete(element, &program)
    }

    /// The same, and links them.
    fn complete(
        &mut self,
        element: &MatrixElement,
        program: &Path,
    ) -> Result<std::result::Result<Vec<PathBuf>, String>> {
        let driver = self.driver(element)?;
        let mut files = vec![element.file.clone(), driver];
        if element.kind == Caller::Born {
            files.extend(super::born::link_files(&self.tree));
        }
        if let Err(failure) = self.compiler.compile(&files) {
            return Ok(Err(failure));
        }
        let own: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let objects = self.objects(&own);
        let stubs = self
            .tree
            .element
            .join(format!("meb_absent{}.f", element.number));
        Ok(match self.link_with_absent(&objects, &stubs, program)? {
            Ok(true) => {
                files.push(stubs);
                Ok(files)
            }
            Ok(false) => Ok(files),
            Err(failure) => Err(failure),
        })
    }

    /// Returns the number of incoming legs and the masses of all legs, from the Fortran.
    pub fn masses(&mut self) -> Result<Option<(usize, Vec<f64>)>> {
        if self.masses.is_none() {
            self.masses = Some(self.find_masses()?);
        }
        Ok(self.masses.clone().flatten())
    }

    fn find_masses(&mut self) -> Result<Option<(usize, Vec<f64>)>> {
        let Some(text) = driver::masses(&self.tree) else {
            return Ok(None);
        };
        let file = self.add(&self.tree.element.join("meb_masses.f"), text)?;
        let program = self.folder().join("masses");
        let model = self.common.iter().filter(|f| f.starts_with("Source/MODEL"));
        let objects: Vec<PathBuf> = std::iter::once(&file)
            .chain(model)
            .map(|file| self.compiler.object(file))
            .collect();
        if self.compiler.compile(&[file]).is_err() {
            return Ok(None);
        }
        let stubs = self.tree.element.join("meb_absent_there.f");
        let linked = self.link_with_absent(&objects, &stubs, &program)?;
        let answers = linked.and_then(|_| self.execute(&program, None, Duration::from_secs(60)));
        let Ok(text) = answers else {
            return Ok(None);
        };
        let mut words = text.split_whitespace();
        let incoming = words.next().and_then(|w| w.parse().ok());
        let masses: Option<Vec<f64>> = words.map(|w| w.parse().ok()).collect();
        Ok(incoming.zip(masses))
    }

    /// Links objects, with stubs in this file for missing routines; returns whether there are any.
    fn link_with_absent(
        &mut self,
        objects: &[PathBuf],
        stubs: &Path,
        program: &Path,
    ) -> Result<std::result::Result<bool, String>> {
        let absent = match self.compiler.link(objects, program) {
            Ok(absent) if absent.is_empty() => return Ok(Ok(false)),
            Ok(absent) => absent,
            Err(failure) => return Ok(Err(failure)),
        };
        let file = self.add(stubs, driver::absent(&absent))?;
        let stub = self.compiler.object(&file);
        let compiled = self.compiler.compile(&[file]);
        let objects: Vec<PathBuf> = objects.iter().cloned().chain([stub]).collect();
        let linked = compiled.and_then(|()| self.compiler.link(&objects, program));
        Ok(linked.and_then(|absent| match absent.first() {
            None => Ok(true),
            Some(name) => Err(format!("undefined reference to {name}")),
        }))
    }

    /// Evaluates events with a program.
    pub fn evaluate(
        &self,
        program: &Path,
        points: &[Point],
        channel: Option<Channel>,
        limit: Duration,
    ) -> std::result::Result<Vec<Answer>, String> {
        let input = self.folder().join("events.txt");
        std::fs::write(&input, events(points, channel)).map_err(|e| e.to_string())?;
        let text = self.execute(program, Some(&input), limit)?;
        let answers: Option<Vec<Answer>> = text.lines().map(answer).collect();
        let answers = answers.ok_or("an answer is not a number")?;
        if answers.len() != points.len() {
            return Err(format!(
                "{} answers to {} events",
                answers.len(),
                points.len()
            ));
        }
        Ok(answers)
    }

    /// Runs a program and returns its output.
    fn execute(
        &self,
        program: &Path,
        input: Option<&Path>,
        limit: Duration,
    ) -> std::result::Result<String, String> {
        let output = self.folder().join("answers.txt");
        let mut command = Command::new(program);
        command.arg(&output).current_dir(&self.running);
        let errors = self.folder().join("errors.txt");
        child::run(command, input, &errors, limit, Some(MEMORY))?;
        std::fs::read_to_string(&output).map_err(|e| e.to_string())
    }
}

/// Whether a file has a program.
fn is_program(text: &str) -> bool {
    let statements = statements::read(text);
    let mut statements = statements.iter();
    statements.any(|s| s.text.starts_with("PROGRAM") && !s.text.contains('='))
}

/// Formats events for the driver, with all digits of each number.
pub fn events(points: &[Point], channel: Option<Channel>) -> String {
    let mut text = String::new();
    let (diagram, config) = channel.map_or((0, 0), |c| (c.diagram, c.config));
    for point in points {
        let _ = write!(
            text,
            "{:.52e} {:e} {:e} {diagram} {config}",
            point.g, point.random_helicity, point.random_color
        );
        for x in &point.momenta {
            let _ = write!(text, "\n{x:.52e}");
        }
        text.push('\n');
    }
    text
}

/// Reads one answer.
pub fn answer(line: &str) -> Option<Answer> {
    let mut words = line.split_whitespace();
    let value = words.next()?;
    let value = match value {
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        text => text.parse().ok()?,
    };
    let helicity = words.next()?.parse().ok()?;
    let color = words.next()?.parse().ok()?;
    let (parts, helicities): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('.'));
    let helicities = helicities.into_iter().map(|w| w.parse().ok());
    let helicities = helicities.collect::<Option<_>>()?;
    let parts = parts.into_iter().map(|w| w.parse().ok());
    let parts = parts.collect::<Option<_>>()?;
    Some(Answer {
        value,
        helicity,
        color,
        helicities,
        parts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let read = answer("    1.25000000000000000E-0003       3       0    -1   1").unwrap();
        assert_eq!((read.value, read.helicity, read.color), (1.25e-3, 3, 0));
        assert_eq!(read.helicities, [-1, 1]);
        assert!(answer("  NaN 0 0").unwrap().value.is_nan());
        assert!(answer("**** 0 0").is_none());
    }
}
