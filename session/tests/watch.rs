//! A query that is watched through a session.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use session::{Cancel, Error, Session, Settings, Watch};

fn session() -> Session {
    Session::new(Settings { workers: 2, ..Settings::default() })
}

/// Adds the changes to rows of two integers, each with how often it is there.
fn take(rows: &mut BTreeMap<(i64, i64), i64>, changes: &[RecordBatch]) {
    for change in changes {
        assert_eq!(change.schema().fields().iter().last().unwrap().name(), session::watch::DIFF);
        let column = |i: usize| change.column(i).as_primitive::<Int64Type>().values().to_vec();
        for (row, diff) in column(0).into_iter().zip(column(1)).zip(column(2)) {
            *rows.entry(row).or_default() += diff;
        }
    }
    rows.retain(|_, count| *count != 0);
}

fn ends(watch: &mut Watch<'_>) -> String {
    watch.poll().expect_err("the watch has ended").to_string()
}

fn add(directory: &Path, name: &str, text: &str) {
    fs::write(directory.join(name), text).expect("it can be written");
}

#[test]
fn each_poll_takes_in_what_was_added() {
    let home = tempfile::tempdir().unwrap();
    let session = session();
    session.register("t", &home.path().display().to_string());
    add(home.path(), "1.csv", "k,v\n1,10\n2,20\n");
    session.execute("CREATE VIEW large AS SELECT * FROM t WHERE v >= 10").unwrap();
    let mut watch = session.watch("SELECT k, sum(v) AS s FROM large GROUP BY k").unwrap();
    let mut rows = BTreeMap::new();
    take(&mut rows, &watch.poll().unwrap().expect("the first result is a change"));
    assert_eq!(rows, BTreeMap::from([((1, 10), 1), ((2, 20), 1)]));
    assert!(watch.poll().unwrap().is_none());
    add(home.path(), "2.csv", "k,v\n2,22\n3,3\n4,40\n");
    take(&mut rows, &watch.poll().unwrap().expect("a file was added"));
    assert_eq!(rows, BTreeMap::from([((1, 10), 1), ((2, 42), 1), ((4, 40), 1)]));
    add(home.path(), "1.csv", "k,v\n1,11\n");
    assert!(ends(&mut watch).contains("1.csv: the file has changed"));
    assert!(ends(&mut watch).contains("the watch has ended"));
}

#[test]
fn a_file_that_widens_a_column_is_named() {
    let home = tempfile::tempdir().unwrap();
    let session = session();
    session.register("t", &home.path().display().to_string());
    add(home.path(), "1.csv", "k,v\n1,10\n");
    let mut watch = session.watch("SELECT k, v, filename LIKE '%1.csv' AS f FROM t").unwrap();
    assert_eq!(watch.poll().unwrap().expect("the first result is a change")[0].num_rows(), 1);
    add(home.path(), "2.csv", "k,v\n2,2\n");
    let change = watch.poll().unwrap().expect("a file was added");
    assert!(!change[0].column(2).as_boolean().value(0), "the path is that of the file that was added");
    add(home.path(), "3.csv", "k,v\n3,0.5\n");
    let said = ends(&mut watch);
    assert!(
        said.contains("3.csv: ") && said.contains("column 'v' was BIGINT, and is DOUBLE with it"),
        "{said}"
    );
}

#[test]
fn a_watch_ends_at_the_memory_limit_of_its_session() {
    let home = tempfile::tempdir().unwrap();
    let lines = |from: usize| (from..from + 200_000).map(|n| format!("{n},{n}\n")).collect::<String>();
    add(home.path(), "1.csv", "k,v\n1,1\n");
    let session = Session::new(Settings { workers: 2, memory_limit: 2 << 20, ..Settings::default() });
    session.register("t", &home.path().display().to_string());
    for sql in ["SELECT k, sum(v) AS s FROM t GROUP BY k", "SELECT k, v FROM t WHERE v > 0"] {
        let mut watch = session.watch(sql).unwrap();
        watch.poll().unwrap();
        let name = format!("{}.csv", sql.len());
        add(home.path(), &name, &format!("k,v\n{}", lines(2)));
        let error = watch.poll().expect_err("the rows pass the limit");
        assert!(matches!(error, Error::Query(engine::Error::Memory { .. })), "{error}");
        assert!(error.to_string().contains("watch"), "{error}");
        fs::remove_file(home.path().join(name)).unwrap();
    }
    // Few groups of as many rows have room.
    let mut watch = session.watch("SELECT k % 10 AS k, sum(v) AS s FROM t GROUP BY k % 10").unwrap();
    watch.poll().unwrap();
    add(home.path(), "3.csv", &format!("k,v\n{}", lines(2)));
    assert!(watch.poll().unwrap().is_some());
}

#[test]
fn the_name_of_the_count_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let session = session();
    session.register("t", &home.path().display().to_string());
    add(home.path(), "1.csv", "k,v\n1,10\n");
    let refused = session.watch("SELECT k AS __diff, sum(v) AS s FROM t GROUP BY k").err();
    let refused = refused.expect("the name is taken").to_string();
    assert!(refused.contains("__diff"), "{refused}");
}

#[test]
fn another_thread_cancels_a_watch() {
    let home = tempfile::tempdir().unwrap();
    let session = session();
    session.register("t", &home.path().display().to_string());
    add(home.path(), "1.csv", "k,v\n1,10\n");
    let is_cancelled = |error: Error| matches!(error, Error::Query(engine::Error::Cancelled));
    let sum = "SELECT k, sum(v) AS s FROM t GROUP BY k";
    let cancel = Cancel::default();
    let mut watch = session.watch_until(sum, &cancel).unwrap();
    assert_eq!(watch.poll().unwrap().expect("the first result is a change").len(), 1);
    add(home.path(), "2.csv", "k,v\n2,20\n");
    let asking = cancel.clone();
    std::thread::spawn(move || asking.cancel()).join().unwrap();
    assert!(is_cancelled(watch.poll().unwrap_err()));
    assert!(ends(&mut watch).contains("the watch has ended"));
    assert!(session.watch_until(sum, &cancel).err().is_some_and(is_cancelled));
    // While it reads: with a round that is over before, the next one is cancelled.
    let lines: String = (0..500_000).map(|n| format!("{},{n}\n", n % 1000)).collect();
    add(home.path(), "3.csv", &format!("k,v\n{lines}"));
    let cancel = Cancel::default();
    let mut watch = session.watch_until(sum, &cancel).unwrap();
    let asking = cancel.clone();
    let asker = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(5));
        asking.cancel();
    });
    let first = watch.poll();
    asker.join().unwrap();
    let error = first.and_then(|_| watch.poll()).unwrap_err();
    assert!(is_cancelled(error));
    // Others are not.
    assert!(session.watch(sum).unwrap().poll().unwrap().is_some());
}

#[test]
fn what_can_not_be_watched_is_told() {
    let home = tempfile::tempdir().unwrap();
    let session = session();
    session.register("t", &home.path().display().to_string());
    add(home.path(), "1.csv", "k,v\n1,10\n");
    for (sql, message) in [
        ("SHOW TABLES", "watch takes a query"),
        ("SELECT 1", "this one reads 0"),
        ("SELECT * FROM t, t AS u, '1.csv'", "this one reads 2"),
        ("SELECT * FROM range(5)", "watch takes a query over"),
        ("PIVOT t ON k USING sum(v)", "ON column IN ('a', 'b')"),
    ] {
        let error = session.watch(sql).err().unwrap_or_else(|| panic!("{sql} can be watched"));
        assert!(matches!(error, Error::Settings(_)) && error.to_string().contains(message), "{sql}: {error}");
    }
    let mut watch = session.watch("SELECT count(*) AS n FROM t").unwrap();
    watch.poll().unwrap();
    add(home.path(), "2.csv", "k,w,x\n1,10,3\n");
    assert!(ends(&mut watch).contains("columns differ"));
    fs::remove_file(home.path().join("2.csv")).unwrap();
    let mut watch = session.watch("SELECT count(*) AS n FROM t").unwrap();
    watch.poll().unwrap();
    add(home.path(), "2.csv", "k,v\n2,20\n");
    fs::remove_file(home.path().join("1.csv")).unwrap();
    assert!(ends(&mut watch).contains("1.csv: the file was removed"));
}
