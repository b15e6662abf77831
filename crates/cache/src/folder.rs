//! The files of a cache: their names, their size, which have to go.
//!
//! A file is called by half of its key and its kind, `3f...09.plan`. It is written under another
//! name and renamed, so that whoever reads sees all of it; where several programs write the same
//! file, the last one wins, and all wrote the same. Files of other names are left alone.

use super::Kind;
use super::key::Key;
use mebridge_support::files::regular;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// Beyond this size the files go that were not used for longest.
const LIMIT: u64 = 512 << 20;
/// A larger file is not written: it would push out all others.
const LARGEST: u64 = LIMIT / 4;
/// A file that is used says so in its time, unless that is as young as this.
const YOUNG: Duration = Duration::from_secs(600);
/// The files are looked at after each such part of the limit that was written: there may be thousands.
const PART: u64 = 64;
/// A temporary file of this age was left by a program that ended before it was done.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Of each folder, how many bytes this program may write before it looks at the files again.
static ROOM: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

/// The folder of a cache, whether it exists or not.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    limit: u64,
}

/// A file of the cache.
#[derive(Clone, Debug)]
struct Stored {
    path: PathBuf,
    size: u64,
    used: SystemTime,
    temporary: bool,
}

/// Why a folder is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// It is another user's.
    Owner,
    /// Others can write to it, as to a folder that was made with a umask of 002.
    Writable,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Folder {
    /// A folder of this name.
    pub fn new(path: PathBuf) -> Folder {
        Folder { path, limit: LIMIT }
    }

    pub(crate) fn file(&self, kind: Kind, key: &Key) -> PathBuf {
        self.path.join(format!("{}.{}", key.name(), kind.name()))
    }

    /// The bytes of a file, if it is there and can be read.
    pub fn read(&self, kind: Kind, key: &Key) -> Option<Vec<u8>> {
        if !ours(&self.path) {
            return None;
        }
        let file = regular::open(&self.file(kind, key), LARGEST).ok()?;
        let metadata = file.metadata().ok()?;
        // A folder that is ours now may have been everybody's when this was put into it.
        if distrust(&metadata).is_some() {
            return None;
        }
        let bytes = regular::bytes(&file, LARGEST).ok()?;
        let now = SystemTime::now();
        let young = |time| now.duration_since(time).is_ok_and(|age| age < YOUNG);
        if !metadata.modified().is_ok_and(young) {
            // It only serves to find out which file was not used for longest.
            let _ = file.set_modified(now);
        }
        Some(bytes)
    }

    /// Writes a file, if that can be done.
    pub fn write(&self, kind: Kind, key: &Key, bytes: &[u8]) {
        let small = bytes.len() as u64 <= LARGEST.min(self.limit);
        if !small || create(&self.path).is_err() || !ours(&self.path) {
            return;
        }
        let path = self.file(kind, key);
        let temporary = temporary_beside(&path);
        let written = without_size_signal(|| {
            let mut file = create_file(&temporary)?;
            file.write_all(bytes)?;
            drop(file);
            fs::rename(&temporary, &path)
        });
        match written {
            Ok(()) if self.has_room(bytes.len() as u64) => {}
            Ok(()) => self.make_room(&path),
            // It may not even exist.
            Err(_) => _ = fs::remove_file(&temporary),
        }
    }

    /// Whether this many more bytes fit for sure, by what this program has written since it looked.
    fn has_room(&self, bytes: u64) -> bool {
        // A child of a process has the lock as it was.
        let Ok(mut rooms) = ROOM.try_lock() else {
            return false;
        };
        let room = rooms.get_mut(&self.path).filter(|room| **room >= bytes);
        room.is_some_and(|room| {
            *room -= bytes;
            true
        })
    }

    /// Removes the files that were not used for longest, but for `spared`, as long as there are too
    /// many; and what other programs left unfinished.
    fn make_room(&self, spared: &Path) {
        let now = SystemTime::now();
        let (left, mut files): (Vec<_>, Vec<_>) =
            self.list().into_iter().partition(|file| file.temporary);
        for file in left {
            if now
                .duration_since(file.used)
                .is_ok_and(|age| age > ABANDONED)
            {
                // Another program may have removed it.
                let _ = fs::remove_file(&file.path);
            }
        }
        let mut bytes: u64 = files.iter().map(|file| file.size).sum();
        if bytes > self.limit {
            files.retain(|file| file.path != spared);
            files.sort_by_key(|file| file.used);
            for file in files {
                // Another program may have removed it: then it is gone as well.
                let _ = fs::remove_file(&file.path);
                bytes = bytes.saturating_sub(file.size);
                if bytes <= self.limit - self.limit / PART {
                    break;
                }
            }
        }
        if let Ok(mut rooms) = ROOM.try_lock() {
            let room = self.limit.saturating_sub(bytes).min(self.limit / PART);
            rooms.insert(self.path.clone(), room);
        }
    }

    /// The cache's files.
    fn list(&self) -> Vec<Stored> {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return Vec::new();
        };
        let stored = |entry: fs::DirEntry| {
            let temporary = match belongs(entry.file_name().to_str()?)? {
                Name::Entry => false,
                Name::Temporary => true,
            };
            let metadata = entry.metadata().ok()?;
            metadata.is_file().then(|| Stored {
                path: entry.path(),
                size: metadata.len(),
                used: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                temporary,
            })
        };
        entries.flatten().filter_map(stored).collect()
    }

    /// Why it is not used although it exists, if so.
    pub fn distrust(&self) -> Option<Distrust> {
        distrust(&fs::metadata(&self.path).ok()?)
    }

    /// Whether something can be kept in it, or why not.
    pub fn try_out(&self) -> io::Result<()> {
        create(&self.path)?;
        let probe = temporary_beside(&self.path.join("probe"));
        let tried = create_file(&probe).and_then(|mut file| file.write_all(b"x"));
        // It may not even exist.
        let _ = fs::remove_file(&probe);
        tried
    }

    /// How much is in it.
    pub fn usage(&self) -> Usage {
        let files = self.list();
        Usage {
            files: files.len(),
            bytes: files.iter().map(|file| file.size).sum(),
        }
    }

    /// Removes all files of the cache, and says how many there were.
    pub fn clear(&self) -> io::Result<Usage> {
        let mut removed = Usage::default();
        for file in self.list() {
            match fs::remove_file(&file.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {
                    removed.files += 1;
                    removed.bytes += file.size;
                }
            }
        }
        Ok(removed)
    }
}

/// What a name says.
enum Name {
    Entry,
    Temporary,
}

/// Whether a file of this name is the cache's.
fn belongs(name: &str) -> Option<Name> {
    let (name, temporary) = match name.strip_prefix('.') {
        Some(rest) => {
            let rest = rest.strip_suffix(".tmp")?;
            // Process and number.
            let (rest, _) = rest.rsplit_once('.')?;
            (rest.rsplit_once('.')?.0, true)
        }
        None => (name, false),
    };
    let (key, kind) = name.split_once('.')?;
    let hex = key.len() == 32 && key.bytes().all(|b| b.is_ascii_hexdigit());
    let known = Kind::ALL.iter().any(|k| k.name() == kind);
    (hex && known).then_some(if temporary {
        Name::Temporary
    } else {
        Name::Entry
    })
}

/// A name that nobody else uses, in the same folder so that it can be renamed. The number of a
/// process is unique on its machine, not in a folder that machines share; the time helps.
fn temporary_beside(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.subsec_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{time}-{count}.tmp", std::process::id()))
}

/// Runs `f` without the signal that a file is larger than the program may write (`ulimit -f`), which ends a
/// program that does not expect it. The write fails all the same.
#[cfg(unix)]
fn without_size_signal<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: sets of signals on the stack, filled before they are read. The signal is held back in this
    // thread alone, to which the system sends it.
    unsafe {
        let mut signal = std::mem::zeroed();
        libc::sigemptyset(&raw mut signal);
        libc::sigaddset(&raw mut signal, libc::SIGXFSZ);
        let pending = || {
            let mut pending = std::mem::zeroed();
            libc::sigpending(&raw mut pending) == 0
                && libc::sigismember(&raw const pending, libc::SIGXFSZ) == 1
        };
        // One of somebody else's is left to them.
        let before = pending();
        let mut old = std::mem::zeroed();
        let held = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signal, &raw mut old) == 0;
        let result = f();
        if held {
            if !before && pending() {
                let mut number = 0;
                libc::sigwait(&raw const signal, &raw mut number);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
        }
        result
    }
}

#[cfg(not(unix))]
fn without_size_signal<T>(f: impl FnOnce() -> T) -> T {
    f()
}

/// Whether a folder is the user's, and nobody else can write to it. What is in it is run: a plan's addresses are
/// followed, device code is loaded. So each file has to be the user's as well.
fn ours(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|folder| distrust(&folder).is_none())
}

/// Why a folder, or a file in it, is not trusted, if it is not.
#[cfg(unix)]
fn distrust(seen: &fs::Metadata) -> Option<Distrust> {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: it takes nothing and cannot fail.
    if seen.uid() != unsafe { libc::geteuid() } {
        return Some(Distrust::Owner);
    }
    (seen.mode() & 0o022 != 0).then_some(Distrust::Writable)
}

#[cfg(not(unix))]
fn distrust(_: &fs::Metadata) -> Option<Distrust> {
    None
}

/// Makes the folder, for its owner alone.
fn create(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a file that was not there, for its owner alone whatever the umask is.
fn create_file(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::of(name).finish()
    }

    fn set_age(folder: &Folder, key: &Key, seconds: u64) {
        let file = File::open(folder.file(Kind::Plan, key)).unwrap();
        let time = SystemTime::now() - Duration::from_secs(seconds);
        file.set_modified(time).unwrap();
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is_left() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::new(temporary.path().join("a/b"));
        assert_eq!(folder.usage(), Usage::default());
        assert_eq!(folder.read(Kind::Plan, &key("x")), None);
        folder.write(Kind::Plan, &key("x"), b"one");
        folder.write(Kind::Plan, &key("x"), b"two");
        assert_eq!(folder.read(Kind::Plan, &key("x")).unwrap(), b"two");
        assert_eq!(folder.read(Kind::Color, &key("x")), None);
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1);
        assert_eq!(folder.usage(), Usage { files: 1, bytes: 3 });
    }

    #[test]
    fn the_files_not_used_for_longest_go() {
        let temporary = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(temporary.path().to_owned());
        folder.limit = 30;
        let keys = ["a", "b", "c"].map(key);
        for (age, key) in [3000, 2000, 1000].into_iter().zip(&keys) {
            folder.write(Kind::Plan, key, &[0; 10]);
            set_age(&folder, key, age);
        }
        assert_eq!(folder.usage().bytes, 30);
        // The oldest is used, so that the second is the oldest.
        folder.read(Kind::Plan, &keys[0]).unwrap();
        folder.write(Kind::Plan, &key("d"), &[0; 10]);
        assert!(folder.read(Kind::Plan, &keys[0]).is_some());
        assert!(folder.read(Kind::Plan, &keys[1]).is_none());
        assert!(folder.read(Kind::Plan, &keys[2]).is_some());
        // One that is larger than all may be is not written.
        folder.write(Kind::Plan, &key("e"), &[0; 31]);
        assert_eq!(
            folder.usage(),
            Usage {
                files: 3,
                bytes: 30
            }
        );
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(temporary.path().to_owned());
        folder.limit = 5;
        let others = ["notes.txt", "x.plan", ".x.plan.1.2.tmp", "0.color"];
        for name in others {
            fs::write(folder.path.join(name), "much more than the limit").unwrap();
        }
        folder.write(Kind::Plan, &key("x"), b"one");
        assert_eq!(folder.usage(), Usage { files: 1, bytes: 3 });
        assert_eq!(folder.clear().unwrap(), Usage { files: 1, bytes: 3 });
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), others.len());
    }

    #[test]
    fn what_was_left_unfinished_goes() {
        let temporary = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(temporary.path().to_owned());
        folder.limit = 10 * PART;
        let path = temporary_beside(&folder.file(Kind::Plan, &key("x")));
        fs::write(&path, "half").unwrap();
        folder.write(Kind::Plan, &key("y"), b"one");
        assert!(path.exists(), "another program may be at work on it");
        let old = SystemTime::now() - 2 * ABANDONED;
        File::open(&path).unwrap().set_modified(old).unwrap();
        // The files are looked at once in a while.
        for _ in 0..3 {
            folder.write(Kind::Plan, &key("y"), b"one");
            assert!(path.exists());
        }
        folder.write(Kind::Plan, &key("y"), b"one");
        assert!(!path.exists());
    }

    /// In a program of its own, for the limit is the program's.
    #[cfg(unix)]
    #[test]
    fn a_limit_on_files_is_no_error_and_leaves_nothing() {
        const FOLDER: &str = "MEBRIDGE_TEST_LIMITED_FOLDER";
        if let Some(path) = std::env::var_os(FOLDER) {
            let limit = libc::rlimit {
                rlim_cur: 1000,
                rlim_max: 1000,
            };
            // SAFETY: a number and a limit.
            let set = unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) };
            assert_eq!(set, 0);
            let folder = Folder::new(path.into());
            folder.write(Kind::Plan, &key("x"), &[0; 5000]);
            folder.write(Kind::Plan, &key("y"), &[0; 500]);
            return;
        }
        let temporary = tempfile::tempdir().unwrap();
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["folder::tests::a_limit_on_files_is_no_error_and_leaves_nothing"])
            .arg("--exact")
            .env(FOLDER, temporary.path())
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{status}");
        let folder = Folder::new(temporary.path().to_owned());
        assert_eq!(folder.read(Kind::Plan, &key("y")).unwrap().len(), 500);
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::new(temporary.path().to_owned());
        let mode = |mode| fs::set_permissions(&folder.path, fs::Permissions::from_mode(mode));
        let there = |name| folder.read(Kind::Plan, &key(name)).is_some();
        folder.write(Kind::Plan, &key("x"), b"one");
        assert!(there("x"));
        for others in [0o770, 0o707, 0o1777] {
            mode(others).unwrap();
            assert!(!there("x"), "{others:o}");
            folder.write(Kind::Plan, &key("y"), b"one");
            mode(0o755).unwrap();
            assert!(there("x") && !there("y"), "{others:o}");
        }
        // A file that others can write to, or that another user put there: the folder was not always ours.
        let file = folder.file(Kind::Plan, &key("x"));
        let file_mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode));
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        for (others, trusted) in [(0o666, false), (0o620, false), (0o644, true)] {
            file_mode(others).unwrap();
            assert_eq!(there("x"), trusted, "{others:o}");
        }
        if chown(&file, Some(65534), None).is_ok() {
            assert!(!there("x"));
            // It is replaced.
            folder.write(Kind::Plan, &key("x"), b"two");
            assert_eq!(folder.read(Kind::Plan, &key("x")).unwrap(), b"two");
        }
        // Root alone can give a folder away.
        if chown(&folder.path, Some(65534), None).is_ok() {
            assert!(!there("x"));
            folder.write(Kind::Plan, &key("y"), b"one");
            assert_eq!(folder.usage().files, 1);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_no_error() {
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [file.join("inside"), file, "/proc/none".into()] {
            let folder = Folder::new(path);
            folder.write(Kind::Plan, &key("x"), b"one");
            assert_eq!(folder.read(Kind::Plan, &key("x")), None);
            assert_eq!(folder.usage(), Usage::default());
            assert_eq!(folder.clear().unwrap(), Usage::default());
        }
        // A folder where the file should be.
        let folder = Folder::new(temporary.path().to_owned());
        fs::create_dir(folder.file(Kind::Plan, &key("x"))).unwrap();
        folder.write(Kind::Plan, &key("x"), b"one");
        assert_eq!(folder.read(Kind::Plan, &key("x")), None);
    }
}
