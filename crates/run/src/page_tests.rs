use super::*;
use crate::summary::Rate;

const NAME: &str = "<run> & \"more\"";

/// A page about two matrix elements, with names and settings that HTML must escape.
fn page(rate: Rate, weights: Option<&str>) -> (String, String) {
    let processes = [("21 21 6 -6", (439.71, 1.2)), ("<2> -2 6 -6", (66.2, 0.3))];
    let processes: Vec<_> = processes.map(|(name, of)| (name.to_owned(), of)).into();
    let summary = Summary {
        name: NAME,
        events: 300,
        rate,
        processes: &processes,
        all: (505.91, 1.3),
        points: [1024.0, 1001.0, 300.0],
        overweights: Some("2 events < others".to_owned()),
        biased: None,
        cut: Some(("mine<T>", 800, 100)),
    };
    let settings = RunSettings {
        process: vec!["generate p p > t t~".to_owned()],
        conditions: vec![
            "alpha_s = 0.118 at 91.188 GeV (a<b); scale = ht/2; cuts: ptj = 20".to_owned(),
        ],
        entries: vec![["ptj", "30.0", "20.0"].map(str::to_owned)],
        beams: InitBeams {
            codes: [2212, 0],
            energies: [6500.0, 0.0],
            densities: [247_000, 0],
        },
        seed: 7,
        backend: "cpu".to_owned(),
        threads: 2,
        weights: vec!["MUR=0.5 <x>".to_owned()],
        seconds: [0.25, 1.0, 2.0],
    };
    let spectra = Spectra::from_rounds(&[]).unwrap();
    (html(&summary, &spectra, &settings, weights), summary.text())
}

#[test]
fn numbers_are_those_of_the_summary() {
    let (html, text) = page(Rate::CrossSection, Some("card <1> 2.5"));
    for row in [
        "21 21 6 -6   439.71 +- 1.2",
        "<2> -2 6 -6  66.2 +- 0.3",
        "all          505.91 +- 1.3",
    ] {
        assert!(text.contains(row), "{text}");
        let (name, numbers) = row.split_once("  ").unwrap();
        let (value, error) = numbers.trim().split_once(" +- ").unwrap();
        let cells = format!(
            "<td class=\"text\">{}</td><td>{value}</td><td>{error}</td>",
            escaped(name.trim())
        );
        assert!(html.contains(&cells), "{cells}: {html}");
    }
    let lines = text.rsplit("\n\n").next().unwrap();
    assert_eq!(lines.lines().count(), 3);
    for line in lines.lines() {
        assert!(
            html.contains(&format!("<p>{}</p>", escaped(line))),
            "{line}"
        );
    }
    for shown in [
        "<title>&lt;run&gt; &amp; &quot;more&quot;</title>",
        "generate p p &gt; t t~",
        "<li>alpha_s = 0.118 at 91.188 GeV (a&lt;b)</li>\n<li>scale = ht/2</li>\n<li>cuts: ptj = 20</li>",
        "<td class=\"text\">ptj</td><td class=\"text\">30.0</td><td class=\"text\">20.0</td>",
        "<tbody>\n<tr><td class=\"text\">2212</td><td class=\"text\">6500</td><td class=\"text\">247000</td></tr>\n</tbody>",
        "<h2>Settings</h2>",
        "Seed 7; cpu, threads: 2;",
        "MUR=0.5 &lt;x&gt;",
        "<pre>card &lt;1&gt; 2.5</pre>",
        "Start 0.2 s, survey 1.0 s, events 2.0 s.",
    ] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert!(
        !html.contains("<svg") && !html.contains("http:") || html.matches("http:").count() == 1
    );
}

#[test]
fn widths_are_in_gev() {
    let (html, _) = page(Rate::PartialWidth, None);
    assert!(
        html.contains("Γ = 505.91 ± 1.3 GeV") && html.contains("partial width, GeV"),
        "{html}"
    );
    assert!(!html.contains("Other parameter cards"));
}

#[test]
fn entries_that_are_defaults_are_left_out() {
    let given = [("ptj", "20.0"), ("lpp1", "0"), ("pdlabel", "'LHAPDF'")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let card = RunCard::from_entries(given.into(), "run_card.dat", &[]).unwrap();
    let found = changed_entries(&card);
    let names: Vec<&str> = found.iter().map(|[name, ..]| name.as_str()).collect();
    assert_eq!(names, ["lpp1", "pdlabel", "pdlabel1", "pdlabel2"]);
    assert_eq!(found[0], ["lpp1", "0", "1"]);
}
