//! Numbers of many points, one row for each quantity.

use mebridge_simd::Simd;

/// Numbers that the longest register holds.
const LONGEST: usize = 8;

/// As many numbers as a cache line holds, which is also the longest register.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct CacheLine([f64; LONGEST]);

/// Rows of doubles, one for each quantity of a point; each row begins a register, whatever its length. What lies behind
/// the last point of a row is computed like the others and read by nobody.
#[derive(Clone, Debug)]
pub struct Rows {
    lines: Vec<CacheLine>,
    /// Of each row.
    per_row: usize,
    points: usize,
}

impl Rows {
    /// So many rows of zeros.
    pub fn new(rows: usize, points: usize) -> Self {
        let per_row = points.div_ceil(LONGEST);
        Rows {
            lines: vec![CacheLine([0.0; LONGEST]); rows * per_row],
            per_row,
            points,
        }
    }

    /// How many points each row has.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Has so many points from now on, at most as many as at first; rows lie where they lay.
    ///
    /// # Panics
    /// If rows have no room for them.
    pub fn set_points(&mut self, points: usize) {
        assert!(points <= self.per_row * LONGEST, "rows have no room");
        self.points = points;
    }

    /// How many numbers lie from a row to the next.
    pub fn stride(&self) -> usize {
        self.per_row * LONGEST
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.lines.len().checked_div(self.per_row).unwrap_or(0)
    }

    /// All rows, each [`Rows::stride`] numbers after the one before.
    pub fn numbers(&self) -> &[f64] {
        let count = self.lines.len() * LONGEST;
        // SAFETY: a line is eight doubles without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<f64>(), count) }
    }

    /// A row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.numbers()[row * self.stride()..][..self.points]
    }

    /// A row, to be written.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        let (begin, count) = (row * self.stride(), self.lines.len() * LONGEST);
        // SAFETY: a line is eight doubles without padding; the borrow is the caller's own.
        let numbers =
            unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<f64>(), count) };
        &mut numbers[begin..][..self.points]
    }

    /// Registers of `V` that a row takes.
    #[inline(always)]
    pub fn registers<V: Simd<Scalar = f64>>(&self) -> usize {
        self.points.div_ceil(V::LANES)
    }

    /// A register of a row.
    ///
    /// # Safety
    /// The CPU has the level of `V`.
    #[inline(always)]
    pub unsafe fn load<V: Simd<Scalar = f64>>(&self, row: usize, register: usize) -> V {
        let at = self.at::<V>(row, register);
        // SAFETY: `at` lies in the row; a line begins each row, and registers divide lines.
        unsafe { V::load(self.lines.as_ptr().cast::<f64>().add(at)) }
    }

    /// Writes a register of a row.
    #[inline(always)]
    pub fn store<V: Simd<Scalar = f64>>(&mut self, row: usize, register: usize, value: V) {
        let at = self.at::<V>(row, register);
        // SAFETY: as for `load`; the value says that the CPU has the level.
        unsafe { value.store(self.lines.as_mut_ptr().cast::<f64>().add(at)) }
    }

    /// Where a row begins, and how many numbers may be read from there on, those of whole registers.
    pub(crate) fn begin(&self, row: usize) -> (*const f64, usize) {
        let lines = &self.lines[row * self.per_row..][..self.per_row];
        (lines.as_ptr().cast(), self.per_row * LONGEST)
    }

    /// Where a register begins.
    #[inline(always)]
    fn at<V: Simd<Scalar = f64>>(&self, row: usize, register: usize) -> usize {
        let within = register * V::LANES;
        let at = row * self.per_row * LONGEST + within;
        assert!(
            within < self.per_row * LONGEST && at < self.lines.len() * LONGEST,
            "a register outside its rows"
        );
        at
    }
}
