//! Momenta must be conserved, to the accuracy of event files.

use crate::batch::{Batch, bridge, cpu};
use crate::kinematics::points;
use crate::processes::gg_ttx;
use mebridge::runtime::{Precision, Switches};
use mebridge::simd::Level;

#[test]
fn momenta_that_are_not_conserved_are_refused() {
    let process = gg_ttx();
    let card = process.model.default_card();
    let points = points(&process, &card, 800.0, 20, 11);
    let batch = Batch::new(&points, 1.2);
    let mut turned = batch.clone();
    // Another direction of one leg, which stays on its mass shell.
    turned
        .momenta
        .swap(13 * 16 + 4 * 3 + 1, 13 * 16 + 4 * 3 + 3);
    let mut rounded = batch.clone();
    for x in &mut rounded.momenta {
        *x = format!("{x:.5e}").parse().unwrap();
    }
    for level in Level::supported() {
        for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
            let switches = Switches {
                simd: Some(level.name().into()),
                precision,
                ..cpu()
            };
            let mut bridge = bridge(&process, &card, &switches);
            let message = turned.try_run(&mut bridge).unwrap_err().to_string();
            assert!(
                message.starts_with("event 13 (from 0)") && message.contains("differ by"),
                "{message}"
            );
            rounded.run(&mut bridge);
        }
    }
}
