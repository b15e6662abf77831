//! Channels share out |M|^2, and choices of helicity and colour flow follow the contributions.

use crate::batch::{Batch, bridge, cpu, worst};
use crate::built::uux_ttx;
use crate::kinematics::{Point, points};
use crate::processes::{gg_ttx, with_more_gluons};
use mebridge::process::Process;
use mebridge::runtime::Switches;
use mebridge::simd::Level;
use std::collections::BTreeSet;

/// How far from an edge the random numbers are put: far beyond rounding, and far below what
/// a wrong contribution would shift.
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
        // Nearly every helicity that can occur does.
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
        let flows = process.color.flows as usize;
        assert!(2 * met.len() >= flows, "{} of {flows} flows", met.len());
    }
}
