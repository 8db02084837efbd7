//! MessagePack and CBOR in the shapes in which other programs write them.

use std::sync::Arc;

use arrow_array::RecordBatch;
use formats::Result;
use formats::discover::{OpenOptions, SchemaChoice, open_path};
use formats::reader::Driver;
use formats::registry::format;
use schema::text::{ddl, types::sql_name};
use schema::{FormatOptions, Source, Table};

use crate::common::*;

/// Opens a file of these bytes, whose columns are inferred or given.
fn opened(encoding: &str, bytes: &[u8], columns: Option<&str>) -> Result<(TempFile, Table)> {
    let file = TempFile::new(bytes);
    let given = columns.map(|text| ddl::parse(&format!("CREATE TABLE t ({text})")).unwrap().remove(0).1);
    let options = OpenOptions {
        encoding: Some(encoding.into()),
        schema: given.map(|schema| SchemaChoice::Given(Arc::new(schema))),
        ..OpenOptions::default()
    };
    let table = open_path(file.path(), "t", &options)?;
    Ok((file, table))
}

/// The columns of a table, and its rows as JSON lines.
fn shown(table: &Table) -> Result<(String, String)> {
    let Source::Files(set) = &table.source else { panic!("a table of files") };
    let wanted = scan(&table.schema, &set.format);
    let format = format(&set.format.encoding)?;
    let mut rows: Vec<RecordBatch> = Vec::new();
    for file in &set.files {
        for morsel in format.split(&Arc::new(file.clone()), &wanted, 1 << 20)? {
            let reader = format.reader(&morsel, &wanted)?;
            for batch in Driver::open(&morsel, reader)? {
                rows.push(batch?);
            }
        }
    }
    let columns = table.schema.fields().iter();
    let columns = columns.map(|field| format!("{} {}", field.name(), sql_name(field.data_type()).unwrap()));
    let text = write(&table.schema, &rows, &options("jsonl"))?;
    Ok((columns.collect::<Vec<_>>().join(", "), String::from_utf8(text).unwrap().replace('\n', " ")))
}

fn check(encoding: &str, bytes: &[u8], columns: &str, rows: &str) {
    let (_file, table) = opened(encoding, bytes, None).unwrap_or_else(|e| panic!("{bytes:02x?}: {e}"));
    let (found, text) = shown(&table).unwrap_or_else(|e| panic!("{bytes:02x?}: {e}"));
    assert_eq!((&*found, text.trim_end()), (columns, rows), "{encoding} {bytes:02x?}");
}

fn fails(encoding: &str, bytes: &[u8], columns: Option<&str>, part: &str) {
    let found = opened(encoding, bytes, columns).and_then(|(_file, table)| shown(&table));
    let error = found.map(|(_, rows)| panic!("{bytes:02x?} is {rows}")).unwrap_or_else(|e| e.to_string());
    assert!(error.contains(part), "'{part}' is not in: {error}");
}

#[test]
fn rows_may_lie_in_one_array() {
    let two = (r#"a BIGINT, b VARCHAR"#, r#"{"a":1,"b":"x"} {"a":2,"b":null}"#);
    check("msgpack", b"\x92\x82\xa1a\x01\xa1b\xa1x\x81\xa1a\x02", two.0, two.1);
    check("cbor", b"\x82\xa2\x61a\x01\x61b\x61x\xa1\x61a\x02", two.0, two.1);
    check(
        "cbor",
        b"\x9f\xbf\x61b\x61x\x61a\x01\xff\xa1\x61a\x02\xff",
        "b VARCHAR, a BIGINT",
        r#"{"b":"x","a":1} {"b":null,"a":2}"#,
    );
    check("cbor", b"\xd9\xd9\xf7\x82\xd9\xd9\xf7\xa2\x61a\x01\x61b\x61x\xa1\x61a\x02", two.0, two.1);
    let places =
        ("column1 BIGINT, column2 VARCHAR", r#"{"column1":1,"column2":"x"} {"column1":2,"column2":null}"#);
    check("msgpack", b"\x92\x92\x01\xa1x\x92\x02\xc0", places.0, places.1);
    check("cbor", b"\x82\x82\x01\x61x\x82\x02\xf6", places.0, places.1);
    check("msgpack", b"\x91\x81\xa1a\x01", "a BIGINT", r#"{"a":1}"#);
    // One after another, each behind a tag.
    check("cbor", b"\xd9\xd9\xf7\xa1\x61a\x01\xd9\xd9\xf7\xa1\x61a\x02", "a BIGINT", r#"{"a":1} {"a":2}"#);
    check("cbor", b"\xd9\xd9\xf7\x81\x01\x81\x02", "column1 BIGINT", r#"{"column1":1} {"column1":2}"#);
    // What follows the first array makes rows of both.
    let lists = ("column1 BIGINT[]", r#"{"column1":[1]} {"column1":[2]}"#);
    check("msgpack", b"\x91\x91\x01\x91\x91\x02", lists.0, lists.1);
    let mixed = ("column1 STRUCT(a BIGINT), column2 BIGINT", r#"{"column1":{"a":1},"column2":2}"#);
    check("msgpack", b"\x92\x81\xa1a\x01\x02", mixed.0, mixed.1);
    fails("msgpack", b"\x90", None, "no columns");
}

#[test]
fn an_array_of_all_rows_ends_where_it_says() {
    let rows = b"\x93\x81\xa1a\x01\x81\xa1a\x02\x81\xa1a\x03";
    for cut in 1..rows.len() {
        assert!(opened("msgpack", &rows[..cut], None).and_then(|(_f, t)| shown(&t)).is_err(), "{cut}");
    }
    let endless = b"\x9f\xa1\x61a\x01\xa1\x61a\x02\xff";
    for cut in 1..endless.len() {
        assert!(opened("cbor", &endless[..cut], None).and_then(|(_f, t)| shown(&t)).is_err(), "{cut}");
    }
    // A row whose first value is longer than what is looked at is a row.
    let long = [&b"\x92\xc6\x00\x02\x00\x00"[..], &[7; 0x20000], b"\x05"].concat();
    let (_file, table) = opened("msgpack", &long, None).unwrap();
    assert_eq!(table.schema.fields().len(), 2);
    // More than is looked at.
    let row = [&b"\x81\xa1a\xc5\x40\x00"[..], &[7; 0x4000]].concat();
    let mut many = [&b"\xdc\x01\x00"[..], &row.repeat(256)].concat();
    let (_file, table) = opened("msgpack", &many, None).unwrap();
    assert_eq!(shown(&table).unwrap().1.matches("\"a\"").count(), 256);
    many.push(5);
    fails("msgpack", &many, None, "something follows the array");
    many.truncate(many.len() - 2);
    fails("msgpack", &many, None, "not whole");
}

#[test]
fn columns_that_are_given_tell_an_array_of_rows_from_a_row() {
    let one = b"\x91\x81\xa1a\x01";
    let rows = |bytes: &[u8], columns| shown(&opened("msgpack", bytes, Some(columns)).unwrap().1).unwrap().1;
    assert_eq!(rows(one, "a BIGINT"), "{\"a\":1} ");
    assert_eq!(rows(one, "a VARCHAR"), "{\"a\":\"1\"} ", "the maps have the column's name");
    assert_eq!(rows(one, "s STRUCT(a BIGINT)"), "{\"s\":{\"a\":1}} ");
    assert_eq!(rows(one, "s VARCHAR"), "{\"s\":\"{\\\"a\\\":1}\"} ");
    let square = b"\x92\x92\x01\x02\x92\x03\x04";
    assert_eq!(rows(square, "x BIGINT, y BIGINT"), "{\"x\":1,\"y\":2} {\"x\":3,\"y\":4} ");
    assert_eq!(rows(square, "x BIGINT[], y BIGINT[]"), "{\"x\":[1,2],\"y\":[3,4]} ");
    // A file of the table whose rows lie otherwise than those of the first.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("1.msgpack"), b"\x81\xa1a\x01").unwrap();
    std::fs::write(dir.path().join("2.msgpack"), b"\x93\x81\xa1a\x01\x81\xa1a\x02\x81\xa1a\x03").unwrap();
    let table = open_path(dir.path(), "t", &OpenOptions::default());
    assert!(table.and_then(|table| shown(&table)).is_err());
    std::fs::write(dir.path().join("1.msgpack"), b"\x91\x81\xa1a\x07").unwrap();
    let table = open_path(dir.path(), "t", &OpenOptions::default()).unwrap();
    assert_eq!(shown(&table).unwrap().1, "{\"a\":7} {\"a\":1} {\"a\":2} {\"a\":3} ");
}

#[test]
fn keys_of_any_kind_are_names() {
    let row = (
        "1 BIGINT, -2 BIGINT, true BIGINT, ab BIGINT, null BIGINT",
        r#"{"1":5,"-2":6,"true":7,"ab":8,"null":9}"#,
    );
    check("cbor", b"\xa5\x01\x05\x21\x06\xf5\x07\x7f\x61a\x61b\xff\x08\xf6\x09", row.0, row.1);
    check("msgpack", b"\x82\x01\x05\xe0\x06", "1 BIGINT, -32 BIGINT", r#"{"1":5,"-32":6}"#);
    check("msgpack", b"\x81\xa1\xff\x05", "\u{fffd} BIGINT", "{\"\u{fffd}\":5}");
    check("cbor", b"\xa1\x61s\xa1\x7f\x61a\x61b\xff\x01", "s STRUCT(ab BIGINT)", r#"{"s":{"ab":1}}"#);
}

#[test]
fn inferred_types_read_the_values_that_they_were_inferred_from() {
    let column = |encoding: &str, values: &[&[u8]], data_type: &str, expected: &str| {
        let key: &[u8] = if encoding == "cbor" { b"\xa1\x61v" } else { b"\x81\xa1v" };
        let bytes = values.iter().map(|value| [key, value].concat()).collect::<Vec<_>>().concat();
        let rows = expected.split(' ').map(|value| format!("{{\"v\":{value}}}")).collect::<Vec<_>>();
        check(encoding, &bytes, &format!("v {data_type}"), &rows.join(" "));
    };
    // Decimals: 273.15, 1.5, -0.001, 12e3.
    let (a, b, c, d) = (
        &b"\xc4\x82\x21\x19\x6a\xb3"[..],
        &b"\xc4\x82\x20\x0f"[..],
        &b"\xc4\x82\x22\x20"[..],
        &b"\xc4\x82\x03\x0c"[..],
    );
    column("cbor", &[a, b], "DECIMAL(38, 2)", "273.15 1.50");
    column("cbor", &[a, c, d, b"\x07"], "DECIMAL(38, 3)", "273.150 -0.001 12000.000 7.000");
    column("cbor", &[a, b"\xf9\x3e\x00"], "DOUBLE", "273.15 1.5");
    column("cbor", &[a, b"\x61x"], "VARCHAR", r#""273.15" "x""#);
    // 1e-40 and 1e40 together have more digits than any decimal.
    let (small, large) = (&b"\xc4\x82\x38\x27\x01"[..], &b"\xc4\x82\x18\x28\x01"[..]);
    let zeros = "0".repeat(39);
    column("cbor", &[small, large], "VARCHAR", &format!(r#""0.{zeros}1" "10{zeros}""#));
    column("cbor", &[small], "DECIMAL(76, 40)", &format!("0.{zeros}1"));
    column("cbor", &[b"\xc4\x82\x19\x03\xe8\x01"], "VARCHAR", r#""1e1000""#);
    // Numbers of base 2: 1.5, -6, and one that is no float.
    column("cbor", &[b"\xc5\x82\x20\x03", b"\xc5\x82\x01\x22"], "DOUBLE", "1.5 -6.0");
    // Whole numbers of any size.
    let huge = [&b"\xc2\x58\x20"[..], &[0xff; 32]].concat();
    column(
        "cbor",
        &[&huge, b"\x01"],
        "VARCHAR",
        r#""115792089237316195423570985008687907853269984665640564039457584007913129639935" "1""#,
    );
    column(
        "cbor",
        &[b"\xc2\x49\x01\0\0\0\0\0\0\0\0", b"\xf9\x3e\x00"],
        "DOUBLE",
        "1.8446744073709552e+19 1.5",
    );
    column(
        "cbor",
        &[b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff", b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff"],
        "DECIMAL(38, 0)",
        "18446744073709551615 -18446744073709551616",
    );
    // Bytes beside others.
    column("msgpack", &[b"\xc4\x01\xff", b"\xa1x"], "BLOB", r#""\\xff" "\\x78""#);
    column("msgpack", &[b"\xc4\x01y", b"\x05"], "VARCHAR", r#""y" "5""#);
    column("cbor", &[b"\x5f\x41a\x41b\xff"], "BLOB", r#""\\x6162""#);
    // Extensions, simple values, undefined.
    column("msgpack", &[b"\xd4\x05\x01", b"\x07"], "VARCHAR", r#""{\"type\":5,\"data\":\"\\\\x01\"}" "7""#);
    column("cbor", &[b"\xe5", b"\xf7"], "VARCHAR", r#""simple(5)" null"#);
    // Moments: of nanoseconds, and beyond those.
    let (fine, far) =
        (&b"\xd7\xff\0\0\0\x04\0\0\0\x01"[..], &b"\xc7\x0c\xff\0\0\0\0\x00\x00\x00\x3a\xfe\x13\x0e\x00"[..]);
    column("msgpack", &[fine], "TIMESTAMP(9) WITH TIME ZONE", r#""1970-01-01T00:00:01.000000001Z""#);
    let far_text = r#""1970-01-01T00:00:01.000000001Z" "9999-01-01T00:00:00Z""#;
    column("msgpack", &[fine, far], "VARCHAR", far_text);
    // UUIDs.
    let uuid = [&b"\xd8\x25\x50"[..], &[0xab; 16]].concat();
    column("cbor", &[&uuid, b"\xf6"], "VARCHAR", r#""abababab-abab-abab-abab-abababababab" null"#);
    // A date and time that is none is what stands there.
    column("cbor", &[b"\xc0\x61x"], "VARCHAR", r#""x""#);
}

#[test]
fn references_to_what_stands_before_are_refused() {
    let refused = "write the file without";
    for bytes in [
        &b"\xd9\x01\x00\x82\xa1\x61a\x63abc\xa1\x61a\xd8\x19\x00"[..],
        b"\xa1\x61a\x81\xd8\x1d\x00",
        b"\xa1\x61a\xa1\x61b\x82\x01\xd8\x1d\x00",
    ] {
        fails("cbor", bytes, None, refused);
    }
    fails("cbor", b"\xa1\x61a\xc5\x82\x01\x1b\x00\x20\x00\x00\x00\x00\x00\x01", None, "no float of 64 bits");
}

#[test]
fn columns_of_one_name_are_not_written_as_maps() {
    let schema = fields(&[("a", arrow_schema::DataType::Int64), ("a", arrow_schema::DataType::Int64)]);
    for encoding in ["msgpack", "cbor"] {
        let error = write(&schema, &[], &options(encoding)).unwrap_err().to_string();
        assert!(error.contains("two columns are called 'a'"), "{error}");
        assert!(write(&schema, &[], &FormatOptions { row_arrays: true, ..options(encoding) }).is_ok());
    }
}

#[test]
fn a_key_that_is_there_twice_is_an_error() {
    fails("cbor", b"\xa2\x61a\x01\x61a\x02", None, "the key 'a' is there twice");
    fails("msgpack", b"\x82\xa1a\x01\xa1a\x02", None, "the key 'a' is there twice");
    // A number and its text are one name.
    fails("msgpack", b"\x82\x01\x05\xa11\x06", None, "the key '1' is there twice");
    fails("cbor", b"\xa1\x61s\xa2\x61a\x01\x61a\x02", None, "s");
}
