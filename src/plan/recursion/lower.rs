//! From currents to operations.

use super::diagrams::{Family, Forest, Form, Tree};
use super::frames::{Frames, Product};
use crate::plan::compile::{Compiler, value};
use crate::plan::kernel::{Kernel, Mode};
use crate::plan::{Address, Batch};
use crate::process::CouplingRef;
use num_complex::Complex64;
use std::collections::{BTreeMap, HashMap};

/// Operations that do not depend on each other, by what must come before: number of legs, then
/// the operation's place among those that add to one current.
type Batches = BTreeMap<(usize, usize, Kernel), Vec<Address>>;

/// Terms of one current that share a kernel and, but for a sign, the factor.
struct Share {
    kernel: Kernel,
    interaction: u32,
    coefficient: Complex64,
    plus: Vec<Vec<u32>>,
    minus: Vec<Vec<u32>>,
}

/// Fills the compiler's plan. `None` where the root's vertices are not of a fermion and a vector.
pub fn lower(compiler: &mut Compiler, forest: &Forest, frames: &Frames) -> Option<()> {
    let mut batches = Batches::new();
    let mut nodes: Vec<u32> = Vec::new();
    for current in &frames.currents {
        let tree = current.trees[0].0;
        if let Tree::Leg(w) = forest.trees[tree as usize] {
            nodes.push(w);
            continue;
        }
        let first = current.terms.first()?;
        let signs = sum_of_signs(compiler, first.children.iter().map(|&c| nodes[c as usize]));
        let line = compiler.line(signs.clone(), 4, true);
        let node = compiler.lines.len() as u32;
        compiler.lines.push(line);
        nodes.push(node);
        let mass = value(compiler.binding, current.line.mass);
        let width = value(compiler.binding, current.line.width);
        let propagator = compiler.propagator(&signs, mass, width);
        let shares = shares(forest, &current.terms, &nodes)?;
        let level = current.line.legs.count_ones() as usize;
        for (place, share) in shares.iter().enumerate() {
            let mode = if place == 0 { Mode::STORE } else { Mode::ADD };
            let factor = factor(compiler, forest, share, Some(propagator));
            let momentum = compiler.momentum(&signs);
            let mass = compiler.constant(mass);
            let operands = batches.entry((level, place, share.kernel)).or_default();
            emit(
                compiler,
                share,
                node,
                mode,
                [factor, momentum, mass],
                operands,
            );
        }
    }
    let partners = partners(compiler, forest, frames, &nodes)?;
    let mut dots = Vec::new();
    for partner in &partners {
        let share = &partner.share;
        let factor = factor(compiler, forest, share, None);
        let mass = compiler.constant(0.0);
        let operands = batches.entry((usize::MAX, 0, share.kernel)).or_default();
        let unused = [factor, mass, mass];
        emit(compiler, share, partner.node, Mode::BARE, unused, operands);
        dots.push(partner.node);
        dots.extend(partner.pairs.iter().map(|pairs| pairs.len() as u32));
        for &(node, flow) in partner.pairs.iter().flatten() {
            dots.extend([node, flow]);
        }
    }
    let plan = &mut compiler.plan;
    plan.currents = batches
        .into_iter()
        .map(|((_, _, kernel), operands)| Batch {
            kernel,
            stride: 0,
            operands,
        })
        .collect();
    let jamp_base = compiler.allocate(2 * compiler.process.color.flows);
    // The flows' numbers become addresses.
    let mut at = 0;
    while at < dots.len() {
        let count: u32 = dots[at + 1..at + 5].iter().sum();
        at += 5;
        for _ in 0..count {
            dots[at + 1] = jamp_base + 2 * dots[at + 1];
            at += 2;
        }
    }
    compiler.tables();
    let plan = &mut compiler.plan;
    plan.jamp_base = jamp_base;
    plan.jamp_adds = true;
    plan.amplitudes = vec![Batch {
        kernel: Kernel::Dots,
        stride: 0,
        operands: dots,
    }];
    Some(())
}

fn sum_of_signs(compiler: &Compiler, nodes: impl Iterator<Item = u32>) -> Vec<i8> {
    let mut signs = vec![0i8; compiler.process.legs.len()];
    for node in nodes {
        for (sign, s) in signs.iter_mut().zip(&compiler.lines[node as usize].signs) {
            *sign += s;
        }
    }
    signs
}

/// Groups the terms of a current by kernel and factor.
fn shares(forest: &Forest, terms: &[Product], nodes: &[u32]) -> Option<Vec<Share>> {
    let mut shares: Vec<Share> = Vec::new();
    for term in terms {
        let family = forest.interactions[term.interaction as usize].family;
        let kernel = match (family, term.result) {
            (Family::Ffv, 0) => Kernel::SumFfv1,
            (Family::Ffv, 1) => Kernel::SumFfv2,
            (Family::Ffv, _) => Kernel::SumFfv3,
            (Family::Vvv, _) => Kernel::SumVvv1,
            (Family::VvvvDiff, _) => Kernel::SumVvvvDiff1,
        };
        let children: Vec<u32> = term.children.iter().map(|&c| nodes[c as usize]).collect();
        let same = |share: &&mut Share, sign: f64| {
            let difference = share.coefficient * sign - term.coefficient;
            share.kernel == kernel
                && share.interaction == term.interaction
                && difference.norm() < 1e-9 * term.coefficient.norm()
        };
        if let Some(share) = shares.iter_mut().find(|s| same(s, 1.0)) {
            share.plus.push(children);
        } else if let Some(share) = shares.iter_mut().find(|s| same(s, -1.0)) {
            share.minus.push(children);
        } else {
            shares.push(Share {
                kernel,
                interaction: term.interaction,
                coefficient: term.coefficient,
                plus: vec![children],
                minus: Vec::new(),
            });
        }
    }
    Some(shares)
}

/// The factor of a share: coefficient times the vertex's constant in this form, times couplings
/// and propagator.
fn factor(
    compiler: &mut Compiler,
    forest: &Forest,
    share: &Share,
    propagator: Option<Address>,
) -> Address {
    let interaction = &forest.interactions[share.interaction as usize];
    // A bare product at the root is part of an amplitude.
    let result = match share.kernel {
        Kernel::SumFfv1 => Some(0),
        Kernel::SumFfv2 => Some(1),
        _ => Some(2),
    };
    let form = Form {
        family: interaction.family,
        result: result.filter(|_| propagator.is_some()),
    };
    let couplings: Vec<CouplingRef> = interaction.factor.iter().map(|(c, _)| *c).collect();
    let terms: Vec<(usize, Complex64)> = interaction
        .factor
        .iter()
        .enumerate()
        .map(|(i, (_, c))| (i, c * share.coefficient * form.ratio()))
        .collect();
    compiler.factor(&couplings, &terms, propagator)
}

/// Writes the operations of a share for every combination of helicities.
fn emit(
    compiler: &mut Compiler,
    share: &Share,
    node: u32,
    mode: u32,
    [factor, momentum, mass]: [Address; 3],
    operands: &mut Vec<Address>,
) {
    let examples = compiler.lines[node as usize].examples.clone();
    // Of vectors the last two may be exchanged in place of a sign.
    let exchange = matches!(share.kernel, Kernel::SumVvv1 | Kernel::SumVvvvDiff1);
    let mut plus = share.plus.clone();
    let mut minus = share.minus.clone();
    if exchange {
        for mut children in minus.drain(..) {
            let last = children.len() - 1;
            children.swap(last - 1, last);
            plus.push(children);
        }
    }
    for (instance, h) in examples {
        operands.extend([mode, plus.len() as u32]);
        if !exchange {
            operands.push(minus.len() as u32);
        }
        for children in plus.iter().chain(&minus) {
            for &child in children {
                let line = &compiler.lines[child as usize];
                operands.push(line.instances[line.instance(&compiler.digits[h])]);
            }
            if share.kernel == Kernel::SumVvv1 {
                for &child in children {
                    let signs = compiler.lines[child as usize].signs.clone();
                    operands.push(compiler.momentum(&signs));
                }
            }
        }
        operands.push(factor);
        if matches!(share.kernel, Kernel::SumFfv1 | Kernel::SumFfv2) {
            operands.extend([momentum, mass]);
        }
        operands.push(compiler.lines[node as usize].instances[instance as usize]);
    }
}

/// The root with a vector attached, and the spinors that it is multiplied with.
struct Partner {
    node: u32,
    share: Share,
    /// For each of the phases 1, -1, i, -i the spinors and colour flows.
    pairs: [Vec<(u32, u32)>; 4],
}

fn partners(
    compiler: &mut Compiler,
    forest: &Forest,
    frames: &Frames,
    nodes: &[u32],
) -> Option<Vec<Partner>> {
    let mut partners: Vec<Partner> = Vec::new();
    let mut known: HashMap<(u32, u32, u64, u64), usize> = HashMap::new();
    for (flow, products) in frames.flows.iter().enumerate() {
        for product in products {
            let family = forest.interactions[product.interaction as usize].family;
            let kernel = match (family, product.result) {
                (Family::Ffv, 0) => Kernel::SumFfv2,
                (Family::Ffv, 1) => Kernel::SumFfv1,
                _ => return None,
            };
            let [spinor, vector] = product.children[..] else {
                return None;
            };
            let vector = nodes[vector as usize];
            let (size, phase) = phase(product.coefficient);
            let rounded = |x: f64| (x * 1e9).round().to_bits();
            let key = (
                product.interaction,
                vector,
                rounded(size.re),
                rounded(size.im),
            );
            let at = *known.entry(key).or_insert_with(|| {
                let children = [forest.root, vector];
                let signs = sum_of_signs(compiler, children.into_iter());
                let line = compiler.line(signs, 4, true);
                compiler.lines.push(line);
                partners.push(Partner {
                    node: compiler.lines.len() as u32 - 1,
                    share: Share {
                        kernel,
                        interaction: product.interaction,
                        coefficient: size,
                        plus: vec![children.to_vec()],
                        minus: Vec::new(),
                    },
                    pairs: Default::default(),
                });
                partners.len() - 1
            });
            partners[at].pairs[phase].push((nodes[spinor as usize], flow as u32));
        }
    }
    // Partners over the same legs meet the same spinors: keep them together.
    partners.sort_by_key(|p| {
        let signs = &compiler.lines[p.node as usize].signs;
        (signs.iter().filter(|s| **s != 0).count(), signs.clone())
    });
    Some(partners)
}

/// A coefficient as a number times 1, -1, i or -i (by index).
fn phase(c: Complex64) -> (Complex64, usize) {
    let tiny = 1e-9 * c.norm();
    let real = |x: f64| Complex64::new(x.abs(), 0.0);
    if c.im.abs() < tiny {
        (real(c.re), usize::from(c.re < 0.0))
    } else if c.re.abs() < tiny {
        (real(c.im), 2 + usize::from(c.im < 0.0))
    } else {
        (c, 0)
    }
}
