//! Planning is deterministic: every statement of `tests/slt`, planned in fresh processes, has one fingerprint.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use process::palais;
use statements::{Expected, Statement, statements, table_arguments};

#[path = "support/process.rs"]
mod process;
#[path = "support/statements.rs"]
#[allow(dead_code, reason = "other tests compare what statements give")]
mod statements;

/// In how many processes all statements are planned.
const PROCESSES: usize = 2;

#[test]
fn one_fingerprint_a_statement() {
    let statements: Vec<Statement> =
        statements().into_iter().filter(|s| matches!(s.expected, Expected::Rows { .. })).collect();
    let texts: Vec<&str> = statements.iter().map(|s| s.sql.as_str()).collect();
    let all = texts.join("\n;\n");
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    fs::write(&file, &all).expect("a temporary file can be written");
    let file = file.path().to_string_lossy().into_owned();
    let next = AtomicUsize::new(0);
    let runs: Mutex<Vec<Vec<String>>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, |n| n.get()) {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < PROCESSES {
                    let run = fingerprints(&file, &all);
                    runs.lock().expect("no test thread panics").push(run);
                }
            });
        }
    });
    let runs = runs.into_inner().expect("no test thread panics");
    for run in &runs {
        assert_eq!(run.len(), statements.len(), "a fingerprint for each statement");
        for ((statement, hex), first) in statements.iter().zip(run).zip(&runs[0]) {
            assert_eq!(
                hex, first,
                "{}: two processes plan differently\n    {}",
                statement.place, statement.sql
            );
        }
    }
    let different = runs[0].iter().collect::<BTreeSet<_>>().len();
    assert!(
        different * 4 > statements.len() * 3,
        "different plans share fingerprints: {different} of {}",
        statements.len()
    );
}

/// The fingerprints of the statements in a file, from a fresh process.
fn fingerprints(file: &str, statements: &str) -> Vec<String> {
    let mut arguments = vec!["query", "--plan-fingerprint", "--file", file];
    let tables = table_arguments(statements);
    arguments.extend(tables.iter().map(String::as_str));
    let done = palais(&arguments);
    assert_eq!(done.code(), Some(0), "palais {}: {}", done.ending(), done.stderr.trim());
    let lines: Vec<String> = done.stdout.lines().map(str::to_owned).collect();
    for hex in &lines {
        assert!(hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()), "not a fingerprint: {hex:?}");
    }
    lines
}
