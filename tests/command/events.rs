//! `mebridge events`, called as by a user.

use crate::support::{PARTONS, Ran, copy, hears_signals, mebridge, snapshot};
use mebridge_testing::root;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const MUONS: &str = "e+ e- > mu+ mu-";

/// The command in a folder, where `Events` is made.
fn events(folder: &Path, arguments: &[&str]) -> Ran {
    mebridge(folder, &[&["events"], arguments].concat())
}

/// Muon pairs by partons.
fn muons(folder: &Path, arguments: &[&str]) -> Ran {
    events(
        folder,
        &[&[MUONS, "--quiet"], &PARTONS[..], arguments].concat(),
    )
}

/// The file of events of a run.
fn output(folder: &Path, run: &str) -> PathBuf {
    folder
        .join("Events")
        .join(run)
        .join("unweighted_events.lhe.gz")
}

/// Its text.
fn text(folder: &Path, run: &str) -> String {
    let file = fs::File::open(output(folder, run)).expect("a run was made");
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// From its first event on.
fn from_events(text: &str) -> &str {
    &text[text.find("<event>").expect("there are events")..]
}

/// A shell script that runs the command, which is `"$@"` in it.
fn in_shell(folder: &Path, script: &str, arguments: &[&str]) -> Ran {
    let ran = Command::new("bash")
        .args(["-c", &format!("set -o pipefail; {script}"), "bash"])
        .arg(env!("CARGO_BIN_EXE_mebridge"))
        .args(arguments)
        .current_dir(folder)
        .env("CUDACPP_RUNTIME_BACKEND", "cpu")
        .env("CUDACPP_RUNTIME_CACHE", "off")
        .env("TMPDIR", folder)
        .output()
        .unwrap();
    Ran {
        code: ran.status.code().expect("no signal ends a shell"),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

/// Weak bosons of muons. MadEvent of MG5aMC 3.5.7 has 0.03895 +- 0.00007 pb (benches/results/compared_beams.csv).
#[test]
fn weak_bosons_of_leptons() {
    let d = tempfile::tempdir().unwrap();
    let entries = [
        "lpp1=-4",
        "lpp2=4",
        "ebeam1=5000",
        "ebeam2=5000",
        "pdlabel=eva",
        "eva_xcut=0",
        "fixed_fac_scale=True",
        "dsqrt_q2fact1=1000",
        "dsqrt_q2fact2=1000",
        "dsqrt_shat=400",
    ];
    let mut arguments = vec!["w+ w- > t t~", "--nevents", "10000", "--seed", "1"];
    arguments.extend(entries.iter().flat_map(|entry| ["--set", entry]));
    let ran = events(d.path(), &arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let rows: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .filter(|line| line.contains(" +- "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let named = |row: &Vec<&str>| row.len() == 7 && row[2..4] == ["6", "-6"];
    assert_eq!(rows.iter().filter(|row| named(row)).count(), 9);
    assert_eq!(rows[4][..4], ["24{0}", "-24{0}", "6", "-6"]);
    let all = rows.iter().find(|row| row[0] == "all").expect("a total");
    let [found, error] = [1, 3].map(|place| all[place].parse::<f64>().unwrap());
    let pull = (found - 0.03895) / error.hypot(0.000_07);
    assert!(pull.abs() < 4.0 && error < 0.01 * found, "{all:?}");
    // The first particle is of the first beam, mu+, in whichever direction it moves.
    let text = text(d.path(), "run_01");
    let mut backward = 0;
    for event in from_events(&text).split("<event>").skip(1) {
        let mut lines = event.trim().lines().skip(1);
        let mut particle = || lines.next().unwrap().split_whitespace().collect::<Vec<_>>();
        let [first, second] = [particle(), particle()];
        assert_eq!((first[0], second[0]), ("24", "-24"));
        backward += usize::from(first[8].starts_with('-'));
    }
    assert!(backward > 100, "{backward}");
}

#[test]
fn a_process_by_its_name() {
    let d = tempfile::tempdir().unwrap();
    let more = ["--nevents", "1e2", "--seed", "1"];
    let ran = events(d.path(), &[&[MUONS], &PARTONS[..], &more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // The last line is the file's.
    let file = output(&d.path().canonicalize().unwrap(), "run_01");
    assert_eq!(ran.stdout.lines().last(), Some(file.to_str().unwrap()));
    assert!(
        ran.stdout.starts_with("run_01: 100 events\n\nsubprocess"),
        "{}",
        ran.stdout
    );
    let cross_section = ran.stdout.lines().find(|line| line.starts_with("all "));
    let pb: f64 = cross_section
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    assert!((2.6..3.0).contains(&pb), "{pb}");
    // The settings and the progress, without bars.
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        lines[0],
        "mebridge: no alpha_s; dynamical_scale_choice = -1, scalefact = 1; cuts: ptl = 10, etal = 2.5, drll = 0.4"
    );
    assert!(lines[1].starts_with("mebridge: survey 0 %: 0 of 100 events, "));
    assert!(lines[2].starts_with("mebridge: events 100 %: 100 of 100 events, "));
    assert_eq!(lines.len(), 3, "{}", ran.stderr);
    // The files of MG5aMC, and what was surveyed.
    let folder = file.parent().unwrap();
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "run.html",
            "run_01_tag_1_banner.txt",
            "state",
            "summary.txt",
            "unweighted_events.lhe.gz"
        ]
    );
    let summary = fs::read_to_string(folder.join("summary.txt")).unwrap();
    assert!(ran.stdout.starts_with(summary.trim_end()));
    assert!(summary.contains("pt of mu- mu+, GeV"), "{summary}");
    let text = text(d.path(), "run_01");
    assert_eq!(text.matches("<event>").count(), 100);
    let banner = fs::read_to_string(folder.join("run_01_tag_1_banner.txt")).unwrap();
    for text in [&text, &banner] {
        for block in [
            "generate e+ e- > mu+ mu-",
            "  100 = ebeam1",
            "  100 = nevents",
            "  1 = iseed",
            "</slha>",
            "#  Number of Events        :       100",
        ] {
            assert!(text.contains(block), "{block}");
        }
    }
}

#[test]
fn a_seed_has_its_events_on_any_number_of_threads() {
    let d = tempfile::tempdir().unwrap();
    let runs = [
        &["--threads", "1"][..],
        &["--threads", "3"],
        &["--workers", "2"],
    ];
    let made: Vec<String> = (1..)
        .zip(runs)
        .map(|(number, threads)| {
            let more = ["--seed", "18446744073709551615", "--nevents", "300"];
            let process = [&["g g > t t~ g", "--quiet"], &PARTONS[..4]].concat();
            let fixed = [
                "--set",
                "ebeam1=500",
                "--set",
                "ebeam2=500",
                "--set",
                "ptj=20",
            ];
            let arguments = [&process, &fixed[..], &more, threads].concat();
            let ran = events(d.path(), &arguments);
            assert!(ran.ok().contains("\n21 21 6 -6 21  "), "{}", ran.stdout);
            text(d.path(), &format!("run_{number:02}"))
        })
        .collect();
    for other in &made[1..] {
        assert!(from_events(other) == from_events(&made[0]));
        let lines = made[0].lines().zip(other.lines());
        let differing: Vec<_> = lines.filter(|(a, b)| a != b).collect();
        assert!(
            differing.len() <= 1 && differing.iter().all(|(a, _)| a.contains("\"threads\"")),
            "{differing:?}"
        );
    }
    assert_eq!(made[0].matches("<event>").count(), 300);
}

/// A hand-written output of MG5aMC, as far as events need it: e- e+ > mu- mu+ through a photon and a Z, and cards.
fn output_by_hand(folder: &Path) -> PathBuf {
    let place = folder.join("output");
    copy(&root().join("fortran/outputs/old"), &place);
    for p in ["P1_gg_ttx", "P1_qq_qq", "P1_qq_wh_w_lv"] {
        fs::remove_dir_all(place.join("SubProcesses").join(p)).unwrap();
    }
    let colours = [11, -11, 13, -13, 22, 23].map(|code| {
        format!("      IF(IPDG.EQ.{code})THEN\n        GET_COLOR=1\n        RETURN\n      ENDIF\n")
    });
    let diagrams = [(1, 22), (2, 23)].map(|(number, code)| {
        format!(
            "C     Diagram {number}\n      DATA MAPCONFIG({number})/{number}/\n      DATA TSTRATEGY({number})/0/\n      \
             DATA (IFOREST(I,-1,{number}),I=1,2)/4,3/\n      DATA (SPROP(I,-1,{number}),I=1,1)/{code}/\n      \
             DATA TPRID(-1,{number})/0/\n"
        )
    });
    let card =
        "0 = lpp1\n0 = lpp2\n100 = ebeam1\n100 = ebeam2\n50 = nevents\n1 = iseed\nmine = run_tag\n";
    for (name, text) in [
        ("MGMEVersion.txt", "3.5.7\n".to_owned()),
        ("Cards/run_card.dat", card.to_owned()),
        ("SubProcesses/subproc.mg", "P1_ll_ll\n".to_owned()),
        (
            "SubProcesses/P1_ll_ll/configs.inc",
            format!("{}      DATA MAPCONFIG(0)/2/\n", diagrams.concat()),
        ),
        (
            "SubProcesses/P1_ll_ll/config_nqcd.inc",
            "      DATA NQCD(1)/0/\n      DATA NQCD(2)/0/\n".to_owned(),
        ),
        (
            "SubProcesses/P1_ll_ll/get_color.f",
            format!(
                "      FUNCTION GET_COLOR(IPDG)\n{}      END\n",
                colours.concat()
            ),
        ),
    ] {
        fs::write(place.join(name), text).unwrap();
    }
    place
}

#[test]
fn an_output_of_mg5amc() {
    let d = tempfile::tempdir().unwrap();
    let place = output_by_hand(d.path());
    symlink("output", d.path().join("link")).unwrap();
    // If its cuts are not MG5aMC's own, users have to confirm that nothing depends on them.
    let ran = events(d.path(), &["output"]);
    let message = ran.failed(1);
    assert!(
        message.contains("SubProcesses/cuts.f (it cannot be read), ")
            && message.contains("--changed-files"),
        "{message}"
    );
    assert!(!place.join("Events").exists());
    for given in ["output", "link"] {
        let ran = events(d.path(), &[given, "--changed-files", "--quiet"]);
        assert!(ran.ok().contains("\n11 -11 13 -13  9.5"), "{}", ran.stdout);
    }
    let [one, other] = ["run_01", "run_02"].map(|run| text(&place, run));
    assert!(from_events(&one) == from_events(&other));
    assert_eq!(one.matches("<event>").count(), 50);
    assert!(place.join("Events/run_02/run_02_mine_banner.txt").is_file());
    // As a folder of its own, with another card.
    fs::write(
        d.path().join("card"),
        "0 = lpp1\n0 = lpp2\n20 = ebeam1\n20 = ebeam2\n",
    )
    .unwrap();
    let card = [
        "--run-card",
        "../../card",
        "--nevents",
        "20",
        "--changed-files",
        "--quiet",
    ];
    let ran = events(&place.join("Cards"), &[&[".."], &card[..]].concat());
    assert!(ran.ok().starts_with("run_03: 20 events\n"));
    let ran = events(d.path(), &["output", "--folder", "x"]);
    assert!(
        ran.failed(1).contains("is taken for an output of MG5aMC"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_an_output_lacks_is_named() {
    let d = tempfile::tempdir().unwrap();
    let place = output_by_hand(d.path());
    let whole = snapshot(&place);
    #[rustfmt::skip]
    let cases = [
        ("SubProcesses/P1_ll_ll/configs.inc", None,
         "configs.inc cannot be read: No such file or directory; does MG5aMC's"),
        ("SubProcesses/P1_ll_ll/leshouche.inc", None, "leshouche.inc cannot be read"),
        ("SubProcesses/P1_ll_ll/matrix1.f", None, "it has no matrix<i>.f"),
        ("SubProcesses/P1_ll_ll/matrix1.f", Some("      SUBROUTINE\n"), "matrix1.f"),
        ("SubProcesses/subproc.mg", Some(""), "subproc.mg"),
        ("Cards/param_card.dat", Some(""), "param_card.dat"),
        ("Cards/run_card.dat", None, "run_card.dat is missing; MG5aMC writes it with the output"),
        ("Cards/run_card.dat", Some("1 = ptjj\n"),
         "run_card.dat has an entry ptjj that mebridge does not know (do you mean ptj?)"),
        ("Cards/run_card.dat", Some("many = nevents\n"), "run_card.dat: nevents is 'many'; it must be a whole number"),
    ];
    for (name, text, said) in cases {
        let file = place.join(name);
        match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let before = snapshot(&place);
        let ran = events(d.path(), &["output", "--changed-files", "--quiet"]);
        assert!(ran.failed(1).contains(said), "{name}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(snapshot(&place) == before, "{name}");
        fs::write(&file, &whole[&file]).unwrap();
    }
    for (given, said) in [
        ("nowhere.mad", "nowhere.mad is no output of MG5aMC's"),
        (".", "it has no SubProcesses and Cards"),
    ] {
        let ran = events(d.path(), &[given]);
        assert!(ran.failed(1).contains(said), "{}", ran.stderr);
    }
}

#[test]
fn a_decay() {
    let d = tempfile::tempdir().unwrap();
    let ran = events(d.path(), &["t > b w+", "--nevents", "20", "--seed", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout
            .contains("decay (PDG codes)  partial width, GeV\n\n6 5 24 ")
    );
    assert!(ran.stderr.contains(" 20 of 20 events, "), "{}", ran.stderr);
    assert!(
        ran.stderr.trim_end().ends_with(" s") && ran.stderr.contains(" GeV, "),
        "{}",
        ran.stderr
    );
    // Such a short run keeps no state.
    assert!(!d.path().join("Events/run_01/state").exists());
    assert_eq!(text(d.path(), "run_01").matches("<event>").count(), 20);
    let ran = events(
        d.path(),
        &["z > e+ e- a", "--nevents", "20", "--folder", "other"],
    );
    assert!(
        ran.failed(1)
            .contains("the width is infinite without a cut on -11 and 22"),
        "{}",
        ran.stderr
    );
    fs::write(d.path().join("card"), "").unwrap();
    let ran = events(d.path(), &["t > b w+", "--reweight", "card"]);
    let said = "reweight is not for decays, whose events are made at once; leave it out";
    assert!(ran.failed(1).contains(said), "{}", ran.stderr);
    assert!(!d.path().join("Events/run_02").exists() && !d.path().join("other/Events").exists());
}

#[test]
fn weights_of_other_cards() {
    let d = tempfile::tempdir().unwrap();
    // As in the file of a run.
    muons(d.path(), &["--nevents", "1"]).ok();
    let plain = text(d.path(), "run_01");
    let (_, card) = plain.split_once("<slha>").unwrap();
    let (card, _) = card.split_once("</slha>").unwrap();
    let is_of_z = |line: &&str| line.split_whitespace().next() == Some("23") && line.contains('9');
    let of_z = card.lines().find(is_of_z).expect("the mass of the Z");
    let heavy = card.replacen(of_z, "   23 1.500000e+02", 1);
    fs::write(d.path().join("same"), card).unwrap();
    fs::write(d.path().join("heavy"), heavy).unwrap();
    let weights = |name: &str, arguments: &[&str]| {
        let name = ["--name", name, "--nevents", "20", "--seed", "1"];
        let ran = muons(d.path(), &[&name, arguments].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        (ran.stdout, text(d.path(), name[1]))
    };
    let (report, one) = weights("one", &["--reweight", "heavy"]);
    assert_eq!(one.matches("<wgt id=").count(), 20);
    assert!(report.contains("\nrwgt_1  "), "{report}");
    let (_, two) = weights(
        "two",
        &["--reweight", "same=as_is", "--reweight=heavy=z150"],
    );
    assert_eq!(two.matches("<wgt id='as_is'>").count(), 20);
    let first = from_events(&two);
    let weight: f64 = first
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .nth(2)
        .unwrap()
        .parse()
        .unwrap();
    let of = |id: &str| -> f64 {
        let (_, rest) = first.split_once(&format!("<wgt id='{id}'>")).unwrap();
        rest.split_once('<').unwrap().0.trim().parse().unwrap()
    };
    assert!((of("as_is") / weight - 1.0).abs() < 1e-6);
    assert!((of("z150") / weight - 1.0).abs() > 1e-3);
    // All errors are reported before events are made.
    fs::write(d.path().join("wrong"), "Block MASS\n 23 many\n").unwrap();
    for (arguments, said) in [
        (
            &["--reweight", "nowhere=x"][..],
            "there is no parameter card nowhere",
        ),
        (
            &["--reweight", "same=x", "--reweight", "heavy"],
            "give all of them one (CARD=NAME), or none",
        ),
        (&["--reweight", "wrong"], "wrong"),
    ] {
        let more = ["--name", "no", "--nevents", "1e9"];
        let ran = muons(d.path(), &[&more, arguments].concat());
        assert!(ran.failed(1).contains(said), "{}", ran.stderr);
        assert!(!d.path().join("Events/no").exists());
    }
}

#[test]
fn cards() {
    let d = tempfile::tempdir().unwrap();
    let card = "\u{feff}0 = lpp1 ! partons\r\n0 = lpp2\r\n100 = ebeam1\r\n100 = ebeam2\r\n30 = nevents\r\n7 = iseed\r\nFalse = use_syst\r\n";
    fs::write(d.path().join("card"), card).unwrap();
    let ran = events(d.path(), &[MUONS, "--run-card", "card", "--quiet"]);
    assert!(ran.ok().starts_with("run_01: 30 events\n"));
    muons(d.path(), &["--set", " nevents = 30 ", "--set", "iseed=7"]).ok();
    assert_eq!(
        from_events(&text(d.path(), "run_01")),
        from_events(&text(d.path(), "run_02"))
    );
    // Without a seed it is drawn.
    muons(d.path(), &["--nevents", "30"]).ok();
    assert_ne!(
        from_events(&text(d.path(), "run_01")),
        from_events(&text(d.path(), "run_03"))
    );
    let ran = events(d.path(), &[MUONS, "--run-card", "card", "--set", "ptl=1"]);
    assert!(ran.failed(2).contains("cannot be used with"));
    fs::write(d.path().join("wrong"), "x y z\n").unwrap();
    #[rustfmt::skip]
    let cases = [
        (&["--run-card", "wrong"][..], 1, "wrong, line 1: 'x y z' is no entry; write VALUE = NAME"),
        (&["--run-card", "."], 1, "the run card . cannot be read: this is a folder"),
        (&["--run-card", "nowhere"], 1, "the run card nowhere cannot be read: No such file or directory"),
        (&["--param-card", "nowhere", "--set", "lpp1=0"], 1, "nowhere cannot be read: No such file or directory"),
        (&["--set", "ptl"], 2, "it must be ENTRY=VALUE"),
        (&["--set", "ptjj=3"], 1, "ptjj, which is to be set, is no entry of a run card (do you mean ptj?)"),
        (&["--set", "ickkw=2"], 1, "ickkw = 2"),
        (&["--set", "gridpack=True"], 1,
         "mebridge: the run card: gridpack = True asks for a pack, which `mebridge pack` makes"),
        (&["--set", "nevents=0"], 1, "nevents is 0; it must be a whole number from 1 to 10000000000"),
        (&["--nevents", "0"], 1, "nevents is 0; it must be a whole number from 1 to 10000000000"),
        (&["--nevents", "10000000001"], 1, "nevents is 10000000001; it must be a whole number from 1"),
        (&["--nevents", "ten"], 2, "it must be a whole number"),
        (&["--seed", "18446744073709551616"], 2, "it must be a whole number"),
        (&["--model", "nowhere"], 1, "nowhere"),
        (&["--name", "../x"], 1, "the name of a run is '../x'; it must be that of a folder in"),
        (&["--name", "run_01", "--nevents", "1"], 1,
         "events of a run; ask for more (nevents), which are added to them; or take another name"),
    ];
    for (arguments, code, said) in cases {
        let partons = match arguments[0] {
            "--run-card" => &[],
            _ => &PARTONS[..],
        };
        let ran = events(d.path(), &[&[MUONS], partons, arguments].concat());
        assert!(
            ran.failed(code).contains(said),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    let made = fs::read_dir(d.path().join("Events")).unwrap().count();
    assert_eq!(made, 3);
    let grids = events(d.path(), &["u u~ > t t~"]);
    assert!(grids.failed(1).contains("--pdf-data"), "{}", grids.stderr);
}

#[test]
fn what_stands_where_files_are_written() {
    let d = tempfile::tempdir().unwrap();
    let runs = d.path().join("Events");
    fs::create_dir_all(runs.join("r")).unwrap();
    fs::write(d.path().join("mine"), "mine").unwrap();
    for name in ["run.html", "summary.txt", "r_tag_1_banner.txt"] {
        symlink(d.path().join("mine"), runs.join("r").join(name)).unwrap();
    }
    muons(d.path(), &["--name", "r", "--nevents", "9"]).ok();
    assert_eq!(fs::read_to_string(d.path().join("mine")).unwrap(), "mine");
    let summary = runs.join("r/summary.txt");
    assert!(!summary.is_symlink() && fs::read_to_string(summary).unwrap().contains("9 events"));
    fs::create_dir(runs.join("link")).unwrap();
    symlink("lost", runs.join("link/unweighted_events.lhe.gz")).unwrap();
    symlink("lost", runs.join("lost")).unwrap();
    fs::write(runs.join("file"), "").unwrap();
    for (name, said) in [
        ("link", "link holds the events of a run; take another name"),
        (
            "lost",
            "lost is a link that leads nowhere, where a folder is needed",
        ),
        ("file", "file is a file, where a folder is needed"),
    ] {
        let ran = muons(d.path(), &["--name", name, "--nevents", "9"]);
        assert!(ran.failed(1).contains(said), "{}", ran.stderr);
    }
    let ran = muons(d.path(), &["--folder", "mine", "--nevents", "9"]);
    assert!(
        ran.failed(1).contains("mine") && ran.stderr.contains("Not a directory"),
        "{}",
        ran.stderr
    );
    // The next number follows the existing ones.
    fs::create_dir(runs.join("run_41")).unwrap();
    fs::create_dir(runs.join("run_x")).unwrap();
    muons(d.path(), &["--nevents", "9"]).ok();
    assert!(output(d.path(), "run_42").is_file());
}

/// Rows of a file: number of the process, and weight.
fn weights(text: &str) -> Vec<f64> {
    let events = text.split("<event>\n").skip(1);
    let weight = |event: &str| event.split_whitespace().nth(2).unwrap().parse().unwrap();
    events.map(weight).collect()
}

/// The cross section of a file of one process, pb.
fn cross_section(text: &str) -> f64 {
    let init = text.split("<init>\n").nth(1).expect("a block");
    let words = init.lines().nth(1).expect("a line").split_whitespace();
    words.take(1).collect::<String>().parse().expect("a number")
}

#[test]
fn a_run_that_is_done_gets_more_events_and_runs_are_merged() {
    let d = tempfile::tempdir().unwrap();
    let run = |name: &str, seed: &str, nevents: &str| {
        muons(
            d.path(),
            &["--name", name, "--seed", seed, "--nevents", nevents],
        )
    };
    run("a", "1", "200").ok();
    let before = text(d.path(), "a");
    assert!(
        run("a", "2", "300")
            .failed(1)
            .contains("holds a run with another seed")
    );
    assert_eq!(text(d.path(), "a"), before);
    run("a", "1", "300").ok();
    let after = text(d.path(), "a");
    let (found, mean) = (weights(&after), cross_section(&after));
    assert_eq!(found.len(), 300);
    assert!((found.iter().sum::<f64>() / 300.0 / mean - 1.0).abs() < 1e-6);
    assert!(after.contains("300 = nevents") && after.contains("\"events\": 300"));
    // Events are those that were there, and others.
    let momenta = |text: &str| -> Vec<String> {
        let muons = text.lines().filter(|line| line.starts_with("  13    1 "));
        muons.map(str::to_owned).collect()
    };
    let (mut all, old) = (momenta(&after), momenta(&before));
    assert_eq!(all[..200], old);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 300);
    let left = fs::read_dir(d.path().join("Events/a")).unwrap().count();
    assert_eq!(left, 5);
    run("b", "2", "100").ok();
    let joined = d.path().join("joined.lhe");
    let [a, b] = ["a", "b"].map(|name| output(d.path(), name));
    let merge = |files: &[&Path]| {
        let files = files.iter().map(|file| file.to_str().unwrap());
        let output = ["-o", joined.to_str().unwrap()];
        let call: Vec<&str> = std::iter::once("merge")
            .chain(files)
            .chain(output)
            .collect();
        mebridge(d.path(), &call)
    };
    let message = merge(&[&a, &b]);
    assert!(
        message.ok().contains("400 events of 2 files"),
        "{}",
        message.stdout
    );
    let joined = fs::read_to_string(&joined).unwrap();
    let (found, mean) = (weights(&joined), cross_section(&joined));
    let expected = 0.75 * cross_section(&after) + 0.25 * cross_section(&text(d.path(), "b"));
    assert!((mean / expected - 1.0).abs() < 1e-8);
    assert!((found.iter().sum::<f64>() / 400.0 / mean - 1.0).abs() < 1e-6);
    let twice = merge(&[&a, &a]);
    assert!(
        twice.failed(1).contains("it begins with the event"),
        "{}",
        twice.stderr
    );
}

#[test]
fn events_have_one_weight_where_that_is_wanted() {
    let d = tempfile::tempdir().unwrap();
    for rule in ["truncate", "unweight"] {
        let options = [
            "--name",
            rule,
            "--seed",
            "1",
            "--nevents",
            "400",
            "--overweight",
            rule,
        ];
        muons(d.path(), &options).ok();
        let text = text(d.path(), rule);
        let (found, mean) = (weights(&text), cross_section(&text));
        assert_eq!(found.len(), 400);
        assert!(
            found
                .iter()
                .all(|weight| (weight / mean - 1.0).abs() < 1e-9)
        );
        assert!(text.contains(&format!("\"overweight_rule\": \"{rule}\"")));
        assert_eq!(text.matches("\"overweights\":").count(), 1);
    }
    let options = ["--name", "x", "--overweight", "drop"];
    assert!(
        muons(d.path(), &options)
            .failed(2)
            .contains("[possible values: keep, truncate, unweight]")
    );
}

#[test]
fn a_run_goes_on_after_a_signal() {
    let d = tempfile::tempdir().unwrap();
    let more = ["--nevents", "100000", "--seed", "1"];
    let call = [&["events", MUONS], &PARTONS[..], &more].concat();
    let begun = |name: &str, file: &str, signal: &str| {
        let mut child = spawn(d.path(), &[&call[..], &["--name", name]].concat());
        let file = d.path().join("Events").join(name).join("state").join(file);
        while !file.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        kill(&child, signal);
        child.wait_with_output().unwrap()
    };
    let mut made = Vec::new();
    for (name, file, signal) in [
        ("survey", "run.json", "INT"),
        ("rounds", "round0000.found", "TERM"),
        ("killed", "round0000.found", "KILL"),
    ] {
        let ended = begun(name, file, signal);
        assert!(ended.stdout.is_empty() && ended.status.code().is_none());
        let report = String::from_utf8(ended.stderr).unwrap();
        if signal != "KILL" {
            let last = report.lines().last().unwrap();
            let goes_on = format!("mebridge: interrupted; run {name} goes on with this name");
            assert_eq!(last, goes_on, "{report}");
        }
        // Nothing of another run is used.
        let ran = muons(
            d.path(),
            &[&more[..2], &["--seed", "2", "--name", name]].concat(),
        );
        assert!(ran.failed(1).contains("seed"), "{}", ran.stderr);
        // The seed is that of the resumed run.
        let goes_on = match signal {
            "INT" => &more[..2],
            _ => &more[..],
        };
        muons(d.path(), &[goes_on, &["--name", name]].concat()).ok();
        made.push(text(d.path(), name));
    }
    muons(d.path(), &[&more[..], &["--name", "plain"]].concat()).ok();
    let plain = text(d.path(), "plain");
    for other in made {
        assert!(other == plain);
    }
}

#[test]
fn a_signal_at_any_time() {
    let d = tempfile::tempdir().unwrap();
    let many = ["--nevents", "1000000000"];
    let call = [&["events", MUONS, "--quiet"], &PARTONS[..], &many].concat();
    for (number, signal) in (0..8).zip(["INT", "TERM", "HUP"].iter().cycle()) {
        let child = spawn(d.path(), &call);
        std::thread::sleep(Duration::from_millis(8 * number));
        kill(&child, signal);
        let ended = child.wait_with_output().unwrap();
        assert!(ended.stdout.is_empty() && ended.status.code().is_none());
        let report = String::from_utf8(ended.stderr).unwrap();
        let goes_on = " goes on with this name\n";
        let is_told =
            report.starts_with("mebridge: interrupted; run run_0") && report.ends_with(goes_on);
        assert!(report.is_empty() || is_told, "{report}");
        assert!(report.lines().count() <= 1, "{report}");
    }
    // There is no partial event file.
    let files = snapshot(d.path());
    let is_made = |file: &PathBuf| file.ends_with("unweighted_events.lhe.gz");
    assert!(!files.keys().any(is_made));
}

#[test]
fn streams_that_nobody_reads() {
    let d = tempfile::tempdir().unwrap();
    let call = [
        &["events", MUONS],
        &PARTONS[..],
        &["--nevents", "9", "--seed", "1"],
    ]
    .concat();
    let full = "mebridge: stdout: No space left on device (os error 28)\n";
    for (script, arguments, code, message) in [
        ("\"$@\" 2> /dev/full > /dev/null", &call[..], 0, ""),
        ("\"$@\" <&- >&- 2>&-", &call, 0, ""),
        ("\"$@\" 2>&1 | true", &call, 0, ""),
        (
            "\"$@\" > /dev/full 2> errors || { tail -1 errors >&2; exit 1; }",
            &call,
            1,
            full,
        ),
        ("\"$@\" > /dev/full", &["events", "--help"], 1, full),
        ("\"$@\" | true", &["events", "--help"], 0, ""),
    ] {
        let ran = in_shell(d.path(), script, arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (code, "", message),
            "{script}"
        );
    }
    // The events exist in any case.
    let made: Vec<String> = (1..5)
        .map(|n| text(d.path(), &format!("run_{n:02}")))
        .collect();
    assert!(made[1..].iter().all(|other| *other == made[0]));
}

#[test]
fn a_system_that_gives_too_little() {
    let d = tempfile::tempdir().unwrap();
    let call = [
        &["events", MUONS, "--quiet"],
        &PARTONS[..],
        &["--nevents", "2000", "--seed", "1"],
    ]
    .concat();
    // A file size limit is an error, not a signal.
    for blocks in [0, 1, 100] {
        let ran = in_shell(d.path(), &format!("ulimit -f {blocks}; \"$@\""), &call);
        let message = ran.failed(1);
        assert!(
            message.contains("File too large") && message.lines().count() == 1,
            "{message}"
        );
    }
    // The run resumes once there is disk space, and leaves nothing else.
    let left: Vec<_> = fs::read_dir(d.path().join("Events"))
        .unwrap()
        .map(|run| run.unwrap().path())
        .collect();
    for run in &left {
        let name = run.file_name().unwrap().to_str().unwrap();
        assert!(run.join("state/run.json").exists(), "{name}");
        muons(
            d.path(),
            &["--nevents", "2000", "--seed", "1", "--name", name],
        )
        .ok();
    }
    assert!(!left.is_empty());
    fs::remove_dir_all(d.path().join("Events")).unwrap();
    for limit in 4..7 {
        let ran = in_shell(d.path(), &format!("ulimit -n {limit}; \"$@\""), &call);
        assert!(ran.failed(1).contains("Too many open files"));
    }
    assert!(!d.path().join("Events").exists());
    in_shell(d.path(), "ulimit -n 12; \"$@\"", &call).ok();
}

#[test]
fn names_that_are_no_utf_8() {
    let d = tempfile::tempdir().unwrap();
    let folder = d.path().join(OsStr::from_bytes(b"a \xff\xc3\xbc'\"<b>"));
    fs::create_dir(&folder).unwrap();
    for number in 1..3 {
        let ran = Command::new(env!("CARGO_BIN_EXE_mebridge"))
            .args(["events", MUONS, "--quiet", "--nevents", "9", "--seed", "1"])
            .args(PARTONS)
            .arg("--folder")
            .arg(&folder)
            .env("CUDACPP_RUNTIME_CACHE", "off")
            .env("TMPDIR", &folder)
            .output()
            .unwrap();
        let report = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{report}");
        let text = text(&folder, &format!("run_{number:02}"));
        assert_eq!(text.matches("<event>").count(), 9);
    }
    let ran = Command::new(env!("CARGO_BIN_EXE_mebridge"))
        .args(["events", MUONS, "--name"])
        .arg(OsStr::from_bytes(b"\xff"))
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(2));
}

#[test]
fn runs_at_once_have_their_own_numbers() {
    let d = tempfile::tempdir().unwrap();
    let call = [
        &["events", MUONS, "--quiet"],
        &PARTONS[..],
        &["--nevents", "9", "--seed", "1"],
    ]
    .concat();
    let children: Vec<Child> = (0..4).map(|_| spawn(d.path(), &call)).collect();
    for child in children {
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success());
    }
    let made: Vec<String> = (1..5)
        .map(|n| text(d.path(), &format!("run_{n:02}")))
        .collect();
    assert!(made[1..].iter().all(|other| *other == made[0]));
}

/// The command, whose streams can be read once it ends.
fn spawn(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mebridge"));
    command
        .args(arguments)
        .current_dir(folder)
        .env("CUDACPP_RUNTIME_CACHE", "off")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    hears_signals(&mut command).spawn().unwrap()
}

fn kill(child: &Child, signal: &str) {
    let done = Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .status();
    assert!(done.unwrap().success());
}
