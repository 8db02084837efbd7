//! Record batches as timely containers.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::DataType;
use timely::Accountable;
use timely::bytes::arc::Bytes;
use timely::communication::Push;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message};

use crate::credit::Credit;

/// The most rows of a batch.
pub const BATCH_ROWS: usize = 8192;

/// A record batch on its way, for one worker. Counts rows. Between threads of a process it moves by pointer, between
/// processes as an Arrow IPC stream, encoded once.
#[derive(Debug, Clone, Default)]
pub struct Parcel {
    /// The worker that it is for; of no meaning outside an exchange.
    pub target: u32,
    /// The rows; `None` only where timely has taken them out.
    pub batch: Option<RecordBatch>,
    /// What the sender of an exchange gets back once the rows are absorbed: when the last copy is dropped.
    pub credit: Option<Arc<Credit>>,
    /// The worker that sent it, where that matters (merging sorted runs).
    pub source: u32,
    /// Whether it is the sender's last one; such a parcel of an exchange that merges has no rows.
    pub last: bool,
}

impl From<RecordBatch> for Parcel {
    fn from(batch: RecordBatch) -> Self {
        Parcel { batch: Some(batch), ..Parcel::default() }
    }
}

impl Accountable for Parcel {
    fn record_count(&self) -> i64 {
        // timely drops containers that count nothing.
        self.batch.as_ref().map_or(0, |b| b.num_rows() as i64) + i64::from(self.last)
    }
}

impl Parcel {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.source.to_le_bytes());
        out.extend_from_slice(&u32::from(self.last).to_le_bytes());
        if let Some(batch) = &self.batch {
            let written = StreamWriter::try_new(&mut out, &batch.schema())
                .and_then(|mut w| w.write(batch).and_then(|()| w.finish()));
            written.expect("a batch encodes into memory");
        }
        out.resize(out.len().next_multiple_of(8), 0);
        out
    }
}

impl ContainerBytes for Parcel {
    fn from_bytes(bytes: Bytes) -> Self {
        let source = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let batch =
            StreamReader::try_new(std::io::Cursor::new(&bytes[8..]), None).ok().and_then(|mut r| r.next());
        // The peer is a process of this query that has shown its token and its version; what it sent is its own batch.
        let batch = batch.map(|b| b.expect("a peer's batch decodes"));
        Parcel { target: 0, batch, credit: None, source, last: bytes[4] != 0 }
    }

    fn length_in_bytes(&self) -> usize {
        self.encode().len()
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        writer.write_all(&self.encode()).expect("timely's buffer takes what was asked for");
    }
}

/// Sends each parcel to the worker that it is for.
#[derive(Debug, Default)]
pub struct ToTarget;

impl Distributor<Parcel> for ToTarget {
    fn partition<T: Clone, P: Push<Message<T, Parcel>>>(
        &mut self,
        parcel: &mut Parcel,
        time: &T,
        pushers: &mut [P],
    ) {
        let target = parcel.target as usize;
        Message::push_at(parcel, time.clone(), &mut pushers[target]);
    }

    fn flush<T: Clone, P: Push<Message<T, Parcel>>>(&mut self, _time: &T, _pushers: &mut [P]) {}
}

/// About the bytes that a batch's rows take, whatever buffers they share with others.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|c| array_bytes(c.as_ref())).sum::<usize>() + 64
}

fn array_bytes(array: &dyn Array) -> usize {
    match array.data_type() {
        DataType::Utf8View => view_bytes(array.as_string_view()),
        DataType::BinaryView => view_bytes(array.as_binary_view()),
        DataType::Boolean => array.len() / 8 + 1,
        t => match t.primitive_width() {
            Some(width) => width * array.len(),
            None => array.get_array_memory_size(),
        },
    }
}

fn view_bytes<T: ByteViewType>(array: &GenericByteViewArray<T>) -> usize {
    let outside = if array.data_buffers().is_empty() { 0 } else { array.total_buffer_bytes_used() };
    outside + 16 * array.len()
}

fn compact_views<T: ByteViewType>(column: &ArrayRef, array: &GenericByteViewArray<T>) -> ArrayRef {
    if array.data_buffers().is_empty() { column.clone() } else { Arc::new(array.gc()) }
}

/// Copies the strings that a batch uses out of buffers that it shares, so that keeping it pins nothing else.
pub fn compact(batch: &RecordBatch) -> RecordBatch {
    let columns = batch
        .columns()
        .iter()
        .map(|c| match c.data_type() {
            DataType::Utf8View => compact_views(c, c.as_string_view()),
            DataType::BinaryView => compact_views(c, c.as_binary_view()),
            _ => c.clone(),
        })
        .collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
        .expect("the columns are the batch's own")
}
