//! The rules by which grids of different kinds are interpolated.

use super::Radiator;
use super::bosons::BosonFluxes;

/// The interpolation between knots.
#[derive(Clone, Copy, Debug)]
pub enum Interpolation {
    Lhapdf,
    Nnpdf,
    Cteq {
        /// Lambda, GeV.
        scale: f64,
    },
    Photons(Radiator),
    Bosons(BosonFluxes),
}
