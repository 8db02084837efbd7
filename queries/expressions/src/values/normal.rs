//! One representation for equal values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow_array::{Array, ArrayRef, LargeListArray, ListArray, MapArray, PrimitiveArray, StructArray};
use arrow_schema::{DataType, IntervalUnit};

/// The nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// The one NaN that is above infinity, and 0.0 for -0.0.
#[inline(always)]
pub fn normal64(v: f64) -> f64 {
    // -0.0 + 0.0 is 0.0.
    if v.is_nan() { f64::NAN.abs() } else { v + 0.0 }
}

/// As [`normal64`].
#[inline(always)]
pub fn normal32(v: f32) -> f32 {
    if v.is_nan() { f32::NAN.abs() } else { v + 0.0 }
}

/// The nanoseconds of an interval, with 30 days a month and 24 hours a day. Compared by their fields in turn, 36 hours
/// would be less than a day.
#[inline(always)]
pub fn interval_length(v: IntervalMonthDayNano) -> i128 {
    (i128::from(v.months) * 30 + i128::from(v.days)) * DAY + i128::from(v.nanoseconds)
}

/// The values in their one representation: of floats the one NaN that is above infinity, and 0.0 for -0.0. An interval
/// has 30 days a month and 24 hours a day, in as many months and then days as there are, all of one sign. Values within
/// lists, structs and maps too.
pub fn normalised(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float64 => {
            let floats = values.as_primitive::<Float64Type>();
            let normal: PrimitiveArray<Float64Type> = floats.unary(normal64);
            Arc::new(normal)
        }
        DataType::Float32 => {
            let floats = values.as_primitive::<Float32Type>();
            let normal: PrimitiveArray<Float32Type> = floats.unary(normal32);
            Arc::new(normal)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let intervals = values.as_primitive::<IntervalMonthDayNanoType>();
            let normal: PrimitiveArray<IntervalMonthDayNanoType> = intervals.unary(|v| {
                let total = interval_length(v);
                let (months, rest) = (total / (30 * DAY), total % (30 * DAY));
                IntervalMonthDayNano::new(months as i32, (rest / DAY) as i32, (rest % DAY) as i64)
            });
            Arc::new(normal)
        }
        DataType::List(item) => {
            let list = values.as_list::<i32>();
            let items = normalised(list.values());
            Arc::new(ListArray::new(item.clone(), list.offsets().clone(), items, list.nulls().cloned()))
        }
        DataType::LargeList(item) => {
            let list = values.as_list::<i64>();
            let items = normalised(list.values());
            Arc::new(LargeListArray::new(item.clone(), list.offsets().clone(), items, list.nulls().cloned()))
        }
        DataType::Struct(fields) if !fields.is_empty() => {
            let columns = values.as_struct().columns().iter().map(normalised).collect();
            Arc::new(StructArray::new(fields.clone(), columns, values.nulls().cloned()))
        }
        DataType::Map(entries, sorted) => {
            let map = values.as_map();
            let pairs: ArrayRef = Arc::new(map.entries().clone());
            let pairs = normalised(&pairs).as_struct().clone();
            Arc::new(MapArray::new(
                entries.clone(),
                map.offsets().clone(),
                pairs,
                map.nulls().cloned(),
                *sorted,
            ))
        }
        _ => values.clone(),
    }
}
