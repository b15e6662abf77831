//! Keys: hashes of everything from which a stored value is made.

use serde::Serialize;

/// Identifies this build in keys: version, machine, and a hash of all sources that make or describe stored values (see
/// `build.rs`).
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("MEBRIDGE_BUILD"));

/// The hash of everything from which a stored value is made, including the build of mebridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// Starts a key for a purpose; [`KeyBuilder::bytes`] and [`KeyBuilder::value`] add to it.
    pub fn builder(purpose: &str) -> KeyBuilder {
        let mut builder = KeyBuilder(blake3::Hasher::new_derive_key("mebridge cache key"));
        builder.bytes(BUILD.as_bytes());
        builder.bytes(purpose.as_bytes());
        builder
    }

    /// Half of the key, as part of a file name.
    pub fn name(&self) -> String {
        self.0[..16].iter().map(|b| format!("{b:02x}")).collect()
    }
}

/// A [`Key`] under construction.
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// Adds bytes and their number, so that different lists give different keys.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a value in postcard's self-delimiting encoding. `None` if it cannot be encoded.
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Option<()> {
        // As entries are encoded (`entry::encode`): another way would be compiled for each type once more.
        let bytes = postcard::to_extend(value, Vec::new()).ok()?;
        self.0.update(&bytes);
        Some(())
    }

    /// The key.
    pub fn finish(&self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}
