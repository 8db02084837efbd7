//! Files of buren version 1 that stay as they are: every later palais reads them, and so does a reader that was written
//! from the specification alone, `tests/buren/reader.py`.
//!
//! A golden file that is missing is written by `PALAIS_WRITE_GOLDEN=1 cargo test --release -p formats golden`. None is
//! ever replaced: a later writer may choose other encodings, and what was written before must still be read.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::{DataType, Field, IntervalUnit};
use formats::buren::footer::{Footer, TRAILER};
use formats::buren::inspect::inspect;
use formats::format::Format;
use formats::registry::format;
use schema::ColumnBound;
use serde_json::{Value, json};

use crate::common::*;

/// Two full blocks and the beginning of a third.
const ROWS: usize = 2300;

fn buren() -> &'static dyn Format {
    format("buren").unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn noise(i: usize) -> u64 {
    Numbers(i as u64).next()
}

fn letters(seed: usize, count: usize) -> String {
    (0..count).map(|i| char::from(b'a' + (noise(seed * 1000 + i) % 26) as u8)).collect()
}

/// A column for each encoding.
fn encodings() -> RecordBatch {
    let rows = || 0..ROWS;
    let longs = |value: &dyn Fn(usize) -> i64| {
        Arc::new(rows().map(|i| Some(value(i))).collect::<Int64Array>()) as ArrayRef
    };
    let doubles = |value: &dyn Fn(usize) -> f64| {
        Arc::new(rows().map(|i| Some(value(i))).collect::<Float64Array>()) as ArrayRef
    };
    let texts = |value: &dyn Fn(usize) -> Option<String>| {
        Arc::new(rows().map(value).collect::<StringViewArray>()) as ArrayRef
    };
    let decimals = |value: &dyn Fn(usize) -> i128| {
        let values = rows().map(|i| Some(value(i))).collect::<Decimal128Array>();
        Arc::new(values.with_precision_and_scale(38, 2).unwrap()) as ArrayRef
    };
    let odd = |i: usize| match i {
        0 => f64::NAN,
        1 => -0.0,
        1500 => f64::INFINITY,
        2299 => std::f64::consts::PI,
        _ => (noise(i) % 100_000) as f64 / 100.0,
    };
    let singles = rows().map(|i| Some((noise(i) >> 40) as f32 / (1 << 24) as f32)).collect::<Float32Array>();
    let shorts = rows().map(|i| Some((noise(i) % 90) as i16 - 45)).collect::<Int16Array>();
    let bytes = rows().map(|i| Some(noise(i) as u8)).collect::<UInt8Array>();
    let few = rows().map(|i| (i % 100 != 7).then_some((noise(i) % 1000) as u32)).collect::<UInt32Array>();
    let address = |i: usize| std::net::Ipv4Addr::from(noise(i) as u32).to_string();
    let page = |i: usize| {
        format!(
            "https://www.example.org/{}/Ünterseite-{}?session={:x}",
            i % 5,
            noise(i) % 100,
            noise(i) % 65_536
        )
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("constant", longs(&|_| -5)),
        ("packed", longs(&|i| (noise(i) % 1000) as i64 - 500)),
        ("deltas", longs(&|i| i as i64 * 1_000_003 + (noise(i) % 8) as i64 - (1 << 40))),
        ("runs", longs(&|i| noise(i / 23) as i64)),
        ("distinct", longs(&|i| noise((noise(i) % 7) as usize) as i64)),
        ("plain", Arc::new(bytes)),
        ("narrow16", Arc::new(shorts)),
        ("some nulls", Arc::new(few)),
        ("decimal", doubles(&odd)),
        ("binary", Arc::new(singles)),
        ("split", doubles(&|i| (noise(i) as f64).sqrt().sin() * 1e-9)),
        ("wide narrow", decimals(&|i| i128::from(noise(i) % 100_000) - 50_000)),
        ("wide constant", decimals(&|_| -(1 << 100))),
        ("wide plain", decimals(&|i| i128::from(noise(i)) << 40)),
        ("always", Arc::new(rows().map(|_| Some(true)).collect::<BooleanArray>())),
        ("same text", texts(&|_| Some("the same text everywhere".into()))),
        ("letters", texts(&|i| Some(letters(i, 10 + (noise(i) % 40) as usize)))),
        ("address", texts(&|i| (i % 40 != 1).then(|| address(i)))),
        ("page", texts(&|i| Some(page(i)))),
        (
            "language",
            texts(&|i| {
                (i % 50 != 9).then(|| ["Deutsch", "English", "español", ""][(noise(i) % 4) as usize].into())
            }),
        ),
        ("visits", texts(&|i| Some(letters(i / 9, 30)))),
        (
            "agent",
            texts(&|i| Some(if i % 4 == 0 { letters(i, 12) } else { format!("agent {}", noise(i) % 40) })),
        ),
        (
            "noise",
            Arc::new(
                rows()
                    .map(|i| {
                        Some(
                            (0..noise(i) % 20).map(|k| noise(i * 31 + k as usize) as u8).collect::<Vec<u8>>(),
                        )
                    })
                    .collect::<BinaryViewArray>(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| {
        let nullable = array.null_count() > 0;
        (name, array, nullable)
    }))
    .unwrap()
}

/// Lists and structs, NULL and empty ones, in one another.
fn nested() -> RecordBatch {
    use arrow_array::builder::*;
    let mut numbers = ListBuilder::new(Int32Builder::new());
    let mut words = ListBuilder::new(ListBuilder::new(StringViewBuilder::new()));
    let fields = vec![Field::new("id", DataType::Int64, true), Field::new("name", DataType::Utf8View, true)];
    let mut people = StructBuilder::from_fields(fields, 0);
    for i in 0..1500 {
        (0..i % 4).for_each(|k| numbers.values().append_option((k != 2).then_some((i * k) as i32)));
        numbers.append(i % 7 != 3);
        for k in 0..i % 3 {
            (0..k).for_each(|n| words.values().values().append_value(format!("word {}", (i + n) % 50)));
            words.values().append(i % 5 != 1);
        }
        words.append(i % 6 != 5);
        people.field_builder::<Int64Builder>(0).unwrap().append_value(i as i64);
        people
            .field_builder::<StringViewBuilder>(1)
            .unwrap()
            .append_option((i % 4 != 0).then(|| letters(i, 9)));
        people.append(i % 9 != 4);
    }
    RecordBatch::try_from_iter_with_nullable([
        ("numbers", Arc::new(numbers.finish()) as ArrayRef, true),
        ("words", Arc::new(words.finish()) as ArrayRef, true),
        ("person", Arc::new(people.finish()) as ArrayRef, true),
    ])
    .unwrap()
}

/// The files: name, table and compression.
fn golden() -> Vec<(String, RecordBatch, &'static str)> {
    let mut files = vec![
        ("types".to_string(), all_types(200, 11), "none"),
        ("encodings".to_string(), encodings(), "none"),
        ("nested".to_string(), nested(), "zstd"),
        ("empty".to_string(), all_types(0, 11), "none"),
    ];
    let some = encodings().project(&[2, 7, 8, 15, 18, 19, 22]).unwrap();
    for compression in &buren().compressions()[1..] {
        files.push((compression.to_string(), some.clone(), compression));
    }
    files
}

fn path(name: &str) -> PathBuf {
    root().join("tests/buren/golden").join(format!("{name}.buren"))
}

#[test]
fn golden_files_are_read() {
    for (name, table, compression) in golden() {
        let path = path(&name);
        if !path.exists() && std::env::var_os("PALAIS_WRITE_GOLDEN").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, encode(buren(), &table, compression, 1000)).unwrap();
        }
        assert_same(&table, &read_all(buren(), &path).unwrap());
    }
}

#[test]
fn golden_files_have_every_encoding() {
    let mut found = String::new();
    for (name, ..) in golden() {
        for chunk in inspect(&entry(&path(&name))).unwrap().parts.iter().flat_map(|part| &part.chunks) {
            found += &format!("{} is {} with {}\n", chunk.column, chunk.encoding, chunk.compression);
        }
    }
    for wanted in [
        "constant is constant",
        "packed is packed",
        "deltas is packed",
        "runs is 100 runs(",
        "distinct is dictionary of 7(",
        "plain is plain",
        "wide narrow is narrow(packed)",
        "wide constant is constant",
        "wide plain is plain",
        "decimal is decimal 2(packed, 4 exceptions(",
        "binary is binary 24(packed)",
        "split is split at 5",
        "always is constant",
        "same text is constant",
        "letters is letters of 26(",
        "address is addresses(",
        "page is symbols of ",
        "language is dictionary of 4(",
        "visits is 256 runs(",
        "agent is frequent 40(",
        "noise is plain(",
        "NULLs as bits",
        "NULLs as places",
        "nothing is nothing",
        "with none",
        "with snappy",
        "with lz4",
        "with gzip",
        "with zlib",
        "with zstd",
    ] {
        assert!(found.contains(wanted), "no '{wanted}' in\n{found}");
    }
}

#[test]
fn a_reader_in_python_finds_the_same() {
    let python = std::env::var("PALAIS_PYTHON")
        .map_or_else(|_| root().join(".venv/bin/python"), |python| root().join(python));
    let dir = tempfile::tempdir().unwrap();
    let large =
        write(dir.path(), buren(), &all_types(140_000, 12).project(&[1, 18, 22, 24]).unwrap(), "zstd");
    let large = ("large", large.clone(), read_all(buren(), &large).unwrap());
    let golden: Vec<_> = golden().into_iter().map(|(name, table, _)| (name, table)).collect();
    let golden = golden.iter().map(|(name, table)| (name.as_str(), path(name), table.clone()));
    for (name, path, table) in golden.chain([large]) {
        let output =
            Command::new(&python).arg("-B").arg(root().join("tests/buren/reader.py")).arg(&path).output();
        let output = output.unwrap_or_else(|e| {
            panic!(
                "no {} ({e}): `make venv` makes it, or PALAIS_PYTHON names another Python",
                python.display()
            )
        });
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let columns: Vec<String> = lines
            .next()
            .unwrap()
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c[0].as_str().unwrap().to_string())
            .collect();
        assert_eq!(columns, table.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>());
        for row in 0..table.num_rows() {
            let expected: Vec<Value> = table.columns().iter().map(|column| value(column, row)).collect();
            assert_eq!(lines.next(), Some(Value::Array(expected)), "row {row} of {name}");
        }
        assert_eq!(lines.next(), None, "{name}");
    }
}

/// Bytes that a forger made, in chunks of every encoding: checksums agree, whatever else does not. Rows are read with and
/// without bounds, so that what looks at encoded values meets them too.
#[test]
fn forged_golden_chunks_do_not_panic() {
    let dir = tempfile::tempdir().unwrap();
    let forged = dir.path().join("forged.buren");
    let mut numbers = Numbers(5);
    for (name, table, _) in golden().into_iter().filter(|(_, table, _)| table.num_rows() > 0) {
        let whole = std::fs::read(path(&name)).unwrap();
        let length =
            u32::from_le_bytes(whole[whole.len() - 12..whole.len() - 8].try_into().unwrap()) as usize;
        let start = whole.len() - TRAILER - length;
        let footer = Footer::parse(&whole[start..whole.len() - TRAILER], start as u64).unwrap();
        for round in 0..300 {
            let (mut bytes, mut footer) = (whole[..start].to_vec(), footer.clone());
            let chunks = &mut footer.groups[0].chunks;
            let column = numbers.next() as usize % chunks.len();
            let chunk = &mut chunks[column];
            let place = chunk.offset as usize..chunk.offset as usize + chunk.stored as usize;
            for _ in 0..1 + numbers.next() % 3 {
                // Descriptions and heads come first; what is behind them is mostly packed bits.
                let reach = if round % 3 == 0 { place.len() } else { place.len().min(60) };
                let at = place.start + 4 + numbers.next() as usize % reach.saturating_sub(4).max(1);
                bytes[at.min(place.end - 1)] = match numbers.next() % 5 {
                    0 => 0,
                    1 => 0xFF,
                    2 => bytes[at.min(place.end - 1)].wrapping_add(1),
                    3 => numbers.next() as u8 % 11,
                    _ => numbers.next() as u8,
                };
            }
            chunk.checksum = crc32fast::hash(&bytes[place]);
            bytes.extend(footer.to_bytes().unwrap());
            replace(&forged, &bytes);
            let value = table.column(column).slice(numbers.next() as usize % table.num_rows(), 1);
            let bound = ColumnBound { column, min: Some(value.clone()), max: Some(value) };
            for bounds in [vec![], vec![bound]] {
                let scan = scan(&table.schema(), vec![column], bounds);
                for batch in read(buren(), &forged, &scan).into_iter().flatten() {
                    batch.column(0).to_data().validate_full().unwrap();
                }
            }
        }
    }
}

/// A value as the reader in Python prints it.
fn value(array: &ArrayRef, row: usize) -> Value {
    fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> Value
    where
        T::Native: std::fmt::Display,
    {
        // What JSON's numbers can't hold is text.
        let text = array.as_primitive::<T>().value(row).to_string();
        let small = text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from));
        small.unwrap_or(Value::String(text))
    }
    let hex = |bytes: &[u8]| json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    let float = |value: f64| hex(&value.to_bits().to_be_bytes());
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).map(|item| value(&items, item)).collect()
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(|column| value(column, row)).collect(),
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Float16 => hex(&array.as_primitive::<Float16Type>().value(row).to_bits().to_le_bytes()),
        DataType::Float32 => float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8View => json!(array.as_string_view().value(row)),
        DataType::BinaryView => hex(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(row)),
        DataType::Int8 => number::<Int8Type>(array, row),
        DataType::Int16 => number::<Int16Type>(array, row),
        DataType::UInt8 => number::<UInt8Type>(array, row),
        DataType::UInt16 => number::<UInt16Type>(array, row),
        DataType::UInt32 => number::<UInt32Type>(array, row),
        DataType::UInt64 => number::<UInt64Type>(array, row),
        DataType::Decimal128(..) => number::<Decimal128Type>(array, row),
        DataType::Decimal256(..) => number::<Decimal256Type>(array, row),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            json!([value.months, value.days, value.nanoseconds])
        }
        other => {
            let width = other.primitive_width().unwrap_or_else(|| panic!("{other} is not expected here"));
            let data = array.to_data();
            let bytes = &data.buffers()[0][(data.offset() + row) * width..][..width];
            let sign = if bytes[width - 1] >> 7 == 1 { 0xFF } else { 0 };
            let mut wide = [sign; 8];
            wide[..width].copy_from_slice(bytes);
            json!(i64::from_le_bytes(wide))
        }
    }
}
