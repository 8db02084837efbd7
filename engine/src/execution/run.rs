//! Starts workers, runs the stages of a plan, and hands the result to the caller.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_common::ScalarValue;
use queries::Plan;
use queries::plan::{Node, Op, Stage, StageOutput};
use timely::logging::TimelyProgressEventBuilder;
use timely::worker::Worker;

use crate::context::cancel::Cancel;
use crate::context::memory::{self, Account, Entered};
use crate::context::pages;
use crate::context::panics;
use crate::context::query::QueryState;
use crate::context::stack::{self, Deep};
use crate::dataflow::batch::batch_of;
use crate::dataflow::operator::{Local, Operator, Time, Wake};
use crate::distributed::processes::{NoteReceiver, Processes, Topology};
use crate::distributed::wire;
use crate::error::{Error, Result};
use crate::execution::render::{Renderer, Shared};
use crate::execution::rounds;
use crate::execution::workers::{Build, PARK, channels_here, run_thread, start_workers};
use crate::operators::output::{Output, Queue, Taken};
use crate::operators::scan::prefetch::PARTS;
use crate::state::kept::{Kept, StageRows};

/// The settings of one run of a plan.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of workers of a process. Each is a thread.
    pub workers: usize,
    /// The number of splits of files that the system reads ahead; see [`crate::operators::scan::prefetch`].
    pub read_ahead: usize,
    /// The bytes that the operators of the query may keep. It counts if it is lower than the limit of the process.
    pub memory_limit: u64,
}

impl Settings {
    /// The default settings with so many workers.
    pub fn new(workers: usize) -> Settings {
        Settings { workers, read_ahead: PARTS, memory_limit: u64::MAX }
    }
}

/// How long the caller waits for a stopped query. A worker that waits for the system, such as for a pipe without a
/// writer, doesn't see that the query is stopped.
pub(super) const GRACE: Duration = Duration::from_millis(700);

/// Runs a plan in this process. `cancel` can stop it.
///
/// The function runs the stages, one after another, before it returns. The caller then takes the rows of the plan itself
/// from [`Results`].
///
/// # Errors
/// The errors of the stages, and workers that can't be started.
pub fn run(plan: &Arc<Plan>, settings: &Settings, cancel: &Cancel) -> Result<Results> {
    run_in(plan, settings, cancel, None)
}

/// Runs this process's part of a plan. All processes of the query have the same plan. If the result lies on worker 0,
/// process 0 has all rows, and the other processes have none.
///
/// # Errors
/// The errors of the query, and processes that can't reach one another.
pub fn run_among(plan: &Arc<Plan>, settings: &Settings, processes: Arc<Processes>) -> Result<Results> {
    run_in(plan, settings, &Cancel::default(), Some(processes))
}

fn run_in(
    plan: &Arc<Plan>,
    settings: &Settings,
    cancel: &Cancel,
    processes: Option<Arc<Processes>>,
) -> Result<Results> {
    let account = Account::new(settings.memory_limit);
    let run = Run { settings, cancel, processes, account };
    let (mut plan, mut before) = (Deep::from(plan.clone()), None);
    let mut kept = BTreeMap::new();
    let in_rounds = plan.run_in_rounds();
    for position in 0..plan.stages.len() {
        if in_rounds.contains(&plan.stages[position].number) {
            continue;
        }
        if let StageOutput::Rounds(rounds) = &plan.stages[position].gives {
            let rows = match &run.processes {
                // The first process runs it.
                Some(processes) if processes.index > 0 => {
                    processes.network.value(position)?;
                    run.no_rows(&plan.stages[position])
                }
                _ => {
                    let (rows, state) =
                        rounds::run(&run, &plan, (position, rounds), &kept, before.as_deref())?;
                    before = Some(state);
                    run.processes.iter().for_each(|others| others.network.tell_value(position, vec![]));
                    rows
                }
            };
            kept.insert(plan.stages[position].number, Arc::new(rows));
            forget(&plan, position, &mut kept)?;
            continue;
        }
        let tree = Tree { plan: Arc::clone(&plan), stage: Some(position) };
        let results = run.start(tree, &kept, before.as_deref())?;
        before = Some(results.state().clone());
        let stage = &plan.stages[position];
        match stage.gives {
            StageOutput::Value => {
                let value = run.value(stage, position, results)?;
                plan = Deep::new(stack::deep(|| plan.with_value(stage, &value))??);
            }
            // These have been looked at.
            StageOutput::Seed | StageOutput::Rounds(_) => {}
            StageOutput::Rows => {
                let others = kept.values().map(|kept: &Arc<Kept>| kept.bytes_in_memory()).sum();
                kept.insert(stage.number, Arc::new(run.keep(stage, results, others)?));
            }
        }
        forget(&plan, position, &mut kept)?;
    }
    let tree = Tree { plan: Arc::clone(&plan), stage: None };
    run.start(tree, &kept, before.as_deref())
}

/// Forgets the rows of stages that nothing reads any more, once the stage at `position` has been run.
fn forget(plan: &Plan, position: usize, kept: &mut BTreeMap<usize, Arc<Kept>>) -> Result<()> {
    let mut later = plan.stages.iter().skip(position + 1);
    // A recursion that comes reads them by way of stages that stand before it.
    if kept.is_empty() || later.any(|stage| matches!(stage.gives, StageOutput::Rounds(_))) {
        return Ok(());
    }
    let read: BTreeSet<usize> =
        stack::deep(|| plan.trees().skip(position + 1).flat_map(stages_of).collect())?;
    kept.retain(|number, _| read.contains(number));
    Ok(())
}

/// The stages whose rows a tree reads.
fn stages_of(node: &Node) -> BTreeSet<usize> {
    let mut stages: BTreeSet<usize> = node.inputs.iter().flat_map(stages_of).collect();
    if let Op::Shared(shared) = &node.op {
        stages.insert(shared.stage);
    }
    stages
}

/// One run of a plan.
pub(super) struct Run<'a> {
    pub settings: &'a Settings,
    cancel: &'a Cancel,
    pub processes: Option<Arc<Processes>>,
    pub account: Arc<Account>,
}

impl Run<'_> {
    /// Starts the workers of a tree. `kept` are the rows of stages, by their numbers, and `before` is the state of the stage
    /// before it.
    fn start(
        &self,
        tree: Tree,
        kept: &BTreeMap<usize, Arc<Kept>>,
        before: Option<&QueryState>,
    ) -> Result<Results> {
        let stage = tree.number();
        let topology = Topology { stage, workers: self.settings.workers, processes: self.processes.clone() };
        let state = self.state(tree.plan.nodes, topology.peers(), before);
        start(tree, topology, self.settings, &self.account, state, kept)
    }

    /// The state of a stage of `nodes` nodes that begins on `workers` workers.
    pub fn state(&self, nodes: usize, workers: usize, before: Option<&QueryState>) -> Arc<QueryState> {
        begun(Arc::new(QueryState::new(nodes, workers)), self.cancel, before)
    }

    /// The value of a stage, the same one in every process.
    fn value(&self, stage: &Stage, position: usize, mut results: Results) -> Result<ScalarValue> {
        let batches: Vec<RecordBatch> = results.by_ref().collect::<Result<_>>()?;
        match &self.processes {
            None => stage_value(stage, &batches),
            Some(processes) if processes.index == 0 => {
                let value = stage_value(stage, &batches)?;
                processes.network.tell_value(position, wire::encode_value(&value)?);
                Ok(value)
            }
            Some(processes) => {
                let t = stage.root.schema.field(0).data_type();
                wire::decode_value(&processes.network.value(position)?, t)
            }
        }
    }

    /// No rows of a stage.
    fn no_rows(&self, stage: &Stage) -> Kept {
        let label = format!("shared rows {}", stage.number);
        StageRows::new(stage.root.schema.clone(), label, &self.account, 0).finish()
    }

    /// The rows of a stage that the workers of this process give. The stages before it keep `others` bytes in memory.
    fn keep(&self, stage: &Stage, results: Results, others: usize) -> Result<Kept> {
        let state = results.state().clone();
        let label = format!("shared rows {}", stage.number);
        let keeper = StageRows::new(results.schema().clone(), label, &self.account, others);
        results.drain(|batch| keeper.keep(&batch))?;
        let kept = keeper.finish();
        state.bytes_spilled.fetch_add(kept.bytes_on_disk(), Ordering::Relaxed);
        Ok(kept)
    }
}

/// Prepares the state of a stage that begins: `cancel` can stop it, and it has the figures of the stages before it.
fn begun(state: Arc<QueryState>, cancel: &Cancel, before: Option<&QueryState>) -> Arc<QueryState> {
    before.into_iter().for_each(|before| state.go_on_from(before));
    cancel.stops(&state);
    state
}

pub(super) fn stage_value(stage: &Stage, batches: &[RecordBatch]) -> Result<ScalarValue> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if rows > 1 {
        return Err(Error::SubqueryRows(rows));
    }
    Ok(match batches.iter().find(|b| b.num_rows() == 1) {
        Some(batch) => ScalarValue::try_from_array(batch.column(0), 0)?,
        None => ScalarValue::try_from(stage.root.schema.field(0).data_type())?,
    })
}

/// One tree of a plan: that of the stage at a position, or the one that gives the result.
#[derive(Clone)]
pub(super) struct Tree {
    pub plan: Arc<Plan>,
    pub stage: Option<usize>,
}

impl Tree {
    /// Its number among the trees of the plan.
    pub fn number(&self) -> usize {
        self.stage.unwrap_or(self.plan.stages.len())
    }

    pub fn root(&self) -> &Node {
        match self.stage {
            Some(position) => &self.plan.stages[position].root,
            None => &self.plan.root,
        }
    }
}

fn start(
    tree: Tree,
    topology: Topology,
    settings: &Settings,
    account: &Arc<Account>,
    state: Arc<QueryState>,
    kept: &BTreeMap<usize, Arc<Kept>>,
) -> Result<Results> {
    let nodes = tree.plan.nodes;
    let shared = Arc::new(Shared::new(tree.root(), nodes, settings, topology.clone(), kept, None)?);
    // Rows that lie on worker 0 come through one queue. Rows that lie on all workers come through a queue for each
    // worker.
    let queues = if tree.root().single { 1 } else { settings.workers };
    let queues: Vec<Arc<Queue>> = (0..queues).map(|_| Arc::default()).collect();
    let schema = match tree.stage {
        None => tree.plan.schema.clone(),
        Some(_) => tree.root().schema.clone(),
    };
    let channels = match &topology.processes {
        None => channels_here(settings.workers)?,
        Some(processes) => {
            let receiver: Arc<dyn NoteReceiver> = shared.clone();
            processes.notes.begin(topology.stage, &state, &receiver)?;
            processes.network.connect(topology.stage)?
        }
    };
    let (among, plan) = (topology.processes.is_some(), Deep::from(tree.plan.clone()));
    let work = {
        let (state, queues, account) = (state.clone(), queues.clone(), account.clone());
        move |build: Build| {
            stack::mark_deep();
            let _entered = account.enter();
            let run = |worker: &mut Worker| {
                let queue = &queues[worker.index() % queues.len()];
                run_worker(worker, &tree, &state, &shared, &topology, queue);
            };
            run_thread(build, &state, among, run);
        }
    };
    let workers = start_workers(channels, work, &state)?;
    // A thread of its own joins the workers, because the caller's thread takes the rows.
    let (waiting, ended) = (state.clone(), queues.clone());
    let join = move || {
        memory::settle_at_end();
        for e in workers.join() {
            waiting.fail(Error::Start(e));
        }
        ended.iter().for_each(|queue| queue.end());
    };
    let thread = std::thread::Builder::new().name("palais-join".into()).spawn(join);
    let thread = thread.map_err(|e| {
        state.cancel();
        Error::Start(e.to_string())
    })?;
    let thread = Mutex::new(Some(thread));
    let (plan, account) = (Some(plan), Some(account.clone()));
    Ok(Results { schema, queues, state, account, plan, thread, among, done: false })
}

fn run_worker(
    worker: &mut Worker,
    tree: &Tree,
    state: &Arc<QueryState>,
    shared: &Shared,
    topology: &Topology,
    queue: &Arc<Queue>,
) {
    state.register_thread();
    if topology.processes.is_some() {
        count_progress(worker, state.clone());
    }
    let queue = queue.clone();
    let local = render(worker, tree, state, shared, topology, |wake| Box::new(Output::new(queue, wake)));
    // From here on the worker has rows, which suit large pages.
    pages::large();
    step(worker, state, &local);
}

/// Makes the dataflow of a tree on a worker. The operator that `end` makes takes its rows.
pub(super) fn render(
    worker: &mut Worker,
    tree: &Tree,
    state: &Arc<QueryState>,
    shared: &Shared,
    topology: &Topology,
    end: impl FnOnce(Wake) -> Box<dyn Operator>,
) -> Rc<Local> {
    let local = Local::new(worker, state.clone(), topology.clone(), tree.plan.nodes);
    worker.dataflow(|scope| {
        let renderer = Renderer { scope, local: &local, shared, failed: Default::default() };
        renderer.root(tree.root(), end);
        if let Some(e) = renderer.failed.take() {
            state.fail(e);
        }
    });
    local
}

/// Runs the dataflow of a worker to its end.
pub(super) fn step(worker: &mut Worker, state: &QueryState, local: &Local) {
    let mut epoch = state.epoch();
    while worker.has_dataflows() && !state.is_broken_off() {
        if state.epoch() != epoch {
            epoch = state.epoch();
            local.wake_all();
        }
        worker.step_or_park(Some(PARK));
    }
}

/// Counts the messages in which a worker tells the others of its progress.
fn count_progress(worker: &Worker, state: Arc<QueryState>) {
    let Some(mut register) = worker.log_register() else { return };
    let name = format!("timely/progress/{}", std::any::type_name::<Time>());
    register.insert::<TimelyProgressEventBuilder<Time>, _>(&name, move |_, events| {
        let sent = events.iter().flatten().filter(|(_, event)| event.is_send).count();
        state.progress_sent.fetch_add(sent as u64, Ordering::Relaxed);
    });
}

/// The rows of a running query. Dropping it cancels the query.
///
/// If the rows of a plan lie on all workers, only [`Results::drain`] and [`crate::writing::copy`] can take them. An
/// iterator empties one queue after another, and the workers whose queues are full would hold back the others.
pub struct Results {
    schema: SchemaRef,
    queues: Vec<Arc<Queue>>,
    state: Arc<QueryState>,
    /// The account of the query, if this process runs it.
    account: Option<Arc<Account>>,
    plan: Option<Deep<Plan>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether the query has workers in other processes. Then the workers don't end when the query is stopped.
    among: bool,
    done: bool,
}

/// Takes rows that another process or thread computes.
pub struct Sink {
    queue: Arc<Queue>,
    state: Arc<QueryState>,
}

impl Sink {
    /// Gives a batch to the consumer of the rows, and waits while the queue is full. False if the query was stopped.
    pub fn give(&self, batch: &RecordBatch) -> bool {
        self.queue.put_waiting(batch, || self.state.stopped())
    }
}

impl Results {
    /// Results whose rows another process or thread computes. `feed` runs on a thread of its own, and gives the rows to
    /// its [`Sink`].
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn fed(
        schema: SchemaRef,
        state: Arc<QueryState>,
        feed: impl FnOnce(&Sink) -> Result<()> + Send + 'static,
    ) -> Result<Results> {
        let queue = Arc::<Queue>::default();
        let sink = Sink { queue: queue.clone(), state: state.clone() };
        let run = move || {
            if let Err(e) = panics::catch(|| feed(&sink)) {
                sink.state.fail(e);
            }
            sink.queue.end();
        };
        let thread = std::thread::Builder::new().name("palais-feed".into()).spawn(run);
        let thread = thread.map_err(|e| Error::Start(e.to_string()))?;
        let thread = Mutex::new(Some(thread));
        let (queues, account) = (vec![queue], None);
        Ok(Results { schema, queues, state, account, plan: None, thread, among: false, done: false })
    }

    /// The columns of the result.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The state of the query: figures, flags, errors.
    pub fn state(&self) -> &Arc<QueryState> {
        &self.state
    }

    /// The plan with the values of its stages, if this process runs it.
    pub fn plan(&self) -> Option<&Deep<Plan>> {
        self.plan.as_ref()
    }

    /// Makes the calling thread, which does something with the rows, work for the query, until the result is dropped.
    pub(crate) fn enter(&self) -> Option<Entered> {
        self.account.as_ref().map(Account::enter)
    }

    /// The queues of the result. The caller empties all of them at the same time.
    pub(crate) fn queues(&self) -> &[Arc<Queue>] {
        &self.queues
    }

    /// A batch of a queue with the names and types of the result's columns.
    pub(crate) fn named(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        batch_of(&self.schema, batch.columns().to_vec(), batch.num_rows())
    }

    /// Gives all rows to `each`. The rows of one queue come in their order. Several queues are drained by a thread for
    /// each.
    ///
    /// # Errors
    /// The errors of the query, and the errors of `each`, which stop the query.
    pub fn drain(mut self, each: impl Fn(RecordBatch) -> Result<()> + Sync) -> Result<()> {
        let results = &self;
        let drain = |queue: &Queue| {
            loop {
                match queue.take(PARK) {
                    _ if results.state.stopped() => return Err(Error::Cancelled),
                    Taken::Late => {}
                    Taken::Batch(batch) => each(results.named(&batch)?)?,
                    Taken::End => return Ok(()),
                }
            }
        };
        let drain = |queue: &Queue| {
            let _entered = results.enter();
            panics::catch(|| drain(queue)).inspect_err(|_| results.state.cancel())
        };
        let outcome = std::thread::scope(|scope| {
            let start =
                |queue| stack::worker("palais-drain".into()).spawn_scoped(scope, move || drain(queue));
            let (first, others) = self.queues.split_first().expect("there is a worker");
            let threads: Vec<_> = others.iter().map(|queue| start(queue)).collect();
            let mut outcome = drain(first);
            for thread in threads {
                let ended = thread.map_err(|e| {
                    results.state.cancel();
                    Error::Start(e.to_string())
                });
                let ended = ended.and_then(|thread| thread.join().unwrap_or(Err(Error::Cancelled)));
                outcome = outcome.and(ended);
            }
            outcome
        });
        match outcome {
            Ok(()) => {
                self.finish();
                self.state.take_error().map_or(Ok(()), Err)
            }
            Err(e) => Err(self.stop(e)),
        }
    }

    /// Stops the query, and waits until it has ended. Gives the query's own error, or `error` if it has none.
    pub(crate) fn stop(&mut self, error: Error) -> Error {
        self.state.cancel();
        self.join();
        self.done = true;
        match (error, self.state.take_error()) {
            // The consumer of the rows was stopped with the query.
            (Error::Cancelled, Some(why)) => why,
            (error, _) => error,
        }
    }

    /// Waits until the query has ended, after all its rows were taken.
    pub(crate) fn finish(&mut self) {
        self.join();
        self.done = true;
    }

    /// Waits until the workers have ended. If the query is stopped, it waits [`GRACE`] at most, and not at all if the
    /// query has workers in other processes.
    fn join(&self) {
        let thread = self.thread.lock().expect("nothing panics with this lock").take();
        let Some(thread) = thread else { return };
        let start = Instant::now();
        // The queues end when the last worker has ended.
        while self.state.stopped() && !matches!(self.queues[0].take(PARK), Taken::End) {
            if self.among || start.elapsed() > GRACE {
                return stack::leave(thread);
            }
        }
        // The panic hook has reported a panic of the thread.
        let _ = thread.join();
    }
}

impl Iterator for Results {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            debug_assert!(self.queues.len() == 1, "the plan gathers its rows");
            match self.queues[0].take(PARK) {
                // An error comes before the rows that came ahead of it.
                _ if self.state.stopped() => {}
                Taken::Late => continue,
                Taken::Batch(batch) => return Some(self.named(&batch)),
                Taken::End => {}
            }
            self.finish();
            return self.state.take_error().map(Err);
        }
        None
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        if !self.done {
            self.state.cancel();
            self.join();
        }
    }
}
