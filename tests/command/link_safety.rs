//! `mebridge link`, `unlink` and `doctor` in a malicious output: nothing outside of it is touched, no user file is
//! lost, and nothing hangs.

use crate::madevent::*;
use crate::support::{Ran, same, snapshot};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An output next to a folder with user files.
fn beside_others(folder: &Path) -> (PathBuf, PathBuf) {
    let output = output(folder, "auto_dsig1_batch.f");
    let others = folder.join("others");
    fs::create_dir_all(others.join("before")).unwrap();
    for name in [
        "lock",
        "link.json",
        "libmebridge.so",
        "x.o",
        "new",
        "before/a",
    ] {
        fs::write(others.join(name), "the user's\n").unwrap();
    }
    (output, others)
}

/// Runs a command that must not hang, nor take more memory than a machine has.
fn limited(arguments: &[&str]) -> Ran {
    let script = "ulimit -v 4000000; exec timeout 60 \"$@\"";
    let ran = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_mebridge")])
        .args(arguments)
        .env("CUDACPP_RUNTIME_CACHE", "off")
        .env("CUDACPP_RUNTIME_BACKEND", "cpu")
        .output()
        .unwrap();
    let ran = Ran {
        code: ran.status.code().expect("no signal"),
        stdout: String::from_utf8_lossy(&ran.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&ran.stderr).into_owned(),
    };
    assert_ne!(ran.code, 124, "{arguments:?} hangs");
    ran
}

#[test]
fn links_that_lie_in_an_output_are_not_followed() {
    if !compiler() {
        return;
    }
    for (place, to) in [
        ("Source/.mebridge", "../others"),
        ("Source/.mebridge/lock", "../../../others/lock"),
        ("Source/.mebridge/link.json", "../../../others/link.json"),
        ("Source/.mebridge/new", "../../../others/new"),
        ("Source/.mebridge/before", "../../../others/before"),
        (
            "Source/.mebridge/link.json.mebridge-new",
            "../../../others/lock",
        ),
        ("Source/make_opts.mebridge-new", "../../others/lock"),
        (
            "SubProcesses/P1_gg_ttx/mebridge.mk.mebridge-new",
            "../../../others/lock",
        ),
        ("Source/extra", "../../others"),
        ("lib/libmebridge.so", "../../others/lock"),
    ] {
        let d = tempfile::tempdir().unwrap();
        let (output, others) = beside_others(d.path());
        let before = snapshot(&others);
        let path = output.join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, &path).unwrap();
        let linked = link(&output, &["--vector", "64"]);
        same(&snapshot(&others), &before);
        assert!(path.is_symlink() || linked.code == 0, "{place}");
        let unlinked = unlink(&output);
        same(&snapshot(&others), &before);
        // The result was reported.
        for ran in [linked, unlinked] {
            let report = ran.code == 0 || ran.stderr.contains("symbolic link");
            assert!(report, "{place}: {}", ran.stderr);
        }
    }
}

/// Folders of an output that are links to others: their contents do not belong to this output.
#[test]
fn linked_folders_are_refused() {
    if !compiler() {
        return;
    }
    for folder in [
        "Source",
        "lib",
        "Cards",
        "SubProcesses",
        "SubProcesses/P1_gg_ttx",
        "Source/MODEL",
    ] {
        let d = tempfile::tempdir().unwrap();
        let output = output(d.path(), "auto_dsig1_batch.f");
        let elsewhere = d.path().join("elsewhere");
        fs::rename(output.join(folder), &elsewhere).unwrap();
        symlink(&elsewhere, output.join(folder)).unwrap();
        let before = [snapshot(&elsewhere), snapshot(&output)];
        let refused = link(&output, &["--vector", "64"]);
        assert_eq!(refused.code, 1, "{folder}");
        assert_eq!(snapshot(&elsewhere), before[0], "{folder}");
        assert_eq!(snapshot(&output), before[1], "{folder}");
    }
    // A folder that becomes a link after the output was linked.
    for folder in ["lib", "Cards", "SubProcesses/P1_gg_ttx"] {
        let d = tempfile::tempdir().unwrap();
        let output = output(d.path(), "auto_dsig1_batch.f");
        link(&output, &[]).ok();
        let elsewhere = d.path().join("elsewhere");
        fs::rename(output.join(folder), &elsewhere).unwrap();
        symlink(&elsewhere, output.join(folder)).unwrap();
        let before = [snapshot(&elsewhere), snapshot(&output)];
        for refused in [unlink(&output), link(&output, &[])] {
            assert_eq!(refused.code, 1, "{folder}");
            // For a linked P directory not even `../../Source` belongs to the output.
            let report = ["symbolic link", "there is no ../../Source"];
            let report = report.iter().any(|what| refused.stderr.contains(what));
            assert!(report, "{}", refused.stderr);
        }
        assert_eq!(snapshot(&elsewhere), before[0], "{folder}");
        assert_eq!(snapshot(&output), before[1], "{folder}");
        fs::remove_file(output.join(folder)).unwrap();
        fs::rename(&elsewhere, output.join(folder)).unwrap();
        unlink(&output).ok();
    }
}

/// Actions of a journal are performed only where link does such things.
#[test]
fn a_journal_is_not_believed() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    link(&output, &[]).ok();
    let journal = output.join("Source/.mebridge/link.json");
    let right = fs::read_to_string(&journal).unwrap();
    let before = snapshot(&output);
    for (from, to) in [
        ("\"lib/libmebridge.so\"", "\"Cards/param_card.dat\""),
        (
            "\"lib/libmebridge.so\"",
            "\"SubProcesses/P1_gg_ttx/matrix1.f\"",
        ),
        (
            "\"Source/.mebridge/before/Source+make_opts\"",
            "\"Cards/param_card.dat\"",
        ),
        (
            "\"path\": \"Source/make_opts\"",
            "\"path\": \"Source/makefile\"",
        ),
        ("\"P1_gg_ttx\"", "\"../SubProcesses/P1_gg_ttx\""),
    ] {
        let wrong = right.replacen(from, to, 1);
        assert_ne!(wrong, right, "{from}");
        fs::write(&journal, wrong).unwrap();
        for ran in [unlink(&output), link(&output, &[])] {
            assert!(
                ran.failed(1).contains("mebridge did not write it"),
                "{}",
                ran.stderr
            );
        }
        fs::write(&journal, &right).unwrap();
        same(&snapshot(&output), &before);
    }
    unlink(&output).ok();
}

#[test]
fn files_of_the_users_stay() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let own = [
        "SubProcesses/P1_gg_ttx/mebridge_notes.inc",
        "SubProcesses/P1_gg_ttx/mebridge_nhel1.inc",
        "SubProcesses/P1_gg_ttx/mebridge_handle1.f",
        "SubProcesses/P1_gg_ttx/mebridge_x.mebridge-new",
        "SubProcesses/P1_gg_ttx/mebridge.mk.mebridge-new",
        "Source/make_opts.mebridge-new",
        "Source/vector.inc.mebridge-new",
        "Cards/run_card.dat.mebridge-new",
        "lib/libmebridge.so.mebridge-new",
    ];
    for name in own {
        fs::write(output.join(name), "C     the user's\n").unwrap();
    }
    let before = snapshot(&output);
    link(&output, &["--vector", "64"]).ok();
    link(&output, &["--vector", "64"]).ok();
    unlink(&output).ok();
    same(&snapshot(&output), &before);
    link(&output, &["--vector", "64", "--copy"]).ok();
    make(&output);
    unlink(&output).ok();
    for name in own {
        assert!(
            fs::read(output.join(name)).unwrap() == before[&output.join(name)],
            "{name}"
        );
    }
}

/// Objects that link and unlink remove because they were compiled for another batch size are recompiled by make; those
/// that make would not recompile stay, and are named.
#[test]
fn what_make_would_not_make_again_stays() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    for folder in ["SubProcesses/mine", "Source/mine", "Source/made"] {
        fs::create_dir(output.join(folder)).unwrap();
        fs::write(output.join(folder).join("cuts.f"), "C     the user's\n").unwrap();
    }
    fs::write(output.join("Source/made/Makefile"), "cuts.o: cuts.f\n").unwrap();
    let stay = [
        "SubProcesses/P1_gg_ttx/tuned.o",
        "SubProcesses/mine/cuts.o",
        "Source/tuned.o",
        "Source/MODEL/tuned_cudacpp.o",
        "Source/mine/cuts.o",
    ];
    let beside = ["lib/libpdf.a", "SubProcesses/P1_gg_ttx/madevent"];
    let made = [
        "SubProcesses/P1_gg_ttx/driver.o",
        "SubProcesses/P1_gg_ttx/driver_cudacpp.o",
        "Source/made/cuts.o",
        "lib/libmodel.a",
    ];
    let write = |names: &[&str]| {
        for name in names {
            // As in a wrapper of madevent.
            fs::write(output.join(name), "LD_PRELOAD=libmebridge.so\n").unwrap();
        }
    };
    write(&stay);
    write(&beside);
    let read_only = fs::Permissions::from_mode(0o444);
    fs::set_permissions(output.join(stay[0]), read_only).unwrap();
    let before = snapshot(&output);
    let warned = |ran: Ran| {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for name in stay {
            assert!(ran.stderr.contains(name), "{name}: {}", ran.stderr);
            let path = output.join(name);
            assert!(
                fs::read(&path).ok().as_ref() == Some(&before[&path]),
                "{name}"
            );
        }
        for name in made {
            assert!(!ran.stderr.contains(name), "{name}: {}", ran.stderr);
            assert!(!output.join(name).exists(), "{name}");
        }
    };
    write(&made);
    warned(link(&output, &["--vector", "64"]));
    write(&made);
    warned(unlink(&output));
    same(&snapshot(&output), &before);
}

/// Any folder may hold the library.
#[test]
fn a_library_in_a_folder_of_an_odd_name() {
    if !compiler() {
        return;
    }
    for name in ["two\nlines", "a\\#b", "tab\there", "end\\"] {
        let d = tempfile::tempdir().unwrap();
        let output = output(d.path(), "auto_dsig1_batch.f");
        make(&output);
        let (fortran, _) = run(&p(&output), INPUTS[1]);
        let folder = d.path().join(name);
        fs::create_dir(&folder).unwrap();
        let copied = folder.join("libmebridge.so");
        fs::copy(library(), &copied).unwrap();
        let library = copied.to_str().unwrap();
        limited(&["link", output.to_str().unwrap(), "--library", library]).ok();
        spoil(&output);
        make(&output);
        let (answers, _) = run(&p(&output), INPUTS[1]);
        agree(&answers, &fortran);
        unlink(&output).ok();
    }
}

#[test]
fn what_is_no_library_is_refused() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let before = snapshot(&output);
    let pipe = d.path().join("pipe");
    make_pipe(&pipe);
    let output_name = output.to_str().unwrap();
    for library in [
        "/etc/passwd",
        "/bin/sh",
        "/dev/zero",
        pipe.to_str().unwrap(),
        output_name,
    ] {
        for command in ["link", "umami"] {
            let copied = d.path().join("copied.so");
            let copied = copied.to_str().unwrap();
            let process = p(&output).to_string_lossy().into_owned();
            let ran = match command {
                "link" => limited(&["link", output_name, "--library", library]),
                _ => limited(&["umami", &process, "-o", copied, "--library", library]),
            };
            ran.failed(1);
            assert!(ran.stderr.contains(library), "{}", ran.stderr);
        }
    }
    same(&snapshot(&output), &before);
}

/// Make must see the line that link adds.
#[test]
fn the_line_of_make_opts_is_one() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let opts = output.join("Source/make_opts");
    let plain = fs::read_to_string(&opts).unwrap();
    for end in ["FFLAGS+= -w \\\n", "FFLAGS+= -w \\", "# a comment \\\n"] {
        fs::write(&opts, format!("{plain}{end}")).unwrap();
        let before = snapshot(&output);
        let ran = link(&output, &[]);
        assert!(
            ran.failed(1).contains("ends with a backslash"),
            "{}",
            ran.stderr
        );
        same(&snapshot(&output), &before);
    }
    let noted = format!("# as before `mebridge link`: see # mebridge link\n{plain}");
    fs::write(&opts, &noted).unwrap();
    let before = snapshot(&output);
    link(&output, &[]).ok();
    assert_ne!(fs::read_to_string(&opts).unwrap(), noted);
    make(&output);
    let (_, stderr) = run(&p(&output), INPUTS[1]);
    assert!(stderr.contains("from this executable"), "{stderr}");
    let text = fs::read_to_string(&opts).unwrap();
    // The line is removed; as a part of another line it does not count.
    for lost in [
        noted.clone(),
        text.replace("-include mebridge.mk", "# -include mebridge.mk"),
    ] {
        fs::write(&opts, lost).unwrap();
        let report = limited(&["doctor", output.to_str().unwrap()]);
        assert!(
            report.stdout.contains("has lost the line of mebridge"),
            "{}",
            report.stdout
        );
    }
    fs::write(&opts, text).unwrap();
    unlink(&output).ok();
    assert_eq!(snapshot(&output)[&opts], before[&opts]);
}

fn make_pipe(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a name that ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}

/// Puts something in the place of a file that blocks, never ends, or is larger than all memory.
fn spoil_file(path: &Path, how: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    match how {
        "pipe" => make_pipe(path),
        "device" => symlink("/dev/zero", path).unwrap(),
        _ => {
            let file = fs::File::create(path).unwrap();
            file.set_len(1 << 41).unwrap();
        }
    }
}

#[test]
fn what_is_no_file_hangs_nothing() {
    if !compiler() {
        return;
    }
    let names = [
        "Cards/run_card.dat",
        "Source/make_opts",
        "Source/vector.inc",
        "Source/MODEL/input.inc",
        "SubProcesses/P1_gg_ttx/matrix1.f",
        "SubProcesses/P1_gg_ttx/auto_dsig1.f",
        "SubProcesses/P1_gg_ttx/madevent",
        "SubProcesses/P1_gg_ttx/mebridge.mk",
        "Source/.mebridge/link.json",
        "Source/.mebridge/undo.json",
        "Source/.mebridge/lock",
        "Source/.mebridge/new",
    ];
    let kinds = ["pipe", "device", "sparse"];
    // All files, linked or not, each with one kind of problem: the reader is the same for all.
    for (i, name) in names.into_iter().enumerate() {
        for linked in [false, true] {
            let how = kinds[(i + usize::from(linked)) % kinds.len()];
            let d = tempfile::tempdir().unwrap();
            let output = output(d.path(), "auto_dsig1_batch.f");
            if linked {
                link(&output, &[]).ok();
            }
            spoil_file(&output.join(name), how);
            let (output, library) = (output.to_str().unwrap(), library());
            for arguments in [
                &["doctor", output][..],
                &["link", output, "--library", &library],
                &["unlink", output],
            ] {
                let ran = limited(arguments);
                assert!(ran.code <= 1, "{name} {how} {arguments:?}: {}", ran.stderr);
                for bad in ["memory", "panicked", "internal error"] {
                    assert!(!ran.stderr.contains(bad), "{name} {how}: {}", ran.stderr);
                }
            }
        }
    }
}
