//! Sums of amplitudes: what stands to the right of JAMP, TMP_JAMP and AMP2.

use super::expression::{Expr, Parsed};
use crate::process::{Source, Term};
use num_complex::Complex64;

/// A linear combination may not grow beyond this.
const MAX_TERMS: usize = 1 << 22;

/// What an expression of amplitudes can be.
#[derive(Clone, Debug)]
pub enum Form {
    Number(Complex64),
    /// A linear combination; conjugated or not.
    Linear(Vec<(Source, Complex64)>, bool),
    /// A sum of moduli squared of sums of amplitudes.
    Squares(Vec<Vec<u32>>),
}

/// Looks up a name or an element of an array.
pub trait Names {
    /// The form that `name(subscripts)` stands for.
    fn look_up(&mut self, name: &str, subscripts: &[Expr]) -> Parsed<Form>;
}

/// Reads an expression as a form.
pub fn form(expr: &Expr, names: &mut impl Names) -> Parsed<Form> {
    match expr {
        Expr::Int(i) => Ok(Form::Number(Complex64::new(*i as f64, 0.0))),
        Expr::Real(x) => Ok(Form::Number(Complex64::new(*x, 0.0))),
        Expr::Complex(parts) => match (form(&parts.0, names)?, form(&parts.1, names)?) {
            (Form::Number(re), Form::Number(im)) => Ok(Form::Number(Complex64::new(re.re, im.re))),
            _ => Err("a complex constant of what is not constant".into()),
        },
        Expr::Name(name) => names.look_up(name, &[]),
        Expr::Apply(name, arguments) => match (name.as_str(), arguments.as_slice()) {
            ("DCONJG" | "CONJG", [inner]) => match form(inner, names)? {
                Form::Number(c) => Ok(Form::Number(c.conj())),
                Form::Linear(terms, conjugated) => Ok(Form::Linear(terms, !conjugated)),
                Form::Squares(all) => Ok(Form::Squares(all)),
            },
            // Of a modulus squared these change nothing.
            ("DBLE" | "REAL" | "DREAL" | "ABS" | "DABS", [inner]) => match form(inner, names)? {
                Form::Squares(all) => Ok(Form::Squares(all)),
                Form::Number(c) if name.starts_with('D') && name != "DABS" => {
                    Ok(Form::Number(Complex64::new(c.re, 0.0)))
                }
                _ => Err(format!("{name} of a sum of amplitudes")),
            },
            ("DCMPLX" | "CMPLX", [re, im]) => match (form(re, names)?, form(im, names)?) {
                (Form::Number(re), Form::Number(im)) => {
                    Ok(Form::Number(Complex64::new(re.re, im.re)))
                }
                _ => Err("DCMPLX of a sum of amplitudes".into()),
            },
            _ => names.look_up(name, arguments),
        },
        Expr::Sum(terms) => {
            let mut total: Option<Form> = None;
            for (negative, term) in terms {
                let next = form(term, names)?;
                total = Some(add(total, next, *negative)?);
            }
            total.ok_or_else(|| "an empty sum".into())
        }
        Expr::Product(factors) => {
            let mut total: Option<Form> = None;
            for (divides, factor) in factors {
                let next = form(factor, names)?;
                total = Some(multiply(total, next, *divides)?);
            }
            total.ok_or_else(|| "an empty product".into())
        }
        Expr::Power(parts) => match (form(&parts.0, names)?, &parts.1) {
            (Form::Number(c), Expr::Int(n)) if n.abs() < 64 => Ok(Form::Number(c.powi(*n as i32))),
            _ => Err("a power of amplitudes".into()),
        },
        _ => Err("this is no sum of amplitudes".into()),
    }
}

fn add(total: Option<Form>, next: Form, negative: bool) -> Parsed<Form> {
    let next = if negative {
        scale(next, Complex64::new(-1.0, 0.0))?
    } else {
        next
    };
    let Some(total) = total else {
        return Ok(next);
    };
    match (total, next) {
        (Form::Number(a), Form::Number(b)) => Ok(Form::Number(a + b)),
        (Form::Number(a), other) | (other, Form::Number(a)) if a == Complex64::new(0.0, 0.0) => {
            Ok(other)
        }
        (Form::Linear(mut a, x), Form::Linear(b, y)) if x == y => {
            a.extend(b);
            if a.len() > MAX_TERMS {
                return Err("a sum of amplitudes has too many terms".into());
            }
            Ok(Form::Linear(a, x))
        }
        (Form::Squares(mut a), Form::Squares(b)) => {
            a.extend(b);
            Ok(Form::Squares(a))
        }
        _ => Err("a sum of things that cannot be added".into()),
    }
}

fn multiply(total: Option<Form>, next: Form, divides: bool) -> Parsed<Form> {
    let Some(total) = total else {
        return Ok(next);
    };
    match (total, next) {
        (Form::Number(a), Form::Number(b)) => Ok(Form::Number(if divides { a / b } else { a * b })),
        (total, Form::Number(c)) => scale(total, if divides { c.inv() } else { c }),
        (Form::Number(c), next) if !divides => scale(next, c),
        (Form::Linear(a, x), Form::Linear(b, y)) if !divides && x != y && a == b => {
            let mut set = Vec::with_capacity(a.len());
            for (source, factor) in a {
                match source {
                    Source::Amplitude(i) if factor == Complex64::new(1.0, 0.0) => set.push(i),
                    _ => return Err("the square of what is no plain sum of AMP".into()),
                }
            }
            Ok(Form::Squares(vec![set]))
        }
        _ => Err("a product of amplitudes that is no modulus squared".into()),
    }
}

fn scale(form: Form, by: Complex64) -> Parsed<Form> {
    match form {
        Form::Number(c) => Ok(Form::Number(c * by)),
        Form::Linear(mut terms, conjugated) => {
            for (_, factor) in &mut terms {
                *factor *= if conjugated { by.conj() } else { by };
            }
            Ok(Form::Linear(terms, conjugated))
        }
        Form::Squares(all) if by == Complex64::new(1.0, 0.0) => Ok(Form::Squares(all)),
        Form::Squares(_) => Err("a modulus squared with a factor".into()),
    }
}

/// The terms of a linear combination, as the process holds them.
pub fn terms(form: Form) -> Parsed<Vec<Term>> {
    match form {
        Form::Number(c) if c == Complex64::new(0.0, 0.0) => Ok(Vec::new()),
        Form::Linear(all, false) => {
            let finite = all
                .iter()
                .all(|(_, c)| c.re.is_finite() && c.im.is_finite());
            if !finite {
                return Err("a coefficient that is no finite number".into());
            }
            Ok(all
                .into_iter()
                .map(|(source, c)| Term {
                    source,
                    factor: (c.re, c.im),
                })
                .collect())
        }
        _ => Err("this is no linear combination of amplitudes".into()),
    }
}
