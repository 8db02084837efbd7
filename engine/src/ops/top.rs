//! The first rows of an order (top-k): once there are enough, only rows that come before the last of them are looked at.

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_row::{OwnedRow, RowConverter, Rows, SortField};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use queries::plan::SortKey;

use super::{Ready, evaluate, rows_of, slices};
use crate::batch::{BATCH_ROWS, Parcel, batch_bytes, compact};
use crate::error::Result;
use crate::memory;
use crate::operator::{Operator, Pull};

/// Keeps the first `fetch` rows of an order, and gives them in order at the end.
pub struct Top {
    keys: Vec<SortKey>,
    fetch: usize,
    schema: SchemaRef,
    converter: RowConverter,
    kept: Vec<RecordBatch>,
    rows: usize,
    /// The last of the first `fetch` rows so far.
    last: Option<OwnedRow>,
    ready: Ready,
}

impl Top {
    /// Keeps rows of batches of `schema`.
    pub fn new(keys: Vec<SortKey>, fetch: usize, schema: SchemaRef) -> Result<Top> {
        let fields =
            keys.iter().map(|k| Ok(SortField::new_with_options(k.expr.data_type(&schema)?, k.options)));
        let converter = RowConverter::new(fields.collect::<Result<_>>()?)?;
        Ok(Top {
            keys,
            fetch,
            schema,
            converter,
            kept: Vec::new(),
            rows: 0,
            last: None,
            ready: Ready::default(),
        })
    }

    /// The keys of a batch as bytes that compare like the order.
    fn order(&self, batch: &RecordBatch) -> Result<Rows> {
        let columns: Vec<ArrayRef> =
            self.keys.iter().map(|k| evaluate(&k.expr, batch)).collect::<Result<_>>()?;
        Ok(self.converter.convert_columns(&columns)?)
    }

    /// Cuts what is kept to the first rows, in order.
    fn cut(&mut self) -> Result<()> {
        memory::check(self.kept.iter().map(batch_bytes).sum(), || "top".into())?;
        let all = concat_batches(&self.schema, &self.kept)?;
        let order = self.order(&all)?;
        let mut rows: Vec<u32> = (0..all.num_rows() as u32).collect();
        let compare = |a: &u32, b: &u32| order.row(*a as usize).cmp(&order.row(*b as usize));
        if rows.len() > self.fetch {
            rows.select_nth_unstable_by(self.fetch, compare);
            rows.truncate(self.fetch);
        }
        rows.sort_unstable_by(compare);
        self.last = match rows.last() {
            Some(row) if rows.len() == self.fetch => Some(order.row(*row as usize).owned()),
            _ => None,
        };
        let first = compact(&take_record_batch(&all, &UInt32Array::from(rows))?);
        self.rows = first.num_rows();
        self.kept = vec![first];
        Ok(())
    }
}

impl Operator for Top {
    fn push(&mut self, _port: usize, parcel: Parcel) -> Result<()> {
        let mut batch = rows_of(&parcel).clone();
        if let Some(last) = &self.last {
            let order = self.order(&batch)?;
            let before: BooleanArray = order.iter().map(|row| Some(row < last.row())).collect();
            if before.true_count() == 0 {
                return Ok(());
            }
            batch = filter_record_batch(&batch, &before)?;
        }
        self.rows += batch.num_rows();
        self.kept.push(compact(&batch));
        let enough = self.last.is_none() && self.rows >= self.fetch;
        if enough || self.rows >= self.fetch.saturating_mul(2).max(self.fetch.saturating_add(BATCH_ROWS)) {
            self.cut()?;
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        if self.fetch == 0 || self.kept.is_empty() {
            return Ok(());
        }
        self.cut()?;
        self.kept.drain(..).for_each(|first| slices(first, BATCH_ROWS).for_each(|b| self.ready.add(b)));
        Ok(())
    }

    fn kept(&self) -> usize {
        self.kept.iter().map(batch_bytes).sum()
    }

    fn pull(&mut self) -> Result<Pull> {
        Ok(self.ready.pull())
    }
}
