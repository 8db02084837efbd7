//! Partitions rows by their values.
//!
//! The partitioner holds rows in chunks, each row with the number of its partition. When it holds more bytes than a
//! bound, it gives full blocks of partitions away. Then it gives all rows of the largest partitions away, until it
//! holds at most half of the bound.
//!
//! The rows that stay are copied into new chunks. At least half of the held bytes go each time, so that a row is copied
//! about twice, however many partitions there are.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave;
use formats::discover::hive;
use formats::rows::cells::Written;

use super::Partition;
use super::columns::NAME_BYTES;
use crate::dataflow::batch::{batch_bytes, compact, copied};
use crate::error::{PartitionError, Result};

/// The rows of a chunk. After each chunk the partitioner checks how much it holds.
pub const CHUNK_ROWS: usize = 1 << CHUNK_BITS;
const CHUNK_BITS: u32 = 13;

/// The bytes that a held row takes beside its values: for the number of its partition, and for its place when it goes.
const PLACE_BYTES: usize = 8;

/// Rows that go into the files of one partition, in their order.
pub struct RowsOfPartition {
    pub partition: Arc<Partition>,
    chunks: Arc<Vec<RecordBatch>>,
    places: Vec<Place>,
}

/// The place of a row: the number of its chunk, and in the lowest [`CHUNK_BITS`] bits its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(u32);

impl Place {
    fn new(chunk: usize, row: usize) -> Place {
        // A full chunk takes 64 KiB for places alone, and at most 256 MiB are held: that is 4,096 chunks.
        debug_assert!(chunk < 1 << (u32::BITS - CHUNK_BITS) && row < CHUNK_ROWS);
        Place((chunk as u32) << CHUNK_BITS | row as u32)
    }

    fn chunk_and_row(self) -> (usize, usize) {
        ((self.0 >> CHUNK_BITS) as usize, self.0 as usize & (CHUNK_ROWS - 1))
    }
}

impl RowsOfPartition {
    /// Copies the rows into one batch.
    pub fn gather(&self) -> Result<RecordBatch> {
        gather(&self.chunks, &self.places)
    }
}

/// Copies rows into one batch. The places of one chunk's rows stand side by side.
fn gather(chunks: &[RecordBatch], places: &[Place]) -> Result<RecordBatch> {
    let mut used: Vec<usize> = Vec::new();
    let in_used = |place: &Place| {
        let (chunk, row) = place.chunk_and_row();
        if used.last() != Some(&chunk) {
            used.push(chunk);
        }
        (used.len() - 1, row)
    };
    let places: Vec<(usize, usize)> = places.iter().map(in_used).collect();
    let schema = chunks[0].schema();
    let column = |column: usize| -> Result<ArrayRef> {
        let arrays: Vec<_> = used.iter().map(|&chunk| chunks[chunk].column(column).as_ref()).collect();
        Ok(interleave(&arrays, &places)?)
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

/// A partition with the rows that are held of it.
struct Held {
    partition: Arc<Partition>,
    rows: usize,
    /// The bytes of `rows`, about: all rows of a chunk count as equally large.
    bytes: usize,
}

/// Partitions rows, see the module.
pub struct Partitioner {
    by: Vec<usize>,
    names: Vec<String>,
    /// The other columns, which are in the files.
    left: Vec<usize>,
    block_rows: usize,
    bound: usize,
    converter: RowConverter,
    /// The number of the partition of each combination of values.
    by_values: HashMap<Box<[u8]>, u32>,
    /// The number of the partition of each directory. Several values may have one text, such as the NaNs.
    by_directory: HashMap<String, u32>,
    partitions: Vec<Held>,
    /// The rows of the chunk that is not complete.
    begun: Vec<RecordBatch>,
    begun_rows: usize,
    /// The chunks that are held, without the columns of `by`.
    chunks: Vec<RecordBatch>,
    /// The partition of each row of `chunks`.
    numbers: Vec<Vec<u32>>,
    /// The bytes of all held rows, about.
    bytes: usize,
}

impl Partitioner {
    /// Partitions rows by the columns `by`, into blocks of `block_rows` rows. It holds about `bound` bytes at most.
    pub fn new(schema: &SchemaRef, by: &[usize], block_rows: usize, bound: usize) -> Result<Partitioner> {
        let fields = by.iter().map(|&column| SortField::new(schema.field(column).data_type().clone()));
        Ok(Partitioner {
            by: by.to_vec(),
            names: by.iter().map(|&column| schema.field(column).name().clone()).collect(),
            left: (0..schema.fields().len()).filter(|column| !by.contains(column)).collect(),
            block_rows: block_rows.max(1),
            bound,
            converter: RowConverter::new(fields.collect())?,
            by_values: HashMap::new(),
            by_directory: HashMap::new(),
            partitions: Vec::new(),
            begun: Vec::new(),
            begun_rows: 0,
            chunks: Vec::new(),
            numbers: Vec::new(),
            bytes: 0,
        })
    }

    /// Takes rows, and appends the rows that go to `gone`.
    pub fn add(&mut self, mut batch: RecordBatch, gone: &mut Vec<RowsOfPartition>) -> Result<()> {
        while batch.num_rows() > 0 {
            let taken = batch.num_rows().min(CHUNK_ROWS - self.begun_rows);
            self.begun.push(batch.slice(0, taken));
            self.begun_rows += taken;
            batch = batch.slice(taken, batch.num_rows() - taken);
            if self.begun_rows == CHUNK_ROWS {
                self.end_chunk()?;
                if self.bytes > self.bound {
                    self.give_away(false, gone)?;
                }
            }
        }
        Ok(())
    }

    /// Appends all held rows to `gone`.
    pub fn finish(&mut self, gone: &mut Vec<RowsOfPartition>) -> Result<()> {
        self.end_chunk()?;
        self.give_away(true, gone)
    }

    fn end_chunk(&mut self) -> Result<()> {
        let pieces = std::mem::take(&mut self.begun);
        self.begun_rows = 0;
        // A batch is a slice of larger batches, which would stay in memory with it.
        let chunk = match pieces.as_slice() {
            [] => return Ok(()),
            [piece] => copied(piece),
            [first, ..] => compact(&concat_batches(&first.schema(), &pieces)?),
        };
        let each = batch_bytes(&chunk) / chunk.num_rows() + PLACE_BYTES;
        let numbers = self.numbers_of(&chunk)?;
        for &number in &numbers {
            let held = &mut self.partitions[number as usize];
            (held.rows, held.bytes) = (held.rows + 1, held.bytes + each);
        }
        self.bytes += each * numbers.len();
        self.chunks.push(chunk.project(&self.left)?);
        self.numbers.push(numbers);
        Ok(())
    }

    /// The number of the partition of each row.
    fn numbers_of(&mut self, chunk: &RecordBatch) -> Result<Vec<u32>> {
        let values = chunk.project(&self.by)?;
        let rows = self.converter.convert_columns(values.columns())?;
        let mut numbers: Vec<u32> = Vec::with_capacity(chunk.num_rows());
        let mut written = None;
        for row in 0..chunk.num_rows() {
            let key = rows.row(row);
            // Rows of one partition often stand side by side.
            if row > 0 && key == rows.row(row - 1) {
                numbers.push(numbers[row - 1]);
                continue;
            }
            if let Some(&number) = self.by_values.get(key.as_ref()) {
                numbers.push(number);
                continue;
            }
            let written = match &mut written {
                Some(written) => written,
                none => none.insert(Written::columns(&values)?),
            };
            let directory = directory(&self.names, written, row)?;
            let new = self.partitions.len();
            let number = *self.by_directory.entry(directory.clone()).or_insert(new as u32);
            if number as usize == new {
                let partition = Arc::new(Partition { number: new, directory });
                self.partitions.push(Held { partition, rows: 0, bytes: 0 });
            }
            self.by_values.insert(key.as_ref().into(), number);
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Appends all rows to `gone`, or so many that at most half of the bound is still held.
    fn give_away(&mut self, all: bool, gone: &mut Vec<RowsOfPartition>) -> Result<()> {
        let going = self.choose(all);
        let (mut lists, mut staying) = (vec![Vec::new(); going.len()], Vec::new());
        for (chunk, numbers) in self.numbers.iter().enumerate() {
            for (row, &number) in numbers.iter().enumerate() {
                let list = &mut lists[number as usize];
                match list.len() < going[number as usize] {
                    true => list.push(Place::new(chunk, row)),
                    false => staying.push((Place::new(chunk, row), number)),
                }
            }
        }
        let chunks = Arc::new(std::mem::take(&mut self.chunks));
        self.numbers.clear();
        for (held, list) in self.partitions.iter().zip(&lists) {
            gone.extend(list.chunks(self.block_rows).map(|places| RowsOfPartition {
                partition: held.partition.clone(),
                chunks: chunks.clone(),
                places: places.to_vec(),
            }));
        }
        for chunk in staying.chunks(CHUNK_ROWS) {
            let places: Vec<Place> = chunk.iter().map(|(place, _)| *place).collect();
            self.chunks.push(compact(&gather(&chunks, &places)?));
            self.numbers.push(chunk.iter().map(|(_, number)| *number).collect());
        }
        Ok(())
    }

    /// The number of rows of each partition that go, which are its first rows. Subtracts them from what is held.
    fn choose(&mut self, all: bool) -> Vec<usize> {
        let mut going = vec![0; self.partitions.len()];
        let mut go = |partitions: &mut [Held], bytes: &mut usize, number: usize, rows: usize| {
            let held = &mut partitions[number];
            let part = (held.bytes as u128 * rows as u128 / held.rows.max(1) as u128) as usize;
            (held.rows, held.bytes) = (held.rows - rows, held.bytes - part);
            *bytes -= part;
            going[number] += rows;
        };
        let mut order: Vec<usize> = (0..self.partitions.len()).collect();
        for &number in &order {
            let rows = self.partitions[number].rows;
            let rows = if all { rows } else { rows - rows % self.block_rows };
            go(&mut self.partitions, &mut self.bytes, number, rows);
        }
        order.sort_by_key(|&number| (std::cmp::Reverse(self.partitions[number].bytes), number));
        for number in order {
            if self.bytes <= self.bound / 2 {
                break;
            }
            let rows = self.partitions[number].rows;
            go(&mut self.partitions, &mut self.bytes, number, rows);
        }
        going
    }
}

/// The directory of a row.
fn directory(names: &[String], columns: &[Written], row: usize) -> Result<String> {
    let mut path = String::new();
    for (name, column) in names.iter().zip(columns) {
        let mut text = Vec::new();
        if !column.is_null(row) {
            column.cells.print(row, &mut text);
        }
        let text = String::from_utf8_lossy(&text);
        let directory = hive::directory(name, (!column.is_null(row)).then_some(&text));
        if directory.len() > NAME_BYTES {
            let (column, bytes) = (name.clone(), directory.len());
            let value = text.chars().take(40).collect();
            return Err(PartitionError::Long { column, bytes, most: NAME_BYTES, value }.into());
        }
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(&directory);
    }
    Ok(path)
}

/// The directory of rows that have no value in any of the columns.
pub fn directory_of_nulls(schema: &Schema, by: &[usize]) -> String {
    let names = by.iter().map(|&column| hive::directory(schema.field(column).name(), None));
    names.collect::<Vec<_>>().join("/")
}
