//! `mebridge plot`: what is written where, and what is refused.

use crate::support::mebridge;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::Path;

/// A file with two events of a photon each, of these transverse momenta, GeV.
fn events(path: &Path, transverse: [f64; 2]) {
    let mut text = "<LesHouchesEvents version=\"3.0\">\n<init>\n2212 2212 6500. 6500. 0 0 1 1 -4 1\n3. 0.5 3. 1\n</init>\n"
        .to_owned();
    for pt in transverse {
        text += &format!(
            "<event>\n 2 1 3. 91. 0.0075 0.118\n 21 -1 0 0 1 2 0. 0. 9. 9. 0. 0. 9.\n 22 1 1 1 0 0 {pt} 0. 0. {pt} 0. 0. 9.\n\
             <rwgt>\n<wgt id='1001'> 6. </wgt>\n</rwgt>\n</event>\n"
        );
    }
    text += "</LesHouchesEvents>\n";
    let mut packed = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap();
}

#[test]
fn pages_and_histograms() {
    let d = tempfile::tempdir().unwrap();
    events(&d.path().join("a.lhe.gz"), [1.0, 5.0]);
    events(&d.path().join("b.lhe.gz"), [2.0, 12.0]);
    let both = ["plot", "a.lhe.gz", "b.lhe.gz"];
    let run = |more: &[&str]| mebridge(d.path(), &[&both, more].concat());
    let lines = "a.lhe.gz: 2 events, 3 +- 0.5 pb\nb.lhe.gz: 2 events, 3 +- 0.5 pb\n";
    assert_eq!(run(&[]).ok(), format!("{lines}spectra.html\n"));
    let page = fs::read_to_string(d.path().join("spectra.html")).unwrap();
    assert!(page.contains("<li>") && page.contains("χ²") && page.ends_with("</html>\n"));
    fs::remove_file(d.path().join("spectra.html")).unwrap();
    // Data alone, unless a page is named.
    let ran = run(&["--json", "--weight", "nominal", "--weight", "1001"]);
    let found: serde_json::Value = serde_json::from_str(ran.ok()).unwrap();
    let numbers: Vec<_> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|of| &of["cross_section"])
        .collect();
    assert_eq!(numbers, [3.0, 6.0, 3.0, 6.0]);
    assert_eq!(found[0]["spectra"][0]["edges"][12], 12.0);
    let ran = run(&["--yoda", "y", "-o", "p.html"]);
    assert_eq!(ran.ok(), format!("{lines}p.html\ny/a.yoda\ny/b.yoda\n"));
    let yoda = fs::read_to_string(d.path().join("y/a.yoda")).unwrap();
    assert!(
        yoda.starts_with("BEGIN YODA_HISTO1D_V2 /mebridge/pt_22\n"),
        "{yoda}"
    );
    assert_eq!(fs::read_dir(d.path()).unwrap().count(), 4);
}

#[test]
fn what_is_refused() {
    let d = tempfile::tempdir().unwrap();
    events(&d.path().join("a.lhe.gz"), [1.0, 5.0]);
    fs::write(d.path().join("none.lhe"), "hello").unwrap();
    for (arguments, code, said) in [
        (
            &["a.lhe.gz", "-o", "a.lhe.gz"][..],
            2,
            "is an input of this run, which would be lost",
        ),
        (&["none.lhe"], 1, "none.lhe: this is no event file"),
        (&["missing.lhe"], 1, "missing.lhe"),
        (
            &["a.lhe.gz", "--weight", "7"],
            1,
            "has no weight '7'; there are nominal, 1001",
        ),
        (&[], 2, "EVENTS"),
    ] {
        let ran = mebridge(d.path(), &[&["plot"], arguments].concat());
        assert!(
            ran.failed(code).contains(said),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    // What was read stays.
    assert!(
        mebridge(d.path(), &["plot", "a.lhe.gz", "--json"])
            .ok()
            .contains("pt")
    );
    assert_eq!(fs::read_dir(d.path()).unwrap().count(), 2);
}
