//! Repeats rows.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take;

use super::rows_of;
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch, batch_of};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// Gives each row as often as its last column says (a 64-bit integer that is not NULL), without that column.
pub struct Repeat {
    schema: SchemaRef,
    /// The batch at hand, the row of it that is next, and how often that has been given.
    current: Option<(RecordBatch, usize, usize)>,
}

impl Repeat {
    /// Gives batches of `schema`.
    pub fn new(schema: SchemaRef) -> Repeat {
        Repeat { schema, current: None }
    }
}

impl Operator for Repeat {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        self.current = Some((rows_of(&given).clone(), 0, 0));
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        let Some((batch, row, given)) = &mut self.current else { return Ok(Pull::Empty) };
        let width = self.schema.fields().len();
        let times = batch.column(width).as_primitive::<Int64Type>();
        let mut rows: Vec<u32> = Vec::new();
        while rows.len() < BATCH_ROWS && *row < batch.num_rows() {
            let left = usize::try_from(times.value(*row)).unwrap_or(0) - *given;
            let now = left.min(BATCH_ROWS - rows.len());
            rows.extend(std::iter::repeat_n(*row as u32, now));
            (*row, *given) = if now == left { (*row + 1, 0) } else { (*row, *given + now) };
        }
        if rows.is_empty() {
            self.current = None;
            return Ok(Pull::Empty);
        }
        let (count, rows) = (rows.len(), UInt32Array::from(rows));
        let columns =
            batch.columns()[..width].iter().map(|c| Ok(take(c, &rows, None)?)).collect::<Result<_>>()?;
        Ok(Pull::Batch(ExchangeBatch::from(batch_of(&self.schema, columns, count)?)))
    }
}
