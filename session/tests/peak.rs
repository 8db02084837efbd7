//! The peak of memory of a statement is that of the time in which it ran.

use std::alloc::System;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use engine::context::memory::Counting;
use session::{Results, Session, Settings};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

const LARGE: &str = "SELECT count(*) FROM (SELECT range, count(*) FROM range(1000000) GROUP BY 1)";

fn run(session: &Session, sql: &str) -> Results {
    let mut results = session.execute(sql).expect("it is right");
    results.by_ref().for_each(|batch| drop(batch.expect("it can be run")));
    results
}

fn peak(results: &Results) -> u64 {
    results.statistics().expect("it ran").peak_memory_bytes
}

/// The last line of EXPLAIN ANALYZE.
fn told(session: &Session, sql: &str) -> String {
    let rows = session.execute(sql).expect("it is right").next().expect("there are lines");
    let rows = rows.expect("it can be run");
    let lines = rows.column(0).as_string::<i32>();
    lines.value(lines.len() - 1).to_string()
}

/// One test: the memory of others in this process would count too.
#[test]
fn a_statement_does_not_inherit_the_peak_of_another_one() {
    let session = Session::new(Settings { workers: 1, ..Settings::default() });
    let large = run(&session, LARGE);
    let most = peak(&large);
    assert!(most > 8 << 20, "a million groups take {most} bytes");
    let small = run(&session, "SELECT 1");
    let little = peak(&small);
    assert!(little < most / 4, "{little} bytes beside {most}");
    assert!(peak(&run(&session, &format!("{LARGE}; SELECT 1"))) < most / 4);
    let line = told(&session, &format!("{LARGE}; EXPLAIN ANALYZE SELECT 1"));
    let (_, at_most) = line.rsplit_once("memory at most ").expect("it is the last line");
    let mebibytes = at_most.strip_suffix(" MiB").map_or(Ok(0.0), str::parse::<f64>).expect("it is a number");
    assert!(mebibytes < 4.0, "{line}");
    // Stages of one statement count together.
    let staged = run(&session, &format!("SELECT 1 WHERE ({LARGE}) > 0"));
    assert!(peak(&staged) > 8 << 20, "{} bytes", peak(&staged));
    // What runs later does not count for what has ended.
    run(&session, &format!("CREATE TEMP TABLE t AS SELECT range AS n FROM range(4000000); {LARGE}"));
    assert_eq!((peak(&large), peak(&small)), (most, little));
}
