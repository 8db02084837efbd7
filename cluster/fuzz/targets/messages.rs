//! Messages: the same ones, or the same error, whether their bytes come at once or one by one; and the same ones again when
//! they are written and read once more.

use std::io::{ErrorKind, Read};

use cluster::message::{self, Frame};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads messages until there are no more.
pub fn check<M: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let whole = read::<M>(bytes);
    let slow = read::<M>(Slow(bytes));
    assert!(whole == slow, "{whole:?}, but {slow:?} of single bytes");
}

/// The messages, written again, or rows as they are; and how it ended.
fn read<M: Serialize + DeserializeOwned>(mut from: impl Read) -> (Vec<Vec<u8>>, Result<(), ErrorKind>) {
    let mut told = Vec::new();
    loop {
        match message::read_frame::<M>(&mut from) {
            Ok(Some(Frame::Rows(rows))) => told.push(rows),
            Ok(Some(Frame::Message(message))) => {
                let bytes = written(&message);
                let again = message::read::<M>(&mut &bytes[..]).expect("what was written can be read");
                assert!(bytes == written(&again.expect("it is there")), "it is another one when read again");
                told.push(bytes);
            }
            Ok(None) => return (told, Ok(())),
            Err(e) => return (told, Err(e.kind())),
        }
    }
}

fn written(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    message::write(&mut bytes, message).expect("memory can be written");
    bytes
}

/// Gives one byte at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = into.len().min(1);
        self.0.read(&mut into[..length])
    }
}
