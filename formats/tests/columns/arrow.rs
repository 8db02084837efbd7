//! Arrow IPC: round trips, files and streams of other writers, damaged files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::common::*;
use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, DictionaryArray, Int8Array, Int32Array, LargeStringArray,
    RecordBatch, StringArray, StringViewArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema, UnionFields, UnionMode};
use formats::format::Format;
use formats::registry::format;
use schema::FileEntry;

fn arrow() -> &'static dyn Format {
    format("arrow").unwrap()
}

#[test]
fn round_trips_in_every_compression() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(5000, 1);
    for compression in arrow().compressions() {
        let path = write(dir.path(), arrow(), &batch, compression);
        assert_same(&batch, &read_all(arrow(), &path).unwrap());
        assert_eq!(arrow().rows(&entry(&path), &options("arrow", "none")).unwrap(), Some(5000));
    }
}

#[test]
fn round_trips_of_no_row_one_row_and_several_batches() {
    let dir = tempfile::tempdir().unwrap();
    for rows in [0, 1, 140_000] {
        let batch = all_types(rows, 2);
        let path = write(dir.path(), arrow(), &batch, "zstd");
        assert_same(&batch, &read_all(arrow(), &path).unwrap());
    }
}

#[test]
fn bytes_do_not_depend_on_how_rows_are_fed() {
    let batch = all_types(50_000, 3);
    let once = encode(arrow(), &batch, "lz4", 50_000);
    assert!(once == encode(arrow(), &batch, "lz4", 50_000), "two runs differ");
    assert!(once == encode(arrow(), &batch, "lz4", 777), "the shape of batches shows");
}

#[test]
fn views_are_compacted_before_they_are_written() {
    let batch = all_types(60_000, 4).project(&[23]).unwrap();
    let few = batch.slice(30_000, 60);
    assert!(encode(arrow(), &few, "none", 60).len() < 8000);
}

#[test]
fn projections_in_any_order_and_of_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(3000, 5);
    let path = write(dir.path(), arrow(), &batch, "none");
    for projection in [vec![], vec![22], vec![23, 3, 18], vec![5, 5]] {
        let found = read(arrow(), &path, &scan(&batch.schema(), projection.clone(), vec![])).unwrap();
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 3000);
        if !projection.is_empty() {
            let found = arrow_select::concat::concat_batches(&found[0].schema(), &found).unwrap();
            assert_same(&batch.project(&projection).unwrap(), &found);
        }
    }
}

/// A table with the kinds of text that other writers write.
fn foreign(first: usize, rows: usize) -> RecordBatch {
    let words = ["zero", "one", "a word that is longer than a view"];
    let word = |i: usize| (i % 5 != 1).then(|| words[(first + i) % 3]);
    let dictionary: DictionaryArray<Int8Type> = (0..rows).map(word).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("plain", Arc::new((0..rows).map(word).collect::<StringArray>()) as ArrayRef, true),
        ("large", Arc::new((0..rows).map(word).collect::<LargeStringArray>()), true),
        ("dictionary", Arc::new(dictionary), true),
        ("view", Arc::new((0..rows).map(word).collect::<StringViewArray>()), true),
        ("bytes", Arc::new((0..rows).map(|i| word(i).map(str::as_bytes)).collect::<BinaryArray>()), true),
        ("number", Arc::new(Int32Array::from_iter_values((0..rows).map(|i| (first + i) as i32))), true),
    ])
    .unwrap()
}

fn check_foreign(path: &Path) {
    let found = read_all(arrow(), path).unwrap();
    assert_eq!(found.num_rows(), 5000);
    for column in 0..4 {
        assert_eq!(found.column(column).data_type(), &DataType::Utf8View);
        assert_eq!(found.column(column).as_ref(), found.column(0).as_ref());
    }
    assert_eq!(found.column(0).null_count(), 1000);
    assert_eq!(show(found.column(0), 2), "\"a word that is longer than a view\"");
    assert_eq!(found.column(4).data_type(), &DataType::BinaryView);
    let numbers = found.column(5).as_primitive::<arrow_array::types::Int32Type>();
    assert!(numbers.values().iter().copied().eq(0..5000));

    let scan = scan(&found.schema(), vec![2], vec![]);
    let words = read(arrow(), path, &scan).unwrap();
    assert_eq!(words.iter().map(RecordBatch::num_rows).sum::<usize>(), 5000);
    assert_eq!(show(words[0].column(0), 0), "\"zero\"");
}

#[test]
fn files_of_other_writers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("foreign.arrow");
    // A file has one dictionary a column: the second batch begins with the same word.
    let batches = [foreign(0, 2499), foreign(2499, 2501)];
    let mut writer = FileWriter::try_new(File::create(&path).unwrap(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.finish().unwrap();
    check_foreign(&path);
}

/// pyarrow's `dictionary_encode(null_encoding="encode")` writes such.
#[test]
fn a_null_among_the_values_of_a_dictionary_is_null() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("null.arrow");
    let values = Arc::new(StringArray::from(vec![Some("a"), None, Some("")]));
    let keys = Int8Array::from(vec![Some(0), Some(1), None, Some(2)]);
    let column = DictionaryArray::<Int8Type>::new(keys, values);
    let batch =
        RecordBatch::try_from_iter_with_nullable([("d", Arc::new(column) as ArrayRef, true)]).unwrap();
    let mut writer = FileWriter::try_new(File::create(&path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let found = read_all(arrow(), &path).unwrap();
    let expected: StringViewArray = [Some("a"), None, None, Some("")].into_iter().collect();
    assert_eq!(found.column(0).as_ref(), &expected as &dyn Array);
}

#[test]
fn a_union_of_types_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("union.arrow");
    let field = Arc::new(Field::new("i", DataType::Int64, true));
    let fields = UnionFields::try_new([0], [field]).unwrap();
    let union = Field::new("u", DataType::Union(fields, UnionMode::Dense), false);
    let schema = Schema::new(vec![Field::new("a", DataType::Int64, true), union]);
    for stream in [false, true] {
        let file = File::create(&path).unwrap();
        match stream {
            true => StreamWriter::try_new(file, &schema).unwrap().finish().unwrap(),
            false => FileWriter::try_new(file, &schema).unwrap().finish().unwrap(),
        }
        let error = read_all(arrow(), &path).unwrap_err().to_string();
        assert!(error.contains("'u' is a union of types"), "{error}");
    }
}

#[test]
fn streams() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stream.arrows");
    let batches = [foreign(0, 2500), foreign(2500, 2500)];
    let mut writer = StreamWriter::try_new(File::create(&path).unwrap(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.finish().unwrap();
    check_foreign(&path);
    assert_eq!(arrow().rows(&entry(&path), &options("arrow", "none")).unwrap(), None);

    // Without its end mark a stream is whole; cut inside of a message it is not.
    let whole = std::fs::read(&path).unwrap();
    replace(&path, &whole[..whole.len() - 8]);
    check_foreign(&path);
    for cut in [9, 500, whole.len() / 2] {
        replace(&path, &whole[..whole.len() - cut]);
        let error = read_all(arrow(), &path).unwrap_err().to_string();
        assert!(error.contains("stream.arrows") && error.contains("ends in a message"), "{error}");
    }
}

#[test]
fn damaged_files_are_errors() {
    quiet_guarded_panics();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged.arrow");
    let batch = all_types(40, 7).project(&[4, 11, 18, 20]).unwrap();
    let whole = encode(arrow(), &batch, "lz4", 40);
    for length in 0..whole.len() {
        replace(&path, &whole[..length]);
        let error = read_all(arrow(), &path).expect_err("a part of the file is missing").to_string();
        assert!(error.contains("damaged.arrow"), "{error}");
    }
    // A flipped bit may go unnoticed, as the format holds no checksums, but must not panic.
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        replace(&path, &bytes);
        let Ok(schema) = arrow().infer(&FileEntry::new(&path, 0, 0), &options("arrow", "none"), 0) else {
            continue;
        };
        let scan = scan(&schema, (0..schema.fields().len()).collect(), vec![]);
        let Ok(morsels) = arrow().split(&entry(&path), &scan, 1 << 20) else { continue };
        for morsel in morsels {
            let Ok(reader) = arrow().reader(&morsel, &scan) else { continue };
            let batches = formats::reader::Driver::open(&morsel, reader).unwrap();
            for batch in batches.take(100).map_while(Result::ok) {
                batch.columns().iter().for_each(|c| c.to_data().validate_full().unwrap());
            }
        }
    }
}

#[test]
fn what_is_not_arrow_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.arrow");
    for text in ["", "a,b\n1,2\n", "ARROW1 and then nothing of the kind"] {
        std::fs::write(&path, text).unwrap();
        let error = read_all(arrow(), &path).unwrap_err().to_string();
        assert!(error.contains("x.arrow") && error.contains("Arrow"), "{error}");
    }
    let schema = all_types(1, 1).schema();
    let error = arrow().encoder(&schema, &options("arrow", "gzip")).err().unwrap().to_string();
    assert!(error.contains("gzip"), "{error}");
}

/// A file that Polars wrote.
fn of_polars(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/columns/polars").join(name)
}

#[test]
fn integers_of_128_bits_are_decimals() {
    for name in ["wide.arrow", "wide.arrows"] {
        let batch = read_all(arrow(), &of_polars(name)).unwrap();
        for (column, power) in [(0, -(1i128 << 100)), (1, 1i128 << 100)] {
            let expected = Decimal128Array::from(vec![Some(1), None, Some(power)]);
            let expected = expected.with_precision_and_scale(38, 0).unwrap();
            assert_eq!(batch.column(column).as_ref(), &expected as &dyn Array, "{name}");
        }
    }
    let error = read_all(arrow(), &of_polars("too_wide.arrow")).unwrap_err().to_string();
    assert!(error.contains("column signed") && error.contains("more than 38 digits"), "{error}");
    let error = read_all(arrow(), &of_polars("nested.arrow")).unwrap_err().to_string();
    assert!(error.contains("column 'l' has integers of 128 bits in lists"), "{error}");
    // Parquet has no such type: the file says 16 bytes, and what Arrow's schema in it says is not known.
    let batch = read_all(format("parquet").unwrap(), &of_polars("wide.parquet")).unwrap();
    assert_eq!(batch.num_rows(), 2);
    assert_eq!(batch.column(1).data_type(), &DataType::FixedSizeBinary(16));
}
