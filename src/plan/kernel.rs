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

/// What an operation computes. Index 0 in the name: an amplitude; otherwise the leg that is the
/// result, in ALOHA's numbering. `f1` is the fermion flowing in, `f2` the one flowing out.
///
/// `L` and `R` are the parts of a structure that act on the left- and the right-handed
/// components of `f1`; a kernel with one factor takes L + R.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kernel {
    /// `f2 V f1` of (f1, f2, V).
    Ffv0,
    /// f2 of (f2, V): outgoing fermion line.
    Ffv1,
    /// f1 of (f1, V): incoming fermion line.
    Ffv2,
    /// Vector of (f1, f2), massless propagator.
    Ffv3,
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
    /// Scalar coupling with factors for L and R: amplitude of (f1, f2, S).
    FfsLr0,
    /// Yang-Mills three-vector structure: amplitude of (V1, V2, V3).
    Vvv0,
    /// Vector of (V2, V3), massless propagator.
    Vvv1,
    /// Metric products `12 34`, `13 24`, `14 23`, a factor for each: amplitude of four vectors.
    Vvvv0,
    /// Vector 1 of (V2, V3, V4) with the same three factors, massless propagator.
    Vvvv1,
    /// `(p2 - p3) V1`: amplitude of (V1, S2, S3).
    Vss0,
    /// `V1 V2 S3 S4`: amplitude.
    Vvss0,
    /// Any Lorentz structure, by its index among the plan's general routines.
    General(u32),
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
    /// The layout of the kernel's operations; `None` for [`Kernel::General`], whose layout
    /// follows from its routine: all inputs, the couplings as factors, the momenta of the
    /// inputs, and mass and width where the routine has them.
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
            Kernel::Ffv0 => layout(3, 1, No, 0, true),
            Kernel::Ffv1 | Kernel::Ffv2 => layout(2, 1, Result, 1, false),
            Kernel::Ffv3 => layout(2, 1, No, 0, false),
            Kernel::FfvLr0 => layout(3, 2, No, 0, true),
            Kernel::FfvLr1 | Kernel::FfvLr2 => layout(2, 2, Result, 1, false),
            Kernel::FfvLr3 => layout(2, 2, No, 0, false),
            Kernel::FfvLrMassive3 => layout(2, 2, Result, 1, false),
            Kernel::FfsLr0 => layout(3, 2, No, 0, true),
            Kernel::Vvv0 => layout(3, 1, Inputs, 0, true),
            Kernel::Vvv1 => layout(2, 1, Inputs, 0, false),
            Kernel::Vvvv0 => layout(4, 3, No, 0, true),
            Kernel::Vvvv1 => layout(3, 3, No, 0, false),
            Kernel::Vss0 => layout(3, 1, Inputs, 0, true),
            Kernel::Vvss0 => layout(4, 1, No, 0, true),
            Kernel::General(_) => None,
        }
    }
}
