//! `mebridge info`: shows the contents of a process, or which of several can be evaluated.

mod origin;
mod table;

use crate::number::short;
use crate::output;
use crate::progress::Progress;
use crate::source::{self, CardedProcess};
use mebridge::Result;
use mebridge::color::BlockDiagonal;
use mebridge::describe::{Channel, topologies};
use mebridge::ops::recognize::recognize;
use mebridge::plan::binding::{Binding, Coupling};
use mebridge::plan::color_ordered::Machine;
use mebridge::plan::passes::Pass;
use mebridge::plan::plan_after;
use mebridge::plan::{Plan, compile_for};
use mebridge::policy::{Processor, color_ordered_serves, recursion_serves};
use mebridge::process::{Contract, Process, Wavefunction};
use mebridge::runtime::ProcessChoice;
use mebridge::simd::l2_bytes;
use mebridge_support::sorted::SortedSet;
use num_complex::Complex64;
use origin::{Origin, OutputKind};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use table::ProcessTable;

/// g_s at alpha_s = 0.118, as in MG5aMC's check executable.
pub const DEFAULT_G: f64 = 1.2177157847767195;
/// Number of plans that are made without `--plan`.
const PLANS: usize = 2;

/// Show what a process holds: legs, diagrams, colour flows, helicities, couplings, operations
///
/// Of several directories, or of a whole output of MG5aMC (also its SubProcesses), it is a table:
/// for each matrix element where it comes from, how large it is, and whether it can be evaluated or
/// why not.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// Process file, or P* directory of an MG5aMC output (all its matrix elements; #N after it
    /// for the N-th), or several of them, or a whole output
    #[arg(value_name = "FILE|DIR", required = true)]
    processes: Vec<OsString>,
    /// Parameter card to take values from [default: that of the output, or those in the file]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
    /// Strong coupling g_s at which couplings are evaluated
    #[arg(long, value_name = "G", default_value_t = DEFAULT_G)]
    g: f64,
    /// Show what each pass of the plan compiler saves
    #[arg(long)]
    plan: bool,
    /// With --plan: print the plan that serves a CPU's calls without channels, operation by operation
    #[arg(long, requires = "plan", conflicts_with = "json")]
    text: bool,
    /// Print JSON instead of text: a list with one object for each matrix element
    #[arg(long)]
    json: bool,
    /// Add to the JSON the topologies that a sampler needs
    #[arg(long, requires = "json")]
    topologies: bool,
}

impl Options {
    /// Prints.
    pub fn run(self) -> Result<()> {
        if !self.g.is_finite() {
            output::usage("--g must be a finite number");
        }
        match &self.processes[..] {
            [one] if !table::requests_table(&self.processes) => self.one(one),
            _ => self.several(),
        }
    }

    /// Prints a table of matrix elements.
    fn several(&self) -> Result<()> {
        if self.plan {
            output::usage("--plan is for a single file or P directory");
        }
        let table = ProcessTable::new(&self.processes, self.card.as_deref())?;
        match self.json {
            true => output::write_json("-".as_ref(), &table),
            false => output::print(&table.to_string()),
        }
    }

    /// Prints everything about the matrix elements of a file or of a P directory.
    fn one(&self, process: &OsStr) -> Result<()> {
        let path = ProcessChoice::parse(process).path;
        let origin = path.is_dir().then(|| Origin::read(&path));
        let sources = source::all_processes(process, self.card.as_deref());
        if let (Err(_), Some(origin)) = (&sources, &origin)
            && origin.kind != OutputKind::Unknown
        {
            // The error follows this line.
            output::warn(&format!("{}: {origin}", path.display()));
        }
        let sources = sources?;
        if self.text {
            let texts = sources.iter().map(plan_text);
            return output::print(&texts.collect::<Result<Vec<String>>>()?.join("\n"));
        }
        let passes = match self.plan {
            true => Pass::ALL.len(),
            false => 0,
        };
        // Plans of large processes take seconds each, with or without `--plan`.
        let progress = Progress::new("plans", (sources.len() * (PLANS + passes)) as u64);
        let infos = sources
            .iter()
            .map(|source| {
                let mut info = Info::new(source, origin.as_ref(), self.g, self.plan, &progress)?;
                if self.topologies {
                    info.topologies = Some(topologies(&source.with_card())?);
                }
                Ok(info)
            })
            .collect::<Result<Vec<Info>>>()?;
        drop(progress);
        if self.json {
            return output::write_json("-".as_ref(), &infos);
        }
        let texts: Vec<String> = infos.iter().map(Info::to_string).collect();
        output::print(&texts.join("\n"))
    }
}

/// The information about a process.
#[derive(Serialize)]
struct Info {
    process: String,
    model: String,
    /// Kind and version of the output, for a directory.
    kind: Option<OutputKind>,
    mg5amc: Option<String>,
    contract: &'static str,
    legs: Vec<Leg>,
    helicities: usize,
    iden: u32,
    diagrams: u32,
    amplitudes: usize,
    wavefunctions: usize,
    color_flows: u32,
    configurations: usize,
    channels: Vec<u32>,
    g_s: f64,
    card: Vec<Parameter>,
    masses_and_widths: Vec<Value>,
    couplings: Vec<CouplingValue>,
    lorentz_structures: Vec<Structure>,
    operations: Operations,
    plans: Plans,
    /// With `--plan`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passes: Vec<PassInfo>,
    /// With `--topologies`.
    #[serde(skip_serializing_if = "Option::is_none")]
    topologies: Option<Vec<Channel>>,
    /// Multiply-adds of the colour sum over the upper triangle, all helicities.
    #[serde(skip)]
    color_by_rows: usize,
}

#[derive(Serialize)]
struct Leg {
    pdg: i32,
    incoming: bool,
    mass: f64,
    mass_name: Option<String>,
}

#[derive(Serialize)]
struct Parameter {
    name: String,
    block: String,
    index: Vec<i32>,
    value: f64,
}

#[derive(Serialize)]
struct Value {
    name: String,
    value: f64,
}

#[derive(Serialize)]
struct CouplingValue {
    name: String,
    re: f64,
    im: f64,
    /// Powers of G in the value; `None` if it is not a polynomial in G.
    powers_of_g: Option<Vec<usize>>,
}

#[derive(Serialize)]
struct Structure {
    name: String,
    /// Calls for one helicity configuration.
    calls: usize,
    /// Operations of its body.
    operations: usize,
    /// Kernels that compute it; empty if its own arithmetic is run.
    kernels: Vec<String>,
}

/// Work of the engine for one event, all helicities together.
#[derive(Serialize)]
struct Plans {
    /// In a call with channels.
    with_channels: PlanInfo,
    /// In a call without channels.
    without_channels: PlanInfo,
}

/// Remaining work for one event after a pass of the plan compiler.
#[derive(Serialize)]
struct PassInfo {
    pass: String,
    what: &'static str,
    /// Wavefunctions, amplitudes and squared diagrams computed, over all helicities.
    operations: usize,
    wavefunctions: usize,
    amplitudes: usize,
    jamp_terms: usize,
    /// Floating-point operations, two for a multiply-add, without the colour sum.
    flops: usize,
    /// The same with channels: with all AMP2.
    flops_with_channels: usize,
    /// Working memory for one event in double precision.
    bytes: usize,
}

/// Properties and work of a plan.
#[derive(Serialize)]
struct PlanInfo {
    /// `diagrams`, `recursion` or `colour-ordered`.
    kind: &'static str,
    external_wavefunctions: usize,
    internal_wavefunctions: usize,
    amplitudes: usize,
    jamp_terms: usize,
    momenta: usize,
    propagators: usize,
    multiply_adds: usize,
    color_multiply_adds: usize,
    memory_vectors: usize,
    /// Multiply-adds of AMP2.
    #[serde(skip)]
    squares: usize,
}

/// Work of evaluating one helicity configuration, as MG5aMC lists it.
#[derive(Serialize)]
struct Operations {
    external_wavefunctions: usize,
    internal_wavefunctions: usize,
    amplitudes: usize,
    jamp_partial_sums: usize,
    jamp_terms: usize,
    color_products: usize,
}

impl Info {
    fn new(
        source: &CardedProcess,
        origin: Option<&Origin>,
        g: f64,
        plan: bool,
        progress: &Progress,
    ) -> Result<Info> {
        let process = &source.process;
        let model = &process.model;
        let binding = Binding::new(model, &source.card)?;
        let mut couplings = Vec::new();
        binding.evaluate(g, &mut couplings);
        let wavefunctions = process.wavefunctions.iter();
        let external = wavefunctions.filter(|w| matches!(w, Wavefunction::External(_)));
        let external = external.count();
        let flows = process.amplitudes.jamps();
        let vertices = process.amplitudes.vertices().len();
        let jamp = process.amplitudes.diagrams().map(|diagrams| &diagrams.jamp);
        let terms = |sums: &[Vec<_>]| sums.iter().map(Vec::len).sum::<usize>();
        Ok(Info {
            process: process.name.clone(),
            model: process.model_name.clone(),
            kind: origin.map(|o| o.kind),
            mg5amc: origin.and_then(|o| o.version.clone()),
            contract: match process.contract {
                Contract::Unknown => "unknown",
                Contract::WithoutIgraph => "without igraph",
                Contract::WithIgraph => "with igraph",
            },
            legs: process
                .legs
                .iter()
                .map(|leg| Leg {
                    pdg: leg.pdg,
                    incoming: leg.incoming,
                    mass: binding.value(leg.mass),
                    mass_name: leg
                        .mass
                        .0
                        .map(|i| model.parameters[i as usize].name.clone()),
                })
                .collect(),
            helicities: process.helicities.len(),
            iden: process.iden,
            diagrams: process.diagrams,
            amplitudes: vertices,
            wavefunctions: process.wavefunctions.len(),
            color_flows: process.color_flows() as u32,
            configurations: process.channels.config_diagram.len(),
            channels: process
                .channels
                .config_diagram
                .iter()
                .copied()
                .filter(|&d| d != 0)
                .collect(),
            g_s: g,
            card: model
                .card
                .iter()
                .zip(&source.card)
                .map(|(parameter, &value)| Parameter {
                    name: parameter.name.clone(),
                    block: parameter.block.clone(),
                    index: parameter.index.clone(),
                    value,
                })
                .collect(),
            masses_and_widths: model
                .parameters
                .iter()
                .zip(&binding.parameters)
                .map(|(named, &value)| Value {
                    name: named.name.clone(),
                    value,
                })
                .collect(),
            couplings: model
                .couplings
                .iter()
                .zip(&couplings)
                .zip(&binding.couplings)
                .map(|((named, value), kind)| CouplingValue {
                    name: named.name.clone(),
                    re: value.re,
                    im: value.im,
                    powers_of_g: powers(kind),
                })
                .collect(),
            lorentz_structures: structures(process, &binding),
            operations: Operations {
                external_wavefunctions: external,
                internal_wavefunctions: process.wavefunctions.len() - external,
                amplitudes: vertices,
                jamp_partial_sums: jamp.map_or(0, |jamp| jamp.partial.len()),
                jamp_terms: jamp.map_or(0, |jamp| terms(&jamp.partial) + terms(&jamp.outputs)),
                color_products: flows * (flows + 1) / 2,
            },
            plans: plans(process, &binding, progress)?,
            passes: match plan {
                true => passes(process, &binding, progress)?,
                false => Vec::new(),
            },
            topologies: None,
            color_by_rows: process.helicities.len() * flows * (flows + 3),
        })
    }
}

/// Returns the powers of G in a coupling.
fn powers(coupling: &Coupling) -> Option<Vec<usize>> {
    match coupling {
        Coupling::Polynomial(coefficients) => {
            let zero = Complex64::new(0.0, 0.0);
            let powers = coefficients.iter().enumerate();
            Some(
                powers
                    .filter(|(_, c)| **c != zero)
                    .map(|(k, _)| k)
                    .collect(),
            )
        }
        Coupling::Formula => None,
    }
}

/// Returns a core of this machine.
fn core() -> Machine {
    Machine::Core { l2: l2_bytes() }
}

/// Returns the colour-ordered form of a process, if it serves a core's calls without channels instead of the diagrams.
fn color_ordered_form(process: &Process, binding: &Binding) -> Option<Process> {
    color_ordered_serves(process, binding, Processor::Core)
        .then(|| process.as_color_ordered())
        .flatten()
}

/// Returns the kind of a plan that is not a recursion found in diagrams.
fn kind(process: &Process) -> &'static str {
    match process.is_color_ordered() {
        true => "colour-ordered",
        false => "diagrams",
    }
}

/// Returns the text of the plan that serves a CPU's calls without channels.
fn plan_text(source: &CardedProcess) -> Result<String> {
    let process = &source.process;
    let binding = Binding::new(&process.model, &source.card)?;
    let form = color_ordered_form(process, &binding);
    let process = form.as_ref().unwrap_or(process);
    let helicities: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let plan = compile_for(core(), process, &binding, &helicities)?;
    let recursion = plan_after(Pass::Tiling, process, &binding, &helicities)?;
    let serves = |r: &Plan| recursion_serves(r, &plan.count, Processor::Core).without_channels;
    let better = recursion.filter(serves);
    let kind = match better {
        Some(_) => "recursion",
        None => kind(process),
    };
    let plan = better.unwrap_or(plan);
    Ok(format!("{}: {kind}\n{plan}", process.name))
}

/// Returns the work of the plans for all helicities.
fn plans(process: &Process, binding: &Binding, progress: &Progress) -> Result<Plans> {
    let helicities: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let diagrams = compile_for(core(), process, binding, &helicities)?;
    progress.step();
    let recursion = plan_after(Pass::Tiling, process, binding, &helicities)?;
    progress.step();
    let better = |channels: bool| {
        let serves =
            |r: &&Plan| recursion_serves(r, &diagrams.count, Processor::Core).calls(channels);
        recursion.as_ref().filter(serves)
    };
    let info = |process: &Process, kind, plan: &Plan| {
        // Loops skip helicities that follow from others.
        let loops = plan.loops().map(|loops| loops.evaluated().count());
        let helicities = loops.unwrap_or(helicities.len());
        let color = BlockDiagonal::of_process(process, false).multiply_adds();
        PlanInfo::new(kind, plan, helicities * color)
    };
    let of_diagrams = |channels: bool| match better(channels) {
        Some(recursion) => info(process, "recursion", recursion),
        None => info(process, kind(process), &diagrams),
    };
    let mut with_channels = of_diagrams(true);
    with_channels.multiply_adds += with_channels.squares;
    let without_channels = match color_ordered_form(process, binding) {
        Some(form) => {
            let plan = compile_for(core(), &form, binding, &helicities)?;
            info(&form, kind(&form), &plan)
        }
        None => of_diagrams(false),
    };
    Ok(Plans {
        with_channels,
        without_channels,
    })
}

/// Returns the remaining work after each pass.
fn passes(process: &Process, binding: &Binding, progress: &Progress) -> Result<Vec<PassInfo>> {
    let helicities: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let mut infos = Vec::new();
    for pass in Pass::ALL {
        let plan = plan_after(pass, process, binding, &helicities)?;
        progress.step();
        let Some(plan) = plan else {
            continue;
        };
        let count = plan.count;
        infos.push(PassInfo {
            pass: format!("{pass:?}"),
            what: pass.what(),
            operations: count.currents + count.amplitudes,
            wavefunctions: count.currents,
            amplitudes: count.amplitudes,
            jamp_terms: count.jamp_terms,
            flops: 2 * count.multiply_adds,
            flops_with_channels: 2 * (count.multiply_adds + count.squares),
            bytes: 8 * count.vectors,
        });
    }
    Ok(infos)
}

impl PlanInfo {
    fn new(kind: &'static str, plan: &Plan, color_multiply_adds: usize) -> PlanInfo {
        let externals = plan.externals.iter().map(|e| e.helicities.len());
        PlanInfo {
            kind,
            external_wavefunctions: externals.sum(),
            internal_wavefunctions: plan.count.currents,
            amplitudes: plan.count.amplitudes,
            jamp_terms: plan.count.jamp_terms,
            momenta: plan.count.momenta,
            propagators: plan.count.propagators,
            multiply_adds: plan.count.multiply_adds,
            color_multiply_adds,
            memory_vectors: plan.count.vectors,
            squares: plan.count.squares,
        }
    }
}

/// Returns the Lorentz structures, the number of calls of each and what computes it.
fn structures(process: &Process, binding: &Binding) -> Vec<Structure> {
    let internal = process.wavefunctions.iter().filter_map(|w| match w {
        Wavefunction::Internal(vertex) => Some(vertex),
        Wavefunction::External(_) => None,
    });
    let mut calls = vec![0; process.routines.len()];
    // For each routine, which of its masses are zero in its calls.
    let mut massless = vec![SortedSet::new(); process.routines.len()];
    for vertex in internal.chain(process.amplitudes.vertices()) {
        let mass = binding.value(vertex.mass);
        calls[vertex.routine as usize] += 1;
        massless[vertex.routine as usize].insert(mass == 0.0);
    }
    let routines = process.routines.iter().zip(calls).zip(massless);
    routines
        .map(|((routine, calls), massless)| {
            let kernels = massless.iter().filter_map(|&m| recognize(routine, m));
            let names: SortedSet<String> = kernels.map(|r| format!("{:?}", r.opcode)).collect();
            Structure {
                name: routine.name.clone(),
                calls,
                operations: routine.program.ops.len(),
                kernels: names.into_iter().collect(),
            }
        })
        .collect()
}

impl Display for Info {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        self.write_counts(f)?;
        self.write_legs_and_parameters(f)?;
        self.write_couplings_and_structures(f)?;
        self.write_operations(f)?;
        self.write_passes(f)
    }
}

impl Info {
    /// What the process is, and how much of everything it has.
    fn write_counts(&self, f: &mut Formatter) -> fmt::Result {
        let incoming = self.legs.iter().filter(|leg| leg.incoming).count();
        let outgoing = self.legs.len() - incoming;
        line(f, "process", &self.process)?;
        if !self.model.is_empty() {
            line(f, "model", &self.model)?;
        }
        if let Some(kind) = self.kind {
            let version = self.mg5amc.as_ref();
            let version = version.map_or(String::new(), |v| format!(" of MG5aMC {v}"));
            line(f, "output", format!("{kind}{version}"))?;
        }
        line(f, "Fortran contract", self.contract)?;
        line(
            f,
            "legs",
            format!("{incoming} incoming, {outgoing} outgoing"),
        )?;
        line(f, "helicities", self.helicities)?;
        line(f, "IDEN", self.iden)?;
        line(f, "diagrams", self.diagrams)?;
        line(f, "amplitudes", self.amplitudes)?;
        line(f, "wavefunctions", self.wavefunctions)?;
        line(f, "colour flows", self.color_flows)?;
        let channels = self.channels.len();
        line(
            f,
            "configurations",
            format!("{} ({channels} of this process)", self.configurations),
        )
    }

    fn write_legs_and_parameters(&self, f: &mut Formatter) -> fmt::Result {
        writeln!(f, "\nlegs")?;
        for (i, leg) in self.legs.iter().enumerate() {
            let state = if leg.incoming { "in" } else { "out" };
            let mass = match &leg.mass_name {
                Some(name) => format!("{name} = {} GeV", short(leg.mass)),
                None => "massless".into(),
            };
            writeln!(f, "  {:>2}  {state:<3}  PDG {:>8}  {mass}", i + 1, leg.pdg)?;
        }
        if !self.card.is_empty() {
            writeln!(f, "\nparameters of the card")?;
            for p in &self.card {
                let index: Vec<String> = p.index.iter().map(i32::to_string).collect();
                let place = format!("{} {}", p.block, index.join(" "));
                writeln!(
                    f,
                    "  {:<16} {:<16} {}",
                    p.name,
                    place.trim(),
                    short(p.value)
                )?;
            }
        }
        if !self.masses_and_widths.is_empty() {
            writeln!(f, "\nmasses and widths (GeV)")?;
            for p in &self.masses_and_widths {
                writeln!(f, "  {:<16} {}", p.name, short(p.value))?;
            }
        }
        Ok(())
    }

    fn write_couplings_and_structures(&self, f: &mut Formatter) -> fmt::Result {
        writeln!(f, "\ncouplings at g_s = {}", short(self.g_s))?;
        for c in &self.couplings {
            let value = format!("({}, {})", short(c.re), short(c.im));
            let how = match c.powers_of_g.as_deref() {
                None => "formula of G".into(),
                Some([] | [0]) => String::new(),
                Some(powers) => {
                    let powers: Vec<String> = powers.iter().map(|k| power(*k)).collect();
                    format!("~ {}", powers.join(", "))
                }
            };
            writeln!(
                f,
                "{}",
                format!("  {:<16} {value:<30} {how}", c.name).trim_end()
            )?;
        }
        writeln!(f, "\nLorentz structures")?;
        for s in &self.lorentz_structures {
            let by = match &s.kernels[..] {
                [] => "its own arithmetic".into(),
                [kernel] => format!("kernel {kernel}"),
                kernels => format!("kernels {}", kernels.join(", ")),
            };
            writeln!(
                f,
                "  {:<16} {:>6} calls, {:>4} operations each, by {by}",
                s.name, s.calls, s.operations
            )?;
        }
        Ok(())
    }

    fn write_operations(&self, f: &mut Formatter) -> fmt::Result {
        let o = &self.operations;
        writeln!(f, "\noperations for one helicity configuration")?;
        for (what, count) in [
            ("external wavefunctions", o.external_wavefunctions),
            ("internal wavefunctions", o.internal_wavefunctions),
            ("amplitudes", o.amplitudes),
            ("partial sums of JAMP", o.jamp_partial_sums),
            ("terms of JAMP", o.jamp_terms),
            ("products in the colour sum", o.color_products),
        ] {
            writeln!(f, "  {what:<28} {count:>8}")?;
        }
        let (a, b) = (&self.plans.with_channels, &self.plans.without_channels);
        writeln!(f, "\noperations for all helicities of one event")?;
        let row = |f: &mut Formatter, what: &str, a: &dyn Display, b: &dyn Display| {
            writeln!(f, "  {what:<28} {a:>13} {b:>16}")
        };
        row(f, "", &"with channels", &"without channels")?;
        row(f, "kind of plan", &a.kind, &b.kind)?;
        type Count = fn(&PlanInfo) -> usize;
        let counts: [(&str, Count); 9] = [
            ("external wavefunctions", |p| p.external_wavefunctions),
            ("internal wavefunctions", |p| p.internal_wavefunctions),
            ("amplitudes", |p| p.amplitudes),
            ("terms of JAMP", |p| p.jamp_terms),
            ("momenta of inner lines", |p| p.momenta),
            ("propagators", |p| p.propagators),
            ("multiply-adds", |p| p.multiply_adds),
            ("the same in colour sums", |p| p.color_multiply_adds),
            ("numbers in memory", |p| p.memory_vectors),
        ];
        for (what, count) in counts {
            row(f, what, &count(a), &count(b))?;
        }
        Ok(())
    }

    /// The plan after each of its passes, if they were recorded.
    fn write_passes(&self, f: &mut Formatter) -> fmt::Result {
        if self.passes.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "\nplan for all helicities of one event, after each pass (flops without colour sum)"
        )?;
        writeln!(
            f,
            "  {:<28} {:>10} {:>13} {:>10} {:>10} {:>11} {:>13} {:>10}",
            "",
            "operations",
            "wavefunctions",
            "amplitudes",
            "JAMP terms",
            "flops",
            "with channels",
            "bytes"
        )?;
        for p in &self.passes {
            writeln!(
                f,
                "  {:<28} {:>10} {:>13} {:>10} {:>10} {:>11} {:>13} {:>10}",
                p.what,
                p.operations,
                p.wavefunctions,
                p.amplitudes,
                p.jamp_terms,
                p.flops,
                p.flops_with_channels,
                p.bytes
            )?;
        }
        writeln!(
            f,
            "  colour sum: {} flops by rows, {} by the symmetries of its matrix",
            2 * self.color_by_rows,
            2 * self.plans.without_channels.color_multiply_adds
        )
    }
}

fn line(f: &mut Formatter, what: &str, value: impl Display) -> fmt::Result {
    writeln!(f, "{what:<18} {value}")
}

fn power(k: usize) -> String {
    match k {
        0 => "1".into(),
        1 => "G".into(),
        k => format!("G^{k}"),
    }
}
