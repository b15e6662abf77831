//! Layouts of wavefunctions: how they hold their momentum, before all other components.
//!
//! A process has HELAS's layout ([`mebridge_process::external`]). Outputs with virtuals (`[QCD]`) have MadLoop's in all
//! matrix elements: a loop momentum is complex, so each of its components is a complex number of its own
//! (arXiv:1103.0621). At tree level they are real.

use mebridge_process::arith::{Builder, Function, Op, ValueId};

/// How a wavefunction holds its momentum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MomentumLayout {
    /// HELAS: `E + i pz` and `px + i py`.
    #[default]
    Helas,
    /// MadLoop: `E`, `px`, `py` and `pz`.
    MadLoop,
}

impl MomentumLayout {
    /// Number of components of the momentum.
    pub fn momentum(self) -> u32 {
        match self {
            MomentumLayout::Helas => 2,
            MomentumLayout::MadLoop => 4,
        }
    }

    /// Returns the size of an array for a wavefunction that has this number of components in HELAS's layout.
    pub fn rows(self, components: u32) -> u32 {
        components - MomentumLayout::Helas.momentum() + self.momentum()
    }

    /// Returns the components in this layout of a wavefunction in HELAS's.
    pub fn of_helas(self, builder: &mut Builder, components: &[ValueId]) -> Vec<ValueId> {
        match (self, components) {
            (MomentumLayout::MadLoop, [energy_z, x_y, others @ ..]) => {
                let mut part = |part, of| builder.push(Op::Call(part, of));
                let mut found = vec![
                    part(Function::Re, *energy_z),
                    part(Function::Re, *x_y),
                    part(Function::Im, *x_y),
                    part(Function::Im, *energy_z),
                ];
                found.extend(others);
                found
            }
            _ => components.to_vec(),
        }
    }

    /// Returns the components in HELAS's layout of a wavefunction in this one, whose momentum is real.
    pub fn in_helas(self, builder: &mut Builder, components: &[ValueId]) -> Vec<ValueId> {
        match (self, components) {
            (MomentumLayout::MadLoop, [energy, x, y, z, others @ ..]) => {
                let mut found = vec![
                    builder.push(Op::Complex(*energy, *z)),
                    builder.push(Op::Complex(*x, *y)),
                ];
                found.extend(others);
                found
            }
            _ => components.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex64;

    #[test]
    fn a_wavefunction_there_and_back_is_the_same() {
        let c = |re, im| Complex64::new(re, im);
        let inputs = [c(5.0, 3.0), c(1.0, -2.0), c(0.25, 0.5)];
        for (layout, rows) in [(MomentumLayout::Helas, 3), (MomentumLayout::MadLoop, 5)] {
            let mut builder = Builder::new(3);
            let ours: Vec<ValueId> = (0..3).map(|n| builder.input(n)).collect();
            let theirs = layout.of_helas(&mut builder, &ours);
            let back = layout.in_helas(&mut builder, &theirs);
            assert_eq!((theirs.len(), layout.rows(3)), (rows, rows as u32));
            let values = builder.finish().evaluate(&inputs);
            let number = |id: &ValueId| values[*id as usize];
            assert!(back.iter().map(number).eq(inputs));
            let momentum: Vec<f64> = theirs.iter().map(|id| number(id).re).collect();
            if layout == MomentumLayout::MadLoop {
                assert_eq!(momentum[..4], [5.0, 1.0, -2.0, 3.0]);
            }
        }
    }
}
