//! Tables of a process in one piece of device memory.

use super::driver::{Buffer, Driver, Pointer, Stream};
use crate::error::Result;
use std::sync::Arc;

/// Where a table begins, relative to the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset(usize);

/// Tables on their way to a GPU.
#[derive(Default)]
pub struct Arena {
    bytes: Vec<u8>,
    /// Places that hold an offset and are to hold an address.
    pointers: Vec<usize>,
}

impl Arena {
    fn align(&mut self) -> Offset {
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
        Offset(self.bytes.len())
    }

    /// Whole numbers.
    pub fn numbers(&mut self, numbers: impl IntoIterator<Item = u32>) -> Offset {
        let offset = self.align();
        for x in numbers {
            self.bytes.extend(x.to_ne_bytes());
        }
        offset
    }

    /// Real numbers, as `double` or `float`.
    pub fn reals(&mut self, double: bool, reals: impl IntoIterator<Item = f64>) -> Offset {
        let offset = self.align();
        for x in reals {
            match double {
                true => self.bytes.extend(x.to_ne_bytes()),
                false => self.bytes.extend((x as f32).to_ne_bytes()),
            }
        }
        offset
    }

    /// A structure of pointers to tables (`None` for a null pointer), then whole numbers.
    pub fn structure(&mut self, pointers: &[Option<Offset>], numbers: &[u32]) -> Offset {
        let offset = self.align();
        for pointer in pointers {
            if pointer.is_some() {
                self.pointers.push(self.bytes.len());
            }
            let at = pointer.map_or(0, |p| p.0 as u64);
            self.bytes.extend(at.to_ne_bytes());
        }
        for x in numbers {
            self.bytes.extend(x.to_ne_bytes());
        }
        offset
    }

    /// Puts all tables into the memory of a GPU.
    pub fn upload(mut self, driver: &Arc<dyn Driver>, stream: Stream) -> Result<Uploaded> {
        self.align();
        let buffer = Buffer::new(driver, self.bytes.len())?;
        for at in self.pointers {
            let place = &mut self.bytes[at..at + 8];
            let mut offset = [0; 8];
            offset.copy_from_slice(place);
            let address = buffer.pointer() + u64::from_ne_bytes(offset);
            place.copy_from_slice(&address.to_ne_bytes());
        }
        // SAFETY: the buffer has the size of the bytes, which stay until the stream has been waited for.
        unsafe { driver.upload(stream, buffer.pointer(), &self.bytes)? };
        driver.synchronize(stream)?;
        Ok(Uploaded { buffer })
    }
}

/// Tables in the memory of a GPU.
pub struct Uploaded {
    buffer: Buffer,
}

impl Uploaded {
    /// Where a table begins.
    pub fn at(&self, offset: Offset) -> Pointer {
        self.buffer.pointer() + offset.0 as u64
    }
}
