//! The figures of a run.

use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::QueryState;
use serde::Serialize;

/// The figures of a run.
#[derive(Debug, Default, Serialize)]
pub struct Statistics {
    /// Seconds to parse, resolve tables and plan.
    pub plan_seconds: f64,
    /// Seconds of each execution, from the start of the workers to the last batch.
    pub execution_seconds: Vec<f64>,
    /// Rows that scans gave, in the last execution.
    pub rows_read: u64,
    /// Bytes of files that were read, in the last execution.
    pub bytes_read: u64,
    /// Bytes that processes sent to one another, in the last execution.
    pub bytes_sent: u64,
    /// Bytes that came from other processes, in the last execution.
    pub bytes_received: u64,
    /// Bytes put on disk because they did not fit the memory, in the last execution.
    pub bytes_spilled: u64,
    /// Bytes of rows that processes of one machine have read in each other's memory, in the last execution.
    pub bytes_lent: u64,
    /// Messages in which workers of several processes told one another of their progress, in the last execution.
    pub progress_messages: u64,
    /// Rows of the result.
    pub rows: u64,
    /// Workers.
    pub workers: usize,
    /// The most memory that was in use at once, by the counting allocator, in bytes. Of several processes, that of the one
    /// that took most.
    pub peak_memory_bytes: u64,
    /// The most memory that was resident at once, by the system, in bytes. Of several processes as above.
    pub peak_resident_bytes: u64,
    /// Each operator's figures.
    pub operators: Vec<Operator>,
}

/// One operator's figures in the last execution.
#[derive(Debug, Serialize)]
pub struct Operator {
    /// Its number in the plan.
    pub node: usize,
    /// What it does.
    pub operator: String,
    /// Over all workers.
    #[serde(flatten)]
    pub all: Figures,
    /// On each worker.
    pub workers: Vec<Figures>,
}

/// What an operator has done.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Figures {
    /// Rows given.
    pub rows: u64,
    /// Batches given.
    pub batches: u64,
    /// Bytes of the rows given.
    pub bytes: u64,
    /// Seconds of work.
    pub busy_seconds: f64,
}

impl Figures {
    fn of(figures: &engine::state::Figures) -> Figures {
        Figures {
            rows: figures.rows.load(Ordering::Relaxed),
            batches: figures.batches.load(Ordering::Relaxed),
            bytes: figures.bytes.load(Ordering::Relaxed),
            busy_seconds: figures.busy_ns.load(Ordering::Relaxed) as f64 / 1e9,
        }
    }

    fn add(self, other: Figures) -> Figures {
        Figures {
            rows: self.rows + other.rows,
            batches: self.batches + other.batches,
            bytes: self.bytes + other.bytes,
            busy_seconds: self.busy_seconds + other.busy_seconds,
        }
    }
}

impl Operator {
    /// The figures in a line, with the least and the most that a worker has where there are several.
    fn line(&self) -> String {
        let Figures { rows, batches, bytes, busy_seconds } = self.all;
        let bytes = engine::memory::human(bytes);
        if self.workers.len() < 2 {
            return format!("{rows} rows, {batches} batches, {bytes}, {busy_seconds:.3} s busy");
        }
        let rows_of = || self.workers.iter().map(|w| w.rows);
        let (fewest, most) = (rows_of().min().unwrap_or(0), rows_of().max().unwrap_or(0));
        let busy = || self.workers.iter().map(|w| w.busy_seconds);
        let (least, longest) = (busy().fold(f64::INFINITY, f64::min), busy().fold(0.0, f64::max));
        format!(
            "{rows} rows ({fewest} to {most} a worker), {batches} batches, {bytes}, \
             {busy_seconds:.3} s busy ({least:.3} to {longest:.3} a worker)"
        )
    }
}

impl Statistics {
    /// Of a statement that was planned in this time.
    pub fn new(planned: Duration, workers: usize) -> Statistics {
        Statistics { plan_seconds: planned.as_secs_f64(), workers, ..Statistics::default() }
    }

    /// Takes the figures of an execution that gave so many rows.
    pub fn take(&mut self, plan: &queries::Plan, state: &QueryState, rows: u64) {
        self.take_sums(state, rows);
        self.operators.clear();
        walk(&plan.root, state, &mut self.operators);
    }

    /// Takes those of an execution whose plan is not known in this process.
    pub fn take_sums(&mut self, state: &QueryState, rows: u64) {
        self.rows = rows;
        self.rows_read = state.rows_read.load(Ordering::Relaxed);
        self.bytes_read = state.bytes_read.load(Ordering::Relaxed);
        self.bytes_sent = state.bytes_sent.load(Ordering::Relaxed);
        self.bytes_received = state.bytes_received.load(Ordering::Relaxed);
        self.bytes_spilled = state.bytes_spilled.load(Ordering::Relaxed);
        self.bytes_lent = state.bytes_lent.load(Ordering::Relaxed);
        self.progress_messages = state.progress_sent.load(Ordering::Relaxed);
        self.peak_memory_bytes = state.peak_memory.load(Ordering::Relaxed).max(engine::memory::peak());
        self.peak_resident_bytes =
            state.peak_resident.load(Ordering::Relaxed).max(engine::memory::peak_resident());
    }

    /// The plan with the figures of each operator.
    pub fn analyzed(&self, plan: &queries::Plan) -> Vec<String> {
        let figures = |line: queries::explain::Line| {
            let Some(o) = self.operators.iter().find(|o| Some(o.node) == line.node && line.main) else {
                return line.text;
            };
            format!("{}: {}", line.text, o.line())
        };
        let mut lines: Vec<String> = queries::explain::explain(plan).into_iter().map(figures).collect();
        if self.bytes_sent > 0 {
            let (sent, lent) = (self.bytes_sent, self.bytes_lent);
            let [sent, lent] = [sent, lent].map(engine::memory::human);
            let lent = if self.bytes_lent > 0 { format!(", {lent} read in memory") } else { String::new() };
            lines.push(format!(
                "{sent} sent between processes{lent}, {} messages about progress",
                self.progress_messages
            ));
        }
        if self.bytes_spilled > 0 {
            lines.push(format!(
                "{} did not fit the memory and were put on disk",
                engine::memory::human(self.bytes_spilled)
            ));
        }
        lines.push(format!(
            "planned in {:.3} s, run in {:.3} s by {} workers; read {} rows, {}; memory at most {}{}",
            self.plan_seconds,
            self.execution_seconds.last().copied().unwrap_or_default(),
            self.workers,
            self.rows_read,
            engine::memory::human(self.bytes_read),
            engine::memory::human(self.peak_memory_bytes),
            if self.bytes_sent > 0 { " a process" } else { "" },
        ));
        lines
    }
}

fn walk(node: &queries::plan::Node, state: &QueryState, all: &mut Vec<Operator>) {
    let workers: Vec<Figures> = state.figures.iter().map(|worker| Figures::of(&worker[node.id])).collect();
    all.push(Operator {
        node: node.id,
        operator: queries::explain::operator(node),
        all: workers.iter().copied().fold(Figures::default(), Figures::add),
        workers,
    });
    node.inputs.iter().for_each(|n| walk(n, state, all));
}
