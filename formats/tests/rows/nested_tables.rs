//! Random columns of lists, structs and maps.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, SchemaRef, TimeUnit};

use crate::common::*;

fn item(data_type: DataType, nullable: bool) -> Arc<Field> {
    Arc::new(Field::new_list_field(data_type, nullable))
}

pub fn list(of: DataType) -> DataType {
    DataType::List(item(of, true))
}

pub fn object(fields: &[(&str, DataType, bool)]) -> DataType {
    DataType::Struct(fields.iter().map(|(n, t, nullable)| Field::new(*n, t.clone(), *nullable)).collect())
}

pub fn map(key: DataType, value: DataType) -> DataType {
    let entry = vec![Field::new("key", key, false), Field::new("value", value, true)];
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entry.into()), false)), false)
}

fn nulls(random: &mut Random, rows: usize, nullable: bool) -> Option<NullBuffer> {
    let valid: Vec<bool> = (0..rows).map(|_| random.below(5) > 0).collect();
    (nullable && random.below(4) > 0).then(|| NullBuffer::new(BooleanBuffer::from(valid)))
}

/// Random values of a type. What lies in a value that is NULL is random too.
pub fn values(random: &mut Random, data_type: &DataType, rows: usize, nullable: bool) -> ArrayRef {
    use DataType as T;
    let nulls = nulls(random, rows, nullable);
    let valid = |row: usize| nulls.as_ref().is_none_or(|n| n.is_valid(row));
    let lengths = |random: &mut Random| -> OffsetBuffer<i32> {
        let length = |row: usize, random: &mut Random| match random.below(12) {
            0 => 0,
            // Longer than what is read at once.
            1 if row == 7 && rows < 20 => 5000,
            n => {
                if valid(row) {
                    n % 4
                } else {
                    0
                }
            }
        };
        OffsetBuffer::from_lengths((0..rows).map(|row| length(row, random)).collect::<Vec<_>>())
    };
    let texts = ["", "a", "thirteen bytes", "\"q\" \\ \n", "é 日本語 🦀", "NULL", "[1]", "{}"];
    match data_type {
        T::Boolean => {
            Arc::new((0..rows).map(|r| valid(r).then(|| random.below(2) == 0)).collect::<BooleanArray>())
        }
        T::Int32 => {
            Arc::new((0..rows).map(|r| valid(r).then(|| random.next() as i32)).collect::<Int32Array>())
        }
        T::UInt64 => {
            let wide = |random: &mut Random| u64::from(random.next()) << 33 | u64::from(random.next());
            Arc::new((0..rows).map(|r| valid(r).then(|| wide(random))).collect::<UInt64Array>())
        }
        T::Float64 => {
            let real = |random: &mut Random| random.pick(&[0.5, -0.0, 1e300, f64::INFINITY, 7.0]);
            Arc::new((0..rows).map(|r| valid(r).then(|| real(random))).collect::<Float64Array>())
        }
        T::Date32 => Arc::new(
            (0..rows).map(|r| valid(r).then(|| random.next() as i32 % 20_000)).collect::<Date32Array>(),
        ),
        T::Timestamp(TimeUnit::Microsecond, zone) => {
            let times = (0..rows).map(|r| valid(r).then(|| i64::from(random.next()) * 1_000_003));
            Arc::new(times.collect::<TimestampMicrosecondArray>().with_timezone_opt(zone.clone()))
        }
        T::Decimal128(precision, scale) => {
            let numbers = (0..rows).map(|r| valid(r).then(|| i128::from(random.next() as i32)));
            let numbers = numbers.collect::<Decimal128Array>();
            Arc::new(numbers.with_precision_and_scale(*precision, *scale).unwrap())
        }
        T::Utf8View => {
            Arc::new((0..rows).map(|r| valid(r).then(|| random.pick(&texts))).collect::<StringViewArray>())
        }
        T::Utf8 => {
            Arc::new((0..rows).map(|r| valid(r).then(|| random.pick(&texts))).collect::<StringArray>())
        }
        T::BinaryView => {
            let bytes = (0..rows).map(|r| valid(r).then(|| random.pick(&texts).as_bytes()));
            Arc::new(bytes.collect::<BinaryViewArray>())
        }
        T::List(of) => {
            let offsets = lengths(random);
            let items =
                values(random, of.data_type(), offsets.last().copied().unwrap() as usize, of.is_nullable());
            Arc::new(ListArray::new(of.clone(), offsets, items, nulls))
        }
        T::LargeList(of) => {
            let plain = values(random, &T::List(of.clone()), rows, nullable);
            arrow_cast::cast(&plain, data_type).unwrap()
        }
        T::FixedSizeList(of, size) => {
            let items = values(random, of.data_type(), rows * *size as usize, of.is_nullable());
            Arc::new(FixedSizeListArray::new(of.clone(), *size, items, nulls))
        }
        T::Struct(fields) => {
            let columns =
                fields.iter().map(|f| values(random, f.data_type(), rows, f.is_nullable())).collect();
            Arc::new(StructArray::new(fields.clone(), columns, nulls))
        }
        T::Map(entries, sorted) => {
            let offsets = lengths(random);
            let count = offsets.last().copied().unwrap() as usize;
            let entry = values(random, entries.data_type(), count, false);
            Arc::new(MapArray::new(entries.clone(), offsets, entry.as_struct().clone(), nulls, *sorted))
        }
        other => panic!("{other}"),
    }
}

pub fn nested_types() -> SchemaRef {
    use DataType as T;
    let zoned = T::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let point = object(&[("x", T::Float64, true), ("y y", T::Int32, false)]);
    let deep = object(&[
        ("name", T::Utf8View, false),
        ("points", list(point.clone()), true),
        ("raw", T::BinaryView, true),
        ("at", object(&[("when", zoned, true), ("day", T::Date32, true)]), false),
    ]);
    fields(&[
        ("flat", T::Int32),
        ("ints", list(T::Int32)),
        ("texts", list(T::Utf8View)),
        ("plain", list(T::Utf8)),
        ("lists", list(list(list(T::Boolean)))),
        ("deep", deep.clone()),
        ("rows", list(deep)),
        ("large", T::LargeList(item(T::Decimal128(12, 3), true))),
        ("pairs", T::FixedSizeList(item(T::UInt64, true), 2)),
        ("sure", T::FixedSizeList(item(T::UInt64, false), 3)),
        ("always", T::List(item(point, false))),
        ("map", map(T::Utf8View, list(T::Int32))),
        ("days", map(T::Date32, object(&[("a", T::Int32, true)]))),
        ("none", T::Struct(Fields::empty())),
    ])
}

pub fn random_rows(random: &mut Random, schema: &SchemaRef, rows: usize) -> RecordBatch {
    let columns = schema.fields().iter().map(|f| match f.data_type() {
        DataType::Struct(of) if of.is_empty() => {
            let valid = (0..rows).map(|_| random.below(3) > 0).collect::<Vec<_>>();
            Arc::new(StructArray::new_empty_fields(rows, Some(NullBuffer::from(valid)))) as ArrayRef
        }
        data_type => values(random, data_type, rows, true),
    });
    RecordBatch::try_new(schema.clone(), columns.collect()).unwrap()
}
