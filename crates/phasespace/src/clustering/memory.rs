//! What follows from the order in which points are clustered, found once for each order.

use super::path::Path;
use super::trace::{Trace, Traced};
use super::{Clustering, Error, MOST_LEGS};
use std::collections::HashMap;

/// What a clustering begins with: the channel, which of its propagators are on their mass shells, and whether it goes
/// along the diagram of the channel alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Start {
    pub channel: u32,
    pub resonances: u32,
    pub alone: bool,
}

/// Two that can be combined.
#[derive(Clone, Copy, Debug)]
pub struct Mergeable {
    /// Their places in what is left, the first one first.
    pub first: u8,
    pub second: u8,
    /// Whether they are a resonance on its mass shell.
    pub resonant: bool,
    /// The order after it, where it is known.
    next: Option<u32>,
}

/// An order of steps so far.
#[derive(Clone, Debug)]
pub struct StepOrder {
    /// What is left, the beams first, and the leg that each began with, from 1.
    left: Vec<(u32, i32)>,
    /// Diagrams that it may be of.
    graphs: Vec<u32>,
    /// First, second, and what they became; at the end the last one is that of both beams.
    pub steps: Vec<[u32; 3]>,
    /// Of each step the legs that the first and the second began with, and the other beam, from 1; 0 for none.
    pub numbers: Vec<[i32; 3]>,
    /// What can be next.
    pub pairs: Vec<Mergeable>,
    resonances: Vec<u32>,
    channel: u32,
    /// What follows from it for a process, where it does not matter which particle is harder.
    traces: Vec<(u32, u32)>,
}

impl StepOrder {
    /// Whether it ends here.
    pub fn is_whole(&self) -> bool {
        self.left.len() == 3
    }

    /// The diagram that lines have their codes of, at the end.
    fn diagram(&self) -> u32 {
        match self.graphs.first() {
            Some(&first) if !self.graphs.contains(&self.channel) => first,
            _ => self.channel,
        }
    }

    fn completed(mut self, of: &Clustering) -> StepOrder {
        if self.is_whole() {
            self.steps
                .push([0, 1, 2].map(|place: usize| self.left[place].0));
            // As MadEvent writes it.
            self.numbers.push([1, 3, 2]);
            return self;
        }
        for second in 2..self.left.len() {
            for first in 0..second {
                let together = self.left[first].0 + self.left[second].0;
                let there = &of.by_line[together as usize];
                if there.iter().any(|graph| self.graphs.contains(graph)) {
                    self.pairs.push(Mergeable {
                        first: first as u8,
                        second: second as u8,
                        resonant: self.resonances.contains(&together),
                        next: None,
                    });
                }
            }
        }
        self
    }
}

/// What a thread remembers of one clustering.
#[derive(Debug, Default)]
pub struct Memory {
    starts: HashMap<Start, u32>,
    orders: Vec<StepOrder>,
    /// By order, process and the order of transverse momenta.
    traces: HashMap<(u32, u32, u64), u32>,
    traced: Vec<Traced>,
    /// The point that was clustered last.
    pub(super) path: Path,
}

/// Orders and traces that are kept at most.
const MOST: usize = 1 << 15;

impl Memory {
    /// Where points begin.
    pub fn start(&mut self, of: &Clustering, start: Start) -> usize {
        if self.orders.len() + self.traced.len() > MOST {
            *self = Memory::default();
        }
        if let Some(&known) = self.starts.get(&start) {
            return known as usize;
        }
        let channel = start.channel as usize;
        let resonances = of.legs_of(start.channel, start.resonances);
        let nqcd = of.diagrams[channel].nqcd;
        let suits = |&diagram: &u32| {
            let resonant = &of.resonant[diagram as usize];
            of.diagrams[diagram as usize].nqcd == nqcd
                && (!start.alone || diagram == start.channel)
                && resonances.iter().all(|line| resonant.contains(line))
        };
        let order = StepOrder {
            left: (0..of.legs).map(|leg| (1 << leg, leg as i32 + 1)).collect(),
            graphs: (0..of.diagrams.len() as u32).filter(suits).collect(),
            steps: Vec::new(),
            numbers: Vec::new(),
            pairs: Vec::new(),
            resonances,
            channel: start.channel,
            traces: Vec::new(),
        };
        let place = self.orders.len();
        self.orders.push(order.completed(of));
        self.starts.insert(start, place as u32);
        place
    }

    /// An order.
    pub fn order(&self, place: usize) -> &StepOrder {
        &self.orders[place]
    }

    /// The order after a pair of this one.
    pub fn next(&mut self, of: &Clustering, place: usize, pair: usize) -> usize {
        let order = &self.orders[place];
        let Mergeable {
            first,
            second,
            next,
            ..
        } = order.pairs[pair];
        if let Some(next) = next {
            return next as usize;
        }
        let mut after = StepOrder {
            pairs: Vec::new(),
            ..order.clone()
        };
        let (first, second) = (first as usize, second as usize);
        let ((one, own), (other, of_other)) = (after.left[first], after.left.remove(second));
        let together = one + other;
        let beam = if first < 2 {
            order.left[1 - first].1
        } else {
            0
        };
        after.steps.push([one, other, together]);
        after.numbers.push([own, of_other, beam]);
        after.left[first] = (together, own);
        let there = of.by_line[together as usize].iter().copied();
        after.graphs = there.filter(|graph| order.graphs.contains(graph)).collect();
        let next = self.orders.len();
        self.orders.push(after.completed(of));
        self.orders[place].pairs[pair].next = Some(next as u32);
        next
    }

    /// What follows from an order that is whole, where particles have these transverse momenta.
    pub fn trace(
        &mut self,
        of: &Clustering,
        place: usize,
        process: usize,
        p: &[[f64; 4]],
    ) -> Result<usize, Error> {
        let order = &self.orders[place];
        let of_process = |(known, _): &&(u32, u32)| *known == process as u32;
        if let Some(&(_, known)) = order.traces.iter().find(of_process) {
            return Ok(known as usize);
        }
        let ranks = ranks(p);
        let key = (place as u32, process as u32, ranks);
        if let Some(&known) = self.traces.get(&key) {
            return Ok(known as usize);
        }
        let mut codes = of.codes[order.diagram() as usize].clone();
        codes.extend(
            (0..)
                .zip(&of.processes[process])
                .map(|(leg, code)| (1 << leg, *code)),
        );
        let flavors = of.settings.maxjetflavor;
        let trace = Trace::new(&order.steps, &codes, &of.colors, flavors, ranks, of.legs)?;
        let number = self.traced.len();
        self.traced.push(trace.found(&of.matching, &order.numbers));
        match trace.by_ranks() {
            true => drop(self.traces.insert(key, number as u32)),
            false => (self.orders[place].traces).push((process as u32, number as u32)),
        }
        Ok(number)
    }

    /// What was found.
    pub fn traced(&self, number: usize) -> &Traced {
        &self.traced[number]
    }
}

/// Of each leg, in four bits, how many have a smaller transverse momentum: the harder of two is told by that.
fn ranks(p: &[[f64; 4]]) -> u64 {
    let mut squares = [0.0; MOST_LEGS];
    for (square, p) in squares.iter_mut().zip(p) {
        *square = p[1] * p[1] + p[2] * p[2];
    }
    let squares = &squares[..p.len()];
    let mut found = 0;
    for (leg, square) in squares.iter().enumerate().skip(2) {
        let smaller = squares.iter().filter(|&other| other < square).count();
        found |= (smaller as u64) << (4 * leg);
    }
    found
}
