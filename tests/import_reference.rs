//! Imported directories of MG5aMC, evaluated plainly, against reference numbers.
//!
//! `MEBRIDGE_MG5_OUTPUTS` is the folder that holds the outputs (`gg_tt.mad` and so on),
//! `MEBRIDGE_REFERENCE` the one with the reference files (default `../shared/reference`). Without
//! either the test says so and passes. Files of large processes have the first
//! `MEBRIDGE_REFERENCE_EVENTS` events of each file checked (default 8, at least one for each
//! channel that occurs among them).

use mebridge::import::import_directory;
use std::path::{Path, PathBuf};

/// Relative difference that double precision must stay within.
const TOLERANCE: f64 = 1e-12;
/// A choice may differ where the random number is this close to an edge.
const EDGE: f64 = 1e-12;

fn folders() -> Option<(PathBuf, PathBuf)> {
    let Some(outputs) = std::env::var_os("MEBRIDGE_MG5_OUTPUTS").map(PathBuf::from) else {
        eprintln!("SKIPPED: MEBRIDGE_MG5_OUTPUTS does not name a folder with MG5aMC outputs");
        return None;
    };
    let reference = std::env::var_os("MEBRIDGE_REFERENCE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference"),
        PathBuf::from,
    );
    if !reference.is_dir() {
        eprintln!(
            "SKIPPED: there are no reference files in {}",
            reference.display()
        );
        return None;
    }
    Some((outputs, reference))
}

/// One line of a reference file.
struct Event {
    momenta: Vec<[f64; 4]>,
    g: f64,
    helicity_random: f64,
    color_random: f64,
    channel: u32,
    total: f64,
    helicity: u32,
    in_channel: f64,
    color: u32,
}

fn events(text: &str) -> Vec<Event> {
    let mut events = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let x: Vec<f64> = line
            .split_whitespace()
            .map(|w| w.parse().unwrap())
            .collect();
        let (p, rest) = x.split_at(x.len() - 9);
        events.push(Event {
            momenta: p.chunks(4).map(|c| c.try_into().unwrap()).collect(),
            g: rest[0],
            helicity_random: rest[1],
            color_random: rest[2],
            channel: rest[3] as u32,
            total: rest[4],
            helicity: rest[5] as u32,
            in_channel: rest[6],
            color: rest[8] as u32,
        });
    }
    events
}

/// The number in `# goodhel N of M`.
fn good_helicities(text: &str) -> usize {
    let line = text.lines().find(|l| l.starts_with("# goodhel"));
    let words = line.map(|l| l.split_whitespace().nth(2));
    words.flatten().unwrap().parse().unwrap()
}

/// Whether `random` is at an edge of the running sums of these weights.
fn at_edge(weights: impl Iterator<Item = f64> + Clone, random: f64) -> bool {
    let total: f64 = weights.clone().sum();
    let mut running = 0.0;
    weights.into_iter().any(|w| {
        running += w;
        (running / total - random).abs() < EDGE
    })
}

#[test]
fn all_reference_files() {
    let Some((outputs, reference)) = folders() else {
        return;
    };
    let count: usize = std::env::var("MEBRIDGE_REFERENCE_EVENTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(8);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&reference)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| {
            let name = p.file_name().unwrap().to_string_lossy();
            name.ends_with(".dat") && name.matches('.').count() == 2
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no reference files");
    let only = std::env::var("MEBRIDGE_REFERENCE_ONLY").unwrap_or_default();
    let mut failures = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.contains(&only) {
            continue;
        }
        let (output, process) = name.split_once('.').unwrap();
        let dir = outputs
            .join(format!("{output}.mad"))
            .join("SubProcesses")
            .join(process);
        match compare(&dir, &std::fs::read_to_string(&file).unwrap(), count) {
            Ok(line) => println!("{name:44} {line}"),
            Err(line) => {
                println!("{name:44} FAILED {line}");
                failures.push(name);
            }
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

fn compare(dir: &Path, text: &str, count: usize) -> Result<String, String> {
    let start = std::time::Instant::now();
    let processes = import_directory(dir).map_err(|e| e.to_string())?;
    let imported = start.elapsed();
    let [process] = processes.as_slice() else {
        return Err(format!("{} processes", processes.len()));
    };
    let card = process.model.default_card();
    let all = events(text);
    // Channels change every 16 events: take some of each.
    let step = (all.len() / count.max(1)).max(1);
    let (mut worst, mut worst_channel, mut checked) = (0.0f64, 0.0f64, 0);
    let mut good = vec![false; process.helicities.len()];
    for (i, event) in all.iter().enumerate().step_by(step) {
        let result = process.evaluate(&event.momenta, event.g, &card);
        for (good, &x) in good.iter_mut().zip(&result.contributions) {
            *good |= x != 0.0;
        }
        worst = worst.max((result.total() / event.total - 1.0).abs());
        let in_channel = result.in_channel(&process.channels, event.channel);
        worst_channel = worst_channel.max((in_channel / event.in_channel - 1.0).abs());
        let helicity = result.helicity(event.helicity_random);
        let edge = at_edge(result.contributions.iter().copied(), event.helicity_random);
        if helicity != event.helicity && !edge {
            return Err(format!(
                "event {i}: helicity {helicity} and not {}",
                event.helicity
            ));
        }
        let config = process.channels.config_of(event.channel);
        let config = config.ok_or_else(|| format!("no channel {}", event.channel))?;
        let color = result.color(&process.channels, config, event.color_random);
        let allowed = &process.channels.color_allowed[config];
        let weights = result.jamp2.iter().zip(allowed);
        let weights = weights.map(|(&w, &is)| if is { w } else { 0.0 });
        if color != event.color && !at_edge(weights, event.color_random) {
            return Err(format!("event {i}: colour {color} and not {}", event.color));
        }
        checked += 1;
    }
    let good = good.iter().filter(|g| **g).count();
    let line = format!(
        "{checked:3} events  |M|^2 {worst:.1e}  in channel {worst_channel:.1e}  helicities {good}  \
         import {:.0} ms",
        imported.as_secs_f64() * 1e3
    );
    // NaN must fail, too.
    let close = worst <= TOLERANCE && worst_channel <= TOLERANCE;
    if !close || good != good_helicities(text) {
        return Err(line);
    }
    Ok(line)
}
