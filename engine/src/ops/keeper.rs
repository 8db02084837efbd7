//! Notes how much an operator keeps, against the limit of its query and for the message when memory runs out.

use std::sync::Arc;

use crate::batch::Parcel;
use crate::error::Result;
use crate::memory::{self, Holder};
use crate::operator::{Operator, Pull};

/// An operator whose [`Operator::kept`] is noted.
pub struct Keeper<O> {
    operator: O,
    holder: Arc<Holder>,
}

impl<O: Operator> Keeper<O> {
    /// `label` is what EXPLAIN calls the operator, `help` what would lessen what it keeps.
    pub fn new(operator: O, label: String, help: &'static str) -> Keeper<O> {
        Keeper { operator, holder: Holder::new(label, help) }
    }
}

impl<O: Operator> Operator for Keeper<O> {
    fn push(&mut self, port: usize, parcel: Parcel) -> Result<()> {
        self.operator.push(port, parcel)?;
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
