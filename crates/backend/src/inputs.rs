//! What a backend is given and what it gives back: the arrays of one call, in which every index counts from 0.
//!
//! A bridge makes them of the [`Events`](crate::events::Events) of a call, and of the outputs its
//! [`Answers`](crate::events::Answers), which count from 1.

use crate::check_length;
use mebridge_support::error::Result;

/// In the place of an index: there is none. (Also in `cuda/number.cuh`.)
pub const NONE: i32 = -1;

/// What is given of each event.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// `[nevt][npar][4]`: `(E, px, py, pz)` in GeV, incoming ones with positive energy.
    pub momenta: &'a [f64],
    /// `[nevt]`: the strong coupling g_s.
    pub g_s: &'a [f64],
    /// `[nevt]`: random numbers in [0, 1) for the helicity.
    pub random_helicity: &'a [f64],
    /// `[nevt]`: random numbers in [0, 1) for the colour flow.
    pub random_color: &'a [f64],
    /// The channel by whose share of AMP2 |M|^2 is weighted, a diagram; `None` where nothing is weighted.
    pub channel: Option<PerEvent<'a>>,
    /// The configuration among whose colour flows one is chosen, [`NONE`] where none is to be; `None` where colours are
    /// not asked for.
    pub config: Option<PerEvent<'a>>,
}

/// What is given back of each event.
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
    /// All have this one, as nearly always.
    Same(i32),
    /// `[nevt]`
    Each(&'a [i32]),
}

impl<'a> PerEvent<'a> {
    /// That of so many events from this one on.
    #[inline]
    pub fn part(self, first: usize, count: usize) -> PerEvent<'a> {
        match self {
            PerEvent::Same(index) => PerEvent::Same(index),
            PerEvent::Each(all) => PerEvent::Each(&all[first..first + count]),
        }
    }

    /// The index that all have, if they have the same, else that of each.
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

    /// That of an event.
    #[inline]
    pub fn of(self, event: usize) -> i32 {
        match self {
            PerEvent::Same(index) => index,
            PerEvent::Each(all) => all[event],
        }
    }

    /// Whether some event has an index.
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

    /// Number of legs, by the length of the arrays; 0 without events.
    pub fn legs(&self) -> usize {
        self.momenta
            .len()
            .checked_div(4 * self.count())
            .unwrap_or(0)
    }

    /// Number of events, and a check that all arrays have that many, of a process with so many legs.
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

    /// The first `count` of the events.
    pub fn first(&self, count: usize) -> Inputs<'a> {
        self.part(0, count)
    }

    /// So many of the events from this one on.
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
    /// Checks that all arrays have so many events.
    pub fn check(&self, nevt: usize) -> Result<()> {
        check_length("matrix_elements", self.matrix_elements.len(), nevt)?;
        check_length("helicity", self.helicity.len(), nevt)?;
        check_length("color", self.color.len(), nevt)
    }

    /// Those of so many events from this one on.
    pub fn part(&mut self, first: usize, count: usize) -> Outputs<'_> {
        let events = first..first + count;
        Outputs {
            matrix_elements: &mut self.matrix_elements[events.clone()],
            helicity: &mut self.helicity[events.clone()],
            color: &mut self.color[events],
        }
    }

    /// Those of the first so many events, and the others.
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

/// The number that all of these are, if they are the same, as channels of a call nearly always are. All are looked at,
/// without a branch: calls have tens of thousands.
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
