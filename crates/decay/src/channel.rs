//! Unweighted decays, generated with their own |M|^2 in the rest frame of the decaying particle.

use crate::Maxima;
use crate::element::{Evaluator, MatrixElementValues, Theory};
use crate::name::Name;
use crate::shape::DecayShape;
use crate::vectors::Momentum;
use mebridge::{Error, Result};
use mebridge_sampler::parallel;
use mebridge_sampler::random::Philox;

/// Smallest number of points drawn per call.
const AT_ONCE: usize = 1 << 13;
/// Total number of points after which drawing no decay at a time is an error.
const MAX_POINTS: u64 = 1 << 24;
/// Safety factor on the largest weight of the first points.
const MARGIN: f64 = 1.1;
/// Round of the random numbers; trials use others.
const ROUND: u16 = 1;

/// Settings of the generation of decays.
#[derive(Clone, Copy, Debug)]
pub struct PointSettings {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Whether the decaying particle has a Breit-Wigner distributed mass.
    pub off_shell: bool,
    /// Number of threads.
    pub threads: usize,
}

/// A decay with all decays within it, for all flavours that share its matrix element.
pub struct DecayChannel {
    /// Its process.
    pub name: Name,
    /// PDG codes of its legs in the first flavour.
    pub codes: Vec<i32>,
    /// Its decay tree and phase space.
    pub shape: DecayShape,
    /// The power of the strong coupling to which |M|^2 is proportional.
    pub power: f64,
    /// The strong coupling with which its points are evaluated.
    pub g_s: f64,
    /// Colour and anticolour of each leg: `[flow][leg]`.
    pub flows: Vec<Vec<(i32, i32)>>,
    /// Helicities: `[row][leg]`.
    pub helicities: Vec<Vec<i8>>,
}

/// Generator of the decays of a channel.
pub struct DecayGenerator {
    /// Statistics of the accepted weights.
    pub maxima: Maxima,
    shape: DecayShape,
    g_s: f64,
    element: Evaluator,
    number: u32,
    points: u64,
    /// The bound on the weights, and accepted decays that are not yet used: for on-shell and for off-shell mothers.
    drawn: [(f64, Vec<f64>); 2],
}

/// One decay, stored as [`DecayChannel::stride`] numbers.
#[derive(Clone, Copy, Debug)]
pub struct DecayPoint<'a>(pub &'a [f64]);

impl DecayPoint<'_> {
    /// Mass of the decaying particle, GeV.
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

    /// Momenta of the outgoing legs.
    pub fn momenta(&self) -> &[Momentum] {
        self.0[3..].as_chunks().0
    }
}

impl DecayChannel {
    /// The channel of a matrix element, and the generator of its decays; `number` counts channels from 0.
    ///
    /// # Errors
    /// The decay is closed or cannot be evaluated.
    pub fn new(
        name: Name,
        element: Evaluator,
        width: f64,
        cut: f64,
        number: usize,
        theory: &Theory,
    ) -> Result<(DecayChannel, DecayGenerator)> {
        let shape = DecayShape::new(&element, width, cut)?;
        let g_s = theory.g_s(shape.nodes[0].mass);
        let mut channel = DecayChannel {
            name,
            codes: element.process.legs.iter().map(|leg| leg.pdg).collect(),
            power: 0.0,
            g_s,
            flows: element.process.channels.color_flows.clone(),
            helicities: element.process.helicities.clone(),
            shape: shape.clone(),
        };
        let mut source = DecayGenerator {
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

    /// Numbers per decay.
    pub fn stride(&self) -> usize {
        stride(&self.shape)
    }
}

fn stride(shape: &DecayShape) -> usize {
    3 + 4 * (shape.masses.len() - 1)
}

impl DecayGenerator {
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
        let mut found = MatrixElementValues::default();
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

    fn ready(&mut self, how: PointSettings) -> &mut Vec<f64> {
        &mut self.drawn[usize::from(how.off_shell)].1
    }

    /// Returns `count` decays, one after the other.
    ///
    /// # Errors
    /// |M|^2 cannot be evaluated, or no point is accepted.
    pub fn generate(&mut self, count: usize, how: PointSettings) -> Result<Vec<f64>> {
        let wanted = count * stride(&self.shape);
        while self.ready(how).len() < wanted {
            let before = self.ready(how).len();
            // More than are missing, as not all points are accepted.
            let missing = (wanted - before) / stride(&self.shape);
            let points = (missing * 3 / 2).clamp(AT_ONCE, 8 * AT_ONCE);
            self.draw(points, how)?;
            if self.ready(how).len() == before && self.points > MAX_POINTS {
                let what = format!("none of {} points became a decay", self.points);
                let cure = "name the intermediate resonances (`h > z z, z > l+ l-`), or choose another decay";
                return Err(Error::run_at(&self.element.process.name, what, cure));
            }
        }
        let ready = self.ready(how);
        Ok(ready.split_off(ready.len() - wanted))
    }

    /// Draws points and stores those that are accepted.
    fn draw(&mut self, count: usize, how: PointSettings) -> Result<()> {
        let legs = self.shape.masses.len();
        // Momenta of the legs, the mass of the decaying particle, and the weight.
        let row = 4 * legs + 2;
        let mut rows = vec![0.0; count * row];
        let (philox, first) = (self.philox(how.seed), self.points);
        let shape = &self.shape;
        parallel::fill(how.threads, &mut rows, row, |number, part| {
            for (place, point_row) in part.chunks_exact_mut(row).enumerate() {
                let point = first + (number + place) as u64;
                let mut dimension = 1;
                let random = || {
                    dimension += 1;
                    philox.number(point, dimension)
                };
                let (momenta, rest) = point_row.split_at_mut(4 * legs);
                let (mass, weight) = shape.draw(how.off_shell, random, momenta.as_chunks_mut().0);
                rest.copy_from_slice(&[mass, weight]);
            }
        });
        self.points += count as u64;
        // Points without phase space have weight 0.
        let open = |row: &&[f64]| row[row.len() - 1] > 0.0;
        let open: Vec<&[f64]> = rows.chunks_exact(row).filter(open).collect();
        let momenta: Vec<f64> = open
            .iter()
            .flat_map(|point_row| &point_row[..4 * legs])
            .copied()
            .collect();
        let points = (0..rows.len() / row).filter(|&at| rows[(at + 1) * row - 1] > 0.0);
        let points: Vec<u64> = points.map(|at| first + at as u64).collect();
        let random: Vec<f64> = points
            .iter()
            .map(|&point| philox.number(point, 0))
            .collect();
        let mut found = MatrixElementValues::default();
        self.element
            .evaluate(&momenta, &vec![self.g_s; open.len()], &random, &mut found)?;
        let weights = open
            .iter()
            .zip(&found.squared)
            .map(|(point_row, squared)| point_row[row - 1] * squared);
        let weights: Vec<f64> = weights.collect();
        let (bound, ready) = &mut self.drawn[usize::from(how.off_shell)];
        if *bound == 0.0 {
            *bound = MARGIN
                * weights
                    .iter()
                    .fold(0.0, |most: f64, weight| most.max(*weight));
        }
        for (place, (point_row, &weight)) in open.iter().zip(&weights).enumerate() {
            if philox.number(points[place], 1) * *bound >= weight {
                continue;
            }
            self.maxima.count(weight / *bound);
            *bound = bound.max(weight);
            ready.extend([
                point_row[row - 2],
                found.squared[place],
                found.helicities[place] as f64,
            ]);
            ready.extend(&point_row[4..4 * legs]);
        }
        Ok(())
    }

    /// The partial width of this decay in GeV, and its statistical error. The decay must not contain further decays.
    ///
    /// # Errors
    /// |M|^2 cannot be evaluated.
    pub fn partial_width(&mut self, threads: usize) -> Result<(f64, f64)> {
        const POINTS: usize = 1 << 17;
        let legs = self.shape.masses.len();
        // |M|^2 of a two-body decay is a constant.
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
        let mut found = MatrixElementValues::default();
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
