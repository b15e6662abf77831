//! What draws points and makes events of them: random numbers by counter, grids that adapt, unweighting.

pub mod random;
pub mod sums;
