//! The tables of a process in device memory, in the layout of [`structures`](crate::structures).

use super::workspace::WorkspaceSize;
use crate::arena::{DeviceArena, Offset};
use crate::color::ColorTables;
use crate::level_schedule::{Amp2Source, LevelSchedule, OperationKind};
use crate::structures::{Choices, Helicities, SampleTables};
use mebridge_backend::inputs::NONE;
use mebridge_plan::Plan;
use mebridge_process::Process;
use mebridge_process::color::FlowWeight;
use mebridge_support::runtime::Precision;

/// Offsets of the tables.
pub(super) struct DeviceLayout {
    pub(super) operands: Offset,
    pub(super) starts: Offset,
    pub(super) numbers: Offset,
    pub(super) masses: Offset,
    pub(super) constants: Offset,
    pub(super) values: Offset,
    pub(super) formula_coupling_at: Offset,
    pub(super) helicities: Offset,
    /// Addresses of the wavefunctions of each helicity.
    pub(super) waves: Offset,
    pub(super) choices: Offset,
    /// The same for AMP2 in parts.
    pub(super) choices_of_subsets: Offset,
    pub(super) normalization: Offset,
    pub(super) samples: Offset,
}

impl DeviceLayout {
    #[allow(clippy::too_many_arguments)]
    #[expect(clippy::too_many_lines, reason = "a table after the other")]
    pub(super) fn new(
        arena: &mut DeviceArena,
        process: &Process,
        plan: &Plan,
        tables: &LevelSchedule,
        color: &ColorTables,
        kinds: &[OperationKind],
        workspace: &WorkspaceSize,
        double: bool,
        precision: Precision,
    ) -> DeviceLayout {
        let count = |n: usize| n as u32;
        let operands = arena.numbers(tables.operands.iter().copied());
        let starts = arena.numbers(tables.starts.iter().copied());
        let numbers = arena.reals(double, tables.numbers.iter().copied());
        let waves = arena.numbers(tables.waves.iter().flatten().copied());
        let groups = workspace.groups(tables);
        let group_count = count(groups.len());
        let groups = arena.numbers(groups.into_iter().flatten());
        let number =
            |kind: OperationKind| kinds.iter().position(|&k| k == kind).unwrap_or(kinds.len());
        let runs = tables.amplitudes.iter();
        let amplitudes =
            arena.numbers(runs.flat_map(|r| [count(number(r.kind)), r.first, r.count]));
        let runs: Vec<u32> = tables
            .sums
            .iter()
            .flatten()
            .flat_map(|r| [r.first, r.count])
            .collect();
        let sum_count = count(runs.len() / 2);
        let sums = arena.numbers(runs);
        let passes = arena.numbers(color.passes.iter().copied());
        let orbits = arena.numbers(color.orbits.iter().copied());
        let rows = arena.numbers(color.rows.iter().copied());
        let double_color = precision == Precision::Double;
        let entries = arena.reals(double_color, color.entries.iter().copied());
        let [amp2, sets, members] = sets_of_amplitudes(&tables.squares);
        let totals = match &tables.squares {
            Amp2Source::Amplitudes(_) => None,
            Amp2Source::Totals { totals: at, .. } => Some(arena.numbers(at.iter().copied())),
        };
        let amp2_count = count(amp2.len() - 1);
        let (amp2, sets) = (arena.numbers(amp2), arena.numbers(sets));
        let members = arena.numbers(members);
        let [weights, moduli, pairs] = flow_weights(&process.flow_weights);
        let (weights, moduli) = (arena.numbers(weights), arena.numbers(moduli));
        let pairs = arena.numbers(pairs);
        let color_flows = count(tables.color_flows(&process.flow_weights));
        let helicities = arena.structure(&Helicities {
            operands: operands.pointer(),
            starts: starts.pointer(),
            numbers: numbers.pointer(),
            waves: waves.pointer(),
            groups: groups.pointer(),
            amplitudes: amplitudes.pointer(),
            sums: sums.pointer(),
            passes: passes.pointer(),
            orbits: orbits.pointer(),
            rows: rows.pointer(),
            entries: entries.pointer(),
            amp2: amp2.pointer(),
            sets: sets.pointer(),
            members: members.pointer(),
            weights: weights.pointer(),
            moduli: moduli.pointer(),
            pairs: pairs.pointer(),
            wave_count: tables.waves.first().map_or(0, |w| count(w.len())),
            group_count,
            amplitude_count: count(tables.amplitudes.len()),
            sum_count,
            pass_count: count(color.pass_count()),
            row_count: count(color.row_count()),
            amp2_count,
            workspace: workspace.numbers,
            jamp: tables.jamp,
            flows: count(tables.flows),
            color_flows,
            scratch: workspace.scratch,
            bytes: count(workspace.bytes),
        });
        let channels = &process.channels;
        let of_diagram = &plan.channels().amp2_of_diagram;
        let amp2_of_diagram = arena.numbers(of_diagram.iter().map(|i| i.unwrap_or(0)));
        let configs = channels.config_of_diagrams(process.diagrams);
        let configs = configs.iter().map(|config| config.unwrap_or(NONE as u32));
        let config_of_diagram = arena.numbers(configs);
        let denominator = arena.numbers(plan.channels().denominator.iter().copied());
        let (mut allowed, mut flows) = (vec![0], Vec::new());
        for of_config in channels.allowed_flows() {
            flows.extend(of_config);
            allowed.push(count(flows.len()));
        }
        let (allowed, flows) = (arena.numbers(allowed), arena.numbers(flows));
        let good = arena.numbers(plan.helicities.iter().copied());
        let mut choices = |totals: Option<Offset>| {
            arena.structure(&Choices {
                helicities: good.pointer(),
                amp2_of_diagram: amp2_of_diagram.pointer(),
                config_of_diagram: config_of_diagram.pointer(),
                denominator: denominator.pointer(),
                totals: totals.map_or(0, Offset::pointer),
                allowed: allowed.pointer(),
                flows: flows.pointer(),
                helicity_count: count(plan.helicities.len()),
                denominator_count: count(plan.channels().denominator.len()),
                amp2_count: count(tables.squares.len()),
                flow_count: color_flows,
            })
        };
        let choices_of_subsets = choices(None);
        let choices = choices(totals);
        let drawn = plan.channels().drawn_diagrams(channels);
        let drawn_count = count(drawn.len());
        let drawn = arena.numbers(
            drawn
                .into_iter()
                .flat_map(|(diagram, amp2)| [diagram, amp2]),
        );
        let color_diagonal = arena.reals(true, process.color_diagonal());
        let samples = arena.structure(&SampleTables {
            drawn: drawn.pointer(),
            drawn_count,
            diagrams: process.diagrams,
            rows: count(process.helicities.len()),
            color_diagonal: color_diagonal.pointer(),
        });
        DeviceLayout {
            samples,
            operands,
            starts,
            numbers,
            helicities,
            waves,
            choices,
            choices_of_subsets,
            masses: arena.reals(true, plan.masses.iter().copied().chain(process.signs())),
            constants: arena.numbers(tables.constants.iter().map(|c| c.0)),
            values: arena.reals(true, tables.constants.iter().map(|c| c.1)),
            formula_coupling_at: arena.numbers(tables.formula_couplings.iter().map(|g| g.1)),
            normalization: arena.reals(true, [1.0 / f64::from(process.iden)]),
        }
    }
}

/// The amplitudes of each AMP2: where the sets of each begin, where the members of each set do, and the members.
fn sets_of_amplitudes(squares: &Amp2Source) -> [Vec<u32>; 3] {
    let (mut amp2, mut sets, mut members) = (vec![0], vec![0], Vec::new());
    if let Amp2Source::Amplitudes(all) = squares {
        for of_diagram in all {
            for set in of_diagram {
                members.extend(set.iter().copied());
                sets.push(members.len() as u32);
            }
            amp2.push(sets.len() as u32 - 1);
        }
    }
    [amp2, sets, members]
}

/// The weights of colour flows: where the moduli of each begin, where the pairs of each modulus do, and the pairs.
fn flow_weights(flows: &[FlowWeight]) -> [Vec<u32>; 3] {
    let (mut weights, mut moduli, mut pairs) = (vec![0], vec![0], Vec::new());
    for of_flow in flows {
        for of_modulus in &of_flow.moduli {
            pairs.extend(of_modulus.iter().flat_map(|&(a, b)| [a, b]));
            moduli.push(pairs.len() as u32 / 2);
        }
        weights.push(moduli.len() as u32 - 1);
    }
    [weights, moduli, pairs]
}
