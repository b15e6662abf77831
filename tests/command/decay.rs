//! `mebridge decay`: decayed events compared with known spin correlations, and refused input.

use crate::support::{Ran, mebridge};
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;

const CARD: &str = "BLOCK SMINPUTS\n 1 132.507\n 2 1.16639e-05\n 3 0.118\nBLOCK MASS\n 5 4.7\n 6 173.0\n 15 1.777\n 23 91.188\n \
                    25 125.0\nBLOCK YUKAWA\n 5 4.7\n 6 173.0\n 15 1.777\nDECAY 6 1.4915\nDECAY 23 2.441404\nDECAY 24 2.0476\n";
/// The mass of the W boson by that card.
const W: f64 = 80.419_002_445_756_16;

/// A file with events of a process.
fn file(process: &str, card: &str, events: &str) -> String {
    format!(
        "<LesHouchesEvents version=\"3.0\">\n<header>\n<MG5ProcCard>\n<![CDATA[\nimport model sm\n{process}\n]]>\n\
         </MG5ProcCard>\n<slha>\n{card}</slha>\n</header>\n<init>\n2212 2212 6500. 6500. 0 0 1 1 -4 1\n\
         10. 0.1 10. 1\n</init>\n{events}</LesHouchesEvents>\n"
    )
}

/// A particle: PDG code, ISTUP, the two of ICOLUP, (px, py, pz, E, m).
type Line = (i32, i32, [i32; 2], [f64; 5]);

fn event(particles: &[Line], more: &str) -> String {
    let mut text = format!(
        "<event>\n {} 1 +1.0000000e+01 1.0e+02 7.5e-03 1.18e-01\n",
        particles.len()
    );
    for (pdg, status, [color, anticolor], [x, y, z, e, m]) in particles {
        let mothers = if *status == -1 { "0 0" } else { "1 2" };
        let _ = writeln!(
            text,
            " {pdg} {status} {mothers} {color} {anticolor} {x:+.16e} {y:+.16e} {z:+.16e} {e:.16e} {m:.16e} 0. 9."
        );
    }
    text + more + "</event>\n"
}

/// u d~ > w+ along the z axis, with the quark along +z.
fn single_w() -> String {
    let parton = |pdg, colors, z: f64| (pdg, -1, colors, [0.0, 0.0, z, z.abs(), 0.0]);
    event(
        &[
            parton(2, [501, 0], W),
            parton(-1, [0, 501], -W / 4.0),
            (24, 1, [0; 2], [0.0, 0.0, 0.75 * W, 1.25 * W, W]),
        ],
        "<rwgt>\n<wgt id='1'> +1.0000000e+01 </wgt>\n<wgt id='2'> -2.5000000e+00 </wgt>\n</rwgt>\n",
    )
}

/// g g > t t~ with this energy, tops across the beams.
fn tops(energy: f64) -> String {
    let (e, m) = (energy / 2.0, 173.0);
    let p = (e * e - m * m).max(0.0).sqrt();
    event(
        &[
            (21, -1, [501, 502], [0.0, 0.0, e, e, 0.0]),
            (21, -1, [502, 503], [0.0, 0.0, -e, e, 0.0]),
            (6, 1, [501, 0], [p, 0.0, 0.0, e, m]),
            (-6, 1, [0, 503], [-p, 0.0, 0.0, e, m]),
        ],
        "",
    )
}

/// The numbers of all particles of all events of a file.
fn read(path: &Path) -> Vec<Vec<Vec<f64>>> {
    let text = fs::read_to_string(path).expect("it was written");
    let events = text.split("<event>\n").skip(1);
    let numbers = |line: &str| -> Vec<f64> {
        let words = line.split_whitespace();
        words.map(|word| word.parse().expect("a number")).collect()
    };
    let particles = |event: &str| {
        let lines = event.lines().skip(1);
        lines
            .take_while(|line| !line.starts_with('<'))
            .map(numbers)
            .collect()
    };
    events.map(particles).collect()
}

fn decay(folder: &Path, arguments: &[&str]) -> Ran {
    mebridge(folder, &[&["decay"], arguments].concat())
}

#[track_caller]
fn refused(folder: &Path, arguments: &[&str], says: &str) {
    let ran = decay(folder, &[arguments, &["-o", "none.lhe"]].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
    assert!(!folder.join("none.lhe").exists());
}

/// The W boson of u d~ is left-handed along the quark: the lepton goes along d~ by (1 + cos)^2, the mean of cos is 1/2.
#[test]
fn spins_of_production_are_in_decays() {
    let folder = tempfile::tempdir().expect("a folder");
    let count = 2000;
    let events = single_w().repeat(count);
    fs::write(
        folder.path().join("w.lhe"),
        file("generate u d~ > w+", CARD, &events),
    )
    .expect("a file");
    let lepton_along_z = |mode: &str| {
        let ran = decay(
            folder.path(),
            &["w.lhe", "w+ > e+ ve", "--spinmode", mode, "-o", "out.lhe"],
        );
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let found = read(&folder.path().join("out.lhe"));
        assert_eq!(found.len(), count);
        let cosine = |event: &Vec<Vec<f64>>| {
            let lepton = event
                .iter()
                .find(|particle| particle[0] == -11.0)
                .expect("it decayed");
            // In the rest frame of the W boson, which has E / m = 1.25.
            (1.25 * lepton[8] - 0.75 * lepton[9]) / (W / 2.0)
        };
        found.iter().map(cosine).sum::<f64>() / count as f64
    };
    // The spread of cos is 0.45, without spins 0.58.
    for mode in ["full", "onshell"] {
        let mean = lepton_along_z(mode);
        assert!(
            (mean + 0.5).abs() < 5.0 * 0.45 / (count as f64).sqrt(),
            "{mode}: {mean}"
        );
    }
    let mean = lepton_along_z("none");
    assert!(mean.abs() < 5.0 * 0.58 / (count as f64).sqrt(), "{mean}");
    // Weights have the branching fraction, and the header describes the decay.
    let text = fs::read_to_string(folder.path().join("out.lhe")).expect("it was written");
    let after = |tag: &str| -> f64 {
        let (_, rest) = text.split_once(tag).expect("it is there");
        rest.split_whitespace()
            .next()
            .expect("a number")
            .parse()
            .expect("a number")
    };
    let fraction = after("# branching fraction:");
    assert!((fraction - 0.2276 / 2.0476).abs() < 1e-3, "{fraction}");
    assert!((after("<wgt id='2'>") / (-2.5 * fraction) - 1.0).abs() < 1e-6);
    assert!((after("0 0 1 1 -4 1\n") / (10.0 * fraction) - 1.0).abs() < 1e-6);
    assert!(text.contains("decay w+ > e+ ve\n") && text.contains("set spinmode none\n"));
}

/// Valid events: momenta are conserved in each decay, masses are within their windows, colours continue.
#[test]
fn decays_are_well_formed() {
    let folder = tempfile::tempdir().expect("a folder");
    let events = tops(500.0).repeat(50) + &tops(346.02).repeat(50);
    fs::write(
        folder.path().join("tt.lhe"),
        file("generate g g > t t~", CARD, &events),
    )
    .expect("a file");
    let lines = ["t > w+ b, w+ > j j", "t~ > w- b~, w- > l- vl~"];
    for threads in ["1", "2"] {
        let to = format!("out{threads}.lhe");
        let ran = decay(
            folder.path(),
            &[
                "tt.lhe",
                lines[0],
                lines[1],
                "--threads",
                threads,
                "-o",
                &to,
            ],
        );
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let text = |threads: &str| {
        fs::read(folder.path().join(format!("out{threads}.lhe"))).expect("it was written")
    };
    assert_eq!(text("1"), text("2"));
    let found = read(&folder.path().join("out1.lhe"));
    assert_eq!(found.len(), 100);
    for event in &found {
        assert_eq!(event.len(), 12);
        let mut tags = Vec::new();
        for (number, particle) in event.iter().enumerate() {
            if particle[1] == 1.0 {
                tags.extend(
                    [particle[4], particle[5]]
                        .into_iter()
                        .filter(|tag| *tag != 0.0),
                );
            }
            if particle[1] != 2.0 {
                continue;
            }
            let products: Vec<&Vec<f64>> = event
                .iter()
                .filter(|own| own[2] == number as f64 + 1.0 && own[1] > 0.0)
                .collect();
            assert_eq!(products.len(), 2);
            for at in 6..10 {
                let sum: f64 = products.iter().map(|own| own[at]).sum();
                assert!((sum - particle[at]).abs() < 1e-8, "{sum} {}", particle[at]);
            }
            let (mass, width) = if particle[0].abs() == 6.0 {
                (173.0, 1.4915)
            } else {
                (W, 2.0476)
            };
            assert!(
                (particle[10] - mass).abs() < 15.0 * width + 1e-6,
                "{}",
                particle[10]
            );
        }
        // Outgoing colours: those of both gluons that are left, and one that is made by the W boson.
        tags.sort_by(f64::total_cmp);
        assert_eq!(tags, [501.0, 503.0, 504.0, 504.0]);
        let energy: f64 = event
            .iter()
            .filter(|own| own[1] == 1.0)
            .map(|own| own[9])
            .sum();
        assert!((energy - event[0][9] - event[1][9]).abs() < 1e-8);
    }
    // Decayed particles stay when others decay.
    let ran = decay(folder.path(), &["tt.lhe", "t > w+ b", "-o", "half.lhe"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = decay(folder.path(), &["half.lhe", "t~ > w- b~", "-o", "both.lhe"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(read(&folder.path().join("both.lhe"))[0].len(), 8);
}

/// Two Z bosons: each line is the decay of one of them.
#[test]
fn equal_particles_have_different_decays() {
    let folder = tempfile::tempdir().expect("a folder");
    let (e, m): (f64, f64) = (150.0, 91.188);
    let p = (e * e - m * m).sqrt();
    let beams = [(2, [501, 0], e), (-2, [0, 501], -e)];
    let mut particles: Vec<Line> = beams
        .map(|(pdg, colors, z)| (pdg, -1, colors, [0.0, 0.0, z, e, 0.0]))
        .into();
    particles.extend([p, -p].map(|x| (23, 1, [0; 2], [x, 0.0, 0.0, e, m])));
    let events = event(&particles, "").repeat(40);
    fs::write(
        folder.path().join("zz.lhe"),
        file("generate u u~ > z z", CARD, &events),
    )
    .expect("a file");
    let ran = decay(
        folder.path(),
        &["zz.lhe", "z > e+ e-", "z > mu+ mu-", "-o", "out.lhe"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut firsts = 0;
    for event in read(&folder.path().join("out.lhe")) {
        let mut codes: Vec<i32> = event[4..]
            .iter()
            .filter(|own| own[1] == 1.0)
            .map(|own| own[0] as i32)
            .collect();
        firsts += usize::from(codes.contains(&11) && event[3][0].abs() == 11.0);
        let all: Vec<i32> = event
            .iter()
            .filter(|own| own[1] == 1.0)
            .map(|own| own[0] as i32)
            .collect();
        codes = all;
        codes.sort_unstable();
        assert_eq!(codes, [-13, -11, 11, 13]);
    }
    assert!((1..40).contains(&firsts), "{firsts}");
}

#[test]
fn what_cannot_be_decayed_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (at, events) = (folder.path(), tops(500.0).repeat(20));
    let whole = file("generate g g > t t~", CARD, &events);
    fs::write(at.join("tt.lhe"), &whole).expect("a file");
    refused(
        at,
        &["tt.lhe", "z > e+ e-"],
        "`z > e+ e-` is a decay of PDG 23, which no event has as an outgoing particle",
    );
    refused(
        at,
        &["tt.lhe", "t > w+ b", "w+ > e+ ve"],
        "is a decay of PDG 24",
    );
    refused(
        at,
        &["tt.lhe", "h > w+ w-, w+ > e+ ve"],
        "the decay of PDG 25 is closed",
    );
    refused(at, &["tt.lhe", "t > z z"], "t > z z");
    refused(
        at,
        &["tt.lhe", "g g > t t~"],
        "this is not the decay of a particle",
    );
    refused(
        at,
        &["tt.lhe", "t > w+ b", "--bw-cut", "1000"],
        "widths are too many for the narrow-width approximation",
    );
    let narrow = CARD.replace("DECAY 6 1.4915", "DECAY 6 0.0");
    fs::write(
        at.join("narrow.lhe"),
        file("generate g g > t t~", &narrow, &events),
    )
    .expect("a file");
    refused(
        at,
        &["narrow.lhe", "t > w+ b"],
        "PDG 6 is to decay and has the width 0",
    );
    let heavier = CARD.replace("6 173.0", "6 250.0");
    fs::write(
        at.join("heavier.lhe"),
        file("generate g g > t t~", &heavier, &events),
    )
    .expect("a file");
    refused(at, &["heavier.lhe", "t > w+ b"], "PDG 6 with the mass 173");
    fs::write(
        at.join("none.gz.lhe"),
        file("generate g g > t t~", CARD, ""),
    )
    .expect("a file");
    refused(
        at,
        &["none.gz.lhe", "t > w+ b"],
        "there are no events in it",
    );
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(whole.as_bytes()).expect("memory");
    let packed = packed.finish().expect("memory");
    fs::write(at.join("cut.lhe.gz"), &packed[..packed.len() / 2]).expect("a file");
    refused(at, &["cut.lhe.gz", "t > w+ b"], "it was cut off");
}

/// Files of other programs: without a header, with production that has no tree diagrams.
#[test]
fn production_without_spins_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let events = single_w().repeat(10);
    let bare = format!(
        "<LesHouchesEvents version=\"1.0\">\n<init>\n2212 2212 6500. 6500. 0 0 1 1 3 1\n1. 0. 1. 1\n</init>\n{events}\
         </LesHouchesEvents>\n"
    );
    fs::write(at.join("bare.lhe"), bare).expect("a file");
    let ran = decay(at, &["bare.lhe", "w+ > e+ ve", "-o", "out.lhe.gz"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the header names no process"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("without the spins"), "{}", ran.stderr);
    let loops = single_w().replace(" 2 -1 0 0 501 0 ", " 21 -1 0 0 501 502 ");
    fs::write(
        at.join("loops.lhe"),
        file("generate p p > w+ [QCD]", CARD, &loops),
    )
    .expect("a file");
    let ran = decay(at, &["loops.lhe", "w+ > e+ ve", "-o", "loops_out.lhe"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("1 events have decays without the spins"),
        "{}",
        ran.stderr
    );
    let text = fs::read_to_string(at.join("loops_out.lhe")).expect("it was written");
    assert!(
        text.contains(
            "# events with decays without the spins of their production: +1.0000000000e+00"
        )
    );
}
