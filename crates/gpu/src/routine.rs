//! Device code of a Lorentz structure without a predefined routine.
//!
//! The instructions of the routine ([`mebridge_ops::general`]) become one device function with a line for each number
//! that is computed; operands that are only read or renamed are written inline. The function calls those of
//! `cuda/number.cuh` and `cuda/functions.cuh`.

use mebridge_ops::GeneralRoutine;
use mebridge_ops::general::{Action, Binary, Code, Elementary, Instruction, Test};
use mebridge_ops::opcode::Layout;
use std::fmt::Write;

/// Returns the device function of a routine:
///
/// `DEVICE Four name(Four w0, Cx w1, ..., Cx f0, ..., Momentum p0, ..., Real mass, Real width)`
///
/// The arguments are the operands of the operation, in its order ([`Layout::of_routine`]); they include mass and width
/// if the routine declares them, even if it does not read them. The function returns the components of the result,
/// without its momentum.
pub fn device_function(name: &str, general: &GeneralRoutine) -> String {
    let routine = &general.routine;
    let code = Code::of_routine(routine, general.massless);
    let layout = Layout::of_routine(routine);
    let mut arguments = Vec::new();
    for (i, &numbers) in routine.inputs.iter().enumerate() {
        arguments.push(format!("{} w{i}", components_type(numbers - 2)));
    }
    arguments.extend((0..layout.factors).map(|i| format!("Cx f{i}")));
    arguments.extend((0..layout.inputs).map(|i| format!("Momentum p{i}")));
    if routine.massive {
        arguments.extend(["Real mass".into(), "Real width".into()]);
    }
    let result = components_type(code.components as u32);
    let body = FunctionText::new(general, &code);
    let mut text = format!("DEVICE {result} {name}({}) {{\n", arguments.join(", "));
    for line in &body.lines {
        let _ = writeln!(text, "    {line}");
    }
    match &body.outputs[..] {
        [one] => {
            let _ = writeln!(text, "    return {one};");
        }
        [a, b, c, d] => {
            let _ = writeln!(text, "    return four({a}, {b}, {c}, {d});");
        }
        others => {
            let _ = writeln!(text, "    return {result}{{{{{}}}}};", others.join(", "));
        }
    }
    text.push_str("}\n");
    text
}

/// Returns the device type for a number of complex components.
fn components_type(count: u32) -> String {
    match count {
        1 => "Cx".into(),
        4 => "Four".into(),
        n => format!("Several<{n}>"),
    }
}

/// A function under construction.
struct FunctionText<'a> {
    general: &'a GeneralRoutine,
    /// Contents of each slot: the name of a number, or an expression without operators.
    slots: Vec<String>,
    lines: Vec<String>,
    outputs: Vec<String>,
}

impl<'a> FunctionText<'a> {
    fn new(general: &'a GeneralRoutine, code: &Code) -> Self {
        let mut body = FunctionText {
            general,
            slots: vec![String::new(); code.slots],
            lines: Vec::new(),
            outputs: vec![String::new(); code.components],
        };
        for instruction in &code.instructions {
            body.instruction(instruction);
        }
        body
    }

    /// Returns an operand by its position in the operation, and a real component of it.
    fn place(&self, place: u32, offset: u32) -> String {
        let routine = &self.general.routine;
        let legs = routine.inputs.len() as u32;
        let momenta = legs + routine.couplings;
        let masses = momenta + legs;
        if place < legs {
            match routine.inputs[place as usize] {
                3 => format!("w{place}"),
                _ => format!("w{place}.c[{}]", offset / 2),
            }
        } else if place < momenta {
            format!("f{}", place - legs)
        } else if place < masses {
            format!("p{}.p[{offset}]", place - momenta)
        } else if place == masses {
            "mass".into()
        } else {
            "width".into()
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let &Instruction { to, a, b, c, d, .. } = instruction;
        let slot = |i: u32| self.slots.get(i as usize).map_or("", String::as_str);
        let (x, y, z, v) = (slot(a), slot(b), slot(c), slot(d));
        let real = |text: String| Translated::Line("Real", text);
        let complex = |text: String| Translated::Line("Cx", text);
        let made = match instruction.action {
            Action::Load | Action::LoadComplex => Translated::Name(self.place(a, b)),
            Action::Const(value) => Translated::Name(constant(value)),
            Action::RealAdd => real(format!("{x} + {y}")),
            Action::RealSub => real(format!("{x} - {y}")),
            Action::RealMul => real(format!("{x} * {y}")),
            Action::RealMulAdd => real(format!("fused({x}, {y}, {z})")),
            Action::RealNegMulAdd => real(format!("neg_fused({x}, {y}, {z})")),
            Action::RealMulSub => real(format!("fused({x}, {y}, -{z})")),
            Action::Make => complex(format!("cx({x}, {y})")),
            Action::MakeConj => complex(format!("cx({x}, -{y})")),
            Action::Add(n) => complex(match n {
                0 => format!("{x} + {y}"),
                1 => format!("add_i({x}, {y})"),
                2 => format!("{x} - {y}"),
                _ => format!("sub_i({x}, {y})"),
            }),
            Action::AddReal(n) => complex(match n {
                0 => format!("cx({x}.re + {y}, {x}.im)"),
                1 => format!("cx({x}.re, {x}.im + {y})"),
                2 => format!("cx({x}.re - {y}, {x}.im)"),
                _ => format!("cx({x}.re, {x}.im - {y})"),
            }),
            Action::Mul => complex(format!("{x} * {y}")),
            Action::Scale => complex(format!("scale({y}, {x})")),
            Action::MulAdd(n) => complex(match n {
                0 => format!("mul_add({x}, {y}, {z})"),
                1 => format!("mul_add(times_i({x}), {y}, {z})"),
                2 => format!("neg_mul_add({x}, {y}, {z})"),
                _ => format!("neg_mul_add(times_i({x}), {y}, {z})"),
            }),
            Action::MulAddTurned(n) => complex(format!("mul_add({x}, {y}, {})", turned(n, z))),
            Action::ScaleAdd(n) => complex(match n {
                0 => format!("scale_add({y}, {x}, {z})"),
                1 => format!("scale_add(times_i({y}), {x}, {z})"),
                2 => format!("neg_scale_add({y}, {x}, {z})"),
                _ => format!("neg_scale_add(times_i({y}), {x}, {z})"),
            }),
            Action::ScaleAddTurned(n) => complex(format!("scale_add({y}, {x}, {})", turned(n, z))),
            Action::RealInverse => real(format!("quotient(Real(1), {x})")),
            Action::Inverse => complex(format!("reciprocal({x})")),
            Action::Conj => complex(format!("cx({x}.re, -{x}.im)")),
            Action::Re => Translated::Name(format!("{x}.re")),
            Action::Im => Translated::Name(format!("{x}.im")),
            Action::RealNeg => real(format!("-{x}")),
            Action::Turn(n) => complex(turned(n, x)),
            Action::Widen => complex(format!("cx({x}, Real(0))")),
            Action::Sqrt => real(format!("root({x})")),
            Action::Abs => real(format!("magnitude({x})")),
            Action::Binary(binary) => real(match binary {
                Binary::Max => format!("larger({x}, {y})"),
                Binary::Min => format!("smaller({x}, {y})"),
                Binary::Sign => format!("with_sign({x}, {y})"),
            }),
            Action::RealSelect(test) => real(format!("{x} {} {y} ? {z} : {v}", sign(test))),
            Action::Select(test) => complex(format!("{x} {} {y} ? {z} : {v}", sign(test))),
            Action::Elementary(function) => complex(match function {
                Elementary::Call(function) => format!("function_{function:?}({x})"),
                Elementary::Pow => format!("power({x}, {y})"),
                Elementary::Atan2 => format!("angle({x}, {y})"),
            }),
            Action::Store(n) => Translated::Output(turned(n, x)),
            Action::StoreReal(n) => Translated::Output(match n {
                0 => format!("cx({x}, Real(0))"),
                1 => format!("cx(Real(0), {x})"),
                2 => format!("cx(-{x}, Real(0))"),
                _ => format!("cx(Real(0), -{x})"),
            }),
            Action::StoreZero => Translated::Output("cx(Real(0), Real(0))".into()),
        };
        match made {
            Translated::Name(name) => self.slots[to as usize] = name,
            Translated::Line(kind, value) => {
                let name = format!("t{}", self.lines.len());
                self.lines.push(format!("{kind} {name} = {value};"));
                self.slots[to as usize] = name;
            }
            Translated::Output(value) => self.outputs[b as usize] = value,
        }
    }
}

/// Translation of an instruction.
enum Translated {
    /// Another name for an existing value.
    Name(String),
    /// A new number of this type.
    Line(&'static str, String),
    /// A component of the result.
    Output(String),
}

/// `i^n z`.
fn turned(n: u8, z: &str) -> String {
    match n {
        0 => z.into(),
        1 => format!("times_i({z})"),
        2 => format!("-{z}"),
        _ => format!("-times_i({z})"),
    }
}

fn sign(test: Test) -> &'static str {
    match test {
        Test::Lt => "<",
        Test::Le => "<=",
        Test::Eq => "==",
    }
}

/// Returns the absolute value of a real constant; its sign is handled elsewhere. Rust prints enough digits to identify
/// the number exactly.
fn constant(value: f64) -> String {
    if value.is_nan() {
        "not_a_number()".into()
    } else if value.is_infinite() {
        "infinity()".into()
    } else {
        format!("Real({value:?})")
    }
}
