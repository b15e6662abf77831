//! Tables of a process in a single device allocation.

use super::driver::{Buffer, Pointer, Stream};
use super::structures::DeviceStructure;
use mebridge_support::error::Result;

/// Offset of a table in the arena, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset(usize);

impl Offset {
    /// Returns a provisional pointer to the table, which is relocated on upload.
    pub fn pointer(self) -> Pointer {
        self.0 as Pointer
    }
}

/// Tables collected on the host for upload to a GPU.
#[derive(Default)]
pub struct DeviceArena {
    bytes: Vec<u8>,
    /// Positions of offsets that must be replaced by addresses.
    pointers: Vec<usize>,
}

impl DeviceArena {
    fn align(&mut self) -> Offset {
        // No table begins at 0, which stands for a null pointer.
        self.bytes
            .resize(self.bytes.len().next_multiple_of(16).max(16), 0);
        Offset(self.bytes.len())
    }

    /// Appends integers.
    pub fn numbers(&mut self, numbers: impl IntoIterator<Item = u32>) -> Offset {
        let offset = self.align();
        for x in numbers {
            self.bytes.extend(x.to_ne_bytes());
        }
        offset
    }

    /// Appends real numbers, as `double` or `float`.
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

    /// Appends a structure whose pointers come from [`Offset::pointer`].
    pub fn structure<T: DeviceStructure>(&mut self, structure: &T) -> Offset {
        let offset = self.align();
        let bytes = structure.bytes();
        for at in T::pointers() {
            if bytes[at..at + size_of::<Pointer>()]
                .iter()
                .any(|&byte| byte != 0)
            {
                self.pointers.push(offset.0 + at);
            }
        }
        self.bytes.extend(bytes);
        offset
    }

    /// Appends an array of structures without pointers.
    pub fn structures<T: DeviceStructure>(&mut self, all: impl IntoIterator<Item = T>) -> Offset {
        let offset = self.align();
        for structure in all {
            self.bytes.extend(structure.bytes());
        }
        offset
    }

    /// Uploads all tables to a GPU.
    pub fn upload(mut self, stream: &Stream) -> Result<Uploaded> {
        self.align();
        let buffer = Buffer::new(stream.driver(), self.bytes.len())?;
        for at in self.pointers {
            let place = &mut self.bytes[at..at + 8];
            let mut offset = [0; 8];
            offset.copy_from_slice(place);
            let address = buffer.pointer() + u64::from_ne_bytes(offset);
            place.copy_from_slice(&address.to_ne_bytes());
        }
        stream.write(&buffer, &self.bytes)?;
        Ok(Uploaded { buffer })
    }
}

/// Tables in device memory.
pub struct Uploaded {
    buffer: Buffer,
}

impl Uploaded {
    /// Returns the address of a table.
    pub fn at(&self, offset: Offset) -> Pointer {
        self.buffer.pointer() + offset.0 as u64
    }
}
