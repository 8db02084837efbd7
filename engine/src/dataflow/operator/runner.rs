//! Drives one operator: pushes the batches that have come to it, and gives its batches to its consumer. It keeps to the
//! bounds of the gates, and looks at the flags of the query.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use queries::plan::NodeId;
use timely::progress::frontier::MutableAntichain;
use timely::scheduling::Activator;

use super::{Gate, Local, Operator, Pull, Time};
use crate::context::memory;
use crate::dataflow::batch::{ExchangeBatch, batch_bytes};
use crate::error::Result;

/// The time that an operator takes, about, before other operators of its worker get their turn.
const TURN: Duration = Duration::from_millis(5);

/// An operator with the queues of its ports and its gates.
pub(super) struct Runner {
    pub operator: Option<Box<dyn Operator>>,
    pub queues: Vec<VecDeque<ExchangeBatch>>,
    pub ended: Vec<bool>,
    pub gates: Vec<Option<Rc<Gate>>>,
    pub gate_out: Option<Rc<Gate>>,
    pub activator: Rc<Activator>,
    pub local: Rc<Local>,
    pub node: NodeId,
    pub name: String,
    pub counts: bool,
    pub next_port: usize,
    /// The batch that says which split begins. The operator first gives the rows that it has of the split before.
    pub beginning: Option<ExchangeBatch>,
}

impl Runner {
    /// Drops the batches that wait before the operator.
    pub fn discard(&mut self) {
        for (queue, gate) in self.queues.iter_mut().zip(&self.gates) {
            let batches = queue.len();
            queue.clear();
            if let Some(gate) = gate
                && batches > 0
            {
                gate.release(batches);
            }
        }
    }

    /// Whether the runner keeps its capability, so that other processes don't see that it gives no more rows. They
    /// would take the rows that they have for all rows.
    pub fn holds(&self) -> bool {
        self.local.topology.processes.is_some() && self.local.state.stopped()
    }

    /// Drives the operator for a turn. True once the operator is done.
    pub fn run(&mut self, frontiers: &[MutableAntichain<Time>], give: &mut dyn FnMut(ExchangeBatch)) -> bool {
        let start = Instant::now();
        let done = match self.turn(frontiers, give, start) {
            Ok(done) => done,
            Err(e) => {
                self.local.state.fail(e);
                true
            }
        };
        if done {
            self.operator = None;
            self.discard();
            if let Some(gate) = &self.gate_out {
                gate.end();
            }
        }
        let figures = &self.local.state.figures[self.local.index][self.node];
        figures.busy_ns.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }

    fn turn(
        &mut self,
        frontiers: &[MutableAntichain<Time>],
        give: &mut dyn FnMut(ExchangeBatch),
        start: Instant,
    ) -> Result<bool> {
        let Some(operator) = &mut self.operator else { return Ok(true) };
        loop {
            if self.local.state.stopped() || self.local.enough(self.node) {
                return Ok(true);
            }
            if self.gate_out.as_ref().is_some_and(|g| !g.has_room(&self.activator)) {
                return Ok(false);
            }
            if start.elapsed() > TURN {
                self.activator.activate();
                return Ok(false);
            }
            let pulled = match operator.pull()? {
                Pull::Empty => self.beginning.take().map_or(Pull::Empty, Pull::Batch),
                pulled => pulled,
            };
            match pulled {
                Pull::Batch(given) => {
                    let Some(batch) = &given.batch else { continue };
                    if batch.num_rows() == 0 && !given.last && given.begins.is_none() {
                        continue;
                    }
                    if self.counts && batch.num_rows() > 0 {
                        let figures = &self.local.state.figures[self.local.index][self.node];
                        figures.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
                        figures.batches.fetch_add(1, Ordering::Relaxed);
                        figures.bytes.fetch_add(batch_bytes(batch) as u64, Ordering::Relaxed);
                    }
                    if let Some(gate) = &self.gate_out {
                        gate.waiting.set(gate.waiting.get() + 1);
                    }
                    give(given);
                    continue;
                }
                Pull::Blocked => return Ok(false),
                Pull::Empty => {}
            }
            let ports = self.queues.len();
            let ready = (0..ports)
                .map(|i| (self.next_port + i) % ports)
                .find(|p| !self.queues[*p].is_empty() && operator.wants(*p));
            if let Some(port) = ready {
                self.next_port = port + 1;
                let given = self.queues[port].pop_front().expect("the queue was looked at");
                if let Some(gate) = &self.gates[port] {
                    gate.release(1);
                }
                if given.begins.is_some() && !operator.takes_beginnings() {
                    operator.flush()?;
                    self.beginning = Some(given);
                    continue;
                }
                operator.push(port, given)?;
                note_kept(&self.local, self.node, operator.kept());
                memory::check(0, || self.name.clone())?;
                continue;
            }
            let is_over = |port: usize| match &self.gates[port] {
                Some(gate) => gate.is_over(),
                None => self.queues[port].is_empty() && frontiers[port].is_empty(),
            };
            let over = (0..ports).find(|p| !self.ended[*p] && is_over(*p));
            match over {
                Some(port) => {
                    self.ended[port] = true;
                    operator.end(port)?;
                    note_kept(&self.local, self.node, operator.kept());
                }
                None => return Ok(self.ended.iter().all(|e| *e)),
            }
        }
    }
}

/// Notes how many bytes an operator keeps on a worker.
fn note_kept(local: &Local, node: NodeId, kept: usize) {
    if kept > 0 {
        local.state.figures[local.index][node].kept.fetch_max(kept as u64, Ordering::Relaxed);
    }
}
