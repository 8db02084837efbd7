//! Those who do not have the token: whatever they say, they are refused, and told no more than anybody is.

use std::io::{self, Read, Write};

use cluster::node::HELLO;
use cluster::proof;

/// The token, of which no input knows.
const TOKEN: [u8; 32] = [7; 32];

/// Lets the bytes be said by the one who connects, and by the one who is connected to.
pub fn check(bytes: &[u8]) {
    let mut told = Stranger { says: bytes, heard: 0 };
    assert!(proof::accept(&mut told, |_| true, &TOKEN).is_err(), "a stranger was let in");
    // 32 random bytes, and the proof of who is connected to.
    assert!(told.heard == 0 || told.heard == 64, "{} bytes were told", told.heard);
    let mut told = Stranger { says: bytes, heard: 0 };
    assert!(proof::connect(&mut told, &HELLO, &TOKEN).is_err(), "a stranger was taken for one of the query");
    assert!(told.heard == 88, "{} bytes were told", told.heard);
}

/// The other end of a socket.
struct Stranger<'a> {
    says: &'a [u8],
    heard: usize,
}

impl Read for Stranger<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.says.read(into)
    }
}

impl Write for Stranger<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.heard += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
