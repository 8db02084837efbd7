//! What processes tell each other within messages: values as bytes, and back.
//!
//! The types of columns may be nested in each other, and each level of them is decoded in a call of its own. Whoever reads
//! a level looks how much of the stack is taken, so that bytes can't make it overflow.

use std::io::{self, Read};

use bincode::{ErrorKind, Options};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// So much of the stack may be taken.
const MOST_STACK: usize = 256 << 10;

/// Reads what [`bincode::serialize`] gave.
///
/// # Errors
/// Other bytes, and types that are nested too deep.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let begin = 0_u8;
    let from = Shallow { rest: bytes, begin: (&raw const begin).addr() };
    // Without a limit room is made for whatever length a text claims.
    let options = bincode::DefaultOptions::new().with_fixint_encoding().with_limit(bytes.len() as u64);
    options.deserialize_from(from).map_err(|e| match *e {
        ErrorKind::Io(e) => Error::Received(e.to_string()),
        e => Error::Received(e.to_string()),
    })
}

/// The bytes that [`decode`] reads.
///
/// # Errors
/// The name of a file that is not UTF-8.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    bincode::serialize(value).map_err(|e| Error::Sent(e.to_string()))
}

/// Bytes that are read while the stack is not deep.
struct Shallow<'a> {
    rest: &'a [u8],
    /// Where the stack was when this began.
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
        for levels in [0, 1, 100] {
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
