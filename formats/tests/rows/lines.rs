//! JSON lines and text: reading, splitting at every byte, what does not fit.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray};
use arrow_schema::DataType::{self, Boolean, Date32, Float64, Int64, Utf8, Utf8View};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use formats::reader::Next;
use formats::registry::format;
use formats::rows::split::{Border, cut};
use schema::OnError;

use crate::common::*;

fn strings(batches: &[RecordBatch], column: usize) -> Vec<Option<String>> {
    let columns = batches.iter().map(|b| b.column(column).as_string_view().clone());
    columns.flat_map(|c| c.iter().map(|s| s.map(str::to_string)).collect::<Vec<_>>()).collect()
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|t| Some(t.to_string())).collect()
}

const OBJECTS: &str = concat!(
    "{\"n\": 1, \"s\": \"one\", \"f\": 1.5, \"b\": true, \"d\": \"2020-01-01\"}\n",
    "\n",
    "{\"s\":\"a \\\"quoted\\\" \\u00e9 text\",\"n\":-2,\"x\":[{\"s\":\"no\"},\"n\"],\"f\":\"NaN\"}\r\n",
    "  {\"d\":null,\"b\":false,\"f\":\"-Infinity\",\"s\":\"\",\"y\":{\"n\":7}}\n",
    "{\"s\":{\"nested\": [1, 2]},\"n\":9007199254740993,\"f\":3}\n",
    "{}\n",
    "{\"\\u006e\":6,\"s\":12.50}",
);

fn object_fields() -> arrow_schema::SchemaRef {
    fields(&[("d", Date32), ("s", Utf8), ("n", Int64), ("f", Float64), ("b", Boolean), ("gone", Utf8View)])
}

#[test]
fn fields_are_found_by_name_in_any_order() {
    let schema = object_fields();
    let (batches, skipped) = read_whole(OBJECTS.as_bytes(), &scan(&schema, &options("jsonl"))).unwrap();
    let batch = concat(&schema, &batches);
    let numbers: Vec<_> = batch.column(2).as_primitive::<Int64Type>().iter().collect();
    assert_eq!(numbers, [Some(1), Some(-2), None, Some(9007199254740993), None, Some(6)]);
    let mut texts = some(&["one", "a \"quoted\" é text", "", "{\"nested\": [1, 2]}", "", "12.50"]);
    texts[4] = None;
    assert_eq!(strings(&batches, 1), texts);
    let floats = batch.column(3).as_primitive::<Float64Type>();
    assert!(floats.value(1).is_nan() && floats.value(2) == f64::NEG_INFINITY && floats.value(3) == 3.0);
    assert!(batch.column(0).is_valid(0) && batch.column(0).null_count() == 5);
    assert!(batch.column(4).as_boolean().value(0) && batch.column(5).null_count() == 6);
    assert_eq!(skipped, Default::default());
}

#[test]
fn objects_split_at_every_byte() {
    let mut scan = scan(&object_fields(), &options("jsonl"));
    scan.projection = vec![1, 2];
    let bytes = OBJECTS.as_bytes();
    let expected = strings(&read_whole(bytes, &scan).unwrap().0, 0);
    for first in 3..bytes.len() as u64 {
        for second in [first + 1, first + 40] {
            let begins = if second < bytes.len() as u64 { vec![0, first, second] } else { vec![0, first] };
            let morsels = cut(&entry(bytes), Border::Newline, begins);
            let (batches, _) = read_morsels(bytes, &morsels, &scan).unwrap();
            assert_eq!(strings(&batches, 0), expected, "{first} {second}");
        }
    }
    scan.projection = vec![];
    let morsels = format("jsonl").unwrap().split(&entry(bytes), &scan, 5).unwrap();
    let (batches, _) = read_morsels(bytes, &morsels, &scan).unwrap();
    assert_eq!(batches.iter().map(|b| b.num_rows()).sum::<usize>(), 6);
}

#[test]
fn errors_in_objects_name_the_place() {
    let mut scan = scan(&object_fields(), &options("jsonl"));
    let text = "{\"n\":1}\n\n{\"n\":2,\"d\":\"2020-02-30\"}\n";
    let found = message(read_whole(text.as_bytes(), &scan));
    assert!(found.starts_with(", row 2, line 3, byte 20, column d: expected a date"), "{found}");
    let text = "{\"n\":1}\n{\"n\":2\n{\"n\":3}\n";
    let found = message(read_whole(text.as_bytes(), &scan));
    let expected =
        ", row 2, byte 8: the record is not JSON: a comma or a closing brace was expected behind a value";
    assert!(found.starts_with(expected), "{found}");
    // From a later morsel the row is that of the file.
    for target in [3, 9, 10] {
        let morsels = format("jsonl").unwrap().split(&entry(text.as_bytes()), &scan, target).unwrap();
        assert_eq!(message(read_morsels(text.as_bytes(), &morsels, &scan)), found);
    }
    scan.format.on_error = OnError::Skip;
    let (batches, skipped) = read_whole(text.as_bytes(), &scan).unwrap();
    assert_eq!((batches[0].num_rows(), skipped.rows), (2, 1));
    scan.format.on_error = OnError::Null;
    let (batches, skipped) = read_whole(text.as_bytes(), &scan).unwrap();
    assert_eq!((batches[0].num_rows(), skipped.values), (3, 6));
    // Only wanted values are looked at.
    scan.projection = vec![4];
    scan.format.on_error = OnError::Fail;
    assert!(read_whole(b"{\"n\":\"x\",\"d\":17}\n", &scan).is_ok());
    scan.projection = vec![2];
    let text = "{\"n\":1}\n".repeat(3) + "{\"n\":12345678901234567890}\n";
    let found = message(read_whole(text.as_bytes(), &scan));
    assert!(found.contains(
        "row 4, byte 29, column n: expected a whole number of 64 bits, found '12345678901234567890'"
    ));
}

#[test]
fn bad_escapes_and_bytes_are_seen() {
    let scan = scan(&fields(&[("s", Utf8)]), &options("jsonl"));
    let found = message(read_whole(b"{\"s\":\"\\q\"}\n", &scan));
    assert!(found.contains("the record is not JSON: an escape in a string is none"), "{found}");
    let (batches, skipped) = read_whole(b"{\"s\":\"a\xffb\"}\n{\"s\":\"\\ud800\"}\n", &scan).unwrap();
    assert_eq!(strings(&batches, 0), some(&["a\u{fffd}b", "\u{fffd}"]));
    assert_eq!(skipped.replaced, 2);
}

#[test]
fn objects_are_written_whole() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a \"name\"", Arc::new(StringViewArray::from(vec![Some("x\n\u{1}\\"), None]))),
        ("f", Arc::new(arrow_array::Float32Array::from(vec![0.1, f32::INFINITY]))),
        ("d", Arc::new(arrow_array::Date32Array::from(vec![0, 1]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let written = write(&batch.schema(), std::slice::from_ref(&batch), &options("jsonl")).unwrap();
    let expected = concat!(
        "{\"a \\\"name\\\"\":\"x\\n\\u0001\\\\\",\"f\":0.1,\"d\":\"1970-01-01\"}\n",
        "{\"a \\\"name\\\"\":null,\"f\":\"Infinity\",\"d\":\"1970-01-02\"}\n",
    );
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

fn line() -> arrow_schema::SchemaRef {
    fields(&[("line", DataType::Utf8View)])
}

#[test]
fn lines_are_rows() {
    let scan = scan(&line(), &options("text"));
    let text = "\u{feff}one\n\n  three, \"as it is\"\r\n\rfour\nlast";
    let (batches, _) = read_whole(text.as_bytes(), &scan).unwrap();
    assert_eq!(strings(&batches, 0), some(&["one", "", "  three, \"as it is\"", "\rfour", "last"]));
    for target in 1..text.len() as u64 {
        let morsels = format("text").unwrap().split(&entry(text.as_bytes()), &scan, target).unwrap();
        let (batches, _) = read_morsels(text.as_bytes(), &morsels, &scan).unwrap();
        assert_eq!(strings(&batches, 0).len(), 5, "{target}");
    }
}

#[test]
fn lines_of_many_blocks() {
    let mut random = Random(4);
    let lines: Vec<String> = (0..60_000)
        .map(|i| {
            let len = if i % 20_000 == 7 { 1_500_000 } else { random.below(90) };
            "abcdefghij".chars().cycle().skip(i % 10).take(len).collect()
        })
        .collect();
    let text = lines.join("\n");
    for (encoding, rows) in [("text", 60_000), ("csv", 60_000)] {
        let scan = scan(&line(), &options(encoding));
        let (whole, _) = read_whole(text.as_bytes(), &scan).unwrap();
        let found = strings(&whole, 0);
        assert_eq!(found.len(), rows);
        assert!(found.iter().zip(&lines).all(|(f, l)| f.as_deref().unwrap_or("") == l));
        let morsels = format(encoding).unwrap().split(&entry(text.as_bytes()), &scan, 777_777).unwrap();
        let (pieces, _) = read_morsels(text.as_bytes(), &morsels, &scan).unwrap();
        assert_eq!(strings(&pieces, 0), found);
    }
}

#[test]
fn lines_come_back_or_are_refused() {
    let batch = |texts: Vec<Option<&str>>| {
        RecordBatch::try_new(line(), vec![Arc::new(StringViewArray::from(texts))]).unwrap()
    };
    for compression in formats::compress::names() {
        let mut options = options("text");
        options.compression = compression.to_string();
        let good = batch(vec![Some("a"), Some(""), Some("é, \"b\" and more of it"), Some("\rx")]);
        let written = write(&line(), std::slice::from_ref(&good), &options).unwrap();
        let (batches, _) = read_whole(&written, &scan(&line(), &options)).unwrap();
        assert_eq!(concat(&line(), &batches), good);
    }
    let options = options("text");
    // What a byte order mark looks like stays, at the beginning and elsewhere, in each block.
    let marked = batch(vec![Some("\u{feff}a"), Some("\u{feff}"), Some("b")]);
    let written = write(&line(), &[marked.clone(), batch(vec![]), marked.clone()], &options).unwrap();
    assert_eq!(written.len(), 2 * "\u{feff}a\n\u{feff}\nb\n".len() + 3);
    let (batches, _) = read_whole(&written, &scan(&line(), &options)).unwrap();
    assert_eq!(strings(&batches, 0), some(&["\u{feff}a", "\u{feff}", "b"].repeat(2)));
    let plain = write(&line(), &[batch(vec![Some("a")]), marked], &options).unwrap();
    assert!(plain.starts_with("a\n\u{feff}a\n".as_bytes()), "no mark is put before it");
    assert!(message(write(&line(), &[batch(vec![None])], &options)).contains("NULL has no form as a line"));
    for bad in ["a\nb", "a\r"] {
        assert!(
            message(write(&line(), &[batch(vec![Some(bad)])], &options))
                .contains("a value with a line break")
        );
    }
    let two = fields(&[("a", Utf8), ("b", Utf8)]);
    assert!(format("text").unwrap().encoder(&two, &options).is_err());
    assert!(read_whole(b"x\n", &scan(&two, &options)).is_err());
    let mut scan = scan(&line(), &options);
    scan.format.max_record = 10;
    let lines = b"short\nlonger than ten bytes\nten bytes\n";
    let found = message(read_whole(lines, &scan));
    assert!(
        found.starts_with(", row 2, byte 6: the record that begins here is longer than 10 bytes"),
        "{found}"
    );
    scan.format.on_error = OnError::Skip;
    let (batches, skipped) = read_whole(lines, &scan).unwrap();
    assert_eq!((batches[0].num_rows(), batches.len(), skipped.rows), (2, 1, 1));
}

/// A line that is longer than many morsels is read once, and passed over in little memory where it is too long.
#[test]
fn a_line_longer_than_morsels() {
    let long = 5 << 20;
    let text = format!("one\ntwo{}\nthree\nfour", "\0".repeat(long));
    let expected: Vec<usize> = text.lines().map(str::len).collect();
    let format = format("text").unwrap();
    let file = entry(text.as_bytes());
    for (max_record, on_error, expected) in [
        (64 << 20, OnError::Fail, expected.clone()),
        (long + 4, OnError::Fail, expected),
        (long + 3, OnError::Skip, vec![3, 5, 4]),
        (1000, OnError::Skip, vec![3, 5, 4]),
    ] {
        let mut scan = scan(&line(), &options("text"));
        (scan.format.max_record, scan.format.on_error) = (max_record, on_error);
        for target in [1 << 20, 3 << 19, u64::MAX] {
            let (mut lengths, mut given, mut skipped) = (Vec::new(), 0, 0);
            for morsel in format.split(&file, &scan, target).unwrap() {
                let mut reader = format.reader(&morsel, &scan).unwrap();
                loop {
                    match reader.next().unwrap() {
                        Next::Batch(batch) => {
                            let lines = batch.column(0).as_string_view();
                            lengths.extend(lines.iter().map(|line| line.unwrap().len()));
                        }
                        Next::Done => break,
                        Next::Wait => panic!("nothing is waited for"),
                        Next::Need(ranges) => {
                            for range in ranges {
                                let bytes = &text.as_bytes()
                                    [range.start as usize..(range.end as usize).min(text.len())];
                                given += bytes.len();
                                reader.give(range, Bytes::copy_from_slice(bytes)).unwrap();
                            }
                        }
                    }
                }
                skipped += reader.skipped().rows;
            }
            assert_eq!(lengths, expected, "{max_record} in morsels of {target}");
            assert_eq!(skipped, u64::from(expected.len() == 3), "{max_record} in morsels of {target}");
            // What lies within the line is asked for once, but for the morsel in which it ends.
            assert!(given < text.len() + (4 << 20), "{given} bytes were read in morsels of {target}");
        }
    }
}

/// A value that is missing is an error of its own record, wherever that lies.
#[test]
fn a_missing_value_names_its_record() {
    let fields = vec![Field::new("a", Int64, false), Field::new("b", Int64, true)];
    let schema = Arc::new(Schema::new(fields));
    // More than is looked at together.
    let text = format!("{}{{\"b\":2}}\n", "{\"a\":1,\"b\":2}\n".repeat(10_000));
    let found = message(read_whole(text.as_bytes(), &scan(&schema, &options("jsonl"))));
    assert!(found.starts_with(", row 10001, byte 140000, column a: expected a whole number"), "{found}");
    let mut rows = b"\x82\xa1a\x0a\xa1b\x0a".repeat(20_000);
    rows.extend_from_slice(b"\x81\xa1b\x02");
    let found = message(read_whole(&rows, &scan(&schema, &options("msgpack"))));
    assert!(found.starts_with(", row 20001, byte 140000, column a: expected a whole number"), "{found}");
}

#[test]
fn a_key_that_is_there_twice_is_an_error() {
    let schema = fields(&[("n", Int64), ("s", Utf8View)]);
    for record in ["{\"n\":1,\"n\":2}", "{\"n\":null,\"s\":\"a\",\"\\u006e\":2}", "{\"s\":1,\"s\":1}"] {
        let bytes = format!("{{\"n\":7}}\n{record}\n{{\"n\":8}}\n");
        let error = message(read_whole(bytes.as_bytes(), &scan(&schema, &options("jsonl"))));
        assert!(error.contains("is there twice"), "{error}");
        let mut passing = scan(&schema, &options("jsonl"));
        passing.format.on_error = OnError::Skip;
        let (batches, skipped) = read_whole(bytes.as_bytes(), &passing).unwrap();
        assert_eq!((concat(&schema, &batches).num_rows(), skipped.rows), (2, 1), "{record}");
    }
    // Of a column that nobody wants nothing is known.
    let (batches, _) = read_whole(b"{\"x\":1,\"x\":2,\"n\":3}\n", &scan(&schema, &options("jsonl"))).unwrap();
    assert_eq!(concat(&schema, &batches).num_rows(), 1);
}
