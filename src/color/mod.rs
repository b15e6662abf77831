//! Colour sums: `JAMP^dagger CF JAMP`.

pub mod triangle;
