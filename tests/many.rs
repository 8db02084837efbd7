//! Many small files, which are compared with a few of them when they are read: whatever one holds that the others do
//! not, the answer or the error is that of a table all of whose files were looked at before.

use std::fs;
use std::path::Path;
use std::process::Command;

use process::{Finished, palais};

#[path = "support/process.rs"]
mod process;

const FILES: usize = 300;
/// A file that is not among those that are looked at before.
const OTHER: usize = 237;

/// A directory of files of one encoding, one of which is another; `{i}` is a file's number.
fn files(suffix: &str, usual: &str, other: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory can be made");
    for i in 0..FILES {
        let text = if i == OTHER { other } else { usual };
        let path = dir.path().join(format!("part-{i:03}.{suffix}"));
        fs::write(path, text.replace("{i}", &i.to_string())).expect("a file can be written");
    }
    dir
}

fn csv(other: &str) -> tempfile::TempDir {
    files("csv", "id,x,day\n{i},1,2026-01-01\n{i},2,2026-01-02\n", other)
}

/// A query over a directory's files, which it calls `t`.
fn query(dir: &Path, sql: &str, flags: &[&str]) -> Finished {
    let table = format!("t={}", dir.display());
    palais(["query", "--workers", "2", "--table", &table, sql].iter().chain(flags))
}

fn answer(dir: &Path, sql: &str, flags: &[&str]) -> String {
    let done = query(dir, sql, flags);
    assert_eq!(done.code(), Some(0), "{sql} {}: {}", done.ending(), done.stderr);
    done.stdout
}

/// Asserts that a query fails with nothing on standard output and these words.
fn fails(dir: &Path, sql: &str, words: &[&str]) {
    let done = query(dir, sql, &[]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(1), ""), "{} {}", done.ending(), done.stderr);
    for word in words {
        assert!(done.stderr.contains(word), "'{word}' is not in: {}", done.stderr);
    }
}

#[test]
fn files_that_are_alike() {
    let dir = csv("id,x,day\r\n237,\"1\",2026-01-01\r\n237,2,2026-01-02");
    assert_eq!(answer(dir.path(), "SELECT sum(x), max(day), count(*) FROM t", &[]).lines().nth(1), {
        Some("900,2026-01-02,600")
    });
    let sql = "SELECT x, sum(id) FROM t GROUP BY x ORDER BY x";
    assert_eq!(answer(dir.path(), sql, &[]), "x,sum(id)\n1,44850\n2,44850\n");
    // Rows are given as they are read.
    assert_eq!(answer(dir.path(), "SELECT id FROM t WHERE x = 1", &[]).lines().count(), FILES + 1);
}

#[test]
fn empty_files_and_byte_order_marks() {
    for (other, rows) in [
        ("", "598"),
        ("id,x,day\n", "598"),
        ("\u{feff}id,x,day\n1,1,2026-01-01\n", "599"),
        ("id,x,day\n1,1,2026-01-01\n\n\n", "599"),
        ("\n\nid,x,day\n1,1,2026-01-01", "599"),
    ] {
        let dir = csv(other);
        let counted = answer(dir.path(), "SELECT count(*) AS n FROM t", &[]);
        assert_eq!(counted, format!("n\n{rows}\n"), "{other:?}");
        assert_eq!(answer(dir.path(), "SELECT min(x) AS x FROM t", &[]), "x\n1\n", "{other:?}");
    }
}

#[test]
fn a_type_that_one_file_makes_wider() {
    let dir = csv("id,x,day\n237,0.25,2026-01-01 10:00:00\n");
    assert_eq!(answer(dir.path(), "SELECT sum(x) AS s FROM t", &[]), "s\n897.25\n");
    let day = answer(dir.path(), "SELECT max(day) AS d, min(x) AS m FROM t", &[]);
    assert_eq!(day, "d,m\n2026-01-02T00:00:00,0.25\n");
    // Rows are given as they are read.
    assert!(answer(dir.path(), "SELECT x FROM t WHERE id < 5", &[]).contains("1.0"));
    // What is divided is a float, and division by zero no error.
    fs::write(dir.path().join("part-001.csv"), "id,x,day\n1,1,2026-01-01\n1,0,2026-01-01\n").unwrap();
    assert_eq!(answer(dir.path(), "SELECT max(1 / x) AS d FROM t", &[]), "d\nInfinity\n");
    let written = dir.path().join("_written.csv");
    let path = written.display().to_string();
    assert_eq!(answer(dir.path(), "SELECT sum(x) AS s FROM t", &["--output", &path]), "");
    assert_eq!(fs::read_to_string(written).unwrap(), "s\n895.25\n");
    let copied = dir.path().join("_copied.csv");
    answer(dir.path(), &format!("COPY (SELECT min(x) AS s FROM t) TO '{}'", copied.display()), &[]);
    assert_eq!(fs::read_to_string(copied).unwrap(), "s\n0.0\n");
}

#[test]
fn a_column_whose_values_one_file_alone_has() {
    let usual = "id,x\n{i},\n";
    let dir = files("csv", usual, "id,x\n237,40\n238,2\n");
    assert_eq!(answer(dir.path(), "SELECT sum(x) AS s FROM t", &[]), "s\n42\n");
}

#[test]
fn a_file_that_does_not_fit_is_named() {
    let first = ["part-237.csv", "part-000.csv", "--schema"];
    let sum = "SELECT sum(x) FROM t";
    fails(csv("id,x,day\n237,n/a,2026-01-01\n").path(), sum, &[&first[..], &["'x' is VARCHAR"]].concat());
    fails(csv("id,y,day\n237,1,2026-01-01\n").path(), sum, &[&first[..], &["'y'"]].concat());
    fails(csv("id,x\n237,1\n").path(), sum, &[&first[..], &["'day'"]].concat());
    fails(csv("237,1,2026-01-01\n").path(), sum, &first);
    fails(csv("id,x,day,z\n1,1,2026-01-01,1\n").path(), "SELECT count(*) FROM t", &["'z'"]);
}

#[test]
fn a_value_further_down_is_an_error_of_its_place() {
    let other = format!("id,x,day\n{}237,n/a,2026-01-01\n", "237,1,2026-01-01\n".repeat(40));
    let dir = csv(&other);
    fails(dir.path(), "SELECT sum(x) FROM t", &["part-237.csv, row 41, line 42", "column x", "'n/a'"]);
    assert_eq!(answer(dir.path(), "SELECT count(*) AS n FROM t", &[]), "n\n639\n");
    let passed = query(dir.path(), "SELECT sum(x) AS s FROM t", &["--on-error", "skip"]);
    assert_eq!((passed.stdout.as_str(), passed.code()), ("s\n937\n", Some(0)), "{}", passed.stderr);
    assert_eq!(passed.stderr.matches("1 rows left out").count(), 1, "{}", passed.stderr);
}

#[test]
fn keys_of_json() {
    let usual = "{\"id\": {i}, \"x\": 1}\n{\"x\": 2, \"id\": {i}}\n";
    let sum = "SELECT sum(x) AS s FROM t";
    let dir = files("jsonl", usual, "{\"id\": 1, \"x\": null}\n{\"id\": 2}\n\n{\"id\": 2, \"x\": 1.5}\n");
    assert_eq!(answer(dir.path(), sum, &[]), "s\n898.5\n");
    let dir = files("jsonl", usual, "[{\"id\": 1, \"x\": 5},\n {\"id\": 2}]\n");
    assert_eq!(answer(dir.path(), sum, &[]), "s\n902\n");
    let dir = files("jsonl", usual, "{\"id\": 1, \"x\": {\"a\": 1}}\n");
    fails(dir.path(), sum, &["sum", "VARCHAR"]);
    let longest = "SELECT max(length(x)) AS s FROM t";
    assert_eq!(answer(dir.path(), longest, &[]), "s\n8\n");
    let dir = files("jsonl", usual, "{\"id\": 1, \"x\": 1, \"extra\": 7}\n");
    assert_eq!(answer(dir.path(), "SELECT sum(extra) AS e FROM t", &[]), "e\n7\n");
    assert_eq!(answer(dir.path(), sum, &[]), "s\n898\n");
    let dir = files("jsonl", usual, "{\"id\": 1, \"x\": 1}\n{\"id\": 2, \n");
    fails(dir.path(), sum, &["part-237.jsonl, row 2", "not JSON"]);
}

#[test]
fn tables_beside_one_another() {
    let dir = csv("id,x,day\n237,0.5,2026-01-01\n");
    let sql = "SELECT count(*) AS n, sum(a.x) AS s FROM t a JOIN (SELECT id FROM t GROUP BY id) b ON a.id = b.id \
               WHERE a.x < (SELECT avg(x) FROM t)";
    assert_eq!(answer(dir.path(), sql, &[]), "n,s\n300,299.5\n");
    let sql = "SELECT max(x) AS m FROM t UNION ALL SELECT sum(x) FROM t ORDER BY m";
    assert_eq!(answer(dir.path(), sql, &[]), "m\n2.0\n897.5\n");
}

#[test]
fn compressed_files() {
    let dir = csv("id,x,day\n237,0.25,2026-01-01\n");
    let packed = Command::new("gzip").arg("-r").arg(dir.path()).status();
    assert!(packed.expect("gzip is there").success());
    assert_eq!(answer(dir.path(), "SELECT sum(x) AS s FROM t", &[]), "s\n897.25\n");
}

#[test]
fn a_first_record_that_is_too_long() {
    let long = format!("{{\"x\": 7, \"s\": \"{}\"}}\n{{\"x\": 5}}\n", "y".repeat(3_000_000));
    let dir = files("jsonl", "{\"x\": 1}\n", &long);
    let packed = Command::new("gzip").arg("-r").arg(dir.path()).status();
    assert!(packed.expect("gzip is there").success());
    let query = |flags: &[&str]| query(dir.path(), "SELECT sum(x) AS s FROM t", flags);
    let failed = query(&["--max-record", "4KiB"]);
    assert_eq!(failed.code(), Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("part-237.jsonl.gz, row 1"), "{}", failed.stderr);
    let passed = query(&["--max-record", "4KiB", "--on-error", "skip"]);
    assert_eq!((passed.stdout.as_str(), passed.code()), ("s\n304\n", Some(0)), "{}", passed.stderr);
    assert_eq!(passed.stderr.matches("1 rows left out").count(), 1, "{}", passed.stderr);
}
