//! Parameters of generated code, and the choice of its form for a process.

use super::Options;
use crate::codegen::Generator;
use crate::helicity_split::HelicitySplit;
use crate::level_schedule::{Amp2Source, LevelSchedule};
use crate::shared_levels::SharedLevels;
use crate::source::{self, CompilationUnit};
use mebridge_plan::Plan;
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_process::color::FlowWeight;
use mebridge_process::{HelicitySum, Process};

/// Maximum multiply-adds per thread for which straight-line code is generated.
pub(super) const MAX_GENERATED: usize = 3_500;

/// Maximum multiply-adds per event for which one thread computes all helicities.
pub(super) const MAX_WHOLE: usize = 5_000;

/// Numbers kept in registers if a thread computes a subset of the helicities, in `float` and in `double`.
pub(super) const REGISTERS: [usize; 2] = [200, 115];

/// Values of subsets that depend on the helicities of at most this many legs are computed before them, if subsets have
/// more fixed legs.
pub(super) const HOISTED: u32 = 2;

/// Threads per block of generated code, and blocks that should fit on a multiprocessor.
pub(super) const GENERATED_SHAPE: (u32, u32) = (128, 2);

/// Threads per multiprocessor for the generated kernel of a helicity, in `float` and in `double`. It waits for
/// wavefunctions, and with more registers loads more of them at a time: few threads with all registers are faster.
const HELICITY_THREADS: [u32; 2] = [16 * 32, 8 * 32];

/// Numbers of wavefunctions that this kernel keeps in registers between amplitudes.
pub(super) const HELICITY_REGISTERS: usize = 16;

/// Returns the threads per block of the generated kernel of a helicity, and the blocks that should fit on a
/// multiprocessor. A warp computes a helicity, and data shared by the helicities of a block come from the
/// multiprocessor's own cache, so a block has eight of them if their number allows.
pub(super) fn helicity_shape(helicities: u32, double: bool, lanes: u32) -> (u32, u32) {
    let warps = HELICITY_THREADS[usize::from(double)] / lanes;
    let each = [8, 4].into_iter().find(|each| {
        let idle = helicities.next_multiple_of(*each) - helicities;
        warps.is_multiple_of(*each) && 8 * idle <= helicities
    });
    let each = each.unwrap_or(4);
    (each * lanes, warps / each)
}

/// What generated code computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeneratedPart {
    /// Everything, in one thread or in one for each subset of the helicities.
    Whole,
    /// One helicity, after the levels.
    Helicity,
    /// The levels alone.
    Levels,
}

/// Parameters of generated code.
pub(super) struct KernelSpec {
    pub(super) part: GeneratedPart,
    pub(super) shape: source::CompileOptions,
    pub(super) tables: LevelSchedule,
    /// One kernel for the levels of `tables`, if they fit and are not part of the code.
    pub(super) levels: Option<SharedLevels>,
    /// The same for calls with squared diagrams, if these are computed separately.
    pub(super) levels_before_squares: Option<SharedLevels>,
    pub(super) plan: Plan,
    pub(super) color_blocks: BlockDiagonal,
    /// The subsets, unless a thread computes all helicities.
    pub(super) subsets: Option<HelicitySplit>,
    pub(super) allowed: Vec<Vec<u32>>,
    pub(super) flow_weights: Vec<FlowWeight>,
    pub(super) helicity_sum: HelicitySum,
    /// See [`Generator::sample`].
    pub(super) drawn: Vec<(u32, u32)>,
    /// See [`Generator::signs`].
    pub(super) signs: Vec<f64>,
    pub(super) normalization: f64,
    /// Operations per group (0 for a single group), and whether groups are functions.
    pub(super) group: usize,
    pub(super) functions: bool,
}

impl KernelSpec {
    /// Returns the parameters for a process that is small enough.
    pub(super) fn new(
        process: &Process,
        binding: &Binding,
        plan: &Plan,
        tables: &LevelSchedule,
        color_blocks: &BlockDiagonal,
        shape: source::CompileOptions,
        options: Options,
    ) -> Option<KernelSpec> {
        let recursion = plan.operations().recursion;
        if options.most_generated == 0 {
            return None;
        }
        // A separate helicity is at least as much work as its share of the total.
        let least = plan.count.multiply_adds / plan.helicities.len().max(1);
        if options.group == 0 && least > options.most_generated {
            return None;
        }
        let subsets = match options.group == 0 && plan.count.multiply_adds > options.whole {
            false => None,
            true => {
                let good = &plan.helicities;
                Some(HelicitySplit::best(
                    process,
                    binding,
                    good,
                    recursion,
                    options.most_generated,
                )?)
            }
        };
        Some(KernelSpec {
            part: GeneratedPart::Whole,
            shape,
            tables: tables.clone(),
            levels: None,
            levels_before_squares: None,
            plan: plan.clone(),
            color_blocks: color_blocks.clone(),
            subsets,
            allowed: process.channels.allowed_flows(),
            flow_weights: process.flow_weights.clone(),
            helicity_sum: process.helicity_sum,
            drawn: plan.channels().drawn_diagrams(&process.channels),
            signs: process.signs(),
            normalization: 1.0 / f64::from(process.iden),
            group: options.group,
            functions: options.functions,
        })
    }

    /// Returns the numbers of memory per event through which groups that are kernels pass values.
    pub(super) fn vectors(&self) -> u32 {
        let one_kernel = self.subsets.is_none() && (self.group == 0 || self.functions);
        if self.part != GeneratedPart::Whole || one_kernel {
            return 0;
        }
        let vectors = |channels| self.generator(channels).source().map_or(0, |s| s.vectors);
        vectors(false).max(vectors(true))
    }

    /// Returns the parameters for the levels, with a kernel for one helicity if `has_helicities`.
    pub(super) fn of_levels(
        process: &Process,
        plan: &Plan,
        tables: &LevelSchedule,
        color_blocks: &BlockDiagonal,
        shape: source::CompileOptions,
        has_helicities: bool,
        shared_per_block: usize,
    ) -> Option<KernelSpec> {
        let make = |squares| {
            let (double, lanes) = (shape.double, shape.lanes);
            SharedLevels::new(tables, squares, shared_per_block, double, lanes)
        };
        let (levels, levels_before_squares) = match &tables.squares {
            Amp2Source::Amplitudes(_) => (make(false), None),
            Amp2Source::Totals { .. } => match make(true) {
                Some(before_squares) => (make(false), Some(before_squares)),
                None => (None, None),
            },
        };
        let mut spec = KernelSpec {
            part: GeneratedPart::Helicity,
            shape,
            tables: tables.clone(),
            levels,
            levels_before_squares,
            plan: plan.clone(),
            color_blocks: color_blocks.clone(),
            subsets: None,
            allowed: Vec::new(),
            flow_weights: process.flow_weights.clone(),
            helicity_sum: process.helicity_sum,
            drawn: Vec::new(),
            // Its momenta have already been checked.
            signs: Vec::new(),
            normalization: 1.0,
            group: 0,
            functions: false,
        };
        if has_helicities && spec.generator(false).has_helicity() {
            return Some(spec);
        }
        spec.part = GeneratedPart::Levels;
        spec.levels.is_some().then_some(spec)
    }

    /// Returns whether the code can serve calls with channels, or samples with diagrams: a subset of a recursion has no
    /// AMP2 if the reversed helicities are in other subsets.
    fn has_amp2(&self) -> bool {
        let subsets = self.subsets.as_ref();
        subsets.is_none_or(|subsets| subsets.plan.channels().len() == self.plan.channels().len())
    }

    /// Returns the code for calls without or with channels (or colours, if it is for one helicity), with or without
    /// clocks.
    pub(super) fn unit(&self, channels: bool, clocks: bool) -> Option<CompilationUnit> {
        if channels && !self.has_amp2() {
            return None;
        }
        let generator = Generator {
            clocks,
            ..self.generator(channels)
        };
        match self.part {
            GeneratedPart::Whole => return self.shape.whole(&generator),
            GeneratedPart::Levels => return None,
            GeneratedPart::Helicity => (),
        }
        let (threads, blocks) = helicity_shape(
            self.tables.waves.len() as u32,
            self.shape.double,
            self.shape.lanes,
        );
        self.shape.helicity(&Generator {
            threads,
            blocks,
            registers: HELICITY_REGISTERS,
            ..generator
        })
    }

    /// Returns the kernel for the levels of calls without or with channels or colours.
    pub(super) fn levels_of(&self, channels: bool) -> Option<&SharedLevels> {
        match &self.levels_before_squares {
            Some(levels) if channels => Some(levels),
            _ => self.levels.as_ref(),
        }
    }

    /// Returns all units for such calls: after `unit` that of the levels. Each has the bytes of dynamic shared memory that
    /// its kernels request.
    pub(super) fn units(
        &self,
        channels: bool,
        clocks: bool,
    ) -> Option<Vec<(CompilationUnit, usize)>> {
        let mut units = match self.part {
            GeneratedPart::Levels => Vec::new(),
            _ => vec![(self.unit(channels, clocks)?, 0)],
        };
        units.extend(self.levels_of(channels).map(|levels| {
            let unit = self.shape.levels(levels, &self.plan.operations().general);
            (unit, levels.bytes(self.shape.double))
        }));
        Some(units)
    }

    /// Returns the units of samples in the same way.
    pub(super) fn units_of_samples(&self, diagrams: bool) -> Option<Vec<(CompilationUnit, usize)>> {
        Some(vec![(self.unit_of_samples(diagrams)?, 0)])
    }

    /// Returns the code for samples, without or with diagrams, if the plan has any; code for one helicity is that of
    /// calls.
    pub(super) fn unit_of_samples(&self, diagrams: bool) -> Option<CompilationUnit> {
        if diagrams && (self.plan.channels().is_empty() || !self.has_amp2()) {
            return None;
        }
        let generator = Generator {
            sample: Some(&self.drawn),
            ..self.generator(diagrams)
        };
        // Groups are only for experiments with calls.
        (self.group == 0 && self.part == GeneratedPart::Whole)
            .then(|| self.shape.whole(&generator))?
    }

    pub(super) fn generator(&self, channels: bool) -> Generator<'_> {
        let (threads, blocks) = GENERATED_SHAPE;
        let (tables, plan) = match &self.subsets {
            Some(subsets) => (&subsets.tables, &subsets.plan),
            None => (&self.tables, &self.plan),
        };
        Generator {
            tables,
            general: &plan.operations().general,
            split: &self.color_blocks,
            masses: &plan.masses,
            signs: &self.signs,
            helicities: &plan.helicities,
            denominator: &plan.channels().denominator,
            allowed: &self.allowed,
            flow_weights: &self.flow_weights,
            helicity_sum: self.helicity_sum,
            normalization: self.normalization,
            channels,
            colors: channels,
            threads,
            blocks,
            registers: match self.subsets {
                Some(_) => REGISTERS[usize::from(self.shape.double)],
                None => 0,
            },
            group: self.group,
            functions: self.functions,
            subsets: self.subsets.as_ref(),
            hoisted: self.subsets.as_ref().map_or(0, |subsets| {
                let fixed = subsets.fixed.iter().filter(|fixed| **fixed).count() as u32;
                HOISTED.min(fixed.saturating_sub(1))
            }),
            sample: None,
            clocks: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the reversed helicities of a subset are in other subsets, a recursion has no AMP2 for it.
    #[test]
    fn subsets_without_amp2_serve_calls_without_channels() {
        let process = mebridge_generate::generate("g g > t t~ g")
            .expect("a process")
            .remove(0);
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).expect("a card");
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let recursion = mebridge_plan::recursion::compile(&process, &binding, &all);
        let diagrams = mebridge_plan::compile(&process, &binding, &all).expect("a plan");
        let shape = source::CompileOptions {
            double: true,
            double_color: true,
            lanes: 32,
            workspace_lanes: 32,
            workspace_threads: 32,
            workspace_blocks: 1,
            colors_outside: false,
            split_orders: false,
            helicity_sum: HelicitySum::Positive,
        };
        for (plan, with_channels) in [(recursion.expect("a recursion"), false), (diagrams, true)] {
            assert_eq!(plan.channels().len(), process.diagrams as usize - 1);
            let tables = LevelSchedule::new(&plan, &binding).expect("tables");
            let color_blocks = BlockDiagonal::of_process(&process, false);
            let options = Options::default();
            let spec = KernelSpec::new(
                &process,
                &binding,
                &plan,
                &tables,
                &color_blocks,
                shape,
                options,
            );
            let spec = spec.expect("code");
            assert!(spec.subsets.is_some());
            assert!(spec.unit(false, false).is_some() && spec.unit_of_samples(false).is_some());
            assert_eq!(spec.unit(true, false).is_some(), with_channels);
            assert_eq!(spec.unit_of_samples(true).is_some(), with_channels);
        }
    }
}
