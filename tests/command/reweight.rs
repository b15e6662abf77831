//! `mebridge reweight`: weights compared with the definition of the process, and bytes that stay unchanged.

use crate::support::{gg_ttx, mebridge};
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mebridge::import::import_directory;
use mebridge::process::Process;
use mebridge::process::card::Card;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A particle: PDG code, status, mothers, (E, px, py, pz), helicity.
type Particle = (i32, i32, (i32, i32), [f64; 4], f64);

/// An event of an LHE file.
fn event(particles: &[Particle], weight: f64, alpha_s: f64, more: &str) -> String {
    let mut text = format!(
        "<event>\n {} 1 {weight:+.7e} 9.1e+01 7.5e-03 {alpha_s:+.8e}\n",
        particles.len()
    );
    for (pdg, status, (a, b), [e, x, y, z], helicity) in particles {
        let _ = writeln!(
            text,
            " {pdg} {status} {a} {b} 501 502 {x:+.17e} {y:+.17e} {z:+.17e} {e:.17e} 0.0e+00 0.0e+00 {helicity:.4e}"
        );
    }
    text + more + "</event>\n"
}

fn header(card: &str) -> String {
    format!(
        "<LesHouchesEvents version=\"3.0\">\n<header>\n<!--\n<event>\n-->\n<slha>\n{card}</slha>\n</header>\n<init>\n</init>\n"
    )
}

/// Returns two particles of equal mass in the centre of mass, and the same boosted along z.
fn two_bodies(
    energy: f64,
    mass: f64,
    cosine: f64,
    rapidity: f64,
) -> ([[f64; 4]; 4], [[f64; 4]; 4]) {
    let e = energy / 2.0;
    let p = (e * e - mass * mass).sqrt();
    let (x, z) = (p * (1.0 - cosine * cosine).sqrt(), p * cosine);
    let rest = [
        [e, 0.0, 0.0, e],
        [e, 0.0, 0.0, -e],
        [e, 0.6 * x, 0.8 * x, z],
        [e, -0.6 * x, -0.8 * x, -z],
    ];
    let (c, s) = (rapidity.cosh(), rapidity.sinh());
    let boost = |[e, x, y, z]: [f64; 4]| [c * e + s * z, x, y, s * e + c * z];
    (rest, rest.map(boost))
}

/// Returns |M|^2 from the definition of a process, for all helicities or one row.
fn plain(
    process: &Process,
    card: &Path,
    momenta: &[[f64; 4]; 4],
    alpha_s: f64,
    row: Option<&[i8]>,
) -> f64 {
    let mut process = process.clone();
    if let Some(row) = row {
        process.helicities = vec![row.to_vec()];
    }
    let values = process
        .model
        .card_values(&Card::read(card).unwrap())
        .unwrap();
    let g = (4.0 * std::f64::consts::PI * alpha_s).sqrt();
    process
        .evaluate(momenta, g, &values)
        .contributions
        .iter()
        .sum()
}

/// Returns the weights of a name in a file, event by event.
fn weights(text: &str, name: &str) -> Vec<f64> {
    let tag = format!("<wgt id='{name}'>");
    let found = text.lines().filter_map(|line| line.strip_prefix(&tag));
    found
        .map(|rest| rest.trim_end_matches("</wgt>").trim().parse().unwrap())
        .collect()
}

/// Returns a file without the additions.
fn without(text: &str, names: &[&str]) -> String {
    let ours = |line: &str| {
        names.iter().any(|n| line.contains(&format!("id='{n}'")))
            || line.starts_with("set param_card")
            || line == "</weight>"
    };
    text.split_inclusive('\n')
        .filter(|line| !ours(line.trim_end_matches('\n')))
        .collect()
}

#[track_caller]
fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a / b - 1.0).abs() < 1e-11, "{a} {b}");
    }
}

/// Files of one test: the card of gg_ttx, one with another width and mass, and events.
struct Files {
    directory: tempfile::TempDir,
    old: PathBuf,
}

impl Files {
    fn new() -> Files {
        let directory = tempfile::tempdir().unwrap();
        let old = gg_ttx().join("../../Cards/param_card.dat");
        Files { directory, old }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn card(&self, name: &str, from: &str, to: &str) -> PathBuf {
        let text = fs::read_to_string(&self.old).unwrap();
        let new = text.replace(from, to);
        assert_ne!(text, new);
        fs::write(self.path(name), new).unwrap();
        self.path(name)
    }
}

fn tops(n: usize, helicities: [f64; 4]) -> ([[f64; 4]; 4], String, f64) {
    let alpha_s = 0.12 - 0.003 * n as f64;
    let (rest, lab) = two_bodies(
        420.0 + 70.0 * n as f64,
        173.0,
        0.9 - 0.35 * n as f64,
        0.4 * n as f64,
    );
    let codes = [21, 21, 6, -6];
    let particles: Vec<Particle> = (0..4)
        .map(|i| {
            let status = if i < 2 { -1 } else { 1 };
            (codes[i], status, (1, 2), lab[i], helicities[i])
        })
        .collect();
    let more = match n % 3 {
        0 => "# a comment\n<rwgt>\n<wgt id='1001'> +1.0e+00 </wgt>\n</rwgt>\n",
        1 => "<mgrwgt>\n<rscale>  2 0.9E+02</rscale>\n</mgrwgt>\n",
        _ => "",
    };
    (
        rest,
        event(&particles, 0.5 + n as f64, alpha_s, more),
        alpha_s,
    )
}

/// Applied again to the result: numbering continues, existing weights stay.
fn numbering_continues(files: &Files, p: &str) {
    let name = files.path("events_rwgt.lhe.gz").display().to_string();
    let arguments = [
        "reweight",
        &name,
        p,
        "--card",
        "wide.dat",
        "-o",
        "again.lhe",
    ];
    mebridge(files.directory.path(), &arguments).ok();
    let again = fs::read_to_string(files.path("again.lhe")).unwrap();
    assert_eq!(again.matches("<rwgt>").count(), 5);
    assert_eq!(again.matches("<initrwgt>").count(), 1);
    assert_eq!(weights(&again, "rwgt_3"), weights(&again, "rwgt_3"));
    assert_eq!(weights(&again, "rwgt_3").len(), 5);
    let ran = mebridge(
        files.directory.path(),
        &[
            "reweight",
            "again.lhe",
            p,
            "--card",
            "wide.dat",
            "--name",
            "rwgt_2",
        ],
    );
    assert!(
        ran.failed(1).contains("a weight 'rwgt_2' already"),
        "{}",
        ran.stderr
    );
}

#[test]
fn weights_are_ratios_and_nothing_else_changes() {
    let files = Files::new();
    let process = import_directory(&gg_ttx()).unwrap().remove(0);
    let rows = [
        [-1.0, 1.0, -1.0, 1.0],
        [1.0, 1.0, 1.0, 1.0],
        [9.0, 9.0, 9.0, 9.0],
    ];
    let mut text = header(&fs::read_to_string(&files.old).unwrap());
    let mut events = Vec::new();
    for n in 0..5 {
        let helicities = rows[n % rows.len()];
        let (momenta, lines, alpha_s) = tops(n, helicities);
        text += &lines;
        let row = helicities.map(|h| h as i8);
        events.push((momenta, alpha_s, (helicities[0] != 9.0).then_some(row)));
    }
    text += "</LesHouchesEvents>\n<!-- behind the end -->\n";
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    fs::write(files.path("events.lhe.gz"), packed.finish().unwrap()).unwrap();
    // alpha_s of the card is not that of the events.
    let wide = files.card("wide.dat", "1.491500e+00", "9.5e+00");
    let strong = files.card("strong.dat", "1.180000e-01", "1.300000e-01");
    let p = gg_ttx().display().to_string();
    let p = p.as_str();
    for (how, threads) in [("event", "1"), ("sum", "2")] {
        let ran = mebridge(
            files.directory.path(),
            &[
                "reweight",
                "events.lhe.gz",
                p,
                "--card",
                "wide.dat",
                "--card",
                "strong.dat",
                "--helicity",
                how,
                "--threads",
                threads,
            ],
        );
        assert!(ran.stdout.contains("5 events"), "{}", ran.stdout);
        // alpha_s is that of the events.
        let only = "mebridge: strong.dat: no weight of 'rwgt_2' is another";
        assert!(ran.stderr.starts_with(only), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        let mut written = String::new();
        let bytes = fs::read(files.path("events_rwgt.lhe.gz")).unwrap();
        GzDecoder::new(&bytes[..])
            .read_to_string(&mut written)
            .unwrap();
        let expected: Vec<f64> = events
            .iter()
            .enumerate()
            .map(|(n, (momenta, alpha_s, row))| {
                let row = row.as_ref().filter(|_| how == "event").map(|r| &r[..]);
                let of = |card: &Path| plain(&process, card, momenta, *alpha_s, row);
                (0.5 + n as f64) * of(&wide) / of(&files.old)
            })
            .collect();
        close(&weights(&written, "rwgt_1"), &expected);
        assert!(
            expected
                .iter()
                .zip(0..)
                .any(|(w, n)| (w / (0.5 + f64::from(n)) - 1.0).abs() > 1e-5)
        );
        let same: Vec<f64> = (0..5).map(|n| 0.5 + f64::from(n)).collect();
        close(&weights(&written, "rwgt_2"), &same);
        assert!(
            written
                .contains("<weight id='rwgt_1'>set param_card decay 6 9.5 # orig: 1.4915</weight>")
        );
        let _ = strong;
        // What is left without the weights is the file as it was, but for lists that there were none of.
        let left = without(&written, &["rwgt_1", "rwgt_2"]);
        let empty = [
            "<initrwgt>\n<weightgroup name='mg_reweighting' weight_name_strategy='includeIdInWeightName'>\n</weightgroup>\n</initrwgt>\n",
            "<rwgt>\n</rwgt>\n",
        ];
        let left = empty
            .iter()
            .fold(left, |left, empty| left.replace(empty, ""));
        assert_eq!(left, text);
    }
    numbering_continues(&files, p);
}

#[test]
fn other_masses_of_legs_are_off_shell() {
    let files = Files::new();
    let process = import_directory(&gg_ttx()).unwrap().remove(0);
    let mut text = header(&fs::read_to_string(&files.old).unwrap());
    let mut events = Vec::new();
    for n in 0..4 {
        let (momenta, lines, alpha_s) = tops(n, [1.0, -1.0, 1.0, -1.0]);
        text += &lines;
        events.push((momenta, alpha_s));
    }
    text += "</LesHouchesEvents>\n";
    fs::write(files.path("events.lhe"), text).unwrap();
    let heavy = files.card("heavy.dat", "1.730000e+02", "1.800000e+02");
    let p = gg_ttx().display().to_string();
    let mut arguments = vec![
        "reweight",
        "events.lhe",
        &p,
        "--card",
        "heavy.dat",
        "--name",
        "heavy",
    ];
    let refused = mebridge(files.directory.path(), &arguments);
    let message = refused.failed(1);
    assert!(
        message.contains("leg 3 (PDG 6) the mass 180, the events have it with 173"),
        "{message}"
    );
    assert!(!files.path("events_rwgt.lhe").exists());
    arguments.push("--off-shell");
    mebridge(files.directory.path(), &arguments).ok();
    let written = fs::read_to_string(files.path("events_rwgt.lhe")).unwrap();
    let expected: Vec<f64> = events
        .iter()
        .enumerate()
        .map(|(n, (momenta, alpha_s))| {
            let of = |card: &Path| plain(&process, card, momenta, *alpha_s, Some(&[1, -1, 1, -1]));
            (0.5 + n as f64) * of(&heavy) / of(&files.old)
        })
        .collect();
    close(&weights(&written, "heavy"), &expected);
}

/// Events u d~ > w+ with the beams in either direction, below a header with a card.
fn bosons_at_rest(card: &str, mass: f64) -> String {
    let mut text = header(card);
    for n in 0..8 {
        let exchanged = n % 2 == 1;
        let x = 1.3f64 + 0.1 * f64::from(n);
        let (up, down) = (mass / 2.0 * x, mass / 2.0 / x);
        let sign = if exchanged { -1.0 } else { 1.0 };
        // Ten digits behind the point, as a file has them.
        let short = |x: f64| format!("{x:.10e}").parse::<f64>().unwrap();
        let (up, down) = (short(up), short(down));
        let w = [short(up + down), 0.0, 0.0, short(sign * (up - down))];
        let quarks = [[up, 0.0, 0.0, sign * up], [down, 0.0, 0.0, -sign * down]];
        text += &event(
            &[
                (2, -1, (0, 0), quarks[0], -1.0),
                (-1, -1, (0, 0), quarks[1], 1.0),
                (24, 1, (1, 2), w, -sign),
            ],
            1.0,
            0.12,
            "",
        );
    }
    text += "</LesHouchesEvents>\n";
    text
}

/// u d~ > w+ with the beams in either direction: the W is at rest where it is evaluated, but for what the digits of the
/// file leave of its momentum along z, of either sign. Its helicity there is that along z.
#[test]
fn a_particle_at_rest_has_no_direction() {
    let files = Files::new();
    let process = mebridge::generate("u d~ > w+").unwrap().remove(0);
    let process_file = files.path("w.mebridge");
    process.write(&process_file).unwrap();
    let card = |name: &str, value: f64| {
        let mut text = String::new();
        for parameter in &process.model.card {
            let value = match parameter.name.ends_with(name) {
                true => value,
                false => parameter.default,
            };
            let (block, index) = (&parameter.block, parameter.index[0]);
            let _ = writeln!(text, "BLOCK {block}\n {index} {value:e}");
        }
        text
    };
    let mass_of = |text: &str| {
        let card = Card::parse(text, Path::new("card"));
        let values = process.model.card_values(&card).unwrap();
        let binding = mebridge::plan::binding::Binding::new(&process.model, &values).unwrap();
        binding.masses(&process.legs, false)[0]
    };
    let original = card("AS", 0.118);
    let mass = mass_of(&original);
    let text = bosons_at_rest(&original, mass);
    fs::write(files.path("events.lhe"), &text).unwrap();
    fs::write(files.path("other.dat"), card("AS", 0.13)).unwrap();
    for how in ["event", "sum"] {
        let arguments = [
            "reweight",
            "events.lhe",
            "w.mebridge",
            "--card",
            "other.dat",
            "--helicity",
            how,
        ];
        let ran = mebridge(files.directory.path(), &arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let written = fs::read_to_string(files.path("events_rwgt.lhe")).unwrap();
        close(&weights(&written, "rwgt_1"), &[1.0; 8]);
        let warned = ran
            .stderr
            .contains("other.dat: no weight of 'rwgt_1' is another");
        assert!(warned, "{}", ran.stderr);
    }
    // The W boson's mass follows from aEWM1. |M|^2 is g^2 s up to a number, and g^2 is G_F M_W^2 up to another one.
    let changed = card("AEWM1", 120.0);
    let ratio = (mass_of(&changed) / mass).powi(2);
    assert!((ratio - 0.955533).abs() < 1e-5, "{ratio}");
    let run = |entry: &str, other: &str| {
        fs::write(
            files.path("events.lhe"),
            text.replace("<slha>\n", &format!("<slha>\n{entry}")),
        )
        .unwrap();
        fs::write(files.path("other.dat"), format!("{other}{changed}")).unwrap();
        let arguments = [
            "reweight",
            "events.lhe",
            "w.mebridge",
            "--card",
            "other.dat",
        ];
        mebridge(files.directory.path(), &arguments)
    };
    let entry = "BLOCK mass\n 24 8.0419e+01 # w+ : of others\n";
    let ran = run(entry, entry);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("other.dat: the mass of PDG 24 follows from what it changes: 78.61"),
        "{}",
        ran.stderr
    );
    let written = fs::read_to_string(files.path("events_rwgt.lhe")).unwrap();
    close(&weights(&written, "rwgt_1"), &[ratio; 8]);
    // Where the cards do not say that the mass stays, the momenta are off the new shell.
    for (old, new) in [("", ""), (entry, ""), (entry, "BLOCK mass\n 24 78.61\n")] {
        let ran = run(old, new);
        assert!(
            ran.failed(1).contains("gives leg 3 (PDG 24) the mass 78.6"),
            "{}",
            ran.stderr
        );
    }
}

/// The same weights as those of cards, the cross sections, and messages that name what the user has.
#[test]
fn a_reweight_card_is_read() {
    let files = Files::new();
    let card = fs::read_to_string(&files.old).unwrap();
    let init =
        "<init>\n2212 2212 6.5e+03 6.5e+03 0 0 247000 247000 -4 1\n4.0e+02 8.0e+00 4.0e+02 1\n";
    let mut text = header(&card).replace("<init>\n", init);
    for n in 0..4 {
        text += &tops(n, [1.0, -1.0, 1.0, 1.0]).1;
    }
    text += "</LesHouchesEvents>\n";
    fs::write(files.path("events.lhe"), &text).unwrap();
    let wide = card.replace("1.491500e+00", "2.5e+02");
    assert_ne!(wide, card);
    fs::write(files.path("wide.dat"), &wide).unwrap();
    let p = gg_ttx().display().to_string();
    let run = |commands: &str, more: &[&str]| {
        fs::write(files.path("reweight_card.dat"), commands).unwrap();
        let mut arguments = vec!["reweight", "events.lhe", &p];
        arguments.extend(more);
        mebridge(files.directory.path(), &arguments)
    };
    let commands =
        "launch --rwgt_name=wide\n set decay 6 2.5e+02\nlaunch\n set WT 250.\nlaunch\n wide.dat\n";
    let card = ["--reweight-card", "reweight_card.dat"];
    let both = [&card[..], &["--card", "wide.dat", "--name", "mine"]].concat();
    let ran = run(commands, &both);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let written = fs::read_to_string(files.path("events_rwgt.lhe")).unwrap();
    let mine = weights(&written, "mine");
    assert_eq!(mine.len(), 4);
    let ratios: Vec<f64> = (0..4).map(|n| mine[n] / (0.5 + n as f64)).collect();
    assert!(
        ratios.iter().all(|ratio| (ratio - 1.0).abs() > 1e-6),
        "{ratios:?}"
    );
    for name in ["wide", "rwgt_1", "rwgt_2"] {
        assert_eq!(weights(&written, name), mine, "{name}");
    }
    assert!(
        written.contains("<weight id='wide'>set param_card decay 6 250 # orig: 1.4915"),
        "{written}"
    );
    let row = |name: &str| -> Vec<f64> {
        let line = ran.stdout.lines().find(|line| line.starts_with(name));
        let numbers = line.unwrap().split_whitespace().skip(1);
        numbers.map(|word| word.parse().unwrap()).collect()
    };
    assert_eq!(row("original"), [8.0, 400.0, 8.0]);
    let mean = ratios.iter().sum::<f64>() / 4.0;
    let spread = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / 16.0;
    let ratio = mine.iter().sum::<f64>() / 8.0;
    let wide = row("wide");
    assert!((wide[4] / (400.0 * ratio) - 1.0).abs() < 1e-5, "{wide:?}");
    let error = 8.0 * ratio + 400.0 * spread.sqrt();
    assert!((wide[5] / error - 1.0).abs() < 0.01, "{wide:?} {error}");
    // Sums over helicities for all of them.
    run(&format!("change helicity False\n{commands}"), &card).ok();
    let summed = fs::read_to_string(files.path("events_rwgt.lhe")).unwrap();
    assert_ne!(weights(&summed, "wide"), mine);
    run(
        "",
        &["--card", "wide.dat", "--name", "wide", "--helicity", "sum"],
    )
    .ok();
    let expected = fs::read_to_string(files.path("events_rwgt.lhe")).unwrap();
    assert_eq!(weights(&summed, "wide"), weights(&expected, "wide"));
    // Errors name the user's files.
    let ran = run("launch\n set mass 77 1.\n", &card);
    assert!(
        ran.failed(1)
            .contains("reweight_card.dat: line 2, `set mass 77 1.`"),
        "{}",
        ran.stderr
    );
    let ran = run("launch\n", &["--card", "reweight_card.dat"]);
    assert!(
        ran.failed(1).contains("give it with --reweight-card"),
        "{}",
        ran.stderr
    );
    let broken = text.replace("1.491500e+00", "Auto");
    fs::write(files.path("events.lhe"), broken).unwrap();
    let ran = run(commands, &both);
    let message = ran.failed(1);
    assert!(
        message.contains("events.lhe: the parameter card in its header (<slha>): line ")
            && !message.contains(&*std::env::temp_dir().to_string_lossy()),
        "{message}"
    );
}

/// Files of other programs are unchanged except for the weights, and files without events are reported as such.
#[test]
fn files_of_others() {
    let files = Files::new();
    let p = gg_ttx().display().to_string();
    files.card("wide.dat", "1.491500e+00", "9.5");
    let card = fs::read_to_string(&files.old).unwrap();
    let (rest, _) = two_bodies(500.0, 173.0, 0.3, 0.0);
    let codes = [21, 21, 6, -6];
    let of = |spin: f64| -> Vec<Particle> {
        (0..4)
            .map(|i| (codes[i], if i < 2 { -1 } else { 1 }, (1, 2), rest[i], spin))
            .collect()
    };
    let text = header(&card) + &event(&of(9.0), 1.0, 0.1, "") + "</LesHouchesEvents>\n";
    let run = |contents: &[u8]| {
        fs::write(files.path("events.lhe"), contents).unwrap();
        let _ = fs::remove_file(files.path("events_rwgt.lhe"));
        let arguments = ["reweight", "events.lhe", &p, "--card", "wide.dat"];
        let ran = mebridge(files.directory.path(), &arguments);
        (ran, fs::read_to_string(files.path("events_rwgt.lhe")))
    };
    let (ran, plain) = run(text.as_bytes());
    ran.ok();
    let plain = plain.unwrap();
    for end in ["\r", "\r\n"] {
        let (ran, written) = run(text.replace('\n', end).as_bytes());
        ran.ok();
        assert_eq!(written.unwrap(), plain.replace('\n', end));
    }
    let comment = "<!-- </header> <init> -->\n";
    let (ran, written) = run((comment.to_owned() + &text).as_bytes());
    ran.ok();
    assert_eq!(written.unwrap(), comment.to_owned() + &plain);
    let slanted = header(&card) + &event(&of(0.5), 1.0, 0.1, "") + "</LesHouchesEvents>\n";
    let lines = text.lines().count() + 1;
    #[rustfmt::skip]
    let cases = [
        (String::new(), "events.lhe: the file is empty".to_owned()),
        ("BZh91AY&SY".to_owned(), "this is a bzip2 file, which is not read; unpack it (bzip2 -d)".to_owned()),
        ("momenta\n".to_owned(), "this is no event file (<LesHouchesEvents>): it begins with `momenta`".to_owned()),
        (text.clone() + &text, format!("line {lines}: a second file begins, with a header of its own")),
        (text.replace("</event>\n", "</event>\nx\n"), "has `x` after event 1".to_owned()),
        (slanted, "has SPINUP [0.5, 0.5, 0.5, 0.5], which are no helicities".to_owned()),
    ];
    for (contents, says) in cases {
        let (ran, written) = run(contents.as_bytes());
        assert!(ran.failed(1).contains(&says), "{}", ran.stderr);
        assert!(written.is_err());
    }
}

/// Several matrix elements, beams in either order, identical particles of different mothers.
#[test]
fn events_find_their_matrix_elements() {
    let files = Files::new();
    let outputs = mebridge_testing::root().join("fortran/outputs");
    let p = outputs.join("new/SubProcesses/P1_qq_ff");
    let processes = import_directory(&p).unwrap();
    let old = outputs.join("Cards/param_card.dat");
    let card = fs::read_to_string(&old).unwrap();
    fs::write(
        files.path("new.dat"),
        card.replace("4.500000e-01", "5.5e-01"),
    )
    .unwrap();
    let (rest, lab) = two_bodies(150.0, 0.0, 0.3, -0.7);
    let swapped = [rest[1], rest[0], rest[2], rest[3]];
    let mut text = header(&card);
    let mut expected = Vec::new();
    for (codes, which, momenta) in [
        ([2, -2, 2, -2], 0, rest),
        ([-2, 2, 13, -13], 1, swapped),
        ([2, -2, 13, -13], 1, rest),
    ] {
        let particles: Vec<Particle> = (0..4)
            .map(|i| (codes[i], if i < 2 { -1 } else { 1 }, (1, 2), lab[i], 9.0))
            .collect();
        text += &event(&particles, 1.0, 0.1, "");
        let of = |card: &Path| plain(&processes[which], card, &momenta, 0.1, None);
        expected.push(of(&files.path("new.dat")) / of(&old));
    }
    text += "</LesHouchesEvents>\n";
    fs::write(files.path("events.lhe"), &text).unwrap();
    let name = p.display().to_string();
    let run = |file: &str, more: &[&str]| {
        let mut arguments = vec!["reweight", file, &name, "--card", "new.dat"];
        arguments.extend(more);
        mebridge(files.directory.path(), &arguments)
    };
    run("events.lhe", &[]).ok();
    let written = fs::read_to_string(files.path("events_rwgt.lhe")).unwrap();
    close(&weights(&written, "rwgt_1"), &expected);
    // Another directory has u u~ > u u~ too.
    let other = outputs
        .join("new/SubProcesses/P1_qq_qq")
        .display()
        .to_string();
    let ran = run("events.lhe", &[&other]);
    assert!(
        ran.failed(1).contains("event 1 (from 1; line "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("which have the same particles"),
        "{}",
        ran.stderr
    );
    // Errors name the event.
    let wrong = |from: &str, to: &str, more: &[&str]| {
        assert!(text.contains(from));
        fs::write(files.path("wrong.lhe"), text.replacen(from, to, 1)).unwrap();
        let ran = run("wrong.lhe", more);
        assert!(!files.path("wrong_rwgt.lhe").exists());
        assert!(
            fs::read_dir(files.directory.path())
                .unwrap()
                .flatten()
                .all(|e| !e.file_name().to_string_lossy().contains(".part")),
        );
        ran.failed(1).to_owned()
    };
    let message = wrong(" -2 -1 1 2", " -4 -1 1 2", &[]);
    assert!(
        message.contains("event 1") && message.contains("2 -4 > 2 -2, which none"),
        "{message}"
    );
    let message = wrong("+1.00000000e-1\n", "-1.00000000e+00\n", &[]);
    assert!(
        message.contains("event 1 (from 1; line") && message.contains("AQCDUP"),
        "{message}"
    );
    let message = wrong("<slha>", "<other>", &[]);
    assert!(message.contains("--original"), "{message}");
    let message = wrong(" 13 1 1 2", " 13 1 x", &[]);
    assert!(
        message.contains("event 2") && message.contains("not that of a particle"),
        "{message}"
    );
    let message = wrong("</LesHouchesEvents>", "<event>\n", &[]);
    assert!(message.contains("ends within event 4"), "{message}");
    let message = wrong("</event>\n</LesHouchesEvents>", "</LesHouchesEvents>", &[]);
    assert!(message.contains("event 3 (from 1; line"), "{message}");
    assert!(message.contains("has no </event> until"), "{message}");
}

/// A file of a few kilobytes may be gigabytes: neither time nor memory is without a bound.
#[test]
fn what_has_no_event_ends_somewhere() {
    let gzip = |text: &[u8]| {
        let mut out = GzEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    };
    let many = |piece: &str| gzip(piece.repeat(1 << 20).as_bytes()).repeat(3000);
    let begun = gzip(b"<LesHouchesEvents version=\"3.0\">\n<header>\n");
    let d = tempfile::tempdir().unwrap();
    let what = "more than 67108864 bytes without an end of an event";
    for nothing in [many("x"), many("\n")] {
        let bytes = [begun.clone(), nothing].concat();
        fs::write(d.path().join("bomb.lhe.gz"), bytes).unwrap();
        let ran = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"])
            .args([env!("CARGO_BIN_EXE_mebridge"), "reweight", "bomb.lhe.gz"])
            .arg(gg_ttx())
            .args(["--card"])
            .arg(gg_ttx().join("../../Cards/param_card.dat"))
            .current_dir(d.path())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{error}");
        assert!(error.contains(what), "{error}");
    }
}
