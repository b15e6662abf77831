//! `mebridge link` and `mebridge unlink` on whole outputs of MG5aMC.

mod command;
mod common;

use command::mebridge;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file and link under a folder, by its path in it.
fn snapshot(root: &Path, folder: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap().to_owned();
        if path.is_symlink() {
            let to = fs::read_link(&path).unwrap();
            all.insert(name, to.into_os_string().into_encoded_bytes());
        } else if path.is_dir() {
            snapshot(root, &path, all);
        } else {
            all.insert(name, fs::read(&path).unwrap());
        }
    }
}

fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    snapshot(root, root, &mut all);
    all
}

/// A copy with its links, as relative ones lead from one file of an output to another.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(&path).unwrap(), target).unwrap();
        } else if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

/// The names that differ.
fn differ(a: &BTreeMap<PathBuf, Vec<u8>>, b: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let names = a.keys().chain(b.keys());
    let mut names: Vec<_> = names.filter(|name| a.get(*name) != b.get(*name)).collect();
    names.sort();
    names.dedup();
    names.into_iter().cloned().collect()
}

#[test]
fn every_output_is_linked_and_comes_back() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let Some(outputs) = common::mg5_outputs() else {
        return;
    };
    let madevent = |path: &PathBuf| path.join("Source/make_opts").is_file();
    let entries = fs::read_dir(&outputs).unwrap().flatten();
    let outputs: Vec<PathBuf> = entries.map(|e| e.path()).filter(madevent).collect();
    let d = tempfile::tempdir().unwrap();
    let library = d.path().join("libmebridge.so");
    fs::write(&library, "only linked to").unwrap();
    for from in common::require::cases("outputs of madevent", outputs) {
        let name = from.file_name().unwrap().to_string_lossy().into_owned();
        let output = d.path().join(&name);
        copy(&from, &output);
        // Outputs may have been used: what an unlink is to give back may be an executable.
        let before = contents(&output);
        let path = output.to_str().unwrap();
        let link = || {
            mebridge(
                d.path(),
                &["link", path, "--library", library.to_str().unwrap()],
            )
        };
        let told = link().ok().to_owned();
        let linked = contents(&output);
        for entry in fs::read_dir(output.join("SubProcesses")).unwrap().flatten() {
            let directory = entry.file_name().to_string_lossy().into_owned();
            if entry.path().join("auto_dsig.f").is_file() {
                assert!(told.contains(&format!("{directory}: ")), "{name}: {told}");
                let mk = format!("SubProcesses/{directory}/mebridge.mk");
                assert!(linked.contains_key(Path::new(&mk)), "{name} lacks {mk}");
            }
        }
        assert!(!differ(&before, &linked).is_empty());
        link().ok();
        assert_eq!(
            differ(&linked, &contents(&output)),
            [] as [PathBuf; 0],
            "{name}"
        );
        mebridge(d.path(), &["unlink", path]).ok();
        assert_eq!(
            differ(&before, &contents(&output)),
            [] as [PathBuf; 0],
            "{name}"
        );
        fs::remove_dir_all(&output).unwrap();
    }
}
