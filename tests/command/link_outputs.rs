//! `mebridge link` and `mebridge unlink` on whole outputs of MG5aMC.

use crate::common;
use crate::madevent::library;
use crate::support::{mebridge, same, snapshot};
use std::fs;
use std::path::{Path, PathBuf};

/// Copies an output with its links, because relative links lead from one file of it to another.
pub fn copy(from: &Path, to: &Path) {
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
    let library = library();
    for from in common::require::cases("outputs of madevent", outputs) {
        let name = from.file_name().unwrap().to_string_lossy().into_owned();
        let output = d.path().join(&name);
        copy(&from, &output);
        // Outputs may have been used: unlink may have to restore an executable.
        let before = snapshot(&output);
        let path = output.to_str().unwrap();
        let link = || mebridge(d.path(), &["link", path, "--library", &library]);
        let report = link().ok().to_owned();
        let linked = snapshot(&output);
        for entry in fs::read_dir(output.join("SubProcesses")).unwrap().flatten() {
            let directory = entry.file_name().to_string_lossy().into_owned();
            let linked_files = ["auto_dsig.f", "born.f"].map(|name| entry.path().join(name));
            if linked_files.iter().any(|path| path.is_file()) {
                assert!(
                    report.contains(&format!("{directory}: ")),
                    "{name}: {report}"
                );
                let mk = entry.path().join("mebridge.mk");
                assert!(linked.contains_key(&mk), "{name} lacks {mk:?}");
            }
        }
        assert!(before != linked, "{name}");
        link().ok();
        same(&linked, &snapshot(&output));
        mebridge(d.path(), &["unlink", path]).ok();
        same(&before, &snapshot(&output));
        fs::remove_dir_all(&output).unwrap();
    }
}
