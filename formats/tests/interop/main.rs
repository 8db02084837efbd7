//! Files between palais and other tools: what pyarrow and DuckDB write is read, and the other way round.
//!
//! `tests/interop/columns.py`, `rows.py`, `binary.py` and `messages.py` make the same table by the same rules.

mod bincode;
mod messages;
mod structs;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::{Field, Schema, SchemaRef};
use formats::discover::by_name;
use formats::format::ScanOptions;
use formats::reader::Driver;
use formats::registry::format;
use schema::{FileEntry, FormatOptions};

const ROWS: usize = 3000;

/// The extremes in rows 0 and 1 of 10, else something in between.
fn integer(i: usize, bits: u32, signed: bool) -> i128 {
    let low = if signed { -(1i128 << (bits - 1)) } else { 0 };
    match i % 10 {
        0 => low,
        1 => low + (1 << bits) - 1,
        _ => low + (i as i128 * 7919) % (1 << bits),
    }
}

fn real(i: usize) -> f64 {
    match i % 11 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        4 => -0.0,
        _ => i as f64 * 0.25 - 100.0,
    }
}

fn text(i: usize) -> String {
    match i % 9 {
        0 => String::new(),
        1 => "a\0".into(),
        2 => "grüße, 世界 — and a tail that is long".into(),
        4 => "twelve bytes".into(),
        _ => format!("{}.{}.{}.{}", i % 254, i % 253, i % 251, i % 250),
    }
}

/// Moments from 1938 to 2001, to the microsecond.
fn micros(i: usize) -> i64 {
    (i as i64 - 1500) * 666_666_666_667
}

fn column<A: FromIterator<Option<T>> + Array + 'static, T>(value: impl Fn(usize) -> T) -> ArrayRef {
    Arc::new((0..ROWS).map(|i| (i % 7 != 3).then(|| value(i))).collect::<A>())
}

fn int<T: ArrowPrimitiveType>(bits: u32, signed: bool) -> ArrayRef
where
    T::Native: TryFrom<i128>,
    PrimitiveArray<T>: FromIterator<Option<T::Native>>,
{
    column::<PrimitiveArray<T>, _>(|i| T::Native::try_from(integer(i, bits, signed)).ok().expect("in range"))
}

fn table() -> RecordBatch {
    let decimal = (0..ROWS).map(|i| (i % 7 != 3).then(|| integer(i, 64, true))).collect::<Decimal128Array>();
    let zoned = (0..ROWS).map(|i| (i % 7 != 3).then(|| micros(i))).collect::<TimestampMicrosecondArray>();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("bool", column::<BooleanArray, _>(|i| i % 3 == 0)),
        ("i8", int::<Int8Type>(8, true)),
        ("i16", int::<Int16Type>(16, true)),
        ("i32", int::<Int32Type>(32, true)),
        ("i64", int::<Int64Type>(64, true)),
        ("u8", int::<UInt8Type>(8, false)),
        ("u16", int::<UInt16Type>(16, false)),
        ("u32", int::<UInt32Type>(32, false)),
        ("u64", int::<UInt64Type>(64, false)),
        ("f32", column::<Float32Array, _>(|i| real(i) as f32)),
        ("f64", column::<Float64Array, _>(real)),
        ("decimal", Arc::new(decimal.with_precision_and_scale(38, 7).unwrap())),
        ("date", column::<Date32Array, _>(|i| (i * 17 % 40_000) as i32 - 20_000)),
        ("ms", column::<TimestampMillisecondArray, _>(|i| micros(i).div_euclid(1000))),
        ("us", column::<TimestampMicrosecondArray, _>(micros)),
        ("ns", column::<TimestampNanosecondArray, _>(|i| micros(i) * 1000 + i as i64)),
        ("zoned", Arc::new(zoned.with_timezone("+02:00"))),
        ("text", column::<StringViewArray, _>(text)),
        ("bytes", column::<BinaryViewArray, _>(|i| vec![i as u8; i % 20])),
        ("word", column::<StringViewArray, _>(|i| format!("a word of a small dictionary {}", i * 7 % 20))),
        ("nothing", Arc::new(Int32Array::new_null(ROWS))),
        ("number", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
    ];
    let fields = columns.iter().map(|(name, a)| Field::new(*name, a.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, a)| a).collect()).unwrap()
}

/// Bits of floats, so that NaN and zeros compare.
fn bits(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        arrow_schema::DataType::Float32 => {
            let array = array.as_any().downcast_ref::<Float32Array>().unwrap();
            // A NaN of another tool may have another payload.
            Arc::new(array.unary::<_, UInt32Type>(|v| if v.is_nan() { 1 } else { v.to_bits() }))
        }
        arrow_schema::DataType::Float64 => {
            let array = array.as_any().downcast_ref::<Float64Array>().unwrap();
            Arc::new(array.unary::<_, UInt64Type>(|v| if v.is_nan() { 1 } else { v.to_bits() }))
        }
        _ => array.clone(),
    }
}

fn python(script: &str, mode: &str, directory: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let python = std::env::var("PALAIS_PYTHON")
        .map_or_else(|_| root.join(".venv/bin/python"), |python| root.join(python));
    let script = root.join("tests/interop").join(script);
    let output = Command::new(&python).arg("-B").arg(script).arg(mode).arg(directory).output();
    let output = output.unwrap_or_else(|e| {
        let python = python.display();
        panic!("no {python} ({e}): `make venv` makes it, or PALAIS_PYTHON names another Python")
    });
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        !error.contains("ModuleNotFoundError"),
        "{} lacks packages, `make venv` installs them:\n{error}",
        python.display()
    );
    assert!(output.status.success(), "{mode}:\n{error}");
}

/// Reads the columns of the table that the file has.
fn read(path: &Path) -> RecordBatch {
    let encoding = if path.extension().is_some_and(|e| e == "parquet") { "parquet" } else { "arrow" };
    let options = FormatOptions { encoding: encoding.into(), ..FormatOptions::default() };
    let table = table();
    let present = format(encoding).unwrap().infer(&FileEntry::new(path, 0, 0), &options, 0).unwrap();
    for name in ["text", "bytes", "word"] {
        let (found, expected) = (present.field_with_name(name).unwrap(), table.schema());
        assert_eq!(
            found.data_type(),
            expected.field_with_name(name).unwrap().data_type(),
            "{}",
            path.display()
        );
    }
    let kept: Vec<usize> = (0..table.num_columns())
        .filter(|&c| present.column_with_name(table.schema().field(c).name()).is_some())
        .collect();
    read_as(path, Arc::new(table.schema().project(&kept).unwrap()), options)
}

fn read_as(path: &Path, schema: SchemaRef, options: FormatOptions) -> RecordBatch {
    try_read(path, schema, options).unwrap_or_else(|e| panic!("{e}"))
}

fn try_read(path: &Path, schema: SchemaRef, options: FormatOptions) -> Result<RecordBatch, formats::Error> {
    let format = format(&options.encoding).unwrap();
    let scan = ScanOptions {
        projection: (0..schema.fields().len()).collect(),
        schema: schema.clone(),
        bounds: vec![],
        prefixes: vec![],
        unseen: schema::DeferredValidation::Nothing,
        batch_rows: 1024,
        format: options,
    };
    let bytes = std::fs::metadata(path).unwrap().len();
    let entry = Arc::new(FileEntry::new(path, bytes, 0));
    let mut batches = Vec::new();
    for morsel in format.split(&entry, &scan, 1 << 16)? {
        let reader = format.reader(&morsel, &scan)?;
        for batch in Driver::open(&morsel, reader)? {
            batches.push(batch?);
        }
    }
    Ok(arrow_select::concat::concat_batches(&schema, &batches).unwrap())
}

fn assert_same(found: &RecordBatch, path: &Path) {
    let table = table();
    for (field, column) in found.schema().fields().iter().zip(found.columns()) {
        let expected = table.column_by_name(field.name()).unwrap();
        assert_eq!(&bits(expected), &bits(column), "{} of {}", field.name(), path.display());
    }
}

/// Writes the table as a file of two blocks, however many rows a block would hold.
fn write(path: &Path, options: &FormatOptions) {
    written(path, &table(), options);
}

fn written(path: &Path, table: &RecordBatch, options: &FormatOptions) {
    let encoder = format(&options.encoding).unwrap().encoder(&table.schema(), options).unwrap();
    let mut assembler = encoder.assembler().unwrap();
    let mut out = File::create(path).unwrap();
    assembler.begin(&mut out).unwrap();
    for (from, rows) in [(0, 2000), (2000, 1000)] {
        let block = encoder.encode(&[table.slice(from, rows)]).unwrap();
        assembler.append(block, &mut out).unwrap();
    }
    assembler.finish(&mut out).unwrap();
}

#[test]
fn what_other_tools_write_is_read() {
    let dir = tempfile::tempdir().unwrap();
    python("columns.py", "write", dir.path());
    let table = table();
    let paths: Vec<PathBuf> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(paths.len(), 11 + 18 + 6);
    for path in paths {
        let found = read(&path);
        // What the other tool can't write.
        let name = path.file_name().unwrap().to_string_lossy();
        let missing = if name.contains("int96") { 1 } else { 2 * usize::from(name.contains("V2")) };
        assert_eq!(found.num_columns() + missing, table.num_columns(), "{}", path.display());
        assert_same(&found, &path);
    }
}

#[test]
fn a_page_that_does_not_match_its_checksum_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    python("columns.py", "write", dir.path());
    let path = dir.path().join("pyarrow-checksums.parquet");
    let options = FormatOptions { encoding: "parquet".into(), ..FormatOptions::default() };
    let schema = format("parquet").unwrap().infer(&FileEntry::new(&path, 0, 0), &options, 0).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut found = 0;
    for place in 1..40 {
        let mut bytes = whole.clone();
        // Pages fill the first three quarters of the file, and more.
        bytes[whole.len() * 3 / 4 * place / 40] ^= 1 << (place % 8);
        std::fs::write(&path, bytes).unwrap();
        let error = try_read(&path, schema.clone(), options.clone()).unwrap_err().to_string();
        found += usize::from(error.contains("checksum"));
    }
    assert!(found > 30, "{found} of 39");
}

#[test]
fn rows_that_other_tools_write_are_read() {
    let dir = tempfile::tempdir().unwrap();
    python("rows.py", "write", dir.path());
    let paths: Vec<PathBuf> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(paths.len(), 2 * 3 + 1);
    for path in paths {
        let named = by_name(&path);
        let options = FormatOptions {
            encoding: named.encoding.unwrap().into(),
            compression: named.compression.unwrap_or("none").into(),
            header: true,
            ..FormatOptions::default()
        };
        let found = read_as(&path, table().schema(), options);
        assert_eq!(found.num_rows(), ROWS);
        assert_same(&found, &path);
    }
}

#[test]
fn what_palais_writes_is_read_by_other_tools() {
    let dir = tempfile::tempdir().unwrap();
    for encoding in ["parquet", "arrow"] {
        for compression in format(encoding).unwrap().compressions() {
            let options = FormatOptions {
                encoding: encoding.into(),
                compression: compression.to_string(),
                ..FormatOptions::default()
            };
            write(&dir.path().join(format!("{compression}.{encoding}")), &options);
        }
    }
    python("columns.py", "check", dir.path());
}

#[test]
fn rows_that_palais_writes_are_read_by_other_tools() {
    let dir = tempfile::tempdir().unwrap();
    for encoding in ["csv", "jsonl"] {
        for (compression, suffix) in [("none", ""), ("gzip", ".gz"), ("zstd", ".zst"), ("lz4", ".lz4")] {
            let options = FormatOptions {
                encoding: encoding.into(),
                compression: compression.into(),
                header: true,
                ..FormatOptions::default()
            };
            write(&dir.path().join(format!("palais.{encoding}{suffix}")), &options);
        }
    }
    python("rows.py", "check", dir.path());
}

#[test]
fn values_that_carry_their_kind_are_read_as_others_write_them() {
    let dir = tempfile::tempdir().unwrap();
    python("binary.py", "write", dir.path());
    let paths: Vec<PathBuf> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(paths.len(), 2 * 4);
    for path in paths {
        let encoding = by_name(&path).encoding.unwrap();
        let in_array = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("list"));
        let options = FormatOptions { encoding: encoding.into(), in_array, ..FormatOptions::default() };
        // Columns of numbers and of text are told from their values, and named where the rows are maps.
        let inferred = format(encoding).unwrap().infer(&FileEntry::new(&path, 0, 0), &options, 1000).unwrap();
        let names: Vec<&String> = inferred.fields().iter().map(|f| f.name()).collect();
        assert_eq!(names.len(), table().num_columns());
        assert_eq!(
            names[4] == "i64",
            path.to_string_lossy().ends_with(&format!("maps.{encoding}")),
            "{names:?}"
        );
        let found = read_as(&path, table().schema(), options);
        assert_eq!(found.num_rows(), ROWS);
        assert_same(&found, &path);
    }
}

#[test]
fn values_that_carry_their_kind_are_written_as_others_read_them() {
    let dir = tempfile::tempdir().unwrap();
    for encoding in ["msgpack", "cbor"] {
        for (name, row_arrays) in [("maps", false), ("arrays", true)] {
            let options = FormatOptions { encoding: encoding.into(), row_arrays, ..FormatOptions::default() };
            write(&dir.path().join(format!("{name}.{encoding}")), &options);
        }
    }
    python("binary.py", "check", dir.path());
}
