//! Planning is deterministic: every statement of `tests/slt`, planned in fresh processes, has one fingerprint.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use process::palais;
use sqllogictest::QueryExpect;
use statements::{Statement, statements, table_arguments};

#[path = "support/process.rs"]
mod process;
#[path = "support/statements.rs"]
mod statements;

/// In how many processes each statement is planned.
const PROCESSES: usize = 50;

#[test]
fn one_fingerprint_a_statement() {
    let statements: Vec<Statement> =
        statements().into_iter().filter(|s| matches!(s.expected, QueryExpect::Results { .. })).collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let fingerprints = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, |n| n.get()) {
            scope.spawn(|| {
                while let Some(statement) = statements.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match fingerprint(statement) {
                        Ok(hex) => drop(fingerprints.lock().expect("no test thread panics").insert(hex)),
                        Err(what) => failures
                            .lock()
                            .expect("no test thread panics")
                            .push(format!("{}: {what}\n    {}", statement.place, statement.sql)),
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no test thread panics");
    assert!(failures.is_empty(), "{} statements:\n{}", failures.len(), failures.join("\n"));
    let different = fingerprints.into_inner().expect("no test thread panics").len();
    assert!(
        different * 4 > statements.len() * 3,
        "different plans share fingerprints: {different} of {}",
        statements.len()
    );
}

/// The fingerprint of a statement, the same in all processes.
fn fingerprint(statement: &Statement) -> Result<String, String> {
    let mut arguments = vec!["query", "--plan-fingerprint", &statement.sql];
    let tables = table_arguments(&statement.sql);
    arguments.extend(tables.iter().map(String::as_str));
    let mut first: Option<String> = None;
    for process in 0..PROCESSES {
        let done = palais(&arguments);
        let hex = done.stdout.trim().to_owned();
        if done.code() != Some(0) {
            return Err(format!("palais {}: {}", done.ending(), done.stderr.trim()));
        }
        if hex.len() < 16 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(format!("not a fingerprint: {hex:?}"));
        }
        match &first {
            Some(first) if *first != hex => {
                return Err(format!("process {process} has {hex}, the first {first}"));
            }
            _ => first = Some(hex),
        }
    }
    first.ok_or_else(|| "no process ran".into())
}
