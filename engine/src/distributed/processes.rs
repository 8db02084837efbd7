//! What a query needs to run in several processes: a network, which `cluster` implements on sockets, and notes.

use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Mutex, Weak};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use formats::format::Found;
use queries::plan::NodeId;
use serde::{Deserialize, Serialize};
use timely::communication::AllocatorBuilder;

use crate::context::query::QueryState;
use crate::dataflow::batch::{Wire, WireBytes};
use crate::distributed::raw::Raw;
use crate::distributed::wire::memory::Memory;
use crate::distributed::wire::transfer::{self, Transfers};
use crate::error::{Error, Result};

/// A message between the processes of a query, beside its dataflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// A batch was absorbed that a worker of the told process has sent: the worker gets its credit back.
    Absorbed {
        /// The tree of the plan; see [`Network::connect`].
        stage: u32,
        /// The exchange.
        node: u32,
        /// The worker that sent it.
        source: u32,
        /// How much credit it had taken.
        bytes: u64,
        /// The number of the batch, if it was read in memory; see [`crate::distributed::wire::transfer`].
        loan: Option<u64>,
    },
    /// What a morsel of a csv file does to quotes. The readers of the morsels behind it need that.
    Quotes {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The file's number in its table.
        file: u32,
        /// The morsel's number in the file.
        morsel: u32,
        /// For each state before it the number of the state behind it.
        states: [u8; 5],
    },
    /// A reader of a csv morsel has ended before the morsel did.
    Abandoned {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The file's number in its table.
        file: u32,
    },
    /// A process has no split left, and asks another process for some of its splits.
    Idle {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The asking process.
        process: u32,
    },
    /// The answer: a range of the bytes of all files, or of generated rows. An empty range refuses.
    Given {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The first byte or row.
        start: u64,
        /// The first one behind the range.
        end: u64,
    },
    /// A worker asks process 0 for a split of those that are assigned one by one; see [`crate::operators::scan::assignment`].
    Wants {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The worker, numbered over all processes.
        worker: u32,
        /// Asks for the first split left, if its number is smaller than this. `None` asks for one of the process's turn.
        before: Option<u64>,
    },
    /// The number of the split that a worker gets, if there is one that it asked for.
    Assigned {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The worker.
        worker: u32,
        /// The number.
        part: Option<u64>,
    },
    /// The consumer of a node has enough rows, on every worker.
    Enough {
        /// The tree of the plan.
        stage: u32,
        /// The node.
        node: u32,
    },
    /// A key is heavy in a process, which wants its build rows; told to the process whose worker has them.
    Wanted {
        /// The tree of the plan.
        stage: u32,
        /// The join.
        node: u32,
        /// The hash of the key.
        hash: u64,
        /// The key of one of its rows, as [`crate::distributed::wire::encode`] gives it.
        key: Raw,
        /// The process that wants them.
        process: u32,
    },
    /// The build rows of a heavy key.
    Replica {
        /// The tree of the plan.
        stage: u32,
        /// The join.
        node: u32,
        /// The hash of the key.
        hash: u64,
        /// What [`crate::distributed::wire::encode`] gives.
        rows: Raw,
    },
}

impl Note {
    fn stage(&self) -> u32 {
        match self {
            Note::Absorbed { stage, .. }
            | Note::Quotes { stage, .. }
            | Note::Abandoned { stage, .. }
            | Note::Enough { stage, .. }
            | Note::Wanted { stage, .. }
            | Note::Idle { stage, .. }
            | Note::Given { stage, .. }
            | Note::Wants { stage, .. }
            | Note::Assigned { stage, .. }
            | Note::Replica { stage, .. } => *stage,
        }
    }
}

/// What timely needs for the workers of one process.
pub struct Channels {
    /// One for each worker.
    pub allocators: Vec<AllocatorBuilder>,
    /// Dropped when the workers have ended.
    pub guard: Box<dyn Any + Send>,
}

/// Connects the processes of one query.
pub trait Network: Send + Sync {
    /// Connects the dataflow of a tree of the plan: scalar subqueries in their order count from 0, the plan's own tree
    /// is the last. All processes connect the same stages in the same order.
    ///
    /// # Errors
    /// Another process can't be reached, or is not one of this query.
    fn connect(&self, stage: usize) -> Result<Channels>;

    /// Tells another process something, without waiting.
    fn tell(&self, process: usize, note: Note);

    /// Tells all other processes the value of a scalar subquery, which process 0 has.
    fn tell_value(&self, stage: usize, value: Vec<u8>);

    /// The value of a scalar subquery, once process 0 has told it.
    ///
    /// # Errors
    /// The query was stopped before.
    fn value(&self, stage: usize) -> Result<Vec<u8>>;
}

/// The processes of a query, seen from one of them.
pub struct Processes {
    /// This one.
    pub index: usize,
    /// How many there are.
    pub count: usize,
    /// The network to the others.
    pub network: Arc<dyn Network>,
    /// Takes the notes of the others.
    pub notes: Arc<Notes>,
    /// Which of the others read rows in each other's memory.
    pub near: Locality,
}

/// Which processes of a query read rows in each other's memory, seen from one of them.
#[derive(Debug, Default)]
pub struct Locality {
    /// The memory of each process, where it can be read.
    pub reads: Vec<Option<Memory>>,
    /// Whether each process can read this one's.
    pub lends: Vec<bool>,
    /// What this one lends.
    pub loans: Arc<Transfers>,
}

impl Locality {
    /// Lends rows to a process, if it can read them, which takes as much credit as they have bytes.
    pub fn lend(&self, process: usize, batch: &RecordBatch) -> Option<Wire> {
        let lends = self.lends.get(process).is_some_and(|&lends| lends);
        let (loan, bytes) = lends.then(|| self.loans.lend(batch))??;
        let rows = batch.num_rows() as u32;
        Some(Wire { rows, owed: bytes as u64, bytes: WireBytes::Made(Arc::new(loan)) })
    }

    /// Reads rows that a process lends.
    ///
    /// # Errors
    /// Those of [`transfer::read`], and a process that is not near.
    pub fn read(&self, process: usize, loan: &[u8], schema: &SchemaRef) -> Result<RecordBatch> {
        match self.reads.get(process) {
            Some(Some(memory)) => transfer::read(loan, schema, memory),
            _ => Err(Error::Wire("a process lends rows that can't be read".into())),
        }
    }
}

/// What a process asks for: the build rows of a heavy key, of which it has probe rows.
pub struct Wanted {
    /// The hash of the key.
    pub hash: u64,
    /// The key, as [`crate::distributed::wire::encode`] gives it.
    pub key: Vec<u8>,
    /// The process.
    pub process: usize,
}

/// What the operators of a running stage do with the notes of other processes. A number of a node that the plan does not have
/// means nothing.
pub trait NoteReceiver: Send + Sync {
    /// Gives credit back for what a worker of this process sent to another process.
    fn give_credit(&self, exchange: NodeId, worker: usize, bytes: usize);

    /// Takes what a reader of another process reports of a morsel border of a file.
    fn hear(&self, scan: NodeId, file: usize, found: Found);

    /// Gives another process some of the splits that are left here.
    fn give_splits(&self, scan: NodeId, process: usize);

    /// Takes the range of splits that another process gives.
    fn take_splits(&self, scan: NodeId, range: Range<u64>);

    /// Answers a worker of another process which split it gets.
    fn assign(&self, scan: NodeId, worker: usize, before: Option<u64>);

    /// Takes the answer for a worker of this process.
    fn take_assigned(&self, scan: NodeId, worker: usize, split: Option<u64>);

    /// Sends another process the build rows of a key that is heavy there.
    ///
    /// # Errors
    /// The key can't be read.
    fn give_replica(&self, join: NodeId, wanted: Wanted) -> Result<()>;

    /// Takes the build rows of a heavy key.
    ///
    /// # Errors
    /// The rows can't be read.
    fn take_replica(&self, join: NodeId, hash: u64, rows: &[u8]) -> Result<()>;
}

/// The stage that runs, for what comes from other processes and from whoever stops the query.
#[derive(Default)]
pub struct Notes(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    running: Option<Running>,
    /// What was told of a stage that does not run here yet.
    early: Vec<Note>,
    stopped: bool,
}

struct Running {
    stage: u32,
    state: Arc<QueryState>,
    /// The workers have it, as long as they run.
    receiver: Weak<dyn NoteReceiver>,
}

impl Running {
    fn check(&self, outcome: Result<()>) {
        outcome.unwrap_or_else(|e| self.state.fail(e));
    }

    fn take(&self, note: Note) {
        let Some(receiver) = self.receiver.upgrade() else { return };
        match note {
            Note::Absorbed { node, source, bytes, .. } => {
                receiver.give_credit(node as NodeId, source as usize, bytes as usize);
            }
            Note::Quotes { node, file, morsel, states, .. } => {
                receiver.hear(node as NodeId, file as usize, Found::Quotes { morsel, states });
            }
            Note::Idle { node, process, .. } => receiver.give_splits(node as NodeId, process as usize),
            Note::Given { node, start, end, .. } => receiver.take_splits(node as NodeId, start..end),
            Note::Wants { node, worker, before, .. } => {
                receiver.assign(node as NodeId, worker as usize, before)
            }
            Note::Assigned { node, worker, part, .. } => {
                receiver.take_assigned(node as NodeId, worker as usize, part);
            }
            Note::Abandoned { node, file, .. } => {
                receiver.hear(node as NodeId, file as usize, Found::Abandoned);
            }
            // A number that the plan doesn't have is that of no node.
            Note::Enough { node, .. } => self.state.set_enough(node as NodeId),
            Note::Wanted { node, hash, key, process, .. } => {
                let wanted = Wanted { hash, key: key.0, process: process as usize };
                self.check(receiver.give_replica(node as NodeId, wanted));
            }
            Note::Replica { node, hash, rows, .. } => {
                self.check(receiver.take_replica(node as NodeId, hash, &rows.0));
            }
        }
    }
}

impl Notes {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes what another process told.
    pub fn take(&self, note: Note) {
        let mut inner = self.inner();
        match &inner.running {
            Some(running) if running.stage == note.stage() => running.take(note),
            Some(running) if running.stage > note.stage() => {}
            _ => inner.early.push(note),
        }
    }

    /// Stops the query: the stage that runs, and those to come.
    pub fn stop(&self) {
        let mut inner = self.inner();
        inner.stopped = true;
        if let Some(running) = &inner.running {
            running.state.cancel();
        }
    }

    /// Whether the query was stopped.
    pub fn is_stopped(&self) -> bool {
        self.inner().stopped
    }

    /// A stage runs from now on.
    pub(crate) fn begin(
        &self,
        stage: usize,
        state: &Arc<QueryState>,
        receiver: &Arc<dyn NoteReceiver>,
    ) -> Result<()> {
        let mut inner = self.inner();
        if inner.stopped {
            return Err(Error::Cancelled);
        }
        let receiver = Arc::downgrade(receiver);
        let running = Running { stage: stage as u32, state: state.clone(), receiver };
        for note in std::mem::take(&mut inner.early) {
            if note.stage() == running.stage {
                running.take(note);
            } else {
                inner.early.push(note);
            }
        }
        inner.running = Some(running);
        Ok(())
    }
}

/// Where a stage runs: this process among those of the query.
#[derive(Clone)]
pub struct Topology {
    /// The tree of the plan.
    pub stage: usize,
    /// The workers of a process.
    pub workers: usize,
    /// The processes; none if there is only this one.
    pub processes: Option<Arc<Processes>>,
}

impl Topology {
    /// A query in one process.
    pub fn alone(workers: usize) -> Topology {
        Topology { stage: 0, workers, processes: None }
    }

    /// This process's number, and how many there are.
    pub fn process(&self) -> (usize, usize) {
        self.processes.as_ref().map_or((0, 1), |p| (p.index, p.count))
    }

    /// Workers over all processes.
    pub fn peers(&self) -> usize {
        self.workers * self.process().1
    }

    /// The numbers of this process's workers.
    pub fn here(&self) -> Range<usize> {
        let first = self.process().0 * self.workers;
        first..first + self.workers
    }

    /// Tells all other processes.
    pub fn tell_others(&self, note: Note) {
        if let Some(p) = &self.processes {
            (0..p.count)
                .filter(|&other| other != p.index)
                .for_each(|other| p.network.tell(other, note.clone()));
        }
    }
}
