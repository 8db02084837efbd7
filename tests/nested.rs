//! Lists and structs through the real binary: what pyarrow, DuckDB, msgpack and cbor2 write is read with the same types
//! and answers, and what palais writes in every compression they read.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
fn lists_of_parquet_are_read_as_they_were_written() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let python = std::env::var("PALAIS_PYTHON").unwrap_or_else(|_| ".venv/bin/python".into());
    let made =
        run(Command::new(python).args(["-B", "tests/interop/lists.py"]).arg(home.path()).args(["1", "60"]));
    assert_eq!(made.code(), Some(0), "{}", made.stderr);
    for number in 0..60 {
        let file = home.path().join(format!("{number}.parquet"));
        let expected = fs::read_to_string(file.with_extension("jsonl")).expect("it was written");
        let rows = query("SELECT * FROM $T ORDER BY k", &file, "jsonl");
        assert!(rows == expected, "file {number} of seed 1 differs");
    }
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

/// Messages in protoc's text form, as bytes of the message `name`, each behind its length.
fn messages(home: &Path, proto: &str, name: &str, texts: &[&str]) -> Vec<u8> {
    let of = |text: &&str| {
        let mut protoc = Command::new("protoc");
        protoc
            .arg(format!("--proto_path={}", home.display()))
            .args([format!("--encode={name}"), proto.into()]);
        let mut child = protoc
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("protoc is there (`make others` installs it)");
        child.stdin.take().expect("it is piped").write_all(text.as_bytes()).expect("it takes the text");
        let done = child.wait_with_output().expect("protoc ends");
        assert!(done.status.success(), "{text}");
        let mut length = done.stdout.len();
        let mut bytes = Vec::new();
        while length >= 0x80 {
            bytes.push(length as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        [bytes, done.stdout].concat()
    };
    texts.iter().flat_map(of).collect()
}

const SHOP: &str = r#"syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

message Order {
  uint64 id = 7;
  optional string note = 2;
  Kind kind = 3;
  repeated Line lines = 4;
  map<string, double> rates = 5;
  oneof paid { bool cash = 6; Card card = 8; }
  google.protobuf.Timestamp at = 9;
  google.protobuf.Int32Value points = 10;
  repeated sint32 deltas = 11;
  repeated fixed32 plain = 12 [packed = false];
  repeated Kind kinds = 13;
  bytes raw = 14;
  map<int32, Line> by_number = 15;
  float share = 300;
  enum Kind { UNKNOWN = 0; SALE = 1; GIFT = 2; }
  message Line { string sku = 1; int32 count = 2; repeated string tags = 3; Card card = 4; }
}
message Card { string number = 1; int64 year = 2; }
"#;

#[test]
fn messages_of_protoc_are_read_with_their_proto_file() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    fs::write(home.path().join("shop.proto"), SHOP).expect("it can be written");
    let full = "id: 18446744073709551615 note: '' kind: GIFT \
        lines { sku: 'a' count: -3 tags: 'x' tags: '' card { number: '1' } } lines { } \
        rates { key: 'b' value: 0.5 } card { year: 2030 } at { seconds: 1700000000 nanos: 123456789 } \
        points { } deltas: -1 deltas: 0 deltas: 2147483647 plain: 1 plain: 4294967295 \
        kinds: SALE kinds: UNKNOWN raw: '\\000\\377' by_number { key: -5 value { count: 1 } } share: 0.25";
    let file = home.path().join("orders.pb");
    let bytes = messages(home.path(), "shop.proto", "shop.v1.Order", &[full, "", "cash: false id: 1"]);
    fs::write(&file, bytes).expect("it can be written");
    let schema = format!("o={}#Order", home.path().join("shop.proto").display());
    let table = format!("o={}", file.display());
    let rows = |sql: &str, more: &[&str]| {
        done(
            [&["query", sql, "--table", &table, "--schema", &schema, "--format", "jsonl"][..], more].concat(),
        )
    };
    let empty = "\"rates\":{},\"cash\":CASH,\"card\":null,\"at\":null,\"points\":null,\"deltas\":[],\"plain\":[],\
         \"kinds\":[],\"raw\":\"\\\\x\",\"by_number\":{},\"share\":0.0}\n";
    let start = |id: u8| format!("{{\"id\":{id},\"note\":null,\"kind\":\"UNKNOWN\",\"lines\":[],");
    let expected = [
        "{\"id\":18446744073709551615,\"note\":\"\",\"kind\":\"GIFT\",\
         \"lines\":[{\"sku\":\"a\",\"count\":-3,\"tags\":[\"x\",\"\"],\"card\":{\"number\":\"1\",\"year\":0}},\
         {\"sku\":\"\",\"count\":0,\"tags\":[],\"card\":null}],\"rates\":{\"b\":0.5},\"cash\":null,\
         \"card\":{\"number\":\"\",\"year\":2030},\"at\":\"2023-11-14T22:13:20.123456789Z\",\"points\":0,\
         \"deltas\":[-1,0,2147483647],\"plain\":[1,4294967295],\"kinds\":[\"SALE\",\"UNKNOWN\"],\
         \"raw\":\"\\\\x00ff\",\"by_number\":{\"-5\":{\"sku\":\"\",\"count\":1,\"tags\":[],\"card\":null}},\
         \"share\":0.25}\n",
        &(start(0) + &empty.replace("CASH", "null")),
        &(start(1) + &empty.replace("CASH", "false")),
    ]
    .concat();
    assert_eq!(rows("SELECT * FROM o", &[]), expected);
    assert_eq!(rows("SELECT count(*) AS n FROM o", &["--workers", "2"]), "{\"n\":3}\n");
    let sql = "SELECT lines[1].card.number AS c, points FROM o WHERE kind = 'GIFT'";
    let cluster = ["cluster", "run", "--local", "2", "--workers", "1", sql, "--format", "jsonl"];
    let flags = ["--table", &table, "--schema", &schema];
    assert_eq!(done([&cluster[..], &flags].concat()), "{\"c\":\"1\",\"points\":0}\n");
    let types = rows("SELECT column_name, column_type FROM (DESCRIBE o) LIMIT 4", &[]);
    assert!(types.contains("STRUCT(sku VARCHAR, count INT, tags VARCHAR[], card STRUCT("), "{types}");
    // What was read is written with all its values by formats that hold them.
    let parquet = home.path().join("orders.parquet");
    let convert =
        ["convert", &file.to_string_lossy(), &parquet.to_string_lossy(), "--schema", &schema, "--verify"]
            .map(str::to_string);
    done(convert);
    assert_eq!(query("SELECT * FROM $T", &parquet, "jsonl"), expected);
}

#[test]
fn proto2_messages_keep_their_presence() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let proto = "syntax = \"proto2\";\nmessage Row {\n  required int32 r = 1;\n  optional int32 o = 2 [default = 7];\n  \
                 repeated int32 l = 3;\n  repeated int32 p = 4 [packed = true];\n  extensions 100 to 200;\n}\n";
    fs::write(home.path().join("row.proto"), proto).expect("it can be written");
    let bytes = messages(home.path(), "row.proto", "Row", &["r: 0 l: 1 l: 2 p: 3 p: 4", "r: 5 o: 0"]);
    fs::write(home.path().join("t.pb"), bytes).expect("it can be written");
    let path = home.path().join("t.pb");
    let schema = format!("{}={}", path.display(), home.path().join("row.proto").display());
    let rows =
        done(["query", &format!("FROM '{}'", path.display()), "--schema", &schema, "--format", "jsonl"]);
    assert_eq!(rows, "{\"r\":0,\"o\":null,\"l\":[1,2],\"p\":[3,4]}\n{\"r\":5,\"o\":0,\"l\":[],\"p\":[]}\n");
}

#[test]
fn a_proto_file_that_does_not_fit_is_told() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let write = |name: &str, bytes: &[u8]| {
        fs::write(home.path().join(name), bytes).expect("it can be written");
        home.path().join(name).display().to_string()
    };
    let (csv, data) = (write("t.csv", b"a\n1\n"), write("t.pb", b"\x02\x08\x01\x03\x0a\x01x\x02\x08\x03"));
    let proto = write("m.proto", b"syntax = \"proto3\"; message M { int32 a = 1; } message N { M m = 1; }");
    let bad = write("bad.proto", b"syntax = \"proto3\";\nmessage M { int32 = 1; }");
    let refused = |path: &str, schema: &str, parts: &[&str]| {
        let flag = format!("{path}={schema}");
        let done = palais(["query", &format!("FROM '{path}'"), "--schema", &flag]);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
        parts.iter().for_each(|part| assert!(done.stderr.contains(part), "{part}: {}", done.stderr));
    };
    refused(
        &csv,
        &format!("{proto}#M"),
        &["t.csv", "a .proto file is a schema of protobuf alone", "--from protobuf"],
    );
    refused(&data, &proto, &["m.proto", "several messages (M, N)", "#M"]);
    refused(&data, &format!("{proto}#X"), &["no message 'X'; it has M, N"]);
    refused(&data, &bad, &["bad.proto", "line 2, column 19"]);
    refused(
        &data,
        &format!("{proto}#M"),
        &["t.pb, row 2, byte 3", "field 1 has the wire type 2, and 'a' has 0"],
    );
    let flag = format!("{data}={proto}#M");
    let skip = palais([
        "query",
        &format!("FROM '{data}'"),
        "--schema",
        &flag,
        "--on-error",
        "skip",
        "--format",
        "csv",
    ]);
    assert_eq!((skip.code(), skip.stdout.as_str()), (Some(0), "a\n1\n3\n"), "{}", skip.stderr);
    assert!(skip.stderr.contains("1 row"), "{}", skip.stderr);
    // Without its numbers a struct of a message can't be read.
    let nested = write("n.sql", b"CREATE TABLE t (s STRUCT(a INT) NULL)");
    refused(&data, &nested, &["column 's'", "STRUCT(a INT) are not known", "--schema NAME=FILE.proto"]);
}

const CAPNP: &str = r#"@0xb5e8f0b1c2d3e4f5;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("shop");

struct Order {
  id @0 :UInt64;
  note @1 :Text;
  kind @2 :Kind = sale;
  lines @3 :List(Line);
  place :group { x @4 :Float64; y @5 :Float32; }
  union { cash @6 :Void; card @7 :Card; }
  deltas @8 :List(Int16);
  open @9 :Bool = true;
  raw @10 :Data;
  any @11 :AnyPointer;
  points :union { null @12 :Void; value @13 :Int32; }
  enum Kind { unknown @0; sale @1; gift @2; }
  struct Line { sku @0 :Text; count @1 :Int32; tags @2 :List(Text); }
}
struct Card { number @0 :Text; year @1 :Int64; }
"#;

/// Messages in the text form of Cap'n Proto's tool, as the bytes that it makes of them.
fn structs(file: &Path, name: &str, texts: &str, options: &[&str]) -> Vec<u8> {
    let mut tool = Command::new("capnp");
    tool.arg("encode").args(options).arg(file).arg(name).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = tool.spawn().expect("capnp is there (`make others` installs it)");
    child.stdin.take().expect("it is piped").write_all(texts.as_bytes()).expect("it takes the text");
    let done = child.wait_with_output().expect("capnp ends");
    assert!(done.status.success(), "{texts}");
    done.stdout
}

#[test]
fn structs_of_capnp_are_read_with_their_capnp_file() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let file = home.path().join("shop.capnp");
    fs::write(&file, CAPNP).expect("it can be written");
    let texts = r#"(id = 18446744073709551615, note = "", kind = gift, lines = [(sku = "a", count = -3, tags = ["x", ""]), ()],
         place = (x = 0.5, y = -1), card = (year = 2030), deltas = [-1, 32767], open = false, raw = "\x00\xff", points = (value = 7))
        ()
        (id = 1, cash = void, card = (number = "1"))"#;
    let expected = "{\"id\":18446744073709551615,\"note\":\"\",\"kind\":\"gift\",\
         \"lines\":[{\"sku\":\"a\",\"count\":-3,\"tags\":[\"x\",\"\"]},{\"sku\":null,\"count\":0,\"tags\":null}],\
         \"place\":{\"x\":0.5,\"y\":-1.0},\"cash\":null,\"card\":{\"number\":null,\"year\":2030},\
         \"deltas\":[-1,32767],\"open\":false,\"raw\":\"\\\\x00ff\",\"points\":7}\n\
         {\"id\":0,\"note\":null,\"kind\":\"sale\",\"lines\":null,\"place\":{\"x\":0.0,\"y\":0.0},\"cash\":true,\
         \"card\":null,\"deltas\":null,\"open\":true,\"raw\":null,\"points\":null}\n\
         {\"id\":1,\"note\":null,\"kind\":\"sale\",\"lines\":null,\"place\":{\"x\":0.0,\"y\":0.0},\"cash\":null,\
         \"card\":{\"number\":\"1\",\"year\":0},\"deltas\":null,\"open\":true,\"raw\":null,\"points\":null}\n";
    for (name, options) in [("orders.capnproto", &[][..]), ("orders.capnproto-packed", &["--packed"])] {
        let path = home.path().join(name);
        fs::write(&path, structs(&file, "Order", texts, options)).expect("it can be written");
        let schema = format!("o={}#Order", file.display());
        let table = format!("o={}", path.display());
        let flags = ["--table", &table, "--schema", &schema, "--format", "jsonl"];
        let rows = |sql: &str, more: &[&str]| done([&["query", sql][..], &flags, more].concat());
        assert_eq!(rows("SELECT * FROM o", &[]), expected);
        assert_eq!(rows("SELECT count(*) AS n FROM o", &["--workers", "2"]), "{\"n\":3}\n");
        let sql = "SELECT lines[1].sku AS s, card.year FROM o WHERE kind = 'gift'";
        let cluster = ["cluster", "run", "--local", "2", "--workers", "1", sql];
        assert_eq!(done([&cluster[..], &flags].concat()), "{\"s\":\"a\",\"year\":2030}\n");
        // What was read is written with all its values by formats that hold them.
        let parquet = home.path().join("orders.parquet").display().to_string();
        let convert =
            ["convert", &path.to_string_lossy(), &parquet, "--schema", &schema, "--verify", "--overwrite"]
                .map(str::to_string);
        done(convert);
        assert_eq!(query("SELECT * FROM $T", Path::new(&parquet), "jsonl"), expected);
    }
}

#[test]
fn a_capnp_file_that_does_not_fit_is_told() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let write = |name: &str, bytes: &[u8]| {
        fs::write(home.path().join(name), bytes).expect("it can be written");
        home.path().join(name).display().to_string()
    };
    let file =
        write("m.capnp", b"@0xb5e8f0b1c2d3e4f5; struct M { a @0 :Text; } struct N { m @0 :M; n @1 :Int8; }");
    let bad = write("bad.capnp", b"struct M {\n  a @0 Int32;\n}");
    let (csv, pb) = (write("t.csv", b"a\n1\n"), write("t.pb", b"\x02\x08\x01"));
    let structs = structs(Path::new(&file), "N", "(n = 5) (n = 6, m = (a = \"x\"))", &[]);
    let data = write("t.capnproto", &structs);
    let refused = |path: &str, schema: &str, parts: &[&str]| {
        let flag = format!("{path}={schema}");
        let done = palais(["query", &format!("FROM '{path}'"), "--schema", &flag]);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
        parts.iter().for_each(|part| assert!(done.stderr.contains(part), "{part}: {}", done.stderr));
    };
    for path in [&csv, &pb] {
        let parts = ["a .capnp file is a schema of capnproto alone", "--from capnproto"];
        refused(path, &format!("{file}#M"), &parts);
    }
    refused(&data, &file, &["m.capnp", "several structs (M, N)", "FILE.capnp#M"]);
    refused(&data, &format!("{file}#X"), &["no struct 'X'; it has M, N"]);
    refused(&data, &bad, &["bad.capnp", "line 2, column 8: expected ':'"]);
    // The second row has a struct where M has a text.
    refused(&data, &format!("{file}#M"), &["t.capnproto, row 2, byte 32", "'a'", "neither text nor data"]);
    let flag = format!("{data}={file}#M");
    let sql = format!("FROM '{data}'");
    let skip = palais(["query", &sql, "--schema", &flag, "--on-error", "skip", "--format", "csv"]);
    assert_eq!((skip.code(), skip.stdout.as_str()), (Some(0), "a\n\n"), "{}", skip.stderr);
    assert!(skip.stderr.contains("1 row"), "{}", skip.stderr);
}
