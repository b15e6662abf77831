//! The subset of Python in UFO models: assignments and calls, without any code to run.

pub mod lexer;
pub mod modules;
pub mod syntax;
