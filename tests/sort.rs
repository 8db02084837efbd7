//! ORDER BY on the real binary: whole results against the order computed here.

use process::palais;

#[path = "support/process.rs"]
mod process;

/// The lines of a query's result, without the header.
fn rows(sql: &str, workers: &str) -> Vec<String> {
    let done = palais(["query", sql, "--format", "csv", "--workers", workers]);
    assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
    done.stdout.lines().skip(1).map(str::to_string).collect()
}

/// Fails at the first row that differs.
fn same(got: &[String], expected: &[String], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}: number of rows");
    if let Some(i) = (0..got.len()).find(|i| got[*i] != expected[*i]) {
        panic!("{what}: row {i} is {}, not {}", got[i], expected[i]);
    }
}

const WORKERS: [&str; 3] = ["1", "2", "5"];

#[test]
fn numbers_are_in_order() {
    let sql = "SELECT (range * 48271) % 1000003 AS k FROM range(300000) ORDER BY k DESC";
    let mut keys: Vec<u64> = (0..300_000).map(|i| (i * 48_271) % 1_000_003).collect();
    keys.sort_unstable_by(|a, b| b.cmp(a));
    let expected: Vec<String> = keys.iter().map(u64::to_string).collect();
    WORKERS.iter().for_each(|workers| same(&rows(sql, workers), &expected, workers));
}

#[test]
fn ties_are_broken_by_the_next_key() {
    let sql = "SELECT range % 1009 AS k, range FROM range(300000) ORDER BY k, range DESC";
    let mut keys: Vec<(u64, u64)> = (0..300_000).map(|i| (i % 1009, i)).collect();
    keys.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let expected: Vec<String> = keys.iter().map(|(k, i)| format!("{k},{i}")).collect();
    WORKERS.iter().for_each(|workers| same(&rows(sql, workers), &expected, workers));
}

#[test]
fn texts_that_begin_alike_and_nulls_are_in_order() {
    let sql = "SELECT CASE WHEN range % 10 <> 0 THEN 'a common beginning ' || (range % 5003) END AS t \
               FROM range(200000) ORDER BY t NULLS FIRST";
    let text = |i: u64| {
        if i.is_multiple_of(10) { String::new() } else { format!("a common beginning {}", i % 5003) }
    };
    let mut expected: Vec<String> = (0..200_000).map(text).collect();
    expected.sort_unstable();
    WORKERS.iter().for_each(|workers| same(&rows(sql, workers), &expected, workers));
}

#[test]
fn sorted_input_stays_sorted() {
    let expected: Vec<String> = (0..300_000).map(|i: u64| i.to_string()).collect();
    for workers in WORKERS {
        same(&rows("SELECT range FROM range(300000) ORDER BY range", workers), &expected, workers);
    }
}

#[test]
fn a_limit_takes_the_first_rows_however_many() {
    let mut keys: Vec<u64> = (0..200_000).map(|i| (i * 7919) % 200_003).collect();
    keys.sort_unstable();
    // Few rows are kept in one place, many are sorted like all.
    for (limit, offset) in [(0, 0), (1, 0), (10, 5), (9_000, 3), (16_384, 0), (16_385, 0), (50_000, 149_990)]
    {
        let sql = format!(
            "SELECT (range * 7919) % 200003 AS k FROM range(200000) ORDER BY k LIMIT {limit} OFFSET {offset}"
        );
        let expected: Vec<String> = keys.iter().skip(offset).take(limit).map(u64::to_string).collect();
        for workers in WORKERS {
            same(&rows(&sql, workers), &expected, &format!("{limit} {offset} {workers}"));
        }
    }
}

#[test]
fn wide_rows_pass_the_exchange_in_order() {
    // More bytes than the exchange lets wait, from senders of which one has most of the first rows.
    let sql = "SELECT range % 7 AS k, range, repeat('x', 3000) AS wide FROM range(20000) ORDER BY k, range";
    let mut keys: Vec<(u64, u64)> = (0..20_000).map(|i| (i % 7, i)).collect();
    keys.sort_unstable();
    let wide = "x".repeat(3000);
    let expected: Vec<String> = keys.iter().map(|(k, i)| format!("{k},{i},{wide}")).collect();
    WORKERS.iter().for_each(|workers| same(&rows(sql, workers), &expected, workers));
}

#[test]
fn the_rows_of_one_worker_are_in_order() {
    // One worker reads the file alone, and has more bytes than it may send before the others have said that they have
    // none.
    let file = tempfile::NamedTempFile::with_suffix(".csv").expect("a temporary file can be made");
    let mut keys: Vec<u64> = (0..100_000).map(|i| (i * 7919) % 100_003).collect();
    let lines: String = keys.iter().map(|k| format!("{k}\n")).collect();
    std::fs::write(file.path(), format!("k\n{lines}")).expect("a temporary file can be written");
    keys.sort_unstable();
    let wide = "x".repeat(500);
    let sql = format!("SELECT k, repeat('x', 500) AS wide FROM '{}' ORDER BY k, wide", file.path().display());
    let expected: Vec<String> = keys.iter().map(|k| format!("{k},{wide}")).collect();
    ["2", "3", "5"].iter().for_each(|workers| same(&rows(&sql, workers), &expected, workers));
}

#[test]
fn a_random_order_is_one_order_for_each_row() {
    let sql = "SELECT range FROM range(100000) ORDER BY random()";
    for workers in WORKERS {
        let mut got: Vec<u64> = rows(sql, workers).iter().map(|r| r.parse().expect("a number")).collect();
        assert!(got.windows(2).any(|w| w[0] > w[1]), "the rows are mixed");
        got.sort_unstable();
        assert!(got.iter().copied().eq(0..100_000), "every row is there once");
    }
}
