//! The GPU engine: a plan in the memory of a GPU, and the launches that run it.
//!
//! Events are taken in chunks that fit the memory. Of each chunk momenta, couplings, random numbers
//! and channels go to the GPU and |M|^2, helicities and colours come back; two chunks at a time are
//! under way, each with a stream and memory of its own, so that copies go on while the other computes.
//!
//! | module | what it knows |
//! |---|---|
//! | `chunks` | a call: its chunks, and what is put into a stream for each |
//! | `launch` | the launches that evaluate a chunk |
//! | `check` | which generated code serves a call, and whether it agrees with the tables |
//! | `recipe` | what generated code is made from |
//! | `contributions` | what helicities and diagrams contribute to a few events |
//! | `blocks` | threads of the blocks of kernels: constants, what is being tried, what was chosen |
//! | `tuning` | the choice of one of these by times |
//! | `clocks` | clocks that tell colour sums from amplitudes |
//! | `blas` | the colour sum by the GPU's own library |
//! | `memory` | the memory of chunks, and so their sizes |
//! | `slot` | what one chunk needs while it is under way |
//! | `region` | the regions of the kernel of helicities |
//! | `places` | the tables in the memory of the GPU |
//! | `phase` | the phases of a call |
//! | `report` | what the kernels take of the GPU |

mod blas;
mod blocks;
mod check;
mod chunks;
mod clocks;
mod contributions;
mod launch;
mod memory;
mod phase;
mod places;
mod recipe;
mod region;
mod report;
mod slot;
mod tuning;

pub use phase::Phase;

use super::arena::{Arena, Uploaded};
use super::color::ColorTables;
use super::driver::Function;
use super::generated::Generated;
use super::library::Library;
use super::source::{self, Unit};
use super::tables::{Kind, Level, Run, Squares, Tables};
use crate::backend::Clocks;
use crate::color::Split;
use crate::error::{Error, Result};
use crate::plan::binding::Binding;
use crate::plan::{Plan, ValidPlan};
use crate::process::Process;
use crate::runtime::Precision;
use crate::trial::Trial;
use blas::Blas;
use blocks::Tuning;
use clocks::Clocked;
use launch::Launch;
use num_complex::Complex64;
use places::Places;
use recipe::{Recipe, STRAIGHT, WHOLE};
use region::RegionSize;
use rustc_hash::FxHashMap as HashMap;
use slot::Slot;
use std::sync::Arc;

/// Events of a block of memory: a warp.
const LANES: u32 = 32;

/// What may be set.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The share of the free memory that this engine may take.
    pub memory: f64,
    /// Whether launches are recorded and replayed; if nothing is said they are, unless phases are
    /// to be told apart.
    pub graphs: Option<bool>,
    /// The most multiply-adds of a thread for which straight-line code is generated.
    pub straight: usize,
    /// Operations in a group of the generated code of a whole process; 0: as the engine finds best.
    pub group: usize,
    /// Whether groups are functions of one kernel.
    pub functions: bool,
    /// Multiply-adds of an event up to which one thread does all helicities.
    pub whole: usize,
    /// Whether the GPU's own library does the colour sum; by its size if `None`.
    pub blas: Option<bool>,
    /// Whether it may do so with the precision of TF32.
    pub tf32: bool,
    /// Whether threads of blocks are chosen by the times of launches.
    pub tune: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory: 0.9,
            graphs: None,
            straight: STRAIGHT,
            group: 0,
            functions: true,
            whole: WHOLE,
            blas: None,
            tf32: false,
            tune: true,
        }
    }
}

/// A plan on a GPU.
pub struct Engine {
    library: Arc<Library>,
    plan: ValidPlan,
    binding: Binding,
    tables: Tables,
    options: Options,
    double: bool,
    double_color: bool,
    /// What the kernel of helicities is compiled with.
    shape: source::Shape,
    region_lanes: u32,
    region_threads: u32,
    /// Groups of helicities.
    groups: usize,
    /// Bytes of a region.
    region_bytes: usize,
    /// Whether regions lie in shared memory.
    shared: bool,
    /// Regions that should be at work at the same time; where they take memory of the GPU, the most.
    wanted: usize,
    uploaded: Uploaded,
    places: Places,
    load: Function,
    answer: Function,
    gather: Function,
    helicities: Function,
    levels: Vec<Vec<Launch>>,
    squares: Vec<Vec<Launch>>,
    slots: Vec<Slot>,
    /// The colour sum, where the GPU's own library does it.
    blas: Option<Blas>,
    /// What generated code is made from: a kernel for all, or one for a helicity, which takes the
    /// place of `helicities`.
    recipe: Option<Arc<Recipe>>,
    /// Numbers of memory of an event that generated code needs.
    vectors: u32,
    /// Generated code for calls without and with channels.
    generated: [Option<Generated>; 2],
    tuning: Tuning,
    /// What is measured.
    clocks: Clocks,
    clocked: Clocked,
    /// Seconds spent in each phase.
    seconds: [f64; Phase::ALL.len()],
    couplings: Vec<Complex64>,
    /// Where generated code is compared.
    trial: Option<Arc<Trial>>,
}

impl Engine {
    /// An engine for a plan of the process, whose addresses it follows. (Only within this crate, which gives it
    /// no events whose channels it has not checked.)
    pub(crate) fn new(
        library: &Arc<Library>,
        process: &Process,
        split: &Split,
        binding: &Binding,
        plan: ValidPlan,
        precision: Precision,
        options: Options,
    ) -> Result<Engine> {
        let tables = Tables::new(&plan, binding).ok_or_else(|| Error::InvalidProcess {
            what: "a plan whose operations are not whole".into(),
        })?;
        let driver = library.driver();
        let double = precision != Precision::Float;
        let outside = blas::wanted(&options, split, driver)?;
        let color = match outside {
            true => ColorTables::default(),
            false => ColorTables::new(split),
        };
        let region = RegionSize::choose(&tables, driver.properties(), precision, outside);
        let shape = source::Shape {
            double,
            double_color: precision == Precision::Double,
            lanes: LANES,
            region_lanes: region.lanes,
            region_threads: region.threads,
            region_blocks: region.blocks,
            colors_outside: outside,
        };
        let kinds = source::amplitude_kinds(&tables);
        let ends = shape.ends();
        let helicities = shape.helicities(&kinds, &plan.general, false);
        let walkers: HashMap<Kind, Unit> = tables
            .kinds()
            .into_iter()
            .map(|kind| (kind, shape.operations(kind, &plan.general)))
            .collect();
        let mut units: Vec<Unit> = walkers.values().cloned().collect();
        units.push(ends.clone());
        units.push(helicities.clone());
        library.load(&units)?;
        let functions = walkers
            .iter()
            .map(|(&kind, unit)| {
                let function = library.function(unit, &source::run_name(kind), 0)?;
                Ok((kind, function))
            })
            .collect::<Result<HashMap<Kind, Function>>>()?;
        let launches = |levels: &[Level]| -> Vec<Vec<Launch>> {
            let launch = |run: &Run| Launch {
                function: functions[&run.kind],
                first: run.first,
                count: run.count,
            };
            let level = |level: &Level| level.iter().map(launch).collect();
            levels.iter().map(level).collect()
        };
        let mut arena = Arena::default();
        let places = Places::new(
            &mut arena, process, &plan, &tables, &color, &kinds, &region, double, precision,
        );
        let blas = match outside {
            true => Some(Blas::new(
                library,
                &mut arena,
                &shape,
                &process.color,
                &tables,
                &region,
                &options,
            )?),
            false => None,
        };
        let stream = driver.stream()?;
        let uploaded = arena.upload(driver, stream);
        driver.drop_stream(stream);
        let shared = if region.shared { region.bytes } else { 0 };
        // Generated code has the colour sum in it, always in the precision of the amplitudes: to
        // turn JAMP into single precision costs more there than is saved.
        let generated = source::Shape {
            double_color: double,
            ..shape
        };
        let recipe = match outside {
            true => None,
            false => Recipe::of(process, binding, &plan, &tables, split, generated, options)
                .or_else(|| Recipe::of_helicity(&plan, &tables, split, generated, options)),
        };
        let groups = region.groups(&tables).len();
        Ok(Engine {
            wanted: memory::regions_wanted(driver, &region, &options)?,
            groups,
            load: library.function(&ends, "load", 0)?,
            answer: library.function(&ends, "answer", 0)?,
            gather: library.function(&ends, "gather", 0)?,
            helicities: library.function(&helicities, "helicities", shared)?,
            levels: launches(&tables.levels),
            squares: match &tables.squares {
                Squares::Totals { levels, .. } => launches(levels),
                Squares::Amplitudes(_) => Vec::new(),
            },
            library: library.clone(),
            binding: binding.clone(),
            vectors: recipe.as_ref().map_or(0, Recipe::vectors),
            recipe: recipe.map(Arc::new),
            blas,
            uploaded: uploaded?,
            places,
            plan,
            tables,
            options,
            double,
            double_color: shape.double_color,
            shape,
            region_lanes: region.lanes,
            region_threads: region.threads,
            region_bytes: region.bytes,
            shared: region.shared,
            slots: Vec::new(),
            generated: [None, None],
            tuning: Tuning::default(),
            clocks: Clocks::None,
            clocked: Clocked::default(),
            seconds: Default::default(),
            couplings: Vec::new(),
            trial: Trial::new(process, binding).map(Arc::new),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What to measure of where the time goes.
    pub fn set_profile(&mut self, clocks: Clocks) {
        self.clocks = clocks;
    }

    /// Whether the times of phases are measured.
    fn profile(&self) -> bool {
        self.clocks != Clocks::None
    }

    /// Seconds spent in a phase, as far as [`Engine::set_profile`] asked.
    pub fn seconds(&self, phase: Phase) -> f64 {
        self.seconds[phase as usize]
    }

    /// Waits until all code that is being generated is there.
    pub fn settle(&mut self) {
        for generated in self.generated.iter().flatten() {
            generated.settle();
        }
    }

    /// Whether generated code is a kernel for a helicity.
    fn of_helicity(&self) -> bool {
        self.recipe.as_ref().is_some_and(|recipe| recipe.helicity)
    }

    /// Whether the next launches are recorded.
    fn graphs(&self) -> bool {
        match self.clocks {
            Clocks::None => self.options.graphs.unwrap_or(true),
            Clocks::Phases => self.options.graphs.unwrap_or(false),
            Clocks::Kernels => false,
        }
    }

    /// Number of external legs.
    fn legs(&self) -> usize {
        self.plan.masses.len()
    }

    fn real(&self) -> usize {
        if self.double { 8 } else { 4 }
    }
}
