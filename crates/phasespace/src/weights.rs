//! Weights of channels by their propagators.
//!
//! Of each diagram the product of its propagators; a channel's weight is its product over the sum of all. MG5aMC's
//! `sde_strategy = 2` has squared propagators. Here they have the power 1.5, `|p^2 - m^2|^-1.5`: points of a channel are about
//! as dense as the power 1 to 1.3, and where weights fall faster than points do, those between two channels have
//! large weights. What can be on its mass shell is as dense as its square, and that is its weight:
//! `(m width)^0.5 / ((p^2 - m^2)^2 + (m width)^2)`, which on the mass shell is the power 1.5 as well. Weights do not follow
//! what cancels in the sum of diagrams, as it does with gluons and with vector bosons.

use super::diagram::{Diagram, Error, Legs};
use super::draw::{Layout, take};
use super::kinematics::{Momentum, difference, square, sum};
use super::limits::Limits;
use super::{Rows, channel};
use mebridge_simd::{Level, Simd, Task, dispatch};

/// The products of propagators of some diagrams.
#[derive(Clone, Debug)]
pub struct Weights {
    pub(crate) legs: usize,
    /// Whether all propagators are squared, as those of MG5aMC.
    pub(crate) squared: bool,
    /// What each squared momentum is made of: a set of legs that go out, less the first that comes in.
    pub(crate) squares: Vec<(Legs, bool)>,
    /// A squared momentum, the squared mass, and `(m width)^2` of what can be on its mass shell.
    pub(crate) propagators: Vec<(usize, f64, f64)>,
    /// Of each diagram a factor, and its propagators.
    pub(crate) products: Vec<(f64, Vec<usize>)>,
}

impl Weights {
    /// The products of diagrams that have the same legs.
    ///
    /// Far above its mass a resonance has the propagator of a massless line and none of the points. With
    /// `one_energy` all partons have the energy of the beams, and such a diagram has a small factor.
    ///
    /// # Errors
    /// A diagram is no tree.
    pub fn new(diagrams: &[Diagram], limits: &Limits, one_energy: bool) -> Result<Self, Error> {
        Weights::with(diagrams, limits, one_energy, false)
    }

    /// The products of squared propagators, which are weights of MG5aMC.
    ///
    /// # Errors
    /// A diagram is no tree.
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
                    // Of equal areas are 1 / s and M G / ((s - M^2)^2 + (M G)^2); weights are 1 / s^1.5 and this over
                    // (M G)^0.5.
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

    /// How many diagrams there are.
    pub fn count(&self) -> usize {
        self.products.len()
    }

    /// Those of some of the diagrams, in this order.
    ///
    /// # Panics
    /// If there is no such diagram.
    pub fn of(&self, diagrams: &[u32]) -> Weights {
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

    /// Which propagators of a diagram can be on their mass shells, by their numbers, ascending.
    ///
    /// # Panics
    /// If there is no such diagram.
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

    /// The share of one diagram in the sum of all, that of each point's own.
    ///
    /// # Panics
    /// If there is no such diagram, rows are missing, or there are not as many columns and shares as points.
    pub fn shares(&self, level: Level, points: &Rows, columns: &[u32], shares: &mut Rows) {
        let there = |&one: &u32| (one as usize) < self.products.len();
        assert!(columns.len() == points.points() && columns.iter().all(there));
        self.run(level, points, Some(columns), shares);
    }

    /// The share of each diagram in the sum of all: a row for each.
    ///
    /// # Panics
    /// If rows are missing, or `shares` has not as many points.
    pub fn every_share(&self, level: Level, points: &Rows, shares: &mut Rows) {
        assert!(shares.count() >= self.products.len());
        self.run(level, points, None, shares);
    }

    fn run(&self, level: Level, points: &Rows, columns: Option<&[u32]>, shares: &mut Rows) {
        assert!(points.count() >= 4 * (self.legs + 2), "rows are missing");
        assert!(points.points() == shares.points() && shares.count() > 0);
        // SAFETY: `dispatch` looks at the level; rows check their bounds.
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
        // SAFETY: the caller promises the level.
        let zero = unsafe { V::zero() };
        let mut momenta: Vec<Momentum<V>> = vec![[zero; 4]; weights.legs + 1];
        let mut squares = vec![zero; weights.squares.len()];
        let mut propagators = vec![zero; weights.propagators.len()];
        let mut products = vec![zero; weights.products.len()];
        for register in 0..self.points.registers::<V>() {
            for (leg, to) in momenta.iter_mut().enumerate() {
                // The last one is the first that comes in.
                let leg = if leg == weights.legs { 0 } else { leg + 2 };
                // SAFETY: as above.
                *to = unsafe { take(self.points, layout.momentum(leg), register) };
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
                // A pole is none for the sum.
                *to = if weights.squared {
                    let size = off.mul_add(off, zero.same(width));
                    zero.same(1.0) / size.max(zero.same(SMALLEST * SMALLEST))
                } else if width > 0.0 {
                    zero.same(scale(width)) / off.mul_add(off, zero.same(width))
                } else {
                    let off = off.abs().max(zero.same(SMALLEST));
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
                    // Points of a register may have different ones.
                    let mut own = [0.0; 8];
                    let begin = register * V::LANES;
                    let end = (begin + V::LANES).min(columns.len());
                    for (lane, &column) in columns[begin..end].iter().enumerate() {
                        let mut numbers = [0.0; 8];
                        // SAFETY: the array holds the longest register.
                        unsafe { products[column as usize].store_doubles(numbers.as_mut_ptr()) };
                        own[lane] = numbers[lane];
                    }
                    // SAFETY: as above, and the level is there.
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

/// The squared momentum of a line is as far from its squared mass at least, GeV^2.
const SMALLEST: f64 = 1e-15;

/// `(m width)^0.5`, of the square of that in brackets.
pub(crate) fn scale(width: f64) -> f64 {
    width.sqrt().sqrt()
}
