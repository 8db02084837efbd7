//! `palais watch`: prints the changes of a query's result as files are added.

use std::io::Write;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use session::Session;
use session::writers::{self, ResultFormat};

use crate::args;
use crate::print;
use crate::query::warn;
use crate::settings;
use crate::tables;

/// How often the files are listed.
const POLL: Duration = Duration::from_millis(100);

/// `palais watch`.
pub fn run(w: &args::Watch) -> anyhow::Result<()> {
    let sources = tables::sources(&w.input)?;
    let settings = settings::resolve(&w.run, None, sources.open.clone());
    engine::context::memory::set_limit(settings.memory_limit);
    let time_zone = settings.time_zone.clone();
    let session = Session::new(settings).with_tables(sources.tables()?);
    let mut watch = session.watch(&w.sql)?;
    let mut last = Instant::now();
    loop {
        if let Some(changes) = watch.poll()? {
            print_changes(&changes, &time_zone)?;
            warn(watch.skipped());
            last = Instant::now();
        }
        if w.until_idle.is_some_and(|idle| last.elapsed() >= idle) {
            return Ok(());
        }
        if closed_within(POLL) {
            return Err(writers::Error::Closed.into());
        }
    }
}

/// Waits for `time`. Gives true at once if the reader of standard output is gone. Changes may be far between, so the
/// next write would notice that too late.
fn closed_within(time: Duration) -> bool {
    let mut output = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
    // SAFETY: the pointer is to one descriptor, and lives for the length of the call.
    let polled = unsafe { libc::poll(&raw mut output, 1, time.as_millis() as libc::c_int) };
    polled > 0 && output.revents & (libc::POLLERR | libc::POLLHUP) != 0
}

/// Prints each row that came or went as a JSON line with `__diff`, and instants with the offset of a time zone.
fn print_changes(changes: &[RecordBatch], time_zone: &str) -> anyhow::Result<()> {
    for change in changes {
        let mut writer = print::writer(Some(ResultFormat::Jsonl), None, time_zone)?;
        writer.begin(&change.schema())?;
        writer.batch(change)?;
        writer.end()?;
    }
    std::io::stdout().flush()?;
    Ok(())
}
