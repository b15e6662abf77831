//! Tables of a process in one piece of device memory.

use super::driver::{Buffer, Pointer, Stream};
use super::structures::DeviceStructure;
use mebridge_support::error::Result;

/// Where a table begins, relative to the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset(usize);

impl Offset {
    /// A pointer to the table before the address of the whole is known.
    pub fn pointer(self) -> Pointer {
        self.0 as Pointer
    }
}

/// Tables on their way to a GPU.
#[derive(Default)]
pub struct DeviceArena {
    bytes: Vec<u8>,
    /// Places that hold an offset and are to hold an address.
    pointers: Vec<usize>,
}

impl DeviceArena {
    fn align(&mut self) -> Offset {
        // No table begins at 0, which stands for none.
        self.bytes
            .resize(self.bytes.len().next_multiple_of(16).max(16), 0);
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

    /// A structure whose pointers are to tables, as [`Offset::pointer`] gives them.
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

    /// Structures without pointers, one behind the other.
    pub fn structures<T: DeviceStructure>(&mut self, all: impl IntoIterator<Item = T>) -> Offset {
        let offset = self.align();
        for structure in all {
            self.bytes.extend(structure.bytes());
        }
        offset
    }

    /// Puts all tables into the memory of a GPU.
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
