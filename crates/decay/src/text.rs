//! The text of decayed events. Parts other than particles and weights are copied unchanged.

use crate::channel::DecayChannel;
use crate::class::EventClass;
use crate::request::{DecayRequest, Flavour};
use crate::shape::DecayProduct;
use crate::trials::Outcome;
use crate::vectors::{Momentum, mass, sum};
use mebridge_lhe::{
    DECAYED, Event, OUTGOING, Particle, push_integer, push_particle, push_scientific,
};
use std::collections::HashMap;

/// SPINUP of decayed particles: unknown.
const UNKNOWN: f64 = 9.0;
/// Digits of XWGTUP after the decimal point.
const DIGITS: usize = 10;

/// Appends an event with its decays; weights are multiplied by the branching fraction.
///
/// # Errors
/// A number of the event cannot be read or written.
pub fn push(
    text: &mut Vec<u8>,
    event: &Event,
    outcome: &Outcome,
    class: &EventClass,
    request: &DecayRequest,
) -> Result<(), String> {
    let particles = match class.roots.is_empty() {
        true => event.particles.clone(),
        false => particles(event, outcome, class, request),
    };
    let numbers = event.numbers.clone();
    text.extend_from_slice(&event.text[..numbers.start]);
    push_head(text, event, particles.len(), class.fraction)?;
    for particle in &particles {
        push_particle(text, particle)?;
    }
    let mut rest = numbers.end;
    // The rest of the last particle's line is dropped.
    if let Some(end) = event.text[rest..]
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'<'))
        && event.text[rest + end] == b'\n'
    {
        rest += end + 1;
    }
    event.push_rest(rest, class.fraction, text)
}

/// Appends the first line with new NUP and XWGTUP; the rest stays.
fn push_head(
    text: &mut Vec<u8>,
    event: &Event,
    particles: usize,
    fraction: f64,
) -> Result<(), String> {
    let line = event.text[event.numbers.clone()]
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .next();
    let line = String::from_utf8_lossy(line.unwrap_or_default());
    let words: Vec<&str> = line.split_whitespace().collect();
    let weight = event.weight * fraction;
    if words.len() < 6 || !weight.is_finite() {
        return Err("its first line is not understood".to_owned());
    }
    push_integer(text, particles as i32, 2);
    text.push(b' ');
    text.extend_from_slice(words[1].as_bytes());
    text.push(b' ');
    push_scientific(text, weight, DIGITS, true);
    for word in &words[3..] {
        text.push(b' ');
        text.extend_from_slice(word.as_bytes());
    }
    text.push(b'\n');
    Ok(())
}

/// The particles of a decayed event: the products follow the decaying particle.
fn particles(
    event: &Event,
    outcome: &Outcome,
    class: &EventClass,
    request: &DecayRequest,
) -> Vec<Particle> {
    let before = &event.particles;
    let mut moved = before.clone();
    let products = place_legs(&mut moved, outcome, class, request);
    if outcome.moved {
        move_resonances(&mut moved, before);
    }
    let tags = before.iter().flat_map(|particle| particle.colors);
    let mut next = tags.map(i32::abs).max().unwrap_or(0).max(500) + 1;
    let mut found: Vec<Particle> = Vec::with_capacity(2 * before.len());
    let mut places = vec![0; before.len() + 1];
    let mut original = Vec::new();
    for (at, particle) in moved.into_iter().enumerate() {
        found.push(particle);
        original.push(found.len() - 1);
        places[at + 1] = found.len() as i32;
        if let Some(root) = class.roots.iter().position(|root| root.particle == at) {
            let (momenta, spins) = &products[root];
            let flavour = &request.flavours[outcome.flavours[root]];
            let channel = &request.channels[flavour.channel];
            let colors = colors(channel, outcome.flows[root], particle.colors, &mut next);
            let decay = Decay {
                channel,
                flavour,
                momenta,
                spins,
                colors: &colors,
            };
            decay.push(&mut found);
        }
    }
    for at in original {
        let own = |mother: i32| {
            usize::try_from(mother)
                .ok()
                .and_then(|mother| places.get(mother))
                .copied()
        };
        found[at].mothers = found[at]
            .mothers
            .map(|mother| own(mother).unwrap_or(mother));
    }
    found
}

/// Momenta and spins of the legs of a root's channel.
type Products = (Vec<Momentum>, Vec<f64>);

/// Sets momenta and spins of the particles, and returns the products of each root.
fn place_legs(
    particles: &mut [Particle],
    outcome: &Outcome,
    class: &EventClass,
    request: &DecayRequest,
) -> Vec<Products> {
    let set = |particle: &mut Particle, [e, x, y, z]: Momentum| {
        particle.momentum[..4].copy_from_slice(&[x, y, z, e]);
    };
    let mut products = Vec::new();
    let mut place = 0;
    for (leg, &at) in class.legs.iter().enumerate() {
        let particle = &mut particles[at];
        if class
            .roots
            .get(products.len())
            .is_none_or(|root| root.leg != leg)
        {
            if outcome.moved && leg >= class.incoming {
                set(particle, outcome.momenta[place]);
            }
            if let (Some(spin), true) = (outcome.spins[place], particle.spin.abs() < UNKNOWN) {
                particle.spin = f64::from(spin);
            }
            place += 1;
            continue;
        }
        let channel = &request.channels[request.flavours[outcome.flavours[products.len()]].channel];
        let count = channel.codes.len() - 1;
        let own = &outcome.momenta[place..place + count];
        let spins = outcome.spins[place..place + count].iter();
        let spins = spins.map(|spin| spin.map_or(UNKNOWN, f64::from));
        if outcome.moved {
            let all = sum(own);
            set(particle, all);
            particle.momentum[4] = mass(all);
        }
        particle.status = DECAYED;
        particle.spin = UNKNOWN;
        // The decaying leg comes first.
        let with_first =
            |first: Momentum| std::iter::once(first).chain(own.iter().copied()).collect();
        products.push((
            with_first(sum(own)),
            std::iter::once(UNKNOWN).chain(spins).collect(),
        ));
        place += count;
    }
    products
}

/// Sets momenta of resonances of production to the sum of their products; they keep their masses.
fn move_resonances(particles: &mut [Particle], before: &[Particle]) {
    let mut sums: HashMap<usize, [f64; 4]> = HashMap::new();
    for at in 0..particles.len() {
        if before[at].status != OUTGOING {
            continue;
        }
        let mut mother = before[at].mothers[0];
        // Mothers come before their daughters.
        while let Ok(of @ 1..) = usize::try_from(mother) {
            let Some(own) = before
                .get(of - 1)
                .filter(|own| own.status == DECAYED && of - 1 < at)
            else {
                break;
            };
            let sum = sums.entry(of - 1).or_default();
            sum.iter_mut()
                .zip(particles[at].momentum)
                .for_each(|(sum, x)| *sum += x);
            if own.mothers[0] >= mother {
                break;
            }
            mother = own.mothers[0];
        }
    }
    for (at, sum) in sums {
        particles[at].momentum[..4].copy_from_slice(&sum);
    }
}

/// Colours of the legs of a decay in the numbering of the event.
///
/// Args: `mother` are the colours of the decaying particle; `next` is the first unused colour.
fn colors(channel: &DecayChannel, flow: usize, mother: [i32; 2], next: &mut i32) -> Vec<[i32; 2]> {
    let Some(flow) = channel.flows.get(flow) else {
        return vec![[0; 2]; channel.codes.len()];
    };
    let own = [flow[0].0, flow[0].1];
    let mut tags: HashMap<i32, i32> = HashMap::new();
    for (own, mother) in own.into_iter().zip(mother) {
        if own != 0 {
            tags.insert(own, mother);
        }
    }
    let mut of = |tag: i32| match tag {
        0 => 0,
        tag => *tags.entry(tag).or_insert_with(|| {
            *next += 1;
            *next - 1
        }),
    };
    flow.iter()
        .map(|&(color, anticolor)| [of(color), of(anticolor)])
        .collect()
}

/// A decay to be appended as particles.
struct Decay<'a> {
    channel: &'a DecayChannel,
    flavour: &'a Flavour,
    momenta: &'a [Momentum],
    spins: &'a [f64],
    colors: &'a [[i32; 2]],
}

impl Decay<'_> {
    /// Appends the products of the last particle and, recursively, their products.
    fn push(&self, to: &mut Vec<Particle>) {
        let shape = &self.channel.shape;
        let mut places = vec![0; shape.nodes.len()];
        places[0] = to.len() as i32;
        for (number, node) in shape.nodes.iter().enumerate() {
            for product in &node.products {
                let ([e, x, y, z], own) = match *product {
                    DecayProduct::Leg(leg) => (self.momenta[leg], self.leg(leg)),
                    DecayProduct::Node(node) => {
                        let momentum = shape.momentum(node, self.momenta);
                        (momentum, self.resonance(node, mass(momentum)))
                    }
                };
                to.push(Particle {
                    mothers: [places[number]; 2],
                    momentum: [x, y, z, e, own.momentum[4]],
                    ..own
                });
                if let DecayProduct::Node(node) = *product {
                    places[node] = to.len() as i32;
                }
            }
        }
    }

    fn leg(&self, leg: usize) -> Particle {
        Particle {
            pdg: self.flavour.legs[leg],
            status: OUTGOING,
            colors: self.colors[leg],
            momentum: [0.0, 0.0, 0.0, 0.0, self.channel.shape.masses[leg]],
            spin: self.spins[leg],
            ..Particle::default()
        }
    }

    /// A decayed particle with the open colours of its products.
    fn resonance(&self, node: usize, mass: f64) -> Particle {
        let legs = self.channel.shape.legs(node);
        let tags = |which: usize| {
            legs.iter()
                .map(move |&leg| self.colors[leg][which])
                .filter(|tag| *tag != 0)
        };
        let left = |own: usize| {
            let mut alone = tags(own).filter(|tag| !tags(1 - own).any(|other| other == *tag));
            alone.next().unwrap_or(0)
        };
        Particle {
            pdg: self.flavour.nodes[node],
            status: DECAYED,
            colors: [left(0), left(1)],
            momentum: [0.0, 0.0, 0.0, 0.0, mass],
            spin: UNKNOWN,
            ..Particle::default()
        }
    }
}
