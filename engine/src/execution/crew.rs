//! Workers that stay for many trees, one after another: each round of a recursion is a dataflow on the same threads.
//!
//! To wake other threads and to wait for them takes longer than a round of few rows. Such a round has a single worker,
//! which runs on the thread that asks for it. The others start with the first tree that reads many rows.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arrow_array::RecordBatch;
use queries::plan::{Node, Op, Side};
use timely::WorkerConfig;
use timely::communication::Allocator;
use timely::communication::allocator::thread::Thread;
use timely::worker::Worker;

use super::render::{MadeBuilds, Shared};
use super::run::{GRACE, Run, Tree, render, step};
use super::workers::{Build, PARK, Workers, channels_here, leave, run_thread, start_workers};
use crate::context::memory::Holder;
use crate::context::query::QueryState;
use crate::context::{pages, panics, stack};
use crate::dataflow::operator::Operator;
use crate::distributed::processes::Topology;
use crate::error::{Error, Result};
use crate::operators::absorb::{Absorb, Absorber};
use crate::state::kept::Kept;

/// The help of an error: how build sides keep less.
const FEWER_BUILD_ROWS: &str = "have the recursion read fewer columns or rows of what it joins in each round";

/// A tree that reads no more rows than this is run by a single worker. More take as long as it takes to wake the others.
const FEW_ROWS: usize = 1000;

/// A tree to be run, and what takes its rows.
struct Job {
    tree: Tree,
    shared: Shared,
    topology: Topology,
    to: Arc<dyn Absorber>,
}

/// What the workers have to do.
#[derive(Default)]
struct Orders {
    given: Mutex<Given>,
    /// There is a job, or the crew ends.
    changed: Condvar,
    /// All workers have done the job, or one has gone.
    done: Condvar,
}

#[derive(Default)]
struct Given {
    job: Option<Arc<Job>>,
    /// The number of the job.
    number: u64,
    /// Workers that have not done it yet.
    busy: usize,
    /// Whether the crew ends.
    is_over: bool,
    /// Whether a worker has ended.
    has_gone: bool,
}

impl Orders {
    fn lock(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The job behind the one of number `last`, and its number. `None` once the crew ends.
    fn next(&self, last: u64) -> Option<(u64, Arc<Job>)> {
        let mut given = self.lock();
        loop {
            if given.is_over {
                return None;
            }
            match &given.job {
                Some(job) if given.number != last => return Some((given.number, job.clone())),
                _ => given = self.changed.wait(given).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Notes that a worker has done its job.
    fn note_done(&self) {
        let mut given = self.lock();
        given.busy = given.busy.saturating_sub(1);
        if given.busy == 0 {
            given.job = None;
            self.done.notify_all();
        }
    }
}

/// Notes that a worker has ended, whatever the reason.
struct Going(Arc<Orders>);

impl Drop for Going {
    fn drop(&mut self) {
        self.0.lock().has_gone = true;
        self.0.done.notify_all();
    }
}

/// The workers. They end when this is dropped.
pub(super) struct Crew<'a> {
    run: &'a Run<'a>,
    state: Arc<QueryState>,
    orders: Arc<Orders>,
    /// The threads of the workers, once there are some.
    workers: Option<Workers>,
    /// The single worker of trees that read few rows, on this thread.
    single: Option<Worker>,
    /// The build sides that are the same in all rounds.
    made: MadeBuilds,
    holder: Arc<Holder>,
}

impl<'a> Crew<'a> {
    /// A crew whose workers have not started yet. `before` is the state of the stage before.
    pub fn new(run: &'a Run<'a>, nodes: usize, before: Option<&QueryState>) -> Crew<'a> {
        let state = run.state(nodes, run.settings.workers, before);
        state.register_thread();
        let _entered = run.account.enter();
        let holder = Holder::new("join (build side)".into(), FEWER_BUILD_ROWS);
        let (orders, made) = (Arc::default(), MadeBuilds::default());
        Crew { run, state, orders, workers: None, single: None, made, holder }
    }

    /// Starts the threads of the workers.
    fn start(&self) -> Result<Workers> {
        let (state, orders, account) = (self.state.clone(), self.orders.clone(), self.run.account.clone());
        let work = move |build: Build| {
            stack::mark_deep();
            let _entered = account.enter();
            let _going = Going(orders.clone());
            run_thread(build, &state, false, |worker: &mut Worker| work(worker, &state, &orders));
        };
        start_workers(channels_here(self.run.settings.workers)?, work, &self.state)
    }

    /// What the run is told.
    pub fn run(&self) -> &'a Run<'a> {
        self.run
    }

    /// The state of the workers.
    pub fn state(&self) -> &Arc<QueryState> {
        &self.state
    }

    /// Runs a tree, whose rows go to `to`. `kept` are the rows of the stages that it reads.
    ///
    /// # Errors
    /// Those of the tree.
    pub fn tree(
        &mut self,
        tree: Tree,
        kept: &BTreeMap<usize, Arc<Kept>>,
        to: Arc<dyn Absorber>,
    ) -> Result<()> {
        self.look_at_others();
        self.state.want_again();
        let is_small = rows_read(tree.root(), kept, &self.made).is_some_and(|rows| rows <= FEW_ROWS);
        let workers = if is_small { 1 } else { self.run.settings.workers };
        let topology = Topology { stage: tree.number(), workers, processes: None };
        let (root, nodes, made) = (tree.root(), tree.plan.nodes, Some(&mut self.made));
        let shared = Shared::new(root, nodes, self.run.settings, topology.clone(), kept, made)?;
        let job = Job { tree, shared, topology, to };
        if is_small { self.alone(&job) } else { self.together(job) }
    }

    /// Runs a tree on this thread.
    fn alone(&mut self, job: &Job) -> Result<()> {
        let (single, state) = (&mut self.single, &self.state);
        panics::catch(|| {
            let worker = single.get_or_insert_with(|| {
                let allocator = Allocator::Thread(Thread::default());
                Worker::new(WorkerConfig::default(), allocator, Some(Instant::now()))
            });
            job.run(worker, state);
            Ok(())
        })?;
        self.outcome()
    }

    /// Runs a tree on all workers.
    fn together(&mut self, job: Job) -> Result<()> {
        if self.workers.is_none() {
            self.workers = Some(self.start()?);
        }
        let mut given = self.orders.lock();
        given.job = Some(Arc::new(job));
        given.number += 1;
        given.busy = self.run.settings.workers;
        self.orders.changed.notify_all();
        let mut stopped: Option<Instant> = None;
        while given.busy > 0 && !given.has_gone {
            given = self.orders.done.wait_timeout(given, PARK).unwrap_or_else(PoisonError::into_inner).0;
            self.look_at_others();
            if self.state.stopped() && stopped.get_or_insert_with(Instant::now).elapsed() > GRACE {
                break;
            }
        }
        let has_gone = given.has_gone;
        drop(given);
        if has_gone {
            self.state.cancel();
        }
        self.outcome()?;
        self.holder.keeps(self.made.bytes());
        Ok(())
    }

    /// The error that has stopped the tree.
    fn outcome(&self) -> Result<()> {
        match self.state.stopped() {
            true => Err(self.state.take_error().unwrap_or(Error::Cancelled)),
            false => Ok(()),
        }
    }

    /// Stops if another process of the query has failed.
    fn look_at_others(&self) {
        if self.run.processes.as_ref().is_some_and(|others| others.notes.is_stopped()) {
            self.state.cancel();
        }
    }
}

/// How many rows a tree reads, beside build sides that are made. `None` if it reads a table.
fn rows_read(node: &Node, kept: &BTreeMap<usize, Arc<Kept>>, made: &MadeBuilds) -> Option<usize> {
    let inputs = match &node.op {
        Op::Scan(_) => return None,
        Op::Values(batches) => return Some(batches.iter().map(RecordBatch::num_rows).sum()),
        Op::Shared(shared) => return kept.get(&shared.stage).map(|rows| rows.rows()),
        Op::Join(join) if join.repeats => {
            let probe = if join.build == Side::Left { 1 } else { 0 };
            // The first time all workers make it.
            made.has(node.id).then(|| &node.inputs[probe..=probe])?
        }
        _ => &node.inputs[..],
    };
    inputs.iter().try_fold(0_usize, |sum, input| Some(sum + rows_read(input, kept, made)?))
}

impl Job {
    /// Runs it on a worker.
    fn run(&self, worker: &mut Worker, state: &Arc<QueryState>) {
        let to = self.to.clone();
        let end = |_| -> Box<dyn Operator> { Box::new(Absorb::new(to)) };
        let local = render(worker, &self.tree, state, &self.shared, &self.topology, end);
        pages::large();
        step(worker, state, &local);
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        if let Some(single) = self.single.take() {
            // A value that panics while it is dropped stays in memory.
            let _ = panics::catch(|| {
                leave(single);
                Ok(())
            });
        }
        self.orders.lock().is_over = true;
        self.orders.changed.notify_all();
        let Some(Workers::Alone(threads)) = self.workers.take() else { return };
        let start = Instant::now();
        for thread in threads {
            // A worker of a stopped query may wait for the system.
            while self.state.stopped() && !thread.is_finished() && start.elapsed() < GRACE {
                std::thread::sleep(PARK / 20);
            }
            if self.state.stopped() && !thread.is_finished() {
                stack::leave(thread);
            } else {
                // The panic hook has reported a panic.
                let _ = thread.join();
            }
        }
    }
}

/// Does all jobs on one worker.
fn work(worker: &mut Worker, state: &Arc<QueryState>, orders: &Orders) {
    state.register_thread();
    let mut last = 0;
    while let Some((number, job)) = orders.next(last) {
        last = number;
        let to = job.to.clone();
        let local =
            render(worker, &job.tree, state, &job.shared, &job.topology, |_| Box::new(Absorb::new(to)));
        pages::large();
        step(worker, state, &local);
        if state.is_broken_off() {
            return;
        }
        drop(job);
        orders.note_done();
    }
}
