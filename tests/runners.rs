//! One session and three runners: threads of this process, processes, and nodes give the same answers.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
use arrow_cast::display::array_value_to_string;
use cluster::coordinator::{Host, Options, Traffic};
use cluster::node::NodeClient;
use cluster::{Nodes, Processes};
use nodes::TOKEN;
use session::{Cancel, Error, Result, Runner, Session, Settings, Values};

#[path = "support/cells.rs"]
#[allow(dead_code, reason = "other tests read csv")]
mod cells;
#[path = "support/nodes.rs"]
#[allow(dead_code, reason = "other tests ask nodes by the command line")]
mod nodes;
#[path = "support/process.rs"]
#[allow(dead_code, reason = "other tests look at processes")]
mod process;
#[path = "support/several.rs"]
#[allow(dead_code, reason = "other tests run the program")]
mod several;
#[path = "../session/tests/support/mod.rs"]
mod store;

const VERSION: &str = env!("PALAIS_VERSION");
const PATIENCE: Duration = Duration::from_secs(20);

/// A query that would run for days.
const ENDLESS: &str =
    "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range < 0";

/// A session with two tables in files, and how many rows the first one has.
fn session(home: &Path, runner: Option<Arc<dyn Runner>>) -> (Session, i64) {
    fs::create_dir_all(home.join("visits")).expect("it can be made");
    for file in 0..3 {
        let rows: String = (0..1000).map(|row| format!("p{},{}\n", row % 10, row + file)).collect();
        let path = home.join(format!("visits/{file}.csv"));
        fs::write(path, format!("page,seconds\n{rows}")).expect("it can be written");
    }
    fs::write(home.join("pages.jsonl"), "{\"page\":\"p1\",\"title\":\"one\"}\n").expect("it can be written");
    let mut session = Session::new(Settings { workers: 2, ..Settings::default() });
    if let Some(runner) = runner {
        session.run_by(runner);
    }
    session.register("Visits", &home.join("visits/*.csv").display().to_string());
    session.register("pages", &home.join("pages.jsonl").display().to_string());
    (session, 3000)
}

/// Two processes of this machine.
fn processes() -> Processes {
    let hosts = Host::local(Path::new(env!("CARGO_BIN_EXE_palais")), 2);
    let options = Options { version: VERSION.into(), hosts, traffic: Traffic::default(), patience: PATIENCE };
    // The thread that starts them may end before they do.
    let started = thread::spawn(|| Processes::start(options)).join().expect("it does not panic");
    started.expect("they start").with_workers(1)
}

/// A node of this machine as a runner.
fn on_node(nodes: &nodes::Nodes) -> Nodes {
    let token = cluster::node::token(TOKEN);
    let address = nodes.addresses[0].clone();
    Nodes::new(NodeClient { address, token, tls: None, version: VERSION.into(), patience: PATIENCE })
}

/// The rows of a statement as text, a row with blanks between its values.
fn rows(session: &Session, sql: &str) -> Result<Vec<String>> {
    let batches: Vec<RecordBatch> = session.execute(sql)?.collect::<Result<_>>()?;
    let of = |batch: &RecordBatch| {
        let value = |column: &ArrayRef, row| array_value_to_string(column, row).expect("it has a text");
        let row = |row| batch.columns().iter().map(|column| value(column, row)).collect::<Vec<_>>().join(" ");
        (0..batch.num_rows()).map(row).collect::<Vec<_>>()
    };
    Ok(batches.iter().flat_map(of).collect())
}

fn refused(session: &Session, sql: &str) -> String {
    rows(session, sql).expect_err(sql).to_string()
}

/// What every runner gives; `counted` is what COPY gives.
fn check((session, all): &(Session, i64), home: &Path, counted: &[&str]) {
    let sums =
        rows(session, "SELECT page, count(*), sum(seconds) FROM visits WHERE page < 'p2' GROUP BY page");
    let mut sums = sums.expect("it is right");
    sums.sort();
    assert_eq!(sums, ["p0 300 148800", "p1 300 149100"]);
    let joined = "SELECT title, max(seconds) FROM visits JOIN pages USING (page) GROUP BY title";
    assert_eq!(rows(session, joined).unwrap(), ["one 993"]);
    let above = "SELECT count(*) FROM visits WHERE seconds > (SELECT avg(seconds) FROM visits)";
    assert_eq!(rows(session, above).unwrap(), ["1500"]);
    assert_eq!(rows(session, "SELECT 1; -- two;\nSELECT ';' AS a;").unwrap(), [";"]);
    assert_eq!(rows(session, "SHOW TABLES").unwrap(), ["pages", "Visits"]);
    assert_eq!(session.table_names().unwrap(), ["pages", "Visits"]);
    assert_eq!(rows(session, "DESCRIBE visits").unwrap().len(), 2);
    let summary = rows(session, "SUMMARIZE visits").unwrap();
    assert!(summary.len() == 2 && summary[0].contains(&all.to_string()), "{summary:?}");
    assert!(rows(session, "EXPLAIN SELECT page FROM visits").unwrap().join("\n").contains("scan Visits"));
    let analyzed = rows(session, "EXPLAIN ANALYZE SELECT page FROM visits WHERE seconds >= 0").unwrap();
    assert!(analyzed.iter().any(|line| line.contains("3,000") && line.contains("scan")), "{analyzed:?}");

    let mut results = session.execute("SELECT page FROM visits").unwrap();
    assert_eq!(results.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3000);
    let figures = results.statistics().expect("a query ran");
    assert_eq!((figures.rows, figures.rows_read), (3000, 3000));

    let out = home.join("out/");
    let copy = format!("COPY (SELECT * FROM visits) TO '{}/' (FORMAT parquet)", out.display());
    assert_eq!(rows(session, &copy).expect("it is written"), counted);
    let back = format!("SELECT count(*), min(seconds) FROM '{}'", out.display());
    assert_eq!(rows(session, &back).unwrap(), ["3000 0"]);
    assert!(refused(session, "SELECT nothing FROM visits").contains("nothing"));
}

/// What fails where the query runs, with a word of the error.
fn failing(home: &Path) -> [(String, &'static str); 3] {
    let copy = format!("COPY (SELECT 1) TO '{}/' (FORMAT parquet)", home.join("out").display());
    [
        (copy, "OVERWRITE"),
        ("SELECT page FROM visit".into(), "did you mean Visits?"),
        ("SELECT CAST(page AS INT) FROM visits".into(), "p0"),
    ]
}

fn check_failures(session: &Session, home: &Path) {
    for (sql, word) in failing(home) {
        let told = refused(session, &sql);
        assert!(told.contains(word), "{sql}: {told}");
    }
}

/// A statement ends when another thread asks for it, and others go on.
fn is_cancelled(session: &Session) {
    let cancel = Cancel::default();
    let asking = cancel.clone();
    let asker = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        asking.cancel();
    });
    let got = session.execute_until(ENDLESS, &cancel).and_then(Iterator::collect::<Result<Vec<RecordBatch>>>);
    assert!(matches!(got, Err(Error::Query(engine::Error::Cancelled))), "{got:?}");
    asker.join().expect("it panics nowhere");
}

/// What only this process knows is refused, and not left out.
fn is_elsewhere(session: &Session) {
    for (sql, name) in [("SET overwrite = true", "SET"), ("CREATE VIEW v AS SELECT 1", "CREATE VIEW")] {
        let expected = format!("{name} where other processes run the queries");
        assert!(refused(session, sql).contains(&expected), "{sql}: {}", refused(session, sql));
    }
    let prepared = session.prepare("SELECT count(*) FROM visits WHERE page = ?").unwrap();
    let bound = prepared.bind(&Values::of(["p1".into()])).unwrap();
    let error = bound.execute().and_then(Iterator::collect::<Result<Vec<RecordBatch>>>).unwrap_err();
    assert!(error.to_string().contains("values of parameters where other processes"), "{error}");
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let schema = batch.schema();
    session.register_batches("kept", RecordBatchIterator::new([Ok(batch)], schema)).unwrap();
    assert!(refused(session, "SELECT * FROM kept").contains("'kept', which is in memory"));
    assert!(session.remove("kept"));
    let error = session.watch("SELECT page FROM visits").map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("threads of this process"), "{error}");
}

#[test]
fn threads_run_a_session() {
    let home = tempfile::tempdir().unwrap();
    let session = session(home.path(), None);
    check(&session, home.path(), &["3000"]);
    check_failures(&session.0, home.path());
    is_cancelled(&session.0);
}

#[test]
fn processes_run_a_session() {
    let home = tempfile::tempdir().unwrap();
    let session = session(home.path(), Some(Arc::new(processes())));
    check(&session, home.path(), &["3000"]);
    let session = session.0;
    is_elsewhere(&session);
    // The others need not know the store.
    let store = store::SlowStore::register("here", &home.path().join("store"), Duration::ZERO);
    for name in ["visits.csv", "set/"] {
        let copy = format!("COPY (SELECT * FROM visits) TO 'here://{name}' (FORMAT csv)");
        assert_eq!(rows(&session, &copy).unwrap(), ["3000"]);
    }
    assert!(store.puts.lock().unwrap().iter().any(|name| name == "set/_manifest.json"));
    let first = session.execute("SELECT range FROM range(1000000)").unwrap();
    assert!(refused(&session, "SELECT 1").contains("run another query"), "its rows are not taken");
    assert_eq!(first.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1_000_000);
    assert_eq!(rows(&session, "SELECT count(*) FROM visits").unwrap(), ["3000"]);
}

#[test]
fn processes_end_with_what_fails_or_is_cancelled() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("out")).unwrap();
    fs::write(home.path().join("out/kept"), "").unwrap();
    for (sql, word) in failing(home.path()) {
        let (session, _) = session(home.path(), Some(Arc::new(processes())));
        let told = refused(&session, &sql);
        assert!(told.contains(word), "{sql}: {told}");
        assert!(refused(&session, "SELECT 1").contains("have ended"), "{sql}");
    }
    let (session, _) = session(home.path(), Some(Arc::new(processes())));
    is_cancelled(&session);
    assert!(refused(&session, "SELECT 1").contains("have ended"));
}

#[test]
fn nodes_run_a_session() {
    let home = tempfile::tempdir().unwrap();
    let nodes = nodes::Nodes::start(2, "");
    let session = session(home.path(), Some(Arc::new(on_node(&nodes))));
    check(&session, home.path(), &[]);
    check_failures(&session.0, home.path());
    is_cancelled(&session.0);
    is_elsewhere(&session.0);
    assert_eq!(rows(&session.0, "SELECT count(*) FROM visits").unwrap(), ["3000"]);
    let query = session::parse("SELECT page FROM visits").unwrap().query().expect("it is a query");
    let error = session.0.plan(&query, &session.0.planning(), &Cancel::default()).unwrap_err();
    assert!(error.to_string().contains("a plan where nodes run the statements"), "{error}");
}
