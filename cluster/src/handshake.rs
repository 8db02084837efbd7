//! How the two ends of a socket prove to each other that they belong to the same run of the same query.
//!
//! ```text
//! connects                                      is connected to
//!    hello: what it is, 32 random bytes  ─────▶
//!                                        ◀─────  32 random bytes
//!    HMAC over "connect"                 ─────▶
//!                                        ◀─────  HMAC over "accept", or 32 zeros: it is another token
//! ```
//!
//! The end that connects sends a [`Hello`] of fixed length, and the other end compares it with what it expects. Each
//! code is an HMAC-SHA-256 (RFC 2104) under the token, over the word, the [`Channel`], the hello and the random bytes.
//! The end that connects proves itself first, so that a stranger gets nothing to try tokens with. The token itself is
//! never sent. Neither end reads a byte behind the handshake before both have shown that they have the token.
//!
//! The channel holds bytes that TLS exports for this connection alone (RFC 9266). So codes of one connection are of no
//! use on another one. If an attacker ends TLS between the two ends, they refuse each other.

use std::io::{self, Read, Write};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The first bytes of a connection. The last of them is the version of the handshake.
const MAGIC: [u8; 8] = *b"palais\0\x02";

/// The length of a hello, in bytes.
const HELLO: usize = 88;

/// The length of a nonce and of a code, in bytes.
const WIDTH: usize = 32;

/// What both ends know of the connection below the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// There is no TLS: bytes may come from anybody on the way.
    Plain,
    /// The bytes that TLS exports for this connection: `tls-exporter` of RFC 9266.
    Tls([u8; WIDTH]),
}

impl Channel {
    /// The channel as codes cover it: 0 or 1 for the kind, and 32 bytes.
    fn bytes(&self) -> [u8; 1 + WIDTH] {
        let mut bytes = [0; 1 + WIDTH];
        if let Channel::Tls(exported) = self {
            bytes[0] = 1;
            bytes[1..].copy_from_slice(exported);
        }
        bytes
    }
}

/// What a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The channels of timely of one stage.
    Data(u32),
    /// Notes.
    Notes,
    /// A question to a node.
    Node,
}

/// What a connection says of itself: its query, its two ends and what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Distinguishes a group of processes from others.
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

/// All that the codes of both ends cover.
struct Said<'a> {
    token: &'a [u8; WIDTH],
    channel: Channel,
    hello: [u8; HELLO],
    nonce: [u8; WIDTH],
}

impl Said<'_> {
    /// The code of one end over all of it. All parts have a fixed length, the words of both ends too.
    fn code(&self, word: &[u8; 7]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.token).expect("any key will do");
        [word.as_slice(), &self.channel.bytes(), &self.hello, &self.nonce]
            .iter()
            .for_each(|part| mac.update(part));
        mac
    }
}

/// The word in the code of the end that connects.
const CONNECT: &[u8; 7] = b"connect";
/// The word in the code of the end that accepts.
const ACCEPT: &[u8; 7] = b"accept\0";
/// Sent in place of the code of the end that accepts, when the other end has another token.
const REFUSED: [u8; WIDTH] = [0; WIDTH];
/// The error of the end that connects then.
const ANOTHER: &str = "it has another token, or something between ends TLS";

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Proves this end, which has connected, and checks the other one.
///
/// # Errors
/// Errors of the socket, and another end that does not show that it has the token.
pub fn connect(
    socket: &mut (impl Read + Write),
    channel: Channel,
    hello: &Hello,
    token: &[u8; WIDTH],
) -> io::Result<()> {
    let mut said = Said { token, channel, hello: hello.bytes(random()?), nonce: [0; WIDTH] };
    socket.write_all(&said.hello)?;
    socket.read_exact(&mut said.nonce)?;
    socket.write_all(&said.code(CONNECT).finalize().into_bytes())?;
    let mut theirs = [0; WIDTH];
    socket.read_exact(&mut theirs)?;
    said.code(ACCEPT).verify_slice(&theirs).map_err(|_| refused(ANOTHER))
}

/// Checks the end that has connected, and proves this one. Gives the hello of the other end once both have shown that
/// they have the token.
///
/// # Errors
/// Errors of the socket, a hello that `expects` refuses, and another end that does not show that it has the token.
pub fn accept(
    socket: &mut (impl Read + Write),
    channel: Channel,
    expects: impl Fn(&Hello) -> bool,
    token: &[u8; WIDTH],
) -> io::Result<Hello> {
    let mut bytes = [0; HELLO];
    socket.read_exact(&mut bytes)?;
    let hello = Hello::parse(&bytes).filter(expects).ok_or_else(|| refused("it is not of this query"))?;
    let said = Said { token, channel, hello: bytes, nonce: random()? };
    socket.write_all(&said.nonce)?;
    let mut theirs = [0; WIDTH];
    socket.read_exact(&mut theirs)?;
    if said.code(CONNECT).verify_slice(&theirs).is_err() {
        // Closing the connection would refuse it too. The zeros let the caller see that the token is the reason.
        socket.write_all(&REFUSED)?;
        return Err(refused(ANOTHER));
    }
    socket.write_all(&said.code(ACCEPT).finalize().into_bytes())?;
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
        meet_over([Channel::Plain; 2], connects, accepts, expected)
    }

    fn meet_over(
        [ours, theirs]: [Channel; 2],
        connects: [u8; 32],
        accepts: [u8; 32],
        expected: Hello,
    ) -> (io::Result<()>, io::Result<Hello>) {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            let accepting =
                scope.spawn(move || accept(&mut other, theirs, |hello| *hello == expected, &accepts));
            let connected = connect(&mut one, ours, &HELLO_1, &connects);
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
    fn who_ends_tls_between_two_ends_can_not_pass_codes_on() {
        let (one, other) = (Channel::Tls([1; 32]), Channel::Tls([2; 32]));
        let (connected, accepted) = meet_over([one; 2], [9; 32], [9; 32], HELLO_1);
        assert!(connected.is_ok() && accepted.is_ok());
        // Two connections with TLS, and one towards one end alone.
        for channels in [
            [one, other],
            [Channel::Plain, one],
            [one, Channel::Plain],
            [Channel::Tls([0; 32]), Channel::Plain],
        ] {
            let (connected, accepted) = meet_over(channels, [9; 32], [9; 32], HELLO_1);
            let told = connected.unwrap_err().to_string();
            assert!(told == ANOTHER && accepted.is_err(), "{told}");
        }
    }

    #[test]
    fn a_stranger_gets_nothing_that_depends_on_the_token() {
        // The end that connects may send anything, also a copy of what it was sent.
        for repeats in [true, false] {
            let (mut one, mut other) = UnixStream::pair().unwrap();
            let accepting =
                std::thread::spawn(move || accept(&mut other, Channel::Plain, |_| true, &[9; 32]));
            one.write_all(&HELLO_1.bytes([5; 32])).unwrap();
            let mut nonce = [0; 32];
            one.read_exact(&mut nonce).unwrap();
            one.write_all(&if repeats { nonce } else { [0; 32] }).unwrap();
            let mut told = Vec::new();
            one.read_to_end(&mut told).unwrap();
            assert_eq!(told, REFUSED);
            assert!(accepting.join().unwrap().is_err());
        }
    }

    #[test]
    fn what_is_said_once_can_not_be_said_again() {
        // An attacker who has listened repeats what the connecting end said.
        let (mut one, mut listened) = UnixStream::pair().unwrap();
        let accepting = std::thread::spawn(move || accept(&mut listened, Channel::Plain, |_| true, &[9; 32]));
        let said =
            Said { token: &[9; 32], channel: Channel::Plain, hello: HELLO_1.bytes([5; 32]), nonce: [0; 32] };
        one.write_all(&said.hello).unwrap();
        let mut nonce = [0; 32];
        one.read_exact(&mut nonce).unwrap();
        let code = Said { nonce, ..said }.code(CONNECT).finalize().into_bytes();
        one.write_all(&code).unwrap();
        accepting.join().unwrap().unwrap();
        let (mut one, mut other) = UnixStream::pair().unwrap();
        one.write_all(&[&HELLO_1.bytes([5; 32])[..], &code].concat()).unwrap();
        assert!(accept(&mut other, Channel::Plain, |_| true, &[9; 32]).is_err());
    }

    #[test]
    fn bytes_of_strangers_are_refused() {
        for bytes in [&b"GET / HTTP/1.1\r\n"[..], &[0; 200], &[0xff; 200], b""] {
            let (mut one, mut other) = UnixStream::pair().unwrap();
            one.write_all(bytes).unwrap();
            drop(one);
            assert!(accept(&mut other, Channel::Plain, |_| true, &[9; 32]).is_err());
        }
    }
}
