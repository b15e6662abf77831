//! Identifies the kernel for a Lorentz structure, based on what the structure computes.
//!
//! A routine is evaluated at random points and compared with every kernel that has wavefunctions of the same sizes, for
//! all permutations of them. It matches if it is a linear combination, with constant coefficients, of couplings times
//! the results of the kernel with one of its factors set to 1; for a wavefunction also times the propagator `1 / (p^2 -
//! m (m - i width))`. The coefficients are fitted, rounded to a simple fraction if they are close to one, and verified
//! at further points. Names are not used, so models that name their structures differently, or have new ones that
//! reduce to known ones, are supported as well.
//!
//! The points satisfy momentum conservation, as in all applications: two forms of an amplitude that agree only then
//! count as equal. They come from a generator with a fixed seed, so the result is reproducible.

use super::opcode::{Momenta, Opcode, Operands};
use crate::kernels::{Direct, amplitudes, currents};
use mebridge_process::lorentz::Routine;
use mebridge_simd::Real;
use mebridge_support::random::SplitMix64;
use num_complex::Complex64;

/// A kernel that computes the same as a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct Recognized {
    /// The kernel.
    pub opcode: Opcode,
    /// For each input of the kernel, the index of the corresponding argument of the routine.
    pub input_permutation: Vec<usize>,
    /// For each factor of the kernel the terms of which it is the sum: index of the routine's coupling, and
    /// coefficient. For a wavefunction the sum must be multiplied by the propagator.
    pub factors: Vec<Vec<(usize, Complex64)>>,
}

/// Number of points for the fit, and of further points for the verification.
const FIT_POINTS: usize = 4;
const CHECK_POINTS: usize = 8;

/// Largest deviation, relative to the largest term, that counts as agreement. Rounding errors are below 1e-13 for the
/// routines of the Standard Model; a wrong kernel deviates by order 1.
const TOLERANCE: f64 = 1e-11;

/// Arguments for a routine and for kernels.
struct Point {
    /// Components, without momentum.
    wavefunctions: Vec<Vec<Complex64>>,
    momenta: Vec<[f64; 4]>,
    /// Sum of the momenta.
    total: [f64; 4],
    mass: f64,
    /// 1 for an amplitude.
    propagator: Complex64,
    /// Pairs of couplings and the routine's results for them.
    results: Vec<(Vec<Complex64>, Vec<Complex64>)>,
}

/// Finds the kernel that computes the same as the routine; `None` if there is none. `massless` means that the mass (and
/// with it the width) is exactly zero where the routine is used.
pub fn recognize(routine: &Routine, massless: bool) -> Option<Recognized> {
    let sizes: Vec<u8> = routine
        .inputs
        .iter()
        .map(|&n| size(n))
        .collect::<Option<_>>()?;
    let result_size = if routine.is_amplitude() {
        1
    } else {
        size(routine.outputs.len() as u32)?
    };
    let mut rng = SplitMix64::new(1);
    let points: Vec<Point> = (0..FIT_POINTS + CHECK_POINTS)
        .map(|i| draw(routine, massless, i < FIT_POINTS, &mut rng))
        .collect::<Option<_>>()?;
    for opcode in candidates(massless) {
        let components: Vec<u8> = opcode.spins().iter().map(|s| s.components()).collect();
        let Some(layout) = opcode.layout() else {
            continue;
        };
        if layout.amplitude != routine.is_amplitude()
            || layout.inputs != sizes.len()
            || components[layout.inputs] != result_size
        {
            continue;
        }
        for permutation in permutations(sizes.len()) {
            let fits = permutation
                .iter()
                .zip(&components)
                .all(|(&argument, &needed)| sizes[argument] == needed);
            if !fits {
                continue;
            }
            if let Some(factors) = fit(routine, opcode, &permutation, &points) {
                return Some(Recognized {
                    opcode,
                    input_permutation: permutation,
                    factors,
                });
            }
        }
    }
    None
}

/// Whether the momentum of the routine's result is the sum of those of its arguments, component by component. The
/// execution of plans relies on this. True for an amplitude.
pub fn momentum_is_conserved(routine: &Routine) -> bool {
    if routine.is_amplitude() {
        return true;
    }
    let mut rng = SplitMix64::new(1);
    (0..3).all(|_| {
        let inputs: Vec<Complex64> = (0..routine.program_inputs())
            .map(|_| complex(&mut rng))
            .collect();
        let result = routine.evaluate(&inputs);
        (0..2).all(|component| {
            let expected: Complex64 = (0..routine.inputs.len())
                .map(|i| inputs[routine.wavefunction_input(i, component) as usize])
                .sum();
            (result[component as usize] - expected).norm() < 1e-13
        })
    })
}

/// Components of a wavefunction with this number of complex numbers, including momentum, if kernels support it.
fn size(numbers: u32) -> Option<u8> {
    match numbers {
        3 => Some(1),
        6 => Some(4),
        _ => None,
    }
}

/// Opcodes to be tried for a routine, cheapest first.
fn candidates(massless: bool) -> Vec<Opcode> {
    let all = Opcode::VERTICES.iter().copied();
    // No kernel may divide by a mass that is zero.
    let mut opcodes: Vec<Opcode> = all.filter(|o| !(massless && o.is_unitary())).collect();
    opcodes.sort_by_key(|&opcode| match opcode.operands() {
        Some(Operands::Fixed {
            layout,
            multiply_adds,
            ..
        }) => (multiply_adds, layout.len()),
        _ => (usize::MAX, usize::MAX),
    });
    opcodes
}

/// All permutations of `n` indices, beginning with the identity.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..n {
        all = all
            .into_iter()
            .flat_map(|start: Vec<usize>| {
                (0..n).filter_map(move |i| {
                    if start.contains(&i) {
                        return None;
                    }
                    let mut longer = start.clone();
                    longer.push(i);
                    Some(longer)
                })
            })
            .collect();
    }
    all
}

fn complex(rng: &mut SplitMix64) -> Complex64 {
    Complex64::new(rng.between(-1.0, 1.0), rng.between(-1.0, 1.0))
}

/// Draws a random point and computes the routine's results: for the fit one result for each coupling set to 1 and the
/// others to 0, otherwise one for random couplings. `None` if the result's momentum is not the sum of those of the
/// arguments.
fn draw(routine: &Routine, massless: bool, for_fit: bool, rng: &mut SplitMix64) -> Option<Point> {
    let legs = routine.inputs.len();
    let wavefunctions: Vec<Vec<Complex64>> = routine
        .inputs
        .iter()
        .map(|&n| (2..n).map(|_| complex(rng)).collect())
        .collect();
    let (momenta, total, mass, width, propagator) = loop {
        let mut momenta: Vec<[f64; 4]> = (0..legs)
            .map(|_| [0; 4].map(|_| rng.between(-1.0, 1.0)))
            .collect();
        let mut total = [0.0; 4];
        for p in &momenta {
            for (sum, x) in total.iter_mut().zip(p) {
                *sum += x;
            }
        }
        if routine.is_amplitude() {
            if let Some(last) = momenta.last_mut() {
                for (x, sum) in last.iter_mut().zip(total) {
                    *x -= sum;
                }
            }
            break (momenta, [0.0; 4], 0.0, 0.0, Complex64::new(1.0, 0.0));
        }
        let (mass, width) = if massless {
            (0.0, 0.0)
        } else {
            (rng.between(0.5, 2.0), rng.between(0.1, 0.5))
        };
        let p2 = total[0].powi(2) - total[1].powi(2) - total[2].powi(2) - total[3].powi(2);
        let denominator = p2 - mass * Complex64::new(mass, -width);
        // Close to the pole, rounding errors would be amplified.
        if denominator.norm() > 0.1 {
            break (momenta, total, mass, width, denominator.inv());
        }
    };
    let mut inputs = Vec::new();
    for (w, p) in wavefunctions.iter().zip(&momenta) {
        inputs.push(Complex64::new(p[0], p[3]));
        inputs.push(Complex64::new(p[1], p[2]));
        inputs.extend(w);
    }
    let couplings = routine.couplings as usize;
    let choices: Vec<Vec<Complex64>> = if for_fit {
        (0..couplings)
            .map(|i| {
                let mut unit = vec![Complex64::new(0.0, 0.0); couplings];
                unit[i] = Complex64::new(1.0, 0.0);
                unit
            })
            .collect()
    } else {
        vec![(0..couplings).map(|_| complex(rng)).collect()]
    };
    let mut results = Vec::new();
    for choice in choices {
        let mut all = inputs.clone();
        all.extend(&choice);
        if routine.massive {
            all.push(Complex64::new(mass, 0.0));
            all.push(Complex64::new(width, 0.0));
        }
        let mut result = routine.evaluate(&all);
        if !routine.is_amplitude() {
            let momentum: Vec<Complex64> = result.drain(..2).collect();
            let expected = [
                Complex64::new(total[0], total[3]),
                Complex64::new(total[1], total[2]),
            ];
            let conserved = momentum
                .iter()
                .zip(expected)
                .all(|(got, expected)| (got - expected).norm() < 1e-13);
            if !conserved {
                return None;
            }
        }
        results.push((choice, result));
    }
    Some(Point {
        wavefunctions,
        momenta,
        total,
        mass,
        propagator,
        results,
    })
}

/// Results of a kernel at a point for each of its factors set to 1 and the others to 0, times the propagator.
fn basis(opcode: Opcode, permutation: &[usize], point: &Point) -> Vec<Vec<Complex64>> {
    let Some(layout) = opcode.layout() else {
        return Vec::new();
    };
    let mut memory: Vec<f64> = Vec::new();
    let place = |memory: &mut Vec<f64>, numbers: &[f64]| {
        let address = memory.len() as u32;
        memory.extend_from_slice(numbers);
        address
    };
    let mut operands = Vec::new();
    for &argument in permutation {
        let numbers: Vec<f64> = point.wavefunctions[argument]
            .iter()
            .flat_map(|z| [z.re, z.im])
            .collect();
        operands.push(place(&mut memory, &numbers));
    }
    let first_factor = memory.len();
    for _ in 0..layout.factors {
        operands.push(place(&mut memory, &[0.0, 0.0]));
    }
    match layout.momenta {
        Momenta::None => {}
        Momenta::Result => operands.push(place(&mut memory, &point.total)),
        Momenta::Inputs => {
            for &argument in permutation {
                operands.push(place(&mut memory, &point.momenta[argument]));
            }
        }
    }
    if layout.masses > 0 {
        operands.push(place(&mut memory, &[point.mass]));
    }
    let components = opcode
        .spins()
        .last()
        .map_or(0, |s| usize::from(s.components()));
    let result = memory.len();
    operands.push(place(&mut memory, &vec![0.0; 2 * components]));
    (0..layout.factors)
        .map(|factor| {
            for i in 0..layout.factors {
                memory[first_factor + 2 * i] = if i == factor { 1.0 } else { 0.0 };
            }
            // SAFETY: every CPU supports level none, and all addresses are in `memory`.
            unsafe {
                let base = memory.as_mut_ptr();
                if layout.amplitude {
                    amplitudes::<<f64 as Real>::None, _>(opcode, &operands, Direct, base);
                } else {
                    currents::<<f64 as Real>::None, _>(opcode, &operands, Direct, base);
                }
            }
            memory[result..]
                .chunks_exact(2)
                .map(|z| Complex64::new(z[0], z[1]) * point.propagator)
                .collect()
        })
        .collect()
}

/// Fits the coefficients for each factor; `None` if the kernel does not compute the same as the routine.
fn fit(
    routine: &Routine,
    opcode: Opcode,
    permutation: &[usize],
    points: &[Point],
) -> Option<Vec<Vec<(usize, Complex64)>>> {
    let (fit_points, check_points) = points.split_at(FIT_POINTS);
    let bases: Vec<Vec<Vec<Complex64>>> = fit_points
        .iter()
        .map(|point| basis(opcode, permutation, point))
        .collect();
    let unknowns = bases[0].len();
    let mut factors = vec![Vec::new(); unknowns];
    for coupling in 0..routine.couplings as usize {
        let mut rows = Vec::new();
        for (point, basis) in fit_points.iter().zip(&bases) {
            for (i, &value) in point.results[coupling].1.iter().enumerate() {
                rows.push((basis.iter().map(|b| b[i]).collect::<Vec<_>>(), value));
            }
        }
        let coefficients = least_squares(&rows, unknowns)?;
        for (factor, z) in factors.iter_mut().zip(coefficients) {
            let z = Complex64::new(exact(z.re), exact(z.im));
            if z != Complex64::new(0.0, 0.0) {
                factor.push((coupling, z));
            }
        }
        for (row, value) in &rows {
            agrees(&factors, row, *value, |i| {
                f64::from(u8::from(i == coupling)).into()
            })?;
        }
    }
    for point in check_points {
        let basis = basis(opcode, permutation, point);
        for (couplings, result) in &point.results {
            for (i, &value) in result.iter().enumerate() {
                let row: Vec<Complex64> = basis.iter().map(|b| b[i]).collect();
                agrees(&factors, &row, value, |i| couplings[i])?;
            }
        }
    }
    Some(factors)
}

/// `Some` if the sum of factors times basis equals the value.
fn agrees(
    factors: &[Vec<(usize, Complex64)>],
    row: &[Complex64],
    value: Complex64,
    coupling: impl Fn(usize) -> Complex64,
) -> Option<()> {
    let mut sum = Complex64::new(0.0, 0.0);
    let mut scale = value.norm() + 0.01;
    for (terms, basis) in factors.iter().zip(row) {
        for &(i, z) in terms {
            let term = coupling(i) * z * basis;
            sum += term;
            scale = scale.max(term.norm());
        }
    }
    // Written such that NaN does not count as agreement.
    ((sum - value).norm() < TOLERANCE * scale).then_some(())
}

/// Rounds a number that is close to a simple fraction to this fraction.
fn exact(x: f64) -> f64 {
    for denominator in [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 9.0, 12.0, 16.0, 18.0, 24.0] {
        let scaled = x * denominator;
        let whole = scaled.round();
        if (scaled - whole).abs() < 1e-12 * whole.abs().max(1.0) {
            return if whole == 0.0 {
                0.0
            } else {
                whole / denominator
            };
        }
    }
    x
}

/// Solves `rows` for up to three unknowns using normal equations. `None` if they are singular.
fn least_squares(rows: &[(Vec<Complex64>, Complex64)], unknowns: usize) -> Option<Vec<Complex64>> {
    let zero = Complex64::new(0.0, 0.0);
    let mut matrix = vec![vec![zero; unknowns + 1]; unknowns];
    for (row, value) in rows {
        for i in 0..unknowns {
            for j in 0..unknowns {
                matrix[i][j] += row[i].conj() * row[j];
            }
            matrix[i][unknowns] += row[i].conj() * value;
        }
    }
    for column in 0..unknowns {
        let pivot = (column..unknowns).max_by(|&a, &b| {
            matrix[a][column]
                .norm()
                .total_cmp(&matrix[b][column].norm())
        })?;
        matrix.swap(column, pivot);
        let head = matrix[column].clone();
        let size = head[column].norm();
        if size.is_nan() || size < 1e-9 {
            return None;
        }
        for (i, row) in matrix.iter_mut().enumerate() {
            if i != column {
                let ratio = row[column] / head[column];
                for (x, y) in row.iter_mut().zip(&head) {
                    *x -= ratio * y;
                }
            }
        }
    }
    Some(
        (0..unknowns)
            .map(|i| matrix[i][unknowns] / matrix[i][i])
            .collect(),
    )
}

#[cfg(test)]
mod tests;
