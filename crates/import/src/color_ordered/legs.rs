//! Assignment of the legs to the ends of a line, its insertions and its boson.

use mebridge_process::{ExternalKind, Process, Wavefunction};

/// The legs, given by their external wavefunctions.
pub struct ExternalLegs {
    /// The ends where the quark flows out and in, or the first and the last gluon.
    pub ends: [u32; 2],
    /// Whether the ends are those of a quark line, not gluons.
    pub quarks: bool,
    /// The other coloured legs, ascending.
    pub insertions: Vec<u32>,
    /// A vector that couples only to the line, or two fermions that annihilate into such vectors.
    pub boson: Vec<u32>,
    /// For each wavefunction of the process, a bit mask of the external ones below it.
    pub below: Vec<u64>,
}

impl ExternalLegs {
    /// Returns the possible assignments for a process of vectors and at most one fermion line, or two lines, either of
    /// which may be the quark's.
    pub fn all(process: &Process) -> Vec<ExternalLegs> {
        ExternalLegs::find(process).unwrap_or_default()
    }

    fn find(process: &Process) -> Option<Vec<ExternalLegs>> {
        let count = process.legs.len();
        let mut externals = vec![None; count];
        let mut kinds = Vec::new();
        for (number, wavefunction) in (0..count as u32).zip(&process.wavefunctions) {
            // The external wavefunctions come first, one for each leg.
            let Wavefunction::External(e) = wavefunction else {
                return None;
            };
            externals[e.leg as usize] = Some(number);
            kinds.push(e.kind);
        }
        let externals: Vec<u32> = externals.into_iter().collect::<Option<_>>()?;
        let of_kind = |kind| -> Vec<u32> {
            let all = externals.iter().copied();
            all.filter(|&w| kinds[w as usize] == kind).collect()
        };
        let vectors = of_kind(ExternalKind::Vector);
        let fermions = [ExternalKind::FermionOut, ExternalKind::FermionIn].map(of_kind);
        let lines = [fermions[0].len(), fermions[1].len()];
        let below = below(process, count)?;
        match (lines, &vectors[..]) {
            ([0, 0], [first, insertions @ .., last]) if vectors.len() == count => {
                Some(vec![ExternalLegs {
                    ends: [*first, *last],
                    quarks: false,
                    insertions: insertions.to_vec(),
                    boson: Vec::new(),
                    below,
                }])
            }
            ([1, 1], _) if vectors.len() + 2 == count => {
                let alone = |w: &u32| !meets_vectors(process, &below, count, *w);
                let (bosons, insertions): (Vec<u32>, Vec<u32>) =
                    vectors.into_iter().partition(alone);
                (bosons.len() < 2).then(|| {
                    vec![ExternalLegs {
                        ends: [fermions[0][0], fermions[1][0]],
                        quarks: true,
                        insertions,
                        boson: bosons,
                        below,
                    }]
                })
            }
            ([2, 2], _) if vectors.len() + 4 == count => {
                let ends = [(0, 0), (0, 1), (1, 0), (1, 1)];
                let of = ends.map(|(out, into)| ExternalLegs {
                    ends: [fermions[0][out], fermions[1][into]],
                    quarks: true,
                    insertions: vectors.clone(),
                    boson: vec![fermions[0][1 - out], fermions[1][1 - into]],
                    below: below.clone(),
                });
                Some(of.into())
            }
            _ => None,
        }
    }

    /// Returns whether an external wavefunction is below a wavefunction.
    pub fn holds(&self, wavefunction: u32, external: u32) -> bool {
        self.below[wavefunction as usize] >> external & 1 == 1
    }

    /// Returns whether it is that of a gluon, provided that the process has a colour-ordered form.
    pub fn is_gluon(&self, wavefunction: u32) -> bool {
        let [first, second] = self.ends.map(|end| self.holds(wavefunction, end));
        let of_line = self.quarks && first != second;
        let boson = self.boson.iter().fold(0, |legs, w| legs | 1 << w);
        !of_line && self.below[wavefunction as usize] & !boson != 0
    }

    /// Returns whether the boson, or one of its fermions, is below a wavefunction.
    pub fn holds_boson(&self, wavefunction: u32) -> bool {
        self.boson.iter().any(|&w| self.holds(wavefunction, w))
    }
}

/// Returns the bit mask of external wavefunctions below each one. `None` if a leg has more than one.
fn below(process: &Process, count: usize) -> Option<Vec<u64>> {
    let mut below: Vec<u64> = Vec::with_capacity(process.wavefunctions.len());
    for (number, wavefunction) in process.wavefunctions.iter().enumerate() {
        let legs = match wavefunction {
            Wavefunction::External(_) if number < count => 1 << number,
            Wavefunction::External(_) => return None,
            Wavefunction::Internal(vertex) => {
                let inputs = vertex.inputs.iter();
                inputs.fold(0, |all, &input| all | below[input as usize])
            }
        };
        below.push(legs);
    }
    Some(below)
}

/// Returns whether a vector meets another one in a vertex without a fermion.
fn meets_vectors(process: &Process, below: &[u64], count: usize, wavefunction: u32) -> bool {
    let is_vector = |w: &u32| {
        let external = |number: usize| match &process.wavefunctions[number] {
            Wavefunction::External(e) => e.kind == ExternalKind::Vector,
            Wavefunction::Internal(_) => false,
        };
        (0..count).all(|number| below[*w as usize] >> number & 1 == 0 || external(number))
    };
    let internal = process.wavefunctions.iter().filter_map(|w| match w {
        Wavefunction::Internal(vertex) => Some(vertex),
        Wavefunction::External(_) => None,
    });
    internal.chain(process.amplitudes.vertices()).any(|vertex| {
        let others = vertex.inputs.iter().filter(|&&input| input != wavefunction);
        vertex.inputs.contains(&wavefunction) && others.clone().any(is_vector)
    })
}
