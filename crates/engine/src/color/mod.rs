//! Colour sums `JAMP^dagger CF JAMP` on vectors of events.

mod sum;
#[cfg(test)]
mod tests;
mod triangle;

pub use sum::{ColorSum, ColorSumTask};
