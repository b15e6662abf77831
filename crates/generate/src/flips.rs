//! Fermion wavefunctions with reversed flow.
//!
//! If two fermions meet at a vertex that both flow in, or both flow out, the charge conjugate of one of them is needed.
//! The routine could conjugate it, but there is no kernel for such a routine. Following the line in the other direction
//! from its external end is equivalent: the external wavefunction is then of the other kind (`C` times the spinor of
//! `OXXXXX` is that of `IXXXXX` for the antiparticle), and all vertices along the line have their standard routines.

use super::assembly::Assembly;
use crate::model::PropagatorPart;
use mebridge_process::{ExternalKind, Vertex, Wavefunction};

impl Assembly<'_> {
    /// Reverses lines, so that no fermion of `inputs` needs to be conjugated without its partner. `conjugated` has a
    /// bit for each of the first `fermions` legs of a vertex with this `result`.
    pub(super) fn without_clashes(
        &mut self,
        fermions: usize,
        result: Option<usize>,
        inputs: &mut [u32],
        conjugated: &mut u16,
    ) -> Result<(), String> {
        let of_leg = |leg: usize| match result {
            Some(result) if result < leg => leg - 1,
            _ => leg,
        };
        for first in (0..fermions).step_by(2) {
            let pair = [first, first + 1];
            let clash = (*conjugated >> first & 3).count_ones() == 1;
            if !clash || pair.iter().any(|&leg| Some(leg) == result) {
                continue;
            }
            // The one with the later end, so that all lines between two legs have the same direction.
            let mut legs = pair;
            legs.sort_by_key(|&leg| std::cmp::Reverse(self.end(inputs[of_leg(leg)])));
            for leg in legs {
                if let Some(flipped) = self.flipped(inputs[of_leg(leg)])? {
                    inputs[of_leg(leg)] = flipped;
                    *conjugated ^= 1 << leg;
                    break;
                }
            }
        }
        Ok(())
    }

    /// The external leg at the end of a fermion line.
    fn end(&self, wavefunction: u32) -> u32 {
        match &self.wavefunctions[wavefunction as usize] {
            Wavefunction::External(external) => external.leg,
            Wavefunction::Internal(vertex) => match self.before(vertex) {
                Some(input) => self.end(vertex.inputs[input]),
                None => u32::MAX,
            },
        }
    }

    /// The input of a vertex whose line its result, a fermion, continues.
    fn before(&self, vertex: &Vertex) -> Option<usize> {
        let (_, form) = &self.routine_keys[vertex.routine as usize];
        let result = form.result?;
        let partner = result ^ 1;
        Some(partner - usize::from(result < partner))
    }

    /// The charge conjugate of a fermion's wavefunction, with its line reversed. `None` if a propagator on the line
    /// would differ, and for spin 3/2.
    fn flipped(&mut self, wavefunction: u32) -> Result<Option<u32>, String> {
        if let Some(&known) = self.flips.get(&wavefunction) {
            return Ok(Some(known));
        }
        let mut flipped = self.wavefunctions[wavefunction as usize].clone();
        match &mut flipped {
            Wavefunction::External(external) => {
                external.kind = match external.kind {
                    ExternalKind::FermionIn => ExternalKind::FermionOut,
                    ExternalKind::FermionOut => ExternalKind::FermionIn,
                    _ => return Ok(None),
                };
                external.sign = -external.sign;
            }
            Wavefunction::Internal(vertex) => {
                let (lorentz, mut form) = self.routine_keys[vertex.routine as usize].clone();
                let (Some(result), Some(input)) = (form.result, self.before(vertex)) else {
                    return Ok(None);
                };
                let plain = form.part == PropagatorPart::Whole && form.own.is_none();
                if !plain || form.spins[result] != 2 {
                    return Ok(None);
                }
                let Some(before) = self.flipped(vertex.inputs[input])? else {
                    return Ok(None);
                };
                vertex.inputs[input] = before;
                form.conjugated[result] ^= true;
                form.conjugated[result ^ 1] ^= true;
                vertex.routine = self.routine(lorentz, form)?;
            }
        }
        let number = self.wavefunctions.len() as u32;
        let flow_out = !self.flow_out[wavefunction as usize];
        self.push(flipped, flow_out);
        self.unused = true;
        self.flips.insert(wavefunction, number);
        self.flips.insert(number, wavefunction);
        Ok(Some(number))
    }

    /// Removes wavefunctions that no amplitude needs any more (lines that are reversed everywhere), and routines that
    /// only these used.
    pub(super) fn pruned(&mut self, amplitudes: &mut [Vertex]) {
        if !self.unused {
            return;
        }
        let count = self.wavefunctions.len();
        let mut used = vec![false; count];
        for input in amplitudes.iter().flat_map(|vertex| &vertex.inputs) {
            used[*input as usize] = true;
        }
        for at in (0..count).rev() {
            match &self.wavefunctions[at] {
                Wavefunction::Internal(vertex) if used[at] => {
                    for &input in &vertex.inputs {
                        used[input as usize] = true;
                    }
                }
                _ => {}
            }
        }
        // The first wavefunctions are those of the legs: if the line of a leg is reversed everywhere, the reversed one
        // takes its place.
        let mut numbers: Vec<u32> = (0..count as u32).collect();
        for leg in 0..count {
            let own = matches!(self.wavefunctions[leg], Wavefunction::External(e) if e.leg as usize == leg);
            if !own {
                break;
            }
            let other = self.flips.get(&(leg as u32)).copied();
            if let Some(other) = other.filter(|&other| !used[leg] && used[other as usize]) {
                self.wavefunctions.swap(leg, other as usize);
                self.flow_out.swap(leg, other as usize);
                numbers[other as usize] = leg as u32;
                used[other as usize] = false;
            }
            used[leg] = true;
        }
        let kept = renumbered(&mut self.wavefunctions, &used);
        for number in &mut numbers {
            *number = kept[*number as usize];
        }
        renumbered(&mut self.flow_out, &used);
        let inner = self.wavefunctions.iter_mut().filter_map(|w| match w {
            Wavefunction::Internal(vertex) => Some(vertex),
            Wavefunction::External(_) => None,
        });
        let mut vertices: Vec<&mut Vertex> = inner.chain(amplitudes).collect();
        for input in vertices.iter_mut().flat_map(|v| &mut v.inputs) {
            *input = numbers[*input as usize];
        }
        let mut used = vec![false; self.routines.len()];
        for vertex in &vertices {
            used[vertex.routine as usize] = true;
        }
        let numbers = renumbered(&mut self.routines, &used);
        renumbered(&mut self.routine_keys, &used);
        for vertex in vertices {
            vertex.routine = numbers[vertex.routine as usize];
        }
        let keys = self.routine_keys.iter().cloned();
        self.routine_ids = keys.zip(0..).collect();
        // The indices in these are invalid now.
        self.flips.clear();
        self.ways.fill(None);
    }
}

/// Removes unused elements of a list, and returns the new number of each element.
fn renumbered<T>(list: &mut Vec<T>, used: &[bool]) -> Vec<u32> {
    let mut next = 0;
    let numbers = used.iter().map(|&used| {
        let number = next;
        next += u32::from(used);
        number
    });
    let numbers = numbers.collect();
    let mut kept = used.iter();
    list.retain(|_| kept.next() == Some(&true));
    numbers
}
