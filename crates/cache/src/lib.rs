//! A cache on disk of what is costly to make: imported processes, plans, blocks of colour matrices,
//! device code and the sizes of its blocks.
//!
//! It is never needed. Much may be wrong with it: no place, a full disk, files that are damaged, foreign or of another
//! version, programs that write at the same time. Then the work is done again, and nobody is told; the answers are the
//! same to the last bit. A file is used only where it holds what was asked for, to the last bit ([`entry`]), and where
//! the reader of that kind finds that it can be used. Engines follow the addresses of a plan without further tests.
//!
//! | module | what it knows |
//! |---|---|
//! | [`key`] | what a thing was made from, as a hash |
//! | [`entry`] | the format of a file |
//! | [`folder`] | the files of a folder: their names, their size, which have to go |
//!
//! The key of everything contains [`BUILD`], a hash of the sources that make what is stored: another
//! version of mebridge, or the same with an edited planner, finds nothing.

pub mod entry;
pub mod folder;
pub mod key;

use folder::Folder;
use key::Key;
use mebridge_support::message;
use mebridge_support::runtime::{CachePlace, environment};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// What this build is called in keys: version, machine, and a hash of the sources of everything that
/// makes or describes what is stored (see `build.rs`).
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("MEBRIDGE_BUILD"));

/// What is stored, which is the extension of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The processes of a directory.
    Process,
    /// A plan, or that there is none.
    Plan,
    /// A colour matrix in blocks.
    Color,
    /// Device code, compiled.
    Device,
    /// How many threads the blocks of a kernel should have.
    Blocks,
}

impl Kind {
    /// All.
    pub const ALL: [Kind; 5] = [
        Kind::Process,
        Kind::Plan,
        Kind::Color,
        Kind::Device,
        Kind::Blocks,
    ];

    /// The extension.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Process => "process",
            Kind::Plan => "plan",
            Kind::Color => "color",
            Kind::Device => "device",
            Kind::Blocks => "blocks",
        }
    }

    /// Whether it is the same whenever it is made. Block sizes are measured.
    fn follows_from_its_key(self) -> bool {
        self != Kind::Blocks
    }
}

/// The cache, or none.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    folder: Option<Folder>,
    /// Nothing is loaded; what is stored is compared with what is there.
    check: bool,
}

impl Cache {
    /// The cache at a place. That it can be used is not certain.
    pub fn new(place: &CachePlace) -> Cache {
        Cache {
            folder: path(place).map(Folder::new),
            check: matches!(place, CachePlace::Check(_)),
        }
    }

    /// Whether there is a place for it.
    pub fn is_on(&self) -> bool {
        self.folder.is_some()
    }

    /// What is stored under a key.
    pub fn load<T: DeserializeOwned>(&self, kind: Kind, key: &Key) -> Option<T> {
        if self.check && kind.follows_from_its_key() {
            return None;
        }
        let bytes = self.folder.as_ref()?.read(kind, key)?;
        entry::decode(&bytes, key)
    }

    /// Stores something under a key.
    pub fn store<T: Serialize>(&self, kind: Kind, key: &Key, value: &T) {
        let Some(folder) = &self.folder else {
            return;
        };
        let Some(bytes) = entry::encode(value, key) else {
            return;
        };
        match folder.read(kind, key) {
            // Both stay as they are: whoever looks into it needs what was there.
            Some(stored) if self.check && kind.follows_from_its_key() => {
                if stored != bytes {
                    message::say(format_args!(
                        "the cache holds another {} than is made now: {}; please report this, and remove the file",
                        kind.name(),
                        folder.file(kind, key).display()
                    ));
                }
            }
            _ => folder.write(kind, key, &bytes),
        }
    }
}

/// The folder of a place: none where it is switched off, or where there is no home.
pub fn path(place: &CachePlace) -> Option<PathBuf> {
    match place {
        CachePlace::Off => None,
        CachePlace::Folder(path) | CachePlace::Check(Some(path)) => Some(path.clone()),
        CachePlace::User | CachePlace::Check(None) => {
            user(|name| environment::variable(name).map(PathBuf::from))
        }
    }
}

/// `$XDG_CACHE_HOME/mebridge`, else the system's folder for such things in the home.
fn user(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // The standard asks for absolute paths and lets others pass for unset.
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
