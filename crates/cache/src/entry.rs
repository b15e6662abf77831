//! The format of a cache file.
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 7 | the magic `mebcache` |
//! | 8 to 11 | [`FORMAT_VERSION`] |
//! | 12 to 19 | length of the body in bytes |
//! | 20 to 51 | BLAKE3 of the body, keyed with the entry's key |
//! | 52 to the end | the body: the value in postcard's encoding |
//!
//! Numbers are little-endian. The hash verifies both the body and the key: a file with the name of another entry is
//! rejected.

use super::key::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of this format. Changes of the body are covered by the key.
pub const FORMAT_VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"mebcache";
const HEADER: usize = 52;

/// Encodes a value as the bytes of a file. `None` if it cannot be encoded.
pub fn encode<T: Serialize>(value: &T, key: &Key) -> Option<Vec<u8>> {
    let mut bytes = postcard::to_extend(value, vec![0; HEADER]).ok()?;
    let length = (bytes.len() - HEADER) as u64;
    let hash = blake3::keyed_hash(&key.0, &bytes[HEADER..]);
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[12..20].copy_from_slice(&length.to_le_bytes());
    bytes[20..52].copy_from_slice(hash.as_bytes());
    Some(bytes)
}

/// Decodes the value in a file. `None` if the file is not exactly what [`encode`] makes for the key.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], key: &Key) -> Option<T> {
    let (header, body) = bytes.split_at_checked(HEADER)?;
    let sound = &header[..8] == MAGIC
        && header[8..12] == FORMAT_VERSION.to_le_bytes()
        && header[12..20] == (body.len() as u64).to_le_bytes()
        && header[20..52] == *blake3::keyed_hash(&key.0, body).as_bytes();
    if !sound {
        return None;
    }
    match postcard::take_from_bytes(body) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        Key::builder("test").finish()
    }

    #[test]
    fn what_is_encoded_is_decoded_under_its_key_alone() {
        let value = (vec![1u32, 1 << 30], -0.0f64, String::from("x"));
        let bytes = encode(&value, &key()).unwrap();
        let back: (Vec<u32>, f64, String) = decode(&bytes, &key()).unwrap();
        assert_eq!(
            (back.0, back.1.to_bits(), back.2),
            (value.0, value.1.to_bits(), value.2)
        );
        let other = Key::builder("another").finish();
        assert!(decode::<(Vec<u32>, f64, String)>(&bytes, &other).is_none());
        // The bytes of one type with the key of another.
        assert!(decode::<u8>(&bytes, &key()).is_none());
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_seen(at in any::<prop::sample::Index>(), bits in 1u8..) {
            let mut bytes = encode(&vec![7u32; 40], &key()).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
            prop_assert!(decode::<Vec<u32>>(&bytes, &key()).is_none());
        }

        #[test]
        fn a_length_is_seen(length in 0usize..200) {
            let mut bytes = encode(&vec![7u32; 40], &key()).unwrap();
            let whole = bytes.len();
            bytes.resize(length, 0);
            prop_assert_eq!(decode::<Vec<u32>>(&bytes, &key()).is_some(), length == whole);
        }

        #[test]
        fn any_bytes_are_nothing(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(decode::<Vec<u32>>(&bytes, &key()).is_none());
        }
    }
}
