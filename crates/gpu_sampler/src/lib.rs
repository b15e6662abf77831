//! Points and events of a sampler on GPUs.
//!
//! | module | what it knows |
//! |---|---|
//! | [`points`] | the kernel that draws points, and the tables that it reads |
//! | [`structures`] | what kernels read and write: blocks of points, rows of numbers |
//! | [`source`] | how device code becomes a unit that is compiled |
//! | [`harvest`] | the kernels around |M|^2: points together by matrix element, what weights teach, events |
//! | `slot` | what one launch needs while it is under way |
//! | [`choose`] | helicities, colour flows and diagrams of events |
//! | [`weigher`] | launches of blocks on one or several GPUs |

mod arguments;
pub mod choose;
pub mod harvest;
pub mod points;
mod slot;
pub mod source;
pub mod structures;
mod tables;
pub mod weigher;

pub use tables::{DeviceTables, TablesError, check};
