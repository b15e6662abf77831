//! An answer depends only on its event: not on the number of events, on the event's position among them, on the SIMD
//! level, on threads, on earlier calls, or on the channels of its neighbours in a register.

use crate::batch::{Batch, Outcome, bridge, cpu, worst};
use crate::kinematics::points;
use crate::processes::{gg_ttx, with_more_gluons};
use mebridge::process::Process;
use mebridge::runtime::{Precision, Switches};
use mebridge::simd::Level;

const EVENTS: usize = 40;
/// All channels of g g > t t~.
const CHANNELS: [i32; 3] = [1, 2, 3];

fn switches(level: Level, precision: Precision, threads: usize) -> Switches {
    Switches {
        simd: Some(level.name().into()),
        precision,
        threads,
        ..cpu()
    }
}

/// Forty different events, in alternating channels, the first three of the process.
fn batch(process: &Process) -> Batch {
    let card = process.model.default_card();
    let points = points(process, &card, 800.0, EVENTS, 41);
    let diagrams = process.channels.config_diagram.iter();
    let channels: Vec<i32> = diagrams.filter(|&&d| d != 0).map(|&d| d as i32).collect();
    let batch = Batch::new(&points, 1.0).varied(42);
    batch.in_channels(&channels[..3])
}

fn answers(process: &Process, switches: &Switches, batch: &Batch) -> Outcome {
    let card = process.model.default_card();
    batch.run(&mut bridge(process, &card, switches))
}

fn every_level_and_precision(mut check: impl FnMut(Level, Precision)) {
    for level in Level::supported() {
        for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
            check(level, precision);
        }
    }
}

/// Bit for bit the same for every number of events from 1 to 40, and for every first event,
/// which shifts all events among the lanes of a register.
#[test]
fn neither_the_number_of_events_nor_the_place_matters() {
    let process = gg_ttx();
    let all = batch(&process);
    every_level_and_precision(|level, precision| {
        let switches = switches(level, precision, 1);
        let reference = answers(&process, &switches, &all);
        for n in 1..=EVENTS {
            let got = answers(&process, &switches, &all.part(0..n));
            assert_eq!(got, reference.part(0..n), "{n} events at {level}");
            let got = answers(&process, &switches, &all.part(n - 1..EVENTS));
            let expected = reference.part(n - 1..EVENTS);
            assert_eq!(got, expected, "from event {n} on at {level}");
        }
    });
}

/// Enough events to wake all threads.
const MANY: usize = 1500;

/// The forty events over and over.
fn many(process: &Process) -> Batch {
    let card = process.model.default_card();
    let points = points(process, &card, 800.0, EVENTS, 41);
    let points: Vec<_> = points.iter().cycle().take(MANY).cloned().collect();
    Batch::new(&points, 1.0).varied(43).in_channels(&CHANNELS)
}

/// Bit for bit the same for any distribution of the events over threads.
#[test]
fn threads_do_not_matter() {
    let process = gg_ttx();
    let all = many(&process);
    every_level_and_precision(|level, precision| {
        let reference = answers(&process, &switches(level, precision, 1), &all);
        for threads in [2, 3] {
            let switches = switches(level, precision, threads);
            let card = process.model.default_card();
            let mut bridge = bridge(&process, &card, &switches);
            for n in [EVENTS, 1, 2, 7, 33, MANY, MANY - 5, 700, EVENTS] {
                let got = all.part(0..n).run(&mut bridge);
                assert_eq!(got, reference.part(0..n), "{n} events, {threads} threads");
            }
        }
    });
}

/// Of several events with bad momenta the first is named, whichever thread meets its own first.
#[test]
fn the_first_bad_event_is_named_with_any_number_of_threads() {
    let process = gg_ttx();
    let good = many(&process);
    let numbers = 4 * process.legs.len();
    for bad in [[1203, 1204, MANY - 1], [311, 1100, 1300], [0, 1, 900]] {
        let mut batch = good.clone();
        for event in bad {
            batch.momenta[event * numbers + 5] = f64::NAN;
        }
        for threads in [1, 2, 3] {
            let switches = switches(Level::best(), Precision::Double, threads);
            let card = process.model.default_card();
            let mut bridge = bridge(&process, &card, &switches);
            // The good helicities come from good events.
            good.run(&mut bridge);
            for _ in 0..20 {
                let message = batch.try_run(&mut bridge).unwrap_err().to_string();
                let event = format!("event {} (from 0)", bad[0]);
                assert!(message.starts_with(&event), "{threads} threads: {message}");
            }
            // And the bridge still works.
            let expected = good.run(&mut bridge);
            assert_eq!(expected, good.run(&mut bridge));
        }
    }
}

/// Bit for bit the same in a second call, after calls with other events, without channels, with
/// other channels.
#[test]
fn earlier_calls_do_not_matter() {
    let process = gg_ttx();
    let all = batch(&process);
    let card = process.model.default_card();
    every_level_and_precision(|level, precision| {
        let switches = switches(level, precision, 1);
        let mut bridge = bridge(&process, &card, &switches);
        let reference = all.run(&mut bridge);
        let mut others = all.part(7..20).in_channels(&[3]).with_igraph(&[1, 2]);
        others.run(&mut bridge);
        assert_eq!(all.run(&mut bridge), reference);
        others.channels = None;
        others.igraph = None;
        others.run(&mut bridge);
        assert_eq!(all.run(&mut bridge), reference);
    });
}

/// At every SIMD level the same choices, and the same |M|^2 up to the rounding of fused
/// multiplications and additions.
#[test]
fn the_simd_level_does_not_matter() {
    for process in [gg_ttx()].into_iter().chain(with_more_gluons()) {
        let all = batch(&process);
        for (precision, tolerance) in [(Precision::Double, 1e-12), (Precision::Mixed, 1e-5)] {
            let reference = answers(&process, &switches(Level::None, precision, 1), &all);
            for level in Level::supported() {
                let got = answers(&process, &switches(level, precision, 1), &all);
                let deviation = worst(&got.squared, &reference.squared);
                assert!(deviation < tolerance, "{level}: {deviation:e}");
                if precision == Precision::Double {
                    assert_eq!(got.helicity, reference.helicity, "{level}");
                    assert_eq!(got.color, reference.color, "{level}");
                }
            }
        }
    }
}

/// Events in different channels share a register: each gets what it gets when all are in its
/// channel, bit for bit.
#[test]
fn the_channels_of_neighbours_do_not_matter() {
    for process in [gg_ttx()].into_iter().chain(with_more_gluons()) {
        let diagrams = &process.channels.config_diagram;
        // All of g g > t t~'s; of a larger process a prime number of them spread over the list.
        let channels: Vec<i32> = (0..diagrams.len().min(7))
            .map(|i| diagrams[i * diagrams.len() / diagrams.len().min(7)] as i32)
            .filter(|&d| d != 0)
            .collect();
        assert!(channels.len() >= 3);
        let mixed = batch(&process).in_channels(&channels);
        every_level_and_precision(|level, precision| {
            let card = process.model.default_card();
            let mut bridge = bridge(&process, &card, &switches(level, precision, 1));
            let got = mixed.run(&mut bridge);
            let mut different = 0;
            for &channel in &channels {
                let alone = mixed.clone().in_channels(&[channel]).run(&mut bridge);
                for i in 0..EVENTS {
                    if mixed.channels.as_ref().unwrap()[i] == channel {
                        assert_eq!(
                            got.part(i..i + 1),
                            alone.part(i..i + 1),
                            "{channel} {level}"
                        );
                    } else if got.squared[i] != alone.squared[i] {
                        different += 1;
                    }
                }
            }
            // The channel does matter for the event itself.
            assert!(different > EVENTS, "{different}");
        });
    }
}

/// The weight depends on the channel, the colour flow on igraph if that is not 0.
#[test]
fn igraph_decides_the_colour_and_the_channel_the_weight() {
    let process = gg_ttx();
    let channels = &process.channels;
    assert_eq!(channels.config_diagram, [1, 2, 3]);
    // Otherwise an igraph could not be distinguished from the channel.
    assert!(channels.color_allowed[1] != channels.color_allowed[2]);
    let all = batch(&process);
    let card = process.model.default_card();
    every_level_and_precision(|level, precision| {
        let mut bridge = bridge(&process, &card, &switches(level, precision, 1));
        let alone: Vec<Outcome> = CHANNELS
            .iter()
            .map(|&c| all.clone().in_channels(&[c]).run(&mut bridge))
            .collect();
        let plain = {
            let mut plain = all.clone();
            plain.channels = None;
            plain.run(&mut bridge)
        };
        assert!(plain.color.iter().all(|&c| c == 0));
        let igraph = [0, 3, 2, 2, 1];
        let both = all.clone().with_igraph(&igraph);
        let got = both.run(&mut bridge);
        let mut only_igraph = both.clone();
        only_igraph.channels = None;
        let without = only_igraph.run(&mut bridge);
        for i in 0..EVENTS {
            let channel = CHANNELS[i % CHANNELS.len()];
            let igraph = igraph[i % igraph.len()];
            let of = |n: i32| &alone[n as usize - 1];
            assert_eq!(got.squared[i], of(channel).squared[i]);
            assert_eq!(got.helicity[i], of(channel).helicity[i]);
            assert_eq!(without.squared[i], plain.squared[i]);
            assert_eq!(without.helicity[i], plain.helicity[i]);
            let config = if igraph == 0 { channel } else { igraph };
            assert_eq!(got.color[i], of(config).color[i]);
            let config_alone = if igraph == 0 { 0 } else { of(igraph).color[i] };
            assert_eq!(without.color[i], config_alone);
        }
    });
}
