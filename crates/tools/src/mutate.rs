//! `mebridge-tools mutate`: tests whether the importer accepts only what gfortran compiles to the same.
//!
//! One token or statement of one file of a directory is changed. If the importer accepts the change, the Fortran is
//! compiled and run, and has to give the same as the process.

mod change;
mod judge;
mod log;
mod parts;
mod quick;
mod summary;
mod tokens;
mod verdict;
mod worker;

use change::{Change, Original};
use judge::{Bench, Times};
use log::{Entry, Log};
use mebridge::{Error, Result};
use mebridge_command::output;
use mebridge_command::progress::Progress;
use mebridge_oracle::fortran_build::{FortranBuild, Objects};
use mebridge_oracle::matrix_element::MatrixElement;
use mebridge_oracle::points::Point;
use mebridge_oracle::tree::Tree;
use mebridge_oracle::{compiler, library};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use verdict::Verdict;

/// Change one token of a directory at a time, and compare what is accepted with gfortran
///
/// DIR is a SubProcesses/P* directory of an MG5aMC output; all changes are made in copies of it.
/// The exit code is 1 if anything differs, or if the importer panics or hangs.
#[derive(clap::Args)]
pub struct Options {
    /// P* directory of an MG5aMC output
    #[arg(value_name = "DIR", required_unless_present_any = ["worker", "summary"])]
    directory: Option<PathBuf>,
    /// Number of changes
    #[arg(long, value_name = "N", default_value_t = 1000)]
    count: u64,
    /// Seed of the changes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Changes at a time
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
    /// Which matrix element of the directory, from 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    element: usize,
    /// Events that are compared
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    points: u32,
    /// Relative difference above which values differ
    #[arg(long, value_name = "X", default_value_t = 1e-7)]
    tolerance: f64,
    /// Change only files whose path in the output contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Append each change as a line of JSON; changes that are in it are not repeated
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Only make one table of these logs
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "directory")]
    summary: Vec<PathBuf>,
    /// Run as the importing process, for the task in this file
    #[arg(long, value_name = "FILE", hide = true)]
    worker: Option<PathBuf>,
}

/// Data shared by all jobs.
struct Shared<'a> {
    options: &'a Options,
    files: Vec<(PathBuf, Original)>,
    /// Cumulative probabilities of the files.
    chances: Vec<f64>,
    next: AtomicU64,
    log: Mutex<Log>,
    seen: Mutex<HashMap<(usize, [u8; 32]), Verdict>>,
    times: Mutex<Times>,
    progress: Progress,
}

impl Options {
    /// Runs the tests.
    pub fn run(self) -> Result<std::process::ExitCode> {
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            output::usage("--tolerance must be a number from 0 on");
        }
        use std::process::ExitCode;
        if let Some(task) = &self.worker {
            worker::work(task)?;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.summary.is_empty() {
            output::print(&summary::table(&self.summary)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let directory = self.directory.clone().unwrap_or_default();
        if !compiler::is_there() {
            return Err(cannot("gfortran", "cannot be run"));
        }
        let tree = Tree::read(&directory)?;
        let index = self.element.max(1) - 1;
        let elements = tree.elements();
        let Some((number, file)) = elements.get(index) else {
            return Err(cannot(&directory, "has no such matrix element"));
        };
        let element =
            MatrixElement::read(&tree, number, file).map_err(|what| cannot(&directory, &what))?;
        let points = self.points(&directory, &tree, index)?;
        let open = || -> Result<Bench> {
            Bench::open(&tree, &element, index, &points, self.tolerance)?
                .map_err(|what| cannot(&directory, &what))
        };
        let first = open()?;
        let shared = self.share(&directory, &tree, &first)?;
        let start = Instant::now();
        std::thread::scope(|scope| -> Result<()> {
            let mut jobs = Vec::new();
            let mut bench = Some(first);
            for _ in 0..self.jobs {
                let bench = match bench.take() {
                    Some(bench) => bench,
                    None => open()?,
                };
                let shared = &shared;
                jobs.push(scope.spawn(move || shared.work(bench)));
            }
            for job in jobs {
                job.join()
                    .map_err(|_| cannot("mutate", "a job panicked"))??;
            }
            Ok(())
        })?;
        let log = shared
            .log
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let times = shared
            .times
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        output::print(&log.summary(times, start.elapsed()))?;
        Ok(match log.is_bad() {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        })
    }

    /// Makes events for the unchanged process, with the Fortran's masses.
    fn points(&self, directory: &Path, tree: &Tree, index: usize) -> Result<Vec<Point>> {
        let process =
            library::import(directory, None, index).map_err(|what| cannot(directory, &what))?;
        let mut kinematics = library::kinematics(&process);
        if let Ok(mut build) = FortranBuild::open(tree.clone(), "-O0", false, Objects::ByFolder)?
            && let Some((incoming, masses)) = build.masses()?
            && masses.len() > incoming
        {
            kinematics.incoming = masses[..incoming].to_vec();
            kinematics.outgoing = masses[incoming..].to_vec();
        }
        kinematics.points(self.points as usize, self.seed)
    }

    fn share<'a>(&'a self, directory: &Path, tree: &Tree, bench: &Bench) -> Result<Shared<'a>> {
        let wanted = |path: &Path| {
            let only = self.only.as_deref().unwrap_or("");
            path.to_string_lossy().contains(only)
        };
        let files: Vec<(PathBuf, Original)> = bench
            .targets()
            .into_iter()
            .filter(|path| wanted(path))
            .map(|path| {
                let card = path.extension().is_some_and(|e| e == "dat");
                let original = Original::new(tree.text(&path).unwrap_or(""), card);
                (path, original)
            })
            .filter(|(_, original)| !original.tokens.is_empty())
            .collect();
        if files.is_empty() {
            return Err(cannot(directory, "has no file to change"));
        }
        // Prefer large files, but not so much that no others are changed.
        let mut sum = 0.0;
        let chances = files
            .iter()
            .map(|(_, original)| {
                sum += (original.tokens.len() as f64).sqrt();
                sum
            })
            .collect();
        let name = format!("{}#{}", directory.display(), self.element);
        Ok(Shared {
            options: self,
            files,
            chances,
            next: AtomicU64::new(0),
            log: Mutex::new(Log::open(self.log.as_deref(), &name, self.seed)?),
            seen: Mutex::default(),
            times: Mutex::default(),
            progress: Progress::new("changes", self.count),
        })
    }
}

impl Shared<'_> {
    /// Runs one job: changes, until there are enough.
    fn work(&self, mut bench: Bench) -> Result<()> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.options.count {
                break;
            }
            self.progress.step();
            if self.lock(&self.log).has(number) {
                continue;
            }
            let Some((file, change)) = self.change(number) else {
                continue;
            };
            let start = Instant::now();
            let key = (file, *blake3::hash(change.text.as_bytes()).as_bytes());
            let known = self.lock(&self.seen).get(&key).cloned();
            let path = &self.files[file].0;
            let verdict = match known {
                Some(verdict) => verdict,
                None => {
                    let verdict = bench.judge(path, &change)?;
                    self.lock(&self.seen).insert(key, verdict.clone());
                    verdict
                }
            };
            let entry = Entry::new(number, path, &change, verdict, start.elapsed());
            self.lock(&self.log).add(entry)?;
        }
        self.lock(&self.times).add(bench.times);
        Ok(())
    }

    /// Returns the change with this number, which does not depend on the job.
    fn change(&self, number: u64) -> Option<(usize, Change)> {
        let mut random = ChaCha8Rng::seed_from_u64(self.options.seed);
        random.set_stream(number);
        let all = self.chances.last().copied().unwrap_or(0.0);
        let at = random.random::<f64>() * all;
        let file = self.chances.partition_point(|end| *end <= at);
        let (_, original) = self.files.get(file)?;
        Some((file, original.change(&mut random)?))
    }

    fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> std::sync::MutexGuard<'a, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes an error about a file or a program.
fn cannot(path: impl AsRef<Path>, what: &str) -> Error {
    Error::io(path.as_ref())(std::io::Error::other(what.to_owned()))
}
