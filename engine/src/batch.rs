//! Record batches as timely containers.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{
    Array, ArrayRef, GenericByteViewArray, GenericListArray, OffsetSizeTrait, RecordBatch, StructArray,
    make_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_data::transform::MutableArrayData;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, FieldRef};
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
        DataType::List(_) => list_bytes(array.as_list::<i32>()),
        DataType::LargeList(_) => list_bytes(array.as_list::<i64>()),
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

fn list_bytes<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> usize {
    array_bytes(list_values(list).as_ref()) + size_of::<O>() * list.len()
}

/// The values of a list column's rows. A slice of a column has those of the whole column in its buffer.
pub fn list_values<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> ArrayRef {
    let offsets = list.offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[list.len()].as_usize());
    list.values().slice(first, last - first)
}

fn compact_list<O: OffsetSizeTrait>(list: &GenericListArray<O>, field: &FieldRef) -> ArrayRef {
    let mut values = list_values(list);
    if values.len() < list.values().len() {
        let data = values.to_data();
        let mut copy = MutableArrayData::new(vec![&data], false, data.len());
        copy.try_extend(0, 0, data.len()).expect("a part of an array fits one");
        values = make_array(copy.freeze());
    }
    let offsets = OffsetBuffer::<O>::from_lengths(list.offsets().lengths());
    let nulls = list.nulls().cloned();
    Arc::new(GenericListArray::new(field.clone(), offsets, compact_column(&values), nulls))
}

fn compact_views<T: ByteViewType>(column: &ArrayRef, array: &GenericByteViewArray<T>) -> ArrayRef {
    if array.data_buffers().is_empty() { column.clone() } else { Arc::new(array.gc()) }
}

/// Copies the strings and the values of lists that a batch uses out of buffers that it shares, so that keeping it pins
/// no others.
pub fn compact(batch: &RecordBatch) -> RecordBatch {
    let columns = batch.columns().iter().map(compact_column).collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
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
    use arrow_array::{ListArray, StringViewArray};

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
        for slice in &slices {
            let kept = compact(slice);
            assert_eq!(&kept, slice);
            let buffers = kept.column(0).get_buffer_memory_size();
            assert!(buffers < whole / 16, "{buffers} of {whole}");
        }
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
