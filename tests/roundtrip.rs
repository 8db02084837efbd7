//! A million rows through every format and compression, by `palais convert`: the same bytes come out at the end,
//! and no conversion needs much memory.

use std::fs;
use std::path::{Path, PathBuf};

use process::palais;

#[path = "support/process.rs"]
mod process;

/// NULLs, empty strings, quotes, newlines, NaN, days before 1970.
const ROWS: &str = "
  SELECT range AS id,
    CASE WHEN range % 7 = 3 THEN NULL
         ELSE CAST(range * 7919 % 4294967296 - 2147483648 AS INT) END AS number,
    CASE WHEN range % 11 = 5 THEN NULL WHEN range % 13 = 4 THEN CAST('NaN' AS DOUBLE)
         ELSE range * 0.37 - 1e5 END AS real,
    CASE range % 6 WHEN 0 THEN '' WHEN 1 THEN NULL WHEN 2 THEN 'a, \"quoted\" text'
         WHEN 3 THEN 'two' || chr(10) || 'lines' WHEN 4 THEN 'grüße' ELSE 'row ' || range END AS text,
    CASE WHEN range % 5 = 2 THEN NULL
         ELSE make_date(CAST(1900 + range % 200 AS INT), CAST(1 + range % 12 AS INT), CAST(1 + range % 28 AS INT))
         END AS date,
    range % 3 = 0 AS flag
  FROM range(1000000)";

/// Files on the way, each with the compression to ask for where its name does not tell it.
const WAY: &[(&str, &str)] = &[
    ("t.csv", "none"),
    ("t.jsonl", "none"),
    ("t.capnproto", "none"),
    ("t.capnproto-packed", "none"),
    ("t.capnproto-packed.gz", "gzip"),
    ("t.csv.gz", "gzip"),
    ("t.jsonl.zst", "zstd"),
    ("t.csv.zlib", "zlib"),
    ("t.jsonl.lz4", "lz4"),
    ("t.csv.snappy", "snappy"),
    ("t.jsonl.gz", "gzip"),
    ("t.csv.lz4", "lz4"),
    ("t.jsonl.snappy", "snappy"),
    ("t.csv.zst", "zstd"),
    ("t.jsonl.zlib", "zlib"),
    ("t.parquet", "none"),
    ("t.arrow", "none"),
    ("t.buren", "none"),
    ("t.parquet", "snappy"),
    ("t.arrow", "lz4"),
    ("t.buren", "snappy"),
    ("t.parquet", "gzip"),
    ("t.arrow", "zstd"),
    ("t.buren", "lz4"),
    ("t.parquet", "lz4"),
    ("t.buren", "gzip"),
    ("t.buren", "zlib"),
    ("t.buren", "zstd"),
];

/// The most memory that a conversion may need, in KiB.
const MOST_KIB: i64 = 1 << 20;

fn run(arguments: &[&str]) {
    let done = palais(arguments);
    assert_eq!(done.code(), Some(0), "{arguments:?} {}:\n{}", done.ending(), done.stderr);
}

fn convert(from: &Path, to: &Path, compression: &str, schema: &str) {
    let (from, to) = (from.to_str().expect("text"), to.to_str().expect("text"));
    run(&["convert", from, to, "--compression", compression, "--schema", schema, "--no-progress"]);
}

#[test]
fn a_million_rows_come_back_from_every_format() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let start = home.path().join("t.parquet");
    let copy = format!("COPY ({ROWS}) TO '{}' (FORMAT parquet, COMPRESSION zstd)", start.display());
    run(&["query", &copy]);
    let printed = palais(["schema", start.to_str().expect("text")]);
    let schema = home.path().join("t.sql");
    fs::write(&schema, printed.stdout).expect("the schema can be written");
    let schema = format!("t={}", schema.display());

    let mut last = start.clone();
    for (step, (name, compression)) in WAY.iter().enumerate() {
        let directory = home.path().join(step.to_string());
        fs::create_dir(&directory).expect("a directory can be made");
        let next: PathBuf = directory.join(name);
        convert(&last, &next, compression, &schema);
        if last != start {
            fs::remove_file(&last).expect("the file before can be removed");
        }
        last = next;
        // Only bytes that are the same all the way would do at the end; a step that loses rows is named at once.
        if !["csv", "jsonl", "capnproto"].iter().any(|row| name.contains(row)) {
            let count = format!("SELECT count(*) FROM '{}'", last.display());
            let counted = palais(["query", "--format", "csv", &count]);
            assert!(counted.stdout.ends_with("\n1000000\n"), "{name} {compression}: {}", counted.stdout);
        }
    }
    let end = home.path().join("end.parquet");
    convert(&last, &end, "zstd", &schema);
    let same = fs::read(&start).expect("it is there") == fs::read(&end).expect("it is there");
    assert!(same, "the rows that come out of {WAY:?} are other rows");

    // SAFETY: a zeroed structure is valid storage for the call, which fills it in.
    let most = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage.ru_maxrss
    };
    assert!(most < MOST_KIB, "a conversion needed {most} KiB");
}
