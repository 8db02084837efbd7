//! The columns of csv, JSON lines and text from their first records.

use arrow_schema::{DataType, TimeUnit};
use formats::compress::{compression, names};
use formats::registry::format;
use schema::{FileEntry, FormatOptions, OnError};

use crate::common::*;

fn infer(text: &[u8], options: &FormatOptions, rows: usize) -> formats::Result<Vec<(String, DataType)>> {
    let file = TempFile::new(text);
    let schema = format(&options.encoding)?.infer(&FileEntry::new(file.path(), 0, 0), options, rows)?;
    assert!(schema.fields().iter().all(|f| f.is_nullable()));
    Ok(schema.fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect())
}

fn named(fields: &[(&str, DataType)]) -> Vec<(String, DataType)> {
    fields.iter().map(|(n, t)| (n.to_string(), t.clone())).collect()
}

#[test]
fn csv_with_and_without_a_header() {
    use DataType::*;
    let text = "\u{feff}\nid, name ,\"a \"\"b\"\"\",,when\n1,x,1.5,,2020-01-01T00:00:00Z\n2,\"3\n4\",2,,\n\n,\"\",NaN,,\n";
    let mut options = options("csv");
    options.header = true;
    let zoned = Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let expected =
        [("id", Int64), ("name", Utf8View), ("a \"b\"", Float64), ("column4", Null), ("when", zoned)];
    assert_eq!(infer(text.as_bytes(), &options, 100).unwrap(), named(&expected));
    options.header = false;
    let found = infer(text.as_bytes(), &options, 100).unwrap();
    assert_eq!(found[0], ("column1".into(), Utf8View));
    assert_eq!(found[3], ("column4".into(), Null));
}

#[test]
fn only_the_first_records_count() {
    let text = "1,a\n2,b\nx,c\n";
    let found = |rows| infer(text.as_bytes(), &options("csv"), rows).unwrap()[0].1.clone();
    assert_eq!((found(2), found(3)), (DataType::Int64, DataType::Utf8View));
    let text = "{\"a\":1}\n\n{\"a\":2}\n{\"a\":\"x\"}\n";
    let found = |rows| infer(text.as_bytes(), &options("jsonl"), rows).unwrap()[0].1.clone();
    assert_eq!((found(2), found(3)), (DataType::Int64, DataType::Utf8View));
    // What follows is not even read.
    let text = "1\n".repeat(2_000_000) + "\"open";
    assert_eq!(infer(text.as_bytes(), &options("csv"), 10).unwrap()[0].1, DataType::Int64);
    assert!(infer(text.as_bytes(), &options("csv"), usize::MAX).is_err());
}

#[test]
fn records_of_any_length_and_compression() {
    let long = "y".repeat(2_500_000);
    let text = format!("name,n\n\"{long}\n\",1\n{long},2.5\n");
    for name in names() {
        let mut options = options("csv");
        (options.header, options.compression) = (true, name.to_string());
        let packing = compression(name).unwrap();
        let piece = packing.compress(text.clone().into_bytes()).unwrap();
        let (mut container, mut bytes) = (packing.container(), Vec::new());
        container.begin(&mut bytes).unwrap();
        container.append(&piece.bytes, &piece.about, &mut bytes).unwrap();
        container.finish(&mut bytes).unwrap();
        let expected = named(&[("name", DataType::Utf8View), ("n", DataType::Float64)]);
        assert_eq!(infer(&bytes, &options, 100).unwrap(), expected, "{name}");
        if *name != "none" {
            let error = infer(&bytes[..bytes.len() / 2], &options, 100).unwrap_err().to_string();
            assert!(error.contains("ends in the middle of"), "{error}");
        }
    }
}

#[test]
fn empty_files_have_no_columns() {
    for text in ["", "\n\n", "\u{feff}"] {
        assert_eq!(infer(text.as_bytes(), &options("csv"), 10).unwrap(), []);
        assert_eq!(infer(text.as_bytes(), &options("jsonl"), 10).unwrap(), []);
        let line = named(&[("line", DataType::Utf8View)]);
        assert_eq!(infer(text.as_bytes(), &options("text"), 10).unwrap(), line);
    }
    let mut options = options("csv");
    options.header = true;
    let expected = named(&[("a", DataType::Null), ("b", DataType::Null)]);
    assert_eq!(infer(b"a,b", &options, 10).unwrap(), expected);
}

#[test]
fn keys_of_all_records() {
    use DataType::*;
    let text = concat!(
        "{\"n\":1,\"s\":\"1\",\"x\":null,\"l\":[1]}\n",
        "{\"f\":\"Infinity\",\"g\":NaN,\"n\":2,\"b\":true,\"\\u006e\":3}\n",
        "{\"f\":1,\"g\":-Infinity,\"d\":\"2020-01-01\",\"n\":-3,\"o\":{\"n\":\"x\"}}\n",
    );
    let expected = [
        ("n", Int64),
        ("s", Utf8View),
        ("x", Null),
        ("l", DataType::new_list(Int64, true)),
        ("f", Float64),
        ("g", Utf8View),
        ("b", Boolean),
        ("d", Date32),
        ("o", Struct(vec![arrow_schema::Field::new("n", Utf8View, true)].into())),
    ];
    assert_eq!(infer(text.as_bytes(), &options("jsonl"), 10).unwrap(), named(&expected));
    let mut options = options("jsonl");
    let error = message(infer(b"{\"a\":1}\n{\"a\":\n", &options, 10));
    assert!(
        error.contains(", row 2, byte 8: the record is not JSON: it ends where a value was expected"),
        "{error}"
    );
    options.on_error = OnError::Skip;
    assert_eq!(infer(b"{\"a\":1}\n{\"a\":\n", &options, 10).unwrap(), named(&[("a", Int64)]));
}

#[test]
fn what_is_written_is_inferred_again() {
    use DataType::*;
    let schema = fields(&[("i", Int64), ("f", Float64), ("d", Date32), ("t", Utf8View), ("b", Boolean)]);
    let text = "1,0.5,2020-01-01,x,true\n,NaN,,,\n-3,1e300,0001-01-01,\"\",false\n";
    let (batches, _) = read_whole(text.as_bytes(), &scan(&schema, &options("csv"))).unwrap();
    for encoding in ["csv", "jsonl"] {
        let mut options = options(encoding);
        options.header = true;
        let written = write(&schema, &batches, &options).unwrap();
        let expected: Vec<_> =
            schema.fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect();
        assert_eq!(infer(&written, &options, 10).unwrap(), expected, "{encoding}");
    }
}
