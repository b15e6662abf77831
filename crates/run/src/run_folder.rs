//! The folder of a run, `Events/run_NN`.

use crate::output::next_run;
use crate::state::{argument, forget_empty, system, written};
use crate::text::quoted;
use mebridge::{Error, Result};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// File name of the events.
pub const EVENTS: &str = "unweighted_events.lhe.gz";
/// File name of the events before weights of other parameter cards are added.
pub const EVENTS_BEFORE_WEIGHTS: &str = ".plain-unweighted_events.lhe.gz";
/// File name of events that are to be appended to [`EVENTS`].
pub const ADDED_EVENTS: &str = ".added-unweighted_events.lhe.gz";
/// Name of the folder of the state.
const STATE: &str = "state";
/// Largest seed that is drawn; MG5aMC accepts all seeds up to it.
const MAX_DRAWN_SEED: u64 = (1 << 31) - 1;

/// The folder of a run. Dropping this removes the folder if it contains nothing that could be continued.
#[derive(Debug)]
pub struct RunFolder(ClaimedFolder);

#[derive(Clone, Debug)]
struct ClaimedFolder {
    events: PathBuf,
    folder: PathBuf,
    /// Whether the folder `events` was created for this run.
    is_first: bool,
}

impl RunFolder {
    /// Returns the folder with this name in the folder `events`, which is created if needed and may contain a run to be
    /// continued. Without a name a new folder is created, with the next free number. A [`State`](crate::state::State)
    /// in the folder must be dropped before this.
    ///
    /// # Errors
    /// It cannot be created, or the name is not a single path component.
    pub fn claim(events: &Path, name: Option<&str>) -> Result<Self> {
        if let Some(name) = name.filter(|name| !is_name(name)) {
            let what = format!("the name of a run is {}", quoted(name));
            let cure = format!("it must be that of a folder in {}", events.display());
            return Err(Error::run(what, cure));
        }
        let is_first = !events.exists();
        let folder = loop {
            let next = || next_run(events);
            let folder = events.join(name.map_or_else(next, str::to_owned));
            let made = fs::create_dir_all(events).and_then(|()| fs::create_dir(&folder));
            let Err(error) = made else {
                break folder;
            };
            if error.kind() != ErrorKind::AlreadyExists {
                let what = format!("{} cannot be made: {}", folder.display(), system(&error));
                return Err(Error::run(what, ""));
            }
            let place = if events.is_dir() { &folder } else { events };
            if name.is_some() && place.is_dir() {
                break folder;
            }
            // Another run has taken the same number in the meantime, or something is in the way.
            if name.is_some() || place == events {
                let is = match place.exists() {
                    true => "a file",
                    false => "a link that leads nowhere",
                };
                let what = format!("{} is {is}, where a folder is needed", place.display());
                return Err(Error::run(what, "take it away, or name another"));
            }
        };
        Ok(RunFolder(ClaimedFolder {
            events: events.to_owned(),
            folder,
            is_first,
        }))
    }

    /// Returns the number of events in the event file, to which others can be added; 0 if there is no event file.
    ///
    /// # Errors
    /// The file has `wanted` or more events, or those of an unknown run.
    pub fn written(&self, wanted: u64) -> Result<u64> {
        if self.path().join(EVENTS).symlink_metadata().is_err() {
            return Ok(0);
        }
        let there = written(&self.state()).map_or(0, |written| written.events);
        if (1..wanted).contains(&there) {
            return Ok(there);
        }
        let (events, cure) = match there {
            0 => ("the events".to_owned(), "take another name, or none"),
            _ => (
                format!("{there} events"),
                "ask for more (nevents), which are added to them; or take another name, or none",
            ),
        };
        let what = format!("{} holds {events} of a run", self.path().display());
        Err(Error::run(what, cure))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.0.folder
    }

    /// The name of the run.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// The folder of its state.
    pub fn state(&self) -> PathBuf {
        self.0.folder.join(STATE)
    }

    /// Returns a seed if none is given: that of the run to be continued, or else a random one.
    pub fn seed(&self) -> u64 {
        let before = argument(&self.state(), "seed").and_then(|seed| seed.as_u64());
        before.unwrap_or_else(|| RandomState::new().build_hasher().finish() % MAX_DRAWN_SEED + 1)
    }

    /// Removes unfinished files of a program that was killed. The caller must hold the lock of the state.
    pub fn tidy(&self) {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().display().to_string();
            let is_part = name.starts_with(".mebridge-") && name.ends_with(".tmp");
            if is_part || name == EVENTS_BEFORE_WEIGHTS || name == ADDED_EVENTS {
                // This fails for folders, which are not such files and stay.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns a function for a signal handler that ends this program: it removes the folder if nothing in it can be
    /// continued, and otherwise returns a message on how to continue the run.
    pub fn interrupted(&self) -> impl FnOnce() -> Option<String> + Send + use<> {
        let place = self.0.clone();
        move || {
            place.forget(true);
            let goes_on = || format!("run {} goes on with this name", place.name());
            place.folder.exists().then(goes_on)
        }
    }
}

impl ClaimedFolder {
    fn name(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.display().to_string()
    }

    /// Removes the folders that are empty. `own` is that of [`forget_empty`].
    fn forget(&self, own: bool) {
        forget_empty(&self.folder.join(STATE), own);
        let _ = fs::remove_dir(&self.folder);
        if self.is_first {
            let _ = fs::remove_dir(&self.events);
        }
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        self.0.forget(false);
    }
}

/// Whether `name` is a single path component, and not `.` or `..`.
fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let first = parts.next();
    parts.next().is_none() && first == Some(Component::Normal(name.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::State;
    use serde_json::json;

    #[test]
    fn runs_take_the_next_number_and_leave_nothing_empty() {
        let place = tempfile::tempdir().unwrap();
        let events = place.path().join("Events");
        let first = RunFolder::claim(&events, None).unwrap();
        let second = RunFolder::claim(&events, None).unwrap();
        assert_eq!(
            (first.name(), second.name()),
            ("run_01".into(), "run_02".into())
        );
        let drawn = first.seed();
        assert!((1..=MAX_DRAWN_SEED).contains(&drawn));
        drop(second);
        assert!(!events.join("run_02").exists());
        drop(first);
        assert!(!events.exists());
        // An existing folder `Events` stays.
        fs::create_dir(&events).unwrap();
        drop(RunFolder::claim(&events, Some("a")).unwrap());
        assert_eq!(fs::read_dir(&events).unwrap().count(), 0);
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let place = tempfile::tempdir().unwrap();
        let refused = |events: &Path, name| RunFolder::claim(events, name).unwrap_err().to_string();
        for name in ["..", ".", "a/b", "/", "", "a/"] {
            let found = refused(place.path(), Some(name));
            assert!(found.contains("it must be that of a folder in"), "{found}");
        }
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        for (events, name) in [(place.path(), Some("file")), (&file, None)] {
            let found = refused(events, name);
            assert_eq!(
                found,
                format!(
                    "{} is a file, where a folder is needed; take it away, or name another",
                    file.display()
                )
            );
        }
        std::os::unix::fs::symlink("nowhere", place.path().join("link")).unwrap();
        let found = refused(&place.path().join("link"), None);
        assert!(
            found.contains("link is a link that leads nowhere, where"),
            "{found}"
        );
        let found = refused(Path::new("/proc/nothing/Events"), None);
        assert!(found.contains("Events/run_01 cannot be made: "), "{found}");
        fs::create_dir(place.path().join("run")).unwrap();
        let folder = RunFolder::claim(place.path(), Some("run")).unwrap();
        assert_eq!(folder.written(10).unwrap(), 0);
        fs::write(folder.path().join(EVENTS), "").unwrap();
        let found = folder.written(10).unwrap_err().to_string();
        assert!(
            found.ends_with("run holds the events of a run; take another name, or none"),
            "{found}"
        );
    }

    #[test]
    fn what_a_killed_run_left_goes() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::claim(&place.path().join("Events"), Some("r")).unwrap();
        for name in [
            ".mebridge-1f.tmp",
            EVENTS_BEFORE_WEIGHTS,
            ".mine.tmp",
            "summary.txt",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join(".mebridge-2.tmp")).unwrap();
        folder.tidy();
        let left = fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".mebridge-2.tmp", ".mine.tmp", "summary.txt"]);
    }

    #[test]
    fn an_interrupted_run_goes_on_by_its_name_where_something_was_begun() {
        let place = tempfile::tempdir().unwrap();
        let events = place.path().join("Events");
        let arguments = [("seed".to_owned(), json!(7))];
        let folder = RunFolder::claim(&events, None).unwrap();
        let state = State::open(&folder.state(), &arguments, true).unwrap();
        // The thread of the signal handler runs while the state is open.
        assert_eq!(folder.interrupted()(), None);
        assert!(!events.exists());
        drop((state, folder));
        let folder = RunFolder::claim(&events, None).unwrap();
        let state = State::open(&folder.state(), &arguments, true).unwrap();
        state.part("survey").unwrap();
        assert_eq!(
            folder.interrupted()().as_deref(),
            Some("run run_01 goes on with this name")
        );
        drop((state, folder));
        assert_eq!(RunFolder::claim(&events, Some("run_01")).unwrap().seed(), 7);
    }
}
