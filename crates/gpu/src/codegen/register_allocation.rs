//! What a thread does, one thing after the other: values that are computed, and put away and
//! brought back where there are too many for the registers, or between groups.

use super::expression::Id;
use super::values::Whole;
use rustc_hash::FxHashMap as HashMap;

/// Numbers in 16 bytes, if they are `float`.
const ALIGNED: usize = 4;

/// What the thread does next.
#[derive(Clone, Copy)]
pub(super) enum RegisterStep {
    Compute(Id),
    /// Puts a value away, there.
    Spill(Id, usize),
    /// Brings it back from there.
    Reload(Id, usize),
    /// Brings a value that was computed before.
    Load(Id),
}

/// What the thread does.
pub(super) struct Allocation {
    /// The steps, in groups; one more group brings back what the answers need.
    pub groups: Vec<Vec<RegisterStep>>,
    /// Numbers of memory for values that are put away.
    pub kept: usize,
}

impl Allocation {
    /// Puts values away that are needed last, where there are more than so many numbers in registers (if not 0). Behind
    /// each group of so many values (if not 0) all values go that are still needed.
    pub fn new(whole: &Whole, registers: usize, group: usize) -> Allocation {
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

/// Where values are.
struct State<'a> {
    whole: &'a Whole,
    steps: Vec<RegisterStep>,
    /// When each value is used, the first time last.
    uses: Vec<Vec<usize>>,
    here: Vec<Id>,
    /// Numbers in registers.
    numbers: usize,
    /// Values that have been put away, whether or not they are in registers too.
    away: HashMap<Id, usize>,
    /// Places of so many numbers that are free again.
    free: Vec<(usize, usize)>,
    end: usize,
}

impl State<'_> {
    fn new(whole: &Whole) -> State<'_> {
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

    /// Brings a value into registers.
    fn bring(&mut self, id: Id) {
        if self.here.contains(&id) {
            return;
        }
        // Literals have no place.
        if let Some(&at) = self.away.get(&id) {
            self.steps.push(match self.whole.graph.values[id].stored {
                true => RegisterStep::Load(id),
                false => RegisterStep::Reload(id, at),
            });
            self.enter(id);
        }
    }

    /// A value was used; if it is not needed any more it goes.
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

    /// Leaves so many numbers in registers: values that are needed last go first.
    fn leave(&mut self, registers: usize) {
        while self.numbers > registers {
            let here = self.here.iter().enumerate();
            let Some((i, &id)) = here.max_by_key(|(_, id)| (self.uses[**id].last(), **id)) else {
                break;
            };
            self.here.swap_remove(i);
            self.numbers -= self.size(id);
            if self.whole.graph.values[id].stored {
                // It has a place already.
                self.away.insert(id, 0);
            } else if !self.away.contains_key(&id) {
                let at = self.place(self.room(id));
                self.away.insert(id, at);
                self.steps.push(RegisterStep::Spill(id, at));
            }
        }
    }

    /// Room for so many numbers, aligned for loads of 16 bytes.
    fn place(&mut self, numbers: usize) -> usize {
        if let Some(i) = self.free.iter().rposition(|&(_, n)| n == numbers) {
            return self.free.swap_remove(i).0;
        }
        self.end += numbers;
        self.end - numbers
    }
}
