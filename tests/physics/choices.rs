//! A helicity and a colour are chosen for any random number.

use crate::batch::{Batch, bridge, cpu};
use crate::kinematics::points;
use crate::processes::gg_ttx;
use mebridge::runtime::{Precision, Switches};
use mebridge::simd::Level;

#[test]
fn random_numbers_close_to_one_choose_something() {
    let process = gg_ttx();
    let card = process.model.default_card();
    let numbers = [0.0, 1.0 - 1e-7, 1.0 - 2e-8, 1.0 - 1e-8, 1.0f64.next_down()];
    let points = points(&process, &card, 800.0, 21, 5);
    let mut batch = Batch::new(&points, 1.2).in_channels(&[1, 2, 3]);
    for event in 0..points.len() {
        batch.random_helicity[event] = numbers[event % 5];
        batch.random_color[event] = numbers[(event / 5) % 5];
    }
    let helicities = process.helicities.len() as i32;
    let last = (helicities - 3)..=helicities;
    for level in Level::supported() {
        for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
            let switches = Switches {
                simd: Some(level.name().into()),
                precision,
                ..cpu()
            };
            let outcome = batch.run(&mut bridge(&process, &card, &switches));
            for event in 0..points.len() {
                let (helicity, color) = (outcome.helicity[event], outcome.color[event]);
                assert!(color > 0, "{level} {precision:?}: event {event}");
                if batch.random_helicity[event] > 0.0 {
                    assert!(
                        last.contains(&helicity),
                        "{level} {precision:?}: {helicity}"
                    );
                } else {
                    assert_eq!(helicity, 1);
                }
            }
        }
    }
}
