//! Phase space as data: a channel is a list of steps, made of a diagram, which draws momenta of many points at once.

mod channel;
mod diagram;
mod draw;
mod kinematics;
mod limits;
mod map;
mod rows;

pub use channel::{Beams, Channel, Settings};
pub use diagram::{Diagram, Error, Legs, Line, MOST_LEGS, Propagator};
pub use draw::Layout;
pub use limits::Limits;
pub use rows::Rows;
