//! Memory of the emulated GPU: fresh memory holds NaN, and each piece has guard bytes on both sides.

use mebridge_driver::Pointer;
use mebridge_support::error::{Error, Result};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::BTreeMap;

/// Guarded bytes before and after each piece of memory.
const ZONE: usize = 1024;

/// A NaN as a `float`, and as a `double` if repeated; as an integer, out of range of any table.
const POISON: u32 = 0xfff5_a5a5;

/// Pieces of memory by address, with their sizes.
#[derive(Default)]
pub(crate) struct Memory {
    pieces: BTreeMap<Pointer, usize>,
    taken: usize,
}

fn layout(bytes: usize) -> Layout {
    let layout = Layout::from_size_align(bytes.next_multiple_of(4) + 2 * ZONE, 256);
    layout.expect("a size of memory")
}

impl Memory {
    /// Bytes in use.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// Returns the number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Allocates memory.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Pointer {
        let layout = layout(bytes);
        // SAFETY: the size is not zero, and all bytes are initialised with the pattern.
        let pointer = unsafe {
            let base = alloc(layout);
            if base.is_null() {
                handle_alloc_error(layout);
            }
            for i in 0..layout.size() / 4 {
                base.cast::<u32>().add(i).write(POISON);
            }
            base as Pointer + ZONE as Pointer
        };
        self.pieces.insert(pointer, bytes);
        self.taken += bytes;
        pointer
    }

    /// Frees memory.
    pub(crate) fn free(&mut self, pointer: Pointer) -> Result<()> {
        let checked = self.check(pointer);
        let Some(bytes) = self.pieces.remove(&pointer) else {
            return Err(wrong(format!(
                "{pointer:#x} is given back and was not taken"
            )));
        };
        self.taken -= bytes;
        // SAFETY: the memory was allocated with this layout and has been removed from the list.
        unsafe { dealloc((pointer as usize - ZONE) as *mut u8, layout(bytes)) };
        checked
    }

    /// Checks that the guard bytes of a piece are intact.
    fn check(&self, pointer: Pointer) -> Result<()> {
        let Some(&bytes) = self.pieces.get(&pointer) else {
            return Ok(());
        };
        let intact = |offset: isize| {
            // SAFETY: the offset is within the allocation.
            let byte = unsafe { (pointer as *const u8).offset(offset).read() };
            byte == POISON.to_le_bytes()[offset.rem_euclid(4) as usize]
        };
        let after = bytes as isize..(bytes.next_multiple_of(4) + ZONE) as isize;
        match (-(ZONE as isize)..0).chain(after).find(|&i| !intact(i)) {
            None => Ok(()),
            Some(i) => Err(wrong(format!(
                "byte {i} of {bytes} bytes at {pointer:#x} was written"
            ))),
        }
    }

    /// Checks that the guard bytes of all pieces are intact.
    pub(crate) fn check_all(&self) -> Result<()> {
        self.pieces.keys().try_for_each(|&at| self.check(at))
    }

    /// Checks that all of these bytes have been written: no word still holds the pattern of fresh memory.
    pub(crate) fn is_written(&self, pointer: Pointer, bytes: usize) -> Result<()> {
        self.inside(pointer, bytes)?;
        let first = pointer.next_multiple_of(4);
        let end = (pointer + bytes as Pointer) & !3;
        let fresh = (first..end).step_by(4).find(|&at| {
            // SAFETY: an aligned word within a piece.
            unsafe { (at as *const u32).read() == POISON }
        });
        match fresh {
            None => Ok(()),
            Some(at) => Err(wrong(format!(
                "byte {} of {bytes} bytes at {pointer:#x} is read, and nothing wrote it",
                at - pointer
            ))),
        }
    }

    /// Checks that these bytes lie within one piece.
    pub(crate) fn inside(&self, pointer: Pointer, bytes: usize) -> Result<()> {
        match self.pieces.range(..=pointer).next_back() {
            Some((&start, &size)) if pointer - start + bytes as u64 <= size as u64 => Ok(()),
            _ => Err(wrong(format!(
                "{bytes} bytes at {pointer:#x} are not all within one piece of memory"
            ))),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        while let Some((&pointer, _)) = self.pieces.first_key_value() {
            let _ = self.free(pointer);
        }
    }
}

/// Returns an error about a mistake of the program under test.
pub(crate) fn wrong(what: String) -> Error {
    Error::Internal {
        what: format!("emulated GPU: {what}"),
    }
}
