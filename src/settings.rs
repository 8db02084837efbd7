//! Raw flags to resolved settings.

use std::time::Duration;

use formats::open::OpenOptions;
use session::Settings;

use crate::args;

/// The settings of a session that reads files so, from flags.
pub fn resolve(run: &args::Execution, read_ahead: Option<u16>, open: OpenOptions) -> Settings {
    let usual = Settings::default();
    Settings {
        workers: workers(run.workers),
        read_ahead: read_ahead.map_or(usual.read_ahead, usize::from),
        memory_limit: memory_limit(run),
        broadcast_bytes: run.broadcast_limit.unwrap_or(usual.broadcast_bytes),
        allow_scripts: run.allow_scripts,
        open,
    }
}

/// The most memory, from flags.
pub fn memory_limit(run: &args::Execution) -> u64 {
    run.memory_limit.unwrap_or_else(engine::memory::default_limit)
}

/// The workers of `--workers`; the cores of the machine or its control group if it isn't given.
pub fn workers(flag: Option<u16>) -> usize {
    flag.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// The least limit of memory, in bytes: below it not even a small file could be read.
const LEAST_MEMORY: u64 = 16 << 20;

/// A limit of memory.
pub fn memory(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes < LEAST_MEMORY {
        return Err(format!("at least {} are needed", engine::memory::human(LEAST_MEMORY)));
    }
    Ok(bytes)
}

/// The most bytes of a record.
pub fn record(text: &str) -> Result<u64, String> {
    let most = formats::rows::reader::MAX_RECORD as u64;
    match size(text)? {
        bytes if bytes > most => Err(format!("{} are the most", engine::memory::human(most))),
        bytes => Ok(bytes),
    }
}

/// A number of seconds, with or without a fraction.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "a number of seconds from 0 on is needed".into())
}

/// How long a process may be silent.
pub fn patience(text: &str) -> Result<Duration, String> {
    // They tell once a second that they live.
    seconds(text)
        .ok()
        .filter(|time| time.as_secs() >= 2)
        .ok_or_else(|| "a number of seconds from 2 on is needed".into())
}

/// A size such as `512MiB`, `4G` or `1000000`: units of 1024 (K, M, G, T, with or without `iB`), `kB`, `MB` and `GB`
/// of 1000.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let wrong = || format!("'{text}' is not a size such as 512MiB or 4G");
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    Ok((number * factor as f64) as u64)
}
