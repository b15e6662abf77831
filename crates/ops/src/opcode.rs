//! Derived from the table of operations: the opcodes, their operands and costs.
//!
//! A complex number takes two vectors (real, imaginary), a momentum four `(E, px, py, pz)`, and a wavefunction two for
//! each component, not counting the momentum: 8 for a spinor or a vector, 2 for a scalar.
//!
//! Operations with a fixed number of operands have the layout [`Layout`]: input wavefunctions, factors, momenta, the
//! mass (for [`Opcode::General`] mass and width), and finally the result. A *factor* is a complex number that is
//! computed once per event: coupling times propagator `1 / (p^2 - m (m - i width))` for a wavefunction, the coupling
//! alone for an amplitude, in both cases times the constant by which the Lorentz structure differs from the opcode. A
//! *momentum* is that of a wavefunction as stored by MG5aMC in the first two components; for the result it is the sum
//! of those of the inputs.

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

/// Layout of a fixed number of operands: `inputs`, `factors`, `momenta`, mass (and width), result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of input wavefunctions.
    pub inputs: usize,
    /// Number of complex factors.
    pub factors: usize,
    /// The momenta that are listed.
    pub momenta: Momenta,
    /// Number of real numbers after the momenta: none, the mass, or mass and width.
    pub masses: usize,
    /// Whether the result is an amplitude (one complex number).
    pub amplitude: bool,
}

/// The momenta that an operation lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Momenta {
    /// None.
    None,
    /// The momentum of the result.
    Result,
    /// The momenta of the inputs.
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

    /// Number of momenta that are listed.
    pub fn momentum_count(&self) -> usize {
        match self.momenta {
            Momenta::None => 0,
            Momenta::Result => 1,
            Momenta::Inputs => self.inputs,
        }
    }

    /// Number of operands of one operation.
    pub fn len(&self) -> usize {
        self.inputs + self.factors + self.momentum_count() + self.masses + 1
    }

    /// Always false: an operation has at least a result.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// An operand (or a group of operands) of an operation with variable length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A count, or a [`Mode`] if it is the first operand; later fields refer to it by its index among the numbers of
    /// the operation.
    Number,
    /// The address of this number of vectors to be read.
    Read(u32),
    /// A wavefunction with this number of vectors; in amplitudes its index in the helicity's table.
    Wave(u32),
    /// Read unless the mode is [`Mode::BARE`]; then it is present but unused.
    UnlessBare(u32),
    /// The address of this number of vectors to be written.
    Write(u32),
    /// Written, or updated if the mode is [`Mode::ADD`].
    Result(u32),
    /// These fields, repeated as often as the sum of these numbers.
    Repeat(&'static [usize], &'static [Field]),
}

/// The inputs of one result, for computing its cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consumed {
    /// Number of spinors and vectors.
    pub waves: usize,
    /// Number of momenta.
    pub momenta: usize,
    /// Number of scalars and factors.
    pub numbers: usize,
    /// Whether the operation's [`Mode`] is one of [`Mode::HALF`].
    pub half: bool,
}

impl Consumed {
    /// Multiply-adds of a sum of spinors with `each` for a term.
    fn of_spinors(self, each: usize) -> usize {
        let propagate = match (self.momenta, self.half) {
            (0, _) => 0,
            (_, false) => 32,
            (_, true) => 12,
        };
        let all = self.waves / 2 * each + FACTOR;
        propagate + if self.half { all / 2 } else { all }
    }
}

/// What is done with a sum of vertices.
pub struct Mode;

impl Mode {
    /// Store the sum.
    pub const STORE: u32 = 0;
    /// Add it to the previous value.
    pub const ADD: u32 = 1;
    /// Omit the numerator of the fermion's propagator.
    pub const BARE: u32 = 2;
    /// Of the spinors of a massless line (for a vector, of `f1`) only the first two components, or with
    /// [`Mode::LAST_HALF`] only the last two, are not zero. The result is the same without this mode, with twice the
    /// work.
    pub const FIRST_HALF: u32 = 4;
    /// As [`Mode::FIRST_HALF`], for the last two components.
    pub const LAST_HALF: u32 = 8;
    /// Either of the two.
    pub const HALF: u32 = Mode::FIRST_HALF | Mode::LAST_HALF;
}

/// The operands in a row of the table.
#[derive(Clone, Copy, Debug)]
pub enum Operands {
    /// A fixed number of operands.
    Fixed {
        /// The input wavefunctions, followed by the result.
        spins: &'static [Spin],
        /// The layout.
        layout: Layout,
        /// Multiply-adds.
        multiply_adds: usize,
    },
    /// A variable number of operands, determined by the counts among them.
    Stream {
        /// The operands.
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
        /// The operation; see `crates/ops/src/table.rs` for the naming scheme.
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
            /// Opcodes that routines of a process can be identified with.
            pub const VERTICES: &'static [Opcode] = &[$(Opcode::$amplitude,)* $(Opcode::$current,)*];

            /// Opcodes with a variable number of operands.
            pub const STREAMS: &'static [Opcode] = &[$(Opcode::$sum,)* $(Opcode::$dot,)*];

            /// The operands of an operation; `None` for [`Opcode::General`], whose layout follows from its routine, see
            /// [`Layout::of_routine`].
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
    /// The input wavefunctions followed by the result, if their number is fixed.
    pub fn spins(self) -> &'static [Spin] {
        match self.operands() {
            Some(Operands::Fixed { spins, .. }) => spins,
            _ => &[],
        }
    }

    /// The layout of an operation with a fixed number of operands.
    pub fn layout(self) -> Option<Layout> {
        match self.operands()? {
            Operands::Fixed { layout, .. } => Some(layout),
            Operands::Stream { .. } => None,
        }
    }

    /// Whether the result has the numerator of a massive vector in unitary gauge.
    pub fn is_unitary(self) -> bool {
        self.spins().last() == Some(&Spin::V) && self.layout().is_some_and(|l| l.masses > 0)
    }
}
