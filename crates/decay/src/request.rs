//! The requested decays.

use crate::channel::{DecayChannel, DecayGenerator};
use crate::element::{Evaluator, Theory};
use crate::fractions::{Fractions, conjugate};
use crate::name::Name;
use crate::shape::{DecayProduct, DecayShape};
use mebridge::{Error, Result};
use mebridge_support::message::say;

/// A decay of a particle into definite particles (no labels).
#[derive(Clone, Debug, PartialEq)]
pub struct Flavour {
    /// The index of its channel.
    pub channel: usize,
    /// PDG codes of the legs of its channel, the decaying particle first.
    pub legs: Vec<i32>,
    /// PDG codes of the decaying particles, in the order of the channel's nodes.
    pub nodes: Vec<i32>,
    /// Branching fraction, including those of all decays within it.
    pub fraction: f64,
}

/// The requested decays.
pub struct DecayRequest {
    /// Decays that share a matrix element.
    pub channels: Vec<DecayChannel>,
    /// For each requested line its decays, as indices of flavours.
    pub lines: Vec<Vec<usize>>,
    /// All decays, without duplicates.
    pub flavours: Vec<Flavour>,
    /// Branching fractions.
    pub fractions: Fractions,
}

impl DecayRequest {
    /// Reads lines such as `t > w+ b, w+ > l+ vl`; also returns the generator of decays of each channel.
    ///
    /// Args: `cut` is the largest distance of a mass from the pole, in widths.
    ///
    /// # Errors
    /// A line is not a decay, has no diagrams or is kinematically closed; or a particle has no width.
    pub fn read(
        lines: &[String],
        fractions: Fractions,
        cut: f64,
        theory: &Theory,
        threads: usize,
    ) -> Result<(DecayRequest, Vec<DecayGenerator>)> {
        let mut request = DecayRequest {
            channels: Vec::new(),
            lines: Vec::new(),
            flavours: Vec::new(),
            fractions,
        };
        let (mut parts, mut sources) = (Vec::new(), Vec::new());
        for line in lines {
            let text = line.trim();
            let text = text.strip_prefix("decay ").unwrap_or(text);
            let elements = theory.matrix_elements(text)?;
            let names = elements.names();
            let mut own = Vec::new();
            for (place, name) in names.iter().enumerate() {
                let process = elements.process(place)?;
                if process.legs.iter().filter(|leg| leg.incoming).count() != 1 {
                    let what = "this is not the decay of a particle";
                    return Err(Error::run_at(
                        line,
                        what,
                        "write it as `t > w+ b, w+ > l+ vl`",
                    ));
                }
                let element = Evaluator::new(process, theory)?;
                let (numbers, source) =
                    request.add(name, element, (cut, threads), theory, &mut parts)?;
                own.extend(numbers);
                sources.extend(source);
            }
            request.lines.push(own);
        }
        request.set_fractions(&parts, theory);
        Ok((request, sources))
    }

    /// Adds a channel, unless it is known, and returns the indices of its flavours.
    fn add(
        &mut self,
        name: &str,
        element: Evaluator,
        (cut, threads): (f64, usize),
        theory: &Theory,
        parts: &mut Vec<Vec<DecayStep>>,
    ) -> Result<(Vec<usize>, Option<DecayGenerator>)> {
        let own: Vec<i32> = element.process.legs.iter().map(|leg| leg.pdg).collect();
        let all: Vec<Vec<i32>> = std::iter::once(own)
            .chain(element.process.other_flavours.clone())
            .collect();
        let parsed = Name::parse(name)
            .ok_or_else(|| Error::run_at(name, "this name is not understood", ""))?;
        for step in parsed.steps() {
            self.fractions.compute(step, theory, threads)?;
        }
        let width = self.fractions.width(all[0][0], theory)?;
        let number = self.channels.len();
        let (channel, source) = DecayChannel::new(parsed, element, width, cut, number, theory)?;
        let mut numbers = Vec::new();
        let mut is_new = false;
        for legs in &all {
            let known = self
                .flavours
                .iter()
                .position(|flavour| flavour.legs == *legs);
            numbers.push(known.unwrap_or(self.flavours.len()));
            if known.is_some() {
                continue;
            }
            is_new = true;
            let nodes = nodes(&channel.shape, [legs, &all[0]], name, theory)?;
            parts.push(parts_of(&channel.shape, [legs, &all[0]], &nodes));
            self.flavours.push(Flavour {
                channel: number,
                legs: legs.clone(),
                nodes,
                fraction: 0.0,
            });
        }
        if is_new {
            self.channels.push(channel);
        }
        Ok((numbers, is_new.then_some(source)))
    }

    fn set_fractions(&mut self, parts: &[Vec<DecayStep>], theory: &Theory) {
        let mut of = |part: &DecayStep| {
            let rep = (part.rep.0, part.rep.1.as_slice());
            self.fractions
                .fraction(part.mother, &part.products, rep, &theory.model)
        };
        for part in parts.iter().flatten() {
            of(part);
        }
        let above = self.fractions.sums_above_one();
        for (mother, sum) in &above {
            say(format!(
                "decay: branching fractions of PDG {mother} add up to {sum:.6}, as the partial widths exceed the width in the \
                 card; they are divided by this sum"
            ));
        }
        for (flavour, parts) in self.flavours.iter_mut().zip(parts) {
            let factor = |part: &DecayStep| {
                let rep = (part.rep.0, part.rep.1.as_slice());
                let own = self
                    .fractions
                    .fraction(part.mother, &part.products, rep, &theory.model);
                let sum = above
                    .iter()
                    .find(|(mother, _)| *mother == part.mother.abs());
                own * part.ways / sum.map_or(1.0, |(_, sum)| *sum)
            };
            flavour.fraction = parts.iter().map(factor).product();
        }
    }
}

/// The decay of one particle within a chain.
struct DecayStep {
    mother: i32,
    products: Vec<i32>,
    /// The mother and products of the same step in the channel's first flavour.
    rep: (i32, Vec<i32>),
    /// The number of ways in which identical products can have these decays.
    ways: f64,
}

/// PDG codes of the direct products of a node.
fn products(shape: &DecayShape, node: usize, legs: &[i32], nodes: &[i32]) -> Vec<i32> {
    let code = |product: &DecayProduct| match *product {
        DecayProduct::Leg(leg) => legs[leg],
        DecayProduct::Node(node) => nodes[node],
    };
    shape.nodes[node].products.iter().map(code).collect()
}

fn parts_of(shape: &DecayShape, [legs, rep]: [&[i32]; 2], nodes: &[i32]) -> Vec<DecayStep> {
    let of_rep: Vec<i32> = shape.nodes.iter().map(|node| node.pdg).collect();
    let part = |number: usize| {
        // The code of each decaying product, with the legs that it decays into.
        let kinds = shape.nodes[number]
            .products
            .iter()
            .filter_map(|product| match *product {
                DecayProduct::Leg(_) => None,
                DecayProduct::Node(node) => {
                    let mut below: Vec<i32> =
                        shape.legs(node).into_iter().map(|leg| legs[leg]).collect();
                    below.sort_unstable();
                    Some((nodes[node], below))
                }
            });
        let kinds: Vec<(i32, Vec<i32>)> = kinds.collect();
        let ways = (0..kinds.len()).map(|last| {
            let before = || kinds[..=last].iter();
            let particles = before().filter(|kind| kind.0 == kinds[last].0).count();
            particles as f64 / before().filter(|kind| **kind == kinds[last]).count() as f64
        });
        DecayStep {
            mother: nodes[number],
            products: products(shape, number, legs, nodes),
            rep: (of_rep[number], products(shape, number, rep, &of_rep)),
            ways: ways.product(),
        }
    };
    (0..shape.nodes.len()).map(part).collect()
}

/// PDG codes of the decaying particles: those of the channel's first flavour, or their antiparticles where the charges
/// of the legs below are opposite.
fn nodes(
    shape: &DecayShape,
    [legs, rep]: [&[i32]; 2],
    name: &str,
    theory: &Theory,
) -> Result<Vec<i32>> {
    let model = &theory.model;
    let charges = |codes: &[i32]| {
        let mut sum = vec![0; model.charges.len()];
        for code in codes {
            if let Some(particle) = model
                .particles
                .iter()
                .find(|particle| particle.pdg == *code)
            {
                sum.iter_mut()
                    .zip(&particle.charges)
                    .for_each(|(sum, own)| *sum += own);
            }
        }
        sum
    };
    let code = |(number, node): (usize, &crate::shape::DecayNode)| {
        if number == 0 {
            return Ok(legs[0]);
        }
        let below = shape.legs(number);
        let of = |codes: &[i32]| charges(&below.iter().map(|&leg| codes[leg]).collect::<Vec<_>>());
        let (own, first) = (of(legs), of(rep));
        let opposite: Vec<i32> = first.iter().map(|charge| -charge).collect();
        if own == first || own == opposite {
            let is_same = own == first;
            return Ok(if is_same {
                node.pdg
            } else {
                conjugate(node.pdg, model)
            });
        }
        // Some charge other than the electric one differs, such as a family number.
        let electric = model
            .charges
            .iter()
            .position(|charge| charge.contains("electric"));
        let same = electric.is_none_or(|at| own[at] == first[at]);
        let turned = electric.is_none_or(|at| own[at] == opposite[at]);
        match (same, turned) {
            (true, _) => Ok(node.pdg),
            (false, true) => Ok(conjugate(node.pdg, model)),
            (false, false) => Err(Error::run_at(
                name,
                "the particle that decays within it is ambiguous",
                "request each decay by itself, without labels for the decaying particles",
            )),
        }
    };
    shape.nodes.iter().enumerate().map(code).collect()
}
