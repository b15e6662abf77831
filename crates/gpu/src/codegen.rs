//! Straight-line code for a whole process: one thread computes one event from its momenta to the results, with all
//! intermediate values in registers.
//!
//! This is the fastest way for small processes, as no intermediate value touches memory and the compiler sees all
//! constants. The operations of [`LevelSchedule`] become a graph of values. Each value is a constant variable of the
//! generated code, placed right before its first use, helicity by helicity and amplitude by amplitude, so that few
//! values are alive at a time.
//!
//! The caller prepends the device functions of `cuda/`, followed by those of
//! [`Opcode::General`](mebridge_ops::opcode::Opcode::General), called `General0`, ...

mod answer;
mod clocks;
mod expression;
mod helicity;
mod hoisting;
mod operand;
mod register_allocation;
pub mod sample;
mod scalar_sums;
#[cfg(test)]
mod tests;
mod value_graph;
mod values;

use super::helicity_split::HelicitySplit;
use super::level_schedule::LevelSchedule;
use super::structures::{DeviceStructure, GeneratedArguments};
use expression::{Id, number};
use hoisting::Hoisted;
use mebridge_ops::GeneralRoutine;
use mebridge_plan::color::BlockDiagonal;
use mebridge_process::HelicitySum;
use mebridge_process::color::FlowWeight;
use register_allocation::{Allocation, RegisterStep};
use rustc_hash::FxHashSet;
use std::fmt::Write;
use values::WholeProcess;

/// Generator of straight-line code, with its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Generator<'a> {
    /// The operations.
    pub tables: &'a LevelSchedule,
    /// Routines of Lorentz structures without a predefined device function.
    pub general: &'a [GeneralRoutine],
    /// The colour matrix.
    pub split: &'a BlockDiagonal,
    /// Masses of the legs.
    pub masses: &'a [f64],
    /// 1 for each incoming leg, -1 for others.
    pub signs: &'a [f64],
    /// Rows of the good helicities in the process's table, counted from 0.
    pub helicities: &'a [u32],
    /// AMP2 in the sum over all channels.
    pub denominator: &'a [u32],
    /// Allowed colour flows of each configuration.
    pub allowed: &'a [Vec<u32>],
    /// Terms of JAMP2, where it differs from |JAMP|^2.
    pub flow_weights: &'a [FlowWeight],
    /// Order in which contributions of helicities are summed.
    pub helicity_sum: HelicitySum,
    /// 1 / IDEN.
    pub normalization: f64,
    /// Whether channel weights are computed.
    pub channels: bool,
    /// Whether colours are chosen.
    pub colors: bool,
    /// Threads per block.
    pub threads: u32,
    /// Blocks that should be resident per multiprocessor.
    pub blocks: u32,
    /// Numbers kept in registers between operations; further live values are spilled to the thread's local memory.
    pub registers: usize,
    /// Values per group, or 0 for a single group.
    pub group: usize,
    /// Whether groups are functions of one kernel, which pass values through the thread's local memory. Otherwise each
    /// group is a kernel, and a further kernel computes the results.
    pub functions: bool,
    /// The subsets, if a thread computes a subset of the helicities of an event. Then threads in x correspond to
    /// events, threads in y and blocks in x to subsets, blocks in y to blocks of events, and the kernel writes the
    /// input of `cuda/answer.cuh`.
    pub subsets: Option<&'a HelicitySplit>,
    /// Values of subsets that depend on the helicities of at most this many fixed legs are computed first, by a
    /// separate kernel.
    pub hoisted: u32,
    /// For samples: diagrams (from 0) that have an AMP2 and a configuration, each with its AMP2. Then kernels take
    /// [`SampleArguments`](super::structures::SampleArguments).
    pub sample: Option<&'a [(u32, u32)]>,
    /// Whether the code contains clocks that measure colour sums separately; kernels then write cycle counts to a
    /// further argument.
    pub clocks: bool,
}

/// Device code of a whole process.
#[derive(Clone, Debug, Default)]
pub struct DeviceCode {
    /// Source text.
    pub text: String,
    /// Names of its kernels, in the order of their launches. All take the same arguments.
    pub kernels: Vec<String>,
    /// Numbers per event in `memory`, with events in blocks of LANES; 0 if no memory is needed.
    pub vectors: u32,
}

/// The function that sums over colours.
const COLOR_SUM: &str = "color_sum";

/// Device functions that spill and reload values. They must be opaque to the compiler, which would otherwise keep alive
/// values that it can recompute.
const SPILL_FUNCTIONS: &str = r#"
#define SPILL_FUNCTIONS(T, NAME)                                                                              \
    DEVICE void spill(Real *to, unsigned at, T x) {                                             \
        *(T *)(to + at) = x;                                                                       \
        asm volatile("" : : AN_ADDRESS(to) : "memory");                                            \
    }                                                                                              \
    DEVICE void reload(T &x, Real *from, unsigned at) {                                        \
        asm volatile("" : : AN_ADDRESS(from) : "memory");                                          \
        x = *(const T *)(from + at);                                                               \
    }                                                                                              \
    DEVICE void spill(Memory to, unsigned at, T x) {                                            \
        to.put_##NAME(at, x);                                                                      \
        asm volatile("" : : AN_ADDRESS(to.at) : "memory");                                         \
    }                                                                                              \
    DEVICE void reload(T &x, Memory from, unsigned at) {                                       \
        asm volatile("" : : AN_ADDRESS(from.at) : "memory");                                       \
        x = from.NAME(at);                                                                         \
    }
SPILL_FUNCTIONS(Real, real)
SPILL_FUNCTIONS(Cx, complex)
SPILL_FUNCTIONS(Momentum, momentum)
SPILL_FUNCTIONS(Four, four)
SPILL_FUNCTIONS(Matrix, matrix)
SPILL_FUNCTIONS(Sixteen, sixteen)

struct alignas(16) Pair { double a, b; };

DEVICE Momentum load_leg(const Pair *leg) {
    const Pair a = leg[0], b = leg[1];
    return momentum(Real(a.a), Real(a.b), Real(b.a), Real(b.b));
}

"#;

impl Generator<'_> {
    /// Returns the device code, or `None` if the tables are inconsistent.
    pub fn source(&self) -> Option<DeviceCode> {
        let whole = self.whole_process()?;
        let mut text = self.colors_function();
        text.push_str(SPILL_FUNCTIONS);
        self.allowed_table(&mut text);
        if let Some(subsets) = self.subsets {
            let hoisted = self.hoist(&whole, subsets, self.hoisted)?;
            return Some(self.of_subsets(&hoisted, subsets, text));
        }
        let steps = Allocation::new(&whole, self.registers, self.group);
        let single = steps.groups.len() == 2;
        Some(match (single, self.functions) {
            (false, false) => self.kernels(&whole, &steps, text),
            (false, true) => self.functions(&whole, &steps, text),
            (true, _) => {
                self.kernel_of("generated", &mut text, |text| {
                    self.check(text);
                    self.room(&steps, text);
                    self.steps(&whole, steps.groups.iter().flatten(), text);
                    match self.sample {
                        Some(_) => self.answer_sample(&whole, text),
                        None => self.answer(&whole, text),
                    }
                });
                DeviceCode {
                    text,
                    kernels: vec!["generated".into()],
                    vectors: 0,
                }
            }
        })
    }

    /// Generates the kernel of values shared by subsets, and the kernel of the subsets.
    fn of_subsets(
        &self,
        hoisted: &Hoisted,
        subsets: &HelicitySplit,
        mut text: String,
    ) -> DeviceCode {
        subset_tables(subsets, self.hoisted == 0, &mut text);
        hoisted.tables(&mut text);
        let vectors = hoisted.vectors;
        let memory = format!(
            "        const Memory hoisted = {{memory + (Size)(e / LANES) * {vectors} * LANES + e % LANES}};"
        );
        let before = Allocation::new(&hoisted.before, self.registers, 0);
        self.kernel_of("hoisted", &mut text, |text| {
            self.check(text);
            self.room(&before, text);
            let _ = writeln!(text, "{memory}");
            let steps = before.groups.iter().flatten();
            self.steps_with(&hoisted.before, steps, text, |id, text| {
                let class = hoisted.before.graph.values[id].class;
                for at in hoisted.puts.get(&id).into_iter().flatten() {
                    let _ = writeln!(text, "        hoisted.put_{}({at}, x{id});", class.access());
                }
            });
        });
        let steps = Allocation::new(&hoisted.subset, self.registers, 0);
        self.head("generated", &mut text);
        let count = subsets.order.len();
        let _ = write!(
            text,
            r#"
    for (unsigned subset = blockIdx.x * blockDim.y + threadIdx.y; subset < {count}u;
         subset += gridDim.x * blockDim.y)
    for (unsigned first = blockIdx.y * blockDim.x; first < events;
         first += gridDim.y * blockDim.x) {{
        // Threads without an event repeat the last one.
        const unsigned mine = first + threadIdx.x, e = mine < events ? mine : events - 1;
"#
        );
        self.clocks_begin(&mut text);
        if self.hoisted == 0 {
            subset_helicities(subsets, &mut text);
        }
        hoisted.settings(&mut text);
        let _ = writeln!(text, "{memory}");
        self.room(&steps, &mut text);
        self.steps(&hoisted.subset, steps.groups.iter().flatten(), &mut text);
        self.store_results(&hoisted.subset, subsets, &mut text);
        self.clocks_end("threadIdx.x", &mut text);
        text.push_str("    }\n}\n");
        DeviceCode {
            text,
            kernels: vec!["hoisted".into(), "generated".into()],
            vectors: vectors as u32,
        }
    }

    /// Generates a kernel for each group.
    fn kernels(&self, whole: &WholeProcess, steps: &Allocation, mut text: String) -> DeviceCode {
        let vectors = steps.kept;
        let last = steps.groups.len() - 1;
        let mut kernels = Vec::new();
        for (i, group) in steps.groups.iter().enumerate() {
            let name = format!("generated_{i}");
            self.kernel_of(&name, &mut text, |text| {
                // Spilled values are stored per event: a thread that repeats an event would read overwritten values.
                text.push_str("        if (mine >= events) break;\n");
                if i == 0 {
                    self.check(text);
                }
                let _ = writeln!(
                    text,
                    "        const Memory kept = {{memory + (Size)(e / LANES) * {vectors} * LANES + e % LANES}};"
                );
                self.steps(whole, group, text);
                if i == last {
                    self.answer(whole, text);
                }
            });
            kernels.push(name);
        }
        DeviceCode {
            text,
            kernels,
            vectors: vectors as u32,
        }
    }

    /// Generates a function for each group, called from one kernel and not inlined.
    fn functions(&self, whole: &WholeProcess, steps: &Allocation, mut text: String) -> DeviceCode {
        let Some((last, groups)) = steps.groups.split_last() else {
            return DeviceCode::default();
        };
        let (parameter, argument) = match self.clocks {
            true => (", unsigned long long &color_cycles", ", color_cycles"),
            false => ("", ""),
        };
        for (i, group) in groups.iter().enumerate() {
            let _ = writeln!(
                text,
                "static __device__ __noinline__ void generated_{i}(Real *kept, unsigned e, unsigned events, const Pair *leg, const double *g_s, const double *formula_couplings{parameter}) {{"
            );
            text.push_str("        kept = (Real *)__builtin_assume_aligned(kept, 16);\n");
            self.steps(whole, group, &mut text);
            text.push_str("}\n");
        }
        self.kernel_of("generated", &mut text, |text| {
            self.check(text);
            self.room(steps, text);
            for i in 0..groups.len() {
                let _ = writeln!(
                    text,
                    "        generated_{i}(kept, e, events, leg, g_s, formula_couplings{argument});"
                );
            }
            self.steps(whole, last, text);
            self.answer(whole, text);
        });
        DeviceCode {
            text,
            kernels: vec!["generated".into()],
            vectors: 0,
        }
    }

    /// Writes the beginning of a kernel, up to its arguments.
    fn head(&self, name: &str, text: &mut String) {
        let (threads, blocks) = (self.threads, self.blocks);
        let (arguments, variables) = match self.sample {
            Some(_) => ("SampleArguments", sample::VARIABLES.to_owned()),
            None => ("GeneratedArguments", GeneratedArguments::variables()),
        };
        let _ = write!(
            text,
            r#"
extern "C" __global__ void THREADS_AND_BLOCKS({threads}, {blocks})
{name}(ARGUMENTS({arguments}) a) {{
{variables}"#
        );
    }

    /// Writes a kernel that runs `body` for each event.
    fn kernel_of(&self, name: &str, text: &mut String, body: impl FnOnce(&mut String)) {
        self.head(name, text);
        let _ = write!(
            text,
            r#"
    for (unsigned first = blockIdx.x * blockDim.x; first < events;
         first += gridDim.x * blockDim.x) {{
        // Threads without an event repeat the last one.
        const unsigned mine = first + threadIdx.x, e = mine < events ? mine : events - 1;
"#
        );
        match self.sample {
            Some(_) if self.subsets.is_none() => text.push_str(sample::BEGIN),
            Some(_) => {}
            None => {
                let _ = writeln!(
                    text,
                    "        const Pair *leg = (const Pair *)momenta + (Size)e * {};",
                    2 * self.masses.len()
                );
            }
        }
        self.clocks_begin(text);
        body(text);
        self.clocks_end("threadIdx.x", text);
        text.push_str("    }\n}\n");
    }

    /// Declares the thread's local memory for spilled values.
    fn room(&self, steps: &Allocation, text: &mut String) {
        if steps.kept > 0 {
            // Always the start of the array, which must be hidden from the compiler: it would replace the array by
            // registers.
            let _ = writeln!(
                text,
                "        alignas(16) Real room[{}];\n        Real *const kept = room + (events >> 31) * 4;",
                steps.kept + 4
            );
        }
    }

    fn steps<'b>(
        &self,
        whole: &WholeProcess,
        steps: impl IntoIterator<Item = &'b RegisterStep>,
        text: &mut String,
    ) {
        self.steps_with(whole, steps, text, |_, _| {});
    }

    /// The same, with a callback after each value.
    fn steps_with<'b>(
        &self,
        whole: &WholeProcess,
        steps: impl IntoIterator<Item = &'b RegisterStep>,
        text: &mut String,
        behind: impl Fn(Id, &mut String),
    ) {
        let mut known = FxHashSet::default();
        let mut declare = |id: Id, text: &mut String| {
            let class = whole.graph.values[id].class.name();
            if known.insert(id) {
                let _ = writeln!(text, "        {class} x{id};");
            }
        };
        for &step in steps {
            let _ = match step {
                RegisterStep::Compute(id) => {
                    declare(id, text);
                    let value = &whole.graph.values[id];
                    let statement = format!("        x{id} = {};\n", whole.graph.text(id));
                    match value.expression.calls(COLOR_SUM) {
                        true => {
                            let jamp = value
                                .of
                                .iter()
                                .filter(|&&of| !whole.graph.values[of].literal);
                            let jamp: Vec<String> = jamp.map(|of| format!("x{of}")).collect();
                            self.clocked_colors(&jamp, &statement, &format!("x{id}"), text);
                        }
                        false => text.push_str(&statement),
                    }
                    behind(id, text);
                    Ok(())
                }
                RegisterStep::Load(id) => {
                    declare(id, text);
                    let at = whole.graph.text(id);
                    writeln!(text, "        reload(x{id}, hoisted, {at});")
                }
                RegisterStep::Spill(id, at) => writeln!(text, "        spill(kept, {at}, x{id});"),
                RegisterStep::Reload(id, at) => {
                    declare(id, text);
                    writeln!(text, "        reload(x{id}, kept, {at});")
                }
            };
        }
    }

    /// Writes a check of the momenta.
    fn check(&self, text: &mut String) {
        self.read_legs(text);
        text.push_str("        bool good = true;\n        Sum sum = {{{0, 0, 0, 0}}, 0};\n");
        for (i, (&mass, &sign)) in self.masses.iter().zip(self.signs).enumerate() {
            let leg = self.leg(i);
            let _ = writeln!(
                text,
                "        good = good & on_shell({leg}, {}, crossed != 0);\n        sum = add_leg(sum, {leg}, {});",
                number(mass),
                number(sign)
            );
        }
        text.push_str("        good = good & conserved(sum);\n");
        text.push_str(self.note_bad());
    }
}

/// Writes the indices of the helicities of each subset among all, and the helicities of its fixed legs if needed.
fn subset_tables(subsets: &HelicitySplit, helicities: bool, text: &mut String) {
    let mut table = |head: &str, numbers: &mut dyn Iterator<Item = String>| {
        let list = numbers.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "__constant__ {head}[] = {{{list}}};");
    };
    let order = subsets.order.iter().flatten();
    table("unsigned subset_order", &mut order.map(u32::to_string));
    if helicities {
        let each = subsets.helicities.iter().flatten();
        table(
            "signed char subset_helicities",
            &mut each.map(i8::to_string),
        );
    }
}

fn subset_helicities(subsets: &HelicitySplit, text: &mut String) {
    let legs = subsets.fixed.len();
    for leg in (0..legs).filter(|&leg| subsets.fixed[leg]) {
        let _ = writeln!(
            text,
            "        const int h{leg} = subset_helicities[subset * {legs} + {leg}];"
        );
    }
}
