//! Reference answers from gfortran: compiles the Fortran of an output unchanged, and evaluates the squared matrix
//! elements of given events with it.
//!
//! Nothing is written into the output. Its files are copied to a temporary folder of the same layout, and our own
//! driver calls `SMATRIX<i>` there, in a separate process.
//!
//! | module | contents |
//! |---|---|
//! | `statements` | fixed form: lines into statements |
//! | `tree` | the relevant files of an output, and their copy |
//! | `matrix_element` | how a `matrix<i>.f` is to be called |
//! | `born` | the same for aMC@NLO's Born and its links |
//! | `driver` | the Fortran that calls it, and stubs for MadEvent |
//! | `card` | `Source/param_card.inc`, which MG5aMC writes when a run starts |
//! | `compiler` | gfortran |
//! | `child` | a program with limits of time and memory |
//! | `points`, `random` | events for comparisons |
//! | `library` | mebridge's answers for these events |
//! | `fortran_build` | the copy in which all this happens |

pub mod born;
pub mod card;
pub mod child;
pub mod compiler;
pub mod driver;
pub mod fortran_build;
pub mod library;
pub mod matrix_element;
pub mod points;
pub mod random;
pub mod statements;
pub mod tree;
