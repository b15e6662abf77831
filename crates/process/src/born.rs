//! The Born of a calculation at next-to-leading order: its squared matrix element with what soft and collinear limits of
//! real emissions are made of.
//!
//! | | definition |
//! |---|---|
//! | colour-linked Born | `B_ij = 1/IDEN * sum over helicities of JAMP^dagger S_ij JAMP`, with a colour matrix `S_ij` for each pair of legs |
//! | complex Born of leg l | `1/IDEN * sum over helicities with NHEL(l) = h of JAMP(h)^dagger CF JAMP(-h)`, h the first value of NHEL(l) |
//!
//! These are those of MG5aMC's aMC@NLO (`b_sf_<n>.f` and `born.f`; Frederix, Frixione, Maltoni, Stelzer,
//! arXiv:0908.4272). In its normalisation `S_ij` is that of `T_i.T_j`, halved for i = j: the sum over `j != i` of `B_ij`
//! is `-C_i B`, and `B_ii` is `C_i B / 2`. For a soft gluon of momentum k
//! `R -> -2 g_s^2 * sum over links of B_ij p_i.p_j / (p_i.k p_j.k)`.

use super::Process;
use super::color::ColorMatrix;

/// A Born with its colour links.
#[derive(Clone, Debug, PartialEq)]
pub struct Born {
    /// The matrix element.
    pub process: Process,
    /// The pairs of legs that a soft gluon can connect: all pairs of coloured legs, and massive ones with themselves.
    pub links: Vec<ColorLink>,
}

/// The colour link of two legs.
#[derive(Clone, Debug, PartialEq)]
pub struct ColorLink {
    /// The legs, from 0, the smaller first; equal for the link of a massive leg with itself.
    pub legs: [usize; 2],
    /// `S_ij`, between the JAMPs of the process.
    pub color: ColorMatrix,
}
