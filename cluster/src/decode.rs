//! Values within messages as bytes, and back.
//!
//! Types of columns may be nested, and each level is decoded in a call of its own. The reader of the bytes looks how
//! much of the stack is taken, so that no bytes make it overflow.

use std::io::{self, Read};

use bincode::{ErrorKind, Options};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// The bytes of the stack that decoding may take.
const MOST_STACK: usize = 256 << 10;

/// Reads a value from bytes that [`bincode::serialize`] gave.
///
/// # Errors
/// The bytes are no such value, or types are nested too deep.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let begin = 0_u8;
    let from = Shallow { rest: bytes, begin: (&raw const begin).addr() };
    // Without a limit bincode would make room for any length that a text claims.
    let options = bincode::DefaultOptions::new().with_fixint_encoding().with_limit(bytes.len() as u64);
    options.deserialize_from(from).map_err(|e| match *e {
        ErrorKind::Io(e) => Error::Received(e.to_string()),
        e => Error::Received(e.to_string()),
    })
}

/// The bytes that [`decode`] reads.
///
/// # Errors
/// A path in the value is not UTF-8.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    bincode::serialize(value).map_err(|e| Error::Sent(e.to_string()))
}

/// A reader of bytes that refuses to read once the stack is deep.
struct Shallow<'a> {
    rest: &'a [u8],
    /// The address of the stack when decoding began.
    begin: usize,
}

impl Read for Shallow<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let here = 0_u8;
        if (&raw const here).addr().abs_diff(self.begin) > MOST_STACK {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "types are nested too deep"));
        }
        self.rest.read(into)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field};

    use super::*;

    /// The bytes of a type that is nested so deep.
    fn nested(levels: usize) -> Vec<u8> {
        let make = move || {
            let wrap = |t, _| DataType::List(Arc::new(Field::new("item", t, true)));
            let t = (0..levels).fold(DataType::Int64, wrap);
            let bytes = bincode::serialize(&t).unwrap();
            // To drop it takes a call for each level too.
            std::mem::forget(t);
            bytes
        };
        std::thread::Builder::new().stack_size(1 << 30).spawn(make).unwrap().join().unwrap()
    }

    #[test]
    fn what_is_nested_is_read_unless_it_is_too_deep() {
        // Without optimisation, as here, a level takes more of the stack. `tests/cluster_hostile.rs` wants 80 of the binary.
        for levels in [0, 1, 20] {
            let bytes = nested(levels);
            let t: DataType = decode(&bytes).unwrap();
            assert_eq!(bincode::serialize(&t).unwrap(), bytes);
        }
        for levels in [10_000, 200_000] {
            let error = decode::<DataType>(&nested(levels)).unwrap_err().to_string();
            assert!(error.contains("nested too deep"), "{error}");
        }
    }

    #[test]
    fn other_bytes_are_errors() {
        let bytes = bincode::serialize(&vec!["a text", "another one"]).unwrap();
        assert_eq!(decode::<Vec<String>>(&bytes).unwrap(), ["a text", "another one"]);
        for length in 0..bytes.len() {
            assert!(decode::<Vec<String>>(&bytes[..length]).is_err(), "{length}");
        }
        assert!(decode::<String>(&u64::MAX.to_le_bytes()).is_err());
    }
}
