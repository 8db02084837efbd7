//! What the workers of a query share: the first error, cancel, enough, figures.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

use formats::reader::ReadFor;
pub use formats::reader::Skipped;
use queries::plan::NodeId;

use crate::error::Error;

/// Shared by the threads of one query.
#[derive(Debug, Default)]
pub struct QueryState {
    stop: AtomicBool,
    broken_off: AtomicBool,
    error: Mutex<Option<Error>>,
    /// Raised whenever a flag changes, so that workers wake their parked operators.
    epoch: AtomicU64,
    threads: Mutex<Vec<Thread>>,
    enough: Vec<AtomicBool>,
    /// What each worker has done in each node, by [`NodeId`]; of several processes their own workers alone.
    pub figures: Vec<Vec<Figures>>,
    /// Bytes of files read so far.
    pub bytes_read: AtomicU64,
    /// Bytes put on disk so far because they did not fit the memory.
    pub bytes_spilled: AtomicU64,
    /// Bytes sent to other processes so far; known to whoever has started all of them.
    pub bytes_sent: AtomicU64,
    /// Bytes that came from other processes so far.
    pub bytes_received: AtomicU64,
    /// Bytes that processes of one machine have read in each other's memory.
    pub bytes_lent: AtomicU64,
    /// What timely's workers told one another of their progress so far, in messages to all of them; counted where there
    /// are several processes.
    pub progress_sent: AtomicU64,
    /// Rows that scans gave so far.
    pub rows_read: AtomicU64,
    /// The most memory that was in use at once, as counted, in another process that runs the query: the one that took
    /// most. 0 where there is none.
    pub peak_memory: AtomicU64,
    /// The most memory of such a process that was resident at once.
    pub peak_resident: AtomicU64,
    skipped: Mutex<Skipped>,
}

/// What an operator has done on one worker.
#[derive(Debug, Default)]
pub struct Figures {
    /// Rows given.
    pub rows: AtomicU64,
    /// Batches given.
    pub batches: AtomicU64,
    /// Bytes of the rows given.
    pub bytes: AtomicU64,
    /// Nanoseconds spent in it.
    pub busy_ns: AtomicU64,
    /// The most bytes that it kept at once, as far as it counts them.
    pub kept: AtomicU64,
}

impl QueryState {
    /// The state of a plan of so many nodes on so many workers; the default is that of work without a plan.
    pub fn new(nodes: usize, workers: usize) -> QueryState {
        let of_worker = || (0..nodes).map(|_| Figures::default()).collect();
        QueryState {
            enough: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            figures: (0..workers).map(|_| of_worker()).collect(),
            ..QueryState::default()
        }
    }

    /// Takes over what an earlier stage of the query has read, skipped and put on disk.
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
        self.add_skipped(earlier.skipped());
    }

    /// Keeps the first error and stops the query.
    pub fn fail(&self, error: Error) {
        self.error.lock().expect("nothing panics with this lock").get_or_insert(error);
        self.raise(&self.stop);
    }

    /// Stops the query: somebody asked.
    pub fn cancel(&self) {
        self.fail(Error::Cancelled);
    }

    /// Keeps the first error, and has the workers leave their dataflows as they are: one of them has panicked, and its
    /// part would never end.
    pub fn break_off(&self, error: Error) {
        self.broken_off.store(true, Ordering::Release);
        self.fail(error);
    }

    /// Whether the workers leave their dataflows as they are.
    pub fn is_broken_off(&self) -> bool {
        self.broken_off.load(Ordering::Acquire)
    }

    /// Whether the query has failed or was cancelled.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The first error, taken out.
    pub fn take_error(&self) -> Option<Error> {
        self.error.lock().expect("nothing panics with this lock").take()
    }

    /// The consumer of this node has enough rows, on every worker.
    pub fn set_enough(&self, node: NodeId) {
        if let Some(flag) = self.enough.get(node) {
            self.raise(flag);
        }
    }

    /// Whether the consumer of this node has enough rows.
    pub fn enough(&self, node: NodeId) -> bool {
        self.enough[node].load(Ordering::Relaxed)
    }

    /// Changes whenever a flag is raised.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Registers a worker's thread, to be woken when a flag is raised.
    pub fn register_thread(&self) {
        self.threads.lock().expect("nothing panics with this lock").push(std::thread::current());
    }

    /// Adds counts of what a reader passed over.
    pub fn add_skipped(&self, s: Skipped) {
        let mut all = self.skipped.lock().expect("nothing panics with this lock");
        all.rows += s.rows;
        all.values += s.values;
        all.replaced += s.replaced;
    }

    /// What readers passed over since this was asked last; the counts begin anew.
    pub fn take_skipped(&self) -> Skipped {
        std::mem::take(&mut *self.skipped.lock().expect("nothing panics with this lock"))
    }

    /// What readers passed over.
    pub fn skipped(&self) -> Skipped {
        *self.skipped.lock().expect("nothing panics with this lock")
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
        QueryState::add_skipped(self, skipped);
    }

    fn is_stopped(&self) -> bool {
        self.stopped()
    }
}
