//! What a thing was made from, as a hash.

use super::BUILD;
use serde::Serialize;

/// The hash of all that a stored thing follows from, this build of mebridge included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// A key for a purpose, to which [`KeyBuilder::bytes`] and [`KeyBuilder::value`] add.
    pub fn of(purpose: &str) -> KeyBuilder {
        let mut builder = KeyBuilder(blake3::Hasher::new_derive_key("mebridge cache key"));
        builder.bytes(BUILD.as_bytes());
        builder.bytes(purpose.as_bytes());
        builder
    }

    /// Half of it, as the letters of a file name.
    pub fn name(&self) -> String {
        self.0[..16].iter().map(|b| format!("{b:02x}")).collect()
    }
}

/// A [`Key`] in the making.
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// Adds bytes, with their number, so that no two lists give the same key.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a value in postcard's encoding, which says where it ends. `None` if it has none.
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Option<()> {
        postcard::to_io(value, &mut self.0).ok().map(|_| ())
    }

    /// The key.
    pub fn finish(&self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}
