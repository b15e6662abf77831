//! Packs: a survey and everything needed to make events from it in one archive, which runs on its own after unpacking.

use crate::cards::Cards;
use crate::overweight::Overweight;
use crate::packed::{
    CARDS, CMS_EVENTS, CMS_SCRIPT, FILES, PLAN, RECIPE, ROOT, ROUNDS, RUN_SCRIPT, Recipe, SUMS,
    SURVEY, digest, files, write_rounds,
};
use crate::plan::RunPlan;
use crate::progress::{RunProgress, Stage};
use crate::replaced;
use crate::round::RoundCounts;
use crate::rounds::Rounds;
use crate::run::{Observer, arguments, check_event_count, hex, performer};
use crate::run_card::{RunCard, value};
use crate::scratch::Scratch;
use crate::source::Source;
use crate::spec::{Conditions, RunSpec};
use crate::state::{State, Surveyed, check_same, surveyed, system};
use crate::text::quoted;

use flate2::Compression;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use mebridge::runtime::Switches;
use mebridge::{Error, Result};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime};

/// Default number of events of all jobs together, for which a survey is adapted.
pub const EVENTS: u64 = 1_000_000;
/// Default number of events made while packing, to measure the cross section.
pub const MEASURED: u64 = 10_000;
/// A SIMD level that all processors likely to run jobs support; `auto` on architectures with a single level.
pub const SIMD: &str = if cfg!(target_arch = "x86_64") {
    "avx2"
} else {
    "auto"
};
/// The subcommand with which the program of a pack makes events.
pub const JOB: &str = "pack-job";
/// The state folder inside the folder of a run.
const STATE: &str = "state";
/// Paths inside a pack: its program, and the shared libraries of the program.
const PROGRAM: &str = "bin/mebridge";
const LIBRARIES: &str = "lib";
/// Number of events of the trial job.
const TRIAL: &str = "10";
/// Arguments in which this call may differ from the packed run.
const OTHERS: [&str; 1] = ["threads"];
/// The compression of a pack, by the ending of its name.
const FORMATS: [(&str, Format); 4] = [
    (".tar", Format::Plain),
    (".tar.gz", Format::Gzip),
    (".tgz", Format::Gzip),
    (".tar.xz", Format::Xz),
];
/// Level of zlib: 9 takes twice as long for a size one per cent smaller.
const GZIP: u32 = 6;
const XZ: u32 = 6;
/// Number of matrix elements named in the description of a pack.
const NAMED: usize = 3;

/// Compression of a pack.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Plain,
    Gzip,
    Xz,
}

/// Settings of a pack.
#[derive(Clone, Copy, Debug)]
pub struct Packing<'a> {
    /// The file to write: `.tar`, `.tar.gz` or `.tar.xz`.
    pub output: &'a Path,
    /// The program that has the subcommand [`JOB`].
    pub program: &'a Path,
    /// Number of events made while packing, to measure the cross section that all jobs report.
    pub measured: u64,
    /// The SIMD level of all jobs.
    pub simd: &'a str,
    /// Whether the pack also has [`CMS_SCRIPT`].
    pub cms: bool,
    /// Treatment of overweight events in jobs; by default that of the run.
    pub overweights: Option<Overweight>,
}

/// Surveys a run and packs it; by default it is adapted to [`EVENTS`] events.
///
/// # Errors
/// The cards request what cannot be honoured, nothing passes the cuts, the trial job fails, or a file cannot be
/// written.
pub fn pack(spec: &RunSpec, how: &Packing, observer: &mut dyn Observer) -> Result<PathBuf> {
    how.write(spec, None, observer)
}

/// Packs the survey of a run: `Events/run_NN` of an output or of a named process, with the run card of that run.
///
/// # Errors
/// Those of [`pack`]; or the folder is not such a run, or its cards have changed since the run.
pub fn pack_run(
    folder: &Path,
    changed_files: bool,
    pdf_data: Option<&Path>,
    how: &Packing,
    observer: &mut dyn Observer,
) -> Result<PathBuf> {
    let place = std::path::absolute(folder).map_err(Error::io(folder))?;
    let state = place.join(STATE);
    if !state.is_dir() {
        let what = format!(
            "{} is neither an output of MG5aMC (SubProcesses) nor a run of `mebridge events`",
            place.display()
        );
        return Err(Error::run(what, ""));
    }
    let known = surveyed(&state)?;
    let spec = spec_of_run(&place, &known, changed_files, pdf_data)?;
    how.write(&spec, Some((&state, known)), observer)
}

/// Packs the survey of a run under stated conditions, whose state is in this folder. By default, events and seed are
/// those of the run.
///
/// # Errors
/// Those of [`pack`]; or the folder has another run.
pub fn pack_stated(
    spec: &RunSpec,
    state: &Path,
    how: &Packing,
    observer: &mut dyn Observer,
) -> Result<PathBuf> {
    let known = surveyed(state)?;
    let number = |name: &str| known.arguments.get(name).and_then(Value::as_u64);
    let spec = RunSpec {
        events: spec.events.or_else(|| number("events")),
        seed: spec.seed.or_else(|| number("seed")),
        ..spec.clone()
    };
    how.write(&spec, Some((state, known)), observer)
}

/// The plan of a run by cards, and its seed.
fn plan_from_cards(spec: &RunSpec) -> Result<(RunPlan, u64)> {
    let cards = Cards::read(spec)?;
    if cards.source.decays() {
        let sources = cards.source.sources();
        let what = format!("{} is a decay, of which there are no packs", sources[0]);
        return Err(Error::run(what, "make its events by `mebridge events`"));
    }
    let seed = match spec.seed {
        Some(seed) => seed,
        None => cards.run_card.seed()?.max(1),
    };
    let mut plan = RunPlan::from_cards(&cards, spec)?;
    plan.notices = [cards.notices, plan.notices].concat();
    Ok((plan, seed))
}

/// The specification of the run in a folder.
fn spec_of_run(
    place: &Path,
    known: &Surveyed,
    changed_files: bool,
    pdf_data: Option<&Path>,
) -> Result<RunSpec> {
    let before = &known.arguments;
    let text = |name: &str| before.get(name).and_then(Value::as_str);
    let number = |name: &str| before.get(name).and_then(Value::as_u64);
    let Some(Value::Object(card)) = before.get("run_card") else {
        let what = format!("{} is no run by a run card", place.display());
        return Err(Error::run(what, "survey it anew"));
    };
    let above = place.parent().and_then(Path::parent).unwrap_or(place);
    let model = text("model").map(PathBuf::from);
    let (process, folder) = match text("process") {
        Some(process) => (process.to_owned(), Some(above.to_owned())),
        None => (above.display().to_string(), None),
    };
    let pdf_data = pdf_data.filter(|_| folder.is_some());
    let source = Source::find(&process, model.as_deref(), folder.as_deref(), pdf_data)?;
    let now = RunCard::read(&source.card("run_card.dat")?, &[])?.to_json();
    Ok(RunSpec {
        process,
        conditions: Conditions::RunCard {
            file: None,
            changed: differing(card, &now),
            changed_files,
            pdf_data: pdf_data.map(Path::to_owned),
            folder,
        },
        model,
        events: number("events"),
        seed: number("seed"),
        precision: before.get("precision").and_then(Value::as_f64),
        overweight: match before.get("overweight").and_then(Value::as_f64) {
            Some(overweight) => overweight,
            None => RunSpec::default().overweight,
        },
        overweight_rule: text("overweight_rule")
            .and_then(Overweight::from_name)
            .unwrap_or_default(),
        ..RunSpec::default()
    })
}

/// Entries of a card that differ in another one, or are missing there.
fn differing(card: &Map<String, Value>, other: &Map<String, Value>) -> Vec<(String, String)> {
    let entries = card
        .iter()
        .filter(|(name, value)| other.get(*name) != Some(value));
    entries
        .map(|(name, value)| (name.clone(), entry(value)))
        .collect()
}

/// The value of an entry, in the format of a card.
fn entry(value: &Value) -> String {
    match value {
        Value::Bool(flag) => value::Value::Flag(*flag).to_string(),
        Value::String(text) => text.clone(),
        Value::Array(words) => value::Value::Words(words.iter().map(entry).collect()).to_string(),
        Value::Object(values) => {
            let each = values
                .iter()
                .map(|(name, value)| format!("{}: {}", quoted(name), entry(value)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Number(_) => value.to_string(),
    }
}

impl Packing<'_> {
    /// Surveys and packs; `state` is the folder of a run that is already surveyed, and its survey.
    fn write(
        &self,
        spec: &RunSpec,
        state: Option<(&Path, Surveyed)>,
        observer: &mut dyn Observer,
    ) -> Result<PathBuf> {
        let format = format_of(self.output)?;
        let target = replaced::target(self.output, [])?;
        if spec.backend()? != "cpu" {
            let what = "jobs of a pack run on CPUs".to_owned();
            return Err(Error::run(what, "pack with the backend cpu"));
        }
        let begun = Instant::now();
        let (plan, seed) = match &spec.conditions {
            Conditions::RunCard { .. } => plan_from_cards(spec)?,
            Conditions::Stated { .. } => (RunPlan::stated(spec)?, spec.seed.unwrap_or(1)),
        };
        for notice in &plan.notices {
            observer.notice(notice);
        }
        let run = PackRun {
            spec,
            events: check_event_count("events", spec.events.unwrap_or(EVENTS))?,
            seed,
            plan,
        };
        let arguments = arguments(
            spec,
            (run.events, seed),
            run.plan.arguments.clone(),
            &run.plan.elements,
        )?;
        let scratch = Scratch::new()?;
        let (survey, rounds) = match state {
            Some((folder, known)) => {
                check_same(folder, &known.arguments, &arguments, &OTHERS)?;
                (known.folder, known.rounds)
            }
            None => run.survey(scratch.path(), self.measured, begun, observer)?,
        };
        let staged = scratch.path().join("pack");
        let pack = Pack {
            staged: &staged,
            how: self,
        };
        let events = run.events;
        pack.stage(run, arguments.into_iter().collect(), &survey, &rounds)?;
        observer.report(&progress(Stage::Packing, events, begun))?;
        pack.try_job(scratch.path())?;
        replaced::replace(&target, |file| {
            pack.archive(file, format)
                .map_err(|error| replaced::unwritten(&target, &error))
        })?;
        Ok(target)
    }
}

fn format_of(output: &Path) -> Result<Format> {
    let name = output.as_os_str().to_string_lossy();
    let known = FORMATS.iter().find(|(end, _)| name.ends_with(end));
    known.map(|(_, format)| *format).ok_or_else(|| {
        let ends: Vec<&str> = FORMATS.iter().map(|(end, _)| *end).collect();
        let (name, ends) = (quoted(&name), ends.join(", "));
        Error::run(
            format!("the pack is {name}; its name must end with one of {ends}"),
            "",
        )
    })
}

fn progress(stage: Stage, target: u64, begun: Instant) -> RunProgress {
    RunProgress {
        stage,
        events: 0,
        target,
        cross_section: None,
        seconds: begun.elapsed().as_secs_f64(),
        unit: "pb",
    }
}

/// A run to be packed.
struct PackRun<'a> {
    spec: &'a RunSpec,
    events: u64,
    seed: u64,
    plan: RunPlan,
}

impl PackRun<'_> {
    /// Surveys the run in a subfolder of `scratch`, and makes `measured` events; returns the folder of the survey and
    /// the results of the rounds.
    fn survey(
        &self,
        scratch: &Path,
        measured: u64,
        begun: Instant,
        observer: &mut dyn Observer,
    ) -> Result<(PathBuf, Vec<RoundCounts>)> {
        let (plan, spec) = (&self.plan, self.spec);
        let mut performer = performer(plan.clone(), Switches::from_env()?, observer)?;
        for line in &plan.conditions {
            observer.conditions(line);
        }
        let state = State::open(&scratch.join("survey"), &[], false)?;
        let mut rounds = Rounds::new(state, self.events, self.seed, spec.overweight, false)?;
        let mut notices = Vec::new();
        rounds.survey(&mut *performer, spec.precision, &mut notices)?;
        for notice in &notices {
            observer.notice(notice);
        }
        observer.report(&progress(Stage::Survey, self.events, begun))?;
        let folder = rounds.surveyed().expect("it is done").to_owned();
        if measured == 0 {
            return Ok((folder, Vec::new()));
        }
        let state = State::open(&scratch.join("measured"), &[], false)?;
        let key = format!("{} before jobs", self.seed);
        let mut rounds = Rounds::new(state, measured, key, spec.overweight, false)?;
        rounds.use_survey(&folder)?;
        rounds.run(&mut *performer, |_| Ok(()))?;
        Ok((folder, rounds.counted()))
    }
}

/// A pack laid out in a folder.
struct Pack<'a> {
    staged: &'a Path,
    how: &'a Packing<'a>,
}

impl Pack<'_> {
    /// Writes all files of the pack to the folder.
    fn stage(
        &self,
        run: PackRun,
        arguments: Map<String, Value>,
        survey: &Path,
        rounds: &[RoundCounts],
    ) -> Result<()> {
        let (root, full) = (self.staged.join(ROOT), self.full());
        fs::create_dir_all(root.join("bin")).map_err(&full)?;
        fs::copy(self.how.program, root.join(PROGRAM)).map_err(&full)?;
        let loader = self.copy_libraries(&root)?;
        copy_folder(survey, &root.join(SURVEY)).map_err(&full)?;
        write_rounds(&root.join(ROUNDS), rounds)?;
        let mut plan = run.plan;
        for (new, old) in plan.gather(FILES) {
            let place = root.join(PLAN).with_file_name(&new);
            let made = fs::create_dir_all(place.parent().unwrap_or(&place));
            made.and_then(|()| fs::copy(&old, &place)).map_err(&full)?;
        }
        plan.write(&root.join(PLAN))?;
        if let Some(cards) = &plan.head.cards {
            let folder = root.join(CARDS);
            fs::create_dir_all(&folder).map_err(&full)?;
            for (name, text) in [
                ("proc_card_mg5.dat", &cards.process),
                ("run_card.dat", &cards.run),
                ("param_card.dat", &cards.parameters),
            ] {
                fs::write(folder.join(name), text).map_err(&full)?;
            }
        }
        let recipe = self.recipe(&plan, run.spec, (run.events, run.seed), arguments);
        let text = serde_json::to_string_pretty(&recipe).expect("texts and numbers");
        fs::write(root.join(RECIPE), text).map_err(&full)?;
        for script in self.scripts() {
            let file = self.staged.join(script.name);
            fs::write(&file, script.text(loader.as_deref())).map_err(&full)?;
            fs::set_permissions(&file, Permissions::from_mode(0o755)).map_err(&full)?;
        }
        let text = self.sums().map_err(&full)?;
        fs::write(root.join(SUMS), text).map_err(&full)
    }

    fn recipe(
        &self,
        plan: &RunPlan,
        spec: &RunSpec,
        (events, seed): (u64, u64),
        mut arguments: Map<String, Value>,
    ) -> Recipe {
        let names = plan.names();
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let switch = |switches: &Value| Some(switches.get(PRECISION)?.as_str()?.to_owned());
        let precision = arguments.get("switches").and_then(switch);
        // Events and seed of the survey; jobs have their own.
        for (name, value) in [
            ("surveyed_events", json!(events)),
            ("surveyed_seed", json!(seed)),
            ("simd", json!(self.how.simd)),
        ] {
            arguments.insert(name.to_owned(), value);
        }
        Recipe {
            name: names[..names.len().min(NAMED)].join("; ") + &more,
            simd: self.how.simd.to_owned(),
            precision: precision.unwrap_or_default(),
            overweight: spec.overweight,
            overweights: self.how.overweights.unwrap_or(spec.overweight_rule),
            arguments,
        }
    }

    /// The scripts that start jobs.
    fn scripts(&self) -> impl Iterator<Item = &'static Script> {
        let both = [(&RUN, true), (&CMS, self.how.cms)];
        both.into_iter()
            .filter_map(|(script, wanted)| wanted.then_some(script))
    }

    /// Copies the shared libraries of the program, including the C library, so that it runs on systems with an older
    /// one. Returns the name of the loader, if there are shared libraries.
    fn copy_libraries(&self, root: &Path) -> Result<Option<String>> {
        let full = self.full();
        let found = libraries(self.how.program)?;
        let Some((loader, _)) = found.iter().find(|(name, _)| name.starts_with("ld-linux")) else {
            return match found.is_empty() {
                true => Ok(None),
                false => Err(Error::run(
                    "a pack needs the GNU C library: the program has no ld-linux".to_owned(),
                    "",
                )),
            };
        };
        let folder = root.join(LIBRARIES);
        fs::create_dir_all(&folder).map_err(&full)?;
        for (name, path) in &found {
            let place = folder.join(name);
            fs::copy(path, &place).map_err(&full)?;
            fs::set_permissions(&place, Permissions::from_mode(0o755)).map_err(&full)?;
        }
        Ok(Some(loader.clone()))
    }

    /// The text of [`SUMS`].
    fn sums(&self) -> io::Result<String> {
        let mut text = String::new();
        for file in files(self.staged)? {
            let name = file.strip_prefix(self.staged).unwrap_or(&file);
            text.push_str(&format!("{}  {}\n", digest(&file)?, name.display()));
        }
        let own = hex(&Sha256::digest(&text));
        // sha256sum treats this line as a comment.
        text.push_str(&format!("# {own}\n"));
        Ok(text)
    }

    /// Runs a job that makes a few events.
    fn try_job(&self, scratch: &Path) -> Result<()> {
        let folder = scratch.join("trial");
        fs::create_dir(&folder).map_err(Error::io(&folder))?;
        let mut job = Command::new("/bin/sh");
        match self.how.cms {
            true => job
                .arg(self.staged.join(CMS_SCRIPT))
                .args([TRIAL, "1", "1"]),
            false => job
                .arg(self.staged.join(RUN_SCRIPT))
                .args([TRIAL, "1", "--quiet"]),
        };
        let ended = job
            .current_dir(&folder)
            .output()
            .map_err(Error::io("/bin/sh"))?;
        if ended.status.success() {
            return Ok(());
        }
        let texts = [&ended.stderr, &ended.stdout].map(|text| String::from_utf8_lossy(text));
        let texts = texts.each_ref().map(|text| text.trim());
        let why = texts.into_iter().find(|text| !text.is_empty());
        let why = why.map_or_else(|| ended.status.to_string(), str::to_owned);
        Err(Error::run(format!("a job of the pack fails: {why}"), ""))
    }

    /// Writes the pack to a file.
    fn archive(&self, file: &File, format: Format) -> io::Result<()> {
        let file = BufWriter::new(file);
        match format {
            Format::Plain => self.tar(file)?.flush(),
            Format::Gzip => {
                let packed = self.tar(GzEncoder::new(file, Compression::new(GZIP)))?;
                packed.finish()?.flush()
            }
            Format::Xz => {
                let packed = self.tar(XzWriter::new(file, XzOptions::with_preset(XZ))?)?;
                packed.finish()?.flush()
            }
        }
    }

    fn tar<W: Write>(&self, to: W) -> io::Result<W> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs());
        let mut archive = tar::Builder::new(to);
        for path in self.entries()? {
            let seen = fs::metadata(&path)?;
            let mut header = tar::Header::new_gnu();
            header.set_mtime(now);
            header.set_uid(0);
            header.set_gid(0);
            let runs = seen.is_dir() || seen.permissions().mode() & 0o100 != 0;
            header.set_mode(if runs { 0o755 } else { 0o644 });
            let name = path.strip_prefix(self.staged).unwrap_or(&path);
            if seen.is_dir() {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_size(0);
                archive.append_data(&mut header, name, io::empty())?;
            } else {
                header.set_size(seen.len());
                archive.append_data(&mut header, name, File::open(&path)?)?;
            }
        }
        archive.into_inner()
    }

    /// All files and folders, each folder before its contents; the scripts come first.
    fn entries(&self) -> io::Result<Vec<PathBuf>> {
        let scripts = self.scripts().map(|script| self.staged.join(script.name));
        let mut found: Vec<PathBuf> = scripts.collect();
        let mut open = vec![self.staged.join(ROOT)];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                let inner = fs::read_dir(&path)?.map(|entry| Ok(entry?.path()));
                let mut inner: Vec<PathBuf> = inner.collect::<io::Result<_>>()?;
                inner.sort_by(|one, other| other.cmp(one));
                open.extend(inner);
            }
            found.push(path);
        }
        Ok(found)
    }

    /// The error for a failed write, such as on a full disk.
    fn full(&self) -> impl Fn(io::Error) -> Error {
        let place = self.staged.parent().unwrap_or(self.staged).to_owned();
        move |error| {
            let why = system(&error);
            let what = format!("the pack cannot be made in {}: {why}", place.display());
            Error::run(what, "TMPDIR names another folder")
        }
    }
}

/// The floating-point type ([`Recipe::precision`]) in the arguments of a run.
const PRECISION: &str = "CUDACPP_RUNTIME_FPTYPE";

/// Copies the files of a folder.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for file in files(from)? {
        let name = file.file_name().unwrap_or_default();
        fs::copy(&file, to.join(name))?;
    }
    Ok(())
}

/// The shared libraries of a program (name and path), including the loader; empty for a static program.
fn libraries(program: &Path) -> Result<Vec<(String, PathBuf)>> {
    // The loader of glibc lists the libraries instead of running the program.
    let mut list = Command::new(program);
    list.arg("--version").env("LD_TRACE_LOADED_OBJECTS", "1");
    list.env_remove("LD_PRELOAD");
    let listed = list.output().map_err(Error::io(program))?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    libraries_in(&listed).map_err(|name| {
        let what = format!(
            "{} needs {name}, which is missing on this machine",
            program.display()
        );
        Error::run(what, "")
    })
}

/// Parses the listing; the error is the name of a missing library.
fn libraries_in(listed: &str) -> std::result::Result<Vec<(String, PathBuf)>, String> {
    let mut found = Vec::new();
    for line in listed.lines() {
        // The line of the loader itself has no arrow, or an arrow to itself.
        let (name, place) = match line.trim().split_once(" => ") {
            Some((name, place)) => (name, place),
            None => (line.trim(), line.trim()),
        };
        if place.starts_with("not found") {
            return Err(name.to_owned());
        }
        let place = place.rfind(" (0x").map_or("", |end| &place[..end]);
        if let Some(name) = Path::new(name.split(" (0x").next().unwrap_or(name)).file_name()
            && place.starts_with('/')
        {
            found.push((name.to_string_lossy().into_owned(), PathBuf::from(place)));
        }
    }
    Ok(found)
}

/// A script that starts a job.
struct Script {
    name: &'static str,
    /// Its arguments, and the file it writes.
    usage: &'static str,
    output: &'static str,
    /// Arguments of the job before those given to the script.
    argument: &'static str,
    /// Shell commands that run first.
    before: &'static str,
}

const RUN: Script = Script {
    name: RUN_SCRIPT,
    usage: "NEVENTS SEED (or --help)",
    output: "events.lhe.gz",
    argument: "",
    before: "",
};
const CMS: Script = Script {
    name: CMS_SCRIPT,
    usage: "NEVENTS SEED NCPU",
    output: CMS_EVENTS,
    argument: "--cms ",
    before: "# What an earlier job left is not taken for what this one makes.\nrm -f cmsgrid_final.lhe || exit 1\n",
};

impl Script {
    /// The text of the script; `loader` is the loader of the program, if it has one.
    fn text(&self, loader: Option<&str>) -> String {
        let Script {
            name,
            usage,
            output,
            argument,
            before,
        } = self;
        let program = format!("\"$root/{PROGRAM}\"");
        let program = match loader {
            None => program,
            // Only the libraries of the pack are used, not those of the machine.
            Some(loader) => format!(
                "\"$root/{LIBRARIES}/{loader}\" --inhibit-rpath '' --library-path \"$root/{LIBRARIES}\" {program}"
            ),
        };
        let machine = std::env::consts::ARCH;
        format!(
            r#"#!/bin/sh
# ./{name} {usage} writes {output} into the folder that it is called in.
# Nothing is needed but a shell and Linux; this folder may be read-only.
{before}case $0 in */*) here=${{0%/*}} ;; *) here=. ;; esac
here=$(CDPATH= cd -- "$here" && pwd -P) || exit 1
case $here in *[:\;]*)
    echo "mebridge: a pack cannot lie in $here: its name has a colon or a semicolon, which divide paths" >&2
    exit 1 ;;
esac
root=$here/{ROOT}
if [ ! -f "$root/{PROGRAM}" ]; then
    echo "mebridge: $root is missing: unpack the pack again, or call {name} where it lies" >&2
    exit 1
fi
unset LD_PRELOAD LD_LIBRARY_PATH
{program} {JOB} "$root" --check
status=$?
if [ $status -ne 0 ]; then
    [ $status -eq 3 ] && exit 1
    echo "mebridge: the program of the pack in $here does not run (status $status)" >&2
    (cd "$here" && sha256sum -c --quiet {ROOT}/{SUMS}) >&2 &&
        echo "mebridge: its files are whole; is this {machine} Linux, and the folder not mounted noexec?" >&2
    exit 1
fi
exec {program} {JOB} "$root" {argument}"$@"
"#
        )
    }
}
