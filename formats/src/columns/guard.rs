//! Panics of other people's decoders become errors.
//!
//! The parquet and arrow-ipc crates check most of what they read, but not all: some bad lengths end in a slice index
//! out of range. Bytes from outside must not end the process, so every call into these decoders goes through
//! [`guarded`].

use crate::error::{Error, Result};
use crate::panics::catch;

/// Calls a decoder of another crate. A decoder that panicked must not be used again.
pub fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch(decode).unwrap_or_else(|panic| {
        Err(Error::corrupt(format!("the file is damaged: its decoder gave up ({})", panic.text)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let error = guarded::<()>(|| panic!("index 7 out of range"));
        assert!(error.unwrap_err().to_string().contains("index 7 out of range"));
        assert_eq!(guarded(|| Ok(3)).unwrap(), 3);
    }
}
