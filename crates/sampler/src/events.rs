//! Points that become events.

use super::blocks::{Block, Harvest};
use super::integrand::{Flux, Integrand, Workspace};
use super::parallel;
use super::random::ACCEPTANCE;
use super::unweight::{Spectrum, is_event};
use super::weigh::Drawn;
use mebridge_phasespace::clustering::Matched;
use mebridge_phasespace::{Layout, Rows};

/// An event, with its legs in the order of its matrix element.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Which source drew it,
    pub source: u32,
    /// as which of its points.
    pub point: u64,
    /// The number of its matrix element.
    pub element: u32,
    /// What came in: the number among the partons of its group.
    pub partons: u32,
    /// A random number in (0, 1) that chooses among the processes of these.
    pub process: f64,
    /// 1, or more where the point's weight was above the threshold, negative if it was; the point's weight, pb, until the
    /// thresholds are known. Its bias is in both.
    pub weight: f64,
    /// Of the caller's function; 1 where there is none.
    pub bias: f64,
    /// (E, px, py, pz) of each leg, GeV, in the frame of the detector, the first beam along +z.
    pub momenta: LegMomenta,
    /// Energy fractions of what comes from the first and from the second beam.
    pub fractions: [f64; 2],
    /// Of renormalisation, and of the densities of the first and the second beam, GeV.
    pub scales: [f64; 3],
    /// The one that records show: the larger one of the densities, or without them that of renormalisation; of matched
    /// events the one that a shower begins with.
    pub shown: f64,
    /// The strong coupling at the first of these.
    pub alpha_s: f64,
    /// Where it was clustered, the diagram of its channel, from 0.
    pub diagram: Option<u32>,
    /// What matching found, where points are weighted by it; the first beam is first.
    pub matched: Option<Box<Matched>>,
}

/// Momenta of an event in the rest frame of what comes in, along z from the frame of the detector: helicities are those of
/// this frame, as in MadEvent (`me_frame`). A particle that goes out alone rests.
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

/// Momenta of so many legs lie within an event.
const FEW: usize = 8;

/// The momenta of the legs of an event. There are millions of events: those of few legs take no memory of their own.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum LegMomenta {
    /// Of the first so many.
    Few([[f64; 4]; FEW], usize),
    /// More of them.
    Many(Vec<[f64; 4]>),
}

impl std::ops::Deref for LegMomenta {
    type Target = [[f64; 4]];

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

/// The events of a round, in the order in which they are mixed. Millions of them stay where they were made.
#[derive(Clone, Debug, Default)]
pub struct Events {
    parts: Vec<Vec<Event>>,
    /// Of each event its part, and its place there.
    order: Vec<[u32; 2]>,
    threads: usize,
}

impl Events {
    /// In the order of the keys of all events in [0, 1), `most` of them.
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

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        (0..self.len()).map(|event| &self[event])
    }

    /// Of each source, how many it has.
    pub fn of_sources(&self, sources: usize) -> Vec<u64> {
        let mut counts = vec![0; sources];
        for source in parallel::map(self.threads, self.len(), |event| self[event].source) {
            counts[source as usize] += 1;
        }
        counts
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
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

/// Keeps the points that become events.
#[derive(Debug)]
pub(crate) struct Draw<'a> {
    /// What is integrated.
    pub integrand: &'a Integrand,
    /// Of each source the weight above which points are more than one event.
    pub thresholds: &'a [f64],
}

impl Harvest for Draw<'_> {
    type Kept = Drawn;

    fn keep(&self, block: &Block, work: &Workspace) -> Drawn {
        let threshold = self.thresholds[block.source];
        let mut spectrum = Spectrum::default();
        spectrum.add(&work.weights);
        let mut events = Vec::new();
        for (place, &point) in work.kept.iter().enumerate() {
            let number = block.first + u64::from(point);
            let weight = work.weights[point as usize];
            if is_event(weight, block.random.number(number, ACCEPTANCE), threshold) {
                events.push(self.event(block, work, place, number, weight));
            }
        }
        Drawn {
            source: block.source,
            sums: work.sums(),
            spectrum,
            events,
        }
    }
}

impl Draw<'_> {
    fn event(
        &self,
        block: &Block,
        work: &Workspace,
        place: usize,
        point: u64,
        weight: f64,
    ) -> Event {
        let source = &self.integrand.sources[block.source];
        let group = &self.integrand.groups[source.group];
        let layout = Layout::new(group.legs);
        let row = |row: usize| work.points.row(row)[place];
        // After the numbers of the grid and the one by which the partons were drawn.
        let next = source.channel.dimension() as u32 + 1;
        let partons = work.drawn[place];
        let of_partons = &group.partons[partons as usize];
        let exchanged = of_partons.exchanged;
        let mut fractions = [row(layout.fraction(0)), row(layout.fraction(1))];
        let mut scales = [0, 1, 2].map(|row| work.scales.row(row)[place]);
        let mut matched = work.clustering.matched.get(place).cloned().flatten();
        if exchanged {
            fractions.swap(0, 1);
            scales.swap(1, 2);
            matched.iter_mut().for_each(Matched::exchange);
        }
        let shown = match (&matched, self.integrand.has_densities()) {
            (Some(matched), _) => matched.start.sqrt(),
            (None, true) => scales[1].max(scales[2]),
            (None, false) if matches!(group.flux, Flux::Decay(_)) => scales[1],
            (None, false) => scales[0],
        };
        let diagram = group.clustering.as_ref().map(|of| {
            let channel = work.clustering.channels[place] as usize;
            of.elements[of_partons.element].diagrams[channel]
        });
        Event {
            source: block.source as u32,
            point,
            element: group.elements[of_partons.element] as u32,
            partons,
            process: block.random.number(point, next),
            weight,
            bias: work.biases.get(place).copied().unwrap_or(1.0),
            momenta: momenta(&work.points, layout, group.legs, place, exchanged).collect(),
            fractions,
            scales,
            shown,
            alpha_s: work.alpha_s[place],
            diagram,
            matched: matched.map(Box::new),
        }
    }
}

/// (E, px, py, pz) of the legs of a point, in the frame of the detector; where its partons are exchanged, turned by half a turn
/// about the x axis.
pub(crate) fn momenta(
    points: &Rows,
    layout: Layout,
    legs: usize,
    place: usize,
    exchanged: bool,
) -> impl Iterator<Item = [f64; 4]> {
    let row = move |row: usize| points.row(row)[place];
    let turn = if exchanged { -1.0 } else { 1.0 };
    let rapidity = turn * row(layout.rapidity());
    let (sinh, cosh) = (rapidity.sinh(), rapidity.cosh());
    (0..legs).map(move |leg| {
        let [e, x, y, z] = std::array::from_fn(|i| row(layout.momentum(leg) + i));
        let (y, z) = (turn * y, turn * z);
        [cosh * e + sinh * z, x, y, cosh * z + sinh * e]
    })
}
