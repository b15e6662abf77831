//! The choice of the vertex at which a diagram is cut.
//!
//! Diagrams are cut at the vertex from which no branch has more than half of the legs, so that wavefunctions are
//! shared. An amplitude is computed for all helicities, a wavefunction only for those of its legs. If the vertex at the
//! cut needs much more work than a neighbour, as dimension-six operators do, the diagram is cut at the neighbour
//! instead.

use super::assembly::Assembly;
use crate::model::{PropagatorPart, RoutineForm};
use mebridge_process::legs::legs_below;
use mebridge_process::{Quantity, Vertex, Wavefunction};
use rustc_hash::FxHashMap as HashMap;

// These three constants are from measurements: the cost of a plan is not known here, because its recursion merges
// amplitudes and skips vanishing helicities. Without them, 10 of 45 processes have 1 to 16 % more multiply-adds, and 7
// have 7 to 17 % fewer.

/// Largest ratio of the work at a new cut to that before: operations differ in cost, and a wavefunction takes memory.
const LESS: f64 = 0.6;

/// Least number of operations of a routine for which a new wavefunction pays: more than the three-gluon vertex has,
/// which is a kernel.
const HEAVY: f64 = 115.0;

/// Number of helicities of the legs below the neighbour from which lighter routines are also considered, as in decay
/// chains.
const MANY: usize = 32;

/// Key of a wavefunction: its routine, inputs, and the coupling of each structure.
type Same = (u32, Vec<u32>, Vec<(u32, bool)>);

impl Assembly<'_> {
    /// Moves the cuts of diagrams to a neighbouring vertex if that is less work. `states` is the number of helicities
    /// of each leg.
    pub(super) fn rerooted(
        &mut self,
        amplitudes: &mut [Vertex],
        states: &[usize],
    ) -> Result<(), String> {
        let below = legs_below(&self.wavefunctions);
        let mut known: HashMap<Same, u32> = HashMap::default();
        for amplitude in amplitudes {
            let mut best = (LESS * self.work(amplitude.routine), None);
            for place in 0..amplitude.inputs.len() {
                let legs = below[amplitude.inputs[place] as usize];
                let taken = (0..states.len()).filter(|leg| legs >> leg & 1 == 1);
                let helicities: usize = taken.map(|leg| states[leg]).product();
                if self.work(amplitude.routine) < HEAVY && helicities < MANY {
                    continue;
                }
                let Some((outer, inner)) = self.turned(amplitude, place)? else {
                    continue;
                };
                let again = match known.contains_key(&same(&outer)) {
                    true => 0.0,
                    false => self.work(outer.routine) / helicities as f64,
                };
                let work = self.work(inner.routine) + again;
                if work < best.0 {
                    best = (work, Some((outer, inner)));
                }
            }
            let (_, Some((outer, mut inner))) = best else {
                continue;
            };
            let next = self.wavefunctions.len() as u32;
            let number = *known.entry(same(&outer)).or_insert(next);
            if number == next {
                self.push(Wavefunction::Internal(outer), false);
            }
            for input in &mut inner.inputs {
                if *input == u32::MAX {
                    *input = number;
                }
            }
            *amplitude = inner;
        }
        Ok(())
    }

    fn work(&self, routine: u32) -> f64 {
        self.routines[routine as usize].program.ops.len() as f64
    }

    /// Cuts an amplitude at the vertex of its input `place` instead, if that input is a boson with the standard
    /// propagator of its spin. Returns the wavefunction that replaces the amplitude's own vertex, and the new
    /// amplitude, in which that wavefunction has the placeholder `u32::MAX`.
    fn turned(
        &mut self,
        amplitude: &Vertex,
        place: usize,
    ) -> Result<Option<(Vertex, Vertex)>, String> {
        let input = amplitude.inputs[place] as usize;
        let Wavefunction::Internal(vertex) = &self.wavefunctions[input] else {
            return Ok(None);
        };
        let mut inner = vertex.clone();
        let (lorentz, form) = self.routine_keys[inner.routine as usize].clone();
        let Some(result) = form.result else {
            return Ok(None);
        };
        let plain = form.part == PropagatorPart::Whole && form.own.is_none();
        if !plain || form.spins[result].is_multiple_of(2) {
            return Ok(None);
        }
        let mut outer = amplitude.clone();
        outer.inputs.remove(place);
        (outer.mass, outer.width) = (inner.mass, inner.width);
        if form.complex {
            outer.couplings.extend(inner.couplings.pop());
        }
        let (outer_lorentz, outer_form) = self.routine_keys[outer.routine as usize].clone();
        let outer_form = RoutineForm {
            result: Some(place),
            massless: form.massless,
            complex: form.complex,
            ..outer_form
        };
        outer.routine = self.routine(outer_lorentz, outer_form)?;
        inner.inputs.insert(result, u32::MAX);
        (inner.mass, inner.width) = (Quantity::ZERO, Quantity::ZERO);
        let inner_form = RoutineForm {
            result: None,
            massless: false,
            complex: false,
            ..form
        };
        inner.routine = self.routine(lorentz, inner_form)?;
        // If the cut is not moved, these routines are unused.
        self.unused = true;
        Ok(Some((outer, inner)))
    }
}

fn same(vertex: &Vertex) -> Same {
    let couplings = vertex.couplings.iter();
    let couplings = couplings.map(|c| (c.coupling, c.negative));
    (vertex.routine, vertex.inputs.clone(), couplings.collect())
}
