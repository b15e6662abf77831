//! Imported directories of MG5aMC, evaluated by their definition and compared with reference numbers.
//!
//! Of each reference file `MEBRIDGE_REFERENCE_EVENTS` events are checked (8 by default, spread
//! over its channels; 64 are all).

use crate::common::{self, Reference};
use mebridge::import::import_directory;

/// Relative difference that double precision must stay within.
const TOLERANCE: f64 = 1e-12;
/// A choice may differ where the random number is this close to an edge.
const EDGE: f64 = 1e-12;

/// Whether `random` is at an edge of the running sums of these weights.
fn at_edge(weights: &[f64], random: f64) -> bool {
    let total: f64 = weights.iter().sum();
    let mut running = 0.0;
    weights.iter().any(|w| {
        running += w;
        (running / total - random).abs() < EDGE
    })
}

#[test]
fn all_reference_files() {
    let Some(references) = common::references() else {
        return;
    };
    assert!(!references.is_empty(), "no reference files");
    let count: usize = std::env::var("MEBRIDGE_REFERENCE_EVENTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(8);
    let mut failures = Vec::new();
    for reference in references {
        match compare(&reference, count) {
            Ok(line) => println!("{:44} {line}", reference.name),
            Err(line) => {
                println!("{:44} FAILED {line}", reference.name);
                failures.push(reference.name);
            }
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

fn compare(reference: &Reference, count: usize) -> Result<String, String> {
    let start = std::time::Instant::now();
    let processes = import_directory(&reference.directory).map_err(|e| e.to_string())?;
    let imported = start.elapsed();
    let [process] = processes.as_slice() else {
        return Err(format!("{} processes", processes.len()));
    };
    let card = process.model.default_card();
    let legs = process.legs.len();
    let events = reference.g_s.len();
    // Channels change every 16 events: take some of each.
    let step = (events / count.max(1)).max(1);
    let (mut worst, mut worst_channel, mut checked) = (0.0f64, 0.0f64, 0);
    let mut good = vec![false; process.helicities.len()];
    for i in (0..events).step_by(step) {
        let momenta: Vec<[f64; 4]> = (0..legs)
            .map(|leg| std::array::from_fn(|k| reference.momenta[4 * (i * legs + leg) + k]))
            .collect();
        let result = process.evaluate(&momenta, reference.g_s[i], &card);
        for (good, &x) in good.iter_mut().zip(&result.contributions) {
            *good |= x != 0.0;
        }
        worst = worst.max(difference(result.total(), reference.plain[i]));
        let channel = reference.channels[i] as u32;
        let weighted = result.in_channel(&process.channels, channel);
        worst_channel = worst_channel.max(difference(weighted, reference.weighted[i]));

        let random = reference.random_helicity[i];
        let helicity = result.helicity(random) as i32;
        for expected in [reference.plain_helicity[i], reference.weighted_helicity[i]] {
            if helicity != expected && !at_edge(&result.contributions, random) {
                return Err(format!("event {i}: helicity {helicity} and not {expected}"));
            }
        }
        let config = process.channels.config_of(channel);
        let config = config.ok_or_else(|| format!("no channel {channel}"))?;
        let random = reference.random_color[i];
        let color = result.color(&process.channels, config, random) as i32;
        let allowed = &process.channels.color_allowed[config];
        let weights: Vec<f64> = result
            .jamp2
            .iter()
            .zip(allowed)
            .map(|(&w, &is)| if is { w } else { 0.0 })
            .collect();
        if color != reference.color[i] && !at_edge(&weights, random) {
            return Err(format!(
                "event {i}: colour {color} and not {}",
                reference.color[i]
            ));
        }
        checked += 1;
    }
    let good = good.iter().filter(|g| **g).count();
    let line = format!(
        "{checked:3} events  |M|^2 {worst:.1e}  in channel {worst_channel:.1e}  helicities {good}  \
         import {:.0} ms",
        imported.as_secs_f64() * 1e3
    );
    let close = worst <= TOLERANCE && worst_channel <= TOLERANCE;
    if !close || good != reference.good_helicities {
        return Err(line);
    }
    Ok(line)
}

/// Relative difference; infinite where either is no number.
fn difference(a: f64, b: f64) -> f64 {
    let difference = (a / b - 1.0).abs();
    if difference.is_nan() {
        f64::INFINITY
    } else {
        difference
    }
}
