//! Heavy keys, those that a good part of the rows have, in several processes: the answers of one process, and no worker
//! that has much more to do than the others.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use compare::{same, sorted};
use process::{Finished, palais};
use several::{succeed, text};

#[path = "support/cells.rs"]
mod cells;
#[path = "support/close.rs"]
mod close;
#[path = "support/compare.rs"]
mod compare;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// What EXPLAIN says of a join whose probe rows of heavy keys stay where they are.
const REPLICATED: &str = "heavy keys replicated";

/// Of 20 rows 6 have the key 7, 4 the key 11, 3 NULL, 3 a key that the build side doesn't have, and 4 one of 3000 others.
const PROBE: &str = "SELECT range AS id, range % 3 AS c, CASE WHEN range % 20 < 6 THEN 7 WHEN range % 20 < 10 THEN 11 \
    WHEN range % 20 < 13 THEN NULL WHEN range % 20 < 16 THEN -1 ELSE range % 3000 END AS k FROM range(500000)";
/// Each key is there twice, and NULL three times.
const BUILD: &str = "SELECT range AS n, range / 3000 AS c, CASE WHEN range < 6000 THEN range % 3000 END AS k \
    FROM range(6003)";

/// Conditions whose rows are those of the build side.
const BUILD_ROWS_THAT: [&str; 6] = [
    "k IN (SELECT k FROM probe)",
    "EXISTS (SELECT 1 FROM probe p WHERE p.t = b.t AND p.c = b.c)",
    "NOT EXISTS (SELECT 1 FROM probe p WHERE p.k = b.k)",
    "NOT EXISTS (SELECT 1 FROM probe p WHERE p.t = b.t AND p.c = b.c)",
    "NOT EXISTS (SELECT 1 FROM probe p WHERE p.k IS NOT DISTINCT FROM b.k)",
    "n % 5 = 0 OR k IN (SELECT k FROM probe)",
];

/// The processes, and the workers of each.
const SPREAD: [(&str, &str); 4] = [("2", "1"), ("3", "1"), ("5", "1"), ("2", "2")];
/// Which of them is next: a query runs in one of them.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// `probe` and `build`, with keys as texts too.
fn tables(sql: &str) -> String {
    let keyed = |rows: &str| format!("(SELECT *, 'a key that is not short ' || k AS t FROM ({rows}))");
    format!("WITH probe AS {}, build AS {} {sql}", keyed(PROBE), keyed(BUILD))
}

fn several(processes: &str, workers: &str, sql: &str) -> Finished {
    let run = ["cluster", "run", "--local", processes, "--workers", workers, "--broadcast-limit", "0"];
    palais([&run[..], &["--format", "csv", sql]].concat())
}

/// Holds a query in several processes against one.
fn check(sql: &str, is_replicated: bool, failures: &mut Vec<String>) {
    let sql = tables(sql);
    let expected = succeed(&["query", "--format", "csv", &sql]);
    let (processes, workers) = SPREAD[NEXT.fetch_add(1, Ordering::Relaxed) % SPREAD.len()];
    let plan = several(processes, workers, &format!("EXPLAIN {sql}"));
    if plan.stdout.contains(REPLICATED) != is_replicated {
        failures.push(format!("{sql}: {}{}", plan.stdout, plan.stderr));
    }
    let done = several(processes, workers, &sql);
    // The order counts where there is one.
    let is_same = || match sql.contains("ORDER BY") {
        true => done.stdout == expected.stdout,
        false => same(&sorted(&done.stdout), &sorted(&expected.stdout)),
    };
    if done.code() != Some(0) || !is_same() {
        failures.push(format!("{sql}, {processes} processes: {} {:.500}", done.stderr, done.stdout));
    }
}

#[test]
fn joins_of_heavy_keys_give_what_one_process_gives() {
    let figures = "SELECT count(*), sum(p.id), sum(n), count(p.k), count(DISTINCT p.k), min(p.t), max(p.t)";
    let mut failures = Vec::new();
    for join in [
        "JOIN build b ON p.k = b.k",
        "JOIN build b ON p.t = b.t",
        "JOIN build b ON p.k = b.k AND p.c = b.c",
        "JOIN build b ON p.c = b.c AND p.t = b.t",
        "JOIN build b ON p.k = b.k AND p.id % 10 < b.n % 10",
        "JOIN build b ON p.k + 1.5e0 = b.k + 1.5e0",
        "JOIN build b ON p.k IS NOT DISTINCT FROM b.k",
        "LEFT JOIN build b ON p.k = b.k",
        "LEFT JOIN build b ON p.t = b.t AND p.id % 10 < b.n % 10",
        "JOIN build b ON p.k = b.k JOIN build d ON p.k = d.k AND d.n > 3000",
    ] {
        let figures = if join.contains(" d ") { figures.replace("(n)", "(b.n)") } else { figures.into() };
        check(&format!("{figures} FROM probe p {join}"), true, &mut failures);
    }
    let rows = "SELECT k, count(*), sum(id), min(t) FROM probe p";
    for condition in [
        "k IN (SELECT k FROM build)",
        "EXISTS (SELECT 1 FROM build b WHERE b.t = p.t)",
        "EXISTS (SELECT 1 FROM build b WHERE b.k = p.k AND b.n % 10 > p.id % 10)",
        "NOT EXISTS (SELECT 1 FROM build b WHERE b.k = p.k)",
        "NOT EXISTS (SELECT 1 FROM build b WHERE b.k = p.k AND b.c = p.c)",
        "k > 100 OR k IN (SELECT k FROM build WHERE n < 5000)",
    ] {
        check(&format!("{rows} WHERE {condition} GROUP BY k"), true, &mut failures);
    }
    // Rows of the build side are given at the end, by the worker that knows which have met their like.
    for join in [
        "probe p RIGHT JOIN build b ON p.k = b.k",
        "probe p FULL JOIN build b ON p.k = b.k",
        "build b FULL JOIN probe p ON p.t = b.t AND p.c = b.c",
        "probe p FULL JOIN build b ON p.k IS NOT DISTINCT FROM b.k",
        "build b LEFT JOIN probe p ON p.k + 1.5e0 = b.k + 1.5e0",
    ] {
        check(&format!("{figures} FROM {join}"), true, &mut failures);
    }
    for condition in BUILD_ROWS_THAT {
        let sql =
            format!("SELECT k, c, count(*), sum(n), min(t) FROM build b WHERE {condition} GROUP BY k, c");
        check(&sql, true, &mut failures);
    }
    // That is not known by the key alone.
    for sql in [
        format!("{figures} FROM probe p FULL JOIN build b ON p.k = b.k AND p.id % 10 < b.n % 10"),
        "SELECT sum(n) FROM build b WHERE EXISTS (SELECT 1 FROM probe p WHERE p.k = b.k AND p.id < b.n)"
            .into(),
    ] {
        check(&sql, false, &mut failures);
    }
    check(
        "SELECT id, n FROM probe p JOIN build b ON p.k = b.k ORDER BY id, n LIMIT 3000",
        true,
        &mut failures,
    );
    let some = "SELECT count(*) FROM (SELECT n FROM probe p JOIN build b ON p.k = b.k LIMIT 30000)";
    check(some, true, &mut failures);
    // Its LIMIT holds for the probe side too, which all workers still read.
    check(&some.replace("JOIN", "LEFT JOIN"), true, &mut failures);
    check(&some.replace("JOIN", "FULL JOIN"), true, &mut failures);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn workers_of_one_process_keep_rows_of_heavy_keys_too() {
    let figures = "SELECT count(*), sum(p.id), sum(n), count(p.k), count(b.k), min(p.t), max(p.t)";
    let rows = BUILD_ROWS_THAT.map(|condition| format!("SELECT n FROM build b WHERE {condition}"));
    let joins = ["probe p FULL JOIN build b ON p.k = b.k", "build b LEFT JOIN probe p ON p.t = b.t"];
    for sql in joins.map(|join| format!("{figures} FROM {join}")).iter().chain(&rows) {
        let sql = tables(sql);
        let one = succeed(&["query", "--workers", "1", "--broadcast-limit", "0", "--format", "csv", &sql]);
        let three = ["query", "--workers", "3", "--broadcast-limit", "0", "--format", "csv"];
        let plan = succeed(&[&three[..], &[&format!("EXPLAIN {sql}")]].concat()).stdout;
        assert!(plan.contains(REPLICATED), "{sql}: {plan}");
        let done = succeed(&[&three[..], &[&sql]].concat()).stdout;
        assert!(same(&sorted(&done), &sorted(&one.stdout)), "{sql}: {done:.500}");
    }
}

/// Numbers that look like chance.
struct Draws(u64);

impl Draws {
    /// One below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// So many rows, of which a few keys have a good part each, from some row on; `id` is their number.
    fn rows(&mut self, rows: u64) -> String {
        let mut key = String::new();
        let mut from = 0;
        for _ in 0..self.below(5) {
            let to = from + 3 + self.below(25);
            let value = match self.below(4) {
                0 => "NULL".to_string(),
                _ => self.below(40).to_string(),
            };
            let since = self.below(rows / 2) * self.below(2);
            key += &format!(
                "WHEN range >= {since} AND range * 7919 % 101 BETWEEN {from} AND {} THEN {value} ",
                to - 1
            );
            from = to;
        }
        let others = 20 + self.below(20_000);
        format!(
            "(SELECT range AS id, CASE {key} WHEN range % 9999 = 0 THEN NULL ELSE range * 31 % {others} END AS k \
             FROM range({rows}))"
        )
    }
}

#[test]
fn joins_of_keys_of_any_frequency_give_what_one_worker_gives() {
    let (mut draws, mut failures) = (Draws(19), Vec::new());
    for round in 0..8 {
        let (probe, build) = (draws.rows(150_000), draws.rows(1500));
        let figures = "SELECT count(*), count(p.id), count(b.id), sum(p.id), sum(b.id), \
            sum(p.id % 97 * (b.id % 89)), count(DISTINCT p.k), count(DISTINCT b.k)";
        let figures = |join: &str| format!("{figures} FROM {probe} p {join} JOIN {build} b ON p.k = b.k");
        let exists = |table: &str, not: &str, other: &str| {
            format!(
                "SELECT count(*), sum(id), count(DISTINCT k) FROM {table} a \
                 WHERE {not} EXISTS (SELECT 1 FROM {other} c WHERE c.k = a.k)"
            )
        };
        let queries = [
            figures(""),
            figures("LEFT"),
            figures("RIGHT"),
            figures("FULL"),
            figures("FULL").replace("p.k = b.k", "p.k IS NOT DISTINCT FROM b.k"),
            exists(&build, "", &probe),
            exists(&build, "NOT", &probe),
            exists(&probe, "", &build),
            exists(&probe, "NOT", &build),
        ];
        for sql in queries {
            let expected = succeed(&["query", "--workers", "1", "--format", "csv", &sql]).stdout;
            let (processes, workers) = SPREAD[round % SPREAD.len()];
            let done = several(processes, workers, &sql);
            if done.code() != Some(0) || done.stdout != expected {
                failures.push(format!(
                    "{sql}, {processes} processes: {} {} {expected}",
                    done.stderr, done.stdout
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_build_rows_of_a_key_may_be_too_many_to_be_sent() {
    // 10,000 rows of one key, and of another one few that are long.
    let many = "SELECT count(*), sum(b.range) FROM \
        (SELECT CASE WHEN range % 4 = 0 THEN 7 ELSE range END AS k FROM range(15000)) p JOIN range(25000) b \
        ON p.k = CASE WHEN b.range < 10000 THEN 7 ELSE b.range END";
    let long = "SELECT count(*), count(nullif(x, 'x')) FROM \
        (SELECT CASE WHEN range % 2 = 0 THEN 11 ELSE range END AS k FROM range(6000)) p JOIN \
        (SELECT range % 1000 AS k, repeat('x', CASE WHEN range % 1000 = 11 THEN 100000 ELSE 1 END) AS x \
        FROM range(50000)) b ON p.k = b.k";
    for sql in [many, long] {
        let expected = succeed(&["query", "--format", "csv", sql]).stdout;
        let done = several("3", "1", sql);
        assert!(done.code() == Some(0) && done.stdout == expected, "{sql}: {} {}", done.stdout, done.stderr);
    }
}

/// What an operator gives on the worker where it gives most rows, and on all three; of several such operators the one that
/// gives most. A worker that has a processor when others wait for one reads more, and rows of a heavy key stay where they
/// were read: of several runs the one counts that is spread best.
fn shares(sql: &str, operator: &str, home: &Path) -> (u64, u64) {
    let mut best = (u64::MAX, 0);
    for _ in 0..5 {
        best = best.min(shares_of_one_run(sql, operator, home));
        if best.0 < best.1 * 2 / 5 {
            break;
        }
    }
    best
}

fn shares_of_one_run(sql: &str, operator: &str, home: &Path) -> (u64, u64) {
    let stats = home.join("stats.json");
    let run = ["cluster", "run", "--local", "3", "--workers", "1", "--broadcast-limit", "0", sql];
    succeed(&[&run[..], &["--stats", text(&stats)]].concat());
    let stats = fs::read_to_string(&stats).expect("it was written");
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("it is JSON");
    let operators = stats["operators"].as_array().expect("a list").iter();
    let named = operators.filter(|o| o["operator"].as_str().is_some_and(|name| name.starts_with(operator)));
    let rows = |figures: &serde_json::Value| figures["rows"].as_u64().expect("a number");
    let most = named.max_by_key(|o| rows(o)).unwrap_or_else(|| panic!("there is no {operator}: {stats}"));
    let workers = most["workers"].as_array().expect("a list");
    assert_eq!(workers.len(), 3);
    (workers.iter().map(rows).max().unwrap_or_default(), rows(most))
}

#[test]
fn a_heavy_key_does_not_pile_up_on_one_worker() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let half = "CASE WHEN range % 2 = 0 THEN 7 ELSE range END AS k";
    // Without what is tested one of three workers has two thirds of the rows.
    for join in ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"] {
        let sql = format!(
            "SELECT count(*), sum(p.k), sum(b.k) FROM (SELECT {half} FROM range(8000000)) p {join} \
             (SELECT range AS k FROM range(100000)) b ON p.k = b.k"
        );
        let (most, all) = shares(&sql, "exchange by hash", home.path());
        assert!(all == 8_000_000 && most < all / 2, "{join}: {most} of {all}");
    }
    // Where rows of the build side are looked for, one row of a key says it all.
    for not in ["", "NOT"] {
        let sql = format!(
            "SELECT count(*), sum(k) FROM (SELECT range AS k FROM range(100000)) b \
             WHERE {not} EXISTS (SELECT 1 FROM (SELECT {half} FROM range(8000000)) p WHERE p.k = b.k)"
        );
        let (most, all) = shares(&sql, "exchange by hash", home.path());
        assert!(all < 4_800_000 && most < all / 2, "{not} EXISTS: {most} of {all}");
    }
    // Nearly every other key is new, so that partial states are passed on; those of the heavy key are still combined.
    let groups = |what: &str| {
        format!(
            "SELECT count(*), sum(n), sum(s) FROM (SELECT k, {what} FROM (SELECT range AS r, {half} \
             FROM range(6000000)) GROUP BY k)"
        )
    };
    for what in
        ["count(*) AS n, sum(r) AS s", "count(*) AS n, avg(r) AS s", "min(r) AS n, max(r % 1000) AS s"]
    {
        let (most, all) = shares(&groups(what), "exchange by hash", home.path());
        // A row for each group, and a few more.
        assert!((3_000_000..3_100_000).contains(&all) && most < all * 2 / 5, "{what}: {most} of {all}");
        let done = several("3", "1", &groups(what));
        let expected = succeed(&["query", "--format", "csv", &groups(what)]);
        assert!(same(&sorted(&done.stdout), &sorted(&expected.stdout)), "{what}: {}", done.stdout);
    }
    // Of grouping sets one has one group.
    let sets = "SELECT count(*), sum(n) FROM (SELECT a, b, count(*) AS n FROM \
        (SELECT range % 1000000 AS a, range % 7 AS b, range % 11 AS c FROM range(3000000)) GROUP BY ROLLUP (a, b, c))";
    let (most, all) = shares(sets, "exchange by hash", home.path());
    assert!(most < all * 2 / 5, "{most} of {all}");
    // Values that differ are sent by key and value.
    let (most, all) = shares(&groups("count(DISTINCT r) AS n, 1 AS s"), "exchange by hash", home.path());
    assert!(all == 6_000_000 && most < all * 2 / 5, "{most} of {all}");
}

#[test]
fn keys_that_are_null_in_one_column_are_spread_by_the_others() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let keyed = "(SELECT range AS a, CASE WHEN range % 8 = 0 THEN 1 END AS b FROM range(100000))";
    let groups = format!("SELECT count(*) FROM (SELECT a, b, count(*) FROM {keyed} GROUP BY a, b)");
    let joined = format!(
        "SELECT count(*) FROM {keyed} p JOIN {keyed} q \
         ON p.a IS NOT DISTINCT FROM q.a AND p.b IS NOT DISTINCT FROM q.b"
    );
    for sql in [groups, joined] {
        let (most, all) = shares(&sql, "exchange by hash", home.path());
        assert!(all == 100_000 && most < all * 2 / 5, "{sql}: {most} of {all}");
    }
}
