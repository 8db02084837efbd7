//! What the content of files tells: encodings, compressions, files of nothing.

use std::sync::Arc;

use arrow_schema::DataType;
use formats::discover::OpenOptions;

use crate::common::*;

#[test]
fn rotated_logs_may_be_compressed_each_in_its_own_way() {
    let zipped = gzip("3,c\n");
    let dir = tree(&[("x.csv", b"1,a\n"), ("x.csv.1", b"2,b\n"), ("x.csv.2.gz", &zipped)]);
    let options = given(&[("n", DataType::Int64), ("text", DataType::Utf8)]);
    let table = at(&dir, "x.csv*", &options).unwrap();
    assert_eq!(rows(&table), [["1", "\"a\""], ["2", "\"b\""], ["3", "\"c\""]]);
    assert_eq!(set(&table).files.iter().map(|f| f.layout).collect::<Vec<_>>(), [None, None, Some(0)]);
    assert_eq!(set(&table).layouts[0].compression, "gzip");
}

#[test]
fn a_suffix_that_lies_is_not_believed() {
    let dir = tree(&[("a.csv", &gzip("1,x\n")), ("b.csv.gz", b"1,x\n")]);
    let options = given(&[("n", DataType::Int64), ("text", DataType::Utf8)]);
    for name in ["a.csv", "b.csv.gz"] {
        assert_eq!(rows(&at(&dir, name, &options).unwrap()), [["1", "\"x\""]], "{name}");
    }
    let dir = tree(&[("a.parquet.gz", &gzip("PAR1")), ("b", b"\x00\x01\x02")]);
    assert!(message(&dir, "a.parquet.gz", &OpenOptions::default()).contains("parquet file inside of gzip"));
    assert!(message(&dir, "b", &OpenOptions::default()).contains("neither its name nor its content"));
}

#[test]
fn empty_files() {
    let options = given(&[("n", DataType::Int64), ("text", DataType::Utf8)]);
    let dir = texts(&[
        ("a.csv", ""),
        ("b.csv", "1,x\n"),
        ("e/c.csv", ""),
        ("e/d", ""),
        ("z.csv.gz", ""),
        ("p.parquet", ""),
    ]);
    let empty = at(&dir, "a.csv", &options).unwrap();
    assert_eq!((empty.rows, rows(&empty).len()), (Some(0), 0));
    assert_eq!(rows(&at(&dir, "[ab].csv", &options).unwrap()), [["1", "\"x\""]]);
    assert_eq!(at(&dir, "e", &options).unwrap().rows, Some(0));
    let none = OpenOptions::default();
    let said = message(&dir, "a.csv", &none);
    assert!(
        said.starts_with("a.csv: the file is empty, so that no schema") && said.contains("--schema"),
        "{said}"
    );
    assert!(message(&dir, "e", &none).contains("all 2 files from this on are empty"));
    assert!(message(&dir, "e/d", &none).contains("its name does not tell its encoding"));
    assert!(message(&dir, "z.csv.gz", &options).contains("a gzip file never is"));
    assert!(message(&dir, "p.parquet", &none).contains("a parquet file never is"));
}

#[test]
fn compressed_files_of_nothing() {
    let (nothing, rows_) = (gzip(""), gzip("id,x\n1,y\n"));
    let dir = tree(&[("a.csv.gz", &nothing), ("b.csv.gz", &rows_), ("c/a.csv.gz", &nothing)]);
    assert_eq!(rows(&table(&dir, "*.csv.gz")), [["1", "\"y\""]]);
    assert!(message(&dir, "c", &OpenOptions::default()).contains("the file is empty"));
}

#[test]
fn encodings_must_not_mix() {
    let dir = tree(&[("t/a.csv", b"1,2\n"), ("t/b.parquet", &encoded("parquet", &numbers("n", 0, 1)))]);
    let said = message(&dir, "t", &OpenOptions::default());
    assert!(said.starts_with("t: the files are in different encodings"), "{said}");
    assert!(
        said.contains("t/a.csv is csv, ")
            && said.contains("t/b.parquet is parquet")
            && said.contains("'*.csv'"),
        "{said}"
    );
}

#[test]
fn other_encodings_of_text() {
    let dir = texts(&[
        ("a.jsonl", "{\"n\": 1, \"s\": \"x\"}\n{\"n\": 2.5}\n"),
        ("b", "{\"n\": 1}\n"),
        ("c.log", "a line, and\nanother\n"),
        ("d", "1\n2\n"),
        ("access.log.1", "x,y\n"),
    ]);
    let a = table(&dir, "a.jsonl");
    assert_eq!(columns(&a), [("n", DataType::Float64), ("s", DataType::Utf8View)]);
    assert_eq!(rows(&a)[1], ["2.5", "NULL"]);
    assert_eq!(rows(&table(&dir, "b")), [["1"]]);
    for (name, first) in [("c.log", "\"a line, and\""), ("d", "\"1\""), ("access.log.1", "\"x,y\"")] {
        let table = table(&dir, name);
        assert_eq!(columns(&table), [("line", DataType::Utf8View)]);
        assert_eq!(rows(&table)[0], [first]);
    }
}

#[test]
fn json_keys_may_be_missing_and_new() {
    let dir = texts(&[
        ("a.jsonl", "{\"n\": 1, \"s\": \"x\"}\n"),
        ("b.jsonl", "{\"n\": 2}\n"),
        ("c.jsonl", "{\"m\": 3}\n"),
    ]);
    assert_eq!(rows(&table(&dir, "[ab].jsonl")), [["1", "\"x\""], ["2", "NULL"]]);
    assert_eq!(rows(&table(&dir, "*.jsonl"))[2], ["NULL", "NULL", "3"]);
}

#[test]
fn json_of_mixed_types_is_text() {
    let dir = texts(&[
        ("a.json", "{\"n\": 1, \"l\": [1], \"o\": {\"x\": 1}, \"f\": 1}\n"),
        ("b.json", "{\"n\": \"x\", \"l\": [true], \"o\": 5, \"f\": 1.5}\n"),
    ]);
    let all = table(&dir, "*.json");
    let list = DataType::List(Arc::new(arrow_schema::Field::new_list_field(DataType::Utf8View, true)));
    let text = DataType::Utf8View;
    assert_eq!(columns(&all), [("n", text.clone()), ("l", list), ("o", text), ("f", DataType::Float64)]);
    assert_eq!(rows(&all)[0][2], format!("{:?}", r#"{"x": 1}"#));
}

#[test]
fn rows_below_a_key() {
    let dir = texts(&[
        ("a.json", r#"{"n": 2, "data": [{"a": 1}, {"a": 2, "b": "x"}]}"#),
        ("b.json", "{\"data\": [],\n \"n\": 0}\n"),
        ("c.json", r#"{"items": [{"a": 1}]}"#),
        ("two.json", r#"{"a": [{"x": 1}], "b.c": [{"y": 1}]}"#),
        ("row.jsonl", r#"{"data": [{"a": 1}]}"#),
        ("rows.json", "{\"data\": [{\"a\": 1}]}\n{\"data\": []}\n"),
        ("none.json", r#"{"a": [1], "b": {"c": [{}]}}"#),
    ]);
    assert_eq!(rows(&table(&dir, "[ab].json")), [["1", "NULL"], ["2", "\"x\""]]);
    for name in ["row.jsonl", "rows.json"] {
        assert_eq!(columns(&table(&dir, name))[0].0, "data", "{name}");
    }
    assert_eq!(columns(&table(&dir, "none.json")).len(), 2);
    let said = message(&dir, "two.json", &OpenOptions::default());
    assert!(said.contains("the keys 'a', 'b.c', and one of them has the rows"), "{said}");
    let path = |path: &str| {
        let dialect = schema::Dialect { json_path: Some(path.into()), ..schema::Dialect::default() };
        OpenOptions { dialect: Box::new(dialect), ..OpenOptions::default() }
    };
    assert_eq!(columns(&at(&dir, "two.json", &path("\"b.c\"")).unwrap())[0].0, "y");
    assert_eq!(columns(&at(&dir, "two.json", &path("$")).unwrap()).len(), 2);
    assert_eq!(columns(&at(&dir, "none.json", &path("$")).unwrap()).len(), 2);
    let said = message(&dir, "[ac].json", &OpenOptions::default());
    assert!(said.starts_with("c.json") && said.contains("it has no array at 'data'"), "{said}");
}

#[test]
fn utf16_is_named() {
    let little: Vec<u8> = "\u{feff}a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = "\u{feff}a,b\n1,2\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let dir = tree(&[("a.csv", &little), ("b.log", &big), ("c", &little)]);
    for name in ["a.csv", "b.log", "c"] {
        let said = message(&dir, name, &OpenOptions::default());
        assert!(said.contains("the text is UTF-16") && said.contains("--encoding utf-16"), "{said}");
    }
    let text = OpenOptions { encoding: Some("text".into()), ..OpenOptions::default() };
    assert!(message(&dir, "c", &text).contains("the text is UTF-16"));
    // Without a mark at the beginning.
    let dir = tree(&[("a.csv", &little[2..]), ("b.log", &big[2..]), ("c.bincode", &little[2..])]);
    for (name, encoding) in [("a.csv", "utf-16le"), ("b.log", "utf-16be")] {
        let said = message(&dir, name, &OpenOptions::default());
        assert!(said.contains("the text is UTF-16") && said.contains(encoding), "{said}");
    }
    assert!(!message(&dir, "c.bincode", &OpenOptions::default()).contains("UTF-16"));
}

#[test]
fn compressions_that_are_not_read_are_named() {
    let dir = tree(&[
        ("a.csv.xz", b"\xfd7zXZ\0\0\x04\xe6"),
        ("b.csv.br", b"\x0b\x02\x80\0"),
        ("c", b"PK\x03\x04\0\0"),
    ]);
    for (name, unpack) in [("a.csv.xz", "xz -dc"), ("b.csv.br", "brotli -dc"), ("c", "unzip -p")] {
        let said = message(&dir, name, &OpenOptions::default());
        assert!(said.contains("are not unpacked here") && said.contains(unpack), "{name}: {said}");
    }
}
