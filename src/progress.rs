//! The progress bar, on a terminal alone.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::QueryState;
use indicatif::{ProgressBar, ProgressStyle};
use session::progress::Total;

/// How long a query runs before a bar appears.
const PATIENCE: Duration = Duration::from_millis(300);

/// A bar that a thread keeps up to date until it is dropped.
pub struct Progress {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows how many bytes of `total` are read, if standard error is a terminal. Of a query without files it shows rows.
    pub fn start(total: Total, state: &Arc<QueryState>, never: bool) -> Progress {
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
            let template = match total {
                Total::Bytes(_) => "{bar:30} {bytes}/{total_bytes} {msg} {bytes_per_sec} {eta} left",
                Total::Rows(_) => "{bar:30} {human_pos}/{human_len} rows {eta} left",
            };
            let style = ProgressStyle::with_template(template).expect("the template is well-formed");
            let bar = ProgressBar::new(total.count()).with_style(style);
            while !stopped.load(Ordering::Relaxed) {
                let progress = session::Progress::of(Some(total), &state);
                bar.set_position(progress.done());
                bar.set_message(format!("{} rows", progress.rows));
                std::thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        };
        Progress { stop, thread: std::thread::Builder::new().name("palais-progress".into()).spawn(show).ok() }
    }

    /// Shows the bytes read of `total`, if standard error is a terminal.
    pub fn of_bytes(total: u64, state: &Arc<QueryState>, never: bool) -> Progress {
        Progress::start(Total::Bytes(total), state, never)
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
