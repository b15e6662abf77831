//! Lowering of currents to operations.

use super::berends_giele::{BerendsGiele, Current, CurrentId, Make, Product};
use super::diagrams::{DiagramLine, Forest, LineKind, Tree};
use super::merged::MergedVectors;
use super::parity;
use super::root::Root;
use super::scalar_lines::ScalarVertices;
use super::vertices::{
    Batches, Example, Lowering, NO_WAVEFUNCTION, at_the_top, batch, components, emit, inputs,
    legs_of, other_operands, shares,
};
use crate::compiler::Compiler;
use crate::passes::Pass;
use crate::sums::Sums;
use mebridge_ops::Address;
use mebridge_ops::opcode::{Mode, Opcode};
use rustc_hash::FxHashMap as HashMap;

/// Stage of conjugates: after their originals.
const CONJUGATES: usize = 100;

/// Stage of sums of currents: after all vertices and their conjugates.
const SUMS: usize = 200;

/// Fills in the compiler's plan. `None` if the root's vertices are not of a fermion and a vector, of a scalar and vectors,
/// or of vectors.
///
/// Returns the wavefunction of each current, or [`NO_WAVEFUNCTION`] if it is not needed.
#[expect(
    clippy::too_many_lines,
    reason = "a pass after the other over the same tables"
)]
pub fn lower(
    compiler: &mut Compiler,
    forest: &Forest,
    recursion: &BerendsGiele,
) -> Option<Vec<u32>> {
    let root = Root::find(compiler.process, forest, recursion)?;
    let needed = needed(recursion, root.currents());
    let parity = match compiler.last >= Pass::Conjugates {
        true => parity::signs(compiler, forest, recursion),
        false => vec![None; recursion.currents.len()],
    };
    let mut batches = Batches::new();
    let mut scalars = ScalarVertices::default();
    let mut merged = MergedVectors::default();
    let mut nodes = vec![NO_WAVEFUNCTION; recursion.currents.len()];
    for (id, current) in recursion.currents.iter().enumerate() {
        if !needed[id] {
            continue;
        }
        if let Make::Leg = current.make {
            if let Tree::Leg(w) = forest.trees[current.trees[0].0 as usize] {
                nodes[id] = w;
            }
            continue;
        }
        let level = current.line.legs.count_ones() as usize;
        let signs = legs_of(compiler, forest, current.trees[0].0);
        nodes[id] = compiler.add_wavefunction(signs.clone(), components(current.line.kind));
        if let Make::Vertices(products) = &current.make {
            let quantities = (current.line.mass, current.line.width);
            if current.line.kind == LineKind::Scalar {
                let node = nodes[id];
                let mut lowering = Lowering {
                    compiler,
                    forest,
                    nodes: &nodes,
                    batches: &mut batches,
                };
                scalars.current(&mut lowering, products, node, quantities)?;
                continue;
            }
            let bare = current.line.is_bare || at_the_top(compiler, forest, &current.line);
            let line = (!bare).then_some(quantities);
            let helicities = conjugates(
                compiler,
                nodes[id],
                parity[id],
                (level, CONJUGATES),
                &mut batches,
            );
            let mut lowering = Lowering {
                compiler,
                forest,
                nodes: &nodes,
                batches: &mut batches,
            };
            let ratio = if line.is_none() { 1.0 } else { -1.0 };
            let massless = lowering.compiler.half_spinors
                && are_massless(lowering.compiler, recursion, current, products);
            let (products, of_merged) = merged.split(&mut lowering, recursion, products, ratio);
            let mut shares = shares(forest, &products, &nodes)?;
            shares.extend(of_merged);
            for share in &mut shares {
                share.massless = massless;
            }
            for (place, share) in shares.iter().enumerate() {
                let mode = if place == 0 { Mode::STORE } else { Mode::ADD };
                let bare = if line.is_none() { Mode::BARE } else { 0 };
                let others = other_operands(compiler, forest, share, &signs, line);
                let operands = batches.entry((level, place, share.opcode)).or_default();
                emit(
                    compiler,
                    share,
                    nodes[id],
                    &helicities,
                    mode | bare,
                    others,
                    operands,
                );
            }
        }
    }
    for (id, current) in recursion.currents.iter().enumerate() {
        if let (true, Make::Sum(terms)) = (needed[id], &current.make) {
            let level = current.line.legs.count_ones() as usize;
            let place = (level, SUMS + CONJUGATES);
            let helicities = conjugates(compiler, nodes[id], parity[id], place, &mut batches);
            let operands = batches.entry((level, SUMS, Opcode::Add)).or_default();
            add(compiler, nodes[id], &helicities, terms, &nodes, operands);
        }
    }
    let mut lowering = Lowering {
        compiler,
        forest,
        nodes: &nodes,
        batches: &mut batches,
    };
    let products = root.attach(&mut lowering, recursion, &mut scalars)?;
    compiler.operations.currents = batches
        .into_iter()
        .map(|((_, _, opcode), operands)| batch(opcode, operands))
        .collect();
    let products_size = 2 * root.products() as u32;
    let pair_stride = products_size + 2 * compiler.process.amplitudes.jamps() as u32;
    let product_base = compiler.allocate(2 * pair_stride);
    let jamp_base = product_base + products_size;
    compiler.tables();
    compiler.operations.groups = match root {
        Root::Fermion(_) => groups(compiler, forest),
        Root::Scalar(_) | Root::Vector(_) | Root::Cut(_) => {
            let all = 0..compiler.helicity_indices.len() as u32;
            all.map(|helicity| vec![helicity]).collect()
        }
    };
    compiler.plan.jamp_base = jamp_base;
    let operations = &mut compiler.operations;
    operations.pair_stride = pair_stride;
    operations.jamp = Sums::new(
        root.jamp(),
        |i| product_base + 2 * i,
        |_| unreachable!("no partial sums"),
        |i| jamp_base + 2 * i,
    );
    operations.amplitudes = products.batches(product_base);
    Some(nodes)
}

/// Whether all fermion lines of a current's vertices are massless.
fn are_massless(
    compiler: &Compiler,
    recursion: &BerendsGiele,
    current: &Current,
    products: &[Product],
) -> bool {
    let children = products.iter().flat_map(|product| &product.children);
    let lines = children.map(|&child| recursion.currents[child as usize].line);
    let is_fermion = |line: &DiagramLine| matches!(line.kind, LineKind::In | LineKind::Out);
    let mut fermions = lines.chain([current.line]).filter(is_fermion);
    fermions.all(|line| compiler.binding.value(line.mass) == 0.0)
}

/// Groups helicities in pairs that differ only in the helicity of the root.
fn groups(compiler: &Compiler, forest: &Forest) -> Vec<Vec<u32>> {
    let root = &compiler.wavefunctions[forest.root as usize].signs;
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let mut open: HashMap<Vec<u32>, usize> = HashMap::default();
    for (h, helicity_indices) in (0..).zip(&compiler.helicity_indices) {
        let rest = helicity_indices
            .iter()
            .zip(root)
            .filter(|(_, sign)| **sign == 0);
        let rest: Vec<u32> = rest.map(|(helicity_index, _)| *helicity_index).collect();
        match open.remove(&rest) {
            Some(group) => groups[group].push(h),
            None => {
                open.insert(rest, groups.len());
                groups.push(vec![h]);
            }
        }
    }
    groups
}

/// Marks the currents that the products at the root need.
fn needed(recursion: &BerendsGiele, roots: Vec<CurrentId>) -> Vec<bool> {
    let mut needed = vec![false; recursion.currents.len()];
    for id in roots {
        needed[id as usize] = true;
    }
    // Sums use currents of the same line, which may have higher indices.
    loop {
        let mut more = false;
        for id in (0..recursion.currents.len()).rev() {
            if !needed[id] {
                continue;
            }
            let mut need = |other: CurrentId| {
                more |= !needed[other as usize];
                needed[other as usize] = true;
            };
            match &recursion.currents[id].make {
                Make::Leg => {}
                Make::Sum(terms) => terms.iter().for_each(|t| need(t.0)),
                Make::Vertices(products) => {
                    products
                        .iter()
                        .flat_map(|p| &p.children)
                        .for_each(|&c| need(c));
                }
            }
        }
        if !more {
            return needed;
        }
    }
}

/// The helicities for which a current must be computed. The others are conjugates of these; their operations are added
/// here.
fn conjugates(
    compiler: &Compiler,
    node: u32,
    parity: Option<f64>,
    (level, place): (usize, usize),
    batches: &mut Batches,
) -> Vec<Example> {
    let line = &compiler.wavefunctions[node as usize];
    let Some(sign) = parity else {
        return line.examples.clone();
    };
    let opcode = if sign > 0.0 {
        Opcode::Conjugate
    } else {
        Opcode::MinusConjugate
    };
    let mut computed = Vec::new();
    for &(instance, h) in &line.examples {
        let here = line.instances[instance as usize];
        match compiler.reversed(line, h).map(|i| line.instances[i]) {
            Some(original) if original < here => {
                let operands = batches.entry((level, place, opcode)).or_default();
                operands.extend([original, here]);
            }
            _ => computed.push((instance, h)),
        }
    }
    computed
}

/// Emits the operations of a current that is a sum of others.
fn add(
    compiler: &Compiler,
    node: u32,
    helicities: &[Example],
    terms: &[(CurrentId, f64)],
    nodes: &[u32],
    operands: &mut Vec<Address>,
) {
    let with = |sign: f64| -> Vec<u32> {
        let terms = terms.iter().filter(|t| t.1 == sign);
        terms.map(|t| nodes[t.0 as usize]).collect()
    };
    let (plus, minus) = (with(1.0), with(-1.0));
    for &(instance, h) in helicities {
        operands.extend([plus.len() as u32, minus.len() as u32]);
        inputs(compiler, h, &plus, operands);
        inputs(compiler, h, &minus, operands);
        operands.push(compiler.wavefunctions[node as usize].instances[instance as usize]);
    }
}
