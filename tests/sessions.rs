//! Many sessions at once in one process: each statement has its answer, and one that is cancelled, takes too much memory or
//! panics ends alone, with its own error and with nothing left.

use std::alloc::System;
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use chance::Chance;
use engine::context::memory::Counting;
use engine::context::stack::Deep;
use formats::store::atomic::temporary_directory;
use in_session::{check, with_tables};
use panicking::sabotage;
use queries::Plan;
use session::{Cancel, Error, Result, Session, Settings};
use statements::{Statement, statements, table_arguments};

#[path = "support/chance.rs"]
mod chance;
#[path = "support/in_session.rs"]
mod in_session;
#[path = "../engine/tests/support/panicking.rs"]
mod panicking;
#[path = "support/statements.rs"]
mod statements;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

/// A query that would run for days.
const ENDLESS: &str =
    "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range < 0";

/// A query whose join keeps more than [`LITTLE`].
const LARGE: &str = "SELECT count(*) FROM range(300000) a JOIN range(300000) b ON a.range = b.range";
const LITTLE: u64 = 4 << 20;

/// A table that is put on disk at a limit of [`LITTLE`], and goes with its session.
const TABLE: &str = "CREATE OR REPLACE TEMP TABLE numbers AS SELECT range AS n FROM range(300000)";

/// A query with an operator of each of these kinds, whose expressions are made to panic.
const SABOTAGED: &str = "SELECT k + 0 AS k, n FROM (
        SELECT range % 10 AS k, count(*) AS n FROM range(1000) WHERE (range * 3) % 7 < 9 GROUP BY 1
    ) ORDER BY n, k";
const KINDS: [&str; 4] = ["project", "filter", "aggregate", "sort"];

/// A query that another thread cancels before it runs or while it does.
fn cancelled(session: &Session, after: Duration) {
    let cancel = Cancel::default();
    let asking = cancel.clone();
    let asker = thread::spawn(move || {
        thread::sleep(after);
        asking.cancel();
    });
    let got = session.execute_until(ENDLESS, &cancel).and_then(Iterator::collect::<Result<Vec<RecordBatch>>>);
    assert!(matches!(got, Err(Error::Query(engine::Error::Cancelled))), "{got:?}");
    asker.join().expect("it panics nowhere");
}

fn too_large(session: &Session) {
    let got = session.execute(LARGE).and_then(Iterator::collect::<Result<Vec<RecordBatch>>>);
    let said = got.expect_err("it keeps too much").to_string();
    assert!(said.contains("join") && said.contains("took the query to"), "{said}");
    session
        .execute(TABLE)
        .expect("there is room on disk")
        .for_each(|batch| drop(batch.expect("it is written")));
    assert!(!of_this_process().is_empty(), "the table is not on disk");
}

fn panics(session: &Session, kind: &str) {
    let query = session::parse(SABOTAGED).expect("it is right").query().expect("it is a query");
    let cancel = Cancel::default();
    let mut planned = session.plan(&query, &session.planning(), &cancel).expect("it can be planned");
    let mut root = planned.plan.root.clone();
    assert!(sabotage(&mut root, kind, 1), "{kind} is in the plan");
    let values = planned.plan.values.clone();
    let (schema, nodes) = (planned.plan.schema.clone(), planned.plan.nodes);
    planned.plan = Deep::new(Plan { stages: vec![], values, root, schema, nodes });
    let got = session.begin(&planned, &cancel).map(Iterator::collect::<engine::Result<Vec<RecordBatch>>>);
    let error = got.expect("it begins").expect_err("it panics");
    assert!(matches!(error, engine::Error::Panic { .. }), "{error}");
}

/// One session's statements.
fn run(number: usize, count: usize, all: &[Statement], tables: &[String]) {
    let workers = 1 + number % 3;
    let session = |memory_limit| Session::new(Settings { workers, memory_limit, ..Settings::default() });
    let (usual, small) = (with_tables(session(u64::MAX), tables), session(LITTLE));
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1));
    for round in 0..count {
        match round % 10 {
            3 => cancelled(&usual, Duration::from_millis(chance.below(30) as u64)),
            5 => too_large(&small),
            7 => panics(&usual, KINDS[chance.below(KINDS.len())]),
            _ => {}
        }
        let statement = &all[chance.below(all.len())];
        if let Err(what) = check(&usual, statement) {
            panic!("{}: {what}\n    {}", statement.place, statement.sql);
        }
    }
}

fn at_once(sessions: usize, count: usize, all: &[Statement], tables: &[String]) {
    thread::scope(|scope| {
        for number in 0..sessions {
            scope.spawn(move || {
                engine::context::memory::settle_at_end();
                run(number, count, all, tables);
            });
        }
    });
}

fn entries(directory: &str) -> usize {
    std::fs::read_dir(directory).expect("the system has it").count()
}

/// The files and directories of this process in the directory for temporary ones. Those that rows are spilled to have no
/// name, and are among the descriptors.
fn of_this_process() -> Vec<String> {
    let own = format!(".partial-{}", std::process::id());
    let entries = std::fs::read_dir(temporary_directory()).expect("there is such a directory");
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    names.filter(|name| name.ends_with(&own)).collect()
}

/// What a query had goes within a moment of its end.
fn wait_until(what: impl Fn() -> String, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", what());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn eight_sessions_at_once_do_not_harm_one_another() {
    // The usual hook keeps what it has looked up for a backtrace.
    std::panic::set_hook(Box::new(|info| {
        if !formats::panics::is_caught(info) {
            eprintln!("{info}");
        }
    }));
    // A session that has all tables shows all.
    let is_of_its_tables = |s: &Statement| !s.sql.to_lowercase().contains("show tables");
    let all: Vec<Statement> = statements().into_iter().filter(is_of_its_tables).collect();
    let text: Vec<&str> = all.iter().map(|s| s.sql.as_str()).collect();
    let tables = table_arguments(&text.join("\n"));
    // What is made once for the process.
    at_once(2, 50, &all, &tables);
    let before = [entries("/proc/self/task"), entries("/proc/self/fd")];
    let used = engine::context::memory::used();
    at_once(8, 200, &all, &tables);
    wait_until(|| "threads are left".into(), || entries("/proc/self/task") <= before[0]);
    wait_until(|| "files are left".into(), || entries("/proc/self/fd") <= before[1]);
    wait_until(|| format!("{:?} are left", of_this_process()), || of_this_process().is_empty());
    let left = || engine::context::memory::used().saturating_sub(used);
    wait_until(|| format!("{} bytes of memory are left", left()), || left() < 1 << 20);
}
