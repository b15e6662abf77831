//! Densities and the strong coupling as tables of words and numbers for the device code on GPUs (`cuda/densities.cuh`).
//!
//! In each cell, a density is a cubic polynomial in the positions along x and along Q. A GPU reads its 16 coefficients,
//! which are contiguous; the CPU multiplies the values at 16 knots by their weights.

use super::axis::Axis;
use super::coupling::StrongCoupling;
use super::cteq::FIRST_WITHOUT;
use super::interpolation::Interpolation;
use super::table::DensityGrid;
use super::{Densities, Radiator, photons};

/// Tables of words and numbers; some words are offsets of other words or numbers, from the first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DensityTables {
    /// Words.
    pub words: Vec<u32>,
    /// Numbers.
    pub numbers: Vec<f64>,
    /// Coefficients of polynomials: 16 for each cell and flavour, by power along Q, then along x.
    pub cells: Vec<f64>,
}

/// Number of words before those of the parts of a set.
const HEAD: usize = 5;

impl DensityTables {
    /// Adds an axis; returns its offset.
    fn axis(&mut self, axis: &Axis) -> u32 {
        let at = self.words.len() as u32;
        let (intervals, lookup) = (axis.intervals(), axis.lookup());
        let numbers = self.numbers.len() as u32;
        self.numbers.extend(axis.begin_and_parts());
        let places = intervals.iter().flat_map(|one| [one.start, one.inverse]);
        self.numbers.extend(places);
        self.words
            .extend([lookup.len() as u32, intervals.len() as u32, numbers]);
        self.words.extend(lookup);
        at
    }

    /// Adds the cells of a table.
    fn table(&mut self, table: &DensityGrid, flavors: usize) {
        let (count_x, count_q) = (table.along_x.intervals(), table.along_q.intervals());
        for in_q in count_q {
            for in_x in count_x {
                for flavor in 0..flavors {
                    let mut of = [[0.0; 4]; 4];
                    for (knot_q, knot_x) in (0..16).map(|both| (both / 4, both % 4)) {
                        let first = [in_q.first as usize + knot_q, in_x.first as usize + knot_x];
                        let value = table.value(first[0], first[1], flavor);
                        for (power_q, of) in of.iter_mut().enumerate() {
                            let value = value * in_q.powers[power_q][knot_q];
                            for (power_x, of) in of.iter_mut().enumerate() {
                                *of += value * in_x.powers[power_x][knot_x];
                            }
                        }
                    }
                    self.cells.extend(of.as_flattened());
                }
            }
        }
    }
}

impl Densities {
    /// Converts the densities to tables for a GPU.
    ///
    /// # Panics
    /// If they are of weak bosons.
    pub fn device(&self) -> DensityTables {
        let Densities {
            tables,
            codes,
            helicities: _,
            rule,
            level: _,
            ion: _,
            leptons: _,
        } = self;
        let (rule, scale) = match *rule {
            Interpolation::Lhapdf => (0, 0.0),
            Interpolation::Nnpdf => (1, 0.0),
            Interpolation::Cteq { scale } => (2, scale),
            Interpolation::Bosons(_) => panic!("GPUs do not support densities of weak bosons"),
            Interpolation::Photons(beam) => {
                let lepton = u32::from(beam != Radiator::Proton);
                return DensityTables {
                    words: vec![3, codes.len() as u32, lepton],
                    numbers: vec![photons::mass(beam)],
                    cells: Vec::new(),
                };
            }
        };
        let (first, last) = (&tables[0], &tables[tables.len() - 1]);
        let (x, count) = (&first.x, last.q2.len());
        let mut found = DensityTables::default();
        found.numbers.extend([x[0], x[1], x[0].ln(), x[1].ln()]);
        (found.numbers).extend([first.q2[0], last.q2[count - 2], last.q2[count - 1]]);
        (found.numbers).extend([x[FIRST_WITHOUT], x[x.len() - 1], scale]);
        found.numbers.extend(tables.iter().map(|part| part.q2[0]));
        found.words.resize(HEAD + 2 * tables.len(), 0);
        // All parts have the same x.
        let along_x = found.axis(&first.along_x);
        let intervals = first.along_x.intervals().len();
        let head = [rule, codes.len(), tables.len(), along_x as usize, intervals];
        for (to, word) in found.words.iter_mut().zip(head) {
            *to = word as u32;
        }
        for (number, table) in tables.iter().enumerate() {
            let along_q = found.axis(&table.along_q);
            let cell = found.cells.len() / (16 * codes.len());
            found.words[HEAD + 2 * number..][..2].copy_from_slice(&[along_q, cell as u32]);
            found.table(table, codes.len());
        }
        found
    }
}

impl StrongCoupling {
    /// Converts the coupling to tables for a GPU.
    pub fn device(&self) -> DensityTables {
        let mut found = DensityTables::default();
        let parts = self.parts();
        let (first, last) = (&parts[0], &parts[parts.len() - 1]);
        let (knots, values) = (&first.knots, &first.values);
        let count = last.knots.len();
        let power = (values[1] / values[0]).ln() / (knots[1] - knots[0]);
        (found.numbers).extend([knots[0], values[0], power]);
        (found.numbers).extend([last.knots[count - 1], last.values[count - 1]]);
        found.numbers.extend(parts.iter().map(|part| part.knots[0]));
        found.words.resize(1 + 2 * parts.len(), 0);
        found.words[0] = parts.len() as u32;
        for (number, part) in parts.iter().enumerate() {
            let axis = found.axis(&part.axis);
            let coefficients = found.numbers.len() as u32;
            for interval in part.axis.intervals() {
                let values = &part.values[interval.first as usize..][..4];
                let of = interval.powers.iter().map(|weights| {
                    let products = weights
                        .iter()
                        .zip(values)
                        .map(|(weight, value)| weight * value);
                    products.sum::<f64>()
                });
                found.numbers.extend(of);
            }
            found.words[1 + 2 * number..][..2].copy_from_slice(&[axis, coefficients]);
        }
        found
    }
}

/// Tables of a coupling that is the same at all scales.
pub fn fixed_coupling(value: f64) -> DensityTables {
    DensityTables {
        words: vec![0],
        numbers: vec![value],
        cells: Vec::new(),
    }
}
