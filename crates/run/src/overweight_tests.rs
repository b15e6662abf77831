use super::*;
use crate::records::{self, RoundWeights};
use std::io::Write;
use std::path::Path;

/// A round of events without particles, with these weights.
fn round(file: &Path, weights: &[f64]) -> RoundFile {
    records::begin(file, weights.len(), 1).unwrap();
    let mut bytes = Vec::new();
    for weight in weights {
        let mut record = vec![0; mebridge::lhe::record_bytes(1).unwrap()];
        record[4..12].copy_from_slice(&weight.to_le_bytes());
        bytes.extend(record);
    }
    let mut file_of = std::fs::OpenOptions::new().append(true).open(file).unwrap();
    file_of.write_all(&bytes).unwrap();
    RoundFile {
        file: file.to_owned(),
        events: weights.len(),
        weights: RoundWeights::read(file, weights).unwrap(),
    }
}

#[test]
fn heavy_events_stay_more_often() {
    let place = tempfile::tempdir().unwrap();
    // In each thousand, a hundred weigh twice as much, some with the other sign; rounds have different units.
    let weights = |unit: f64| -> Vec<f64> {
        let of = |event: usize| match event % 10 {
            0 => -2.0 * unit,
            _ => unit,
        };
        (0..20_000).map(of).collect()
    };
    let rounds = [
        round(&place.path().join("a.npy"), &weights(3.0)),
        round(&place.path().join("b.npy"), &weights(0.1)),
    ];
    // Half of the light events and all of the heavy ones may stay.
    let share = ChosenEvents::choose(&rounds, 40_000, 7)
        .unwrap()
        .unwrap_err();
    assert!((share - 0.55).abs() < 0.01, "{share}");
    let choice = ChosenEvents::choose(&rounds, 15_000, 7).unwrap().unwrap();
    let kept = |heavy: bool| {
        let events = (0..40_000).filter(|event| (event % 10 == 0) == heavy);
        let times = if heavy { 2.0 } else { 1.0 };
        events.filter(|&event| choice.keeps(event, times)).count()
    };
    let (light, heavy) = (kept(false), kept(true));
    assert_eq!(light + heavy, 15_000);
    let ratio = (heavy as f64 / 4000.0) / (light as f64 / 36_000.0);
    assert!((ratio - 2.0).abs() < 0.1, "{ratio}");
    assert_ne!(
        ChosenEvents::choose(&rounds, 15_000, 8).unwrap().unwrap(),
        choice
    );
}

#[test]
fn summaries_say_what_became_of_them() {
    let above = Overweights {
        events: 65,
        share: 0.00361,
        largest: 1.5571,
    };
    let line = |rule: Overweight| rule.line(above, 7800, 5000).unwrap();
    assert_eq!(
        line(Overweight::Keep),
        "65 events weigh more than the others, up to 1.56 times: 0.36% of the cross section"
    );
    assert!(line(Overweight::Truncate).contains("lack 0.36% of the cross section"));
    assert!(line(Overweight::Unweight).starts_with("7800 events were made for 5000 of one weight"));
    let none = Overweights {
        events: 0,
        share: 0.0,
        largest: 1.0,
    };
    assert_eq!(Overweight::Keep.line(none, 1, 1), None);
    for name in NAMES {
        let rule = Overweight::from_name(name).unwrap();
        assert_eq!(serde_json::to_string(&rule).unwrap(), format!("\"{name}\""));
    }
}
