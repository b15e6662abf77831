//! Propagators of channels.

use crate::text::{general, significant};
use crate::topology::{legs_of, outgoing};
use mebridge::describe::Channel;
use std::collections::BTreeSet;

/// A width below this share of the mass is lost where invariant masses are rounded.
pub const NARROWEST: f64 = 1e-14;

/// A propagator of a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelLine {
    /// PDG code.
    pub code: i32,
    /// GeV.
    pub mass: f64,
    /// GeV.
    pub width: f64,
    /// The legs that go out on one side, as [`legs_of`] has them.
    pub legs: BTreeSet<usize>,
    /// Whether it lies between the beams.
    pub between: bool,
}

impl ChannelLine {
    /// The propagator of a channel with this number.
    pub fn of(channel: &Channel, number: usize) -> Self {
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

    /// Those of a channel.
    pub fn all(channel: &Channel) -> impl Iterator<Item = Self> {
        (0..channel.masses.len()).map(|number| ChannelLine::of(channel, number))
    }

    /// Whether it has a mass, and no width, or one below [`NARROWEST`].
    pub fn is_narrow(&self) -> bool {
        self.width < NARROWEST * self.mass
    }

    /// What is said of a particle that can be on its mass shell and is narrow.
    pub fn without_width(&self) -> String {
        without_width(self.code, self.mass, self.width)
    }
}

/// What is said of a particle that can be on its mass shell, and has no width, or one below [`NARROWEST`].
///
/// Args: a PDG code, the mass and the width, GeV.
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
        significant(NARROWEST * mass, 1)
    )
}
