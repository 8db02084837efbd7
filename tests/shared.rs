//! What several relations read is computed once, by one process and by several, in memory and on disk.

use std::path::Path;

use several::{succeed, text};

#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// One worker, several, and several processes.
const WAYS: [&[&str]; 4] = [
    &["query", "--workers", "1"],
    &["query", "--workers", "3"],
    &["cluster", "run", "--local", "2", "--workers", "2"],
    &["cluster", "run", "--local", "3", "--workers", "1"],
];

const ROWS: u64 = 1_000_000;

/// Statements over rows that are computed once, and what they give.
const STATEMENTS: [(&str, &str); 3] = [
    // Rows that stay on their workers, by two readers; they don't fit a quarter of the least limit.
    (
        "WITH t AS MATERIALIZED (SELECT range AS k, range::VARCHAR || ' is a text of some length' AS v FROM range(1000000)) \
         SELECT count(*) AS n, sum(length(v)) AS s FROM t WHERE k % 2 = 0 UNION ALL SELECT count(*), max(length(v)) FROM t ORDER BY n",
        "n,s\n500000,15444445\n1000000,31\n",
    ),
    // Groups, joined with themselves and with their greatest sum.
    (
        "WITH t AS (SELECT range % 1000 AS k, sum(range) AS s FROM range(1000000) GROUP BY k) \
         SELECT count(*) AS n, max(a.k) AS k FROM t AS a JOIN t AS b ON a.k = b.k WHERE a.s = (SELECT max(s) FROM t) OR b.k < 10",
        "n,k\n11,999\n",
    ),
    // Rows that lie on one worker.
    (
        "WITH t AS (SELECT range AS k FROM range(1000000) ORDER BY range DESC LIMIT 1000) \
         SELECT count(*) AS n, min(a.k) AS k FROM t AS a JOIN t AS b ON a.k = b.k + 1",
        "n,k\n999,999001\n",
    ),
];

/// A number of `--stats`.
fn figure(stats: &Path, name: &str) -> u64 {
    let stats = std::fs::read_to_string(stats).expect("palais wrote it");
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("it is JSON");
    stats[name].as_u64().expect("it is a number")
}

#[test]
fn rows_are_computed_once_wherever_they_lie() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let stats = home.path().join("stats.json");
    for way in WAYS {
        for (number, (sql, expected)) in STATEMENTS.iter().enumerate() {
            for limit in ["4G", "96M"] {
                let more = ["--memory-limit", limit, "--stats", text(&stats), sql];
                let done = succeed(&[way, &more].concat());
                assert_eq!(done.stdout, *expected, "{way:?} {limit} {sql}");
                assert_eq!(figure(&stats, "rows_read"), ROWS, "{way:?} {limit} {sql}");
                let is_spilled = figure(&stats, "bytes_spilled") > 0;
                assert_eq!(is_spilled, number == 0 && limit == "96M", "{way:?} {limit} {sql}");
            }
        }
    }
}
