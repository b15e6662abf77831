//! Parton densities and the strong coupling for C and Python, as used for events.

use super::c::{os_string, status};
use super::no_panic;
use super::pointers::{
    CallerArray, PointerAccess, argument_error, check_apart, input, output, string, write,
};
use super::registry::Registry;
use mebridge::error::Result;
use mebridge_densities::{Densities, StrongCoupling};
use std::ffi::c_char;
use std::path::PathBuf;
use std::sync::Arc;

/// An open member of a set of parton densities. Opaque: only pass it on.
pub struct MebridgeDensities {
    _private: [u8; 0],
}

/// Points evaluated at a time, which bounds the buffer for all flavours.
const TOGETHER: usize = 1024;

/// The open sets; their handles spell `dens`.
pub(super) static OPEN: Registry<Arc<Densities>> =
    Registry::new("set of densities", 0x6465_6e73_0000_0001);

/// Opens parton densities and puts a handle into `densities`: a member of an LHAPDF set (`NAME_0000.dat`), or a file
/// from `lib/Pdfdata` of an MG5aMC output (`.grid`, `.tbl`).
///
/// # Safety
/// `file` ends in NUL; `densities` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_densities_open(
    file: *const c_char,
    densities: *mut *mut MebridgeDensities,
) -> i32 {
    const NAME: &str = "mebridge_densities_open";
    status(|| {
        // SAFETY: guaranteed by the caller; NULL is rejected.
        unsafe { write(NAME, "densities", densities, std::ptr::null_mut()) }?;
        // SAFETY: guaranteed by the caller.
        let file = PathBuf::from(os_string(unsafe { string(NAME, "file", file) }?));
        let made =
            Densities::open(&file).map_err(|error| argument_error(NAME, error.to_string()))?;
        let handle = OPEN.add(Arc::new(made)) as usize as *mut MebridgeDensities;
        // SAFETY: as above.
        unsafe { write(NAME, "densities", densities, handle) }
    })
}

/// Closes a handle. NULL is allowed and does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_densities_close(densities: *mut MebridgeDensities) {
    // A handle that is not open counts as closed.
    let _ = no_panic(|| OPEN.remove(densities as usize as u64));
}

/// Returns the number of partons that the densities have, and writes their PDG codes into `codes` unless it is NULL. -1
/// on failure.
///
/// # Safety
/// `codes` is NULL or holds all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_densities_codes(
    densities: *const MebridgeDensities,
    codes: *mut i32,
) -> i64 {
    const NAME: &str = "mebridge_densities_codes";
    let mut count = -1;
    status(|| {
        let set = opened(densities)?;
        let known = set.codes();
        if !codes.is_null() {
            // SAFETY: guaranteed by the caller.
            unsafe { output(NAME, "codes", codes, known.len()) }?.copy_from_slice(known);
        }
        count = known.len() as i64;
        Ok(())
    });
    count
}

/// Writes the range of the grid: the smallest and the largest x, then the smallest and the largest Q in GeV.
///
/// # Safety
/// `range` holds four numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_densities_range(
    densities: *const MebridgeDensities,
    range: *mut f64,
) -> i32 {
    const NAME: &str = "mebridge_densities_range";
    status(|| {
        let set = opened(densities)?;
        let ([least_x, largest_x], [least, largest]) = (set.range_of_x(), set.range_of_q2());
        // SAFETY: guaranteed by the caller.
        let range = unsafe { output(NAME, "range", range, 4) }?;
        range.copy_from_slice(&[least_x, largest_x, least.sqrt(), largest.sqrt()]);
        Ok(())
    })
}

/// Evaluates x f(x, Q) for each of `points`; `codes` are PDG codes, `q` is in GeV.
///
/// Outside the grid the densities are extrapolated as LHAPDF does, or MG5aMC for its own grids; above x = 1 they are 0.
/// A parton that the densities lack is an error.
///
/// # Safety
/// All arrays have `points` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_densities_evaluate(
    densities: *const MebridgeDensities,
    points: usize,
    codes: *const i32,
    x: *const f64,
    q: *const f64,
    values: *mut f64,
) -> i32 {
    const NAME: &str = "mebridge_densities_evaluate";
    status(|| {
        let set = opened(densities)?;
        let read = |array| CallerArray::new::<f64>(array, points, PointerAccess::Read);
        check_apart(
            NAME,
            [
                (
                    "codes",
                    CallerArray::new(codes, points, PointerAccess::Read),
                ),
                ("x", read(x)),
                ("q", read(q)),
                (
                    "values",
                    CallerArray::new(values, points, PointerAccess::Write),
                ),
            ],
        )?;
        // SAFETY: guaranteed by the caller; null and misalignment are rejected, and no output overlaps another array.
        let (codes, x, q, values) = unsafe {
            (
                input(NAME, "codes", codes, points)?,
                input(NAME, "x", x, points)?,
                input(NAME, "q", q, points)?,
                output(NAME, "values", values, points)?,
            )
        };
        let known = set.codes();
        let mut places = Vec::with_capacity(points.min(TOGETHER));
        let mut q2 = Vec::with_capacity(points.min(TOGETHER));
        let mut every = vec![0.0; points.min(TOGETHER) * known.len()];
        let chunks = codes.chunks(TOGETHER).zip(x.chunks(TOGETHER));
        let chunks = chunks.zip(q.chunks(TOGETHER).zip(values.chunks_mut(TOGETHER)));
        for ((codes, x), (q, values)) in chunks {
            places.clear();
            for code in codes {
                let place = known.iter().position(|one| one == code);
                let missing =
                    || argument_error(NAME, format!("there are no densities of {code} (PDG code)"));
                places.push(place.ok_or_else(missing)?);
            }
            q2.clear();
            q2.extend(q.iter().map(|q| q * q));
            let every = &mut every[..x.len() * known.len()];
            set.evaluate(x, &q2, every);
            for ((value, row), &place) in values
                .iter_mut()
                .zip(every.chunks_exact(known.len()))
                .zip(&places)
            {
                *value = row[place];
            }
        }
        Ok(())
    })
}

/// Interpolates alpha_s at `points` scales `q` in GeV from a table of `knots` scales in ascending order (a scale may
/// appear twice) and values, as LHAPDF does. Below the table it is extrapolated with the power of the first interval;
/// above it is constant.
///
/// # Safety
/// `scales` and `values` have `knots` numbers, `q` and `alpha_s` have `points`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_alpha_s(
    knots: usize,
    scales: *const f64,
    values: *const f64,
    points: usize,
    q: *const f64,
    alpha_s: *mut f64,
) -> i32 {
    const NAME: &str = "mebridge_alpha_s";
    status(|| {
        let read = |array, count| CallerArray::new::<f64>(array, count, PointerAccess::Read);
        check_apart(
            NAME,
            [
                ("scales", read(scales, knots)),
                ("values", read(values, knots)),
                ("q", read(q, points)),
                (
                    "alpha_s",
                    CallerArray::new(alpha_s, points, PointerAccess::Write),
                ),
            ],
        )?;
        // SAFETY: guaranteed by the caller; null and misalignment are rejected, and no output overlaps another array.
        let (scales, values, q, alpha_s) = unsafe {
            (
                input(NAME, "scales", scales, knots)?,
                input(NAME, "values", values, knots)?,
                input(NAME, "q", q, points)?,
                output(NAME, "alpha_s", alpha_s, points)?,
            )
        };
        let table = StrongCoupling::new(scales, values)
            .map_err(|what| argument_error(NAME, format!("the table of alpha_s: {what}")))?;
        for (value, q) in alpha_s.iter_mut().zip(q) {
            *value = table.at(q * q);
        }
        Ok(())
    })
}

/// Looks up a set. Calls for the same set do not wait for each other.
fn opened(densities: *const MebridgeDensities) -> Result<Arc<Densities>> {
    OPEN.with(densities as usize as u64, |set| Ok(set.clone()))
}
