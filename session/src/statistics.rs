//! The figures of a run.

use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::QueryState;
use queries::Statement;
use queries::explain;
use queries::plan::Node;
use serde::Serialize;

use crate::writers::table::grouped;

/// The figures of a run.
#[derive(Debug, Default, Serialize)]
pub struct Statistics {
    /// Seconds to resolve tables, to plan, and to open the output.
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
    /// The workers of all processes.
    pub workers: usize,
    /// The most memory that the process had in use at once during the last execution, by the counting allocator, in
    /// bytes. Of several processes this is the greatest figure.
    pub peak_memory_bytes: u64,
    /// The most memory that was resident at once since the process began, by the system, in bytes. Of several processes
    /// this is the greatest figure.
    pub peak_resident_bytes: u64,
    /// The figures of each operator.
    pub operators: Vec<Operator>,
}

/// The figures of one operator in the last execution.
#[derive(Debug, Serialize)]
pub struct Operator {
    /// Its number in the plan.
    pub node: usize,
    /// What it does, as EXPLAIN says it.
    pub operator: String,
    /// About how many rows it was expected to give.
    pub estimated_rows: u64,
    /// Whether the rows given are more than ten times as many, or less than a tenth.
    pub is_misestimated: bool,
    /// Sums over all workers.
    #[serde(flatten)]
    pub all: Figures,
    /// The figures of each worker.
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
    /// The most bytes kept at once, of groups or of rows to be joined or sorted. Over all workers this is the sum of
    /// the greatest of each.
    pub kept_bytes: u64,
}

/// The characters before the operator in a line of [`Statistics::analyzed`].
const FIGURES: usize = 48;

/// How many characters stand before the operator in each line of a statement's result; `None` if the result has no
/// lines.
pub fn before_operators(statement: &Statement) -> Option<usize> {
    match statement {
        Statement::Explain { analyze, .. } => Some(if *analyze { FIGURES } else { 0 }),
        _ => None,
    }
}

/// What stands behind an estimate that is far from the truth.
const MARK: &str = " !";

impl Figures {
    fn of(figures: &engine::context::query::Figures) -> Figures {
        Figures {
            rows: figures.rows.load(Ordering::Relaxed),
            batches: figures.batches.load(Ordering::Relaxed),
            bytes: figures.bytes.load(Ordering::Relaxed),
            busy_seconds: figures.busy_ns.load(Ordering::Relaxed) as f64 / 1e9,
            kept_bytes: figures.kept.load(Ordering::Relaxed),
        }
    }

    fn add(self, other: Figures) -> Figures {
        Figures {
            rows: self.rows + other.rows,
            batches: self.batches + other.batches,
            bytes: self.bytes + other.bytes,
            busy_seconds: self.busy_seconds + other.busy_seconds,
            kept_bytes: self.kept_bytes + other.kept_bytes,
        }
    }
}

impl Operator {
    /// A line with the figures before the operator. Behind it stands what differs from worker to worker.
    fn line(&self, operator: &str) -> String {
        let Figures { rows, busy_seconds, kept_bytes, .. } = self.all;
        let kept = if kept_bytes == 0 { "-".into() } else { engine::context::memory::human(kept_bytes) };
        let mark = if self.is_misestimated { MARK } else { "" };
        let about = explain::count(self.estimated_rows as f64);
        let line = figures(&grouped(rows), (&about, mark), &format!("{busy_seconds:.3} s"), &kept, operator);
        if self.workers.len() < 2 {
            return line;
        }
        let rows_of = || self.workers.iter().map(|w| w.rows);
        let (fewest, most) = (rows_of().min().unwrap_or(0), rows_of().max().unwrap_or(0));
        let busy = || self.workers.iter().map(|w| w.busy_seconds);
        let (least, longest) = (busy().fold(f64::INFINITY, f64::min), busy().fold(0.0, f64::max));
        let (fewest, most) = (grouped(fewest), grouped(most));
        format!("{line}; {fewest} to {most} rows and {least:.3} to {longest:.3} s a worker")
    }
}

/// Sets figures and an operator in a line, or their headings. The mark stands behind the estimate.
fn figures(rows: &str, (about, mark): (&str, &str), busy: &str, kept: &str, operator: &str) -> String {
    format!("{rows:>13}{about:>9}{mark:2}{busy:>11}{kept:>11}  {operator}")
}

impl Statistics {
    /// The figures of a statement whose planning took this time.
    pub fn new(planned: Duration, workers: usize) -> Statistics {
        Statistics { plan_seconds: planned.as_secs_f64(), workers, ..Statistics::default() }
    }

    /// Takes the figures of an execution that gave `rows` rows.
    pub fn take(&mut self, plan: &queries::Plan, state: &QueryState, rows: u64) {
        self.take_sums(state, rows);
        self.operators.clear();
        plan.trees().for_each(|root| walk(root, false, state, &mut self.operators));
    }

    /// Takes the figures of an execution whose plan this process does not know.
    pub fn take_sums(&mut self, state: &QueryState, rows: u64) {
        self.rows = rows;
        self.rows_read = state.rows_read.load(Ordering::Relaxed);
        self.bytes_read = state.bytes_read.load(Ordering::Relaxed);
        self.bytes_sent = state.bytes_sent.load(Ordering::Relaxed);
        self.bytes_received = state.bytes_received.load(Ordering::Relaxed);
        self.bytes_spilled = state.bytes_spilled.load(Ordering::Relaxed);
        self.bytes_lent = state.bytes_lent.load(Ordering::Relaxed);
        self.progress_messages = state.progress_sent.load(Ordering::Relaxed);
        self.peak_memory_bytes = state.peak_memory();
        self.peak_resident_bytes =
            state.peak_resident.load(Ordering::Relaxed).max(engine::context::memory::peak_resident());
    }

    /// The plan with the figures of each operator. They are its rows and how many were expected, the time that it was
    /// busy, and what it kept, over all workers.
    pub fn analyzed(&self, plan: &queries::Plan) -> Vec<String> {
        let line = |line: explain::Line| match self.operators.iter().find(|o| Some(o.node) == line.node) {
            Some(o) => o.line(&line.text),
            None => figures("", ("", ""), "", "", &line.to_string()),
        };
        let mut lines = vec![figures("rows", ("about", ""), "busy", "kept", "operator")];
        lines.extend(explain::explain(plan).into_iter().map(line));
        if self.operators.iter().any(|operator| operator.is_misestimated) {
            let (mark, often) = (MARK.trim(), explain::FAR);
            lines.push(format!(
                "{mark} more than {often} times the rows expected, or less than 1/{often} of them"
            ));
        }
        if self.bytes_sent > 0 {
            let (sent, lent) = (self.bytes_sent, self.bytes_lent);
            let [sent, lent] = [sent, lent].map(engine::context::memory::human);
            let lent = if self.bytes_lent > 0 { format!(", {lent} read in memory") } else { String::new() };
            lines.push(format!(
                "{sent} sent between processes{lent}, {} messages about progress",
                self.progress_messages
            ));
        }
        if self.bytes_spilled > 0 {
            lines.push(format!(
                "{} did not fit the memory and were put on disk",
                engine::context::memory::human(self.bytes_spilled)
            ));
        }
        lines.push(format!(
            "planned in {:.3} s, run in {:.3} s by {} workers; read {} rows, {}; memory at most {}{}",
            self.plan_seconds,
            self.execution_seconds.last().copied().unwrap_or_default(),
            self.workers,
            grouped(self.rows_read),
            engine::context::memory::human(self.bytes_read),
            engine::context::memory::human(self.peak_memory_bytes),
            if self.bytes_sent > 0 { " a process" } else { "" },
        ));
        lines
    }
}

/// Takes the figures of an operator and those below it; `may_stop` says that it may not have been asked for all its rows.
fn walk(node: &Node, may_stop: bool, state: &QueryState, all: &mut Vec<Operator>) {
    let workers: Vec<Figures> = state.figures.iter().map(|worker| Figures::of(&worker[node.id])).collect();
    let sums = workers.iter().copied().fold(Figures::default(), Figures::add);
    all.push(Operator {
        node: node.id,
        operator: explain::operator(node),
        estimated_rows: node.rows.ceil() as u64,
        is_misestimated: explain::is_far(node, sums.rows, workers.len(), may_stop),
        all: sums,
        workers,
    });
    for (input, may_stop) in node.inputs.iter().zip(explain::stops_inputs(node, may_stop)) {
        walk(input, may_stop, state, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_stand_behind_the_figures() {
        let line = figures("12,345,678", ("577k", MARK), "1000.123 s", "1023.9 MiB", "x");
        assert_eq!(line.find('x'), Some(FIGURES));
    }
}
