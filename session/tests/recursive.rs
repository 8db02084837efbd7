//! Recursions: the same rows on any number of workers, within the memory limit, until they are stopped.

use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use session::{Cancel, Error, Result, Session, Settings, Statistics};

fn session(workers: usize) -> Session {
    Session::new(Settings { workers, ..Settings::default() })
}

fn run(session: &Session, sql: &str) -> Result<(Vec<RecordBatch>, Statistics)> {
    let mut results = session.execute(sql)?;
    let batches = results.by_ref().collect::<Result<_>>()?;
    Ok((batches, results.statistics().expect("it has run")))
}

/// The rows of 64-bit integers that a statement gives, in the order of their values.
fn rows(session: &Session, sql: &str) -> Vec<Vec<i64>> {
    let (batches, _) = run(session, sql).unwrap_or_else(|e| panic!("{e}: {sql}"));
    let of = |batch: &RecordBatch| {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| column.as_primitive::<Int64Type>()).collect();
        (0..batch.num_rows()).map(|row| columns.iter().map(|c| c.value(row)).collect()).collect::<Vec<_>>()
    };
    let mut rows: Vec<Vec<i64>> = batches.iter().flat_map(of).collect();
    rows.sort();
    rows
}

#[test]
fn any_number_of_workers_gives_the_same_rows() {
    let edges = "SELECT range AS a, (range * 7 + 3) % 5000 AS b FROM range(5000) UNION ALL \
                 SELECT range, (range * 11 + 5) % 5000 FROM range(5000)";
    // What can be reached from 0, and in how many steps at least.
    let mut steps = vec![None; 5000];
    let (mut last, mut step) = (vec![0_usize], 0);
    while !last.is_empty() {
        last.sort();
        last.dedup();
        last.retain(|node| steps[*node].is_none());
        last.iter().for_each(|node| steps[*node] = Some(step));
        last = last.iter().flat_map(|node| [(node * 7 + 3) % 5000, (node * 11 + 5) % 5000]).collect();
        step += 1;
    }
    let count = steps.iter().flatten().count() as i64;
    let sum: i64 = steps.iter().flatten().sum();
    for workers in [1, 2, 3] {
        let session = session(workers);
        let reached = format!(
            "WITH RECURSIVE e AS ({edges}), r(x) AS (SELECT 0::BIGINT UNION SELECT b FROM r JOIN e ON a = x) SELECT count(*) FROM r"
        );
        assert_eq!(rows(&session, &reached), [[count]], "{workers} workers");
        let first = format!(
            "WITH RECURSIVE e AS ({edges}), r(x, d) AS (SELECT 0::BIGINT, 0::BIGINT UNION SELECT b, d + 1 FROM r JOIN e ON a = x WHERE d < {step}) \
             SELECT count(*), CAST(sum(d) AS BIGINT) FROM (SELECT x, min(d) AS d FROM r GROUP BY x)"
        );
        assert_eq!(rows(&session, &first), [[count, sum]], "{workers} workers");
        let chain = "WITH RECURSIVE t(x) AS (SELECT 1::BIGINT UNION ALL SELECT x + 1 FROM t WHERE x < 500) SELECT x FROM t";
        assert_eq!(rows(&session, chain), (1..=500).map(|x| vec![x]).collect::<Vec<_>>());
        // An aggregate, and the name twice: rows move between workers in each round.
        let groups = "WITH RECURSIVE t(k, n) AS (SELECT range, 1::BIGINT FROM range(10000) UNION ALL \
                      SELECT a.k // 10, CAST(sum(a.n) AS BIGINT) FROM t a JOIN t b ON a.k = b.k WHERE a.k > 0 GROUP BY a.k // 10) \
                      SELECT count(*), CAST(sum(n) AS BIGINT), max(n) FROM t";
        let found = rows(&session, groups);
        // 10,000 rows, then 1,000, 100, 10 and 1, each without those of key 0 before.
        assert_eq!(found, [[11_111, 10_000 + 9_999 + 9_990 + 9_900 + 9_000, 9_000]], "{workers} workers");
    }
}

#[test]
fn a_round_on_one_worker_finds_all_of_what_is_made_once() {
    for workers in [1, 4, 7] {
        // So little is copied to each worker that the table is made in parts.
        let session = Session::new(Settings { workers, broadcast_bytes: 1 << 10, ..Settings::default() });
        for term in ["SELECT max(x) AS x FROM t", "SELECT x FROM t ORDER BY x LIMIT 1", "SELECT x FROM t"] {
            for table in ["range(3000)", "(SELECT range FROM range(5000) ORDER BY range LIMIT 3000)"] {
                let sql = format!(
                    "WITH RECURSIVE t(x) AS (SELECT 0::BIGINT UNION ALL \
                     SELECT e.range + 1 FROM ({term}) AS l JOIN {table} AS e ON e.range = l.x) SELECT count(*) FROM t"
                );
                assert_eq!(rows(&session, &sql), [[3001]], "{workers} workers: {sql}");
            }
        }
    }
}

#[test]
fn what_does_not_depend_on_the_recursion_is_read_once() {
    let session = session(2);
    let sql = "WITH RECURSIVE t(x) AS (SELECT 0::BIGINT UNION ALL SELECT e.range + 1 FROM t JOIN range(1000) e ON e.range = t.x) SELECT count(*) FROM t";
    let (batches, statistics) = run(&session, sql).unwrap();
    assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().value(0), 1001);
    assert_eq!(statistics.rows_read, 1000);
}

#[test]
fn rows_beyond_a_part_of_the_limit_lie_on_disk() {
    let sql = "WITH RECURSIVE t(x, v) AS (SELECT range, range::VARCHAR || ' is a text of some length' FROM range(20000) UNION ALL \
               SELECT x + 20000, v FROM t WHERE x < 180000) SELECT count(*), CAST(sum(x) AS BIGINT) FROM t WHERE length(v) > 20";
    let of = |memory_limit| {
        let session = Session::new(Settings { workers: 2, memory_limit, ..Settings::default() });
        let (batches, statistics) = run(&session, sql).unwrap();
        let batch = batches.into_iter().find(|batch| batch.num_rows() > 0).expect("there is a row");
        (batch, statistics.bytes_spilled)
    };
    let ((in_memory, none), (on_disk, some)) = (of(u64::MAX), of(12 << 20));
    assert_eq!((none, in_memory.column(0).as_primitive::<Int64Type>().value(0)), (0, 200_000));
    assert!(some > 2 << 20, "{some} bytes are on disk");
    assert_eq!(in_memory, on_disk);
}

#[test]
fn a_recursion_without_an_end_reaches_the_memory_limit() {
    let session = Session::new(Settings { workers: 2, memory_limit: 8 << 20, ..Settings::default() });
    let sql = "WITH RECURSIVE t(x) AS (SELECT range FROM range(5000) UNION SELECT x + 5000 FROM t) SELECT count(*) FROM t";
    let error = run(&session, sql).expect_err("it has no end").to_string();
    assert!(error.contains("memory") && error.contains("recursion"), "{error}");
    assert_eq!(rows(&session, "SELECT count(*) FROM range(3)"), [[3]]);
}

#[test]
fn the_end_can_be_asked_for() {
    for workers in [1, 3] {
        let session = session(workers);
        let endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION SELECT (x + 1) % 1000000000 FROM t) SELECT count(*) FROM t";
        let cancel = Cancel::default();
        std::thread::scope(|scope| {
            let asking = cancel.clone();
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                asking.cancel();
            });
            let start = Instant::now();
            let error = match session.execute_until(endless, &cancel) {
                Err(error) => error,
                Ok(results) => results.collect::<Result<Vec<_>>>().expect_err("it has no end"),
            };
            assert!(matches!(error, Error::Query(engine::Error::Cancelled)), "{error}");
            assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        });
    }
}

#[test]
fn what_fails_in_a_round_fails_the_statement() {
    let session = session(2);
    let sql = "WITH RECURSIVE t(x) AS (SELECT 5::BIGINT UNION ALL SELECT x - 1 + 10 // (x - 1) - 10 // (x - 1) FROM t) SELECT count(*) FROM t";
    let error = run(&session, sql).expect_err("it divides by zero").to_string();
    assert!(error.contains("zero"), "{error}");
    assert_eq!(rows(&session, "SELECT count(*) FROM range(3)"), [[3]]);
}
