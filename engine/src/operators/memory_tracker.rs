//! Memory tracking: notes how much an operator keeps, for the limit of its query and for the error when memory runs
//! out.

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
    /// Tracks `operator`. `label` is its name in EXPLAIN. `help` says how the user can make it keep less.
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
        // `end` may make the operator keep much more at once.
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
