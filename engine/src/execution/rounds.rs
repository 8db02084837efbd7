//! Recursions: a stage that is run in rounds, until a round gives no more rows.
//!
//! A round is a dataflow of the stage's tree on workers that stay (decision 46). What reads the seed of the recursion reads
//! the rows of the last round. The rows of all rounds are kept, as those of other stages are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use queries::Plan;
use queries::plan::{Rounds, StageOutput};

use super::crew::Crew;
use super::run::{Run, Tree, stage_value};
use crate::context::panics;
use crate::context::query::QueryState;
use crate::context::stack::{self, Deep};
use crate::dataflow::batch::{BATCH_ROWS, batch_of, compact};
use crate::error::{Error, Result};
use crate::operators::absorb::Absorber;
use crate::state::kept::{Kept, Reading, StageRows};
use crate::state::seen::Seen;

/// Batches of fewer rows than this are put together before they are kept: a round may give one row.
const SMALL: usize = BATCH_ROWS / 2;

/// The rows of stages, by their numbers.
type Stages = BTreeMap<usize, Arc<Kept>>;

/// Runs the recursion whose stage is at `position`. Gives its rows, and the state of its workers. `kept` are the rows of
/// stages that it reads.
///
/// # Errors
/// Those of its rounds.
pub(super) fn run(
    run: &Run<'_>,
    plan: &Deep<Plan>,
    (position, rounds): (usize, &Rounds),
    kept: &Stages,
    before: Option<&QueryState>,
) -> Result<(Kept, Arc<QueryState>)> {
    let work = || {
        stack::mark_deep();
        let _entered = run.account.enter();
        let mut crew = Crew::new(run, plan.nodes, before);
        let state = crew.state().clone();
        let rows = recursion(&mut crew, plan, (position, rounds), &mut kept.clone())?;
        state.bytes_spilled.fetch_add(rows.bytes_on_disk(), Ordering::Relaxed);
        Ok((rows, state))
    };
    // Rounds of few rows run on this thread, which has the stack of a worker.
    std::thread::scope(|scope| {
        let thread = stack::worker("palais-rounds".into()).spawn_scoped(scope, || panics::catch(work));
        let thread = thread.map_err(|e| Error::Start(e.to_string()))?;
        thread.join().unwrap_or_else(|_| Err(Error::Start("the thread has panicked".into())))
    })
}

fn recursion(
    crew: &mut Crew<'_>,
    plan: &Deep<Plan>,
    (position, rounds): (usize, &Rounds),
    kept: &mut Stages,
) -> Result<Kept> {
    let run = crew.run();
    let (number, schema) = (plan.stages[position].number, plan.stages[position].root.schema.clone());
    let label = format!("rows of recursion {number}");
    let seen = match rounds.distinct {
        Some(layout) => {
            let _entered = run.account.enter();
            Some(Arc::new(Seen::new(layout, &schema, run.settings.workers, format!("distinct {label}"))?))
        }
        None => None,
    };
    let mut all = Gathered::new(StageRows::new(schema.clone(), label, &run.account, bytes_of(kept)));
    let mut at = position_of(plan, rounds.seed).unwrap_or(position);
    let mut now = plan.clone();
    loop {
        let label = format!("rows of a round of recursion {number}");
        let others = bytes_of(kept) + all.bytes;
        let to = Arc::new(Round {
            seen: seen.clone(),
            keeper: StageRows::new(schema.clone(), label, &run.account, others),
            schema: schema.clone(),
        });
        crew.tree(Tree { plan: Arc::clone(&now), stage: Some(at) }, kept, to.clone())?;
        let last = Arc::new(to.keeper.finish());
        all.add(&last)?;
        if last.rows() == 0 || rounds.fetch.is_some_and(|fetch| all.rows >= fetch) {
            break;
        }
        kept.insert(rounds.seed, last);
        at = position;
        now = stages_before(crew, plan, rounds, kept)?;
    }
    kept.remove(&rounds.seed);
    rounds.before.iter().for_each(|stage| {
        kept.remove(stage);
    });
    all.finish()
}

/// Runs the other stages of a round. Gives the plan with their values.
fn stages_before(
    crew: &mut Crew<'_>,
    plan: &Deep<Plan>,
    rounds: &Rounds,
    kept: &mut Stages,
) -> Result<Deep<Plan>> {
    let (run, mut now) = (crew.run(), plan.clone());
    for number in &rounds.before {
        let Some(at) = position_of(plan, *number) else { continue };
        let stage = &plan.stages[at];
        if let StageOutput::Rounds(inner) = &stage.gives {
            let rows = recursion(crew, &now, (at, inner), kept)?;
            kept.insert(*number, Arc::new(rows));
            continue;
        }
        let label = format!("shared rows {number}");
        let keeper = Arc::new(StageRows::new(stage.root.schema.clone(), label, &run.account, bytes_of(kept)));
        crew.tree(Tree { plan: Arc::clone(&now), stage: Some(at) }, kept, keeper.clone())?;
        let rows = Arc::new(keeper.finish());
        if stage.gives == StageOutput::Value {
            let value = stage_value(stage, &batches(&rows)?)?;
            now = Deep::new(stack::deep(|| now.with_value(stage, &value))??);
        } else {
            kept.insert(*number, rows);
        }
    }
    Ok(now)
}

/// The place of the stage of a number.
fn position_of(plan: &Plan, number: usize) -> Option<usize> {
    plan.stages.iter().position(|stage| stage.number == number)
}

fn bytes_of(kept: &Stages) -> usize {
    kept.values().map(|kept| kept.bytes_in_memory()).sum()
}

fn batches(rows: &Arc<Kept>) -> Result<Vec<RecordBatch>> {
    let (reading, mut batches) = (Reading::new(rows.clone()), Vec::new());
    while let Some((_, batch)) = reading.take()? {
        batches.push(batch);
    }
    Ok(batches)
}

/// Takes the rows of one round.
struct Round {
    /// Knows the rows that were given before, which are left out.
    seen: Option<Arc<Seen>>,
    keeper: StageRows,
    schema: SchemaRef,
}

impl Absorber for Round {
    fn absorb(&self, batch: &RecordBatch) -> Result<()> {
        // The seed names its columns otherwise than the term.
        let batch = batch_of(&self.schema, batch.columns().to_vec(), batch.num_rows())?;
        match &self.seen {
            Some(seen) => self.keeper.keep(&seen.new_rows(&batch)?),
            None => self.keeper.keep(&batch),
        }
    }
}

impl Absorber for StageRows {
    fn absorb(&self, batch: &RecordBatch) -> Result<()> {
        self.keep(batch)
    }
}

/// The rows of all rounds.
struct Gathered {
    keeper: StageRows,
    small: Vec<RecordBatch>,
    small_rows: usize,
    rows: usize,
    /// The bytes that it keeps in memory, about.
    bytes: usize,
}

impl Gathered {
    fn new(keeper: StageRows) -> Gathered {
        Gathered { keeper, small: Vec::new(), small_rows: 0, rows: 0, bytes: 0 }
    }

    fn add(&mut self, rows: &Arc<Kept>) -> Result<()> {
        let reading = Reading::new(rows.clone());
        while let Some((_, batch)) = reading.take()? {
            self.rows += batch.num_rows();
            if batch.num_rows() >= SMALL {
                self.put_together()?;
                self.keeper.keep(&batch)?;
                continue;
            }
            self.small_rows += batch.num_rows();
            self.small.push(compact(&batch));
            if self.small_rows >= SMALL {
                self.put_together()?;
            }
        }
        self.bytes = self.keeper.bytes_in_memory();
        Ok(())
    }

    fn put_together(&mut self) -> Result<()> {
        if let Some(first) = self.small.first() {
            self.keeper.keep(&concat_batches(first.schema_ref(), &self.small)?)?;
        }
        self.small.clear();
        self.small_rows = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<Kept> {
        self.put_together()?;
        Ok(self.keeper.finish())
    }
}
