//! The state of a run in its folder, from which an interrupted run continues.
//!
//! Files are complete under their final names: each is written under a temporary name, synced to the disk, and renamed.
//! `run.json` lists the files with their hashes and is written last.

use crate::records::{self, RoundFile};
use crate::round::{RoundCounts, RoundResult};
use crate::text::without_number;
use mebridge::files::regular;
use mebridge::{Error, Result};
use mebridge_sampler::parallel;
use mebridge_support::signals;
use mebridge_support::sorted::{SortedMap, SortedSet};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::Builder;

const RUN: &str = "run.json";
const LOCK: &str = "lock";
/// Name of the part of a run that adapts the mappings.
pub const SURVEY: &str = "survey";
/// Version of the format of the folder.
const FORMAT: u64 = 12;
/// Number of threads that remove files, and that read a file for its hash.
const REMOVERS: usize = 8;
const READERS: usize = 8;
/// Size of the parts of a file that are hashed by themselves, in bytes.
const HASHED: u64 = 4 << 20;
/// Largest size of `run.json` in bytes; it has a name and a hash for each file.
const MAX_BYTES: u64 = 1 << 30;

/// The arguments that distinguish a run from others, by name. Those that a caller can change come before those that
/// follow from them, as messages name the first difference.
pub type Arguments = Vec<(String, Value)>;

/// The finished parts of a run.
#[derive(Debug)]
pub struct State {
    folder: PathBuf,
    lasting: bool,
    known: Known,
    rounds: SortedMap<usize, RoundResult>,
    /// Held for the lifetime of this value.
    _lock: File,
}

/// Contents of `run.json`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Known {
    format: u64,
    arguments: Map<String, Value>,
    /// Number of events of each round, finished or not.
    sizes: Vec<u64>,
    /// Numbers of the finished rounds.
    rounds: SortedSet<usize>,
    /// The first rounds, whose events are only in an event file.
    written: WrittenEvents,
    /// Hashes of the kept files; empty strings if the folder is not lasting.
    files: SortedMap<String, String>,
}

/// Rounds whose records are gone because their events are in an event file.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenEvents {
    /// Number of these rounds; they are the first ones.
    pub rounds: usize,
    /// Number of events in the file.
    pub events: u64,
}

/// The events of a run that are only in its event file; `None` if the folder has no readable run.
pub fn written(folder: &Path) -> Option<WrittenEvents> {
    Some(Known::read(folder).ok()?.written)
}

impl State {
    /// Finished rounds that are not yet in an event file.
    pub fn unwritten_rounds(&self) -> Vec<RoundFile> {
        let written = self.written().rounds;
        let rounds = self
            .rounds()
            .iter()
            .filter(|(number, _)| **number >= written);
        let rounds = rounds.map(|(&number, round)| RoundFile {
            file: self.records(number),
            events: round.counted.events as usize,
            weights: round.weights,
        });
        rounds.collect()
    }

    /// Opens a folder, which is created if necessary, and locks it.
    ///
    /// Args: `arguments` are those of the run; only `events` among them may be larger than before. If `lasting`, the
    /// folder outlives this program; otherwise files need neither syncing nor hashes.
    ///
    /// # Errors
    /// The folder cannot be written, another run is using it, or it holds another run or other files; or a file in it
    /// is not as the run wrote it.
    pub fn open(folder: &Path, arguments: &[(String, Value)], lasting: bool) -> Result<State> {
        let opened = fs::create_dir_all(folder).and_then(|()| open_lock(&folder.join(LOCK)));
        let lock = opened.map_err(unkept(folder))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what = format!("another run is at work in {}", folder.display());
                return Err(Error::run(what, ""));
            }
            Err(TryLockError::Error(error)) => return Err(unkept(folder)(error)),
        }
        let mut state = State {
            folder: folder.to_owned(),
            lasting,
            known: Known {
                format: FORMAT,
                arguments: arguments.iter().cloned().collect(),
                ..Known::default()
            },
            rounds: SortedMap::new(),
            _lock: lock,
        };
        state.read(arguments)?;
        Ok(state)
    }

    fn read(&mut self, arguments: &[(String, Value)]) -> Result<()> {
        let folder = &self.folder;
        if folder.join(RUN).symlink_metadata().is_err() {
            let others = entries(folder).map_err(unkept(folder))?;
            if let Some(other) = others.difference(&unwritten()).next() {
                let what = format!("{} holds other files ({other})", folder.display());
                return Err(Error::run(what, "name a folder of its own for the state"));
            }
            return Ok(());
        }
        let known = Known::read(folder)?;
        let cure = "name another folder, or remove it";
        compare(folder, &known.arguments, arguments, &["events"], cure)?;
        for (name, hash) in &known.files {
            check(folder, name, hash)?;
        }
        for &number in &known.rounds {
            let found = read_round(folder, &found_file(number))?;
            self.rounds.insert(number, found);
        }
        self.known = Known {
            arguments: std::mem::take(&mut self.known.arguments),
            ..known
        };
        Ok(())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Results of the finished rounds, by number.
    pub fn rounds(&self) -> &SortedMap<usize, RoundResult> {
        &self.rounds
    }

    /// Rounds whose events are only in an event file.
    pub fn written(&self) -> WrittenEvents {
        self.known.written
    }

    /// Forgets the rounds whose events were only in an event file that no longer exists, so that they are made again.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn begin_again(&mut self) -> Result<()> {
        if self.known.written == WrittenEvents::default() {
            return Ok(());
        }
        self.rounds.clear();
        self.known = Known {
            sizes: Vec::new(),
            rounds: SortedSet::new(),
            written: WrittenEvents::default(),
            ..std::mem::take(&mut self.known)
        };
        self.write()
    }

    /// Number of events of each round, finished or not.
    pub fn sizes(&self) -> &[u64] {
        &self.known.sizes
    }

    /// The file with the records of a finished round.
    pub fn records(&self, number: usize) -> PathBuf {
        self.folder.join(records_file(number))
    }

    /// The folder of a kept part of the run.
    pub fn kept_part(&self, name: &str) -> Option<PathBuf> {
        self.known.has_part(name).then(|| self.folder.join(name))
    }

    /// An empty folder for a part that is not complete yet.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn part(&self, name: &str) -> Result<PathBuf> {
        if !self.folder.join(RUN).exists() {
            // Not earlier: until now the run may have been refused, and another one may take the folder.
            self.write()?;
        }
        let part = self.folder.join(format!("{name}.part"));
        let made = remove(&part).and_then(|()| fs::create_dir(&part));
        made.map_err(unkept(&part))?;
        Ok(part)
    }

    /// Keeps a finished part of the run, a folder of files.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep_part(&mut self, name: &str, part: &Path) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        let moved = || -> io::Result<SortedMap<String, String>> {
            let mut hashes = SortedMap::new();
            for file in entries(part)? {
                let hash = sync_file(self.lasting, &part.join(&file))?;
                hashes.insert(format!("{name}/{file}"), hash);
            }
            sync_folder(self.lasting, part)?;
            // An interrupted run may have left the folder before `run.json` listed it.
            remove(&folder)?;
            fs::rename(part, &folder)?;
            sync_folder(self.lasting, &self.folder)?;
            Ok(hashes)
        };
        let hashes = moved().map_err(unkept(&self.folder))?;
        self.known.files.extend(hashes);
        self.write()?;
        Ok(folder)
    }

    /// Sets the number of events of each round. The rounds known so far keep their numbers.
    ///
    /// # Errors
    /// It cannot be written.
    ///
    /// # Panics
    /// A known round has another number of events.
    pub fn plan(&mut self, sizes: Vec<u64>) -> Result<()> {
        assert!(
            sizes.starts_with(&self.known.sizes),
            "sizes of rounds change"
        );
        if sizes != self.known.sizes {
            self.known.sizes = sizes;
            if self.folder.join(RUN).exists() {
                self.write()?;
            }
        }
        Ok(())
    }

    /// Keeps a round whose files are settled. The round counts as finished once this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep_round(&mut self, number: usize, files: SettledRound) -> Result<()> {
        let keep = || -> io::Result<Vec<(String, String)>> {
            let rename = |(before, after, hash): (PathBuf, String, String)| {
                fs::rename(before, self.folder.join(&after)).map(|()| (after, hash))
            };
            files.files.into_iter().map(rename).collect()
        };
        let hashes = keep().map_err(unkept(&self.folder))?;
        // Leftovers are removed when the folder of the part is used again.
        let _ = fs::remove_dir_all(files.part);
        self.known.files.extend(hashes);
        self.known.rounds.insert(number);
        self.rounds.insert(number, files.found);
        self.write()
    }

    /// Returns [`SettledRound::new`] for this run, as a function that any thread may call.
    pub fn settle(
        &self,
    ) -> impl Fn(usize, &Path, RoundResult) -> Result<SettledRound> + Send + Sync + use<> {
        let (lasting, folder) = (self.lasting, self.folder.clone());
        move |number, part, found| {
            let settled = SettledRound::new(number, part, found, lasting);
            settled.map_err(unkept(&folder))
        }
    }

    fn write(&self) -> Result<()> {
        let written = self.known.write(&self.folder, self.lasting);
        written.map_err(unkept(&self.folder))
    }
}

/// A round whose files are synced to the disk (if the run is lasting) and hashed. Syncing can take as long as making
/// the events, so the next round is made meanwhile.
pub struct SettledRound {
    part: PathBuf,
    found: RoundResult,
    /// For each file its present path, its final name, and its hash.
    files: Vec<(PathBuf, String, String)>,
}

impl SettledRound {
    /// Settles the files of a round in the folder `part`: the records `events.npy`, and the weights and scales beside
    /// them.
    fn new(number: usize, part: &Path, found: RoundResult, lasting: bool) -> io::Result<Self> {
        let (records, name) = (part.join(RECORDS), records_file(number));
        let numbers = found_file(number);
        let bytes = postcard::to_stdvec(&found).expect("numbers");
        fs::write(part.join(&numbers), bytes)?;
        let mut files = vec![
            (records.clone(), name.clone()),
            (part.join(&numbers), numbers),
        ];
        let beside = [records::ratios, records::scales, records::matched];
        let beside = beside.iter().filter_map(|beside| {
            let (there, name) = (beside(&records), beside(name.as_ref()));
            there.exists().then(|| (there, name.display().to_string()))
        });
        files.extend(beside);
        let hash = |(before, after): (PathBuf, String)| {
            sync_file(lasting, &before).map(|hash| (before, after, hash))
        };
        Ok(SettledRound {
            files: files.into_iter().map(hash).collect::<io::Result<_>>()?,
            part: part.to_owned(),
            found,
        })
    }
}

/// Syncs a file to the disk if the run is lasting, and returns its hash.
fn sync_file(lasting: bool, path: &Path) -> io::Result<String> {
    if !lasting {
        return Ok(String::new());
    }
    let file = File::open(path)?;
    std::thread::scope(|scope| {
        // The file is read while the system writes it to the disk.
        let sync = || file.sync_all();
        let syncing = signals::with_blocked_signals(|| Builder::new().spawn_scoped(scope, sync));
        let found = hash(path)?;
        match syncing {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic))?,
            Err(_) => file.sync_all()?,
        }
        Ok(found)
    })
}

/// Syncs a folder, but not its files, to the disk if the run is lasting.
fn sync_folder(lasting: bool, path: &Path) -> io::Result<()> {
    match lasting {
        true => File::open(path)?.sync_all(),
        false => Ok(()),
    }
}

/// The file with the records of a round, in the folder of the unfinished part.
pub(crate) const RECORDS: &str = "events.npy";

fn records_file(number: usize) -> String {
    format!("round{number:04}.npy")
}

/// The file with the results of a round.
fn found_file(number: usize) -> String {
    format!("round{number:04}{FOUND}")
}

const FOUND: &str = ".found";

/// The result of a survey, before any events.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// The arguments of the run.
    pub arguments: Map<String, Value>,
    /// The folder with the adapted mappings.
    pub folder: PathBuf,
    /// Results of the rounds so far, including rounds whose records are gone.
    pub rounds: Vec<RoundCounts>,
}

/// Reads the survey from the folder of a run, without writing to it.
///
/// # Errors
/// The folder has no survey, or a file in it is not as the run wrote it.
pub fn surveyed(folder: &Path) -> Result<Surveyed> {
    if !folder.join(RUN).is_file() {
        let what = format!("{} holds no survey of a run ({RUN})", folder.display());
        return Err(Error::run(what, "is it the folder of the state of a run?"));
    }
    let known = Known::read(folder)?;
    if !known.has_part(SURVEY) {
        let what = format!("{} holds a run whose survey is not done", folder.display());
        return Err(Error::run(what, "let it go on first"));
    }
    let mut rounds = Vec::new();
    for (name, hash) in &known.files {
        let of_round = name.ends_with(FOUND);
        if of_round || name.starts_with("survey/") {
            check(folder, name, hash)?;
        }
        if of_round {
            rounds.push(read_round(folder, name)?.counted);
        }
    }
    Ok(Surveyed {
        arguments: known.arguments,
        folder: folder.join(SURVEY),
        rounds,
    })
}

/// Checks that the folder's run has these arguments; those named in `but` are not compared.
///
/// # Errors
/// An argument differs.
pub fn check_same(
    folder: &Path,
    before: &Map<String, Value>,
    arguments: &[(String, Value)],
    but: &[&str],
) -> Result<()> {
    let mut now = arguments.to_vec();
    for (name, value) in &mut now {
        if let Some(same) = before.get(name).filter(|_| but.contains(&name.as_str())) {
            value.clone_from(same);
        }
    }
    for name in but {
        let known = now.iter().any(|(one, _)| one == name);
        if let Some(value) = before.get(*name).filter(|_| !known) {
            now.push(((*name).to_owned(), value.clone()));
        }
    }
    let cure = "make both the same, or survey anew";
    compare(folder, before, &now, &[], cure)
}

/// An argument of the folder's run, if it has that argument.
pub fn argument(folder: &Path, name: &str) -> Option<Value> {
    Known::read(folder).ok()?.arguments.remove(name)
}

/// Removes the folder of a run that has no finished part. With `own` the lock is held by this program, which is about
/// to end; otherwise a folder that another run has locked stays.
pub fn forget_empty(folder: &Path, own: bool) {
    let only_unwritten = |there: SortedSet<String>| there.is_subset(&unwritten());
    if !entries(folder).is_ok_and(only_unwritten) {
        return;
    }
    let Ok(lock) = open_lock(&folder.join(LOCK)) else {
        return;
    };
    if lock.try_lock().is_ok() || own {
        // The lock file is already open, so this works even if no further file can be opened.
        for name in unwritten() {
            let _ = fs::remove_file(folder.join(name));
        }
        let _ = fs::remove_dir(folder);
    }
}

/// Removes the records of a run whose `events` events are in an event file; its survey and the results of its rounds
/// stay.
///
/// # Errors
/// The folder cannot be written, or it is damaged.
pub fn forget_rounds(folder: &Path, events: u64) -> Result<()> {
    let mut known = Known::read(folder)?;
    let stays = |name: &String| name.contains('/') || name.ends_with(FOUND);
    let (left, gone): (SortedMap<_, _>, SortedMap<_, _>) = std::mem::take(&mut known.files)
        .into_iter()
        .partition(|(name, _)| stays(name));
    known = Known {
        files: left,
        written: WrittenEvents {
            rounds: known.sizes.len(),
            events,
        },
        ..known
    };
    let forget = || -> io::Result<()> {
        known.write(folder, true)?;
        // Freeing the space of large files is slow, so several threads do it.
        let gone: Vec<PathBuf> = gone.keys().map(|name| folder.join(name)).collect();
        parallel::collect(REMOVERS, gone.len(), |file| remove(&gone[file])).map(drop)
    };
    forget().map_err(unkept(folder))
}

impl Known {
    /// Whether a part that is a folder has been kept.
    fn has_part(&self, name: &str) -> bool {
        let mut files = self.files.keys();
        files.any(|file| file.split_once('/').is_some_and(|(part, _)| part == name))
    }

    fn read(folder: &Path) -> Result<Known> {
        let path = folder.join(RUN);
        let unread = || damaged(folder, format!("{} cannot be read", path.display()));
        let text = read_text(&path).map_err(|_| unread())?;
        let value: Value = serde_json::from_str(&text).map_err(|_| unread())?;
        let (first, rest) = text.split_once('\n').unwrap_or_default();
        // Earlier versions have the hash at the end.
        let run = match value.get("sha256") {
            Some(_) => Some(&value),
            None => value.get("run").filter(|_| first == first_line(rest)),
        };
        let run = run.ok_or_else(unread)?;
        match run.get("format").and_then(Value::as_u64) {
            Some(FORMAT) => Known::deserialize(run).map_err(|_| unread()),
            Some(_) => {
                let name = folder.display();
                let what = format!("{name} was written by another version of mebridge");
                Err(damaged(folder, what))
            }
            None => Err(unread()),
        }
    }

    fn write(&self, folder: &Path, lasting: bool) -> io::Result<()> {
        let known = serde_json::to_string_pretty(self).expect("texts and numbers");
        let rest = format!("\"run\": {known}}}\n");
        let part = folder.join(format!("{RUN}.part"));
        // A file left by an interrupted run, or a link placed there by others.
        remove(&part)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&part)?;
        write!(file, "{}\n{rest}", first_line(&rest))?;
        if lasting {
            file.sync_all()?;
        }
        fs::rename(part, folder.join(RUN))
    }
}

/// The first line of `run.json`, with the hash of the rest.
fn first_line(rest: &str) -> String {
    format!(
        "{{\"blake3\": \"{}\",",
        blake3::hash(rest.as_bytes()).to_hex()
    )
}

/// Checks that the arguments are the same; those in `growing` may have become larger.
fn compare(
    folder: &Path,
    before: &Map<String, Value>,
    now: &[(String, Value)],
    growing: &[&str],
    cure: &str,
) -> Result<()> {
    let known: SortedMap<&str, &Value> = now.iter().map(|(name, value)| (&**name, value)).collect();
    let names = now.iter().map(|(name, _)| name.as_str());
    let others = before.keys().map(String::as_str);
    for name in names.chain(others.filter(|name| !known.contains_key(name))) {
        let (there, here) = (before.get(name), known.get(name).copied());
        let grows =
            growing.contains(&name) && there.and_then(Value::as_u64) < here.and_then(Value::as_u64);
        // The output may have been moved; what is made from it is compared.
        if name != "output" && !grows && !same(there, here) {
            let other = other(name, there, here);
            let what = format!("{} holds a run with another {other}", folder.display());
            return Err(Error::run(what, cure));
        }
    }
    Ok(())
}

/// Whether two values are written as the same text: a number read back may differ in its last digit.
fn same(there: Option<&Value>, here: Option<&Value>) -> bool {
    let read = |value: &Value| -> Option<Value> { serde_json::from_str(&value.to_string()).ok() };
    there == here || (there.is_some() && there == here.and_then(read).as_ref())
}

/// Describes a difference; for tables, of the first entry that differs.
fn other(name: &str, there: Option<&Value>, here: Option<&Value>) -> String {
    if let (Some(Value::Object(before)), Some(Value::Object(now))) = (there, here) {
        let mut entries = now.keys().chain(before.keys());
        if let Some(entry) = entries.find(|entry| !same(before.get(*entry), now.get(*entry))) {
            let of = format!("{name}: {entry}");
            return other(&of, before.get(entry), now.get(entry));
        }
    }
    let shown = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    format!("{name} ({} there, {} now)", shown(there), shown(here))
}

/// Checks that a file has the hash it was kept with.
fn check(folder: &Path, name: &str, kept: &str) -> Result<()> {
    let path = folder.join(name);
    match hash(&path) {
        Err(_) => Err(damaged(folder, format!("{} is missing", path.display()))),
        Ok(found) if found != kept => {
            let what = format!("{} is not what the run wrote", path.display());
            Err(damaged(folder, what))
        }
        Ok(_) => Ok(()),
    }
}

fn read_round(folder: &Path, name: &str) -> Result<RoundResult> {
    let path = folder.join(name);
    let bytes = fs::read(&path).ok();
    let found = bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok());
    found.ok_or_else(|| damaged(folder, format!("{} cannot be read", path.display())))
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?
        .take(MAX_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// The hash of a file named by the user, as an argument of a run.
///
/// # Errors
/// It cannot be read.
pub(crate) fn file_digest(path: &Path) -> Result<Value> {
    let mut hasher = blake3::Hasher::new();
    let read = regular::open(path, u64::MAX).and_then(|file| hasher.update_reader(file).map(drop));
    read.map_err(Error::io(path))?;
    Ok(hasher.finalize().to_hex().as_str().into())
}

/// The hash of a file of the folder: that of the hashes of its parts, which several threads read.
fn hash(path: &Path) -> io::Result<String> {
    let file = open_regular(path)?;
    let size = file.metadata()?.len();
    let hash_part = |number: usize| {
        let first = number as u64 * HASHED;
        let mut part = vec![0; (size - first).min(HASHED) as usize];
        file.read_exact_at(&mut part, first)?;
        Ok::<_, io::Error>(*blake3::hash(&part).as_bytes())
    };
    let count = size.div_ceil(HASHED) as usize;
    let parts = parallel::collect(READERS.min(count), count, hash_part)?;
    let whole = blake3::hash(parts.as_flattened());
    Ok(whole.to_hex().to_string())
}

/// Opens a regular file; does not block on pipes, read devices, or follow links placed by others.
fn open_regular(path: &Path) -> io::Result<File> {
    regular(
        OpenOptions::new()
            .read(true)
            .custom_flags(FLAGS)
            .open(path)?,
    )
}

/// Opens a file for locking; its contents stay.
fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    regular(options.custom_flags(FLAGS).open(path)?)
}

const FLAGS: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

/// Returns an error for anything but a regular file.
fn regular(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is no regular file",
        )),
    }
}

/// Files that may exist in the folder of a run that has not begun.
fn unwritten() -> SortedSet<String> {
    SortedSet::from([LOCK.to_owned(), format!("{RUN}.part")])
}

fn entries(folder: &Path) -> io::Result<SortedSet<String>> {
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().display().to_string());
    fs::read_dir(folder)?.map(name).collect()
}

/// Removes a file, link or folder if it exists.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(seen) if seen.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn damaged(folder: &Path, what: String) -> Error {
    Error::run(what, format!("remove {} to begin anew", folder.display()))
}

pub(crate) fn unkept(place: &Path) -> impl Fn(io::Error) -> Error {
    move |error| {
        let what = format!(
            "the state of the run cannot be kept in {}: {}",
            place.display(),
            system(&error)
        );
        Error::run(what, "")
    }
}

/// The operating system's message without its number, with a remedy for some errors.
pub(crate) fn system(error: &io::Error) -> String {
    let what = without_number(error);
    match error.raw_os_error() {
        Some(libc::EMFILE) => format!("{what}; raise the limit of this system (ulimit -n)"),
        _ => what,
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
