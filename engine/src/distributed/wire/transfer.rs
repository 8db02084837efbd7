//! Cross-memory transfer: another process of this machine reads rows from this process's memory.
//!
//! The system copies the rows once (process_vm_readv(2)). That replaces encoding, two copies on the way through a
//! socket, and decoding.
//!
//! ```text
//! loan    rows: u32 with the highest bit set, its number: u64, then the columns in the order of the schema
//! column  kind: u8; the address of its values: u64
//!   0  values of a fixed width
//!   2  Arrow's views of texts or bytes of at most 12 bytes each, 16 bytes a row
//! ```
//! Numbers are little-endian. Batches with other columns, or with NULLs, are sent as the bytes of [`super::encode`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, ByteViewType, StringViewType};
use arrow_array::{Array, ArrayRef, GenericByteViewArray, RecordBatch, make_array};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_data::ArrayDataBuilder;
use arrow_schema::{DataType, SchemaRef};

use super::memory::Memory;
use super::texts::{all_short, are_short_ascii};
use super::{FIXED, Rest, SHORT, broken};
use crate::dataflow::batch::{batch_bytes, batch_of};
use crate::error::{Error, Result};

/// The bit in the number of rows that distinguishes a loan from encoded rows.
const LENT: u32 = 1 << 31;

/// A batch of fewer bytes is sent, because a call of the system costs as much.
const LEAST_BYTES: usize = 16 << 10;
/// A batch of more rows is sent. So the reader never allocates much memory because of a number that it was sent.
const MOST_ROWS: usize = 1 << 15;
/// How often a lender that waits checks whether its query was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// The batches that other processes may be reading. They are kept until the readers give them back.
#[derive(Debug, Default)]
pub struct Transfers {
    lent: Mutex<Lent>,
    given_back: Condvar,
    /// All bytes that were lent since the last [`Transfers::clear`].
    total: AtomicU64,
}

#[derive(Debug, Default)]
struct Lent {
    next: u64,
    batches: HashMap<u64, RecordBatch>,
    bytes: usize,
}

impl Transfers {
    fn lent(&self) -> MutexGuard<'_, Lent> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a batch, and gives its loan in bytes and the number of bytes of its rows. `None` if the batch must be
    /// sent.
    pub fn lend(&self, batch: &RecordBatch) -> Option<(Vec<u8>, usize)> {
        let rows = u32::try_from(batch.num_rows()).ok().filter(|&rows| rows as usize <= MOST_ROWS)?;
        let bytes = batch_bytes(batch);
        if bytes < LEAST_BYTES {
            return None;
        }
        let columns: Vec<_> = batch.columns().iter().map(place).collect::<Option<_>>()?;
        let mut loan = Vec::with_capacity(12 + 9 * columns.len());
        loan.extend((rows | LENT).to_le_bytes());
        let mut lent = self.lent();
        lent.next += 1;
        loan.extend(lent.next.to_le_bytes());
        for (kind, address) in columns {
            loan.push(kind);
            loan.extend(address.to_le_bytes());
        }
        let number = lent.next;
        lent.batches.insert(number, batch.clone());
        lent.bytes += bytes;
        self.total.fetch_add(bytes as u64, Ordering::Relaxed);
        Some((loan, bytes))
    }

    /// Drops the batches of these numbers, which were read.
    pub fn take_back(&self, numbers: &[u64]) {
        let mut lent = self.lent();
        // A number that was given back already, or never given out, means nothing.
        let batches: Vec<_> = numbers.iter().filter_map(|number| lent.batches.remove(number)).collect();
        lent.bytes -= batches.iter().map(batch_bytes).sum::<usize>();
        drop(lent);
        self.given_back.notify_all();
    }

    /// Waits until fewer than `limit` bytes are lent, or until the query is `stopped`.
    pub fn wait_below(&self, limit: usize, mut stopped: impl FnMut() -> bool) {
        let mut lent = self.lent();
        while lent.bytes >= limit && !stopped() {
            lent = self.given_back.wait_timeout(lent, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Drops all batches, which no process reads any more, and sets the counters to 0.
    pub fn clear(&self) {
        let mut lent = self.lent();
        lent.batches.clear();
        lent.bytes = 0;
        self.total.store(0, Ordering::Relaxed);
    }

    /// All bytes that were lent since the last [`Transfers::clear`].
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}

/// The kind of a column and the address of its values, if other processes can read them there.
fn place(column: &ArrayRef) -> Option<(u8, u64)> {
    if column.null_count() > 0 {
        return None;
    }
    match column.data_type() {
        DataType::Utf8View => all_short(column.as_string_view()).map(|views| (SHORT, views.as_ptr() as u64)),
        DataType::BinaryView => {
            all_short(column.as_binary_view()).map(|views| (SHORT, views.as_ptr() as u64))
        }
        t => {
            let width = t.primitive_width()?;
            let data = column.to_data();
            let values = data.buffers()[0].as_slice();
            Some((FIXED, values[data.offset() * width..].as_ptr() as u64))
        }
    }
}

/// The number of a loan, if these bytes are a loan.
pub fn number(bytes: &[u8]) -> Option<u64> {
    let (rows, rest) = bytes.split_first_chunk::<4>()?;
    let number = rest.first_chunk::<8>().map(|number| u64::from_le_bytes(*number));
    number.filter(|_| u32::from_le_bytes(*rows) & LENT != 0)
}

/// Reads a batch of `schema` that the process with this memory lends.
///
/// # Errors
/// Bytes that are not a loan of this schema, memory that can't be read, and memory that holds no such values.
/// [`Error::Cancelled`] if the other process has ended.
pub fn read(bytes: &[u8], schema: &SchemaRef, memory: &Memory) -> Result<RecordBatch> {
    let mut rest = Rest(bytes);
    let rows = rest.number()?;
    if rows & LENT as usize == 0 {
        return Err(broken("it is no loan"));
    }
    let rows = rows & !(LENT as usize);
    if rows > MOST_ROWS {
        return Err(broken("too many rows"));
    }
    rest.take(8)?;
    let mut spans = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let width = match (rest.take(1)?[0], field.data_type()) {
            (SHORT, DataType::Utf8View | DataType::BinaryView) => size_of::<u128>(),
            (FIXED, t) => t.primitive_width().ok_or_else(|| broken("a column of another kind"))?,
            _ => return Err(broken("a column of another kind")),
        };
        let (low, high) = (rest.number()? as u64, rest.number()? as u64);
        spans.push((low | high << 32, rows * width));
    }
    if !rest.0.is_empty() {
        return Err(broken("bytes behind the last column"));
    }
    let read = memory.read(&spans).map_err(|e| match e.raw_os_error() {
        // The process has ended. The coordinator reports that.
        Some(libc::ESRCH) => Error::Cancelled,
        _ => broken(&format!("memory of another process can't be read: {e}")),
    })?;
    let columns = schema.fields().iter().zip(read);
    let columns = columns.map(|(field, values)| column(field.data_type(), rows, values));
    batch_of(schema, columns.collect::<Result<_>>()?, rows)
}

fn column(t: &DataType, rows: usize, values: Buffer) -> Result<ArrayRef> {
    match t {
        DataType::Utf8View => views::<StringViewType>(values, rows),
        DataType::BinaryView => views::<BinaryViewType>(values, rows),
        t => Ok(make_array(ArrayDataBuilder::new(t.clone()).len(rows).add_buffer(values).build()?)),
    }
}

fn views<T: ByteViewType>(values: Buffer, rows: usize) -> Result<ArrayRef> {
    let views = ScalarBuffer::<u128>::new(values, 0, rows);
    if are_short_ascii(&views) {
        // SAFETY: each value lies in its view, followed by zeros, and is ASCII.
        return Ok(Arc::new(unsafe { GenericByteViewArray::<T>::new_unchecked(views, vec![], None) }));
    }
    Ok(Arc::new(GenericByteViewArray::<T>::try_new(views, vec![], None)?))
}

#[cfg(test)]
mod tests {
    use arrow_array::{BooleanArray, Float64Array, StringViewArray};

    use super::*;

    const ROWS: usize = 3000;

    fn batch(column: impl Array + 'static) -> RecordBatch {
        RecordBatch::try_from_iter([("a", Arc::new(column) as ArrayRef)]).expect("it is one column")
    }

    fn numbers() -> Float64Array {
        (0..ROWS).map(|row| row as f64).collect::<Vec<_>>().into()
    }

    fn texts(make: impl Fn(usize) -> String) -> StringViewArray {
        StringViewArray::from_iter_values((0..ROWS).map(make))
    }

    fn here() -> Memory {
        // It has to stay there.
        let mark = Box::leak(Box::new([5; 32]));
        Memory::of(std::process::id(), mark.as_ptr() as u64, *mark).expect("one's own can be read")
    }

    #[test]
    fn what_is_lent_is_read_until_it_is_given_back() {
        let loans = Transfers::default();
        let texts = texts(|row| ["", "é", "twelve bytes"][row % 3].into());
        for batch in [batch(numbers()), batch(texts), batch(numbers()).slice(500, 2500)] {
            let (loan, bytes) = loans.lend(&batch).expect("others can read it");
            assert_eq!(read(&loan, &batch.schema(), &here()).expect("it is there"), batch);
            loans.wait_below(bytes + 1, || panic!("it is not to wait"));
            let number = number(&loan).expect("it is a loan");
            loans.take_back(&[number, number, 77]);
            loans.wait_below(1, || panic!("it is not to wait"));
        }
        let (_, bytes) = loans.lend(&batch(numbers())).expect("others can read it");
        let mut looks = 0;
        loans.wait_below(bytes, || {
            looks += 1;
            looks > 1
        });
        assert_eq!(looks, 2, "it waits until it is stopped");
        assert!(loans.total() > 3 * bytes as u64 - 10_000);
        loans.clear();
        assert_eq!(loans.total(), 0);
    }

    #[test]
    fn other_batches_are_not_lent() {
        let loans = Transfers::default();
        let nulls: Float64Array = (0..ROWS).map(|row| (row > 5).then_some(1.0)).collect();
        let long = texts(|row| format!("more than twelve bytes {row}"));
        let booleans = BooleanArray::from(vec![true; 200_000]);
        for batch in [batch(nulls), batch(long), batch(booleans), batch(numbers()).slice(0, 100)] {
            assert!(loans.lend(&batch).is_none());
        }
    }

    #[test]
    fn other_bytes_and_values_are_errors() {
        let loans = Transfers::default();
        let one = batch(texts(|row| row.to_string()));
        let (loan, _) = loans.lend(&one).expect("others can read it");
        let schema = one.schema();
        for length in 0..loan.len() {
            assert!(read(&loan[..length], &schema, &here()).is_err(), "{length}");
        }
        assert!(read(&[&loan[..], &[0]].concat(), &schema, &here()).is_err());
        assert!(read(&loan, &batch(numbers()).schema(), &here()).is_err(), "it has another kind");
        assert!(number(&super::super::encode(&one).expect("it can be encoded")).is_none());
        // A view that claims more than it holds, one with something behind its value, and one that is no text.
        for wrong in [13_u128, 1 | 0x6161 << 32, 2 | 0xffff << 32] {
            let mut views = one.column(0).as_string_view().views().to_vec();
            views[77] = wrong;
            let mut made = loan.clone();
            made[13..].copy_from_slice(&(views.as_ptr() as u64).to_le_bytes());
            assert!(read(&made, &schema, &here()).is_err(), "{wrong:x}");
        }
    }
}
