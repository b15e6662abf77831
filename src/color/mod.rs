//! Colour sums: `JAMP^dagger CF JAMP`.

pub mod split;
pub mod sum;
pub mod symmetry;
pub mod triangle;

pub use split::Split;
pub use sum::ColorSum;

#[cfg(test)]
mod tests;
