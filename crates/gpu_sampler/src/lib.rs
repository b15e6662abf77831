//! Generates the points and events of a sampler on GPUs.
//!
//! | module | contents |
//! |---|---|
//! | [`points`] | the kernel that draws points, and its launch |
//! | [`structures`] | data shared with kernels: blocks of points, rows of numbers |
//! | [`source`] | assembly of device code into compilation units |
//! | [`harvest`] | the kernels around |M|^2: points grouped by matrix element, training sums, events |
//! | `flows` | colour flows of which one is drawn for each point |
//! | `slot` | memory and stream of one launch |
//! | [`choose`] | choice of helicities, colour flows and diagrams of events |
//! | [`weigher`] | scheduling of launches on one or several GPUs |

mod arguments;
pub mod choose;
mod flows;
pub mod harvest;
pub mod points;
mod slot;
pub mod source;
pub mod structures;
mod tables;
pub mod weigher;

pub use tables::{DeviceTables, TablesError, check};
