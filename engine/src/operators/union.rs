//! All rows of all inputs.

use arrow_schema::SchemaRef;

use super::{Ready, rows_of};
use crate::dataflow::batch::{ExchangeBatch, batch_of};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// Passes on the batches of every port, under one schema.
pub struct Union {
    schema: SchemaRef,
    ready: Ready,
}

impl Union {
    /// Gives batches of `schema`.
    pub fn new(schema: SchemaRef) -> Union {
        Union { schema, ready: Ready::default() }
    }
}

impl Operator for Union {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let batch = rows_of(&given);
        self.ready.add(batch_of(&self.schema, batch.columns().to_vec(), batch.num_rows())?);
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        Ok(self.ready.pull())
    }
}
