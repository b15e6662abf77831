//! Channels divide |M|^2, and choices of helicity and colour flow follow the contributions.

use crate::batch::{Batch, bridge, cpu, worst};
use crate::built::uux_ttx;
use crate::common::{gfortran, mg5_outputs};
use crate::kinematics::{Point, masses, points};
use crate::processes::{gg_ttx, with_more_gluons};
use mebridge::import::import_directory;
use mebridge::phase_space::PhaseSpace;
use mebridge::plan::binding::Binding;
use mebridge::process::Process;
use mebridge::propagators::ChannelWeights;
use mebridge::runtime::{Precision, Switches};
use mebridge::simd::Level;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Distance of the random numbers from an edge: far above rounding, and far below the shift from a wrong contribution.
const NEAR: f64 = 1e-11;

fn processes() -> Vec<Process> {
    let mut all = vec![gg_ttx(), uux_ttx()];
    all.extend(with_more_gluons());
    all
}

/// The sum over all channels of |M|^2 times the channel's weight is |M|^2: each weight is a share.
#[test]
fn channels_add_up() {
    for process in processes() {
        let card = process.model.default_card();
        let points = points(&process, &card, 900.0, 9, 51);
        let mut bridge = bridge(&process, &card, &cpu());
        let batch = Batch::new(&points, 1.1);
        let whole = batch.run(&mut bridge).squared;
        let mut sum = vec![0.0; points.len()];
        let diagrams = process.channels.config_diagram.iter();
        for &diagram in diagrams.filter(|&&d| d != 0) {
            let share = batch.clone().in_channels(&[diagram as i32]);
            for (sum, share) in sum.iter_mut().zip(share.run(&mut bridge).squared) {
                assert!(share >= 0.0);
                *sum += share;
            }
        }
        let deviation = worst(&sum, &whole);
        assert!(deviation < 1e-13, "{}: {deviation:e}", process.name);
    }
}

/// Just above a threshold squared diagrams differ by many orders of magnitude, and rounding takes small ones below zero
/// where they are sums of products of other signs.
#[test]
fn channels_just_above_a_threshold_are_not_negative() {
    let process = mebridge::generate("g g > t t~ g g").unwrap().remove(0);
    let card = process.model.default_card();
    let masses = masses(&process, &card);
    for (above, precision) in [
        (1e-4, Precision::Float),
        (1e-6, Precision::Float),
        (1e-8, Precision::Mixed),
        (1e-8, Precision::Double),
    ] {
        let energy = masses.iter().sum::<f64>() * (1.0 + above);
        let space = PhaseSpace::new(energy, &masses[..2], &masses[2..]).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(29);
        let mut point = || -> Point {
            let random: Vec<f64> = (0..space.randoms()).map(|_| rng.random()).collect();
            let mut momenta = vec![0.0; space.components()];
            space.event(&random, &mut momenta);
            let legs = momenta.chunks(4);
            legs.map(|p| [p[0], p[1], p[2], p[3]]).collect()
        };
        let points: Vec<Point> = (0..64).map(|_| point()).collect();
        let switches = Switches { precision, ..cpu() };
        let mut bridge = bridge(&process, &card, &switches);
        let batch = Batch::new(&points, 1.1);
        let whole = batch.run(&mut bridge).squared;
        let mut sum = vec![0.0; points.len()];
        let diagrams = process.channels.config_diagram.iter();
        for &diagram in diagrams.filter(|&&d| d != 0) {
            let share = batch.clone().in_channels(&[diagram as i32]);
            for (sum, share) in sum.iter_mut().zip(share.run(&mut bridge).squared) {
                assert!(share >= 0.0, "{above:e} {precision:?} {diagram}: {share:e}");
                *sum += share;
            }
        }
        let deviation = worst(&sum, &whole);
        assert!(deviation < 1e-5, "{above:e} {precision:?}: {deviation:e}");
    }
}

/// Random numbers just inside both ends of the interval of each index (from 1), which the plain
/// evaluation's weights make of [0, 1). Intervals too narrow for that are left out.
fn inside(weights: &[f64]) -> Vec<(f64, i32)> {
    let total: f64 = weights.iter().sum();
    let mut numbers = Vec::new();
    let mut running = 0.0;
    for (i, weight) in weights.iter().enumerate() {
        let low = running / total;
        running += weight;
        let high = running / total;
        if high - low > 4.0 * NEAR {
            let index = i as i32 + 1;
            numbers.extend([(low + NEAR, index), (high - NEAR, index)]);
        }
    }
    numbers
}

/// One event for each random number.
struct Choices {
    points: Vec<Point>,
    numbers: Vec<f64>,
    expected: Vec<i32>,
}

fn choices(points: &[Point], weights: impl Fn(&Point) -> Vec<f64>) -> Choices {
    let mut choices = Choices {
        points: Vec::new(),
        numbers: Vec::new(),
        expected: Vec::new(),
    };
    for point in points {
        for (number, index) in inside(&weights(point)) {
            choices.points.push(point.clone());
            choices.numbers.push(number);
            choices.expected.push(index);
        }
    }
    choices
}

#[test]
fn helicities_are_chosen_by_their_contribution() {
    for process in processes() {
        let card = process.model.default_card();
        let points = points(&process, &card, 700.0, 6, 61);
        let c = choices(&points, |p| process.evaluate(p, 1.1, &card).contributions);
        // Nearly every possible helicity occurs.
        let met: BTreeSet<i32> = c.expected.iter().copied().collect();
        assert!(2 * met.len() >= process.helicities.len(), "{}", met.len());
        for level in Level::supported() {
            let switches = Switches {
                simd: Some(level.name().into()),
                ..cpu()
            };
            let mut bridge = bridge(&process, &card, &switches);
            let mut batch = Batch::new(&c.points, 1.1);
            batch.random_helicity.clone_from(&c.numbers);
            assert_eq!(batch.run(&mut bridge).helicity, c.expected, "{level}");
            // The choice is the same in a channel.
            let channel = process.channels.config_diagram[0] as i32;
            let batch = batch.in_channels(&[channel]);
            assert_eq!(batch.run(&mut bridge).helicity, c.expected, "{level}");
        }
    }
}

/// Ends of the whole range: 0 gives the first helicity that contributes, the last number below 1
/// the last one.
#[test]
fn the_first_and_the_last_helicity() {
    for process in [gg_ttx(), uux_ttx()] {
        let card = process.model.default_card();
        let points = points(&process, &card, 700.0, 6, 62);
        let mut bridge = bridge(&process, &card, &cpu());
        for (number, last) in [(0.0, false), (1.0 - 0.5 * f64::EPSILON, true)] {
            let mut batch = Batch::new(&points, 1.1);
            batch.random_helicity.fill(number);
            let got = batch.run(&mut bridge).helicity;
            for (point, got) in points.iter().zip(got) {
                let contributions = process.evaluate(point, 1.1, &card).contributions;
                let mut contributing = contributions.iter().map(|&c| c > 0.0);
                let expected = match last {
                    false => contributing.position(|c| c),
                    true => contributing.rposition(|c| c),
                };
                assert_eq!(Some(got as usize - 1), expected, "{number}");
            }
        }
    }
}

#[test]
fn colour_flows_are_chosen_by_jamp2_among_those_allowed() {
    for process in processes() {
        let card = process.model.default_card();
        let points = points(&process, &card, 700.0, 3, 71);
        let tables = &process.channels;
        let mut met = BTreeSet::new();
        let mut bridge = bridge(&process, &card, &cpu());
        let configs = tables.config_diagram.len();
        for config in (0..configs).step_by(configs.div_ceil(9)) {
            let c = choices(&points, |p| {
                let jamp2 = process.evaluate(p, 1.1, &card).jamp2;
                let allowed = &tables.color_allowed[config];
                let pairs = jamp2.iter().zip(allowed);
                pairs.map(|(&j, &ok)| if ok { j } else { 0.0 }).collect()
            });
            met.extend(c.expected.iter().copied());
            let mut batch = Batch::new(&c.points, 1.1);
            batch.random_color.clone_from(&c.numbers);
            let igraph = batch.clone().with_igraph(&[config as i32 + 1]);
            assert_eq!(igraph.run(&mut bridge).color, c.expected, "igraph");
            let diagram = tables.config_diagram[config] as i32;
            if tables.config_of(diagram as u32) == Some(config) {
                let channel = batch.in_channels(&[diagram]);
                assert_eq!(channel.run(&mut bridge).color, c.expected, "channel");
            }
        }
        let flows = process.amplitudes.jamps();
        assert!(2 * met.len() >= flows, "{} of {flows} flows", met.len());
    }
}

/// Prints GET_CHANNEL_CUT of each configuration for each event that it reads.
const PROBE: &str = "      PROGRAM PROBE
      IMPLICIT NONE
      INCLUDE 'maxconfigs.inc'
      INCLUDE 'nexternal.inc'
      INCLUDE 'vector.inc'
      INCLUDE 'coupl.inc'
      DOUBLE PRECISION P(0:3,NEXTERNAL), GET_CHANNEL_CUT, TMIN
      DOUBLE PRECISION STOT, M1, M2
      INTEGER I, N, EVENT, EVENTS, SDE
      COMMON/TO_STOT/STOT,M1,M2
      COMMON/TO_CHANNEL_STRAT/TMIN,SDE
      TMIN = -1D0
      SDE = 2
      CALL NUMBERS()
      READ(*,*) EVENTS, N, STOT
      DO EVENT = 1, EVENTS
        READ(*,*) P
        WRITE(*,*) (GET_CHANNEL_CUT(P,I),I=1,N)
      ENDDO
      END

      DOUBLE PRECISION FUNCTION DOT(A,B)
      IMPLICIT NONE
      DOUBLE PRECISION A(0:3), B(0:3)
      DOT = A(0)*B(0)-A(1)*B(1)-A(2)*B(2)-A(3)*B(3)
      END

";

/// GET_CHANNEL_CUT of an output's genps.f, compiled: for each event that of each configuration.
fn channel_cuts(directory: &Path, process: &Process, points: &[Point], s: f64) -> Vec<Vec<f64>> {
    let genps = std::fs::read_to_string(directory.join("../genps.f")).expect("genps.f");
    let begin = genps
        .find("      double precision function get_channel_cut")
        .expect("GET_CHANNEL_CUT");
    let end = begin + genps[begin..].find("\n      end\n").expect("its end") + 11;
    let binding = Binding::new(&process.model, &process.model.default_card()).expect("numbers");
    let mut program = PROBE.to_owned() + &genps[begin..end];
    program += "\n      SUBROUTINE NUMBERS()\n      IMPLICIT NONE\n      INCLUDE 'vector.inc'\n      INCLUDE 'coupl.inc'\n";
    for (parameter, value) in process.model.parameters.iter().zip(&binding.parameters) {
        // MadEvent's lines have the widths of the card, which are these as long as they are not tiny.
        let name = parameter.name.trim_start_matches("FK_");
        let value = format!("{value:.17e}").replace('e', "D");
        let _ = writeln!(program, "      {name} = {value}");
    }
    program += "      END\n";
    let folder = tempfile::tempdir().expect("a folder");
    let (source, executable) = (folder.path().join("probe.f"), folder.path().join("probe"));
    std::fs::write(&source, program).expect("written");
    let include = |folder: &str| format!("-I{}", directory.join(folder).display());
    let compiled = Command::new("gfortran")
        .args(["-w", "-std=legacy", "-ffixed-line-length-132"])
        .args([include("."), include(".."), include("../../Source")])
        .arg(&source)
        .arg("-o")
        .arg(&executable)
        .output()
        .expect("gfortran");
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{errors}");
    let configurations = process.channels.config_diagram.len();
    let mut input = format!("{} {configurations} {s:e}\n", points.len());
    for momentum in points.iter().flatten() {
        let numbers = momentum.map(|x| format!("{x:.17e}"));
        input += &(numbers.join(" ") + "\n");
    }
    let file = folder.path().join("events");
    std::fs::write(&file, input).expect("written");
    let ran = Command::new(&executable)
        .stdin(std::fs::File::open(&file).expect("events"))
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&ran.stdout);
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map(|word| word.parse().expect("a number"))
        .collect();
    assert_eq!(numbers.len(), configurations * points.len(), "{text}");
    let rows = numbers.chunks(configurations);
    rows.map(<[f64]>::to_vec).collect()
}

/// The weights of `sde_strategy` 2 are those of MadEvent's own function, of MG5aMC 3.6.2 and later.
#[test]
fn propagators_weight_as_madevent() {
    let Some(outputs) = mg5_outputs().filter(|_| gfortran()) else {
        return;
    };
    for name in [
        "ee_mumu.mad/SubProcesses/P1_epem_mupmum",
        "gg_ttg.mad/SubProcesses/P1_gg_ttxg",
        "gq_ttq.mad/SubProcesses/P1_gu_ttxu",
        "nobm_pp_ttW.mad/SubProcesses/P1_gd_ttxwmu",
    ] {
        let directory = outputs.join(name);
        let process = import_directory(&directory).expect("import").remove(0);
        let card = process.model.default_card();
        let s = 1e7;
        let mut bridge = bridge(&process, &card, &cpu());
        bridge
            .set_channel_weights(ChannelWeights::Propagators { s })
            .expect("strategy 2");
        let points = points(&process, &card, 900.0, 8, 71);
        let cuts = channel_cuts(&directory, &process, &points, s);
        let batch = Batch::new(&points, 1.2);
        let whole = batch.run(&mut bridge).squared;
        let diagrams = &process.channels.config_diagram;
        for (place, &diagram) in diagrams.iter().enumerate().filter(|(_, d)| **d != 0) {
            let expected: Vec<f64> = cuts
                .iter()
                .zip(&whole)
                .map(|(cuts, whole)| {
                    let each = cuts.iter().zip(diagrams).filter(|(_, d)| **d != 0);
                    whole * cuts[place] / each.map(|(cut, _)| cut).sum::<f64>()
                })
                .collect();
            let channel = batch.clone().in_channels(&[diagram as i32]);
            let deviation = worst(&channel.run(&mut bridge).squared, &expected);
            assert!(deviation < 1e-9, "{name} {diagram}: {deviation:e}");
        }
    }
}
