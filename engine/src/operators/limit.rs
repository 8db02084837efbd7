//! Keeps a range of rows.

use std::rc::Rc;

use queries::plan::{Node, Op, Side};

use super::{Ready, rows_of};
use crate::dataflow::batch::ExchangeBatch;
use crate::dataflow::operator::{Local, Operator, Pull};
use crate::error::Result;

/// Skips `skip` rows and keeps `fetch` rows. Then it tells the operators below that it has enough.
pub struct Limit {
    skip: usize,
    left: Option<usize>,
    below: Node,
    local: Rc<Local>,
    ready: Ready,
}

impl Limit {
    /// Limits the rows of the node `below`.
    pub fn new(skip: usize, fetch: Option<usize>, below: Node, local: Rc<Local>) -> Limit {
        let limit = Limit { skip, left: fetch, below, local, ready: Ready::default() };
        limit.tell();
        limit
    }

    fn tell(&self) {
        if self.left == Some(0) {
            tell_enough(&self.below, self.below.single, &self.local);
            self.local.wake_all();
        }
    }
}

/// Marks the operators whose rows no operator needs any more. If the consumer is on worker 0 alone, it marks them on
/// all workers. Else it marks those of this worker, down to the exchanges, whose rows may be for other workers.
fn tell_enough(node: &Node, everywhere: bool, local: &Local) {
    if everywhere {
        local.set_enough(node.id);
    } else {
        if matches!(node.op, Op::Exchange(_)) {
            return;
        }
        if let Op::Join(join) = &node.op
            && join.shared
        {
            let probe = usize::from(join.build == Side::Left);
            return tell_enough(&node.inputs[probe], everywhere, local);
        }
        local.enough[node.id].set(true);
    }
    node.inputs.iter().for_each(|n| tell_enough(n, everywhere, local));
}

impl Operator for Limit {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let batch = rows_of(&given);
        let from = self.skip.min(batch.num_rows());
        self.skip -= from;
        let rest = batch.num_rows() - from;
        let kept = self.left.map_or(rest, |left| left.min(rest));
        self.ready.add(batch.slice(from, kept));
        if let Some(left) = &mut self.left
            && *left > 0
        {
            *left -= kept;
            self.tell();
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
