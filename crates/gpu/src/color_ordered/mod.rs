//! GPU tables of a plan of loops, i.e. of a process in colour-ordered form: array operations in levels, and the colour
//! matrix. The launches are in `engine::color_ordered`.

pub mod color_matrix;
pub mod schedule;
