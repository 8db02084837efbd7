//! The rows of a statement.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use engine::QueryState;
use engine::context::query::Skipped;
use engine::context::stack::Deep;
use engine::writing::dataset::Output;
use queries::Plan;

use crate::error::Result;
use crate::kept::Kept;
use crate::progress::{Progress, Total};
use crate::rejects::RejectRun;
use crate::statistics::Statistics;

/// The rows of a statement, as they are computed. Dropping this cancels the query.
pub struct Results {
    schema: SchemaRef,
    rows: Rows,
    run: Option<Run>,
    warnings: Vec<String>,
}

enum Rows {
    /// The rows of a query; `first` is a batch that was taken from it before.
    Computed { results: engine::Results, first: Option<RecordBatch> },
    /// Rows that the session has made, such as those of EXPLAIN.
    Made(Option<RecordBatch>),
}

/// One run of a plan.
pub(crate) struct Run {
    /// The plan, with the values of its stages if it runs in this process. `None` if another process planned the query.
    pub plan: Option<Deep<Plan>>,
    pub state: Arc<QueryState>,
    /// What the plan reads. `None` if another process planned the query.
    pub total: Option<Total>,
    /// How long planning took.
    pub planning: Duration,
    /// The workers of all processes.
    pub workers: usize,
    pub begun: Instant,
    /// How long the run took, once it has ended.
    pub took: Option<Duration>,
    /// The rows that the run has given so far.
    pub rows: u64,
    /// What is kept of what the run passes over.
    pub rejects: Option<RejectRun>,
    /// Rows of the session that the run reads.
    pub _kept: Vec<Arc<Kept>>,
}

impl Run {
    /// Notes that the run ends now, unless it has ended before.
    fn end(&mut self) {
        self.took.get_or_insert_with(|| self.begun.elapsed());
        self.state.end();
    }

    /// Keeps what the run has passed over, once it has ended without an error.
    pub fn keep_rejects(&mut self) -> engine::Result<()> {
        self.rejects.take().map_or(Ok(()), |rejects| rejects.finish(&self.state))
    }

    /// The figures of the run so far.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::new(self.planning, self.workers);
        let took = self.took.unwrap_or_else(|| self.begun.elapsed());
        statistics.execution_seconds.push(took.as_secs_f64());
        match &self.plan {
            Some(plan) => statistics.take(plan, &self.state, self.rows),
            None => statistics.take_sums(&self.state, self.rows),
        }
        statistics
    }
}

/// The columns of the result of a statement that wrote rows.
pub(crate) fn counted() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("count", DataType::Int64, false)]))
}

impl Results {
    pub(crate) fn computed(results: engine::Results, run: Run) -> Results {
        let schema = results.schema().clone();
        Results {
            schema,
            rows: Rows::Computed { results, first: None },
            run: Some(run),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn made(batch: RecordBatch, run: Option<Run>) -> Results {
        Results { schema: batch.schema(), rows: Rows::Made(Some(batch)), run, warnings: Vec::new() }
    }

    /// The result of a statement that wrote rows: one row, which says how many.
    pub(crate) fn counted(run: Option<Run>, warnings: Vec<String>) -> Result<Results> {
        let rows = run.as_ref().map_or(0, |run| run.rows);
        let rows: ArrayRef = Arc::new(Int64Array::from(vec![rows as i64]));
        let batch = RecordBatch::try_new(counted(), vec![rows]).map_err(engine::Error::from)?;
        Ok(Results { warnings, ..Results::made(batch, run) })
    }

    /// Notes that the run ends now, and not when the last row is taken.
    pub(crate) fn end_run(&mut self) {
        self.run.iter_mut().for_each(Run::end);
    }

    /// Writes all rows, of which none was taken yet. `shape` gives a batch the columns of `output`.
    pub(crate) fn copy(
        &mut self,
        output: Output,
        shape: impl Fn(RecordBatch) -> formats::Result<RecordBatch> + Sync,
    ) -> Result<()> {
        if let (Rows::Computed { results, .. }, Some(run)) = (&mut self.rows, &mut self.run) {
            let written = engine::writing::copy::copy(results, output, shape)?;
            run.rows = written.rows;
            run.keep_rejects()?;
        }
        self.end_run();
        Ok(())
    }

    /// The result of a statement without rows.
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

    /// The run. Call it when all rows were taken.
    pub(crate) fn into_run(self) -> Option<Run> {
        self.run
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Figures, cancel and errors of the query, if the statement runs one. Any thread may cancel it.
    pub fn state(&self) -> Option<&Arc<QueryState>> {
        self.run.as_ref().map(|run| &run.state)
    }

    /// Rows and values that readers have passed over so far, as the settings of the session ask.
    pub fn skipped(&self) -> Skipped {
        self.state().map(|state| state.skipped()).unwrap_or_default()
    }

    /// Warnings. They are of files that were unlike those that were looked at first, so that the query was run anew.
    /// Others are of a written file that is other than its reader may expect.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// How far the query has come, if the statement runs one.
    pub fn progress(&self) -> Option<Progress> {
        self.run.as_ref().map(|run| Progress::of(run.total, &run.state))
    }

    /// The figures of the query so far, if the statement runs one.
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
                Some(Err(_)) => {
                    run.rejects = None;
                    run.end();
                }
                None => {
                    run.end();
                    if let Err(error) = run.keep_rejects() {
                        return Some(Err(error));
                    }
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
