//! The kernels: what one operation of a plan can compute.
//!
//! A backend holds its working numbers for a block of events as an array of *vectors*, one
//! number for each event of the block in each. An *address* is the index of a vector. A complex
//! number takes two vectors (real, imaginary), a momentum four `(E, px, py, pz)`, and a
//! wavefunction two for each of its components, without the momentum: 8 for a spinor or a
//! vector, 2 for a scalar.
//!
//! An operation is a list of addresses, laid out as its kernel's [`Layout`] says: the
//! wavefunctions that meet, the factors, the momenta, the mass (for [`Kernel::General`] mass
//! and width), and last the result. A *factor* is a complex number that was computed once for
//! the event: coupling times propagator `1 / (p^2 - m (m - i width))` for a wavefunction, the
//! coupling alone for an amplitude, and in either case times whatever constant the Lorentz
//! structure has relative to the kernel. A *momentum* is that of a wavefunction as MG5aMC holds
//! it in the first two components, for the result the sum of those that meet.

use crate::process::lorentz::Routine;
use serde::{Deserialize, Serialize};

/// What an operation computes. Index 0 in the name: an amplitude; otherwise the leg that is the
/// result, in ALOHA's numbering. `f1` is the fermion flowing in, `f2` the one flowing out. The
/// result is the factor times what is said here (the numerator, without coupling and propagator).
///
/// `L` and `R` are the parts of a structure that act on the left- and the right-handed
/// components of `f1`; a kernel with one factor takes L + R, a kernel named `L` has only L.
/// A kernel named `Massive` has the unitary-gauge numerator of a massive vector:
/// `v - p (p v) / m^2` instead of `v`. `p` is the momentum of the result, `p1`, `p2`, ... those of
/// the wavefunctions that meet, each as MG5aMC holds it; `p/` is `p` slashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kernel {
    /// `f2 V/ f1` of (f1, f2, V).
    Ffv0,
    /// `f2 V/ (m + p/)` of (f2, V): outgoing fermion line.
    Ffv1,
    /// `(m - p/) V/ f1` of (f1, V): incoming fermion line.
    Ffv2,
    /// `f2 gamma f1`: vector of (f1, f2), massless propagator.
    Ffv3,
    /// As [`Kernel::Ffv3`] with the numerator of a massive vector.
    FfvMassive3,
    /// As [`Kernel::Ffv0`], L only.
    FfvL0,
    /// As [`Kernel::Ffv1`], L only.
    FfvL1,
    /// As [`Kernel::Ffv2`], L only.
    FfvL2,
    /// As [`Kernel::Ffv3`], L only.
    FfvL3,
    /// As [`Kernel::FfvMassive3`], L only.
    FfvLMassive3,
    /// As [`Kernel::Ffv0`] with factors for L and R.
    FfvLr0,
    /// As [`Kernel::Ffv1`] with factors for L and R.
    FfvLr1,
    /// As [`Kernel::Ffv2`] with factors for L and R.
    FfvLr2,
    /// As [`Kernel::Ffv3`] with factors for L and R.
    FfvLr3,
    /// As [`Kernel::FfvLr3`] with the unitary-gauge numerator of a massive vector.
    FfvLrMassive3,
    /// Scalar coupling `f2 f1 S` with factors for L and R: amplitude of (f1, f2, S).
    FfsLr0,
    /// `f2 S (m + p/)` of (f2, S), L and R as the vertex acts on the result.
    FfsLr1,
    /// `(m - p/) S f1` of (f1, S).
    FfsLr2,
    /// `f2 f1`: scalar of (f1, f2).
    FfsLr3,
    /// Yang-Mills three-vector structure `(V1 V2) (V3 (p2 - p1)) + cyclic`: amplitude of
    /// (V1, V2, V3).
    Vvv0,
    /// Vector of (V2, V3), massless propagator.
    Vvv1,
    /// As [`Kernel::Vvv1`] with the numerator of a massive vector.
    VvvMassive1,
    /// `13 24 - 14 23`, metric products with one factor: amplitude of four vectors. The other
    /// pieces of the four-gluon vertex are the same with the inputs permuted.
    VvvvDiff0,
    /// Vector 1 of (V2, V3, V4), as [`Kernel::VvvvDiff0`], massless propagator.
    VvvvDiff1,
    /// Metric products `12 34`, `13 24`, `14 23`, a factor for each: amplitude of four vectors.
    Vvvv0,
    /// Vector 1 of (V2, V3, V4) with the same three factors, massless propagator.
    Vvvv1,
    /// As [`Kernel::Vvvv1`] with the numerator of a massive vector.
    VvvvMassive1,
    /// `(p2 - p3) V1 S2 S3`: amplitude of (V1, S2, S3).
    Vss0,
    /// `(p2 - p3) S2 S3`: vector of (S2, S3), massless propagator.
    Vss1,
    /// As [`Kernel::Vss1`] with the numerator of a massive vector.
    VssMassive1,
    /// `(p1 + 2 p2) V1 S2`: scalar of (V1, S2).
    Vss3,
    /// `V1 V2 S3`: amplitude.
    Vvs0,
    /// `V2 S3`: vector of (V2, S3), massless propagator.
    Vvs1,
    /// As [`Kernel::Vvs1`] with the numerator of a massive vector.
    VvsMassive1,
    /// `V1 V2`: scalar of (V1, V2).
    Vvs3,
    /// `V1 V2 S3 S4`: amplitude.
    Vvss0,
    /// `V2 S3 S4`: vector of (V2, S3, S4), massless propagator.
    Vvss1,
    /// `V1 V2 S3`: scalar of (V1, V2, S3).
    Vvss4,
    /// `S1 S2 S3`: amplitude.
    Sss0,
    /// `S2 S3`: scalar of (S2, S3).
    Sss1,
    /// `S1 S2 S3 S4`: amplitude.
    Ssss0,
    /// `S2 S3 S4`: scalar of (S2, S3, S4).
    Ssss1,
    /// Sum over several [`Kernel::Ffv1`] before the propagator, see [`Mode`].
    SumFfv1,
    /// Sum over several [`Kernel::Ffv2`] before the propagator.
    SumFfv2,
    /// Sum over several [`Kernel::Ffv3`].
    SumFfv3,
    /// Sum over several [`Kernel::Vvv1`] and, with a factor of their own, four-vector vertices
    /// `2 V3 (V2 V4) - V2 (V3 V4) - V4 (V2 V3)`: that of colour-ordered gluons.
    SumVvv1,
    /// Sum over several [`Kernel::VvvvDiff1`].
    SumVvvvDiff1,
    /// Product of two spinors component by component: an amplitude whose vertex has been computed
    /// up to its last leg.
    DotSpinor0,
    /// The same with two vectors and the metric.
    DotVector0,
    /// Products of one spinor with several.
    Dots,
    /// Sum and difference of several wavefunctions of four components.
    Add,
    /// Complex conjugate of a wavefunction of four components.
    Conjugate,
    /// The same with the opposite sign.
    MinusConjugate,
    /// Hermitian matrix `sum of a_i a_j^*` of several spinors: four real numbers of the diagonal,
    /// then the six complex ones above it, row by row.
    DensitySpinor,
    /// The same of vectors, in the components `V0 + V3`, `V0 - V3`, `V1 + i V2`, `V1 - i V2`.
    DensityVector,
    /// From the matrices of two spinors, `sum over i, j of A_ij B_ij`: the sum of the squared moduli
    /// of their products.
    TraceSpinor,
    /// The same with two vectors and the metric.
    TraceVector,
    /// Any Lorentz structure, by its index among the plan's general routines.
    General(u32),
}

/// What becomes of a sum of vertices.
pub struct Mode;

impl Mode {
    /// Store it.
    pub const STORE: u32 = 0;
    /// Add it to what is there.
    pub const ADD: u32 = 1;
    /// Leave out the numerator of the fermion's propagator.
    pub const BARE: u32 = 2;
}

/// How the addresses of an operation are laid out: `inputs`, `factors`, `momenta`, mass (and
/// width), result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Wavefunctions that meet.
    pub inputs: usize,
    /// Complex factors.
    pub factors: usize,
    /// Which momenta are listed.
    pub momenta: Momenta,
    /// Real numbers behind the momenta: none, the mass, or mass and width.
    pub masses: usize,
    /// Whether the result is an amplitude (one complex number).
    pub amplitude: bool,
}

/// Which momenta an operation lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Momenta {
    /// None.
    None,
    /// That of the result.
    Result,
    /// Those of the wavefunctions that meet.
    Inputs,
}

impl Layout {
    /// The layout of operations of a general Lorentz structure.
    pub fn of_routine(routine: &Routine) -> Layout {
        Layout {
            inputs: routine.inputs.len(),
            factors: routine.couplings as usize,
            momenta: Momenta::Inputs,
            masses: if routine.massive { 2 } else { 0 },
            amplitude: routine.is_amplitude(),
        }
    }

    /// Addresses in one operation.
    pub fn len(&self) -> usize {
        let momenta = match self.momenta {
            Momenta::None => 0,
            Momenta::Result => 1,
            Momenta::Inputs => self.inputs,
        };
        self.inputs + self.factors + momenta + self.masses + 1
    }

    /// Never: an operation has at least a result.
    pub fn is_empty(&self) -> bool {
        false
    }
}

impl Kernel {
    /// Every kernel but [`Kernel::General`].
    pub const ALL: [Kernel; 42] = {
        use Kernel::*;
        [
            Ffv0,
            Ffv1,
            Ffv2,
            Ffv3,
            FfvMassive3,
            FfvL0,
            FfvL1,
            FfvL2,
            FfvL3,
            FfvLMassive3,
            FfvLr0,
            FfvLr1,
            FfvLr2,
            FfvLr3,
            FfvLrMassive3,
            FfsLr0,
            FfsLr1,
            FfsLr2,
            FfsLr3,
            Vvv0,
            Vvv1,
            VvvMassive1,
            VvvvDiff0,
            VvvvDiff1,
            Vvvv0,
            Vvvv1,
            VvvvMassive1,
            Vss0,
            Vss1,
            VssMassive1,
            Vss3,
            Vvs0,
            Vvs1,
            VvsMassive1,
            Vvs3,
            Vvss0,
            Vvss1,
            Vvss4,
            Sss0,
            Sss1,
            Ssss0,
            Ssss1,
        ]
    };

    /// Complex components of each wavefunction that meets and, last, of the result; 1 for a
    /// scalar or an amplitude, 4 for a spinor or a vector. Empty for [`Kernel::General`].
    pub fn components(self) -> &'static [u8] {
        match self {
            Kernel::Ffv0 | Kernel::FfvL0 | Kernel::FfvLr0 | Kernel::Vvv0 => &[4, 4, 4, 1],
            Kernel::Ffv1 | Kernel::FfvL1 | Kernel::FfvLr1 => &[4, 4, 4],
            Kernel::Ffv2 | Kernel::FfvL2 | Kernel::FfvLr2 => &[4, 4, 4],
            Kernel::Ffv3 | Kernel::FfvL3 | Kernel::FfvLr3 => &[4, 4, 4],
            Kernel::FfvMassive3 | Kernel::FfvLMassive3 | Kernel::FfvLrMassive3 => &[4, 4, 4],
            Kernel::Vvv1 | Kernel::VvvMassive1 => &[4, 4, 4],
            Kernel::FfsLr0 | Kernel::Vvs0 => &[4, 4, 1, 1],
            Kernel::FfsLr1 | Kernel::FfsLr2 | Kernel::Vvs1 | Kernel::VvsMassive1 => &[4, 1, 4],
            Kernel::FfsLr3 | Kernel::Vvs3 => &[4, 4, 1],
            Kernel::VvvvDiff0 | Kernel::Vvvv0 => &[4, 4, 4, 4, 1],
            Kernel::VvvvDiff1 | Kernel::Vvvv1 | Kernel::VvvvMassive1 => &[4, 4, 4, 4],
            Kernel::Vss0 => &[4, 1, 1, 1],
            Kernel::Vss1 | Kernel::VssMassive1 => &[1, 1, 4],
            Kernel::Vss3 => &[4, 1, 1],
            Kernel::Vvss0 => &[4, 4, 1, 1, 1],
            Kernel::Vvss1 => &[4, 1, 1, 4],
            Kernel::Vvss4 => &[4, 4, 1, 1],
            Kernel::Sss0 => &[1, 1, 1, 1],
            Kernel::Sss1 => &[1, 1, 1],
            Kernel::Ssss0 => &[1, 1, 1, 1, 1],
            Kernel::Ssss1 => &[1, 1, 1, 1],
            Kernel::DotSpinor0
            | Kernel::DotVector0
            | Kernel::SumFfv1
            | Kernel::SumFfv2
            | Kernel::SumFfv3
            | Kernel::SumVvv1
            | Kernel::SumVvvvDiff1
            | Kernel::Dots
            | Kernel::Add
            | Kernel::Conjugate
            | Kernel::MinusConjugate
            | Kernel::DensitySpinor
            | Kernel::DensityVector
            | Kernel::TraceSpinor
            | Kernel::TraceVector
            | Kernel::General(_) => &[],
        }
    }

    /// The layout of the kernel's operations; `None` for sums, whose operations have no fixed
    /// length (see `cpu::kernels::sums`), and for [`Kernel::General`], whose layout follows from
    /// its routine, see [`Layout::of_routine`].
    pub fn layout(self) -> Option<Layout> {
        let layout = |inputs, factors, momenta, masses, amplitude| {
            Some(Layout {
                inputs,
                factors,
                momenta,
                masses,
                amplitude,
            })
        };
        use Momenta::{Inputs, None as No, Result};
        match self {
            Kernel::DotSpinor0 | Kernel::DotVector0 => layout(2, 0, No, 0, true),
            Kernel::Ffv0 | Kernel::FfvL0 => layout(3, 1, No, 0, true),
            Kernel::Ffv1 | Kernel::Ffv2 => layout(2, 1, Result, 1, false),
            Kernel::FfvL1 | Kernel::FfvL2 => layout(2, 1, Result, 1, false),
            Kernel::Ffv3 | Kernel::FfvL3 => layout(2, 1, No, 0, false),
            Kernel::FfvMassive3 | Kernel::FfvLMassive3 => layout(2, 1, Result, 1, false),
            Kernel::FfvLr0 | Kernel::FfsLr0 => layout(3, 2, No, 0, true),
            Kernel::FfvLr1 | Kernel::FfvLr2 => layout(2, 2, Result, 1, false),
            Kernel::FfsLr1 | Kernel::FfsLr2 => layout(2, 2, Result, 1, false),
            Kernel::FfvLr3 | Kernel::FfsLr3 => layout(2, 2, No, 0, false),
            Kernel::FfvLrMassive3 => layout(2, 2, Result, 1, false),
            Kernel::Vvv0 | Kernel::Vss0 => layout(3, 1, Inputs, 0, true),
            Kernel::Vvv1 | Kernel::Vss1 | Kernel::Vss3 => layout(2, 1, Inputs, 0, false),
            Kernel::VvvMassive1 | Kernel::VssMassive1 => layout(2, 1, Inputs, 1, false),
            Kernel::VvvvDiff0 => layout(4, 1, No, 0, true),
            Kernel::VvvvDiff1 => layout(3, 1, No, 0, false),
            Kernel::Vvvv0 => layout(4, 3, No, 0, true),
            Kernel::Vvvv1 => layout(3, 3, No, 0, false),
            Kernel::VvvvMassive1 => layout(3, 3, Result, 1, false),
            Kernel::Vvs0 | Kernel::Sss0 => layout(3, 1, No, 0, true),
            Kernel::Vvs1 | Kernel::Vvs3 | Kernel::Sss1 => layout(2, 1, No, 0, false),
            Kernel::VvsMassive1 => layout(2, 1, Result, 1, false),
            Kernel::Vvss0 | Kernel::Ssss0 => layout(4, 1, No, 0, true),
            Kernel::Vvss1 | Kernel::Vvss4 | Kernel::Ssss1 => layout(3, 1, No, 0, false),
            Kernel::SumFfv1
            | Kernel::SumFfv2
            | Kernel::SumFfv3
            | Kernel::SumVvv1
            | Kernel::SumVvvvDiff1
            | Kernel::Dots
            | Kernel::Add
            | Kernel::Conjugate
            | Kernel::MinusConjugate
            | Kernel::DensitySpinor
            | Kernel::DensityVector
            | Kernel::TraceSpinor
            | Kernel::TraceVector
            | Kernel::General(_) => None,
        }
    }
}
