//! A panic of an operator ends the statement with an internal error, and leaves nothing.
//!
//! No other program can be told to panic. If `PALAIS_TEST_PANIC` names an operator, this one is palais, and the operator
//! panics. Else it runs the tests, which run it as palais.

use std::fs;
use std::process::{Command, ExitCode};

use names::names;
use process::{Finished, run};

#[path = "support/names.rs"]
mod names;
#[path = "support/process.rs"]
#[allow(dead_code, reason = "here the program is run with a variable")]
mod process;

/// Tells the program which operator panics.
const SWITCH: &str = "PALAIS_TEST_PANIC";

/// The tests by their names.
const TESTS: [(&str, fn()); 4] = [
    ("a_query_ends_with_an_internal_error", a_query_ends_with_an_internal_error),
    ("a_watch_ends_with_an_internal_error", a_watch_ends_with_an_internal_error),
    ("no_files_are_left", no_files_are_left),
    ("palais_itself_has_no_switch", palais_itself_has_no_switch),
];

/// The tests are run one after another, those alone whose name contains an argument if there are arguments.
fn main() -> ExitCode {
    if let Ok(operator) = std::env::var(SWITCH) {
        engine::dataflow::operator::panic_in(operator);
        return palais::main();
    }
    let (mut words, mut wanted) = (std::env::args().skip(1), Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            // Options of other test programs, with a value behind.
            "--test-threads" | "--skip" | "--format" | "--color" => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => wanted.push(word),
        }
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    for (name, test) in TESTS.iter().filter(|(name, _)| is_wanted(name)) {
        // One that fails ends the program.
        test();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

/// Runs this program as palais.
fn with_panic(operator: &str, arguments: &[&str]) -> Finished {
    let program = std::env::current_exe().expect("the system tells it");
    run(Command::new(program).args(arguments).env(SWITCH, operator))
}

fn is_internal_error(done: &Finished, what: &str) {
    assert_eq!(done.code(), Some(70), "{what}: {} {}", done.ending(), done.stderr);
    assert!(done.stderr.contains("internal error: a test asks for this"), "{what}: {}", done.stderr);
}

fn a_query_ends_with_an_internal_error() {
    let sql = "SELECT range % 7, count(*) FROM range(100000000) GROUP BY 1";
    for workers in ["1", "4"] {
        for operator in ["scan", "aggregate", "receive", "output"] {
            // One worker receives nothing.
            if (workers, operator) != ("1", "receive") {
                let done = with_panic(operator, &["query", sql, "--workers", workers]);
                is_internal_error(&done, &format!("{operator} of {workers}"));
            }
        }
    }
}

fn a_watch_ends_with_an_internal_error() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = home.path().join("x.csv");
    fs::write(&path, "k,v\n1,2\n3,4\n5,6\n7,8\n").expect("it can be written");
    let sql = format!("SELECT k, sum(v) FROM '{}' GROUP BY k", path.display());
    for workers in ["1", "3"] {
        let done = with_panic("watch", &["watch", &sql, "--until-idle", "--workers", workers]);
        is_internal_error(&done, workers);
    }
}

fn no_files_are_left() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let target = home.path().join("d").display().to_string();
    let copy =
        format!("COPY (SELECT range % 7 AS k, count(*) AS n FROM range(50000000) GROUP BY 1) TO '{target}");
    for workers in ["1", "4"] {
        for (operator, end) in [("scan", ".csv'"), ("aggregate", "/' (FORMAT csv)"), ("output", ".parquet'")]
        {
            let done = with_panic(operator, &["query", &format!("{copy}{end}"), "--workers", workers]);
            is_internal_error(&done, operator);
            assert_eq!(names(home.path()), [""; 0], "{operator}");
        }
    }
}

fn palais_itself_has_no_switch() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
    let done = run(command.args(["query", "SELECT count(*) AS n FROM range(5)"]).env(SWITCH, "scan"));
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "n\n5\n"), "{}", done.stderr);
}
