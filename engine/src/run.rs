//! Starts workers, runs the stages of a plan and hands the result over.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_common::ScalarValue;
use datafusion_expr::physical_planning_context::SubqueryIndex;
use queries::Plan;
use queries::plan::Node;
use timely::worker::Worker;

use crate::error::{Error, Result};
use crate::operator::Local;
use crate::ops::batch_of;
use crate::ops::output::{Queue, Taken};
use crate::render::{Renderer, Shared};
use crate::state::QueryState;

/// How a plan is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Workers, each a thread.
    pub workers: usize,
}

/// The most time that a parked worker sleeps before it looks at the flags.
const PARK: Duration = Duration::from_millis(20);

/// Runs a plan. Its scalar subqueries are run at once, one after another; the rows of the plan itself are then taken
/// from [`Results`].
pub fn run(plan: &Arc<Plan>, settings: &Settings) -> Result<Results> {
    plan.subquery_results.clear();
    for subquery in &plan.subqueries {
        let state = Arc::new(QueryState::new(subquery.nodes));
        let mut results =
            start(Tree { plan: plan.clone(), subquery: Some(subquery.index) }, state, settings)?;
        let batches: Vec<RecordBatch> = results.by_ref().collect::<Result<_>>()?;
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        if rows > 1 {
            return Err(Error::SubqueryRows(rows));
        }
        let value = match batches.iter().find(|b| b.num_rows() == 1) {
            Some(batch) => ScalarValue::try_from_array(batch.column(0), 0)?,
            None => ScalarValue::try_from(subquery.root.schema.field(0).data_type())?,
        };
        plan.subquery_results.set(SubqueryIndex::new(subquery.index), value)?;
    }
    let state = Arc::new(QueryState::new(plan.nodes));
    start(Tree { plan: plan.clone(), subquery: None }, state, settings)
}

/// One tree of a plan.
#[derive(Clone)]
struct Tree {
    plan: Arc<Plan>,
    subquery: Option<usize>,
}

impl Tree {
    fn root(&self) -> &Node {
        match self.subquery {
            Some(index) => &self.plan.subqueries[index].root,
            None => &self.plan.root,
        }
    }

    fn nodes(&self) -> usize {
        self.subquery.map_or(self.plan.nodes, |i| self.plan.subqueries[i].nodes)
    }
}

fn start(tree: Tree, state: Arc<QueryState>, settings: &Settings) -> Result<Results> {
    let shared = Arc::new(Shared::new(tree.root(), tree.nodes(), settings.workers)?);
    let queue = Arc::new(Queue::default());
    let schema = match tree.subquery {
        None => tree.plan.schema.clone(),
        Some(_) => tree.root().schema.clone(),
    };
    let config = timely::Config::process(settings.workers);
    let (worker_state, worker_queue) = (state.clone(), queue.clone());
    let work = move |worker: &mut Worker| run_worker(worker, &tree, &worker_state, &shared, &worker_queue);
    let guards = timely::execute(config, work).map_err(Error::Start)?;
    // Joining takes a thread of its own: the caller's thread takes the rows.
    let (waiting, ended) = (state.clone(), queue.clone());
    let thread = std::thread::Builder::new()
        .name("palais-join".into())
        .spawn(move || {
            for outcome in guards.join() {
                if let Err(e) = outcome {
                    waiting.fail(Error::Start(e));
                }
            }
            ended.end();
        })
        .map_err(|e| Error::Start(e.to_string()))?;
    Ok(Results { schema, queue, state, thread: Mutex::new(Some(thread)), done: false })
}

fn run_worker(
    worker: &mut Worker,
    tree: &Tree,
    state: &Arc<QueryState>,
    shared: &Shared,
    queue: &Arc<Queue>,
) {
    state.register_thread();
    let local = Local::new(worker, state.clone(), tree.nodes());
    worker.dataflow(|scope| {
        let renderer = Renderer { scope, local: &local, shared, failed: Default::default() };
        renderer.root(tree.root(), queue.clone());
        if let Some(e) = renderer.failed.take() {
            state.fail(e);
        }
    });
    let mut epoch = state.epoch();
    while worker.has_dataflows() {
        if state.epoch() != epoch {
            epoch = state.epoch();
            local.wake_all();
        }
        worker.step_or_park(Some(PARK));
    }
}

/// The rows of a running query. Dropping it cancels the query.
pub struct Results {
    schema: SchemaRef,
    queue: Arc<Queue>,
    state: Arc<QueryState>,
    thread: Mutex<Option<JoinHandle<()>>>,
    done: bool,
}

impl Results {
    /// The columns of the result.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Figures, cancel, errors.
    pub fn state(&self) -> &Arc<QueryState> {
        &self.state
    }

    fn join(&self) {
        let thread = self.thread.lock().expect("nothing panics with this lock").take();
        if let Some(thread) = thread {
            // The thread's own panic was reported by the hook.
            let _ = thread.join();
        }
    }
}

impl Iterator for Results {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            // An error is told at once; the workers stop meanwhile.
            if self.state.stopped() {
                self.join();
            }
            match self.queue.take(PARK) {
                Taken::Late => continue,
                Taken::Batch(batch) if !self.state.stopped() => {
                    return Some(batch_of(&self.schema, batch.columns().to_vec(), batch.num_rows()));
                }
                Taken::Batch(_) => continue,
                Taken::End => {
                    self.done = true;
                    self.join();
                    return self.state.take_error().map(Err);
                }
            }
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
