//! Every address that an operation names: what it reads and what it writes.
//!
//! The one place that knows the layout of operands of all kernels, for whoever has to go through
//! them without computing: checks of plans that come from a file, schedules, counts.

use super::kernel::{Kernel, Layout, Mode, Momenta};
use super::{Address, Batch, GeneralRoutine};

/// What becomes of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// So many vectors are read from there.
    Read(u32),
    /// So many vectors are written there.
    Write(u32),
    /// So many vectors are changed there.
    Change(u32),
    /// It is the number of a wavefunction (of so many vectors) in a helicity's table, which is
    /// read.
    Look(u32),
    /// It is no address but a count or a mode.
    Number,
}

/// Vectors of a spinor or a vector.
pub const FOUR: u32 = 8;
/// Vectors of a momentum.
pub const MOMENTUM: u32 = 4;
/// Vectors of a complex number.
const COMPLEX: u32 = 2;
/// Vectors of a hermitian matrix of four rows.
const MATRIX: u32 = 16;

/// Calls `see` for each operand of a batch, in order, with what becomes of it. `tables`: whether
/// the batch is one of [`super::Plan::amplitudes`], whose wavefunctions are looked up.
///
/// Gives `None`, after as many operands as made sense, if the operands end within an operation.
pub fn walk(
    batch: &Batch,
    general: &[GeneralRoutine],
    tables: bool,
    see: &mut impl FnMut(Address, Access),
) -> Option<()> {
    let mut walker = Walker {
        rest: &batch.operands,
        see,
    };
    let wave = |vectors: u32| match tables {
        true => Access::Look(vectors),
        false => Access::Read(vectors),
    };
    while !walker.rest.is_empty() {
        match batch.kernel {
            Kernel::SumFfv1 | Kernel::SumFfv2 | Kernel::SumFfv3 => {
                let mode = walker.number()?;
                let terms = walker.number()?.checked_add(walker.number()?)?;
                walker.many(terms.checked_mul(2)?, Access::Read(FOUR))?;
                walker.one(Access::Read(COMPLEX))?;
                if batch.kernel != Kernel::SumFfv3 {
                    // A bare vertex does not look at them.
                    let bare = mode & Mode::BARE != 0;
                    walker.one(if bare {
                        Access::Number
                    } else {
                        Access::Read(MOMENTUM)
                    })?;
                    walker.one(if bare {
                        Access::Number
                    } else {
                        Access::Read(1)
                    })?;
                }
                walker.one(result(mode))?;
            }
            Kernel::SumVvv1 => {
                let mode = walker.number()?;
                let three = walker.number()?;
                let four = walker.number()?.checked_add(walker.number()?)?;
                for _ in 0..three {
                    walker.many(2, Access::Read(FOUR))?;
                    walker.many(2, Access::Read(MOMENTUM))?;
                }
                walker.many(four.checked_mul(3)?, Access::Read(FOUR))?;
                walker.many(2, Access::Read(COMPLEX))?;
                walker.one(result(mode))?;
            }
            Kernel::SumVvvvDiff1 => {
                let mode = walker.number()?;
                let terms = walker.number()?;
                walker.many(terms.checked_mul(3)?, Access::Read(FOUR))?;
                walker.one(Access::Read(COMPLEX))?;
                walker.one(result(mode))?;
            }
            Kernel::Add => {
                let terms = walker.number()?.checked_add(walker.number()?)?;
                walker.many(terms, Access::Read(FOUR))?;
                walker.one(Access::Write(FOUR))?;
            }
            Kernel::Conjugate | Kernel::MinusConjugate => {
                walker.one(Access::Read(FOUR))?;
                walker.one(Access::Write(FOUR))?;
            }
            Kernel::DensitySpinor | Kernel::DensityVector => {
                let terms = walker.number()?;
                walker.many(terms, Access::Read(FOUR))?;
                walker.one(Access::Write(MATRIX))?;
            }
            Kernel::TraceSpinor | Kernel::TraceVector => {
                walker.many(2, Access::Read(MATRIX))?;
                walker.one(Access::Write(1))?;
            }
            Kernel::DotSpinor0 | Kernel::DotVector0 => {
                walker.many(2, wave(FOUR))?;
                walker.one(Access::Write(COMPLEX))?;
            }
            Kernel::Dots => {
                walker.one(wave(FOUR))?;
                for _ in 0..walker.number()? {
                    walker.one(wave(FOUR))?;
                    walker.one(Access::Write(COMPLEX))?;
                }
            }
            Kernel::General(index) => {
                let routine = &general.get(index as usize)?.routine;
                let inputs = routine
                    .inputs
                    .iter()
                    .map(|numbers| 2 * numbers.saturating_sub(2));
                let outputs = match routine.is_amplitude() {
                    true => COMPLEX,
                    false => 2 * (routine.outputs.len() as u32 - 2),
                };
                walker.fixed(Layout::of_routine(routine), inputs, wave, outputs)?;
            }
            kernel => {
                let (last, inputs) = kernel.components().split_last()?;
                let inputs = inputs.iter().map(|&c| 2 * u32::from(c));
                walker.fixed(kernel.layout()?, inputs, wave, 2 * u32::from(*last))?;
            }
        }
    }
    Some(())
}

/// What becomes of the result of a sum.
fn result(mode: u32) -> Access {
    match mode & Mode::ADD {
        0 => Access::Write(FOUR),
        _ => Access::Change(FOUR),
    }
}

struct Walker<'a, F> {
    rest: &'a [Address],
    see: &'a mut F,
}

impl<F: FnMut(Address, Access)> Walker<'_, F> {
    fn one(&mut self, access: Access) -> Option<Address> {
        let (&operand, rest) = self.rest.split_first()?;
        self.rest = rest;
        (self.see)(operand, access);
        Some(operand)
    }

    fn many(&mut self, count: u32, access: Access) -> Option<()> {
        (0..count).try_for_each(|_| self.one(access).map(drop))
    }

    fn number(&mut self) -> Option<u32> {
        self.one(Access::Number)
    }

    fn fixed(
        &mut self,
        layout: Layout,
        inputs: impl Iterator<Item = u32>,
        wave: impl Fn(u32) -> Access,
        outputs: u32,
    ) -> Option<()> {
        for vectors in inputs {
            self.one(wave(vectors))?;
        }
        self.many(layout.factors as u32, Access::Read(COMPLEX))?;
        let momenta = match layout.momenta {
            Momenta::None => 0,
            Momenta::Result => 1,
            Momenta::Inputs => layout.inputs as u32,
        };
        self.many(momenta, Access::Read(MOMENTUM))?;
        self.many(layout.masses as u32, Access::Read(1))?;
        self.one(Access::Write(outputs)).map(drop)
    }
}
