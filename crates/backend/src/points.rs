//! What calls and samples have in common: the points, and the answers without squared diagrams. All indices count from
//! 0.

use mebridge_support::error::{Error, Result};
use std::borrow::Cow;
use std::marker::PhantomData;

/// Returns an error if an array does not have the required length.
pub fn check_length(what: &'static str, has: usize, needs: usize) -> Result<()> {
    match has == needs {
        true => Ok(()),
        false => Err(Error::ArrayLength { what, has, needs }),
    }
}

/// Phase-space points with what every evaluation needs for each.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// The momenta.
    pub momenta: Momenta<'a>,
    /// `[nevt]`: the strong coupling g_s.
    pub g_s: &'a [f64],
    /// `[nevt]`: random numbers in [0, 1) for the helicity.
    pub random_helicity: &'a [f64],
    /// `[nevt]`: random numbers in [0, 1) for the colour flow.
    pub random_color: &'a [f64],
}

/// Momenta of events with arbitrary strides: `(E, px, py, pz)` in GeV; incoming particles have positive energy.
#[derive(Clone, Copy, Debug)]
pub struct Momenta<'a> {
    first: *const f64,
    events: usize,
    legs: usize,
    strides: Strides,
    _marker: PhantomData<&'a [f64]>,
}

/// Distances between momentum components, counted in numbers; may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// From an event to the next.
    pub event: isize,
    /// From a leg to the next.
    pub leg: isize,
    /// From a component of a momentum to the next.
    pub component: isize,
}

impl Strides {
    /// Those of momenta `[event][leg][component]` in one contiguous array.
    pub fn of_rows(legs: usize) -> Strides {
        Strides {
            event: legs.saturating_mul(4) as isize,
            leg: 4,
            component: 1,
        }
    }
}

// SAFETY: the numbers are only read, like those of the `&[f64]` that this stands for.
unsafe impl Send for Momenta<'_> {}
// SAFETY: as above.
unsafe impl Sync for Momenta<'_> {}

impl<'a> Momenta<'a> {
    /// Momenta `[event][leg][component]` in one contiguous array; no events if the array is too short for one.
    pub fn rows(momenta: &'a [f64], legs: usize) -> Momenta<'a> {
        let each = legs.saturating_mul(4);
        Momenta {
            first: momenta.as_ptr(),
            events: momenta.len().checked_div(each).unwrap_or(0),
            legs,
            strides: Strides::of_rows(legs),
            _marker: PhantomData,
        }
    }

    /// Momenta with arbitrary strides.
    ///
    /// # Safety
    /// `first` is aligned. For each event, leg and component, the number at the sum of their strides from `first` can
    /// be read during `'a`, and nothing writes to it in that time. Without events `first` may be anything.
    pub unsafe fn new(
        first: *const f64,
        events: usize,
        legs: usize,
        strides: Strides,
    ) -> Momenta<'a> {
        Momenta {
            first,
            events,
            legs,
            strides,
            _marker: PhantomData,
        }
    }

    /// Number of events.
    pub fn events(&self) -> usize {
        self.events
    }

    /// Number of legs.
    pub fn legs(&self) -> usize {
        self.legs
    }

    /// The strides.
    pub fn strides(&self) -> Strides {
        self.strides
    }

    /// The numbers in one array `[event][leg][component]`, which is a copy unless they are in such an array.
    pub fn to_rows(&self) -> Cow<'a, [f64]> {
        if self.events == 0 || self.legs == 0 {
            return Cow::Borrowed(&[]);
        }
        let (legs, each) = (self.legs, 4 * self.legs);
        let numbers = self.events * each;
        if self.strides == Strides::of_rows(legs) {
            // SAFETY: the constructor's caller promised that these numbers can be read, and they are contiguous.
            return Cow::Borrowed(unsafe { std::slice::from_raw_parts(self.first, numbers) });
        }
        let number = |n: usize| self.get(n / each, n / 4 % legs, n % 4);
        Cow::Owned((0..numbers).map(number).collect())
    }

    /// Pointer to a component of a momentum.
    ///
    /// # Panics
    /// If `event`, `leg` or `component` is out of range.
    #[inline]
    pub fn at(&self, event: usize, leg: usize, component: usize) -> *const f64 {
        assert!(event < self.events && leg < self.legs && component < 4);
        let Strides {
            event: by_event,
            leg: by_leg,
            component: by_component,
        } = self.strides;
        // Cannot overflow for numbers that exist.
        let offset = (event as isize).wrapping_mul(by_event)
            + (leg as isize).wrapping_mul(by_leg)
            + (component as isize).wrapping_mul(by_component);
        self.first.wrapping_offset(offset)
    }

    /// Component of a momentum.
    ///
    /// # Panics
    /// If `event`, `leg` or `component` is out of range.
    #[inline]
    pub fn get(&self, event: usize, leg: usize, component: usize) -> f64 {
        // SAFETY: `at` checks the indices; the constructor's caller promised that these numbers can be read.
        unsafe { *self.at(event, leg, component) }
    }

    /// The `count` events starting at `first`.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn part(&self, first: usize, count: usize) -> Momenta<'a> {
        assert!(first <= self.events && count <= self.events - first);
        let offset = (first as isize).wrapping_mul(self.strides.event);
        Momenta {
            first: self.first.wrapping_offset(offset),
            events: count,
            ..*self
        }
    }
}

/// What a call and a sample return for each event.
#[derive(Debug, Default)]
pub struct Outputs<'a> {
    /// `[nevt]`: |M|^2 averaged and summed, times the channel's weight.
    pub matrix_elements: &'a mut [f64],
    /// `[nevt]`: the chosen row of the helicity table, or [`NONE`](crate::inputs::NONE).
    pub helicity: &'a mut [i32],
    /// `[nevt]`: the chosen colour flow, or [`NONE`](crate::inputs::NONE).
    pub color: &'a mut [i32],
}

impl<'a> Points<'a> {
    /// Number of events.
    pub fn count(&self) -> usize {
        self.momenta.events()
    }

    /// Returns the number of events after checking that all arrays have it, for a process with `legs` legs.
    pub fn check(&self, legs: usize) -> Result<usize> {
        let nevt = self.count();
        if nevt > 0 {
            check_length("momenta", self.momenta.legs(), legs)?;
        }
        check_length("g_s", self.g_s.len(), nevt)?;
        check_length("random_helicity", self.random_helicity.len(), nevt)?;
        check_length("random_color", self.random_color.len(), nevt)?;
        Ok(nevt)
    }

    /// The `count` events starting at `first`.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn part(&self, first: usize, count: usize) -> Points<'a> {
        let events = first..first + count;
        Points {
            momenta: self.momenta.part(first, count),
            g_s: &self.g_s[events.clone()],
            random_helicity: &self.random_helicity[events.clone()],
            random_color: &self.random_color[events],
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
    ///
    /// # Panics
    /// If there are fewer.
    pub fn part(&mut self, first: usize, count: usize) -> Outputs<'_> {
        let events = first..first + count;
        Outputs {
            matrix_elements: &mut self.matrix_elements[events.clone()],
            helicity: &mut self.helicity[events.clone()],
            color: &mut self.color[events],
        }
    }

    /// Splits the outputs into those of the first `count` events and the rest.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split(self, count: usize) -> (Outputs<'a>, Outputs<'a>) {
        let matrix_elements = self.matrix_elements.split_at_mut(count);
        let helicity = self.helicity.split_at_mut(count);
        let color = self.color.split_at_mut(count);
        let outputs = |matrix_elements, helicity, color| Outputs {
            matrix_elements,
            helicity,
            color,
        };
        (
            outputs(matrix_elements.0, helicity.0, color.0),
            outputs(matrix_elements.1, helicity.1, color.1),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momenta_are_found_in_any_order() {
        // [component][leg][event], two legs, three events of five.
        let numbers: Vec<f64> = (0..40).map(f64::from).collect();
        let strides = Strides {
            event: 1,
            leg: 5,
            component: 10,
        };
        // SAFETY: events 1 to 3 of five.
        let momenta = unsafe { Momenta::new(numbers.as_ptr().wrapping_add(1), 3, 2, strides) };
        assert_eq!(momenta.get(2, 1, 3), 38.0);
        assert_eq!(momenta.part(1, 2).get(0, 0, 1), 12.0);
        assert_eq!(momenta.part(0, 2).to_rows()[6..9], [26.0, 36.0, 2.0]);
        let rows = Momenta::rows(&numbers, 2);
        assert_eq!((rows.events(), rows.get(4, 1, 2)), (5, 38.0));
        assert_eq!(rows.part(2, 2).to_rows(), Cow::Borrowed(&numbers[16..32]));
        // With `legs * 4` computed modulo 2^64, four legs would have this many numbers.
        assert_eq!(Momenta::rows(&numbers, (1 << 62) + 1).events(), 0);
        assert!(std::panic::catch_unwind(|| rows.part(3, 3)).is_err());
    }
}
