//! The command itself: help, version, wrong use.

use crate::support::{directory, mebridge, mebridge_with};

const HELP: &str = "\
Matrix elements for MadEvent, from what MG5aMC wrote

Usage: mebridge <COMMAND>

Commands:
  import    Read a directory that MG5aMC wrote and write the process to a file
  generate  Generate a process of the Standard Model or of another one, and write it to a file
  model     Read a UFO model and write it as one file
  info      Show what a process holds: legs, diagrams, colour flows, helicities, couplings,
            operations
  check     Evaluate processes on random events: throughput, and mean and spread of the matrix
            element
  eval      Evaluate a process at given momenta: |M|^2 of each event of a file
  events    Make events of a directory that MG5aMC wrote, or of a process by a run card, without
            MadEvent
  merge     Join event files into one, with their cross sections and weights
  plot      Draw spectra of event files over each other, with their ratios
  bench     Measure throughput by precision, SIMD level, events in a call and threads
  cache     Show where processes and plans are kept for the next start, and how much that is
  compare   Compare with the Fortran of a directory, compiled by gfortran, on random events
  decay     Decay particles of LHE events with their spins and masses, as MadSpin does
  reweight  Reweight LHE events to other parameters: adds weights |M'|^2 / |M|^2 to a file
  doctor    Look at this machine, and at outputs of MG5aMC, for what is missing or wrong
  link      Let MadEvent take its matrix elements from the library
  unlink    Give MadEvent its own matrix elements back
  pack      Pack a directory that MG5aMC wrote, or a process, as one file that makes events by
            itself
  plugin    Put a plugin into MG5aMC: `output mebridge DIR` writes MadEvent's directory and links it
  umami     Make a library that carries a process, for MadSpace, MadGraph7 and whatever speaks UMAMI
  help      Print this message or the help of the given subcommand(s)

Options:
  -h, --help     Print help
  -V, --version  Print version
";

#[test]
fn help() {
    let d = directory();
    assert_eq!(mebridge(d.path(), &["--help"]).ok(), HELP);
    assert_eq!(mebridge(d.path(), &[]).failed(2), HELP);
}

#[test]
fn version() {
    let d = directory();
    let expected = concat!("mebridge ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(mebridge(d.path(), &["--version"]).ok(), expected);
}

/// Output that cannot be written is an error.
#[test]
#[cfg(target_os = "linux")]
fn help_on_a_full_disk_is_an_error() {
    let d = directory();
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["eval", "-h"],
        &["help", "info"],
    ] {
        let full = std::fs::File::create("/dev/full").expect("a full disk");
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_mebridge"))
            .args(arguments)
            .current_dir(d.path())
            .stdout(full)
            .output()
            .expect("the command");
        let found = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(1), "{arguments:?}: {found}");
        assert!(found.contains("stdout: "), "{found}");
    }
}

/// Control characters in file names and contents are not sent to the terminal.
#[test]
#[cfg(unix)]
fn control_characters_of_names_and_contents_are_written_out() {
    let d = directory();
    let name = "\u{1b}]0;title\u{7}.txt";
    std::fs::write(d.path().join(name), "500 0 0 \u{1b}[2J\n").expect("a file");
    for arguments in [&["eval", "g g > t t~", name][..], &["info", name]] {
        let ran = mebridge(d.path(), arguments);
        let found = ran.failed(1);
        assert!(found.contains("\\u{1b}]0;title\\u{7}.txt"), "{found:?}");
        let obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!found.contains(obeyed), "{found:?}");
    }
}

#[test]
fn an_unknown_subcommand_is_wrong_use() {
    let d = directory();
    let ran = mebridge(d.path(), &["chekc"]);
    assert_eq!(
        ran.failed(2),
        "error: unrecognized subcommand 'chekc'

  tip: a similar subcommand exists: 'check'

Usage: mebridge <COMMAND>

For more information, try '--help'.
"
    );
}

#[test]
fn numbers_below_zero_are_judged_as_numbers() {
    let d = directory();
    #[rustfmt::skip]
    let cases = [
        (&["check", "scalars.mebridge", "1", "--energy", "-500"][..], "the energy is -500 GeV"),
        (&["check", "scalars.mebridge", "1", "--seed", "-1"], "invalid value '-1' for '--seed <N>'"),
        (&["check", "scalars.mebridge", "-1"], "give ITERATIONS, or BLOCKS THREADS ITERATIONS"),
        (&["eval", "scalars.mebridge", "x", "--alpha-s", "-0.1"], "--alpha-s must be a positive number"),
        (&["compare", "x", "--tolerance", "-1"], "--tolerance must be a number from 0 on"),
    ];
    for (arguments, expected) in cases {
        let message = mebridge(d.path(), arguments).stderr;
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(!message.contains("unexpected argument"), "{message}");
    }
}

#[test]
fn an_unknown_switch_in_the_environment_is_an_error() {
    let d = directory();
    let ran = mebridge_with(
        d.path(),
        &["check", "scalars.mebridge", "1"],
        &[("CUDACPP_RUNTIME_FPTIPE", "f")],
    );
    assert_eq!(
        ran.failed(1),
        "mebridge: there is no switch CUDACPP_RUNTIME_FPTIPE (did you mean \
         CUDACPP_RUNTIME_FPTYPE?); correct the name or unset it\n"
    );
}

#[test]
fn what_is_no_folder_of_a_model_is_told() {
    let d = directory();
    std::fs::write(d.path().join("sm5.toml"), "").unwrap();
    for (arguments, expected) in [
        (
            ["model", "sm"],
            "mebridge: sm: there is no such folder; those of MG5aMC's models are",
        ),
        (
            ["model", "sm5.toml"],
            "mebridge: sm5.toml: this is a file; name the folder of a UFO model",
        ),
    ] {
        let message = mebridge(d.path(), &arguments).failed(1).to_owned();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn files_that_are_no_process_are_named() {
    let d = directory();
    std::fs::write(d.path().join("text"), "no process").unwrap();
    for (file, why) in [
        (
            "absent.mebridge",
            "absent.mebridge: No such file or directory (os error 2)",
        ),
        ("text", "text is not a mebridge process file"),
    ] {
        for arguments in [&["info", file][..], &["check", file, "1"]] {
            let ran = mebridge(d.path(), arguments);
            let message = ran.failed(1);
            assert!(
                message.starts_with("mebridge: ") && message.contains(why),
                "{message}"
            );
        }
    }
}

#[test]
fn an_unknown_switch_that_is_like_no_other_gets_no_guess() {
    let d = directory();
    let switches = [("CUDACPP_RUNTIME_FOO", "1")];
    let ran = mebridge_with(d.path(), &["check", "scalars.mebridge", "1"], &switches);
    let message = ran.failed(1);
    assert!(
        message.starts_with("mebridge: there is no switch CUDACPP_RUNTIME_FOO (known after "),
        "{message}"
    );
    assert!(!message.contains("did you mean"), "{message}");
}

/// The table of docs/reference.md lists exactly the accepted switches.
#[test]
fn every_switch_is_documented() {
    let reference = include_str!("../../docs/reference.md");
    let (_, table) = reference
        .split_once("| `CUDACPP_RUNTIME_...` |")
        .expect("the table");
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut documented: Vec<&str> = Vec::new();
    for row in rows {
        let first = row.split('|').nth(1).expect("a column");
        documented.extend(first.split('`').skip(1).step_by(2));
    }
    documented.sort_unstable();
    let mut known: Vec<&str> = mebridge::runtime::SWITCHES.iter().map(|s| s.name).collect();
    known.sort_unstable();
    assert_eq!(documented, known);
}
