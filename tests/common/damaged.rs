//! Arbitrary processes: valid headers for damaged files, and events to evaluate.

use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::phase_space::PhaseSpace;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, Switches};

/// Bytes of a process file ahead of its body.
pub const HEADER: usize = 24;

/// Sets length and checksum to those of the body.
pub fn seal(bytes: &mut [u8]) {
    let length = (bytes.len() - HEADER) as u64;
    let crc = crc32fast::hash(&bytes[HEADER..]);
    bytes[12..20].copy_from_slice(&length.to_le_bytes());
    bytes[20..24].copy_from_slice(&crc.to_le_bytes());
}

/// Momenta of a + b > c + d with the masses that `process` has, and 500 GeV for each leg, or of 2 > 3 without masses;
/// `None` of a process with other legs.
pub fn momenta(process: &Process) -> Option<Vec<f64>> {
    if process.legs.len() == 5 {
        let space = PhaseSpace::new(1000.0, &[0.0; 2], &[0.0; 3]).ok()?;
        let mut momenta = vec![0.0; 3 * space.components()];
        for (event, x) in momenta
            .chunks_exact_mut(space.components())
            .zip([0.3, 0.4, 0.7])
        {
            let random: Vec<f64> = (1..=space.randoms())
                .map(|i| (x + 0.61 * i as f64).fract())
                .collect();
            space.event(&random, event);
        }
        return Some(momenta);
    }
    if process.legs.len() != 4 {
        return None;
    }
    let card = process.model.default_card();
    let values = process.model.evaluate(&card, 1.2);
    let momentum = |leg: usize| {
        let mass = process.legs[leg].mass.0.map_or(0.0, |i| {
            values[process.model.parameters[i as usize].value as usize].re
        });
        (500.0 * 500.0 - mass * mass).sqrt()
    };
    let (p, q) = (momentum(0), momentum(2));
    let event = |cosine: f64| {
        let (x, z) = (q * (1.0 - cosine * cosine).sqrt(), q * cosine);
        [
            [500.0, 0.0, 0.0, p],
            [500.0, 0.0, 0.0, -p],
            [500.0, x, 0.0, z],
            [500.0, -x, 0.0, -z],
        ]
    };
    let events = [0.3, -0.8, 0.5].map(event);
    Some(events.iter().flatten().flatten().copied().collect())
}

/// Evaluates three events; any answer and any error is accepted.
pub fn evaluate(process: Process, momenta: &[f64]) -> bool {
    let card = process.model.default_card();
    let (numbers, channels) = ([0.5; 3], [1; 3]);
    let events = Events {
        momenta,
        g_s: &numbers,
        random_helicity: &numbers,
        random_color: &numbers,
        // Without diagrams there are none.
        channels: (!process.is_color_ordered()).then_some(&channels[..]),
        igraph: None,
    };
    let (mut mes, mut helicity, mut color) = ([0.0; 3], [0; 3], [0; 3]);
    let mut answers = Answers {
        matrix_elements: &mut mes,
        helicity: &mut helicity,
        color: &mut color,
    };
    let switches = Switches {
        backend: BackendChoice::Cpu,
        ..Switches::default()
    };
    Bridge::new(process, &card, &switches, 3)
        .and_then(|mut bridge| bridge.run(&events, &mut answers))
        .is_ok()
}
