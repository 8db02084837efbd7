//! What statements define in a session: views, rows that are kept, settings.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use schema::OnError;
use session::{Result, ScalarValue, Session, Settings, Values};

fn session(workers: usize) -> Session {
    Session::new(Settings { workers, ..Settings::default() })
}

fn rows(session: &Session, sql: &str) -> Result<Vec<RecordBatch>> {
    session.execute(sql)?.collect()
}

/// The one 64-bit integer that a statement gives.
fn integer(session: &Session, sql: &str) -> i64 {
    let batches = rows(session, sql).expect("it is right");
    let [batch] = batches.as_slice() else { panic!("{} batches", batches.len()) };
    assert_eq!((batch.num_rows(), batch.num_columns()), (1, 1));
    batch.column(0).as_primitive::<Int64Type>().value(0)
}

fn message(session: &Session, sql: &str) -> String {
    rows(session, sql).expect_err("it is wrong").to_string()
}

/// What lies in a directory for temporary tables of this process.
fn kept_in(directory: &Path) -> usize {
    let own = format!(".partial-{}", std::process::id());
    let names = fs::read_dir(directory).expect("it can be listed").flatten().map(|entry| entry.file_name());
    names
        .filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with(".palais-table-") && name.ends_with(&own)
        })
        .count()
}

#[test]
fn statements_with_semicolons_run_until_one_is_wrong() {
    let session = session(2);
    assert_eq!(
        integer(
            &session,
            "CREATE VIEW v AS SELECT 1 AS a; CREATE VIEW w AS SELECT a + 1 AS a FROM v; SELECT a FROM w"
        ),
        2
    );
    let wrong = "CREATE VIEW x AS SELECT 1 AS a; SELECT 1 // (a - a) FROM v; CREATE VIEW y AS SELECT 1 AS a";
    assert!(message(&session, wrong).contains("zero"));
    assert_eq!(session.table_names().expect("they are known"), ["v", "w", "x"]);
    // Nothing is run if one of them can't be parsed.
    assert!(message(&session, "CREATE VIEW z AS SELECT 1; SELEC").contains("syntax"));
    assert!(message(&session, "SELECT * FROM z").contains("no table 'z'"));
    assert!(session.remove("W") && !session.remove("w"));
    assert_eq!(session.table_names().expect("they are known"), ["v", "x"]);
}

#[test]
fn a_table_beyond_the_limit_is_on_disk_and_goes_with_its_name() {
    let directory = formats::store::atomic::temporary_directory();
    let settings = Settings { workers: 2, memory_limit: 16 << 20, ..Settings::default() };
    let session = Session::new(settings.clone());
    let before = kept_in(&directory);
    let few = "CREATE TEMP TABLE few AS SELECT range AS n FROM range(1000)";
    assert_eq!(integer(&session, few), 1000);
    assert_eq!(kept_in(&directory), before);
    let many = "CREATE TEMP TABLE many AS SELECT range AS n, CAST(range AS VARCHAR) || '-' || CAST(range * 3 AS VARCHAR) AS s \
                FROM range(600000)";
    let mut made = session.execute(many).expect("there is room");
    assert_eq!(made.statistics().expect("it was run").rows, 600_000);
    assert_eq!(made.next().expect("it counts").expect("it is right").num_rows(), 1);
    drop(made);
    assert_eq!(kept_in(&directory), before + 1);
    assert_eq!(integer(&session, "SELECT sum(n) FROM many"), 599_999 * 300_000);
    assert_eq!(
        integer(
            &session,
            "SELECT count(*) FROM many WHERE s = CAST(n AS VARCHAR) || '-' || CAST(n * 3 AS VARCHAR)"
        ),
        600_000
    );
    // A query that has begun goes on.
    let late = session.execute("SELECT n, s FROM many").expect("it can be begun");
    rows(&session, "DROP TABLE many").expect("it is there");
    assert!(message(&session, "SELECT * FROM many").contains("no table 'many'"));
    let rest: usize = late.map(|batch| batch.expect("its files are there").num_rows()).sum();
    assert_eq!((rest, kept_in(&directory)), (600_000, before));
    // What is replaced by what reads it, and what a query that fails has begun.
    rows(&session, many).expect("there is room");
    rows(
        &session,
        &many
            .replace("TEMP TABLE many", "OR REPLACE TEMP TABLE many")
            .replace("range(600000)", "many")
            .replace("range", "n"),
    )
    .expect("it reads the old one");
    assert_eq!((integer(&session, "SELECT count(*) FROM many"), kept_in(&directory)), (600_000, before + 1));
    let failing = "CREATE TEMP TABLE other AS SELECT n, s, 1 // (n - 599999) AS x FROM many";
    assert!(message(&session, failing).contains("zero"));
    assert_eq!(kept_in(&directory), before + 1);
    assert!(message(&session, "SELECT * FROM other").contains("no table 'other'"));
    drop(session);
    assert_eq!(kept_in(&directory), before);
}

#[test]
fn settings_are_changed_and_given_back() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = home.path().join("t.csv");
    fs::write(&path, "a\n1\n2\nx\n").expect("it can be written");
    let session = session(2);
    let workers = |session: &Session| {
        let mut results = session.execute("SELECT count(*) FROM range(10)").expect("it is right");
        results.by_ref().for_each(|batch| assert!(batch.is_ok()));
        results.statistics().expect("it was run").workers
    };
    rows(&session, "SET workers = 3; SET infer_rows TO 2; SET memory_limit = '1 GiB'; SET on_error = 'SKIP'")
        .expect("they are settings");
    assert_eq!((workers(&session), session.settings().memory_limit), (3, 1 << 30));
    let sum = format!("SELECT sum(a) FROM '{}'", path.display());
    assert_eq!(integer(&session, &sum), 3);
    rows(&session, "RESET on_error; RESET workers").expect("they are settings");
    assert_eq!((workers(&session), session.settings().open.on_error), (2, OnError::Fail));
    assert!(message(&session, &sum).contains("x"));
    for wrong in [
        "SET header = perhaps",
        "SET delimiter = ';;'",
        "SET from = 'xls'",
        "SET max_record = '2GiB'",
        "RESET nothing",
    ] {
        let before = format!("{:?}", session.settings());
        assert!(rows(&session, wrong).is_err(), "{wrong}");
        assert_eq!(format!("{:?}", session.settings()), before, "{wrong}");
    }
}

#[test]
fn many_threads_define_and_read_at_once() {
    let session = session(2);
    rows(&session, "CREATE VIEW v AS SELECT range AS n FROM range(1000)").expect("it is right");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let session = &session;
            scope.spawn(move || {
                for round in 0..10 {
                    let name = format!("t{thread}");
                    let sql =
                        format!("CREATE OR REPLACE TEMP TABLE {name} AS SELECT n FROM v WHERE n >= {round}");
                    assert_eq!(integer(session, &sql), 1000 - round);
                    rows(session, &format!("SET workers = {}", 1 + (thread + round) % 4))
                        .expect("it is a setting");
                    assert_eq!(
                        integer(session, &format!("SELECT count(*) FROM {name} JOIN v USING (n)")),
                        1000 - round
                    );
                }
            });
        }
    });
}

#[test]
fn values_of_parameters_are_those_of_a_table_s_rows() {
    let session = session(2);
    let prepared = session
        .prepare("CREATE OR REPLACE TEMP TABLE t AS SELECT ? + range AS n FROM range(3)")
        .expect("it is right");
    for value in [10_i64, 20] {
        let bound = prepared.bind(&Values::of([ScalarValue::from(value)])).expect("it has one");
        bound.execute().expect("it is right").for_each(|batch| assert!(batch.is_ok()));
        assert_eq!(integer(&session, "SELECT sum(n) FROM t"), 3 * value + 3);
    }
    assert!(message(&session, "CREATE VIEW v AS SELECT ? AS n").contains("parameter"));
}

/// The thread of a test has 2 MiB of stack.
#[test]
fn a_view_may_be_as_deep_as_a_statement() {
    let session = session(1);
    let deep = format!("{}1{}", "(1 + ".repeat(100), ")".repeat(100));
    let chain = vec!["1"; 500].join(" + ");
    rows(&session, &format!("CREATE VIEW a AS SELECT {deep} AS n; CREATE VIEW b AS SELECT {chain} AS n"))
        .expect("it is right");
    assert_eq!(integer(&session, "SELECT CAST(a.n + b.n AS BIGINT) FROM a, b"), 601);
    rows(&session, "CREATE OR REPLACE VIEW b AS SELECT n FROM a; DROP VIEW a").expect("they are there");
    assert!(message(&session, "SELECT * FROM b").contains("no table 'a'"));
}
