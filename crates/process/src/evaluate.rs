//! Reference evaluation of a process: slow and simple; every fast backend is tested against it.

use super::arith::ValueId;
use super::channels::Channels;
use super::color::{ColorMatrix, FlowWeight};
use super::external::{Momentum, external};
use super::{
    CouplingRef, External, HelicitySum, LinearMap, Process, Quantity, Term, TermSource, Vertex,
    Wavefunction,
};
use num_complex::Complex64;
use std::collections::HashMap;

/// The results for one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// `JAMP^dagger CF JAMP / DENOM / IDEN` of each helicity configuration.
    pub contributions: Vec<f64>,
    /// `AMP2` of the diagrams of [`Channels::amp2`], summed over helicities.
    pub amp2: Vec<f64>,
    /// `JAMP2` of the colour flows, summed over helicities.
    pub jamp2: Vec<f64>,
    /// How the contributions are added.
    pub helicity_sum: HelicitySum,
    /// The sum of the absolute values of all products of amplitudes. If terms cancel, rounding errors are relative to
    /// this.
    pub terms: f64,
    /// The sum of the absolute values of all products of `JAMP`: of what flows and helicities cancel, apart from what
    /// amplitudes do.
    pub flow_terms: f64,
}

/// A process with numbers for its masses, widths and couplings.
pub struct NumericProcess<'a> {
    pub(crate) process: &'a Process,
    parameters: Vec<f64>,
    couplings: Vec<Complex64>,
}

impl Process {
    /// Evaluates one event from the momenta of the legs, the strong coupling and the card values in the order of
    /// [`super::model::Model::card`].
    ///
    /// # Panics
    /// If the number of momenta differs from that of the legs, or the number of card values from that of the card's
    /// parameters, or the process has no diagrams ([`super::Amplitudes`]).
    pub fn evaluate(&self, momenta: &[Momentum], g: f64, card: &[f64]) -> Evaluation {
        assert_eq!(momenta.len(), self.legs.len(), "one momentum for each leg");
        assert_eq!(card.len(), self.model.card.len(), "one value each");
        let diagrams = self.amplitudes.diagrams();
        let diagrams = diagrams.expect("a process with diagrams");
        let values = self.model.evaluate(card, g);
        let numbers = NumericProcess::new(self, |value| values[value as usize]);
        let mut result = Evaluation {
            contributions: Vec::with_capacity(self.helicities.len()),
            amp2: vec![0.0; self.channels.amp2.len()],
            jamp2: vec![0.0; self.color_flows()],
            helicity_sum: self.helicity_sum,
            terms: 0.0,
            flow_terms: 0.0,
        };
        for (row, helicities) in self.helicities.iter().enumerate() {
            let beams = self.beam_weights.get(row).copied().unwrap_or(1.0);
            if beams == 0.0 {
                result.contributions.push(0.0);
                continue;
            }
            let amplitudes = numbers.amplitudes(|e| {
                let leg = e.leg as usize;
                let mass = numbers.quantity(e.mass);
                external(e.kind, &momenta[leg], mass, helicities[leg], e.sign)
            });
            let jamp = diagrams.jamp.apply(&amplitudes);
            let (color, iden) = (&diagrams.color, f64::from(self.iden));
            result.contributions.push(beams * color.sum(&jamp) / iden);
            result.terms += beams * color.terms(&diagrams.jamp.sizes(&amplitudes)) / iden;
            let flows: Vec<f64> = jamp.iter().map(|jamp| jamp.norm()).collect();
            result.flow_terms += beams * color.terms(&flows) / iden;
            for (sum, amp2) in result.amp2.iter_mut().zip(&self.channels.amp2) {
                for set in &amp2.squares {
                    let total: Complex64 = set.iter().map(|&a| amplitudes[a as usize]).sum();
                    *sum += total.norm_sqr();
                }
            }
            if self.flow_weights.is_empty() {
                for (sum, jamp) in result.jamp2.iter_mut().zip(&jamp) {
                    *sum += jamp.norm_sqr();
                }
            }
            for (sum, weight) in result.jamp2.iter_mut().zip(&self.flow_weights) {
                *sum += weight.weight(&jamp);
            }
        }
        result
    }
}

impl ColorMatrix {
    /// `JAMP^dagger CF JAMP / DENOM`.
    fn sum(&self, jamp: &[Complex64]) -> f64 {
        let n = jamp.len();
        let mut sum = 0.0;
        let mut entries = self.upper.iter();
        for i in 0..n {
            let mut row = Complex64::new(0.0, 0.0);
            for (j, (jamp, entry)) in jamp[i..].iter().zip(&mut entries).enumerate() {
                row += if j == 0 { *entry } else { 2.0 * entry } * jamp;
            }
            sum += (row * jamp[i].conj()).re;
        }
        sum / self.denominator
    }

    /// The sum of [`ColorMatrix::sum`] with absolute values of all entries and factors.
    fn terms(&self, sizes: &[f64]) -> f64 {
        let mut sum = 0.0;
        let mut entries = self.upper.iter();
        for i in 0..sizes.len() {
            for (j, (size, entry)) in sizes[i..].iter().zip(&mut entries).enumerate() {
                sum += if j == 0 { 1.0 } else { 2.0 } * entry.abs() * size * sizes[i];
            }
        }
        sum / self.denominator.abs()
    }
}

impl<'a> NumericProcess<'a> {
    /// Takes masses, widths and couplings from the values of the model's program.
    pub fn new(process: &'a Process, value: impl Fn(ValueId) -> Complex64) -> NumericProcess<'a> {
        let model = &process.model;
        let parameters = model.parameters.iter().map(|p| value(p.value).re);
        let couplings = model.couplings.iter().map(|c| value(c.value));
        NumericProcess {
            process,
            parameters: parameters.collect(),
            couplings: couplings.collect(),
        }
    }

    /// A mass or a width.
    pub fn quantity(&self, quantity: Quantity) -> f64 {
        quantity.0.map_or(0.0, |i| self.parameters[i as usize])
    }

    /// Evaluates all amplitudes from these external wavefunctions.
    pub fn amplitudes(&self, external: impl Fn(&External) -> Vec<Complex64>) -> Vec<Complex64> {
        let mut wavefunctions: Vec<Vec<Complex64>> = Vec::new();
        for wavefunction in &self.process.wavefunctions {
            let value = match wavefunction {
                Wavefunction::External(e) => external(e),
                Wavefunction::Internal(vertex) => self.vertex(vertex, &wavefunctions),
            };
            wavefunctions.push(value);
        }
        let amplitudes = self.process.amplitudes.vertices();
        amplitudes
            .iter()
            .map(|vertex| self.vertex(vertex, &wavefunctions)[0])
            .collect()
    }

    fn vertex(&self, vertex: &Vertex, wavefunctions: &[Vec<Complex64>]) -> Vec<Complex64> {
        let inputs = vertex.inputs.iter();
        let inputs: Vec<&[Complex64]> = inputs.map(|&w| &wavefunctions[w as usize][..]).collect();
        let propagator = [vertex.mass, vertex.width].map(|quantity| self.quantity(quantity));
        self.call(vertex.routine, &inputs, &vertex.couplings, propagator)
    }

    /// Calls a Lorentz structure; `propagator` is the mass and width of the result.
    pub fn call(
        &self,
        routine: u32,
        inputs: &[&[Complex64]],
        couplings: &[CouplingRef],
        propagator: [f64; 2],
    ) -> Vec<Complex64> {
        let routine = &self.process.routines[routine as usize];
        let mut values = Vec::with_capacity(routine.program.inputs as usize);
        for (wavefunction, &size) in inputs.iter().zip(&routine.inputs) {
            values.extend_from_slice(&wavefunction[..size as usize]);
        }
        for coupling in couplings {
            let value = self.couplings[coupling.coupling as usize];
            values.push(if coupling.negative { -value } else { value });
        }
        if routine.massive {
            values.extend(propagator.map(Complex64::from));
        }
        routine.evaluate(&values)
    }
}

impl FlowWeight {
    /// The weight of a colour flow.
    pub fn weight(&self, jamp: &[Complex64]) -> f64 {
        let product = |&(a, b): &(u32, u32)| (jamp[a as usize] * jamp[b as usize].conj()).re;
        let modulus = |pairs: &Vec<(u32, u32)>| pairs.iter().map(product).sum::<f64>().abs();
        self.moduli.iter().map(modulus).sum()
    }
}

impl LinearMap {
    /// Bounds on the results: their sizes if nothing cancelled.
    fn sizes(&self, amplitudes: &[Complex64]) -> Vec<f64> {
        let sum = |terms: &[Term], partial: &[f64]| -> f64 {
            terms
                .iter()
                .map(|term| {
                    let size = match term.source {
                        TermSource::Amplitude(i) => amplitudes[i as usize].norm(),
                        TermSource::Partial(i) => partial[i as usize],
                    };
                    Complex64::new(term.factor.0, term.factor.1).norm() * size
                })
                .sum()
        };
        let mut partial = Vec::with_capacity(self.partial.len());
        for terms in &self.partial {
            let size = sum(terms, &partial);
            partial.push(size);
        }
        self.outputs.iter().map(|t| sum(t, &partial)).collect()
    }

    /// Applies the map to amplitudes.
    pub fn apply(&self, amplitudes: &[Complex64]) -> Vec<Complex64> {
        let sum = |terms: &[Term], partial: &[Complex64]| -> Complex64 {
            terms
                .iter()
                .map(|term| {
                    let value = match term.source {
                        TermSource::Amplitude(i) => amplitudes[i as usize],
                        TermSource::Partial(i) => partial[i as usize],
                    };
                    Complex64::new(term.factor.0, term.factor.1) * value
                })
                .sum()
        };
        let mut partial = Vec::with_capacity(self.partial.len());
        for terms in &self.partial {
            let value = sum(terms, &partial);
            partial.push(value);
        }
        self.outputs.iter().map(|t| sum(t, &partial)).collect()
    }
}

impl Evaluation {
    /// `|M|^2` without a channel, with the signs of the contributions.
    pub fn total(&self) -> f64 {
        self.contributions.iter().sum()
    }

    /// The result of `SMATRIX<i>` if the helicity is chosen with this random number.
    pub fn answer(&self, random: f64) -> f64 {
        match self.helicity_sum {
            HelicitySum::Positive | HelicitySum::Signed => self.total(),
            HelicitySum::Absolute => {
                let all: f64 = self.contributions.iter().map(|x| x.abs()).sum();
                match self.helicity(random).checked_sub(1) {
                    Some(chosen) => all.copysign(self.contributions[chosen as usize]),
                    None => all,
                }
            }
        }
    }

    /// `|M|^2` times `AMP2(channel) / sum of AMP2` over the configurations.
    pub fn in_channel(&self, channels: &Channels, channel: u32) -> f64 {
        let mut by_diagram: HashMap<u32, f64> = HashMap::new();
        for (amp2, x) in channels.amp2.iter().zip(&self.amp2) {
            *by_diagram.entry(amp2.diagram).or_default() += x;
        }
        let amp2 = |diagram: u32| by_diagram.get(&diagram).copied().unwrap_or(0.0);
        let all: f64 = channels
            .config_diagram
            .iter()
            .filter(|&&d| d != 0)
            .map(|&d| amp2(d))
            .sum();
        // If all AMP2 vanish, SMATRIX<i> leaves the sum unchanged.
        match all == 0.0 {
            true => self.total(),
            false => self.total() * amp2(channel) / all,
        }
    }

    /// The number (from 1) of the first helicity configuration whose running sum of absolute contributions is above
    /// `random` times the total.
    pub fn helicity(&self, random: f64) -> u32 {
        let sizes: Vec<f64> = self.contributions.iter().map(|x| x.abs()).collect();
        first_above(&sizes, |_| true, random)
    }

    /// The number (from 1) of the first colour flow whose running sum is above `random` times
    /// the total, among the flows that a configuration (from 0) allows.
    pub fn color(&self, channels: &Channels, config: usize, random: f64) -> u32 {
        let allowed = &channels.color_allowed[config];
        first_above(&self.jamp2, |i| allowed[i], random)
    }
}

/// The number (from 1) of the first allowed weight whose running sum is above `random` times the total; 0 if none is.
fn first_above(weights: &[f64], allowed: impl Fn(usize) -> bool, random: f64) -> u32 {
    let weight = |i: usize| if allowed(i) { weights[i] } else { 0.0 };
    let total: f64 = (0..weights.len()).map(weight).sum();
    let mut running = 0.0;
    for i in 0..weights.len() {
        running += weight(i);
        if weight(i) != 0.0 && random < running / total {
            return i as u32 + 1;
        }
    }
    0
}
