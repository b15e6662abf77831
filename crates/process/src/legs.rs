//! Properties of the external legs that follow from a process's tables.

use super::Wavefunction;
use mebridge_support::sorted::SortedSet;

/// Returns the number of different helicities of each leg in a helicity table.
pub fn helicity_counts(helicities: &[Vec<i8>], legs: usize) -> Vec<usize> {
    let count = |leg: usize| {
        let different: SortedSet<i8> = helicities.iter().map(|row| row[leg]).collect();
        different.len()
    };
    (0..legs).map(count).collect()
}

/// Returns, for each wavefunction, the external legs that it is built from, as a bit mask.
pub fn legs_below(wavefunctions: &[Wavefunction]) -> Vec<u32> {
    let mut below: Vec<u32> = Vec::with_capacity(wavefunctions.len());
    for wavefunction in wavefunctions {
        below.push(match wavefunction {
            Wavefunction::External(external) => 1 << external.leg,
            Wavefunction::Internal(vertex) => {
                let inputs = vertex.inputs.iter().map(|&input| below[input as usize]);
                inputs.fold(0, |all, some| all | some)
            }
        });
    }
    below
}
