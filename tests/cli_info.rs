//! `mebridge info`.

mod command;

use command::{directory, mebridge};
use serde_json::Value;

const HELP: &str = "\
Show what a process holds: legs, diagrams, colour flows, helicities, couplings, operations

Usage: mebridge info [OPTIONS] <FILE|DIR>

Arguments:
  <FILE|DIR>  Process file, or P* directory of an MG5aMC output (all its matrix elements; #N behind
              it for the N-th)

Options:
      --card <CARD>  Parameter card to take values from [default: that of the output, or those in
                     the file]
      --g <G>        Strong coupling g_s at which couplings are evaluated [default:
                     1.2177157847767195]
      --plan         Show what each pass of the plan compiler saves
      --json         Print JSON instead of text: a list with one object for each matrix element
  -h, --help         Print help
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
  numbers in memory                       66               66
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
