//! Puts the rows of all workers into the order of their table, on worker 0.

use std::collections::VecDeque;

use super::rows_of;
use crate::dataflow::batch::{ExchangeBatch, batch_bytes};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::{Error, Result};

/// Arranges the rows of all workers in the order of their table.
///
/// Each worker sends its rows split by split, in the order of the table, and each split belongs to one worker. So the
/// next rows are those of the worker that is at the first split. A worker at a later split has no rows before it.
///
/// Each sender has credit of its own. A sender that is ahead must not use up the credit of the sender at the first
/// split.
pub struct InOrder {
    senders: Vec<Sender>,
    /// The bytes of the batches that wait, about.
    kept: usize,
}

#[derive(Default)]
struct Sender {
    /// The batches of the sender that are not given yet. They keep their credit.
    waiting: VecDeque<ExchangeBatch>,
    at: At,
}

/// How far a sender has come.
#[derive(Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// The sender has not begun a split yet.
    #[default]
    Unknown,
    Piece(u64),
    End,
}

impl Sender {
    /// Takes the batches that say how far the sender has come, up to its next rows.
    fn advance(&mut self) {
        while let Some(given) = self.waiting.front() {
            self.at = match (given.begins, given.last) {
                (Some(piece), _) => At::Piece(piece),
                (None, true) => At::End,
                (None, false) => return,
            };
            self.waiting.pop_front();
        }
    }
}

impl InOrder {
    /// Arranges the rows of so many workers.
    pub fn new(peers: usize) -> InOrder {
        InOrder { senders: (0..peers).map(|_| Sender::default()).collect(), kept: 0 }
    }
}

impl Operator for InOrder {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let Some(sender) = self.senders.get_mut(given.source as usize) else {
            return Err(Error::Wire(format!("there is no worker {}", given.source)));
        };
        if given.begins.is_none() && !given.last {
            self.kept += batch_bytes(rows_of(&given));
        }
        sender.waiting.push_back(given);
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        self.senders.iter_mut().for_each(Sender::advance);
        let first = self.senders.iter_mut().min_by_key(|sender| sender.at);
        let Some(given) = first.and_then(|sender| match sender.at {
            At::Unknown | At::End => None,
            At::Piece(_) => sender.waiting.pop_front(),
        }) else {
            return Ok(Pull::Empty);
        };
        self.kept -= batch_bytes(rows_of(&given));
        Ok(Pull::Batch(given))
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn takes_beginnings(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, RecordBatch};

    use super::*;

    enum Sent {
        Begins(u64),
        Row(i64),
        Last,
    }
    use Sent::{Begins, Last, Row};

    fn push(arrange: &mut InOrder, source: u32, sent: &Sent) {
        let row = if let Row(row) = sent { Some(*row) } else { None };
        let column = Arc::new(Int64Array::from_iter_values(row));
        let batch = RecordBatch::try_from_iter([("n", column as _)]).expect("one column is a batch");
        let begins = if let Begins(piece) = sent { Some(*piece) } else { None };
        let given =
            ExchangeBatch { source, begins, last: matches!(sent, Last), ..ExchangeBatch::from(batch) };
        arrange.push(0, given).expect("the sender is known");
    }

    fn pulled(arrange: &mut InOrder) -> Vec<i64> {
        let mut rows = Vec::new();
        while let Pull::Batch(given) = arrange.pull().expect("nothing fails here") {
            let batch = given.batch.expect("it was pushed with rows");
            rows.push(batch.column(0).as_primitive::<Int64Type>().value(0));
        }
        rows
    }

    #[test]
    fn rows_are_given_as_soon_as_no_earlier_ones_can_come() {
        let mut arrange = InOrder::new(3);
        push(&mut arrange, 1, &Begins(1));
        push(&mut arrange, 1, &Row(10));
        // The other workers may have splits before that one.
        assert_eq!(pulled(&mut arrange), [0; 0]);
        push(&mut arrange, 0, &Begins(0));
        push(&mut arrange, 0, &Row(1));
        assert_eq!(pulled(&mut arrange), [0; 0]);
        push(&mut arrange, 2, &Last);
        assert_eq!(pulled(&mut arrange), [1]);
        push(&mut arrange, 0, &Row(2));
        push(&mut arrange, 1, &Row(11));
        push(&mut arrange, 1, &Begins(3));
        push(&mut arrange, 1, &Row(30));
        assert_eq!(pulled(&mut arrange), [2]);
        push(&mut arrange, 0, &Begins(2));
        assert_eq!(pulled(&mut arrange), [10, 11]);
        push(&mut arrange, 0, &Row(20));
        push(&mut arrange, 0, &Last);
        assert_eq!(pulled(&mut arrange), [20, 30]);
        push(&mut arrange, 1, &Last);
        assert_eq!((pulled(&mut arrange), arrange.kept()), (vec![], 0));
    }
}
