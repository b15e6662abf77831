//! The arrays of a call for events, as C and linked executables pass them.

use super::pointers::{
    CallerArray, PointerAccess, check_apart, input, input_or_none, number_count, output,
};
use super::registry::Entry;
use mebridge::error::Result;
use mebridge::events::{Answers, Events};

/// Pointers to the arrays. Null `channels` or `igraph` means that there is no such array.
pub(super) struct EventArrays {
    pub momenta: *const f64,
    pub g_s: *const f64,
    pub random_helicity: *const f64,
    pub random_color: *const f64,
    pub channels: *const i32,
    pub igraph: *const i32,
    pub matrix_elements: *mut f64,
    pub helicity: *mut i32,
    pub color: *mut i32,
}

impl EventArrays {
    /// Evaluates `nevt` events.
    ///
    /// # Safety
    /// Every array that is not null and is aligned holds `nevt` events.
    pub(super) unsafe fn run(
        &self,
        name: &'static str,
        entry: &mut Entry,
        nevt: usize,
    ) -> Result<()> {
        let legs = entry.bridge.process().legs.len();
        let count = number_count(name, nevt, 4 * legs)?;
        let read = |array| CallerArray::new::<f64>(array, nevt, PointerAccess::Read);
        let indices = |array| CallerArray::new::<i32>(array, nevt, PointerAccess::Read);
        let chosen = |array: *mut i32| CallerArray::new(array, nevt, PointerAccess::Write);
        check_apart(
            name,
            [
                (
                    "momenta",
                    CallerArray::new(self.momenta, count, PointerAccess::Read),
                ),
                ("g_s", read(self.g_s)),
                ("random_helicity", read(self.random_helicity)),
                ("random_color", read(self.random_color)),
                ("channels", indices(self.channels)),
                ("igraph", indices(self.igraph)),
                (
                    "matrix_elements",
                    CallerArray::new(self.matrix_elements, nevt, PointerAccess::Write),
                ),
                ("helicity", chosen(self.helicity)),
                ("color", chosen(self.color)),
            ],
        )?;
        // SAFETY: guaranteed by the caller; null and misalignment are rejected, and no output overlaps another array.
        let (events, mut answers) = unsafe {
            let [channels, igraph] = entry.indices.copy(
                input_or_none(name, "channels", self.channels, nevt)?,
                input_or_none(name, "igraph", self.igraph, nevt)?,
            )?;
            let events = Events {
                momenta: input(name, "momenta", self.momenta, count)?,
                g_s: input(name, "g_s", self.g_s, nevt)?,
                random_helicity: input(name, "random_helicity", self.random_helicity, nevt)?,
                random_color: input(name, "random_color", self.random_color, nevt)?,
                channels,
                igraph,
            };
            let answers = Answers {
                matrix_elements: output(name, "matrix_elements", self.matrix_elements, nevt)?,
                helicity: output(name, "helicity", self.helicity, nevt)?,
                color: output(name, "color", self.color, nevt)?,
            };
            (events, answers)
        };
        entry.bridge.run(&events, &mut answers)
    }
}
