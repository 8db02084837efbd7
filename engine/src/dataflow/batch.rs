//! Record batches as timely containers.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{
    Array, ArrayRef, GenericByteArray, GenericByteViewArray, GenericListArray, MapArray, OffsetSizeTrait,
    RecordBatch, RecordBatchOptions, StructArray, make_array,
};
use arrow_buffer::{ArrowNativeType, OffsetBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, FieldRef, SchemaRef};
use timely::Accountable;
use timely::bytes::arc::Bytes;
use timely::communication::Push;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message};

use crate::dataflow::credit::Credit;
use crate::error::Result;

/// The most rows of a batch.
pub const BATCH_ROWS: usize = 8192;

/// A record batch on its way to one worker. timely's channels carry it, and count its rows. Between threads of a
/// process the batch moves by pointer. Between processes it moves as bytes that are encoded once, see
/// [`crate::distributed::wire`].
#[derive(Clone, Default)]
pub struct ExchangeBatch {
    /// The worker that gets the batch, numbered over all processes. Outside an exchange the number means nothing.
    pub target: u32,
    /// The rows. `None` once timely has taken them out, and for rows of another process, which are in
    /// [`ExchangeBatch::wire`].
    pub batch: Option<RecordBatch>,
    /// The rows as bytes, if they go to another process or come from one.
    pub wire: Option<Wire>,
    /// The credit that the sender of an exchange gets back when the last copy of the batch is dropped.
    pub credit: Option<Arc<Credit>>,
    /// The worker that sent the batch, numbered over all processes. Merging, arranging, and credit between processes
    /// need the number.
    pub source: u32,
    /// Whether this is the last batch of its sender. Senders of exchanges that merge or arrange send such a batch,
    /// without rows.
    pub last: bool,
    /// The number of the split from which the rows behind this batch come. Such a batch has no rows, and stays in its
    /// process.
    pub begins: Option<u64>,
}

/// Rows as bytes.
#[derive(Clone)]
pub struct Wire {
    /// The number of rows.
    pub rows: u32,
    /// The credit that the sender has taken for the rows, in bytes.
    pub owed: u64,
    /// The rows, as [`crate::distributed::wire::encode`] or [`crate::distributed::wire::transfer`] writes them.
    pub bytes: WireBytes,
}

/// Bytes that this process encodes, or has received.
#[derive(Clone)]
pub enum WireBytes {
    /// So many bytes, which are encoded from [`ExchangeBatch::batch`] into timely's buffer.
    ToMake(usize),
    /// Bytes that this process has encoded. Batches for several processes share them.
    Made(Arc<Vec<u8>>),
    /// Bytes that this process has received, with up to 7 bytes of padding behind them.
    Came {
        /// Timely's buffer.
        buffer: Bytes,
        /// The number of bytes in the buffer without the padding.
        length: usize,
    },
}

impl Wire {
    /// The number of bytes, encoded or not.
    pub fn length(&self) -> usize {
        match &self.bytes {
            WireBytes::ToMake(length) => *length,
            _ => self.bytes().len(),
        }
    }

    /// The bytes. Empty if they are not encoded yet.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            WireBytes::ToMake(_) => &[],
            WireBytes::Made(bytes) => bytes,
            WireBytes::Came { buffer, length } => &buffer[..*length],
        }
    }
}

impl From<RecordBatch> for ExchangeBatch {
    fn from(batch: RecordBatch) -> Self {
        ExchangeBatch { batch: Some(batch), ..ExchangeBatch::default() }
    }
}

impl Accountable for ExchangeBatch {
    fn record_count(&self) -> i64 {
        let rows = match (&self.batch, &self.wire) {
            (Some(batch), _) => batch.num_rows() as i64,
            (None, Some(wire)) => i64::from(wire.rows),
            (None, None) => 0,
        };
        // timely drops containers that count 0 records.
        rows + i64::from(self.last) + i64::from(self.begins.is_some())
    }
}

/// The bytes of an exchange batch before its rows: source, flags, rows, length (each u32), owed (u64), little-endian.
const HEADER: usize = 24;

impl ContainerBytes for ExchangeBatch {
    fn from_bytes(mut buffer: Bytes) -> Self {
        // timely gives the bytes that `into_bytes` of another process of this query has written. That process has shown
        // its token and its version. Bytes that are too short give a batch without rows, and the receiver sees that by
        // the number of rows.
        let number = |at: usize| {
            let bytes = buffer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u32::from_le_bytes)
        };
        let [source, flags, rows, length] = [0, 4, 8, 12].map(number);
        let owed = u64::from(number(16)) | u64::from(number(20)) << 32;
        if buffer.len() >= HEADER {
            buffer.extract_to(HEADER);
        }
        let length = (length as usize).min(buffer.len());
        let wire = Wire { rows, owed, bytes: WireBytes::Came { buffer, length } };
        ExchangeBatch { wire: Some(wire), source, last: flags != 0, ..ExchangeBatch::default() }
    }

    fn length_in_bytes(&self) -> usize {
        HEADER + self.wire.as_ref().map_or(0, Wire::length).next_multiple_of(8)
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        let (rows, owed, length) = self.wire.as_ref().map_or((0, 0, 0), |w| (w.rows, w.owed, w.length()));
        let lost = self.wire.is_none() && self.batch.as_ref().is_some_and(|batch| batch.num_rows() > 0);
        assert!(!lost, "an exchange encodes what goes to another process");
        const ROOM: &str = "timely's buffer takes what was asked for";
        let mut put = |bytes: &[u8]| writer.write_all(bytes).expect(ROOM);
        [self.source, u32::from(self.last), rows, length as u32].iter().for_each(|n| put(&n.to_le_bytes()));
        put(&owed.to_le_bytes());
        match (&self.wire, &self.batch) {
            (Some(Wire { bytes: WireBytes::ToMake(_), .. }), Some(batch)) => {
                crate::distributed::wire::write(batch, writer).expect(ROOM);
            }
            (Some(wire), _) => put(wire.bytes()),
            (None, _) => {}
        }
        writer.write_all(&[0; 8][..length.next_multiple_of(8) - length]).expect(ROOM);
    }
}

/// Sends each exchange batch to its target.
#[derive(Debug, Default)]
pub struct ToTarget;

impl Distributor<ExchangeBatch> for ToTarget {
    fn partition<T: Clone, P: Push<Message<T, ExchangeBatch>>>(
        &mut self,
        given: &mut ExchangeBatch,
        time: &T,
        pushers: &mut [P],
    ) {
        let target = given.target as usize;
        Message::push_at(given, time.clone(), &mut pushers[target]);
    }

    fn flush<T: Clone, P: Push<Message<T, ExchangeBatch>>>(&mut self, _time: &T, _pushers: &mut [P]) {}
}

/// A batch of these columns. A column whose type differs from the schema's (another representation of strings) is cast.
///
/// # Errors
/// A column that can't be cast, or whose length is not `rows`.
pub fn batch_of(schema: &SchemaRef, mut columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    for (column, field) in columns.iter_mut().zip(schema.fields()) {
        if column.data_type() != field.data_type() {
            *column = arrow_cast::cast(column, field.data_type())?;
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

/// The bytes that the rows of a batch take, about. Bytes of shared buffers count only where this batch's rows use them.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|c| array_bytes(c.as_ref())).sum::<usize>() + 64
}

fn array_bytes(array: &dyn Array) -> usize {
    match array.data_type() {
        DataType::Utf8View => view_bytes(array.as_string_view()),
        DataType::BinaryView => view_bytes(array.as_binary_view()),
        DataType::Utf8 => offset_bytes(array.as_string::<i32>()),
        DataType::LargeUtf8 => offset_bytes(array.as_string::<i64>()),
        DataType::Binary => offset_bytes(array.as_binary::<i32>()),
        DataType::LargeBinary => offset_bytes(array.as_binary::<i64>()),
        DataType::Boolean => array.len() / 8 + 1,
        DataType::List(_) => list_bytes(array.as_list::<i32>()),
        DataType::LargeList(_) => list_bytes(array.as_list::<i64>()),
        DataType::Map(..) => array_bytes(&map_entries(array.as_map())) + 4 * array.len(),
        DataType::Struct(_) => array.as_struct().columns().iter().map(|c| array_bytes(c.as_ref())).sum(),
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

fn offset_bytes<T: ByteArrayType>(array: &GenericByteArray<T>) -> usize {
    let offsets = array.value_offsets();
    (offsets[array.len()] - offsets[0]).as_usize() + size_of::<T::Offset>() * array.len()
}

fn list_bytes<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> usize {
    array_bytes(list_values(list).as_ref()) + size_of::<O>() * list.len()
}

/// The keys and values of a map column's rows.
fn map_entries(map: &MapArray) -> StructArray {
    let offsets = map.offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[map.len()].as_usize());
    map.entries().slice(first, last - first)
}

/// The values of a list column's rows. The buffer of a sliced column holds the values of the whole column.
pub fn list_values<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> ArrayRef {
    let offsets = list.offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[list.len()].as_usize());
    list.values().slice(first, last - first)
}

fn compact_list<O: OffsetSizeTrait>(list: &GenericListArray<O>, field: &FieldRef) -> ArrayRef {
    let mut values = list_values(list);
    if values.len() < list.values().len() {
        values = copied_column(&values);
    }
    let offsets = OffsetBuffer::<O>::from_lengths(list.offsets().lengths());
    let nulls = list.nulls().cloned();
    Arc::new(GenericListArray::new(field.clone(), offsets, compact_column(&values), nulls))
}

fn compact_views<T: ByteViewType>(column: &ArrayRef, array: &GenericByteViewArray<T>) -> ArrayRef {
    if array.data_buffers().is_empty() { column.clone() } else { Arc::new(array.gc()) }
}

/// Copies the strings and the list values of a batch out of shared buffers, so that keeping the batch keeps no other
/// values in memory.
pub fn compact(batch: &RecordBatch) -> RecordBatch {
    map(batch, compact_column)
}

/// A batch from which arrow's `take` takes rows without waste. For a slice of lists, `take` reserves memory for the
/// values of the whole column (arrow 59), so that slices of lists are copied first.
pub fn to_take_from(batch: &RecordBatch) -> RecordBatch {
    map(batch, |column| match column.data_type() {
        DataType::List(_) | DataType::LargeList(_) => compact_column(column),
        _ => column.clone(),
    })
}

/// Copies all rows of a batch out of shared buffers, so that keeping the batch keeps no other rows in memory.
pub fn copied(batch: &RecordBatch) -> RecordBatch {
    compact(&map(batch, copied_column))
}

fn copied_column(column: &ArrayRef) -> ArrayRef {
    let data = column.to_data();
    let mut copy = MutableArrayData::new(vec![&data], false, data.len());
    copy.try_extend(0, 0, data.len()).expect("a part of an array fits one");
    make_array(copy.freeze())
}

/// A batch of other arrays of the same types and lengths.
fn map(batch: &RecordBatch, of: impl FnMut(&ArrayRef) -> ArrayRef) -> RecordBatch {
    let columns = batch.columns().iter().map(of).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
        .expect("the columns are the batch's own")
}

fn compact_column(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Utf8View => compact_views(column, column.as_string_view()),
        DataType::BinaryView => compact_views(column, column.as_binary_view()),
        DataType::List(field) => compact_list(column.as_list::<i32>(), field),
        DataType::LargeList(field) => compact_list(column.as_list::<i64>(), field),
        DataType::Struct(fields) if !fields.is_empty() => {
            let columns = column.as_struct().columns().iter().map(compact_column).collect();
            Arc::new(StructArray::new(fields.clone(), columns, column.nulls().cloned()))
        }
        _ => column.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int64Type;
    use arrow_array::{LargeStringArray, ListArray, StringViewArray, UInt32Array};
    use arrow_select::take::take_record_batch;

    use super::*;

    /// A batch of one column.
    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("c", column)]).expect("one column is a batch")
    }

    #[test]
    fn a_slice_of_lists_counts_and_keeps_its_own_values_only() {
        let lists = (0..8192_i64).map(|i| (i % 5 > 0).then(|| vec![Some(i), None, Some(-i)]));
        let all = batch(Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)));
        let whole = batch_bytes(&all);
        assert!((150_000..200_000).contains(&whole), "{whole}");
        let slices: Vec<RecordBatch> = (0..64).map(|i| all.slice(i * 128, 128)).collect();
        let counted: usize = slices.iter().map(batch_bytes).sum();
        assert!(counted < whole + 64 * 80, "{counted} of {whole}");
        for (slice, keep) in
            slices.iter().flat_map(|slice| [(slice, compact as fn(&_) -> _), (slice, copied)])
        {
            let kept = keep(slice);
            assert_eq!(&kept, slice);
            let buffers = kept.column(0).get_buffer_memory_size();
            assert!(buffers < whole / 16, "{buffers} of {whole}");
        }
    }

    #[test]
    fn rows_of_a_slice_of_lists_take_no_more_than_their_own_room() {
        let lists = (0..8192_i64).map(|i| Some(vec![Some(i); 100]));
        let all = batch(Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)));
        let rows = UInt32Array::from(vec![1, 0]);
        let taken = take_record_batch(&to_take_from(&all.slice(5000, 2)), &rows).unwrap();
        assert_eq!(taken.slice(0, 1), all.slice(5001, 1));
        assert_eq!(taken.slice(1, 1), all.slice(5000, 1));
        let room = taken.column(0).get_buffer_memory_size();
        assert!(room < 4000, "{room}");
    }

    #[test]
    fn a_slice_of_strings_counts_its_own_only() {
        let all = batch(Arc::new(LargeStringArray::from_iter_values((0..8192).map(|i| format!("{i:100}")))));
        assert_eq!(batch_bytes(&all), 8192 * 108 + 64);
        assert_eq!(batch_bytes(&all.slice(100, 7)), 7 * 108 + 64);
        assert_eq!(batch_bytes(&all.slice(100, 0)), 64);
        let kept = copied(&all.slice(100, 7));
        assert_eq!(kept, all.slice(100, 7));
        assert!(kept.column(0).get_buffer_memory_size() < 2000);
    }

    #[test]
    fn strings_in_lists_are_compacted() {
        let text = |i: usize| format!("a string that is longer than twelve bytes {i}");
        let strings: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..1000).map(text)));
        let field = Arc::new(arrow_schema::Field::new_list_field(DataType::Utf8View, true));
        let offsets = OffsetBuffer::from_lengths([10; 100]);
        let all = batch(Arc::new(ListArray::new(field, offsets, strings, None)));
        let slice = all.slice(50, 2);
        let kept = compact(&slice);
        assert_eq!(kept, slice);
        assert!(batch_bytes(&slice) < 2000, "{}", batch_bytes(&slice));
        assert!(
            kept.column(0).get_buffer_memory_size() < 5000,
            "{}",
            kept.column(0).get_buffer_memory_size()
        );
    }
}
