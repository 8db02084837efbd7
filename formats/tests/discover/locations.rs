//! Which files a location names, and what of them is a table.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Float64Array, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use formats::discover::{OpenOptions, open, open_data_dir};

use crate::common::*;

#[test]
fn a_file_of_a_column_format() {
    for encoding in ["parquet", "arrow", "buren"] {
        let bytes = encoded(encoding, &numbers("n", 0, 10));
        let dir = tree(&[(&format!("a.{encoding}"), &bytes), ("b.csv", &bytes), ("c", &bytes)]);
        for name in [&format!("a.{encoding}"), "b.csv", "c"] {
            let table = table(&dir, name);
            assert_eq!(table.rows, Some(10));
            assert_eq!(columns(&table), [("n", DataType::Int64), ("text", DataType::Utf8View)]);
            let set = set(&table);
            assert_eq!((set.format.encoding.as_str(), set.format.compression.as_str()), (encoding, "none"));
            assert_eq!((set.files.len(), set.bytes()), (1, bytes.len() as u64));
            assert_eq!(rows(&table)[9], ["9", "\"row 9\""]);
        }
    }
}

#[test]
fn files_of_a_directory_and_a_glob() {
    let part = |from| encoded("parquet", &numbers("n", from, 5));
    let dir = tree(&[
        ("t/b.parquet", &part(5)),
        ("t/a.parquet", &part(0)),
        ("t/sub/c.parquet", &part(10)),
        ("t/_SUCCESS", b""),
        ("t/.hidden.csv", b"x"),
    ]);
    let first = |rows: Vec<Vec<String>>| rows.into_iter().map(|r| r[0].clone()).collect::<Vec<_>>();
    let whole: Vec<String> = (0..15).map(|i| i.to_string()).collect();
    assert_eq!(first(rows(&table(&dir, "t"))), whole);
    assert_eq!(table(&dir, "t").rows, Some(15));
    assert_eq!(first(rows(&table(&dir, "t/*.parquet"))), whole[..10]);
    assert_eq!(first(rows(&table(&dir, "t/**/*.parquet"))), whole);
}

#[test]
fn stated_columns_must_agree_unless_united_by_name() {
    let fields =
        Schema::new(vec![Field::new("n", DataType::Int32, false), Field::new("x", DataType::Float64, true)]);
    let arrays = (Arc::new(Int32Array::from(vec![7])), Arc::new(Float64Array::from(vec![0.5])));
    let other = RecordBatch::try_new(Arc::new(fields), vec![arrays.0, arrays.1]).unwrap();
    let dir = tree(&[
        ("a.parquet", &encoded("parquet", &numbers("n", 0, 1))),
        ("b.parquet", &encoded("parquet", &other)),
    ]);
    let said = message(&dir, "*.parquet", &OpenOptions::default());
    assert!(said.starts_with("b.parquet: its columns differ from those of"), "{said}");
    for part in
        ["'n' is INT here and BIGINT there", "'x' (DOUBLE) is only here", "'text' (VARCHAR) is only there"]
    {
        assert!(said.contains(part), "{said}");
    }
    let united =
        at(&dir, "*.parquet", &OpenOptions { union_by_name: true, ..OpenOptions::default() }).unwrap();
    assert_eq!(
        columns(&united),
        [("n", DataType::Int64), ("text", DataType::Utf8View), ("x", DataType::Float64)]
    );
    assert_eq!(rows(&united), [["0", "\"row 0\"", "NULL"], ["7", "NULL", "0.5"]]);
}

#[test]
fn columns_from_directories_and_the_file() {
    let options = OpenOptions { file_column: true, ..given(&[("n", DataType::Int64)]) };
    let dir = texts(&[("t/year=2025/lang=de/a.csv", "1\n"), ("t/year=2026/lang=fr/a.csv", "2\n")]);
    let table = at(&dir, "t", &options).unwrap();
    assert_eq!(
        columns(&table),
        [
            ("n", DataType::Int64),
            ("year", DataType::Int64),
            ("lang", DataType::Utf8View),
            ("_file", DataType::Utf8View)
        ]
    );
    assert_eq!(set(&table).file_columns, 1);
    let path = |name: &str| dir.path().join(name).display().to_string();
    let expected = [
        ["1".to_string(), "2025".into(), "de".into(), path("t/year=2025/lang=de/a.csv")],
        ["2".to_string(), "2026".into(), "fr".into(), path("t/year=2026/lang=fr/a.csv")],
    ];
    assert_eq!(rows(&table), expected);
    let glob = at(&dir, "t/*/lang=de/*.csv", &given(&[("n", DataType::Int64)])).unwrap();
    assert_eq!(rows(&glob), [["1", "2025", "de"]]);
    let below = at(&dir, "t/year=2026", &given(&[("n", DataType::Int64)])).unwrap();
    assert_eq!(rows(&below), [["2", "fr"]]);
    let inside = at(&dir, "t", &given(&[("YEAR", DataType::Int64)])).unwrap();
    assert_eq!(
        columns(&inside),
        [("year", DataType::Int64), ("lang", DataType::Utf8View)],
        "the directory's column counts"
    );
    assert_eq!(rows(&inside), [["2025", "de"], ["2026", "fr"]]);
    let twice = OpenOptions { file_column: true, ..given(&[("_file", DataType::Int64)]) };
    assert!(message(&dir, "t", &twice).contains("has a column '_file'"));
}

#[test]
fn damaged_and_missing_files_are_named() {
    let dir = texts(&[("a.parquet", "PAR1 and then nothing of use PAR1"), ("b.csv", "1")]);
    let said = message(&dir, "a.parquet", &OpenOptions::default());
    assert!(said.starts_with("a.parquet"), "{said}");
    let said = message(&dir, "b.cvs", &OpenOptions::default());
    assert!(
        said.starts_with("b.cvs: there is no such file") && said.contains("did you mean b.csv?"),
        "{said}"
    );
    assert!(message(&dir, "b.csv/x", &OpenOptions::default()).starts_with("b.csv/x: "));
}

#[test]
fn a_data_directory_is_a_list_of_tables() {
    let dir = texts(&[
        ("d/rankings/part-0", "x"),
        ("d/visits.csv.gz", "x"),
        ("d/README", "x"),
        ("d/_tmp/x.csv", "x"),
        ("e/a.csv", "x"),
        ("e/A.parquet", "x"),
        ("e/B.csv", "x"),
    ]);
    let tables = open_data_dir(&dir.path().join("d")).unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    assert_eq!(
        tables,
        [("rankings".to_string(), path("d/rankings")), ("visits".to_string(), path("d/visits.csv.gz"))]
    );
    let both = open_data_dir(&dir.path().join("e")).unwrap();
    let table = |name: &str, file: &str| (name.to_string(), path(file));
    assert_eq!(both, [table("A", "e/A.parquet"), table("B", "e/B.csv"), table("a", "e/a.csv")]);
    assert!(open_data_dir(Path::new("/nowhere/d")).unwrap_err().to_string().contains("there is no"));
    assert!(open_data_dir(&dir.path().join("e/a.csv")).unwrap_err().to_string().contains("not a directory"));
    let dir = dataset();
    let tables = open_data_dir(&dir.path().join("d")).unwrap();
    assert_eq!(tables, [("d".to_string(), dir.path().join("d").display().to_string())]);
}

#[test]
fn many_files_are_listed_in_order() {
    let dir = tempfile::tempdir().unwrap();
    for i in 0..1000 {
        std::fs::write(dir.path().join(format!("{i:05}.csv")), "1\n").unwrap();
    }
    let table = open(dir.path().to_str().unwrap(), "t", &given(&[("n", DataType::Int64)])).unwrap();
    assert_eq!(set(&table).files.len(), 1000);
    assert!(set(&table).files.windows(2).all(|w| w[0].path < w[1].path));
}

/// A named pipe into which a thread writes these bytes.
fn pipe(dir: &tempfile::TempDir, name: &str, bytes: Vec<u8>) -> std::thread::JoinHandle<()> {
    let path = dir.path().join(name);
    let text = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name is a valid C string for the length of the call.
    assert_eq!(unsafe { libc::mkfifo(text.as_ptr(), 0o600) }, 0);
    std::thread::spawn(move || std::fs::write(path, bytes).unwrap())
}

#[test]
fn pipes_are_looked_at_and_then_read() {
    let dir = tempfile::tempdir().unwrap();
    let csv: String = (0..300_000).map(|i| format!("{i},row {i}\n")).collect();
    for (name, bytes) in [
        ("csv", format!("n,text\n{csv}").into_bytes()),
        ("gzip", gzip(&format!("n,text\n{csv}"))),
        ("parquet", encoded("parquet", &numbers("n", 0, 300_000))),
        ("buren", encoded("buren", &numbers("n", 0, 300_000))),
        ("arrow", encoded("arrow", &numbers("n", 0, 300_000))),
    ] {
        let writer = pipe(&dir, name, bytes);
        let table = table(&dir, name);
        assert_eq!(columns(&table), [("n", DataType::Int64), ("text", DataType::Utf8View)], "{name}");
        let all = rows(&table);
        assert_eq!((all.len(), &all[299_999]), (300_000, &vec!["299999".into(), "\"row 299999\"".into()]));
        assert_eq!(rows(&table).len(), 300_000, "{name} again");
        writer.join().unwrap();
    }
}
