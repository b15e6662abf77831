//! The colour matrix: DATA for CF and DENOM, in the layouts of old and new versions.

use crate::import::expression::Parsed;
use crate::import::statement::Constant;
use crate::process::color::ColorMatrix;

/// CF and DENOM as they stand in the file.
pub struct ColorData {
    denominators: Vec<f64>,
    entries: Vec<f64>,
    /// Entries that were set, to find gaps.
    set: usize,
    /// Whether CF has two indices, as in older versions, and not the triangle in one.
    full: bool,
}

impl ColorData {
    /// Nothing yet. Some versions write quotients to CF and have no DENOM.
    pub fn new(full: bool, has_denominator: bool) -> Self {
        ColorData {
            full,
            denominators: if has_denominator {
                Vec::new()
            } else {
                vec![1.0]
            },
            entries: Vec::new(),
            set: 0,
        }
    }

    /// Sets an element of CF or DENOM.
    pub fn set(
        &mut self,
        name: &str,
        indices: &[i64],
        value: &Constant,
        flows: usize,
    ) -> Parsed<()> {
        let place = |index: i64, size: usize| {
            let place = usize::try_from(index - 1).ok().filter(|&p| p < size);
            place.ok_or_else(|| format!("{name}: index {index} is out of bounds"))
        };
        let size = match self.full {
            true => flows * flows,
            false => ColorMatrix::triangle(flows),
        };
        match (name, indices) {
            ("CF", [_] | [_, _]) => {
                let at = match *indices {
                    [i, j] if self.full => place(i, flows)? + flows * place(j, flows)?,
                    [i] if !self.full => place(i, size)?,
                    _ => return Err("CF is used with the wrong number of indices".into()),
                };
                if self.entries.is_empty() {
                    self.entries = vec![f64::NAN; size];
                }
                if self.entries[at].is_nan() {
                    self.set += 1;
                }
                self.entries[at] = value.real()?;
            }
            ("DENOM", []) => self.denominators = vec![value.real()?],
            ("DENOM", [row]) => {
                let row = place(*row, flows)?;
                if self.denominators.len() <= row {
                    self.denominators.resize(row + 1, f64::NAN);
                }
                self.denominators[row] = value.real()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The colour matrix as the process holds it.
    pub fn matrix(self, flows: usize) -> Parsed<ColorMatrix> {
        let size = match self.full {
            true => flows * flows,
            false => ColorMatrix::triangle(flows),
        };
        if self.set != size {
            return Err(format!(
                "the colour matrix has {} entries (DATA CF) and not the {size} of NCOLOR = {flows}",
                self.set
            ));
        }
        let rows = if self.full { flows } else { 1 };
        let one_for_all = self.denominators.len() == 1;
        if self.denominators.len() != rows && !one_for_all {
            return Err("DENOM has not one value for each row".into());
        }
        if !self.denominators.iter().all(|d| d.is_finite() && *d > 0.0) {
            return Err("DENOM has a value that is not positive".into());
        }
        let denominator = common_multiple(&self.denominators);
        let mut upper = Vec::with_capacity(ColorMatrix::triangle(flows));
        for i in 0..flows {
            for j in i..flows {
                upper.push(match self.full {
                    false => {
                        // Off the diagonal the file holds the sum of (i,j) and (j,i).
                        let entry = self.entries[upper.len()];
                        if i == j { entry } else { entry / 2.0 }
                    }
                    true => {
                        let denom =
                            |row: usize| self.denominators[if one_for_all { 0 } else { row }];
                        // ZTEMP of row i adds CF(j,i)*JAMP(j), over DENOM(i).
                        let a = self.entries[j + flows * i] * (denominator / denom(i));
                        let b = self.entries[i + flows * j] * (denominator / denom(j));
                        if (a - b).abs() > 1e-9 * (a.abs() + b.abs()) {
                            return Err(format!(
                                "the colour matrix is not symmetric at ({}, {})",
                                i + 1,
                                j + 1
                            ));
                        }
                        a
                    }
                });
            }
        }
        Ok(ColorMatrix {
            flows: flows as u32,
            denominator,
            upper,
        })
    }
}

/// The least common multiple of whole numbers; of other numbers 1.
fn common_multiple(numbers: &[f64]) -> f64 {
    let mut multiple = 1u64;
    for &x in numbers {
        if x.fract() != 0.0 || x > 1e12 {
            return if numbers.len() == 1 { x } else { 1.0 };
        }
        let x = x as u64;
        let (mut a, mut b) = (multiple, x);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        match (multiple / a).checked_mul(x) {
            Some(m) if m < 1 << 50 => multiple = m,
            _ => return 1.0,
        }
    }
    multiple as f64
}
