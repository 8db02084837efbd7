//! Statements through a session: each kind of them, several at once, and each way to end.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader,
    StringArray, TimestampSecondArray,
};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use formats::discover::OpenOptions;
use schema::OnError;
use session::progress::Total;
use session::{Cancel, Error, Parameter, Result, ScalarValue, Session, Settings, Values};

fn session(workers: usize) -> Session {
    Session::new(Settings { workers, ..Settings::default() })
}

fn rows(session: &Session, sql: &str) -> Result<Vec<RecordBatch>> {
    session.execute(sql)?.collect()
}

/// A reader of these batches.
fn reader(
    schema: &SchemaRef,
    batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
) -> impl RecordBatchReader {
    RecordBatchIterator::new(batches, schema.clone())
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
    assert!(plan.contains("aggregate") && !plan.contains("busy"), "{plan}");
    let analyzed = texts(&rows(&session, &format!("EXPLAIN ANALYZE {sum}")).unwrap(), 0).join("\n");
    assert!(analyzed.contains("rows    about         busy       kept  operator\n"), "{analyzed}");
    assert!(analyzed.contains("aggregate") && analyzed.contains("read 3 rows"), "{analyzed}");
}

#[test]
fn a_session_tells_what_it_knows() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    session.register("Visits", &write(home.path(), "v.csv", "page,seconds\na,3\n"));
    session.register("lost", &home.path().join("none.csv").display().to_string());
    rows(&session, "CREATE VIEW v AS SELECT seconds + 0.5 AS s FROM visits").unwrap();
    rows(&session, "CREATE VIEW itself AS SELECT table_name FROM information_schema.columns").unwrap();
    rows(&session, "CREATE TEMP TABLE kept AS SELECT 1 AS one").unwrap();
    let tables = rows(&session, "SELECT table_name, table_type FROM information_schema.tables").unwrap();
    let text = |batches: &[RecordBatch], column: usize| -> Vec<String> {
        let of = |batch: &RecordBatch| {
            let column = batch.column(column).as_string_view();
            column.iter().map(|text| text.unwrap_or("NULL").to_string()).collect::<Vec<_>>()
        };
        batches.iter().flat_map(of).collect()
    };
    assert_eq!(text(&tables, 0), ["itself", "kept", "lost", "v", "Visits"]);
    assert_eq!(text(&tables, 1), ["VIEW", "LOCAL TEMPORARY", "BASE TABLE", "VIEW", "BASE TABLE"]);
    let columns = "SELECT table_name, column_name, data_type FROM Information_Schema.Columns ORDER BY ALL";
    let columns = rows(&session, columns).unwrap();
    assert_eq!(text(&columns, 0), ["Visits", "Visits", "itself", "kept", "v"]);
    assert_eq!(text(&columns, 1), ["page", "seconds", "table_name", "one", "s"]);
    assert_eq!(text(&columns, 2)[..2], ["VARCHAR", "BIGINT"]);
    assert_eq!(rows(&session, "SELECT * FROM itself").unwrap()[0].num_rows(), 5);
    let shown = rows(&session, "SHOW ALL TABLES").unwrap();
    assert_eq!(texts(&shown, 2), ["itself", "kept", "lost", "v", "Visits"]);
    let named = shown[0].column(3).as_list::<i32>();
    assert_eq!(named.value(4).as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["page", "seconds"]);
    assert_eq!(named.value(2).len(), 0);
    assert!(shown[0].column(5).as_boolean().value(1) && !shown[0].column(5).as_boolean().value(4));
    let error = rows(&session, "FROM information_schema.views").unwrap_err().to_string();
    assert!(error.contains("there are information_schema.tables and information_schema.columns"), "{error}");
}

#[test]
fn pivot_asks_for_its_values() {
    let home = tempfile::tempdir().unwrap();
    let session = session(3);
    session.register("t", &write(home.path(), "t.csv", "k,g,v\nb,1,3\na,1,4\na,2,5\n,1,6\n"));
    let pivot = "PIVOT t ON k USING sum(v) AS s GROUP BY g ORDER BY g";
    let mut results = session.execute(pivot).unwrap();
    let names: Vec<String> = results.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["g", "a_s", "b_s"]);
    let batches: Vec<RecordBatch> = results.by_ref().collect::<Result<_>>().unwrap();
    assert_eq!(integers(&batches, 1), [Some(4), Some(5)]);
    assert_eq!(integers(&batches, 2), [Some(3), None]);
    rows(&session, &format!("CREATE VIEW p AS {pivot}")).unwrap();
    write(home.path(), "t.csv", "k,g,v\nc,1,3\n");
    assert_eq!(session.execute("FROM p").unwrap().schema().field(1).name(), "c_s");
    let many = "PIVOT (SELECT range AS k FROM range(2001)) ON k";
    let error = rows(&session, many).unwrap_err().to_string();
    assert!(error.contains("more than 2000 values"), "{error}");
}

#[test]
fn an_error_has_the_type_of_its_cause() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    session.register("t", &write(home.path(), "t.csv", "a,b\n1,x\n2,y\n"));
    let error = |sql: &str| rows(&session, sql).unwrap_err();
    let statement = |sql: &str| match error(sql) {
        Error::Statement(error) => error,
        other => panic!("{other}"),
    };
    assert!(matches!(statement("SELECT").what(), queries::Error::Syntax { .. }));
    assert!(matches!(statement("SELECT c FROM t").what(), queries::Error::Name { .. }));
    let place = |sql: &str| statement(sql).place().and_then(queries::position::StatementPosition::start);
    assert_eq!(place("SELECT 1;\n  SELECT c FROM t"), Some((2, 10)));
    assert_eq!(place("SELECT 1 FRM t u"), Some((1, 14)));
    assert!(matches!(error("SELECT * FROM 'none.csv'"), Error::File(_)));
    assert!(matches!(error("SELECT 1 // (a - 1) FROM t"), Error::Query(engine::Error::Compute(_))));
    let subquery = "SELECT (SELECT a FROM t)";
    assert!(matches!(error(subquery), Error::Query(engine::Error::SubqueryRows(2))));
    assert_eq!(integers(&rows(&session, "SELECT sum(a) FROM t").unwrap(), 0), [Some(3)]);
}

#[test]
fn an_error_shows_the_line_of_its_text() {
    let home = tempfile::tempdir().unwrap();
    let session = session(1);
    session.register("t", &write(home.path(), "t.csv", "größe,b\n1,x\n"));
    let text = "SELECT b, größe + ?\n\tFROM t WHERE '日本' = b AND grösse > ?";
    let line = "\n  line 2, column 28\n    FROM t WHERE '日本' = b AND grösse > ?\n                                ^^^^^^\n  help: did you mean größe?";
    let is_told = |error: Error, line: &str| assert!(error.to_string().contains(line), "{error}");
    // A prepared statement with values in it has the places of its text.
    let prepared = session.prepare(text).unwrap();
    is_told(
        prepared.bind(&Values::of([1_i64.into()])).map(|_| ()).unwrap_err(),
        "no value for the parameter $2",
    );
    let bound = prepared.bind(&Values::of([1_i64.into(), "text".into()])).unwrap();
    for error in [
        bound.schema().map(|_| ()).unwrap_err(),
        bound.explain().map(|_| ()).unwrap_err(),
        bound.execute().map(|_| ()).unwrap_err(),
    ] {
        is_told(error, line);
    }
    let condition = session.prepare("SELECT b FROM t\nWHERE ?").unwrap();
    let condition = condition.bind(&Values::of([1_i64.into()])).unwrap();
    is_told(condition.schema().map(|_| ()).unwrap_err(), "\n  line 2, column 7\n    WHERE ?\n          ^\n");
    let both = "SELECT ? +\n  $1";
    let error = session.prepare(both).unwrap().parameters().map(|_| ()).unwrap_err();
    is_told(error, "not both in one statement\n  line 2, column 3\n    $1\n    ^^");
    // What is wrong in a view has the line of the text that made it.
    rows(&session, "SELECT 1;\nCREATE VIEW v AS\n  SELECT größe AS g FROM t").unwrap();
    rows(&session, "CREATE VIEW w AS SELECT g FROM v").unwrap();
    session.register("t", &write(home.path(), "u.csv", "a,b\n1,x\n"));
    let view = "\n  in the view 'v', line 3, column 10\n    SELECT größe AS g FROM t\n           ^^^^^\n";
    for sql in ["SELECT *\nFROM w", "SELECT * FROM v", "DESCRIBE w", "SUMMARIZE v", "COPY w TO 'x.csv'"] {
        is_told(rows(&session, sql).unwrap_err(), view);
    }
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
    let [warning] = results.warnings() else { panic!("{:?}", results.warnings()) };
    assert!(warning.contains("300.csv may have other columns") && warning.contains("run anew"), "{warning}");
    let batches: Vec<RecordBatch> = results.by_ref().collect::<Result<_>>().unwrap();
    assert_eq!(results.schema(), &batches[0].schema());
    let sum = batches[0].column(0).as_primitive::<arrow_array::types::Float64Type>().value(0);
    assert!((sum - 401.5).abs() < 1e-9, "{sum}");
    // What is made of the rows has the warning, and what reads all alike has none.
    let copied = home.path().join("copied.csv").display().to_string();
    for sql in [
        "CREATE TEMP TABLE t AS SELECT sum(v) AS s FROM d",
        &format!("COPY (SELECT sum(v) FROM d) TO '{copied}'"),
    ] {
        assert_eq!(session.execute(sql).unwrap().warnings().len(), 1, "{sql}");
    }
    for sql in ["SELECT count(*) FROM t", "SELECT v FROM d LIMIT 1"] {
        assert_eq!(session.execute(sql).unwrap().warnings(), [""; 0], "{sql}");
    }
}

#[test]
fn results_tell_how_far_the_query_has_come() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    let path = write(home.path(), "t.csv", "a,b\n1,2\n3,4\n5,6\n");
    let bytes = std::fs::metadata(&path).unwrap().len();
    session.register("t", &path);
    let of = |sql: &str| {
        let mut results = session.execute(sql).unwrap();
        results.by_ref().for_each(|batch| drop(batch.unwrap()));
        results.progress()
    };
    let read = of("SELECT sum(a) FROM t WHERE b > (SELECT min(b) FROM t)").expect("it ran");
    assert_eq!((read.rows, read.bytes, read.total), (6, 2 * bytes, Some(Total::Bytes(2 * bytes))));
    let counted = of("SELECT sum(range) FROM range(5000)").expect("it ran");
    assert_eq!((counted.rows, counted.done(), counted.total), (5000, 5000, Some(Total::Rows(5000))));
    assert_eq!(of("SHOW TABLES"), None);
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

#[test]
fn a_plan_runs_several_times_at_once() {
    let home = tempfile::tempdir().unwrap();
    let path = write(home.path(), "t.csv", "a\n1\n2\n3\n");
    let session = session(2);
    session.register("t", &path);
    let sql = "SELECT (SELECT sum(a) FROM t) + (SELECT count(*) FROM t WHERE a > (SELECT min(a) FROM t)) AS s FROM t";
    let query = session::parse(sql).unwrap().query().expect("it is a query");
    let cancel = Cancel::default();
    let planned = session.plan(&query, &session.planning(), &cancel).unwrap();
    let mut running: Vec<_> = (0..3).map(|_| session.begin(&planned, &cancel).unwrap()).collect();
    for results in &mut running {
        let batches: Vec<RecordBatch> = results.collect::<engine::Result<_>>().unwrap();
        assert_eq!(integers(&batches, 0), [Some(8); 3]);
        // What the subqueries have read counts too.
        assert_eq!(results.state().rows_read.load(Ordering::Relaxed), 12);
    }
}

#[test]
fn what_a_subquery_leaves_out_is_counted() {
    let home = tempfile::tempdir().unwrap();
    // The type is guessed from the first lines.
    let lines: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    let open = OpenOptions { on_error: OnError::Skip, ..OpenOptions::default() };
    let session = Session::new(Settings { workers: 2, open, ..Settings::default() });
    session.register("t", &write(home.path(), "t.csv", &format!("a\n{lines}x\n7\ny\n")));
    let mut results = session.execute("SELECT (SELECT max(a) FROM t), range FROM range(1)").unwrap();
    let batches: Vec<RecordBatch> = results.by_ref().collect::<Result<_>>().unwrap();
    assert_eq!(integers(&batches, 0), [Some(19_999)]);
    assert_eq!(results.skipped().rows, 2);
    assert_eq!(results.statistics().unwrap().rows_read, 20_002);
}

#[test]
fn the_end_can_be_asked_for_before_and_between_the_stages() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    session.register("t", &write(home.path(), "t.csv", "a\n1\n"));
    let cancelled =
        |error: Error| assert!(matches!(error, Error::Query(engine::Error::Cancelled)), "{error}");
    let cancel = Cancel::default();
    let endless = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range < 0";
    std::thread::scope(|scope| {
        let asking = cancel.clone();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            asking.cancel();
        });
        let sql = format!("SELECT a FROM t WHERE a > ({endless})");
        cancelled(session.execute_until(&sql, &cancel).err().expect("a subquery was running"));
    });
    for sql in ["SELECT a FROM t", "DESCRIBE t", "SUMMARIZE t", "EXPLAIN SELECT a FROM t"] {
        cancelled(session.execute_until(sql, &cancel).err().expect("it was asked for before"));
    }
    assert_eq!(integers(&rows(&session, "SELECT a FROM t").unwrap(), 0), [Some(1)]);
}

#[test]
fn a_query_is_held_to_its_own_memory() {
    let settings = Settings { workers: 2, memory_limit: 8 << 20, ..Settings::default() };
    let (small, large) = (Session::new(settings), session(2));
    let groups = "SELECT count(*), sum(n) FROM (SELECT range % 400000 AS k, count(*) AS n FROM range(800000) GROUP BY k)";
    let join = "SELECT count(*) FROM range(2000000) a JOIN range(2000000) b ON a.range = b.range";
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2 {
                let error = rows(&small, join).unwrap_err().to_string();
                assert!(error.contains("join") && error.contains("took the query to"), "{error}");
                assert!(error.contains("of 8.0 MiB"), "{error}");
                // What can be put on disk is.
                let mut results = small.execute(groups).unwrap();
                let batches: Vec<RecordBatch> = results.by_ref().collect::<Result<_>>().unwrap();
                assert_eq!(
                    (integers(&batches, 0), integers(&batches, 1)),
                    (vec![Some(400_000)], vec![Some(800_000)])
                );
                assert!(results.statistics().unwrap().bytes_spilled > 0);
            }
        });
        for _ in 0..2 {
            assert_eq!(integers(&rows(&large, join).unwrap(), 0), [Some(2_000_000)]);
        }
    });
}

#[test]
fn a_prepared_statement_has_values() {
    let home = tempfile::tempdir().unwrap();
    let session = session(2);
    let lines = "id,name,day,price\n1,it's,2024-02-29,1.5\n2,b,2024-03-01,-2.25\n-3,,2023-01-01,0\n";
    session.register("t", &write(home.path(), "t.csv", lines));
    let ids = |sql: &str, values: Values| {
        let bound = session.prepare(sql)?.bind(&values)?;
        Ok::<_, Error>(integers(&bound.execute()?.collect::<Result<Vec<_>>>()?, 0))
    };
    let one = |sql: &str, value: ScalarValue| ids(sql, Values::of([value])).unwrap();
    assert_eq!(one("SELECT id FROM t WHERE name = ?", "it's".into()), [Some(1)]);
    assert_eq!(one("SELECT id FROM t WHERE id = $1", (-3_i64).into()), [Some(-3)]);
    assert_eq!(one("SELECT id FROM t WHERE day = ?", ScalarValue::Date32(Some(19_782))), [Some(1)]);
    assert_eq!(one("SELECT id FROM t WHERE price < ?", (-0.5).into()), [Some(2)]);
    let decimal = ScalarValue::Decimal128(Some(150), 5, 2);
    assert_eq!(one("SELECT id FROM t WHERE price = $1 OR $1 IS NULL", decimal), [Some(1)]);
    assert_eq!(one("SELECT id FROM t WHERE id = ?", ScalarValue::Null), []);
    assert_eq!(one("SELECT id FROM t ORDER BY id LIMIT ?", 1_i64.into()), [Some(-3)]);
    let time = ScalarValue::TimestampMicrosecond(Some(86_400_500_000), None);
    assert_eq!(one("SELECT extract(day FROM ?)::BIGINT", time), [Some(2)]);
    // It is no place of a column.
    assert_eq!(one("SELECT id FROM t ORDER BY ?, id LIMIT 1", 1_i64.into()), [Some(-3)]);
    assert!(ids("SELECT id FROM t GROUP BY ?", Values::of([1_i64.into()])).is_err());
    // In the order of the text, whatever the parser's order is.
    let places = "SELECT CASE WHEN id = ? THEN ? ELSE ? END FROM t WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ? OFFSET ?";
    let values = [1, 10, 20, 0, 5, 2, 0].map(|n: i64| ScalarValue::from(n));
    assert_eq!(ids(places, Values::of(values)).unwrap(), [Some(10), Some(20)]);
    let named = Values::default().with("least", 2_i64.into()).with("name", "b".into());
    let sql = "SELECT id FROM t WHERE id >= $least AND (SELECT max(name) FROM t WHERE name = $name) = 'b'";
    assert_eq!(ids(sql, named.clone()).unwrap(), [Some(2)]);
    let prepared = session.prepare(sql).unwrap();
    assert_eq!(
        prepared.parameters().unwrap(),
        [Parameter::Name("least".into()), Parameter::Name("name".into())]
    );
    let bound = prepared.bind(&named).unwrap();
    assert_eq!(bound.schema().unwrap().field(0).name(), "id");
    let mut running: Vec<_> = (0..3).map(|_| bound.execute().unwrap()).collect();
    for results in &mut running {
        assert_eq!(integers(&results.collect::<Result<Vec<_>>>().unwrap(), 0), [Some(2)]);
    }

    let wrong = |sql: &str, values: Values| ids(sql, values).unwrap_err().to_string();
    assert_eq!(
        wrong("SELECT $2 + $1", Values::of([1_i64.into()])),
        "there is no value for the parameter $2\n  line 1, column 8\n    SELECT $2 + $1\n           ^^"
    );
    assert!(wrong("SELECT ?", Values::of([1_i64, 2].map(Into::into))).contains("a value for $2"));
    assert!(wrong("SELECT ?, $1", Values::of([1_i64.into()])).contains("not both"));
    let list = ScalarValue::List(ScalarValue::new_list(&[1_i64.into()], &DataType::Int64, true));
    assert!(wrong("SELECT ?", Values::of([list])).contains("for a parameter"));
    let error = session.execute("SELECT $1").err().expect("it has no value").to_string();
    assert_eq!(
        error,
        "there is no value for the parameter $1\n  line 1, column 8\n    SELECT $1\n           ^^"
    );
}

#[test]
fn record_batches_are_a_table() {
    let home = tempfile::tempdir().unwrap();
    let batch = |range: std::ops::Range<i64>| {
        let names: StringArray =
            range.clone().map(|n| (n % 3 > 0).then(|| format!("name {}", n % 3))).collect();
        let names: DictionaryArray<Int32Type> = {
            let names: Vec<Option<&str>> = names.iter().collect();
            names.into_iter().collect()
        };
        let times = TimestampSecondArray::from_iter_values(range.clone()).with_timezone("Europe/Berlin");
        let columns: [(&str, ArrayRef); 3] = [
            ("N", Arc::new(Int64Array::from_iter_values(range))),
            ("name", Arc::new(names)),
            ("time", Arc::new(times)),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    // Some are longer than what operators take at once, and some are empty.
    let batches = [batch(0..5), batch(5..5), batch(5..300_000), batch(300_000..300_001)];
    let schema = batches[0].schema();
    for workers in [1, 3] {
        let session = session(workers);
        session.register("t", &write(home.path(), "t.csv", "k,v\nname 1,7\n"));
        session.register_batches("Rows", reader(&schema, batches.clone().map(Ok))).unwrap();
        let sum = "SELECT count(*), sum(n), count(name), max(extract(epoch FROM time))::BIGINT FROM rows";
        let figures = rows(&session, sum).unwrap();
        let figure = |column| integers(&figures, column)[0].unwrap();
        assert_eq!([0, 1, 2, 3].map(figure), [300_001, 45_000_150_000, 200_000, 300_000]);
        let join = "SELECT sum(v), count(*) FROM rows JOIN t ON name = k WHERE n >= 3";
        let figures = rows(&session, join).unwrap();
        assert_eq!((integers(&figures, 0), integers(&figures, 1)), (vec![Some(699_993)], vec![Some(99_999)]));
        let names = rows(&session, "SELECT DISTINCT name FROM ROWS WHERE name > 'name 1'").unwrap();
        assert_eq!(names.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
        let first = rows(&session, "SELECT n FROM rows LIMIT 2 OFFSET 4").unwrap();
        assert_eq!(first.iter().map(RecordBatch::num_rows).sum::<usize>(), 2);
        assert_eq!(texts(&rows(&session, "SHOW TABLES").unwrap(), 0), ["Rows", "t"]);
        let plan = texts(&rows(&session, "EXPLAIN SELECT n FROM rows").unwrap(), 0).join("\n");
        assert!(plan.contains("scan Rows [N] 300001 rows in memory"), "{plan}");

        // A reader that fails replaces nothing.
        let broken = [Ok(batches[0].clone()), Err(ArrowError::IpcError("the reader is broken".into()))];
        let error = session.register_batches("rows", reader(&schema, broken)).unwrap_err().to_string();
        assert!(error.contains("the reader is broken"), "{error}");
        assert_eq!(integers(&rows(&session, "SELECT count(*) FROM rows").unwrap(), 0), [Some(300_001)]);
        session.register_batches("rows", reader(&schema, [])).unwrap();
        assert_eq!(integers(&rows(&session, "SELECT count(*) FROM rows").unwrap(), 0), [Some(0)]);
        assert!(session.remove("ROWS") && !session.remove("rows"));
        assert!(matches!(rows(&session, "SELECT n FROM rows").unwrap_err(), Error::Statement(_)));
    }
    let other =
        RecordBatch::try_from_iter([("other", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]).unwrap();
    let given = [batches[0].clone(), other].map(Ok);
    let error = session(1).register_batches("x", reader(&schema, given)).unwrap_err().to_string();
    assert!(error.contains("x: record batch 1 of it has other columns"), "{error}");
}
