//! Makes the C header from `src/abi/c.rs`, into cargo's folder for such things. The committed
//! `include/mebridge.h` is a copy; a test says so where it is not.
//!
//! And hashes the sources of what the cache keeps, for `cache::BUILD`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What makes or describes processes, plans and blocks of colour matrices. The planner recognises a structure
/// by running the kernels beside it. (A test of `cache` sees that nothing is missing.)
const CACHED: [&str; 7] = ["cache", "color", "import", "ops", "plan", "process", "simd"];

fn main() {
    header();
    let mut hasher = DefaultHasher::new();
    for folder in CACHED {
        let folder = PathBuf::from(format!("src/{folder}"));
        println!("cargo::rerun-if-changed={}", folder.display());
        hash(&folder, &mut hasher);
    }
    std::env::var_os("TARGET").hash(&mut hasher);
    println!("cargo::rustc-env=MEBRIDGE_BUILD={:016x}", hasher.finish());
}

/// Adds names and contents of all files of a folder. Cargo runs this in the package's folder.
fn hash(folder: &Path, hasher: &mut DefaultHasher) {
    let entries = std::fs::read_dir(folder).expect("a folder of src cannot be read");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash(&path, hasher);
        } else {
            path.hash(hasher);
            let contents = std::fs::read(&path).expect("a file of src cannot be read");
            contents.hash(hasher);
        }
    }
}

fn header() {
    println!("cargo::rerun-if-changed=src/abi/c.rs");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    // Cargo sets both for every build script.
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("CARGO_MANIFEST_DIR is not set");
    let out = std::env::var("OUT_DIR").expect("OUT_DIR is not set");
    let config = cbindgen::Config::from_file(format!("{here}/cbindgen.toml"))
        .expect("cbindgen.toml cannot be read");
    let mut header = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(format!("{here}/src/abi/c.rs"))
        .generate()
        .expect("cbindgen cannot read src/abi/c.rs")
        .write(&mut header);
    // The heading that Rust's lints ask for says little in C.
    let header = String::from_utf8(header)
        .expect("cbindgen wrote UTF-8")
        .replace(" # Safety\n", " The caller sees to it:\n");
    std::fs::write(format!("{out}/mebridge.h"), header).expect("OUT_DIR cannot be written");
}
