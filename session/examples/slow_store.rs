//! How long a scan of 64 files takes whose store answers each request after 50 ms, beside its bound. That is the time
//! of decoding (the same scan of files here), or that of its requests, 16 at once, whichever is longer. Both figures
//! are given without the opening of the table and with it.
//!
//! `cargo run --locked --release --workspace --example slow_store`

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use session::{Result, Session, Settings};
use support::SlowStore;

const PARTS: usize = 64;
const DELAY: Duration = Duration::from_millis(50);
const WORKERS: usize = 2;
const RUNS: usize = 5;
/// The requests that a store is asked at once.
const AT_ONCE: f64 = 16.0;

fn session() -> Session {
    Session::new(Settings { workers: WORKERS, ..Settings::default() })
}

fn query(location: &str) -> String {
    format!("SELECT k, sum(id), min(text), max(text) FROM '{location}' GROUP BY k ORDER BY k")
}

/// Opens a table, and then runs a query over it. The seconds of both.
fn seconds(location: &str) -> Result<(f64, f64)> {
    let session = session();
    let begun = Instant::now();
    let mut rows = session.execute(&query(location))?;
    let opened = begun.elapsed();
    rows.try_for_each(|batch| batch.map(|_| ()))?;
    Ok((opened.as_secs_f64(), (begun.elapsed() - opened).as_secs_f64()))
}

fn median(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs[runs.len() / 2]
}

fn measure(home: &Path, suffix: &str, rows: usize) -> Result<()> {
    for part in 0..PARTS {
        let query = format!(
            "SELECT range AS id, range % 7 AS k, concat('text of ', range * 7919) AS text \
             FROM range({}, {})",
            part * rows,
            (part + 1) * rows
        );
        let path = home.join(format!("{part:02}.{suffix}"));
        session()
            .execute(&format!("COPY ({query}) TO '{}'", path.display()))?
            .try_for_each(|b| b.map(|_| ()))?;
    }
    let (mut here, mut opening, mut scanning, mut requests) = (vec![], vec![], vec![], 0);
    for run in 0..RUNS {
        here.push(seconds(&format!("{}/*.{suffix}", home.display()))?.1);
        // What is kept of files names them by their store as well.
        let scheme = format!("slow{run}");
        let store = SlowStore::register(&scheme, home, DELAY);
        let (opened, scanned) = seconds(&format!("{scheme}://*.{suffix}"))?;
        opening.push(opened);
        scanning.push(scanned);
        requests = store.reads.load(Ordering::SeqCst);
    }
    let store = SlowStore::register("opened", home, DELAY);
    session().prepare(&query(&format!("opened://*.{suffix}")))?.schema()?;
    let to_open = store.reads.load(Ordering::SeqCst);
    let (here, opening, scanning) = (median(here), median(opening), median(scanning));
    let bound = |requests: usize| here.max(requests as f64 / AT_ONCE * DELAY.as_secs_f64());
    let (to_scan, both) = (requests - to_open, opening + scanning);
    println!(
        "{suffix:8} {rows:7} rows a file: here {here:.3} s; scan {scanning:.3} s, {to_scan} requests, {:.2} of the bound; \
         with opening {both:.3} s, {requests} requests, {:.2} of the bound",
        scanning / bound(to_scan),
        both / bound(requests)
    );
    Ok(())
}

fn main() -> Result<()> {
    for (suffix, rows) in [("parquet", 20_000), ("parquet", 200_000), ("csv", 20_000), ("csv", 200_000)] {
        let home = tempfile::tempdir().expect("a directory can be made");
        measure(home.path(), suffix, rows)?;
    }
    Ok(())
}
