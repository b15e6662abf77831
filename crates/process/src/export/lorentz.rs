//! `Source/DHELAS`: a subroutine for each Lorentz structure, with the arguments of ALOHA (arXiv:1108.2041): the
//! wavefunctions, the couplings, mass and width of the resulting line, and the result.

use super::program::{Expression, Statements};
use super::source::SourceText;
use crate::lorentz::Routine;
use std::collections::HashMap;

/// The subroutine of a Lorentz structure.
pub fn subroutine(routine: &Routine) -> String {
    let names = Names::new(routine);
    let input = |n: u32| names.input(routine, n);
    let known = HashMap::new();
    let statements = Statements::write(&routine.program, &routine.outputs, &known, &input);
    let mut f = SourceText::default();
    f.comment("Written by mebridge.");
    f.raw("C");
    let mut arguments = names.wavefunctions.clone();
    arguments.extend(names.couplings.iter().cloned());
    arguments.extend(names.line.iter().cloned());
    arguments.push(names.result.clone());
    f.line(&format!(
        "SUBROUTINE {}({})",
        routine.name,
        arguments.join(", ")
    ));
    f.line("IMPLICIT NONE");
    for (name, components) in names.wavefunctions.iter().zip(&routine.inputs) {
        f.line(&format!("COMPLEX*16 {name}({components})"));
    }
    f.list("COMPLEX*16", &names.couplings);
    f.list("REAL*8", &names.line);
    match routine.is_amplitude() {
        true => f.line(&format!("COMPLEX*16 {}", names.result)),
        false => f.line(&format!(
            "COMPLEX*16 {}({})",
            names.result,
            routine.outputs.len()
        )),
    }
    f.list("REAL*8", &statements.real);
    f.list("COMPLEX*16", &statements.complex);
    for line in &statements.lines {
        f.line(line);
    }
    for (component, &output) in (1..).zip(&routine.outputs) {
        let value = &statements.value(output).text;
        match routine.is_amplitude() {
            true => f.line(&format!("{} = {value}", names.result)),
            false => f.line(&format!("{}({component}) = {value}", names.result)),
        }
    }
    f.line("END");
    f.0
}

/// Names of a subroutine's arguments.
struct Names {
    wavefunctions: Vec<String>,
    couplings: Vec<String>,
    /// Mass and width.
    line: Vec<String>,
    result: String,
}

impl Names {
    /// `F1`, `V3` if the routine's name contains the spins (`FFV1_2`), otherwise `A1`, `A2`.
    fn new(routine: &Routine) -> Names {
        let spins: Vec<char> = routine
            .name
            .chars()
            .take_while(|c| "FSV".contains(*c))
            .collect();
        let result = routine
            .name
            .rsplit('_')
            .next()
            .and_then(|n| n.parse::<usize>().ok());
        let result = result.unwrap_or(0);
        let legs: Vec<usize> = (1..=spins.len()).filter(|&leg| leg != result).collect();
        let has_all_legs = legs.len() == routine.inputs.len()
            && result <= spins.len()
            && routine.is_amplitude() == (result == 0);
        let wavefunctions = match has_all_legs {
            true => legs
                .iter()
                .map(|&leg| format!("{}{leg}", spins[leg - 1]))
                .collect(),
            false => (1..=routine.inputs.len())
                .map(|n| format!("A{n}"))
                .collect(),
        };
        let couplings = match routine.couplings {
            1 => vec!["COUP".into()],
            n => (1..=n).map(|n| format!("COUP{n}")).collect(),
        };
        Names {
            wavefunctions,
            couplings,
            line: match routine.massive {
                true => vec![format!("M{result}"), format!("W{result}")],
                false => Vec::new(),
            },
            result: match (routine.is_amplitude(), has_all_legs) {
                (true, _) => "VERTEX".into(),
                (false, true) => format!("{}{result}", spins[result - 1]),
                (false, false) => "A".into(),
            },
        }
    }

    fn input(&self, routine: &Routine, n: u32) -> Expression {
        let mut first = 0;
        for (name, &components) in self.wavefunctions.iter().zip(&routine.inputs) {
            if n < first + components {
                return Expression::atom(format!("{name}({})", n - first + 1), false);
            }
            first += components;
        }
        match self.couplings.get((n - first) as usize) {
            Some(name) => Expression::atom(name, false),
            None => Expression::atom(&self.line[(n - routine.mass_input()) as usize], true),
        }
    }
}
