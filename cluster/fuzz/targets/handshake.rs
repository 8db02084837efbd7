//! Those who do not have the token: whatever they say, they are refused, and told no more than anybody is.

use std::io::{self, Read, Write};

use cluster::handshake::{self, Channel};
use cluster::node::HELLO;

/// What the connection is known by.
const CHANNEL: Channel = Channel::Tls([3; 32]);

/// The token, of which no input knows.
const TOKEN: [u8; 32] = [7; 32];

/// Lets the bytes be said by the one who connects, and by the one who is connected to.
pub fn check(bytes: &[u8]) {
    let mut told = Stranger { says: bytes, heard: Vec::new() };
    assert!(handshake::accept(&mut told, CHANNEL, |_| true, &TOKEN).is_err(), "a stranger was let in");
    // 32 random bytes, and zeros.
    assert!([0, 32, 64].contains(&told.heard.len()), "{} bytes were told", told.heard.len());
    assert!(told.heard[told.heard.len().min(32)..].iter().all(|&byte| byte == 0), "a stranger got a proof");
    let mut told = Stranger { says: bytes, heard: Vec::new() };
    let connected = handshake::connect(&mut told, CHANNEL, &HELLO, &TOKEN);
    assert!(connected.is_err(), "a stranger was taken for one of the query");
    // The hello, and the proof of who connects to one who has answered.
    assert!([88, 120].contains(&told.heard.len()), "{} bytes were told", told.heard.len());
}

/// The other end of a socket.
struct Stranger<'a> {
    says: &'a [u8],
    heard: Vec<u8>,
}

impl Read for Stranger<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.says.read(into)
    }
}

impl Write for Stranger<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.heard.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
