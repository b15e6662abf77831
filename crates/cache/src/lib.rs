//! A disk cache for results that take long to compute: imported processes, plans, blocks of colour matrices, device
//! code and its block sizes.
//!
//! The cache is optional. If it cannot be used (no folder, a full disk, files that are damaged, foreign or of another
//! version, concurrent writers), the work is silently done again, and the results are the same to the last bit. A file
//! is used only if its content is bit for bit what was stored for the key ([`entry`]), and if the reader of its kind
//! accepts it. Engines follow the addresses of a plan without further checks.
//!
//! | module | content |
//! |---|---|
//! | [`key`] | keys: hashes of everything from which a value is made |
//! | [`entry`] | format of a file |
//! | [`folder`] | files of a folder: names, sizes, eviction |
//!
//! Every key contains [`BUILD`], a hash of the sources that make the stored values, so that another version of
//! mebridge, or the same with an edited planner, does not use them.

pub mod entry;
pub mod folder;
pub mod key;

pub use folder::EntryKind;
use folder::Folder;
pub use key::BUILD;
use key::Key;
use mebridge_support::message;
use mebridge_support::runtime::{CachePlace, environment};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// The cache; it may be switched off.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    folder: Option<Folder>,
    /// Checks the cache: nothing is loaded, and values to be stored are compared with those in the cache.
    check: bool,
}

impl Cache {
    /// The cache at a place, which may turn out to be unusable.
    pub fn new(place: &CachePlace) -> Cache {
        Cache {
            folder: path(place).map(Folder::new),
            check: matches!(place, CachePlace::Check(_)),
        }
    }

    /// Whether the cache has a folder.
    pub fn is_enabled(&self) -> bool {
        self.folder.is_some()
    }

    /// Loads the value stored under a key.
    pub fn load<T: DeserializeOwned>(&self, kind: EntryKind, key: &Key) -> Option<T> {
        if self.check && kind.follows_from_its_key() {
            return None;
        }
        let bytes = self.folder.as_ref()?.read(kind, key)?;
        entry::decode(&bytes, key)
    }

    /// Stores a value under a key.
    pub fn store<T: Serialize>(&self, kind: EntryKind, key: &Key, value: &T) {
        let Some(folder) = &self.folder else {
            return;
        };
        let Some(bytes) = entry::encode(value, key) else {
            return;
        };
        match folder.read(kind, key) {
            // The file stays as it is, so that the difference can be examined.
            Some(stored) if self.check && kind.follows_from_its_key() => {
                if stored != bytes {
                    message::say(format_args!(
                        "the cached {} differs from the one made now: {}; please report this and remove the file",
                        kind.name(),
                        folder.file(kind, key).display()
                    ));
                }
            }
            _ => folder.write(kind, key, &bytes),
        }
    }
}

/// The folder for a place: `None` if the cache is switched off or the user has no home directory.
pub fn path(place: &CachePlace) -> Option<PathBuf> {
    match place {
        CachePlace::Off => None,
        CachePlace::Folder(path) | CachePlace::Check(Some(path)) => Some(path.clone()),
        CachePlace::User | CachePlace::Check(None) => {
            user(|name| environment::variable(name).map(PathBuf::from))
        }
    }
}

/// `$XDG_CACHE_HOME/mebridge`, or the system's folder for caches in the home directory.
fn user(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // The standard requires absolute paths and treats others as unset.
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| {
        let home = absolute("HOME")?;
        Some(home.join(match cfg!(target_os = "macos") {
            true => "Library/Caches",
            false => ".cache",
        }))
    });
    Some(caches?.join("mebridge"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_follows_the_environment() {
        let with = |xdg: &str, home: &str| {
            let value = |path: &str| (!path.is_empty()).then(|| PathBuf::from(path));
            user(|name| value(if name == "HOME" { home } else { xdg }))
        };
        assert_eq!(with("/c", "/h"), Some("/c/mebridge".into()));
        assert_eq!(with("relative", "relative"), None);
        assert_eq!(with("", ""), None);
        let home = with("", "/h").unwrap();
        assert!(home.starts_with("/h") && home.ends_with("mebridge"));
        assert_eq!(path(&CachePlace::Off), None);
    }
}
