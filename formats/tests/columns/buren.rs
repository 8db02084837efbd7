//! buren: round trips, projections, pruning, damaged files.

use std::path::Path;
use std::sync::Arc;

use crate::common::*;
use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};
use formats::buren::footer::{Footer, TRAILER};
use formats::buren::inspect::{check, inspect};
use formats::format::{Format, ScanOptions};
use formats::registry::format;
use schema::{ColumnBound, ColumnPrefix, FileEntry};

fn buren() -> &'static dyn Format {
    format("buren").unwrap()
}

#[test]
fn round_trips_in_every_compression() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(5000, 1);
    for compression in buren().compressions() {
        let path = write(dir.path(), buren(), &batch, compression);
        assert_same(&batch, &read_all(buren(), &path).unwrap());
        assert_eq!(buren().rows(&entry(&path), &options("buren", "none")).unwrap(), Some(5000));
        let schema = buren().infer(&FileEntry::new(&path, 0, 0), &options("buren", "none"), 0).unwrap();
        assert_eq!(schema, batch.schema());
    }
}

#[test]
fn types_that_other_formats_lack_or_rename() {
    let dir = tempfile::tempdir().unwrap();
    let day = |days: i32| arrow_buffer::IntervalMonthDayNano::new(days, -days, i64::from(days));
    let batch = RecordBatch::try_from_iter([
        ("date", Arc::new(Date64Array::from(vec![Some(i64::MIN), None, Some(86_400_000)])) as ArrayRef),
        ("time", Arc::new(Time32SecondArray::from(vec![Some(0), None, Some(86_399)]))),
        ("seconds", Arc::new(DurationSecondArray::from(vec![Some(i64::MIN), None, Some(1)]))),
        (
            "interval",
            Arc::new(IntervalMonthDayNanoArray::from(vec![Some(day(-7)), None, Some(day(i32::MAX))])),
        ),
    ])
    .unwrap();
    for compression in ["none", "zstd"] {
        let found = read_all(buren(), &write(dir.path(), buren(), &batch, compression)).unwrap();
        assert_same(&batch, &found);
    }
}

#[test]
fn round_trips_of_no_row_one_row_and_several_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    for rows in [0, 1, 2, 300_001] {
        let batch = all_types(rows, 2);
        let path = write(dir.path(), buren(), &batch, "snappy");
        assert_same(&batch, &read_all(buren(), &path).unwrap());
    }
}

#[test]
fn bytes_do_not_depend_on_how_rows_are_fed_or_on_what_lies_under_null() {
    let batch = all_types(50_000, 3);
    let once = encode(buren(), &batch, "lz4", 50_000);
    assert!(once == encode(buren(), &batch, "lz4", 50_000), "two runs differ");
    assert!(once == encode(buren(), &batch, "lz4", 777), "the shape of batches shows");

    let nulls = arrow_buffer::NullBuffer::from(vec![true, false]);
    let bytes = |hidden| {
        let array = Int32Array::try_new(vec![5, hidden].into(), Some(nulls.clone())).unwrap();
        encode(buren(), &RecordBatch::try_from_iter([("c", Arc::new(array) as ArrayRef)]).unwrap(), "none", 2)
    };
    assert!(bytes(0) == bytes(77));
}

#[test]
fn values_of_many_lengths() {
    let dir = tempfile::tempdir().unwrap();
    for longest in [12, 13, 255, 256, 65_535, 65_536] {
        let values = [0, 1, 11, 12, 13, 16, 17, 200].map(|n| n.min(longest)).into_iter().chain([longest, 0]);
        let values = values.map(|n| "é".repeat(n / 2) + &"x".repeat(n % 2));
        let array = Arc::new(StringViewArray::from_iter_values(values)) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("t", array)]).unwrap();
        let path = write(dir.path(), buren(), &batch, "none");
        assert_same(&batch, &read_all(buren(), &path).unwrap());
    }
}

#[test]
fn projections_in_any_order_and_of_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(3000, 4);
    let path = write(dir.path(), buren(), &batch, "none");
    for projection in [vec![], vec![22], vec![23, 3, 18], vec![5, 5], vec![21]] {
        let found = read(buren(), &path, &scan(&batch.schema(), projection.clone(), vec![])).unwrap();
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 3000);
        if !projection.is_empty() {
            let found = arrow_select::concat::concat_batches(&found[0].schema(), &found).unwrap();
            assert_same(&batch.project(&projection).unwrap(), &found);
        }
    }
}

#[test]
fn texts_of_which_the_beginning_is_enough() {
    let dir = tempfile::tempdir().unwrap();
    let rows = 5000;
    let texts = |text: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new((0..rows).map(|i| (i % 7 != 3).then(|| text(i))).collect::<StringViewArray>())
    };
    let address = |i: usize| std::net::Ipv4Addr::from((i * i * 7919) as u32).to_string();
    let batch = RecordBatch::try_from_iter([
        ("address", texts(&address)),
        ("plain", texts(&|i| format!("{}{}", i * i, "x".repeat(i % 40)))),
        ("constant", texts(&|_| "always the same text".into())),
        ("few", texts(&|i| ["one of three texts", "two", "drei \u{e4}\u{f6}\u{fc} und mehr"][i % 3].into())),
        ("other", texts(&|i| format!("{}\u{e9}{}", "y".repeat(i % 11), "\u{65e5}".repeat(i % 17)))),
        ("similar", texts(&|i| format!("https://www.example.com/{}/index.html", i / 3))),
    ])
    .unwrap();
    let path = write(dir.path(), buren(), &batch, "none");
    for chars in [1, 4, 5, 8, 11, 12, 13, 40] {
        let prefixes = (0..6).map(|column| ColumnPrefix { column, chars }).collect();
        let scan = ScanOptions { prefixes, ..scan(&batch.schema(), (0..6).collect(), vec![]) };
        let found = read(buren(), &path, &scan).unwrap();
        let found = arrow_select::concat::concat_batches(&batch.schema(), &found).unwrap();
        for (column, whole) in found.columns().iter().zip(batch.columns()) {
            column.to_data().validate_full().unwrap();
            for (found, whole) in column.as_string_view().iter().zip(whole.as_string_view()) {
                assert_eq!(found.is_some(), whole.is_some());
                let (found, whole) = (found.unwrap_or_default(), whole.unwrap_or_default());
                assert!(whole.starts_with(found), "{found} of {whole}");
                assert!(found.chars().count() >= whole.chars().count().min(chars), "{found} of {whole}");
            }
        }
        let longest = found.column(0).as_string_view().iter().flatten().map(str::len).max();
        assert_eq!(
            longest,
            Some(if chars > 12 { 15 } else { chars }),
            "addresses are cut where that is cheap"
        );
    }
}

#[test]
fn zone_maps_prune_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    let rows = 2 * 131_072 + 10;
    let floats: Float64Array =
        (0..rows).map(|i| Some(if i == rows - 1 { f64::NAN } else { (i / 131_072) as f64 })).collect();
    let texts = StringViewArray::from_iter_values((0..rows).map(|i| format!("{:07}", i)));
    let long = StringViewArray::from_iter_values((0..rows).map(|_| "z".repeat(129)));
    let numbers = Int64Array::from_iter_values((0..rows).map(|i| i as i64));
    let batch = RecordBatch::try_from_iter([
        ("number", Arc::new(numbers) as ArrayRef),
        ("float", Arc::new(floats) as ArrayRef),
        ("text", Arc::new(texts) as ArrayRef),
        ("long", Arc::new(long) as ArrayRef),
    ])
    .unwrap();
    let path = write(dir.path(), buren(), &batch, "none");
    // The row groups that are read, and the rows that come of them.
    let count = |column, min: Option<ArrayRef>, max: Option<ArrayRef>| {
        let scan = scan(&batch.schema(), (0..4).collect(), vec![ColumnBound { column, min, max }]);
        let morsels = buren().split(&entry(&path), &scan, 1).unwrap();
        (morsels.len(), read(buren(), &path, &scan).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>())
    };
    let int = |v: i64| Some(Arc::new(Int64Array::from(vec![v])) as ArrayRef);
    assert_eq!(count(0, None, None), (3, rows));
    assert_eq!(count(0, int(131_071), int(131_071)), (1, 1));
    assert_eq!(count(0, int(262_144), None), (1, 10));
    assert_eq!(count(0, int(rows as i64), None), (0, 0));
    let float = |v: f64| Some(Arc::new(Float64Array::from(vec![v])) as ArrayRef);
    assert_eq!(count(1, float(5.0), None), (1, 1), "NaN is greater than 5");
    assert_eq!(count(1, None, float(-0.0)), (2, 131_072 + 1));
    let text = |v: &str| Some(Arc::new(StringViewArray::from(vec![v])) as ArrayRef);
    assert_eq!(count(2, text("0131072"), text("0131073")), (1, 2));
    assert_eq!(count(3, text("a"), text("b")), (3, 0), "the zone map leaves long text out");
    assert_eq!(count(3, text("zz"), None), (3, rows));
}

/// Bounds on every column of every encoding: the rows that come are those wanted and perhaps others, in order.
#[test]
fn bounds_choose_rows_of_every_encoding() {
    let dir = tempfile::tempdir().unwrap();
    let rows = 20_000;
    let mut numbers = Numbers(3);
    let mut noise: Vec<u64> = (0..rows).map(|_| numbers.next()).collect();
    noise[7] = 0;
    let texts = |value: &dyn Fn(usize) -> Option<String>| {
        Arc::new((0..rows).map(value).collect::<StringViewArray>()) as ArrayRef
    };
    let word = |n: u64| (0..n % 30).map(|i| char::from(b'a' + (n >> i) as u8 % 26)).collect::<String>();
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("row", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef, false),
        (
            "few",
            Arc::new(
                (0..rows).map(|i| (i % 9 != 2).then_some((noise[i] % 50) as i32)).collect::<Int32Array>(),
            ),
            true,
        ),
        ("runs", Arc::new(Int16Array::from_iter_values((0..rows).map(|i| noise[i / 40] as i16))), false),
        (
            "price",
            Arc::new(Float64Array::from_iter_values((0..rows).map(|i| (noise[i] % 5000) as f64 / 100.0))),
            false,
        ),
        (
            "address",
            texts(&|i| (i % 11 != 3).then(|| std::net::Ipv4Addr::from(noise[i] as u32).to_string())),
            true,
        ),
        ("word", texts(&|i| (i % 5 != 3).then(|| word(noise[i]))), true),
        ("visit", texts(&|i| Some(word(noise[i / 9] | 31))), false),
        ("language", texts(&|i| Some(format!("language {}", noise[i] % 60))), false),
        (
            "agent",
            texts(&|i| Some(if i % 3 == 0 { word(noise[i]) } else { format!("{}", noise[i] % 70) })),
            false,
        ),
        (
            "page",
            texts(&|i| Some(format!("https://www.example.org/{}/Ünter-{}", noise[i] % 700, noise[i] % 7))),
            false,
        ),
        ("dull", texts(&|_| Some("always the same".into())), false),
        (
            "noisy",
            Arc::new(BinaryViewArray::from_iter_values((0..rows).map(|i| noise[i].to_le_bytes()))),
            false,
        ),
    ])
    .unwrap();
    let path = write(dir.path(), buren(), &batch, "none");
    for column in 1..batch.num_columns() {
        let values = batch.column(column);
        for (a, b) in [(7, 7), (100, 100), (10, 500), (7, 3000), (15_000, 9)] {
            let (low, high) = (values.slice(a, 1), values.slice(b, 1));
            if low.is_null(0) || high.is_null(0) {
                continue;
            }
            let bounds = vec![ColumnBound { column, min: Some(low.clone()), max: Some(high.clone()) }];
            let scan = scan(&batch.schema(), (0..batch.num_columns()).collect(), bounds);
            let found = read(buren(), &path, &scan).unwrap();
            let mut chosen = Vec::new();
            for found in &found {
                let rows = found.column(0).as_primitive::<types::Int64Type>();
                let indices = Int64Array::from_iter_values(rows.values().iter().copied());
                for (expected, found) in batch.columns().iter().zip(found.columns()) {
                    let expected = arrow_select::take::take(expected, &indices, None).unwrap();
                    assert_eq!(expected.as_ref(), found.as_ref());
                }
                chosen.extend(rows.values().iter().map(|row| *row as usize));
            }
            assert!(chosen.is_sorted_by(|a, b| a < b));
            use arrow_ord::cmp::{gt_eq, lt_eq};
            let (least, most) = (Scalar::new(low), Scalar::new(high));
            let wanted = arrow_select::filter::filter(
                batch.column(0),
                &both(&gt_eq(values, &least).unwrap(), &lt_eq(values, &most).unwrap()),
            );
            let wanted = wanted.unwrap();
            let wanted = wanted.as_primitive::<types::Int64Type>();
            assert!(wanted.values().iter().all(|row| chosen.binary_search(&(*row as usize)).is_ok()));
            if wanted.len() * 50 < rows {
                assert_eq!(chosen.len(), wanted.len(), "column {column}, {a} to {b}");
            }
        }
    }
}

fn both(a: &BooleanArray, b: &BooleanArray) -> BooleanArray {
    a.iter().zip(b).map(|(a, b)| Some(a == Some(true) && b == Some(true))).collect()
}

#[test]
fn structs_whose_fields_are_slices() {
    let dir = tempfile::tempdir().unwrap();
    let flags = BooleanArray::from_iter((0..100).map(|i| (i % 5 > 0).then_some(i % 3 == 0)));
    let field: ArrayRef = Arc::new(flags.slice(41, 50));
    let valid = arrow_buffer::NullBuffer::from_iter((0..50).map(|i| i % 7 > 1));
    let fields = vec![Field::new("flag", DataType::Boolean, true)].into();
    let column: ArrayRef = Arc::new(StructArray::new(fields, vec![field], Some(valid)));
    let batch = RecordBatch::try_from_iter_with_nullable([("s", column, true)]).unwrap();
    let path = write(dir.path(), buren(), &batch, "none");
    assert_same(&batch, &read_all(buren(), &path).unwrap());
}

#[test]
fn what_lies_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let batch = all_types(10_000, 5);
    let path = write(dir.path(), buren(), &batch, "zstd");
    let found = inspect(&entry(&path)).unwrap();
    assert_eq!((found.rows, found.parts.len()), (Some(10_000), 1));
    let chunk = |name: &str| found.parts[0].chunks.iter().find(|c| c.column == name).unwrap();
    let encoding = |name: &str| chunk(name).encoding.clone();
    assert_eq!(encoding("nothing"), "nothing");
    assert!(encoding("word").starts_with("dictionary of 21(packed, "), "{}", encoding("word"));
    assert_eq!(encoding("number"), "packed");
    assert_eq!(encoding("share"), "binary 24(packed)");
    assert_eq!(chunk("bytes").compression, "zstd");
    assert_eq!(chunk("i64").nulls, Some(10_000 / 7 + 1));
    assert_eq!((chunk("number").min.as_deref(), chunk("number").max.as_deref()), (Some("0"), Some("9999")));
    assert_eq!((chunk("flag").min.as_deref(), chunk("flag").max.as_deref()), (Some("false"), Some("true")));
    assert_eq!(chunk("number").raw_bytes, Some(80_000));
    assert!(chunk("number").stored_bytes < 1000);
    let near = |found: u64, expected: u64| found.abs_diff(expected) * 10 < expected;
    assert!(
        near(found.distinct[22], 10_000) && near(chunk("number").distinct.unwrap(), 10_000),
        "{:?}",
        found.distinct
    );
    assert!(chunk("i64").distinct.unwrap() <= 10_000 - chunk("i64").nulls.unwrap());
    assert_eq!(check(&entry(&path)).unwrap(), 1 + found.parts[0].chunks.len() as u64);
}

#[test]
fn types_that_do_not_fit_are_refused_and_others_are_cast() {
    let map = DataType::Map(Arc::new(Field::new("entries", DataType::Int8, true)), false);
    let schema = Arc::new(Schema::new(vec![Field::new("many", map, true)]));
    let error = buren().encoder(&schema, &options("buren", "none")).err().unwrap().to_string();
    assert!(error.contains("column 'many'") && error.contains("Map"), "{error}");
    let error = buren().encoder(&schema, &options("buren", "brotli")).err().unwrap().to_string();
    assert!(error.contains("many") || error.contains("brotli"), "{error}");

    let words = arrow_array::StringArray::from(vec![Some("a"), None, Some("b")]);
    let batch = RecordBatch::try_from_iter([("w", Arc::new(words) as ArrayRef)]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let found = read_all(buren(), &write(dir.path(), buren(), &batch, "none")).unwrap();
    assert_eq!(found.column(0).data_type(), &DataType::Utf8View);
    assert_eq!(found.column(0).null_count(), 1);
}

fn small(compression: &str) -> Vec<u8> {
    let batch = all_types(40, 7).project(&[0, 4, 10, 11, 18, 20, 21, 22]).unwrap();
    encode(buren(), &batch, compression, 40)
}

fn read_bytes(path: &Path, bytes: &[u8]) -> formats::Result<RecordBatch> {
    replace(path, bytes);
    read_all(buren(), path)
}

#[test]
fn a_file_cut_at_any_byte_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.buren");
    let whole = small("none");
    for length in 0..whole.len() {
        let error = read_bytes(&path, &whole[..length]).expect_err("a part is missing").to_string();
        assert!(error.contains("cut.buren"), "{error}");
    }
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flipped.buren");
    for compression in ["none", "lz4"] {
        let whole = small(compression);
        let expected = read_bytes(&path, &whole).unwrap();
        let mut unnoticed = 0;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            if let Ok(found) = read_bytes(&path, &bytes) {
                assert_same(&expected, &found);
                unnoticed += 1;
            }
        }
        // The head and the zeros between chunks are all that checksums leave out.
        assert!(unnoticed <= 64 * 10, "{unnoticed} flipped bits were not noticed");
    }
}

/// Bytes that a forger made: checksums agree, whatever else does not.
#[test]
fn forged_files_do_not_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("forged.buren");
    let mut numbers = Numbers(9);
    for compression in ["none", "snappy", "lz4", "gzip", "zlib", "zstd"] {
        let whole = small(compression);
        let length = |b: &[u8]| u32::from_le_bytes(b[b.len() - 12..b.len() - 8].try_into().unwrap()) as usize;
        let start = whole.len() - TRAILER - length(&whole);
        for round in 0..600 {
            let mut bytes = whole.clone();
            for _ in 0..1 + numbers.next() % 3 {
                // Footers are what there is to forge; chunks carry lengths and indices.
                let from = if round % 2 == 0 { start } else { 64 };
                let to = if round % 2 == 0 { whole.len() - TRAILER } else { start };
                let at = from + numbers.next() as usize % (to - from);
                bytes[at] = match numbers.next() % 4 {
                    0 => 0,
                    1 => 0xFF,
                    2 => bytes[at].wrapping_add(1),
                    _ => numbers.next() as u8,
                };
            }
            let end = bytes.len() - TRAILER;
            if let Ok(mut footer) = Footer::parse(&bytes[start..end], start as u64) {
                for chunk in footer.groups.iter_mut().flat_map(|g| &mut g.chunks) {
                    let chunk_bytes = &bytes[chunk.offset as usize..][..chunk.stored as usize];
                    chunk.checksum = crc32fast::hash(chunk_bytes);
                }
                bytes.truncate(start);
                bytes.extend(footer.to_bytes().unwrap());
            }
            replace(&path, &bytes);
            // A forged count of rows may be huge: what is read is bounded here as a query would bound it.
            let Ok(schema) = buren().infer(&FileEntry::new(&path, 0, 0), &options("buren", "none"), 0) else {
                continue;
            };
            let scan = scan(&schema, (0..schema.fields().len()).collect(), vec![]);
            let Ok(morsels) = buren().split(&entry(&path), &scan, 1 << 20) else { continue };
            for morsel in morsels {
                let reader = buren().reader(&morsel, &scan).unwrap();
                let batches = formats::reader::Driver::open(&morsel, reader).unwrap();
                for batch in batches.take(100) {
                    let Ok(batch) = batch else { break };
                    for column in batch.columns() {
                        column.to_data().validate_full().unwrap();
                    }
                }
            }
        }
    }
}

#[test]
fn other_versions_and_other_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.buren");
    let mut bytes = small("none");
    let at = bytes.len() - 2;
    for (version, advice) in [(0, "convert the file again from its source"), (2, "version 2")] {
        bytes[at] = version;
        let error = read_bytes(&path, &bytes).unwrap_err().to_string();
        assert!(error.contains(advice), "{error}");
    }
    let error = read_bytes(&path, b"a,b\n1,2\n").unwrap_err().to_string();
    assert!(error.contains("not a buren file"), "{error}");
}
