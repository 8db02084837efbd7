//! What is guessed of tables before they are read.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, Schema};
use formats::discover::{OpenOptions, SchemaChoice, open_batches};
use formats::registry::format;
use schema::{ColumnEstimate, FormatOptions, Table};

use crate::common::*;

const COLUMNS: [&str; 6] = ["id", "item", "sorted", "kind", "price", "turn"];

/// A number without a pattern (SplitMix64).
fn noise(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// Rows with a key, a number of 500, a number that four rows one behind the other have, a text of three, a price from 0 to
/// 1000, and one of 10 numbers in turn.
fn batch(from: u64, rows: u64) -> RecordBatch {
    let all = || from..from + rows;
    let integers = |of: &dyn Fn(u64) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(all().map(|i| of(i) as i64)))
    };
    let kinds = ["red", "green", "blue"];
    let columns: Vec<ArrayRef> = vec![
        integers(&|i| 1_000_000 + i),
        integers(&|i| noise(i) % 500),
        integers(&|i| i / 4),
        Arc::new(StringViewArray::from_iter_values(all().map(|i| kinds[(noise(i) >> 20) as usize % 3]))),
        Arc::new(Float64Array::from_iter_values(all().map(|i| (noise(i) >> 40) as f64 / 16_777.216))),
        integers(&|i| i % 10),
    ];
    let fields = COLUMNS.iter().zip(&columns).map(|(name, c)| Field::new(*name, c.data_type().clone(), true));
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns).unwrap()
}

/// A file of an encoding under a compression; of csv with names.
fn packed(encoding: &str, compression: &str, batch: &RecordBatch) -> Vec<u8> {
    let options = FormatOptions {
        encoding: encoding.into(),
        compression: compression.into(),
        header: true,
        ..FormatOptions::default()
    };
    let encoder = format(encoding).unwrap().encoder(&batch.schema(), &options).unwrap();
    let mut assembler = encoder.assembler().unwrap();
    let mut out = Vec::new();
    assembler.begin(&mut out).unwrap();
    for start in (0..batch.num_rows()).step_by(encoder.block_rows()) {
        let block = batch.slice(start, encoder.block_rows().min(batch.num_rows() - start));
        assembler.append(encoder.encode(&[block]).unwrap(), &mut out).unwrap();
    }
    assembler.finish(&mut out).unwrap();
    out
}

fn guess(table: &Table, column: &str) -> ColumnEstimate {
    table.guesses.columns[table.schema.index_of(column).unwrap()]
}

/// Whether a number is near another one.
fn is_near(found: Option<u64>, expected: f64, part: f64) -> bool {
    found.is_some_and(|found| (found as f64 - expected).abs() <= expected * part)
}

#[test]
fn rows_are_guessed_from_the_first_records() {
    let rows = 60_000;
    let batch = batch(0, rows);
    let schema = OpenOptions { schema: Some(SchemaChoice::Given(batch.schema())), ..OpenOptions::default() };
    for encoding in
        ["csv", "jsonl", "msgpack", "cbor", "bincode", "protobuf", "capnproto", "capnproto-packed"]
    {
        for compression in ["none", "gzip", "zlib", "snappy", "lz4", "zstd"] {
            let bytes = packed(encoding, compression, &batch);
            let dir = tree(&[("t.data", &bytes)]);
            let options = OpenOptions {
                encoding: Some(encoding.into()),
                compression: Some(compression.into()),
                ..schema.clone()
            };
            let table = at(&dir, "t.data", &options).unwrap();
            let about = format!("{encoding} {compression}: {:?}", table.guesses);
            assert_eq!(table.rows, None, "{about}");
            // How well a beginning is packed differs from the rest.
            let part = if compression == "none" { 0.05 } else { 0.35 };
            assert!(is_near(table.guesses.rows, rows as f64, part), "{about}");
            assert!(guess(&table, "id").values > Some(rows * 3 / 5), "{about}");
            assert!(is_near(guess(&table, "item").values, 500.0, 0.1), "{about}");
            assert_eq!(guess(&table, "kind").values, Some(3), "{about}");
        }
    }
}

#[test]
fn lines_of_text_are_guessed() {
    let text: String = (0..100_000).map(|i| format!("a line with the number {i}\n")).collect();
    let dir = texts(&[("t.txt", &text)]);
    assert!(is_near(table(&dir, "t.txt").guesses.rows, 100_000.0, 0.1));
}

#[test]
fn what_was_inferred_is_guessed_as_what_is_given() {
    let batch = batch(0, 60_000);
    let dir =
        tree(&[("t.csv", &packed("csv", "none", &batch)), ("t.jsonl.gz", &packed("jsonl", "gzip", &batch))]);
    for name in ["t.csv", "t.jsonl.gz"] {
        let table = table(&dir, name);
        assert!(is_near(table.guesses.rows, 60_000.0, 0.35), "{:?}", table.guesses);
        let counted = COLUMNS.map(|column| guess(&table, column).is_counted);
        assert_eq!(counted, [false, true, false, true, false, true], "{name}: {:?}", table.guesses);
        // A key; and a column of which four rows one behind the other have a value.
        let rows = table.guesses.rows.unwrap() as f64;
        assert!(is_near(guess(&table, "id").values, rows, 0.01), "{:?}", table.guesses);
        assert!(is_near(guess(&table, "sorted").values, rows / 4.0, 0.01), "{:?}", table.guesses);
        // What is sorted goes on behind the sample.
        assert_eq!(guess(&table, "id").span, None);
        assert_eq!(guess(&table, "sorted").span, None);
        assert_eq!(guess(&table, "item").span, Some((0.0, 499.0)));
        assert_eq!(guess(&table, "turn").span, Some((0.0, 9.0)));
        let price = guess(&table, "price").span.unwrap();
        assert!(price.0 < 10.0 && price.1 > 990.0, "{price:?}");
        assert_eq!(guess(&table, "kind").span, None);
    }
}

#[test]
fn a_file_that_is_looked_at_whole_tells_all() {
    let dir = tree(&[("t.csv", &packed("csv", "none", &batch(0, 1000))), ("empty.csv", b"a,b\n")]);
    let table = table(&dir, "t.csv");
    assert_eq!((table.rows, table.guesses.rows), (None, Some(1000)));
    let id = ColumnEstimate { values: Some(1000), is_counted: true, span: Some((1_000_000.0, 1_000_999.0)) };
    assert_eq!(guess(&table, "id"), id);
    assert_eq!((guess(&table, "sorted").values, guess(&table, "sorted").is_counted), (Some(250), true));
    let none = at(&dir, "empty.csv", &OpenOptions { header: Some(true), ..OpenOptions::default() }).unwrap();
    assert_eq!(none.guesses.rows, Some(0));
}

#[test]
fn files_of_a_table_tell_of_those_between_them() {
    let batches: Vec<RecordBatch> = (0..10).map(|i| batch(i * 10_000, 10_000)).collect();
    let mut files: Vec<(String, Vec<u8>)> =
        batches.iter().enumerate().map(|(i, b)| (format!("d/{i}.csv"), packed("csv", "none", b))).collect();
    // One of them is compressed.
    files[4] = ("d/4.csv.gz".into(), packed("csv", "gzip", &batches[4]));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, b)| (name.as_str(), b.as_slice())).collect();
    let dir = tree(&files);
    let table = table(&dir, "d");
    assert!(is_near(table.guesses.rows, 100_000.0, 0.1), "{:?}", table.guesses);
    let (from, to) = guess(&table, "id").span.unwrap();
    assert!(from == 1_000_000.0 && to > 1_090_000.0, "{:?}", table.guesses);
    assert!(is_near(guess(&table, "sorted").values, 25_000.0, 0.1), "{:?}", table.guesses);
}

#[test]
fn names_of_directories_tell_their_values() {
    let dir = texts(&[
        ("t/year=2024/city=Rome/a.csv", "x\n1\n"),
        ("t/year=2026/city=Rome/b.csv", "x\n2\n"),
        ("t/year=2026/city=Oslo/c.csv", "x\n3\n"),
    ]);
    let table = at(&dir, "t", &OpenOptions { file_column: true, ..OpenOptions::default() }).unwrap();
    let counted = |values, span| ColumnEstimate { values: Some(values), is_counted: true, span };
    assert_eq!(guess(&table, "x"), counted(3, Some((1.0, 3.0))));
    assert_eq!(guess(&table, "year"), counted(2, Some((2024.0, 2026.0))));
    assert_eq!(guess(&table, "city"), counted(2, None));
    assert_eq!(guess(&table, "_file"), counted(3, None));
}

#[test]
fn footers_tell_spans_and_values() {
    let batch = batch(0, 60_000);
    let dir = tree(&[
        ("t.buren", &packed("buren", "none", &batch)),
        ("t.parquet", &packed("parquet", "none", &batch)),
    ]);
    let buren = table(&dir, "t.buren");
    assert_eq!((buren.rows, buren.guesses.rows), (Some(60_000), None));
    for (column, expected) in [("id", 60_000.0), ("item", 500.0), ("sorted", 15_000.0), ("kind", 3.0)] {
        let found = guess(&buren, column);
        assert!(is_near(found.values, expected, 0.15) && found.is_counted, "{column}: {found:?}");
        assert_eq!(found.span, None);
    }
    assert_eq!(buren.spans[0], Some((1_000_000.0, 1_059_999.0)));
    let parquet = table(&dir, "t.parquet");
    assert_eq!(parquet.spans[..3], buren.spans[..3]);
    assert_eq!(parquet.guesses.columns, [], "the writer does not count values");
    // By name, and not by what has another unit.
    let mixed = given(&[("item", DataType::Int64), ("id", DataType::Float64)]);
    let mixed = at(&dir, "t.parquet", &mixed).unwrap();
    assert_eq!(mixed.spans, [Some((0.0, 499.0)), None]);
}

#[test]
fn rows_in_memory_tell_of_themselves() {
    let batches: Vec<RecordBatch> = (0..20).map(|i| batch(i * 1000, 1000)).collect();
    let table = open_batches("t", &batches[0].schema(), &batches).unwrap();
    assert_eq!((table.rows, table.guesses.rows), (Some(20_000), None));
    assert!(is_near(guess(&table, "item").values, 500.0, 0.1));
    assert!(is_near(guess(&table, "id").values, 20_000.0, 0.01));
    assert_eq!(guess(&table, "id").span, Some((1_000_000.0, 1_019_999.0)));
    assert_eq!(guess(&table, "kind").values, Some(3));
}

#[test]
fn guesses_are_the_same_each_time_and_errors_are_no_guesses() {
    let good = packed("csv", "none", &batch(0, 60_000));
    // A record that is wrong is passed over, and a file that can't be read tells nothing before it is read.
    let bad = [&good[..1000], b"\nwrong,\"\n", &good[1000..]].concat();
    let dir = tree(&[("good.csv", &good), ("bad.csv", &bad), ("cut.csv.gz", &gzip("a,b\n1,2\n")[..15])]);
    assert_eq!(table(&dir, "good.csv").guesses, table(&dir, "good.csv").guesses);
    let schema = given(&COLUMNS.map(|name| (name, DataType::Utf8View)));
    let _ = at(&dir, "bad.csv", &schema).unwrap();
    let schema = given(&[("a", DataType::Int64), ("b", DataType::Int64)]);
    if let Ok(cut) = at(&dir, "cut.csv.gz", &OpenOptions { header: Some(true), ..schema }) {
        assert_eq!(cut.guesses.rows, None);
    }
}
