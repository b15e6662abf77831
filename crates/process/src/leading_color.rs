//! The colour flows of a process one by one.
//!
//! At leading colour |M|^2 is the sum over colour flows of `C_ff |JAMP_f|^2`. Flows that differ only by a permutation of
//! gluons have the same JAMP as a function of permuted momenta, so one process with a single JAMP, which has few of the
//! diagrams, serves all of them: with one flow drawn for each point, the leading-colour |M|^2 is sampled at a cost that
//! does not grow with the number of flows (Frederix and Vitos, arXiv:2409.12128).
//!
//! A gluon may take the place of an incoming one and vice versa; its momentum then changes sign.

use super::color::color_paths;
use super::{
    Amplitudes, Channels, ColorMatrix, Diagrams, ExternalKind, HelicitySum, LinearMap, Process,
    Quantity, Term, TermSource, Wavefunction,
};
use mebridge_support::sorted::SortedMap;

/// The colour flows of a process, in classes of permuted gluons.
#[derive(Clone, Debug, PartialEq)]
pub struct LeadingColor {
    /// For each class a process with one JAMP, that of its first flow.
    pub classes: Vec<Process>,
    /// The flows, numbered as in the process.
    pub flows: Vec<SingleFlow>,
}

/// A colour flow.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleFlow {
    /// Index of its class.
    pub class: usize,
    /// For each leg of the class's process, the leg of the event whose momentum it gets, and whether the momentum is
    /// negated: one of both is incoming, and the other is not.
    pub legs: Vec<(u8, bool)>,
    /// The pairs of legs that a colour line connects.
    pub lines: Vec<[u8; 2]>,
}

/// A coloured leg on a path along the colour lines of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Passed {
    /// A leg that no other can replace.
    Fixed(usize),
    /// A gluon.
    Gluon,
}

impl Process {
    /// The diagonal of the colour matrix; empty if JAMPs are not the colour flows.
    pub fn color_diagonal(&self) -> Vec<f64> {
        match self.amplitudes.diagrams() {
            Some(diagrams) if self.flow_weights.is_empty() => {
                let flows = 0..diagrams.color.flows as usize;
                flows.map(|flow| diagrams.color.entry(flow, flow)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The colour flows one by one. `None` if the process lists no diagrams, chooses flows by something else than
    /// `|JAMP|^2`, selects interferences, has polarised gluons, or has colour lines that do not connect two legs.
    pub fn leading_color(&self) -> Option<LeadingColor> {
        let diagrams = self.amplitudes.diagrams()?;
        let tags = &self.channels.color_flows;
        let count = diagrams.color.flows as usize;
        if !self.flow_weights.is_empty() || tags.len() != count {
            return None;
        }
        let gluons = self.gluons();
        if self.helicity_sum != HelicitySum::Positive || !self.has_all_helicities_of(&gluons) {
            return None;
        }
        // For each class, by the paths of its flows: its number, and the gluons of its first flow in the order of the
        // paths.
        let mut known: SortedMap<Vec<Vec<Passed>>, (usize, Vec<usize>)> = SortedMap::new();
        let mut found = LeadingColor {
            classes: Vec::new(),
            flows: Vec::new(),
        };
        for (flow, tags) in tags.iter().enumerate() {
            let lines = self.color_lines(tags)?;
            let paths = color_paths(&lines, self.legs.len(), &gluons);
            let color_factor = diagrams.color.entry(flow, flow);
            let kinds = paths.iter().map(|path| {
                let kind = |&leg: &usize| match gluons[leg] {
                    true => Passed::Gluon,
                    false => Passed::Fixed(leg),
                };
                path.iter().map(kind).collect()
            });
            let passed: Vec<usize> = paths.concat();
            let passed: Vec<usize> = passed.into_iter().filter(|&leg| gluons[leg]).collect();
            let next = found.classes.len();
            let (class, first) = known
                .entry(kinds.collect())
                .or_insert_with(|| (next, passed.clone()));
            if *class == next {
                found.classes.push(self.with_one_flow(diagrams, flow));
            }
            let of_class = found.classes[*class].amplitudes.diagrams()?;
            let same = (of_class.color.entry(0, 0) / color_factor - 1.0).abs() < 1e-12;
            if !(color_factor > 0.0 && same) {
                return None;
            }
            let mut legs: Vec<(u8, bool)> =
                (0..self.legs.len() as u8).map(|leg| (leg, false)).collect();
            for (&to, &from) in first.iter().zip(&passed) {
                let crossed = self.legs[to].incoming != self.legs[from].incoming;
                legs[to] = (from as u8, crossed);
            }
            found.flows.push(SingleFlow {
                class: *class,
                legs,
                lines: along(&paths, &lines),
            });
        }
        Some(found)
    }

    /// Which legs are gluons: massless vectors with colour and anticolour, all of the same kind.
    fn gluons(&self) -> Vec<bool> {
        let octet = |leg: usize| {
            let mut flows = self.channels.color_flows.iter();
            flows.all(|tags| tags[leg].0 > 0 && tags[leg].1 > 0)
        };
        let massless_vector = |leg: usize| {
            self.wavefunctions.iter().any(|wavefunction| {
                matches!(wavefunction, Wavefunction::External(one) if one.leg as usize == leg
                    && one.kind == ExternalKind::Vector && one.mass == Quantity::ZERO)
            })
        };
        let candidates = (0..self.legs.len()).filter(|&leg| octet(leg) && massless_vector(leg));
        let candidates: Vec<usize> = candidates.collect();
        let first = candidates.first().map(|&leg| self.legs[leg].pdg);
        let mut gluons = vec![false; self.legs.len()];
        for leg in candidates {
            gluons[leg] = Some(self.legs[leg].pdg) == first;
        }
        gluons
    }

    /// Whether reversing the helicity of one of these legs gives another helicity configuration, with the same weight. Then
    /// a sum over helicities does not change if such legs take each other's places, incoming or outgoing.
    fn has_all_helicities_of(&self, legs: &[bool]) -> bool {
        let weight = |row: usize| self.beam_weights.get(row).map_or(1.0, |weight| *weight);
        let rows = self.helicities.iter().enumerate();
        let weights: SortedMap<&[i8], f64> = rows.map(|(row, of)| (&of[..], weight(row))).collect();
        weights.iter().all(|(row, weight)| {
            let reversed = (0..row.len()).filter(|&leg| legs[leg]).map(|leg| {
                let mut row = row.to_vec();
                row[leg] = -row[leg];
                row
            });
            { reversed }.all(|row| weights.get(&row[..]) == Some(weight))
        })
    }

    /// The process with the JAMP of one flow, and the diagrams that it needs.
    fn with_one_flow(&self, diagrams: &Diagrams, flow: usize) -> Process {
        let terms = diagrams.jamp.terms_of(flow);
        let mut needed = vec![false; self.wavefunctions.len()];
        for &(amplitude, _) in &terms {
            for &input in &diagrams.amplitudes[amplitude as usize].inputs {
                needed[input as usize] = true;
            }
        }
        for number in (0..self.wavefunctions.len()).rev() {
            match &self.wavefunctions[number] {
                Wavefunction::External(_) => needed[number] = true,
                Wavefunction::Internal(vertex) if needed[number] => {
                    for &input in &vertex.inputs {
                        needed[input as usize] = true;
                    }
                }
                Wavefunction::Internal(_) => {}
            }
        }
        let mut numbers = vec![0; needed.len()];
        let mut wavefunctions = Vec::new();
        for (number, wavefunction) in self.wavefunctions.iter().enumerate() {
            if !needed[number] {
                continue;
            }
            numbers[number] = wavefunctions.len() as u32;
            let mut kept = wavefunction.clone();
            if let Wavefunction::Internal(vertex) = &mut kept {
                let inputs = vertex.inputs.iter_mut();
                inputs.for_each(|input| *input = numbers[*input as usize]);
            }
            wavefunctions.push(kept);
        }
        let mut amplitudes = Vec::new();
        let mut output = Vec::new();
        for (number, (amplitude, factor)) in terms.into_iter().enumerate() {
            let mut vertex = diagrams.amplitudes[amplitude as usize].clone();
            let inputs = vertex.inputs.iter_mut();
            inputs.for_each(|input| *input = numbers[*input as usize]);
            amplitudes.push(vertex);
            output.push(Term {
                source: TermSource::Amplitude(number as u32),
                factor,
            });
        }
        Process {
            wavefunctions,
            amplitudes: Amplitudes::Diagrams(Diagrams {
                amplitudes,
                jamp: LinearMap {
                    partial: Vec::new(),
                    outputs: vec![output],
                },
                color: ColorMatrix {
                    flows: 1,
                    denominator: 1.0,
                    upper: vec![diagrams.color.entry(flow, flow)],
                },
                color_ordered: None,
            }),
            diagrams: 0,
            flow_weights: Vec::new(),
            channels: Channels {
                color_flows: vec![self.channels.color_flows[flow].clone()],
                ..Channels::default()
            },
            ..self.clone()
        }
    }
}

impl LinearMap {
    /// An output as a sum of amplitudes, ascending: their numbers and coefficients.
    fn terms_of(&self, output: usize) -> Vec<(u32, (f64, f64))> {
        let mut sums: SortedMap<u32, (f64, f64)> = SortedMap::new();
        let mut open: Vec<(&[Term], (f64, f64))> = vec![(&self.outputs[output], (1.0, 0.0))];
        while let Some((terms, (a, b))) = open.pop() {
            for term in terms {
                let (c, d) = term.factor;
                let factor = (a * c - b * d, a * d + b * c);
                match term.source {
                    TermSource::Partial(number) => {
                        open.push((&self.partial[number as usize], factor));
                    }
                    TermSource::Amplitude(number) => {
                        let sum = sums.entry(number).or_default();
                        *sum = (sum.0 + factor.0, sum.1 + factor.1);
                    }
                }
            }
        }
        // Partial sums may cancel up to rounding.
        let size = |(re, im): (f64, f64)| re.abs().max(im.abs());
        let largest = sums
            .values()
            .fold(0.0, |most, &one| f64::max(most, size(one)));
        sums.into_iter()
            .filter(|&(_, factor)| size(factor) > 1e-12 * largest)
            .collect()
    }
}

/// The lines in the order of the paths.
fn along(paths: &[Vec<usize>], lines: &[[usize; 2]]) -> Vec<[u8; 2]> {
    let from = |leg: usize| lines.iter().find(|line| line[0] == leg);
    let legs = paths.iter().flatten();
    let in_order = legs.filter_map(|&leg| from(leg));
    in_order.map(|line| line.map(|leg| leg as u8)).collect()
}
