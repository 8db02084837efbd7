//! The progress bar, on a terminal alone.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::QueryState;
use indicatif::{ProgressBar, ProgressStyle};
use queries::Plan;
use queries::plan::{Node, Op};
use schema::Source;

/// How long a query runs before a bar appears.
const PATIENCE: Duration = Duration::from_millis(300);

/// A bar that a thread keeps up to date until it is dropped.
pub struct Progress {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The work of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Total {
    /// Bytes of files, or of text that is generated.
    Bytes(u64),
    /// Rows that are generated.
    Rows(u64),
}

impl Progress {
    /// Shows how many bytes of the plan's files are read, if standard error is a terminal. For a plan without files it
    /// shows rows.
    pub fn start(plan: &Plan, state: &Arc<QueryState>, never: bool) -> Progress {
        let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1.saturating_add(b.1));
        let (bytes, rows) = plan.trees().map(work).fold((0, 0), add);
        let total = if bytes > 0 { Total::Bytes(bytes) } else { Total::Rows(rows) };
        Progress::of(total, state, never)
    }

    /// Shows the bytes read of `total`, if standard error is a terminal.
    pub fn of_bytes(total: u64, state: &Arc<QueryState>, never: bool) -> Progress {
        Progress::of(Total::Bytes(total), state, never)
    }

    fn of(total: Total, state: &Arc<QueryState>, never: bool) -> Progress {
        let stop = Arc::new(AtomicBool::new(false));
        if never || !std::io::stderr().is_terminal() {
            return Progress { stop, thread: None };
        }
        let (state, stopped) = (state.clone(), stop.clone());
        let show = move || {
            std::thread::park_timeout(PATIENCE);
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            let (length, template) = match total {
                Total::Bytes(bytes) => {
                    (bytes, "{bar:30} {bytes}/{total_bytes} {msg} {bytes_per_sec} {eta} left")
                }
                Total::Rows(rows) => (rows, "{bar:30} {human_pos}/{human_len} rows {eta} left"),
            };
            let style = ProgressStyle::with_template(template).expect("the template is well-formed");
            let bar = ProgressBar::new(length).with_style(style);
            while !stopped.load(Ordering::Relaxed) {
                let rows = state.rows_read.load(Ordering::Relaxed);
                let done = match total {
                    Total::Bytes(_) => state.bytes_read.load(Ordering::Relaxed),
                    Total::Rows(_) => rows,
                };
                bar.set_position(done.min(length));
                bar.set_message(format!("{rows} rows"));
                std::thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        };
        Progress { stop, thread: std::thread::Builder::new().name("palais-progress".into()).spawn(show).ok() }
    }

    /// Removes the bar if rows are about to be shown on the same terminal.
    pub fn hide_before_output(&mut self) {
        if std::io::stdout().is_terminal() {
            self.end();
        }
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The panic hook has reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// The bytes of the files below a node, and the rows of its other tables, as far as they are known.
fn work(node: &Node) -> (u64, u64) {
    let own = match &node.op {
        Op::Scan(scan) => match &scan.table.source {
            Source::Files(set) => (set.bytes(), 0),
            Source::Range { .. } | Source::Memory(_) => (0, scan.table.rows.unwrap_or(0)),
            Source::Generated(spec) => (0, spec.rows().or(scan.table.rows).unwrap_or(0)),
        },
        _ => (0, 0),
    };
    node.inputs.iter().map(work).fold(own, |a, b| (a.0 + b.0, a.1.saturating_add(b.1)))
}
