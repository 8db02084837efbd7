//! Statements over the files of a directory, asked of palais and of DuckDB. `DIR` in a statement is the directory.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::process::{Finished, palais, run};

/// A statement in which the files lie in a directory.
pub fn within(dir: &TempDir, sql: &str) -> String {
    sql.replace("DIR", &dir.path().display().to_string())
}

/// What palais prints as csv.
pub fn ask(dir: &TempDir, flags: &[&str], sql: &str) -> Finished {
    let sql = within(dir, sql);
    palais([&["query", &sql, "--format", "csv"], flags].concat())
}

/// Its rows, without the names of the columns, and what it says besides.
pub fn answer(dir: &TempDir, flags: &[&str], sql: &str) -> (String, String) {
    let done = ask(dir, flags, sql);
    assert_eq!(done.code(), Some(0), "{sql}: {}{}", done.stderr, done.ending());
    (done.stdout.split_once('\n').map(|(_, rows)| rows.to_string()).unwrap_or_default(), done.stderr)
}

/// Its rows alone.
pub fn rows(dir: &TempDir, flags: &[&str], sql: &str) -> String {
    answer(dir, flags, sql).0
}

/// Checks that it is an error of the statement or of its flags, and that the message has all of these.
pub fn fails(dir: &TempDir, flags: &[&str], sql: &str, parts: &[&str]) {
    let done = ask(dir, flags, sql);
    assert!(matches!(done.code(), Some(1 | 2)), "{sql}: {}{}", done.stdout, done.ending());
    for part in parts {
        assert!(done.stderr.contains(part), "{sql}: '{part}' is not in {}", done.stderr);
    }
}

/// The rows that DuckDB gives for each of some statements.
pub fn duckdb(dir: &TempDir, statements: &[&str]) -> Vec<String> {
    let python = Path::new(".venv/bin/python");
    let python = if python.exists() { python } else { Path::new("python3") };
    let mut command = Command::new(python);
    command.arg("tests/oracle/ask.py").args(statements.iter().map(|sql| within(dir, sql)));
    let done = run(&mut command);
    assert_eq!(done.code(), Some(0), "{}{}", done.stderr, done.ending());
    let answers: Vec<String> = done.stdout.split_terminator("\u{1e}\n").map(String::from).collect();
    assert_eq!(answers.len(), statements.len(), "an answer for each statement");
    answers
}

/// Checks that DuckDB gives the same rows for each of some statements.
pub fn agree(dir: &TempDir, statements: &[&str]) {
    for (sql, expected) in statements.iter().zip(duckdb(dir, statements)) {
        assert_eq!(rows(dir, &[], sql), expected, "{sql}");
    }
}
