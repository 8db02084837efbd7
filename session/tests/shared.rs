//! Relations that several others read: computed once, kept in memory or on disk, and freed.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{RecordBatch, StringArray};
use session::{Cancel, Error, Result, Session, Settings, Statistics};

/// The rows of the table that is read.
const ROWS: u64 = 100_000;

/// A group that two read, as one that is computed once or not.
fn groups(materialized: &str) -> String {
    format!(
        "WITH t AS {materialized} (SELECT range % 1000 AS k, count(*) AS c, sum(range) AS s FROM range({ROWS}) GROUP BY k) \
         SELECT count(*) AS n, sum(a.s) AS s FROM t AS a JOIN t AS b ON a.k = b.k WHERE a.s >= b.c"
    )
}

fn session(workers: usize) -> Session {
    Session::new(Settings { workers, ..Settings::default() })
}

fn run(session: &Session, sql: &str) -> Result<(Vec<RecordBatch>, Statistics)> {
    let mut results = session.execute(sql)?;
    let batches = results.by_ref().collect::<Result<_>>()?;
    Ok((batches, results.statistics().expect("it has run")))
}

/// The one row of 64-bit integers that a statement gives.
fn integers(batches: &[RecordBatch]) -> Vec<i64> {
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).expect("there is a row");
    batch.columns().iter().map(|column| column.as_primitive::<Int64Type>().value(0)).collect()
}

fn lines(session: &Session, sql: &str) -> Vec<String> {
    let batches: Vec<RecordBatch> = session.execute(sql).unwrap().collect::<Result<_>>().unwrap();
    let of = |batch: &RecordBatch| {
        let column: &StringArray = batch.column(0).as_string();
        column.iter().flatten().map(str::to_string).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

#[test]
fn what_two_read_is_computed_once() {
    let sum = (ROWS * (ROWS - 1) / 2) as i64;
    for workers in [1, 3] {
        let session = session(workers);
        for (materialized, is_once) in [("", true), ("MATERIALIZED", true), ("NOT MATERIALIZED", false)] {
            let (batches, statistics) = run(&session, &groups(materialized)).unwrap();
            assert_eq!(integers(&batches), [1000, sum], "{materialized}");
            assert_eq!(
                statistics.rows_read == ROWS,
                is_once,
                "{materialized}: {} rows",
                statistics.rows_read
            );
        }
    }
}

#[test]
fn a_query_is_explained_and_measured_with_what_it_shares() {
    let session = session(2);
    let plan = lines(&session, &format!("EXPLAIN {}", groups("")));
    assert_eq!(plan.iter().filter(|line| line.contains("scan range")).count(), 1, "{plan:#?}");
    assert_eq!(plan[0], "first: shared rows 0");
    let readers: Vec<&str> =
        plan.iter().map(|line| line.trim()).filter(|l| l.starts_with("read shared")).collect();
    let mut columns: Vec<&str> = readers.iter().map(|line| line.split("  ").next().unwrap()).collect();
    columns.sort();
    assert_eq!(columns, ["read shared rows 0 [k, c]", "read shared rows 0 [k, s]"]);
    let measured = lines(&session, &format!("EXPLAIN ANALYZE {}", groups("")));
    let figures = |what: &str| {
        let line =
            measured.iter().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{measured:#?}"));
        line.split_whitespace().next().unwrap().to_string()
    };
    // The rows of the stage, and those of the table that it reads.
    assert_eq!((figures("scan range"), figures("final aggregate")), ("100,000".into(), "1,000".into()));
    assert_eq!(figures("read shared rows 0 [k, c]"), "1,000");
    assert!(measured.last().unwrap().contains("read 100,000 rows"), "{measured:#?}");
}

#[test]
fn readers_see_the_same_rows() {
    let session = session(3);
    for sql in [
        "WITH t AS (SELECT range AS k, random() AS r FROM range(5000)) SELECT count(*), count(DISTINCT a.r) FROM t AS a JOIN t AS b ON a.k = b.k AND a.r = b.r",
        "WITH t AS (SELECT range AS k, range AS r FROM range(100000) LIMIT 5000) SELECT count(*), count(DISTINCT a.r) FROM t AS a JOIN t AS b ON a.k = b.k",
        "WITH t AS (SELECT range AS k, random() AS r FROM range(5000)) SELECT count(*), count(DISTINCT k) FROM t WHERE r IN (SELECT r FROM t)",
    ] {
        assert_eq!(integers(&run(&session, sql).unwrap().0), [5000, 5000], "{sql}");
    }
    // What is not computed once has random numbers of its own.
    let apart = "WITH t AS NOT MATERIALIZED (SELECT random() AS r) SELECT a.r - b.r AS d FROM t AS a CROSS JOIN t AS b";
    let (batches, _) = run(&session, apart).unwrap();
    let difference =
        batches.iter().find(|b| b.num_rows() > 0).unwrap().column(0).as_primitive::<Float64Type>().value(0);
    assert_ne!(difference, 0.0);
    // Readers of the same columns are no less apart.
    let same = "WITH t AS NOT MATERIALIZED (SELECT range % 1000 AS k, count(*) AS c FROM range(100000) GROUP BY k) \
                SELECT count(*) AS n FROM t AS a JOIN t AS b ON a.c = b.c AND a.k = b.k";
    for (materialized, times) in [("NOT MATERIALIZED", 2), ("", 1)] {
        let (batches, statistics) = run(&session, &same.replace("NOT MATERIALIZED", materialized)).unwrap();
        assert_eq!(
            (integers(&batches), statistics.rows_read),
            (vec![1000], times * 100_000),
            "{materialized}"
        );
    }
}

#[test]
fn rows_that_do_not_fit_lie_on_disk() {
    let wide = "WITH t AS MATERIALIZED (SELECT range AS k, range::VARCHAR || ' is a text of some length' AS v FROM range(200000)) \
                SELECT count(*) AS n, sum(length(v)) AS s FROM t WHERE k % 2 = 0 UNION ALL SELECT count(*), max(length(v)) FROM t ORDER BY n";
    let of = |memory_limit| {
        let (batches, statistics) =
            run(&Session::new(Settings { workers: 2, memory_limit, ..Settings::default() }), wide).unwrap();
        (batches, statistics.bytes_spilled)
    };
    let ((in_memory, none), (on_disk, some)) = (of(u64::MAX), of(8 << 20));
    assert_eq!(none, 0);
    assert!(some > 4 << 20, "{some} bytes are on disk");
    assert_eq!(in_memory, on_disk);
    assert_eq!(integers(&in_memory)[0], 100_000);
}

#[test]
fn the_end_can_be_asked_for_while_it_is_computed() {
    let session = session(2);
    let endless = "WITH t AS (SELECT a.range + b.range AS s, count(*) AS c FROM range(100000000) a, range(100000000) b GROUP BY 1) \
                   SELECT count(*) FROM t AS x JOIN t AS y ON x.s = y.s";
    let cancel = Cancel::default();
    std::thread::scope(|scope| {
        let asking = cancel.clone();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            asking.cancel();
        });
        let start = Instant::now();
        let error = session.execute_until(endless, &cancel).err().expect("it was running");
        assert!(matches!(error, Error::Query(engine::Error::Cancelled)), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    });
}

#[test]
fn what_fails_in_it_fails_the_statement() {
    let session = session(2);
    let fails = "WITH t AS (SELECT range % 10 AS k, max(1 // (range - 77)) AS x FROM range(1000) GROUP BY 1) \
                 SELECT a.k FROM t AS a JOIN t AS b ON a.k = b.k WHERE a.x > 100";
    let error = run(&session, fails).expect_err("it divides by zero").to_string();
    assert!(error.contains("zero"), "{error}");
    assert_eq!(integers(&run(&session, "SELECT count(*) FROM range(3)").unwrap().0), [3]);
}

#[test]
fn a_plan_with_what_it_shares_runs_several_times_at_once() {
    let session = session(2);
    let query = session::parse(&groups("")).unwrap().query().expect("it is a query");
    let cancel = Cancel::default();
    let planned = session.plan(&query, &session.planning(), &cancel).unwrap();
    let mut running: Vec<_> = (0..3).map(|_| session.begin(&planned, &cancel).unwrap()).collect();
    for results in &mut running {
        let batches: Vec<RecordBatch> = results.collect::<engine::Result<_>>().unwrap();
        assert_eq!(integers(&batches)[0], 1000);
        assert_eq!(results.state().rows_read.load(Ordering::Relaxed), ROWS);
    }
}

#[test]
fn rows_keep_the_order_that_they_have() {
    let session = session(3);
    for (of_table, first) in [
        ("FROM range(1000000) WHERE range % 2 = 0", [0, 2, 4]),
        ("FROM range(1000000) WHERE range % 3 = 0 ORDER BY range DESC", [999_999, 999_996, 999_993]),
    ] {
        let sql = format!("WITH t AS MATERIALIZED (SELECT range AS k {of_table}) SELECT k FROM t LIMIT 3");
        for _ in 0..5 {
            let (batches, _) = run(&session, &sql).unwrap();
            let values = |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
            assert_eq!(batches.iter().flat_map(values).collect::<Vec<_>>(), first, "{of_table}");
        }
    }
}
