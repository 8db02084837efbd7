//! bincode between palais and the crate that defines it.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::{Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::{ROWS, read_as, written};
use schema::FormatOptions;

/// A row as a program would declare it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    flag: bool,
    maybe_flag: Option<bool>,
    i8: i8,
    i16: Option<i16>,
    i32: i32,
    i64: Option<i64>,
    u8: Option<u8>,
    u16: u16,
    u32: Option<u32>,
    u64: u64,
    f32: f32,
    f64: Option<f64>,
    text: String,
    maybe_text: Option<String>,
    bytes: Option<Vec<u8>>,
    fixed: [u8; 5],
    decimal: Option<i128>,
    date: i32,
    moment: Option<i64>,
    seconds: i32,
    micros: Option<i64>,
}

fn row(i: usize) -> Row {
    fn maybe<T>(i: usize, value: T) -> Option<T> {
        (i % 5 != 2).then_some(value)
    }
    let n = (i as i64 - 1000).wrapping_mul(0x0123_4567_89ab_cdef);
    Row {
        flag: i.is_multiple_of(2),
        maybe_flag: maybe(i, i.is_multiple_of(3)),
        i8: n as i8,
        i16: maybe(i + 1, n as i16),
        i32: n as i32,
        i64: maybe(i + 2, n),
        u8: maybe(i + 3, n as u8),
        u16: n as u16,
        u32: maybe(i + 4, n as u32),
        u64: n as u64,
        f32: i as f32 * 0.1,
        f64: maybe(i, 1.0 / (i as f64 - 7.0)),
        text: "é".repeat(i % 9),
        maybe_text: maybe(i + 1, format!("a text of row {i}")),
        bytes: maybe(i + 2, vec![i as u8; i % 20]),
        fixed: (n as u64 | 1 << 40).to_be_bytes()[..5].try_into().unwrap(),
        decimal: maybe(i + 3, i128::from(n) * 1_000_003),
        date: n as i32,
        moment: maybe(i + 4, n),
        seconds: (i % 86_400) as i32,
        micros: maybe(i, i as i64 * 86_399),
    }
}

/// The same rows as columns.
fn batch() -> RecordBatch {
    fn required<A: FromIterator<Option<T>> + Array + 'static, T>(
        value: impl Fn(Row) -> T,
    ) -> (ArrayRef, bool) {
        (Arc::new((0..ROWS).map(|i| Some(value(row(i)))).collect::<A>()), false)
    }
    fn maybe<A: FromIterator<Option<T>> + Array + 'static, T>(
        value: impl Fn(Row) -> Option<T>,
    ) -> (ArrayRef, bool) {
        (Arc::new((0..ROWS).map(|i| value(row(i))).collect::<A>()), true)
    }
    let fixed = FixedSizeBinaryArray::try_from_iter((0..ROWS).map(|i| row(i).fixed)).unwrap();
    let decimals = (0..ROWS).map(|i| row(i).decimal).collect::<Decimal128Array>();
    let columns = [
        required::<BooleanArray, _>(|r| r.flag),
        maybe::<BooleanArray, _>(|r| r.maybe_flag),
        required::<Int8Array, _>(|r| r.i8),
        maybe::<Int16Array, _>(|r| r.i16),
        required::<Int32Array, _>(|r| r.i32),
        maybe::<Int64Array, _>(|r| r.i64),
        maybe::<UInt8Array, _>(|r| r.u8),
        required::<UInt16Array, _>(|r| r.u16),
        maybe::<UInt32Array, _>(|r| r.u32),
        required::<UInt64Array, _>(|r| r.u64),
        required::<Float32Array, _>(|r| r.f32),
        maybe::<Float64Array, _>(|r| r.f64),
        required::<StringViewArray, _>(|r| r.text),
        maybe::<StringViewArray, _>(|r| r.maybe_text),
        maybe::<BinaryViewArray, _>(|r| r.bytes),
        (Arc::new(fixed), false),
        (Arc::new(decimals.with_precision_and_scale(38, 4).unwrap()), true),
        required::<Date32Array, _>(|r| r.date),
        maybe::<PrimitiveArray<TimestampMicrosecondType>, _>(|r| r.moment),
        required::<Time32SecondArray, _>(|r| r.seconds),
        maybe::<Time64MicrosecondArray, _>(|r| r.micros),
    ];
    let names = (0..).map(|i| format!("c{i}"));
    let columns = names.zip(columns).map(|(name, (array, nullable))| (name, array, nullable));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn the_crate_writes_what_palais_reads_and_reads_what_palais_writes() {
    let dir = tempfile::tempdir().unwrap();
    let options = FormatOptions { encoding: "bincode".into(), ..FormatOptions::default() };
    let path = dir.path().join("rows.bincode");
    let batch = batch();

    let mut by_crate = Vec::new();
    (0..ROWS).for_each(|i| bincode::serialize_into(&mut by_crate, &row(i)).unwrap());
    std::fs::write(&path, &by_crate).unwrap();
    let schema: SchemaRef = Arc::new(Schema::new(batch.schema().fields().clone()));
    assert_eq!(read_as(&path, schema, options.clone()), batch);

    std::fs::remove_file(&path).unwrap();
    written(&path, &batch, &options);
    let by_palais = std::fs::read(&path).unwrap();
    let mut rest = &by_palais[..];
    for i in 0..ROWS {
        assert_eq!(bincode::deserialize_from::<_, Row>(&mut rest).unwrap(), row(i));
    }
    assert!(rest.is_empty());
    assert_eq!(by_palais, by_crate);
}
