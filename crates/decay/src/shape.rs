//! Decay trees and their phase space.

use crate::element::Evaluator;
use crate::vectors::{Momentum, boost, isotropic, opposite, sum, two_body};
use mebridge::{Error, Result};
use std::f64::consts::PI;

/// A direct product of a decay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecayProduct {
    /// A leg of the decay's matrix element; leg 0 is the decaying particle.
    Leg(usize),
    /// A particle that decays further, as an index of [`DecayShape::nodes`].
    Node(usize),
}

/// A decaying particle.
#[derive(Clone, Debug)]
pub struct DecayNode {
    /// PDG code.
    pub pdg: i32,
    /// Pole mass, GeV.
    pub mass: f64,
    /// Width, GeV.
    pub width: f64,
    /// Direct products, in the order of the legs.
    pub products: Vec<DecayProduct>,
    /// The smallest and the largest mass that it may have, GeV.
    pub window: [f64; 2],
}

/// A decay with all decays within it.
#[derive(Clone, Debug)]
pub struct DecayShape {
    /// The particle that decays first, then those within its decay, each after its mother.
    pub nodes: Vec<DecayNode>,
    /// Masses of the legs of the matrix element, GeV.
    pub masses: Vec<f64>,
}

/// Maps a random number to a Breit-Wigner distributed mass within the window; also returns the Jacobian `dm^2/drandom`.
pub fn breit_wigner(node: [f64; 2], window: [f64; 2], random: f64) -> (f64, f64) {
    let [mass, width] = node;
    let angle = |limit: f64| ((limit - mass) * (limit + mass) / (mass * width)).atan();
    let [low, high] = window.map(angle);
    let tangent = (low + (high - low) * random).tan();
    let square = mass * (mass + width * tangent);
    let found = square.max(0.0).sqrt().clamp(window[0], window[1]);
    (
        found,
        (high - low) * propagator(node, found) / (mass * width),
    )
}

/// `(m^2 - M^2)^2 + M^2 W^2`, the denominator of a squared propagator.
pub fn propagator([mass, width]: [f64; 2], at: f64) -> f64 {
    ((at - mass) * (at + mass)).powi(2) + (mass * width).powi(2)
}

impl DecayShape {
    /// The tree of a decay's matrix element.
    ///
    /// Args: `width` is the width of the decaying particle, GeV; `cut` is the largest distance of a mass from the pole,
    /// in widths.
    ///
    /// # Errors
    /// A decay is closed, or a particle that decays within it has no width.
    pub fn new(element: &Evaluator, width: f64, cut: f64) -> Result<DecayShape> {
        let process = &element.process;
        let masses = element.masses();
        let all: Vec<u32> = (1..process.legs.len() as u32).collect();
        let node = |pdg, mass, width| DecayNode {
            pdg,
            mass,
            width,
            products: Vec::new(),
            window: [0.0; 2],
        };
        let mut nodes = vec![(all, node(process.legs[0].pdg, masses[0], width))];
        let lines = process
            .channels
            .resonances
            .iter()
            .filter(|line| line.on_shell);
        nodes.extend(lines.map(|line| {
            let (mass, width) = (element.value(line.mass), element.value(line.width));
            (line.legs.clone(), node(line.pdg, mass, width))
        }));
        // Mothers come first.
        nodes[1..].sort_by_key(|(legs, _)| (std::cmp::Reverse(legs.len()), legs.clone()));
        let mother = |legs: &[u32], before: usize| {
            let within = |n: &usize| legs.iter().all(|leg| nodes[*n].0.contains(leg));
            (0..before).rev().find(within).unwrap_or(0)
        };
        let mut products: Vec<(usize, u32, DecayProduct)> = Vec::new();
        for (number, (legs, _)) in nodes.iter().enumerate().skip(1) {
            products.push((mother(legs, number), legs[0], DecayProduct::Node(number)));
        }
        for &leg in &nodes[0].0 {
            products.push((
                mother(&[leg], nodes.len()),
                leg,
                DecayProduct::Leg(leg as usize),
            ));
        }
        products.sort_by_key(|&(_, leg, _)| leg);
        let mut nodes: Vec<DecayNode> = nodes.into_iter().map(|(_, node)| node).collect();
        for (mother, _, product) in products {
            nodes[mother].products.push(product);
        }
        let mut shape = DecayShape { nodes, masses };
        shape.check(&process.name)?;
        shape.set_windows(cut);
        Ok(shape)
    }

    /// Checks that all decays are open with the masses of the card and that particles decaying within have a width.
    fn check(&self, name: &str) -> Result<()> {
        for (number, node) in self.nodes.iter().enumerate() {
            let products = node.products.iter().map(|product| match *product {
                DecayProduct::Leg(leg) => self.masses[leg],
                DecayProduct::Node(node) => self.nodes[node].mass,
            });
            let products: f64 = products.sum();
            if node.mass <= products {
                let what = format!(
                    "the decay of PDG {} is closed: it has {} GeV, its products have {} GeV together",
                    node.pdg, node.mass, products
                );
                let cure = "replace a product by its own decay products (`h > w+ e- ve~`), or change the masses";
                return Err(Error::run_at(name, what, cure));
            }
            if number > 0 && node.width <= 0.0 {
                let what = format!(
                    "PDG {} decays and has the width 0 in the parameter card",
                    node.pdg
                );
                let cure =
                    "give it its width (DECAY), by --param-card where the file has another one";
                return Err(Error::run_at(name, what, cure));
            }
        }
        Ok(())
    }

    fn set_windows(&mut self, cut: f64) {
        for number in (0..self.nodes.len()).rev() {
            let node = &self.nodes[number];
            let least = node.products.iter().map(|product| match *product {
                DecayProduct::Leg(leg) => self.masses[leg],
                DecayProduct::Node(node) => self.nodes[node].window[0],
            });
            let low = f64::max(node.mass - cut * node.width, least.sum());
            self.nodes[number].window = [low, node.mass + cut * node.width];
        }
    }

    /// Draws a point in the rest frame of the decaying particle; returns its mass and the weight of the point.
    ///
    /// The weight is the phase-space weight with all factors of 2 pi, except for the mass of the decaying particle:
    /// this has a Breit-Wigner distribution if `off_shell`, otherwise it is the mass of the card. The weight is 0 if
    /// the masses do not fit.
    ///
    /// Args: `momenta` gets the momenta of the legs.
    pub fn draw(
        &self,
        off_shell: bool,
        mut random: impl FnMut() -> f64,
        momenta: &mut [Momentum],
    ) -> (f64, f64) {
        let mut weight = 1.0;
        let mut masses = Vec::with_capacity(self.nodes.len());
        for (number, node) in self.nodes.iter().enumerate() {
            let mass_random = random();
            let own = [node.mass, node.width];
            masses.push(match (number, off_shell) {
                (0, false) => node.mass,
                (0, true) => breit_wigner(own, node.window, mass_random).0,
                _ => {
                    let (mass, counts) = breit_wigner(own, node.window, mass_random);
                    weight *= counts / (2.0 * PI);
                    mass
                }
            });
        }
        let mut frames = vec![[masses[0], 0.0, 0.0, 0.0]; self.nodes.len()];
        momenta[0] = frames[0];
        for (number, node) in self.nodes.iter().enumerate() {
            let mass_of = |product: &DecayProduct| match *product {
                DecayProduct::Leg(leg) => self.masses[leg],
                DecayProduct::Node(node) => masses[node],
            };
            let (mut frame, mut mass) = (frames[number], masses[number]);
            let mut left: f64 = node.products.iter().map(mass_of).sum();
            if left >= mass {
                return (masses[0], 0.0);
            }
            for (place, product) in node.products.iter().enumerate() {
                let own = mass_of(product);
                left -= own;
                let rest = match node.products.len() - place {
                    1 => {
                        self.put(*product, frame, momenta, &mut frames);
                        break;
                    }
                    2 => mass_of(&node.products[place + 1]),
                    _ => {
                        let range = mass - own - left;
                        let rest = left + range * random();
                        weight *= 2.0 * rest * range / (2.0 * PI);
                        rest
                    }
                };
                let momentum = two_body(mass, own, rest);
                weight *= momentum / (4.0 * PI * mass);
                let one = isotropic(own, momentum, [random(), random()]);
                let other = opposite(one, rest);
                self.put(*product, boost(one, frame, mass), momenta, &mut frames);
                (frame, mass) = (boost(other, frame, mass), rest);
            }
        }
        (masses[0], weight)
    }

    fn put(
        &self,
        product: DecayProduct,
        momentum: Momentum,
        momenta: &mut [Momentum],
        frames: &mut [Momentum],
    ) {
        match product {
            DecayProduct::Leg(leg) => momenta[leg] = momentum,
            DecayProduct::Node(node) => frames[node] = momentum,
        }
    }

    /// The momentum of a node: the sum over the legs below it.
    pub fn momentum(&self, node: usize, momenta: &[Momentum]) -> Momentum {
        let products = self.nodes[node]
            .products
            .iter()
            .map(|product| match *product {
                DecayProduct::Leg(leg) => momenta[leg],
                DecayProduct::Node(node) => self.momentum(node, momenta),
            });
        sum(&products.collect::<Vec<_>>())
    }

    /// The legs below a node.
    pub fn legs(&self, node: usize) -> Vec<usize> {
        let products = self.nodes[node].products.iter();
        let legs = products.flat_map(|product| match *product {
            DecayProduct::Leg(leg) => vec![leg],
            DecayProduct::Node(node) => self.legs(node),
        });
        legs.collect()
    }

    /// Whether the momenta have the masses of their legs and add up to that of leg 0.
    #[cfg(test)]
    fn is_right(&self, momenta: &[Momentum]) -> bool {
        let all = sum(&momenta[1..]);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * momenta[0][0];
        let masses = momenta[1..].iter().zip(&self.masses[1..]);
        all.iter().zip(momenta[0]).all(|(a, b)| near(*a, b))
            && masses
                .into_iter()
                .all(|(p, m)| (crate::vectors::mass(*p) - m).abs() < 1e-4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge::random::SplitMix64;

    fn node(mass: f64, width: f64, products: &[DecayProduct], window: [f64; 2]) -> DecayNode {
        DecayNode {
            pdg: 0,
            mass,
            width,
            products: products.to_vec(),
            window,
        }
    }

    /// Phase space of three massless particles is s / (4 (4 pi)^3), that of two 1 / (8 pi).
    #[test]
    fn phase_space_is_the_known_one() {
        let mut random = SplitMix64::new(3);
        for (count, expected) in [
            (2, 1.0 / (8.0 * PI)),
            (3, 100.0 / (4.0 * (4.0 * PI).powi(3))),
        ] {
            let legs: Vec<DecayProduct> = (1..=count).map(DecayProduct::Leg).collect();
            let shape = DecayShape {
                nodes: vec![node(10.0, 1.0, &legs, [5.0, 15.0])],
                masses: vec![0.0; count + 1],
            };
            let points = 20_000;
            let mut sum = 0.0;
            for _ in 0..points {
                let mut momenta = vec![[0.0; 4]; count + 1];
                sum += shape.draw(false, || random.number(), &mut momenta).1;
                assert!(shape.is_right(&momenta));
            }
            let found = sum / f64::from(points);
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{count}: {found} {expected}"
            );
        }
    }

    /// In the narrow-width approximation, a chain is the product of its steps times 1 / (2 M W), as the integral of the
    /// Breit-Wigner distribution over all masses is pi / (M W).
    #[test]
    fn masses_have_their_distribution() {
        let shape = DecayShape {
            nodes: vec![
                node(
                    170.0,
                    1.5,
                    &[DecayProduct::Node(1), DecayProduct::Leg(3)],
                    [140.0, 200.0],
                ),
                node(
                    80.0,
                    2.0,
                    &[DecayProduct::Leg(1), DecayProduct::Leg(2)],
                    [50.0, 110.0],
                ),
            ],
            masses: vec![170.0, 0.0, 0.0, 5.0],
        };
        let mut random = SplitMix64::new(5);
        let (mut sum, mut within) = (0.0, 0);
        let points = 20_000;
        for _ in 0..points {
            let mut momenta = [[0.0; 4]; 4];
            let (mass, weight) = shape.draw(true, || random.number(), &mut momenta);
            assert!(shape.is_right(&momenta));
            within += u32::from((mass - 170.0).abs() < 0.75);
            let w = crate::vectors::mass(shape.momentum(1, &momenta));
            sum += weight / propagator([80.0, 2.0], w);
        }
        let steps = two_body(170.0, 80.0, 5.0) / (4.0 * PI * 170.0) / (8.0 * PI);
        let found = sum / f64::from(points);
        let expected = steps / (2.0 * 80.0 * 2.0);
        assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
        // Half of a Breit-Wigner distribution lies within half a width; here a little more, as its tails are cut off.
        let share = f64::from(within) / f64::from(points);
        assert!((share - 0.51).abs() < 0.02, "{share}");
        assert_eq!(shape.legs(0), [1, 2, 3]);
    }
}
