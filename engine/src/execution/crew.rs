//! Workers that stay for many trees, one after another: each round of a recursion is a dataflow on the same threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use timely::worker::Worker;

use super::render::{MadeBuilds, Shared};
use super::run::{GRACE, Run, Tree, render, step};
use super::workers::{Build, PARK, Workers, channels_here, run_thread, start_workers};
use crate::context::memory::Holder;
use crate::context::query::QueryState;
use crate::context::{pages, stack};
use crate::distributed::processes::Topology;
use crate::error::{Error, Result};
use crate::operators::absorb::{Absorb, Absorber};
use crate::state::kept::Kept;

/// The help of an error: how build sides keep less.
const FEWER_BUILD_ROWS: &str = "have the recursion read fewer columns or rows of what it joins in each round";

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
    workers: Option<Workers>,
    /// The build sides that are the same in all rounds.
    made: MadeBuilds,
    holder: Arc<Holder>,
}

impl<'a> Crew<'a> {
    /// Starts the workers. `before` is the state of the stage before.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(run: &'a Run<'a>, nodes: usize, before: Option<&QueryState>) -> Result<Crew<'a>> {
        let workers = run.settings.workers;
        let state = run.state(nodes, workers, before);
        let orders = Arc::<Orders>::default();
        let work = {
            let (state, orders, account) = (state.clone(), orders.clone(), run.account.clone());
            move |build: Build| {
                stack::mark_deep();
                let _entered = account.enter();
                let _going = Going(orders.clone());
                run_thread(build, &state, false, |worker: &mut Worker| work(worker, &state, &orders));
            }
        };
        let holder = {
            let _entered = run.account.enter();
            Holder::new("join (build side)".into(), FEWER_BUILD_ROWS)
        };
        let workers = Some(start_workers(channels_here(workers)?, work, &state)?);
        Ok(Crew { run, state, orders, workers, made: MadeBuilds::default(), holder })
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
        let settings = self.run.settings;
        let topology = Topology { stage: tree.number(), workers: settings.workers, processes: None };
        self.state.want_again();
        let nodes = tree.plan.nodes;
        let shared = Shared::new(tree.root(), nodes, settings, topology.clone(), kept, Some(&mut self.made))?;
        let job = Arc::new(Job { tree, shared, topology, to });
        let mut given = self.orders.lock();
        given.job = Some(job);
        given.number += 1;
        given.busy = settings.workers;
        self.orders.changed.notify_all();
        let mut stopped: Option<Instant> = None;
        while given.busy > 0 && !given.has_gone {
            given = self.orders.done.wait_timeout(given, PARK).unwrap_or_else(PoisonError::into_inner).0;
            if self.run.processes.as_ref().is_some_and(|others| others.notes.is_stopped()) {
                self.state.cancel();
            }
            if self.state.stopped() && stopped.get_or_insert_with(Instant::now).elapsed() > GRACE {
                break;
            }
        }
        let has_gone = given.has_gone;
        drop(given);
        if self.state.stopped() || has_gone {
            return Err(self.state.take_error().unwrap_or(Error::Cancelled));
        }
        self.holder.keeps(self.made.bytes());
        Ok(())
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
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
        drop((local, job));
        orders.note_done();
    }
}
