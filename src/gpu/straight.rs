//! A whole process as straight-line code: one thread takes one event from its momenta to the
//! answers, and keeps in registers whatever lies between.
//!
//! For small processes nothing is faster, as no working number touches memory and the compiler
//! sees all constants. The operations of [`Tables`] become a graph of values; each value is a
//! constant of the generated code, and comes right before it is first used, so that few are alive
//! at a time: helicity after helicity, amplitude after amplitude, what these need first.
//!
//! The device functions are those of `cuda/`, which the caller puts in front (and behind them
//! those of [`Kernel::General`], called `General0`, ...).

use super::tables::{Kind, Level, Squares, Tables};
use crate::color::Split;
use crate::plan::kernel::{Kernel, Mode};
use crate::plan::walk::{Access, FOUR, MOMENTUM, walk};
use crate::plan::{Address, Batch, GeneralRoutine};
use rustc_hash::FxHashMap as HashMap;
use std::fmt::Write;

/// What straight-line code is made from.
#[derive(Clone, Copy, Debug)]
pub struct Straight<'a> {
    /// The operations.
    pub tables: &'a Tables,
    /// Lorentz structures that no kernel knows.
    pub general: &'a [GeneralRoutine],
    /// The colour matrix.
    pub split: &'a Split,
    /// Masses of the legs.
    pub masses: &'a [f64],
    /// Numbers of the good helicities in the process's table, from 0.
    pub helicities: &'a [u32],
    /// AMP2 in the sum over all channels.
    pub denominator: &'a [u32],
    /// For each configuration the colour flows that it allows.
    pub allowed: &'a [Vec<u32>],
    /// 1 / IDEN.
    pub normalization: f64,
    /// Whether there are weights of channels.
    pub channels: bool,
    /// Whether colours are chosen.
    pub colors: bool,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks that should fit on a multiprocessor at the same time.
    pub blocks: u32,
    /// Numbers that lie in registers between operations; what is alive beyond that is put away
    /// into the thread's own memory.
    pub registers: usize,
    /// Parts in which the helicities are done; each computes for itself what it needs, so that
    /// less is alive at a time, and more is computed.
    pub parts: usize,
}

/// How values are put away and brought back. The compiler must not see through that: what it
/// could compute from a value it would keep alive with it.
const KEEP: &str = r#"
#define KEEP(T)                                                                                    \
    DEVICE void put_away(Real *to, T x) {                                                          \
        *(T *)to = x;                                                                              \
        asm volatile("" : : "l"(to) : "memory");                                                   \
    }                                                                                              \
    DEVICE void bring_back(T &x, Real *from) {                                                     \
        asm volatile("" : : "l"(from) : "memory");                                                 \
        x = *(const T *)from;                                                                      \
    }
KEEP(Real)
KEEP(Cx)
KEEP(Momentum)
KEEP(Four)
KEEP(Matrix)

struct __align__(16) Pair { double a, b; };

DEVICE Momentum load_leg(const Pair *leg) {
    const Pair a = leg[0], b = leg[1];
    return momentum(Real(a.a), Real(a.b), Real(b.a), Real(b.b));
}

DEVICE Momentum load_leg_again(const Pair *leg) {
    asm volatile("" : : "l"(leg) : "memory");
    return load_leg(leg);
}
"#;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Real,
    Complex,
    Momentum,
    Four,
    Matrix,
}

impl Type {
    fn of(vectors: u32) -> Option<Type> {
        Some(match vectors {
            1 => Type::Real,
            2 => Type::Complex,
            MOMENTUM => Type::Momentum,
            FOUR => Type::Four,
            16 => Type::Matrix,
            _ => return None,
        })
    }

    /// Numbers that it consists of.
    fn numbers(self) -> usize {
        match self {
            Type::Real => 1,
            Type::Complex => 2,
            Type::Momentum => 4,
            Type::Four => 8,
            Type::Matrix => 16,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Type::Real => "Real",
            Type::Complex => "Cx",
            Type::Momentum => "Momentum",
            Type::Four => "Four",
            Type::Matrix => "Matrix",
        }
    }
}

/// The number of a value.
type Id = usize;

/// A value of the generated code.
struct Value {
    class: Type,
    /// The expression; in it the values it is made of by name.
    text: String,
    /// These values.
    of: Vec<Id>,
    /// Whether the expression stands wherever the value is used.
    literal: bool,
}

/// A number as it stands in the code.
fn number(x: f64) -> String {
    format!("Real({x:e})")
}

#[derive(Default)]
struct Graph {
    values: Vec<Value>,
    known: HashMap<String, Id>,
    /// What lies at the addresses of the memory of events.
    memory: HashMap<Address, Id>,
}

impl Graph {
    fn push(&mut self, class: Type, text: String, of: Vec<Id>, literal: bool) -> Id {
        if let Some(&id) = self.known.get(&text) {
            return id;
        }
        self.known.insert(text.clone(), self.values.len());
        self.values.push(Value {
            class,
            text,
            of,
            literal,
        });
        self.values.len() - 1
    }

    fn name(&self, id: Id) -> String {
        match &self.values[id] {
            value if value.literal => value.text.clone(),
            _ => format!("x{id}"),
        }
    }

    fn literal(&mut self, class: Type, text: String) -> Id {
        self.push(class, text, Vec::new(), true)
    }

    /// The call of a function.
    fn call(&mut self, class: Type, function: &str, of: &[Id], more: &[String]) -> Id {
        let names = of.iter().map(|&id| self.name(id));
        let arguments: Vec<String> = names.chain(more.iter().cloned()).collect();
        let text = format!("{function}({})", arguments.join(", "));
        self.push(class, text, of.to_vec(), false)
    }

    fn infix(&mut self, class: Type, a: Id, operator: &str, b: Id) -> Id {
        let text = format!("{} {operator} {}", self.name(a), self.name(b));
        self.push(class, text, vec![a, b], false)
    }
}

/// What a thread computes for one event.
struct Whole {
    graph: Graph,
    /// For each helicity its part of |M|^2.
    contributions: Vec<Id>,
    jamp2: Vec<Id>,
    amp2: Vec<Id>,
    /// All that has to be there in the end, in the order in which it is computed.
    order: Vec<Id>,
}

/// What the thread does next.
#[derive(Clone, Copy)]
enum Step {
    Compute(Id),
    /// Puts a value away, there.
    Put(Id, usize),
    /// Brings it back from there.
    Get(Id, usize),
}

/// What the thread does, with values put away where there are too many.
struct Steps {
    steps: Vec<Step>,
    /// Numbers of memory for what is put away.
    kept: usize,
}

impl Steps {
    /// Of what is in registers, those values go that are needed last.
    fn new(whole: &Whole, registers: usize) -> Steps {
        let values = &whole.graph.values;
        let numbers = |id: Id| values[id].class.numbers();
        // When each value is used, the last time first.
        let mut uses: Vec<Vec<usize>> = vec![Vec::new(); values.len()];
        let end = whole.order.len();
        let results = whole.contributions.iter().chain(&whole.jamp2);
        let results: Vec<Id> = results.chain(&whole.amp2).copied().collect();
        for &id in &results {
            uses[id].push(end);
        }
        for (time, &id) in whole.order.iter().enumerate().rev() {
            for &of in &values[id].of {
                uses[of].push(time);
            }
        }
        let mut state = State::default();
        let mut steps = Vec::new();
        for (time, id) in whole.order.iter().map(Some).chain([None]).enumerate() {
            let needed = match id {
                Some(&id) => &values[id].of,
                None => &results,
            };
            for &of in needed {
                if values[of].literal {
                    continue;
                }
                if let (false, Some(&at)) = (state.here.contains(&of), state.away.get(&of)) {
                    steps.push(Step::Get(of, at));
                    state.here.push(of);
                    state.used += numbers(of);
                }
            }
            let Some(&id) = id else { break };
            steps.push(Step::Compute(id));
            state.here.push(id);
            state.used += numbers(id);
            // What is not needed any more goes.
            let mut gone = values[id].of.clone();
            gone.push(id);
            for of in gone {
                while uses[of].last().is_some_and(|&t| t <= time) {
                    uses[of].pop();
                }
                if uses[of].is_empty() && state.here.contains(&of) {
                    state.here.retain(|&other| other != of);
                    state.used -= numbers(of);
                    if let Some(at) = state.away.remove(&of) {
                        state.free.push((at, numbers(of)));
                    }
                }
            }
            while registers > 0 && state.used > registers {
                let here = state.here.iter().enumerate();
                let Some((i, &of)) = here.max_by_key(|(_, of)| uses[**of].last()) else {
                    break;
                };
                state.here.swap_remove(i);
                state.used -= numbers(of);
                if !state.away.contains_key(&of) {
                    let at = state.place(numbers(of));
                    state.away.insert(of, at);
                    steps.push(Step::Put(of, at));
                }
            }
        }
        Steps {
            steps,
            kept: state.end,
        }
    }
}

/// Where values are.
#[derive(Default)]
struct State {
    here: Vec<Id>,
    /// Numbers in registers.
    used: usize,
    /// Values that have been put away, whether or not they are in registers too.
    away: HashMap<Id, usize>,
    /// Places of so many numbers that are free again.
    free: Vec<(usize, usize)>,
    end: usize,
}

impl State {
    fn place(&mut self, numbers: usize) -> usize {
        if let Some(i) = self.free.iter().rposition(|&(_, n)| n == numbers) {
            return self.free.swap_remove(i).0;
        }
        self.end += numbers;
        self.end - numbers
    }
}

/// Operands of one operation.
struct Operation<'a> {
    kind: Kind,
    operands: &'a [u32],
}

impl Straight<'_> {
    /// The kernel `straight`. `None` if the tables make no sense.
    pub fn source(&self) -> Option<String> {
        let whole = self.whole()?;
        let mut text = self.colors_function();
        text.push_str(KEEP);
        self.allowed_table(&mut text);
        let (threads, blocks) = (self.threads, self.blocks);
        let _ = write!(
            text,
            r#"
extern "C" __global__ void __launch_bounds__({threads}, {blocks})
straight(const Choices *c, unsigned events, const double *momenta, const double *gs,
         const double *given, const double *random_helicity, const double *random_color,
         const int *channels, const int *igraph, double *matrix_elements, int *helicity,
         int *color, unsigned *bad, Real *contributions, Real *amp2) {{
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < events;
         e += gridDim.x * blockDim.x) {{
"#
        );
        self.load(&mut text);
        let steps = Steps::new(&whole, self.registers);
        if steps.kept > 0 {
            let _ = writeln!(
                text,
                "        __align__(16) Real kept[{}];",
                steps.kept.next_multiple_of(2)
            );
        }
        for &step in &steps.steps {
            let (Step::Compute(id) | Step::Put(id, _) | Step::Get(id, _)) = step;
            let value = &whole.graph.values[id];
            let _ = match step {
                Step::Compute(_) => writeln!(
                    text,
                    "        {} x{id} = {};",
                    value.class.name(),
                    value.text
                ),
                Step::Put(_, at) => writeln!(text, "        put_away(kept + {at}, x{id});"),
                Step::Get(_, at) => writeln!(text, "        bring_back(x{id}, kept + {at});"),
            };
        }
        self.answer(&whole, &mut text);
        text.push_str("    }\n}\n");
        Some(text)
    }

    /// Momenta, with a check of them.
    fn load(&self, text: &mut String) {
        let legs = self.masses.len();
        let _ = writeln!(
            text,
            "        const Pair *leg = (const Pair *)momenta + (Size)e * {};",
            2 * legs
        );
        text.push_str("        bool good = true;\n");
        for (i, &mass) in self.masses.iter().enumerate() {
            let _ = writeln!(
                text,
                "        good = good & on_shell(load_leg(leg + {}), {});",
                2 * i,
                number(mass)
            );
        }
        text.push_str("        if (!good) atomicMin(bad, e);\n");
    }

    /// From contributions to answers.
    fn answer(&self, whole: &Whole, text: &mut String) {
        let name = |id: Id| whole.graph.name(id);
        for (i, &id) in whole.contributions.iter().enumerate() {
            let before = match i {
                0 => String::new(),
                _ => format!("s{} + ", i - 1),
            };
            let _ = writeln!(text, "        const Real s{i} = {before}{};", name(id));
        }
        let last = whole.contributions.len() - 1;
        let _ = writeln!(
            text,
            "        const Real total = s{last};\n        Real value = total * {};",
            number(self.normalization)
        );
        if self.channels {
            text.push_str(
                "        if (channels) {\n            const unsigned mine = c->amp2_of_channel[channels[e]];\n            Real numerator = 0, denominator = 0;\n",
            );
            for (i, &id) in whole.amp2.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "            numerator = mine == {i} ? {} : numerator;",
                    name(id)
                );
            }
            for &i in self.denominator {
                let _ = writeln!(
                    text,
                    "            denominator += {};",
                    name(whole.amp2[i as usize])
                );
            }
            text.push_str(
                "            if (denominator != 0) value *= quotient(numerator, denominator);\n        }\n        if (amp2) {\n",
            );
            for (i, &id) in whole.amp2.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "            amp2[(Size){i} * events + e] = {};",
                    name(id)
                );
            }
            text.push_str("        }\n");
        }
        text.push_str("        matrix_elements[e] = value;\n        if (contributions) {\n");
        for (i, &id) in whole.contributions.iter().enumerate() {
            let _ = writeln!(
                text,
                "            contributions[(Size){i} * events + e] = {};",
                name(id)
            );
        }
        text.push_str(
            "        }\n        const Real threshold = Real(random_helicity[e]) * total;\n        int chosen = 0;\n",
        );
        for (i, number) in self.helicities.iter().enumerate() {
            let _ = writeln!(
                text,
                "        if (chosen == 0 & threshold < s{i}) chosen = {};",
                number + 1
            );
        }
        text.push_str("        helicity[e] = chosen;\n        chosen = 0;\n");
        if self.colors {
            self.color_choice(whole, text);
        }
        text.push_str("        color[e] = chosen;\n");
    }

    /// Words of bits for the colour flows of a configuration.
    fn words(&self) -> usize {
        self.tables.flows.div_ceil(32)
    }

    fn color_choice(&self, whole: &Whole, text: &mut String) {
        text.push_str(
            "        unsigned config = igraph ? igraph[e] : 0;\n        if (config == 0 && channels) config = c->config_of_channel[channels[e]];\n        if (config) {\n",
        );
        let words = self.words();
        for word in 0..words {
            let _ = writeln!(
                text,
                "            const unsigned mask{word} = straight_allowed[(config - 1) * {words} + {word}];"
            );
        }
        text.push_str("            Real running = 0;\n");
        for (i, &id) in whole.jamp2.iter().enumerate() {
            let (word, bit) = (i / 32, i % 32);
            let name = whole.graph.name(id);
            let _ = writeln!(
                text,
                "            if (mask{word} >> {bit} & 1) running += {name};\n            const Real r{i} = running;"
            );
        }
        text.push_str("            const Real threshold = Real(random_color[e]) * running;\n");
        for i in 0..whole.jamp2.len() {
            let (word, bit) = (i / 32, i % 32);
            let _ = writeln!(
                text,
                "            if (chosen == 0 & (mask{word} >> {bit} & 1) & threshold < r{i}) chosen = {};",
                i + 1
            );
        }
        text.push_str("        }\n");
    }

    fn allowed_table(&self, text: &mut String) {
        if !self.colors {
            return;
        }
        let words = self.words();
        let mut bits = vec![0u32; (self.allowed.len() * words).max(1)];
        for (config, flows) in self.allowed.iter().enumerate() {
            for &flow in flows {
                bits[config * words + flow as usize / 32] |= 1 << (flow % 32);
            }
        }
        let bits: Vec<String> = bits.iter().map(|b| format!("{b}u")).collect();
        let _ = writeln!(
            text,
            "__constant__ unsigned straight_allowed[] = {{{}}};",
            bits.join(", ")
        );
    }

    /// `color_sum` of all JAMP, and `on_shell`.
    fn colors_function(&self) -> String {
        let split = self.split;
        let arguments: Vec<String> = (0..split.flows).map(|i| format!("Cx j{i}")).collect();
        let mut text = String::from(
            "DEVICE bool on_shell(Momentum q, Real mass) {\n    Real e2 = q.p[0] * q.p[0];\n    Real off = e2 - fused(q.p[1], q.p[1], fused(q.p[2], q.p[2], fused(q.p[3], q.p[3], mass * mass)));\n    return (magnitude(off) <= e2 * Real(1e-4)) & (0 < q.p[0]);\n}\n",
        );
        let _ = writeln!(
            text,
            "DEVICE Real color_sum({}) {{\n    Color total = 0;",
            arguments.join(", ")
        );
        for part in ["re", "im"] {
            text.push_str("    {\n");
            let mut slots: Vec<String> = (0..split.flows)
                .map(|i| format!("Color(j{i}.{part})"))
                .collect();
            let mut count = 0;
            let mut fresh = |text: &mut String, value: String| {
                count += 1;
                let _ = writeln!(text, "        const Color c{count} = {value};");
                format!("c{count}")
            };
            for orbit in split.passes.iter().flatten() {
                let mut x: Vec<String> =
                    orbit.0.iter().map(|&s| slots[s as usize].clone()).collect();
                let mut bit = 1;
                while bit < x.len() {
                    for i in 0..x.len() {
                        if i & bit == 0 {
                            let (a, b) = (x[i].clone(), x[i | bit].clone());
                            x[i] = fresh(&mut text, format!("{a} + {b}"));
                            x[i | bit] = fresh(&mut text, format!("{a} - {b}"));
                        }
                    }
                    bit *= 2;
                }
                for (&slot, value) in orbit.0.iter().zip(x) {
                    slots[slot as usize] = value;
                }
            }
            for block in &split.blocks {
                let size = block.slots.len();
                for r in 0..size {
                    let mut sum = String::new();
                    for c in r..size {
                        let factor = if r == c { 1.0 } else { 2.0 };
                        let entry = factor * block.matrix[(r, c)] / split.denominator;
                        if entry == 0.0 {
                            continue;
                        }
                        let x = &slots[block.slots[c] as usize];
                        sum = match sum.is_empty() {
                            true => format!("Color({entry:e}) * {x}"),
                            false => format!("fused(Color({entry:e}), {x}, {sum})"),
                        };
                    }
                    if !sum.is_empty() {
                        let x = &slots[block.slots[r] as usize];
                        let _ = writeln!(text, "        total = fused({x}, {sum}, total);");
                    }
                }
            }
            text.push_str("    }\n");
        }
        text.push_str("    return Real(total);\n}\n");
        text
    }

    /// Where each operation's operands end.
    fn ends(&self) -> HashMap<u32, u32> {
        let tables = self.tables;
        let mut starts = tables.starts.clone();
        starts.sort_unstable();
        starts.dedup();
        let next = starts.iter().skip(1).copied();
        let next = next.chain([tables.operands.len() as u32]);
        starts.iter().copied().zip(next).collect()
    }

    fn operations<'b>(
        &'b self,
        ends: &'b HashMap<u32, u32>,
        levels: &'b [Level],
    ) -> impl Iterator<Item = Option<Operation<'b>>> {
        levels.iter().flatten().flat_map(move |run| {
            (run.first..run.first + run.count).map(move |i| {
                let start = *self.tables.starts.get(i as usize)?;
                let end = *ends.get(&start)?;
                Some(Operation {
                    kind: run.kind,
                    operands: self.tables.operands.get(start as usize..end as usize)?,
                })
            })
        })
    }

    fn whole(&self) -> Option<Whole> {
        let tables = self.tables;
        let ends = self.ends();
        let mut graph = Graph::default();
        let g = graph.push(Type::Real, "Real(gs[e])".into(), Vec::new(), false);
        graph.memory.insert(tables.g, g);
        for &(address, x) in &tables.constants {
            let id = graph.literal(Type::Real, number(x));
            graph.memory.insert(address, id);
        }
        for (i, &(_, address)) in tables.given.iter().enumerate() {
            let text = format!(
                "cx(Real(given[(Size){} * events + e]), Real(given[(Size){} * events + e]))",
                2 * i,
                2 * i + 1
            );
            let id = graph.push(Type::Complex, text, Vec::new(), false);
            graph.memory.insert(address, id);
        }
        self.event(&mut graph, &ends, 0)?;
        let mut squares = Vec::new();
        if let (true, Squares::Totals { levels, totals }) = (self.channels, &tables.squares) {
            for operation in self.operations(&ends, levels) {
                self.event_operation(&mut graph, &operation?)?;
            }
            for address in totals {
                squares.push(*graph.memory.get(address)?);
            }
        }
        let mut whole = Whole {
            contributions: vec![usize::MAX; tables.waves.len()],
            jamp2: Vec::new(),
            amp2: squares,
            order: Vec::new(),
            graph,
        };
        let mut schedule = Schedule::default();
        let amplitudes = std::slice::from_ref(&tables.amplitudes);
        let helicities = tables.groups.iter().flatten().copied();
        let helicities: Vec<u32> = helicities.filter(|&h| h != u32::MAX).collect();
        let mut part = 0;
        for (i, &helicity) in helicities.iter().enumerate() {
            let mine = i * self.parts.max(1) / helicities.len();
            if mine != part {
                part = mine;
                self.event(&mut whole.graph, &ends, part)?;
            }
            let waves = tables.waves.get(helicity as usize)?;
            let mut region: HashMap<Address, Id> = HashMap::default();
            for operation in self.operations(&ends, amplitudes) {
                self.amplitude(&mut whole.graph, &operation?, waves, &mut region)?;
            }
            for operation in self.operations(&ends, &tables.sums) {
                self.sum(&mut whole.graph, operation?.operands, &mut region)?;
            }
            let jamp: Vec<Id> = (0..tables.flows as u32)
                .map(|flow| region.get(&(tables.jamp + 2 * flow)).copied())
                .collect::<Option<_>>()?;
            let sum = whole.graph.call(Type::Real, "color_sum", &jamp, &[]);
            *whole.contributions.get_mut(helicity as usize)? = sum;
            schedule.need(&whole.graph, sum);
            if self.colors {
                let before = std::mem::take(&mut whole.jamp2);
                for (flow, &id) in jamp.iter().enumerate() {
                    let sum = whole.graph.square(id, before.get(flow).copied());
                    schedule.need(&whole.graph, sum);
                    whole.jamp2.push(sum);
                }
            }
            if let (true, Squares::Amplitudes(amp2)) = (self.channels, &tables.squares) {
                let before = std::mem::take(&mut whole.amp2);
                for (i, sets) in amp2.iter().enumerate() {
                    let mut sum = before.get(i).copied();
                    for set in sets {
                        let mut total = None;
                        for address in set {
                            let id = *region.get(address)?;
                            total = Some(match total {
                                None => id,
                                Some(t) => whole.graph.infix(Type::Complex, t, "+", id),
                            });
                        }
                        sum = Some(whole.graph.square(total?, sum));
                    }
                    let sum = match sum {
                        Some(sum) => sum,
                        None => whole.graph.literal(Type::Real, "Real(0)".into()),
                    };
                    schedule.need(&whole.graph, sum);
                    whole.amp2.push(sum);
                }
            }
        }
        for &id in &whole.amp2 {
            schedule.need(&whole.graph, id);
        }
        if whole.contributions.contains(&usize::MAX) || whole.contributions.is_empty() {
            return None;
        }
        whole.order = schedule.order;
        Some(whole)
    }

    /// All values up to the amplitudes, once more for each part.
    fn event(&self, graph: &mut Graph, ends: &HashMap<u32, u32>, part: usize) -> Option<()> {
        for leg in 0..self.masses.len() as u32 {
            let text = match part {
                0 => format!("load_leg(leg + {})", 2 * leg),
                _ => format!("load_leg_again(leg + {}) /* {part} */", 2 * leg),
            };
            let id = graph.push(Type::Momentum, text, Vec::new(), false);
            graph.memory.insert(self.tables.leg_momenta + 4 * leg, id);
        }
        for operation in self.operations(ends, &self.tables.levels) {
            self.event_operation(graph, &operation?)?;
        }
        Some(())
    }

    /// An operation whose operands are addresses of the memory of events.
    fn event_operation(&self, graph: &mut Graph, operation: &Operation) -> Option<()> {
        let op = operation.operands;
        let (&result, rest) = op.split_last()?;
        let numbers = &self.tables.numbers;
        let number_of = |i: &u32| Some(number(*numbers.get(*i as usize)?));
        let signed = |x: u32| (x as i32 - 8).to_string();
        let at = |graph: &Graph, address: u32| graph.memory.get(&address).copied();
        let id = match operation.kind {
            Kind::Momentum => {
                let plus = *rest.first()? as usize;
                let mut sum = None;
                for (i, &address) in rest.get(2..)?.iter().enumerate() {
                    let p = at(graph, address)?;
                    sum = Some(match (sum, i < plus) {
                        (None, true) => p,
                        (None, false) => {
                            let zero = graph.literal(Type::Momentum, "momentum(0, 0, 0, 0)".into());
                            graph.infix(Type::Momentum, zero, "-", p)
                        }
                        (Some(sum), true) => graph.infix(Type::Momentum, sum, "+", p),
                        (Some(sum), false) => graph.infix(Type::Momentum, sum, "-", p),
                    });
                }
                sum?
            }
            Kind::Coupling => {
                let g = at(graph, *rest.first()?)?;
                let name = graph.name(g);
                let (mut re, mut im) = (String::new(), String::new());
                for pair in rest.get(2..)?.chunks_exact(2) {
                    let step = |sum: &str, x: String| match sum {
                        "" => x,
                        sum => format!("fused({sum}, {name}, {x})"),
                    };
                    re = step(&re, number_of(&pair[0])?);
                    im = step(&im, number_of(&pair[1])?);
                }
                graph.push(Type::Complex, format!("cx({re}, {im})"), vec![g], false)
            }
            Kind::Propagator => {
                let momentum = at(graph, rest[0])?;
                let more = [number_of(&rest[1])?, number_of(&rest[2])?];
                graph.call(Type::Complex, "propagator", &[momentum], &more)
            }
            Kind::Factor => {
                let mut value = String::new();
                let mut of = Vec::new();
                for term in rest.get(3..)?.chunks_exact(3) {
                    let coupling = at(graph, term[0])?;
                    of.push(coupling);
                    let name = graph.name(coupling);
                    let c = [
                        numbers.get(term[1] as usize)?,
                        numbers.get(term[2] as usize)?,
                    ];
                    let c = [*c[0], *c[1]];
                    value = match (value.is_empty(), c) {
                        (true, [1.0, 0.0]) => name,
                        (true, [-1.0, 0.0]) => format!("(-{name})"),
                        (true, [x, 0.0]) => format!("scale({name}, {})", number(x)),
                        (true, [re, im]) => format!("cx({}, {}) * {name}", number(re), number(im)),
                        (false, [re, im]) => {
                            format!(
                                "mul_add(cx({}, {}), {name}, {value})",
                                number(re),
                                number(im)
                            )
                        }
                    };
                }
                if rest[0] != 0 {
                    let propagator = at(graph, rest[1])?;
                    of.push(propagator);
                    value = match numbers_of_propagator(graph, propagator) {
                        // Its imaginary part is zero.
                        true => format!("scale({value}, {}.re)", graph.name(propagator)),
                        false => format!("{value} * {}", graph.name(propagator)),
                    };
                }
                if value.is_empty() {
                    value = "cx(0, 0)".into();
                }
                graph.push(Type::Complex, value, of, false)
            }
            Kind::ExternalScalar => graph.literal(Type::Complex, "external_scalar()".into()),
            Kind::ExternalIn | Kind::ExternalOut | Kind::ExternalVector => {
                let momentum = at(graph, rest[0])?;
                let function = match operation.kind {
                    Kind::ExternalIn => "external_in",
                    Kind::ExternalOut => "external_out",
                    _ => "external_vector",
                };
                let more = [
                    number_of(&rest[1])?,
                    rest[2].to_string(),
                    signed(rest[3]),
                    signed(rest[4]),
                ];
                graph.call(Type::Four, function, &[momentum], &more)
            }
            Kind::Kernel(kernel) => {
                let mut fetch = |operand: u32, _: Access| graph.memory.get(&operand).copied();
                let operands = self.operands(kernel, op, false, &mut fetch)?;
                self.kernel(graph, kernel, &operands)?
            }
            Kind::Sum => return None,
        };
        graph.memory.insert(result, id);
        Some(())
    }

    /// The operands of a kernel: numbers as they are, all else as values; the result is left out
    /// unless it is changed.
    fn operands(
        &self,
        kernel: Kernel,
        op: &[u32],
        tables: bool,
        fetch: &mut dyn FnMut(u32, Access) -> Option<Id>,
    ) -> Option<Vec<Operand>> {
        let batch = Batch::stream(kernel, op.to_vec());
        let mut operands = Vec::new();
        let mut sound = true;
        walk(&batch, self.general, tables, &mut |operand, access| {
            operands.push(match access {
                Access::Number => Operand::Number(operand),
                Access::Write(vectors) => Operand::Result(operand, vectors),
                _ => match fetch(operand, access) {
                    Some(id) => Operand::Value(id),
                    None => {
                        sound = false;
                        Operand::Number(0)
                    }
                },
            });
        })?;
        sound.then_some(operands)
    }

    /// The value of a kernel's operation.
    fn kernel(&self, graph: &mut Graph, kernel: Kernel, operands: &[Operand]) -> Option<Id> {
        let name = Kind::Kernel(kernel).name();
        let value = |i: usize| match operands.get(i)? {
            Operand::Value(id) => Some(*id),
            _ => None,
        };
        let count = |i: usize| match operands.get(i)? {
            Operand::Number(n) => Some(*n as usize),
            _ => None,
        };
        let values = |from: usize, to: usize| (from..to).map(value).collect::<Option<Vec<Id>>>();
        let last = operands.len().checked_sub(1)?;
        match kernel {
            Kernel::SumFfv1 | Kernel::SumFfv2 | Kernel::SumFfv3 => {
                let mode = count(0)? as u32;
                let (plus, minus) = (count(1)?, count(2)?);
                let tail = 3 + 2 * (plus + minus);
                let term = format!("term_{}", &name[3..]);
                let terms = |from: usize, n: usize| {
                    (0..n)
                        .map(|i| values(from + 2 * i, from + 2 * i + 2))
                        .collect::<Option<Vec<_>>>()
                };
                let (added, subtracted) = (terms(3, plus)?, terms(3 + 2 * plus, minus)?);
                let mut sum = graph.terms(&term, &added, &subtracted);
                if kernel != Kernel::SumFfv3 && mode & Mode::BARE == 0 {
                    let function = match kernel {
                        Kernel::SumFfv1 => "propagate_out",
                        _ => "propagate_in",
                    };
                    let of = [sum, value(tail + 1)?, value(tail + 2)?];
                    sum = graph.call(Type::Four, function, &of, &[]);
                }
                graph.finish(mode, value(tail)?, sum, value(last))
            }
            Kernel::SumVvv1 => {
                let mode = count(0)? as u32;
                let (threes, plus, minus) = (count(1)?, count(2)?, count(3)?);
                let four = 4 + 4 * threes;
                let tail = four + 3 * (plus + minus);
                let three = (0..threes).map(|i| values(4 + 4 * i, 8 + 4 * i));
                let three = three.collect::<Option<Vec<_>>>()?;
                let terms = |from: usize, n: usize| {
                    (0..n)
                        .map(|i| values(from + 3 * i, from + 3 * i + 3))
                        .collect::<Option<Vec<_>>>()
                };
                let (added, subtracted) = (terms(four, plus)?, terms(four + 3 * plus, minus)?);
                let mut result = None;
                if plus + minus > 0 {
                    let sum = graph.terms("term_gluons", &added, &subtracted);
                    result = Some(graph.call(Type::Four, "times", &[value(tail + 1)?, sum], &[]));
                }
                if threes > 0 {
                    let sum = graph.terms("term_Vvv1", &three, &[]);
                    let factor = value(tail)?;
                    result = Some(match result {
                        None => graph.call(Type::Four, "times", &[factor, sum], &[]),
                        Some(r) => graph.call(Type::Four, "times_add", &[factor, sum, r], &[]),
                    });
                }
                let result = match result {
                    Some(result) => result,
                    None => graph.literal(Type::Four, "no_four()".into()),
                };
                Some(match mode & Mode::ADD {
                    0 => result,
                    _ => graph.call(Type::Four, "add_four", &[result, value(last)?], &[]),
                })
            }
            Kernel::SumVvvvDiff1 => {
                let mode = count(0)? as u32;
                let terms = count(1)?;
                let three = (0..terms).map(|i| values(2 + 3 * i, 5 + 3 * i));
                let three = three.collect::<Option<Vec<_>>>()?;
                let sum = graph.terms("term_VvvvDiff1", &three, &[]);
                graph.finish(mode, value(2 + 3 * terms)?, sum, value(last))
            }
            Kernel::Add => {
                let (plus, minus) = (count(0)?, count(1)?);
                let mut sum = None;
                for i in 0..plus + minus {
                    let mut next = value(2 + i)?;
                    if i >= plus {
                        next = graph.call(Type::Four, "negative", &[next], &[]);
                    }
                    sum = Some(match sum {
                        None => next,
                        Some(sum) => graph.call(Type::Four, "add_four", &[sum, next], &[]),
                    });
                }
                sum
            }
            Kernel::DensitySpinor | Kernel::DensityVector => {
                let mut sum = graph.literal(Type::Matrix, "no_matrix()".into());
                for i in 0..count(0)? {
                    let term = format!("term_{name}");
                    sum = graph.call(Type::Matrix, &term, &[value(1 + i)?, sum], &[]);
                }
                Some(sum)
            }
            Kernel::Dots => None,
            _ => {
                let Operand::Result(_, vectors) = operands[last] else {
                    return None;
                };
                let of = values(0, last)?;
                Some(graph.call(Type::of(vectors)?, &name, &of, &[]))
            }
        }
    }

    /// An amplitude (or several) of a helicity.
    fn amplitude(
        &self,
        graph: &mut Graph,
        operation: &Operation,
        waves: &[Address],
        region: &mut HashMap<Address, Id>,
    ) -> Option<()> {
        let Kind::Kernel(kernel) = operation.kind else {
            return None;
        };
        let mut fetch = |operand: u32, access: Access| {
            let address = match access {
                Access::Look(_) => *waves.get(operand as usize)?,
                _ => operand,
            };
            graph.memory.get(&address).copied()
        };
        let operands = self.operands(kernel, operation.operands, true, &mut fetch)?;
        if kernel != Kernel::Dots {
            let id = self.kernel(graph, kernel, &operands)?;
            region.insert(*operation.operands.last()?, id);
            return Some(());
        }
        let Operand::Value(one) = *operands.first()? else {
            return None;
        };
        for pair in operands.get(2..)?.chunks(2) {
            let [Operand::Value(other), Operand::Result(at, _)] = *pair else {
                return None;
            };
            let id = graph.call(Type::Complex, "DotSpinor0", &[one, other], &[]);
            region.insert(at, id);
        }
        Some(())
    }

    /// A sum of amplitudes.
    fn sum(&self, graph: &mut Graph, op: &[u32], region: &mut HashMap<Address, Id>) -> Option<()> {
        let (counts, rest) = op.split_at_checked(5)?;
        let (&result, mut rest) = rest.split_last()?;
        let mut sum: Option<Id> = None;
        for (unit, &count) in counts[..4].iter().enumerate() {
            let (mine, others) = rest.split_at_checked(count as usize)?;
            rest = others;
            for address in mine {
                let id = *region.get(address)?;
                sum = Some(match (sum, unit) {
                    (None, 0) => id,
                    (Some(sum), 0) => graph.infix(Type::Complex, sum, "+", id),
                    (Some(sum), 1) => graph.infix(Type::Complex, sum, "-", id),
                    (Some(sum), 2) => graph.call(Type::Complex, "add_i", &[sum, id], &[]),
                    (Some(sum), _) => graph.call(Type::Complex, "sub_i", &[sum, id], &[]),
                    (None, 1) => graph.call(Type::Complex, "-", &[id], &[]),
                    (None, 2) => graph.call(Type::Complex, "times_i", &[id], &[]),
                    (None, _) => graph.call(Type::Complex, "- times_i", &[id], &[]),
                });
            }
        }
        for term in rest.chunks_exact(4) {
            // The number at hand is complex, its real part at the smaller address.
            let first = term[0].min(term[1]);
            let id = *region.get(&first)?;
            let name = graph.name(id);
            let part = |address: u32| if address == first { "re" } else { "im" };
            let factor = |i: u32| Some(number(*self.tables.numbers.get(i as usize)?));
            let (re, im) = (part(term[0]), part(term[1]));
            let (x, y) = (factor(term[2])?, factor(term[3])?);
            let (text, of) = match sum {
                None => (
                    format!("cx({x} * {name}.{re}, {y} * {name}.{im})"),
                    vec![id],
                ),
                Some(sum) => {
                    let s = graph.name(sum);
                    let text = format!(
                        "cx(fused({x}, {name}.{re}, {s}.re), fused({y}, {name}.{im}, {s}.im))"
                    );
                    (text, vec![sum, id])
                }
            };
            sum = Some(graph.push(Type::Complex, text, of, false));
        }
        let sum = match sum {
            Some(sum) => sum,
            None => graph.literal(Type::Complex, "cx(0, 0)".into()),
        };
        region.insert(result, sum);
        Some(())
    }
}

/// Whether a propagator is one without a width.
fn numbers_of_propagator(graph: &Graph, propagator: Id) -> bool {
    let text = &graph.values[propagator].text;
    text.starts_with("propagator(") && text.ends_with(", Real(0e0))")
}

#[derive(Clone, Copy)]
enum Operand {
    Number(u32),
    Value(Id),
    Result(Address, u32),
}

impl Graph {
    /// A sum of terms, and others with a minus sign.
    fn terms(&mut self, term: &str, added: &[Vec<Id>], subtracted: &[Vec<Id>]) -> Id {
        let mut sum = self.literal(Type::Four, "no_four()".into());
        for of in subtracted {
            sum = self.call(Type::Four, term, &[of.as_slice(), &[sum]].concat(), &[]);
        }
        if !subtracted.is_empty() {
            sum = self.call(Type::Four, "negative", &[sum], &[]);
        }
        for of in added {
            sum = self.call(Type::Four, term, &[of.as_slice(), &[sum]].concat(), &[]);
        }
        sum
    }

    /// Times a factor, and added to what is there.
    fn finish(&mut self, mode: u32, factor: Id, sum: Id, there: Option<Id>) -> Option<Id> {
        Some(match mode & Mode::ADD {
            0 => self.call(Type::Four, "times", &[factor, sum], &[]),
            _ => self.call(Type::Four, "times_add", &[factor, sum, there?], &[]),
        })
    }

    /// The squared modulus of a complex number, added to another number.
    fn square(&mut self, id: Id, before: Option<Id>) -> Id {
        let name = self.name(id);
        let (text, of) = match before {
            None => (
                format!("fused({name}.re, {name}.re, {name}.im * {name}.im)"),
                vec![id],
            ),
            Some(sum) => (
                format!(
                    "fused({name}.re, {name}.re, fused({name}.im, {name}.im, {}))",
                    self.name(sum)
                ),
                vec![id, sum],
            ),
        };
        self.push(Type::Real, text, of, false)
    }
}

/// Values in the order in which they are computed.
#[derive(Default)]
struct Schedule {
    done: Vec<bool>,
    order: Vec<Id>,
}

impl Schedule {
    /// Puts a value at the end, before it what it is made of and is not there yet.
    fn need(&mut self, graph: &Graph, id: Id) {
        self.done.resize(graph.values.len(), false);
        let mut stack = vec![(id, 0)];
        while let Some((id, next)) = stack.pop() {
            if self.done[id] {
                continue;
            }
            let value = &graph.values[id];
            if let Some(&of) = value.of.get(next) {
                stack.push((id, next + 1));
                stack.push((of, 0));
                continue;
            }
            self.done[id] = true;
            if !value.literal {
                self.order.push(id);
            }
        }
    }
}
