//! A query whose thread panics ends alone: with an error, without a thread or memory left, and without harm to others.

use std::alloc::System;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use engine::Error;
use engine::context::cancel::Cancel;
use engine::context::memory::Counting;
use engine::incremental::{Change, Watch};
use panicking::sabotage;
use queries::{Catalog, Plan, Settings, Statement};
use schema::{Source, Table};

#[path = "support/panicking.rs"]
mod panicking;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

/// Each test counts the threads of the process.
static ALONE: Mutex<()> = Mutex::new(());

fn planned(sql: &str, workers: usize) -> Plan {
    let Statement::Query(query) = queries::parse(sql).unwrap() else { unreachable!("it is a query") };
    let settings = Settings { workers, ..Settings::default() };
    let plan = queries::plan(&query, &Catalog::default(), &settings).unwrap();
    Arc::into_inner(plan).unwrap()
}

fn run(plan: Plan, workers: usize) -> engine::Result<Vec<RecordBatch>> {
    engine::run(&Arc::new(plan), &engine::Settings::new(workers), &Cancel::default())?.collect()
}

/// Filters, joins, groups and sorts, so that each kind of operator is there; the sum of `n` is 999,993.
const SQL: &str = "SELECT k + 0 AS k, n FROM (
        SELECT a.range % 1000 AS k, count(*) AS n
        FROM range(1000000) a JOIN range(7, 1000000) b ON a.range = b.range
        WHERE (a.range * 3) % 7 < 9 GROUP BY 1
    ) ORDER BY n, k";

fn sum(batches: &[RecordBatch]) -> i64 {
    let values = |batch: &RecordBatch| batch.column(1).as_any().downcast_ref::<Int64Array>().unwrap().clone();
    batches.iter().flat_map(|batch| values(batch).iter().flatten().collect::<Vec<_>>()).sum()
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// What a query had goes within a moment of its end.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The usual hook keeps what it has looked up for a backtrace.
fn set_hook() {
    std::panic::set_hook(Box::new(|info| {
        if !formats::panics::is_caught(info) {
            eprintln!("{info}");
        }
    }));
}

/// What a watch takes in: numbers, the sum of which is 499,500 a round.
fn numbers() -> Table {
    let field = Field::new("range", DataType::Int64, false);
    Table {
        name: "t".into(),
        schema: Arc::new(Schema::new(vec![field])),
        source: Source::Range { start: 0, end: 1000, step: 1 },
        rows: Some(1000),
        spans: Vec::new(),
        guesses: schema::TableEstimates::default(),
    }
}

#[test]
fn a_watch_that_panics_ends_alone() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    set_hook();
    let sql = "SELECT range % 5 + 0 AS k, sum(range) AS s FROM range(1000) WHERE range >= 0 GROUP BY 1";
    let before = threads();
    for workers in [1, 3] {
        for kind in ["filter", "aggregate"] {
            let mut plan = planned(sql, workers);
            let (settings, cancel) = (engine::Settings::new(workers), Cancel::default());
            let mut well = Watch::start(&plan, &settings, &cancel).unwrap();
            assert!(sabotage(&mut plan.root, kind, 2), "{kind} is in the plan");
            let mut watch = Watch::start(&plan, &settings, &cancel).unwrap();
            let rows = |changes: Vec<Change>| changes.iter().map(|c| c.rows.num_rows()).sum::<usize>();
            assert_eq!(rows(watch.round(&numbers()).unwrap()), 5, "{kind}");
            let error = watch.round(&numbers()).map(rows).unwrap_err();
            assert!(matches!(&error, Error::Panic { text, .. } if text == "on purpose"), "{kind}: {error}");
            assert!(watch.round(&numbers()).is_err(), "{kind}");
            // Groups go with their old sums and come with the new ones.
            assert_eq!(rows(well.round(&numbers()).unwrap()), 5, "beside {kind}");
            assert_eq!(rows(well.round(&numbers()).unwrap()), 10, "beside {kind}");
        }
    }
    wait_until("threads are left", || threads() <= before);
}

#[test]
fn a_query_that_panics_ends_alone() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    set_hook();
    assert_eq!(sum(&run(planned(SQL, 2), 2).unwrap()), 999_993);
    let before = (threads(), engine::context::memory::used());
    let mut panicked = 0;
    for workers in [1, 4] {
        for kind in ["project", "filter", "aggregate", "join", "sort", "exchange", "merge"] {
            for calls in [1, 20] {
                let mut plan = planned(SQL, workers);
                if !sabotage(&mut plan.root, kind, calls) {
                    assert!(workers == 1, "{kind} is in the plan of several workers");
                    continue;
                }
                let other = std::thread::spawn(|| {
                    engine::context::memory::settle_at_end();
                    run(planned(SQL, 2), 2)
                });
                match run(plan, workers) {
                    Err(Error::Panic { text, place }) => {
                        assert_eq!(text, "on purpose");
                        assert!(place.contains("panicking.rs:"), "{place}");
                        panicked += 1;
                    }
                    // It has fewer batches.
                    Ok(rows) => assert!(calls > 1 && sum(&rows) == 999_993, "{kind}"),
                    Err(e) => panic!("{kind}: {e}"),
                }
                assert_eq!(sum(&other.join().unwrap().unwrap()), 999_993, "beside {kind}");
            }
        }
    }
    assert!(panicked >= 14, "{panicked}");
    wait_until("threads are left", || threads() <= before.0);
    wait_until("memory is left", || engine::context::memory::used() < before.1 + (1 << 20));
}
