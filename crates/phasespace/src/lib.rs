//! Phase space as data: a channel is a list of steps, compiled from a diagram, that generates momenta of many points at
//! once.

mod channel;
pub mod clustering;
pub mod compact;
pub mod cuts;
pub mod device;
mod diagram;
mod draw;
mod kinematics;
mod limits;
mod map;
mod observables;
mod permutations;
mod radiation;
mod rows;
pub mod scales;
mod weights;

pub use channel::{Beams, Channel, ChannelSettings};
pub use diagram::{Diagram, Edge, Error, Legs, MAX_LEGS, Propagator};
pub use draw::Layout;
pub use limits::Limits;
pub use permutations::{Permutation, PermutedDiagrams, canonical, permuted};
pub use rows::Rows;
pub use weights::Weights;
