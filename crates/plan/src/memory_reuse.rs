//! Allocation of memory to wavefunctions: memory is reused after its last read.
//!
//! A block of events that fits into L2 is evaluated without waiting for memory. The order of operations computes small
//! currents first. This pass gives each wavefunction (and each matrix of squared diagrams) memory when it is computed,
//! and frees it after the batch that reads it last. Wavefunctions that helicities look up stay until the next tile
//! after the last such helicity, or until the end. The memory freed last is reused first, as it is most likely to be in
//! the L1 cache. If no block of the right size is free, a larger one is split.

use super::Plan;
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch, GeneralRoutine};
use std::collections::BTreeMap;

/// Memory and lifetime of a wavefunction or a matrix.
#[derive(Clone, Copy)]
struct Lifetime {
    start: Address,
    vectors: u32,
    first: usize,
    last: usize,
}

/// Assigns new addresses to all wavefunctions. Returns `None`, and leaves the plan unchanged, if its operations are
/// malformed.
pub fn reuse(plan: &mut Plan) -> Option<()> {
    let looked_up = looked_up(plan)?;
    let objects = objects(plan, &looked_up)?;
    let mut map = Map::new(plan, &objects);
    let mut new = plan.clone();
    map.persistent(&mut new);
    let steps = steps(plan).count();
    let mut ends: Vec<Vec<&Lifetime>> = vec![Vec::new(); steps];
    let mut coming = objects.iter().peekable();
    for step in 0..steps {
        while let Some(object) = coming.next_if(|object| object.first == step) {
            map.place(object);
            ends[object.last].push(object);
        }
        for object in std::mem::take(&mut ends[step]) {
            map.free(object);
        }
    }
    for external in &mut new.externals {
        external
            .results
            .iter_mut()
            .for_each(|r| *r = map.new_address(*r));
    }
    let old = plan.operations();
    let operations = new.operations_mut()?;
    let tiles = operations.tiles.iter_mut();
    let tiles = tiles.flat_map(|tile| &mut tile.currents);
    let batches = operations.currents.iter_mut();
    let batches = batches.chain(&mut operations.channels.squares);
    for batch in batches.chain(tiles) {
        map.batch(batch, &old.general, false)?;
    }
    for (table, old) in operations.tables.iter_mut().zip(&old.tables) {
        table.fill(0);
        for &i in &looked_up {
            table[i as usize] = map.new_address(old[i as usize]);
        }
    }
    for batch in &mut operations.amplitudes {
        map.batch(batch, &old.general, true)?;
    }
    new.vectors = map.end;
    *plan = new;
    Some(())
}

/// One step of a plan.
enum PlanStep<'a> {
    Externals,
    Batch(&'a Batch),
    Groups(&'a [Vec<u32>]),
}

/// The steps of a plan, in order.
fn steps(plan: &Plan) -> impl Iterator<Item = PlanStep<'_>> {
    let plan = plan.operations();
    let before = plan.currents.iter().chain(&plan.channels.squares);
    // The first group of a tile.
    let start_of = |tile: usize| match plan.tiles.get(tile) {
        Some(tile) => tile.group as usize,
        None => plan.groups.len(),
    };
    let groups = move |start, tile| PlanStep::Groups(&plan.groups[start..start_of(tile)]);
    let tiles = plan.tiles.iter().zip(1..).flat_map(move |(tile, next)| {
        let currents = tile.currents.iter().map(PlanStep::Batch);
        currents.chain([groups(tile.group as usize, next)])
    });
    std::iter::once(PlanStep::Externals)
        .chain(before.map(PlanStep::Batch))
        .chain([groups(0, 0)])
        .chain(tiles)
}

/// The table entries that amplitudes look up.
pub(super) fn looked_up(plan: &Plan) -> Option<Vec<u32>> {
    let mut used = Vec::new();
    let operations = plan.operations();
    for batch in &operations.amplitudes {
        visit(batch, &operations.general, true, &mut |operand, access| {
            if let Access::Indexed(_) = access {
                used.push(operand);
            }
        })?;
    }
    used.sort_unstable();
    used.dedup();
    Some(used)
}

/// The wavefunctions and matrices that can be moved, in the order in which they are computed.
fn objects(plan: &Plan, looked_up: &[u32]) -> Option<Vec<Lifetime>> {
    let mut objects = Objects {
        at: vec![None; plan.vectors as usize],
        all: Vec::new(),
    };
    let operations = plan.operations();
    for (at, step) in steps(plan).enumerate() {
        match step {
            PlanStep::Externals => {
                for external in &plan.externals {
                    let vectors = 2 * (external.kind.components() - 2);
                    for &result in &external.results {
                        objects.write(result, vectors, at);
                    }
                }
            }
            PlanStep::Batch(batch) => {
                visit(
                    batch,
                    &operations.general,
                    false,
                    &mut |to, access| match access {
                        Access::Write(vectors) | Access::Update(vectors) => {
                            objects.write(to, vectors, at);
                        }
                        Access::Read(_) => objects.read(to, at),
                        Access::Indexed(_) | Access::Number => {}
                    },
                )?;
            }
            PlanStep::Groups(groups) => {
                for &h in groups.iter().flatten() {
                    for &i in looked_up {
                        objects.read(operations.tables[h as usize][i as usize], at);
                    }
                }
            }
        }
    }
    // Totals must stay contiguous.
    for &total in &operations.channels.totals {
        objects.at[total as usize] = None;
    }
    let Objects { at, mut all } = objects;
    all.retain(|object| at[object.start as usize].is_some());
    all.sort_by_key(|object| (object.first, object.start));
    Some(all)
}

/// The wavefunctions and matrices seen so far.
struct Objects {
    /// For each address the object that begins there.
    at: Vec<Option<u32>>,
    all: Vec<Lifetime>,
}

impl Objects {
    fn write(&mut self, start: Address, vectors: u32, step: usize) {
        let next = self.all.len() as u32;
        let object = *self.at[start as usize].get_or_insert(next);
        if object == next {
            self.all.push(Lifetime {
                start,
                vectors,
                first: step,
                last: step,
            });
        }
        self.all[object as usize].last = step;
    }

    fn read(&mut self, start: Address, step: usize) {
        if let Some(object) = self.at[start as usize] {
            self.all[object as usize].last = step;
        }
    }
}

/// Maps old addresses to new ones.
struct Map {
    new: Vec<Address>,
    /// Free addresses by size.
    free: BTreeMap<u32, Vec<Address>>,
    end: Address,
}

impl Map {
    /// All other numbers are moved to the beginning, in their order.
    fn new(plan: &Plan, objects: &[Lifetime]) -> Self {
        let mut movable = vec![false; plan.vectors as usize];
        for object in objects {
            movable[object.start as usize..][..object.vectors as usize].fill(true);
        }
        let mut end = 0;
        let new = movable
            .iter()
            .map(|movable| {
                end += u32::from(!movable);
                end.wrapping_sub(1)
            })
            .collect();
        Map {
            new,
            free: BTreeMap::new(),
            end,
        }
    }

    fn new_address(&self, old: Address) -> Address {
        self.new[old as usize]
    }

    fn place(&mut self, object: &Lifetime) {
        let at = self.find(object.vectors).unwrap_or_else(|| {
            self.end += object.vectors;
            self.end - object.vectors
        });
        for i in 0..object.vectors {
            self.new[(object.start + i) as usize] = at + i;
        }
    }

    /// Takes a free block of this size, or the front of the smallest larger one.
    fn find(&mut self, vectors: u32) -> Option<Address> {
        let mut places = self.free.range_mut(vectors..);
        let (size, at) = places.find_map(|(&size, at)| Some((size, at.pop()?)))?;
        if size > vectors {
            let rest = self.free.entry(size - vectors).or_default();
            rest.push(at + vectors);
        }
        Some(at)
    }

    fn free(&mut self, object: &Lifetime) {
        let at = self.new_address(object.start);
        self.free.entry(object.vectors).or_default().push(at);
    }

    /// Rewrites the operands of a batch.
    fn batch(&self, batch: &mut Batch, general: &[GeneralRoutine], tables: bool) -> Option<()> {
        let mut operands = Vec::with_capacity(batch.operands.len());
        visit(batch, general, tables, &mut |operand, access| {
            operands.push(match access {
                Access::Number | Access::Indexed(_) => operand,
                Access::Read(_) | Access::Write(_) | Access::Update(_) => self.new_address(operand),
            });
        })?;
        batch.operands = operands;
        Some(())
    }

    /// Rewrites the addresses of all numbers that are not reallocated.
    fn persistent(&self, plan: &mut Plan) {
        let to = |at: &mut Address| *at = self.new_address(*at);
        to(&mut plan.leg_momenta);
        plan.constants.iter_mut().for_each(|c| to(&mut c.0));
        plan.couplings.iter_mut().for_each(to);
        plan.momenta.iter_mut().for_each(|m| to(&mut m.address));
        plan.squares.iter_mut().for_each(|s| to(&mut s.address));
        for product in &mut plan.products {
            to(&mut product.address);
            product.squares.iter_mut().for_each(to);
        }
        for propagator in &mut plan.propagators {
            to(&mut propagator.address);
            to(&mut propagator.momentum);
            if let Some(virtuality) = &mut propagator.virtuality {
                virtuality.squares.iter_mut().for_each(to);
                let terms = virtuality.terms.iter_mut();
                terms.for_each(|(product, _)| to(product));
            }
        }
        for factor in &mut plan.factors {
            to(&mut factor.address);
            factor.propagator.iter_mut().for_each(to);
        }
        to(&mut plan.jamp_base);
        let Some(plan) = plan.operations_mut() else {
            return;
        };
        plan.jamp.sums.iter_mut().for_each(|s| to(&mut s.address));
        plan.jamp.units.iter_mut().for_each(to);
        for term in &mut plan.jamp.terms {
            to(&mut term.re);
            to(&mut term.im);
        }
        plan.channels.totals.iter_mut().for_each(to);
        plan.channels
            .amp2
            .iter_mut()
            .flatten()
            .flatten()
            .for_each(to);
    }
}
