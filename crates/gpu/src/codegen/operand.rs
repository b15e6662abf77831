//! What an instruction of a plan works on, as far as values of the generated code go.

use super::expression::Id;
use mebridge_ops::Address;

/// A number of the instruction, a value that was made, or the place of a result and its vectors.
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
