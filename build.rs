//! Hashes the sources of what the cache keeps, for `cache::BUILD`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What makes or describes processes, plans and blocks of colour matrices. The planner recognises a structure
/// by running the kernels beside it. (A test of `cache` sees that nothing is missing.)
const CACHED: [&str; 9] = [
    "Cargo.lock",
    "crates/import/src",
    "crates/ops/src",
    "crates/plan/src",
    "crates/process/src",
    "crates/simd/src",
    "crates/support/src/files",
    "crates/support/src/random.rs",
    "src/cache",
];

fn main() {
    let mut hasher = DefaultHasher::new();
    for part in CACHED {
        let part = PathBuf::from(part);
        println!("cargo::rerun-if-changed={}", part.display());
        hash(&part, &mut hasher);
    }
    // Cargo sets it for every build script.
    let target = std::env::var("TARGET").expect("TARGET is not set");
    target.hash(&mut hasher);
    // Tests look for the C compiler of this target.
    println!("cargo::rustc-env=MEBRIDGE_TARGET={target}");
    println!("cargo::rustc-env=MEBRIDGE_BUILD={:016x}", hasher.finish());
}

/// Adds names and contents of a file, or of all files of a folder. Cargo runs this in the package's folder.
fn hash(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a folder of sources cannot be read");
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            hash(&path, hasher);
        }
    } else {
        path.hash(hasher);
        let contents = std::fs::read(path).expect("a source file cannot be read");
        contents.hash(hasher);
    }
}
