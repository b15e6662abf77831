//! The rules by which grids of different kinds are interpolated.

use super::Radiator;

/// How values between the knots follow from those at them.
#[derive(Clone, Copy, Debug)]
pub enum Interpolation {
    Lhapdf,
    Nnpdf,
    Cteq {
        /// Lambda, GeV.
        scale: f64,
    },
    Photons(Radiator),
}
