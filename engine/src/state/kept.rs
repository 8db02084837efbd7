//! The rows of a stage that several others read.
//!
//! The rows are kept until nothing reads them any more: in memory, and beyond a part of the memory limit on disk. Each
//! process of a query keeps the rows that its own workers gave, and its own workers read them: no row moves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::spill::{Spill, Spilled};
use crate::context::memory::{self, Account, Holder};
use crate::dataflow::batch::{batch_bytes, compact};
use crate::error::Result;

/// The rows of all stages of a query that are kept in memory take at most this part of its memory limit (1/4). More rows
/// go to disk.
const PART_OF_LIMIT: u64 = 4;

/// The help of an error: how less is kept.
const FEWER_KEPT_ROWS: &str = "read fewer columns or rows of what is computed once";

/// A batch of kept rows.
#[derive(Debug)]
enum Stored {
    Memory(RecordBatch),
    Disk(Spilled),
}

/// Takes the rows of a stage. Several threads may give it batches at once.
pub struct StageRows {
    schema: SchemaRef,
    account: Arc<Account>,
    holder: Arc<Holder>,
    /// The most bytes that may stay in memory.
    most: usize,
    label: String,
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    batches: Vec<Stored>,
    rows: usize,
    /// The bytes of those in memory.
    bytes: usize,
    disk: Disk,
}

#[derive(Debug, Default)]
enum Disk {
    #[default]
    Unused,
    Used(Spill),
    /// The system can't make a file: all rows stay in memory.
    Refused,
}

impl StageRows {
    /// Keeps batches of `schema` for the query of `account`. Its stages keep `others` bytes in memory already. `label` names
    /// the stage in errors.
    pub fn new(schema: SchemaRef, label: String, account: &Arc<Account>, others: usize) -> StageRows {
        let _entered = account.enter();
        let part = memory::limit().min(account.limit()) / PART_OF_LIMIT;
        let most = usize::try_from(part).unwrap_or(usize::MAX).saturating_sub(others);
        let holder = Holder::new(label.clone(), FEWER_KEPT_ROWS);
        StageRows { schema, account: account.clone(), holder, most, label, rows: Mutex::default() }
    }

    /// Keeps a batch behind those that it was given before.
    ///
    /// # Errors
    /// The memory limit is reached, or the disk is full or fails.
    pub fn keep(&self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let _entered = self.account.enter();
        let batch = compact(batch);
        let bytes = batch_bytes(&batch);
        let mut rows = self.rows.lock().expect("a panic with this lock ends the query");
        rows.rows += batch.num_rows();
        let is_much = rows.bytes.saturating_add(bytes) > self.most || memory::is_short(bytes as u64);
        // A batch without columns takes no memory.
        if is_much && batch.num_columns() > 0 {
            if matches!(rows.disk, Disk::Unused) {
                rows.disk = Spill::begin().map_or(Disk::Refused, Disk::Used);
            }
            if let Disk::Used(spill) = &mut rows.disk {
                let written = spill.write(std::slice::from_ref(&batch))?;
                rows.batches.extend(written.into_iter().map(Stored::Disk));
                return Ok(());
            }
        }
        memory::check(bytes, || self.label.clone())?;
        rows.bytes += bytes;
        rows.batches.push(Stored::Memory(batch));
        self.holder.keeps(rows.bytes);
        Ok(())
    }

    /// The bytes of the rows that are in memory now.
    pub fn bytes_in_memory(&self) -> usize {
        self.rows.lock().expect("a panic with this lock ends the query").bytes
    }

    /// The rows, once all were given.
    pub fn finish(&self) -> Kept {
        let rows = std::mem::take(&mut *self.rows.lock().expect("a panic with this lock ends the query"));
        let Rows { batches, rows, bytes, disk } = rows;
        let disk = match disk {
            Disk::Used(spill) => Some(spill),
            Disk::Unused | Disk::Refused => None,
        };
        Kept { schema: self.schema.clone(), batches, rows, bytes, disk, _holder: self.holder.clone() }
    }
}

/// The rows of a stage that has ended. The memory is freed, and the file is gone, when this is dropped.
#[derive(Debug)]
pub struct Kept {
    schema: SchemaRef,
    batches: Vec<Stored>,
    rows: usize,
    bytes: usize,
    disk: Option<Spill>,
    _holder: Arc<Holder>,
}

impl Kept {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes of the rows in memory.
    pub fn bytes_in_memory(&self) -> usize {
        self.bytes
    }

    /// The bytes of the rows on disk.
    pub fn bytes_on_disk(&self) -> u64 {
        self.disk.as_ref().map_or(0, Spill::bytes)
    }

    /// The batch of this number; `None` behind the last one.
    ///
    /// # Errors
    /// The disk fails.
    fn batch(&self, number: usize) -> Result<Option<RecordBatch>> {
        match (self.batches.get(number), &self.disk) {
            (Some(Stored::Memory(batch)), _) => Ok(Some(batch.clone())),
            (Some(Stored::Disk(spilled)), Some(spill)) => spill.read(spilled, &self.schema).map(Some),
            (Some(Stored::Disk(_)), None) | (None, _) => Ok(None),
        }
    }
}

/// One reading of kept rows, by the workers of a process together.
#[derive(Debug)]
pub struct Reading {
    rows: Arc<Kept>,
    /// The number of the batch that the next worker takes.
    next: AtomicUsize,
}

impl Reading {
    /// Reads all rows once.
    pub fn new(rows: Arc<Kept>) -> Reading {
        Reading { rows, next: AtomicUsize::new(0) }
    }

    /// The next batch and its number; `None` once there are no more.
    ///
    /// # Errors
    /// The disk fails.
    pub fn take(&self) -> Result<Option<(usize, RecordBatch)>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Ok(self.rows.batch(number)?.map(|batch| (number, batch)))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    fn batch(from: i64) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(from..from + 1000));
        RecordBatch::try_from_iter([("x", column)]).unwrap()
    }

    #[test]
    fn rows_beyond_a_part_of_the_limit_lie_on_disk() {
        let account = Account::new(160_000);
        let keeper = StageRows::new(batch(0).schema(), "shared rows 0".into(), &account, 0);
        for number in 0..10 {
            keeper.keep(&batch(number * 1000)).unwrap();
        }
        let kept = Arc::new(keeper.finish());
        // A quarter of the limit holds four batches of about 8,064 bytes.
        assert_eq!(account.kept(), 4 * batch_bytes(&batch(0)) as u64);
        assert!(kept.bytes_on_disk() >= 6 * 8000, "{}", kept.bytes_on_disk());
        for _ in 0..2 {
            let reading = Reading::new(kept.clone());
            for number in 0..10 {
                assert_eq!(reading.take().unwrap(), Some((number, batch(number as i64 * 1000))));
            }
            assert_eq!(reading.take().unwrap(), None);
        }
        drop((keeper, kept));
        assert_eq!(account.kept(), 0, "what is dropped is kept no more");
    }

    #[test]
    fn what_other_stages_keep_counts() {
        let account = Account::new(160_000);
        let keeper = StageRows::new(batch(0).schema(), "shared rows 1".into(), &account, 39_000);
        keeper.keep(&batch(0)).unwrap();
        assert_eq!((account.kept(), keeper.finish().bytes_in_memory()), (0, 0));
    }
}
