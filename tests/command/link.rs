//! `mebridge link` and `mebridge unlink`, with a small hand-written MadEvent (`fortran/madevent`).

use crate::madevent::*;
use crate::support::{mebridge, same, snapshot};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[test]
fn batches_and_single_events_are_answered_by_the_library() {
    if !compiler() {
        return;
    }
    for caller in ["auto_dsig1_batch.f", "auto_dsig1_single.f"] {
        let d = tempfile::tempdir().unwrap();
        let output = output(d.path(), caller);
        make(&output);
        let fortran = INPUTS.map(|input| run(&p(&output), input));
        assert!(fortran.iter().all(|(_, stderr)| stderr.is_empty()));
        let linked = link(&output, &["--vector", "64"]);
        assert!(
            linked.ok().contains("VECSIZE_MEMMAX 64"),
            "{}",
            linked.stdout
        );
        spoil(&output);
        make(&output);
        let batches = caller.contains("batch");
        for (input, (answers, _)) in INPUTS.iter().zip(&fortran) {
            if batches && input.starts_with('1') {
                // MadEvent has one helicity for all events of a batch.
                let message = stops(&p(&output), input);
                assert!(message.contains("set nhel to 0"), "{message}");
                continue;
            }
            let (library, stderr) = run(&p(&output), input);
            assert!(
                stderr.contains("g g > t t~ WEIGHTED<=2 @1 from this executable"),
                "{stderr}"
            );
            agree(&library, answers);
        }
        // Parameters are MadEvent's at the time of the run.
        let card = output.join("Cards/param_card.dat");
        let text = fs::read_to_string(&card).unwrap();
        let heavy = text.replacen("6 1.730000e+02", "6 1.830000e+02", 1);
        assert_ne!(text, heavy);
        fs::write(&card, heavy).unwrap();
        let (heavier, _) = run(&p(&output), INPUTS[0]);
        assert!((heavier[0].0 / fortran[0].0[0].0 - 1.0).abs() > 1e-3);
        fs::write(&card, text).unwrap();
        let linked = fs::metadata(p(&output).join("madevent"))
            .unwrap()
            .modified();
        make(&output);
        let still = fs::metadata(p(&output).join("madevent"))
            .unwrap()
            .modified();
        assert_eq!(linked.unwrap(), still.unwrap());
    }
}

/// Check mode also evaluates the Fortran's own matrix elements, and reports differences.
#[test]
fn check_mode_tells_both() {
    if !compiler() {
        return;
    }
    for caller in ["auto_dsig1_batch.f", "auto_dsig1_single.f"] {
        let d = tempfile::tempdir().unwrap();
        let output = output(d.path(), caller);
        link(&output, &["--vector", "64"]).ok();
        make(&output);
        for input in INPUTS {
            if caller.contains("batch") && input.starts_with('1') {
                continue;
            }
            let (plain, _) = run(&p(&output), input);
            let (checked, stderr) = run_with(&p(&output), input, "-1");
            agree(&checked, &plain);
            let report = "@1: 16 events, library / Fortran - 1: min ";
            assert!(stderr.contains(report), "{stderr}");
            assert!(stderr.contains("; 0 farther than 1e-8"), "{stderr}");
            assert_eq!(stderr.matches("worst event").count(), 1, "{stderr}");
        }
        spoil(&output);
        make(&output);
        let (_, stderr) = run_with(&p(&output), INPUTS[0], "-1");
        assert!(stderr.contains("; 16 farther than 1e-8"), "{stderr}");
        let (_, stderr) = run(&p(&output), INPUTS[0]);
        assert!(!stderr.contains("check"), "{stderr}");
    }
}

#[test]
fn all_helicities_at_once_and_their_table() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_single.f");
    let p = p(&output);
    fs::rename(p.join("matrix1.f"), p.join("matrix1_orig.f")).unwrap();
    link(&output, &[]).ok();
    let small = mebridge_testing::root().join("fortran/madevent");
    fs::copy(small.join("matrix1_optim.f"), p.join("matrix1_optim.f")).unwrap();
    make(&output);
    let (answers, _) = run(&p, "0 0\n");
    // The process's own values for these helicities.
    let process = mebridge::import::import_directory(&p).unwrap().remove(0);
    let card = process.model.default_card();
    for (answer, i) in answers.iter().zip(1..) {
        assert_eq!((answer.1, answer.2), (1, 3));
        let energy = 300.0 + 20.0 * f64::from(i);
        let momentum = (energy * energy - 173.0f64 * 173.0).sqrt();
        let cos = -0.95 + 1.9 * f64::from(i - 1) / 15.0;
        let phi = 0.3 * f64::from(i);
        let sin = (1.0 - cos * cos).sqrt();
        let top = [
            momentum * sin * phi.cos(),
            momentum * sin * phi.sin(),
            momentum * cos,
        ];
        let momenta = [
            [energy, 0.0, 0.0, energy],
            [energy, 0.0, 0.0, -energy],
            [energy, top[0], top[1], top[2]],
            [energy, -top[0], -top[1], -top[2]],
        ];
        let alpha_s = 0.12 - 0.001 * f64::from(i);
        let g = 2.0 * (std::f64::consts::PI * alpha_s).sqrt();
        let rows = [[-1, 1, -1, 1], [-1, -1, 1, 1], [1, -1, 1, -1]];
        let row = |row: &[i8; 4]| process.helicities.iter().position(|h| h == row).unwrap();
        let mut expected = 0.0;
        for (place, helicities) in rows.iter().enumerate() {
            let mut one = process.clone();
            one.helicities = vec![process.helicities[row(helicities)].clone()];
            let one = one.evaluate(&momenta, g, &card);
            if place == 1 {
                expected += one.contributions[0] * f64::from(process.iden);
            }
            expected += one.amp2.iter().sum::<f64>() + one.jamp2[0];
        }
        assert!(
            (answer.0 / expected - 1.0).abs() < 1e-12,
            "{} {expected}",
            answer.0
        );
    }
}

#[test]
fn executables_run_where_the_output_is_not() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    make(&output);
    let (fortran, _) = run(&p(&output), INPUTS[1]);
    link(&output, &["--copy"]).ok();
    spoil(&output);
    make(&output);
    assert!(!output.join("lib/libmebridge.so").is_symlink());
    // The whole output moved, like a gridpack; then only the executable, next to the library.
    let moved = d.path().join("moved");
    fs::rename(&output, &moved).unwrap();
    let (answers, _) = run(&p(&moved), INPUTS[1]);
    agree(&answers, &fortran);
    let node = d.path().join("node");
    fs::create_dir_all(node.join("a/b")).unwrap();
    fs::create_dir_all(node.join("Cards")).unwrap();
    fs::copy(p(&moved).join("madevent"), node.join("a/b/madevent")).unwrap();
    fs::copy(
        moved.join("lib/libmebridge.so"),
        node.join("a/b/libmebridge.so"),
    )
    .unwrap();
    // The driver reads it; the library does not.
    let card = "Cards/param_card.dat";
    fs::copy(moved.join(card), node.join(card)).unwrap();
    fs::remove_dir_all(&moved).unwrap();
    let (answers, _) = run(&node.join("a/b"), INPUTS[1]);
    agree(&answers, &fortran);
}

#[test]
fn unlink_gives_every_byte_back() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let before = snapshot(&output);
    assert!(unlink(&output).ok().contains("it is not linked"));
    let lib = output.join("lib");
    let had_lib = lib.exists();
    link(&output, &[]).ok();
    assert!(lib.exists());
    let linked = snapshot(&output);
    assert_ne!(before, linked);
    // Once more changes nothing.
    link(&output, &[]).ok();
    same(&snapshot(&output), &linked);
    unlink(&output).ok();
    same(&snapshot(&output), &before);
    assert_eq!(lib.exists(), had_lib);
    // A folder that now has user files stays, and so does an existing one.
    if !had_lib {
        link(&output, &[]).ok();
        fs::write(lib.join("libmine.a"), "mine").unwrap();
        unlink(&output).ok();
        fs::remove_file(lib.join("libmine.a")).unwrap();
        link(&output, &[]).ok();
        unlink(&output).ok();
        fs::remove_dir(&lib).unwrap();
    }
    // An existing executable is restored; products of make since then are removed.
    make(&output);
    let built = fs::read(p(&output).join("madevent")).unwrap();
    link(&p(&output), &[]).ok();
    assert!(!p(&output).join("madevent").exists());
    make(&output);
    assert_ne!(fs::read(p(&output).join("madevent")).unwrap(), built);
    unlink(&output).ok();
    assert!(fs::read(p(&output).join("madevent")).unwrap() == built);
    // Changes by MG5aMC to make_opts and the card in between stay.
    link(&output, &[]).ok();
    let opts = output.join("Source/make_opts");
    let text = fs::read_to_string(&opts).unwrap();
    fs::write(&opts, format!("GLOBAL_FLAG=-O3\n{text}")).unwrap();
    let card = output.join("Cards/run_card.dat");
    let text = fs::read_to_string(&card).unwrap();
    fs::write(&card, text.replace("16 = nevents", "17 = nevents")).unwrap();
    unlink(&output).ok();
    let text = fs::read_to_string(&opts).unwrap();
    assert!(text.starts_with("GLOBAL_FLAG=-O3\n") && !text.contains("mebridge"));
    let text = fs::read_to_string(&card).unwrap();
    assert!(
        text.contains("17 = nevents") && !text.contains("vector_size"),
        "{text}"
    );
}

/// A second link may have another size than the first.
#[test]
fn sizes_of_a_second_link_go_too() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let before = snapshot(&output);
    link(&output, &[]).ok();
    let report = link(&output, &["--vector", "64"]);
    assert!(
        report.ok().contains("VECSIZE_MEMMAX 64"),
        "{}",
        report.stdout
    );
    unlink(&output).ok();
    same(&snapshot(&output), &before);
    // In the opposite order, with a card that was changed in between.
    link(&output, &["--vector", "64"]).ok();
    let card = output.join("Cards/run_card.dat");
    let text = fs::read_to_string(&card).unwrap();
    fs::write(&card, text.replace("16 = nevents", "17 = nevents")).unwrap();
    link(&output, &["--vector", "128"]).ok();
    let text = fs::read_to_string(&card).unwrap();
    assert!(text.contains("  4 = nb_warp"), "{text}");
    unlink(&output).ok();
    let mut changed = before;
    let text = String::from_utf8(changed[&card].clone()).unwrap();
    let text = text.replace("16 = nevents", "17 = nevents");
    changed.insert(card, text.into_bytes());
    same(&snapshot(&output), &changed);
}

/// The target of a replaced link is gone: later changes of the user to the file stay.
#[test]
fn a_file_whose_link_leads_nowhere_stays() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let changed = ["Source/make_opts", "Cards/run_card.dat"].map(|name| output.join(name));
    for path in &changed {
        let shared = d.path().join(path.file_name().unwrap());
        fs::rename(path, &shared).unwrap();
        std::os::unix::fs::symlink(shared, path).unwrap();
    }
    link(&output, &[]).ok();
    for path in &changed {
        fs::remove_file(d.path().join(path.file_name().unwrap())).unwrap();
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, format!("# the user's\n{text}")).unwrap();
    }
    let undone = unlink(&output);
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    assert_eq!(undone.stderr.matches("which is gone").count(), 2);
    for path in &changed {
        let text = fs::read_to_string(path).unwrap();
        assert!(
            text.starts_with("# the user's\n") && !text.contains("mebridge"),
            "{text}"
        );
    }
    assert!(!output.join("Source/.mebridge").exists());
}

#[test]
fn a_link_that_is_killed_is_undone() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let before = snapshot(&output);
    let library = library();
    let command = |what: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mebridge"));
        command.arg(what).arg(&output);
        if what == "link" {
            command.args(["--copy", "--library", &library]);
        }
        command.stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null());
        command
    };
    for (round, what) in ["link", "unlink"].into_iter().cycle().take(60).enumerate() {
        if what == "unlink" {
            assert_eq!(link(&output, &[]).code, 0);
        }
        let mut child = command(what).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(700 * round as u64));
        // Already done is fine, too.
        let _ = child.kill();
        child.wait().unwrap();
        let undone = unlink(&output);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
        same(&snapshot(&output), &before);
    }
}

/// Partial files after a kill are removed with the link.
#[test]
fn half_written_files_do_not_stay() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let before = snapshot(&output);
    link(&output, &[]).ok();
    fs::write(output.join("Source/.mebridge/new"), "half").unwrap();
    link(&output, &["--vector", "64"]).ok();
    fs::write(output.join("Source/.mebridge/new"), "half").unwrap();
    unlink(&output).ok();
    same(&snapshot(&output), &before);
}

#[test]
fn what_cannot_be_written_is_told_and_nothing_is_lost() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let before = snapshot(&output);
    // Files are limited to a number of blocks of 512 bytes, as on a disk that fills up.
    let library = library();
    for blocks in [0, 1, 2, 3, 4] {
        let limited = Command::new("sh")
            .arg("-c")
            .arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""))
            .arg("sh")
            .arg(env!("CARGO_BIN_EXE_mebridge"))
            .args([
                "link",
                output.to_str().unwrap(),
                "--copy",
                "--library",
                &library,
            ])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&limited.stderr).into_owned();
        assert_eq!(limited.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("too large"), "{stderr}");
        same(&snapshot(&output), &before);
    }
    // Undoing needs no disk space.
    let madevent = p(&output).join("madevent");
    fs::write(&madevent, "an executable").unwrap();
    let built = snapshot(&output);
    link(&output, &[]).ok();
    let limited = Command::new("sh")
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f 0; exec \"$@\"")
        .args(["sh", env!("CARGO_BIN_EXE_mebridge"), "unlink"])
        .arg(&output)
        .output()
        .unwrap();
    assert!(limited.status.success(), "{limited:?}");
    same(&snapshot(&output), &built);
    fs::remove_file(&madevent).unwrap();
    // A folder that cannot be made.
    fs::write(output.join("Source/.mebridge"), "in the way").unwrap();
    let refused = link(&output, &[]);
    assert!(refused.failed(1).contains("nothing was changed"));
    fs::remove_file(output.join("Source/.mebridge")).unwrap();
    same(&snapshot(&output), &before);
    // A run of MG5aMC.
    fs::write(output.join("RunWeb"), "1234").unwrap();
    let refused = link(&output, &[]);
    assert!(
        refused.failed(1).contains("MG5aMC is at work"),
        "{}",
        refused.stderr
    );
    fs::remove_file(output.join("RunWeb")).unwrap();
    same(&snapshot(&output), &before);
    // Two at the same time.
    fs::create_dir(output.join("Source/.mebridge")).unwrap();
    let lock = fs::File::create(output.join("Source/.mebridge/lock")).unwrap();
    lock.lock().unwrap();
    let refused = link(&output, &[]);
    assert!(
        refused.failed(1).contains("is at work on this output"),
        "{}",
        refused.stderr
    );
    drop(lock);
    link(&output, &[]).ok();
    unlink(&output).ok();
    same(&snapshot(&output), &before);
}

/// User files with our names, folders in our way, and a foreign journal.
#[test]
fn what_is_in_the_way_stays() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let own = [
        p(&output).join("mebridge.mk"),
        output.join("lib/libmebridge.so"),
    ];
    for path in &own {
        fs::write(path, "# the user's\n").unwrap();
    }
    let before = snapshot(&output);
    link(&output, &[]).ok();
    link(&output, &[]).ok();
    unlink(&output).ok();
    same(&snapshot(&output), &before);
    for path in &own {
        fs::remove_file(path).unwrap();
    }
    let before = snapshot(&output);
    fs::create_dir(&own[0]).unwrap();
    assert!(link(&output, &[]).code == 1);
    same(&snapshot(&output), &before);
    fs::remove_dir(&own[0]).unwrap();
    fs::remove_dir(output.join("lib")).unwrap();
    fs::write(output.join("lib"), "a file").unwrap();
    assert!(link(&output, &[]).code == 1);
    fs::remove_file(output.join("lib")).unwrap();
    fs::create_dir(output.join("lib")).unwrap();
    same(&snapshot(&output), &before);
    // A symbolic link is not followed for writing, and is restored.
    let card = output.join("Cards/run_card.dat");
    let shared = d.path().join("shared.dat");
    fs::rename(&card, &shared).unwrap();
    let text = fs::read(&shared).unwrap();
    std::os::unix::fs::symlink("../../shared.dat", &card).unwrap();
    link(&output, &[]).ok();
    assert!(fs::read(&shared).unwrap() == text && fs::read(&card).unwrap() != text);
    unlink(&output).ok();
    assert!(card.is_symlink() && fs::read(&card).unwrap() == text);
    // Absurd sizes.
    fs::remove_file(&card).unwrap();
    fs::write(
        &card,
        "  99999999999 = vector_size\n  99999999999 = nb_warp\n",
    )
    .unwrap();
    assert!(
        link(&output, &[])
            .failed(1)
            .contains("more than 1048576 events")
    );
    fs::write(&card, &text).unwrap();
    // Nothing outside of the output is removed.
    link(&output, &[]).ok();
    let journal = output.join("Source/.mebridge/link.json");
    let text = fs::read_to_string(&journal).unwrap();
    let changed = text.replacen("\"lib/libmebridge.so\"", "\"../shared.dat\"", 1);
    assert_ne!(text, changed);
    fs::write(&journal, changed).unwrap();
    assert!(
        unlink(&output)
            .failed(1)
            .contains("../shared.dat, which is no file of this output")
    );
    assert!(shared.is_file());
    fs::write(&journal, text).unwrap();
    unlink(&output).ok();
}

#[test]
fn what_is_no_output_is_refused() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let refused = link(d.path(), &[]);
    assert!(
        refused
            .failed(1)
            .contains("this is no output of `output madevent`")
    );
    let output = output(d.path(), "auto_dsig1_batch.f");
    let path = p(&output).join("auto_dsig1.f");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("COL_RAND", "COLOUR")).unwrap();
    let before = snapshot(&output);
    let refused = link(&output, &[]);
    let message = refused.failed(1);
    assert!(
        message.contains("SMATRIX1_MULTI has an argument COLOUR"),
        "{message}"
    );
    same(&snapshot(&output), &before);
    fs::create_dir(output.join("Source/RUNNING")).unwrap();
    assert!(link(&output, &[]).failed(1).contains("Source/RUNNING"));
    fs::remove_dir(output.join("Source/RUNNING")).unwrap();
    for (grouped, not) in [("matrix1.f", "matrix.f"), ("auto_dsig1.f", "auto_dsig.f")] {
        fs::rename(p(&output).join(grouped), p(&output).join(not)).unwrap();
    }
    let before = snapshot(&output);
    let refused = link(&output, &[]);
    let message = refused.failed(1);
    assert!(
        message.contains("there is no FUNCTION MATRIX in it"),
        "{message}"
    );
    same(&snapshot(&output), &before);
}

/// The launcher changes Source/vector.inc when the run card has another size: no object with the old size may remain.
#[test]
fn everything_is_compiled_for_another_size_of_batches() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    make(&output);
    let (fortran, _) = run(&p(&output), INPUTS[1]);
    link(&output, &["--vector", "64"]).ok();
    make(&output);
    let vector = output.join("Source/vector.inc");
    let text = fs::read_to_string(&vector).unwrap();
    fs::write(&vector, text.replace("=64)", "=32)")).unwrap();
    make(&output);
    let (answers, _) = run(&p(&output), INPUTS[1]);
    agree(&answers, &fortran);
    let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let objects = objects(&output);
    assert!(objects.len() > 5, "{objects:?}");
    for object in objects {
        // The process as bytes has no size.
        let bytes = object.ends_with("mebridge_process.o");
        assert!(bytes || time(&object) > time(&vector), "{object:?} is old");
    }
}

/// MadEvent has one helicity for all events of a batch where it samples them.
#[test]
fn sampled_helicities_come_one_by_one() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let card = output.join("Cards/run_card.dat");
    let plain = fs::read_to_string(&card).unwrap();
    let with = |more: &str| fs::write(&card, format!("{plain}{more}")).unwrap();
    with("  1 = nhel\n");
    let before = snapshot(&output);
    assert!(
        link(&output, &["--vector", "64"])
            .failed(1)
            .contains("nhel")
    );
    same(&snapshot(&output), &before);
    assert!(link(&output, &[]).ok().contains("one by one"));
    let doctor = || mebridge(d.path(), &["doctor", output.to_str().unwrap()]);
    assert!(!doctor().stdout.contains("vector_size"));
    let text = fs::read_to_string(output.join("Source/vector.inc")).unwrap();
    assert!(text.contains("VECSIZE_MEMMAX=1)"), "{text}");
    assert!(fs::read(&card).unwrap() == before[&card]);
    unlink(&output).ok();
    same(&snapshot(&output), &before);
    with("  1 = nhel\n  32 = vector_size\n  2 = nb_warp\n");
    assert!(link(&output, &[]).failed(1).contains("nhel"));
    assert!(doctor().stdout.contains("!! nhel of the run card"));
}

#[test]
fn the_doctor_tells_what_an_executable_calls() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_batch.f");
    let doctor = || mebridge(d.path(), &["doctor", output.to_str().unwrap()]);
    make(&output);
    let healthy = doctor();
    let text = healthy.ok();
    assert!(text.contains("madevent calls its own Fortran"), "{text}");
    assert!(text.contains("linked         no\n"), "{text}");
    let fortran = fs::read(p(&output).join("madevent")).unwrap();
    link(&output, &[]).ok();
    make(&output);
    let text = doctor().ok().to_owned();
    assert!(text.contains("madevent calls the library"), "{text}");
    assert!(text.contains("512 by the run card"), "{text}");
    // An executable made elsewhere, a card for single events, a make_opts without our line.
    fs::write(p(&output).join("madevent"), fortran).unwrap();
    let card = output.join("Cards/run_card.dat");
    fs::write(&card, "1 = vector_size\n").unwrap();
    let opts = output.join("Source/make_opts");
    fs::write(&opts, "FFLAGS=-w\n").unwrap();
    let ill = doctor();
    assert_eq!(ill.code, 1);
    for what in [
        "!! P1_gg_ttx/madevent was made before the output was linked",
        "!! vector_size and nb_warp of the run card are 1",
        "!! its Source/make_opts has lost the line of mebridge",
    ] {
        assert!(ill.stdout.contains(what), "{}", ill.stdout);
    }
}
