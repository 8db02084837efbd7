//! Processes of one machine, which read rows in each other's memory where they can, and have them sent where they can't.

use std::fs;
use std::path::Path;
use std::process::Command;

use process::palais;
use several::{succeed, text};

#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// Groups by texts that lie in their views and by others, with sums, and with NULLs among them.
const QUERIES: [&str; 5] = [
    "SELECT short, sum(a), count(*) FROM t GROUP BY short",
    "SELECT long, max(a) FROM t GROUP BY long",
    "SELECT accents, avg(a) FROM t GROUP BY accents",
    "SELECT gaps, sum(a) FROM t GROUP BY gaps",
    "SELECT a, a * 0.5e0, CAST(a AS DECIMAL(12, 2)), a % 2 = 0, short FROM t WHERE a < 200000 ORDER BY a DESC",
];

/// A file with what they read; the flag that names it.
fn table(home: &Path) -> String {
    let file = home.join("t.buren");
    let rows = "SELECT range AS a, 'k' || (range % 400000) AS short, 'é' || (range % 300000) AS accents, \
                'a longer key ' || (range % 300000) AS long, \
                CASE WHEN range % 7 = 0 THEN NULL ELSE range % 300000 END AS gaps FROM range(1000000)";
    succeed(&["query", &format!("COPY ({rows}) TO '{}'", text(&file))]);
    format!("t={}", text(&file))
}

/// The rows of csv, in order.
fn sorted(csv: &str) -> Vec<&str> {
    let mut rows: Vec<_> = csv.lines().skip(1).collect();
    rows.sort_unstable();
    rows
}

/// What `--stats` says of the bytes that were sent, and of those that were lent.
fn bytes(stats: &Path) -> (u64, u64) {
    let stats = fs::read_to_string(stats).expect("it was written");
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("it is JSON");
    let figure = |name: &str| stats[name].as_u64().expect("it was counted");
    (figure("bytes_sent"), figure("bytes_lent"))
}

#[test]
fn rows_are_read_in_memory_or_sent_and_are_the_same() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let (stats, table) = (home.path().join("stats.json"), table(home.path()));
    for (number, sql) in QUERIES.iter().enumerate() {
        let alone = succeed(&["query", sql, "--table", &table, "--format", "csv"]);
        let expected = sorted(&alone.stdout);
        for processes in ["2", "4"] {
            for more in [&[][..], &["--sockets-only"]] {
                let flags = ["--local", processes, "--workers", "1", "--format", "csv", "--table", &table];
                let flags = [&["cluster", "run", sql], &flags[..], &["--stats", text(&stats)], more].concat();
                let found = succeed(&flags);
                assert!(sorted(&found.stdout) == expected, "{sql} {processes} {more:?}");
                let (sent, lent) = bytes(&stats);
                // Those of the first one take 24 bytes each in memory, of which most groups cross.
                let read = more.is_empty() && number == 0;
                assert!(if read { lent > 5_000_000 && sent < 500_000 } else { sent > 0 }, "{sent} {lent}");
                assert!(more.is_empty() || lent == 0, "{lent} bytes were lent");
            }
        }
    }
}

#[test]
fn the_plan_tells_what_was_read_in_memory() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let table = table(home.path());
    let explain = format!("EXPLAIN ANALYZE {}", QUERIES[0]);
    let told = |more: &[&str]| {
        let flags = ["cluster", "run", &explain, "--table", &table, "--local", "2", "--workers", "1"];
        succeed(&[&flags[..], more].concat()).stdout
    };
    assert!(told(&[]).contains(" read in memory, "), "{}", told(&[]));
    assert!(!told(&["--sockets-only"]).contains("read in memory"));
}

#[test]
fn who_takes_few_rows_ends_the_lenders() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let table = table(home.path());
    let sql = "SELECT short, range, count(*) AS n FROM t, range(10) GROUP BY short, range";
    let flags = ["--local", "3", "--workers", "1", "--table", &table, "--format", "csv"];
    let first = succeed(&[&["cluster", "run", &format!("{sql} LIMIT 5")], &flags[..]].concat());
    assert_eq!(first.stdout.lines().count(), 6);
    // Nobody reads the output any more.
    let mut several = Command::new(env!("CARGO_BIN_EXE_palais"));
    several.args(["cluster", "run", sql]).args(flags).stdout(std::process::Stdio::piped());
    let mut several = several.spawn().expect("palais starts");
    drop(several.stdout.take());
    several.wait().expect("a child can be waited for");
}

/// In a namespace of processes of its own a process has another number than others see.
#[test]
fn rows_are_sent_where_memory_can_not_be_read() {
    let unshare = ["unshare", "--pid", "--fork", "--kill-child"];
    let can = Command::new(unshare[0]).args(&unshare[1..]).arg("true").status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped: namespaces can't be made here");
        return;
    }
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let hosts = home.path().join("hosts.toml");
    let host = |launch: &str| format!("[[host]]\naddress = \"127.0.0.1\"\n{launch}\n");
    let apart = host(&format!("name = \"apart\"\nlaunch = {unshare:?}"));
    fs::write(&hosts, host("name = \"here\"") + &apart).expect("it can be written");
    let (stats, table) = (home.path().join("stats.json"), table(home.path()));
    let alone = succeed(&["query", QUERIES[0], "--table", &table, "--format", "csv"]);
    let expected = sorted(&alone.stdout);
    let flags = ["cluster", "run", QUERIES[0], "--hosts", text(&hosts), "--table", &table, "--format", "csv"];
    let found = succeed(&[&flags[..], &["--stats", text(&stats)]].concat());
    assert!(sorted(&found.stdout) == expected);
    let (sent, lent) = bytes(&stats);
    assert!(sent > 2_000_000, "{sent} bytes were sent, and {lent} lent");
    // What the file says goes for all.
    fs::write(
        &hosts,
        format!("sockets_only = true\n{}", host("name = \"here\"").repeat(2).replacen("here", "one", 1)),
    )
    .expect("it can be written");
    let found = palais([&flags[..], &["--stats", text(&stats)]].concat());
    assert!(found.code() == Some(0) && sorted(&found.stdout) == expected, "{}", found.stderr);
    assert_eq!(bytes(&stats).1, 0);
}
