//! Makes resolved settings from flags.

use std::time::Duration;

use formats::discover::OpenOptions;
use session::Settings;

use crate::args;

/// The settings of a session, from flags; `open` is how it reads files.
pub fn resolve(run: &args::Execution, read_ahead: Option<u16>, open: OpenOptions) -> Settings {
    let usual = Settings::default();
    Settings {
        workers: workers(run.workers),
        read_ahead: read_ahead.map_or(usual.read_ahead, usize::from),
        memory_limit: memory_limit(run),
        broadcast_bytes: run.broadcast_limit.unwrap_or(usual.broadcast_bytes),
        time_zone: run.time_zone.clone().unwrap_or(usual.time_zone),
        allow_scripts: run.allow_scripts,
        open,
        ..usual
    }
}

/// The memory limit in bytes, from flags.
pub fn memory_limit(run: &args::Execution) -> u64 {
    run.memory_limit.unwrap_or_else(engine::context::memory::default_limit)
}

/// The workers of `--workers`; the cores of the machine or its control group if it isn't given.
pub fn workers(flag: Option<u16>) -> usize {
    flag.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// Reads a number of seconds, with or without a fraction.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "a number of seconds from 0 on is needed".into())
}

/// Reads how long a process may be silent.
pub fn patience(text: &str) -> Result<Duration, String> {
    // Processes say once a second that they live.
    seconds(text)
        .ok()
        .filter(|time| time.as_secs() >= 2)
        .ok_or_else(|| "a number of seconds from 2 on is needed".into())
}
