//! Removal of unused operations from a program.

use super::arith::{Program, ValueId};

impl Program {
    /// Returns the program with only the operations that the given values need, and the new number of every old value
    /// that is kept. Inputs keep their numbers.
    pub fn pruned(&self, roots: &[ValueId]) -> (Program, Vec<Option<ValueId>>) {
        let mut needed = vec![false; self.ops.len()];
        for &root in roots {
            needed[root as usize] = true;
        }
        for i in (0..self.ops.len()).rev() {
            if needed[i] {
                self.ops[i].for_each_operand(|v| needed[v as usize] = true);
            }
        }
        let mut new_ids: Vec<Option<ValueId>> = vec![None; self.ops.len()];
        let mut ops = Vec::new();
        for (i, op) in self.ops.iter().enumerate() {
            if needed[i] {
                new_ids[i] = Some(ops.len() as ValueId);
                // Operands of needed operations are needed too, and come earlier.
                ops.push(op.map_operands(|v| new_ids[v as usize].unwrap_or(0)));
            }
        }
        let program = Program {
            inputs: self.inputs,
            ops,
        };
        (program, new_ids)
    }
}

#[cfg(test)]
mod tests {
    use super::super::arith::{Builder, Op};
    use num_complex::Complex64;

    #[test]
    fn keeps_what_is_needed() {
        let mut b = Builder::new(2);
        let (x, y) = (b.input(0), b.input(1));
        let sum = b.push(Op::Add(x, y));
        let unused = b.push(Op::Mul(x, x));
        let result = b.push(Op::Neg(sum));
        let (program, ids) = b.finish().pruned(&[result]);
        assert_eq!(program.ops.len(), 4);
        assert_eq!(ids[unused as usize], None);
        let inputs = [Complex64::new(1.0, 0.0), Complex64::new(2.0, 0.0)];
        let at = ids[result as usize].unwrap() as usize;
        assert_eq!(program.evaluate(&inputs)[at].re, -3.0);
    }
}
