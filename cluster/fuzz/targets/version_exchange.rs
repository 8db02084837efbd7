//! The first that a process tells: a version, which is a short line that is told again with the same bytes, or something that
//! can be shown.

use cluster::version_exchange::{FirstLine, read, write};

/// Reads it.
pub fn check(bytes: &[u8]) {
    let mut rest = bytes;
    match read(&mut rest) {
        FirstLine::Version(version) => {
            let mut told = Vec::new();
            write(&mut told, &version).expect("what was read can be written");
            assert!(told == bytes[..bytes.len() - rest.len()], "it was told with other bytes");
        }
        FirstLine::Other(text) => assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text:?}"),
        FirstLine::Over => assert!(bytes.is_empty(), "something was told"),
    }
}
