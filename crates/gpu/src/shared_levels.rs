//! The levels of a schedule for one kernel, which passes values through shared memory (`cuda/levels.cuh`).
//!
//! A launch for each kind of operation and level passes its results through the L2 cache and takes some microseconds
//! however few events there are. If the values of a few events fit into the shared memory of a multiprocessor, a block of
//! threads takes these events from level to level instead. What only later levels read is in shared memory, at addresses
//! that are used again after the last level that reads them. What is read after the levels goes to the memory of events,
//! at the addresses of the schedule.

use super::level_schedule::{Amp2Source, LevelSchedule, OperationKind};
use mebridge_ops::Address;
use mebridge_ops::opcode::Consumed;
use mebridge_ops::visit::Access;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// Threads per block.
pub const LEVELS_THREADS: u32 = 512;

/// Least number of launches that the kernel replaces.
const LEAST_LAUNCHES: usize = 6;

/// Instructions of an operation beside loads, stores and multiply-adds, and those of a copy to the memory of events.
const INSTRUCTIONS: u32 = 50;
const COPY: u32 = 100;

/// In the place of an operation of a slot that has none.
pub const NO_OPERATION: u32 = u32::MAX;

/// A form has code of its own if at least one of this many operations has it. With more code, instructions do not fit into
/// the cache.
const SHARE_OF_FORM: usize = 60;

/// Operations that are executed by the same code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationForm {
    /// Their kind.
    pub kind: OperationKind,
    /// Whether results go to the memory of events.
    pub outside: bool,
    /// Their first operands, counts of terms and modes, if they are the same for all: the compiler unrolls the loops.
    pub head: Vec<u32>,
}

/// The operations of all levels, with their addresses in shared memory.
#[derive(Clone, Debug)]
pub struct SharedLevels {
    /// Events of a block of threads.
    pub lanes: u32,
    /// Numbers per event in shared memory.
    pub vectors: u32,
    /// The forms of operations, by their numbers in the tables; the next number is that of copies to the memory of events.
    pub forms: Vec<OperationForm>,
    /// All tables, beginning with operands.
    pub tables: Vec<u32>,
    /// Start of the pairs of addresses, outside and in shared memory, of numbers that come from the memory of events.
    pub inputs: u32,
    /// Number of these pairs.
    pub input_count: u32,
    /// Start of the operations of each level and warp: the form, and the start of the operands for each slot of a warp.
    pub operations: u32,
    /// Start of the ends of these lists.
    pub ends: u32,
    /// Number of levels.
    pub level_count: u32,
}

/// A value in the memory of events.
struct Value {
    vectors: u32,
    /// Levels that begin and end to write it; `None` if it is there before the first.
    written: Option<[usize; 2]>,
    /// Last level that uses it.
    last: usize,
    /// Whether a level reads it or adds to it.
    is_inside: bool,
    /// Whether it is read after the levels.
    is_kept: bool,
}

/// An operation with its operands in shared memory.
struct Operation {
    form: u32,
    start: u32,
    cost: u32,
}

/// Free ranges of shared memory.
#[derive(Default)]
struct Room {
    /// Starts of free ranges by their size.
    free: HashMap<u32, Vec<Address>>,
    end: Address,
}

impl Room {
    /// Returns a place at an even address, so that one instruction reads two numbers.
    fn take(&mut self, vectors: u32) -> Address {
        let vectors = vectors.next_multiple_of(2);
        if let Some(at) = self.free.get_mut(&vectors).and_then(Vec::pop) {
            return at;
        }
        self.end += vectors;
        self.end - vectors
    }

    fn give(&mut self, at: Address, vectors: u32) {
        let vectors = vectors.next_multiple_of(2);
        self.free.entry(vectors).or_default().push(at);
    }
}

/// Where the values of all levels are.
struct Placement {
    values: Vec<(Address, Value)>,
    /// Addresses in shared memory; other values are outside.
    inside: HashMap<Address, Address>,
    /// Values that nothing reads.
    unread: HashSet<Address>,
    /// Numbers per event in shared memory.
    vectors: u32,
    level_count: usize,
}

impl Placement {
    /// Assigns addresses in shared memory. `sums` tells whether values to which several levels add are there even if no
    /// level reads them, `squares` whether squared diagrams follow the levels.
    fn new(schedule: &LevelSchedule, sums: bool, squares: bool) -> Option<Placement> {
        let values = values(schedule, sums, squares)?;
        let level_count = 1 + values.iter().map(|(_, value)| value.last).max()?;
        let mut room = Room::default();
        let mut inside: HashMap<Address, Address> = HashMap::default();
        for level in 0..level_count {
            let all = || values.iter().filter(|(_, value)| value.is_inside);
            for (address, value) in all().filter(|(_, value)| value.first_level() == level) {
                inside.insert(*address, room.take(value.vectors));
            }
            for (address, value) in all().filter(|(_, value)| value.last == level) {
                room.give(*inside.get(address)?, value.vectors);
            }
        }
        let unread = values
            .iter()
            .filter(|(_, value)| !value.is_inside && !value.is_kept);
        Some(Placement {
            unread: unread.map(|(address, _)| *address).collect(),
            values,
            inside,
            vectors: room.end,
            level_count,
        })
    }

    /// Returns the form of an operation.
    fn form(
        &self,
        kind: OperationKind,
        (numbers, accesses): (&[u32], &[Access]),
    ) -> Option<OperationForm> {
        Some(OperationForm {
            kind,
            outside: !self.inside.contains_key(numbers.last()?),
            head: head(kind, numbers, accesses),
        })
    }
}

impl SharedLevels {
    /// Returns the tables if launches are saved and enough events fit into the shared memory of a multiprocessor.
    /// `squares` tells whether squared diagrams are computed after the levels; what only these read is not computed for
    /// calls without them. `warp` is the number of threads of a warp and of events in a block of the memory of events, and `shared_per_block`
    /// the bytes of shared memory that a block of threads may request.
    pub fn new(
        schedule: &LevelSchedule,
        squares: bool,
        shared_per_block: usize,
        double: bool,
        warp: u32,
    ) -> Option<SharedLevels> {
        let launches: usize = schedule.levels.iter().map(Vec::len).sum();
        let all = schedule.levels.iter().flatten();
        let lengths = all.flat_map(|range| range.operations().map(|i| schedule.length(i)));
        let operands: usize = lengths.sum();
        if launches < LEAST_LAUNCHES || 4 * operands > shared_per_block {
            return None;
        }
        // Sums that go on in shared memory wait less, but more events at a time gain more.
        let placements = [true, false].map(|sums| Placement::new(schedule, sums, squares));
        // As many events as the banks of shared memory serve at a time, or fewer.
        let most = if double { 16 } else { 32 }.min(warp);
        [most, most / 2].into_iter().find_map(|lanes| {
            let mut all = placements
                .iter()
                .flatten()
                .filter_map(|placement| SharedLevels::with_lanes(schedule, placement, lanes, warp));
            all.find(|levels| levels.bytes(double) <= shared_per_block)
        })
    }

    /// Returns the bytes of dynamic shared memory of a block.
    pub fn bytes(&self, double: bool) -> usize {
        let real = if double { 8 } else { 4 };
        4 * self.tables.len() + (self.vectors * self.lanes) as usize * real
    }

    /// Assigns operations to warps, and writes the tables.
    fn with_lanes(
        schedule: &LevelSchedule,
        placement: &Placement,
        lanes: u32,
        warp: u32,
    ) -> Option<SharedLevels> {
        let forms = forms(schedule, placement)?;
        let inside = |address: &Address| placement.inside.get(address).copied();
        let (mut inputs, mut tables) = (Vec::new(), Vec::new());
        let (mut operations, mut ends) = (Vec::new(), Vec::new());
        for (address, value) in &placement.values {
            if let (None, Some(at)) = (value.written, inside(address)) {
                inputs.extend((0..value.vectors).flat_map(|i| [address + i, at + i]));
            }
        }
        for level in 0..placement.level_count {
            let mut of_level = Vec::new();
            let values = placement.values.iter();
            for (address, value) in values.filter(|(_, value)| value.copied() == Some(level)) {
                of_level.push(Operation {
                    form: forms.len() as u32,
                    start: tables.len() as u32,
                    cost: COPY,
                });
                tables.extend([*address, inside(address)?, value.vectors]);
            }
            for range in schedule.levels.get(level).into_iter().flatten() {
                for operation in range.operations() {
                    let (numbers, accesses) = schedule.operation(operation)?;
                    if placement.unread.contains(numbers.last()?) {
                        continue;
                    }
                    let mut form = placement.form(range.kind, (numbers, accesses))?;
                    let number = forms.binary_search(&form).or_else(|_| {
                        form.head.clear();
                        forms.binary_search(&form)
                    });
                    of_level.push(Operation {
                        form: number.ok()? as u32,
                        start: tables.len() as u32,
                        cost: cost(range.kind, numbers, accesses),
                    });
                    for (number, access) in numbers.iter().zip(accesses) {
                        tables.push(match access {
                            Access::Read(_) => inside(number)?,
                            Access::Write(_) | Access::Update(_) if !form.outside => {
                                inside(number)?
                            }
                            _ => *number,
                        });
                    }
                }
            }
            assign(of_level, warp / lanes, LEVELS_THREADS / warp, |list| {
                operations.extend(list);
                ends.push(operations.len() as u32);
            });
        }
        let input_count = inputs.len() as u32 / 2;
        let mut put = |table: Vec<u32>| {
            let start = tables.len() as u32;
            tables.extend(table);
            start
        };
        let [inputs, operations, ends] = [inputs, operations, ends].map(&mut put);
        // The numbers that follow begin with the first bank of shared memory.
        tables.resize(tables.len().next_multiple_of(32), 0);
        Some(SharedLevels {
            lanes,
            vectors: placement.vectors,
            forms,
            tables,
            inputs,
            input_count,
            operations,
            ends,
            level_count: placement.level_count as u32,
        })
    }
}

/// Returns the instructions of an operation, approximately.
fn cost(kind: OperationKind, numbers: &[u32], accesses: &[Access]) -> u32 {
    let mut consumed = Consumed::default();
    for (i, (&number, &access)) in numbers.iter().zip(accesses).enumerate() {
        consumed.operand(number, access, i == 0);
    }
    let multiply_adds = match kind {
        OperationKind::Opcode(opcode) => opcode.multiply_adds(consumed),
        OperationKind::Momentum | OperationKind::Propagator => 10,
        _ => 30,
    };
    let each = accesses.iter().map(|access| match *access {
        Access::Read(vectors) | Access::Write(vectors) | Access::Update(vectors) => 3 + vectors / 2,
        Access::Number | Access::Indexed(_) => 1,
    });
    INSTRUCTIONS + each.sum::<u32>() + multiply_adds as u32 * 5 / 4
}

/// Groups operations of a form by the slots of a warp, and divides the groups between warps; calls `put` with the list of
/// each warp.
fn assign(mut operations: Vec<Operation>, slots: u32, warps: u32, mut put: impl FnMut(Vec<u32>)) {
    // The threads of a warp wait for its longest operation.
    operations.sort_by_key(|operation| (operation.form, std::cmp::Reverse(operation.cost)));
    let same_form = operations.chunk_by(|a, b| a.form == b.form);
    let mut groups: Vec<&[Operation]> = same_form
        .flat_map(|same| same.chunks(slots as usize))
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group[0].cost));
    let mut of_warp: Vec<(u32, Vec<&[Operation]>)> = vec![Default::default(); warps as usize];
    for group in groups {
        if let Some((cost, list)) = of_warp.iter_mut().min_by_key(|(cost, _)| *cost) {
            *cost += group[0].cost;
            list.push(group);
        }
    }
    for (_, mut list) in of_warp {
        // The same code one after the other.
        list.sort_by_key(|group| group[0].form);
        put(list
            .into_iter()
            .flat_map(|group| {
                let starts = group.iter().map(|operation| operation.start);
                let rest = std::iter::repeat_n(NO_OPERATION, slots as usize - group.len());
                std::iter::once(group[0].form).chain(starts).chain(rest)
            })
            .collect());
    }
}

/// Returns the first operands of an operation if all are counts and modes.
fn head(kind: OperationKind, numbers: &[u32], accesses: &[Access]) -> Vec<u32> {
    match kind {
        OperationKind::Momentum | OperationKind::Opcode(_) => {
            let plain = accesses
                .iter()
                .take_while(|access| **access == Access::Number);
            numbers[..plain.count()].to_vec()
        }
        _ => Vec::new(),
    }
}

/// Returns the forms with code of their own: those of many operations, and one for the others of a kind.
fn forms(schedule: &LevelSchedule, placement: &Placement) -> Option<Vec<OperationForm>> {
    let mut counts: BTreeMap<OperationForm, usize> = BTreeMap::new();
    for range in schedule.levels.iter().flatten() {
        for operation in range.operations() {
            let form = placement.form(range.kind, schedule.operation(operation)?)?;
            *counts.entry(form).or_default() += 1;
        }
    }
    let all: usize = counts.values().sum();
    let of_its_own = |(mut form, count): (OperationForm, usize)| {
        if count * SHARE_OF_FORM < all {
            form.head.clear();
        }
        form
    };
    let mut forms: Vec<OperationForm> = counts.into_iter().map(of_its_own).collect();
    forms.sort_unstable();
    forms.dedup();
    Some(forms)
}

impl Value {
    /// Returns the level from which on it needs a place.
    fn first_level(&self) -> usize {
        self.written.map_or(0, |[begin, _]| begin)
    }

    /// Returns the level that copies it to the memory of events.
    fn copied(&self) -> Option<usize> {
        let [_, end] = self.written?;
        (self.last > end && self.is_kept).then_some(end + 1)
    }
}

/// Returns the values that levels use, in the order of their addresses.
fn values(schedule: &LevelSchedule, sums: bool, squares: bool) -> Option<Vec<(Address, Value)>> {
    let afterwards = read_afterwards(schedule, squares);
    let mut values: HashMap<Address, Value> = HashMap::default();
    for (level, ranges) in schedule.levels.iter().enumerate() {
        for operation in ranges.iter().flat_map(|range| range.operations()) {
            let (numbers, accesses) = schedule.operation(operation)?;
            for (&address, access) in numbers.iter().zip(accesses) {
                let (vectors, written) = match *access {
                    Access::Read(vectors) => (vectors, None),
                    Access::Write(vectors) | Access::Update(vectors) => (vectors, Some([level; 2])),
                    Access::Number | Access::Indexed(_) => continue,
                };
                let value = values.entry(address).or_insert(Value {
                    vectors,
                    written,
                    last: level,
                    is_inside: false,
                    is_kept: schedule.in_loops || afterwards.contains(&address),
                });
                if value.vectors != vectors {
                    return None;
                }
                value.last = level;
                match (&mut value.written, written) {
                    (Some(all), Some(_)) => all[1] = level,
                    (None, Some(_)) => return None,
                    _ => (),
                }
                value.is_inside |= match access {
                    Access::Update(_) => sums,
                    _ => matches!(access, Access::Read(_)),
                };
            }
        }
    }
    for value in values.values_mut() {
        if let (Some([_, end]), true) = (value.written, value.is_inside && value.is_kept) {
            value.last = value.last.max(end + 1);
        }
    }
    let mut values: Vec<(Address, Value)> = values.into_iter().collect();
    // The tables depend on the schedule alone.
    values.sort_unstable_by_key(|(address, _)| *address);
    Some(values)
}

/// Returns the addresses that are read after the levels, also by squared diagrams if `squares` is set.
fn read_afterwards(schedule: &LevelSchedule, squares: bool) -> HashSet<Address> {
    let mut addresses: HashSet<Address> = schedule.waves.iter().flatten().copied().collect();
    let squares = match &schedule.squares {
        Amp2Source::Totals { levels, .. } if squares => levels.as_slice(),
        _ => &[],
    };
    let later = squares.iter().flatten().chain(&schedule.amplitudes);
    for operation in later.flat_map(|range| range.operations()) {
        let operands = schedule.operation(operation).into_iter();
        addresses.extend(operands.flat_map(|(numbers, accesses)| {
            let all = numbers.iter().zip(accesses);
            all.filter(|(_, access)| matches!(access, Access::Read(_)))
                .map(|(&address, _)| address)
        }));
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_plan::binding::Binding;

    fn schedule(name: &str, recursive: bool) -> LevelSchedule {
        let process = mebridge_generate::generate(name)
            .expect("a process")
            .remove(0);
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).expect("a card");
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let plan = match recursive {
            true => mebridge_plan::recursion::compile(&process, &binding, &all),
            false => mebridge_plan::compile(&process, &binding, &all).ok(),
        };
        LevelSchedule::new(&plan.expect("a plan"), &binding).expect("tables")
    }

    /// Each operation finds the numbers of the schedule in shared memory, and all that is read afterwards is copied to the
    /// memory of events.
    #[test]
    fn operations_read_what_the_schedule_says() {
        for (name, recursive, lanes, sums, squares) in [
            ("g g > t t~ g g", false, 16, true, true),
            ("g g > t t~ g g", true, 8, true, true),
            ("g g > t t~ g g", true, 8, true, false),
            ("u u~ > e+ e- g g", false, 32, true, true),
            ("u u > e+ e- u u g", true, 16, false, true),
            ("u u > e+ e- u u g", true, 16, true, false),
            ("u d~ > w+ g g g", false, 16, true, true),
            ("h h > t t~ h", false, 8, true, true),
        ] {
            let schedule = schedule(name, recursive);
            let placement = Placement::new(&schedule, sums, squares).expect("a placement");
            let levels =
                SharedLevels::with_lanes(&schedule, &placement, lanes, 32).expect("levels");
            let table = |start: u32| &levels.tables[start as usize..];
            // The address in the schedule of what each number in shared memory is, and what is in the memory of events.
            let mut held = vec![u32::MAX; levels.vectors as usize];
            let mut outside = HashSet::default();
            for pair in table(levels.inputs)
                .chunks(2)
                .take(levels.input_count as usize)
            {
                held[pair[1] as usize] = pair[0];
                outside.insert(pair[0]);
            }
            let warps = LEVELS_THREADS / 32;
            let (group, mut first, mut count) = (1 + 32 / lanes as usize, 0, 0);
            for level in 0..levels.level_count as usize {
                let end = table(levels.ends)[(level + 1) * warps as usize - 1];
                let lists = &table(levels.operations)[first as usize..end as usize];
                first = end;
                let (mut written, mut found) = (Vec::new(), HashSet::default());
                for list in lists.chunks(group) {
                    for &start in list[1..].iter().filter(|&&start| start != NO_OPERATION) {
                        let shared = table(start);
                        let holds = |address: u32, at: u32, vectors| {
                            (0..vectors).all(|k| held[(at + k) as usize] == address + k)
                        };
                        let Some(form) = levels.forms.get(list[0] as usize) else {
                            assert!(holds(shared[0], shared[1], shared[2]), "{name}: a copy");
                            outside.extend(shared[0]..shared[0] + shared[2]);
                            continue;
                        };
                        assert_eq!(shared[..form.head.len()], form.head, "{name}");
                        let is_outside = form.outside;
                        let is_it = |operation: &u32| {
                            let (numbers, accesses) = schedule.operation(*operation).expect("one");
                            let mut all = numbers.iter().zip(accesses).zip(shared);
                            all.all(|((&number, access), &at)| match *access {
                                Access::Read(vectors) => holds(number, at, vectors),
                                Access::Update(vectors) if is_outside => {
                                    let mut all = (0..vectors).map(|k| number + k);
                                    at == number && all.all(|k| outside.contains(&k))
                                }
                                Access::Update(vectors) => holds(number, at, vectors),
                                Access::Write(_) => !is_outside || at == number,
                                Access::Number | Access::Indexed(_) => at == number,
                            })
                        };
                        let ranges = schedule.levels[level].iter();
                        let mut candidates = ranges
                            .filter(|range| range.kind == form.kind)
                            .flat_map(|range| range.operations());
                        let operation = candidates
                            .find(|operation| !found.contains(operation) && is_it(operation))
                            .unwrap_or_else(|| panic!("{name}: {form:?} of level {level}"));
                        found.insert(operation);
                        let (numbers, accesses) = schedule.operation(operation).expect("one");
                        let last = numbers.len() - 1;
                        let (Access::Write(vectors) | Access::Update(vectors)) = accesses[last]
                        else {
                            panic!("{name}: no result");
                        };
                        written.push((is_outside, shared[last], numbers[last], vectors));
                        count += 1;
                    }
                }
                for (is_outside, at, number, vectors) in written {
                    for k in 0..vectors {
                        match is_outside {
                            true => _ = outside.insert(number + k),
                            false => held[(at + k) as usize] = number + k,
                        }
                    }
                }
            }
            let results = (schedule.levels.iter().flatten())
                .flat_map(|range| range.operations())
                .filter_map(|operation| schedule.operation(operation)?.0.last().copied());
            let unread = &placement.unread;
            let read = results.clone().filter(|result| !unread.contains(result));
            assert_eq!(count, read.count(), "{name}");
            let written: HashSet<Address> = results.collect();
            let afterwards = read_afterwards(&schedule, squares);
            let mut missing = afterwards
                .intersection(&written)
                .filter(|a| !outside.contains(a));
            assert_eq!(missing.next(), None, "{name}");
        }
    }
}
