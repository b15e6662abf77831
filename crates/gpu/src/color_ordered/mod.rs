//! What a GPU makes of a plan of loops, that of a process in its colour-ordered form: operations on arrays in levels,
//! and the colour matrix. What is launched is in `engine::color_ordered`.

pub mod color_matrix;
pub mod schedule;
