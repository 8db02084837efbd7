//! Tables whose files lie in a store that answers each request after a while, and files that are written into one.

mod support;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::DataType;
use formats::store::atomic::temporary_directory;
use formats::store::remote::Store;
use session::{Cancel, Result, Session, Settings};
use support::SlowStore;

/// How long something may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

fn session(workers: usize) -> Session {
    Session::new(Settings { workers, ..Settings::default() })
}

/// The rows of a statement as text, each with its values between bars.
fn table(session: &Session, sql: &str) -> Vec<String> {
    let batches: Vec<RecordBatch> = session.execute(sql).unwrap().collect::<Result<_>>().unwrap();
    let texts = |batch: &RecordBatch| {
        let columns = batch.columns().iter().map(|column| arrow_cast::cast(column, &DataType::Utf8).unwrap());
        let columns: Vec<_> = columns.collect();
        let row = |row| columns.iter().map(|column| column.as_string::<i32>().value(row)).collect::<Vec<_>>();
        (0..batch.num_rows()).map(|number| row(number).join("|")).collect::<Vec<_>>()
    };
    batches.iter().flat_map(texts).collect()
}

/// Writes what a query gives.
fn write(home: &Path, query: &str, to: &str, options: &str) {
    let path = home.join(to);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let sql = format!("COPY ({query}) TO '{}' {options}", path.display());
    session(2).execute(&sql).unwrap().for_each(drop);
}

#[test]
fn what_lies_in_a_store_is_read_as_what_lies_here() {
    let home = tempfile::tempdir().unwrap();
    SlowStore::register("same", home.path(), Duration::from_millis(1));
    let query = "SELECT range AS id, range % 7 AS k, concat('text ', range) AS t FROM range(50000)";
    for (name, options) in [
        ("a.csv", ""),
        ("b.csv.gz", ""),
        ("c.jsonl.zst", ""),
        ("d.parquet", ""),
        ("e.buren", ""),
        ("f.arrow", ""),
        ("g.msgpack", ""),
        ("h/year=2023/x.parquet", ""),
        ("h/year=2024/x.parquet", ""),
        ("i.dataset", "(FORMAT csv)"),
        ("j/_hidden.csv", ""),
        ("j/.k/hidden.csv", ""),
        ("j/l/shown.csv", ""),
    ] {
        write(home.path(), query, name, options);
    }
    let here = |location: &str| format!("{}/{location}", home.path().display());
    for location in [
        "a.csv",
        "b.csv.gz",
        "c.jsonl.zst",
        "d.parquet",
        "e.buren",
        "f.arrow",
        "g.msgpack",
        "h",
        "h/",
        "h/**/*.parquet",
        "h/year=202[34]/x.parquet",
        "h/*/x.p?rquet",
        "i.dataset",
        "j",
        "*/l/*.csv",
        "{a.csv,j/l/shown.csv}",
    ] {
        let sql = |location: &str| {
            let columns = "count(*), sum(id), min(t), max(t), count(DISTINCT k)";
            format!("SELECT {columns} FROM '{location}' WHERE k <> 3")
        };
        let (there, session) = (format!("same://{location}"), session(2));
        assert_eq!(table(&session, &sql(&there)), table(&session, &sql(&here(location))), "{location}");
    }
    let years = "SELECT year, count(*) FROM 'same://h' GROUP BY year ORDER BY year";
    assert_eq!(table(&session(2), years), ["2023|50000", "2024|50000"]);
}

#[test]
fn requests_are_made_side_by_side_and_block_no_worker() {
    let home = tempfile::tempdir().unwrap();
    for part in 0..64 {
        let query = format!("SELECT range AS id, range % 7 AS k FROM range({part}, 20000)");
        write(home.path(), &query, &format!("part-{part:02}.parquet"), "");
        write(home.path(), &query, &format!("part-{part:02}.csv"), "");
    }
    let store = SlowStore::register("slow", home.path(), Duration::from_millis(50));
    for (suffix, most) in [("parquet", 3 * 64), ("csv", 3 * 64)] {
        store.reads.store(0, Ordering::SeqCst);
        store.most_under_way.store(0, Ordering::SeqCst);
        let rows = table(&session(2), &format!("SELECT count(*) FROM 'slow://*.{suffix}'"));
        assert_eq!(rows, [(20000 * 64 - 63 * 32).to_string()]);
        table(&session(2), &format!("SELECT k, sum(id) FROM 'slow://*.{suffix}' GROUP BY k"));
        let (reads, at_once) =
            (store.reads.load(Ordering::SeqCst), store.most_under_way.load(Ordering::SeqCst));
        assert!(reads <= most, "{suffix}: {reads} requests");
        // Workers that waited for each request would have one of them under way each.
        assert!((8..=16).contains(&at_once), "{suffix}: {at_once} at once");
    }
    assert!(!store.has_blocked_others.load(Ordering::SeqCst));
}

#[test]
fn rows_of_another_table_come_while_a_store_is_silent() {
    let home = tempfile::tempdir().unwrap();
    // More than what is kept of the beginning of a file.
    let (files, there, here) = (20, 200_000, 1_000_000);
    for part in 0..files {
        write(home.path(), &format!("SELECT range AS id FROM range({there})"), &format!("{part}.csv"), "");
    }
    let store = SlowStore::register("silent", home.path(), Duration::from_millis(100));
    let sql = format!("SELECT id FROM 'silent://*.csv' UNION ALL SELECT -1 - range FROM range({here})");
    let rows = session(2).execute(&sql).unwrap();
    let silence = store.silence.lock().unwrap();
    let (send, batches) = mpsc::channel();
    let reader = thread::spawn(move || rows.for_each(|batch| send.send(batch).unwrap()));
    let (mut of_store, mut of_range) = (0, 0);
    let mut count = |batch: Result<RecordBatch>| {
        let ids = batch.unwrap().column(0).as_primitive::<Int64Type>().clone();
        let negative = ids.values().iter().filter(|id| **id < 0).count();
        (of_store, of_range) = (of_store + ids.len() - negative, of_range + negative);
        of_range
    };
    // A worker that waits for an answer of the store would give nothing.
    while count(batches.recv_timeout(PATIENCE).expect("the workers go on")) < here {}
    drop(silence);
    batches.iter().for_each(|batch| _ = count(batch));
    reader.join().unwrap();
    assert_eq!((of_store, of_range), (files * there, here));
}

#[test]
fn what_a_store_says_is_told() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "SELECT 1 AS a", "a.csv", "");
    let store = SlowStore::register("closed", home.path(), Duration::ZERO);
    let error = |sql: &str| match session(1).execute(sql) {
        Err(e) => e.to_string(),
        Ok(rows) => rows.collect::<Result<Vec<_>>>().unwrap_err().to_string(),
    };
    let said = error("FROM 'closed://b.csv'");
    assert!(said.contains("closed://b.csv: there is no such file or directory in the store"), "{said}");
    let said = error("FROM 'closed://*.parquet'");
    assert!(said.contains("closed://*.parquet: no file in the store matches the glob"), "{said}");
    let said = error("FROM 'elsewhere://b.csv'");
    assert!(said.contains("there is no store for 'elsewhere://'"), "{said}");
    store.fails.store(true, Ordering::SeqCst);
    let said = error("FROM 'closed://a.csv'");
    assert!(said.contains("closed://a.csv: cannot read: the store is closed on Sundays"), "{said}");
}

#[test]
fn a_query_that_waits_for_a_store_is_cancelled() {
    let home = tempfile::tempdir().unwrap();
    for part in 0..40 {
        write(home.path(), "SELECT range AS id FROM range(100000)", &format!("{part}.buren"), "");
    }
    let store = SlowStore::register("late", home.path(), Duration::ZERO);
    let session = session(2);
    session.execute("SELECT sum(id) FROM 'late://*.buren'").unwrap().for_each(drop);
    let all = store.reads.swap(0, Ordering::SeqCst);
    let store = SlowStore::register("late", home.path(), Duration::from_millis(100));
    let cancel = Cancel::default();
    let rows = session.execute_until("SELECT sum(id) FROM 'late://*.buren'", &cancel).unwrap();
    cancel.cancel();
    let error = rows.collect::<Result<Vec<_>>>().unwrap_err();
    assert!(error.to_string().contains("cancel"), "{error}");
    let read = store.reads.load(Ordering::SeqCst);
    assert!(read < all, "{read} of {all} requests");
}

/// Statements that write into stores share the directory for temporary files, in which tests look for what is left.
static WRITES: Mutex<()> = Mutex::new(());

/// What this process has in the directory for temporary files that is on its way to a store.
fn half_written() -> Vec<String> {
    let names = std::fs::read_dir(temporary_directory()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let own = format!(".partial-{}", std::process::id());
    names.filter(|name| name.starts_with(".palais-store-") && name.ends_with(&own)).collect()
}

/// The names of all files of a store.
fn names(store: &SlowStore) -> Vec<String> {
    let mut names: Vec<_> = store.list("").unwrap().into_iter().map(|object| object.name).collect();
    names.sort();
    names
}

fn error(sql: &str) -> String {
    match session(2).execute(sql) {
        Err(e) => e.to_string(),
        Ok(rows) => rows.collect::<Result<Vec<_>>>().expect_err(sql).to_string(),
    }
}

const ROWS: &str = "SELECT range AS id, range % 7 AS k, concat('text ', range) AS t FROM range(200000)";

#[test]
fn what_is_written_into_a_store_is_read_as_it_was() {
    let _alone = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
    let home = tempfile::tempdir().unwrap();
    let store = SlowStore::register("into", home.path(), Duration::ZERO);
    let sums =
        |from: &str| format!("SELECT count(*), sum(id), min(t), max(t), count(DISTINCT k) FROM {from}");
    let expected = table(&session(2), &sums(&format!("({ROWS})")));
    let copy = |to: &str, options: &str| format!("COPY ({ROWS}) TO 'into://{to}' {options}");
    for name in ["a.csv", "b.parquet", "deep/er/c.jsonl.gz", "d.buren"] {
        assert_eq!(table(&session(2), &copy(name, "")), ["200000"]);
        assert_eq!(*store.puts.lock().unwrap(), [name], "a file is one request");
        store.puts.lock().unwrap().clear();
        assert_eq!(table(&session(2), &sums(&format!("'into://{name}'"))), expected, "{name}");
    }
    // One thread writes this form.
    table(&session(2), "COPY (SELECT 1 AS one) TO 'into://e.md'");
    assert!(std::fs::read_to_string(home.path().join("e.md")).unwrap().contains("one"));
    store.puts.lock().unwrap().clear();
    for (to, options) in [
        ("set/", "FORMAT parquet, FILE_SIZE_BYTES 200000"),
        ("in/it///", "FORMAT csv, FILE_SIZE_BYTES 200000"),
    ] {
        assert_eq!(table(&session(2), &copy(to, &format!("({options})"))), ["200000"]);
        let puts = std::mem::take(&mut *store.puts.lock().unwrap());
        let bare = to.trim_end_matches('/');
        assert!(puts.len() > 2 && puts.iter().all(|put| put.starts_with(&format!("{bare}/"))), "{puts:?}");
        assert_eq!(puts[0], format!("{bare}/_manifest.json"), "the manifest comes first");
        assert_eq!(table(&session(2), &sums(&format!("'into://{to}'"))), expected, "{to}");
        // As if the last file had not come.
        let part = puts.last().unwrap();
        std::fs::remove_file(home.path().join(part)).unwrap();
        let said = error(&format!("SELECT count(*) FROM 'into://{to}'"));
        assert!(said.contains(&format!("into://{part}: the dataset's manifest lists the file")), "{said}");
    }
    assert_eq!(half_written(), [""; 0]);
    assert!(!Path::new("into:").exists());
}

#[test]
fn what_is_in_a_store_is_replaced_only_when_asked() {
    let _alone = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
    let home = tempfile::tempdir().unwrap();
    let store = SlowStore::register("kept", home.path(), Duration::ZERO);
    let read = || table(&session(1), "FROM 'kept://d/a.csv'");
    table(&session(1), "COPY (SELECT 1 AS a) TO 'kept://d/a.csv'");
    assert_eq!(read(), ["1"]);
    let said = error("COPY (SELECT 2 AS a) TO 'kept://d/a.csv'");
    assert!(said.contains("kept://d/a.csv: the file exists") && said.contains("OVERWRITE"), "{said}");
    assert_eq!(read(), ["1"]);
    // It has the same size, and the store tells the same time.
    table(&session(1), "COPY (SELECT 3 AS a) TO 'kept://d/a.csv' (OVERWRITE)");
    assert_eq!(read(), ["3"]);
    for options in ["(FORMAT csv)", "(FORMAT csv, OVERWRITE)"] {
        let said = error(&format!("COPY (SELECT 1 AS a) TO 'kept://d/' {options}"));
        let expected = "kept://d: the directory is not empty, and nothing can be removed in a store";
        assert!(said.contains(expected), "{said}");
        let said = error(&format!("COPY (SELECT 1 AS a) TO 'kept://d/a.csv/' {options}"));
        assert!(
            said.contains("kept://d/a.csv: a directory of files is to be written, and this is a file"),
            "{said}"
        );
        let said = error(&format!("COPY (SELECT 1 AS a) TO 'kept://d' {options}"));
        assert!(said.contains("kept://d: a file is to be written, and this is a directory"), "{said}");
    }
    for nothing in ["kept://", "kept:///"] {
        let said = error(&format!("COPY (SELECT 1 AS a) TO '{nothing}' (FORMAT csv)"));
        assert!(said.contains("give the name of a file or directory"), "{said}");
    }
    let said = error("COPY (SELECT 1 AS a, 2 AS k) TO 'kept://tree' (FORMAT csv, PARTITION_BY (k))");
    assert!(said.contains("kept://tree: directories by values are not written into a store"), "{said}");
    assert_eq!(names(&store), ["d/a.csv"]);
    assert_eq!(half_written(), [""; 0]);
}

#[test]
fn what_fails_leaves_nothing_in_a_store() {
    let _alone = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
    let home = tempfile::tempdir().unwrap();
    let store = SlowStore::register("whole", home.path(), Duration::ZERO);
    write(home.path(), "SELECT 1 AS a", "old.csv", "");
    let late = "SELECT CAST(CASE WHEN range = 900000 THEN 'x' ELSE '7' END AS INT) AS a FROM range(1000000)";
    for (to, options) in [
        ("new.csv", ""),
        ("new.md", ""),
        ("old.csv", "(OVERWRITE)"),
        ("set/", "(FORMAT csv, FILE_SIZE_BYTES 100000)"),
    ] {
        let said = error(&format!("COPY ({late}) TO 'whole://{to}' {options}"));
        assert!(said.contains("'x'"), "{said}");
    }
    // All rows are right, and the store takes none of them.
    store.fails.store(true, Ordering::SeqCst);
    for (to, options) in [("new.csv", ""), ("old.csv", "(OVERWRITE)")] {
        let said = error(&format!("COPY (SELECT 2 AS a) TO 'whole://{to}' {options}"));
        assert_eq!(said, format!("whole://{to}: cannot write: the store is closed on Sundays"));
    }
    let said = error("COPY (SELECT 2 AS a) TO 'whole://set/' (FORMAT csv)");
    assert_eq!(said, "whole://set/_manifest.json: cannot write: the store is closed on Sundays");
    assert_eq!(names(&store), ["old.csv"]);
    assert_eq!(std::fs::read_to_string(home.path().join("old.csv")).unwrap(), "a\n1\n");
    assert_eq!(half_written(), [""; 0]);
}

#[test]
fn nothing_is_written_into_a_store_that_is_not_there() {
    for to in ["'nowhere://b/x.csv'", "'nowhere://b/x.md'", "'nowhere://b/' (FORMAT csv)"] {
        let said = error(&format!("COPY (SELECT 1 AS a) TO {to}"));
        assert!(
            said.contains("there is no store for 'nowhere://'") && said.contains("help: write to"),
            "{said}"
        );
    }
    assert!(!Path::new("nowhere:").exists());
}
