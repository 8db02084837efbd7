//! Computes columns.

use arrow_schema::SchemaRef;
use queries::plan::Expr;

use super::{Ready, evaluate_all, rows_of};
use crate::dataflow::batch::{ExchangeBatch, batch_of};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// Computes one column for each expression.
pub struct Project {
    exprs: Vec<Expr>,
    schema: SchemaRef,
    ready: Ready,
}

impl Project {
    /// Gives batches of `schema`.
    pub fn new(exprs: Vec<Expr>, schema: SchemaRef) -> Project {
        Project { exprs, schema, ready: Ready::default() }
    }
}

impl Operator for Project {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let batch = rows_of(&given);
        let columns = evaluate_all(&self.exprs, batch)?;
        self.ready.add(batch_of(&self.schema, columns, batch.num_rows())?);
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        Ok(self.ready.pull())
    }
}
