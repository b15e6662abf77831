//! `mebridge import`.

use crate::support::{directory, gg_ttx, mebridge, two_matrix_elements};
use mebridge::process::Process;

const HELP: &str = "\
Read a directory that MG5aMC wrote and write the process to a file

The directory is a SubProcesses/P* directory of an MG5aMC output. All that is needed afterwards is
in the file. A directory with several matrix elements (matrix1.f, matrix2.f, ...) gives several
files, FILE with the number before its extension; DIR#N takes the N-th only.

Usage: mebridge import [OPTIONS] --output <FILE> <DIR>

Arguments:
  <DIR>
          P* directory of an MG5aMC output, #N after it for its N-th matrix element

Options:
  -o, --output <FILE>
          File to write, by custom with the extension .mebridge

      --card <CARD>
          Parameter card whose values become the file's [default: Cards/param_card.dat of the
          output]

  -h, --help
          Print help (see a summary with '-h')
";

/// Output files are complete or absent.
#[test]
fn an_error_leaves_none_of_several_files() {
    let d = directory();
    std::fs::create_dir(d.path().join("x.2.mebridge")).unwrap();
    let ran = mebridge(d.path(), &["generate", "p p > t t~", "-o", "x.mebridge"]);
    assert!(ran.failed(1).contains("x.2.mebridge"), "{}", ran.stderr);
    assert!(!d.path().join("x.1.mebridge").exists());
}

#[test]
fn help() {
    let d = directory();
    assert_eq!(mebridge(d.path(), &["import", "--help"]).ok(), HELP);
}

#[test]
fn a_directory_becomes_a_file() {
    let d = directory();
    let p = gg_ttx();
    let p = p.to_str().unwrap();
    let ran = mebridge(d.path(), &["import", p, "-o", "gg_ttx.mebridge"]);
    let file = d.path().join("gg_ttx.mebridge");
    let size = std::fs::metadata(&file).unwrap().len();
    assert_eq!(
        ran.ok(),
        format!(
            "gg_ttx.mebridge: g g > t t~ WEIGHTED<=2 @1, 3 diagrams, 3 amplitudes, 2 colour flows, \
             16 helicities, {size} bytes\n"
        )
    );
    // `info` shows the same for the file as for the directory, except for the writer of the directory.
    let of_file = mebridge(d.path(), &["info", "gg_ttx.mebridge"]);
    let of_directory = mebridge(d.path(), &["info", p]);
    assert_eq!(of_file.ok(), without_output(of_directory.ok()));
    let imported = mebridge::import::import_directory(p.as_ref()).unwrap();
    assert!(Process::read(file).unwrap() == imported[0]);
}

#[test]
fn another_card_gives_other_values() {
    let d = directory();
    let p = gg_ttx();
    let card = p.join("../../Cards/param_card.dat");
    let text = std::fs::read_to_string(card).unwrap();
    let changed: String = text
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["6", _, "#", ref rest @ ..] if rest.join(" ").to_lowercase().contains("mt") => {
                    "6 170.25 # MT\n".to_owned()
                }
                _ => format!("{line}\n"),
            }
        })
        .collect();
    assert_ne!(changed, text);
    std::fs::write(d.path().join("card.dat"), changed).unwrap();
    let p = p.to_str().unwrap();
    let arguments = ["import", p, "-o", "out.mebridge", "--card", "card.dat"];
    mebridge(d.path(), &arguments).ok();
    let process = Process::read(d.path().join("out.mebridge")).unwrap();
    let mass = process.model.card.iter().find(|c| c.name == "MDL_MT");
    assert_eq!(mass.unwrap().default, 170.25);
}

#[test]
fn what_cannot_be_imported_is_an_error_and_no_file() {
    let d = directory();
    let p = gg_ttx();
    let p = p.to_str().unwrap();
    for (directory, said) in [
        (".", "matrix"),
        ("absent", "absent is not a subprocess directory of MG5aMC"),
        (
            "scalars.mebridge",
            "scalars.mebridge is not a subprocess directory",
        ),
        (&format!("{p}#2"), "no number 2"),
    ] {
        let ran = mebridge(d.path(), &["import", directory, "-o", "out.mebridge"]);
        let message = ran.failed(1);
        assert!(
            message.starts_with("mebridge: ") && message.contains(said),
            "{message}"
        );
        assert!(!d.path().join("out.mebridge").exists());
    }
    let ran = mebridge(d.path(), &["import", p, "-o", "no/such/out.mebridge"]);
    assert!(
        ran.failed(1).contains("no/such/out.mebridge"),
        "{}",
        ran.stderr
    );
}

#[test]
fn an_output_file_is_needed() {
    let d = directory();
    assert_eq!(
        mebridge(d.path(), &["import", "."]).failed(2),
        "error: the following required arguments were not provided:
  --output <FILE>

Usage: mebridge import --output <FILE> <DIR>

For more information, try '--help'.
"
    );
}

#[test]
fn several_matrix_elements_become_several_files() {
    let d = directory();
    two_matrix_elements(&d.path().join("two"));
    let p = "two/SubProcesses/P1_gg_ttx";
    let ran = mebridge(d.path(), &["import", p, "-o", "tt.mebridge"]);
    let line = |n: usize| {
        let file = format!("tt.{n}.mebridge");
        let size = std::fs::metadata(d.path().join(&file)).unwrap().len();
        format!(
            "{file}: g g > t t~ WEIGHTED<=2 @{n}, 3 diagrams, 3 amplitudes, 2 colour flows, \
             16 helicities, {size} bytes\n"
        )
    };
    assert_eq!(ran.ok(), line(1) + &line(2));
    // One of them goes to the file itself.
    let second = format!("{p}#2");
    mebridge(d.path(), &["import", &second, "-o", "second.mebridge"]).ok();
    let read = |file: &str| std::fs::read(d.path().join(file)).unwrap();
    assert!(read("second.mebridge") == read("tt.2.mebridge"));
    // All of them are shown, one is.
    let info = |what: &str| mebridge(d.path(), &["info", what]).ok().to_owned();
    let (one, two) = (info("tt.1.mebridge"), info("tt.2.mebridge"));
    assert_eq!(without_output(&info(p)), format!("{one}\n{two}"));
    assert_eq!(without_output(&info(&second)), two);
}

/// Output of `info`, without the line about the MG5aMC output.
fn without_output(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("output "));
    lines.map(|line| format!("{line}\n")).collect()
}
