//! Sorts, or keeps the first rows of an order.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ord::sort::{SortColumn, lexsort_to_indices};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use queries::plan::SortKey;

use super::{Ready, evaluate, rows_of, slices};
use crate::batch::{BATCH_ROWS, Parcel, batch_bytes, compact};
use crate::error::Result;
use crate::memory;
use crate::operator::{Operator, Pull};

/// Sorts all rows; with `fetch` it keeps only so many of the first ones (top-k).
pub struct Sort {
    keys: Vec<SortKey>,
    fetch: Option<usize>,
    schema: SchemaRef,
    kept: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    ready: Ready,
}

impl Sort {
    /// Sorts batches of `schema`.
    pub fn new(keys: Vec<SortKey>, fetch: Option<usize>, schema: SchemaRef) -> Sort {
        Sort { keys, fetch, schema, kept: Vec::new(), rows: 0, bytes: 0, ready: Ready::default() }
    }

    /// All rows kept, in order, cut to `fetch`.
    fn sorted(&mut self) -> Result<RecordBatch> {
        // Concatenating takes the rows once more, and sorting an index beside them.
        memory::check(self.bytes + self.rows * 8, || "sort".into())?;
        let all = concat_batches(&self.schema, &self.kept)?;
        self.kept.clear();
        if all.num_rows() == 0 || self.fetch == Some(0) {
            return Ok(all.slice(0, 0));
        }
        let columns: Vec<ArrayRef> =
            self.keys.iter().map(|k| evaluate(&k.expr, &all)).collect::<Result<_>>()?;
        Ok(take_record_batch(&all, &sorted_indices(&self.keys, columns, self.fetch)?)?)
    }
}

/// The order of the rows of key columns, the first `fetch` of them.
fn sorted_indices(
    keys: &[SortKey],
    columns: Vec<ArrayRef>,
    fetch: Option<usize>,
) -> Result<arrow_array::UInt32Array> {
    if columns.len() == 1 {
        let columns = [SortColumn { values: columns[0].clone(), options: Some(keys[0].options) }];
        return Ok(lexsort_to_indices(&columns, fetch)?);
    }
    // Several keys: rows of bytes that compare like the values.
    let fields = keys.iter().zip(&columns);
    let fields = fields.map(|(k, c)| SortField::new_with_options(c.data_type().clone(), k.options)).collect();
    let rows = RowConverter::new(fields)?.convert_columns(&columns)?;
    let mut order: Vec<u32> = (0..rows.num_rows() as u32).collect();
    let compare = |a: &u32, b: &u32| rows.row(*a as usize).cmp(&rows.row(*b as usize));
    if let Some(n) = fetch
        && n < order.len()
    {
        order.select_nth_unstable_by(n, compare);
        order.truncate(n);
    }
    order.sort_unstable_by(compare);
    Ok(order.into())
}

impl Operator for Sort {
    fn push(&mut self, _port: usize, parcel: Parcel) -> Result<()> {
        let batch = compact(rows_of(&parcel));
        self.rows += batch.num_rows();
        self.bytes += batch_bytes(&batch);
        self.kept.push(batch);
        // A top-k is cut back whenever it has several times the rows that it needs.
        if let Some(n) = self.fetch
            && self.rows >= n.saturating_mul(4).max(16 * BATCH_ROWS)
        {
            let first = compact(&self.sorted()?);
            (self.rows, self.bytes) = (first.num_rows(), batch_bytes(&first));
            self.kept.push(first);
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        let sorted = self.sorted()?;
        slices(sorted, BATCH_ROWS).for_each(|b| self.ready.add(b));
        Ok(())
    }

    fn kept(&self) -> usize {
        self.bytes
    }

    fn pull(&mut self) -> Result<Pull> {
        Ok(self.ready.pull())
    }
}
