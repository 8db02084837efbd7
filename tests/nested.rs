//! Lists and structs through the real binary: what pyarrow, DuckDB, msgpack and cbor2 write is read with the same types
//! and answers, and what palais writes in every compression they read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::{palais, run};

#[path = "support/process.rs"]
mod process;

const ENCODINGS: [&str; 3] = ["jsonl", "msgpack", "cbor"];

fn python(mode: &str, directory: &Path) {
    let python = std::env::var("PALAIS_PYTHON").unwrap_or_else(|_| ".venv/bin/python".into());
    let done = run(Command::new(python).args(["-B", "tests/interop/nested.py", mode]).arg(directory));
    assert_eq!(done.code(), Some(0), "{mode} (`make venv` installs what it needs):\n{}", done.stderr);
}

fn done<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let done = palais(arguments);
    assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
    done.stdout
}

fn query(sql: &str, path: &Path, format: &str) -> String {
    done(["query", &sql.replace("$T", &format!("'{}'", path.display())), "--format", format])
}

fn directory(home: &Path, name: &str) -> PathBuf {
    let path = home.join(name);
    fs::create_dir(&path).expect("a directory can be made");
    path
}

#[test]
fn foreign_files_have_the_types_and_answers_of_parquet() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let files = directory(home.path(), "files");
    python("write", &files);
    let parquet = files.join("pyarrow.parquet");
    // MessagePack has no dates; a text that spells one is one.
    for name in ["duckdb.jsonl", "array.json", "python.msgpack", "python.cbor"] {
        let file = files.join(name);
        for sql in [
            "DESCRIBE $T",
            "SELECT * FROM $T ORDER BY id",
            "SELECT id, point.x, deep.a.b FROM $T WHERE point.\"y y\" > 1000 AND visits IS NOT NULL ORDER BY id",
            "SELECT count(*), count(tags), count(point.x), sum(point.\"y y\"), count(deep.a.b.c) FROM $T",
            "SELECT point, tags, count(*) FROM $T GROUP BY point, tags ORDER BY ALL",
            "SELECT count(*) FROM (SELECT DISTINCT visits, grid FROM $T)",
            "SELECT a.id, b.point FROM $T a JOIN $T b ON a.point = b.point WHERE a.id % 50 = 7 ORDER BY ALL",
        ] {
            for format in ["jsonl", "table", "csv"] {
                assert_eq!(query(sql, &file, format), query(sql, &parquet, format), "{name}: {sql}");
            }
        }
    }
    // Nested values in JSON are values of JSON.
    let row = query("SELECT id, tags, visits FROM $T WHERE id = 2", &parquet, "jsonl");
    let expected = concat!(
        "{\"id\":2,\"tags\":[\"tag 0\",\"tag 1\"],\"visits\":[{\"page\":\"grüße 🦀\",\"day\":\"1990-01-27\",",
        "\"clicks\":[2,1]},{\"page\":\"line\\nline\",\"day\":null,\"clicks\":[3,2,null]}]}\n"
    );
    assert_eq!(row, expected);
    let row = query("SELECT tags, point FROM $T WHERE id = 2", &parquet, "csv");
    assert_eq!(row.trim_end(), "tags,point\n\"['tag 0', 'tag 1']\",\"{x: -19.26, \"\"y y\"\": 15738}\"");
}

#[test]
fn every_compression_is_read_by_others_and_gives_the_rows_back() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let (files, lone, back) =
        (directory(home.path(), "files"), directory(home.path(), "lone"), directory(home.path(), "back"));
    python("write", &files);
    let parquet = files.join("pyarrow.parquet");
    let schema = home.path().join("t.sql");
    fs::write(&schema, done(["schema".as_ref(), parquet.as_os_str()])).expect("it can be written");
    let text = |path: &Path| path.to_string_lossy().into_owned();
    for encoding in ENCODINGS {
        for (compression, suffix) in [
            ("none", ""),
            ("gzip", ".gz"),
            ("zlib", ".zz"),
            ("snappy", ".sz"),
            ("lz4", ".lz4"),
            ("zstd", ".zst"),
        ] {
            let convert = |from: &Path, to: &Path, more: &[&str]| {
                done([&["convert", &text(from), &text(to), "--no-progress", "--verify"], more].concat());
            };
            // With the types of a manifest, of a schema, and with those that are inferred.
            let dataset = home.path().join(format!("{encoding}-{compression}"));
            convert(&parquet, &dataset, &["--to", encoding, "--compression", compression]);
            convert(&dataset, &back.join(format!("dataset-{encoding}-{compression}.parquet")), &[]);
            let file = home.path().join(format!("t.{encoding}{suffix}"));
            convert(&parquet, &file, &["--compression", compression]);
            let given = format!("t={}", schema.display());
            convert(
                &file,
                &back.join(format!("given-{encoding}-{compression}.parquet")),
                &["--schema", &given],
            );
            if encoding == "jsonl" {
                convert(&file, &back.join(format!("inferred-{compression}.parquet")), &[]);
            }
            if compression == "none" || (encoding == "jsonl" && ["gzip", "zstd"].contains(&compression)) {
                fs::copy(&file, lone.join(format!("t.{encoding}{suffix}"))).expect("it can be copied");
            }
            let counted = "SELECT count(*), count(point.x), count(visits) FROM $T";
            assert_eq!(query(counted, &dataset, "jsonl"), query(counted, &parquet, "jsonl"));
        }
    }
    python("check", &lone);
    python("check", &back);
}

#[test]
fn encodings_without_nested_columns_name_the_column() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let lines = home.path().join("t.jsonl");
    fs::write(&lines, "{\"n\":1,\"s\":{\"a\":[1]}}\n").expect("it can be written");
    for suffix in ["csv", "bincode", "protobuf", "capnproto"] {
        let to = home.path().join(format!("t.{suffix}"));
        let done = palais(["convert".as_ref(), lines.as_os_str(), to.as_os_str()]);
        assert_eq!(done.code(), Some(1), "{suffix}: {}", done.stderr);
        let named = "column 's': STRUCT(a BIGINT[]) has no form";
        assert!(
            done.stderr.contains(named) && done.stderr.contains("write jsonl, "),
            "{suffix}: {}",
            done.stderr
        );
        assert!(!to.exists(), "{suffix}");
    }
}

#[test]
fn a_bad_value_within_is_named_and_passed_over() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let (lines, schema) = (home.path().join("t.jsonl"), home.path().join("t.sql"));
    fs::write(&schema, "CREATE TABLE t (n INT, s STRUCT(a INT[]))").expect("it can be written");
    let text = "{\"n\":1,\"s\":{\"a\":[1,2]}}\n{\"n\":2,\"s\":{\"a\":[1,\"x\"]}}\n{\"n\":3}\n";
    fs::write(&lines, text).expect("it can be written");
    let (table, schema) = (format!("t={}", lines.display()), format!("t={}", schema.display()));
    let flags = ["--table", &table, "--schema", &schema, "--format", "csv"];
    let read = |on_error: &str| {
        palais([&["query", "SELECT n, s.a FROM t"][..], &flags, &["--on-error", on_error]].concat())
    };
    let failed = read("fail");
    assert_eq!(failed.code(), Some(1));
    let place = "t.jsonl, row 2, byte 43, column s.a[]: expected a whole number of 32 bits, found '\"x\"'";
    assert!(failed.stderr.contains(place), "{}", failed.stderr);
    let null = read("null");
    assert_eq!(null.stdout, "n,a\n1,\"[1, 2]\"\n2,\n3,\n");
    assert!(null.stderr.contains("1 value"), "{}", null.stderr);
    let skip = read("skip");
    assert_eq!(skip.stdout, "n,a\n1,\"[1, 2]\"\n3,\n");
    assert!(skip.stderr.contains("1 row"), "{}", skip.stderr);
}

/// Structs of which one is NULL, with something in its field all the same: not nullable in Parquet, any value in Arrow.
const HIDDEN: &str = "
import sys, pyarrow as pa, pyarrow.parquet as pq
home = sys.argv[1]
required = pa.struct([pa.field('a', pa.int64(), nullable=False)])
pq.write_table(pa.table({'id': [1, 2, 3], 's': pa.array([{'a': 5}, None, {'a': 7}], required)}), home + '/s.parquet')
hidden = pa.StructArray.from_arrays([pa.array([5, 99, 7])], ['a'], mask=pa.array([False, True, False]))
table = pa.table({'id': [1, 2, 3], 's': hidden})
with pa.ipc.new_file(home + '/s.arrow', table.schema) as out:
    out.write_table(table)
";

#[test]
fn a_field_of_a_struct_that_is_null_is_null() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let python = std::env::var("PALAIS_PYTHON").unwrap_or_else(|_| ".venv/bin/python".into());
    let made = run(Command::new(python).args(["-c", HIDDEN]).arg(home.path()));
    assert_eq!(made.code(), Some(0), "{}", made.stderr);
    fs::write(
        home.path().join("s.jsonl"),
        "{\"id\":1,\"s\":{\"a\":5}}\n{\"id\":2}\n{\"id\":3,\"s\":{\"a\":7}}\n",
    )
    .expect("it can be written");
    for name in ["s.parquet", "s.arrow", "s.jsonl"] {
        let path = home.path().join(name);
        let rows = |sql: &str| query(sql, &path, "csv");
        assert_eq!(
            rows("SELECT id, s.a AS a, s.a IS NULL AS n FROM $T ORDER BY id"),
            "id,a,n\n1,5,false\n2,,true\n3,7,false\n"
        );
        assert_eq!(rows("SELECT count(s.a) AS c, sum(s.a) AS s FROM $T"), "c,s\n2,12\n", "{name}");
        assert_eq!(rows("SELECT id FROM $T WHERE s.a IS NULL"), "id\n2\n", "{name}");
        assert_eq!(rows("SELECT id FROM $T WHERE coalesce(s.a, 7) = 7 ORDER BY id"), "id\n2\n3\n", "{name}");
        let computed =
            "SELECT id, c.a AS a FROM (SELECT id, CASE WHEN id = 1 THEN s END AS c FROM $T) q ORDER BY id";
        assert_eq!(rows(computed), "id,a\n1,5\n2,\n3,\n", "{name}");
    }
}

#[test]
fn functions_of_text_refuse_what_is_nested() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = home.path().join("l.jsonl");
    fs::write(&path, "{\"l\":[2]}\n{\"l\":[2,3]}\n").expect("it can be written");
    for call in ["upper(l)", "trim(l)", "replace(l, 'x', 'y')"] {
        let done = palais(["query", &format!("SELECT {call} FROM '{}'", path.display())]);
        assert_eq!(done.code(), Some(1), "{call}: {}", done.stdout);
        assert!(done.stderr.contains("of a list, struct or map"), "{call}: {}", done.stderr);
    }
    assert_eq!(query("SELECT length(CAST(l AS VARCHAR)) AS n FROM $T", &path, "csv"), "n\n3\n6\n");
}

#[test]
fn computed_maps_and_structs_are_values_of_json() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = home.path().join("rows.jsonl");
    fs::write(&path, "{\"k\":\"a\",\"n\":1}\n{\"k\":\"b\",\"n\":2}\n").expect("it can be written");
    let sql = "SELECT MAP {k: [n]} AS m, struct_pack(k, twice := n * 2) AS s, list_sum([n, 10]) AS x FROM $T";
    assert_eq!(
        query(sql, &path, "jsonl"),
        "{\"m\":{\"a\":[1]},\"s\":{\"k\":\"a\",\"twice\":2},\"x\":11}\n\
         {\"m\":{\"b\":[2]},\"s\":{\"k\":\"b\",\"twice\":4},\"x\":12}\n"
    );
    // Maps of a file have the functions of those that are computed.
    let written = home.path().join("maps.parquet");
    done([
        "query",
        &format!("COPY ({}) TO '{}'", sql.replace("$T", &format!("'{}'", path.display())), written.display()),
    ]);
    let sql = "SELECT m['a'] AS a, map_keys(m) AS keys, map_concat(m, MAP {'z': [0]}) AS more FROM $T";
    assert_eq!(
        query(sql, &written, "jsonl"),
        "{\"a\":[1],\"keys\":[\"a\"],\"more\":{\"a\":[1],\"z\":[0]}}\n\
         {\"a\":null,\"keys\":[\"b\"],\"more\":{\"b\":[2],\"z\":[0]}}\n"
    );
}
