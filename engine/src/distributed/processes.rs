//! The interface by which a query runs in several processes: a network, which `cluster` implements on sockets, and
//! notes.

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

/// A message between the processes of a query, outside its dataflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// A batch that a worker of the receiving process had sent is absorbed: its last copy was dropped. The worker gets
    /// its credit back.
    Absorbed {
        /// The tree of the plan; see [`Network::connect`].
        stage: u32,
        /// The exchange.
        node: u32,
        /// The worker that sent the batch, numbered over all processes.
        source: u32,
        /// The credit that the worker had taken, in bytes.
        bytes: u64,
        /// The number of the transfer, if the receiver has read the batch in the sender's memory, see
        /// [`crate::distributed::wire::transfer`].
        loan: Option<u64>,
    },
    /// The effect of a morsel of a csv file on the quote state. The readers of the morsels behind it need that.
    Quotes {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The file's number in its table.
        file: u32,
        /// The morsel's number in the file.
        morsel: u32,
        /// For each state before the morsel, the number of the state behind it.
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
    /// The answer to `Idle`: a range of the bytes of all files, or of generated rows. An empty range refuses.
    Given {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The first byte or row.
        start: u64,
        /// The first byte or row behind the range.
        end: u64,
    },
    /// A worker asks process 0 for one of the splits that are assigned one by one; see
    /// [`crate::operators::scan::assignment`].
    Wants {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The worker, numbered over all processes.
        worker: u32,
        /// Asks for the first split that is left, if its number is smaller than this. `None` asks for a split of the
        /// process's turn.
        before: Option<u64>,
    },
    /// The answer to `Wants`: the number of the split that a worker gets.
    Assigned {
        /// The tree of the plan.
        stage: u32,
        /// The scan.
        node: u32,
        /// The worker, numbered over all processes.
        worker: u32,
        /// The number of the split. `None` if there is no split of the wanted kind.
        part: Option<u64>,
    },
    /// The consumer of a node has enough rows, on every worker.
    Enough {
        /// The tree of the plan.
        stage: u32,
        /// The node.
        node: u32,
    },
    /// A key is heavy in the sending process, which asks for the key's build rows. It asks the process whose worker has
    /// them.
    Wanted {
        /// The tree of the plan.
        stage: u32,
        /// The join.
        node: u32,
        /// The hash of the key.
        hash: u64,
        /// The key as a batch of one row, as [`crate::distributed::wire::encode`] writes it.
        key: Raw,
        /// The asking process.
        process: u32,
    },
    /// The answer to `Wanted`: the build rows of a heavy key.
    Replica {
        /// The tree of the plan.
        stage: u32,
        /// The join.
        node: u32,
        /// The hash of the key.
        hash: u64,
        /// The rows, as [`crate::distributed::wire::encode`] writes them.
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

/// The timely allocators of the workers of one process.
pub struct Channels {
    /// An allocator for each worker.
    pub allocators: Vec<AllocatorBuilder>,
    /// timely's guard of the allocators. It is dropped when the workers have ended.
    pub guard: Box<dyn Any + Send>,
}

/// Connects the processes of one query.
pub trait Network: Send + Sync {
    /// Connects the dataflows of one tree of the plan. `stage` counts the scalar subqueries in their order from 0, and
    /// the plan's own tree is the last stage. All processes connect the same stages in the same order.
    ///
    /// # Errors
    /// Another process can't be reached, or does not belong to this query.
    fn connect(&self, stage: usize) -> Result<Channels>;

    /// Sends a note to another process, without waiting.
    fn tell(&self, process: usize, note: Note);

    /// Sends the value of a stage to all other processes. Process 0 calls it.
    fn tell_value(&self, stage: usize, value: Vec<u8>);

    /// Waits for the value of a stage, which process 0 sends.
    ///
    /// # Errors
    /// The query was stopped before the value came.
    fn value(&self, stage: usize) -> Result<Vec<u8>>;
}

/// The processes of a query, as one of them sees them.
pub struct Processes {
    /// The number of this process.
    pub index: usize,
    /// The number of processes.
    pub count: usize,
    /// The network to the other processes.
    pub network: Arc<dyn Network>,
    /// Takes the notes of the other processes.
    pub notes: Arc<Notes>,
    /// Which processes read rows in each other's memory.
    pub near: Locality,
}

/// Which processes of a query read rows in each other's memory, as one of them sees it.
#[derive(Debug, Default)]
pub struct Locality {
    /// The memory of each process, if this process can read it.
    pub reads: Vec<Option<Memory>>,
    /// Whether each process can read the memory of this process.
    pub lends: Vec<bool>,
    /// The batches that this process lends.
    pub loans: Arc<Transfers>,
}

impl Locality {
    /// Lends rows to a process, if it can read them. The result owes as much credit as the rows have bytes.
    pub fn lend(&self, process: usize, batch: &RecordBatch) -> Option<Wire> {
        let lends = self.lends.get(process).is_some_and(|&lends| lends);
        let (loan, bytes) = lends.then(|| self.loans.lend(batch))??;
        let rows = batch.num_rows() as u32;
        Some(Wire { rows, owed: bytes as u64, bytes: WireBytes::Made(Arc::new(loan)) })
    }

    /// Reads rows that a process lends.
    ///
    /// # Errors
    /// The errors of [`transfer::read`], and a process whose memory can't be read.
    pub fn read(&self, process: usize, loan: &[u8], schema: &SchemaRef) -> Result<RecordBatch> {
        match self.reads.get(process) {
            Some(Some(memory)) => transfer::read(loan, schema, memory),
            _ => Err(Error::Wire("a process lends rows that can't be read".into())),
        }
    }
}

/// A request of a process for the build rows of a heavy key. The process has probe rows of that key.
pub struct Wanted {
    /// The hash of the key.
    pub hash: u64,
    /// The key as a batch of one row, as [`crate::distributed::wire::encode`] writes it.
    pub key: Vec<u8>,
    /// The asking process.
    pub process: usize,
}

/// Takes the notes of other processes for the operators of a running stage. A node number that the plan does not have
/// means nothing.
pub trait NoteReceiver: Send + Sync {
    /// Gives the credit back that a worker of this process took for a batch to another process.
    fn give_credit(&self, exchange: NodeId, worker: usize, bytes: usize);

    /// Takes what a reader of another process reports of a morsel border of a file.
    fn hear(&self, scan: NodeId, file: usize, found: Found);

    /// Gives another process some of the splits that are left here.
    fn give_splits(&self, scan: NodeId, process: usize);

    /// Takes the range of splits that another process gives.
    fn take_splits(&self, scan: NodeId, range: Range<u64>);

    /// Assigns a split to a worker of another process, and sends the answer. Process 0 calls it.
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

/// Hands the notes of other processes to the running stage, and stops the query.
#[derive(Default)]
pub struct Notes(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    running: Option<Running>,
    /// The notes for stages that do not run here yet.
    early: Vec<Note>,
    stopped: bool,
}

struct Running {
    stage: u32,
    state: Arc<QueryState>,
    /// The workers keep it alive as long as they run.
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
            // A node number that the plan doesn't have means nothing.
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

    /// Takes a note of another process. A note for a stage that has ended is dropped, and a note for a later stage
    /// waits.
    pub fn take(&self, note: Note) {
        let mut inner = self.inner();
        match &inner.running {
            Some(running) if running.stage == note.stage() => running.take(note),
            Some(running) if running.stage > note.stage() => {}
            _ => inner.early.push(note),
        }
    }

    /// Stops the query: the running stage, and those to come.
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

    /// Makes a stage the running one, and hands it the notes that came early.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the query was stopped.
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

/// The topology of a stage: its processes, their workers, and which process is this one.
#[derive(Clone)]
pub struct Topology {
    /// The tree of the plan.
    pub stage: usize,
    /// The number of workers of each process.
    pub workers: usize,
    /// The processes. `None` if there is only this one.
    pub processes: Option<Arc<Processes>>,
}

impl Topology {
    /// The topology of a query in one process.
    pub fn alone(workers: usize) -> Topology {
        Topology { stage: 0, workers, processes: None }
    }

    /// The number of this process, and the number of processes.
    pub fn process(&self) -> (usize, usize) {
        self.processes.as_ref().map_or((0, 1), |p| (p.index, p.count))
    }

    /// The number of workers over all processes.
    pub fn peers(&self) -> usize {
        self.workers * self.process().1
    }

    /// The numbers of this process's workers.
    pub fn here(&self) -> Range<usize> {
        let first = self.process().0 * self.workers;
        first..first + self.workers
    }

    /// Sends a note to all other processes.
    pub fn tell_others(&self, note: Note) {
        if let Some(p) = &self.processes {
            (0..p.count)
                .filter(|&other| other != p.index)
                .for_each(|other| p.network.tell(other, note.clone()));
        }
    }
}
