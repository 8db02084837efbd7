//! Differences of timestamps as intervals.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

/// A column of durations as intervals of whole days and what is left of one; another column as it is. A difference of
/// more than 2³¹ days, which no two timestamps have, has the most days that there are.
pub fn to_intervals(column: &ArrayRef) -> ArrayRef {
    fn of<T: ArrowPrimitiveType<Native = i64>>(column: &ArrayRef, per_second: i64) -> ArrayRef {
        let (day, nanos) = (86_400 * per_second, 1_000_000_000 / per_second);
        let limit = i64::from(i32::MAX);
        let intervals: PrimitiveArray<IntervalMonthDayNanoType> = column.as_primitive::<T>().unary(|value| {
            let days = (value / day).clamp(-limit, limit) as i32;
            IntervalMonthDayNano::new(0, days, value % day * nanos)
        });
        Arc::new(intervals)
    }
    match column.data_type() {
        DataType::Duration(TimeUnit::Second) => of::<DurationSecondType>(column, 1),
        DataType::Duration(TimeUnit::Millisecond) => of::<DurationMillisecondType>(column, 1_000),
        DataType::Duration(TimeUnit::Microsecond) => of::<DurationMicrosecondType>(column, 1_000_000),
        DataType::Duration(TimeUnit::Nanosecond) => of::<DurationNanosecondType>(column, 1_000_000_000),
        _ => column.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::DurationMillisecondArray;

    use super::*;

    #[test]
    fn days_and_the_rest_have_one_sign() {
        let column: ArrayRef =
            Arc::new(DurationMillisecondArray::from(vec![86_400_001, -86_400_001, 0, i64::MAX]));
        let intervals = to_intervals(&column);
        let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
        assert_eq!(intervals.value(0), IntervalMonthDayNano::new(0, 1, 1_000_000));
        assert_eq!(intervals.value(1), IntervalMonthDayNano::new(0, -1, -1_000_000));
        assert_eq!(intervals.value(2), IntervalMonthDayNano::new(0, 0, 0));
        assert_eq!(intervals.value(3).days, i32::MAX);
    }
}
