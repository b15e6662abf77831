//! The Python of UFO models: a language of its own, of assignments and calls, in which nothing can be run.

pub mod lexer;
pub mod modules;
pub mod syntax;
