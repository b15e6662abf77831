use super::*;
use crate::merge::open_written;
use std::fs;

/// An event: its weight, further weights by name, and PDG codes and transverse momenta of outgoing particles.
type Given<'a> = (f64, &'a [(&'a str, f64)], &'a [(i32, f64)]);

/// Writes an event file whose `<init>` has this line of a process.
fn write(path: &Path, process: &str, events: &[Given]) -> PathBuf {
    let count = usize::from(!process.is_empty());
    let mut text = format!(
        "<LesHouchesEvents version=\"3.0\">\n<init>\n2212 2212 6500. 6500. 0 0 1 1 -4 {count}\n{process}\n</init>\n"
    );
    for (weight, named, particles) in events {
        text += &format!(
            "<event>\n{} 1 {weight} 91. 0.0075 0.118\n",
            particles.len() + 1
        );
        text += "21 -1 0 0 501 502 0. 0. 100. 100. 0. 0. 9.\n";
        for (pdg, pt) in *particles {
            text += &format!("{pdg} 1 1 1 0 0 {pt} 0. 0. {pt} 0. 0. 9.\n");
        }
        let named: String = named
            .iter()
            .map(|(name, weight)| format!("<wgt id='{name}'>{weight}</wgt>\n"))
            .collect();
        text += &format!("<rwgt>\n{named}</rwgt>\n</event>\n");
    }
    fs::write(path, text + "</LesHouchesEvents>\n").unwrap();
    path.to_owned()
}

const PROCESS: &str = "8.0 0.4 1.0 1";

fn read(files: &[PathBuf], weights: &[&str], shapes: bool) -> Result<Plot> {
    let weights: Vec<String> = weights.iter().map(|name| (*name).to_owned()).collect();
    Plot::read(files, &weights, shapes, &open_written)
}

/// Weights whose average is not the cross section, as with event_norm = unity; one is negative.
#[test]
fn weights_add_up_to_the_cross_section() {
    let folder = tempfile::tempdir().unwrap();
    let events: &[Given] = &[
        (1.0, &[("a", 3.0)], &[(22, 1.0), (11, 5.0)]),
        (1.0, &[("a", 3.0)], &[(22, 1.0), (11, 5.0)]),
        (-1.0, &[("a", -1.0)], &[(22, 11.9), (11, 5.0)]),
        (1.0, &[("a", 1.0)], &[(22, 11.9), (11, 5.0)]),
    ];
    let file = write(&folder.path().join("one.lhe"), PROCESS, events);
    let plot = read(&[file], &[NOMINAL, "a"], false).unwrap();
    let json = plot.json();
    let photons = |sample: usize| {
        let spectra = json[sample]["spectra"].as_array().unwrap();
        let photons = |of: &&Value| of["pdg"] == 22 && of["observable"] == "pt";
        spectra.iter().find(photons).unwrap()
    };
    let numbers = |sample: usize, name: &str| -> Vec<f64> {
        serde_json::from_value(photons(sample)[name].clone()).unwrap()
    };
    let edges = numbers(0, "edges");
    assert_eq!((edges.len(), edges[0], edges[12]), (13, 0.0, 12.0));
    // The sum of weights, 2, corresponds to 8 pb; that of the weights `a` is three times as large.
    assert_eq!(
        (&json[0]["cross_section"], &json[0]["error"]),
        (&json!(8.0), &json!(0.4))
    );
    assert_eq!(json[1]["cross_section"], json!(24.0));
    let (values, errors) = (numbers(0, "values"), numbers(0, "errors"));
    assert_eq!((values[1], values[11], values[0]), (8.0, 0.0, 0.0));
    let error = 4.0 * 2.0_f64.sqrt();
    assert_eq!((errors[1], errors[11], errors[0]), (error, error, 0.0));
    assert_eq!(
        (numbers(1, "values")[1], photons(1)["values_unit"].as_str()),
        (24.0, Some("pb/GeV"))
    );
    // The values of all particles of a kind add up to the cross section.
    assert_eq!(values.iter().sum::<f64>(), 8.0);
    let shapes = read(&[folder.path().join("one.lhe")], &["a"], true)
        .unwrap()
        .json();
    assert_eq!(shapes[0]["spectra"][0]["values_unit"], "1/GeV");
}

#[test]
fn files_have_common_bins_and_particles() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let one = write(
        &at("one.lhe"),
        PROCESS,
        &[(1.0, &[], &[(22, 1.0), (11, 5.0)])],
    );
    let two = write(
        &at("two.lhe"),
        PROCESS,
        &[(1.0, &[], &[(22, 30.0), (13, 5.0)])],
    );
    let three = write(&at("three.lhe"), PROCESS, &[(1.0, &[], &[(13, 5.0)])]);
    let plot = read(&[one.clone(), two.clone()], &[NOMINAL], false).unwrap();
    let json = plot.json();
    let edges = &json[0]["spectra"][0]["edges"];
    assert_eq!(
        (edges, &edges[12]),
        (&json[1]["spectra"][0]["edges"], &json!(30.0))
    );
    assert_eq!(
        json[0]["spectra"].as_array().unwrap().len(),
        2,
        "photons alone"
    );
    let notices = [(&one, "e- e+"), (&two, "mu- mu+")].map(|(file, kinds)| {
        format!(
            "{}: particles that not all files have are left out: {kinds}",
            file.display()
        )
    });
    assert_eq!(plot.notices, notices);
    let html = plot.html();
    assert!(html.contains("<h3>a</h3>") && html.contains("ratio"));
    let refused = read(&[one, three], &[NOMINAL], false)
        .unwrap_err()
        .to_string();
    assert!(
        refused.starts_with("plot: no kind of particles goes out of the events of all files"),
        "{refused}"
    );
    assert!(
        refused.contains("three.lhe has mu- mu+; name files of one process"),
        "{refused}"
    );
}

#[test]
fn what_files_lack_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.lhe");
    let refused = |process: &str, events: &[Given], weight: &str| {
        let written = write(&file, process, events);
        let error = read(&[written], &[weight], false).unwrap_err().to_string();
        error.split_once("x.lhe: ").unwrap().1.to_owned()
    };
    let photon: &[(i32, f64)] = &[(22, 1.0)];
    assert_eq!(refused(PROCESS, &[], NOMINAL), "there are no events in it");
    assert_eq!(
        refused(PROCESS, &[(1.0, &[], photon)], "a"),
        "event 1 (from 1; line 6) has no weight 'a'; there are none but the nominal one"
    );
    // The second event has no weight of that name.
    let some: &[Given] = &[(1.0, &[("a", 1.0)], photon), (1.0, &[("b", 1.0)], photon)];
    assert_eq!(
        refused(PROCESS, some, "a"),
        "event 2 (from 1; line 14) has no weight 'a'; there are nominal, a, b"
    );
    let one: &[Given] = &[(1.0, &[], photon)];
    let none =
        "<init> has no cross section, which spectra could add up to; compare shapes (--shapes)";
    assert_eq!(refused("", one, NOMINAL), none);
    assert!(read(&[write(&file, "", one)], &[NOMINAL], true).is_ok());
    let nothing: &[Given] = &[(1.0, &[], photon), (-1.0, &[], photon)];
    assert_eq!(
        refused(PROCESS, nothing, NOMINAL),
        "all weights 'nominal' together are 0.0"
    );
}

/// According to the description of the format (YODA_HISTO1D_V2), bins contain sums that are not divided by their
/// widths.
#[test]
fn yoda_reads_the_histograms() {
    let folder = tempfile::tempdir().unwrap();
    let events: &[Given] = &[
        (2.0, &[("mu R=2", 4.0)], &[(22, 0.5)]),
        (2.0, &[("mu R=2", 2.0)], &[(22, 11.5)]),
    ];
    fs::create_dir(folder.path().join("b")).unwrap();
    let files = ["a.lhe", "b/a.lhe"].map(|name| write(&folder.path().join(name), PROCESS, events));
    let plot = read(&files, &[NOMINAL, "mu R=2"], false).unwrap();
    let yoda = plot.yoda();
    let names: Vec<&str> = yoda.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, &yoda[0].1), (vec!["a", "a_2"], &yoda[1].1));
    let text = &yoda[0].1;
    let begins: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("BEGIN"))
        .collect();
    let paths = [
        "pt_22",
        "rapidity_22",
        "pt_22[mu_R=2]",
        "rapidity_22[mu_R=2]",
    ];
    let paths = paths.map(|path| format!("BEGIN YODA_HISTO1D_V2 /mebridge/{path}"));
    assert_eq!(begins, paths);
    let row = |text: &str, begin: &str| -> Vec<f64> {
        let line = text.lines().find(|line| line.starts_with(begin)).unwrap();
        line.split('\t')
            .filter_map(|word| word.parse().ok())
            .collect()
    };
    assert_eq!(
        row(text, "Total\tTotal"),
        [8.0, 32.0, 48.0, 4.0 * (0.25 + 132.25), 2.0]
    );
    assert_eq!(row(text, "0.0"), [0.0, 1.0, 4.0, 16.0, 2.0, 1.0, 1.0]);
    let second = text.split("BEGIN").nth(3).unwrap();
    assert_eq!(row(second, "0.0")[2..4], [8.0, 64.0]);
    // Two particles of one event are not independent, whether they are in one bin or in two.
    let pairs: &[Given] = &[
        (2.0, &[], &[(22, 0.5), (22, 11.5)]),
        (2.0, &[], &[(22, 0.5), (22, 0.5)]),
    ];
    let pairs = write(&folder.path().join("pairs.lhe"), PROCESS, pairs);
    let text = &read(&[pairs], &[NOMINAL], false).unwrap().yoda()[0].1;
    assert_eq!(row(text, "0.0")[2..4], [12.0, 16.0 + 64.0]);
    assert_eq!(row(text, "Total\tTotal")[..2], [16.0, 64.0 + 64.0]);
}
