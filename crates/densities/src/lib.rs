//! Parton densities and the strong coupling that goes with them.
//!
//! | source | interpolation |
//! |---|---|
//! | grids of LHAPDF 6 (`lhagrid1`, A. Buckley et al., arXiv:1412.7420) | logarithmic bicubic, continued outside |
//! | `NNPDF23*.grid` in `lib/Pdfdata` of an MG5aMC output | as `NNPDFDriver.f` there |
//! | `cteq6*.tbl` in the same folder (J. Pumplin et al., hep-ph/0201195) | as `Ctq6Pdf.f` there |
//! | photons of protons (V. M. Budnev et al., Phys. Rept. 15 (1975) 181) and leptons (S. Frixione et al., hep-ph/9310350) | formulas, as `PhotonFlux.f` there |
//!
//! All grids are a sum over four knots in x and four in Q, with weights that are polynomials of degree 3 in a variable
//! of x and one of Q. So a point is looked up once: the variables are computed with points in the lanes of a register,
//! and the sum with flavours in them ([`Densities::evaluate`]).

mod axis;
mod coupling;
mod cteq;
pub mod device;
mod evaluate;
mod interpolation;
mod lhapdf;
mod nnpdf;
mod outside;
mod photons;
mod table;
mod text;

use std::path::{Path, PathBuf};

pub use coupling::{Coupling, evolved};
use evaluate::DensityPoints;
use interpolation::Interpolation;
use mebridge_simd::{Level, dispatch};
use table::Table;

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

/// A beam that radiates photons and is left whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radiator {
    /// By its form factors.
    Proton,
    /// By the improved Weizsaecker-Williams formula.
    Electron,
    /// By the same.
    Muon,
}

/// One member of a set of parton densities: x f(x, Q) by flavour.
#[derive(Debug)]
pub struct Densities {
    tables: Vec<Table>,
    codes: Vec<i32>,
    rule: Interpolation,
    level: Level,
}

impl Densities {
    fn new(tables: Vec<Table>, codes: Vec<i32>, rule: Interpolation) -> Self {
        let level = Level::best();
        Densities {
            tables,
            codes,
            rule,
            level,
        }
    }

    /// The same evaluated at another SIMD level, which the CPU has to have.
    #[cfg(test)]
    fn at_level(self, level: Level) -> Self {
        Densities { level, ..self }
    }

    /// A file by the end of its name: `.grid`, a grid of NNPDF 2.3 with QED, and `.tbl`, a table of CTEQ6, both as MG5aMC
    /// writes them into `lib/Pdfdata`; any other is a member of a set of LHAPDF (`NAME_0000.dat`).
    ///
    /// # Errors
    /// The file cannot be read, is of another format, or holds a grid that is not complete or not finite.
    pub fn open(file: &Path) -> Result<Self> {
        match file.extension().and_then(|end| end.to_str()) {
            Some("grid") => nnpdf::read(file),
            Some("tbl") => cteq::read(file),
            _ => lhapdf::read(file),
        }
    }

    /// Photons that a beam radiates, with virtualities up to Q^2.
    pub fn photons(of: Radiator) -> Self {
        photons::of(of)
    }

    /// PDG codes of the partons, in the order of [`Densities::evaluate`].
    pub fn codes(&self) -> &[i32] {
        &self.codes
    }

    /// The least and the largest x of the grid; all that there are where there is none.
    pub fn range_of_x(&self) -> [f64; 2] {
        let knots = self.tables.first().map(|table| &table.x);
        knots.map_or([0.0, 1.0], |knots| [knots[0], knots[knots.len() - 1]])
    }

    /// The least and the largest Q^2 of the grid, GeV^2; all that there are where there is none.
    pub fn range_of_q2(&self) -> [f64; 2] {
        let ends = self.tables.first().zip(self.tables.last());
        ends.map_or([0.0, f64::INFINITY], |(first, last)| {
            [first.q2[0], last.q2[last.q2.len() - 1]]
        })
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
        let points = DensityPoints {
            tables: &self.tables,
            rule: self.rule,
            x,
            q2,
            values,
        };
        // SAFETY: the task asks for nothing but the level.
        unsafe { dispatch(self.level, points) };
    }
}

#[cfg(test)]
mod tests;
