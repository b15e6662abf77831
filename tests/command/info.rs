//! `mebridge info`.

use crate::support::{copy, directory, gg_ttx, mebridge, two_matrix_elements};
use serde_json::Value;
use std::fs;
use std::path::Path;

const HELP: &str = "\
Show what a process holds: legs, diagrams, colour flows, helicities, couplings, operations

Of several directories, or of a whole output of MG5aMC (also its SubProcesses), it is a table: for
each matrix element where it comes from, how large it is, and whether it can be evaluated or why
not.

Usage: mebridge info [OPTIONS] <FILE|DIR>...

Arguments:
  <FILE|DIR>...
          Process file, or P* directory of an MG5aMC output (all its matrix elements; #N after it
          for the N-th), or several of them, or a whole output

Options:
      --card <CARD>
          Parameter card to take values from [default: that of the output, or those in the file]

      --g <G>
          Strong coupling g_s at which couplings are evaluated
          
          [default: 1.2177157847767195]

      --plan
          Show what each pass of the plan compiler saves

      --text
          With --plan: print the plan that serves a CPU's calls without channels, operation by
          operation

      --json
          Print JSON instead of text: a list with one object for each matrix element

      --topologies
          Add to the JSON the topologies that a sampler needs

  -h, --help
          Print help (see a summary with '-h')
";

const SCALARS: &str = "\
process            phi phi > phi phi
model              scalar
Fortran contract   with igraph
legs               2 incoming, 2 outgoing
helicities         1
IDEN               2
diagrams           3
amplitudes         3
wavefunctions      7
colour flows       1
configurations     3 (3 of this process)

legs
   1  in   PDG       25  MDL_MPHI = 125 GeV
   2  in   PDG       25  MDL_MPHI = 125 GeV
   3  out  PDG       25  MDL_MPHI = 125 GeV
   4  out  PDG       25  MDL_MPHI = 125 GeV

parameters of the card
  MDL_MPHI         mass 25          125

masses and widths (GeV)
  MDL_MPHI         125

couplings at g_s = 1.21771578
  GC_1             (0, 1.21771578)                ~ G

Lorentz structures
  SSS1_1                3 calls,   31 operations each, by kernel Sss1
  SSS1_0                3 calls,    9 operations each, by kernel Sss0

operations for one helicity configuration
  external wavefunctions              4
  internal wavefunctions              3
  amplitudes                          3
  partial sums of JAMP                0
  terms of JAMP                       3
  products in the colour sum          1

operations for all helicities of one event
                               with channels without channels
  kind of plan                      diagrams         diagrams
  external wavefunctions                   4                4
  internal wavefunctions                   3                3
  amplitudes                               3                3
  terms of JAMP                            3                3
  momenta of inner lines                   3                3
  propagators                              3                3
  multiply-adds                          204              198
  the same in colour sums                  4                4
  numbers in memory                       76               76
";

#[test]
fn help() {
    let d = directory();
    assert_eq!(mebridge(d.path(), &["info", "--help"]).ok(), HELP);
}

#[test]
fn a_process_file() {
    let d = directory();
    assert_eq!(
        mebridge(d.path(), &["info", "scalars.mebridge"]).ok(),
        SCALARS
    );
    // A file has one matrix element.
    assert_eq!(
        mebridge(d.path(), &["info", "scalars.mebridge#1"]).ok(),
        SCALARS
    );
    let ran = mebridge(d.path(), &["info", "scalars.mebridge#2"]);
    assert!(ran.failed(1).contains("no number 2"));
}

#[test]
fn values_follow_card_and_coupling() {
    let d = directory();
    std::fs::write(d.path().join("card.dat"), "BLOCK MASS\n  25 200.5\n").unwrap();
    let arguments = ["info", "scalars.mebridge", "--card", "card.dat", "--g", "2"];
    let expected = SCALARS
        .replace("125", "200.5")
        .replace("g_s = 1.21771578", "g_s = 2")
        .replace(
            "(0, 1.21771578)                ~",
            "(0, 2)                         ~",
        );
    assert_eq!(mebridge(d.path(), &arguments).ok(), expected);
}

#[test]
fn json() {
    let d = directory();
    let ran = mebridge(d.path(), &["info", "scalars.mebridge", "--json"]);
    let value: Value = serde_json::from_str(ran.ok()).unwrap();
    let info = &value[0];
    assert_eq!(value.as_array().unwrap().len(), 1);
    assert_eq!(info["process"], "phi phi > phi phi");
    assert_eq!(info["legs"].as_array().unwrap().len(), 4);
    assert_eq!(info["legs"][0]["mass"], 125.0);
    assert_eq!(info["legs"][0]["incoming"], true);
    assert_eq!(info["diagrams"], 3);
    assert_eq!(info["channels"], serde_json::json!([1, 2, 3]));
    assert_eq!(info["couplings"][0]["name"], "GC_1");
    assert_eq!(info["couplings"][0]["powers_of_g"], serde_json::json!([1]));
    assert_eq!(info["operations"]["internal_wavefunctions"], 3);
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let d = directory();
    let status = std::process::Command::new("sh")
        .current_dir(d.path())
        .args(["-c", "\"$0\" info scalars.mebridge 2>err | true"])
        .arg(env!("CARGO_BIN_EXE_mebridge"))
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(d.path().join("err")).unwrap(), "");
}

#[test]
fn what_each_pass_saves() {
    let d = directory();
    let ran = mebridge(d.path(), &["info", "scalars.mebridge", "--plan"]);
    let text = ran.ok();
    // Scalars have no recursion: its passes are not there.
    for pass in [
        "diagrams as listed",
        "helicities recycled",
        "partial vertices",
    ] {
        assert!(text.contains(pass), "{pass}\n{text}");
    }
    assert!(!text.contains("conjugates of currents"), "{text}");
    let ran = mebridge(d.path(), &["info", "scalars.mebridge", "--plan", "--json"]);
    let text = ran.ok();
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let passes = json[0]["passes"].as_array().unwrap();
    assert_eq!(passes[0]["pass"], "List");
    assert!(passes.iter().all(|p| p["flops"].as_u64().unwrap() > 0));
}

/// The operations of the plan, of diagrams and of a colour-ordered form.
#[test]
fn a_plan_as_text() {
    let d = directory();
    let ran = mebridge(d.path(), &["info", "scalars.mebridge", "--plan", "--text"]);
    let text = ran.ok();
    assert!(text.starts_with("phi phi > phi phi: diagrams\n"), "{text}");
    let amplitudes = text.lines().filter(|line| line.contains(" = Sss0 "));
    assert_eq!(amplitudes.count(), 3, "{text}");
    let generated = ["generate", "g g > g g g", "-o", "gluons.mebridge"];
    mebridge(d.path(), &generated).ok();
    let ran = mebridge(d.path(), &["info", "gluons.mebridge", "--plan", "--text"]);
    let text = ran.ok();
    assert!(
        text.starts_with("g g > g g g WEIGHTED<=3: colour-ordered\n"),
        "{text}"
    );
    assert!(text.contains(" = Contract, stride "), "{text}");
    let ran = mebridge(d.path(), &["info", "gluons.mebridge", "--text"]);
    assert!(ran.failed(2).contains("--plan"));
}

/// The plans for calls with and without channels, and their work: half of the helicities are evaluated for massless
/// lines.
#[test]
fn what_serves_is_told() {
    let d = directory();
    let plans = |process: &str| {
        let ran = mebridge(d.path(), &["info", process, "--json"]);
        let json: Value = serde_json::from_str(ran.ok()).unwrap();
        json[0]["plans"].clone()
    };
    for (process, with, without) in [
        ("g g > t t~", "diagrams", "recursion"),
        ("g g > t t~ g", "recursion", "recursion"),
        ("u u~ > g g g", "recursion", "colour-ordered"),
        ("g g > g g g", "diagrams", "colour-ordered"),
        ("u u~ > e+ e- g g", "recursion", "colour-ordered"),
        ("u u~ > z z g", "diagrams", "recursion"),
    ] {
        let plans = plans(process);
        let (a, b) = (&plans["with_channels"], &plans["without_channels"]);
        assert_eq!(
            (&a["kind"], &b["kind"]),
            (&with.into(), &without.into()),
            "{process}"
        );
        let work = |plan: &Value| plan["multiply_adds"].as_u64().unwrap();
        assert!(work(b) > 0 && work(b) < work(a), "{process}");
    }
    let color = |plan: &Value| plan["color_multiply_adds"].as_u64().unwrap();
    let massless = plans("u u~ > g g g");
    let (all, half) = (
        color(&massless["with_channels"]),
        color(&massless["without_channels"]),
    );
    assert_eq!(all, 2 * half);
}

/// Puts the comment of this version of MG5aMC into a matrix element.
fn sign(matrix: &Path, version: &str) {
    let text = fs::read_to_string(matrix).unwrap();
    let comment = format!("C     Generated by MadGraph5_aMC@NLO v. {version}, 2024-11-29\n");
    fs::write(matrix, comment + &text).unwrap();
}

/// Removes everything except the comments of a matrix element.
fn empty(matrix: &Path) {
    let text = fs::read_to_string(matrix).unwrap();
    let comments = text.lines().filter(|line| line.starts_with('C'));
    let comments: String = comments.map(|line| format!("{line}\n")).collect();
    fs::write(matrix, comments + "      END\n").unwrap();
}

/// Returns a table with the importer's messages as `#`, and these messages.
fn masked(table: &str) -> (String, Vec<&str>) {
    let mut reasons = Vec::new();
    let lines = table
        .lines()
        .map(|line| match line.split_once("refused: ") {
            Some((before, reason)) => {
                reasons.push(reason);
                format!("{before}refused: #")
            }
            None => line.to_owned(),
        });
    let text = lines.collect::<Vec<_>>().join("\n");
    (text, reasons)
}

#[test]
fn what_wrote_a_directory() {
    let d = directory();
    copy(&gg_ttx().join("../.."), d.path());
    let p = d.path().join("SubProcesses/P1_gg_ttx");
    let info = || mebridge(d.path(), &["info", "SubProcesses/P1_gg_ttx"]);
    let line = |text: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with("output "));
        lines.next().map(str::to_owned)
    };
    assert_eq!(line(info().ok()).unwrap(), "output             madevent");
    assert_eq!(line(SCALARS), None);
    sign(&p.join("matrix1.f"), "3.5.7");
    fs::write(p.join("CPPProcess.cc"), "").unwrap();
    assert_eq!(
        line(info().ok()).unwrap(),
        "output             madevent with CUDACPP of MG5aMC 3.5.7"
    );
    let arguments = ["info", "SubProcesses/P1_gg_ttx", "--json"];
    let json: Value = serde_json::from_str(mebridge(d.path(), &arguments).ok()).unwrap();
    assert_eq!(json[0]["kind"], "madevent with CUDACPP");
    assert_eq!(json[0]["mg5amc"], "3.5.7");
    // Also for refused matrix elements.
    empty(&p.join("matrix1.f"));
    let ran = info();
    let message = ran.failed(1);
    let first =
        "mebridge: SubProcesses/P1_gg_ttx: madevent with CUDACPP of MG5aMC 3.5.7\nmebridge: ";
    assert!(message.starts_with(first), "{message}");
    assert!(message.contains("P1_gg_ttx/matrix1.f"), "{message}");
}

#[test]
fn a_table_of_an_output() {
    let d = directory();
    two_matrix_elements(d.path());
    let folder = d.path().join("SubProcesses");
    for name in ["P2_gg_ttx", "P10_gg_ttx"] {
        copy(&gg_ttx(), &folder.join(name));
        sign(&folder.join(name).join("matrix1.f"), "2.9.4");
    }
    empty(&folder.join("P10_gg_ttx/matrix1.f"));
    // Directories other than P directories are ignored.
    fs::create_dir(folder.join("Pictures")).unwrap();
    let ran = mebridge(d.path(), &["info", "SubProcesses"]);
    let (table, reason) = ran.ok().rsplit_once("\n\n").unwrap();
    let (table, shortly) = masked(table);
    assert_eq!(
        table,
        "\
in SubProcesses

directory    process                    kind      MG5aMC  legs  diagrams  colour flows  helicities  state
P1_gg_ttx#1  g g > t t~ WEIGHTED<=2 @1  madevent  -          4         3             2          16  ok
P1_gg_ttx#2  g g > t t~ WEIGHTED<=2 @2  madevent  -          4         3             2          16  ok
P2_gg_ttx    g g > t t~ WEIGHTED<=2 @1  madevent  2.9.4      4         3             2          16  ok
P10_gg_ttx   g g > t t~ WEIGHTED<=2 @1  madevent  2.9.4      -         -             -           -  refused: #

3 of 4 matrix elements can be evaluated"
    );
    assert!(shortly[0].starts_with("matrix1.f"), "{shortly:?}");
    assert!(
        reason.starts_with("SubProcesses/P10_gg_ttx/matrix1.f"),
        "{reason}"
    );
    // The output itself, under a name.
    let output = d.path().file_name().unwrap().to_str().unwrap();
    let whole = mebridge(&d.path().join(".."), &["info", output]);
    let expected = ran
        .ok()
        .replace("SubProcesses", &format!("{output}/SubProcesses"));
    assert_eq!(whole.ok(), expected);
    let ran = mebridge(d.path(), &["info", "SubProcesses", "--json"]);
    let json: Value = serde_json::from_str(ran.ok()).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 4);
    assert_eq!(
        json[1],
        serde_json::json!({
            "directory": "SubProcesses/P1_gg_ttx",
            "element": 2,
            "process": "g g > t t~ WEIGHTED<=2 @2",
            "kind": "madevent",
            "mg5amc": null,
            "legs": 4,
            "diagrams": 3,
            "color_flows": 2,
            "helicities": 16,
            "refused": null,
        })
    );
    assert_eq!(json[3]["legs"], Value::Null);
    assert_eq!(json[3]["refused"], reason.trim_end());
    let ran = mebridge(d.path(), &["info", "SubProcesses", "--plan"]);
    assert!(
        ran.failed(2)
            .contains("--plan is for a single file or P directory")
    );
}

#[test]
fn a_table_of_several() {
    let d = directory();
    copy(&gg_ttx().join("../.."), &d.path().join("out"));
    let p = "out/SubProcesses/P1_gg_ttx";
    assert_eq!(
        mebridge(d.path(), &["info", "scalars.mebridge", p, "absent"]).ok(),
        "\
directory                   process                    kind      MG5aMC  legs  diagrams  colour flows  helicities  state
scalars.mebridge            phi phi > phi phi          -         -          4         3             1           1  ok
out/SubProcesses/P1_gg_ttx  g g > t t~ WEIGHTED<=2 @1  madevent  -          4         3             2          16  ok
absent                      -                          -         -          -         -             -           -  refused: absent: No such file or directory (os error 2)

2 of 3 matrix elements can be evaluated

absent: No such file or directory (os error 2)
"
    );
    // All are refused, which is not an error.
    empty(&d.path().join(p).join("matrix1.f"));
    let ran = mebridge(d.path(), &["info", "out"]);
    assert!(
        ran.ok()
            .contains("\n0 of 1 matrix elements can be evaluated\n"),
        "{}",
        ran.stdout
    );
    // Nothing exists there.
    let ran = mebridge(d.path(), &["info", "absent", "none"]);
    assert_eq!(
        ran.failed(1),
        "mebridge: absent: No such file or directory (os error 2)\n"
    );
    fs::create_dir(d.path().join("empty")).unwrap();
    let ran = mebridge(d.path(), &["info", "empty"]);
    assert!(ran.failed(1).contains("it has no matrix<i>.f"));
}
