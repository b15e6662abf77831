//! External wavefunctions: `IXXXXX`, `OXXXXX`, `VXXXXX`, ... of `Source/DHELAS/aloha_functions.f`.
//!
//! The library computes them itself ([`mebridge_process::external`]). The directory's own routines are run on numbers
//! and compared, for every helicity, with and without mass, at rest and along the axis, so that a directory with
//! different wavefunctions is rejected. How many components they set tells their layout. If the file is missing, HELAS's
//! wavefunctions are assumed.

use super::momentum_layout::MomentumLayout;
use super::program_unit::{Library, ProgramUnit};
use super::symbolic::{Interpreter, Location};
use super::value::FortranValue;
use mebridge_process::ExternalKind;
use mebridge_process::arith::Builder;
use mebridge_process::external::external;
use mebridge_support::error::Result;
use num_complex::Complex64;
use std::rc::Rc;

/// Maximum rounding error, relative to the largest component.
const ROUNDING: f64 = 1e-12;

/// Directions of momenta, including both ends of the z axis.
const DIRECTIONS: [[f64; 3]; 6] = [
    [0.48, -0.64, 0.6],
    [-0.36, 0.48, -0.8],
    [0.0, 1.0, 0.0],
    [0.6, 0.8, 0.0],
    [0.0, 0.0, 1.0],
    [0.0, 0.0, -1.0],
];

/// Compares a directory's wavefunctions of one kind, for NSF, NSV or NSS of this sign, and returns their layout, which has to be
/// `known` if others were compared.
pub fn compare(
    library: &Library,
    kind: ExternalKind,
    sign: i8,
    known: Option<MomentumLayout>,
) -> Result<MomentumLayout> {
    let mut layout = known;
    let Some(unit) = library.unit(kind.routine())?.cloned() else {
        return Ok(layout.unwrap_or_default());
    };
    // SUSY cards have negative masses of Majorana fermions.
    let masses: &[f64] = match kind {
        ExternalKind::FermionIn | ExternalKind::FermionOut => &[0.0, 173.0, -52.5],
        ExternalKind::Vector => &[0.0, 80.4],
        ExternalKind::Scalar => &[125.0],
        ExternalKind::Tensor => &[0.0, 650.0],
        ExternalKind::RaritaIn | ExternalKind::RaritaOut => &[340.0],
    };
    for &mass in masses {
        for direction in DIRECTIONS {
            for momentum in [0.0, 0.5, 300.0, 4000.0] {
                // At rest, the signs of ORXXXX are not the limit for slow particles.
                let rarita = matches!(kind, ExternalKind::RaritaIn | ExternalKind::RaritaOut);
                if momentum == 0.0 && (mass == 0.0 || rarita) {
                    continue;
                }
                let [x, y, z] = direction.map(|d| d * momentum);
                let p = [f64::hypot(momentum, mass), x, y, z];
                for &helicity in helicities(kind, mass) {
                    let theirs = run(library, &unit, kind, &p, mass, helicity, sign)?;
                    let found = layout_of(&unit, kind, theirs.len(), layout)?;
                    layout = Some(found);
                    let ours = numbers(found, &external(kind, &p, mass, helicity, sign));
                    let size = ours.iter().fold(0.0f64, |s, c| s.max(c.norm()));
                    let near = |(a, b): (&Complex64, &Complex64)| {
                        // Comparisons are false for NaN.
                        (a - b).norm() <= ROUNDING * size
                    };
                    if !theirs.iter().zip(&ours).all(near) {
                        return Err(unit.error(format!(
                            "{} computes another wavefunction than HELAS's routine of that name \
                             (helicity {helicity}, mass {mass} GeV)",
                            unit.name
                        )));
                    }
                }
            }
        }
    }
    Ok(layout.unwrap_or_default())
}

/// Returns the layout in which a wavefunction of this kind has this number of components.
fn layout_of(
    unit: &ProgramUnit,
    kind: ExternalKind,
    count: usize,
    known: Option<MomentumLayout>,
) -> Result<MomentumLayout> {
    let layouts = [MomentumLayout::Helas, MomentumLayout::MadLoop];
    let found = layouts.into_iter().find(|layout| {
        layout.rows(kind.components()) as usize == count
            && known.is_none_or(|known| known == *layout)
    });
    found.ok_or_else(|| {
        let expected = known.unwrap_or_default().rows(kind.components());
        unit.error(format!(
            "{} sets {count} components instead of {expected}",
            unit.name
        ))
    })
}

/// Returns the components in a layout of a wavefunction in HELAS's.
fn numbers(layout: MomentumLayout, components: &[Complex64]) -> Vec<Complex64> {
    let mut builder = Builder::new(0);
    let ours: Vec<_> = components
        .iter()
        .map(|c| builder.complex(c.re, c.im))
        .collect();
    let theirs = layout.of_helas(&mut builder, &ours);
    // Operations on constants are folded.
    theirs
        .into_iter()
        .filter_map(|id| builder.constant(id))
        .collect()
}

/// Returns the helicities to compare. A directory with massive tensors uses all of them even if a card sets their mass
/// to zero.
fn helicities(kind: ExternalKind, mass: f64) -> &'static [i8] {
    kind.helicities(mass != 0.0 || kind == ExternalKind::Tensor)
}

/// Runs the routine on numbers, and returns the components that it sets.
fn run(
    library: &Library,
    unit: &Rc<ProgramUnit>,
    kind: ExternalKind,
    p: &[f64; 4],
    mass: f64,
    helicity: i8,
    sign: i8,
) -> Result<Vec<Complex64>> {
    let mut interpreter = Interpreter::new(library, Builder::new(0));
    let momentum = interpreter.place();
    for (i, &x) in (0..).zip(p) {
        let x = interpreter.builder.real(x);
        interpreter.set((momentum.0, i), FortranValue::Real(x));
    }
    let result = interpreter.place();
    let mut one = |value: FortranValue| -> Location {
        let at = interpreter.place();
        interpreter.set(at, value);
        at
    };
    let sign = one(FortranValue::Int(i64::from(sign)));
    let places = match kind {
        ExternalKind::Scalar => vec![momentum, sign, result],
        _ => {
            let helicity = one(FortranValue::Int(i64::from(helicity)));
            let at = interpreter.place();
            let mass = interpreter.builder.real(mass);
            interpreter.set(at, FortranValue::Real(mass));
            vec![momentum, at, helicity, sign, result]
        }
    };
    if places.len() != unit.arguments.len() {
        return Err(unit.error(format!(
            "{} takes {} arguments, and not the {} of HELAS",
            unit.name,
            unit.arguments.len(),
            places.len()
        )));
    }
    interpreter.enter(unit, &places, 0)?;
    let component = |i| match interpreter.get((result.0, i)) {
        Some(FortranValue::Complex(value)) => interpreter.builder.constant(*value),
        _ => None,
    };
    Ok((0..).map_while(component).collect())
}
