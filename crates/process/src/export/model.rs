//! `Source/MODEL` and the cards.

use super::program::{Expression, Statements};
use super::shared::Shared;
use super::source::{SourceText, number};
use crate::arith::{Op, ValueId};
use crate::model::{CardParameter, Model};
use mebridge_support::sorted::SortedMap;
use std::collections::HashMap;
use std::fmt::Write;

/// The parameter that sets the strong coupling before the first event.
const ALPHA_S: (&str, [i32; 1]) = ("sminputs", [3]);

/// Name and text of a file.
pub type File = (&'static str, String);

/// The files of `Source/MODEL`.
pub fn files(shared: &Shared) -> Vec<File> {
    let formulas = Formulas::new(shared);
    vec![
        ("coupl.inc", formulas.coupl()),
        ("input.inc", formulas.input()),
        ("couplings.f", formulas.couplings()),
        ("rw_para.f", rw_para(&shared.model)),
        (
            "lha_read.f",
            include_str!("../../../../fortran/outputs/standalone/Source/MODEL/lha_read.f").into(),
        ),
    ]
}

/// The files of `Cards`, with the model's parameter values.
pub fn cards(model: &Model, name: &str) -> Result<Vec<File>, String> {
    let mut ident = String::new();
    let mut blocks: SortedMap<&str, Vec<(i32, &CardParameter)>> = SortedMap::new();
    for parameter in &model.card {
        let [index] = parameter.index[..] else {
            return Err(format!(
                "the parameter {} has no place in a card, or one with several indices",
                parameter.name
            ));
        };
        let _ = writeln!(ident, "{} {index} {}", parameter.block, parameter.name);
        let block = blocks.entry(&parameter.block).or_default();
        block.push((index, parameter));
    }
    let mut card = String::from("# Parameters that the matrix elements depend on.\n");
    for (block, entries) in &blocks {
        let decay = *block == "decay";
        if !decay {
            let _ = writeln!(card, "Block {block}");
        }
        for (index, parameter) in entries {
            let start = if decay { "DECAY" } else { "    " };
            let CardParameter { default, name, .. } = parameter;
            let _ = writeln!(card, "{start} {index} {default:e} # {name}");
        }
    }
    let mut files = vec![("ident_card.dat", ident), ("param_card.dat", card)];
    if !name.is_empty() {
        files.push(("proc_card_mg5.dat", format!("import model {name}\n")));
    }
    Ok(files)
}

/// The subroutine SETPARA.
fn rw_para(model: &Model) -> String {
    let mut f = SourceText::default();
    f.comment("Written by mebridge. SETPARA: reads the card, then computes all parameters.");
    f.raw("C");
    for line in [
        "SUBROUTINE SETPARA(CARD)",
        "IMPLICIT NONE",
        "CHARACTER*(*) CARD",
        "INTEGER NPARA",
        "CHARACTER*20 PARAM(1), VALUE(1)",
        "INCLUDE '../vector.inc'",
        "INCLUDE 'input.inc'",
        "INCLUDE 'coupl.inc'",
        "CALL LHA_LOADCARD(CARD,NPARA,PARAM,VALUE)",
    ] {
        f.line(line);
    }
    for CardParameter { name, default, .. } in &model.card {
        let default = number(*default);
        f.line(&format!(
            "CALL LHA_GET_REAL(NPARA,PARAM,VALUE,'{name}',{name},{default})"
        ));
    }
    f.line("CALL COUP()");
    f.line("END");
    f.0
}

/// The formulas of a model, split into those computed once and those computed per event.
struct Formulas<'a> {
    shared: &'a Shared,
    per_event: Vec<bool>,
    once: Statements,
    event: Statements,
    /// Values that are computed once and needed per event, with their names.
    kept: Vec<(ValueId, Expression)>,
}

impl<'a> Formulas<'a> {
    fn new(shared: &'a Shared) -> Self {
        let per_event = shared.per_event();
        let model = &shared.model;
        let program = &model.program;
        let input = |n: u32| match model.card.get(n as usize) {
            Some(parameter) => Expression::atom(&parameter.name, true),
            None => Expression::atom("G", true),
        };
        let named = || model.parameters.iter().chain(&model.couplings);
        let varies = |value: ValueId| per_event[value as usize];
        let of_event: Vec<ValueId> = named().map(|n| n.value).filter(|&v| varies(v)).collect();
        let mut needed = vec![false; program.ops.len()];
        for &value in &of_event {
            needed[value as usize] = true;
        }
        let mut boundary = Vec::new();
        for value in (0..program.ops.len() as ValueId).rev() {
            let op = &program.ops[value as usize];
            match (needed[value as usize], varies(value), op) {
                (true, true, _) => op.for_each_operand(|v| needed[v as usize] = true),
                (false, ..) | (_, _, Op::Input(_) | Op::Const(..)) => {}
                (true, false, _) => boundary.push(value),
            }
        }
        let of_all = named().map(|n| n.value).filter(|&v| !varies(v));
        let of_all: Vec<ValueId> = of_all.chain(boundary.iter().copied()).collect();
        let once = Statements::write(program, &of_all, &HashMap::new(), &input);
        let kept: Vec<(ValueId, Expression)> = (1..)
            .zip(boundary)
            .map(|(n, value)| {
                let real = once.value(value).real;
                let letter = if real { "MDL_R" } else { "MDL_C" };
                (value, Expression::atom(format!("{letter}{n}"), real))
            })
            .collect();
        let known = kept.iter().cloned().collect();
        let event = Statements::write(program, &of_event, &known, &input);
        Formulas {
            shared,
            per_event,
            once,
            event,
            kept,
        }
    }

    fn varies(&self, value: ValueId) -> bool {
        self.per_event[value as usize]
    }

    /// Whether a mass or width is itself a parameter of the card.
    fn of_card(&self, name: &str) -> bool {
        self.shared.model.card.iter().any(|p| p.name == name)
    }

    /// COMMON blocks with the strong coupling, masses, widths and couplings.
    fn coupl(&self) -> String {
        let model = &self.shared.model;
        let mut f = SourceText::default();
        f.comment("Written by mebridge. The strong coupling, masses, widths and couplings.");
        f.comment("vector.inc comes before this file: it defines VECSIZE_MEMMAX.");
        f.line("DOUBLE PRECISION G");
        f.line("COMMON/STRONG/ G");
        let names: Vec<String> = model.parameters.iter().map(|p| p.name.clone()).collect();
        common(&mut f, "DOUBLE PRECISION", "MASSES", &names, &names);
        let names: Vec<String> = model.couplings.iter().map(|c| c.name.clone()).collect();
        let declared = model.couplings.iter().map(|c| match self.varies(c.value) {
            true => format!("{}(VECSIZE_MEMMAX)", c.name),
            false => c.name.clone(),
        });
        let declared: Vec<String> = declared.collect();
        common(&mut f, "DOUBLE COMPLEX", "COUPLINGS", &declared, &names);
        f.0
    }

    /// COMMON blocks with everything else.
    fn input(&self) -> String {
        let mut f = SourceText::default();
        f.comment("Written by mebridge. Parameters that are neither masses nor widths.");
        let model = &self.shared.model;
        let is_mass = |name: &str| model.parameters.iter().any(|p| p.name == name);
        let card = model.card.iter().filter(|p| !is_mass(&p.name));
        let kept = |real: bool| {
            let kept = self.kept.iter().filter(move |(_, e)| e.real == real);
            kept.map(|(_, e)| e.text.clone())
        };
        let real: Vec<String> = card.map(|p| p.name.clone()).chain(kept(true)).collect();
        common(&mut f, "DOUBLE PRECISION", "PARAMS_R", &real, &real);
        let complex: Vec<String> = kept(false).collect();
        common(&mut f, "DOUBLE COMPLEX", "PARAMS_C", &complex, &complex);
        f.0
    }

    /// COUP, UPDATE_AS_PARAM and UPDATE_AS_PARAM2.
    fn couplings(&self) -> String {
        let model = &self.shared.model;
        let mut f = SourceText::default();
        f.comment(
            "Written by mebridge. COUP: values that depend on the card only. Called once, by SETPARA.",
        );
        f.raw("C");
        head(&mut f, "COUP()", "", &self.once);
        let alpha_s = model.card.iter();
        let alpha_s =
            alpha_s.filter(|p| (p.block.as_str(), &p.index[..]) == (ALPHA_S.0, &ALPHA_S.1));
        for parameter in alpha_s {
            f.line(&format!("G = 2D0*SQRT(PI*{})", parameter.name));
        }
        for line in &self.once.lines {
            f.line(line);
        }
        for parameter in &model.parameters {
            if !self.varies(parameter.value) && !self.of_card(&parameter.name) {
                let value = self.once.value(parameter.value);
                f.line(&format!("{} = {}", parameter.name, value.text));
            }
        }
        for coupling in model.couplings.iter().filter(|c| !self.varies(c.value)) {
            let value = self.once.value(coupling.value);
            f.line(&format!("{} = {}", coupling.name, value.text));
        }
        for (value, name) in &self.kept {
            f.line(&format!("{} = {}", name.text, self.once.value(*value).text));
        }
        f.line("CALL UPDATE_AS_PARAM(1)");
        f.line("END");

        f.raw("");
        f.comment("UPDATE_AS_PARAM: values that depend on G, for event IVEC of a batch.");
        f.raw("C");
        head(&mut f, "UPDATE_AS_PARAM(IVEC)", "INTEGER IVEC", &self.event);
        for line in &self.event.lines {
            f.line(line);
        }
        for parameter in model.parameters.iter().filter(|p| self.varies(p.value)) {
            let value = self.event.value(parameter.value);
            f.line(&format!("{} = {}", parameter.name, value.text));
        }
        for coupling in model.couplings.iter().filter(|c| self.varies(c.value)) {
            let value = self.event.value(coupling.value);
            f.line(&format!("{}(IVEC) = {}", coupling.name, value.text));
        }
        f.line("END");

        f.raw("");
        f.comment("UPDATE_AS_PARAM2: the same, given alpha_s. The squared scale is not used.");
        f.raw("C");
        let none = Statements::default();
        head(
            &mut f,
            "UPDATE_AS_PARAM2(MU_R2, AS2, IVEC)",
            "INTEGER IVEC",
            &none,
        );
        f.line("DOUBLE PRECISION MU_R2, AS2");
        f.line("G = 2D0*SQRT(PI*AS2)");
        f.line("CALL UPDATE_AS_PARAM(IVEC)");
        f.line("END");
        f.0
    }
}

/// The head of a subroutine, before its first statement.
fn head(f: &mut SourceText, name: &str, argument: &str, statements: &Statements) {
    f.line(&format!("SUBROUTINE {name}"));
    f.line("IMPLICIT NONE");
    if !argument.is_empty() {
        f.line(argument);
    }
    f.line("DOUBLE PRECISION PI");
    f.line(&format!("PARAMETER (PI={})", number(std::f64::consts::PI)));
    f.line("INCLUDE '../vector.inc'");
    f.line("INCLUDE 'input.inc'");
    f.line("INCLUDE 'coupl.inc'");
    f.list("DOUBLE PRECISION", &statements.real);
    f.list("DOUBLE COMPLEX", &statements.complex);
}

/// A COMMON block with the declarations of its names; nothing if there are no names.
fn common(f: &mut SourceText, kind: &str, block: &str, declared: &[String], names: &[String]) {
    if !names.is_empty() {
        f.raw("");
        f.list(kind, declared);
        f.line(&format!("COMMON/{block}/ {}", names.join(", ")));
    }
}
