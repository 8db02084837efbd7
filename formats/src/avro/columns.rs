//! Rows to columns, by the crate.
//!
//! The crate reads a file as a stream. Here the stream is what was put into a [`Feed`]: a header without names of the
//! file's, and blocks that are unpacked and checked. The crate is asked for rows only when there are as many as it wants
//! for a batch, or no more will come, because the end of the stream is final to it.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, NullArray, StringViewArray, StructArray};
use arrow_avro::codec::Tz;
use arrow_avro::reader::{Reader, ReaderBuilder};
use arrow_cast::cast;
use arrow_schema::{DataType, FieldRef};
use arrow_select::take::take;
use bytes::Bytes;

use super::header::{Header, SYNC};
use super::schema::{Kind, Type, plain};
use super::{MAGIC, bad, put_long};
use crate::columns::guard::guarded;
use crate::error::Result;
use crate::memory;

/// What stands behind each block that the crate is given.
static MARKER: [u8; SYNC] = [0; SYNC];
/// About the bytes that the crate keeps for each type before it has read a row: room for 1,024 values, to be read and to be
/// passed over.
const OF_TYPE: u64 = 32 << 10;

/// Bytes on their way to the crate. Clones share them.
#[derive(Debug, Clone, Default)]
struct Feed {
    queue: Arc<Mutex<VecDeque<Bytes>>>,
    current: Bytes,
}

impl Feed {
    fn put(&self, bytes: impl Into<Bytes>) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(bytes.into());
    }
}

impl Read for Feed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(out.len());
        out[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Feed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.current.is_empty() {
            match self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
                Some(next) => self.current = next,
                None => break,
            }
        }
        Ok(&self.current)
    }

    fn consume(&mut self, count: usize) {
        let _ = self.current.split_to(count.min(self.current.len()));
    }
}

/// Makes columns of rows.
pub struct Decoder {
    feed: Feed,
    reader: Reader<Feed>,
    /// The columns that are wanted, as positions in the file, ascending.
    wanted: Vec<usize>,
    /// The rows that were put in and not taken out.
    rows: usize,
    batch_rows: usize,
}

impl Decoder {
    /// A decoder of these columns, ascending, of which one or more have bytes in the rows.
    pub fn new(header: &Header, wanted: &[usize], batch_rows: usize) -> Result<Decoder> {
        let mut head = MAGIC.to_vec();
        put_long(1, &mut head);
        for text in ["avro.schema", &plain(&header.fields)] {
            put_long(text.len() as i64, &mut head);
            head.extend(text.as_bytes());
        }
        put_long(0, &mut head);
        head.extend_from_slice(&MARKER);
        let types = header.types();
        memory::ask(types * OF_TYPE, || format!("the decoder of its {types} types"))?;
        let feed = Feed::default();
        feed.put(head);
        let batch_rows = batch_rows.max(1);
        let stored: Vec<usize> =
            wanted.iter().copied().filter(|&column| header.has_bytes(&[column])).collect();
        // Not with views: those of the crate have an empty text for a NULL.
        let mut builder = ReaderBuilder::new().with_batch_size(batch_rows).with_tz(Tz::Utc);
        if stored.len() < header.fields.len() {
            builder = builder.with_projection(stored);
        }
        let reader = guarded(|| builder.build(feed.clone()).map_err(bad))?;
        Ok(Decoder { feed, reader, wanted: wanted.to_vec(), rows: 0, batch_rows })
    }

    /// Puts in the rows of a block.
    pub fn put(&mut self, rows: usize, data: Bytes) {
        let mut head = Vec::with_capacity(20);
        put_long(rows as i64, &mut head);
        put_long(data.len() as i64, &mut head);
        self.feed.put(head);
        self.feed.put(data);
        self.feed.put(Bytes::from_static(&MARKER));
        self.rows += rows;
    }

    /// Whether there are rows for a whole batch.
    pub fn is_full(&self) -> bool {
        self.rows >= self.batch_rows
    }

    /// The columns of the next rows, and how many rows they have. Before the last ones there must be enough for a batch.
    pub fn take(&mut self, header: &Header) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        if self.rows == 0 {
            return Ok(None);
        }
        guarded(|| {
            let batch = self.reader.next().transpose().map_err(bad)?;
            let batch = batch.ok_or_else(|| bad("there are fewer rows than its blocks say"))?;
            let rows = batch.num_rows();
            self.rows =
                self.rows.checked_sub(rows).ok_or_else(|| bad("there are more rows than its blocks say"))?;
            let mut stored = batch.columns().iter();
            let columns = self.wanted.iter().map(|&column| {
                let data_type = &header.fields[column].data_type;
                if data_type.kind == Kind::Null {
                    return Ok(Arc::new(NullArray::new(rows)) as ArrayRef);
                }
                let column_read = stored.next().ok_or_else(|| bad("a column is missing"))?;
                read_as(column_read, data_type, header.schema.field(column).data_type())
            });
            Ok(Some((columns.collect::<Result<_>>()?, rows)))
        })
    }
}

/// A column of the crate's in the type in which it is read: with the file's names, symbols as text, text as views.
fn read_as(column: &ArrayRef, data_type: &Type, to: &DataType) -> Result<ArrayRef> {
    Ok(match (&data_type.kind, to) {
        (Kind::Enum(symbols), _) => {
            let numbers = column.as_primitive::<Int32Type>();
            take(&StringViewArray::from_iter_values(symbols), numbers, None).map_err(bad)?
        }
        (Kind::Array(items), DataType::List(item)) => {
            let list = column.as_list::<i32>();
            let values = read_as(list.values(), items, item.data_type())?;
            let list =
                ListArray::try_new(item.clone(), list.offsets().clone(), values, list.nulls().cloned());
            Arc::new(list.map_err(bad)?)
        }
        (Kind::Map(values), DataType::Map(entries, sorted)) => {
            let map = column.as_map();
            let DataType::Struct(pair) = entries.data_type() else {
                return Err(bad("a map without entries"));
            };
            let [key, value]: [&FieldRef; 2] = [0, 1].map(|place| &pair[place]);
            let columns = vec![
                cast(map.keys(), key.data_type()).map_err(bad)?,
                read_as(map.values(), values, value.data_type())?,
            ];
            let pairs = StructArray::try_new(pair.clone(), columns, None).map_err(bad)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, nulls, *sorted).map_err(bad)?)
        }
        (Kind::Record(fields), DataType::Struct(to)) => {
            let record = column.as_struct();
            let columns = record.columns().iter().zip(fields.iter().zip(to));
            let columns =
                columns.map(|(column, (field, to))| read_as(column, &field.data_type, to.data_type()));
            let columns = columns.collect::<Result<_>>()?;
            Arc::new(StructArray::try_new(to.clone(), columns, record.nulls().cloned()).map_err(bad)?)
        }
        _ if column.data_type() == to => column.clone(),
        _ => cast(column, to).map_err(bad)?,
    })
}
