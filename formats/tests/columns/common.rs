//! Tables of every flat type, and ways to write and read them through a format.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use formats::format::{Format, ScanOptions};
use formats::reader::Driver;
use formats::rows::parse::Half;
use schema::{ColumnBound, FileEntry, FormatOptions};

/// Keeps panics that become errors from being printed, with a backtrace each, while damaged files are tried.
pub fn quiet_guarded_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !formats::panics::is_caught(info) {
                print(info);
            }
        }));
    });
}

/// A reproducible stream of numbers (SplitMix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn primitive<T: ArrowPrimitiveType>(rows: usize, value: impl Fn(usize) -> Option<T::Native>) -> ArrayRef {
    Arc::new((0..rows).map(value).collect::<PrimitiveArray<T>>())
}

/// A table of every flat type; nullable columns have NULLs in every seventh row.
pub fn all_types(rows: usize, seed: u64) -> RecordBatch {
    let mut numbers = Numbers(seed);
    let raw: Vec<u64> = (0..rows).map(|_| numbers.next()).collect();
    let null = |i: usize| i % 7 == 3;
    let int = |i: usize| (!null(i)).then_some(raw[i]);
    let float = |i: usize| match i % 11 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        4 => -0.0,
        _ => raw[i] as f64 / 1e15 - 9000.0,
    };
    let text = |i: usize| match i % 9 {
        0 => String::new(),
        1 => "a\0".into(),
        2 => "grüße, 世界 — and a tail that is long".into(),
        4 => "twelve bytes".into(),
        5 => format!("{}.{}.{}.{}", raw[i] % 254, raw[i] % 253, raw[i] % 251, raw[i] % 250),
        _ => format!("{:x}", raw[i]).repeat((raw[i] % 3) as usize),
    };
    let zone: Option<Arc<str>> = Some("+02:00".into());
    let stamp = |i: usize| int(i).map(|v| v as i64 >> 4);
    let fixed = (0..rows).map(|i| int(i).map(u64::to_le_bytes));
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 8).unwrap();
    let wide = (0..rows).map(|i| int(i).map(|v| i256::from_i128(i128::from(v as i64) << 64)));
    let wide = wide.collect::<Decimal256Array>().with_precision_and_scale(76, 40).unwrap();
    let half = |i: usize| (!null(i)).then(|| Half::from_f64(float(i)));
    let rare: Vec<(&str, ArrayRef, bool)> = vec![
        ("fixed", Arc::new(fixed), true),
        ("wide", Arc::new(wide), true),
        ("half", primitive::<Float16Type>(rows, half), true),
        (
            "time3",
            primitive::<Time32MillisecondType>(rows, |i| int(i).map(|v| (v % 86_400_000) as i32)),
            true,
        ),
        (
            "time6",
            primitive::<Time64MicrosecondType>(rows, |i| int(i).map(|v| (v % 86_400_000_000) as i64)),
            true,
        ),
        (
            "time9",
            primitive::<Time64NanosecondType>(rows, |i| int(i).map(|v| (v % 86_400_000_000_000) as i64)),
            true,
        ),
        ("length", primitive::<DurationMicrosecondType>(rows, |i| int(i).map(|v| v as i64)), true),
        ("months", primitive::<IntervalYearMonthType>(rows, |i| int(i).map(|v| v as i32)), true),
    ];
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("bool", Arc::new((0..rows).map(|i| int(i).map(|v| v & 1 == 1)).collect::<BooleanArray>()), true),
        ("i8", primitive::<Int8Type>(rows, |i| int(i).map(|v| v as i8)), true),
        ("i16", primitive::<Int16Type>(rows, |i| int(i).map(|v| v as i16)), true),
        ("i32", primitive::<Int32Type>(rows, |i| int(i).map(|v| v as i32)), true),
        ("i64", primitive::<Int64Type>(rows, |i| int(i).map(|v| v as i64)), true),
        ("u8", primitive::<UInt8Type>(rows, |i| int(i).map(|v| v as u8)), true),
        ("u16", primitive::<UInt16Type>(rows, |i| int(i).map(|v| v as u16)), true),
        ("u32", primitive::<UInt32Type>(rows, |i| int(i).map(|v| v as u32)), true),
        ("u64", primitive::<UInt64Type>(rows, int), true),
        ("f32", primitive::<Float32Type>(rows, |i| (!null(i)).then(|| float(i) as f32)), true),
        ("f64", primitive::<Float64Type>(rows, |i| (!null(i)).then(|| float(i))), true),
        (
            "decimal",
            Arc::new(
                (0..rows)
                    .map(|i| int(i).map(|v| i128::from(v as i64) * 1_000_003))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(38, 7)
                    .unwrap(),
            ),
            true,
        ),
        ("date", primitive::<Date32Type>(rows, |i| int(i).map(|v| v as i32 % 40_000)), true),
        ("s", primitive::<TimestampSecondType>(rows, |i| stamp(i).map(|v| v >> 24)), true),
        ("ms", primitive::<TimestampMillisecondType>(rows, stamp), true),
        ("us", primitive::<TimestampMicrosecondType>(rows, stamp), true),
        ("ns", primitive::<TimestampNanosecondType>(rows, stamp), true),
        (
            "zoned",
            Arc::new(
                (0..rows).map(stamp).collect::<TimestampMicrosecondArray>().with_timezone_opt(zone.clone()),
            ),
            true,
        ),
        ("text", Arc::new((0..rows).map(|i| (!null(i)).then(|| text(i))).collect::<StringViewArray>()), true),
        (
            "bytes",
            Arc::new(
                (0..rows)
                    .map(|i| (!null(i)).then(|| raw[i].to_le_bytes().repeat((raw[i] % 4) as usize)))
                    .collect::<BinaryViewArray>(),
            ),
            true,
        ),
        (
            "word",
            Arc::new(
                (0..rows)
                    .map(|i| (!null(i)).then(|| format!("a word of a small dictionary {}", raw[i] % 20)))
                    .collect::<StringViewArray>(),
            ),
            true,
        ),
        ("nothing", primitive::<Int32Type>(rows, |_| None), true),
        ("number", primitive::<Int64Type>(rows, |i| Some(i as i64)), false),
        ("dense", Arc::new((0..rows).map(|i| Some(text(i))).collect::<StringViewArray>()), false),
        ("flag", Arc::new((0..rows).map(|i| Some(raw[i] & 3 == 0)).collect::<BooleanArray>()), false),
        ("share", primitive::<Float32Type>(rows, |i| Some((raw[i] >> 40) as f32 / (1 << 24) as f32)), false),
    ];
    let fields: Vec<_> = columns
        .iter()
        .chain(&rare)
        .map(|(name, a, nullable)| Field::new(*name, a.data_type().clone(), *nullable))
        .collect();
    let arrays = columns.into_iter().chain(rare).map(|(_, a, _)| a).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

pub fn options(encoding: &str, compression: &str) -> FormatOptions {
    FormatOptions { encoding: encoding.into(), compression: compression.into(), ..FormatOptions::default() }
}

/// Writes the rows of one batch, fed in pieces of `piece` rows, and gives the bytes.
pub fn encode(format: &dyn Format, batch: &RecordBatch, compression: &str, piece: usize) -> Vec<u8> {
    let encoder = format.encoder(&batch.schema(), &options(format.name(), compression)).unwrap();
    let mut assembler = encoder.assembler().unwrap();
    let mut out = Vec::new();
    assembler.begin(&mut out).unwrap();
    let mut start = 0;
    while start < batch.num_rows() {
        let end = (start + encoder.block_rows()).min(batch.num_rows());
        let pieces: Vec<_> =
            (start..end).step_by(piece).map(|at| batch.slice(at, piece.min(end - at))).collect();
        assembler.append(encoder.encode(&pieces).unwrap(), &mut out).unwrap();
        start = end;
    }
    assembler.finish(&mut out).unwrap();
    out
}

/// Writes a file into a directory.
pub fn write(dir: &Path, format: &dyn Format, batch: &RecordBatch, compression: &str) -> PathBuf {
    let path = dir.join(format!("{compression}.{}", format.extensions()[0]));
    let mut file = BufWriter::new(File::create(&path).unwrap());
    std::io::Write::write_all(&mut file, &encode(format, batch, compression, 3000)).unwrap();
    path
}

/// Replaces a file. File systems flush one that is truncated and written again, which takes milliseconds.
pub fn replace(path: &Path, bytes: &[u8]) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).unwrap();
}

pub fn entry(path: &Path) -> Arc<FileEntry> {
    let bytes = std::fs::metadata(path).unwrap().len();
    Arc::new(FileEntry::new(path, bytes, 0))
}

pub fn scan(schema: &SchemaRef, projection: Vec<usize>, bounds: Vec<ColumnBound>) -> ScanOptions {
    ScanOptions {
        schema: schema.clone(),
        projection,
        bounds,
        prefixes: vec![],
        unseen: schema::DeferredValidation::Nothing,
        batch_rows: 1000,
        format: FormatOptions::default(),
    }
}

/// Reads a file morsel by morsel; all batches, or the first error.
pub fn read(format: &dyn Format, path: &Path, scan: &ScanOptions) -> formats::Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    for morsel in format.split(&entry(path), scan, 1 << 20)? {
        let reader = format.reader(&morsel, scan)?;
        for batch in Driver::open(&morsel, reader)? {
            let batch = batch?;
            assert!(batch.num_rows() <= scan.batch_rows, "a batch of {} rows", batch.num_rows());
            batches.push(batch);
        }
    }
    Ok(batches)
}

/// Reads a whole file as one batch.
pub fn read_all(format: &dyn Format, path: &Path) -> formats::Result<RecordBatch> {
    let schema = format.infer(&FileEntry::new(path, 0, 0), &options(format.name(), "none"), 0)?;
    let batches = read(format, path, &scan(&schema, (0..schema.fields().len()).collect(), vec![]))?;
    Ok(arrow_select::concat::concat_batches(&schema, &batches).unwrap())
}

/// One value of a batch as text that tells NaN, zeros, NULL and empty apart.
pub fn show(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "NULL".into();
    }
    match array.data_type() {
        DataType::Float32 => {
            format!("{:x}", array.as_any().downcast_ref::<Float32Array>().unwrap().value(row).to_bits())
        }
        DataType::Float64 => {
            format!("{:x}", array.as_any().downcast_ref::<Float64Array>().unwrap().value(row).to_bits())
        }
        DataType::Utf8View => {
            format!("{:?}", array.as_any().downcast_ref::<StringViewArray>().unwrap().value(row))
        }
        _ => arrow_cast::display::array_value_to_string(array, row).unwrap(),
    }
}

/// Panics at the first value that differs.
pub fn assert_same(expected: &RecordBatch, found: &RecordBatch) {
    let types = |b: &RecordBatch| {
        b.schema().fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect::<Vec<_>>()
    };
    assert_eq!(types(expected), types(found));
    assert_eq!(expected.num_rows(), found.num_rows());
    for (column, field) in expected.schema().fields().iter().enumerate() {
        let (a, b) = (expected.column(column), found.column(column));
        assert_eq!(a.null_count(), b.null_count(), "NULLs of {}", field.name());
        for row in 0..expected.num_rows() {
            if show(a, row) != show(b, row) {
                panic!("row {row} of {}: {} became {}", field.name(), show(a, row), show(b, row));
            }
        }
    }
}
