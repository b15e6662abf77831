//! Decays without weights, drawn by their own |M|^2 and in the rest frame of what decays.

use crate::Maxima;
use crate::element::{Evaluator, Found, Theory};
use crate::name::Name;
use crate::shape::Shape;
use crate::vectors::Momentum;
use mebridge::{Error, Result};
use mebridge_sampler::parallel;
use mebridge_sampler::random::Philox;

/// Points that are drawn at a time.
const AT_ONCE: usize = 1 << 13;
/// Points, at most, of which none becomes a decay.
const MOST_POINTS: u64 = 1 << 24;
/// What the largest weight of the first points is multiplied by.
const MARGIN: f64 = 1.1;
/// Rounds of random numbers, apart from those of trials.
const ROUND: u16 = 1;

/// How decays are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    /// Of the random numbers.
    pub seed: u64,
    /// Whether what decays has a Breit-Wigner distribution.
    pub off_shell: bool,
    /// Threads.
    pub threads: usize,
}

/// A decay into particles of one kind, with all decays within it.
pub struct Channel {
    /// What it is called.
    pub name: Name,
    /// PDG codes of its legs, of the first of all decays of its kind.
    pub codes: Vec<i32>,
    /// Its particles and phase space.
    pub shape: Shape,
    /// By which power of the strong coupling |M|^2 goes.
    pub power: f64,
    /// The strong coupling that its points have.
    pub g_s: f64,
    /// Colours of its legs, for each flow.
    pub flows: Vec<Vec<(i32, i32)>>,
    /// `[row][leg]`
    pub helicities: Vec<Vec<i8>>,
}

/// What draws the decays of a channel.
pub struct Source {
    /// Weights that were above the largest one.
    pub maxima: Maxima,
    shape: Shape,
    g_s: f64,
    element: Evaluator,
    number: u32,
    points: u64,
    /// The largest weight, and decays that nobody has taken: on the mass shell of what decays, and off it.
    drawn: [(f64, Vec<f64>); 2],
}

/// A decay, as a slice of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a>(pub &'a [f64]);

impl Drawn<'_> {
    /// Of what decays, GeV.
    pub fn mass(&self) -> f64 {
        self.0[0]
    }

    /// |M|^2.
    pub fn squared(&self) -> f64 {
        self.0[1]
    }

    /// The row of the helicity table, from 0.
    pub fn helicity(&self) -> usize {
        self.0[2] as usize
    }

    /// Momenta of the legs that go out.
    pub fn momenta(&self) -> &[Momentum] {
        self.0[3..].as_chunks().0
    }
}

impl Channel {
    /// Of an element, with what draws its decays; channels have numbers from 0 on.
    ///
    /// # Errors
    /// A decay is closed, or cannot be evaluated.
    pub fn new(
        name: Name,
        element: Evaluator,
        width: f64,
        cut: f64,
        number: usize,
        theory: &Theory,
    ) -> Result<(Channel, Source)> {
        let shape = Shape::new(&element, width, cut)?;
        let g_s = theory.g_s(shape.nodes[0].mass);
        let mut channel = Channel {
            name,
            codes: element.process.legs.iter().map(|leg| leg.pdg).collect(),
            power: 0.0,
            g_s,
            flows: element.process.channels.color_flows.clone(),
            helicities: element.process.helicities.clone(),
            shape: shape.clone(),
        };
        let mut source = Source {
            maxima: Maxima::default(),
            shape,
            g_s,
            element,
            number: number as u32,
            points: 0,
            drawn: Default::default(),
        };
        channel.power = source.power_of_coupling()?;
        Ok((channel, source))
    }

    /// How many numbers a decay is.
    pub fn stride(&self) -> usize {
        stride(&self.shape)
    }
}

fn stride(shape: &Shape) -> usize {
    3 + 4 * (shape.masses.len() - 1)
}

impl Source {
    fn power_of_coupling(&mut self) -> Result<f64> {
        let mut momenta = vec![[0.0; 4]; self.shape.masses.len()];
        let mut dimension = 0;
        let philox = self.philox(0);
        self.shape.draw(
            false,
            || {
                dimension += 1;
                philox.number(0, dimension)
            },
            &mut momenta,
        );
        let twice = [momenta.as_flattened(), momenta.as_flattened()].concat();
        let mut found = Found::default();
        self.element
            .evaluate(&twice, &[1.0, 2.0], &[0.5; 2], &mut found)?;
        let ratio = found.squared[1] / found.squared[0];
        Ok(if ratio.is_finite() && ratio > 0.0 {
            ratio.log2().round()
        } else {
            0.0
        })
    }

    fn philox(&self, seed: u64) -> Philox {
        Philox {
            seed,
            round: ROUND,
            channel: self.number,
        }
    }

    fn ready(&mut self, how: Drawing) -> &mut Vec<f64> {
        &mut self.drawn[usize::from(how.off_shell)].1
    }

    /// Takes as many decays.
    ///
    /// # Errors
    /// |M|^2 cannot be evaluated, or no point becomes a decay.
    pub fn take(&mut self, count: usize, how: Drawing) -> Result<Vec<f64>> {
        let wanted = count * stride(&self.shape);
        while self.ready(how).len() < wanted {
            let before = self.ready(how).len();
            // Some more, as not all become decays.
            let missing = (wanted - before) / stride(&self.shape);
            let points = (missing * 3 / 2).clamp(AT_ONCE, 8 * AT_ONCE);
            self.draw(points, how)?;
            if self.ready(how).len() == before && self.points > MOST_POINTS {
                let what = format!("none of {} points became a decay", self.points);
                let cure = "name the particles in between, which decay (`h > z z, z > l+ l-`), or take another decay";
                return Err(Error::run_at(&self.element.process.name, what, cure));
            }
        }
        let ready = self.ready(how);
        Ok(ready.split_off(ready.len() - wanted))
    }

    /// Draws points, of which some become decays.
    fn draw(&mut self, count: usize, how: Drawing) -> Result<()> {
        let legs = self.shape.masses.len();
        // Momenta of the legs, the mass, and what the point counts.
        let row = 4 * legs + 2;
        let mut rows = vec![0.0; count * row];
        let (philox, first) = (self.philox(how.seed), self.points);
        let shape = &self.shape;
        parallel::fill(how.threads, &mut rows, row, |number, part| {
            for (place, of) in part.chunks_exact_mut(row).enumerate() {
                let point = first + (number + place) as u64;
                let mut dimension = 1;
                let random = || {
                    dimension += 1;
                    philox.number(point, dimension)
                };
                let (momenta, rest) = of.split_at_mut(4 * legs);
                let (mass, weight) = shape.draw(how.off_shell, random, momenta.as_chunks_mut().0);
                rest.copy_from_slice(&[mass, weight]);
            }
        });
        self.points += count as u64;
        // What has no room is no event.
        let open = |row: &&[f64]| row[row.len() - 1] > 0.0;
        let open: Vec<&[f64]> = rows.chunks_exact(row).filter(open).collect();
        let momenta: Vec<f64> = open
            .iter()
            .flat_map(|of| &of[..4 * legs])
            .copied()
            .collect();
        let points = (0..rows.len() / row).filter(|&at| rows[(at + 1) * row - 1] > 0.0);
        let points: Vec<u64> = points.map(|at| first + at as u64).collect();
        let random: Vec<f64> = points
            .iter()
            .map(|&point| philox.number(point, 0))
            .collect();
        let mut found = Found::default();
        self.element
            .evaluate(&momenta, &vec![self.g_s; open.len()], &random, &mut found)?;
        let weights = open
            .iter()
            .zip(&found.squared)
            .map(|(of, squared)| of[row - 1] * squared);
        let weights: Vec<f64> = weights.collect();
        let (bound, ready) = &mut self.drawn[usize::from(how.off_shell)];
        if *bound == 0.0 {
            *bound = MARGIN
                * weights
                    .iter()
                    .fold(0.0, |most: f64, weight| most.max(*weight));
        }
        for (place, (of, &weight)) in open.iter().zip(&weights).enumerate() {
            if philox.number(points[place], 1) * *bound >= weight {
                continue;
            }
            self.maxima.count(weight / *bound);
            *bound = bound.max(weight);
            ready.extend([
                of[row - 2],
                found.squared[place],
                found.helicities[place] as f64,
            ]);
            ready.extend(&of[4..4 * legs]);
        }
        Ok(())
    }

    /// The partial width of this decay in GeV, its error, and how many points it took; of a decay without decays within it.
    ///
    /// # Errors
    /// |M|^2 cannot be evaluated.
    pub fn partial_width(&mut self, threads: usize) -> Result<(f64, f64)> {
        const POINTS: usize = 1 << 17;
        let legs = self.shape.masses.len();
        // Of two particles |M|^2 is the same everywhere.
        let count = if legs == 3 { 1 } else { POINTS };
        let philox = self.philox(0);
        let shape = &self.shape;
        let points = parallel::map(threads, count, |point| {
            let mut momenta = vec![[0.0; 4]; legs];
            let mut dimension = 1;
            let random = || {
                dimension += 1;
                philox.number(point as u64, dimension)
            };
            let (_, weight) = shape.draw(false, random, &mut momenta);
            (momenta, weight)
        });
        let momenta: Vec<f64> = points
            .iter()
            .flat_map(|(p, _)| p.as_flattened())
            .copied()
            .collect();
        let mut found = Found::default();
        self.element.evaluate(
            &momenta,
            &vec![self.g_s; count],
            &vec![0.5; count],
            &mut found,
        )?;
        let weights = points
            .iter()
            .zip(&found.squared)
            .map(|((_, weight), squared)| weight * squared);
        let weights: Vec<f64> = weights.collect();
        let n = count as f64;
        let mean = weights.iter().sum::<f64>() / n;
        let spread = weights
            .iter()
            .map(|weight| (weight - mean).powi(2))
            .sum::<f64>()
            / n;
        let factor = 1.0 / (2.0 * self.shape.nodes[0].mass);
        Ok((factor * mean, factor * (spread / n).sqrt()))
    }
}
