//! Cache of everything that depends only on the order in which a point is clustered.

use super::path::Path;
use super::trace::{Trace, Traced};
use super::{Clustering, Error, MAX_LEGS};
use std::collections::HashMap;

/// The start of a clustering: the channel, its propagators on their mass shells (a bit mask), and whether only the
/// diagram of the channel is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Start {
    pub channel: u32,
    pub resonances: u32,
    pub alone: bool,
}

/// Two lines that can be combined.
#[derive(Clone, Copy, Debug)]
pub struct Mergeable {
    /// Their indices among the remaining lines, in ascending order.
    pub first: u8,
    pub second: u8,
    /// Whether they form a resonance on its mass shell.
    pub resonant: bool,
    /// The order after this step, if already known.
    next: Option<u32>,
}

/// A sequence of clustering steps.
#[derive(Clone, Debug)]
pub struct StepOrder {
    /// The remaining lines, beams first, with the leg that each started from, counted from 1.
    left: Vec<(u32, i32)>,
    /// The diagrams that allow these steps.
    graphs: Vec<u32>,
    /// The first, second and combined line of each step; at the end also the last step, with both beams.
    pub steps: Vec<[u32; 3]>,
    /// For each step, the legs that the first and second line started from, and the other beam, from 1; 0 for none.
    pub numbers: Vec<[i32; 3]>,
    /// The possible next steps.
    pub pairs: Vec<Mergeable>,
    resonances: Vec<u32>,
    channel: u32,
    /// Traces of processes for which the order of transverse momenta does not matter: process and index.
    traces: Vec<(u32, u32)>,
}

impl StepOrder {
    /// Whether the clustering is complete.
    pub fn is_whole(&self) -> bool {
        self.left.len() == 3
    }

    /// The diagram that determines the PDG codes of the lines.
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
            // As in MadEvent.
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

/// The cache of one thread for one clustering.
#[derive(Debug, Default)]
pub struct ClusteringCache {
    starts: HashMap<Start, u32>,
    orders: Vec<StepOrder>,
    /// Traces by order, process and ranks of transverse momenta.
    traces: HashMap<(u32, u32, u64), u32>,
    traced: Vec<Traced>,
    /// The last clustered point.
    pub(super) path: Path,
}

/// Most orders and traces before the cache is cleared.
const MAX_ENTRIES: usize = 1 << 15;

impl ClusteringCache {
    /// The index of the empty order for a start.
    pub fn start(&mut self, of: &Clustering, start: Start) -> usize {
        if self.orders.len() + self.traced.len() > MAX_ENTRIES {
            *self = ClusteringCache::default();
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

    /// The order with this index.
    pub fn order(&self, place: usize) -> &StepOrder {
        &self.orders[place]
    }

    /// The index of the order that follows when a pair is combined.
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

    /// The index of the trace of a complete order, for particles with these momenta.
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
        let reweighted = of.matching.reweighted.then_some(of.matching.asrwgtflavor);
        let number = self.traced.len();
        self.traced.push(trace.results(reweighted, &order.numbers));
        match trace.by_ranks() {
            true => drop(self.traces.insert(key, number as u32)),
            false => (self.orders[place].traces).push((process as u32, number as u32)),
        }
        Ok(number)
    }

    /// The trace with this index.
    pub fn traced(&self, number: usize) -> &Traced {
        &self.traced[number]
    }
}

/// The ranks of the legs in transverse momentum, four bits each.
fn ranks(p: &[[f64; 4]]) -> u64 {
    let mut squares = [0.0; MAX_LEGS];
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
