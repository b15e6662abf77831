//! Dependencies go one way: among crates (`tables`), and among the files of each crate (`circles`).

mod circles;
mod modules;
mod tables;
