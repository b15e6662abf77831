//! Input and output arrays of one call to a backend. All indices count from 0.
//!
//! A bridge makes [`Inputs`] from the [`Events`](crate::events::Events) of a call, and its
//! [`Answers`](crate::events::Answers), which count from 1, from the [`Outputs`].

use crate::check_length;
use mebridge_support::error::Result;

/// Marks a missing index. (Also in `cuda/number.cuh`.)
pub const NONE: i32 = -1;

/// Inputs of a call, per event.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// `[nevt][npar][4]`: `(E, px, py, pz)` in GeV; incoming particles have positive energy.
    pub momenta: &'a [f64],
    /// `[nevt]`: the strong coupling g_s.
    pub g_s: &'a [f64],
    /// `[nevt]`: random numbers in [0, 1) for the helicity.
    pub random_helicity: &'a [f64],
    /// `[nevt]`: random numbers in [0, 1) for the colour flow.
    pub random_color: &'a [f64],
    /// The channel (a diagram) whose share of AMP2 multiplies |M|^2; `None` without channel weights.
    pub channel: Option<PerEvent<'a>>,
    /// The configuration that restricts the choice of colour flow, or [`NONE`] to choose no flow for this event; `None`
    /// if no colours are requested.
    pub config: Option<PerEvent<'a>>,
}

/// Outputs of a call, per event.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// `[nevt]`: |M|^2 averaged and summed, times the channel's weight.
    pub matrix_elements: &'a mut [f64],
    /// `[nevt]`: the chosen row of the helicity table, or [`NONE`].
    pub helicity: &'a mut [i32],
    /// `[nevt]`: the chosen colour flow, or [`NONE`].
    pub color: &'a mut [i32],
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
    pub fn of(self, event: usize) -> i32 {
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
    /// Number of events.
    pub fn count(&self) -> usize {
        self.g_s.len()
    }

    /// Number of legs, derived from the array lengths; 0 without events.
    pub fn legs(&self) -> usize {
        self.momenta
            .len()
            .checked_div(4 * self.count())
            .unwrap_or(0)
    }

    /// Returns the number of events after checking that every array has this length for a process with `legs` legs.
    pub fn check(&self, legs: usize) -> Result<usize> {
        let nevt = self.count();
        check_length("momenta", self.momenta.len(), nevt * legs * 4)?;
        check_length("random_helicity", self.random_helicity.len(), nevt)?;
        check_length("random_color", self.random_color.len(), nevt)?;
        for (what, of_events) in [("channels", self.channel), ("configurations", self.config)] {
            if let Some(PerEvent::Each(all)) = of_events {
                check_length(what, all.len(), nevt)?;
            }
        }
        Ok(nevt)
    }

    /// The first `count` events.
    pub fn first(&self, count: usize) -> Inputs<'a> {
        self.part(0, count)
    }

    /// The `count` events starting at `first`.
    pub fn part(&self, first: usize, count: usize) -> Inputs<'a> {
        let (end, legs) = (first + count, self.legs());
        Inputs {
            momenta: &self.momenta[first * legs * 4..end * legs * 4],
            g_s: &self.g_s[first..end],
            random_helicity: &self.random_helicity[first..end],
            random_color: &self.random_color[first..end],
            channel: self.channel.map(|channel| channel.part(first, count)),
            config: self.config.map(|config| config.part(first, count)),
        }
    }

    /// The same events without channels and configurations.
    pub fn plain(&self) -> Inputs<'a> {
        Inputs {
            channel: None,
            config: None,
            ..*self
        }
    }
}

impl<'a> Outputs<'a> {
    /// Checks that all arrays have `nevt` entries.
    pub fn check(&self, nevt: usize) -> Result<()> {
        check_length("matrix_elements", self.matrix_elements.len(), nevt)?;
        check_length("helicity", self.helicity.len(), nevt)?;
        check_length("color", self.color.len(), nevt)
    }

    /// The outputs of the `count` events starting at `first`.
    pub fn part(&mut self, first: usize, count: usize) -> Outputs<'_> {
        let events = first..first + count;
        Outputs {
            matrix_elements: &mut self.matrix_elements[events.clone()],
            helicity: &mut self.helicity[events.clone()],
            color: &mut self.color[events],
        }
    }

    /// Splits the outputs into those of the first `count` events and the rest.
    pub fn split(self, count: usize) -> (Outputs<'a>, Outputs<'a>) {
        let matrix_elements = self.matrix_elements.split_at_mut(count);
        let helicity = self.helicity.split_at_mut(count);
        let color = self.color.split_at_mut(count);
        (
            Outputs {
                matrix_elements: matrix_elements.0,
                helicity: helicity.0,
                color: color.0,
            },
            Outputs {
                matrix_elements: matrix_elements.1,
                helicity: helicity.1,
                color: color.1,
            },
        )
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
        assert_eq!((same.of(3), each.of(1)), (7, 4));
        assert_eq!((same.one_or_each(), same.has_some()), (&[7][..], true));
        assert!(!PerEvent::Same(NONE).has_some());
    }
}
