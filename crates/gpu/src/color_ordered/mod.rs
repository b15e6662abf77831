//! GPU tables of a plan of loops, i.e. of a process in colour-ordered form: array operations in levels, or
//! all of them in one kernel, and the colour matrix. The launches are in `engine::color_ordered`.

pub mod color_matrix;
pub mod schedule;
pub mod whole;
