//! Parton densities and the strong coupling that goes with them.
//!
//! | source | interpolation |
//! |---|---|
//! | grids of LHAPDF 6 (`lhagrid1`, A. Buckley et al., arXiv:1412.7420) | logarithmic bicubic, continued outside |
//! | `NNPDF23*.grid` in `lib/Pdfdata` of an MG5aMC output | as `NNPDFDriver.f` there |
//! | `cteq6*.tbl` in the same folder (J. Pumplin et al., hep-ph/0201195) | as `Ctq6Pdf.f` there |
//! | `eepdf.f` in `Source/PDF/lep_densities` of an output (S. Frixione et al., arXiv:2108.10261) | as `dfint.f` there |
//! | photons of both protons of ultraperipheral collisions (arXiv:2207.03012) | formulas and interpolation, as `gammaUPC` there |
//! | weak bosons of leptons, by helicity (A. Costantini et al., arXiv:2111.02442) | formulas, as `ElectroweakFlux.f` there |
//! | photons of protons (V. M. Budnev et al., Phys. Rept. 15 (1975) 181) and leptons (S. Frixione et al., hep-ph/9310350) | formulas, as `PhotonFlux.f` there |
//!
//! Values of all grids are sums over four knots in x and four in Q, with weights that are polynomials of degree 3 in
//! functions of x and of Q. So each point is looked up only once: these functions are computed with points in the lanes
//! of a register, and the sums with flavours in the lanes ([`Densities::evaluate`]).

mod axis;
mod bosons;
mod coupling;
mod cteq;
pub mod device;
mod evaluate;
mod interpolation;
mod leptons;
mod lhapdf;
mod nnpdf;
mod outside;
mod photons;
mod table;
mod text;
mod ultraperipheral;

use std::path::{Path, PathBuf};

pub use bosons::{BosonBeam, BosonOrder};
pub use coupling::{StrongCoupling, evolved};
use evaluate::DensityPoints;
use interpolation::Interpolation;
use leptons::Leptons;
use mebridge_simd::{Level, dispatch};
use table::DensityGrid;
pub use ultraperipheral::{FormFactor, PhotonPairs};

/// An error in a file of densities.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {what}", file.display(), line.map(|n| format!(": line {n}")).unwrap_or_default())]
pub struct Error {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, if the error is in a line.
    pub line: Option<usize>,
    /// Description and remedy.
    pub what: String,
}

/// Result of reading densities.
pub type Result<T> = std::result::Result<T, Error>;

/// A beam particle that radiates photons and stays intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radiator {
    /// Proton, by its form factors.
    Proton,
    /// Electron, by the improved Weizsaecker-Williams formula.
    Electron,
    /// Muon, by the same formula.
    Muon,
}

/// One member of a set of parton densities: x f(x, Q) by flavour.
#[derive(Debug)]
pub struct Densities {
    tables: Vec<DensityGrid>,
    codes: Vec<i32>,
    /// The helicity of each parton; empty if densities do not depend on it.
    helicities: Vec<i8>,
    rule: Interpolation,
    level: Level,
    ion: Option<Ion>,
    leptons: Option<Leptons>,
}

/// Composition of an ion.
#[derive(Debug)]
struct Ion {
    protons: f64,
    neutrons: f64,
    /// Indices of up and down quarks, and of their antiparticles, which neutrons have exchanged.
    isospin: Vec<[usize; 2]>,
}

impl Ion {
    /// Converts the densities of a proton to those of the ion.
    fn finish(&self, values: &mut [f64]) {
        let Ion {
            protons, neutrons, ..
        } = *self;
        let pairs = self
            .isospin
            .iter()
            .map(|&pair| (pair, pair.map(|place| values[place])));
        let pairs: Vec<_> = pairs.collect();
        values
            .iter_mut()
            .for_each(|value| *value *= protons + neutrons);
        for ([up, down], [of_up, of_down]) in pairs {
            values[up] = protons * of_up + neutrons * of_down;
            values[down] = protons * of_down + neutrons * of_up;
        }
    }
}

impl Densities {
    fn new(tables: Vec<DensityGrid>, codes: Vec<i32>, rule: Interpolation) -> Self {
        let level = Level::best();
        Densities {
            tables,
            codes,
            helicities: Vec::new(),
            rule,
            level,
            ion: None,
            leptons: None,
        }
    }

    /// Converts the densities of a proton to those of an ion with these numbers of protons and neutrons, as functions of x of
    /// a nucleon: the sum over its nucleons. Neutrons are protons with up and down quarks exchanged (`get_ion_pdf` in
    /// MG5aMC's `PhotonFlux.f`, where x is that of the ion).
    pub fn of_ion(self, [protons, neutrons]: [u32; 2]) -> Self {
        let place = |code: i32| self.codes.iter().position(|&known| known == code);
        let isospin = [[2, 1], [-2, -1]].into_iter();
        let isospin = isospin.filter_map(|[up, down]| Some([place(up)?, place(down)?]));
        let ion = Ion {
            protons: f64::from(protons),
            neutrons: f64::from(neutrons),
            isospin: isospin.collect(),
        };
        Densities {
            ion: Some(ion),
            ..self
        }
    }

    /// Returns whether these are the densities of an ion, which GPUs do not support.
    pub fn is_of_ion(&self) -> bool {
        self.ion.is_some()
    }

    /// Evaluates at another SIMD level, which the CPU must support.
    #[cfg(test)]
    fn at_level(self, level: Level) -> Self {
        Densities { level, ..self }
    }

    /// Reads a file, by its extension: `.grid` is a grid of NNPDF 2.3 with QED, `.tbl` a table of CTEQ6, both as in
    /// MG5aMC's `lib/Pdfdata`; any other file is a member of an LHAPDF set (`NAME_0000.dat`).
    ///
    /// # Errors
    /// The file cannot be read, has another format, or its grid is incomplete or not finite.
    pub fn open(file: &Path) -> Result<Self> {
        match file.extension().and_then(|end| end.to_str()) {
            Some("grid") => nnpdf::read(file),
            Some("tbl") => cteq::read(file),
            _ => lhapdf::read(file),
        }
    }

    /// Reads the densities of an electron beam, or of a positron beam if `anti`, from an `eepdf.f` of MG5aMC.
    ///
    /// # Errors
    /// The file cannot be read, or has another format.
    pub fn leptons(file: &Path, anti: bool) -> Result<Self> {
        leptons::read(file, anti)
    }

    /// Returns whether these are the densities of a lepton beam, which rise as (1 - x)^-0.95 towards x = 1:
    /// [`Densities::evaluate`] has 1 - x in place of x, of which no digit may be lost. GPUs do not support them.
    pub fn is_of_lepton(&self) -> bool {
        self.leptons.is_some()
    }

    /// Returns the number of components of each density. The density of partons of both beams is the sum over
    /// components of the products of theirs, in the same order.
    pub fn components(&self) -> usize {
        match &self.leptons {
            Some(_) => leptons::COMPONENTS,
            None => 1,
        }
    }

    /// The photons that a beam radiates, with virtualities up to Q^2.
    pub fn photons(of: Radiator) -> Self {
        photons::density(of)
    }

    /// The weak bosons and photons that a lepton beam radiates, a density for each helicity. GPUs do not support them.
    ///
    /// # Panics
    /// If the beam is of protons.
    pub fn bosons(of: BosonBeam) -> Self {
        let (fluxes, codes, helicities) = bosons::densities(of);
        Densities {
            helicities,
            ..Densities::new(Vec::new(), codes, Interpolation::Bosons(fluxes))
        }
    }

    /// Helicities of the partons, in the order of [`Densities::codes`]; empty if densities do not depend on them.
    pub fn helicities(&self) -> &[i8] {
        &self.helicities
    }

    /// PDG codes of the partons, in the order of [`Densities::evaluate`]; repeated for each helicity if densities depend
    /// on it.
    pub fn codes(&self) -> &[i32] {
        &self.codes
    }

    /// The range of x of the grid; 0 to 1 without a grid.
    pub fn range_of_x(&self) -> [f64; 2] {
        if let Some(leptons) = &self.leptons {
            return leptons.range_of_x();
        }
        let knots = self.tables.first().map(|table| &table.x);
        knots.map_or([0.0, 1.0], |knots| [knots[0], knots[knots.len() - 1]])
    }

    /// The range of Q^2 of the grid, GeV^2; unbounded without a grid.
    pub fn range_of_q2(&self) -> [f64; 2] {
        if let Some(leptons) = &self.leptons {
            return leptons.range_of_q2();
        }
        let ends = self.tables.first().zip(self.tables.last());
        ends.map_or([0.0, f64::INFINITY], |(first, last)| {
            [first.q2[0], last.q2[last.q2.len() - 1]]
        })
    }

    /// Evaluates x f(x, Q) of all flavours at each point: `values[point * codes.len() + flavour]`, or of all components
    /// of the only flavour. For lepton beams `x` has 1 - x.
    ///
    /// Outside the grid, LHAPDF's densities are continued as by its `ContinuationExtrapolator`, NNPDF's keep the value
    /// at the boundary, and those of CTEQ6 and of leptons are extrapolated from the last knots. Above x = 1, all are zero.
    ///
    /// # Panics
    /// If the array lengths do not match.
    pub fn evaluate(&self, x: &[f64], q2: &[f64], values: &mut [f64]) {
        assert_eq!(x.len(), q2.len(), "an x and a Q^2 for each point");
        let each = self.codes.len() * self.components();
        assert_eq!(values.len(), x.len() * each, "all flavours");
        if let Some(leptons) = &self.leptons {
            let points = x.iter().zip(q2).zip(values.chunks_exact_mut(each));
            points.for_each(|((&rest, &q2), values)| leptons.evaluate(rest, q2, values));
            return;
        }
        let points = DensityPoints {
            tables: &self.tables,
            rule: self.rule,
            x,
            q2,
            values,
        };
        // SAFETY: the task requires nothing but the level, which `dispatch` checks.
        unsafe { dispatch(self.level, points) };
        if let Some(ion) = &self.ion {
            let points = values.chunks_exact_mut(self.codes.len().max(1));
            points.for_each(|point| ion.finish(point));
        }
    }
}

#[cfg(test)]
mod tests;
