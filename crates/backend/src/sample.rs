//! Inputs and outputs of a sampler's call: a sample of events in the caller's memory.
//!
//! In addition to the outputs for [`Events`](crate::events::Events), a sample has all squared diagrams of an event, a
//! diagram drawn from them, and the colour flow for that diagram. Momenta are read in place, with any strides. All
//! indices count from 0.

use crate::points::check_length;
pub use crate::points::{Momenta, Outputs, Points, Strides};
use mebridge_support::error::Result;
use std::marker::PhantomData;

/// alpha_s if the caller gives none.
pub const DEFAULT_ALPHA_S: f64 = 0.118;

/// The strong coupling g_s for a value of alpha_s.
pub fn g_s(alpha_s: f64) -> f64 {
    (4.0 * std::f64::consts::PI * alpha_s).sqrt()
}

/// One number per row and event, `[row][event]`, with a stride from one row to the next.
#[derive(Debug)]
pub struct Rows<'a> {
    first: *mut f64,
    events: usize,
    rows: usize,
    stride: usize,
    _marker: PhantomData<&'a mut [f64]>,
}

// SAFETY: this has exclusive access to the numbers, like the `&mut [f64]` that it stands for.
unsafe impl Send for Rows<'_> {}

impl<'a> Rows<'a> {
    /// Rows in memory of the caller.
    ///
    /// # Safety
    /// `first` is aligned; `stride` is at least `events` if there is more than one row; the first `events` numbers of
    /// each row can be written during `'a`, and nothing else reads or writes them in that time.
    pub unsafe fn new(first: *mut f64, events: usize, rows: usize, stride: usize) -> Rows<'a> {
        Rows {
            first,
            events,
            rows,
            stride,
            _marker: PhantomData,
        }
    }

    /// Number of events.
    pub fn events(&self) -> usize {
        self.events
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.rows
    }

    /// The numbers of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&mut self, row: usize) -> &mut [f64] {
        assert!(row < self.rows);
        // SAFETY: the caller of `new` promised that the row can be written; rows do not overlap.
        unsafe {
            std::slice::from_raw_parts_mut(self.first.wrapping_add(row * self.stride), self.events)
        }
    }

    /// Splits all rows into the first `count` events and the rest.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split(self, count: usize) -> (Rows<'a>, Rows<'a>) {
        assert!(count <= self.events);
        let others = Rows {
            first: self.first.wrapping_add(count),
            events: self.events - count,
            ..self
        };
        let first = Rows {
            events: count,
            ..self
        };
        (first, others)
    }

    /// All rows, restricted to the `count` events starting at `first`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn of_events(&mut self, first: usize, count: usize) -> Rows<'_> {
        assert!(first <= self.events && count <= self.events - first);
        Rows {
            first: self.first.wrapping_add(first),
            events: count,
            ..*self
        }
    }

    /// The `count` rows starting at `first`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn range(&mut self, first: usize, count: usize) -> Rows<'_> {
        assert!(first <= self.rows && count <= self.rows - first);
        Rows {
            first: self.first.wrapping_add(first * self.stride),
            rows: count,
            ..*self
        }
    }
}

/// Inputs for a sample of events. Every array has one entry per event.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The events.
    pub points: Points<'a>,
    /// Random numbers in [0, 1) for the diagram.
    pub random_diagram: &'a [f64],
    /// For each event the row of the helicity table whose contribution is the matrix element; `None` to sum over all
    /// rows.
    pub helicity: Option<&'a [i32]>,
    /// For each event the diagram that restricts the choice of colour flow; `None` to draw the diagram.
    pub diagram: Option<&'a [i32]>,
    /// Whether diagrams and colours are requested; otherwise they are not computed.
    pub diagrams: bool,
}

/// Outputs for a sample of events. Every array has one entry per event.
///
/// An event with a momentum that is not finite, has no positive energy or is off its mass shell, or with momenta that
/// are not conserved, gets NaN as matrix element, 0 for all shares, and meaningless choices. If nothing can be chosen
/// because all shares are 0, index 0 is chosen. Colours, diagrams and shares are not written if the sample does not
/// request diagrams.
#[derive(Debug)]
pub struct SampleAnswers<'a> {
    /// |M|^2, summed and averaged, in GeV^(4-2n) for n outgoing particles, without a channel weight; the chosen row of the
    /// helicity table; the chosen colour flow, among those that the diagram allows.
    pub outputs: Outputs<'a>,
    /// The diagram, drawn with probabilities proportional to the squared diagrams.
    pub diagram: &'a mut [i32],
    /// `[diagram][event]`: each squared diagram as a share of the sum over the diagrams with a channel; 0 for the other
    /// diagrams, and for all if the sum is 0.
    pub amp2: Option<Rows<'a>>,
}

impl<'a> Sample<'a> {
    /// Checks the lengths of all arrays, including the answers, for a process with these numbers of legs and diagrams.
    pub fn check_lengths(
        &self,
        answers: &SampleAnswers,
        legs: usize,
        diagrams: usize,
    ) -> Result<()> {
        let events = self.points.check(legs)?;
        check_length("random_diagram", self.random_diagram.len(), events)?;
        for (what, fixed) in [("helicity", self.helicity), ("diagram", self.diagram)] {
            if let Some(fixed) = fixed {
                check_length(what, fixed.len(), events)?;
            }
        }
        answers.outputs.check(events)?;
        check_length("diagram", answers.diagram.len(), events)?;
        if let Some(rows) = &answers.amp2 {
            check_length("amp2", rows.events(), events)?;
            check_length("amp2", rows.count(), diagrams)?;
        }
        Ok(())
    }

    /// The `count` events starting at `first`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn part(&self, first: usize, count: usize) -> Sample<'a> {
        let events = first..first + count;
        Sample {
            points: self.points.part(first, count),
            random_diagram: &self.random_diagram[events.clone()],
            helicity: self.helicity.map(|all| &all[events.clone()]),
            diagram: self.diagram.map(|all| &all[events]),
            diagrams: self.diagrams,
        }
    }
}

impl<'a> SampleAnswers<'a> {
    /// The answers of the `count` events starting at `first`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn part(&mut self, first: usize, count: usize) -> SampleAnswers<'_> {
        SampleAnswers {
            outputs: self.outputs.part(first, count),
            diagram: &mut self.diagram[first..first + count],
            amp2: self.amp2.as_mut().map(|rows| rows.of_events(first, count)),
        }
    }

    /// Splits the answers into those of the first `count` events and the rest.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split(self, count: usize) -> (SampleAnswers<'a>, SampleAnswers<'a>) {
        let outputs = self.outputs.split(count);
        let diagram = self.diagram.split_at_mut(count);
        let amp2 = self.amp2.map(|rows| rows.split(count)).unzip();
        let answers = |outputs, diagram, amp2| SampleAnswers {
            outputs,
            diagram,
            amp2,
        };
        (
            answers(outputs.0, diagram.0, amp2.0),
            answers(outputs.1, diagram.1, amp2.1),
        )
    }
}

/// A sample in GPU memory. Arrays are device addresses, with shape `[events]` unless stated otherwise, and 0 if not
/// given or not requested. Fields have the same meaning as in [`Sample`] and [`SampleAnswers`]; an index out of range
/// makes an event bad.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSample {
    /// Number of events.
    pub events: usize,
    /// Doubles, with these [`strides`](DeviceSample::strides).
    pub momenta: u64,
    /// Strides of the momenta.
    pub strides: Strides,
    /// Doubles.
    pub alpha_s: u64,
    /// g_s if `alpha_s` is 0.
    pub default_g_s: f64,
    /// Doubles in [0, 1); 0.5 is used if not given, as for the other random numbers.
    pub random_helicity: u64,
    /// Doubles in [0, 1).
    pub random_color: u64,
    /// Doubles in [0, 1).
    pub random_diagram: u64,
    /// 32-bit integers, like all indices: rows of the helicity table.
    pub fixed_helicity: u64,
    /// Diagrams that restrict the choice of colour flows.
    pub fixed_diagram: u64,
    /// Index of the matrix element for each event; this matrix element skips the events of others.
    pub flavor: u64,
    /// Doubles.
    pub matrix_elements: u64,
    /// Integers.
    pub helicity: u64,
    /// Integers.
    pub color: u64,
    /// Integers.
    pub diagram: u64,
    /// Doubles: |M|^2 at leading colour, with the diagonal of the colour matrix alone; only together with colours.
    pub leading_color: u64,
    /// Doubles, `[diagram][event]`.
    pub amp2: u64,
    /// Distance from one diagram to the next in `amp2`.
    pub amp2_stride: usize,
    /// The CUstream for all work; 0 is the legacy default stream.
    pub stream: u64,
    /// The matrix element to evaluate.
    pub element: MatrixElementOffsets,
}

/// One of several matrix elements that share arrays, with its offsets into the common index ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixElementOffsets {
    /// Index of this matrix element.
    pub index: usize,
    /// Number of matrix elements.
    pub count: usize,
    /// Offset of its helicities.
    pub helicity: usize,
    /// Offset of its colour flows.
    pub color: usize,
    /// Offset of its diagrams.
    pub diagram: usize,
    /// Number of diagrams of all matrix elements.
    pub diagrams: usize,
}

impl MatrixElementOffsets {
    /// Offsets for a single matrix element.
    pub fn single(diagrams: usize) -> MatrixElementOffsets {
        MatrixElementOffsets {
            index: 0,
            count: 1,
            helicity: 0,
            color: 0,
            diagram: 0,
            diagrams,
        }
    }
}

impl DeviceSample {
    /// An empty sample: no events, no arrays, and a single matrix element.
    pub fn empty() -> DeviceSample {
        DeviceSample {
            events: 0,
            momenta: 0,
            strides: Strides {
                event: 0,
                leg: 0,
                component: 0,
            },
            alpha_s: 0,
            default_g_s: g_s(DEFAULT_ALPHA_S),
            random_helicity: 0,
            random_color: 0,
            random_diagram: 0,
            fixed_helicity: 0,
            fixed_diagram: 0,
            flavor: 0,
            matrix_elements: 0,
            helicity: 0,
            color: 0,
            diagram: 0,
            leading_color: 0,
            amp2: 0,
            amp2_stride: 0,
            stream: 0,
            element: MatrixElementOffsets::single(0),
        }
    }

    /// Whether diagrams and colours are requested.
    pub fn diagrams(&self) -> bool {
        [self.amp2, self.color, self.diagram]
            .iter()
            .any(|&array| array != 0)
    }

    /// All arrays, with their names.
    pub fn arrays(&self) -> [(&'static str, u64); 13] {
        [
            ("momenta", self.momenta),
            ("alpha_s", self.alpha_s),
            ("random numbers for helicities", self.random_helicity),
            ("random numbers for colours", self.random_color),
            ("random numbers for diagrams", self.random_diagram),
            ("fixed helicities", self.fixed_helicity),
            ("fixed diagrams", self.fixed_diagram),
            ("flavour indices", self.flavor),
            ("matrix elements", self.matrix_elements),
            ("helicities", self.helicity),
            ("colours", self.color),
            ("diagrams", self.diagram),
            ("amp2", self.amp2),
        ]
    }
}

/// Events without a matrix element: their momenta are bad, or the result is not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BadEvents {
    /// Number of bad events.
    pub count: usize,
    /// Index of the first bad event.
    pub first: Option<usize>,
}

impl BadEvents {
    /// Finds the bad events of a sample. Infinite matrix elements become NaN, and the shares of their diagrams 0.
    pub fn find(answers: &mut SampleAnswers) -> BadEvents {
        let mut bad = BadEvents::default();
        if first_not_finite(answers.outputs.matrix_elements).is_none() {
            return bad;
        }
        for (event, value) in answers.outputs.matrix_elements.iter_mut().enumerate() {
            if value.is_finite() {
                continue;
            }
            *value = f64::NAN;
            bad.count += 1;
            bad.first.get_or_insert(event);
            if let Some(rows) = &mut answers.amp2 {
                (0..rows.count()).for_each(|diagram| rows.row(diagram)[event] = 0.0);
            }
        }
        bad
    }
}

/// Index of the first number that is not finite.
pub fn first_not_finite(numbers: &[f64]) -> Option<usize> {
    // Checks all numbers without a branch first: calls to a GPU have tens of thousands.
    let mut all = true;
    for x in numbers {
        all &= x.is_finite();
    }
    match all {
        true => None,
        false => numbers.iter().position(|x| !x.is_finite()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_their_events_alone() {
        let mut numbers = [0.0; 12];
        // SAFETY: three rows of two events, from the second event of four on.
        let mut rows = unsafe { Rows::new(numbers.as_mut_ptr().wrapping_add(1), 2, 3, 4) };
        rows.row(2).fill(1.0);
        rows.range(1, 1).row(0).fill(2.0);
        assert_eq!(numbers[9..11], [1.0; 2]);
        assert_eq!(numbers[5..7], [2.0; 2]);
        assert_eq!(numbers.iter().sum::<f64>(), 6.0);
    }
}
