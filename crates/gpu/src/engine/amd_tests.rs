//! Compiles the device code of whole processes with AMD's compiler, for waves of 64 and 32 threads, and checks that
//! values kept in registers on NVIDIA GPUs are not spilled to memory.
//!
//! `make amd-table` prints the resource usage of each kernel.

use super::kernel_spec::KernelSpec;
use super::workspace::WorkspaceSize;
use super::{LOOPS_LANES, Options};
use crate::color_ordered::schedule::ArrayKernel;
use crate::driver::Properties;
use crate::level_schedule::LevelSchedule;
use crate::module_cache::options;
use crate::source::{self, CompilationUnit, CompileOptions};
use crate::{Nvrtc, Platform};
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_plan::color_ordered::Machine;
use mebridge_plan::{ValidPlan, compile_for, recursion};
use mebridge_process::{HelicitySum, Process};
use mebridge_support::runtime::Precision;
use mebridge_testing::hip::{compiled as compile, compiler as clang};
use mebridge_testing::require;
use std::collections::BTreeMap;
use std::path::Path;

/// GPUs, with the threads of a wave: MI200, MI300, RDNA 3.
const ARCHITECTURES: [(&str, u32); 3] = [("gfx90a", 64), ("gfx942", 64), ("gfx1100", 32)];

/// Compilation units by name.
type Units = Vec<(String, CompilationUnit)>;

/// Returns the GPU properties on which sizes depend, for a given number of threads per wave.
fn gpu(warp: u32) -> Properties {
    Properties {
        warp,
        shared_per_block: 64 << 10,
        shared_per_processor: 64 << 10,
        ..Properties::default()
    }
}

/// Returns all units of a process.
fn units(text: &str, ordered: bool, precision: Precision, gpu: &Properties) -> Units {
    let process = mebridge_generate::generate(text)
        .expect("a process")
        .remove(0);
    let process = match ordered {
        true => process.as_color_ordered().expect("a colour-ordered form"),
        false => process,
    };
    let card = process.model.default_card();
    let binding = Binding::new(&process.model, &card).expect("a card");
    let rows: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let machine = Machine::Gpu { tile: usize::MAX };
    let diagrams = compile_for(machine, &process, &binding, &rows).expect("a plan");
    let diagrams = diagrams.validate(&process).expect("a plan");
    let mut units = of_plan(&process, &binding, &diagrams, precision, gpu);
    if let Some(plan) = recursion::compile(&process, &binding, &rows) {
        let plan = plan.validate(&process).expect("a plan");
        for (name, unit) in of_plan(&process, &binding, &plan, precision, gpu) {
            units.push((format!("{name}, recursion"), unit));
        }
    }
    let mut known = Vec::new();
    units.retain(|(_, unit)| {
        let new = !known.contains(&unit.text);
        if new {
            known.push(unit.text.clone());
        }
        new
    });
    units
}

fn of_plan(
    process: &Process,
    binding: &Binding,
    plan: &ValidPlan,
    precision: Precision,
    gpu: &Properties,
) -> Units {
    let double = precision != Precision::Float;
    let tables = LevelSchedule::new(plan, binding).expect("tables");
    let color = BlockDiagonal::of_process(process, false);
    let in_loops = plan.loops().is_some();
    let workspace = match in_loops {
        true => WorkspaceSize::none(LOOPS_LANES),
        false => WorkspaceSize::choose(&tables, gpu, precision, false),
    };
    let shape = CompileOptions {
        double,
        double_color: precision == Precision::Double,
        lanes: if in_loops { LOOPS_LANES } else { gpu.warp },
        workspace_lanes: workspace.lanes,
        workspace_threads: workspace.threads,
        workspace_blocks: workspace.blocks,
        colors_outside: false,
        split_orders: false,
        helicity_sum: HelicitySum::Positive,
    };
    let general = &plan.operations().general;
    let mut units: Units = vec![
        ("ends".into(), shape.ends()),
        ("ends of samples".into(), shape.ends_of_samples()),
    ];
    for kind in tables.kinds() {
        units.push((source::run_name(kind), shape.operations(kind, general)));
    }
    if in_loops {
        let kernels: Vec<ArrayKernel> = ArrayKernel::all().collect();
        units.push(("arrays".into(), shape.arrays()));
        units.push(("color_ordered".into(), shape.color_ordered()));
        units.push(("few_jamps".into(), shape.few_jamps(6)));
        units.push(("array_loops".into(), shape.array_loops(&kernels, 6, 1)));
        return units;
    }
    let kinds = source::amplitude_kinds(&tables);
    let outside = CompileOptions {
        colors_outside: true,
        ..shape
    };
    for (name, shape, clocks) in [
        ("helicities", shape, false),
        ("helicities, clocks", shape, true),
        ("helicities, colours outside", outside, false),
    ] {
        units.push((name.into(), shape.helicities(&kinds, general, clocks)));
    }
    units.push(("color_dots".into(), outside.dots()));
    let generated = CompileOptions {
        double_color: double,
        ..shape
    };
    let options = Options::default();
    let whole = KernelSpec::new(process, binding, plan, &tables, &color, generated, options);
    let helicity = KernelSpec::of_levels(process, plan, &tables, &color, generated, true, 64 << 10);
    for (name, spec) in [("whole", whole), ("helicity", helicity)] {
        let Some(spec) = spec else { continue };
        for squares in [false, true] {
            let levels = spec.levels_of(squares);
            units.extend(levels.map(|levels| ("levels".into(), generated.levels(levels, general))));
        }
        for channels in [false, true] {
            let name = format!("{name}{}", if channels { ", channels" } else { "" });
            for (what, unit) in [
                ("", spec.unit(channels, false)),
                (", clocks", spec.unit(channels, true)),
                (", samples", spec.unit_of_samples(channels)),
            ] {
                units.extend(unit.map(|unit| (format!("{name}{what}"), unit)));
            }
        }
    }
    units
}

/// Resource usage of a kernel, by the names of AMD's assembler.
type Resources = BTreeMap<String, u32>;

/// Returns the kernels of a unit.
fn resources(assembly: &str) -> Vec<(String, Resources)> {
    let names = assembly
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".amdhsa_kernel "));
    let waves = assembly
        .lines()
        .filter_map(|line| line.strip_prefix("; Occupancy: "));
    let waves: BTreeMap<&str, &str> = names.zip(waves).collect();
    let mut kernels: Vec<(String, Resources)> = Vec::new();
    let metadata = assembly.split("amdhsa.kernels:").nth(1);
    let metadata = metadata.and_then(|rest| rest.split("amdhsa.").next());
    let metadata = metadata.unwrap_or_default();
    for line in metadata.lines() {
        if line.starts_with("  - ") {
            kernels.push((String::new(), Resources::new()));
        }
        // Only members of the kernel itself, not of its arguments.
        let member = line.strip_prefix("    .").or(line.strip_prefix("  - ."));
        let Some((name, value)) = member.and_then(|line| line.split_once(':')) else {
            continue;
        };
        let Some((kernel, numbers)) = kernels.last_mut() else {
            continue;
        };
        match (name, value.trim()) {
            ("name", value) => {
                *kernel = value.to_owned();
                let waves = waves.get(value).and_then(|waves| waves.parse().ok());
                numbers.extend(waves.map(|waves| ("occupancy".to_owned(), waves)));
            }
            (name, value) => {
                numbers.extend(value.parse().ok().map(|number| (name.to_owned(), number)))
            }
        }
    }
    kernels
}

/// Generated code of whole events goes to memory on all GPUs: with what it puts away itself, and beyond.
fn may_have_scratch(kernel: &str) -> bool {
    ["generated", "hoisted"].contains(&kernel)
}

/// Compiles units for a GPU and returns the resource usage of each kernel.
fn compile_all(
    clang: &Path,
    architecture: &str,
    units: &[(String, CompilationUnit)],
) -> Vec<(String, String, Resources)> {
    let mut all = Vec::new();
    for (name, unit) in units {
        let assembly = compile(clang, architecture, &unit.text);
        let assembly =
            assembly.unwrap_or_else(|error| panic!("{name} for {architecture}: {error}"));
        let kernels = resources(&assembly);
        let mut names: Vec<&str> = kernels.iter().map(|(name, _)| name.as_str()).collect();
        let mut expected: Vec<&str> = unit.kernels.iter().map(String::as_str).collect();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected, "{name} for {architecture}");
        all.extend(
            kernels
                .into_iter()
                .map(|(kernel, takes)| (name.clone(), kernel, takes)),
        );
    }
    all
}

/// All kinds of kernels: those of tables, in both forms of a plan, colour sums, and generated code of each kind.
#[test]
fn all_kinds_of_kernels_compile_for_amd() {
    let Some(clang) = clang() else {
        return;
    };
    for (architecture, warp) in ARCHITECTURES {
        let gpu = gpu(warp);
        let mut all = units("g g > t t~", false, Precision::Double, &gpu);
        // Of those that differ by what they answer, one.
        all.retain(|(name, _)| {
            let others = ["whole, cl", "helicit", "whole, channels, "];
            let differs = others.iter().any(|other| name.starts_with(other));
            !differs
                || name == "helicities, colours outside"
                || name == "helicities, clocks, recursion"
        });
        let mut of = |text, ordered, precision, names: &[&str]| {
            let units = units(text, ordered, precision, &gpu).into_iter();
            all.extend(units.filter(|(name, _)| names.contains(&name.as_str())));
        };
        of("g g > t t~ g", false, Precision::Double, &["whole"]);
        of(
            "g g > t t~ g g",
            false,
            Precision::Double,
            &["helicity, channels, recursion"],
        );
        of(
            "e+ e- > mu+ mu-",
            false,
            Precision::Float,
            &["whole, channels, samples", "helicities", "ends"],
        );
        of(
            "g g > g g g",
            true,
            Precision::Double,
            &["arrays", "color_ordered", "few_jamps", "array_loops"],
        );
        for (unit, kernel, takes) in compile_all(&clang, architecture, &all) {
            let what = format!("{unit}: {kernel} for {architecture}: {takes:?}");
            assert_eq!(takes["wavefront_size"], warp, "{what}");
            assert!(
                takes["occupancy"] > 0 && takes["group_segment_fixed_size"] <= 64 << 10,
                "{what}"
            );
            assert!(
                may_have_scratch(&kernel) || takes["private_segment_fixed_size"] == 0,
                "{what}"
            );
        }
    }
}

/// The same through AMD's own run-time compiler, if it is installed: ROCm's, or `libamdhip64` 5 of Debian, whose LLVM
/// knows the first of the GPUs.
#[test]
fn all_kinds_of_kernels_compile_by_hiprtc() {
    let hiprtc = match Nvrtc::get(Platform::Hip, None) {
        Ok(hiprtc) => hiprtc,
        Err(error) => return require::skipped("hiprtc", error),
    };
    require::used("hiprtc", hiprtc.name());
    let (architecture, warp) = ARCHITECTURES[0];
    let gpu = gpu(warp);
    let mut all = units("g g > t t~", false, Precision::Double, &gpu);
    all.retain(|(name, _)| {
        let mut some = ["run_Sum", "run_Ext", "helicities, c", "color_dots"].iter();
        ["ends", "ends of samples", "whole, channels"].contains(&name.as_str())
            || some.any(|some| name.starts_with(some))
    });
    all.extend(units("g g > g g g", true, Precision::Float, &gpu));
    for (name, unit) in all {
        let image = hiprtc.compile(architecture, &unit.text, &options());
        let image = image.unwrap_or_else(|error| panic!("{name}: {error}"));
        for kernel in &unit.kernels {
            let mut windows = image.windows(kernel.len());
            assert!(
                windows.any(|at| at == kernel.as_bytes()),
                "{kernel} in {name}"
            );
        }
    }
    let message = hiprtc
        .compile(architecture, "nonsense", &[])
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("hiprtc") && message.contains("nonsense"),
        "{message}"
    );
}

/// Operations that must not be fused are not, and those that should be are.
#[test]
fn products_are_rounded_by_themselves() {
    let Some(clang) = clang() else {
        return;
    };
    let shape = CompileOptions {
        double: true,
        double_color: true,
        lanes: 64,
        workspace_lanes: 16,
        workspace_threads: 256,
        workspace_blocks: 1,
        colors_outside: false,
        split_orders: false,
        helicity_sum: HelicitySum::Positive,
    };
    for (expression, fused) in [
        ("product(a, b) + c", false),
        ("fused(a, b, c)", true),
        ("a * b + c", true),
    ] {
        for number in ["double", "float"] {
            let kernel = format!(
                "extern \"C\" __global__ void kernel({number} *x) {{ {number} a = x[0], b = x[1], c = x[2]; x[3] = {expression}; }}"
            );
            let assembly =
                compile(&clang, "gfx90a", &(shape.prelude() + &kernel)).expect("assembly");
            let fma = assembly.contains("v_fma_f") || assembly.contains("v_fmac_f");
            assert_eq!(fma, fused, "{expression} in {number}: {assembly}");
        }
    }
}

/// Functions of Lorentz structures without a predefined routine; AMD's library device functions stay unresolved.
#[test]
fn elementary_functions_compile_for_amd() {
    let Some(clang) = clang() else {
        return;
    };
    let functions = include_str!("../../../../cuda/functions.cuh");
    let names = functions
        .split("function_")
        .skip(1)
        .filter_map(|rest| rest.split('(').next());
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 10, "{names:?}");
    for (precision, (architecture, warp)) in [Precision::Double, Precision::Float]
        .into_iter()
        .zip(ARCHITECTURES)
    {
        let units = units("e+ e- > mu+ mu-", false, precision, &gpu(warp));
        let (_, unit) = units
            .iter()
            .find(|(name, _)| name == "whole")
            .expect("code");
        let calls = names.iter().map(|name| format!("z = function_{name}(z);"));
        let calls: String = calls.collect();
        let source = format!(
            "{}\n{functions}\nextern \"C\" __global__ void elementary(Cx *x) {{ Cx z = *x; {calls} *x = angle(power(z, z), z); }}",
            unit.text
        );
        let assembly =
            compile(&clang, architecture, &source).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            resources(&assembly)
                .iter()
                .any(|(name, _)| name == "elementary")
        );
    }
}

/// `make amd-table`.
#[test]
#[ignore = "it prints a table"]
fn table() {
    let clang = clang().expect("a compiler");
    println!(
        "| process | unit | kernel | GPU | VGPR (AGPR) | SGPR | spilled VGPR | scratch, bytes | LDS, bytes | waves of a SIMD |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (text, ordered, wanted) in [
        ("e+ e- > mu+ mu-", false, &["whole", "whole, channels"][..]),
        (
            "g g > t t~",
            false,
            &[
                "whole, recursion",
                "whole, channels, recursion",
                "whole, samples, recursion",
            ],
        ),
        (
            "g g > t t~ g",
            false,
            &["whole, recursion", "helicity, channels, recursion"],
        ),
        ("g g > t t~ g g", false, &[]),
        ("g g > t t~ g g g", false, &["helicities, recursion"]),
        ("g g > g g g g", true, &[]),
    ] {
        for (architecture, warp) in ARCHITECTURES {
            let mut units = units(text, ordered, Precision::Double, &gpu(warp));
            let all = wanted.is_empty();
            let recursion =
                |name: &str| ordered || name.contains("recursion") || !name.contains("hel");
            units.retain(|(name, _)| match all {
                true => recursion(name) && !name.contains("clocks"),
                false => wanted.contains(&name.as_str()),
            });
            for (unit, kernel, takes) in compile_all(&clang, architecture, &units) {
                let get = |name: &str| takes.get(name).copied().unwrap_or(0);
                println!(
                    "| {text} | {unit} | {kernel} | {architecture} | {} ({}) | {} | {} | {} | {} | {} |",
                    get("vgpr_count"),
                    get("agpr_count"),
                    get("sgpr_count"),
                    get("vgpr_spill_count"),
                    get("private_segment_fixed_size"),
                    get("group_segment_fixed_size"),
                    get("occupancy"),
                );
            }
        }
    }
}
