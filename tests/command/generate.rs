//! `mebridge generate`, and process names in place of files.

use crate::common::gfortran;
use crate::support::{directory, gg_ttx, mebridge, mebridge_with};
use mebridge::process::Process;
use std::process::Command;

#[test]
fn a_process_becomes_a_file() {
    let d = directory();
    let ran = mebridge(
        d.path(),
        &["generate", "g g > t t~ g", "-o", "gg_ttxg.mebridge"],
    );
    let line = "gg_ttxg.mebridge: g g > t t~ g WEIGHTED<=3, 16 diagrams, 18 amplitudes, 6 colour flows, 32 helicities, ";
    assert!(ran.ok().starts_with(line), "{}", ran.stdout);
    let process = Process::read(d.path().join("gg_ttxg.mebridge")).unwrap();
    assert_eq!(
        process,
        mebridge::generate("g g > t t~ g").unwrap().remove(0)
    );
}

/// If no progress thread can be started, the work is done without progress.
#[test]
fn no_thread_is_no_matter() {
    let d = directory();
    let ran = mebridge_with(
        d.path(),
        &["generate", "g g > t t~", "-o", "gg_ttx.mebridge"],
        &[("RUST_MIN_STACK", "1125899906842624")],
    );
    assert!(ran.ok().starts_with("gg_ttx.mebridge: "), "{}", ran.stdout);
}

/// A label gives several files; the values of a card are in them.
#[test]
fn labels_and_cards() {
    let d = directory();
    let card = "BLOCK SMINPUTS\n 3 0.12\nBLOCK MASS\n 6 1.7e2\nDECAY 6 1.3\n";
    std::fs::write(d.path().join("card.dat"), card).unwrap();
    let arguments = [
        "generate",
        "p p > t t~",
        "-o",
        "tt.mebridge",
        "--card",
        "card.dat",
    ];
    let ran = mebridge(d.path(), &arguments);
    assert_eq!(ran.ok().lines().count(), 2);
    // The top quark is a propagator only for gluons: its width does not affect u u~.
    let cards: [(&str, &[f64]); 2] = [
        ("tt.1.mebridge", &[0.12, 170.0, 1.3]),
        ("tt.2.mebridge", &[0.12, 170.0]),
    ];
    for (file, card) in cards {
        let process = Process::read(d.path().join(file)).unwrap();
        assert_eq!(process.model.default_card(), card);
    }
    let missing = mebridge(
        d.path(),
        &[
            "generate",
            "e+ e- > z h",
            "-o",
            "zh.mebridge",
            "--card",
            "card.dat",
        ],
    );
    assert!(
        missing
            .failed(1)
            .contains("there is no entry 1 of block sminputs"),
        "{}",
        missing.stderr
    );
}

/// One of those that a label gives.
#[test]
fn a_number_names_one_of_several() {
    let d = directory();
    let ran = mebridge(
        d.path(),
        &["generate", "p p > t t~#2", "-o", "uux.mebridge"],
    );
    assert!(
        ran.ok().starts_with("uux.mebridge: u u~ > t t~"),
        "{}",
        ran.stdout
    );
    let ran = mebridge(
        d.path(),
        &["generate", "g g > t t~#2", "-o", "none.mebridge"],
    );
    assert!(ran.failed(1).contains("no number 2"), "{}", ran.stderr);
    assert!(!d.path().join("none.mebridge").exists());
}

/// The same numbers from a file and from the name.
#[test]
fn a_name_stands_for_a_file() {
    let d = directory();
    mebridge(d.path(), &["generate", "u u~ > t t~", "-o", "uux.mebridge"]).ok();
    let event =
        "500 0 0 500\n500 0 0 -500\n500 300 0 360.65357339141946\n500 -300 0 -360.65357339141946\n";
    std::fs::write(d.path().join("events.txt"), event).unwrap();
    let by_file = mebridge(d.path(), &["eval", "uux.mebridge", "events.txt"]);
    let by_name = mebridge(d.path(), &["eval", "p p > t t~#2", "events.txt"]);
    assert_eq!(by_name.ok(), by_file.ok());
    let table = mebridge(d.path(), &["info", "p p > t t~"]);
    assert!(
        table.ok().contains("u u~ > t t~ WEIGHTED<=2"),
        "{}",
        table.stdout
    );
    let by_switch = [("CUDACPP_RUNTIME_PROCESS", "u u~ > t t~")];
    let doctor = mebridge_with(
        d.path(),
        &["check", "u u~ > t t~", "-p", "8", "8", "1"],
        &by_switch,
    );
    assert_eq!(doctor.code, 0, "{}", doctor.stderr);
}

#[test]
fn bad_input_is_told() {
    let d = directory();
    for (process, says) in [
        ("g g > t tx", "do you mean `t~`?"),
        ("u d > u u", "electric charge is not conserved"),
        ("g g > t t~, w+ > e+ ve", "put parentheses"),
        ("nonsense", "there is no particle or label `nonsense`"),
        ("g g", "`>`"),
    ] {
        let ran = mebridge(d.path(), &["generate", process, "-o", "x.mebridge"]);
        assert!(ran.failed(1).contains(says), "{}", ran.stderr);
    }
    std::fs::write(d.path().join("events.txt"), "500 0 0 500\n").unwrap();
    let several = mebridge(d.path(), &["eval", "p p > t t~", "events.txt"]);
    assert!(
        several.failed(1).contains("#2: u u~ > t t~"),
        "{}",
        several.stderr
    );
}

/// Fortran of all processes of a label, with the values of a card; `mebridge compare` finds it equal.
#[test]
fn fortran_stands_alone() {
    let d = directory();
    let card = "BLOCK SMINPUTS\n 3 0.12\nBLOCK MASS\n 6 1.7e2\nDECAY 6 1.3\n";
    std::fs::write(d.path().join("card.dat"), card).unwrap();
    let write = [
        "generate",
        "p p > t t~",
        "--fortran",
        "tt",
        "--card",
        "card.dat",
    ];
    let ran = mebridge(d.path(), &write);
    let lines: Vec<&str> = ran.ok().lines().collect();
    assert_eq!(lines.len(), 2);
    let first = "tt/SubProcesses/P1_gg_ttx: g g > t t~ WEIGHTED<=2, 3 diagrams, 3 amplitudes, 2 colour flows, 16 helicities";
    assert_eq!(lines[0], first);
    assert!(
        mebridge(d.path(), &write)
            .failed(1)
            .contains("is not overwritten")
    );
    let large = ["generate", "g g > g g g g g g", "--fortran", "large"];
    let ran = mebridge(d.path(), &large);
    assert!(ran.failed(1).contains("without diagrams"), "{}", ran.stderr);
    assert!(!d.path().join("large").exists());
    let nothing = mebridge(d.path(), &["generate", "g g > t t~"]);
    assert!(
        nothing.failed(2).contains("--output <FILE>"),
        "{}",
        nothing.stderr
    );
    if !gfortran() {
        return;
    }
    for element in ["tt/SubProcesses/P1_gg_ttx", "tt/SubProcesses/P2_uux_ttx"] {
        let p = d.path().join(element);
        let made = Command::new("make")
            .args(["-s", "run"])
            .current_dir(&p)
            .output();
        let made = made.expect("make");
        let errors = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{errors}");
        let fortran = String::from_utf8(made.stdout).unwrap();
        let fortran: Vec<f64> = fortran
            .lines()
            .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
            .collect();
        let events = p.join("events.txt");
        let arguments = [
            "eval",
            element,
            events.to_str().unwrap(),
            "--alpha-s",
            "0.12",
        ];
        let ran = mebridge(d.path(), &arguments);
        let ours: Vec<f64> = ran.ok().lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!((ours.len(), fortran.len()), (4, 4));
        for (a, b) in ours.iter().zip(fortran) {
            assert!((a / b - 1.0).abs() < 1e-11, "{element}: {a} {b}");
        }
    }
    let ran = mebridge(d.path(), &["compare", "tt", "--points", "10", "--channels"]);
    assert_eq!(ran.ok().matches("  ok (").count(), 2, "{}", ran.stdout);
}

/// A library that carries a process, and what a sampler has to know beside it. (tests/c/umami.rs calls such libraries.)
#[test]
fn a_library_carries_a_process() {
    let d = directory();
    let library = std::env::current_exe().unwrap();
    let library = library.with_file_name("libmebridge.so");
    let library = library.to_str().unwrap();
    let umami = |arguments: &[&str]| {
        let all = [&["umami", "--library", library], arguments].concat();
        mebridge(d.path(), &all)
    };
    let ran = umami(&["p p > t t~", "-o", "tt.so"]);
    assert!(ran.ok().contains("tt.so: g g > t t~"), "{}", ran.stdout);
    let carried = std::fs::read(d.path().join("tt.so")).unwrap();
    let bare = std::fs::metadata(library).unwrap().len();
    assert!(carried.len() as u64 > bare);
    let json = std::fs::read_to_string(d.path().join("tt.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let entry = &json[0];
    assert_eq!(entry["me_path"], "tt.so");
    assert_eq!(entry["diagram_count"], 4);
    assert_eq!(entry["helicities"].as_array().unwrap().len(), 32);
    assert_eq!(entry["color_flows"].as_array().unwrap().len(), 4);
    let flavors = &entry["flavors"];
    assert_eq!(flavors[0]["mirror"], false);
    assert_eq!(flavors[1]["mirror"], true);
    assert_eq!(flavors[1]["options"].as_array().unwrap().len(), 4);
    let channels = entry["channels"].as_array().unwrap();
    assert_eq!(channels.len(), 4);
    assert_eq!(channels[3]["diagrams"][0]["diagram"], 3);
    assert_eq!(channels[3]["diagrams"][0]["active_flavors"][0], 1);
    // From the Fortran directory, to stdout, with a card.
    let p1 = gg_ttx();
    let ran = umami(&[p1.to_str().unwrap(), "-o", "p1.so", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(ran.ok()).unwrap();
    assert_eq!(json[0]["qcd_power"], 2);
    // A file that is not a library.
    let arguments = ["umami", "g g > t t~", "-o", "x.so", "--library", "tt.json"];
    let ran = mebridge(d.path(), &arguments);
    let message = ran.failed(1);
    assert!(message.contains("no library of mebridge"), "{message}");
    assert!(!d.path().join("x.so").exists());
}

/// Libraries for the real emissions of MadGraph7, from the manifest of a subprocess directory. (tests/c/umami.rs calls such
/// libraries as its bridge does.)
#[test]
#[expect(clippy::too_many_lines, reason = "a manifest and its libraries")]
fn libraries_carry_the_real_emissions_of_a_manifest() {
    let d = tempfile::tempdir().unwrap();
    let library = std::env::current_exe().unwrap();
    let library = library.with_file_name("libmebridge.so");
    let p = d.path().join("P0_gg_ttx");
    std::fs::create_dir(&p).unwrap();
    std::fs::create_dir(d.path().join("lib")).unwrap();
    let nexternal = "      INTEGER NINCOMING\n      PARAMETER (NINCOMING=2)\n";
    std::fs::write(p.join("nexternal.inc"), nexternal).unwrap();
    let row = |row: usize, real: u32, flavor: usize, pdgs: [i32; 5]| {
        serde_json::json!({
            "fks_row": row, "topology": 1, "real_me_id": real, "fortran_flavour_index": flavor + 1,
            "madmatrix_flavour_index": flavor, "pdgs": pdgs, "local_to_global": [1],
        })
    };
    let real = |id: u32, flavors: &[[i32; 5]], orders: &[[u32; 2]]| {
        serde_json::json!({
            "id": id, "library_process_id": format!("PMM_B1_R{id}"), "local_flavours": flavors,
            "local_squared_orders": orders, "process_fingerprint": format!("of {id}"),
            "backend_capabilities": {"scalar": true},
        })
    };
    let first = [[21, 21, 6, -6, 21]];
    let quarks = [[1, -1, 6, -6, 21], [2, -2, 6, -6, 21]];
    let four_quarks = [[-1, 2, 24, 1, -1], [-1, 4, 24, 3, -1]];
    let reals = [
        real(1, &first, &[[6, 0]]),
        real(2, &quarks, &[[6, 0], [4, 2]]),
        real(3, &four_quarks, &[[4, 2], [2, 4], [0, 6]]),
    ];
    let manifest = |reals: &[serde_json::Value], rows: &[serde_json::Value]| {
        serde_json::json!({
            "version": 1, "process_id": "P0_gg_ttx", "nexternal": 5, "split_order_names": ["QCD", "QED"],
            "global_squared_orders": [[6, 0], [4, 2], [2, 4], [0, 6]],
            "real_matrix_elements": reals, "fks_rows": rows,
        })
        .to_string()
    };
    // Not every flavour has a row.
    let rows = [
        row(1, 1, 0, first[0]),
        row(2, 2, 1, quarks[1]),
        row(3, 3, 1, four_quarks[1]),
    ];
    let path = p.join("nlo_real_manifest.json");
    let umami = |name: &str| {
        let library = library.to_str().unwrap();
        let all = [
            "umami",
            "--library",
            library,
            "--nlo",
            name,
            "P0_gg_ttx",
            "-o",
            "lib",
        ];
        mebridge(d.path(), &all)
    };
    let short = serde_json::json!({
        "id": 1, "library_process_id": "a", "local_flavours": [[21, 21]], "local_squared_orders": [[6, 0]],
        "process_fingerprint": "",
    });
    for (reals, rows, expected) in [
        (
            &reals[..],
            &[row(1, 2, 0, quarks[1])][..],
            "a row has the PDG codes [2, -2, 6, -6, 21], and flavour 0 of its real emission 2 has",
        ),
        (
            &[short],
            &[],
            "flavour 0 of real emission 1 has 2 PDG codes instead of 5",
        ),
        (
            &[real(1, &first, &[[4, 2]])],
            &[],
            "all squared orders of flavour 0 of real emission 1, [21, 21, 6, -6, 21], vanish",
        ),
    ] {
        std::fs::write(&path, manifest(reals, rows)).unwrap();
        let ran = umami("scalar");
        let message = ran.failed(1);
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(std::fs::read_dir(d.path().join("lib")).unwrap().count(), 0);
    std::fs::write(&path, manifest(&reals, &rows)).unwrap();
    assert!(umami("../x").failed(1).contains("no name of a file"));
    umami("scalar").ok();
    let names = |file: &str| -> Vec<String> {
        let path = d.path().join("lib").join(file);
        let carried = mebridge_capi::umami::attached::attached_to(&path).unwrap();
        carried.into_iter().map(|process| process.name).collect()
    };
    let first = names("libmadmatrix_PMM_B1_R1_scalar.so");
    assert!(
        first.len() == 1 && first[0].starts_with("g g > t t~ g"),
        "{first:?}"
    );
    let second = names("libmadmatrix_PMM_B1_R2_scalar.so");
    let begins = |text: &str, from: &str| text.starts_with(from);
    assert_eq!(second.len(), 4, "{second:?}");
    assert!(
        second[..2].iter().all(|text| begins(text, "d d~ > t t~ g")),
        "{second:?}"
    );
    assert!(
        second[2..].iter().all(|text| begins(text, "u u~ > t t~ g")),
        "{second:?}"
    );
    // The top quarks are stable, so that the width is in no propagator.
    let of_second = |file: &str| {
        let path = d.path().join("lib").join(file);
        let carried = mebridge_capi::umami::attached::attached_to(&path).unwrap();
        let process = carried.into_iter().last().unwrap();
        process.model.card_parameter("MDL_WT").is_some()
    };
    assert!(!of_second("libmadmatrix_PMM_B1_R2_scalar.so"));
    // The interference of a gluon and a W vanishes by colour, unless two quarks have one flavour.
    let third = names("libmadmatrix_PMM_B1_R3_scalar.so");
    let orders: Vec<&str> = third
        .iter()
        .map(|name| name.split_once(" QCD").unwrap().1)
        .collect();
    assert_eq!(
        orders,
        [
            "^2==4 QED^2==2",
            "^2==2 QED^2==4",
            "^2==0 QED^2==6",
            "^2==4 QED^2==2",
            "^2==0 QED^2==6"
        ],
        "{third:?}"
    );
    let text = manifest(&reals, &rows);
    std::fs::write(&path, text.replace("\"version\":1", "\"version\":2")).unwrap();
    assert!(umami("scalar").failed(1).contains("version 2"));
}
