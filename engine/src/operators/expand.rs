//! Gives each row once for each grouping set.

use arrow_schema::SchemaRef;
use queries::plan::Expr;

use super::{Ready, evaluate_all, rows_of};
use crate::dataflow::batch::{ExchangeBatch, batch_of};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// Projects each batch once for each grouping set.
pub struct Expand {
    sets: Vec<Vec<Expr>>,
    schema: SchemaRef,
    ready: Ready,
}

impl Expand {
    /// Gives batches of `schema`.
    pub fn new(sets: Vec<Vec<Expr>>, schema: SchemaRef) -> Expand {
        Expand { sets, schema, ready: Ready::default() }
    }
}

impl Operator for Expand {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let batch = rows_of(&given);
        for set in &self.sets {
            let columns = evaluate_all(set, batch)?;
            self.ready.add(batch_of(&self.schema, columns, batch.num_rows())?);
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        Ok(self.ready.pull())
    }
}
