//! Plans as loops over helicities, for processes in colour-ordered form.
//!
//! The recursion of [`mebridge_process::color_ordered`] is lowered to operations on arrays ([`mebridge_ops::arrays`]).
//! Gluon currents are computed once per event, for all helicities. Some legs are *outer* ones: their helicities are
//! evaluated one after the other, so that the JAMPs of all orders for the helicities of the other legs fit in the
//! cache. `quark` and `gluons` compute JAMPs from currents.

mod arrays;
mod boson;
mod both_ends;
mod chirality;
mod color_matrix;
mod cover;
mod gluon_currents;
mod gluons;
mod helicities;
mod lower;
mod lowering;
mod positions;
mod quark;
mod vertices;

pub use lower::{can, compile};
pub use lowering::Machine;

use super::Plan;
use mebridge_ops::Address;
use mebridge_ops::arrays::{ArrayKind, ArrayOp, Pools, ShuffleOp};
use mebridge_process::color_ordered::FlowTerm;
use serde::{Deserialize, Serialize};

/// Marks a missing helicity.
pub const NO_HELICITY: u32 = u32::MAX;

/// The loops of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loops {
    /// Address shifts for each run of `per_run`; the first is 0.
    pub runs: Vec<Vec<u32>>,
    /// Operations that are executed once per event.
    pub once: Vec<ArrayOp>,
    /// Operations that are executed in each run.
    pub per_run: Vec<ArrayOp>,
    /// Shuffles, executed after these for each helicity.
    pub shuffles: Vec<ShuffleOp>,
    /// Lists to which the operations refer.
    pub pools: Pools,
    /// Number of helicities per run.
    pub helicities: u32,
    /// Address of the JAMPs of a run, two vectors each.
    pub jamps: Address,
    /// Distances from one JAMP to the next, and from one helicity to the next.
    pub strides: [u32; 2],
    /// For each run and each of its helicities, its index among the plan's helicities, or [`NO_HELICITY`].
    pub rows: Vec<u32>,
    /// For each of `rows`, the helicity with all legs reversed if it has the same result, or [`NO_HELICITY`]; empty if
    /// every helicity is evaluated.
    pub reversed: Vec<u32>,
    /// Factors for contributions and squared JAMPs of the helicities in `rows` and in `reversed`. The helicities of a
    /// run are divided into equal parts, with one entry for each. Empty if all factors are 1.
    pub weights: Vec<[Weight; 2]>,
    /// Helicities that vanish because massless lines preserve chirality.
    pub vanishing: Vec<u32>,
    /// For each colour flow, the JAMPs it consists of; empty if each JAMP is a flow.
    pub flows: Vec<Vec<FlowTerm>>,
}

/// The square of a sum of products of factors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// Address of the result, which is computed once per event.
    pub address: Address,
    /// The products, as addresses of their factors.
    pub products: Vec<Vec<Address>>,
}

impl Loops {
    /// The helicities that share the result at `place`: the one in `rows`, and the one with all legs reversed.
    pub fn helicity_pair(&self, place: usize) -> [u32; 2] {
        let of = |all: &[u32]| all.get(place).copied().unwrap_or(NO_HELICITY);
        [of(&self.rows), of(&self.reversed)]
    }

    /// The helicity pairs of all places.
    fn all(&self) -> impl Iterator<Item = [u32; 2]> {
        (0..self.rows.len()).map(|place| self.helicity_pair(place))
    }

    /// The weights of a helicity of a run, if there are any.
    #[inline]
    pub fn weights(&self, element: u32) -> Option<&[Weight; 2]> {
        let parts = self.weights.len().max(1);
        self.weights
            .get(element as usize / (self.helicities as usize / parts).max(1))
    }

    /// The helicity that is evaluated at `place`: the first of its pair that exists.
    #[inline]
    pub fn evaluated_at(&self, place: usize) -> Option<u32> {
        self.helicity_pair(place)
            .into_iter()
            .find(|&h| h != NO_HELICITY)
    }

    /// Helicities that are evaluated.
    pub fn evaluated(&self) -> impl Iterator<Item = u32> {
        (0..self.rows.len()).filter_map(|place| self.evaluated_at(place))
    }

    /// Whether any helicity is evaluated at the `places` places starting at `place`.
    #[inline]
    pub fn is_evaluated(&self, place: usize, places: u32) -> bool {
        (place..place + places as usize).any(|place| self.evaluated_at(place).is_some())
    }

    /// All helicities: first those that are evaluated, then those that follow from them, then those that vanish.
    pub fn order(&self) -> impl Iterator<Item = u32> {
        let paired = self.pairs().map(|p| p.1);
        let vanishing = self.vanishing.iter().copied();
        self.evaluated().chain(paired).chain(vanishing)
    }

    /// Pairs of helicities, of which the first is evaluated and the second follows from it.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let both_exist = |[h, r]: &[u32; 2]| *h != NO_HELICITY && *r != NO_HELICITY;
        self.all().filter(both_exist).map(|[h, r]| (h, r))
    }

    /// Whether all operations of a plan with these loops stay within its memory, and its tables are consistent.
    pub(super) fn is_valid(&self, plan: &Plan) -> bool {
        let classes = self.runs.first().map_or(0, Vec::len);
        let none = vec![0; classes];
        let mut largest = none.clone();
        for run in &self.runs {
            for (largest, &shift) in largest.iter_mut().zip(run) {
                *largest = shift.max(*largest);
            }
        }
        let vectors = plan.vectors;
        let mut seen = vec![false; plan.helicities.len()];
        let far = |stride: u32, count: usize| u64::from(stride) * (count as u64).saturating_sub(1);
        let [of_jamp, of_helicity] = self.strides;
        let jamps = far(of_jamp, plan.flows) + far(of_helicity, self.helicities as usize) + 2;
        classes > 0
            && self
                .runs
                .iter()
                .all(|run| run.len() == classes && run[0] == 0)
            && self
                .once
                .iter()
                .all(|op| self.pools.holds(op, &none, vectors))
            && self
                .per_run
                .iter()
                .all(|op| self.pools.holds(op, &largest, vectors))
            && self.helicities > 0
            && self.rows.len() as u64 == self.runs.len() as u64 * u64::from(self.helicities)
            && self.shuffles.iter().all(|op| {
                let far = far(of_jamp, plan.flows) + 2;
                let of = (self.helicities, far);
                self.pools.holds_shuffle(op, of, &largest, vectors)
            })
            && self.jamps >= plan.jamp_base
            && u64::from(self.jamps) + jamps <= u64::from(vectors)
            && (self.reversed.is_empty() || self.reversed.len() == self.rows.len())
            && (self.helicities as usize).is_multiple_of(self.weights.len().max(1))
            && self.weights.iter().flatten().all(|weight| {
                let within =
                    |address: Address, size: u64| u64::from(address) + size <= vectors.into();
                let factors = weight.products.iter().flatten();
                within(weight.address, 1) && { factors }.all(|&factor| within(factor, 2))
            })
            && self.order().all(|h| {
                let seen = seen.get_mut(h as usize);
                seen.is_some_and(|seen| !std::mem::replace(seen, true))
            })
            && seen.iter().all(|&seen| seen)
            && self
                .flows
                .iter()
                .flatten()
                .all(|t| (t.jamp as usize) < plan.flows)
    }

    /// Numbers of elements computed in total and by contractions, and their multiply-adds.
    pub(super) fn work(&self) -> (usize, usize, usize) {
        let mut all = (0, 0, 0);
        let mut add = |op: &ArrayOp, times: usize| {
            let elements = times * op.count as usize;
            match op.kind() {
                ArrayKind::Contract | ArrayKind::ChiralContract => all.1 += elements,
                _ => all.0 += elements,
            }
            all.2 += times * self.pools.multiply_adds(op);
        };
        self.once.iter().for_each(|op| add(op, 1));
        self.per_run.iter().for_each(|op| add(op, self.runs.len()));
        for op in &self.shuffles {
            if let Some(shuffle) = self.pools.shuffles.get(op.shuffle as usize) {
                let numbers = shuffle.given as usize;
                all.1 += self.rows.len() * numbers;
                all.2 += self.rows.len() * (16 * numbers + shuffle.additions());
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::Binding;
    use crate::{Body, compile};
    use mebridge_generate::generate;
    use mebridge_ops::arrays::{
        ChiralContract, ChiralLine, Numbers, Payload, Range, Shuffle, SumGroup, Vector,
    };
    use mebridge_process::Process;

    fn compiled(text: &str) -> (Process, Plan) {
        let process = generate(text)
            .unwrap()
            .remove(0)
            .as_color_ordered()
            .unwrap();
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).unwrap();
        // Incoming massless quarks have opposite helicities.
        let quarks = process.legs[0].pdg != 21;
        let rows = (0..).zip(&process.helicities);
        let good = rows.filter(|(_, row)| !quarks || row[0] == -row[1]);
        let good = good.map(|(h, _)| h);
        let plan = compile(&process, &binding, &good.collect::<Vec<u32>>()).unwrap();
        (process, plan)
    }

    fn all_ops(plan: &Plan) -> impl Iterator<Item = &ArrayOp> {
        let loops = plan.loops().unwrap();
        loops.once.iter().chain(&loops.per_run)
    }

    fn loops_of(plan: &mut Plan) -> &mut Loops {
        match &mut plan.body {
            Body::Loops(loops) => loops,
            Body::Operations(_) => panic!("a plan of loops"),
        }
    }

    type Change = Box<dyn Fn(&mut Loops)>;

    /// Changes of what operations consist of.
    fn changes_of_payloads() -> Vec<Change> {
        fn of_payload(change: fn(&mut Payload)) -> Change {
            Box::new(move |loops| {
                let all = loops.once.iter_mut().chain(&mut loops.per_run);
                all.for_each(|op| change(&mut op.payload));
            })
        }
        fn of_vector(change: fn(&mut Vector)) -> Change {
            Box::new(move |loops| {
                for op in loops.once.iter_mut().chain(&mut loops.per_run) {
                    if let Payload::Vector(vector) = &mut op.payload {
                        change(vector);
                    }
                }
            })
        }
        let mut changes = vec![
            of_payload(|payload| {
                if let Payload::Contract(contract) = payload {
                    contract.stride.0 = 1;
                }
            }),
            of_payload(|payload| {
                if let Payload::Contract(contract) = payload {
                    contract.broadcast.0 = [1, 0];
                }
            }),
            of_payload(|payload| {
                if let Payload::Contract(contract) = payload {
                    contract.unrolled.0 = 7;
                }
            }),
            of_payload(|payload| {
                if let Payload::LineIn(line) | Payload::LineOut(line) = payload {
                    line.unrolled.0 = 0;
                }
            }),
            of_payload(|payload| {
                if let Payload::LineIn(line) | Payload::LineOut(line) = payload {
                    line.factor.0 = u32::MAX;
                }
            }),
            of_payload(|payload| {
                if let Payload::Sum(sum) = payload {
                    sum.addends.0 = [u32::MAX; 2];
                }
            }),
            of_vector(|vector| vector.triples.0 = [7, u32::MAX]),
            of_vector(|vector| {
                if let Some((_, first)) = &mut vector.pairs.folded {
                    *first = u32::MAX;
                }
            }),
            of_vector(|vector| {
                if let Some(products) = &mut vector.products {
                    products.address = u32::MAX;
                }
            }),
            of_vector(|vector| {
                if let Some(products) = &mut vector.products {
                    products.ratio.over.0 = u32::MAX;
                }
            }),
        ];
        let of_pairs: [fn(&mut Payload) -> Option<&mut Range>; 6] = [
            |payload| match payload {
                Payload::LineIn(line) => Some(&mut line.pairs.0),
                _ => None,
            },
            |payload| match payload {
                Payload::LineOut(line) => Some(&mut line.pairs.0),
                _ => None,
            },
            |payload| match payload {
                Payload::Current(current) => Some(&mut current.pairs.0),
                _ => None,
            },
            |payload| match payload {
                Payload::Vector(vector) => Some(&mut vector.pairs.range),
                _ => None,
            },
            |payload| match payload {
                Payload::Contract(contract) => Some(&mut contract.pairs.0),
                _ => None,
            },
            |payload| match payload {
                Payload::Products(products) => Some(&mut products.pairs.0),
                _ => None,
            },
        ];
        changes.extend(of_pairs.map(|pairs| -> Change {
            Box::new(move |loops| {
                let all = loops.once.iter_mut().chain(&mut loops.per_run);
                let all = all.filter_map(|op| pairs(&mut op.payload));
                all.for_each(|pairs| pairs[1] = u32::MAX);
            })
        }));
        changes
    }

    /// Changes of tables, runs and shuffles.
    fn changes_of_pools(vectors: u32) -> Vec<Change> {
        fn of_shuffle_op(change: fn(&mut ShuffleOp)) -> Change {
            Box::new(move |l| change(&mut l.shuffles[0]))
        }
        fn of_shuffle(change: fn(&mut Shuffle)) -> Change {
            Box::new(move |l| change(&mut l.pools.shuffles[0]))
        }
        vec![
            Box::new(move |l| {
                let products = l.pools.products.iter_mut().flatten();
                products.for_each(|place| place.address = vectors - 1);
            }),
            Box::new(|l| l.pools.indices.iter_mut().for_each(|i| *i = u32::MAX)),
            Box::new(|l| l.pools.indices.truncate(3)),
            Box::new(|l| l.pools.pairs.iter_mut().for_each(|p| p.a.shift = 1 << 20)),
            Box::new(|l| l.pools.pairs.iter_mut().for_each(|p| p.b.index = u32::MAX)),
            Box::new(move |l| l.pools.addends.iter_mut().for_each(|a| a.address = vectors)),
            Box::new(move |l| {
                l.pools
                    .triples
                    .iter_mut()
                    .for_each(|t| t.operands[2].address = vectors)
            }),
            Box::new(move |l| l.pools.buffer = vectors),
            Box::new(move |l| l.runs[0].iter_mut().skip(1).for_each(|s| *s = vectors)),
            Box::new(|l| l.runs.clear()),
            Box::new(|l| l.rows[1] = l.rows[0]),
            Box::new(|l| l.rows[0] = 1 << 20),
            Box::new(|l| l.reversed[0] = l.reversed[1]),
            Box::new(|l| l.reversed[0] = 1 << 20),
            Box::new(|l| l.reversed.truncate(3)),
            Box::new(|l| l.helicities *= 2),
            Box::new(move |l| l.jamps = vectors - 2),
            Box::new(|l| l.jamps = 0),
            Box::new(|l| l.strides[1] = 1 << 30),
            Box::new(move |l| l.pools.sums = vectors),
            Box::new(move |l| l.pools.sums = vectors - 2),
            Box::new(move |l| l.pools.numbers = vectors),
            of_shuffle_op(|op| op.pairs[0] = u32::MAX),
            of_shuffle_op(|op| op.pairs = op.pairs.map(|pair| pair + (1 << 20))),
            of_shuffle_op(|op| op.pairs[1] -= 1),
            of_shuffle_op(|op| op.targets[1] = u32::MAX),
            of_shuffle_op(|op| op.targets[0] += 1),
            of_shuffle_op(|op| op.shuffle = u32::MAX),
            Box::new(|l| l.pools.shuffles.clear()),
            Box::new(move |l| l.pools.targets.iter_mut().for_each(|t| *t = vectors)),
            of_shuffle(|s| s.all = 1),
            of_shuffle(|s| s.all = u32::MAX),
            of_shuffle(|s| s.of.truncate(1)),
            of_shuffle(|s| s.of.push(0)),
            of_shuffle(|s| s.of[0] = u16::MAX),
            of_shuffle(|s| s.sums.iter_mut().for_each(|sum| sum[1] = u16::MAX)),
            of_shuffle(|s| s.groups[0].counts[3] = 200),
            of_shuffle(|s| s.groups[0].results += 1),
            of_shuffle(|s| s.groups[0] = Default::default()),
            of_shuffle(|s| {
                let endless = SumGroup {
                    results: u32::MAX,
                    counts: [0; 4],
                };
                s.groups.push(endless);
            }),
            of_shuffle(|s| s.groups.truncate(1)),
            of_shuffle(|s| s.steps[0][0] = 1 << 20),
            of_shuffle(|s| s.steps[0][1] = 1 << 20),
            of_shuffle(|s| s.steps.clear()),
            Box::new(|l| {
                l.flows = vec![vec![FlowTerm {
                    jamp: 120,
                    minus: false,
                }]]
            }),
        ]
    }

    /// Validation covers everything that an engine accesses without checks: each of these changes would make it leave
    /// its memory.
    #[test]
    fn loops_that_lead_astray_are_refused() {
        // Massless ends, whose helicities are outer ones. Half of the helicities are evaluated.
        let (process, plan) = compiled("u u~ > g g g g");
        let vectors = plan.vectors;
        assert!(plan.clone().validate(&process).is_ok());
        // All kinds of operations occur.
        let kinds = ArrayKind::ALL.iter().copied();
        let kinds = kinds.filter(|&kind| all_ops(&plan).any(|op| op.kind() == kind));
        let kinds: Vec<ArrayKind> = kinds.collect();
        assert_eq!(kinds.len(), 7, "{kinds:?}");
        let of_op = |change: fn(&mut ArrayOp, u32)| -> Vec<Change> {
            let change = |&kind: &ArrayKind| -> Change {
                Box::new(move |loops: &mut Loops| {
                    let all = loops.once.iter_mut().chain(&mut loops.per_run);
                    all.filter(|op| op.kind() == kind)
                        .for_each(|op| change(op, vectors));
                })
            };
            kinds.iter().map(change).collect()
        };
        let mut changes = of_op(|op, vectors| op.out = vectors - 1);
        changes.extend(of_op(|op, _| op.out = u32::MAX));
        changes.extend(of_op(|op, _| op.count = 1 << 30));
        changes.extend(changes_of_payloads());
        changes.extend(changes_of_pools(vectors));
        for (i, change) in changes.iter().enumerate() {
            let mut other = plan.clone();
            let loops = loops_of(&mut other);
            change(loops);
            let same = other.body == plan.body;
            let valid = other.validate(&process).is_ok();
            assert!(!same && !valid, "change {i}");
        }
        let mut other = plan.clone();
        other.body = Default::default();
        assert!(other.validate(&process).is_err());
    }

    /// The same for operations that occur for gluons alone only.
    #[test]
    fn numbers_that_lead_astray_are_refused() {
        let (process, plan) = compiled("g g > g g g");
        assert!(plan.clone().validate(&process).is_ok());
        fn numbers(loops: &mut Loops) -> impl Iterator<Item = &mut Numbers> {
            let of_all = loops
                .per_run
                .iter_mut()
                .filter_map(|op| match &mut op.payload {
                    Payload::Contract(contract) => Some(&mut contract.numbers),
                    _ => None,
                });
            of_all.filter(|numbers| !numbers.is_empty())
        }
        type Change = Box<dyn Fn(&mut Loops, u32)>;
        let changes: [Change; 9] = [
            Box::new(|l, vectors| l.pools.first_numbers = vectors - 8),
            Box::new(|l, _| l.pools.triples.iter_mut().for_each(|t| t.ends = u32::MAX)),
            Box::new(|l, _| {
                // The first end comes after the last one.
                for triple in &l.pools.triples {
                    let ends = triple.ends as usize;
                    let last = l.pools.indices[ends + 3];
                    l.pools.indices[ends] = last + 2;
                }
            }),
            Box::new(|l, _| {
                // Points into the middle of a complex number.
                let triple = &l.pools.triples[0];
                l.pools.indices[triple.ends as usize] = 1;
            }),
            Box::new(|l, _| numbers(l).for_each(|numbers| numbers.splits[1] = u32::MAX)),
            Box::new(|l, _| numbers(l).for_each(|numbers| numbers.pairs.0[1] = u32::MAX)),
            Box::new(|l, vectors| {
                let splits = l.pools.splits.iter_mut();
                splits.for_each(|split| split.first[1].address = vectors - 1);
            }),
            Box::new(|l, vectors| {
                let splits = l.pools.splits.iter_mut();
                splits.for_each(|split| split.second[0].address = vectors - 1);
            }),
            Box::new(|l, vectors| {
                let pairs: Vec<Range> = numbers(l).map(|numbers| numbers.pairs.0).collect();
                for [from, to] in pairs {
                    let pairs = &mut l.pools.pairs[from as usize..to as usize];
                    pairs
                        .iter_mut()
                        .for_each(|pair| pair.a.address = vectors - 1);
                }
            }),
        ];
        for (i, change) in changes.iter().enumerate() {
            let mut other = plan.clone();
            change(loops_of(&mut other), plan.vectors);
            assert!(other.body != plan.body, "change {i}");
            assert!(other.validate(&process).is_err(), "change {i}");
        }
    }

    /// A massless line with a boson is evaluated for one chirality; contributions of the other follow from it, or
    /// vanish.
    #[test]
    fn one_chirality_is_evaluated() {
        for (text, paired) in [("d d~ > z g g", true), ("u d~ > w+ g g", false)] {
            let (process, plan) = compiled(text);
            assert!(plan.clone().validate(&process).is_ok());
            let loops = plan.loops().unwrap();
            let half = plan.helicities.len() / 2;
            assert_eq!(loops.evaluated().count(), half, "{text}");
            let (pairs, vanishing) = (loops.pairs().count(), loops.vanishing.len());
            let expected = if paired { (half, 0) } else { (0, half) };
            assert_eq!((pairs, vanishing), expected, "{text}");
            assert_eq!(loops.weights.len(), 1);
            fn of_lines(loops: &mut Loops) -> impl Iterator<Item = &mut ChiralLine> {
                loops
                    .per_run
                    .iter_mut()
                    .filter_map(|op| match &mut op.payload {
                        Payload::ChiralLineIn(line) | Payload::ChiralLineOut(line) => Some(line),
                        _ => None,
                    })
            }
            fn of_contractions(loops: &mut Loops) -> impl Iterator<Item = &mut ChiralContract> {
                loops
                    .per_run
                    .iter_mut()
                    .filter_map(|op| match &mut op.payload {
                        Payload::ChiralContract(contract) => Some(contract),
                        _ => None,
                    })
            }
            let changes: [fn(&mut Loops); 11] = [
                |l| l.weights[0][0].address = u32::MAX,
                |l| l.weights[0][1].address = 1 << 29,
                |l| l.weights[0][0].products[0][0] = u32::MAX,
                |l| l.weights = vec![l.weights[0].clone(); 7],
                |l| l.vanishing.push(0),
                |l| of_lines(l).for_each(|line| line.pairs.0[1] = u32::MAX),
                |l| of_lines(l).for_each(|line| line.less.0.0 = [1, 0]),
                |l| {
                    let propagators = of_lines(l).filter_map(|line| line.propagator.as_mut());
                    propagators.for_each(|propagator| propagator.inverse.0 = u32::MAX);
                },
                |l| of_contractions(l).for_each(|contract| contract.pairs.0 = [1, 0]),
                |l| of_contractions(l).for_each(|contract| contract.stride.0 = 1),
                |l| of_contractions(l).for_each(|contract| contract.unrolled.0 = 7),
            ];
            for (i, change) in changes.iter().enumerate() {
                let mut other = plan.clone();
                change(loops_of(&mut other));
                assert!(other.validate(&process).is_err(), "{text}: change {i}");
            }
        }
    }

    /// Reversing all helicities of massless particles gives the same result; a width breaks this symmetry.
    #[test]
    fn half_of_the_helicities_of_massless_particles_are_evaluated() {
        for (text, paired) in [
            ("g g > g g g", true),
            ("u u~ > g g g", true),
            ("g g > t t~ g", false),
        ] {
            let (_, plan) = compiled(text);
            let loops = plan.loops().unwrap();
            let halves = if paired { 2 } else { 1 };
            let evaluated = loops.evaluated().count();
            assert_eq!(halves * evaluated, plan.helicities.len(), "{text}");
            let row = |h: u32| plan.helicities[h as usize];
            assert!(loops.pairs().all(|(h, r)| row(h) != row(r)));
        }
    }

    /// Currents of gluons are computed once; the number of operations of a larger process does not grow with the number
    /// of its helicities.
    #[test]
    fn operations_do_not_grow_with_helicities() {
        let (_, plan) = compiled("g g > t t~ g g g");
        let loops = plan.loops().unwrap();
        let operations = loops.once.len() + loops.per_run.len();
        assert!(operations < 2000, "{operations}");
        assert!(plan.count.multiply_adds > 1_000_000);
    }
}
