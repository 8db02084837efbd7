//! Radix partitioner of rows of fixed width. It copies each value into its partition's line of the cache. It appends
//! each full line to its partition's vector, past the cache.
//!
//! So each partition needs only one line in the cache, and the processor does not read memory before it is overwritten
//! whole. (Balkesen, Teubner, Alonso, Özsu: Main-memory hash joins on multi-core CPUs, 2013, section 4.2; Wassenberg,
//! Sanders: Engineering a multi-core radix sort, 2011.) A full vector becomes an array without another copy.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, RecordBatch, StringViewArray, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, SchemaRef};

use super::write_combining::buffers;
use crate::context::memory;
use crate::dataflow::batch::batch_of;
use crate::error::Result;

/// The number of partitions. Their numbers fit a byte.
pub const PARTITIONS: usize = 256;
/// The bytes at which a partition is full, if memory allows.
const FULL: usize = 1 << 16;
/// The partitions of an operator together take at most one in so many bytes of the memory limit before they are full.
pub const SHARE: u64 = 64;
/// The most bytes of a string that lies inside its view.
const INLINE: u32 = 12;

/// Keeps rows of one schema by partition.
pub struct RadixPartitioner {
    schema: SchemaRef,
    columns: Vec<Box<dyn Column>>,
    /// The number of rows of each partition.
    rows: [usize; PARTITIONS],
    /// The number of rows at which a partition is full.
    full: usize,
}

/// One column of all partitions.
pub trait Column: Send {
    /// Appends each value to its partition. `parts` has the partition of each value.
    fn push(&mut self, values: &ArrayData, parts: &[u8]);

    /// Takes the values of a partition out, and makes room for `room` values to come.
    fn take(&mut self, part: usize, room: usize) -> Buffer;
}

/// The bytes of a value of a type, if values lie in a vector of aligned words. They do for numbers, dates, times, and
/// strings as views.
fn width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::Utf8View | DataType::BinaryView | DataType::Decimal128(..) => Some(16),
        DataType::Interval(_) => None,
        other => other.primitive_width().filter(|width| *width <= 8),
    }
}

/// Whether each string lies inside its view.
fn is_inline(array: &ArrayRef) -> bool {
    let (buffers, views) = match array.data_type() {
        DataType::Utf8View => (array.as_string_view().data_buffers(), array.as_string_view().views()),
        DataType::BinaryView => (array.as_binary_view().data_buffers(), array.as_binary_view().views()),
        _ => return true,
    };
    buffers.is_empty() || views.iter().fold(true, |short, view| short & (*view as u32 <= INLINE))
}

/// Makes an array of the values in `buffer`. They come from arrays of this type for which [`is_inline`] holds.
fn array(data_type: &DataType, buffer: Buffer, rows: usize) -> Result<ArrayRef> {
    Ok(match data_type {
        // SAFETY: each view is one of a valid array and has its string, valid UTF-8, inside, so that it needs no buffer.
        DataType::Utf8View => Arc::new(unsafe { StringViewArray::new_unchecked(buffer.into(), [], None) }),
        // SAFETY: as above, of any bytes.
        DataType::BinaryView => Arc::new(unsafe { BinaryViewArray::new_unchecked(buffer.into(), [], None) }),
        _ => make_array(ArrayData::builder(data_type.clone()).len(rows).add_buffer(buffer).build()?),
    })
}

impl RadixPartitioner {
    /// A partitioner for batches of `schema`. `None` if its types have no fixed width, so that no batch
    /// [`RadixPartitioner::fits`].
    pub fn new(schema: &SchemaRef) -> Option<RadixPartitioner> {
        let widths: Vec<usize> =
            schema.fields().iter().map(|f| width(f.data_type())).collect::<Option<_>>()?;
        let bytes = (memory::limit() / SHARE / PARTITIONS as u64).min(FULL as u64) as usize;
        let full = (bytes / widths.iter().sum::<usize>().max(1)).max(64);
        let columns = widths.into_iter().map(|width| match width {
            1 => buffers::<u8, 64>(room(full)),
            2 => buffers::<u16, 32>(room(full)),
            4 => buffers::<u32, 16>(room(full)),
            8 => buffers::<u64, 8>(room(full)),
            _ => buffers::<u128, 4>(room(full)),
        });
        Some(RadixPartitioner {
            columns: columns.collect(),
            schema: schema.clone(),
            rows: [0; PARTITIONS],
            full,
        })
    }

    /// Whether a batch can be added: it has no NULL and no string of more than 12 bytes.
    pub fn fits(batch: &RecordBatch) -> bool {
        batch.columns().iter().all(|c| c.null_count() == 0 && is_inline(c))
    }

    /// Adds a batch that [`RadixPartitioner::fits`]; `parts` has the partition of each row.
    pub fn add(&mut self, batch: &RecordBatch, parts: &[u8]) {
        parts.iter().for_each(|part| self.rows[usize::from(*part)] += 1);
        for (values, buffer) in batch.columns().iter().zip(&mut self.columns) {
            buffer.push(&values.to_data(), parts);
        }
    }

    /// The partitions that are full.
    pub fn full(&self) -> Vec<usize> {
        (0..PARTITIONS).filter(|part| self.rows[*part] >= self.full).collect()
    }

    /// The number of rows of all partitions.
    pub fn rows(&self) -> usize {
        self.rows.iter().sum()
    }

    /// Takes the rows of a partition out. `None` if it has none. At the `end` no more rows come, and no room is made
    /// for them.
    pub fn take(&mut self, part: usize, end: bool) -> Result<Option<RecordBatch>> {
        let rows = std::mem::take(&mut self.rows[part]);
        if rows == 0 {
            return Ok(None);
        }
        let room = if end { 0 } else { room(self.full) };
        let fields = self.schema.fields().iter();
        let columns = self.columns.iter_mut().zip(fields);
        let arrays = columns.map(|(buffer, f)| array(f.data_type(), buffer.take(part, room), rows));
        batch_of(&self.schema, arrays.collect::<Result<_>>()?, rows).map(Some)
    }
}

/// The room, in rows, for a partition that is full at `full` rows. The batch that makes it full has some more rows.
fn room(full: usize) -> usize {
    full + full / 16
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Decimal128Type, Int16Type, IntervalDayTimeType};
    use arrow_array::{Decimal128Array, Float64Array, Int16Array, IntervalDayTimeArray, UInt8Array};
    use arrow_schema::{Field, Schema};

    use super::*;

    fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
        RecordBatch::try_from_iter(columns.into_iter().enumerate().map(|(i, c)| (format!("c{i}"), c)))
            .unwrap()
    }

    #[test]
    fn every_row_lies_in_its_partition_in_order() {
        let rows = 30_000;
        let part_of = |row: usize| (row * row / 7 % 5) as u8 * 60;
        let text = |row: usize| "abcdefghijkl"[..row % 13].to_string();
        let all = batch(vec![
            Arc::new((0..rows).map(|i| Some(text(i))).collect::<StringViewArray>()),
            Arc::new((0..rows).map(|i| i as i16).collect::<Int16Array>()),
            Arc::new((0..rows).map(|i| i as u8).collect::<UInt8Array>()),
            Arc::new((0..rows).map(|i| i as f64 / 3.0).collect::<Float64Array>()),
            Arc::new((0..rows).map(|i| -(i as i128)).collect::<Decimal128Array>()),
        ]);
        let mut partitioner = RadixPartitioner::new(&all.schema()).unwrap();
        let mut found: Vec<Vec<RecordBatch>> = vec![Vec::new(); PARTITIONS];
        // Slices of a batch, whose arrays begin behind the start of their buffers.
        for from in (0..rows).step_by(1000) {
            let piece = all.slice(from, 1000);
            assert!(RadixPartitioner::fits(&piece));
            partitioner.add(&piece, &(from..from + 1000).map(part_of).collect::<Vec<_>>());
            for part in partitioner.full() {
                found[part].extend(partitioner.take(part, false).unwrap());
            }
        }
        assert!(found[0].len() > 1, "full partitions were taken on the way");
        let left = partitioner.rows();
        assert_eq!(left + found.iter().flatten().map(RecordBatch::num_rows).sum::<usize>(), rows);
        for (part, found) in found.iter_mut().enumerate() {
            found.extend(partitioner.take(part, true).unwrap());
            let numbers: Vec<usize> = (0..rows).filter(|row| usize::from(part_of(*row)) == part).collect();
            let found = arrow_select::concat::concat_batches(&all.schema(), found.iter()).unwrap();
            found.column(0).to_data().validate_full().unwrap();
            assert_eq!(found.num_rows(), numbers.len());
            for (at, row) in numbers.into_iter().enumerate() {
                assert_eq!(found.column(0).as_string_view().value(at), text(row));
                assert_eq!(found.column(1).as_primitive::<Int16Type>().value(at), row as i16);
                assert_eq!(found.column(4).as_primitive::<Decimal128Type>().value(at), -(row as i128));
            }
            assert_eq!(found.slice(0, found.num_rows()), found);
        }
        assert!(partitioner.take(0, true).unwrap().is_none());
    }

    #[test]
    fn nulls_and_long_strings_do_not_fit() {
        let strings = |values: Vec<Option<&str>>| batch(vec![Arc::new(StringViewArray::from(values))]);
        assert!(RadixPartitioner::fits(&strings(vec![Some("twelve bytes"), Some("")])));
        assert!(!RadixPartitioner::fits(&strings(vec![Some("twelve bytes"), None])));
        let long = strings(vec![Some("thirteen byte"), Some("short")]);
        assert!(!RadixPartitioner::fits(&long));
        assert!(RadixPartitioner::fits(&long.slice(1, 1)));
        let of = |data_type| {
            RadixPartitioner::new(&Arc::new(Schema::new(vec![Field::new("c", data_type, false)])))
        };
        assert!(of(DataType::Boolean).is_none());
        let interval = IntervalDayTimeArray::from(vec![IntervalDayTimeType::make_value(1, 2)]);
        assert!(of(interval.data_type().clone()).is_none(), "its words are of four bytes");
    }
}
