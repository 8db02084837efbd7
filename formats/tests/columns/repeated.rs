//! Parquet: repeated values without an annotation, and lists of older writers (the specification's rules of backward
//! compatibility), in files made by the crate's low-level writer.

use std::path::Path;
use std::sync::Arc;

use crate::common::*;
use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use formats::registry::format;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, Int96};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// Values of one leaf with their levels of definition and of repetition.
enum Leaf<'a> {
    Int(&'a [i32], &'a [i16], &'a [i16]),
    Text(&'a [&'a str], &'a [i16], &'a [i16]),
    Stamp(&'a [Int96], &'a [i16], &'a [i16]),
}

/// The rows [1, 2], [], [3].
const LIST: Leaf = Leaf::Int(&[1, 2, 3], &[1, 1, 0, 1], &[0, 1, 0, 0]);

/// The first column of a file of this schema with a row group of these leaves, row by row.
fn rows(columns: &str, leaves: &[Leaf]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repeated.parquet");
    write_leaves(&path, &format!("message m {{ {columns} }}"), leaves);
    let parquet = format("parquet").unwrap();
    let counted = parquet.rows(&entry(&path), &options("parquet", "none")).unwrap();
    let batch: RecordBatch = read_all(parquet, &path).unwrap();
    assert_eq!(counted, Some(batch.num_rows() as u64), "{columns}");
    let display = FormatOptions::default().with_null("NULL");
    let column = ArrayFormatter::try_new(batch.column(0), &display).unwrap();
    (0..batch.num_rows()).map(|row| column.value(row).to_string()).collect()
}

fn write_leaves(path: &Path, message: &str, leaves: &[Leaf]) {
    let schema = Arc::new(parse_message_type(message).unwrap());
    let out = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(WriterProperties::default())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for leaf in leaves {
        let mut column = group.next_column().unwrap().unwrap();
        match (column.untyped(), leaf) {
            (ColumnWriter::Int32ColumnWriter(writer), Leaf::Int(values, definition, repetition)) => {
                writer.write_batch(values, Some(definition), Some(repetition)).unwrap();
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Leaf::Text(values, definition, repetition)) => {
                let values: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(*text)).collect();
                writer.write_batch(&values, Some(definition), Some(repetition)).unwrap();
            }
            (ColumnWriter::Int96ColumnWriter(writer), Leaf::Stamp(values, definition, repetition)) => {
                writer.write_batch(values, Some(definition), Some(repetition)).unwrap();
            }
            _ => panic!("a leaf of another type"),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn repeated_values_without_an_annotation_are_lists() {
    let lists = ["[1, 2]", "[]", "[3]"];
    assert_eq!(rows("repeated int32 x;", &[LIST]), lists);
    assert_eq!(rows("repeated int32 x (UINT_8);", &[LIST]), lists);
    assert_eq!(rows("repeated int32 x (DATE);", &[LIST]), ["[1970-01-02, 1970-01-03]", "[]", "[1970-01-04]"]);
    let texts = Leaf::Text(&["a", "b", "c"], &[1, 1, 0, 1], &[0, 1, 0, 0]);
    assert_eq!(rows("repeated binary x (UTF8);", &[texts]), ["[a, b]", "[]", "[c]"]);
    assert_eq!(
        rows("repeated int32 x; required int32 id;", &[LIST, Leaf::Int(&[7, 8, 9], &[0; 3], &[0; 3])]),
        lists
    );
    assert_eq!(
        rows("required group g { repeated int32 x; }", &[LIST]),
        ["{x: [1, 2]}", "{x: []}", "{x: [3]}"]
    );
    assert_eq!(
        rows("repeated group x { required int32 a; required int32 b; }", &[LIST, LIST]),
        ["[{a: 1, b: 1}, {a: 2, b: 2}]", "[]", "[{a: 3, b: 3}]"]
    );
    let deep = Leaf::Int(&[1, 2, 3], &[2, 2, 1, 0, 2], &[0, 2, 1, 0, 0]);
    assert_eq!(
        rows("repeated group g { repeated int32 x; }", &[deep]),
        ["[{x: [1, 2]}, {x: []}]", "[]", "[{x: [3]}]"]
    );
}

#[test]
fn lists_of_two_levels_are_read_by_the_rules_of_the_specification() {
    let (lists, structs) = (["[1, 2]", "[]", "[3]"], ["[{a: 1}, {a: 2}]", "[]", "[{a: 3}]"]);
    let list = |repeated: &str| rows(&format!("required group x (LIST) {{ {repeated} }}"), &[LIST]);
    assert_eq!(list("repeated int32 element;"), lists);
    assert_eq!(list("repeated group bag { required int32 array_element; }"), lists);
    // A group of one field is the element by its name alone.
    assert_eq!(list("repeated group array { required int32 a; }"), structs);
    assert_eq!(list("repeated group x_tuple { required int32 a; }"), structs);
    assert_eq!(
        rows(
            "required group x (LIST) { repeated group bag { required int32 a; required int32 b; } }",
            &[LIST, LIST]
        ),
        ["[{a: 1, b: 1}, {a: 2, b: 2}]", "[]", "[{a: 3, b: 3}]"]
    );
    for map in [
        "required group x (MAP) { repeated group map (MAP_KEY_VALUE) { required int32 key; required int32 v; } }",
        "required group x (MAP_KEY_VALUE) { repeated group map { required int32 key; required int32 v; } }",
    ] {
        assert_eq!(rows(map, &[LIST, LIST]), ["{1: 1, 2: 2}", "{}", "{3: 3}"]);
    }
}

#[test]
fn timestamps_of_96_bits_in_lists_and_structs_have_the_range_of_microseconds() {
    // 0001-01-01 and 2024-01-01: nanoseconds of the day, and the Julian day.
    let days = [Int96::from(vec![0, 0, 1_721_426]), Int96::from(vec![0, 0, 2_460_311])];
    let stamps = || Leaf::Stamp(&days, &[1, 1], &[0, 1]);
    assert_eq!(rows("repeated int96 x;", &[stamps()]), ["[0001-01-01T00:00:00, 2024-01-01T00:00:00]"]);
    let single = Leaf::Stamp(&days, &[0, 0], &[0, 0]);
    assert_eq!(
        rows("required group g { required int96 x; }", &[single]),
        ["{x: 0001-01-01T00:00:00}", "{x: 2024-01-01T00:00:00}"]
    );
}
