//! Resources of one launch in progress: device memory, and pinned host memory to copy from and to.

use crate::arguments::{BlockSums, HarvestArguments, RunHead};
use crate::structures::{BlockHead, PointRows, SLOTS, kinematics};
use mebridge_driver::{Buffer, Driver, Event, Pinned, Stream};
use mebridge_sampler::{grid, source_selection, unweight};
use mebridge_support::error::Result;
use std::sync::Arc;

/// Number of additional streams of a launch.
const SIDES: usize = 3;
/// Words of an event record before the momenta.
pub(crate) const EVENT_HEAD: usize = 9;

/// Quantities of an integrand that determine the memory of its points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Number of matrix elements, including those of classes of colour flows, and the largest number in a group.
    pub(crate) elements: usize,
    pub(crate) most_elements: usize,
    /// Maximum number of momentum rows, and maximum grid dimension.
    pub(crate) rows: usize,
    pub(crate) dimensions: usize,
    /// Whether colour flows are drawn.
    pub(crate) flows: bool,
}

/// Results copied to the host.
pub(crate) struct Answers {
    pub(crate) begins: Pinned,
    pub(crate) sums: Pinned,
    pub(crate) largest: Pinned,
    pub(crate) spectra: Pinned,
    pub(crate) training: Pinned,
    pub(crate) shares: Pinned,
    pub(crate) tried: Pinned,
    /// Event records, if there are any.
    pub(crate) events: Option<Arc<Pinned>>,
}

/// Resources of one launch of at most `blocks` blocks.
pub(crate) struct LaunchSlot {
    /// Declared first, so that it is dropped before the memory used by its work.
    pub(crate) stream: Stream,
    /// Additional streams, for matrix elements with too few points to fill a GPU, with events at the end of their work.
    pub(crate) sides: Vec<(Stream, Event)>,
    pub(crate) blocks: usize,
    /// Events between the parts of the work, see [`LaunchSlot::SECONDS`].
    pub(crate) marks: [Event; 6],
    /// Heads of blocks, followed by those of runs.
    pub(crate) heads: Buffer,
    pub(crate) given: Pinned,
    pub(crate) answers: Answers,
    element: Buffer,
    partons: Buffer,
    momenta: Buffer,
    kinematics: Buffer,
    factor: Buffer,
    /// The arrays `flow` and `flow_share`, if colour flows are drawn.
    flows: Option<[Buffer; 2]>,
    place: Buffer,
    counts: Buffer,
    starts: Buffer,
    begins: Buffer,
    compact_momenta: Buffer,
    compact_alpha_s: Buffer,
    squared: Buffer,
    weights: Buffer,
    sums: Buffer,
    event: Buffer,
    accepted: Buffer,
    first_event: Buffer,
    event_begins: Buffer,
    events: Buffer,
    largest: Buffer,
    spectra: Buffer,
    of_blocks: Buffer,
    training: Buffer,
    shares: Buffer,
    tried: Buffer,
}

impl LaunchSlot {
    /// Allocates a slot for `blocks` blocks.
    pub(crate) fn new(driver: &Arc<dyn Driver>, blocks: usize, sizes: Sizes) -> Result<LaunchSlot> {
        let buffer = |bytes| Buffer::new(driver, bytes);
        let pinned = |bytes: usize| Pinned::new(driver, bytes.max(1));
        let event = || Event::new(driver);
        let points = SLOTS * blocks;
        let heads = blocks * (size_of::<BlockHead>() + size_of::<RunHead>());
        let spectra = 16 * unweight::BINS * blocks;
        let training = 8 * grid::BINS * sizes.dimensions * blocks;
        let shares = 16 * sizes.most_elements * blocks;
        let tried = 8 * source_selection::POINTS * (1 + sizes.rows) * blocks;
        let counts = 4 * sizes.elements * blocks;
        Ok(LaunchSlot {
            stream: Stream::new(driver)?,
            sides: (0..SIDES)
                .map(|_| Ok((Stream::new(driver)?, event()?)))
                .collect::<Result<_>>()?,
            blocks,
            marks: [event()?, event()?, event()?, event()?, event()?, event()?],
            heads: buffer(heads)?,
            given: pinned(heads)?,
            answers: Answers {
                begins: pinned(4 * (sizes.elements + 1))?,
                sums: pinned(size_of::<BlockSums>() * blocks)?,
                largest: pinned(8 * blocks)?,
                spectra: pinned(spectra)?,
                training: pinned(training)?,
                shares: pinned(shares)?,
                tried: pinned(tried)?,
                events: None,
            },
            element: buffer(4 * points)?,
            partons: buffer(4 * points)?,
            momenta: buffer(8 * sizes.rows * points)?,
            kinematics: buffer(8 * kinematics::ROWS * points)?,
            factor: buffer(8 * points)?,
            flows: match sizes.flows {
                true => Some([buffer(4 * points)?, buffer(8 * points)?]),
                false => None,
            },
            place: buffer(4 * points)?,
            counts: buffer(counts)?,
            starts: buffer(counts)?,
            begins: buffer(4 * (sizes.elements + 1))?,
            compact_momenta: buffer(8 * sizes.rows * points)?,
            compact_alpha_s: buffer(8 * points)?,
            squared: buffer(8 * points)?,
            weights: buffer(8 * points)?,
            sums: buffer(size_of::<BlockSums>() * blocks)?,
            event: buffer(4 * points)?,
            accepted: buffer(4 * blocks)?,
            first_event: buffer(4 * blocks)?,
            event_begins: buffer(8)?,
            events: buffer(8 * (EVENT_HEAD + sizes.rows) * points)?,
            largest: buffer(8 * blocks)?,
            spectra: buffer(spectra)?,
            of_blocks: buffer(training.max(shares))?,
            training: buffer(training)?,
            shares: buffer(shares)?,
            tried: buffer(tried)?,
        })
    }

    /// The timed parts of a launch, each with the indices of its first and last mark.
    pub(crate) const SECONDS: [(&'static str, [usize; 2]); 4] = [
        ("points", [0, 1]),
        ("by matrix element", [1, 2]),
        ("|M|^2", [3, 4]),
        ("weights", [4, 5]),
    ];

    /// Waits for all work of the slot.
    pub(crate) fn wait(&self) -> Result<()> {
        let sides = self.sides.iter().map(|(side, _)| side.synchronize());
        let sides: Vec<Result<()>> = sides.collect();
        self.stream.synchronize()?;
        sides.into_iter().collect()
    }

    /// Returns the device arrays of the points.
    pub(crate) fn rows(&self) -> PointRows {
        PointRows {
            stride: (SLOTS * self.blocks) as u32,
            element: self.element.pointer(),
            partons: self.partons.pointer(),
            momenta: self.momenta.pointer(),
            kinematics: self.kinematics.pointer(),
            factor: self.factor.pointer(),
        }
    }

    /// Returns the arguments of the kernels around |M|^2 for `blocks` blocks. Members that belong to the integrand are
    /// 0.
    pub(crate) fn arguments(&self, blocks: usize, sizes: Sizes) -> HarvestArguments {
        let heads = self.heads.pointer();
        let flows = self.flows.as_ref();
        let [flow, flow_share] =
            flows.map_or([0; 2], |flows| flows.each_ref().map(Buffer::pointer));
        HarvestArguments {
            heads,
            runs: heads + (self.blocks * size_of::<BlockHead>()) as u64,
            blocks: blocks as u32,
            stride: (SLOTS * self.blocks) as u32,
            elements: sizes.elements as u32,
            most_elements: sizes.most_elements as u32,
            rows: sizes.rows as u32,
            dimensions: sizes.dimensions as u32,
            draws: 0,
            most_tried: 0,
            legs: 0,
            of_class: 0,
            flow_words: 0,
            flow_sizes: 0,
            flow,
            flow_share,
            members: 0,
            exchanged: 0,
            element: self.element.pointer(),
            partons: self.partons.pointer(),
            momenta: self.momenta.pointer(),
            kinematics: self.kinematics.pointer(),
            factor: self.factor.pointer(),
            place: self.place.pointer(),
            counts: self.counts.pointer(),
            starts: self.starts.pointer(),
            begins: self.begins.pointer(),
            compact_momenta: self.compact_momenta.pointer(),
            compact_alpha_s: self.compact_alpha_s.pointer(),
            squared: self.squared.pointer(),
            weights: self.weights.pointer(),
            sums: self.sums.pointer(),
            event: self.event.pointer(),
            accepted: self.accepted.pointer(),
            first_event: self.first_event.pointer(),
            event_begins: self.event_begins.pointer(),
            events: self.events.pointer(),
            largest: self.largest.pointer(),
            spectra: self.spectra.pointer(),
            of_blocks: self.of_blocks.pointer(),
            training: self.training.pointer(),
            shares: self.shares.pointer(),
            tried: self.tried.pointer(),
        }
    }
}

impl Drop for LaunchSlot {
    fn drop(&mut self) {
        // No work may use the memory any more. An error here was reported before or will be.
        let _ = self.wait();
    }
}
