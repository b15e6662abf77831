//! The device code of the table-driven kernels.
//!
//! The text of `cuda/` is the same for all processes; here it is assembled, with a few kernels for each kind of
//! operation in the tables. Operations of fixed length are decoded by generated code, which is derived from the table
//! of operations ([`mebridge_ops`]) alone. A [`CompilationUnit`] is compiled and cached separately: nearly all units
//! are the same for every process.

use super::codegen::{DeviceCode, Generator, sample};
use super::color_ordered::schedule::ArrayKernel;
use super::level_schedule::{LevelSchedule, OperationKind};
use super::routine;
use super::shared_levels::{LEVELS_THREADS, NO_OPERATION, OperationForm, SharedLevels};
use super::structures::{
    AnswerArguments, ArrayAddend, ArrayArguments, ArrayItem, ArrayPair, ArrayTriple, Choices,
    ColorOrderedArguments, DeviceStructure, DotsArguments, FewJampsArguments, FlowsArguments,
    GatherArguments, GeneratedArguments, Helicities, HelicitiesArguments, HelicityArguments,
    LevelsArguments, LoadArguments, LoopsArguments, RunArguments, SumPartsArguments, TileOperation,
    TilePair, WeightsArguments,
};
use mebridge_ops::GeneralRoutine;
use mebridge_ops::arrays::ArrayKind;
use mebridge_ops::opcode::{Layout, Opcode};
use mebridge_process::HelicitySum;
use std::fmt::Write;

const COMPILERS: &str = include_str!("../../../cuda/compilers.cuh");
const NUMBER: &str = include_str!("../../../cuda/number.cuh");
const VERTICES: &str = include_str!("../../../cuda/vertices.cuh");
const RECURSION: &str = include_str!("../../../cuda/recursion.cuh");
const EXTERNAL: &str = include_str!("../../../cuda/external.cuh");
const FUNCTIONS: &str = include_str!("../../../cuda/functions.cuh");
const MEMORY: &str = include_str!("../../../cuda/memory.cuh");
const OPERATIONS: &str = include_str!("../../../cuda/operations.cuh");
const LEVELS: &str = include_str!("../../../cuda/levels.cuh");
const LOAD: &str = include_str!("../../../cuda/load.cuh");
const HELICITIES: &str = include_str!("../../../cuda/helicities.cuh");
const COLOR: &str = include_str!("../../../cuda/color.cuh");
const ARRAYS: &str = include_str!("../../../cuda/arrays.cuh");
const ARRAY_KERNELS: &str = include_str!("../../../cuda/array_kernels.cuh");
const ARRAY_LOOPS: &str = include_str!("../../../cuda/array_loops.cuh");
const COLOR_HELICITIES: &str = include_str!("../../../cuda/color_helicities.cuh");
const COLOR_ORDERED: &str = include_str!("../../../cuda/color_ordered.cuh");
const FEW_JAMPS: &str = include_str!("../../../cuda/few_jamps.cuh");
const ANSWER: &str = include_str!("../../../cuda/answer.cuh");
const SAMPLE_TABLES: &str = include_str!("../../../cuda/sample_tables.cuh");
const CLOCKS: &str = include_str!("../../../cuda/clocks.cuh");

/// Threads per block.
pub const THREADS: u32 = 256;
/// Threads per block of the kernel `array_loops`.
pub const LOOPS_THREADS: u32 = 512;

/// Compile options common to all units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    /// Whether amplitudes are computed in `double`.
    pub double: bool,
    /// Whether the colour sum is computed in `double`.
    pub double_color: bool,
    /// Events per memory block.
    pub lanes: u32,
    /// Events per workspace.
    pub workspace_lanes: u32,
    /// Threads per workspace.
    pub workspace_threads: u32,
    /// Concurrent workspaces per multiprocessor.
    pub workspace_blocks: u32,
    /// Whether the kernel `helicities` ends with JAMP, without the colour sum.
    pub colors_outside: bool,
    /// Whether JAMP2 is a sum over pairs of JAMP.
    pub split_orders: bool,
    /// Order in which contributions of helicities are summed.
    pub helicity_sum: HelicitySum,
}

/// A separately compiled piece of device code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompilationUnit {
    /// The whole text.
    pub text: String,
    /// Names of its kernels.
    pub kernels: Vec<String>,
}

/// Numbers of the kinds of amplitudes in the kernel `helicities`.
pub fn amplitude_kinds(tables: &LevelSchedule) -> Vec<OperationKind> {
    let mut kinds: Vec<OperationKind> = tables.amplitudes.iter().map(|run| run.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Removes the code under CLOCKS, so that the text, which is also the cache key, does not depend on clocks unless they
/// are requested.
fn without_clocks(text: &str) -> String {
    let mut inside = false;
    let mut rest = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        inside |= line.trim_end() == "#ifdef CLOCKS";
        if !inside {
            rest.push_str(line);
        }
        inside &= line.trim_end() != "#endif";
    }
    rest
}

/// Returns the structure through which device code reads an array operation, as listed by [`ArrayOp::numbers`].
///
/// [`ArrayOp::numbers`]: mebridge_ops::arrays::ArrayOp::numbers
fn array_structure(kind: ArrayKind) -> String {
    let common = ["out", "count"].map(String::from).into_iter();
    let members = common.chain(kind.members());
    let members: String = members
        .map(|name| format!("    unsigned {name};\n"))
        .collect();
    format!("struct {kind:?}Operation {{\n{members}}};\n")
}

/// Returns the name of the kernel for operations of a kind.
pub fn run_name(kind: OperationKind) -> String {
    format!("run_{}", kind.name())
}

impl CompileOptions {
    fn defines(&self) -> String {
        let name = |double| if double { "double" } else { "float" };
        let (real, color) = (name(self.double), name(self.double_color));
        let (lanes, workspace_lanes) = (self.lanes, self.workspace_lanes);
        let (threads, blocks) = (self.workspace_threads, self.workspace_blocks);
        let outside = if self.colors_outside {
            "#define COLORS_OUTSIDE\n"
        } else {
            ""
        };
        let split = if self.split_orders {
            "#define SPLIT_ORDERS\n"
        } else {
            ""
        };
        let sum = match self.helicity_sum {
            HelicitySum::Positive => "",
            HelicitySum::Signed => "#define HELICITY_SUM SIGNED\n",
            HelicitySum::Absolute => "#define HELICITY_SUM ABSOLUTE\n",
        };
        format!(
            "{outside}{split}{sum}#define REAL {real}\n#define COLOR {color}\n#define LANES {lanes}u\n#define WORKSPACE_LANES {workspace_lanes}u\n#define WORKSPACE_THREADS {threads}\n#define WORKSPACE_BLOCKS {blocks}\n"
        )
    }

    /// Returns the options for kernels without workspaces: only the number type and LANES matter to them, so that they
    /// are the same for all processes.
    fn of_events(&self) -> CompileOptions {
        CompileOptions {
            double_color: self.double,
            workspace_lanes: self.lanes,
            workspace_threads: THREADS,
            workspace_blocks: 1,
            colors_outside: false,
            split_orders: false,
            ..*self
        }
    }

    /// Returns the common beginning of all device code, up to the executors.
    pub fn prelude(&self) -> String {
        [
            &self.defines(),
            COMPILERS,
            NUMBER,
            VERTICES,
            RECURSION,
            EXTERNAL,
            MEMORY,
            OPERATIONS,
        ]
        .join("\n")
    }

    /// Returns the unit of the kernels `load`, `answer` and `gather`.
    pub fn ends(&self) -> CompilationUnit {
        let shape = self.of_events();
        CompilationUnit {
            text: [
                &shape.defines(),
                COMPILERS,
                NUMBER,
                MEMORY,
                &LoadArguments::declaration(),
                LOAD,
                &answer(),
            ]
            .join("\n"),
            kernels: ["load", "answer", "gather"].map(String::from).to_vec(),
        }
    }

    /// Returns the unit of the kernels `load_sample`, `sum_parts` and `answer_sample`.
    pub fn ends_of_samples(&self) -> CompilationUnit {
        let text = [
            &self.of_events().defines(),
            COMPILERS,
            NUMBER,
            MEMORY,
            &Choices::declaration(),
            &sample::declarations(),
            &SumPartsArguments::declaration(),
            SAMPLE_TABLES,
        ];
        CompilationUnit {
            text: text.join("\n"),
            kernels: ["load_sample", "sum_parts", "answer_sample"]
                .map(String::from)
                .to_vec(),
        }
    }

    /// Returns the unit of the kernel `color_dots`.
    pub fn dots(&self) -> CompilationUnit {
        let shape = CompileOptions {
            double_color: self.double_color,
            ..self.of_events()
        };
        CompilationUnit {
            text: [
                &shape.defines(),
                COMPILERS,
                NUMBER,
                MEMORY,
                &DotsArguments::declaration(),
                COLOR,
            ]
            .join("\n"),
            kernels: vec!["color_dots".into()],
        }
    }

    /// Returns the unit of straight-line code for a whole process.
    pub fn whole(&self, generator: &Generator) -> Option<CompilationUnit> {
        Some(self.generated(generator, generator.source()?))
    }

    /// Returns the unit of straight-line code for one helicity.
    pub fn helicity(&self, generator: &Generator) -> Option<CompilationUnit> {
        Some(self.generated(generator, generator.helicity()?))
    }

    fn generated(&self, generator: &Generator, source: DeviceCode) -> CompilationUnit {
        let mut text = self.of_events();
        text.double_color = self.double_color;
        let mut text = text.prelude();
        text.push_str(&declarations_of_generated());
        if generator.sample.is_some() {
            text.push_str(&sample::declarations());
        }
        if generator.clocks {
            text.push_str(CLOCKS);
        }
        if !generator.general.is_empty() {
            text.push_str(FUNCTIONS);
        }
        for (i, general) in generator.general.iter().enumerate() {
            text.push_str(&routine::device_function(&format!("General{i}"), general));
        }
        text.push_str(&source.text);
        CompilationUnit {
            text,
            kernels: source.kernels,
        }
    }

    /// Returns the unit of the kernel for operations of a kind: one event per lane, operations over threads in y and
    /// blocks in x, blocks of events over blocks in y.
    pub fn operations(&self, kind: OperationKind, general: &[GeneralRoutine]) -> CompilationUnit {
        let shape = self.of_events();
        let mut text = shape.prelude();
        text.push_str(&RunArguments::declaration());
        text.push_str(&executor(kind, general));
        let (name, kind) = (run_name(kind), kind.name());
        let _ = write!(
            text,
            r#"
extern "C" __global__ void MAX_THREADS(256)
{name}(ARGUMENTS(RunArguments) a) {{
    unsigned blocks = (a.events + LANES - 1) / LANES;
    for (unsigned block = blockIdx.y; block < blocks; block += gridDim.y)
        for (unsigned i = blockIdx.x * blockDim.y + threadIdx.y; i < a.count; i += gridDim.x * blockDim.y)
            for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {{
                Memory m = {{a.memory + (Size)block * a.vectors * LANES + lane}};
                execute_{kind}(a.operands + a.starts[i], m, m, a.numbers);
            }}
}}
"#
        );
        CompilationUnit {
            text,
            kernels: vec![name],
        }
    }

    /// Returns the unit of the kernel for all levels.
    pub fn levels(&self, levels: &SharedLevels, general: &[GeneralRoutine]) -> CompilationUnit {
        let shape = CompileOptions {
            lanes: levels.lanes,
            ..*self
        }
        .of_events();
        let mut kinds: Vec<OperationKind> = levels.forms.iter().map(|form| form.kind).collect();
        kinds.dedup();
        let executors = kinds.iter().map(|&kind| executor(kind, general));
        let case = |(number, form): (usize, &OperationForm)| {
            let (name, r) = (form.kind.name(), if form.outside { "outside" } else { "m" });
            let known: Vec<String> = form.head.iter().map(u32::to_string).collect();
            let op = match &known[..] {
                [] => "op".to_owned(),
                known => format!("KnownHead<Operands, {}>{{op}}", known.join(", ")),
            };
            format!(" case {number}: execute_{name}({op}, m, {r}, a.numbers); break;")
        };
        let cases: String = levels.forms.iter().enumerate().map(case).collect();
        let (outside, copy) = (self.lanes, levels.forms.len());
        let defines = format!(
            "#define OUTSIDE_LANES {outside}u\n#define NO_OPERATION {NO_OPERATION}u\n#define LEVELS_THREADS {LEVELS_THREADS}\n#define LEVEL_FORMS{cases} case {copy}: copy_out(op, m, outside); break;\n"
        );
        CompilationUnit {
            text: [
                "#define MEMORY_PAIRS true",
                &shape.prelude(),
                &LevelsArguments::declaration(),
                &executors.collect::<String>(),
                &defines,
                LEVELS,
            ]
            .join("\n"),
            kernels: vec!["levels".into()],
        }
    }

    /// Returns the text of array operations, with the structures of their kernels.
    fn array_operations(&self) -> String {
        let kinds = ArrayKernel::all().filter_map(|kernel| match kernel {
            ArrayKernel::Kind(kind) => Some(array_structure(kind)),
            ArrayKernel::Tile | ArrayKernel::ChiralTile => None,
        });
        let declarations = [
            kinds.collect(),
            TileOperation::declaration(),
            ArrayPair::declaration(),
            TilePair::declaration(),
            ArrayTriple::declaration(),
            ArrayAddend::declaration(),
            ArrayItem::declaration(),
            ArrayArguments::declaration(),
        ];
        [&self.of_events().prelude(), &declarations.concat(), ARRAYS].join("\n")
    }

    /// Returns the unit of the kernels for array operations.
    pub fn arrays(&self) -> CompilationUnit {
        let threads = format!("#define ARRAY_THREADS {THREADS}\n");
        CompilationUnit {
            text: [&self.array_operations(), &threads, ARRAY_KERNELS].join("\n"),
            kernels: ArrayKernel::all().map(ArrayKernel::name).collect(),
        }
    }

    /// Returns the unit of the kernel for a whole plan of loops with these kernels and this number of JAMP; `blocks`
    /// should fit on a multiprocessor.
    pub fn array_loops(
        &self,
        kernels: &[ArrayKernel],
        jamps: usize,
        blocks: u32,
    ) -> CompilationUnit {
        let case = |(number, kernel): (usize, &ArrayKernel)| {
            let (name, operation) = (kernel.operation(), kernel.structure());
            format!(
                " case {number}: do_{name}(arrays, *(const {operation}Operation *)operation, r, m); break;"
            )
        };
        let cases: String = kernels.iter().enumerate().map(case).collect();
        let defines = format!(
            "#define JAMPS {jamps}\n#define LOOPS_THREADS {LOOPS_THREADS}\n#define LOOPS_BLOCKS {blocks}\n#define ARRAY_KINDS{cases}\n"
        );
        CompilationUnit {
            text: [
                &self.array_operations(),
                &LoopsArguments::declaration(),
                &defines,
                COLOR_HELICITIES,
                ARRAY_LOOPS,
            ]
            .join("\n"),
            kernels: vec!["array_loops".into()],
        }
    }

    /// Returns the text that colour sums of plans of loops begin with: numbers, and the memory of events.
    fn memory_of_events(&self) -> String {
        [&self.of_events().defines(), COMPILERS, NUMBER, MEMORY].join("\n")
    }

    /// Returns the unit of the colour sum of a plan of loops with this number of JAMP, if they are few.
    pub fn few_jamps(&self, jamps: usize) -> CompilationUnit {
        CompilationUnit {
            text: [
                &self.memory_of_events(),
                &FewJampsArguments::declaration(),
                &format!("#define JAMPS {jamps}\n"),
                COLOR_HELICITIES,
                FEW_JAMPS,
            ]
            .join("\n"),
            kernels: vec!["few_color_sums".into()],
        }
    }

    /// Returns the unit of the colour sum of a plan of loops.
    pub fn color_ordered(&self) -> CompilationUnit {
        CompilationUnit {
            text: [
                &self.memory_of_events(),
                &WeightsArguments::declaration(),
                &ColorOrderedArguments::declaration(),
                &FlowsArguments::declaration(),
                COLOR_HELICITIES,
                COLOR_ORDERED,
            ]
            .join("\n"),
            kernels: [
                "color_weights",
                "color_sums",
                "color_ordered_sum",
                "color_flows",
            ]
            .map(String::from)
            .to_vec(),
        }
    }

    /// Returns the unit of the kernel `helicities`, with or without clocks.
    pub fn helicities(
        &self,
        kinds: &[OperationKind],
        general: &[GeneralRoutine],
        clocks: bool,
    ) -> CompilationUnit {
        let mut text = self.prelude();
        match clocks {
            true => {
                text.push_str("#define CLOCKS\n");
                text.push_str(CLOCKS);
            }
            false => text.push_str("struct Cycles;\n"),
        }
        text.push_str(ENTRIES);
        text.push_str(&Helicities::declaration());
        text.push_str(&HelicitiesArguments::declaration());
        let mut cases = String::new();
        for (number, &kind) in kinds.iter().enumerate() {
            text.push_str(&indexed_executor(kind, general));
            let name = kind.name();
            let one = format!("execute_indexed_{name}(h->operands + starts[j], m, waves, r)");
            let call = match kind {
                OperationKind::Opcode(Opcode::Dots) => format!(
                    "if (count == 2) execute_indexed_Dots_of_two(h->operands + starts[j], m, waves, others, r, s); else {one}"
                ),
                _ => one,
            };
            let _ = write!(
                cases,
                " case {number}: FOR_SLOTS(j, run[2]) {{ {call}; }} break;"
            );
        }
        let _ = writeln!(text, "#define AMPLITUDES{cases}");
        match clocks {
            true => text.push_str(HELICITIES),
            false => text.push_str(&without_clocks(HELICITIES)),
        }
        CompilationUnit {
            text,
            kernels: vec!["helicities".into()],
        }
    }
}

/// Forward declaration of a column of a group of rows of the colour matrix, to which the tables hold a pointer.
const ENTRIES: &str = "struct Entries;\n";

/// Returns the text of the kernels `answer` and `gather`.
fn answer() -> String {
    let declarations = [
        Choices::declaration(),
        AnswerArguments::declaration(),
        GatherArguments::declaration(),
    ];
    declarations.concat() + ANSWER
}

/// Returns the declarations of the argument structures of generated kernels.
pub fn declarations_of_generated() -> String {
    let declarations = [
        Choices::declaration(),
        GeneratedArguments::declaration(),
        HelicityArguments::declaration(),
    ];
    format!("struct Cycles;\n{}", declarations.concat())
}

/// Returns the types of the wavefunctions in an operation of fixed length, its layout, and the device function, if it
/// is not in `cuda/vertices.cuh`.
fn fixed(
    kind: OperationKind,
    general: &[GeneralRoutine],
) -> Option<(Vec<u8>, Layout, Option<String>)> {
    match kind {
        OperationKind::Opcode(Opcode::General(i)) => {
            let general = general.get(i as usize)?;
            let inputs = general.routine.inputs.iter().map(|&n| n as u8 - 2);
            let mut inputs: Vec<u8> = inputs.collect();
            inputs.push(if general.routine.is_amplitude() {
                1
            } else {
                general.routine.outputs.len() as u8 - 2
            });
            let function = routine::device_function(&kind.name(), general);
            let text =
                format!("#ifndef FUNCTIONS\n#define FUNCTIONS\n{FUNCTIONS}\n#endif\n{function}");
            Some((inputs, Layout::of_routine(&general.routine), Some(text)))
        }
        OperationKind::Opcode(opcode) => {
            let components = opcode.spins().iter().map(|s| s.components());
            Some((components.collect(), opcode.layout()?, None))
        }
        _ => None,
    }
    .filter(|(components, ..)| !components.is_empty())
}

/// Returns the call of a device function of fixed length, with loads of its operands, and the position of the result's
/// address in the operation.
fn call(name: &str, components: &[u8], layout: &Layout, wave: impl Fn(usize) -> String) -> String {
    let mut arguments = Vec::new();
    let mut place = 0;
    let mut next = || {
        place += 1;
        place - 1
    };
    for &numbers in &components[..components.len() - 1] {
        let address = wave(next());
        arguments.push(match numbers {
            4 => format!("m.four({address})"),
            16 => format!("m.sixteen({address})"),
            _ => format!("m.complex({address})"),
        });
    }
    for _ in 0..layout.factors {
        arguments.push(format!("m.complex(op[{}])", next()));
    }
    for _ in 0..layout.momentum_count() {
        arguments.push(format!("m.momentum(op[{}])", next()));
    }
    for _ in 0..layout.masses {
        arguments.push(format!("m.real(op[{}])", next()));
    }
    format!("{name}({})", arguments.join(", "))
}

/// Returns `execute_K` for a kind of fixed length; the others are in `cuda/operations.cuh`.
fn executor(kind: OperationKind, general: &[GeneralRoutine]) -> String {
    let Some((components, layout, function)) = fixed(kind, general) else {
        return String::new();
    };
    let name = kind.name();
    let value = call(&name, &components, &layout, |i| format!("op[{i}]"));
    let put = match components.last() {
        Some(4) => "put_four",
        Some(16) => "put_sixteen",
        _ => "put_complex",
    };
    let out = layout.len() - 1;
    format!(
        "{}\nEXECUTE({name}) {{ r.{put}(op[{out}], {value}); }}\n",
        function.unwrap_or_default()
    )
}

/// Returns `execute_indexed_K` for a kind of fixed length.
fn indexed_executor(kind: OperationKind, general: &[GeneralRoutine]) -> String {
    let Some((components, layout, function)) = fixed(kind, general) else {
        return String::new();
    };
    let name = kind.name();
    let value = call(&name, &components, &layout, |i| format!("waves[op[{i}]]"));
    let out = layout.len() - 1;
    format!(
        "{}\nDEVICE void execute_indexed_{name}(const unsigned *op, Memory m, const unsigned *waves, Workspace r) {{\n    r.put_complex(op[{out}], {value});\n}}\n",
        function.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::{
        ARRAY_KERNELS, ArrayKernel, CLOCKS, CompileOptions, HELICITIES, OPERATIONS, without_clocks,
    };
    use mebridge_ops::Opcode;

    /// Exactly those kinds of array operations that the table assigns to GPUs have a kernel. (A kernel without its
    /// function does not compile.)
    #[test]
    fn each_array_kernel_is_there() {
        let names: Vec<String> = ArrayKernel::all().map(ArrayKernel::name).collect();
        for name in &names {
            let kind = name.trim_start_matches("array_");
            let launch = |of| ARRAY_KERNELS.contains(&format!("\nARRAY_KERNEL{of}({kind}, "));
            assert!(launch("") || launch("_OF"), "{name}");
        }
        assert_eq!(ARRAY_KERNELS.matches("\nARRAY_KERNEL").count(), names.len());
    }

    /// Operations with a fixed number of operands are decoded by generated code, all others by `cuda/`: a missing or
    /// duplicate function would not compile.
    #[test]
    fn each_operation_is_decoded_in_one_place() {
        let mut all: Vec<Opcode> = Opcode::VERTICES.to_vec();
        all.extend([Opcode::DotSpinor0, Opcode::DotVector0, Opcode::DotScalar0]);
        for opcode in all {
            for definition in [
                format!("EXECUTE({opcode:?})"),
                format!("DEVICE void execute_indexed_{opcode:?}("),
            ] {
                assert!(!OPERATIONS.contains(&definition), "{opcode:?}");
            }
        }
        for opcode in Opcode::STREAMS {
            let name = format!("{opcode:?}");
            let by_macro = OPERATIONS.contains(&format!("({name}"));
            assert!(
                by_macro || OPERATIONS.contains(&format!("_{name}(")),
                "{name}"
            );
        }
    }

    #[test]
    fn there_are_no_clocks_unless_they_are_asked_for() {
        let rest = without_clocks(HELICITIES);
        // Only whole lines have been removed.
        let mut all = HELICITIES.lines();
        assert!(rest.lines().all(|line| all.any(|other| other == line)));
        let ifs = |text: &str| [text.matches("#if").count(), text.matches("#endif").count()];
        assert_eq!(ifs(&rest)[0], ifs(&rest)[1]);
        assert_eq!(ifs(HELICITIES)[0] - ifs(&rest)[0], 3);
        let shape = CompileOptions {
            double: true,
            double_color: true,
            lanes: 32,
            workspace_lanes: 16,
            workspace_threads: 256,
            workspace_blocks: 3,
            colors_outside: false,
            split_orders: false,
            helicity_sum: mebridge_process::HelicitySum::Positive,
        };
        let [plain, clocked] = [false, true].map(|clocks| shape.helicities(&[], &[], clocks).text);
        for word in ["clock", "cycles_now"] {
            assert!(!plain.to_lowercase().contains(word));
            assert!(clocked.to_lowercase().contains(word));
        }
        assert!(clocked.contains(CLOCKS));
    }
}
