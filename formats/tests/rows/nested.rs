//! Lists, structs and maps in JSON lines, MessagePack and CBOR.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_schema::DataType;
use formats::compress::names;
use formats::registry::format;
use schema::text::{ddl, json};
use schema::{FileEntry, OnError};

use crate::common::*;
use crate::nested_tables::*;

/// The encodings that hold nested columns.
const ENCODINGS: [&str; 3] = ["jsonl", "msgpack", "cbor"];

#[test]
fn nested_columns_in_every_compression() {
    let mut random = Random(7);
    let schema = nested_types();
    for encoding in ENCODINGS {
        for compression in names() {
            let mut options = options(encoding);
            options.compression = compression.to_string();
            let batches: Vec<_> = [0, 1, 700, 12].map(|rows| random_rows(&mut random, &schema, rows)).into();
            let bytes = write(&schema, &batches, &options).unwrap();
            let (found, skipped) = read_whole(&bytes, &scan(&schema, &options)).unwrap();
            let (found, expected) = (concat(&schema, &found), concat(&schema, &batches));
            assert_eq!(skipped, Default::default());
            for (i, field) in schema.fields().iter().enumerate() {
                assert_eq!(found.column(i), expected.column(i), "{encoding} {compression} {}", field.name());
                found.column(i).to_data().validate_full().unwrap();
            }
        }
    }
}

#[test]
fn any_columns_in_pieces_and_slices_are_the_same() {
    let mut random = Random(8);
    let schema = nested_types();
    for encoding in ENCODINGS {
        let batch = random_rows(&mut random, &schema, 200);
        let options = options(encoding);
        let bytes = write(&schema, &[batch.slice(0, 3), batch.slice(3, 150), batch.slice(153, 47)], &options)
            .unwrap();
        assert_eq!(write(&schema, std::slice::from_ref(&batch), &options).unwrap(), bytes, "{encoding}");
        for _ in 0..20 {
            let mut scan = scan(&schema, &options);
            scan.projection = (0..schema.fields().len()).filter(|_| random.below(3) == 0).collect();
            scan.batch_rows = 1 + random.below(100);
            let morsels = format(encoding).unwrap().split(&entry(&bytes), &scan, 100).unwrap();
            let (found, _) = read_morsels(&bytes, &morsels, &scan).unwrap();
            let expected = batch.project(&scan.projection).unwrap();
            assert_eq!(concat(&expected.schema(), &found), expected, "{encoding} {:?}", scan.projection);
        }
    }
}

/// Reads JSON lines with the columns of a `CREATE TABLE` or Arrow's JSON form, and writes them again.
fn reread(text: &str, columns: &str, on_error: OnError) -> formats::Result<String> {
    let schema = match columns.starts_with('{') {
        true => json::parse(columns).unwrap(),
        false => ddl::parse(&format!("CREATE TABLE t ({columns})")).unwrap().remove(0).1,
    };
    let mut options = options("jsonl");
    options.on_error = on_error;
    let schema = Arc::new(schema);
    let (batches, skipped) = read_whole(text.as_bytes(), &scan(&schema, &options))?;
    batches.iter().flat_map(|b| b.columns()).for_each(|c| c.to_data().validate_full().unwrap());
    let written = write(&schema, &batches, &options)?;
    let counts = format!("{} {} {}", skipped.rows, skipped.values, skipped.replaced);
    Ok(String::from_utf8(written).unwrap() + &counts)
}

#[test]
fn foreign_objects_fit_as_rows_do() {
    let text = concat!(
        "{\"s\":{\"b\":[1,\"2\",null, 3.0],\"a\":\"x\"},\"m\":{\"k\":{\"z\":1}}}\n",
        "{\"s\":{ \"a\" : 5 , \"other\" : {\"a\":[}]\"} }, \"m\": {} }\n",
        "{\"s\":{\"a\":[1, {\"q\":2}],\"\\u0062\":[]},\"m\":null}\n",
        "{\"s\":{},\"m\":{\"a\":null,\"a\":{\"z\":\"7\"}}}\n",
        "{\"s\":null}\n",
        "{\"s\":{\"a\":\"bad \\ud800\",\"b\":[7]}}\n",
    );
    let text = text.replace("{\"a\":[}]\"}", "{\"a\":\"[}]\"}");
    let found =
        reread(&text, "s STRUCT(a VARCHAR, b BIGINT[]), m MAP(VARCHAR, STRUCT(z INT))", OnError::Null);
    let expected = concat!(
        "{\"s\":null,\"m\":{\"k\":{\"z\":1}}}\n",
        "{\"s\":{\"a\":\"5\",\"b\":null},\"m\":{}}\n",
        "{\"s\":{\"a\":\"[1, {\\\"q\\\":2}]\",\"b\":[]},\"m\":null}\n",
        "{\"s\":{\"a\":null,\"b\":null},\"m\":{\"a\":null,\"a\":{\"z\":7}}}\n",
        "{\"s\":null,\"m\":null}\n",
        "{\"s\":{\"a\":\"bad \u{fffd}\",\"b\":[7]},\"m\":null}\n",
        "0 1 1",
    );
    // `3.0` is no whole number, as in a flat column.
    assert_eq!(found.unwrap(), expected);
}

#[test]
fn a_bad_value_within_is_named_and_makes_the_whole_one_bad() {
    let columns = "n INT, s STRUCT(a INT, l STRUCT(d DATE)[])";
    let good = "{\"n\":1,\"s\":{\"a\":1,\"l\":[{\"d\":\"2020-01-01\"}]}}\n";
    let cases = [
        (
            "{\"n\":2,\"s\":{\"a\":\"x\",\"l\":[]}}\n",
            "column s.a: expected a whole number of 32 bits, found '\"x\"'",
        ),
        (
            "{\"n\":2,\"s\":{\"a\":1,\"l\":[{},{\"d\":\"2020-02-30\"},{\"d\":4}]}}\n",
            "column s.l[].d: expected a date YYYY-MM-DD, found '\"2020-02-30\"'",
        ),
        ("{\"n\":2,\"s\":{\"a\":1,\"l\":[null,7]}}\n", "column s.l[]: expected a struct, as an object"),
        ("{\"n\":2,\"s\":{\"a\":1,\"l\":{}}}\n", "column s.l: expected a list, found '{}'"),
        (
            "{\"n\":2,\"s\":\"{}\"}\n",
            "column s: expected a struct, as an object of its fields, found '\"{}\"'",
        ),
        ("{\"n\":2,\"s\":[1]}\n", "column s: expected a struct"),
    ];
    for (bad, expected) in cases {
        let text = format!("{good}{bad}{good}");
        let error = message(reread(&text, columns, OnError::Fail));
        assert!(error.starts_with(", row 2, byte ") && error.contains(expected), "{error}");
        let place: usize = error.split("byte ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        let value = error.split("found '").nth(1).unwrap().trim_end_matches('\'').to_string();
        let value = value.split("'\n").next().unwrap();
        assert!(text[place..].starts_with(value), "{place}: {value}");
        let good = "{\"n\":1,\"s\":{\"a\":1,\"l\":[{\"d\":\"2020-01-01\"}]}}\n";
        let null = format!("{good}{{\"n\":2,\"s\":null}}\n{good}0 1 0");
        assert_eq!(reread(&text, columns, OnError::Null).unwrap(), null);
        assert_eq!(reread(&text, columns, OnError::Skip).unwrap(), format!("{good}{good}1 0 0"));
    }
}

/// What is NULL has no values within: a field of it is NULL, whatever stood beside what was bad.
#[test]
fn fields_of_a_value_that_was_bad_are_null() {
    let schema =
        ddl::parse("CREATE TABLE t (s STRUCT(a INT, b STRUCT(c VARCHAR), l INT[]))").unwrap().remove(0).1;
    let mut options = options("jsonl");
    options.on_error = OnError::Null;
    let text = b"{\"s\":{\"a\":1,\"b\":{\"c\":\"x\"},\"l\":[1,2]}}\n{\"s\":{\"a\":2,\"b\":{\"c\":\"y\"},\"l\":[3,\"no\"]}}\n";
    let (batches, _) = read_whole(text, &scan(&Arc::new(schema), &options)).unwrap();
    let column = batches[0].column(0).as_struct();
    assert!(column.is_valid(0) && column.is_null(1));
    for within in column.columns().iter().chain(column.column(1).as_struct().columns()) {
        assert!(within.is_valid(0) && within.is_null(1));
    }
    assert_eq!(column.column(2).as_list::<i32>().values().len(), 2);
}

#[test]
fn null_where_there_is_none_is_bad() {
    let columns = r#"{"fields": [
        {"name": "s", "type": {"name": "struct"}, "children": [
            {"name": "a", "nullable": false, "type": {"name": "int", "bitWidth": 32, "isSigned": true}},
            {"name": "l", "type": {"name": "list"}, "children": [
                {"name": "item", "nullable": false, "type": {"name": "utf8view"}}]}]},
        {"name": "f", "type": {"name": "fixedsizelist", "listSize": 2}, "children": [
            {"name": "item", "nullable": false, "type": {"name": "bool"}}]}]}"#;
    let good = "{\"s\":{\"a\":1,\"l\":[\"x\"]},\"f\":[true,false]}\n{\"s\":null,\"f\":null}\n";
    assert_eq!(reread(good, columns, OnError::Fail).unwrap(), format!("{good}0 0 0"));
    for (bad, expected, null) in [
        (
            "{\"s\":{\"l\":[]},\"f\":null}\n",
            "column s.a: expected a whole number of 32 bits (the column has no NULLs)",
            1,
        ),
        ("{\"s\":{\"a\":1,\"l\":[\"x\",null]},\"f\":null}\n", "column s.l[]: expected text", 1),
        (
            "{\"s\":null,\"f\":[true,null]}\n",
            "column f[]: expected true or false (the column has no NULLs)",
            1,
        ),
        ("{\"s\":null,\"f\":[true]}\n", "column f: expected a list of 2 values", 1),
        ("{\"s\":{\"l\":7},\"f\":[true,true,true]}\n", "column s: ", 2),
    ] {
        let text = format!("{good}{bad}{good}");
        let error = message(reread(&text, columns, OnError::Fail));
        assert!(error.contains(", row 3, ") && (error.contains(expected) || null == 2), "{error}");
        let expected = format!("{good}{{\"s\":null,\"f\":null}}\n{good}0 {null} 0");
        assert_eq!(reread(&text, columns, OnError::Null).unwrap(), expected);
        assert_eq!(reread(&text, columns, OnError::Skip).unwrap(), format!("{good}{good}1 0 0"));
    }
    // A row far behind the first ones, whose value is nowhere: the byte is that of the row.
    let flat = r#"{"fields": [{"name": "a", "nullable": false, "type": {"name": "bool"}}]}"#;
    let text = "{\"a\":true}\n".repeat(20_000) + "{}\n";
    let error = message(reread(&text, flat, OnError::Fail));
    assert!(
        error.starts_with(
            ", row 20001, byte 220000, column a: expected true or false (the column has no NULLs)"
        ),
        "{error}"
    );
}

#[test]
fn structs_may_lie_as_arrays_and_behind_tags() {
    let schema = Arc::new(ddl::parse("CREATE TABLE t (s STRUCT(a INT, b VARCHAR)[])").unwrap().remove(0).1);
    let expected = "{\"s\":[{\"a\":1,\"b\":\"x\"},{\"a\":null,\"b\":\"y\"}]}\n";
    for (encoding, bytes) in [
        ("msgpack", &b"\x91\x92\x82\xa1b\xa1x\xa1a\x01\x92\xc0\xa1y"[..]),
        ("msgpack", b"\x91\x92\x92\x01\xa1x\x81\xa1b\xa1y"),
        ("cbor", b"\x81\x82\xa2\x61b\x61x\x61a\x01\x82\xf6\x61y"),
        ("cbor", b"\x81\xd9\xd9\xf7\x9f\xc6\xbf\x61b\x61x\x61a\x01\xff\x9f\xf7\x61y\xff\xff"),
    ] {
        let (found, _) = read_whole(bytes, &scan(&schema, &options(encoding))).unwrap();
        let written = write(&schema, &found, &options("jsonl")).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), expected, "{encoding} {bytes:02x?}");
    }
    // An array of another length is no struct.
    let error = message(read_whole(b"\x91\x91\x93\x01\xa1x\x02", &scan(&schema, &options("msgpack"))));
    assert!(
        error.contains("row 1, line 1, byte 2, column s[]: expected a struct")
            || error.contains("column s[]"),
        "{error}"
    );
}

/// The text of every kind of value in a column of strings: what JSON lines would have.
#[test]
fn any_value_is_a_text() {
    let schema = fields(&[("t", DataType::Utf8View)]);
    for (encoding, value, expected) in [
        ("msgpack", &b"\x05"[..], "5"),
        ("msgpack", b"\xc3", "true"),
        ("msgpack", b"\xcb\x3f\xf8\0\0\0\0\0\0", "1.5"),
        ("msgpack", b"\xd6\xff\0\0\0\x01", "1970-01-01T00:00:01Z"),
        (
            "msgpack",
            b"\x94\x01\xa1\"\xc0\x82\xa1k\x90\x07\xc4\x01\xff",
            r#"[1,"\"",null,{"k":[],"7":"\\xff"}]"#,
        ),
        ("cbor", b"\x9f\x01\x7f\x61a\x61b\xff\xff", r#"[1,"ab"]"#),
        ("cbor", b"\xa1\x61d\xd8\x64\x01", r#"{"d":"1970-01-02"}"#),
        (
            "cbor",
            b"\x82\xc4\x82\x21\x19\x6a\xb3\xc2\x49\x01\0\0\0\0\0\0\0\0",
            "[273.15,18446744073709551616]",
        ),
        ("cbor", b"\x81\xf9\x7e\0", r#"["NaN"]"#),
        ("cbor", b"\xc6\x61x", "x"),
        // Kinds that are not known.
        ("msgpack", b"\xd4\x05\x01", r#"{"type":5,"data":"\\x01"}"#),
        ("msgpack", b"\x91\xc7\x00\xfe", r#"[{"type":-2,"data":"\\x"}]"#),
        ("cbor", b"\xe0", "simple(0)"),
        ("cbor", b"\x81\xf8\xff", r#"["simple(255)"]"#),
    ] {
        let head: &[u8] = if encoding == "cbor" { b"\x81" } else { b"\x91" };
        let (found, _) = read_whole(&[head, value].concat(), &scan(&schema, &options(encoding))).unwrap();
        assert_eq!(found[0].column(0).as_string_view().value(0), expected, "{encoding} {value:02x?}");
    }
}

/// Values nested so deep that who goes into each of them overflows its stack.
#[test]
fn depth_is_bounded() {
    let levels = 1_000_000;
    let nested = |open: &[u8], innermost: &[u8], close: &[u8]| {
        [open.repeat(levels), innermost.to_vec(), close.repeat(levels)].concat()
    };
    let files: [(&str, Vec<u8>); 8] = [
        ("jsonl", [b"{\"c\":".to_vec(), nested(b"[", b"1", b"]"), b"}\n".to_vec()].concat()),
        ("jsonl", [b"{\"c\":".to_vec(), nested(b"{\"c\":", b"1", b"}"), b"}\n".to_vec()].concat()),
        ("msgpack", [b"\x91".to_vec(), nested(b"\x91", b"\x01", b"")].concat()),
        ("msgpack", [b"\x81\xa1c".to_vec(), nested(b"\x81\xa1c", b"\x01", b"")].concat()),
        ("cbor", [b"\x81".to_vec(), nested(b"\x81", b"\x01", b"")].concat()),
        ("cbor", [b"\x81".to_vec(), nested(b"\xc6", b"\x01", b"")].concat()),
        ("cbor", [b"\x81".to_vec(), nested(b"\xc1", b"\x01", b"")].concat()),
        ("cbor", [b"\x81".to_vec(), nested(b"\xc4\x82", b"\x01", b"\x01")].concat()),
    ];
    let struct_of = |inner| object(&[("c", inner, true)]);
    let types = [
        DataType::Int64,
        DataType::Utf8View,
        DataType::Decimal128(10, 2),
        list(list(DataType::Int64)),
        list(DataType::Utf8View),
        struct_of(struct_of(DataType::Utf8View)),
    ];
    for (encoding, bytes) in files {
        let mut read = 0;
        for data_type in &types {
            let schema = fields(&[("c", data_type.clone())]);
            // What does not fit is an error, or NULL; here only that there is an end counts.
            read += usize::from(read_whole(&bytes, &scan(&schema, &options(encoding))).is_ok());
            let mut options = options(encoding);
            options.on_error = OnError::Null;
            assert_eq!(read_whole(&bytes, &scan(&schema, &options)).unwrap().0[0].num_rows(), 1);
            let mut scan = scan(&schema, &options);
            scan.projection = vec![];
            assert_eq!(read_whole(&bytes, &scan).unwrap().0[0].num_rows(), 1);
        }
        // One that only tags stand before is a number.
        assert_eq!(read > 0, bytes.starts_with(b"\x81\xc6"), "{encoding}");
        let file = TempFile::new(&bytes);
        let _ = format(encoding).unwrap().infer(&FileEntry::new(file.path(), 0, 0), &options(encoding), 10);
    }
    // Types are bounded too.
    let deep = |levels: usize| fields(&[("c", (0..levels).fold(DataType::Int32, |inner, _| list(inner)))]);
    for encoding in ENCODINGS {
        let (fits, deeper) = (deep(32), deep(33));
        let writer = |schema| format(encoding).unwrap().encoder(schema, &options(encoding));
        assert!(writer(&fits).is_ok() && writer(&deeper).is_err(), "{encoding}");
        assert!(read_whole(b"", &scan(&fits, &options(encoding))).is_ok());
        assert!(read_whole(b"", &scan(&deeper, &options(encoding))).is_err());
    }
}

fn inferred(encoding: &str, bytes: &[u8]) -> String {
    let file = TempFile::new(bytes);
    let schema =
        format(encoding).unwrap().infer(&FileEntry::new(file.path(), 0, 0), &options(encoding), 100).unwrap();
    let name = |t: &DataType| schema::text::types::sql_name(t).unwrap();
    let columns = schema.fields().iter().map(|f| format!("{} {}", f.name(), name(f.data_type())));
    columns.collect::<Vec<_>>().join(", ")
}

#[test]
fn lists_and_structs_are_told_from_examples() {
    let text = concat!(
        "{\"l\":[],\"s\":{\"a\":1},\"mixed\":[1],\"e\":{},\"d\":[{\"x\":[\"2020-01-01\"]},{}]}\n",
        "{\"l\":[1,2.5,null],\"s\":{\"b\":{\"c\":true},\"a\":-1},\"mixed\":1,\"e\":null,\"d\":[{\"y\":\"z\"}]}\n",
        "{\"l\":null,\"s\":{\"q r\":[[]]},\"mixed\":{}}\n",
    );
    assert_eq!(
        inferred("jsonl", text.as_bytes()),
        "l DOUBLE[], s STRUCT(a BIGINT, b STRUCT(c BOOLEAN), \"q r\" NULL[][]), mixed VARCHAR, e VARCHAR, \
         d STRUCT(x DATE[], y VARCHAR)[]"
    );
    let rows = b"\x92\x93\x01\xc0\x02\x81\xa1a\x90\x92\x90\x81\xa1b\xa1x";
    assert_eq!(inferred("msgpack", rows), "column1 BIGINT[], column2 STRUCT(a NULL[], b VARCHAR)");
    let rows = b"\xa2\x61k\xc6\x9f\x01\xff\x61m\xa1\x01\x02";
    assert_eq!(inferred("cbor", rows), "k BIGINT[], m VARCHAR", "keys that are no text are kept as text");
    let deep = format!("{{\"c\":{}1{}}}\n", "[".repeat(40), "]".repeat(40));
    assert_eq!(inferred("jsonl", deep.as_bytes()), format!("c VARCHAR{}", "[]".repeat(32)));
    let many: Vec<String> = (0..300).map(|i| format!("\"k{i}\":[{i}]")).collect();
    let text = format!("{{\"m\":{{{}}}}}\n", many.join(","));
    assert_eq!(inferred("jsonl", text.as_bytes()), "m MAP(VARCHAR, BIGINT[])");
}

/// The bytes that `docs/row-encodings.md` shows.
#[test]
fn nested_values_lie_as_the_documentation_has_it() {
    let columns = "l INT[], s STRUCT(a INT, b VARCHAR), m MAP(VARCHAR, DATE)";
    let text = "{\"l\":[1,null],\"s\":{\"a\":5,\"b\":null},\"m\":{\"k\":\"1970-01-02\"}}\n";
    assert_eq!(reread(text, columns, OnError::Fail).unwrap(), format!("{text}0 0 0"));
    let schema = Arc::new(ddl::parse(&format!("CREATE TABLE t ({columns})")).unwrap().remove(0).1);
    let (rows, _) = read_whole(text.as_bytes(), &scan(&schema, &options("jsonl"))).unwrap();
    for (encoding, expected) in [
        ("msgpack", &b"\x83\xa1l\x92\x01\xc0\xa1s\x82\xa1a\x05\xa1b\xc0\xa1m\x81\xa1k\xaa1970-01-02"[..]),
        ("cbor", b"\xa3\x61l\x82\x01\xf6\x61s\xa2\x61a\x05\x61b\xf6\x61m\xa1\x61k\xd8\x64\x01"),
    ] {
        let bytes = write(&schema, &rows, &options(encoding)).unwrap();
        assert_eq!(bytes, expected, "{encoding}");
        let (found, _) = read_whole(&bytes, &scan(&schema, &options(encoding))).unwrap();
        assert_eq!(found, rows, "{encoding}");
    }
}

#[test]
fn encodings_without_nested_columns_say_so() {
    for encoding in ["csv", "bincode", "protobuf", "capnproto", "capnproto-packed"] {
        let schema = fields(&[("fine", DataType::Int32), ("l", list(DataType::Int32))]);
        let error = format(encoding).unwrap().encoder(&schema, &options(encoding)).err().expect("an error");
        assert!(error.to_string().contains("column 'l': INT[] has no form"), "{encoding}: {error}");
        let error = message(read_whole(b"1,1\n", &scan(&schema, &options(encoding))));
        assert!(error.contains("column 'l'") && error.contains("INT[]"), "{encoding}: {error}");
    }
    let twice = object(&[("a", DataType::Int32, true), ("a", DataType::Int32, true)]);
    let union = DataType::Union(arrow_schema::UnionFields::empty(), arrow_schema::UnionMode::Sparse);
    for encoding in ENCODINGS {
        for (data_type, part) in [(twice.clone(), "two fields 'a'"), (list(union.clone()), "has no form in")]
        {
            let schema = fields(&[("c", data_type)]);
            let error =
                format(encoding).unwrap().encoder(&schema, &options(encoding)).err().expect("an error");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
