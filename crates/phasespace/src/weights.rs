//! Channel weights from propagators.
//!
//! Each diagram has the product of its propagators; a channel's weight is its product divided by the sum of all
//! products. MG5aMC's `sde_strategy = 2` uses squared propagators. Here they have the power 1.5, `|p^2 - m^2|^-1.5`:
//! the density of points in a channel is about that of the power 1 to 1.3, and if channel weights fell faster than
//! that, points between two channels would have large weights. Resonances are drawn with the density of the squared
//! propagator, and so their factor is `(m width)^0.5 / ((p^2 - m^2)^2 + (m width)^2)`, which also is the power 1.5 on
//! the mass shell. The weights ignore cancellations between diagrams, which occur with gluons and vector bosons.

use super::diagram::{Diagram, Error, Legs};
use super::draw::{Layout, load_momentum};
use super::kinematics::{Momentum, difference, square, sum};
use super::limits::Limits;
use super::{Rows, channel};
use mebridge_simd::{Level, Simd, Task, dispatch};

/// The products of propagators of several diagrams.
#[derive(Clone, Debug)]
pub struct Weights {
    pub(crate) legs: usize,
    /// Whether all propagators are squared, as in MG5aMC.
    pub(crate) squared: bool,
    /// The squared momenta: a set of outgoing legs, and whether the first incoming leg is subtracted.
    pub(crate) squares: Vec<(Legs, bool)>,
    /// The propagators: index into `squares`, squared mass, and `(m width)^2`; the latter is 0 unless the line can be
    /// on its mass shell.
    pub(crate) propagators: Vec<(usize, f64, f64)>,
    /// For each diagram, a factor and its propagators.
    pub(crate) products: Vec<(f64, Vec<usize>)>,
}

impl Weights {
    /// Creates the products of diagrams with the same legs.
    ///
    /// Far above its mass, a resonance has the propagator of a massless line, but none of its channel's points. With
    /// `one_energy`, all partons have the energy of the beams, and such a diagram gets a small factor.
    ///
    /// # Errors
    /// A diagram is not a tree.
    pub fn new(diagrams: &[Diagram], limits: &Limits, one_energy: bool) -> Result<Self, Error> {
        Weights::with(diagrams, limits, one_energy, false)
    }

    /// Creates the products of squared propagators, the weights of MG5aMC.
    ///
    /// # Errors
    /// A diagram is not a tree.
    pub fn squared(diagrams: &[Diagram], limits: &Limits) -> Result<Self, Error> {
        Weights::with(diagrams, limits, false, true)
    }

    fn with(
        diagrams: &[Diagram],
        limits: &Limits,
        one_energy: bool,
        squared: bool,
    ) -> Result<Self, Error> {
        let mut found = Weights {
            legs: diagrams.first().map_or(0, |one| one.masses.len()),
            squared,
            squares: Vec::new(),
            propagators: Vec::new(),
            products: Vec::new(),
        };
        for diagram in diagrams {
            let spine = diagram.spine()?;
            let mut factor = 1.0;
            let every: Legs = (1 << diagram.masses.len()) - 1;
            let mut product = Vec::new();
            for (number, legs) in diagram.timelike()? {
                let propagator = diagram.propagators[number];
                let resonant = channel::resonant(propagator, legs, &diagram.masses, limits);
                let width = if resonant { propagator.width } else { 0.0 };
                if one_energy && resonant && legs != every {
                    // 1 / s and M G / ((s - M^2)^2 + (M G)^2) have comparable areas; the weights are 1 / s^1.5 and the
                    // latter over (M G)^0.5.
                    factor *= f64::min(1.0, width / propagator.mass).sqrt();
                }
                product.push(found.propagator(legs, false, propagator.mass, width));
            }
            let mut legs = 0;
            for (out, exchanged) in spine.out.iter().zip(&spine.exchanged) {
                legs = out.iter().fold(legs, |legs, branch| legs | branch.legs);
                let width = if squared { exchanged.width } else { 0.0 };
                product.push(found.propagator(legs, true, exchanged.mass, width));
            }
            found.products.push((factor, product));
        }
        Ok(found)
    }

    fn propagator(&mut self, legs: Legs, exchanged: bool, mass: f64, width: f64) -> usize {
        let square = place(&mut self.squares, (legs, exchanged));
        let width = mass * width;
        place(&mut self.propagators, (square, mass * mass, width * width))
    }

    /// Number of diagrams.
    pub fn count(&self) -> usize {
        self.products.len()
    }

    /// The weights of some of the diagrams, in this order.
    ///
    /// # Panics
    /// If a diagram is out of range.
    pub fn select(&self, diagrams: &[u32]) -> Weights {
        let mut found = Weights {
            legs: self.legs,
            squared: self.squared,
            squares: Vec::new(),
            propagators: Vec::new(),
            products: Vec::new(),
        };
        for &diagram in diagrams {
            let (factor, product) = &self.products[diagram as usize];
            let mut own = Vec::new();
            for &propagator in product {
                let (square, mass, width) = self.propagators[propagator];
                let square = place(&mut found.squares, self.squares[square]);
                own.push(place(&mut found.propagators, (square, mass, width)));
            }
            found.products.push((*factor, own));
        }
        found
    }

    /// The numbers of a diagram's propagators that can be on their mass shells, ascending.
    ///
    /// # Panics
    /// If a diagram is out of range.
    pub fn resonances(&self, diagram: u32) -> Vec<usize> {
        let resonant = |&one: &usize| {
            let (square, _, width) = self.propagators[one];
            width > 0.0 && !self.squares[square].1
        };
        let product = self.products[diagram as usize].1.iter().copied();
        let mut found: Vec<usize> = product.filter(resonant).collect();
        found.sort_unstable();
        found
    }

    /// Computes the weight of one channel per point, given by `columns`.
    ///
    /// # Panics
    /// If a diagram is out of range, rows are missing, or the numbers of points, columns and shares differ.
    pub fn shares(&self, level: Level, points: &Rows, columns: &[u32], shares: &mut Rows) {
        let there = |&one: &u32| (one as usize) < self.products.len();
        assert!(columns.len() == points.points() && columns.iter().all(there));
        self.run(level, points, Some(columns), shares);
    }

    /// Computes the weights of all channels, one row each.
    ///
    /// # Panics
    /// If rows are missing, or `shares` has another number of points.
    pub fn every_share(&self, level: Level, points: &Rows, shares: &mut Rows) {
        assert!(shares.count() >= self.products.len());
        self.run(level, points, None, shares);
    }

    fn run(&self, level: Level, points: &Rows, columns: Option<&[u32]>, shares: &mut Rows) {
        assert!(points.count() >= 4 * (self.legs + 2), "rows are missing");
        assert!(points.points() == shares.points() && shares.count() > 0);
        // SAFETY: `dispatch` checks the level; rows check their bounds.
        unsafe {
            dispatch(
                level,
                Shares {
                    weights: self,
                    points,
                    columns,
                    shares,
                },
            );
        }
    }
}

fn place<T: PartialEq>(list: &mut Vec<T>, one: T) -> usize {
    list.iter()
        .position(|known| *known == one)
        .unwrap_or_else(|| {
            list.push(one);
            list.len() - 1
        })
}

struct Shares<'a> {
    weights: &'a Weights,
    points: &'a Rows,
    columns: Option<&'a [u32]>,
    shares: &'a mut Rows,
}

impl Task<f64> for Shares<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        let (weights, layout) = (self.weights, Layout::new(self.weights.legs + 2));
        // SAFETY: the caller guarantees the level.
        let zero = unsafe { V::zero() };
        let mut momenta: Vec<Momentum<V>> = vec![[zero; 4]; weights.legs + 1];
        let mut squares = vec![zero; weights.squares.len()];
        let mut propagators = vec![zero; weights.propagators.len()];
        let mut products = vec![zero; weights.products.len()];
        for register in 0..self.points.registers::<V>() {
            for (leg, to) in momenta.iter_mut().enumerate() {
                // The last entry is the first incoming leg.
                let leg = if leg == weights.legs { 0 } else { leg + 2 };
                // SAFETY: as above.
                *to = unsafe { load_momentum(self.points, layout.momentum(leg), register) };
            }
            for (to, &(legs, exchanged)) in squares.iter_mut().zip(&weights.squares) {
                let mut whole = [zero; 4];
                for (leg, p) in momenta[..weights.legs].iter().enumerate() {
                    if legs & (1 << leg) != 0 {
                        whole = sum(whole, *p);
                    }
                }
                if exchanged {
                    whole = difference(whole, momenta[weights.legs]);
                }
                *to = square(whole);
            }
            for (to, &(place, mass, width)) in propagators.iter_mut().zip(&weights.propagators) {
                let off = squares[place] - zero.same(mass);
                // Poles are cut off, so that the sum stays finite.
                *to = if weights.squared {
                    let size = off.mul_add(off, zero.same(width));
                    zero.same(1.0) / size.max(zero.same(MIN_DISTANCE * MIN_DISTANCE))
                } else if width > 0.0 {
                    zero.same(scale(width)) / off.mul_add(off, zero.same(width))
                } else {
                    let off = off.abs().max(zero.same(MIN_DISTANCE));
                    zero.same(1.0) / (off * off.sqrt())
                };
            }
            let mut total = zero;
            for (to, (factor, product)) in products.iter_mut().zip(&weights.products) {
                let mut of = zero.same(*factor);
                for &propagator in product {
                    of = of * propagators[propagator];
                }
                total = total + of;
                *to = of;
            }
            let inverse = zero.same(1.0) / total;
            match self.columns {
                Some(columns) => {
                    // Points of a register may have different columns.
                    let mut own = [0.0; 8];
                    let begin = register * V::LANES;
                    let end = (begin + V::LANES).min(columns.len());
                    for (lane, &column) in columns[begin..end].iter().enumerate() {
                        let mut numbers = [0.0; 8];
                        // SAFETY: the array holds the longest register.
                        unsafe { products[column as usize].store_doubles(numbers.as_mut_ptr()) };
                        own[lane] = numbers[lane];
                    }
                    // SAFETY: the array holds the longest register, and the caller guarantees the level.
                    let own = unsafe { V::load_doubles(own.as_ptr()) };
                    self.shares.store(0, register, own * inverse);
                }
                None => {
                    for (row, of) in products.iter().enumerate() {
                        self.shares.store(row, register, *of * inverse);
                    }
                }
            }
        }
    }
}

/// Lower limit on the distance of a line's squared momentum from its squared mass, GeV^2.
const MIN_DISTANCE: f64 = 1e-15;

/// Computes `(m width)^0.5` from `(m width)^2`.
pub(crate) fn scale(width: f64) -> f64 {
    width.sqrt().sqrt()
}
