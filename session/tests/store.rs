//! Tables whose files lie in a store that answers each request after a while.

mod support;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use session::{Cancel, Result, Session, Settings};
use support::SlowStore;

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
    let store = SlowStore::register("slow", home.path(), Duration::from_millis(20));
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
    SlowStore::register("late", home.path(), Duration::from_millis(100));
    let cancel = Cancel::default();
    let rows = session.execute_until("SELECT sum(id) FROM 'late://*.buren'", &cancel).unwrap();
    cancel.cancel();
    let error = rows.collect::<Result<Vec<_>>>().unwrap_err();
    assert!(error.to_string().contains("cancel"), "{error}");
    assert!(all > 40);
}
