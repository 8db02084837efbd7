//! Statements through a session: each kind of them, several at once, and each way to end.

use std::fs;
use std::path::Path;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use session::{Error, Result, Session, Settings};

fn session(workers: usize) -> Session {
    Session::new(Settings { workers, ..Settings::default() })
}

fn rows(session: &Session, sql: &str) -> Result<Vec<RecordBatch>> {
    session.execute(sql)?.collect()
}

/// The 64-bit integers of a column.
fn integers(batches: &[RecordBatch], column: usize) -> Vec<Option<i64>> {
    batches.iter().flat_map(|batch| batch.column(column).as_primitive::<Int64Type>().iter()).collect()
}

/// The texts of a column.
fn texts(batches: &[RecordBatch], column: usize) -> Vec<String> {
    let of = |batch: &RecordBatch| {
        let column = batch.column(column).as_string::<i32>();
        (0..column.len()).map(|row| column.value(row).to_string()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("it has a parent")).expect("it can be made");
    fs::write(&path, text).expect("it can be written");
    path.display().to_string()
}

#[test]
fn each_kind_of_statement_has_rows() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    session.register("Visits", &write(home.path(), "v.csv", "page,seconds\na,3\nb,4\na,5\n"));
    let sum = "SELECT sum(seconds) AS s, count(*) FROM visits WHERE page = 'a'";
    let mut results = session.execute(sum).unwrap();
    assert_eq!(results.schema().field(0).name(), "s");
    let batches: Vec<RecordBatch> = results.by_ref().collect::<Result<_>>().unwrap();
    assert_eq!((integers(&batches, 0), integers(&batches, 1)), (vec![Some(8)], vec![Some(2)]));
    let figures = results.statistics().unwrap();
    assert_eq!((figures.rows, figures.rows_read, figures.workers), (1, 3, 2));
    assert_eq!(texts(&rows(&session, "SHOW TABLES").unwrap(), 0), ["Visits"]);
    let described = rows(&session, "DESCRIBE VISITS").unwrap();
    assert_eq!(texts(&described, 0), ["page", "seconds"]);
    assert_eq!(texts(&described, 1), ["VARCHAR", "BIGINT"]);
    let summary = rows(&session, "SUMMARIZE visits").unwrap();
    assert_eq!(texts(&summary, 2), ["3", "3"]);
    let plan = texts(&rows(&session, &format!("EXPLAIN {sum}")).unwrap(), 0).join("\n");
    assert!(plan.contains("aggregate") && !plan.contains(" s busy"), "{plan}");
    let analyzed = texts(&rows(&session, &format!("EXPLAIN ANALYZE {sum}")).unwrap(), 0).join("\n");
    assert!(analyzed.contains(" s busy") && analyzed.contains("read 3 rows"), "{analyzed}");
}

#[test]
fn an_error_has_the_type_of_its_cause() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    session.register("t", &write(home.path(), "t.csv", "a,b\n1,x\n2,y\n"));
    let error = |sql: &str| rows(&session, sql).unwrap_err();
    assert!(matches!(error("SELECT"), Error::Statement(queries::Error::Syntax { .. })));
    assert!(matches!(error("SELECT c FROM t"), Error::Statement(queries::Error::Name { .. })));
    assert!(matches!(error("SELECT * FROM 'none.csv'"), Error::File(_)));
    assert!(matches!(error("SELECT 1 / (a - 1) FROM t"), Error::Query(engine::Error::Compute(_))));
    let subquery = "SELECT (SELECT a FROM t)";
    assert!(matches!(error(subquery), Error::Query(engine::Error::SubqueryRows(2))));
    assert_eq!(integers(&rows(&session, "SELECT sum(a) FROM t").unwrap(), 0), [Some(3)]);
}

#[test]
fn files_that_turn_out_to_be_unlike_are_looked_at_again() {
    let home = tempfile::tempdir().unwrap();
    for number in 0..400 {
        let value = if number == 300 { "2.5" } else { "1" };
        write(home.path(), &format!("d/{number:03}.csv"), &format!("k,v\nx,{value}\n"));
    }
    let session = session(2);
    session.register("d", &home.path().join("d").display().to_string());
    let mut results = session.execute("SELECT sum(v) AS s FROM d").unwrap();
    let batches: Vec<RecordBatch> = results.by_ref().collect::<Result<_>>().unwrap();
    assert_eq!(results.schema(), &batches[0].schema());
    let sum = batches[0].column(0).as_primitive::<arrow_array::types::Float64Type>().value(0);
    assert!((sum - 401.5).abs() < 1e-9, "{sum}");
}

#[test]
fn statements_of_several_threads_run_at_once() {
    let home = tempfile::tempdir().unwrap();
    let text: String = (0..20_000).map(|n| format!("{},{n}\n", n % 7)).collect();
    let session = session(2);
    session.register("t", &write(home.path(), "t.csv", &format!("k,n\n{text}")));
    std::thread::scope(|scope| {
        for thread in 0..4_i64 {
            let session = &session;
            scope.spawn(move || {
                for round in 0..10 {
                    let least = thread * 1000 + round;
                    let sql = format!(
                        "SELECT k, count(*) FROM t WHERE n >= (SELECT min(n) + {least} FROM t) GROUP BY k"
                    );
                    let counts = integers(&rows(session, &sql).unwrap(), 1);
                    assert_eq!(counts.len(), 7);
                    assert_eq!(counts.iter().flatten().sum::<i64>(), 20_000 - least);
                }
            });
        }
    });
}

#[test]
fn another_thread_cancels_a_query() {
    let session = session(2);
    let endless = "SELECT a.range FROM range(100000000) a, range(100000000) b WHERE a.range + b.range < 0";
    let mut results = session.execute(endless).unwrap();
    let state = results.state().unwrap().clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            state.cancel();
        });
        let error = results.next().unwrap().unwrap_err();
        assert!(matches!(error, Error::Query(engine::Error::Cancelled)), "{error}");
        assert!(results.next().is_none());
    });
    // What is dropped is cancelled too.
    drop(session.execute(endless).unwrap());
    assert_eq!(integers(&rows(&session, "SELECT count(*) FROM range(5)").unwrap(), 0), [Some(5)]);
}
