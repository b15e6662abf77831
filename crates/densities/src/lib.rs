//! Parton densities and the strong coupling that goes with them.
//!
//! | source | interpolation |
//! |---|---|
//! | grids of LHAPDF 6 (`lhagrid1`, A. Buckley et al., arXiv:1412.7420) | logarithmic bicubic, continued outside |
//! | `NNPDF23*.grid` in `lib/Pdfdata` of an MG5aMC output | as `NNPDFDriver.f` there |
//! | `cteq6*.tbl` in the same folder (J. Pumplin et al., hep-ph/0201195) | as `Ctq6Pdf.f` there |
//!
//! All of them are a sum over four knots in x and up to four in Q, with weights that depend on the point alone. So a
//! point is looked up once, and all flavours are multiplied by the same sixteen weights ([`Densities::evaluate`]).

mod coupling;
mod cteq;
mod lhapdf;
mod nnpdf;
mod outside;
mod stencil;
mod text;

use std::path::{Path, PathBuf};

pub use coupling::{Coupling, evolved};
use stencil::{Rule, Table};

/// What is wrong with a file of densities.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {what}", file.display(), line.map(|n| format!(": line {n}")).unwrap_or_default())]
pub struct Error {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where one is to blame.
    pub line: Option<usize>,
    /// What is wrong, and the cure.
    pub what: String,
}

/// Result of reading densities.
pub type Result<T> = std::result::Result<T, Error>;

/// One member of a set of parton densities: x f(x, Q) by flavour.
#[derive(Debug)]
pub struct Densities {
    tables: Vec<Table>,
    codes: Vec<i32>,
    rule: Rule,
}

impl Densities {
    /// A member of a set of LHAPDF: `NAME_0000.dat`.
    ///
    /// # Errors
    /// The file cannot be read, is not `lhagrid1`, or holds a grid that is not complete or not finite.
    pub fn lhapdf(file: &Path) -> Result<Self> {
        lhapdf::read(file)
    }

    /// A grid of NNPDF 2.3 with QED as MG5aMC writes it into `lib/Pdfdata`.
    ///
    /// # Errors
    /// The file cannot be read, or is not such a grid.
    pub fn nnpdf(file: &Path) -> Result<Self> {
        nnpdf::read(file)
    }

    /// A table of CTEQ6 as MG5aMC writes it into `lib/Pdfdata`.
    ///
    /// # Errors
    /// The file cannot be read, or is not such a table.
    pub fn cteq(file: &Path) -> Result<Self> {
        cteq::read(file)
    }

    /// PDG codes of the partons, in the order of [`Densities::evaluate`].
    pub fn codes(&self) -> &[i32] {
        &self.codes
    }

    /// The least and the largest x of the grid.
    pub fn range_of_x(&self) -> [f64; 2] {
        let knots = &self.tables[0].x;
        [knots[0], knots[knots.len() - 1]]
    }

    /// The least and the largest Q^2 of the grid, GeV^2.
    pub fn range_of_q2(&self) -> [f64; 2] {
        let (first, last) = (&self.tables[0], &self.tables[self.tables.len() - 1]);
        [first.q2[0], last.q2[last.q2.len() - 1]]
    }

    /// x f(x, Q) of all flavours at each point: `values[point * codes.len() + flavour]`.
    ///
    /// Outside of the grid LHAPDF's are continued as its `ContinuationExtrapolator` does it, those of NNPDF keep the
    /// value at the end, and those of CTEQ6 are extrapolated by the last knots. Above x = 1 they are zero.
    ///
    /// # Panics
    /// The arrays do not fit each other.
    pub fn evaluate(&self, x: &[f64], q2: &[f64], values: &mut [f64]) {
        assert_eq!(x.len(), q2.len(), "an x and a Q^2 for each point");
        assert_eq!(values.len(), x.len() * self.codes.len(), "all flavours");
        let points = x.iter().zip(q2);
        for ((&x, &q2), values) in points.zip(values.chunks_exact_mut(self.codes.len())) {
            self.rule.evaluate(&self.tables, x, q2, values);
        }
    }
}

#[cfg(test)]
mod tests;
