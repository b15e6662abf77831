//! The command `mebridge`.
fn main() {}
