use super::*;
use crate::random::Philox;
use crate::sums::{Estimate, WeightSums};

const BLOCK: usize = 512;

/// One part of a survey: its sums of weights, and the training data of the grid.
fn part(
    grid: &Grid,
    round: u16,
    blocks: u64,
    integrand: impl Fn(&[f64]) -> f64,
) -> (WeightSums, Training) {
    let philox = Philox {
        seed: 5,
        round,
        channel: 1,
    };
    let dimensions = grid.dimensions();
    let (mut numbers, mut mapped) = (
        Rows::new(dimensions, BLOCK),
        Rows::new(dimensions + 1, BLOCK),
    );
    let (mut sums, mut training) = (WeightSums::default(), Training::new(dimensions));
    for block in 0..blocks {
        let level = Level::best();
        philox.fill(
            level,
            block * BLOCK as u64,
            0..dimensions as u32,
            &mut numbers,
            0,
        );
        grid.map(level, &numbers, &mut mapped);
        let weights: Vec<f64> = (0..BLOCK)
            .map(|point| {
                let x: Vec<f64> = (0..dimensions).map(|d| mapped.row(d)[point]).collect();
                integrand(&x) * mapped.row(dimensions)[point]
            })
            .collect();
        sums.merge(&WeightSums::new(&weights));
        let mut own = Training::new(dimensions);
        own.add(&numbers, &weights);
        training.merge(&own);
    }
    (sums, training)
}

/// The grid after some parts of a survey, and the sums of the first and the last part.
fn survey(
    dimensions: usize,
    parts: u16,
    integrand: impl Fn(&[f64]) -> f64,
) -> (Grid, [Estimate; 2]) {
    let mut grid = Grid::new(dimensions);
    let mut found = Vec::new();
    for round in 0..parts {
        let (sums, training) = part(&grid, round, 8, &integrand);
        grid.adapt(&training, 0.7);
        found.push(sums.mean());
    }
    (grid, [found[0], found[usize::from(parts) - 1]])
}

fn assert_found(found: Estimate, expected: f64) {
    let pull = (found.mean - expected) / found.error;
    assert!(pull.abs() < 4.0, "{found:?}, {expected}");
}

/// Rows with one value each.
fn rows(values: &[f64]) -> Rows {
    let mut rows = Rows::new(values.len(), 1);
    for (row, &value) in values.iter().enumerate() {
        rows.row_mut(row)[0] = value;
    }
    rows
}

fn pole(x: &[f64]) -> f64 {
    1.0 / (x[0] + 1e-3)
}

#[test]
fn a_new_grid_changes_nothing() {
    let grid = Grid::new(3);
    let values = [0.25, f64::EPSILON / 2.0, f64::BELOW_ONE];
    let mut to = Rows::new(4, 1);
    grid.map(Level::None, &rows(&values), &mut to);
    let found = [0, 1, 2, 3].map(|row| to.row(row)[0]);
    assert_eq!(found, [values[0], values[1], values[2], 1.0]);
}

#[test]
fn a_product_of_peaks_is_integrated_and_its_error_falls() {
    let width: f64 = 0.05;
    let (_, [first, last]) = survey(3, 8, |x| {
        let square: f64 = x.iter().map(|x| ((x - 0.4) / width).powi(2)).sum();
        (-0.5 * square).exp()
    });
    // The tails beyond 8 and 12 widths are below 1e-15.
    let expected = (width * std::f64::consts::TAU.sqrt()).powi(3);
    assert_found(last, expected);
    // Flat points have a relative error of 0.2 here.
    assert!(last.error < 0.06 * first.error, "{first:?}, {last:?}");
    assert!(last.error < 0.01 * expected, "{last:?}");
}

#[test]
fn a_pole_is_integrated_and_its_variance_nearly_vanishes() {
    let (_, [first, last]) = survey(1, 8, pole);
    assert_found(last, 1001_f64.ln());
    // From a spread of 4.5 times the mean to a fifth of it.
    assert!(last.error < 0.045 * first.error, "{first:?}, {last:?}");
}

#[test]
fn levels_give_the_same_bits_and_the_inverse_gives_numbers_back() {
    let (grid, _) = survey(1, 4, pole);
    let philox = Philox {
        seed: 9,
        round: 0,
        channel: 0,
    };
    let (mut numbers, mut to) = (Rows::new(1, 1001), Rows::new(2, 1001));
    philox.fill(Level::None, 0, 0..1, &mut numbers, 0);
    // The outermost and those at edges.
    let special = [f64::EPSILON / 2.0, f64::BELOW_ONE, 0.5, 0.015625];
    numbers.row_mut(0)[..4].copy_from_slice(&special);
    grid.map(Level::None, &numbers, &mut to);
    let mut back = Rows::new(2, 1001);
    grid.invert(&to, &mut back);
    for (point, &number) in numbers.row(0).iter().enumerate() {
        let (x, found) = (to.row(0)[point], back.row(0)[point]);
        assert!(x > 0.0 && x < 1.0);
        assert!((found - number).abs() < 1e-14, "{found}, {number}");
        assert_eq!(back.row(1)[point], to.row(1)[point], "{number}");
    }
    for level in Level::ALL.into_iter().filter(|level| level.is_supported()) {
        let mut other = Rows::new(2, 1001);
        grid.map(level, &numbers, &mut other);
        for row in 0..2 {
            assert_eq!(other.row(row), to.row(row), "{level}");
        }
    }
}

#[test]
fn jacobians_of_all_bins_add_up() {
    let (grid, _) = survey(2, 4, |x| 1.0 / (x[0] + 1e-3) / (1.0001 - x[1]));
    let side = BINS * BINS;
    let (mut numbers, mut to) = (Rows::new(2, side), Rows::new(3, side));
    for point in 0..side {
        let number = |bin: usize| (bin as f64 + 0.5) / BINS as f64;
        numbers.row_mut(0)[point] = number(point % BINS);
        numbers.row_mut(1)[point] = number(point / BINS);
    }
    grid.map(Level::best(), &numbers, &mut to);
    let mean = to.row(2).iter().sum::<f64>() / side as f64;
    assert!((mean - 1.0).abs() < 1e-13, "{mean}");
}

#[test]
fn training_by_nothing_leaves_the_grid_as_it_is() {
    let (grid, _) = survey(2, 2, |x| pole(x) * x[1]);
    let mut numbers = Rows::new(2, 3);
    numbers.row_mut(0).copy_from_slice(&[0.1, 0.2, 0.3]);
    numbers.row_mut(1).copy_from_slice(&[0.4, 0.5, 0.6]);
    for weights in [[0.0; 3], [f64::NAN, f64::INFINITY, -1e200]] {
        let mut training = Training::new(2);
        training.add(&numbers, &weights);
        let mut after = grid.clone();
        after.adapt(&training, 0.7);
        assert_eq!(after, grid);
    }
}

#[test]
fn unusable_weights_do_not_count_beside_others() {
    let (grid, _) = survey(1, 2, pole);
    let (clean, with_nan) = (
        part(&grid, 7, 2, pole),
        part(
            &grid,
            7,
            2,
            |x| {
                if x[0] < 0.01 { f64::NAN } else { pole(x) }
            },
        ),
    );
    let cut = part(&grid, 7, 2, |x| if x[0] < 0.01 { 0.0 } else { pole(x) });
    assert!(with_nan.0.unusable() > 0);
    assert_eq!(with_nan.1, cut.1);
    assert_ne!(with_nan.1, clean.1);
    assert_eq!(with_nan.0.mean(), cut.0.mean());
}

#[test]
fn damping_of_zero_moves_nothing_and_less_damping_less() {
    let grid = Grid::new(1);
    let (_, training) = part(&grid, 0, 4, pole);
    let first_edge = |damping| {
        let mut after = grid.clone();
        after.adapt(&training, damping);
        after.edges(0)[1]
    };
    assert!((first_edge(0.0) - grid.edges(0)[1]).abs() < 1e-15);
    assert!(first_edge(0.2) < first_edge(0.0));
    assert!(first_edge(0.7) < first_edge(0.2));
}

#[test]
fn no_bin_becomes_empty() {
    for number in [f64::EPSILON / 2.0, 0.3, f64::BELOW_ONE] {
        for weight in [1e-120, 1.0, 1e140] {
            let mut grid = Grid::new(1);
            let numbers = rows(&[number]);
            for _ in 0..100 {
                let mut training = Training::new(1);
                training.add(&numbers, &[weight]);
                grid.adapt(&training, 1.5);
                let widths = grid.edges(0).windows(2).map(|pair| pair[1] - pair[0]);
                let least = widths.fold(1.0, f64::min);
                assert!(least > 0.99 * MIN_WIDTH, "{least}");
                assert_eq!([grid.edges(0)[0], grid.edges(0)[BINS]], [0.0, 1.0]);
            }
            let mut to = Rows::new(2, 1);
            grid.map(Level::best(), &numbers, &mut to);
            let x = to.row(0)[0];
            assert!(x > 0.0 && x < 1.0 && to.row(1)[0] > 0.0);
        }
    }
}

#[test]
fn numbers_that_are_none_read_no_other_memory() {
    let grid = Grid::new(1);
    for level in Level::ALL.into_iter().filter(|level| level.is_supported()) {
        for number in [f64::NAN, f64::INFINITY, -1e300, 7.0] {
            grid.map(level, &rows(&[number]), &mut Rows::new(2, 1));
        }
    }
}

#[test]
fn bytes_give_the_grid_back_or_say_what_is_wrong() {
    let (grid, _) = survey(2, 2, |x| pole(x) * x[1]);
    let bytes = grid.to_bytes();
    assert_eq!(Grid::from_bytes(&bytes), Ok(grid.clone()));
    let found = bytes.len() - 1;
    assert_eq!(
        Grid::from_bytes(&bytes[..found]),
        Err(Error::Bytes { found })
    );
    assert_eq!(
        Grid::from_bytes(&bytes[8..]),
        Err(Error::GridSize { found: 129 })
    );
    for (edge, value) in [(0, 0.1_f64), (64, 1.1), (3, f64::NAN), (5, 0.0)] {
        let mut damaged = bytes.clone();
        damaged[(EDGES + edge) * 8..][..8].copy_from_slice(&value.to_le_bytes());
        assert_eq!(
            Grid::from_bytes(&damaged),
            Err(Error::Edges { dimension: 1 })
        );
    }
}
