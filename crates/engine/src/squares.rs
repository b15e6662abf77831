//! Squares of amplitudes and of JAMPs, and the scratch in which they are computed.

use mebridge_ops::Address;
use mebridge_plan::{ChannelPlan, Plan};
use mebridge_process::Process;

/// Squares of sums of amplitudes, separated into squares of one amplitude and of several.
#[derive(Default)]
pub(super) struct Squares {
    pub one: Vec<Address>,
    pub several: Vec<Vec<Address>>,
}

/// Squares of amplitudes from which channel weights are computed.
pub(super) struct ChannelSquares {
    /// Squares that make up each AMP2.
    pub amp2: Vec<Squares>,
    /// Squares of all AMP2 that have a configuration.
    pub denominator: Squares,
    /// If all AMP2 are sums of the same number of squares of one amplitude: this number, and all amplitudes in order.
    pub equal_counts: Option<(usize, Vec<Address>)>,
}

impl ChannelSquares {
    /// The squares of several helicities together, whose amplitudes are offset by `shifts` vectors from those of the
    /// plan.
    pub(super) fn new(channels: &ChannelPlan, shifts: &[u32]) -> ChannelSquares {
        let mut all = ChannelSquares {
            amp2: Vec::new(),
            denominator: Squares::default(),
            equal_counts: None,
        };
        let add = |to: &mut Squares, squares: &[Vec<Address>]| {
            for shift in shifts {
                for square in squares {
                    let mut shifted = square.iter().map(|at| at + shift);
                    match square.len() {
                        1 => to.one.extend(shifted),
                        _ => to.several.push(shifted.by_ref().collect()),
                    }
                }
            }
        };
        for squares in &channels.amp2 {
            let mut amp2 = Squares::default();
            add(&mut amp2, squares);
            all.amp2.push(amp2);
        }
        for &i in &channels.denominator {
            if let Some(squares) = channels.amp2.get(i as usize) {
                add(&mut all.denominator, squares);
            }
        }
        let each = all.amp2.first().map_or(0, |amp2| amp2.one.len());
        let is_single_squares = |amp2: &Squares| amp2.one.len() == each && amp2.several.is_empty();
        if each > 0 && all.amp2.iter().all(is_single_squares) {
            let amplitudes = all.amp2.iter().flat_map(|amp2| &amp2.one);
            all.equal_counts = Some((each, amplitudes.copied().collect()));
        }
        all
    }
}

/// Address of the square of the JAMP stored at `address`; `None` if that is not a JAMP.
pub(super) fn jamp2_of(
    plan: &Plan,
    scratch: &ScratchAddresses,
    address: Address,
) -> Option<Address> {
    let jamps = plan.jamp_base..plan.jamp_base + 2 * plan.flows as u32;
    let flow = || (address - plan.jamp_base) / 2;
    jamps.contains(&address).then(|| scratch.jamp2 + flow())
}

/// Addresses of the scratch, which follows the memory of the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScratchAddresses {
    /// Non-zero in a lane whose momenta are bad.
    pub momentum_check: Address,
    /// |M|^2 of each good helicity.
    pub matrix_elements: Address,
    /// JAMP2 of each colour flow.
    pub jamp2: Address,
    /// AMP2 of the requested channels, at most one per lane, or all AMP2.
    pub numerators: Address,
    /// One number per event, as buffer for copies into or out of a vector.
    pub lanes: Address,
    /// Sum of all AMP2.
    pub denominator: Address,
    /// Scratch of the colour sum.
    pub color: Address,
    /// Number of vectors, including those of the plan.
    pub vectors: u32,
}

impl ScratchAddresses {
    /// Scratch for an engine with this number of lanes, and for its colour sum.
    pub(super) fn new(plan: &Plan, process: &Process, lanes: usize, color: usize) -> Self {
        let mut vectors = plan.vectors;
        let mut take = |count: usize| {
            let address = vectors;
            vectors += count as u32;
            address
        };
        ScratchAddresses {
            momentum_check: take(1),
            matrix_elements: take(plan.helicities.len()),
            jamp2: take(process.color_flows()),
            numerators: take(lanes.max(plan.channels().len())),
            denominator: take(1),
            lanes: take(1),
            color: take(color),
            vectors,
        }
    }
}
