//! Arrays of numbers of many points, one row per quantity.

use mebridge_simd::Simd;

/// Number of doubles in the longest register.
const MAX_LANES: usize = 8;

/// The numbers of one cache line, which is also the longest register.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct CacheLine([f64; MAX_LANES]);

/// Rows of doubles, one row per quantity, one column per point. Each row starts at a register boundary. The padding
/// after the last point is computed like the others, but never read.
#[derive(Clone, Debug)]
pub struct Rows {
    lines: Vec<CacheLine>,
    /// Cache lines per row.
    per_row: usize,
    points: usize,
}

impl Rows {
    /// Creates rows of zeros.
    pub fn new(rows: usize, points: usize) -> Self {
        let per_row = points.div_ceil(MAX_LANES);
        Rows {
            lines: vec![CacheLine([0.0; MAX_LANES]); rows * per_row],
            per_row,
            points,
        }
    }

    /// Number of points in each row.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Changes the number of points, up to the capacity of the rows; the rows do not move.
    ///
    /// # Panics
    /// If the rows are too short.
    pub fn set_points(&mut self, points: usize) {
        assert!(points <= self.per_row * MAX_LANES, "rows have no room");
        self.points = points;
    }

    /// Distance from one row to the next, in numbers.
    pub fn stride(&self) -> usize {
        self.per_row * MAX_LANES
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.lines.len().checked_div(self.per_row).unwrap_or(0)
    }

    /// All rows, each [`Rows::stride`] numbers after the one before.
    pub fn numbers(&self) -> &[f64] {
        let count = self.lines.len() * MAX_LANES;
        // SAFETY: a line is eight doubles without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<f64>(), count) }
    }

    /// A row.
    #[inline]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.numbers()[row * self.stride()..][..self.points]
    }

    /// A row, mutable.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        let (begin, count) = (row * self.stride(), self.lines.len() * MAX_LANES);
        // SAFETY: a line is eight doubles without padding; `self` is borrowed mutably.
        let numbers =
            unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<f64>(), count) };
        &mut numbers[begin..][..self.points]
    }

    /// Number of registers of `V` per row.
    #[inline(always)]
    pub fn registers<V: Simd<Scalar = f64>>(&self) -> usize {
        self.points.div_ceil(V::LANES)
    }

    /// Loads a register of a row.
    ///
    /// # Safety
    /// The CPU must support the level of `V`.
    #[inline(always)]
    pub unsafe fn load<V: Simd<Scalar = f64>>(&self, row: usize, register: usize) -> V {
        let at = self.at::<V>(row, register);
        // SAFETY: `at` checks the bounds; rows start at a line, and the register length divides that of a line, so the
        // address is aligned.
        unsafe { V::load(self.lines.as_ptr().cast::<f64>().add(at)) }
    }

    /// Writes a register of a row.
    #[inline(always)]
    pub fn store<V: Simd<Scalar = f64>>(&mut self, row: usize, register: usize, value: V) {
        let at = self.at::<V>(row, register);
        // SAFETY: as for `load`; a value of `V` exists, so the CPU supports the level.
        unsafe { value.store(self.lines.as_mut_ptr().cast::<f64>().add(at)) }
    }

    /// The start of a row, and the number of doubles that may be read from there, padding included.
    pub(crate) fn begin(&self, row: usize) -> (*const f64, usize) {
        let lines = &self.lines[row * self.per_row..][..self.per_row];
        (lines.as_ptr().cast(), self.per_row * MAX_LANES)
    }

    /// The offset of a register, in numbers.
    #[inline(always)]
    fn at<V: Simd<Scalar = f64>>(&self, row: usize, register: usize) -> usize {
        let within = register * V::LANES;
        let at = row * self.per_row * MAX_LANES + within;
        assert!(
            within < self.per_row * MAX_LANES && at < self.lines.len() * MAX_LANES,
            "a register outside its rows"
        );
        at
    }
}
