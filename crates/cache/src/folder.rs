//! The files of a cache: names, sizes, and eviction.
//!
//! A file is named by half of its key and its kind, `3f...09.plan`. It is written under a temporary name and renamed,
//! so that readers see complete files only; if several programs write the same file, the last one wins, and all wrote
//! the same content. Files with other names are not touched.

use super::key::Key;
use mebridge_support::files::regular;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, SystemTime};

/// The kind of a stored value, which is the extension of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The processes in a directory.
    Process,
    /// A plan, or the fact that none exists.
    Plan,
    /// A colour matrix in blocks.
    Color,
    /// Compiled device code.
    Device,
    /// Number of threads per block for a kernel.
    Blocks,
}

impl EntryKind {
    /// All kinds.
    pub const ALL: [EntryKind; 5] = [
        EntryKind::Process,
        EntryKind::Plan,
        EntryKind::Color,
        EntryKind::Device,
        EntryKind::Blocks,
    ];

    /// The file extension.
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Process => "process",
            EntryKind::Plan => "plan",
            EntryKind::Color => "color",
            EntryKind::Device => "device",
            EntryKind::Blocks => "blocks",
        }
    }

    /// Whether the value is fully determined by the key. Block sizes are not: they are measured.
    pub(crate) fn follows_from_its_key(self) -> bool {
        self != EntryKind::Blocks
    }
}

/// If the files exceed this size, the least recently used ones are removed.
const LIMIT: u64 = 512 << 20;
/// Larger files are not written, as they would evict all others.
const MAX_ENTRY_BYTES: u64 = LIMIT / 4;
/// The modification time of a file is updated when it is used, unless it is younger than this.
const YOUNG: Duration = Duration::from_secs(600);
/// The files are listed each time this fraction of the limit has been written, as there may be thousands.
const PART: u64 = 64;
/// A temporary file of this age was left by a program that ended prematurely.
const ABANDONED: Duration = Duration::from_secs(3600);

/// For each folder, the number of bytes that this program may write before it lists the files again.
static ALLOWANCE: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());
/// Attempts to lock it: other threads have it for one look-up.
const ATTEMPTS: usize = 1000;

/// Returns the numbers of bytes; `None` if they stay locked: after a fork, by a thread that does not exist in this process.
fn allowance() -> Option<MutexGuard<'static, BTreeMap<PathBuf, u64>>> {
    for _ in 0..ATTEMPTS {
        match ALLOWANCE.try_lock() {
            Ok(numbers) => return Some(numbers),
            Err(TryLockError::Poisoned(numbers)) => return Some(numbers.into_inner()),
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
    None
}

/// The folder of a cache, which need not exist.
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

/// Reason why a folder is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// It belongs to another user.
    Owner,
    /// Others can write to it, for instance because it was created with a umask of 002.
    Writable,
}

/// Size of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsage {
    /// Number of files.
    pub files: usize,
    /// Number of bytes.
    pub bytes: u64,
}

impl Folder {
    /// The folder at this path.
    pub fn new(path: PathBuf) -> Folder {
        Folder { path, limit: LIMIT }
    }

    pub(crate) fn file(&self, kind: EntryKind, key: &Key) -> PathBuf {
        self.path.join(format!("{}.{}", key.name(), kind.name()))
    }

    /// Reads a file. `None` if it does not exist or cannot be used.
    pub fn read(&self, kind: EntryKind, key: &Key) -> Option<Vec<u8>> {
        if !is_trusted(&self.path) {
            return None;
        }
        let file = regular::open(&self.file(kind, key), MAX_ENTRY_BYTES).ok()?;
        let metadata = file.metadata().ok()?;
        // The folder may have been writable for others when this file was put into it.
        if distrust(&metadata).is_some() {
            return None;
        }
        let bytes = regular::bytes(&file, MAX_ENTRY_BYTES).ok()?;
        let now = SystemTime::now();
        let young = |time| now.duration_since(time).is_ok_and(|age| age < YOUNG);
        if !metadata.modified().is_ok_and(young) {
            // The time only serves to find the least recently used files, so errors are ignored.
            let _ = file.set_modified(now);
        }
        Some(bytes)
    }

    /// Writes a file if possible.
    pub fn write(&self, kind: EntryKind, key: &Key, bytes: &[u8]) {
        let small = bytes.len() as u64 <= MAX_ENTRY_BYTES.min(self.limit);
        if !small || create(&self.path).is_err() || !is_trusted(&self.path) {
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
            // It may not exist.
            Err(_) => _ = fs::remove_file(&temporary),
        }
    }

    /// Whether another `bytes` bytes certainly fit, given what this program has written since it last listed the files.
    fn has_room(&self, bytes: u64) -> bool {
        let Some(mut rooms) = allowance() else {
            return false;
        };
        let room = rooms.get_mut(&self.path).filter(|room| **room >= bytes);
        room.is_some_and(|room| {
            *room -= bytes;
            true
        })
    }

    /// Removes the least recently used files, except `spared`, until the size limit is met; also removes abandoned
    /// temporary files.
    fn make_room(&self, spared: &Path) {
        let now = SystemTime::now();
        let (left, mut files): (Vec<_>, Vec<_>) =
            self.list().into_iter().partition(|file| file.temporary);
        for file in left {
            if now
                .duration_since(file.used)
                .is_ok_and(|age| age > ABANDONED)
            {
                // Another program may have removed it already.
                let _ = fs::remove_file(&file.path);
            }
        }
        let mut bytes: u64 = files.iter().map(|file| file.size).sum();
        if bytes > self.limit {
            files.retain(|file| file.path != spared);
            files.sort_by_key(|file| file.used);
            for file in files {
                // If another program has removed it already, its size counts as freed as well.
                let _ = fs::remove_file(&file.path);
                bytes = bytes.saturating_sub(file.size);
                if bytes <= self.limit - self.limit / PART {
                    break;
                }
            }
        }
        if let Some(mut rooms) = allowance() {
            let room = self.limit.saturating_sub(bytes).min(self.limit / PART);
            rooms.insert(self.path.clone(), room);
        }
    }

    /// Lists the files of the cache.
    fn list(&self) -> Vec<Stored> {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return Vec::new();
        };
        let stored = |entry: fs::DirEntry| {
            let temporary = match parse_name(entry.file_name().to_str()?)? {
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

    /// Why the existing folder is not used; `None` if it is, or does not exist.
    pub fn distrust(&self) -> Option<Distrust> {
        distrust(&fs::metadata(&self.path).ok()?)
    }

    /// Tests whether files can be written to the folder.
    pub fn check_writable(&self) -> io::Result<()> {
        create(&self.path)?;
        let probe = temporary_beside(&self.path.join("probe"));
        let tried = create_file(&probe).and_then(|mut file| file.write_all(b"x"));
        // It may not exist.
        let _ = fs::remove_file(&probe);
        tried
    }

    /// The size of the cache.
    pub fn usage(&self) -> CacheUsage {
        let files = self.list();
        CacheUsage {
            files: files.len(),
            bytes: files.iter().map(|file| file.size).sum(),
        }
    }

    /// Removes all files of the cache, and returns their number and size.
    pub fn clear(&self) -> io::Result<CacheUsage> {
        let mut removed = CacheUsage::default();
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

/// The kind of a file, according to its name.
enum Name {
    Entry,
    Temporary,
}

/// Parses a file name; `None` if the file does not belong to the cache.
fn parse_name(name: &str) -> Option<Name> {
    let (name, temporary) = match name.strip_prefix('.') {
        Some(rest) => {
            let rest = rest.strip_suffix(".tmp")?;
            // Process ID and counter.
            let (rest, _) = rest.rsplit_once('.')?;
            (rest.rsplit_once('.')?.0, true)
        }
        None => (name, false),
    };
    let (key, kind) = name.split_once('.')?;
    let hex = key.len() == 32 && key.bytes().all(|b| b.is_ascii_hexdigit());
    let known = EntryKind::ALL.iter().any(|k| k.name() == kind);
    (hex && known).then_some(if temporary {
        Name::Temporary
    } else {
        Name::Entry
    })
}

/// A unique name in the same folder, from which the file can be renamed. Process IDs are unique on one machine but not
/// in a folder shared by several, so the time is added.
fn temporary_beside(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.subsec_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{time}-{count}.tmp", std::process::id()))
}

/// Runs `f` without the signal for files larger than the program may write (`ulimit -f`), which by default ends the
/// program. The write still fails.
#[cfg(unix)]
fn without_size_signal<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: the signal sets are on the stack and filled before they are read. The signal is blocked in this thread
    // only, and the system sends it to this thread.
    unsafe {
        let mut signal = std::mem::zeroed();
        libc::sigemptyset(&raw mut signal);
        libc::sigaddset(&raw mut signal, libc::SIGXFSZ);
        let pending = || {
            let mut pending = std::mem::zeroed();
            libc::sigpending(&raw mut pending) == 0
                && libc::sigismember(&raw const pending, libc::SIGXFSZ) == 1
        };
        // A signal that was already pending is left alone.
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

/// Whether a folder belongs to the user and no one else can write to it. This matters because its content is executed:
/// device code is loaded, and the addresses of plans are followed. So each file has to belong to the user as well.
fn is_trusted(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|folder| distrust(&folder).is_none())
}

/// Why a folder, or a file in it, is not trusted; `None` if it is.
#[cfg(unix)]
fn distrust(seen: &fs::Metadata) -> Option<Distrust> {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: `geteuid` takes no arguments and cannot fail.
    if seen.uid() != unsafe { libc::geteuid() } {
        return Some(Distrust::Owner);
    }
    (seen.mode() & 0o022 != 0).then_some(Distrust::Writable)
}

#[cfg(not(unix))]
fn distrust(_: &fs::Metadata) -> Option<Distrust> {
    None
}

/// Creates the folder, accessible to its owner only.
fn create(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a new file, accessible to its owner only whatever the umask is.
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
        Key::builder(name).finish()
    }

    fn set_age(folder: &Folder, key: &Key, seconds: u64) {
        let file = File::open(folder.file(EntryKind::Plan, key)).unwrap();
        let time = SystemTime::now() - Duration::from_secs(seconds);
        file.set_modified(time).unwrap();
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is_left() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::new(temporary.path().join("a/b"));
        assert_eq!(folder.usage(), CacheUsage::default());
        assert_eq!(folder.read(EntryKind::Plan, &key("x")), None);
        folder.write(EntryKind::Plan, &key("x"), b"one");
        folder.write(EntryKind::Plan, &key("x"), b"two");
        assert_eq!(folder.read(EntryKind::Plan, &key("x")).unwrap(), b"two");
        assert_eq!(folder.read(EntryKind::Color, &key("x")), None);
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1);
        assert_eq!(folder.usage(), CacheUsage { files: 1, bytes: 3 });
    }

    #[test]
    fn the_files_not_used_for_longest_go() {
        let temporary = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(temporary.path().to_owned());
        folder.limit = 30;
        let keys = ["a", "b", "c"].map(key);
        for (age, key) in [3000, 2000, 1000].into_iter().zip(&keys) {
            folder.write(EntryKind::Plan, key, &[0; 10]);
            set_age(&folder, key, age);
        }
        assert_eq!(folder.usage().bytes, 30);
        // Using the oldest file makes the second one the oldest.
        folder.read(EntryKind::Plan, &keys[0]).unwrap();
        folder.write(EntryKind::Plan, &key("d"), &[0; 10]);
        assert!(folder.read(EntryKind::Plan, &keys[0]).is_some());
        assert!(folder.read(EntryKind::Plan, &keys[1]).is_none());
        assert!(folder.read(EntryKind::Plan, &keys[2]).is_some());
        // A file larger than the limit is not written.
        folder.write(EntryKind::Plan, &key("e"), &[0; 31]);
        assert_eq!(
            folder.usage(),
            CacheUsage {
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
        folder.write(EntryKind::Plan, &key("x"), b"one");
        assert_eq!(folder.usage(), CacheUsage { files: 1, bytes: 3 });
        assert_eq!(folder.clear().unwrap(), CacheUsage { files: 1, bytes: 3 });
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), others.len());
    }

    #[test]
    fn what_was_left_unfinished_goes() {
        let temporary = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(temporary.path().to_owned());
        folder.limit = 10 * PART;
        let path = temporary_beside(&folder.file(EntryKind::Plan, &key("x")));
        fs::write(&path, "half").unwrap();
        folder.write(EntryKind::Plan, &key("y"), b"one");
        assert!(path.exists(), "another program may be at work on it");
        let old = SystemTime::now() - 2 * ABANDONED;
        File::open(&path).unwrap().set_modified(old).unwrap();
        // The files are listed only once in a while.
        for _ in 0..3 {
            folder.write(EntryKind::Plan, &key("y"), b"one");
            assert!(path.exists());
        }
        folder.write(EntryKind::Plan, &key("y"), b"one");
        assert!(!path.exists());
    }

    /// Runs in a separate process, as the limit applies to the whole process.
    #[cfg(unix)]
    #[test]
    fn a_limit_on_files_is_no_error_and_leaves_nothing() {
        const FOLDER: &str = "MEBRIDGE_TEST_LIMITED_FOLDER";
        if let Some(path) = std::env::var_os(FOLDER) {
            let limit = libc::rlimit {
                rlim_cur: 1000,
                rlim_max: 1000,
            };
            // SAFETY: the arguments are a constant and a valid limit.
            let set = unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) };
            assert_eq!(set, 0);
            let folder = Folder::new(path.into());
            folder.write(EntryKind::Plan, &key("x"), &[0; 5000]);
            folder.write(EntryKind::Plan, &key("y"), &[0; 500]);
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
        assert_eq!(folder.read(EntryKind::Plan, &key("y")).unwrap().len(), 500);
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::new(temporary.path().to_owned());
        let mode = |mode| fs::set_permissions(&folder.path, fs::Permissions::from_mode(mode));
        let there = |name| folder.read(EntryKind::Plan, &key(name)).is_some();
        folder.write(EntryKind::Plan, &key("x"), b"one");
        assert!(there("x"));
        for others in [0o770, 0o707, 0o1777] {
            mode(others).unwrap();
            assert!(!there("x"), "{others:o}");
            folder.write(EntryKind::Plan, &key("y"), b"one");
            mode(0o755).unwrap();
            assert!(there("x") && !there("y"), "{others:o}");
        }
        // A file that others can write to, or that another user put there while the folder was accessible to them.
        let file = folder.file(EntryKind::Plan, &key("x"));
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
            folder.write(EntryKind::Plan, &key("x"), b"two");
            assert_eq!(folder.read(EntryKind::Plan, &key("x")).unwrap(), b"two");
        }
        // Only root can give a folder to another user.
        if chown(&folder.path, Some(65534), None).is_ok() {
            assert!(!there("x"));
            folder.write(EntryKind::Plan, &key("y"), b"one");
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
            folder.write(EntryKind::Plan, &key("x"), b"one");
            assert_eq!(folder.read(EntryKind::Plan, &key("x")), None);
            assert_eq!(folder.usage(), CacheUsage::default());
            assert_eq!(folder.clear().unwrap(), CacheUsage::default());
        }
        // A folder in the place of the file.
        let folder = Folder::new(temporary.path().to_owned());
        fs::create_dir(folder.file(EntryKind::Plan, &key("x"))).unwrap();
        folder.write(EntryKind::Plan, &key("x"), b"one");
        assert_eq!(folder.read(EntryKind::Plan, &key("x")), None);
    }
}
