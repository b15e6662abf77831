//! The CPU engine: a plan with parameter values, ready to run on vectors of events.
//!
//! Events are evaluated one vector at a time, so that the working memory (one array of vectors per thread) does not
//! grow with the number of events.

use super::at_once::HelicityPortions;
use super::color;
use super::groups::Groups;
use super::jamp::JampSums;
use super::pairs::{self, BatchStep};
use super::squares::{ChannelSquares, ScratchAddresses, jamp2_of};
use mebridge_backend::AllowedMomenta;
use mebridge_ops::Address;
use mebridge_ops::general::General;
use mebridge_plan::binding::{Binding, Coupling};
use mebridge_plan::color::BlockDiagonal;
use mebridge_plan::{External, Factor, Plan, ValidPlan};
use mebridge_process::color::FlowWeight;
use mebridge_process::{HelicitySum, Process};
use mebridge_simd::{Level, Real};
use mebridge_support::error::{Error, Result};
use num_complex::Complex64;

/// A plan with parameter values in one precision.
pub struct Engine<T: Real> {
    pub(super) plan: ValidPlan,
    pub(super) binding: Binding,
    pub(super) level: Level,
    /// Numbers that are the same for all events, with their addresses; includes couplings and factors that do not
    /// depend on G.
    pub(super) constants: Vec<(Address, f64)>,
    pub(super) polynomials: Vec<Polynomial<T>>,
    /// Factors that are not constant: those of all calls, then those that only squared diagrams need.
    pub(super) factors: [Vec<Factor>; 2],
    pub(super) jamp: JampSums<T>,
    /// Squared diagrams of a helicity, if they are computed from amplitudes.
    pub(super) amp2: ChannelSquares,
    /// Execution steps for the plan's currents, for those of each tile, and for squared diagrams.
    pub(super) currents: Vec<BatchStep>,
    pub(super) tiles: Vec<Vec<BatchStep>>,
    pub(super) squares: Vec<BatchStep>,
    pub(super) color: ColorSum<T>,
    pub(super) general: Vec<General>,
    pub(super) scratch: ScratchAddresses,
    /// Helicities that are evaluated together.
    pub(super) groups: Groups,
    /// Small helicities, evaluated several at a time.
    pub(super) at_once: Option<HelicityPortions<T>>,
    /// Helicities in order of evaluation, followed by those that are not evaluated (see `evaluated`).
    pub(super) order: Vec<u32>,
    /// Number of helicities that are evaluated. For loops it may be half of them; the others follow by symmetry.
    pub(super) evaluated: usize,
    /// Properties of each external leg.
    pub(super) legs: Vec<Leg>,
    /// The plan's sums of momenta.
    pub(super) momenta: Vec<LegSum>,
    /// 1 / IDEN.
    pub(super) normalization: f64,
    /// Configuration of each diagram.
    pub(super) config_of_diagram: Vec<Option<u32>>,
    /// For each configuration the colour flows that it allows, and as last element all flows; each with the address of
    /// its JAMP2.
    pub(super) color_allowed: Vec<Vec<(u32, Address)>>,
    /// Diagrams that have an AMP2 and a configuration, with the address of AMP2 if all are computed.
    pub(super) drawn: Vec<(u32, Address)>,
    /// Definitions of JAMP2 of the colour flows, if it is not |JAMP|^2.
    pub(super) flow_weights: Vec<FlowWeight>,
    /// Number of colour flows.
    flows: usize,
    /// How contributions of helicities are added.
    pub(super) helicity_sum: HelicitySum,
    /// External wavefunctions: those of the plan, then those from which lanes choose.
    pub(super) externals: Vec<External>,
    /// External wavefunctions whose helicity depends on the lane; empty if lanes hold events.
    pub(super) lane_externals: Vec<LaneExternal>,
    /// The diagonal of the colour matrix; empty if JAMPs are not the colour flows.
    pub(super) color_diagonal: Vec<f64>,
    /// The momenta of events.
    pub(super) allowed: AllowedMomenta,
    /// Weights of the rows of the helicity table for polarised beams; empty otherwise.
    pub(super) beam_weights: Vec<f64>,
}

/// A leg whose momentum is read.
pub(super) struct Leg {
    pub mass: f64,
    pub incoming: bool,
    /// Where to store the square of the momentum, if required.
    pub square: Option<Address>,
}

/// An external wavefunction whose helicity depends on the lane.
pub(super) struct LaneExternal {
    /// The address at which the plan expects it.
    pub result: Address,
    /// The addresses at which the wavefunction of each helicity is computed.
    pub sources: Vec<Address>,
    /// For each lane, the index of its wavefunction in `sources`.
    pub of_lane: Vec<u32>,
    /// Vectors per wavefunction.
    pub vectors: u32,
}

/// A sum of momenta of legs.
pub(super) struct LegSum {
    pub address: Address,
    /// Addresses of the momenta, and their signs.
    pub terms: Vec<(Address, f64)>,
}

/// A coupling as a polynomial in G.
pub(super) struct Polynomial<T> {
    pub address: Address,
    pub coefficients: Vec<(T, T)>,
}

/// The colour sum, in the precision of the amplitudes or in single precision.
pub(super) enum ColorSum<T> {
    Same(color::ColorSum<T>),
    Single(color::ColorSum<f32>),
}

impl<T: Real> Engine<T> {
    /// Makes an engine for a plan of the process; a plan of another process is an error. The engine follows the plan's
    /// addresses without checks. `color` is the process's colour matrix; with `single_color` the colour sum is done in
    /// single precision.
    pub fn new(
        process: &Process,
        color: &BlockDiagonal,
        binding: &Binding,
        plan: ValidPlan,
        level: Level,
        single_color: bool,
    ) -> Result<Self> {
        let fits = plan.is_for(process)
            && color.fits_process(process)
            && binding.couplings.len() == plan.couplings.len()
            // The JAMPs of a helicity are contiguous, unlike in a plan for a GPU.
            && plan.loops().is_none_or(|loops| loops.strides[0] == 2)
            && choices_fit(process);
        if !fits {
            return Err(Error::InvalidProcess {
                what: "a plan of another process".into(),
            });
        }
        let color = if single_color {
            ColorSum::Single(color::ColorSum::new(color, |x| x as f32))
        } else {
            ColorSum::Same(color::ColorSum::new(color, T::from_f64))
        };
        let color_scratch = match &color {
            ColorSum::Same(sum) => sum.scratch(),
            ColorSum::Single(_) => 0,
        };
        let scratch = ScratchAddresses::new(&plan, process, level.lanes::<T>(), color_scratch);
        let next = scratch.vectors;
        let groups = Groups::new(&plan, process, next);
        let next = next.saturating_add(groups.vectors);
        let lanes = level.lanes::<T>();
        let at_once = match process.flow_weights.is_empty() {
            true => HelicityPortions::new(&plan, &groups, &scratch, next, lanes),
            false => None,
        };
        let taken = at_once.as_ref().map_or(0, |at_once| at_once.vectors);
        let scratch = ScratchAddresses {
            vectors: next.saturating_add(taken),
            ..scratch
        };
        // Addresses of terms are stored as 32-bit numbers.
        if u64::from(scratch.vectors) * level.lanes::<T>() as u64 > u64::from(u32::MAX) {
            return Err(Error::InvalidProcess {
                what: "a plan that needs more than 4e9 numbers for a vector of events".into(),
            });
        }
        let mut constants = plan.constants.clone();
        let (polynomials, factors) = numbers(&plan, binding, &mut constants);
        let channels = &process.channels;
        let mut allowed = channels.allowed_flows();
        allowed.push((0..process.color_flows() as u32).collect());
        let with_jamp2 = |flow| (flow, scratch.jamp2 + flow);
        let with_jamp2 = |flows: Vec<u32>| flows.into_iter().map(with_jamp2).collect();
        let drawn = plan.channels().drawn_diagrams(channels).into_iter();
        let (legs, momenta) = legs(&plan, process);
        Ok(Engine {
            general: plan
                .operations()
                .general
                .iter()
                .map(|g| General::compile(&g.routine, g.massless))
                .collect(),
            level,
            order: groups.helicities.iter().flatten().copied().collect(),
            groups,
            evaluated: match plan.loops() {
                Some(loops) => loops.evaluated().count(),
                None => plan.helicities.len(),
            },
            constants,
            polynomials,
            factors,
            jamp: JampSums::new(
                &plan.operations().jamp,
                |address| jamp2_of(&plan, &scratch, address),
                level.lanes::<T>(),
            ),
            at_once,
            amp2: ChannelSquares::new(plan.channels(), &[0]),
            currents: pairs::steps(&plan.operations().currents, level),
            tiles: plan
                .operations()
                .tiles
                .iter()
                .map(|tile| pairs::steps(&tile.currents, level))
                .collect(),
            squares: pairs::steps(&plan.channels().squares, level),
            color,
            scratch,
            legs,
            momenta,
            normalization: 1.0 / f64::from(process.iden),
            config_of_diagram: channels.config_of_diagrams(process.diagrams),
            color_allowed: allowed.into_iter().map(with_jamp2).collect(),
            drawn: drawn
                .map(|(diagram, amp2)| (diagram, scratch.numerators + amp2))
                .collect(),
            flow_weights: process.flow_weights.clone(),
            flows: process.color_flows(),
            helicity_sum: process.helicity_sum,
            externals: plan.externals.clone(),
            lane_externals: Vec::new(),
            color_diagonal: process.color_diagonal(),
            allowed: AllowedMomenta::Physical,
            beam_weights: process.beam_weights.clone(),
            binding: binding.clone(),
            plan,
        })
    }

    /// The plan.
    pub fn plan(&self) -> &ValidPlan {
        &self.plan
    }

    /// Returns the plan, for use in another engine.
    pub fn into_plan(self) -> ValidPlan {
        self.plan
    }

    /// Accepts such momenta from now on.
    pub fn allow(&mut self, momenta: AllowedMomenta) {
        self.allowed = momenta;
    }

    /// Number of colour flows.
    pub(super) fn color_flows(&self) -> usize {
        self.flows
    }

    /// Numbers in one vector.
    pub(super) fn lanes(&self) -> usize {
        self.level.lanes::<T>()
    }

    /// Numbers in the array of vectors that a worker needs.
    pub(super) fn vector_numbers(&self) -> usize {
        self.scratch.vectors as usize * self.lanes()
    }

    /// Numbers in the single-precision memory that a worker needs.
    pub(super) fn single_numbers(&self) -> usize {
        match &self.color {
            ColorSum::Same(_) => 0,
            ColorSum::Single(sum) => {
                (2 * self.plan.flows + 1 + sum.scratch()) * self.level.lanes::<f32>()
            }
        }
    }

    /// Number of lanes that hold different helicities: one if lanes hold events.
    pub(super) fn helicity_lanes(&self) -> usize {
        match self.lane_externals.is_empty() {
            true => 1,
            false => self.lanes(),
        }
    }
}

/// Couplings that are polynomials in G, and factors that are not constant. The others are added to `constants`.
fn numbers<T: Real>(
    plan: &Plan,
    binding: &Binding,
    constants: &mut Vec<(Address, f64)>,
) -> (Vec<Polynomial<T>>, [Vec<Factor>; 2]) {
    let mut keep = |address: Address, x: Complex64| {
        constants.extend([(address, x.re), (address + 1, x.im)]);
    };
    let mut polynomials = Vec::new();
    for (coupling, &address) in binding.couplings.iter().zip(&plan.couplings) {
        match coupling {
            Coupling::Polynomial(coefficients) => match coefficients[..] {
                [x] => keep(address, x),
                _ => polynomials.push(Polynomial {
                    address,
                    coefficients: coefficients
                        .iter()
                        .map(|c| (T::from_f64(c.re), T::from_f64(c.im)))
                        .collect(),
                }),
            },
            Coupling::Formula => {}
        }
    }
    let mut factors = [Vec::new(), Vec::new()];
    let without_squares = plan.quantities_without_squares().factors;
    for (number, factor) in plan.factors.iter().enumerate() {
        let terms = factor.terms.iter();
        let terms = terms.map(|&(i, c)| match &binding.couplings[i as usize] {
            Coupling::Polynomial(coefficients) if coefficients.len() == 1 => {
                Some(c * coefficients[0])
            }
            _ => None,
        });
        match (factor.propagator, terms.sum::<Option<Complex64>>()) {
            (None, Some(x)) => keep(factor.address, x),
            _ => factors[usize::from(number >= without_squares)].push(factor.clone()),
        }
    }
    (polynomials, factors)
}

/// The legs, and the sums of their momenta.
fn legs(plan: &Plan, process: &Process) -> (Vec<Leg>, Vec<LegSum>) {
    let legs = process.legs.iter().zip(&plan.masses).zip(0..);
    let legs = legs.map(|((leg, &mass), number)| {
        let mut squares = plan.squares.iter();
        let square = squares.find(|square| square.leg == number);
        Leg {
            mass,
            incoming: leg.incoming,
            square: square.map(|square| square.address),
        }
    });
    let momenta = plan.momenta.iter().map(|sum| {
        let terms = (plan.leg_momenta..).step_by(4).zip(&sum.signs);
        let terms = terms.filter(|&(_, &sign)| sign != 0);
        LegSum {
            address: sum.address,
            terms: terms.map(|(at, &sign)| (at, f64::from(sign))).collect(),
        }
    });
    (legs.collect(), momenta.collect())
}

/// Whether all tables of a process for colour choices refer to existing flows and JAMPs.
fn choices_fit(process: &Process) -> bool {
    let (flows, jamps) = (process.color_flows(), process.amplitudes.jamps());
    let pairs = process
        .flow_weights
        .iter()
        .flat_map(|weight| weight.moduli.iter().flatten());
    let mut allowed = process.channels.color_allowed.iter();
    { pairs }.all(|&(a, b)| (a.max(b) as usize) < jamps) && allowed.all(|row| row.len() <= flows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_plan::compile;
    use mebridge_process::example;

    /// Everything that an engine accesses without bounds checks is checked here.
    #[test]
    fn a_plan_or_matrix_of_another_process_is_refused() {
        let process = example::scalars();
        let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
        let split = BlockDiagonal::of_process(&process, false);
        let plan = compile(&process, &binding, &[0]).unwrap();
        let new = |plan: &Plan, split: &BlockDiagonal| {
            let (plan, level) = (plan.clone().validate(&process)?, Level::None);
            Engine::<f64>::new(&process, split, &binding, plan, level, false)
        };
        let new = |plan: &Plan, split: &BlockDiagonal| new(plan, split).is_ok();
        assert!(new(&plan, &split));
        let mut beyond = plan.clone();
        beyond.jamp_base = beyond.vectors;
        assert!(!new(&beyond, &split));
        let mut beyond = plan.clone();
        beyond.externals[0].results[0] = u32::MAX - 1;
        assert!(!new(&beyond, &split));
        let mut other = example::scalars();
        other.amplitudes.diagrams_mut().unwrap().color.flows += 1;
        let refused = |process: &Process| {
            let valid = plan.clone().validate(process);
            let valid =
                valid.unwrap_or_else(|_| plan.clone().validate(&example::scalars()).unwrap());
            Engine::<f64>::new(process, &split, &binding, valid, Level::None, false).is_err()
        };
        assert!(refused(&other) && !refused(&process));
        // Indices in the tables for colour choices are also followed unchecked.
        let mut other = example::scalars();
        other.channels.color_allowed[0] = vec![true; 1000];
        assert!(refused(&other));
        let mut other = example::scalars();
        let moduli = vec![vec![(0, 1000)]];
        other.flow_weights = vec![mebridge_process::color::FlowWeight { moduli }];
        assert!(refused(&other));
        let more = mebridge_process::color::ColorMatrix {
            flows: 2,
            denominator: 1.0,
            upper: vec![1.0, 0.0, 1.0],
        };
        assert!(!new(&plan, &BlockDiagonal::new(&more)));
    }
}
