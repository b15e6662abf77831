//! Judges one changed file: compares the importer with gfortran.

use super::change::Change;
use super::parts;
use super::quick::Quick;
use super::verdict::{Measure, Outcome, Verdict};
use super::worker::{Answer, Failure, Reply, Task, Worker};
use mebridge::files::temporary::Temporary;
use mebridge::{Error, Result};
use mebridge_oracle::fortran_build::{self, Channel, FortranBuild, Objects};
use mebridge_oracle::matrix_element::MatrixElement;
use mebridge_oracle::points::{Point, moved};
use mebridge_oracle::tree::Tree;
use mebridge_oracle::{card, child};
use mebridge_support::sorted::SortedSet;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Largest relative change of momenta, to determine the effect of rounding on an answer.
const MOVED: f64 = 2e-15;

/// Time limit for a changed program, which may loop forever.
const LIMIT: Duration = Duration::from_secs(10);

/// Everything that one job needs: copies of the directory, objects, a worker.
pub struct Bench {
    tree: Tree,
    element: MatrixElement,
    points: Vec<Point>,
    /// Answers of the unchanged directory.
    unchanged: Vec<f64>,
    tolerance: f64,
    imported: Temporary,
    build: FortranBuild,
    /// The files of the program with all their include files.
    units: Vec<(PathBuf, SortedSet<PathBuf>)>,
    /// The program units of each file with their objects; `None` if it cannot be split.
    parts: HashMap<PathBuf, Option<Vec<(String, PathBuf)>>>,
    quick: Quick,
    worker: Worker,
    /// Times of the stages.
    pub times: Times,
}

/// Seconds spent in each stage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    pub import: Duration,
    pub compile: Duration,
    pub link: Duration,
    pub run: Duration,
}

impl Times {
    /// Adds the times of another job.
    pub fn add(&mut self, other: Times) {
        self.import += other.import;
        self.compile += other.compile;
        self.link += other.link;
        self.run += other.run;
    }
}

impl Bench {
    /// Compiles everything once and checks that the unchanged directory agrees.
    pub fn open(
        tree: &Tree,
        element: &MatrixElement,
        index: usize,
        points: &[Point],
        tolerance: f64,
    ) -> Result<std::result::Result<Bench, String>> {
        let imported = fortran_build::scratch()?;
        tree.write(imported.path())?;
        let directory = imported.path().join(&tree.element);
        let task = Task::new(directory, index, element, points);
        let path = imported.path().join("task.json");
        let text = serde_json::to_string(&task).map_err(|e| Error::io(&path)(e.into()))?;
        std::fs::write(&path, text).map_err(Error::io(&path))?;
        let mut build = match FortranBuild::open(tree.clone(), "-O0", false, Objects::ByFile)? {
            Ok(build) => build,
            Err(failure) => return Ok(Err(failure)),
        };
        let files = match build.parts(element)? {
            Ok(files) => files,
            Err(failure) => return Ok(Err(failure)),
        };
        let quick = match Quick::new(&build.compiler, &build.compiler.objects) {
            Ok(quick) => quick,
            Err(failure) => return Ok(Err(failure)),
        };
        let all = files.iter().chain(&build.common);
        let units = all
            .map(|file| (file.clone(), build.tree.includes(file)))
            .collect();
        let mut bench = Bench {
            tree: tree.clone(),
            element: element.clone(),
            points: points.to_vec(),
            unchanged: Vec::new(),
            tolerance,
            imported,
            build,
            units,
            parts: HashMap::new(),
            quick,
            worker: Worker::new(path),
            times: Times::default(),
        };
        let verdict = bench.import_and_run(&[])?;
        bench.unchanged = match bench.worker.request()? {
            Ok(Reply::Accepted { answers, .. }) => answers
                .iter()
                .filter_map(|a| a.value.parse().ok())
                .collect(),
            _ => Vec::new(),
        };
        Ok(match verdict.outcome {
            Outcome::Agrees => Ok(bench),
            _ => Err(format!("unchanged it does not agree: {}", verdict.detail)),
        })
    }

    /// Returns the files of the directory from which the program is made, and those that only the importer reads.
    pub fn targets(&self) -> Vec<PathBuf> {
        let ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("meb_") || !self.tree.files.contains_key(path)
        };
        let called = self.called();
        let mut targets: SortedSet<PathBuf> = SortedSet::new();
        for (file, includes) in &self.units {
            let dhelas = file.starts_with("Source/DHELAS");
            if dhelas && !called.contains(file) {
                continue;
            }
            if file.starts_with("Source/MODEL") && !matters(file) {
                continue;
            }
            // The importer does not read this file.
            if file.ends_with("select_color.f") {
                continue;
            }
            // Our own driver includes files of the directory, too.
            targets.extend(includes.iter().filter(|path| read_by_us(path)).cloned());
            targets.insert(file.clone());
        }
        for name in [
            "coloramps.inc",
            "leshouche.inc",
            "config_subproc_map.inc",
            "pmass.inc",
        ] {
            targets.insert(self.tree.element.join(name));
        }
        for name in ["param_card.dat", "ident_card.dat"] {
            targets.insert(Path::new("Cards").join(name));
        }
        // It is made from the cards, if those exist.
        if self.tree.text("Cards/ident_card.dat").is_some() {
            targets.remove(Path::new("Source/param_card.inc"));
        }
        let linked = |path: &PathBuf| self.tree.links.contains_key(path);
        targets.retain(|path| !ours(path) && !linked(path));
        targets.into_iter().collect()
    }

    /// Returns the files of Lorentz structures that the matrix element calls, directly or indirectly.
    fn called(&self) -> SortedSet<PathBuf> {
        let mut called = SortedSet::new();
        let mut open = vec![self.element.file.clone()];
        let dhelas = self.tree.sources("Source/DHELAS");
        while let Some(file) = open.pop() {
            let text = self.tree.text(&file).unwrap_or("").to_ascii_uppercase();
            for candidate in &dhelas {
                let stem = candidate.file_stem().unwrap_or_default().to_string_lossy();
                let stem = stem.to_ascii_uppercase();
                let named = stem == "ALOHA_FUNCTIONS" || text.contains(&format!("{stem}("));
                if named && called.insert(candidate.clone()) {
                    open.push(candidate.clone());
                }
            }
        }
        called
    }

    /// Judges a change of one file and restores the file.
    pub fn judge(&mut self, file: &Path, change: &Change) -> Result<Verdict> {
        let at = self.imported.path().join(file);
        std::fs::write(&at, &change.text).map_err(Error::io(&at))?;
        let start = Instant::now();
        let reply = self.worker.request();
        self.times.import += start.elapsed();
        let verdict = match reply? {
            Err(failure) => Ok(Verdict::new(
                Outcome::Hangs,
                match failure {
                    Failure::Hangs => "the import takes too long",
                    Failure::Crashes => "the import ends its process",
                },
            )),
            Ok(Reply::Refused(reason)) => Ok(Verdict::new(Outcome::Refused, &reason)),
            Ok(Reply::Panicked(reason)) => Ok(Verdict::new(Outcome::Panics, &reason)),
            Ok(Reply::Accepted { channels, answers }) => {
                self.against_fortran(file, change, &channels, &answers)
            }
        };
        self.tree.write_file(self.imported.path(), file)?;
        verdict
    }

    /// Compiles everything that depends on the file, runs, compares, and restores the file.
    fn against_fortran(
        &mut self,
        file: &Path,
        change: &Change,
        channels: &[(u32, u32)],
        answers: &[Answer],
    ) -> Result<Verdict> {
        let mut changed = vec![(file.to_owned(), change.text.clone())];
        if file.starts_with("Cards") {
            // The card is first converted to Fortran, unless the Fortran reads it itself.
            let mut tree = self.tree.clone();
            tree.files.insert(file.to_owned(), change.text.clone());
            if let Err(failure) = card::add(&mut tree) {
                return Ok(Verdict::new(Outcome::NotCompiled, &failure));
            }
            let written = Path::new("Source/param_card.inc");
            if let Some(text) = tree.text(written)
                && Some(text) != self.build.tree.text(written)
            {
                changed.push((written.to_owned(), text.to_owned()));
            }
            let name = file.file_name().unwrap_or_default();
            let running = self.build.running(Path::new(name));
            std::fs::write(&running, &change.text).map_err(Error::io(&running))?;
        }
        for (path, text) in &changed {
            let at = self.build.compiler.root.join(path);
            std::fs::write(&at, text).map_err(Error::io(&at))?;
        }
        let paths: Vec<PathBuf> = changed.into_iter().map(|(path, _)| path).collect();
        let verdict = self.compile_and_run(&paths, channels, answers);
        for path in &paths {
            self.build
                .tree
                .write_file(&self.build.compiler.root, path)?;
        }
        if file.starts_with("Cards") {
            let running = self
                .build
                .running(Path::new(file.file_name().unwrap_or_default()));
            let text = self.tree.text(file).unwrap_or("");
            std::fs::write(&running, text).map_err(Error::io(&running))?;
        }
        verdict
    }

    /// Imports and runs the unchanged directory.
    fn import_and_run(&mut self, changed: &[PathBuf]) -> Result<Verdict> {
        match self.worker.request()? {
            Ok(Reply::Accepted { channels, answers }) => {
                self.compile_and_run(changed, &channels, &answers)
            }
            Ok(Reply::Refused(reason) | Reply::Panicked(reason)) => {
                Ok(Verdict::new(Outcome::Refused, &reason))
            }
            Err(_) => Ok(Verdict::new(Outcome::Hangs, "the import ends its process")),
        }
    }

    fn compile_and_run(
        &mut self,
        changed: &[PathBuf],
        channels: &[(u32, u32)],
        answers: &[Answer],
    ) -> Result<Verdict> {
        let start = Instant::now();
        let objects = self.with_one_unit(changed)?;
        self.times.compile += start.elapsed();
        match objects {
            Some(Err(failure)) => return Ok(Verdict::new(Outcome::NotCompiled, &failure)),
            Some(Ok(objects)) => {
                let verdict = self.link_and_run(&objects, channels, answers)?;
                if matches!(verdict.outcome, Outcome::Agrees | Outcome::Rounding) {
                    return Ok(verdict);
                }
                // A bad verdict must come from compiling whole files.
            }
            None => {}
        }
        let start = Instant::now();
        let mut objects = Vec::with_capacity(self.units.len());
        let mut any = false;
        for (i, (file, includes)) in self.units.iter().enumerate() {
            let concerned = changed.iter().any(|c| c == file || includes.contains(c));
            if !concerned {
                objects.push(self.build.compiler.object(file));
                continue;
            }
            any = true;
            let object = self.build.compiler.objects.join(format!("changed{i}.o"));
            let source = self.build.compiler.root.join(file);
            if let Err(failure) = self.quick.compile(&source, &object) {
                self.times.compile += start.elapsed();
                return Ok(Verdict::new(Outcome::NotCompiled, &failure));
            }
            objects.push(object);
        }
        self.times.compile += start.elapsed();
        let reads_cards = self.build.tree.text("Source/param_card.inc").is_none();
        let is_card = |path: &PathBuf| path.starts_with("Cards");
        if !(any || changed.is_empty() || reads_cards && changed.iter().any(is_card)) {
            return Ok(Verdict::new(Outcome::NotJudged, ""));
        }
        self.link_and_run(&objects, channels, answers)
    }

    /// Returns the objects of the program if only one program unit of one file has changed, and no other file includes
    /// it; or why that unit does not compile. `None` otherwise.
    fn with_one_unit(
        &mut self,
        changed: &[PathBuf],
    ) -> Result<Option<std::result::Result<Vec<PathBuf>, String>>> {
        let [file] = changed else {
            return Ok(None);
        };
        let is_it = |(unit, _): &(PathBuf, SortedSet<PathBuf>)| unit == file;
        let others = |(_, includes): &(PathBuf, SortedSet<PathBuf>)| includes.contains(file);
        let Some(number) = self.units.iter().position(is_it) else {
            return Ok(None);
        };
        if self.units.iter().any(others) {
            return Ok(None);
        }
        if !self.parts.contains_key(file) {
            let parts = self.compile_parts(file, number)?;
            self.parts.insert(file.clone(), parts);
        }
        let Some(Some(known)) = self.parts.get(file) else {
            return Ok(None);
        };
        let at = self.build.compiler.root.join(file);
        let text = std::fs::read_to_string(&at).map_err(Error::io(&at))?;
        let before: Vec<String> = known.iter().map(|(text, _)| text.clone()).collect();
        let Some((part, text)) = parts::changed(&before, &text) else {
            return Ok(None);
        };
        let source = at.with_file_name("meb_changed_unit.f");
        std::fs::write(&source, text).map_err(Error::io(&source))?;
        let object = self.build.compiler.objects.join("changed_unit.o");
        if let Err(failure) = self.quick.compile(&source, &object) {
            return Ok(Some(Err(failure)));
        }
        let mut objects: Vec<PathBuf> = self
            .units
            .iter()
            .filter(|unit| !is_it(unit))
            .map(|(file, _)| self.build.compiler.object(file))
            .collect();
        for (i, (_, kept)) in known.iter().enumerate() {
            objects.push(if i == part {
                object.clone()
            } else {
                kept.clone()
            });
        }
        Ok(Some(Ok(objects)))
    }

    /// Returns each program unit of a file with its object.
    fn compile_parts(&self, file: &Path, number: usize) -> Result<Option<Vec<(String, PathBuf)>>> {
        let Some(texts) = parts::parts(self.build.tree.text(file).unwrap_or("")) else {
            return Ok(None);
        };
        let mut parts = Vec::with_capacity(texts.len());
        for (i, text) in texts.into_iter().enumerate() {
            let name = format!("meb_unit{number}_{i}.f");
            let source = self.build.compiler.root.join(file).with_file_name(&name);
            std::fs::write(&source, &text).map_err(Error::io(&source))?;
            let object = self.build.compiler.objects.join(name).with_extension("o");
            if self.quick.compile(&source, &object).is_err() {
                return Ok(None);
            }
            parts.push((text, object));
        }
        Ok(Some(parts))
    }

    fn link_and_run(
        &mut self,
        objects: &[PathBuf],
        channels: &[(u32, u32)],
        answers: &[Answer],
    ) -> Result<Verdict> {
        let start = Instant::now();
        let program = self.build.folder().join("changed");
        let linked = self.quick.link(objects, &program);
        self.times.link += start.elapsed();
        if let Err(failure) = linked {
            return Ok(Verdict::new(Outcome::NotCompiled, &failure));
        }
        let start = Instant::now();
        let verdict = self.run(&program, channels, answers);
        self.times.run += start.elapsed();
        verdict
    }

    fn run(&self, program: &Path, channels: &[(u32, u32)], answers: &[Answer]) -> Result<Verdict> {
        let verdict = match self.evaluate(program, channels, &self.points)? {
            Ok(fortran) if fortran.len() == answers.len() => {
                let measure = self.measure();
                let verdict = measure.compare(answers, &fortran, &[]);
                match verdict.outcome {
                    Outcome::Differs => {
                        let moved = moved(&self.points, MOVED, 0);
                        let moved = self.evaluate(program, channels, &moved)?;
                        measure.compare(answers, &fortran, &moved.unwrap_or_default())
                    }
                    _ => verdict,
                }
            }
            Ok(_) => Verdict::new(Outcome::FortranFails, "it answers not all"),
            Err(failure) => Verdict::new(Outcome::FortranFails, &failure),
        };
        Ok(verdict)
    }

    /// Returns the answers of a program, or how it failed.
    fn evaluate(
        &self,
        program: &Path,
        channels: &[(u32, u32)],
        points: &[Point],
    ) -> Result<std::result::Result<Vec<fortran_build::Answer>, String>> {
        let mut text = fortran_build::events(points, None);
        for &(diagram, config) in channels {
            text += &fortran_build::events(points, Some(Channel { diagram, config }));
        }
        let folder = self.build.folder();
        let (input, output) = (folder.join("events.txt"), folder.join("answers.txt"));
        std::fs::write(&input, text).map_err(Error::io(&input))?;
        let mut command = Command::new(program);
        command.arg(&output);
        command.current_dir(self.build.running(Path::new("")));
        let errors = folder.join("errors.txt");
        if let Err(failure) = child::run(command, Some(&input), &errors, LIMIT, Some(4 << 30)) {
            return Ok(Err(failure));
        }
        let text = std::fs::read_to_string(&output).map_err(Error::io(&output))?;
        let answers: Option<Vec<_>> = text.lines().map(fortran_build::answer).collect();
        Ok(answers.ok_or_else(|| "an answer is no number".to_owned()))
    }

    /// Returns the reference for comparing answers.
    fn measure(&self) -> Measure<'_> {
        Measure {
            unchanged: &self.unchanged,
            points: self.points.len(),
            tolerance: self.tolerance,
            colors: self.build.colors,
        }
    }
}

/// Whether a file of the model contains more than input and output.
fn matters(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    !["printout.f", "lha_read.f", "alfas_functions.f"].contains(&name.as_ref())
}

/// Whether an include file of MadEvent matters for matrix elements.
fn read_by_us(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    ![
        "run.inc",
        "cuts.inc",
        "cluster.inc",
        "genps.inc",
        "maxparticles.inc",
        "message.inc",
    ]
    .contains(&name.as_ref())
}
