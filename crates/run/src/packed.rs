//! An unpacked pack: checks of its files, and jobs that make events from the packed survey.

use crate::banner::Contents;
use crate::event_file::overweights;
use crate::overweight::{self, Overweight};
use crate::plan::RunPlan;
use crate::progress::shown;
use crate::round::RoundCounts;
use crate::rounds::Rounds;
use crate::run::{hex, open};
use crate::scratch::Scratch;
use crate::state::{State, system};
use mebridge::runtime::Switches;
use mebridge::{Error, Result};
use mebridge_support::files::regular;
use mebridge_support::sorted::SortedSet;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The script for users of an unpacked pack.
pub const RUN_SCRIPT: &str = "run.sh";
/// The script for CMS's workflows, and the file that it writes.
pub const CMS_SCRIPT: &str = "runcmsgrid.sh";
/// See [`CMS_SCRIPT`].
pub const CMS_EVENTS: &str = "cmsgrid_final.lhe";
/// The folder beside the scripts, with everything else.
pub const ROOT: &str = "mebridge";
/// SHA-256 sums of all files in the format of `sha256sum`; the last line is a comment with the sum of the lines before
/// it.
pub const SUMS: &str = "SHA256SUMS";
/// Paths inside that folder: the recipe, the plan, the survey, and the measured rounds.
pub(crate) const RECIPE: &str = "run/recipe.json";
pub(crate) const PLAN: &str = "run/plan";
pub(crate) const SURVEY: &str = "run/survey";
pub(crate) const ROUNDS: &str = "run/rounds";
pub(crate) const CARDS: &str = "run/cards";
/// Largest size of such a file.
const MAX_BYTES: u64 = 1 << 30;
/// Bytes of a file read at a time.
const AT_ONCE: usize = 1 << 20;
/// Folder of files with densities, beside the plan.
pub(crate) const FILES: &str = "files";

/// A pack's settings besides its plan. The random numbers of a job are determined by the bytes of its file and a seed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Recipe {
    /// Names of the matrix elements, as one line.
    pub name: String,
    /// The SIMD level of all jobs; `auto` for the best level of each machine.
    pub simd: String,
    /// The floating-point precision of all jobs, as in `CUDACPP_RUNTIME_FPTYPE`.
    pub precision: String,
    /// `overweight` of [`crate::RunSpec`].
    pub overweight: f64,
    /// Default treatment of overweight events in jobs.
    pub overweights: Overweight,
    /// The arguments of the survey.
    pub arguments: Map<String, Value>,
}

impl Recipe {
    /// Reads the recipe from a pack's folder.
    ///
    /// # Errors
    /// The file cannot be read, or holds no recipe.
    pub fn read(root: &Path) -> Result<Self> {
        Ok(Recipe::with_bytes(root)?.0)
    }

    /// The recipe, and the bytes of its file.
    fn with_bytes(root: &Path) -> Result<(Self, Vec<u8>)> {
        let file = root.join(RECIPE);
        let bytes = bytes(&file)?;
        let recipe = serde_json::from_slice(&bytes).map_err(|_| no(&file, "recipe of a pack"))?;
        Ok((recipe, bytes))
    }

    /// The switches of all jobs, independent of the environment. Nothing is cached in the user's home directory.
    fn switches(&self) -> Result<Switches> {
        let mut switches = Switches::default();
        switches.set("SIMD", self.simd.as_str().into())?;
        switches.set("FPTYPE", self.precision.as_str().into())?;
        Ok(switches)
    }
}

/// The key of all random numbers of a job. Each part of the job hashes it with its own name to 56 bits, the key of its
/// Philox generator, so that no two parts share points.
fn random_key(recipe: &[u8], seed: u64) -> String {
    format!("{} {seed}", hex(&Sha256::digest(recipe)))
}

/// A job of a pack.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The folder of the pack.
    pub root: &'a Path,
    /// Number of events.
    pub events: u64,
    /// Seed, at least 1.
    pub seed: u64,
    /// The event file to write, compressed if its name ends in `.gz`.
    pub output: &'a Path,
    /// Treatment of overweight events.
    pub overweight: Overweight,
    /// Number of threads.
    pub threads: usize,
}

impl Job<'_> {
    /// Makes the events; returns a line with their number and the cross section. `report` receives a line after each
    /// round.
    ///
    /// # Errors
    /// A file cannot be read or written, or a matrix element cannot be evaluated.
    pub fn run(&self, report: &mut dyn FnMut(&str)) -> Result<String> {
        let (begun, root) = (Instant::now(), self.root);
        let (recipe, text) = Recipe::with_bytes(root)?;
        let key = random_key(&text, self.seed);
        let plan = RunPlan::read(&root.join(PLAN), self.threads)?;
        let switches = recipe.switches()?;
        overweight::check(self.overweight, plan.request.bias.is_some())?;
        let head = plan.head.clone();
        let mut maker = open(plan, None, switches, &mut Vec::new())?;
        let scratch = Scratch::new()?;
        let state = State::open(&scratch.path().join("state"), &[], false)?;
        let mut rounds = Rounds::new(state, self.events, key, recipe.overweight, false)?;
        rounds.use_survey(&root.join(SURVEY))?;
        rounds.count(read_rounds(&root.join(ROUNDS))?);
        let mut report = |rounds: &Rounds| {
            let (done, events) = (rounds.finished_events(), self.events);
            let took = begun.elapsed().as_secs_f64();
            let of = rounds
                .cross_section()
                .map_or_else(String::new, |of| shown(of, "pb"));
            report(&format!("{done} of {events} events, {of}, {took:.1} s"));
            Ok(())
        };
        rounds.run(&mut maker, &mut report)?;
        let weighting = overweight::complete(
            self.overweight,
            &mut rounds,
            &mut maker,
            self.events,
            report,
        )?;
        let all = rounds.cross_section().expect("there are rounds");
        let numbers = &head.blocks.numbers;
        let processes = rounds.by_process(numbers).expect("there are rounds");
        let biased = rounds.biased(numbers);
        let mut requested = recipe.arguments;
        requested.insert("events".to_owned(), json!(self.events));
        requested.insert("seed".to_owned(), json!(self.seed));
        if self.overweight != Overweight::Keep {
            requested.insert("overweight_rule".to_owned(), json!(self.overweight));
        }
        let sums = root.join(SUMS);
        requested.insert(
            "pack".to_owned(),
            json!(digest(&sums).map_err(Error::io(&sums))?),
        );
        let contents = Contents {
            rounds: &rounds.state().unwritten_rounds(),
            before: 0,
            weighting,
            processes: &processes,
            cross_section: all.mean,
            biased: biased.as_ref(),
            seed: self.seed,
        };
        head.write(self.output, &contents, &requested, self.threads)?;
        let found = rounds.state().unwritten_rounds();
        let count = found.iter().map(|round| round.events as u64).sum();
        let more = self
            .overweight
            .line(overweights(&found), count, self.events);
        let more = more.into_iter().chain(biased.map(|of| of.line()));
        let more: String = more.map(|line| format!("\n{line}")).collect();
        Ok(format!(
            "{} events, {}{more}",
            self.events,
            shown(all, "pb")
        ))
    }
}

/// Writes the results of rounds.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_rounds(file: &Path, rounds: &[RoundCounts]) -> Result<()> {
    let bytes = postcard::to_stdvec(rounds).expect("numbers");
    fs::write(file, bytes).map_err(Error::io(file))
}

fn read_rounds(file: &Path) -> Result<Vec<RoundCounts>> {
    postcard::from_bytes(&bytes(file)?).map_err(|_| no(file, "part of a pack"))
}

fn bytes(file: &Path) -> Result<Vec<u8>> {
    regular::read(file, MAX_BYTES).map_err(Error::io(file))
}

fn no(file: &Path, what: &str) -> Error {
    Error::run(
        format!("{} is no {what}", file.display()),
        "unpack the pack again",
    )
}

/// The problems found in a pack's files, one line each, with file names as in [`SUMS`].
pub fn broken(root: &Path) -> Vec<String> {
    let (folder, above) = (root.file_name().unwrap_or_default(), root.parent());
    let above = above.unwrap_or(root);
    let own = Path::new(folder).join(SUMS);
    let own = own.display();
    let sums = match fs::read(root.join(SUMS)) {
        Err(error) => return vec![format!("{own} cannot be read: {}", system(&error))],
        Ok(sums) => String::from_utf8(sums).unwrap_or_default(),
    };
    let Some((text, _)) = sums
        .rsplit_once("# ")
        .filter(|(text, last)| hex(&Sha256::digest(text)) == last.trim())
    else {
        return vec![format!("{own} is not what was packed")];
    };
    let (mut found, mut listed) = (Vec::new(), SortedSet::new());
    for (sum, name) in text.lines().filter_map(|line| line.split_once("  ")) {
        listed.insert(Path::new(name));
        match digest(&above.join(name)) {
            Ok(there) if there == sum => {}
            Ok(_) => found.push(format!("{name} is not what was packed")),
            Err(error) => found.push(format!("{name} cannot be read: {}", system(&error))),
        }
    }
    // Files that cannot be listed were reported as missing above.
    for file in files(root).unwrap_or_default() {
        let name = file.strip_prefix(above).unwrap_or(&file);
        if !listed.contains(name) && file != root.join(SUMS) {
            found.push(format!("{} was not packed", name.display()));
        }
    }
    found
}

/// All files below a folder, sorted.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => found.extend(files(&entry.path())?),
            false => found.push(entry.path()),
        }
    }
    found.sort();
    Ok(found)
}

/// The SHA-256 of a file in hexadecimal digits.
pub(crate) fn digest(file: &Path) -> io::Result<String> {
    let (mut file, mut hasher) = (File::open(file)?, Sha256::new());
    let mut some = vec![0; AT_ONCE];
    loop {
        match file.read(&mut some)? {
            0 => return Ok(hex(&hasher.finalize())),
            count => hasher.update(&some[..count]),
        }
    }
}
