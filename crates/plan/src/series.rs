//! Couplings that are polynomials in G and one other function of G. Those with running parameters depend on the
//! logarithm of G in this way.

use mebridge_process::arith::{Function, Op, Program, ValueId};
use num_complex::Complex64;

/// Maximum powers of G and of the function.
const MAX_POWERS: [usize; 2] = [12, 200];
/// Relative size of terms that are omitted from a sum.
const ACCURACY: f64 = 1e-18;
/// Number of ranges of arguments with separate numbers of terms; each range ends at half the previous one.
const RANGES: usize = 10;
/// Largest argument; that of running parameters is smaller.
pub const MAX_ARGUMENT: f64 = 0.25;

/// The function of G that a value depends on, besides powers of G.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Atoms {
    None,
    One(ValueId),
    Several,
}

impl Atoms {
    fn and(self, other: Atoms) -> Atoms {
        match (self, other) {
            (Atoms::None, other) => other,
            (one, Atoms::None) => one,
            (one, other) if one == other => one,
            _ => Atoms::Several,
        }
    }
}

/// `sum of c[k][n] G^k f^n`.
type Coefficients = Vec<Vec<Complex64>>;

/// A coupling as a series.
#[derive(Clone, Debug)]
pub struct Series {
    coefficients: Coefficients,
    /// Number of terms needed for arguments up to [`MAX_ARGUMENT`], half of it and so on.
    terms: [usize; RANGES],
}

impl Series {
    /// The value at G and f; `None` if f is too large.
    pub fn value(&self, g: f64, f: f64) -> Option<Complex64> {
        let size = f.abs();
        if size.is_nan() || size > MAX_ARGUMENT {
            return None;
        }
        let (mut range, mut bound) = (0, MAX_ARGUMENT / 2.0);
        while range + 1 < RANGES && size <= bound {
            (range, bound) = (range + 1, bound / 2.0);
        }
        let terms = self.terms[range];
        let sum = |row: &Vec<Complex64>| {
            let row = row[..terms.min(row.len())].iter().rev();
            row.fold(Complex64::default(), |sum, c| sum * f + c)
        };
        let rows = self.coefficients.iter().rev();
        Some(rows.fold(Complex64::default(), |all, row| all * g + sum(row)))
    }

    fn new(coefficients: Coefficients) -> Series {
        let longest = coefficients.iter().map(Vec::len).max().unwrap_or(0);
        let largest = |n: usize| {
            let of = coefficients.iter().filter_map(|row| row.get(n));
            of.map(|c| c.norm()).fold(0.0, f64::max)
        };
        let sizes: Vec<f64> = (0..longest).map(largest).collect();
        let mut bound = MAX_ARGUMENT;
        let terms = [(); RANGES].map(|()| {
            let powers = sizes.iter().zip(0..);
            let sizes: Vec<f64> = powers.map(|(c, n)| c * bound.powi(n)).collect();
            let most = sizes.iter().copied().fold(0.0, f64::max);
            bound /= 2.0;
            let mut rest = 0.0;
            let mut terms = sizes.len();
            while terms > 0 && rest + sizes[terms - 1] <= ACCURACY * most {
                terms -= 1;
                rest += sizes[terms];
            }
            terms
        });
        Series {
            coefficients,
            terms,
        }
    }
}

/// Finds the function that most values depend on, and expands all values that depend on no other function in it.
/// `polynomials` are the values that are polynomials in G.
pub fn series(
    program: &Program,
    polynomials: &[Option<Vec<Complex64>>],
    values: &[ValueId],
) -> Option<(ValueId, Vec<Option<Series>>)> {
    let mut atoms: Vec<Atoms> = Vec::with_capacity(program.ops.len());
    for (op, polynomial) in program.ops.iter().zip(polynomials) {
        let of = |v: ValueId| atoms[v as usize];
        let found = match (polynomial, *op) {
            (Some(_), _) => Atoms::None,
            (None, Op::Neg(a) | Op::Call(Function::Re, a)) => of(a),
            (None, Op::Add(a, b) | Op::Sub(a, b) | Op::Mul(a, b)) => of(a).and(of(b)),
            (None, Op::Div(a, b)) if constant(polynomials, b).is_some() => of(a),
            _ => Atoms::One(atoms.len() as ValueId),
        };
        atoms.push(found);
    }
    let atom = values.iter().find_map(|&v| match atoms[v as usize] {
        Atoms::One(atom) => Some(atom),
        _ => None,
    })?;
    let mut known: Vec<Option<Coefficients>> = Vec::with_capacity(program.ops.len());
    for (op, polynomial) in program.ops.iter().zip(polynomials) {
        let at = known.len();
        let of = |v: ValueId| known[v as usize].as_ref();
        let found = match (polynomial, *op) {
            (Some(c), _) => Some(c.iter().map(|&c| vec![c]).collect()),
            _ if at == atom as usize => {
                Some(vec![vec![Complex64::default(), Complex64::new(1.0, 0.0)]])
            }
            _ if atoms[at] != Atoms::One(atom) => None,
            (None, Op::Neg(a)) => of(a).map(|a| sum(&Vec::new(), a, -1.0)),
            (None, Op::Add(a, b)) => of(a).zip(of(b)).map(|(a, b)| sum(a, b, 1.0)),
            (None, Op::Sub(a, b)) => of(a).zip(of(b)).map(|(a, b)| sum(a, b, -1.0)),
            (None, Op::Mul(a, b)) => of(a).zip(of(b)).and_then(|(a, b)| product(a, b)),
            (None, Op::Div(a, b)) => {
                let divisor = constant(polynomials, b);
                of(a).zip(divisor).map(|(a, b)| each(a, |c| c / b))
            }
            // G and the function are real.
            (None, Op::Call(Function::Re, a)) => of(a).map(|a| each(a, |c| c.re.into())),
            _ => None,
        };
        known.push(found);
    }
    let of = |&v: &ValueId| match atoms[v as usize] {
        Atoms::One(own) if own == atom => known[v as usize].clone().map(Series::new),
        _ => None,
    };
    Some((atom, values.iter().map(of).collect()))
}

/// The value, if it is the same for every G.
fn constant(polynomials: &[Option<Vec<Complex64>>], value: ValueId) -> Option<Complex64> {
    match polynomials[value as usize].as_deref() {
        Some(&[c]) => Some(c),
        _ => None,
    }
}

fn each(a: &Coefficients, f: impl Fn(Complex64) -> Complex64) -> Coefficients {
    let row = |row: &Vec<Complex64>| row.iter().map(|&c| f(c)).collect();
    a.iter().map(row).collect()
}

fn sum(a: &Coefficients, b: &Coefficients, sign: f64) -> Coefficients {
    let row = |p: &Coefficients, k: usize| p.get(k).cloned().unwrap_or_default();
    let of = |k: usize| {
        let (mut x, y) = (row(a, k), row(b, k));
        x.resize(x.len().max(y.len()), Complex64::default());
        x.iter_mut().zip(y).for_each(|(x, y)| *x += y * sign);
        x
    };
    (0..a.len().max(b.len())).map(of).collect()
}

fn product(a: &Coefficients, b: &Coefficients) -> Option<Coefficients> {
    let width = |p: &Coefficients| p.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let (height, wide) = (a.len() + b.len() - 1, width(a) + width(b) - 1);
    if height > MAX_POWERS[0] + 1 || wide > MAX_POWERS[1] + 1 {
        return None;
    }
    let mut found = vec![vec![Complex64::default(); wide]; height];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            for (m, x) in x.iter().enumerate() {
                for (n, y) in y.iter().enumerate() {
                    found[i + j][m + n] += x * y;
                }
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_process::arith::Builder;

    /// i G^2 (3 + f (f - G)) with f = log G; the second value has the logarithm of another function.
    #[test]
    fn polynomials_in_a_function_are_found() {
        let mut b = Builder::new(1);
        let g = b.input(0);
        let f = b.push(Op::Call(Function::RealLog, g));
        let other = b.push(Op::Call(Function::Sin, g));
        let (three, i) = (b.real(3.0), b.complex(0.0, 1.0));
        let difference = b.push(Op::Sub(f, g));
        let product = b.push(Op::Mul(difference, f));
        let total = b.push(Op::Add(product, three));
        let square = b.push(Op::PowI(g, 2));
        let times = b.push(Op::Mul(square, total));
        let real = b.push(Op::Call(Function::Re, times));
        let tripled = b.push(Op::Mul(real, three));
        let divided = b.push(Op::Div(tripled, three));
        let first = b.push(Op::Mul(i, divided));
        let second = b.push(Op::Mul(first, other));
        let third = b.push(Op::Neg(other));
        let program = b.finish();
        let c = Complex64::new;
        let polynomials = program.ops.iter().map(|op| match op {
            Op::Input(_) => Some(vec![c(0.0, 0.0), c(1.0, 0.0)]),
            Op::Const(re, im) => Some(vec![c(*re, *im)]),
            Op::PowI(..) => Some(vec![c(0.0, 0.0), c(0.0, 0.0), c(1.0, 0.0)]),
            _ => None,
        });
        let polynomials: Vec<_> = polynomials.collect();
        let (atom, found) = series(&program, &polynomials, &[first, second, third]).unwrap();
        assert_eq!(atom, f);
        assert!(found[1].is_none() && found[2].is_none());
        for x in [0.8, 0.999, 1.0, 1.0 + 1e-9, 1.2] {
            let all = program.evaluate(&[c(x, 0.0)]);
            let value = found[0].as_ref().unwrap().value(x, x.ln()).unwrap();
            assert!((value - all[first as usize]).norm() < 1e-14, "{x}: {value}");
        }
        let found = found[0].as_ref().unwrap();
        assert!(found.value(1.0, 0.3).is_none() && found.value(1.0, f64::NAN).is_none());
    }

    /// exp(x) is accurate to rounding with only the terms that x requires.
    #[test]
    fn terms_that_do_not_matter_are_left_out() {
        let mut factorial = 1.0;
        let row = (0..40).map(|n| {
            factorial *= f64::from(n).max(1.0);
            Complex64::new(20.0_f64.powi(n) / factorial, 0.0)
        });
        let series = Series::new(vec![row.collect()]);
        assert!(series.terms.is_sorted_by(|a, b| a >= b) && series.terms[RANGES - 1] < 10);
        for x in [0.25, -0.2, 0.11, 0.05, -0.01, 1e-3, 1e-9, 0.0] {
            let value = series.value(0.0, x).unwrap().re;
            let exact = (20.0 * x).exp();
            assert!(
                (value - exact).abs() < 1e-14 * (20.0 * x.abs()).exp(),
                "{x}: {value} {exact}"
            );
        }
    }
}
