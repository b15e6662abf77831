//! Register allocation: the sequence of steps of a thread, in which values are computed, and spilled and reloaded if
//! there are too many for the registers, or between groups.

use super::expression::Id;
use super::values::WholeProcess;
use rustc_hash::FxHashMap as HashMap;

/// Number of `float`s in 16 bytes.
const ALIGNED: usize = 4;

/// A step of a thread.
#[derive(Clone, Copy)]
pub(super) enum RegisterStep {
    Compute(Id),
    /// Spills a value to this slot.
    Spill(Id, usize),
    /// Reloads a value from this slot.
    Reload(Id, usize),
    /// Loads a value that was computed by an earlier kernel.
    Load(Id),
}

/// Steps of a thread.
pub(super) struct Allocation {
    /// Steps by group; an additional group reloads the values that the results need.
    pub groups: Vec<Vec<RegisterStep>>,
    /// Numbers of memory for spilled values.
    pub kept: usize,
}

impl Allocation {
    /// Allocates registers. If there are more than `registers` numbers in registers (unless it is 0), the values with
    /// the most distant next use are spilled. After each group of `group` values (unless it is 0), all live values are
    /// spilled.
    pub fn new(whole: &WholeProcess, registers: usize, group: usize) -> Allocation {
        let mut state = State::new(whole);
        let mut groups = Vec::new();
        for (time, &id) in whole.order.iter().enumerate() {
            if group > 0 && time > 0 && time % group == 0 {
                state.leave(0);
                groups.push(std::mem::take(&mut state.steps));
            }
            let of = &whole.graph.values[id].of;
            of.iter().for_each(|&of| state.bring(of));
            state.steps.push(match whole.graph.values[id].stored {
                true => RegisterStep::Load(id),
                false => RegisterStep::Compute(id),
            });
            state.enter(id);
            of.iter().for_each(|&of| state.used(of, time));
            state.used(id, time);
            if registers > 0 {
                state.leave(registers);
            }
        }
        if group > 0 {
            state.leave(0);
        }
        groups.push(std::mem::take(&mut state.steps));
        whole.results().iter().for_each(|&id| state.bring(id));
        groups.push(state.steps);
        Allocation {
            groups,
            kept: state.end,
        }
    }
}

/// Locations of values.
struct State<'a> {
    whole: &'a WholeProcess,
    steps: Vec<RegisterStep>,
    /// Steps at which each value is used, in reverse order.
    uses: Vec<Vec<usize>>,
    here: Vec<Id>,
    /// Count of numbers in registers.
    numbers: usize,
    /// Slots of spilled values, whether or not they are also in registers.
    away: HashMap<Id, usize>,
    /// Free slots, by their size in numbers.
    free: Vec<(usize, usize)>,
    end: usize,
}

impl State<'_> {
    fn new(whole: &WholeProcess) -> State<'_> {
        let values = &whole.graph.values;
        let mut uses: Vec<Vec<usize>> = vec![Vec::new(); values.len()];
        for id in whole.results() {
            uses[id].push(whole.order.len());
        }
        for (time, &id) in whole.order.iter().enumerate().rev() {
            for &of in &values[id].of {
                uses[of].push(time);
            }
        }
        State {
            whole,
            steps: Vec::new(),
            uses,
            here: Vec::new(),
            numbers: 0,
            away: HashMap::default(),
            free: Vec::new(),
            end: 0,
        }
    }

    fn room(&self, id: Id) -> usize {
        self.size(id).next_multiple_of(ALIGNED)
    }

    fn size(&self, id: Id) -> usize {
        self.whole.graph.values[id].class.numbers()
    }

    fn enter(&mut self, id: Id) {
        self.here.push(id);
        self.numbers += self.size(id);
    }

    /// Loads a value into registers.
    fn bring(&mut self, id: Id) {
        if self.here.contains(&id) {
            return;
        }
        // Literals have no slot.
        if let Some(&at) = self.away.get(&id) {
            self.steps.push(match self.whole.graph.values[id].stored {
                true => RegisterStep::Load(id),
                false => RegisterStep::Reload(id, at),
            });
            self.enter(id);
        }
    }

    /// Records the use of a value, and frees the value after its last use.
    fn used(&mut self, id: Id, time: usize) {
        while self.uses[id].last().is_some_and(|&t| t <= time) {
            self.uses[id].pop();
        }
        if !self.uses[id].is_empty() {
            return;
        }
        if let Some(i) = self.here.iter().position(|&other| other == id) {
            self.here.swap_remove(i);
            self.numbers -= self.size(id);
            match self.away.remove(&id) {
                Some(at) if !self.whole.graph.values[id].stored => {
                    self.free.push((at, self.room(id)));
                }
                _ => {}
            }
        }
    }

    /// Spills values until at most the given count of numbers is in registers; the most distant next use goes first.
    fn leave(&mut self, registers: usize) {
        while self.numbers > registers {
            let here = self.here.iter().enumerate();
            let Some((i, &id)) = here.max_by_key(|(_, id)| (self.uses[**id].last(), **id)) else {
                break;
            };
            self.here.swap_remove(i);
            self.numbers -= self.size(id);
            if self.whole.graph.values[id].stored {
                // It already has a slot.
                self.away.insert(id, 0);
            } else if !self.away.contains_key(&id) {
                let at = self.place(self.room(id));
                self.away.insert(id, at);
                self.steps.push(RegisterStep::Spill(id, at));
            }
        }
    }

    /// Returns a slot for the given count of numbers, aligned for 16-byte loads.
    fn place(&mut self, numbers: usize) -> usize {
        if let Some(i) = self.free.iter().rposition(|&(_, n)| n == numbers) {
            return self.free.swap_remove(i).0;
        }
        self.end += numbers;
        self.end - numbers
    }
}
