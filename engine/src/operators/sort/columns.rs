//! Rows of many batches, taken by their places.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch, downcast_primitive};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::interleave::interleave;

use crate::dataflow::batch::{BATCH_ROWS, batch_of};
use crate::error::Result;

/// The bits of a place that are the row in its batch. The upper ones are the number of the batch.
const ROW_BITS: u32 = BATCH_ROWS.ilog2();

/// The most batches whose rows have places.
pub const MOST_BATCHES: usize = 1 << (u32::BITS - ROW_BITS);

/// The place of the first row of a batch. Those of the others follow.
pub fn first_place(batch: usize) -> u32 {
    debug_assert!(batch < MOST_BATCHES, "a place has 32 bits");
    (batch as u32) << ROW_BITS
}

/// The batch of a place, and the row there.
fn parts(place: u32) -> (usize, usize) {
    ((place >> ROW_BITS) as usize, place as usize % BATCH_ROWS)
}

/// The columns of many batches.
pub struct Columns {
    schema: SchemaRef,
    columns: Vec<Box<dyn Column>>,
}

trait Column {
    /// The values at places.
    fn take(&self, places: &[u32]) -> Result<ArrayRef>;
}

impl Columns {
    /// The columns of batches of `schema`, none of which has more than [`BATCH_ROWS`] rows.
    pub fn new(schema: SchemaRef, batches: &[RecordBatch]) -> Columns {
        let column = |number: usize| -> Box<dyn Column> {
            let arrays = || batches.iter().map(|batch| batch.column(number).clone());
            macro_rules! numbers {
                ($t:ty) => {
                    Box::new(Numbers::<$t>::new(schema.field(number).data_type().clone(), arrays()))
                };
            }
            downcast_primitive! {
                schema.field(number).data_type() => (numbers),
                _ => Box::new(Others(arrays().collect()))
            }
        };
        let columns = (0..schema.fields().len()).map(column).collect();
        Columns { schema, columns }
    }

    /// The rows at places.
    ///
    /// # Errors
    /// Texts of more bytes together than a column can have.
    pub fn take(&self, places: &[u32]) -> Result<RecordBatch> {
        let columns = self.columns.iter().map(|column| column.take(places)).collect::<Result<_>>()?;
        batch_of(&self.schema, columns, places.len())
    }
}

/// A column of values of fixed width.
struct Numbers<T: ArrowPrimitiveType> {
    data_type: DataType,
    values: Vec<ScalarBuffer<T::Native>>,
    /// By batch; empty if no batch has NULLs.
    nulls: Vec<Option<NullBuffer>>,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    fn new(data_type: DataType, arrays: impl Iterator<Item = ArrayRef>) -> Self {
        let (values, mut nulls): (Vec<_>, Vec<_>) = arrays
            .map(|array| {
                let array = array.as_primitive::<T>();
                (array.values().clone(), array.nulls().filter(|nulls| nulls.null_count() > 0).cloned())
            })
            .unzip();
        if nulls.iter().all(Option::is_none) {
            nulls.clear();
        }
        Numbers { data_type, values, nulls }
    }
}

impl<T: ArrowPrimitiveType> Column for Numbers<T> {
    fn take(&self, places: &[u32]) -> Result<ArrayRef> {
        let value = |place: &u32| {
            let (batch, row) = parts(*place);
            self.values[batch][row]
        };
        let values: Vec<T::Native> = places.iter().map(value).collect();
        let is_valid = |index: usize| {
            let (batch, row) = parts(places[index]);
            self.nulls[batch].as_ref().is_none_or(|nulls| nulls.is_valid(row))
        };
        let nulls = match self.nulls.is_empty() {
            true => None,
            false => Some(NullBuffer::new(BooleanBuffer::collect_bool(places.len(), is_valid))),
        };
        let array = PrimitiveArray::<T>::new(values.into(), nulls);
        Ok(Arc::new(array.with_data_type(self.data_type.clone())))
    }
}

/// A column of any type, by batch.
struct Others(Vec<ArrayRef>);

impl Column for Others {
    fn take(&self, places: &[u32]) -> Result<ArrayRef> {
        // Only batches with a row among these are handed over: there may be many more batches than rows.
        let mut batches: Vec<usize> = places.iter().map(|place| parts(*place).0).collect();
        batches.sort_unstable();
        batches.dedup();
        let arrays: Vec<&dyn Array> = batches.iter().map(|batch| self.0[*batch].as_ref()).collect();
        let mut numbers = vec![0; batches.last().map_or(0, |last| last + 1)];
        batches.iter().enumerate().for_each(|(number, batch)| numbers[*batch] = number);
        let rows: Vec<(usize, usize)> = places
            .iter()
            .map(|place| {
                let (batch, row) = parts(*place);
                (numbers[batch], row)
            })
            .collect();
        Ok(interleave(&arrays, &rows)?)
    }
}
