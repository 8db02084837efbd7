//! How the two ends of a socket show each other that they belong to the same run of the same query.
//!
//! The end that connects sends a [`Hello`] of fixed length, which says what it is and holds 32 random bytes. The other
//! end compares it with what it expects, sends 32 random bytes of its own and an HMAC-SHA-256 (RFC 2104) over "accept",
//! the hello and those bytes, under the token; the first one checks that and answers with one over "connect". The token
//! itself is never sent, and no byte behind is read before both have shown that they have it.

use std::io::{self, Read, Write};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The first bytes of a connection; the last of them is the version of what follows.
const MAGIC: [u8; 8] = *b"palais\0\x01";

/// The length of a hello, in bytes.
const HELLO: usize = 88;

/// The length of a nonce and of a code, in bytes.
const WIDTH: usize = 32;

/// What a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The channels of timely of one stage.
    Data(u32),
    /// Notes.
    Notes,
    /// What is asked of a node.
    Node,
}

/// What a connection is: of which query, from where and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Tells a group of processes from others.
    pub incarnation: [u8; 16],
    /// The fingerprint of the plan.
    pub fingerprint: u64,
    /// Counts the queries of the group.
    pub run: u32,
    /// What it carries.
    pub kind: Kind,
    /// The process that connects.
    pub from: u32,
    /// The process that is connected to.
    pub to: u32,
}

impl Hello {
    fn bytes(&self, nonce: [u8; WIDTH]) -> [u8; HELLO] {
        let (kind, stage) = match self.kind {
            Kind::Data(stage) => (0_u32, stage),
            Kind::Notes => (1, 0),
            Kind::Node => (2, 0),
        };
        let mut bytes = [0; HELLO];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&MAGIC);
        put(&self.incarnation);
        put(&self.fingerprint.to_le_bytes());
        [self.run, kind, stage, self.from, self.to].iter().for_each(|number| put(&number.to_le_bytes()));
        // Four bytes stay 0.
        put(&[0; 4]);
        put(&nonce);
        bytes
    }

    fn parse(bytes: &[u8; HELLO]) -> Option<Hello> {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if bytes[..8] != MAGIC {
            return None;
        }
        let kind = match (number(36), number(40)) {
            (0, stage) => Kind::Data(stage),
            (1, 0) => Kind::Notes,
            (2, 0) => Kind::Node,
            _ => return None,
        };
        Some(Hello {
            incarnation: bytes[8..24].try_into().ok()?,
            fingerprint: u64::from(number(24)) | u64::from(number(28)) << 32,
            run: number(32),
            kind,
            from: number(44),
            to: number(48),
        })
    }
}

fn random() -> io::Result<[u8; WIDTH]> {
    let mut bytes = [0; WIDTH];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

fn code(token: &[u8; WIDTH], role: &[u8], hello: &[u8; HELLO], nonce: &[u8; WIDTH]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(token).expect("any key will do");
    [role, hello, nonce].iter().for_each(|part| mac.update(part));
    mac
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// The end that connects.
///
/// # Errors
/// Those of the socket, and another end that does not show that it has the token.
pub fn connect(socket: &mut (impl Read + Write), hello: &Hello, token: &[u8; WIDTH]) -> io::Result<()> {
    let hello = hello.bytes(random()?);
    socket.write_all(&hello)?;
    let (mut nonce, mut theirs) = ([0; WIDTH], [0; WIDTH]);
    socket.read_exact(&mut nonce)?;
    socket.read_exact(&mut theirs)?;
    let shown = code(token, b"accept", &hello, &nonce).verify_slice(&theirs);
    shown.map_err(|_| refused("it has another token"))?;
    socket.write_all(&code(token, b"connect", &hello, &nonce).finalize().into_bytes())
}

/// The end that is connected to; gives the hello of the other end once that has shown that it has the token.
///
/// # Errors
/// Those of the socket, a hello that `expects` doesn't, and another end that does not show that it has the token.
pub fn accept(
    socket: &mut (impl Read + Write),
    expects: impl Fn(&Hello) -> bool,
    token: &[u8; WIDTH],
) -> io::Result<Hello> {
    let mut bytes = [0; HELLO];
    socket.read_exact(&mut bytes)?;
    let hello = Hello::parse(&bytes).filter(expects).ok_or_else(|| refused("it is not of this query"))?;
    let nonce = random()?;
    let ours = code(token, b"accept", &bytes, &nonce).finalize().into_bytes();
    socket.write_all(&[&nonce[..], &ours].concat())?;
    let mut theirs = [0; WIDTH];
    socket.read_exact(&mut theirs)?;
    let shown = code(token, b"connect", &bytes, &nonce).verify_slice(&theirs);
    shown.map_err(|_| refused("it has another token"))?;
    Ok(hello)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    const HELLO_1: Hello = Hello {
        incarnation: [3; 16],
        fingerprint: u64::MAX - 5,
        run: 7,
        kind: Kind::Data(2),
        from: 1,
        to: 0,
    };

    fn meet(connects: [u8; 32], accepts: [u8; 32], expected: Hello) -> (io::Result<()>, io::Result<Hello>) {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            let accepting = scope.spawn(move || accept(&mut other, |hello| *hello == expected, &accepts));
            let connected = connect(&mut one, &HELLO_1, &connects);
            drop(one);
            (connected, accepting.join().unwrap())
        })
    }

    #[test]
    fn ends_that_have_the_token_meet() {
        let (connected, accepted) = meet([9; 32], [9; 32], HELLO_1);
        connected.unwrap();
        assert_eq!(accepted.unwrap(), HELLO_1);
    }

    #[test]
    fn other_tokens_and_other_queries_are_refused() {
        let (connected, accepted) = meet([9; 32], [8; 32], HELLO_1);
        assert!(connected.is_err() && accepted.is_err());
        for other in [
            Hello { incarnation: [4; 16], ..HELLO_1 },
            Hello { fingerprint: 1, ..HELLO_1 },
            Hello { run: 8, ..HELLO_1 },
            Hello { kind: Kind::Notes, ..HELLO_1 },
            Hello { from: 2, ..HELLO_1 },
        ] {
            let (connected, accepted) = meet([9; 32], [9; 32], other);
            assert!(connected.is_err() && accepted.is_err(), "{other:?}");
        }
    }

    #[test]
    fn what_is_said_once_can_not_be_said_again() {
        // Whoever has listened repeats what the connecting end said.
        let (mut one, mut other) = UnixStream::pair().unwrap();
        let accepting = std::thread::spawn(move || accept(&mut other, |_| true, &[9; 32]));
        let hello = HELLO_1.bytes([5; 32]);
        one.write_all(&hello).unwrap();
        let (mut nonce, mut theirs) = ([0; 32], [0; 32]);
        one.read_exact(&mut nonce).unwrap();
        one.read_exact(&mut theirs).unwrap();
        one.write_all(&theirs).unwrap();
        assert!(accepting.join().unwrap().is_err());
    }

    #[test]
    fn bytes_of_strangers_are_refused() {
        for bytes in [&b"GET / HTTP/1.1\r\n"[..], &[0; 200], &[0xff; 200], b""] {
            let (mut one, mut other) = UnixStream::pair().unwrap();
            one.write_all(bytes).unwrap();
            drop(one);
            assert!(accept(&mut other, |_| true, &[9; 32]).is_err());
        }
    }
}
