//! Every type with NULLs and extremes through every row encoding and compression.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};
use formats::compress::names;
use formats::registry::format;
use formats::rows::parse::Half;
use schema::FormatOptions;

use crate::common::*;

/// The encodings that hold any flat table.
pub const ENCODINGS: &[&str] =
    &["csv", "jsonl", "bincode", "msgpack", "cbor", "protobuf", "capnproto", "capnproto-packed"];

const TEXTS: [&str; 12] = [
    "",
    "a",
    "twelve bytes",
    "thirteen byte",
    "comma, \"quote\", 'single'",
    "line\nline\r\nline\r",
    "tab\tand \\ backslash \\n",
    "é 日本語 🦀 \u{feff}",
    "\u{feff}begins with a mark",
    "NULL",
    " spaces ",
    "\u{0}\u{1}\u{7f}",
];

/// A batch of all types; about every fifth value is NULL.
pub fn all_types(random: &mut Random, rows: usize) -> RecordBatch {
    fn some<T>(random: &mut Random, rows: usize, value: impl Fn(&mut Random) -> T) -> Vec<Option<T>> {
        (0..rows).map(|_| (random.below(5) > 0).then(|| value(random))).collect()
    }
    let bits = |r: &mut Random| u64::from(r.next()) << 33 ^ u64::from(r.next()) << 13 ^ u64::from(r.next());
    macro_rules! integers {
        ($array:ty, $t:ty) => {
            Arc::new(<$array>::from(some(random, rows, |r| match r.below(5) {
                0 => <$t>::MIN,
                1 => <$t>::MAX,
                2 => 0,
                _ => bits(r) as $t,
            })))
        };
    }
    macro_rules! floats {
        ($array:ty, $t:ty, $bits:expr) => {
            Arc::new(<$array>::from(some(random, rows, |r| {
                let strange =
                    [0.0, -0.0, <$t>::NAN, <$t>::INFINITY, <$t>::NEG_INFINITY, <$t>::MIN, <$t>::MIN_POSITIVE];
                if r.below(3) == 0 { r.pick(&strange) } else { $bits(bits(r)) }
            })))
        };
    }
    // NaN has many bit patterns and one text.
    let f32s = |b: u64| Some(f32::from_bits(b as u32)).filter(|f| !f.is_nan()).unwrap_or(1.5);
    let f64s = |b: u64| Some(f64::from_bits(b)).filter(|f| !f.is_nan()).unwrap_or(0.1);
    let decimals = some(random, rows, |r| match r.below(3) {
        0 => 10i128.pow(38) - 1,
        1 => -(10i128.pow(38) - 1),
        _ => i128::from(bits(r) as i64),
    });
    let small = some(random, rows, |r| i128::from(r.next() as i16));
    let dates = some(random, rows, |r| r.pick(&[i32::MIN, i32::MAX, 0, -1, 11_016, r.0 as i32]));
    let times =
        some(random, rows, |r| r.pick(&[i64::MIN, i64::MAX, 0, -1, 1_600_000_000_000_000, r.0 as i64]));
    let texts = some(random, rows, |r| r.pick(&TEXTS));
    let bytes = some(random, rows, |r| (0..r.below(20)).map(|_| r.next() as u8).collect::<Vec<_>>());
    let binary: BinaryViewArray = bytes.iter().map(Option::as_ref).collect();
    let halves = some(random, rows, |r| match r.below(4) {
        0 => r.pick(&[Half::NAN, Half::INFINITY, Half::NEG_INFINITY, Half::MIN, Half::MAX, Half::NEG_ZERO]),
        _ => Some(Half::from_bits(r.next() as u16)).filter(|h| !h.is_nan()).unwrap_or(Half::ONE),
    });
    let most = i256::from_string(&"9".repeat(76)).unwrap();
    let huge = some(random, rows, |r| match r.below(3) {
        0 => most,
        1 => -most,
        _ => i256::from_i128(i128::from(bits(r) as i64) << 60),
    });
    let seconds = some(random, rows, |r| r.pick(&[0, 1, 86_399, 43_200]));
    let within = some(random, rows, |r| r.pick(&[0, 1, 999_999, 86_399_999_999, 3_600_000_000]));
    let fixed = some(random, rows, |r| [r.next() as u8, b'\\', b'x', 0, r.next() as u8]);
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed.iter().map(Option::as_ref), 5);
    let days = some(random, rows, |r| r.pick(&[i64::MIN, i64::MAX, 0, 86_400_000, -86_400_000]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("float16", Arc::new(Float16Array::from(halves))),
        ("huge", Arc::new(Decimal256Array::from(huge).with_precision_and_scale(76, 30).unwrap())),
        ("days", Arc::new(Date64Array::from(days))),
        ("time0", Arc::new(Time32SecondArray::from(seconds.clone()))),
        ("time3", Arc::new(Time32MillisecondArray::from(seconds))),
        ("time6", Arc::new(Time64MicrosecondArray::from(within.clone()))),
        ("time9", Arc::new(Time64NanosecondArray::from(within))),
        ("fixed", Arc::new(fixed.unwrap())),
        ("bool", Arc::new(BooleanArray::from(some(random, rows, |r| r.below(2) == 0)))),
        ("int8", integers!(Int8Array, i8)),
        ("int16", integers!(Int16Array, i16)),
        ("int32", integers!(Int32Array, i32)),
        ("int64", integers!(Int64Array, i64)),
        ("uint8", integers!(UInt8Array, u8)),
        ("uint16", integers!(UInt16Array, u16)),
        ("uint32", integers!(UInt32Array, u32)),
        ("uint64", integers!(UInt64Array, u64)),
        ("float32", floats!(Float32Array, f32, f32s)),
        ("float64", floats!(Float64Array, f64, f64s)),
        ("wide", Arc::new(Decimal128Array::from(decimals).with_precision_and_scale(38, 20).unwrap())),
        ("small", Arc::new(Decimal128Array::from(small).with_precision_and_scale(6, -2).unwrap())),
        ("date", Arc::new(Date32Array::from(dates))),
        ("seconds", Arc::new(TimestampSecondArray::from(times.clone()))),
        ("millis", Arc::new(TimestampMillisecondArray::from(times.clone()).with_timezone("UTC"))),
        ("micros", Arc::new(TimestampMicrosecondArray::from(times.clone()))),
        ("nanos", Arc::new(TimestampNanosecondArray::from(times).with_timezone("+02:00"))),
        ("text", Arc::new(texts.iter().copied().collect::<StringViewArray>())),
        ("binary", Arc::new(binary)),
    ];
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Equal, with NaN equal to NaN and -0 different from 0.
pub fn assert_same(left: &RecordBatch, right: &RecordBatch, what: &str) {
    assert_eq!(left.schema(), right.schema(), "{what}");
    for (i, field) in left.schema().fields().iter().enumerate() {
        let (left, right) = (left.column(i), right.column(i));
        match field.data_type() {
            // Arrow compares floats by their bits.
            DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                assert_eq!(left.to_data(), right.to_data(), "{what} {field}")
            }
            _ => assert_eq!(left, right, "{what} {field}"),
        }
    }
}

#[test]
fn all_types_in_every_encoding_and_compression() {
    let mut random = Random(1);
    for encoding in ENCODINGS.iter().copied() {
        for compression in names() {
            let mut options = options(encoding);
            options.compression = compression.to_string();
            options.header = random.below(2) == 0;
            let batches: Vec<_> = [0, 1, 700, 3].map(|rows| all_types(&mut random, rows)).into();
            let schema = batches[0].schema();
            let bytes = write(&schema, &batches, &options).unwrap();
            let (found, skipped) = read_whole(&bytes, &scan(&schema, &options)).unwrap();
            assert_same(
                &concat(&schema, &found),
                &concat(&schema, &batches),
                &format!("{encoding} {compression}"),
            );
            assert_eq!(skipped, Default::default());
        }
    }
}

#[test]
fn columns_one_by_one() {
    let mut random = Random(2);
    for encoding in ENCODINGS.iter().copied() {
        let batch = all_types(&mut random, 300);
        for column in 0..batch.num_columns() {
            let batch = batch.project(&[column]).unwrap();
            let schema = batch.schema();
            let options = options(encoding);
            let bytes = write(&schema, std::slice::from_ref(&batch), &options).unwrap();
            let (found, _) = read_whole(&bytes, &scan(&schema, &options)).unwrap();
            assert_same(&concat(&schema, &found), &batch, encoding);
            // The same in pieces.
            let format = format(encoding).unwrap();
            let morsels = format.split(&entry(&bytes), &scan(&schema, &options), 100).unwrap();
            let (found, _) = read_morsels(&bytes, &morsels, &scan(&schema, &options)).unwrap();
            assert_same(&concat(&schema, &found), &batch, encoding);
        }
    }
}

#[test]
fn empty_tables_are_files_that_can_be_read() {
    let schema = fields(&[("a", DataType::Int64), ("b", DataType::Utf8View)]);
    for encoding in ENCODINGS.iter().copied() {
        for compression in names() {
            for header in [false, true] {
                let mut options = options(encoding);
                (options.compression, options.header) = (compression.to_string(), header);
                let bytes = write(&schema, &[], &options).unwrap();
                assert_eq!(
                    read_whole(&bytes, &scan(&schema, &options)).unwrap().0.len(),
                    0,
                    "{encoding} {compression}"
                );
            }
        }
    }
}

#[test]
fn a_compressed_file_cut_short_is_an_error() {
    let schema = fields(&[("n", DataType::Int64)]);
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..50_000));
    let batch = RecordBatch::try_new(schema.clone(), vec![numbers]).unwrap();
    for compression in names().iter().filter(|n| **n != "none") {
        let mut options = options("csv");
        options.compression = compression.to_string();
        let bytes = write(&schema, std::slice::from_ref(&batch), &options).unwrap();
        for keep in [bytes.len() - 1, bytes.len() / 2, 3, 1] {
            let found = message(read_whole(&bytes[..keep], &scan(&schema, &options)));
            let expected = format!("the {compression} data ends in the middle of");
            assert!(found.contains(&expected), "{compression} {keep}: {found}");
        }
    }
}

#[test]
fn other_types_of_strings_are_written_as_text() {
    let dictionary: DictionaryArray<Int32Type> = vec![Some("x"), None, Some("y, z")].into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("dictionary", Arc::new(dictionary)),
        ("large", Arc::new(LargeStringArray::from(vec![None, Some("l"), Some("m")]))),
        ("time", Arc::new(Time64MicrosecondArray::from(vec![Some(3_600_000_001), None, Some(0)]))),
        (
            "fixed",
            Arc::new(FixedSizeBinaryArray::try_from_iter([[1u8, 2], [3, 4], [5, 255]].into_iter()).unwrap()),
        ),
        ("length", Arc::new(DurationSecondArray::from(vec![Some(90), None, Some(-1)]))),
        ("none", Arc::new(NullArray::new(3))),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let csv = write(&batch.schema(), std::slice::from_ref(&batch), &options("csv")).unwrap();
    let text = "x,,01:00:00.000001,\\x0102,00:01:30,\n,l,,\\x0304,,\n\"y, z\",m,00:00:00,\\x05ff,\
                -00:00:01,\n";
    assert_eq!(String::from_utf8(csv).unwrap(), text);
}

#[test]
fn types_that_are_only_written_are_refused_by_name_when_they_are_read() {
    let types = [
        (DataType::Duration(TimeUnit::Second), "DURATION(0)"),
        (DataType::Interval(arrow_schema::IntervalUnit::MonthDayNano), "INTERVAL"),
    ];
    for (data_type, name) in types {
        for encoding in ENCODINGS {
            let schema = fields(&[("fine", DataType::Int32), ("odd", data_type.clone())]);
            let error = message(read_whole(b"1,1\n", &scan(&schema, &options(encoding))));
            assert!(error.contains("column 'odd'") && error.contains(name), "{encoding}: {error}");
            assert!(
                error.contains("VARCHAR") || !["csv", "jsonl", "msgpack", "cbor"].contains(encoding),
                "{encoding}: {error}"
            );
        }
    }
}

#[test]
fn values_of_rare_types_that_do_not_fit_are_bad() {
    for (data_type, text, expected) in [
        (DataType::Time32(TimeUnit::Second), "24:00:00", "a time of day HH:MM:SS with at most 0 digits"),
        (DataType::Time64(TimeUnit::Microsecond), "10:00:00.0000001", "with at most 6 digits"),
        (DataType::FixedSizeBinary(2), "\\x010203", "2 bytes, as \\x and 4 digits"),
        (DataType::FixedSizeBinary(2), "abc", "2 bytes"),
        (DataType::Float16, "x", "a number"),
        (DataType::Decimal256(3, 1), "100.5", "a decimal of at most 3 digits, 1 of them"),
        (DataType::Date64, "2020-13-01", "a timestamp YYYY-MM-DD"),
    ] {
        let schema = fields(&[("a", data_type.clone()), ("b", DataType::Int32)]);
        let error = message(read_whole(format!("{text},1\n").as_bytes(), &scan(&schema, &options("csv"))));
        assert!(error.contains("row 1") && error.contains(expected), "{data_type}: {error}");
    }
}

/// The bytes that `docs/row-encodings.md` shows.
#[test]
fn a_row_lies_as_the_documentation_has_it() {
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("i", Arc::new(Int32Array::from(vec![5])), false),
        ("s", Arc::new(StringViewArray::from(vec![Some("ab")])), true),
        ("d", Arc::new(Date32Array::from(vec![None])), true),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    for (encoding, expected) in [
        ("bincode", &b"\x05\0\0\0\x01\x02\0\0\0\0\0\0\0ab\0"[..]),
        ("msgpack", b"\x83\xa1i\x05\xa1s\xa2ab\xa1d\xc0"),
        ("msgpack arrays", b"\x93\x05\xa2ab\xc0"),
        ("cbor", b"\xa3\x61i\x05\x61s\x62ab\x61d\xf6"),
        ("cbor arrays", b"\x83\x05\x62ab\xf6"),
        ("protobuf", b"\x06\x08\x05\x12\x02ab"),
        (
            "capnproto",
            b"\0\0\0\0\x05\0\0\0\0\0\0\0\x02\0\x01\0\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
              \x01\0\0\0\x1a\0\0\0ab\0\0\0\0\0\0",
        ),
        ("capnproto-packed", b"\x10\x05\x50\x02\x01\x01\x05\0\0\x11\x01\x1a\x03ab"),
    ] {
        let (name, row_arrays) = match encoding.strip_suffix(" arrays") {
            Some(name) => (name, true),
            None => (encoding, false),
        };
        let options = FormatOptions { row_arrays, ..options(name) };
        let bytes = write(&batch.schema(), std::slice::from_ref(&batch), &options).unwrap();
        assert_eq!(bytes, expected, "{encoding}");
        let (found, _) = read_whole(&bytes, &scan(&batch.schema(), &options)).unwrap();
        assert_eq!(found.len(), 1, "{encoding}");
        assert_eq!(found[0], batch, "{encoding}");
    }
}
