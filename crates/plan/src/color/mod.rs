//! The colour matrix in blocks, by its symmetries; see [`block_diagonal`].

pub mod block_diagonal;
pub mod symmetry;

pub use block_diagonal::BlockDiagonal;
