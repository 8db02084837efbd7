//! Whoever asks for the metrics of a node: a whole answer or none, and the same one however the bytes come.

use std::cell::Cell;
use std::io::{self, Read, Write};

use cluster::node::metrics;

/// The metrics.
const TEXT: &str = "palais_queries_running 0\n";

/// Lets the bytes be said by one who connects.
pub fn check(bytes: &[u8]) {
    let (whole, slow) = (answered(bytes, usize::MAX), answered(bytes, 1));
    assert!(whole == slow, "{whole:?}, but {slow:?} to single bytes");
}

/// What one is told who says so many bytes at once.
fn answered(says: &[u8], at_once: usize) -> String {
    let (mut asks, had) = (Asks { says, at_once, told: Vec::new() }, Cell::new(false));
    let text = || {
        had.set(true);
        TEXT.to_string()
    };
    let answered = metrics::answer(&mut asks, &text);
    assert!(says.len() - asks.says.len() <= 16 << 10, "it reads on and on");
    let told = String::from_utf8(asks.told).expect("it is a text");
    if answered.is_err() {
        assert!(told.is_empty() && !had.get(), "half an answer: {told}");
        return told;
    }
    let (head, body) = told.split_once("\r\n\r\n").expect("the head has an end");
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
    let is_found = says.starts_with(b"GET /metrics ");
    assert!(head.starts_with(if is_found { "HTTP/1.1 200 " } else { "HTTP/1.1 404 " }), "{head}");
    assert!(is_found == had.get() && is_found == (body == TEXT), "{body}");
    told
}

/// The other end of a connection.
struct Asks<'a> {
    says: &'a [u8],
    at_once: usize,
    told: Vec<u8>,
}

impl Read for Asks<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = into.len().min(self.at_once);
        self.says.read(&mut into[..length])
    }
}

impl Write for Asks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.told.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
