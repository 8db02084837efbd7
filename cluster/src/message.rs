//! Messages between the coordinator and a process.
//!
//! A message is a length (u32, little-endian) and so many bytes of bincode 1.3 with its default options. Rows have the
//! highest bit of the length set, and are bytes of [`engine::distributed::wire`], which are copied no more than needed.
//! The coordinator reads messages of a process only if both have the same version, see [`crate::version_exchange`]. So
//! messages may change with any version.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_array::RecordBatch;
use engine::QueryState;
use engine::context::memory;
use engine::context::query::Skipped;
pub use engine::distributed::raw::Raw;
use engine::writing::dataset::Written;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::compression::Compression;
use crate::locality::MarkAddress;
use crate::ports::Ports;
use crate::tls::Files;

/// The longest message, in bytes. Rows are sent a batch at a time.
const LONGEST: u32 = 1 << 30;

/// The bit of a length that says that rows follow.
const ROWS: u32 = 1 << 31;

/// The bytes of rows that a process lends the coordinator at most, besides one batch.
pub const LENT_BYTES: usize = 16 << 20;

/// The bytes of a message for which room is made at once, before they have come.
const STEP: u64 = 1 << 20;

/// A message from the coordinator to a process.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub enum Order {
    /// What the process is. This is the first order.
    Begin(Begin),
    /// Look at the tables of a query; [`Report::Opened`] answers. The bytes are a [`crate::query::Look`].
    Open(Raw),
    /// Plan a query; [`Report::Planned`] answers.
    Plan(Job),
    /// Run the planned query. Rows and [`Report::Done`] answer.
    Run {
        /// What process 0 has answered with [`Report::Planned`].
        begun: Option<Raw>,
        /// For each process, whether it can read the memory of this one.
        lends: Vec<bool>,
    },
    /// The coordinator has read these cross-memory transfers; see [`engine::distributed::wire::transfer`].
    Returned(Vec<u64>),
    /// Make files without a query; [`Report::Planned`] answers. The bytes are a [`crate::making::files::Job`].
    Make(Raw),
    /// Join what process 0 has begun, as its [`Report::Planned`] tells, and look at what the others need to know;
    /// [`Report::Joined`] answers.
    Join(Raw),
    /// Make this process's share of the files. The bytes are those of [`Report::Joined`] of each process;
    /// [`Report::Done`] answers.
    Write(Vec<Raw>),
    /// All processes are done: make what they have written appear. The bytes are those of [`Report::Done`] of each
    /// process; [`Report::Finished`] answers.
    Finish(Vec<Raw>),
    /// End what runs.
    Stop,
    /// The coordinator lives.
    Alive,
}

/// What a process is told of itself and its group.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Begin {
    /// Distinguishes this group of processes from others.
    pub incarnation: [u8; 16],
    /// The token that the processes of the group show each other.
    pub token: [u8; 32],
    /// The number of the process.
    pub process: usize,
    /// The number of processes.
    pub processes: usize,
    /// The address at which other processes reach it.
    pub address: IpAddr,
    /// The ports of which the process takes one.
    pub ports: Ports,
    /// The directory where relative paths begin, if it is not the one where the process starts.
    pub directory: Option<PathBuf>,
    /// How many processes of the group run on its machine.
    pub sharing: usize,
    /// Whether the connection to the coordinator may fail without the end of the process's input.
    pub far: bool,
    /// How bytes that processes send each other are compressed.
    pub compression: Compression,
    /// Files for connections with TLS, if the process does not know them itself.
    pub tls: Option<Files>,
    /// Another process, or the coordinator, from which nothing was heard for so long is lost.
    pub patience: Duration,
}

/// A query for all processes.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Job {
    /// Counts the queries of this group of processes.
    pub run: u32,
    /// The statement, the catalog and settings: a [`crate::query::Query`] as bytes.
    pub query: Raw,
    /// The fingerprint of the plan that the coordinator has made.
    pub fingerprint: u64,
    /// Whether the processes write the rows to files, and do not send them to the coordinator.
    pub writes: bool,
    /// The address at which each process listens.
    pub addresses: Vec<SocketAddr>,
    /// Where each process has its mark in its memory, if others may read rows there.
    pub places: Vec<Option<MarkAddress>>,
    /// Whether the coordinator can read the memory of the process that gets this.
    pub lends: bool,
}

/// A message from a process to the coordinator.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub enum Report {
    /// The process listens. This is the first report.
    Listening {
        /// Its address.
        address: SocketAddr,
        /// The workers that the process has cores for.
        workers: usize,
        /// Where the process has its mark in its memory, if others may read rows there.
        place: Option<MarkAddress>,
    },
    /// The tables of a query.
    Opened(Raw),
    /// The process has the plan that the coordinator has, or knows which files to make.
    Planned {
        /// Where files are written, what process 0 tells the others: the bytes of [`crate::worker::Together::begin`].
        begun: Option<Raw>,
        /// For each process, whether this one can read its memory. Empty if rows are not read in memory.
        reads: Vec<bool>,
    },
    /// The process has joined the making of files. The bytes tell the others what they need to know of its share.
    Joined(Raw),
    /// The written files have appeared.
    Finished(Written),
    /// The process lives.
    Alive(Figures),
    /// The process can't reach another one any more.
    Lost {
        /// The number of the other process.
        peer: usize,
        /// Why.
        reason: String,
    },
    /// The process failed, and does nothing any more.
    Failed(Failure),
    /// The process has done its part of the query.
    Done(Done),
}

/// Why a query failed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Failure {
    /// What went wrong, and what would help.
    pub message: String,
    /// The exit code of palais for this failure.
    pub code: u8,
}

/// How far a process has come, or several processes together.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub struct Figures {
    /// Bytes of files read.
    pub bytes_read: u64,
    /// Rows that scans gave.
    pub rows_read: u64,
    /// Bytes sent to other processes.
    pub bytes_sent: u64,
    /// Bytes that came from other processes.
    pub bytes_received: u64,
    /// Bytes put on disk because they did not fit the memory.
    pub bytes_spilled: u64,
    /// Bytes of rows that this process has lent to others, which read them in memory.
    pub bytes_lent: u64,
    /// Messages about timely's progress.
    pub progress_sent: u64,
    /// The most memory that was in use at once, as counted, in bytes. Of several processes this is the greatest figure.
    pub peak_memory: u64,
    /// The most memory that was resident at once, in bytes. Of several processes this is the greatest figure.
    pub peak_resident: u64,
}

impl Figures {
    /// Stores the figures in the state of a query.
    pub fn tell(&self, state: &QueryState) {
        state.bytes_read.store(self.bytes_read, Ordering::Relaxed);
        state.rows_read.store(self.rows_read, Ordering::Relaxed);
        state.bytes_sent.store(self.bytes_sent, Ordering::Relaxed);
        state.bytes_received.store(self.bytes_received, Ordering::Relaxed);
        state.bytes_spilled.store(self.bytes_spilled, Ordering::Relaxed);
        state.bytes_lent.store(self.bytes_lent, Ordering::Relaxed);
        state.progress_sent.store(self.progress_sent, Ordering::Relaxed);
        state.other_peak.store(self.peak_memory, Ordering::Relaxed);
        state.peak_resident.store(self.peak_resident, Ordering::Relaxed);
    }

    /// The figures of a query, with the peaks of memory of this process.
    pub fn of(state: &QueryState) -> Figures {
        Figures {
            bytes_read: state.bytes_read.load(Ordering::Relaxed),
            rows_read: state.rows_read.load(Ordering::Relaxed),
            bytes_sent: state.bytes_sent.load(Ordering::Relaxed),
            bytes_received: state.bytes_received.load(Ordering::Relaxed),
            bytes_spilled: state.bytes_spilled.load(Ordering::Relaxed),
            bytes_lent: state.bytes_lent.load(Ordering::Relaxed),
            progress_sent: state.progress_sent.load(Ordering::Relaxed),
            peak_memory: state.peak_memory(),
            peak_resident: state.peak_resident.load(Ordering::Relaxed).max(memory::peak_resident()),
        }
    }
}

/// What a process has done.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Done {
    /// Figures at the end.
    pub figures: Figures,
    /// For each of its workers and each node of the plan: rows, batches, bytes, nanoseconds, bytes kept.
    pub nodes: Vec<Vec<[u64; 5]>>,
    /// What its readers have passed over.
    pub skipped: Skipped,
    /// What the process has written, if it writes files.
    pub written: Option<Raw>,
}

/// Writes a message.
///
/// # Errors
/// Errors of the writer, and a message that is too long.
pub fn write(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let length = bincode::serialized_size(message).map_err(io::Error::other)?;
    let length = u32::try_from(length).ok().filter(|&length| length <= LONGEST);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    let mut bytes = Vec::with_capacity(4 + length as usize);
    bytes.extend_from_slice(&length.to_le_bytes());
    bincode::serialize_into(&mut bytes, message).map_err(io::Error::other)?;
    out.write_all(&bytes)?;
    out.flush()
}

/// Encodes rows, with their length before them: bytes to be written as they are.
///
/// # Errors
/// Rows that take too many bytes, and values that can't be encoded.
pub fn rows(batch: &RecordBatch) -> engine::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4 + engine::distributed::wire::size(batch).unwrap_or(0));
    bytes.extend_from_slice(&[0; 4]);
    engine::distributed::wire::write(batch, &mut bytes)?;
    with_length(bytes)
}

/// As [`rows`], for the bytes of a cross-memory transfer.
///
/// # Errors
/// The transfer has too many bytes.
pub fn loan(loan: &[u8]) -> engine::Result<Vec<u8>> {
    with_length([&[0; 4], loan].concat())
}

/// Puts the length in the four bytes that were left for it in front of rows.
fn with_length(mut bytes: Vec<u8>) -> engine::Result<Vec<u8>> {
    let length = u32::try_from(bytes.len() - 4).ok().filter(|&length| length <= LONGEST);
    let length = length.ok_or_else(|| engine::Error::Wire("a batch has too many bytes".into()))?;
    bytes[..4].copy_from_slice(&(length | ROWS).to_le_bytes());
    Ok(bytes)
}

/// A message or rows, as they are read.
#[derive(Debug)]
pub enum Frame<M> {
    /// A message.
    Message(M),
    /// Rows, as [`engine::distributed::wire::encode`] or [`engine::distributed::wire::transfer`] gives them.
    Rows(Vec<u8>),
}

/// Reads a message; `None` at the end.
///
/// # Errors
/// Errors of the reader, and bytes that are no message.
pub fn read<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<M>> {
    read_up_to(from, LONGEST)
}

/// As [`read`], of a message of at most `most` bytes.
///
/// # Errors
/// As [`read`], and a longer message.
pub fn read_up_to<M: DeserializeOwned>(from: &mut impl Read, most: u32) -> io::Result<Option<M>> {
    match frame(from, most)? {
        None => Ok(None),
        Some(Frame::Message(message)) => Ok(Some(message)),
        Some(Frame::Rows(_)) => Err(io::Error::new(io::ErrorKind::InvalidData, "it is no message")),
    }
}

/// Reads a message or rows; `None` at the end.
///
/// # Errors
/// Errors of the reader, and bytes that are neither.
pub fn read_frame<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<Frame<M>>> {
    frame(from, LONGEST)
}

fn frame<M: DeserializeOwned>(from: &mut impl Read, most: u32) -> io::Result<Option<Frame<M>>> {
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
    let (length, is_rows) = (length & !ROWS, length & ROWS != 0);
    if length > most {
        let what = if length > LONGEST { "it is no message" } else { "the message is too long" };
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    let (mut bytes, length) = (Vec::new(), u64::from(length));
    while (bytes.len() as u64) < length {
        let step = STEP.min(length - bytes.len() as u64);
        bytes.reserve(step as usize);
        if from.by_ref().take(step).read_to_end(&mut bytes)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    if is_rows {
        return Ok(Some(Frame::Rows(bytes)));
    }
    let message = bincode::deserialize(&bytes).map(Frame::Message);
    message.map(Some).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

/// Whether these bytes begin with a whole frame.
pub fn has_frame(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk() else { return false };
    rest.len() >= (u32::from_le_bytes(*length) & !ROWS) as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn a_whole_frame_is_told_from_a_part() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Order::Returned(vec![7])).unwrap();
        let whole = bytes.len();
        bytes.extend([1, 2, 3]);
        assert!((0..whole).all(|end| !has_frame(&bytes[..end])));
        assert!((whole..=bytes.len()).all(|end| has_frame(&bytes[..end])));
        assert!(!has_frame(&[255; 64]), "longer than any");
    }

    #[test]
    fn messages_and_rows_come_back_one_by_one() {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..400_000));
        let batch = RecordBatch::try_from_iter([("a", values)]).unwrap();
        let mut bytes = rows(&batch).unwrap();
        write(&mut bytes, &Report::Opened(Raw(vec![7; 3 << 20]))).unwrap();
        let planned = Report::Planned { begun: Some(Raw(vec![8; 100])), reads: vec![true] };
        write(&mut bytes, &planned).unwrap();
        let mut rest = &bytes[..];
        let Some(Frame::Rows(read_rows)) = read_frame::<Report>(&mut rest).unwrap() else { panic!("rows") };
        assert_eq!(engine::distributed::wire::decode(&read_rows, &batch.schema()).unwrap(), batch);
        assert!(
            matches!(read(&mut rest).unwrap(), Some(Report::Opened(Raw(tables))) if tables == vec![7; 3 << 20])
        );
        let planned = read_frame(&mut rest).unwrap();
        let Some(Frame::Message(Report::Planned { begun: Some(Raw(raw)), .. })) = planned else {
            panic!("raw")
        };
        assert_eq!(raw, [8; 100]);
        assert!(read::<Report>(&mut rest).unwrap().is_none());
        assert!(read::<Report>(&mut &bytes[..]).is_err(), "rows are no message");
    }

    #[test]
    fn other_bytes_are_errors() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Order::Open(Raw(b"tables".to_vec()))).unwrap();
        for length in 1..bytes.len() {
            assert!(read::<Order>(&mut &bytes[..length]).is_err(), "{length}");
        }
        assert!(read::<Order>(&mut &[0xff; 100][..]).is_err());
        // A length that is not there is not asked for at once.
        assert!(read::<Order>(&mut &[0, 0, 0, 0x3f, 1][..]).is_err());
        assert!(read::<Order>(&mut &[4, 0, 0, 0, 99, 0, 0, 0][..]).is_err());
    }
}
