//! What follows from the table of operations: the enum, operands and costs.
//!
//! A complex number takes two vectors (real, imaginary), a momentum four `(E, px, py, pz)`, and a
//! wavefunction two for each of its components, without the momentum: 8 for a spinor or a
//! vector, 2 for a scalar.
//!
//! Operands of a fixed number are laid out as [`Layout`] says: the wavefunctions that meet, the
//! factors, the momenta, the mass (for [`Opcode::General`] mass and width), and last the result. A
//! *factor* is a complex number that was computed once for the event: coupling times propagator
//! `1 / (p^2 - m (m - i width))` for a wavefunction, the coupling alone for an amplitude, and in
//! either case times whatever constant the Lorentz structure has relative to the opcode. A
//! *momentum* is that of a wavefunction as MG5aMC holds it in the first two components, for the
//! result the sum of those that meet.

use super::table::for_each_opcode;
use mebridge_process::lorentz::Routine;
use serde::{Deserialize, Serialize};

/// Vectors of a real number.
pub const REAL: u32 = 1;
/// Vectors of a complex number.
pub const COMPLEX: u32 = 2;
/// Vectors of a momentum.
pub const MOMENTUM: u32 = 4;
/// Vectors of a spinor or a vector.
pub const FOUR: u32 = 8;
/// Vectors of a sum of products of components, see [`Opcode::DensityVector`].
pub const MATRIX: u32 = 10;

/// Multiply-adds of a factor times a wavefunction.
const FACTOR: usize = 16;

/// An input or the result of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spin {
    /// A spinor.
    F,
    /// A vector.
    V,
    /// A scalar.
    S,
    /// An amplitude, as a result.
    A,
}

impl Spin {
    /// Complex components, without the momentum.
    pub fn components(self) -> u8 {
        match self {
            Spin::F | Spin::V => 4,
            Spin::S | Spin::A => 1,
        }
    }
}

/// How the operands of a fixed number are laid out: `inputs`, `factors`, `momenta`, mass (and
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

    /// Momenta that are listed.
    pub fn momentum_count(&self) -> usize {
        match self.momenta {
            Momenta::None => 0,
            Momenta::Result => 1,
            Momenta::Inputs => self.inputs,
        }
    }

    /// Operands of one operation.
    pub fn len(&self) -> usize {
        self.inputs + self.factors + self.momentum_count() + self.masses + 1
    }

    /// Never: an operation has at least a result.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// What stands in an operation of no fixed length, one operand after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A count, or a [`Mode`] where it is the first operand; fields behind refer to it by its place
    /// among the numbers of the operation.
    Number,
    /// So many vectors are read from there.
    Read(u32),
    /// A wavefunction of so many vectors; among amplitudes its number in the helicity's table.
    Wave(u32),
    /// Read unless the mode is [`Mode::BARE`]; then it stands there unused.
    UnlessBare(u32),
    /// So many vectors are written there.
    Write(u32),
    /// The same, or they are changed where the mode is [`Mode::ADD`].
    Result(u32),
    /// These fields, as often as the sum of these numbers says.
    Repeat(&'static [usize], &'static [Field]),
}

/// The inputs of one result, for its cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consumed {
    /// Spinors and vectors.
    pub waves: usize,
    /// Momenta.
    pub momenta: usize,
    /// Scalars and factors.
    pub numbers: usize,
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

/// Operands of a row of the table.
#[derive(Clone, Copy, Debug)]
pub enum Operands {
    /// A fixed number of them.
    Fixed {
        /// The wavefunctions that meet and, last, the result.
        spins: &'static [Spin],
        /// Where which operand stands.
        layout: Layout,
        /// Multiply-adds.
        multiply_adds: usize,
    },
    /// As many as the counts among them say.
    Stream {
        /// What stands where.
        fields: &'static [Field],
        /// Multiply-adds of one result.
        multiply_adds: fn(Consumed) -> usize,
    },
}

/// Cost of [`Opcode::SumVvv1`].
fn three_and_four_vectors(r: Consumed) -> usize {
    let three = r.momenta / 2;
    let four = (r.waves - 2 * three) / 3;
    let factors = if four > 0 { 2 * FACTOR } else { FACTOR };
    three * 72 + four * 96 + factors
}

macro_rules! define {
    (
        amplitudes { $($(#[$adoc:meta])* $amplitude:ident = ($($ain:ident),*) -> $aout:ident, factors: $af:literal,
            momenta: $am:ident, masses: $aw:literal, multiply_adds: $ac:literal, amplitude: $ak:path;)* }
        currents { $($(#[$cdoc:meta])* $current:ident = ($($cin:ident),*) -> $cout:ident, factors: $cf:literal,
            momenta: $cm:ident, masses: $cw:literal, multiply_adds: $cc:literal, current: $ck:path;)* }
        products { $($(#[$pdoc:meta])* $product:ident = ($($pin:ident),*) -> $pout:ident, factors: $pf:literal,
            momenta: $pm:ident, masses: $pw:literal, multiply_adds: $pc:literal, amplitude: $pk:path;)* }
        sums { $($(#[$sdoc:meta])* $sum:ident = $sfields:expr, multiply_adds: $sc:expr, current: $sk:path;)* }
        dots { $($(#[$ddoc:meta])* $dot:ident = $dfields:expr, multiply_adds: $dc:expr, amplitude: $dk:path;)* }
        arrays { $($arrays:tt)* }
    ) => {
        /// What an operation computes; `crates/ops/src/table.rs` says how names are made.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Opcode {
            $($(#[$adoc])* $amplitude,)*
            $($(#[$cdoc])* $current,)*
            $($(#[$pdoc])* $product,)*
            $($(#[$sdoc])* $sum,)*
            $($(#[$ddoc])* $dot,)*
            /// Any Lorentz structure, by its index among the plan's general routines.
            General(u32),
        }

        impl Opcode {
            /// Vertices that a routine of a process can be recognised as.
            pub const VERTICES: &'static [Opcode] = &[$(Opcode::$amplitude,)* $(Opcode::$current,)*];

            /// Every opcode whose operations have no fixed number of operands.
            pub const STREAMS: &'static [Opcode] = &[$(Opcode::$sum,)* $(Opcode::$dot,)*];

            /// What stands in an operation; `None` for [`Opcode::General`], whose layout follows from its
            /// routine, see [`Layout::of_routine`].
            pub fn operands(self) -> Option<Operands> {
                #[allow(unused_imports)]
                use Field::{Number as MODE, Number as COUNT, Read, Repeat, Result, UnlessBare, Wave, Write};
                Some(match self {
                    $(Opcode::$amplitude => fixed!([$($ain,)* $aout], $af, $am, $aw, $ac),)*
                    $(Opcode::$current => fixed!([$($cin,)* $cout], $cf, $cm, $cw, $cc),)*
                    $(Opcode::$product => fixed!([$($pin,)* $pout], $pf, $pm, $pw, $pc),)*
                    $(Opcode::$sum => Operands::Stream { fields: &$sfields, multiply_adds: $sc },)*
                    $(Opcode::$dot => Operands::Stream { fields: &$dfields, multiply_adds: $dc },)*
                    Opcode::General(_) => return None,
                })
            }

            /// Whether the result is an amplitude; `None` for [`Opcode::General`].
            pub fn is_amplitude(self) -> Option<bool> {
                match self {
                    $(Opcode::$amplitude)|* | $(Opcode::$product)|* | $(Opcode::$dot)|* => Some(true),
                    $(Opcode::$current)|* | $(Opcode::$sum)|* => Some(false),
                    Opcode::General(_) => None,
                }
            }
        }
    };
}

macro_rules! fixed {
    ([$($spin:ident),*], $factors:literal, $momenta:ident, $masses:literal, $cost:literal) => {{
        const SPINS: &[Spin] = &[$(Spin::$spin),*];
        const LAYOUT: Layout = Layout {
            inputs: SPINS.len() - 1,
            factors: $factors,
            momenta: Momenta::$momenta,
            masses: $masses,
            amplitude: matches!(SPINS[SPINS.len() - 1], Spin::A),
        };
        Operands::Fixed { spins: SPINS, layout: LAYOUT, multiply_adds: $cost }
    }};
}

for_each_opcode!(define);

impl Opcode {
    /// The wavefunctions that meet and, last, the result, where their number is fixed.
    pub fn spins(self) -> &'static [Spin] {
        match self.operands() {
            Some(Operands::Fixed { spins, .. }) => spins,
            _ => &[],
        }
    }

    /// The layout of operations of a fixed number of operands.
    pub fn layout(self) -> Option<Layout> {
        match self.operands()? {
            Operands::Fixed { layout, .. } => Some(layout),
            Operands::Stream { .. } => None,
        }
    }

    /// Whether the result has the unitary-gauge numerator of a massive vector.
    pub fn is_unitary(self) -> bool {
        self.spins().last() == Some(&Spin::V) && self.layout().is_some_and(|l| l.masses > 0)
    }
}
