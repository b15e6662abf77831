//! Points that become events.

use super::parallel;
use super::random::Philox;
use mebridge_phasespace::clustering::Matched;
use mebridge_phasespace::{Layout, Rows};
use mebridge_support::memory::prefetch;
use mebridge_support::sorted::SortedMap;
use std::ops::Range;

/// An event, with its legs in the order of its matrix element.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Index of the source that drew it.
    pub source: u32,
    /// Number of the point in its source.
    pub point: u64,
    /// Index of its matrix element.
    pub element: u32,
    /// Incoming partons, as index among the partons of its group.
    pub partons: u32,
    /// A random number in (0, 1) that selects one of the processes with these partons.
    pub process: f64,
    /// 1, or more if the point's weight is above the threshold, with the sign of the point's weight; until the
    /// thresholds are known, the point's weight in pb. Both include the bias.
    pub weight: f64,
    /// The ratio of |M|^2 to the approximation by which the point was weighed; 1 without one.
    pub correction: f64,
    /// The row of the helicity table, the colour flow among those that the diagram allows, and the diagram, counted from 0,
    /// once they are chosen.
    pub choice: Option<[i32; 3]>,
    /// Bias of the caller; 1 without one.
    pub bias: f64,
    /// (E, px, py, pz) of each leg in GeV, in the detector frame with the first beam along +z.
    pub momenta: LegMomenta,
    /// Energy fractions of the partons from the first and the second beam.
    pub fractions: [f64; 2],
    /// Scales of renormalisation and of the densities of the first and the second beam, GeV.
    pub scales: [f64; 3],
    /// The scale in event records: the larger one of the densities, or without densities that of renormalisation; for
    /// matched events the starting scale of the shower.
    pub shown: f64,
    /// The strong coupling at the renormalisation scale.
    pub alpha_s: f64,
    /// If it was clustered, the diagram of its channel, from 0.
    pub diagram: Option<u32>,
    /// The result of matching, if points are weighted by it; the first beam comes first.
    pub matched: Option<Box<Matched>>,
}

/// Returns the random numbers in (0, 1) that choose the helicity, the colour flow and the diagram of an event.
pub fn random_choices(event: &Event) -> [f64; 3] {
    let philox = Philox {
        seed: event.process.to_bits(),
        round: 0,
        channel: u32::MAX - 3,
    };
    [0, 1, 2].map(|number| philox.number(0, number))
}

/// Groups the selected events by matrix element, in their order.
pub fn by_element<'a>(
    events: &'a mut [&mut Event],
    selected: impl Fn(&Event) -> bool,
) -> SortedMap<u32, Vec<&'a mut Event>> {
    let mut found: SortedMap<u32, Vec<&mut Event>> = SortedMap::new();
    for event in events.iter_mut().filter(|event| selected(event)) {
        found.entry(event.element).or_default().push(event);
    }
    found
}

/// Boosts the momenta of an event along z from the detector frame to the rest frame of the incoming particles, in which
/// helicities are defined as in MadEvent (`me_frame`). A single outgoing particle is exactly at rest.
pub fn at_rest(momenta: &[[f64; 4]]) -> LegMomenta {
    let [energy, along] = [0, 3].map(|i| momenta[0][i] + momenta[1][i]);
    let mass = ((energy - along) * (energy + along)).sqrt();
    let (cosh, sinh) = (energy / mass, along / mass);
    let rest = |&[e, x, y, z]: &[f64; 4]| [cosh * e - sinh * z, x, y, cosh * z - sinh * e];
    let alone = momenta.len() == 3;
    let rest = |(leg, momentum)| match leg {
        2 if alone => [mass, 0.0, 0.0, 0.0],
        _ => rest(momentum),
    };
    momenta.iter().enumerate().map(rest).collect()
}

/// Maximum number of legs whose momenta are stored inline.
const FEW: usize = 8;

/// The momenta of an event's legs. There are millions of events, so few legs are stored without a heap allocation.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum LegMomenta {
    /// Momenta of the first `.1` legs.
    Few([[f64; 4]; FEW], usize),
    /// Momenta of more legs.
    Many(Vec<[f64; 4]>),
}

impl std::ops::Deref for LegMomenta {
    type Target = [[f64; 4]];

    #[inline]
    fn deref(&self) -> &[[f64; 4]] {
        match self {
            LegMomenta::Few(momenta, legs) => &momenta[..*legs],
            LegMomenta::Many(momenta) => momenta,
        }
    }
}

impl std::ops::DerefMut for LegMomenta {
    fn deref_mut(&mut self) -> &mut [[f64; 4]] {
        match self {
            LegMomenta::Few(momenta, legs) => &mut momenta[..*legs],
            LegMomenta::Many(momenta) => momenta,
        }
    }
}

impl PartialEq for LegMomenta {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl FromIterator<[f64; 4]> for LegMomenta {
    fn from_iter<I: IntoIterator<Item = [f64; 4]>>(momenta: I) -> Self {
        let mut rest = momenta.into_iter();
        let (mut few, mut legs) = ([[0.0; 4]; FEW], 0);
        while let Some(momentum) = rest.next() {
            if legs == FEW {
                let mut many = few.to_vec();
                many.push(momentum);
                many.extend(rest);
                return LegMomenta::Many(many);
            }
            few[legs] = momentum;
            legs += 1;
        }
        LegMomenta::Few(few, legs)
    }
}

/// Number of events by which loading is ahead: the time to load one from memory.
const AHEAD: usize = 8;

/// The events of a round in mixed order. The millions of events stay where they were made.
#[derive(Clone, Debug, Default)]
pub struct Events {
    parts: Vec<Vec<Event>>,
    /// For each event its part and its index there.
    order: Vec<[u32; 2]>,
    threads: usize,
}

impl Events {
    /// Orders the events by their keys in [0, 1) and keeps the first `most` of them.
    pub(crate) fn new(threads: usize, parts: Vec<Vec<Event>>, keys: &[f64], most: usize) -> Self {
        let begins: Vec<usize> = (parts.iter())
            .scan(0, |begin, part| {
                let first = *begin;
                *begin += part.len();
                Some(first)
            })
            .collect();
        let mut order = parallel::order(threads, keys);
        order.truncate(most);
        let order = parallel::map(threads, order.len(), |event| {
            let from = order[event] as usize;
            let part = begins.partition_point(|&begin| begin <= from) - 1;
            [part as u32, (from - begins[part]) as u32]
        });
        Events {
            parts,
            order,
            threads,
        }
    }

    /// Returns the events as they are stored, among them those that were not kept.
    pub fn parts_mut(&mut self) -> &mut [Vec<Event>] {
        &mut self.parts
    }

    /// Iterates over the events.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.range(0..self.len())
    }

    /// Iterates over those events of a range that exist. Neighbours are far from each other in memory, so the next ones
    /// are loaded meanwhile.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = &Event> {
        (range.start..range.end.min(self.len())).map(|event| self.get(event))
    }

    /// Collects a property of each event, in their order.
    pub fn map<R: Send>(&self, property: impl Fn(&Event) -> R + Sync) -> Vec<R> {
        let property = |event: usize| property(self.get(event));
        parallel::map(self.threads, self.len(), property)
    }

    /// Returns an event, while one of the next is loaded.
    fn get(&self, event: usize) -> &Event {
        if event + AHEAD < self.len() {
            prefetch(&self[event + AHEAD]);
        }
        &self[event]
    }

    /// Returns the number of events of each source.
    pub fn of_sources(&self, sources: usize) -> Vec<u64> {
        let mut counts = vec![0; sources];
        for source in self.map(|event| event.source) {
            counts[source as usize] += 1;
        }
        counts
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

impl std::ops::Index<usize> for Events {
    type Output = Event;

    fn index(&self, event: usize) -> &Event {
        let [part, place] = self.order[event];
        &self.parts[part as usize][place as usize]
    }
}

impl PartialEq for Events {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        parallel::for_each(self.threads, &mut self.parts, |part| {
            drop(std::mem::take(part))
        });
    }
}

/// Returns (E, px, py, pz) of the legs of a point in the detector frame; if its partons are exchanged, rotated by half
/// a turn about the x axis.
pub(crate) fn momenta(
    points: &Rows,
    layout: Layout,
    legs: usize,
    place: usize,
    exchanged: bool,
) -> impl Iterator<Item = [f64; 4]> {
    let rapidity = turn(exchanged) * points.row(layout.rapidity())[place];
    let (sinh, cosh) = (rapidity.sinh(), rapidity.cosh());
    let momenta = momenta_of_partons(points, layout, legs, place, exchanged);
    momenta.map(move |[e, x, y, z]| [cosh * e + sinh * z, x, y, cosh * z + sinh * e])
}

/// The same in the rest frame of the partons.
pub(crate) fn momenta_of_partons(
    points: &Rows,
    layout: Layout,
    legs: usize,
    place: usize,
    exchanged: bool,
) -> impl Iterator<Item = [f64; 4]> {
    let turn = turn(exchanged);
    (0..legs).map(move |leg| {
        let row = |i: usize| points.row(layout.momentum(leg) + i)[place];
        [row(0), row(1), turn * row(2), turn * row(3)]
    })
}

/// Returns the sign of what half a turn about the x axis inverts.
pub(crate) fn turn(exchanged: bool) -> f64 {
    if exchanged { -1.0 } else { 1.0 }
}
