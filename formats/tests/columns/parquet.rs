//! Parquet: round trips, projections, pruning, damaged files.

use std::sync::Arc;

use crate::common::*;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};
use formats::format::Format;
use formats::registry::format;
use schema::{ColumnBound, FileEntry};

fn parquet() -> &'static dyn Format {
    format("parquet").unwrap()
}

/// Every type but timestamps in seconds, which Parquet does not have.
fn all_types(rows: usize, seed: u64) -> RecordBatch {
    let mut batch = crate::common::all_types(rows, seed);
    batch.remove_column(13);
    batch
}

#[test]
fn round_trips_in_every_compression() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(5000, 1);
    for compression in parquet().compressions() {
        let path = write(dir.path(), parquet(), &batch, compression);
        assert_same(&batch, &read_all(parquet(), &path).unwrap());
        assert_eq!(parquet().rows(&entry(&path), &options("parquet", "none")).unwrap(), Some(5000));
    }
}

#[test]
fn round_trips_of_no_row_one_row_and_several_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    for rows in [0, 1, 600_000] {
        let batch = all_types(rows, 2);
        let batch = if rows > 5000 { batch.project(&[9, 18, 22]).unwrap() } else { batch };
        let path = write(dir.path(), parquet(), &batch, "snappy");
        assert_same(&batch, &read_all(parquet(), &path).unwrap());
    }
}

#[test]
fn seconds_become_milliseconds() {
    let dir = tempfile::tempdir().unwrap();
    let stamps = |values| {
        let array = Arc::new(TimestampSecondArray::from(values).with_timezone("+02:00")) as ArrayRef;
        RecordBatch::try_from_iter([("s", array)]).unwrap()
    };
    let batch = stamps(vec![-1, 0, 1_700_000_000]);
    let found = read_all(parquet(), &write(dir.path(), parquet(), &batch, "none")).unwrap();
    let expected = TimestampMillisecondArray::from(vec![-1000, 0, 1_700_000_000_000]).with_timezone("+02:00");
    assert_eq!(found.column(0).as_ref(), &expected as &dyn Array);
    let far = stamps(vec![i64::MAX]);
    let encoder = parquet().encoder(&far.schema(), &options("parquet", "none")).unwrap();
    let error = encoder.encode(&[far]).err().unwrap().to_string();
    assert!(error.contains("column s"), "{error}");
}

#[test]
fn dates_and_times_that_others_would_read_as_numbers_are_written_as_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let batch = RecordBatch::try_from_iter([
        ("date", Arc::new(Date64Array::from(vec![Some(-86_400_000), None])) as ArrayRef),
        ("time", Arc::new(Time32SecondArray::from(vec![Some(86_399), None]))),
    ])
    .unwrap();
    let found = read_all(parquet(), &write(dir.path(), parquet(), &batch, "none")).unwrap();
    let date = TimestampMillisecondArray::from(vec![Some(-86_400_000), None]);
    assert_eq!(found.column(0).as_ref(), &date as &dyn Array);
    let time = Time32MillisecondArray::from(vec![Some(86_399_000), None]);
    assert_eq!(found.column(1).as_ref(), &time as &dyn Array);
}

#[test]
fn bytes_do_not_depend_on_how_rows_are_fed() {
    let batch = all_types(50_000, 3);
    let once = encode(parquet(), &batch, "lz4", 50_000);
    assert!(once == encode(parquet(), &batch, "lz4", 50_000), "two runs differ");
    assert!(once == encode(parquet(), &batch, "lz4", 777), "the shape of batches shows");
}

#[test]
fn projections_in_any_order_and_of_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(3000, 4);
    let path = write(dir.path(), parquet(), &batch, "none");
    for projection in [vec![], vec![22], vec![23, 3, 18], vec![5, 5]] {
        let found = read(parquet(), &path, &scan(&batch.schema(), projection.clone(), vec![])).unwrap();
        assert_eq!(found.iter().map(|b| b.num_rows()).sum::<usize>(), 3000);
        if !projection.is_empty() {
            let found = arrow_select::concat::concat_batches(&found[0].schema(), &found).unwrap();
            assert_same(&batch.project(&projection).unwrap(), &found);
        }
    }
}

fn bound(column: usize, min: Option<ArrayRef>, max: Option<ArrayRef>) -> Vec<ColumnBound> {
    vec![ColumnBound { column, min, max }]
}

#[test]
fn bounds_prune_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(600_000, 5).project(&[21, 22, 24]).unwrap();
    let path = write(dir.path(), parquet(), &batch, "snappy");
    let rows = |bounds| {
        let found = read(parquet(), &path, &scan(&batch.schema(), vec![0], bounds)).unwrap();
        found.iter().map(|b| b.num_rows()).sum::<usize>()
    };
    let int = |v: i64| Some(Arc::new(Int64Array::from(vec![v])) as ArrayRef);
    assert_eq!(rows(vec![]), 600_000);
    assert_eq!(rows(bound(0, int(600_000), None)), 0);
    assert_eq!(rows(bound(0, int(590_000), None)), 600_000 - 4 * 131_072);
    assert_eq!(rows(bound(0, int(131_072), int(262_143))), 131_072);
    assert_eq!(rows(bound(0, None, int(-1))), 0);
    let text = |v: &str| Some(Arc::new(StringViewArray::from(vec![v])) as ArrayRef);
    assert_eq!(rows(bound(1, text("zzz"), None)), 0);
    assert_eq!(rows(bound(1, None, text(""))), 600_000);
    let share = Some(Arc::new(arrow_array::Float32Array::from(vec![2.0])) as ArrayRef);
    assert_eq!(rows(bound(2, share, None)), 600_000, "a NaN could be in there");
}

#[test]
fn few_rows_are_chosen_before_other_columns_are_decoded() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(300_000, 7).project(&[21, 22, 3]).unwrap();
    let path = write(dir.path(), parquet(), &batch, "snappy");
    let int = |v: i64| Some(Arc::new(Int64Array::from(vec![v])) as ArrayRef);
    for (from, to) in [(131_060, 131_080), (299_990, 400_000), (-5, 0)] {
        let mut bounds = bound(0, int(from), None);
        bounds.extend(bound(0, None, int(to)));
        let found = read(parquet(), &path, &scan(&batch.schema(), vec![2, 1, 0], bounds)).unwrap();
        let found = arrow_select::concat::concat_batches(&found[0].schema(), &found).unwrap();
        let (first, last) = (from.max(0) as usize, to.min(299_999) as usize);
        let expected = batch.slice(first, last - first + 1).project(&[2, 1, 0]).unwrap();
        assert_same(&expected, &found);
    }
}

#[test]
fn columns_are_found_by_name_cast_and_completed() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(100, 6);
    let path = write(dir.path(), parquet(), &batch, "none");
    let wanted =
        |name: &str, data_type, nullable| Arc::new(Schema::new(vec![Field::new(name, data_type, nullable)]));
    let one = |schema| read(parquet(), &path, &scan(&schema, vec![0], vec![]));
    let long = one(wanted("i32", DataType::Int64, true)).unwrap();
    assert_eq!(show(long[0].column(0), 0), show(batch.column(3), 0));
    let absent = one(wanted("absent", DataType::Utf8View, true)).unwrap();
    assert_eq!(absent[0].column(0).null_count(), 100);
    let error = one(wanted("absent", DataType::Utf8View, false)).unwrap_err().to_string();
    assert!(error.contains("no column 'absent'") && error.contains("none.parquet"), "{error}");
    let error = one(wanted("i64", DataType::Int8, true)).unwrap_err().to_string();
    assert!(error.contains("column i64"), "{error}");
}

#[test]
fn damaged_files_are_errors() {
    quiet_guarded_panics();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged.parquet");
    let batch = all_types(40, 7).project(&[4, 11, 18, 20]).unwrap();
    let whole = encode(parquet(), &batch, "snappy", 40);
    for length in 0..whole.len() {
        replace(&path, &whole[..length]);
        let error = read_all(parquet(), &path).expect_err("a part of the file is missing").to_string();
        assert!(error.contains("damaged.parquet"), "{error}");
    }
    // A flipped bit may go unnoticed, as plain pages hold no checksums, but must not panic.
    let mut noticed = 0;
    for byte in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[byte] ^= 1 << (byte % 8);
        replace(&path, &bytes);
        noticed += usize::from(read_some(&path).is_err());
    }
    assert!(noticed > whole.len() / 10, "{noticed} of {}", whole.len());

    fn read_some(path: &std::path::Path) -> formats::Result<Vec<RecordBatch>> {
        let schema = parquet().infer(&FileEntry::new(path, 0, 0), &options("parquet", "none"), 0)?;
        read(parquet(), path, &scan(&schema, (0..schema.fields().len()).collect(), vec![]))
    }
}

#[test]
fn what_is_not_parquet_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    let error = read_all(parquet(), &path).unwrap_err().to_string();
    assert!(error.contains("not a Parquet file"), "{error}");
    let error = parquet().encoder(&Arc::new(Schema::empty()), &options("parquet", "zlib")).err().unwrap();
    assert!(error.to_string().contains("zlib"));
}
