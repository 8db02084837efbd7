//! Every statement of `tests/slt`: with one worker, and in a session of this process with three workers. One worker is half
//! the real binary's and half a session's. Of those with three workers every second one is run so that each join spreads
//! its build side over the workers, which otherwise only large tables make it do. Of sixteen statements five run in two
//! processes, two in three, and one in five: which ones changes with what is added. Processes run one statement after
//! another there, as those of a session do. Starting them for each costs more than twice as much, so that
//! `palais cluster run` gets only some. What `tests/slt/scripts` has are several statements each, which one process runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use cells::csv_rows;
use cluster::Processes;
use cluster::coordinator::{Host, Options, Traffic};
use in_session::expected::{cell, same_cell, same_rows};
use in_session::with_tables;
use process::palais;
use session::{Session, Settings};
use statements::{Expected, Kind, Statement, statements, statements_in, table_arguments};

#[path = "support/cells.rs"]
mod cells;
#[path = "support/in_session.rs"]
mod in_session;
#[path = "support/process.rs"]
mod process;
#[path = "support/statements.rs"]
mod statements;

/// How long a process may say nothing.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn one_worker() {
    run_those(|number| number % 4 > 1, |statement| check(statement, &["query"], &["--workers", "1"]));
}

#[test]
fn one_worker_in_a_session() {
    let settings = Settings { workers: 1, ..Settings::default() };
    run_those(|number| number % 4 < 2, |statement| in_this_process(statement, settings.clone()));
}

#[test]
fn three_workers() {
    let settings = Settings { workers: 3, ..Settings::default() };
    run_those(|number| number % 2 == 0, |statement| in_this_process(statement, settings.clone()));
}

#[test]
fn three_workers_and_spread_build_sides() {
    let settings = Settings { workers: 3, broadcast_bytes: 0, ..Settings::default() };
    run_those(|number| number % 2 == 1, |statement| in_this_process(statement, settings.clone()));
}

fn in_this_process(statement: &Statement, settings: Settings) -> Result<(), String> {
    let session = Session::new(settings);
    in_session::check(&with_tables(session, &table_arguments(&statement.sql)), statement)
}

#[test]
fn two_processes_and_spread_build_sides() {
    run_in(2, false, |number| matches!(number % 16, 3 | 5 | 7 | 11 | 14));
}

#[test]
fn three_processes_and_spread_build_sides() {
    run_in(3, false, |number| matches!(number % 16, 0 | 10));
}

#[test]
fn five_processes_with_sockets_only() {
    run_in(5, true, |number| number % 16 == 9);
}

#[test]
fn some_by_cluster_run() {
    let spread = ["--local", "2", "--workers", "1", "--broadcast-limit", "0"];
    run_those(|number| number % 32 == 0, |statement| check(statement, &["cluster", "run"], &spread));
    let sockets = ["--local", "5", "--workers", "1", "--sockets-only"];
    run_those(|number| number % 64 == 1, |statement| check(statement, &["cluster", "run"], &sockets));
}

/// Runs the statements of some numbers in several processes. Where these read each other's memory, each join spreads its
/// build side.
fn run_in(processes: usize, sockets_only: bool, chosen: fn(usize) -> bool) {
    let idle = Mutex::new(Vec::new());
    let start = || {
        let hosts = Host::local(Path::new(env!("CARGO_BIN_EXE_palais")), processes);
        let traffic = Traffic { sockets_only, ..Traffic::default() };
        let version = env!("PALAIS_VERSION").into();
        let started = Processes::start(Options { version, hosts, traffic, patience: PATIENCE });
        Arc::new(started.expect("processes start").with_workers(1))
    };
    let settings = || match sockets_only {
        true => Settings::default(),
        false => Settings { broadcast_bytes: 0, ..Settings::default() },
    };
    run_those(chosen, |statement| in_processes(&idle, &start, settings(), statement));
}

/// Checks a statement in processes that are idle, or in new ones if there are none. A query that fails ends its
/// processes, and then the next statement gets others.
fn in_processes(
    idle: &Mutex<Vec<Arc<Processes>>>,
    start: &impl Fn() -> Arc<Processes>,
    settings: Settings,
    statement: &Statement,
) -> Result<(), String> {
    let over = cluster::Error::Over.to_string();
    loop {
        let used = idle.lock().expect("no test thread panics").pop();
        let is_used = used.is_some();
        let processes = used.unwrap_or_else(start);
        let mut session = Session::new(settings.clone());
        session.run_by(processes.clone());
        let checked = in_session::check(&with_tables(session, &table_arguments(&statement.sql)), statement);
        if is_used && checked.as_ref().is_err_and(|what| what.contains(&over)) {
            continue;
        }
        idle.lock().expect("no test thread panics").push(processes);
        return checked;
    }
}

#[test]
fn scripts_with_one_worker() {
    let check = |script: &Statement| check(script, &["query"], &["--workers", "1"]);
    run_all(&statements_in("tests/slt/scripts"), check);
}

#[test]
fn scripts_with_three_workers() {
    let settings = Settings { workers: 3, ..Settings::default() };
    let check = |script: &Statement| in_this_process(script, settings.clone());
    run_all(&statements_in("tests/slt/scripts"), check);
}

#[test]
fn time_zones_in_two_processes() {
    // What stands behind `SET TimeZone` in the scripts, in sessions of that zone.
    let (mut zones, mut statements) = (BTreeMap::new(), Vec::new());
    for mut script in statements_in("tests/slt/scripts") {
        let zoned = script.sql.strip_prefix("SET TimeZone = '").and_then(|rest| rest.split_once("';\n"));
        let Some((zone, sql)) = zoned.map(|(zone, sql)| (zone.to_string(), sql.to_string())) else {
            continue;
        };
        zones.insert(script.place.clone(), zone);
        script.sql = sql;
        statements.push(script);
    }
    let idle = Mutex::new(Vec::new());
    let start = || {
        let hosts = Host::local(Path::new(env!("CARGO_BIN_EXE_palais")), 2);
        let version = env!("PALAIS_VERSION").into();
        let options = Options { version, hosts, traffic: Traffic::default(), patience: PATIENCE };
        Arc::new(Processes::start(options).expect("processes start").with_workers(2))
    };
    run_all(&statements, |statement| {
        let time_zone = zones[&statement.place].clone();
        let settings = Settings { time_zone, broadcast_bytes: 0, ..Settings::default() };
        in_processes(&idle, &start, settings, statement)
    });
}

/// Runs the statements of some numbers.
fn run_those(chosen: fn(usize) -> bool, check: impl Fn(&Statement) -> Result<(), String> + Sync) {
    let numbered = statements().into_iter().enumerate();
    let statements: Vec<Statement> = numbered.filter(|(number, _)| chosen(*number)).map(|(_, s)| s).collect();
    run_all(&statements, check);
}

/// Runs statements, a few at a time, and reports all failures at once.
fn run_all(statements: &[Statement], check: impl Fn(&Statement) -> Result<(), String> + Sync) {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, |n| n.get()) {
            scope.spawn(|| {
                while let Some(statement) = statements.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(what) = check(statement) {
                        let report = format!("{}: {what}\n    {}", statement.place, statement.sql);
                        failures.lock().expect("no test thread panics").push(report);
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no test thread panics");
    failures.sort();
    let (failed, all) = (failures.len(), statements.len());
    assert!(failures.is_empty(), "{failed} of {all} statements fail:\n{}", failures.join("\n"));
}

/// Runs one statement by a command and compares.
fn check(statement: &Statement, command: &[&str], flags: &[&str]) -> Result<(), String> {
    let mut arguments = [command, &[&statement.sql, "--format", "csv"]].concat();
    arguments.extend(flags);
    let tables = table_arguments(&statement.sql);
    arguments.extend(tables.iter().map(String::as_str));
    let done = palais(arguments);
    match (&statement.expected, done.code()) {
        (Expected::Rows { kinds, sorted, lines }, Some(0)) => {
            let mut rows = csv_rows(&done.stdout)?.into_iter();
            let header = rows.next().ok_or("no header in the output")?;
            if header.len() != kinds.len() {
                return Err(format!("{} columns, not {}", header.len(), kinds.len()));
            }
            let mut rows: Vec<Vec<String>> = rows.map(|row| row.into_iter().map(cell).collect()).collect();
            if *sorted {
                rows.sort();
            }
            same_rows(kinds, &rows, lines)
        }
        (Expected::Error(expected), Some(1)) => match expected.is_match(&done.stderr) {
            true => Ok(()),
            false => Err(format!("the message is not as expected: {}", done.stderr.trim())),
        },
        (Expected::Error(_), Some(0)) => Err("an error was expected".into()),
        _ => Err(format!("palais {}: {}", done.ending(), done.stderr.trim())),
    }
}

#[test]
fn values_are_told_apart() {
    let rows = csv_rows("a,b\n,\"\"\n\n\"x,\"\"y\"\"\n\",1\n").expect("this is csv");
    let cells: Vec<Vec<String>> = rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
    assert_eq!(cells, [vec!["a", "b"], vec!["NULL", "(empty)"], vec!["NULL"], vec!["x,\"y\"\\n", "1"]]);
    assert!(csv_rows("\"open").is_err() && csv_rows("\"a\"b\n").is_err());
    assert!(same_cell(Kind::Float, "1", "1.0000000001") && !same_cell(Kind::Float, "1", "1.00000001"));
    assert!(same_cell(Kind::Float, "inf", "inf") && !same_cell(Kind::Float, "inf", "1e308"));
    assert!(!same_cell(Kind::Float, "NULL", "NaN") && !same_cell(Kind::Text, "1.0", "1"));
    assert!(same_cell(Kind::Decimal, "1.50", "1.5") && !same_cell(Kind::Decimal, "1.51", "1.5"));
    assert!(same_cell(Kind::Timestamp, "2024-01-02T03:04:05.500", "2024-01-02 03:04:05.5"));
}
