//! Hashes everything that the contents of the cache depend on, for its keys. The crate `cache` is built with this
//! script.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates that make processes, plans and blocks of colour matrices. Their dependencies count as well: the planner
/// recognises a structure by running kernels.
const MAKERS: [&str; 3] = ["cache", "import", "plan"];
/// The versions of third-party crates.
const LOCK: &str = "Cargo.lock";
/// Compiler settings; numbers obtained by running kernels may depend on them.
const SETTINGS: [&str; 5] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_CFG_TARGET_FEATURE",
    "OPT_LEVEL",
    "PROFILE",
    "TARGET",
];

fn main() {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let root = Path::new(&manifest).join("../..");
    let mut hasher = DefaultHasher::new();
    let mut crates = BTreeSet::new();
    for name in MAKERS {
        with_needs(name, &root, &mut crates);
    }
    for name in crates {
        add(
            &root.join("crates").join(&name).join("src"),
            &root,
            &mut hasher,
        );
    }
    add(&root.join(LOCK), &root, &mut hasher);
    for setting in SETTINGS {
        println!("cargo::rerun-if-env-changed={setting}");
        std::env::var_os(setting).hash(&mut hasher);
    }
    compiler().hash(&mut hasher);
    println!("cargo::rerun-if-changed=../../build.rs");
    println!("cargo::rustc-env=MEBRIDGE_BUILD={:016x}", hasher.finish());
}

/// Adds a crate of this workspace, and all crates of the workspace that it depends on.
fn with_needs(name: &str, root: &Path, crates: &mut BTreeSet<String>) {
    if !crates.insert(name.to_owned()) {
        return;
    }
    let manifest = root.join("crates").join(name).join("Cargo.toml");
    println!("cargo::rerun-if-changed={}", manifest.display());
    let manifest = std::fs::read_to_string(manifest).expect("each crate has a manifest");
    let (_, needs) = manifest
        .split_once("\n[dependencies]\n")
        .expect("each crate has needs");
    let needs = needs.split("\n[").next().unwrap_or_default();
    for need in needs
        .lines()
        .filter_map(|line| line.strip_prefix("mebridge-"))
    {
        with_needs(
            need.split(['.', ' ']).next().unwrap_or_default(),
            root,
            crates,
        );
    }
}

/// Hashes the name and contents of a file, or of all files below a folder.
fn add(path: &Path, root: &Path, hasher: &mut DefaultHasher) {
    println!("cargo::rerun-if-changed={}", path.display());
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a folder of sources cannot be read");
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            add(&path, root, hasher);
        }
    } else {
        // The location of the work tree does not matter.
        path.strip_prefix(root)
            .expect("it lies in the work tree")
            .hash(hasher);
        let contents = std::fs::read(path).expect("a source file cannot be read");
        contents.hash(hasher);
    }
}

/// Returns the compiler's version.
fn compiler() -> Vec<u8> {
    let rustc = std::env::var_os("RUSTC").expect("cargo sets it");
    let said = Command::new(rustc).arg("-vV").output();
    said.expect("the compiler runs").stdout
}
