//! Block-diagonal form of the colour matrix, obtained from its symmetries; see [`block_diagonal`].

pub mod block_diagonal;
pub mod symmetry;

pub use block_diagonal::BlockDiagonal;
