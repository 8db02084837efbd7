//! The rows of a statement.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use engine::QueryState;
use engine::stack::Deep;
use engine::state::Skipped;
use queries::Plan;

use crate::error::Result;
use crate::kept::Kept;
use crate::statistics::Statistics;

/// The rows of a statement, as they are computed. Dropping it cancels the query.
pub struct Results {
    schema: SchemaRef,
    rows: Rows,
    run: Option<Run>,
}

enum Rows {
    /// Those of a query, with one that was looked at before.
    Computed { results: engine::Results, first: Option<RecordBatch> },
    /// Those that a statement has about something else.
    Made(Option<RecordBatch>),
}

/// One run of a plan.
pub(crate) struct Run {
    /// With the values of its scalar subqueries, if it runs in this process.
    pub plan: Deep<Plan>,
    pub state: Arc<QueryState>,
    /// How long planning took.
    pub planning: Duration,
    /// The workers of all processes.
    pub workers: usize,
    pub begun: Instant,
    /// How long it took, once it has ended.
    pub took: Option<Duration>,
    /// The rows that it gave so far.
    pub rows: u64,
    /// Rows of the session that it reads.
    pub _kept: Vec<Arc<Kept>>,
}

impl Run {
    /// Its figures so far.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::new(self.planning, self.workers);
        let took = self.took.unwrap_or_else(|| self.begun.elapsed());
        statistics.execution_seconds.push(took.as_secs_f64());
        statistics.take(&self.plan, &self.state, self.rows);
        statistics
    }
}

impl Results {
    pub(crate) fn computed(results: engine::Results, run: Run) -> Results {
        let schema = results.schema().clone();
        Results { schema, rows: Rows::Computed { results, first: None }, run: Some(run) }
    }

    pub(crate) fn made(batch: RecordBatch, run: Option<Run>) -> Results {
        Results { schema: batch.schema(), rows: Rows::Made(Some(batch)), run }
    }

    /// Those of a statement that has none.
    pub(crate) fn nothing() -> Results {
        Results::made(RecordBatch::new_empty(Arc::new(Schema::empty())), None)
    }

    /// Waits for the first rows, or for the end.
    pub(crate) fn wait_for_rows(&mut self) -> Result<()> {
        if let Some(batch) = self.next().transpose()?
            && let (Rows::Computed { first, .. }, Some(run)) = (&mut self.rows, &mut self.run)
        {
            run.rows -= batch.num_rows() as u64;
            *first = Some(batch);
        }
        Ok(())
    }

    /// The run, of which all rows were taken.
    pub(crate) fn into_run(self) -> Option<Run> {
        self.run
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Figures, cancel and errors of the query, if one is run; any thread may cancel it.
    pub fn state(&self) -> Option<&Arc<QueryState>> {
        self.run.as_ref().map(|run| &run.state)
    }

    /// What readers passed over so far, as the session's settings ask.
    pub fn skipped(&self) -> Skipped {
        self.state().map(|state| state.skipped()).unwrap_or_default()
    }

    /// The figures of the query so far, if one is run.
    pub fn statistics(&self) -> Option<Statistics> {
        self.run.as_ref().map(Run::statistics)
    }
}

impl Results {
    /// The next rows.
    pub(crate) fn take(&mut self) -> Option<engine::Result<RecordBatch>> {
        let next = match &mut self.rows {
            Rows::Made(batch) => return batch.take().map(Ok),
            Rows::Computed { results, first } => match first.take() {
                Some(batch) => Some(Ok(batch)),
                None => results.next(),
            },
        };
        if let Some(run) = &mut self.run {
            match &next {
                Some(Ok(batch)) => run.rows += batch.num_rows() as u64,
                Some(Err(_)) | None => {
                    run.took.get_or_insert_with(|| run.begun.elapsed());
                }
            }
        }
        next
    }
}

impl Iterator for Results {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take().map(|batch| Ok(batch?))
    }
}
