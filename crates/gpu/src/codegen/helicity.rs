//! Amplitudes, JAMP and colour sum of one helicity of one event as straight-line code.
//!
//! The wavefunctions have already been stored in the memory of event blocks. A thread loads them in an order that keeps
//! few numbers alive. Each amplitude is added to its sums as soon as it is known, and each sum to those that contain it
//! as soon as it is complete. The next amplitude is always the one that needs the fewest numbers not in registers. This
//! module, rather than the compiler, decides what stays in registers and when it is loaded again; the compiler would
//! keep everything that it has loaded.
//!
//! A thread block computes the events of a memory block for a few consecutive helicities, one per warp, which share
//! most of their wavefunctions.

use super::expression::{Expression, Id, number};
use super::operand::ValueOperand;
use super::value_graph::{Type, ValueGraph};
use super::values::Operation;
use super::{COLOR_SUM, DeviceCode, Generator};
use crate::level_schedule::{Amp2Source, OperationKind};
use crate::structures::{DeviceStructure, HelicityArguments};
use mebridge_ops::Address;
use mebridge_ops::opcode::Opcode;
use mebridge_ops::visit::Access;
use mebridge_process::color::FlowWeight;
use rustc_hash::FxHashMap as HashMap;
use std::fmt::Write;

/// Bytes of constant memory for the addresses of wavefunctions.
const CONSTANT: usize = 48 << 10;
/// Maximum number of colour flows.
const FLOWS: usize = 64;
/// Maximum number of amplitudes of a helicity.
const AMPLITUDES: usize = 600;
/// Maximum number of helicities.
const HELICITIES: usize = 256;

/// Factor of a number in a sum.
#[derive(Clone, Copy)]
enum Factor {
    One,
    MinusOne,
    I,
    MinusI,
    /// Whether real and imaginary part are exchanged, and the factors of both parts.
    RealImaginary(bool, f64, f64),
}

/// Use of a number.
#[derive(Clone, Copy)]
enum SumTarget {
    /// Added to a sum.
    AmplitudeSum(usize, Factor),
    /// Its square is added to an AMP2.
    Square(usize),
}

/// A sum of amplitudes and other sums.
struct AmplitudeSum {
    /// Uses of its value; empty if it is only a JAMP.
    targets: Vec<SumTarget>,
    /// Number of terms not yet added.
    open: usize,
    begun: bool,
    jamp: bool,
}

/// An amplitude.
struct Product {
    id: Id,
    targets: Vec<SumTarget>,
}

/// All amplitudes and sums of a helicity.
struct HelicityCode {
    graph: ValueGraph,
    products: Vec<Product>,
    sums: Vec<AmplitudeSum>,
    /// For each JAMP, its sum or amplitude.
    jamp: Vec<Jamp>,
    /// Number of squares in each AMP2.
    amp2: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Jamp {
    AmplitudeSum(usize),
    Product(usize),
}

impl Generator<'_> {
    /// Returns whether a helicity is small enough for this code.
    pub fn has_helicity(&self) -> bool {
        let tables = self.tables;
        let amplitudes = tables.amplitudes.iter().map(|run| {
            let dots = run.kind == OperationKind::Opcode(Opcode::Dots);
            run.count as usize * if dots { 4 } else { 1 }
        });
        tables.flows <= FLOWS
            && (1..=HELICITIES).contains(&tables.waves.len())
            && amplitudes.sum::<usize>() <= AMPLITUDES
    }

    /// Returns the kernel `helicity`, which keeps up to `registers` numbers of wavefunctions in registers. Its
    /// arguments are the wavefunctions of each helicity and their number, the memory of event blocks, the number of
    /// events, and the input of `cuda/answer.cuh`, with each helicity as a part; JAMP2 and AMP2 may be null.
    pub fn helicity(&self) -> Option<DeviceCode> {
        if !self.has_helicity() {
            return None;
        }
        let mut parts = self.parts_of_helicity()?;
        let tables = self.tables;
        let mut text = self.colors_function();
        let row = tables.waves.first()?.len();
        let order: Vec<u32> = tables.groups.iter().flatten().copied().collect();
        let order: Vec<u32> = order.into_iter().filter(|&h| h != u32::MAX).collect();
        let list = |numbers: &mut dyn Iterator<Item = u32>| {
            numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(",")
        };
        let count = order.len();
        let _ = writeln!(
            text,
            "__constant__ unsigned short helicity_order[] = {{{}}};",
            list(&mut order.iter().copied())
        );
        let of_row = if count * row * 4 <= CONSTANT && row > 0 {
            let rows = order.iter().map(|&h| tables.waves.get(h as usize));
            let rows: Vec<&Vec<Address>> = rows.collect::<Option<_>>()?;
            let all = list(&mut rows.into_iter().flatten().copied());
            let _ = writeln!(text, "__constant__ unsigned helicity_waves[] = {{{all}}};");
            format!("helicity_waves + place * {row}")
        } else {
            "waves + (Size)h * wave_count".into()
        };
        let (threads, blocks) = (self.threads, self.blocks);
        let variables = HelicityArguments::variables();
        let flows = self.color_flows();
        let _ = write!(
            text,
            r#"
/// Blocks in x share the helicities, in y the events. One block of threads for a block of memory, and a
/// thread for each event and helicity: loops, where none is needed, would cost registers.
extern "C" __global__ void THREADS_AND_BLOCKS({threads}, {blocks})
helicity(ARGUMENTS(HelicityArguments) a) {{
{variables}    const unsigned padded = (events + LANES - 1) / LANES * LANES;
    const unsigned block = blockIdx.y;
    {{
        const unsigned threads = blockDim.x, t = threadIdx.x;
        const unsigned place = blockIdx.x * (threads / LANES) + t / LANES;
        if (place >= {count}u) return;
        const unsigned h = helicity_order[place], e = block * LANES + t % LANES;
        const unsigned *const w = {of_row};
        const Memory m = {{memory + (Size)block * vectors * LANES + t % LANES}};
"#
        );
        self.clocks_begin(&mut text);
        parts.write(self.registers, &mut text);
        let names: Vec<String> = parts.jamp.iter().map(|j| j.name()).collect();
        if self.colors {
            text.push_str("        if (jamp2) {\n");
            for flow in 0..flows {
                let jamp2 = match self.flow_weights.get(flow) {
                    Some(weight) => weight_of_flow(weight, &names),
                    None => {
                        let name = &names[flow];
                        format!("fused({name}.re, {name}.re, {name}.im * {name}.im)")
                    }
                };
                let _ = writeln!(
                    text,
                    "            jamp2[(Size)(h * {flows} + {flow}) * padded + e] = {jamp2};"
                );
            }
            text.push_str("        }\n");
        }
        let place = "contributions[(Size)h * padded + e]";
        let sum = format!("{COLOR_SUM}({})", names.join(", "));
        match self.clocks {
            true => {
                let statement = format!("        Real sum = {sum};\n");
                self.clocked_colors(&names, &statement, "sum", &mut text);
                let _ = writeln!(text, "        {place} = sum;");
            }
            false => {
                let _ = writeln!(text, "        {place} = {sum};");
            }
        }
        self.clocks_end("t", &mut text);
        text.push_str("    }\n}\n");
        Some(DeviceCode {
            text,
            kernels: vec!["helicity".into()],
            vectors: 0,
        })
    }

    fn parts_of_helicity(&self) -> Option<HelicityCode> {
        let tables = self.tables;
        let mut graph = ValueGraph::default();
        // Amplitudes, and the objects at addresses of the workspace.
        let mut products = Vec::new();
        let mut at: HashMap<Address, Jamp> = HashMap::default();
        let amplitudes = std::slice::from_ref(&tables.amplitudes);
        for operation in self.operations(amplitudes) {
            for (address, id) in self.products(&mut graph, &operation?)? {
                at.insert(address, Jamp::Product(products.len()));
                products.push(Product {
                    id,
                    targets: Vec::new(),
                });
            }
        }
        let mut sums: Vec<AmplitudeSum> = Vec::new();
        for operation in self.operations(&tables.sums) {
            let (counts, rest) = operation?.operands.split_at_checked(5)?;
            let (&result, mut rest) = rest.split_last()?;
            let mut terms = Vec::new();
            let units = [Factor::One, Factor::MinusOne, Factor::I, Factor::MinusI];
            for (&count, factor) in counts.iter().zip(units) {
                let (mine, others) = rest.split_at_checked(count as usize)?;
                rest = others;
                terms.extend(mine.iter().map(|&address| (address, factor)));
            }
            for term in rest.chunks_exact(4) {
                let first = term[0].min(term[1]);
                let factor = |i: u32| tables.numbers.get(i as usize).copied();
                let factor =
                    Factor::RealImaginary(term[0] != first, factor(term[2])?, factor(term[3])?);
                terms.push((first, factor));
            }
            let next = sums.len();
            for &(address, factor) in &terms {
                let target = SumTarget::AmplitudeSum(next, factor);
                match *at.get(&address)? {
                    Jamp::AmplitudeSum(i) => sums[i].targets.push(target),
                    Jamp::Product(i) => products[i].targets.push(target),
                }
            }
            sums.push(AmplitudeSum {
                targets: Vec::new(),
                open: terms.len(),
                begun: false,
                jamp: false,
            });
            at.insert(result, Jamp::AmplitudeSum(next));
        }
        let mut all_amp2 = Vec::new();
        if let (true, Amp2Source::Amplitudes(amp2)) = (self.channels, &tables.squares) {
            for (i, sets) in amp2.iter().enumerate() {
                all_amp2.push(sets.len());
                for set in sets {
                    let mut target = SumTarget::Square(i);
                    if set.len() != 1 {
                        sums.push(AmplitudeSum {
                            targets: vec![target],
                            open: set.len(),
                            begun: false,
                            jamp: false,
                        });
                        target = SumTarget::AmplitudeSum(sums.len() - 1, Factor::One);
                    }
                    for address in set {
                        match *at.get(address)? {
                            Jamp::AmplitudeSum(i) => sums[i].targets.push(target),
                            Jamp::Product(i) => products[i].targets.push(target),
                        }
                    }
                }
            }
        }
        let jamp = (0..tables.flows as u32).map(|flow| at.get(&(tables.jamp + 2 * flow)).copied());
        let jamp: Vec<Jamp> = jamp.collect::<Option<_>>()?;
        for jamp in &jamp {
            if let Jamp::AmplitudeSum(i) = *jamp {
                sums[i].jamp = true;
            }
        }
        Some(HelicityCode {
            graph,
            products,
            sums,
            jamp,
            amp2: all_amp2,
        })
    }

    /// Returns the amplitudes of an operation, each with its address.
    fn products(
        &self,
        graph: &mut ValueGraph,
        operation: &Operation,
    ) -> Option<Vec<(Address, Id)>> {
        let OperationKind::Opcode(opcode) = operation.kind else {
            return None;
        };
        let mut fetch = |operand: u32, access: Access| {
            let (class, address) = match access {
                Access::Indexed(vectors) => (Type::from_vectors(vectors)?, format!("w[{operand}]")),
                Access::Read(vectors) => (Type::from_vectors(vectors)?, operand.to_string()),
                _ => return None,
            };
            let function = class.access();
            Some(graph.push(class, Expression::Leaf(format!("m.{function}({address})"))))
        };
        let operands = self.operands(opcode, operation.operands, true, &mut fetch)?;
        if opcode != Opcode::Dots {
            let id = self.opcode(graph, opcode, &operands)?;
            return Some(vec![(*operation.operands.last()?, id)]);
        }
        let ValueOperand::Value(one) = *operands.first()? else {
            return None;
        };
        let pairs = operands.get(2..)?.chunks(2).map(|pair| match *pair {
            [ValueOperand::Value(other), ValueOperand::Result(at, _)] => {
                let id = graph.call(Type::Complex, "DotSpinor0", &[one, other]);
                Some((at, id))
            }
            _ => None,
        });
        pairs.collect()
    }
}

/// Returns the weight of a colour flow with split coupling orders, given the names of JAMP.
fn weight_of_flow(weight: &FlowWeight, names: &[String]) -> String {
    let modulus = |pairs: &Vec<(u32, u32)>| {
        let sum = pairs.iter().fold("Real(0)".to_owned(), |sum, &(a, b)| {
            let (a, b) = (&names[a as usize], &names[b as usize]);
            format!("fused({a}.re, {b}.re, fused({a}.im, {b}.im, {sum}))")
        });
        format!("magnitude({sum})")
    };
    let moduli: Vec<String> = weight.moduli.iter().map(modulus).collect();
    match moduli.is_empty() {
        true => "Real(0)".into(),
        false => moduli.join(" + "),
    }
}

impl Jamp {
    fn name(self) -> String {
        match self {
            Jamp::AmplitudeSum(i) => format!("s{i}"),
            Jamp::Product(i) => format!("p{i}"),
        }
    }
}

impl HelicityCode {
    /// Writes the code up to JAMP and AMP2. Up to `registers` numbers of wavefunctions stay in registers.
    fn write(&mut self, registers: usize, text: &mut String) {
        // From here on, the number of squares already added.
        let none = vec![0; self.amp2.len()];
        let squares = std::mem::replace(&mut self.amp2, none);
        for i in 0..self.sums.len() {
            if self.sums[i].open == 0 {
                let _ = writeln!(text, "        Cx s{i} = cx(0, 0);");
                self.sums[i].begun = true;
                self.give(Jamp::AmplitudeSum(i), text);
            }
        }
        for (i, _) in squares.iter().enumerate().filter(|(_, n)| **n == 0) {
            let _ = writeln!(
                text,
                "        if (amp2) amp2[(Size)(h * {} + {i}) * padded + e] = 0;",
                squares.len()
            );
        }
        let mut here: Vec<Id> = Vec::new();
        let mut left: Vec<usize> = (0..self.products.len()).collect();
        let mut known = vec![0usize; self.graph.values.len()];
        while let Some((next, _)) = left
            .iter()
            .enumerate()
            .min_by_key(|(_, i)| (self.cost(**i, &here), **i))
        {
            let product = left.remove(next);
            let id = self.products[product].id;
            let of = self.graph.values[id].of.clone();
            for &of in &of {
                match here.iter().position(|&h| h == of) {
                    // It becomes the most recently used.
                    Some(i) => {
                        here.remove(i);
                    }
                    None => {
                        let value = &self.graph.values[of];
                        let class = value.class.name();
                        let class = if known[of] == 0 { class } else { "" };
                        known[of] += 1;
                        let _ = writeln!(text, "        {class} x{of} = {};", self.graph.text(of));
                    }
                }
                here.push(of);
            }
            let _ = writeln!(text, "        Cx p{product} = {};", self.graph.text(id));
            self.give(Jamp::Product(product), text);
            let size = |id: &Id| self.graph.values[*id].class.numbers();
            while here.iter().map(size).sum::<usize>() > registers && !here.is_empty() {
                here.remove(0);
            }
            text.push_str("        asm volatile(\"\" : : : \"memory\");\n");
        }
        debug_assert_eq!(self.amp2, squares);
        for (i, _) in squares.iter().enumerate().filter(|(_, n)| **n > 0) {
            let _ = writeln!(
                text,
                "        if (amp2) amp2[(Size)(h * {} + {i}) * padded + e] = a{i};",
                squares.len()
            );
        }
    }

    /// Returns the cost of computing an amplitude next: numbers to load, and increase of live numbers.
    fn cost(&self, product: usize, here: &[Id]) -> i64 {
        let product = &self.products[product];
        let of = &self.graph.values[product.id].of;
        let loads = of.iter().filter(|id| !here.contains(id));
        let loads: usize = loads.map(|&id| self.graph.values[id].class.numbers()).sum();
        let mut alive = 0i64;
        for target in &product.targets {
            if let SumTarget::AmplitudeSum(i, _) = *target {
                let sum = &self.sums[i];
                if !sum.begun {
                    alive += 2;
                }
                if sum.open == 1 && !sum.jamp {
                    alive -= 2;
                }
            }
        }
        2 * loads as i64 + 3 * alive
    }

    /// Adds a number to all its uses, and recursively any sum that this completes.
    fn give(&mut self, from: Jamp, text: &mut String) {
        let name = from.name();
        let targets = match from {
            Jamp::AmplitudeSum(i) => self.sums[i].targets.clone(),
            Jamp::Product(i) => self.products[i].targets.clone(),
        };
        for target in targets {
            match target {
                SumTarget::Square(i) => {
                    let _ = match self.amp2[i] {
                        0 => writeln!(
                            text,
                            "        Real a{i} = fused({name}.re, {name}.re, {name}.im * {name}.im);"
                        ),
                        _ => writeln!(
                            text,
                            "        a{i} = fused({name}.re, {name}.re, fused({name}.im, {name}.im, a{i}));"
                        ),
                    };
                    self.amp2[i] += 1;
                }
                SumTarget::AmplitudeSum(i, factor) => {
                    let sum = &mut self.sums[i];
                    let first = !std::mem::replace(&mut sum.begun, true);
                    let s = format!("s{i}");
                    let _ = match first {
                        true => writeln!(text, "        Cx {s} = {};", factor.times(&name)),
                        false => writeln!(text, "        {s} = {};", factor.added(&s, &name)),
                    };
                    sum.open -= 1;
                    if sum.open == 0 {
                        self.give(Jamp::AmplitudeSum(i), text);
                    }
                }
            }
        }
    }
}

impl Factor {
    fn times(self, name: &str) -> String {
        match self {
            Factor::One => name.into(),
            Factor::MinusOne => format!("-{name}"),
            Factor::I => format!("times_i({name})"),
            Factor::MinusI => format!("-times_i({name})"),
            Factor::RealImaginary(swapped, x, y) => {
                let (re, im) = parts(swapped);
                format!(
                    "cx({} * {name}.{re}, {} * {name}.{im})",
                    number(x),
                    number(y)
                )
            }
        }
    }

    fn added(self, sum: &str, name: &str) -> String {
        match self {
            Factor::One => format!("{sum} + {name}"),
            Factor::MinusOne => format!("{sum} - {name}"),
            Factor::I => format!("add_i({sum}, {name})"),
            Factor::MinusI => format!("sub_i({sum}, {name})"),
            Factor::RealImaginary(swapped, x, y) => {
                let (re, im) = parts(swapped);
                format!(
                    "cx(fused({}, {name}.{re}, {sum}.re), fused({}, {name}.{im}, {sum}.im))",
                    number(x),
                    number(y)
                )
            }
        }
    }
}

fn parts(swapped: bool) -> (&'static str, &'static str) {
    if swapped { ("im", "re") } else { ("re", "im") }
}
