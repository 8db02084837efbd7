//! Gives constant batches, on worker 0.

use arrow_array::RecordBatch;

use super::Ready;
use crate::dataflow::batch::ExchangeBatch;
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// Gives constant batches.
pub struct Values {
    ready: Ready,
}

impl Values {
    /// Gives `batches` if this is worker 0, else nothing.
    pub fn new(batches: &[RecordBatch], worker: usize) -> Values {
        let mut ready = Ready::default();
        if worker == 0 {
            batches.iter().for_each(|b| ready.add(b.clone()));
        }
        Values { ready }
    }
}

impl Operator for Values {
    fn push(&mut self, _port: usize, _given: ExchangeBatch) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        Ok(self.ready.pull())
    }
}
