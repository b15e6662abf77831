//! The operand visitor: every address in an operation, with its kind of access.
//!
//! The visitor is derived from the table of operations. Validation of plans, schedules, costs and the GPU's tables use
//! it to go through operands, without knowing the opcodes.

use super::opcode::{
    COMPLEX, Consumed, FOUR, Field, Layout, MOMENTUM, Mode, Opcode, Operands, REAL,
};
use super::{Address, Batch, GeneralRoutine};

/// The role of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The address of this number of vectors to be read.
    Read(u32),
    /// The address of this number of vectors to be written.
    Write(u32),
    /// The address of this number of vectors to be updated.
    Update(u32),
    /// The index of a wavefunction (with this number of vectors) in a helicity's table, which is read.
    Indexed(u32),
    /// A count or a mode, not an address.
    Number,
}

impl Consumed {
    /// Counts an operand. `begins` tells whether it is the first of its operation.
    pub fn operand(&mut self, operand: Address, access: Access, begins: bool) {
        match access {
            Access::Number if begins => self.half = operand & Mode::HALF != 0,
            Access::Read(FOUR) => self.waves += 1,
            Access::Read(MOMENTUM) => self.momenta += 1,
            Access::Read(COMPLEX) => self.numbers += 1,
            _ => {}
        }
    }
}

/// Approximate multiply-adds of a general routine.
const GENERAL: usize = 200;

impl Opcode {
    /// Multiply-adds of one operation with these operands, a fixed number of them or as many as `consumed` says.
    pub fn multiply_adds(self, consumed: Consumed) -> usize {
        match self.operands() {
            Some(Operands::Fixed { multiply_adds, .. }) => multiply_adds,
            Some(Operands::Stream { multiply_adds, .. }) => multiply_adds(consumed),
            None => GENERAL,
        }
    }
}

/// Calls `visitor` for each operand of a batch, in order, with its role. `indexed` tells whether the batch is one of a
/// plan's amplitudes, whose wavefunctions are looked up in the helicity's table.
///
/// Returns `None` if the operands end within an operation, after visiting those before.
pub fn visit(
    batch: &Batch,
    general: &[GeneralRoutine],
    indexed: bool,
    visitor: &mut impl FnMut(Address, Access),
) -> Option<()> {
    let mut cursor = Cursor {
        rest: &batch.operands,
        indexed,
        visitor,
    };
    match (batch.opcode, batch.opcode.operands()) {
        (Opcode::General(index), _) => {
            let routine = &general.get(index as usize)?.routine;
            // The first two components of a wavefunction hold its momentum.
            let vectors = |numbers: u32| 2 * numbers.saturating_sub(2);
            let result = match routine.is_amplitude() {
                true => COMPLEX,
                false => vectors(routine.outputs.len() as u32),
            };
            let layout = Layout::of_routine(routine);
            while !cursor.rest.is_empty() {
                let inputs = routine.inputs.iter().map(|&numbers| vectors(numbers));
                cursor.fixed(layout, inputs, result)?;
            }
        }
        (_, Some(Operands::Fixed { spins, layout, .. })) => {
            let (result, inputs) = spins.split_last()?;
            while !cursor.rest.is_empty() {
                let inputs = inputs.iter().map(|s| 2 * u32::from(s.components()));
                cursor.fixed(layout, inputs, 2 * u32::from(result.components()))?;
            }
        }
        (_, Some(Operands::Stream { fields, .. })) => {
            while !cursor.rest.is_empty() {
                cursor.fields(fields, &mut Vec::new())?;
            }
        }
        (_, None) => return None,
    }
    Some(())
}

struct Cursor<'a, F> {
    rest: &'a [Address],
    indexed: bool,
    visitor: &'a mut F,
}

impl<F: FnMut(Address, Access)> Cursor<'_, F> {
    fn one(&mut self, access: Access) -> Option<Address> {
        let (&operand, rest) = self.rest.split_first()?;
        self.rest = rest;
        (self.visitor)(operand, access);
        Some(operand)
    }

    fn many(&mut self, count: usize, access: Access) -> Option<()> {
        (0..count).try_for_each(|_| self.one(access).map(drop))
    }

    fn wave(&mut self, vectors: u32) -> Option<()> {
        let access = match self.indexed {
            true => Access::Indexed(vectors),
            false => Access::Read(vectors),
        };
        self.one(access).map(drop)
    }

    fn fixed(
        &mut self,
        layout: Layout,
        mut inputs: impl Iterator<Item = u32>,
        result: u32,
    ) -> Option<()> {
        inputs.try_for_each(|vectors| self.wave(vectors))?;
        self.many(layout.factors, Access::Read(COMPLEX))?;
        self.many(layout.momentum_count(), Access::Read(MOMENTUM))?;
        self.many(layout.masses, Access::Read(REAL))?;
        self.one(Access::Write(result)).map(drop)
    }

    fn fields(&mut self, fields: &[Field], numbers: &mut Vec<u32>) -> Option<()> {
        let mode = |numbers: &[u32]| numbers.first().copied().unwrap_or(Mode::STORE);
        for &field in fields {
            match field {
                Field::Number => numbers.push(self.one(Access::Number)?),
                Field::Read(vectors) => drop(self.one(Access::Read(vectors))?),
                Field::Wave(vectors) => self.wave(vectors)?,
                Field::UnlessBare(vectors) => drop(self.one(match mode(numbers) & Mode::BARE {
                    0 => Access::Read(vectors),
                    _ => Access::Number,
                })?),
                Field::Write(vectors) => drop(self.one(Access::Write(vectors))?),
                Field::Result(vectors) => drop(self.one(match mode(numbers) & Mode::ADD {
                    0 => Access::Write(vectors),
                    _ => Access::Update(vectors),
                })?),
                Field::Repeat(counts, fields) => {
                    let mut times = 0u32;
                    for &count in counts {
                        times = times.checked_add(*numbers.get(count)?)?;
                    }
                    for _ in 0..times {
                        self.fields(fields, numbers)?;
                    }
                }
            }
        }
        Some(())
    }
}
