//! Input and output arrays of one call to a backend. All indices count from 0.
//!
//! A bridge makes [`Inputs`] from the [`Events`](crate::events::Events) of a call, and its
//! [`Answers`](crate::events::Answers), which count from 1, from the [`Outputs`].

use crate::points::check_length;
pub use crate::points::{Outputs, Points};
use mebridge_support::error::Result;

/// Marks a missing index. (Also in `cuda/number.cuh`.)
pub const NONE: i32 = -1;

/// Inputs of a call, per event.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The events.
    pub points: Points<'a>,
    /// The channel (a diagram) whose share of AMP2 multiplies |M|^2; `None` without channel weights.
    pub channel: Option<PerEvent<'a>>,
    /// The configuration that restricts the choice of colour flow, or [`NONE`] to choose no flow for this event; `None`
    /// if no colours are requested.
    pub config: Option<PerEvent<'a>>,
}

/// An index for each event, or [`NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerEvent<'a> {
    /// The same index for all events, which is the usual case.
    Same(i32),
    /// `[nevt]`: one index per event.
    Each(&'a [i32]),
}

impl<'a> PerEvent<'a> {
    /// The indices of the `count` events starting at `first`.
    #[inline]
    pub fn part(self, first: usize, count: usize) -> PerEvent<'a> {
        match self {
            PerEvent::Same(index) => PerEvent::Same(index),
            PerEvent::Each(all) => PerEvent::Each(&all[first..first + count]),
        }
    }

    /// A single index if all events share it, otherwise one per event.
    #[inline]
    pub fn one_or_each(&self) -> &[i32] {
        match self {
            PerEvent::Same(index) => std::slice::from_ref(index),
            PerEvent::Each(all) => match one_for_all(all) {
                Some(_) => &all[..1],
                None => all,
            },
        }
    }

    /// The index of `event`.
    #[inline]
    pub fn at(self, event: usize) -> i32 {
        match self {
            PerEvent::Same(index) => index,
            PerEvent::Each(all) => all[event],
        }
    }

    /// Whether any event has an index.
    #[inline]
    pub fn has_some(self) -> bool {
        match self {
            PerEvent::Same(index) => index != NONE,
            PerEvent::Each(all) => all.iter().any(|&index| index != NONE),
        }
    }
}

impl<'a> Inputs<'a> {
    /// The inputs of a call without channels and colours.
    pub fn without_channels(points: Points<'a>) -> Inputs<'a> {
        Inputs {
            points,
            channel: None,
            config: None,
        }
    }

    /// Returns the number of events after checking that every array has this length for a process with `legs` legs.
    pub fn check(&self, legs: usize) -> Result<usize> {
        let nevt = self.points.check(legs)?;
        for (what, of_events) in [("channels", self.channel), ("configurations", self.config)] {
            if let Some(PerEvent::Each(all)) = of_events {
                check_length(what, all.len(), nevt)?;
            }
        }
        Ok(nevt)
    }

    /// The `count` events starting at `first`.
    pub fn part(&self, first: usize, count: usize) -> Inputs<'a> {
        Inputs {
            points: self.points.part(first, count),
            channel: self.channel.map(|channel| channel.part(first, count)),
            config: self.config.map(|config| config.part(first, count)),
        }
    }
}

/// The common value if all numbers are equal, as the channels of a call nearly always are. Compares all of them without
/// a branch: a call has tens of thousands.
#[inline]
pub fn one_for_all(numbers: &[i32]) -> Option<i32> {
    let &one = numbers.first()?;
    let mut differ = 0;
    for number in numbers {
        differ |= number ^ one;
    }
    (differ == 0).then_some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_one_for_all_or_one_each() {
        let some = [4, 4, NONE, NONE];
        let each = PerEvent::Each(&some);
        assert_eq!((each.one_or_each(), each.has_some()), (&some[..], true));
        assert_eq!(each.part(0, 2).one_or_each(), [4]);
        assert_eq!(each.part(1, 2).one_or_each(), [4, NONE]);
        assert_eq!(each.part(2, 2).one_or_each(), [NONE]);
        assert!(!each.part(2, 2).has_some());
        assert!(PerEvent::Each(&[]).one_or_each().is_empty());
        let same = PerEvent::Same(7);
        assert_eq!(same.part(1, 2), same);
        assert_eq!((same.at(3), each.at(1)), (7, 4));
        assert_eq!((same.one_or_each(), same.has_some()), (&[7][..], true));
        assert!(!PerEvent::Same(NONE).has_some());
    }
}
