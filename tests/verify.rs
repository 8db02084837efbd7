//! `palais convert --verify`: what was written is read back and compared with its source.

#[path = "support/names.rs"]
mod names;
#[path = "support/process.rs"]
mod process;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use names::names;
use process::{Finished, palais};

/// Rows in which NULL stands beside the empty string, -0.0 beside 0.0, and decimals and times beside text that looks
/// like them; Parquet keeps their types.
const ROWS: &str = "SELECT range AS id, CASE range % 3 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'x,\"y\" ' || range END AS t, \
     CASE range % 5 WHEN 0 THEN -0.0e0 WHEN 1 THEN CAST('NaN' AS DOUBLE) WHEN 2 THEN CAST('-inf' AS DOUBLE) \
     WHEN 3 THEN NULL ELSE range / 7e0 END AS f, \
     CAST(range * 0.01 AS DECIMAL(20, 4)) AS d, DATE '1969-12-30' + CAST(range % 9 AS INTEGER) AS day, \
     TIMESTAMP '1969-12-31T23:59:59.999' AS at, range % 2 = 0 AS even, '00' || range AS number FROM range(70000)";

fn write(sql: &str, to: &str) {
    let done = palais(["query", sql, "--output", to]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
}

fn convert(from: &str, to: &str, flags: &[&str]) -> Finished {
    palais(["convert", from, to, "--verify"].iter().chain(flags))
}

#[test]
fn every_encoding_and_compression_comes_back_as_it_was() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    write(ROWS, &path("rows.parquet"));
    for format in formats::registry::written().filter(|format| format.name() != "text") {
        for compression in format.compressions() {
            let workers = if *compression == "none" { "3" } else { "1" };
            let flags = ["--to", format.name(), "--compression", compression, "--workers", workers];
            let done = convert(&path("rows.parquet"), &path("out"), &flags);
            let pair = format!("{} {compression}, {workers} workers", format.name());
            let given = (done.code(), done.stdout.as_str());
            assert_eq!(given, (Some(0), ""), "{pair} {}: {}", done.ending(), done.stderr);
            assert!(done.stderr.contains("out, verified: 70,000 rows"), "{pair}: {}", done.stderr);
            fs::remove_dir_all(path("out")).expect("it was written");
        }
    }
    // One file has no manifest that says how it is to be read.
    for name in
        ["x.csv", "x.csv.zst", "x.tsv.gz", "x.jsonl", "x.capnproto", "x.pb.lz4", "x.parquet", "x.buren"]
    {
        let done = convert(&path("rows.parquet"), &path(name), &[]);
        assert_eq!(done.code(), Some(0), "{name}: {}", done.stderr);
    }
    let done = convert(&path("rows.parquet"), &path("bare.csv"), &["--no-header"]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
}

#[test]
fn directories_and_files_without_rows_are_verified() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    for (year, text) in [(2025, "a,b\n1,x\n2,\n"), (2026, "a,b\n"), (2027, "a,b\n3,\"\"\n")] {
        fs::create_dir_all(path(&format!("logs/year={year}"))).expect("a directory can be made");
        fs::write(path(&format!("logs/year={year}/x.csv")), text).expect("a file can be written");
    }
    for (to, flags) in
        [("one[1].csv", &[][..]), ("one.msgpack", &[]), ("set", &["--to", "jsonl", "--workers", "4"])]
    {
        let done = convert(&path("logs"), &path(to), flags);
        assert_eq!(done.code(), Some(0), "{to}: {}", done.stderr);
        assert!(done.stderr.contains("verified: 3 rows"), "{to}: {}", done.stderr);
    }
    fs::write(path("none.sql"), "CREATE TABLE t (a BIGINT, b VARCHAR)").expect("a file can be written");
    fs::write(path("none.csv"), "").expect("a file can be written");
    for to in ["none.csv.gz", "none.jsonl", "none.parquet", "none.arrow", "none.buren", "none.cbor"] {
        let schema = format!("t={}", path("none.sql"));
        let done = convert(&path("none.csv"), &path(to), &["--schema", &schema]);
        assert_eq!(done.code(), Some(0), "{to}: {}", done.stderr);
    }
}

#[test]
fn what_can_not_be_read_back_is_refused() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    fs::write(path("x.csv"), "a\n1\n").expect("a file can be written");
    let done = convert(&path("x.csv"), "/dev/null", &["--to", "csv"]);
    assert_eq!(done.code(), Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("/dev/null is no file, and --verify"), "{}", done.stderr);
    assert_eq!(names(home.path()), ["x.csv"]);
}

/// Converts rows that come through a pipe; when some of them are written, a byte of what was written is changed, and
/// then come the others. Gives what was said.
fn damaged_while_written(home: &Path, name: &str, offset: u64, byte: u8) -> String {
    let rows = |from: u32, to: u32| -> String { (from..to).map(|i| format!("{i},x{}\n", i % 7)).collect() };
    let mut child = Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["convert", "-", name, "--from", "csv", "--verify"])
        .current_dir(home)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("palais starts");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(format!("a,b\n{}", rows(0, 400_000)).as_bytes()).expect("it reads");
    let partial = home.join(format!(".{name}.partial-{}", child.id()));
    let start = Instant::now();
    while fs::metadata(&partial).map_or(0, |meta| meta.len()) <= offset {
        assert!(start.elapsed() < Duration::from_secs(600), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    let file = File::options().write(true).open(&partial).expect("it is there");
    file.write_all_at(&[byte], offset).expect("it can be written");
    input.write_all(rows(400_000, 450_000).as_bytes()).expect("it reads");
    drop(input);
    let done = child.wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(1));
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn damage_between_writing_and_reading_is_told_and_leaves_nothing() {
    let home = tempfile::tempdir().expect("a directory can be made");
    // The row 0 becomes row 7: `a,b`, a newline, and there it stands.
    let said = damaged_while_written(home.path(), "x.csv", 4, b'7');
    let told = "error: x.csv: what was written has other values than the source in column 'a', first in rows 1 to 65536";
    assert!(said.starts_with(told) && said.contains("the result was removed"), "{said}");
    assert_eq!(names(home.path()), [""; 0]);
    // A broken file is as wrong as one with other values.
    let said = damaged_while_written(home.path(), "y.csv.gz", 300, 0);
    let told = "error: y.csv.gz: what was written can't be read again: y.csv.gz";
    assert!(said.starts_with(told), "{said}");
    assert_eq!(names(home.path()), [""; 0]);
}
