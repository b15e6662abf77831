//! The colour matrix in blocks, by its symmetries; see [`split`].

pub mod split;
pub mod symmetry;

pub use split::Split;
