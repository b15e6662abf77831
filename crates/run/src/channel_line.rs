//! Propagators of channels.

use crate::text::{general, significant};
use crate::topology::{legs_of, outgoing};
use mebridge::describe::Channel;
use mebridge_support::sorted::SortedSet;

/// Smallest ratio of width to mass; smaller widths are lost in the rounding of invariant masses.
pub const MIN_WIDTH_RATIO: f64 = 1e-14;

/// A propagator of a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelLine {
    /// PDG code.
    pub code: i32,
    /// Mass, GeV.
    pub mass: f64,
    /// Width, GeV.
    pub width: f64,
    /// The outgoing legs on one side, from [`legs_of`].
    pub legs: SortedSet<usize>,
    /// Whether it is a t-channel line.
    pub between: bool,
}

impl ChannelLine {
    /// The propagator of a channel with this index.
    pub fn new(channel: &Channel, number: usize) -> Self {
        let name = format!("p{number}");
        let (mass, width) = channel.masses[number];
        ChannelLine {
            code: channel.propagators[number],
            mass: mass.abs(),
            width: width.abs(),
            legs: legs_of(&channel.vertices, &name),
            between: outgoing(&channel.vertices, &name).1 == 1,
        }
    }

    /// All propagators of a channel.
    pub fn all(channel: &Channel) -> impl Iterator<Item = Self> {
        (0..channel.masses.len()).map(|number| ChannelLine::new(channel, number))
    }

    /// Whether it has a mass but no width, or a width below [`MIN_WIDTH_RATIO`].
    pub fn is_narrow(&self) -> bool {
        self.width < MIN_WIDTH_RATIO * self.mass
    }

    /// The message about a narrow particle that can be on its mass shell.
    pub fn without_width(&self) -> String {
        without_width(self.code, self.mass, self.width)
    }
}

/// The message about a particle that can be on its mass shell but has no width, or a width below [`MIN_WIDTH_RATIO`].
///
/// Args: the PDG code, and mass and width, GeV.
pub fn without_width(code: i32, mass: f64, width: f64) -> String {
    let code = code.unsigned_abs();
    let has = match width {
        0.0 => "no width, which makes the cross section infinite".to_owned(),
        _ => format!(
            "a width of {} GeV, which is lost in rounding",
            general(width)
        ),
    };
    format!(
        "particle {code} (PDG code) can be on its mass shell, at {} GeV, and has {has}; give it one of at least {} GeV in the \
         parameter card (DECAY {code})",
        general(mass),
        significant(MIN_WIDTH_RATIO * mass, 1)
    )
}
