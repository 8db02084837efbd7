//! The end of a plan whose rows stay in the process: each worker hands its own on.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::rows_of;
use crate::dataflow::batch::ExchangeBatch;
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// Takes batches. Several workers may give it some at once.
pub trait Absorber: Send + Sync {
    /// Takes a batch.
    ///
    /// # Errors
    /// The memory limit is reached, or the disk is full or fails.
    fn absorb(&self, batch: &RecordBatch) -> Result<()>;
}

/// Hands batches to an [`Absorber`].
pub struct Absorb(Arc<dyn Absorber>);

impl Absorb {
    /// Hands batches to `to`.
    pub fn new(to: Arc<dyn Absorber>) -> Absorb {
        Absorb(to)
    }
}

impl Operator for Absorb {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        self.0.absorb(rows_of(&given))
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        Ok(Pull::Empty)
    }
}
