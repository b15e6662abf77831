//! Operands of an instruction of a plan, as values of the generated code.

use super::expression::Id;
use mebridge_ops::Address;

/// A number in the instruction, a computed value, or the address of a result and its vectors.
#[derive(Clone, Copy)]
pub(super) enum ValueOperand {
    Number(u32),
    Value(Id),
    Result(Address, u32),
}

impl ValueOperand {
    pub(super) fn value(self) -> Option<Id> {
        match self {
            ValueOperand::Value(id) => Some(id),
            _ => None,
        }
    }

    pub(super) fn number(self) -> Option<usize> {
        match self {
            ValueOperand::Number(n) => Some(n as usize),
            _ => None,
        }
    }
}
