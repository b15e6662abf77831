use super::*;
use crate::records::{self, RoundWeights};
use mebridge::lhe::{Event, record_bytes};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes a round of events with particles of these PDG codes, masses and momentum factors. Transverse momenta are
/// uniform from 0 to half of the number of events times the factor, and rapidities from -2 to 3.
fn round(
    path: &Path,
    events: usize,
    kinds: &[(i32, f64, f64)],
    weight: fn(usize) -> f64,
) -> RoundFile {
    let mut bytes = Vec::new();
    for number in 0..events {
        let incoming = Particle {
            pdg: 21,
            status: -1,
            ..Particle::default()
        };
        let mut event = Event::default();
        (event.weight, event.particles) = (weight(number), vec![incoming; 2]);
        for (place, &(pdg, mass, factor)) in kinds.iter().enumerate() {
            let momentum = factor * (number as f64 + 0.5) / 2.0;
            let other = (7 * number + 3 * place) % events;
            let rapidity = -2.0 + 5.0 * (other as f64 + 0.5) / events as f64;
            let energy = momentum.hypot(mass);
            let [z, e] = [rapidity.sinh(), rapidity.cosh()].map(|of| energy * of);
            event.particles.push(Particle {
                pdg,
                status: 1,
                momentum: [0.6 * momentum, -0.8 * momentum, z, e, mass],
                ..Particle::default()
            });
        }
        let end = bytes.len() + record_bytes(5).unwrap();
        event.push_head(&mut bytes);
        event.push_particles(&mut bytes);
        bytes.resize(end, 0);
    }
    records::begin(path, events, 5).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(&bytes).unwrap();
    RoundFile {
        file: path.to_owned(),
        events,
        weights: RoundWeights::read(path, &[1.0]).unwrap(),
    }
}

fn text(rounds: &[RoundFile]) -> String {
    Spectra::from_rounds(rounds).unwrap().text()
}

/// The text is that of the former Python package.
#[test]
fn shares_have_weights_and_partons_are_one_kind() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = [(6, 173.0, 1.0), (-6, 173.0, 1.0), (2, 0.0, 3.0)];
    let weight = |number| if number % 8 == 7 { -1.0 } else { 1.0 };
    let found = text(&[round(&folder.path().join("a.npy"), 240, &kinds, weight)]);
    let even = " 10.00 ########################";
    let mut wanted = "\nspectra of 240 events, % of the particles\n\n\
                      pt of t t~, GeV                                rapidity\n\n"
        .to_owned();
    for bin in 0..12 {
        let (share, bar) = [("8.89", 24), ("7.78", 21)][bin % 2];
        let left = format!("{:8}   {share} {}", 10 * bin, "#".repeat(bar));
        let begin = significant(-3.0 + 0.5 * bin as f64, 4);
        let right = if bin < 2 { "  0.00" } else { even };
        wanted += &format!("{left:47}{begin:>8} {right}\n");
    }
    let (tops, partons) = found
        .split_once("\npt of partons (g, d to b), GeV")
        .unwrap();
    assert_eq!(tops, wanted);
    let pt: Vec<&str> = partons
        .lines()
        .skip(2)
        .map(|line| line[..47.min(line.len())].trim())
        .collect();
    let bars = [
        ("13.89", 23),
        ("14.44", 24),
        ("13.89", 23),
        ("13.89", 23),
        ("14.44", 24),
        ("12.78", 21),
        ("13.89", 23),
        (" 2.78", 5),
    ];
    for (bin, (share, bar)) in bars.into_iter().enumerate() {
        assert_eq!(
            pt[bin],
            format!("{}  {share} {}", 50 * bin, "#".repeat(bar))
        );
    }
    assert_eq!(pt[11], "550   0.00");
}

/// Rounds store weights in different units; in the event file most are equal.
#[test]
fn rounds_have_one_weight() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, weight: fn(usize) -> f64, nominal: f64| {
        let path = folder.path().join(name);
        let mut found = round(&path, 20, &[(6, 173.0, 1.0)], weight);
        found.weights.nominal = nominal;
        found
    };
    let one =
        Spectra::from_rounds(&[of("a.npy", |_| 2.0, 2.0), of("b.npy", |_| 3.0, 3.0)]).unwrap();
    assert_eq!((one.events, one.weight), (40, 40.0));
    let entries: u64 = one.all[0]
        .histogram
        .bins
        .iter()
        .map(|bin| bin.entries)
        .sum();
    let sum: f64 = one.all[0].histogram.bins.iter().map(|bin| bin.sum).sum();
    assert_eq!(entries as f64, sum);
}

#[test]
fn negative_weights_leave_zeros_without_a_sign() {
    let folder = tempfile::tempdir().unwrap();
    let round = round(
        &folder.path().join("a.npy"),
        100,
        &[(6, 173.0, 1.0)],
        |_| -1.0,
    );
    let found = text(&[round]);
    assert!(
        found.contains("   0.00") && !found.contains("-0.00"),
        "{found}"
    );
}

#[test]
fn what_goes_along_a_beam() {
    let along = Particle {
        momentum: [0.0, 0.0, -10.0, 10.0, 0.0],
        ..Particle::default()
    };
    let [transverse, rapidity] = transverse_and_rapidity(&along);
    assert_eq!(transverse, 0.0);
    assert!(rapidity < -300.0 && rapidity.is_finite());
    // A particle at rest without mass has a rapidity, too.
    let [_, rapidity] = transverse_and_rapidity(&Particle::default());
    assert_eq!(rapidity, 0.0);
}

#[test]
fn bins_are_round_and_hold_nearly_all() {
    for (width, wanted) in [
        (0.9, 1.0),
        (1.0, 1.0),
        (2.1, 2.5),
        (26.0, 50.0),
        (3e-9, 5e-9),
        (7.0, 10.0),
    ] {
        assert!((rounded(width) / wanted - 1.0).abs() < 1e-12, "{width}");
    }
    assert_eq!(from_zero(&[0.0; 3]), [0.0, 12e-6]);
    let values: Vec<f64> = (0..=100).map(f64::from).collect();
    assert_eq!(quantile(values.clone(), 0.99), 99.0);
    assert_eq!(quantile(values[..3].to_vec(), 0.75), 1.5);
    assert_eq!(from_zero(&values), [0.0, 120.0]);
    assert_eq!(around_zero(&values), [-120.0, 120.0]);
}

#[test]
fn no_events() {
    assert_eq!(text(&[]), "");
}

/// A particle with this transverse momentum and rapidity 0.
fn across(pdg: i32, transverse: f64) -> Particle {
    Particle {
        pdg,
        status: 1,
        momentum: [transverse, 0.0, 0.0, transverse, 0.0],
        ..Particle::default()
    }
}

/// Two particles of an event in one bin are fully correlated; in two bins or two events they are independent.
#[test]
fn errors_are_of_events() {
    let kinds = [22];
    let ranges = Ranges::from([(22, [[0.0, 12.0], [-6.0, 6.0]])]);
    let mut spectra = Collection::default().spectra(&[], &Ranges::new());
    assert_eq!(spectra.text(), "");
    spectra.all = Spectra::new(&kinds, &ranges).all;
    spectra.add(
        [across(22, 0.5), across(-22, 0.6), across(22, 3.0)].into_iter(),
        2.0,
    );
    spectra.add(
        [across(22, 0.5), across(22, 12.0), across(22, 12.5)].into_iter(),
        -1.0,
    );
    let histogram = &spectra.all[0].histogram;
    assert_eq!(
        (histogram.bins[0].sum, histogram.bins[0].squares),
        (3.0, 17.0)
    );
    assert_eq!(histogram.bins[0].error(), 17.0_f64.sqrt());
    assert_eq!(
        (histogram.bins[3].sum, histogram.bins[3].error()),
        (2.0, 2.0)
    );
    assert_eq!(
        (histogram.bins[11].sum, histogram.outside[1].sum),
        (-1.0, -1.0)
    );
    assert_eq!(histogram.bins[3].moments, [6.0, 18.0]);
    assert_eq!((histogram.bins[0].entries, histogram.total.sum), (3, 3.0));
    assert_eq!((spectra.events, spectra.weight), (2, 1.0));
    // The same events, collected before they are binned.
    let mut collected = Collection::default();
    collected.add(
        [across(22, 0.5), across(-22, 0.6), across(22, 3.0)].into_iter(),
        2.0,
    );
    collected.add(
        [across(22, 0.5), across(22, 12.0), across(22, 12.5)].into_iter(),
        -1.0,
    );
    assert_eq!(collected.spectra(&kinds, &ranges), spectra);
}
