//! Files of users: how they are read and written without harm to anything else.
//!
//! | module | what it knows |
//! |---|---|
//! | [`regular`] | reading of regular files alone, up to a size |
//! | [`replace`] | files that are there whole or not at all |
//! | [`temporary`] | what goes again, however the program ends |
//! | [`inputs`] | which files were read, so that none of them is written over |

pub mod inputs;
pub mod regular;
pub mod replace;
pub mod temporary;
