//! The progress bar: on a terminal, silent elsewhere.

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

impl Progress {
    /// Shows the bytes read of those that a plan reads, if standard error is a terminal.
    pub fn start(plan: &Plan, state: &Arc<QueryState>, never: bool) -> Progress {
        Progress::of_bytes(bytes(&plan.root), state, never)
    }

    /// Shows the bytes read of `total`, if standard error is a terminal.
    pub fn of_bytes(total: u64, state: &Arc<QueryState>, never: bool) -> Progress {
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
            let template = "{bar:30} {bytes}/{total_bytes} {msg} {bytes_per_sec} {eta} left";
            let style = ProgressStyle::with_template(template).expect("the template is well-formed");
            let bar = ProgressBar::new(total).with_style(style);
            while !stopped.load(Ordering::Relaxed) {
                bar.set_position(state.bytes_read.load(Ordering::Relaxed).min(total));
                bar.set_message(format!("{} rows", state.rows_read.load(Ordering::Relaxed)));
                std::thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        };
        Progress { stop, thread: std::thread::Builder::new().name("palais-progress".into()).spawn(show).ok() }
    }

    /// Takes the bar away where rows are about to be shown on the same terminal.
    pub fn hide_before_output(&self) {
        if std::io::stdout().is_terminal() {
            self.end();
        }
    }

    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            // Its panic was reported by the hook.
            let _ = thread.join();
        }
    }
}

/// The bytes of the files below a node.
fn bytes(node: &Node) -> u64 {
    let own = match &node.op {
        Op::Scan(scan) => match &scan.table.source {
            Source::Files(set) => set.bytes(),
            _ => 0,
        },
        _ => 0,
    };
    own + node.inputs.iter().map(bytes).sum::<u64>()
}
