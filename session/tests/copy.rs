//! `COPY` through a session: every form, what is left when it fails, and what a prepared statement tells of itself.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use session::{Cancel, Error, Result, ScalarValue, Session, Settings, Values};

const ROWS: &str =
    "SELECT range AS n, 'row ' || range::VARCHAR AS name FROM range(20000) WHERE range % 3 < 2";

fn session(workers: usize) -> Session {
    Session::new(Settings { workers, ..Settings::default() })
}

/// The 64-bit integers of a column of a statement's rows.
fn integers(session: &Session, sql: &str, column: usize) -> Vec<i64> {
    let batches: Vec<RecordBatch> = session.execute(sql).unwrap().collect::<Result<_>>().unwrap();
    let of = |batch: &RecordBatch| batch.column(column).as_primitive::<Int64Type>().values().to_vec();
    batches.iter().flat_map(of).collect()
}

/// The names in a directory, those that begin with a dot too.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn failure(session: &Session, sql: &str) -> Error {
    session.execute(sql).err().unwrap_or_else(|| panic!("{sql} is no error"))
}

#[test]
fn rows_are_written_in_every_form_and_counted() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    session.execute(&format!("CREATE TEMP TABLE source AS {ROWS}")).unwrap();
    for target in ["a.csv", "a.tsv.gz", "a.jsonl", "a.parquet", "a.buren", "a.msgpack", "parts/"] {
        let path = home.path().join(target).display().to_string();
        let mut results = session.execute(&format!("COPY source TO '{path}'{}", option(target))).unwrap();
        let counts: Vec<RecordBatch> = results.by_ref().collect::<Result<_>>().unwrap();
        assert_eq!(counts[0].column(0).as_primitive::<Int64Type>().value(0), 13_334, "{target}");
        assert_eq!(results.statistics().unwrap().rows, 13_334, "{target}");
        let here = path.trim_end_matches('/');
        let differ = format!("SELECT count(*) FROM (SELECT * FROM source EXCEPT ALL SELECT * FROM '{here}')");
        assert_eq!(integers(&session, &differ, 0), [0], "{target}");
        assert_eq!(integers(&session, &format!("SELECT count(*) FROM '{here}'"), 0), [13_334], "{target}");
    }
    let few = |target: &str| {
        let path = home.path().join(target);
        let sql = "COPY (SELECT range AS n FROM range(2) ORDER BY n) TO";
        session.execute(&format!("{sql} '{}'", path.display())).unwrap();
        fs::read_to_string(path).unwrap()
    };
    assert_eq!(few("a.json"), "[\n{\"n\":0},\n{\"n\":1}\n]\n");
    assert_eq!(few("a.md"), "| n |\n| ---: |\n| 0 |\n| 1 |\n");
    let table = home.path().join("a.txt").display().to_string();
    let shortened = session.execute(&format!("COPY source TO '{table}' (FORMAT table)")).unwrap();
    assert!(shortened.warnings()[0].contains("10,000 of 13,334 rows"), "{:?}", shortened.warnings());
}

/// The form, where no suffix tells it.
fn option(target: &str) -> &'static str {
    if target.ends_with('/') { " (FORMAT parquet)" } else { "" }
}

#[test]
fn what_fails_or_is_cancelled_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let session = session(3);
    let to = |name: &str| home.path().join(name).display().to_string();
    for target in ["a.csv", "a.json", "parts/"] {
        let rows =
            "SELECT CASE WHEN range < 900000 THEN range ELSE (range || 'x')::BIGINT END FROM range(1000000)";
        let error = failure(&session, &format!("COPY ({rows}) TO '{}'{}", to(target), option(target)));
        assert!(matches!(error, Error::Query(_)), "{error}");
        let cancel = Cancel::default();
        cancel.cancel();
        let endless =
            format!("COPY (SELECT * FROM range(1000000000000)) TO '{}'{}", to(target), option(target));
        let ended = session.execute_until(&endless, &cancel).err().expect("somebody has asked for the end");
        assert!(matches!(ended, Error::Query(engine::Error::Cancelled)), "{ended}");
        assert_eq!(names(home.path()), [""; 0], "{target}");
    }
}

#[test]
fn a_copy_is_cancelled_while_it_writes() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    let path = home.path().join("a.csv");
    let sql = format!("COPY (SELECT range FROM range(1000000000000)) TO '{}'", path.display());
    let cancel = Cancel::default();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| session.execute_until(&sql, &cancel).map(|_| ()));
        while names(home.path()).is_empty() {
            std::thread::yield_now();
        }
        cancel.cancel();
        let ended = running.join().unwrap().expect_err("somebody has asked for the end");
        assert!(matches!(ended, Error::Query(engine::Error::Cancelled)), "{ended}");
    });
    assert_eq!(names(home.path()), [""; 0]);
}

#[test]
fn of_two_that_write_to_one_place_the_second_is_told_so() {
    let home = tempfile::tempdir().unwrap();
    let session = session(1);
    for (target, options) in
        [("a.csv", ""), ("a.json", ""), ("parts/", "(FORMAT csv)"), ("tree", "(FORMAT csv, PARTITION_BY b)")]
    {
        let path = home.path().join(target).display().to_string();
        let copy =
            |rows: &str| format!("COPY (SELECT range AS a, 1 AS b FROM range({rows})) TO '{path}' {options}");
        let cancel = Cancel::default();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| session.execute_until(&copy("1000000000000"), &cancel).map(|_| ()));
            while names(home.path()).is_empty() {
                std::thread::yield_now();
            }
            let error = failure(&session, &copy("2"));
            let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
            let typed = std::iter::from_fn(|| {
                let this = cause?;
                cause = this.source();
                Some(this)
            });
            let is_typed = |e: &(dyn std::error::Error + 'static)| {
                matches!(e.downcast_ref(), Some(formats::Error::BeingWritten { .. }))
                    || matches!(
                        e.downcast_ref(),
                        Some(engine::Error::Format(formats::Error::BeingWritten { .. }))
                    )
                    || matches!(
                        e.downcast_ref(),
                        Some(session::writers::Error::Format(formats::Error::BeingWritten { .. }))
                    )
            };
            assert!(typed.into_iter().any(is_typed), "{error:?}");
            let (said, place) = (error.to_string(), path.trim_end_matches('/'));
            assert!(
                said.starts_with(&format!("{place}: it is being written by another statement")),
                "{said}"
            );
            assert_eq!(names(home.path()).len(), 1, "the first goes on");
            cancel.cancel();
            assert!(running.join().unwrap().is_err());
        });
        session.execute(&copy("2")).unwrap();
        let here = path.trim_end_matches('/');
        assert_eq!(integers(&session, &format!("SELECT count(*) FROM '{here}'"), 0), [2]);
        assert_eq!(names(home.path()), [Path::new(target).file_name().unwrap().to_str().unwrap()]);
        let there = home.path().join(target);
        if there.is_dir() { fs::remove_dir_all(there).unwrap() } else { fs::remove_file(there).unwrap() }
    }
}

#[test]
fn what_is_there_is_replaced_if_that_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let session = session(1);
    let path = home.path().join("a.csv");
    fs::write(&path, "old\n").unwrap();
    let copy = format!("COPY (SELECT 1 AS n) TO '{}'", path.display());
    assert!(failure(&session, &copy).to_string().contains("add the option (OVERWRITE)"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
    session.execute(&format!("SET overwrite = true; {copy}")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "n\n1\n");
    session.execute("RESET overwrite").unwrap();
    assert!(failure(&session, &copy).to_string().contains("exists"));
    for (options, message) in [
        ("FORMAT xls", "there is no format xls\n  help: there are table, csv"),
        ("PARTITION_BY n", "a.csv is the name of a file"),
        ("PARTITIONED_BY n", "COPY has no option PARTITIONED_BY"),
        ("HEADER maybe", "HEADER is true or false"),
    ] {
        let error = failure(&session, &format!("{copy} ({options})"));
        assert!(matches!(error, Error::Settings(_)) && error.to_string().contains(message), "{error}");
    }
}

#[test]
fn a_prepared_statement_tells_its_columns_and_plan() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    session.execute("CREATE TEMP TABLE t AS SELECT range AS n, 'a' AS name FROM range(5)").unwrap();
    let path = home.path().join("t.csv").display().to_string();
    for sql in [
        "SELECT n + 1 AS m, name FROM t",
        "EXPLAIN SELECT * FROM t",
        "EXPLAIN ANALYZE SELECT * FROM t",
        "DESCRIBE t",
        "DESCRIBE SELECT n + 1 AS m, name FROM t",
        "SHOW TABLES",
        "SUMMARIZE t",
        &format!("COPY t TO '{path}'"),
        "CREATE TEMP TABLE u AS SELECT * FROM t",
        "CREATE VIEW v AS SELECT * FROM t",
        "DROP VIEW v",
        "SET workers = 1",
        "RESET workers",
    ] {
        let prepared = session.prepare(sql).unwrap();
        let schema = prepared.schema().unwrap();
        assert!(!Path::new(&path).exists() || !sql.starts_with("COPY"), "it was not run");
        let fields = |schema: &arrow_schema::Schema| {
            let all = schema.fields().iter();
            all.map(|f| (f.name().clone(), f.data_type().clone())).collect::<Vec<_>>()
        };
        assert_eq!(fields(&schema), fields(prepared.execute().unwrap().schema()), "{sql}");
    }
    let copy =
        session.prepare(&format!("COPY (SELECT n FROM t WHERE n > ?) TO '{path}' (OVERWRITE)")).unwrap();
    let bound = copy.bind(&Values::of([ScalarValue::from(2_i64)])).unwrap();
    let plan = bound.explain().unwrap().join("\n");
    assert!(plan.contains("scan t"), "{plan}");
    bound.execute().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "n\n3\n4\n");
    assert!(session.prepare("SHOW TABLES").unwrap().explain().is_err());
    assert!(session.prepare("COPY (SELECT x FROM t) TO 'none.csv'").unwrap().schema().is_err());
}
