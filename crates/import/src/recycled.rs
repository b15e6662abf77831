//! Helicity recycling: checks that its routines agree with those of the matrix elements.
//!
//! MG5aMC derives `matrix<i>_optim.f` from `matrix<i>_orig.f`. Instead of an amplitude routine `R_0` it calls `RP1N_n`,
//! which omits wavefunction n, and multiplies the result by it (`CombineAmp`): `R_0 = sum RP1N_n(k) W_n(k)`. Both are
//! files of `Source/DHELAS`, and editing only one of them gives one directory two different matrix elements.

use super::directory::SubprocessPaths;
use super::lorentz::{Role, Routines};
use super::program_unit::Library;
use mebridge_support::error::Result;
use num_complex::Complex64;
use std::path::Path;

/// Separates a routine's name from the omitted leg.
const MARK: &str = "P1N_";
/// Maximum difference of equal routines: numbers of order 1 without poles.
const SAME: f64 = 1e-9;

/// Returns pairs of routines of a P directory's DHELAS that disagree: `(FFV1_0, FFV1P1N_3)`. Routines that cannot be
/// read, or whose names do not tell their wavefunctions, are skipped.
pub fn recycled_otherwise(dir: &Path) -> Result<Vec<(String, String)>> {
    let directory = SubprocessPaths::open(dir)?;
    let mut library = Library::default();
    library.include_folders = vec![directory.source.clone(), directory.model.clone()];
    library.add_folder(&directory.dhelas)?;
    let mut names: Vec<String> = library.names().map(str::to_owned).collect();
    names.sort();
    let mut found = Vec::new();
    for name in names {
        if let Some((base, leg)) = name.split_once(MARK)
            && let Ok(leg) = leg.parse::<usize>()
        {
            let amplitude = format!("{base}_0");
            if same(&library, &amplitude, &name, leg).unwrap_or(Some(true)) == Some(false) {
                found.push((amplitude, name));
            }
        }
    }
    Ok(found)
}

/// Returns the numbers of components, momentum included, of the wavefunctions named in an ALOHA routine's name.
fn sizes(name: &str, count: usize) -> Option<Vec<u32>> {
    let size = |letter: char| match letter {
        'F' | 'V' => Some(6),
        'S' => Some(3),
        _ => None,
    };
    let letters = name.chars().take_while(char::is_ascii_alphabetic);
    let sizes: Option<Vec<u32>> = letters.map(size).collect();
    sizes.filter(|sizes| sizes.len() == count)
}

/// Returns whether two routines agree; `None` if that cannot be determined.
fn same(library: &Library, amplitude: &str, recycled: &str, leg: usize) -> Result<Option<bool>> {
    let mut routines = Routines::new(library, 0.0);
    routines.momentum_may_be_unset = true;
    let (Some(of_all), Some(of_others)) = (
        routines.signature(amplitude)?,
        routines.signature(recycled)?,
    ) else {
        return Ok(None);
    };
    let count = of_all.roles.iter().filter(|&&r| r == Role::Wavefunction);
    let Some(sizes) = sizes(amplitude, count.count()) else {
        return Ok(None);
    };
    let Some(left) = leg.checked_sub(1).filter(|&left| left < sizes.len()) else {
        return Ok(None);
    };
    let mut others = sizes.clone();
    others.remove(left);
    let of_all = routines.routine(amplitude, &of_all, &sizes)?;
    let of_others = routines.routine(recycled, &of_others, &others)?;
    let (a, b) = (
        &routines.found[of_all as usize],
        &routines.found[of_others as usize],
    );
    let same_rest = (a.couplings, a.massive) == (b.couplings, b.massive)
        && routines.globals(of_all) == routines.globals(of_others);
    if !same_rest || !a.is_amplitude() || b.outputs.len() != sizes[left] as usize {
        return Ok(None);
    }
    // Random numbers; momenta add up to zero.
    let mut state = 1u64;
    let mut number = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    };
    for _ in 0..3 {
        let mut waves: Vec<Vec<Complex64>> = sizes
            .iter()
            .map(|&size| {
                (0..size)
                    .map(|_| Complex64::new(number(), number()))
                    .collect()
            })
            .collect();
        for k in 0..2 {
            let rest: Complex64 = (0..waves.len())
                .filter(|&i| i != left)
                .map(|i| waves[i][k])
                .sum();
            waves[left][k] = -rest;
        }
        let more = (0..a.program_inputs() - sizes.iter().sum::<u32>())
            .map(|_| Complex64::new(number(), number()))
            .collect::<Vec<_>>();
        let all = [waves.concat(), more.clone()].concat();
        let taken = waves.remove(left);
        let whole = a.evaluate(&all)[0];
        let parts = b.evaluate(&[waves.concat(), more].concat());
        let pairs = || parts.iter().zip(&taken).skip(2);
        let sum: Complex64 = pairs().map(|(x, y)| x * y).sum();
        let scale: f64 = pairs().map(|(x, y)| (x * y).norm()).sum();
        if (whole - sum).norm() > SAME * (scale + whole.norm()) {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}
