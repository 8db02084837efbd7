//! Renames columns of equal names, in forms that can't hold them.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::{Error, Result, ResultWriter};

/// The schema with names that differ; `None` if they differ already.
pub fn distinct(schema: &SchemaRef) -> Option<SchemaRef> {
    let names = schema::names::distinct(schema.fields().iter().map(|f| f.name().as_str()))?;
    let fields = schema.fields().iter().zip(names).map(|(f, name)| f.as_ref().clone().with_name(name));
    Some(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// The same columns under the names of this schema.
pub fn renamed(batch: &RecordBatch, schema: &SchemaRef) -> formats::Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)
        .map_err(|e| formats::Error::Unsupported(e.to_string()))
}

/// A writer that makes the names of columns differ, and passes rows on to another writer.
pub struct Distinct {
    inner: Box<dyn ResultWriter>,
    schema: Option<SchemaRef>,
}

impl Distinct {
    /// Passes rows on to `inner`.
    pub fn new(inner: Box<dyn ResultWriter>) -> Distinct {
        Distinct { inner, schema: None }
    }
}

impl ResultWriter for Distinct {
    fn begin(&mut self, schema: &SchemaRef) -> Result<()> {
        self.schema = distinct(schema);
        self.inner.begin(self.schema.as_ref().unwrap_or(schema))
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(schema) = &self.schema else { return self.inner.batch(batch) };
        self.inner.batch(&renamed(batch, schema).map_err(Error::Format)?)
    }

    fn end(&mut self) -> Result<()> {
        self.inner.end()
    }

    fn warning(&self) -> Option<String> {
        self.inner.warning()
    }
}
