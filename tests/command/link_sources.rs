//! Edits of the sources of a linked output are either noticed, or take effect.

use crate::madevent::*;
use crate::support::mebridge;
use std::fs;
use std::path::{Path, PathBuf};

/// Edits that are missing in the linked process: file, text in it, and its replacement.
const EDITS: [(&str, &str, &str); 9] = [
    (
        "Source/DHELAS/FFV1_0.f",
        "VERTEX = COUP",
        "VERTEX = 2D0*COUP",
    ),
    ("Source/DHELAS/aloha_functions.f", "\n", "\nC\n"),
    ("Source/MODEL/couplings2.f", "= ", "= 2D0*"),
    ("Source/MODEL/rw_para.f", "\n", "\nC\n"),
    ("Source/MODEL/coupl.inc", "\n", "\nC\n"),
    ("Cards/ident_card.dat", "\n", "\n#\n"),
    ("SubProcesses/P1_gg_ttx/matrix1.f", "\n", "\nC\n"),
    ("SubProcesses/P1_gg_ttx/coloramps.inc", ".FALSE.", ".TRUE."),
    ("SubProcesses/P1_gg_ttx/auto_dsig1.f", "\n", "\nC\n"),
];

fn edit(path: &Path, from: &str, to: &str) -> String {
    let text = fs::read_to_string(path).unwrap();
    let edited = text.replacen(from, to, 1);
    assert_ne!(text, edited, "{path:?}");
    fs::write(path, edited).unwrap();
    text
}

/// Make and the doctor name the file and what to do.
#[track_caller]
fn noticed(output: &Path, what: &str) {
    let (made, report) = try_make(output, "madevent");
    assert!(!made, "{report}");
    assert!(report.contains(&format!("mebridge: {what}")), "{report}");
    let cure = format!("run `mebridge link '{}'` again", output.display());
    assert!(report.contains(&cure), "{report}");
    let doctor = mebridge(output, &["doctor", "."]);
    assert!(
        doctor.code == 1 && doctor.stdout.contains(what),
        "{}",
        doctor.stdout
    );
}

#[track_caller]
fn well(output: &Path) {
    let doctor = mebridge(output, &["doctor", "."]);
    assert_eq!(doctor.code, 0, "{}", doctor.stdout);
    make(output);
}

fn linked(folder: &Path) -> PathBuf {
    let output = output(folder, "auto_dsig1_single.f")
        .canonicalize()
        .unwrap();
    link(&output, &[]).ok();
    make(&output);
    output
}

#[test]
fn edits_of_what_was_read_are_noticed() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = linked(d.path());
    let madevent = p(&output).join("madevent");
    let before = fs::read(&madevent).unwrap();
    well(&output);
    for (name, from, to) in EDITS {
        let path = output.join(name);
        let text = edit(&path, from, to);
        let short = name.trim_start_matches("SubProcesses/P1_gg_ttx/");
        noticed(&output, &format!("{short} has changed"));
        fs::write(&path, text).unwrap();
    }
    // The same again, with other times.
    well(&output);
    assert!(fs::read(&madevent).unwrap() == before);
    let path = output.join("Source/DHELAS/FFV1_0.f");
    let aside = d.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    let (made, report) = try_make(&output, "madevent");
    assert!(
        !made && report.contains("Source/DHELAS/FFV1_0.f has gone"),
        "{report}"
    );
    let mkfifo = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(mkfifo.unwrap().success());
    let (made, report) = try_make(&output, "madevent");
    assert!(
        !made && report.contains("has become something else"),
        "{report}"
    );
    fs::rename(&aside, &path).unwrap();
    // A user's own vertex.
    let name = "Source/DHELAS/my own.f";
    fs::write(output.join(name), "      SUBROUTINE OWN\n      END\n").unwrap();
    noticed(&output, &format!("{name} has appeared"));
    fs::remove_file(output.join(name)).unwrap();
    well(&output);
}

/// A second link includes the edits: the library agrees with the Fortran.
#[test]
fn the_cure_helps() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = linked(d.path());
    let (before, _) = run(&p(&output), INPUTS[0]);
    let (name, from, to) = EDITS[0];
    edit(&output.join(name), from, to);
    noticed(&output, "Source/DHELAS/FFV1_0.f has changed");
    link(&output, &[]).ok();
    well(&output);
    let (after, report) = run(&p(&output), INPUTS[0]);
    assert!(report.contains("from this executable"), "{report}");
    assert!((after[0].0 / before[0].0 - 1.0).abs() > 0.1);
    // The Fortran's, compiled anew with the edited vertex.
    unlink(&output).ok();
    let _ = fs::remove_file(output.join("lib/libdhelas.a"));
    make(&output);
    let (fortran, report) = run(&p(&output), INPUTS[0]);
    assert!(report.is_empty(), "{report}");
    agree(&after, &fortran);
}

/// Files that MadEvent reads when it runs, or still uses in a linked executable, may change.
#[test]
fn other_edits_are_the_users() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = linked(d.path());
    for (name, text) in [
        ("Cards/run_card.dat", "\n"),
        ("Cards/param_card.dat", "\n"),
        ("Cards/proc_card_mg5.dat", "import model sm\n"),
        ("Source/param_card.inc", "\n"),
        ("SubProcesses/P1_gg_ttx/run.inc", "\nC\n"),
        ("SubProcesses/P1_gg_ttx/driver.f", "\nC\n"),
        ("SubProcesses/P1_gg_ttx/cuts.f", "      END\n"),
        ("SubProcesses/P1_gg_ttx/genps.f", "      END\n"),
        ("SubProcesses/P1_gg_ttx/matrix1_notes", "\n"),
        ("Source/mine.f", "      END\n"),
    ] {
        let path = output.join(name);
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, format!("{before}{text}")).unwrap();
        well(&output);
    }
    // Moved, and with several jobs of make.
    let moved = d.path().join("it's moved");
    fs::rename(&output, &moved).unwrap();
    let (made, report) = try_make(&moved, "-j4");
    assert!(made, "{report}");
    edit(&moved.join(EDITS[0].0), EDITS[0].1, EDITS[0].2);
    let (made, report) = try_make(&moved, "-j4");
    assert!(!made && report.contains("FFV1_0.f has changed"), "{report}");
}

/// With helicity recycling MadEvent runs a file derived from the one that was read.
#[test]
fn link_says_what_it_reads_of_a_recycled_matrix_element() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_single.f");
    let plain = link(&output, &[]);
    assert!(!plain.ok().contains("_orig.f"), "{}", plain.stdout);
    unlink(&output).ok();
    let p = p(&output);
    fs::rename(p.join("matrix1.f"), p.join("matrix1_orig.f")).unwrap();
    fs::write(p.join("template_matrix1.f"), "C\n").unwrap();
    let report = link(&output, &[]);
    assert!(
        report.ok().contains("read from matrix<i>_orig.f"),
        "{}",
        report.stdout
    );
    for name in ["matrix1_orig.f", "template_matrix1.f"] {
        edit(&p.join(name), "\n", "\nC\n");
    }
    let (made, report) = try_make(&output, "mebridge_sources");
    assert!(!made, "{report}");
    for name in ["matrix1_orig.f", "template_matrix1.f"] {
        assert!(
            report.contains(&format!("mebridge: {name} has changed")),
            "{report}"
        );
    }
}

/// In a linked executable the library's answers would also replace such a routine.
#[test]
fn a_routine_of_the_users_own_is_noticed() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = linked(d.path());
    let calls = "      SUBROUTINE MINE\n      CALL FFV1_0\nC     SUBROUTINE FFV1_0\n      END\n";
    for (name, text, routine) in [
        (
            "SubProcesses/P1_gg_ttx/mine.f",
            "      subroutine ffv1_0(f1)\n      end\n",
            "FFV1_0",
        ),
        (
            "SubProcesses/cuts_2.f",
            "      COMPLEX*16 FUNCTION VVV1P0_1()\n      END\n",
            "VVV1P0_1",
        ),
    ] {
        let path = output.join(name);
        fs::write(&path, calls).unwrap();
        well(&output);
        fs::write(&path, format!("{calls}{text}")).unwrap();
        let file = path.file_name().unwrap().to_string_lossy();
        let what = format!("{file} has a {routine} of its own");
        noticed(&output, &what);
        let refused = link(&output, &[]);
        assert!(refused.failed(1).contains(&what), "{}", refused.stderr);
        fs::remove_file(path).unwrap();
    }
    well(&output);
}

/// The current of a quark line, which helicity recycling multiplies with the gluon in the place of FFV1_0.
const CURRENT: &str = "      SUBROUTINE FFV1P1N_3(F1, F2, COUP, V3)
      IMPLICIT NONE
      COMPLEX*16 CI
      PARAMETER (CI=(0D0,1D0))
      COMPLEX*16 F1(*), F2(*), V3(6), COUP, LL, LR, RL, RR
      LL = F2(5)*F1(3)+F2(4)*F1(6)
      RR = F2(6)*F1(4)+F2(3)*F1(5)
      LR = F2(5)*F1(4)-F2(3)*F1(6)
      RL = F2(6)*F1(3)-F2(4)*F1(5)
      V3(3) = -CI*COUP*(LL+RR)
      V3(4) = -CI*COUP*(LR+RL)
      V3(5) = COUP*(RL-LR)
      V3(6) = -CI*COUP*(LL-RR)
      END
";

/// With helicity recycling the Fortran runs other routines of the same vertices: where one of them was edited link and
/// doctor say so, before and after.
#[test]
fn a_vertex_that_recycling_has_otherwise_is_told() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_single.f");
    let p = p(&output);
    fs::rename(p.join("matrix1.f"), p.join("matrix1_orig.f")).unwrap();
    let recycled = output.join("Source/DHELAS/FFV1P1N_3.f");
    fs::write(&recycled, CURRENT).unwrap();
    let what = "FFV1_0 and FFV1P1N_3 of Source/DHELAS are not the same vertex";
    let report = |is: bool| {
        let ran = link(&output, &[]);
        assert_eq!(ran.ok().contains(what), is, "{}", ran.stdout);
        let doctor = mebridge(&output, &["doctor", "."]);
        assert_eq!(doctor.stdout.contains(what), is, "{}", doctor.stdout);
    };
    report(false);
    let amplitude = output.join("Source/DHELAS/FFV1_0.f");
    edit(&amplitude, "COUP*(-CI", "2D0*COUP*(-CI");
    report(true);
    edit(&recycled, "V3(3) = ", "V3(3) = 2D0*");
    report(true);
    for component in 4..7 {
        let from = format!("V3({component}) = ");
        edit(&recycled, &from, &format!("{from}2D0*"));
    }
    report(false);
    edit(&amplitude, "2D0*COUP", "COUP");
    report(true);
    // Without recycling it runs what was read.
    let card = output.join("Cards/run_card.dat");
    let text = fs::read_to_string(&card).unwrap_or_default();
    fs::write(card, format!("{text}\n False = hel_recycling ! no\n")).unwrap();
    report(false);
}

/// An output that an earlier build linked has no list.
#[test]
fn the_doctor_says_where_there_is_no_list() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = linked(d.path());
    let list = p(&output).join("mebridge_sources.txt");
    fs::write(&list, "").unwrap();
    let (made, report) = try_make(&output, "madevent");
    assert!(!made && report.contains("has lost its lines"), "{report}");
    let doctor = mebridge(&output, &["doctor", "."]);
    assert_eq!(doctor.code, 1, "{}", doctor.stdout);
    fs::remove_file(list).unwrap();
    let doctor = mebridge(&output, &["doctor", "."]);
    let what = "nothing says what it was linked from";
    assert!(
        doctor.code == 1 && doctor.stdout.contains(what),
        "{}",
        doctor.stdout
    );
    assert!(!try_make(&output, "madevent").0);
}
