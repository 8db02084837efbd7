//! The state that the workers of a query share: the first error, the flags that stop it, figures.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Thread;

use formats::reader::ReadFor;
pub use formats::reader::Skipped;
use queries::plan::NodeId;

use crate::context::memory::{Holder, Peak};
use crate::error::Error;

/// The state of one query, or of one stage of a plan. The query's threads share it.
#[derive(Debug, Default)]
pub struct QueryState {
    stop: AtomicBool,
    broken_off: AtomicBool,
    error: Mutex<Option<Error>>,
    /// Grows whenever a flag is raised. A worker that sees another number wakes its parked operators.
    epoch: AtomicU64,
    threads: Mutex<Vec<Thread>>,
    enough: Vec<AtomicBool>,
    /// The figures of each worker for each node: indexed by worker, then by [`NodeId`]. A process fills those of its
    /// own workers only.
    pub figures: Vec<Vec<Figures>>,
    /// Bytes of files read so far.
    pub bytes_read: AtomicU64,
    /// Bytes that operators have spilled to disk so far, because they did not fit in memory.
    pub bytes_spilled: AtomicU64,
    /// Bytes sent to other processes so far. Only the coordinator, which has started all processes, knows them.
    pub bytes_sent: AtomicU64,
    /// Bytes received from other processes so far.
    pub bytes_received: AtomicU64,
    /// Bytes that processes of one machine have read in each other's memory so far.
    pub bytes_lent: AtomicU64,
    /// Messages in which timely's workers have told all others of their progress so far. They are counted where there
    /// are several processes.
    pub progress_sent: AtomicU64,
    /// Rows that scans have read so far.
    pub rows_read: AtomicU64,
    peak: Peak,
    /// The most bytes that the counting allocator saw in use at once in another process of the query, or in an earlier
    /// stage. It is the largest figure of all those. 0 if there are none.
    pub other_peak: AtomicU64,
    /// The most bytes that were resident at once in another process of the query: the largest figure of all those
    /// processes.
    pub peak_resident: AtomicU64,
    skipped: Mutex<Skipped>,
    /// Notes what `skipped` keeps in the account of the query.
    rejects: OnceLock<Arc<Holder>>,
}

/// The figures of one operator on one worker.
#[derive(Debug, Default)]
pub struct Figures {
    /// Rows that the operator gave.
    pub rows: AtomicU64,
    /// Batches that the operator gave.
    pub batches: AtomicU64,
    /// Bytes of the rows that the operator gave.
    pub bytes: AtomicU64,
    /// Nanoseconds that the worker spent in the operator.
    pub busy_ns: AtomicU64,
    /// The most bytes that the operator kept at once, as far as it counts them.
    pub kept: AtomicU64,
}

impl Figures {
    fn add(&self, other: &Figures) {
        for (sum, more) in [
            (&self.rows, &other.rows),
            (&self.batches, &other.batches),
            (&self.bytes, &other.bytes),
            (&self.busy_ns, &other.busy_ns),
            (&self.kept, &other.kept),
        ] {
            sum.fetch_add(more.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

impl QueryState {
    /// The state of a plan of `nodes` nodes on `workers` workers. Work without a plan uses the default.
    pub fn new(nodes: usize, workers: usize) -> QueryState {
        let of_worker = || (0..nodes).map(|_| Figures::default()).collect();
        QueryState {
            enough: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            figures: (0..workers).map(|_| of_worker()).collect(),
            ..QueryState::default()
        }
    }

    /// Adds the figures of an earlier stage of the query: what it has read, skipped, sent and spilled, and those of its
    /// nodes. The peak of memory is the higher one.
    pub fn go_on_from(&self, earlier: &QueryState) {
        for (sum, more) in [
            (&self.bytes_read, &earlier.bytes_read),
            (&self.bytes_spilled, &earlier.bytes_spilled),
            (&self.bytes_sent, &earlier.bytes_sent),
            (&self.bytes_received, &earlier.bytes_received),
            (&self.bytes_lent, &earlier.bytes_lent),
            (&self.progress_sent, &earlier.progress_sent),
            (&self.rows_read, &earlier.rows_read),
        ] {
            sum.fetch_add(more.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.other_peak.fetch_max(earlier.peak_memory(), Ordering::Relaxed);
        self.add_skipped(earlier.skipped());
        let nodes = self.figures.iter().flatten().zip(earlier.figures.iter().flatten());
        nodes.for_each(|(own, earlier)| own.add(earlier));
    }

    /// The most bytes that a process of the query had in use at once, as the counting allocator saw it. It counts from
    /// the moment in which the query began to run to [`QueryState::end`], or until now.
    pub fn peak_memory(&self) -> u64 {
        self.peak.bytes().max(self.other_peak.load(Ordering::Relaxed))
    }

    /// Notes that the query has ended: memory that the process takes later does not count for it.
    pub fn end(&self) {
        self.peak.end();
    }

    /// Keeps the first error and stops the query.
    pub fn fail(&self, error: Error) {
        self.error.lock().expect("nothing panics with this lock").get_or_insert(error);
        self.raise(&self.stop);
    }

    /// Stops the query, because the caller asked for that. Its error is [`Error::Cancelled`], unless an earlier error
    /// is kept.
    pub fn cancel(&self) {
        self.fail(Error::Cancelled);
    }

    /// Keeps the first error, and tells the workers to leave their dataflows unfinished. A worker calls it that has
    /// panicked or did not start: its part of the dataflow would never end.
    pub fn break_off(&self, error: Error) {
        self.broken_off.store(true, Ordering::Release);
        self.fail(error);
    }

    /// Whether the workers leave their dataflows unfinished.
    pub fn is_broken_off(&self) -> bool {
        self.broken_off.load(Ordering::Acquire)
    }

    /// Whether the query has failed or was cancelled.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes the first error out.
    pub fn take_error(&self) -> Option<Error> {
        self.error.lock().expect("nothing panics with this lock").take()
    }

    /// Notes that the consumer of this node has enough rows, on every worker. A number that the plan does not have
    /// means nothing.
    pub fn set_enough(&self, node: NodeId) {
        if let Some(flag) = self.enough.get(node) {
            self.raise(flag);
        }
    }

    /// Whether the consumer of this node has enough rows.
    pub fn enough(&self, node: NodeId) -> bool {
        self.enough[node].load(Ordering::Relaxed)
    }

    /// Notes that the consumers of all nodes want rows again: another tree begins on the same workers.
    pub fn want_again(&self) {
        self.enough.iter().for_each(|flag| flag.store(false, Ordering::Relaxed));
    }

    /// A number that grows whenever a flag is raised.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Registers the calling thread, which is a worker's. It is woken when a flag is raised.
    pub fn register_thread(&self) {
        self.threads.lock().expect("nothing panics with this lock").push(std::thread::current());
    }

    /// Adds what a reader skipped.
    pub fn add_skipped(&self, s: Skipped) {
        self.skipped.lock().expect("nothing panics with this lock").add(&s);
    }

    /// Takes the counts of what readers skipped, and sets them to 0.
    pub fn take_skipped(&self) -> Skipped {
        std::mem::take(&mut *self.skipped.lock().expect("nothing panics with this lock"))
    }

    /// The counts of what readers skipped.
    pub fn skipped(&self) -> Skipped {
        self.skipped.lock().expect("nothing panics with this lock").clone()
    }

    fn raise(&self, flag: &AtomicBool) {
        flag.store(true, Ordering::Release);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        for thread in self.threads.lock().expect("nothing panics with this lock").iter() {
            thread.unpark();
        }
    }
}

impl ReadFor for QueryState {
    fn add_bytes_read(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    fn add_skipped(&self, skipped: Skipped) {
        let keeps = !skipped.rejects.kept().is_empty();
        QueryState::add_skipped(self, skipped);
        if keeps {
            let label = || Holder::new("rows that were passed over".into(), "keep fewer: rejects_limit");
            let skipped = self.skipped.lock().expect("nothing panics with this lock");
            self.rejects.get_or_init(label).keeps(skipped.rejects.bytes());
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped()
    }
}
