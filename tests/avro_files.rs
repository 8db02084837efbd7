//! Avro files, as fastavro writes them: their rows are those that fastavro reads. The script that wrote them lies beside
//! them, in `tests/avro/write.py`.

use std::fs;
use std::path::{Path, PathBuf};

use process::palais;
use tempfile::TempDir;

#[path = "support/process.rs"]
mod process;

/// What stands behind each block of the files.
const MARKER: &[u8] = b"0123456789abcdef";

const CODECS: [&str; 5] = ["null", "deflate", "snappy", "zstandard", "bzip2"];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/avro").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(file(name)).expect("a file of the tests can be read")
}

fn done<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let done = palais(arguments);
    assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
    done.stdout
}

fn query(sql: &str, path: &Path) -> String {
    done(["query", &sql.replace("$T", &format!("'{}'", path.display())), "--format", "jsonl"])
}

/// What is said of a file that is refused.
fn refusal(path: &Path) -> String {
    let refused = palais(["query", &format!("SELECT * FROM '{}'", path.display()), "--format", "jsonl"]);
    assert_ne!(refused.code(), Some(0), "{}: {}", path.display(), refused.stdout);
    refused.stderr
}

fn assert_same_lines(found: &str, expected: &str, what: &str) {
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{what}, row {}", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{what}: rows");
}

#[test]
fn rows_are_those_that_fastavro_reads() {
    let expected = fs::read_to_string(file("kinds.jsonl")).expect("the rows can be read");
    for codec in CODECS {
        let path = file(&format!("kinds-{codec}.avro"));
        assert_same_lines(&query("SELECT * FROM $T ORDER BY id", &path), &expected, codec);
        assert_same_lines(&query("SELECT * FROM read_avro($T) ORDER BY id", &path), &expected, "read_avro()");
        assert_eq!(query("SELECT count(*) AS n FROM $T", &path), "{\"n\":40}\n", "{codec}");
    }
    let expected = fs::read_to_string(file("namespaces.jsonl")).expect("the rows can be read");
    assert_same_lines(&query("SELECT * FROM $T", &file("namespaces.avro")), &expected, "namespaces");
}

#[test]
fn each_column_alone_is_that_of_all_columns() {
    let path = file("kinds-deflate.avro");
    let expected = fs::read_to_string(file("kinds.jsonl")).expect("the rows can be read");
    let rows: Vec<serde_json::Value> =
        expected.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect();
    let names: Vec<String> = rows[0].as_object().expect("a row is an object").keys().cloned().collect();
    for name in names {
        let found = query(&format!("SELECT \"{name}\" FROM $T ORDER BY id"), &path);
        for (found, row) in found.lines().zip(&rows) {
            let found: serde_json::Value = serde_json::from_str(found).expect("a row is JSON");
            assert_eq!(found[&name], row[&name], "{name}");
        }
        assert_eq!(found.lines().count(), rows.len(), "{name}");
    }
}

#[test]
fn types_are_told_and_files_are_converted() {
    let schema = done(["schema".into(), file("kinds-null.avro")]);
    for part in [
        "DECIMAL(12, 2)",
        "DECIMAL(38, 4)",
        "DATE",
        "INTERVAL",
        "TIME(3)",
        "TIMESTAMP(3) WITH TIME ZONE",
        "BINARY(3)",
        "BIGINT[]",
        "STRUCT(",
        "MAP(VARCHAR, INT)",
    ] {
        assert!(schema.contains(part), "{part} in\n{schema}");
    }
    let home = tempfile::tempdir().expect("a directory can be made");
    let parquet = home.path().join("kinds.parquet");
    // Intervals are not written as Parquet.
    let arrow = home.path().join("kinds.arrow");
    done(["convert".into(), file("kinds-snappy.avro"), arrow.clone()]);
    let expected = fs::read_to_string(file("kinds.jsonl")).expect("the rows can be read");
    assert_same_lines(&query("SELECT * FROM $T ORDER BY id", &arrow), &expected, "arrow");
    done(["convert".into(), file("namespaces.avro"), parquet.clone()]);
    let expected = fs::read_to_string(file("namespaces.jsonl")).expect("the rows can be read");
    assert_same_lines(&query("SELECT * FROM $T", &parquet), &expected, "parquet");

    let refused = palais(["convert".into(), file("namespaces.avro"), home.path().join("y.avro")]);
    assert_ne!(refused.code(), Some(0));
    assert!(refused.stderr.contains("read and not written"), "{}", refused.stderr);
}

#[test]
fn blocks_are_inspected() {
    let text = done(["inspect".into(), file("kinds-deflate.avro")]);
    assert!(text.contains("40") && text.contains("block") && text.contains("deflate"), "{text}");
}

#[test]
fn files_without_values_have_their_rows() {
    assert_eq!(query("SELECT count(*) AS n FROM $T", &file("empty.avro")), "{\"n\":0}\n");
    assert_eq!(query("SELECT id, point FROM $T", &file("empty.avro")), "");
    assert_eq!(query("SELECT * FROM $T", &file("nulls.avro")), "{\"nothing\":null}\n".repeat(3));
}

#[test]
fn types_that_are_not_read_are_refused_by_their_column() {
    let union = refusal(&file("union.avro"));
    assert!(union.contains("column 'either' is a union of null, int, string"), "{union}");
    let recursive = refusal(&file("recursive.avro"));
    assert!(recursive.contains("column 'next' holds itself by the record 'Node'"), "{recursive}");
}

/// A long as Avro writes it.
fn long(value: i64) -> Vec<u8> {
    let mut zigzag = ((value << 1) ^ (value >> 63)) as u64;
    let mut bytes = Vec::new();
    while zigzag >= 0x80 {
        bytes.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    bytes.push(zigzag as u8);
    bytes
}

#[test]
fn damage_is_told_with_its_byte() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let whole = bytes("kinds-null.avro");
    let first = whole.windows(MARKER.len()).position(|window| window == MARKER).expect("there is a header");
    let first = first + MARKER.len();
    let damaged = |home: &TempDir, name: &str, bytes: &[u8]| {
        let path = home.path().join(name);
        fs::write(&path, bytes).expect("a file can be written");
        refusal(&path)
    };
    let with_block =
        |rows: i64, size: i64| [&whole[..first], &long(rows), &long(size), &whole[first + 3..]].concat();

    let truncated = damaged(&home, "truncated.avro", &whole[..whole.len() - 30]);
    assert!(truncated.contains("cut short"), "{truncated}");
    let head = damaged(&home, "head.avro", &whole[..100]);
    assert!(head.contains("cut short"), "{head}");
    let mut marker = whole.clone();
    let last = marker.len() - 1;
    marker[last] ^= 1;
    let marker = damaged(&home, "marker.avro", &marker);
    assert!(marker.contains(&format!("byte {}", whole.len() - MARKER.len())), "{marker}");
    for (name, rows, size) in [
        ("rows.avro", 1 << 50, 2_000),
        ("negative.avro", -1, 2_000),
        ("size.avro", 5, 1 << 40),
        ("before.avro", 5, -2_000),
        ("none.avro", 0, 2_000),
    ] {
        let said = damaged(&home, name, &with_block(rows, size));
        assert!(said.contains(&format!("byte {first}")), "{name}: {said}");
    }
    // The branch of the second column that has bytes.
    let mut branch = whole.clone();
    let data = first + 3 + 1;
    branch[data..data + 4].fill(0xFF);
    let branch = damaged(&home, "branch.avro", &branch);
    assert!(branch.contains("row 1") && branch.contains("the file is damaged"), "{branch}");
    // These have checksums.
    for (codec, part) in [("snappy", "can't be unpacked"), ("bzip2", "bzip2 data is damaged")] {
        let mut packed = bytes(&format!("kinds-{codec}.avro"));
        let middle = first + 60;
        packed[middle..middle + 8].fill(0x55);
        let said = damaged(&home, &format!("{codec}.avro"), &packed);
        assert!(said.contains("byte") && said.contains(part), "{codec}: {said}");
    }
}
