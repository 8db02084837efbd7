//! Notes how much an operator keeps, against the limit of its query and for the message when memory runs out.

use std::sync::Arc;

use crate::context::memory::{self, Holder};
use crate::dataflow::batch::ExchangeBatch;
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// An operator whose [`Operator::kept`] is noted.
pub struct MemoryTracker<O> {
    operator: O,
    holder: Arc<Holder>,
}

impl<O: Operator> MemoryTracker<O> {
    /// `label` is what EXPLAIN calls the operator, `help` what would lessen what it keeps.
    pub fn new(operator: O, label: String, help: &'static str) -> MemoryTracker<O> {
        MemoryTracker { operator, holder: Holder::new(label, help) }
    }
}

impl<O: Operator> Operator for MemoryTracker<O> {
    fn push(&mut self, port: usize, given: ExchangeBatch) -> Result<()> {
        self.operator.push(port, given)?;
        if memory::is_counted() {
            self.holder.keeps(self.operator.kept());
        }
        Ok(())
    }

    fn end(&mut self, port: usize) -> Result<()> {
        // What is kept may grow much at once now.
        self.holder.keeps(self.operator.kept());
        self.operator.end(port)
    }

    fn pull(&mut self) -> Result<Pull> {
        self.operator.pull()
    }

    fn kept(&self) -> usize {
        self.operator.kept()
    }

    fn wants(&self, port: usize) -> bool {
        self.operator.wants(port)
    }

    fn flush(&mut self) -> Result<()> {
        self.operator.flush()
    }

    fn takes_beginnings(&self) -> bool {
        self.operator.takes_beginnings()
    }
}
