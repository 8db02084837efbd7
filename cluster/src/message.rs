//! What the starter and a process tell each other.
//!
//! A message is a length (u32, little-endian) and so many bytes of bincode 1.3 with its default options. The first one of
//! each side holds its version; what follows is read only if the versions are the same, so that messages may change with
//! any version.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest message, in bytes: rows are sent a batch at a time.
const LONGEST: u32 = 1 << 30;

/// Of a message's length so many bytes are asked for at once, before they are there.
const STEP: u64 = 1 << 20;

/// What the starter tells a process.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub enum Order {
    /// What it is. The first one.
    Begin(Begin),
    /// Look at the tables of a query; [`Report::Opened`] answers. What the bytes are only the binary knows.
    Open(Vec<u8>),
    /// Plan a query; [`Report::Planned`] answers.
    Plan(Job),
    /// Run what was planned; rows, and [`Report::Done`] answer.
    Run,
    /// End what runs.
    Stop,
    /// The starter lives.
    Alive,
}

/// What a process is told of itself.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Begin {
    /// The starter's version.
    pub version: String,
    /// Tells this group of processes from others.
    pub incarnation: [u8; 16],
    /// What its processes show each other that they have.
    pub token: [u8; 32],
    /// Its number.
    pub process: usize,
    /// How many there are.
    pub processes: usize,
    /// The address at which others reach it.
    pub address: IpAddr,
    /// The port; any free one if it is 0.
    pub port: u16,
    /// Where relative paths begin, if not where it is started.
    pub directory: Option<PathBuf>,
    /// How many processes of the query are on its machine.
    pub sharing: usize,
    /// Whether the starter may be cut off without its input ending.
    pub far: bool,
    /// After how long without a word another process is lost.
    pub patience: Duration,
}

/// A query for all processes.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Job {
    /// Counts the queries of this group of processes.
    pub run: u32,
    /// The statement, the catalog, settings; only the binary knows what the bytes are.
    pub query: Vec<u8>,
    /// The fingerprint of the plan that the starter has made of them.
    pub fingerprint: u64,
    /// Where each process listens.
    pub addresses: Vec<SocketAddr>,
}

/// What a process tells the starter.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub enum Report {
    /// It listens. The first one.
    Listening {
        /// Its version.
        version: String,
        /// Where.
        address: SocketAddr,
        /// The workers that it has cores for.
        workers: usize,
    },
    /// The tables of a query.
    Opened(Vec<u8>),
    /// It has the plan that the starter has.
    Planned,
    /// A batch of the result, as [`engine::wire::encode`] gives it.
    Rows(Vec<u8>),
    /// It lives.
    Alive(Figures),
    /// It can't reach a process any more.
    Lost {
        /// Which.
        peer: usize,
        /// Why.
        reason: String,
    },
    /// It failed, and does nothing any more.
    Failed(Failure),
    /// It has done its part of the query.
    Done(Done),
}

/// Why a query failed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Failure {
    /// What went wrong, with what would help.
    pub message: String,
    /// The exit code of palais for it.
    pub code: u8,
}

/// How far a process is.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub struct Figures {
    /// Bytes of files read.
    pub bytes_read: u64,
    /// Rows that scans gave.
    pub rows_read: u64,
    /// Bytes sent to other processes.
    pub bytes_sent: u64,
}

/// What a process has done.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Done {
    /// At the end.
    pub figures: Figures,
    /// For each of its workers and each node: rows, batches, bytes, nanoseconds.
    pub nodes: Vec<Vec<[u64; 4]>>,
    /// Rows left out, values read as NULL, sequences replaced.
    pub skipped: [u64; 3],
}

/// Writes a message.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = bincode::serialize(message).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).ok().filter(|&length| length <= LONGEST);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    out.write_all(&[&length.to_le_bytes()[..], &bytes].concat())?;
    out.flush()
}

/// Reads a message; `None` where there are no more.
///
/// # Errors
/// Those of the reader, and bytes that are no message.
pub fn read<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    let mut had = 0;
    while had < length.len() {
        match from.read(&mut length[had..]) {
            Ok(0) if had == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => had += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let length = u32::from_le_bytes(length);
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no message"));
    }
    let (mut bytes, length) = (Vec::new(), u64::from(length));
    while (bytes.len() as u64) < length {
        let step = STEP.min(length - bytes.len() as u64);
        if from.by_ref().take(step).read_to_end(&mut bytes)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let message = bincode::deserialize(&bytes);
    message.map(Some).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_one_by_one() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Report::Rows(vec![7; 3 << 20])).unwrap();
        write(&mut bytes, &Report::Planned).unwrap();
        let mut rest = &bytes[..];
        assert!(matches!(read(&mut rest).unwrap(), Some(Report::Rows(rows)) if rows == vec![7; 3 << 20]));
        assert!(matches!(read(&mut rest).unwrap(), Some(Report::Planned)));
        assert!(read::<Report>(&mut rest).unwrap().is_none());
    }

    #[test]
    fn other_bytes_are_errors() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Order::Open(b"tables".to_vec())).unwrap();
        for length in 1..bytes.len() {
            assert!(read::<Order>(&mut &bytes[..length]).is_err(), "{length}");
        }
        assert!(read::<Order>(&mut &[0xff; 100][..]).is_err());
        // A length that is not there is not asked for at once.
        assert!(read::<Order>(&mut &[0, 0, 0, 0x3f, 1][..]).is_err());
        assert!(read::<Order>(&mut &[4, 0, 0, 0, 99, 0, 0, 0][..]).is_err());
    }
}
