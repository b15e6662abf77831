//! gfortran as the judge: compiles the Fortran of an output as it is, and asks it for the squared
//! matrix elements of given events.
//!
//! Nothing is written into the output. Its files are copied to a temporary folder of the same
//! layout, and a driver of our own calls `SMATRIX<i>` there, in a process of its own.
//!
//! | module | what it knows |
//! |---|---|
//! | `statements` | fixed form: lines into statements |
//! | `tree` | which files of an output matter, and their copy |
//! | `matrix_element` | what a `matrix<i>.f` says about how it is to be called |
//! | `driver` | the Fortran that calls it, and what stands in for MadEvent |
//! | `card` | `Source/param_card.inc`, which MG5aMC writes when a run starts |
//! | `compiler` | gfortran |
//! | `child` | a program with limits of time and memory |
//! | `points`, `random` | events to compare on |
//! | `library` | what mebridge answers for these events |
//! | `workshop` | the copy in which all this happens |

pub mod card;
pub mod child;
pub mod compiler;
pub mod driver;
pub mod library;
pub mod matrix_element;
pub mod points;
pub mod random;
pub mod statements;
pub mod tree;
pub mod workshop;
