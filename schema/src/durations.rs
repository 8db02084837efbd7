//! Differences of timestamps as intervals, and the text of intervals.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;

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

/// Appends `1 year 2 months -3 days 04:05:06.5`, as DuckDB has it: the parts that are not 0, each with its sign.
pub fn push_interval(value: IntervalMonthDayNano, out: &mut String) {
    let begin = out.len();
    for (count, unit) in [(value.months / 12, "year"), (value.months % 12, "month"), (value.days, "day")] {
        if count != 0 {
            let plural = if count.unsigned_abs() == 1 { "" } else { "s" };
            // A string takes all that is written.
            let _ = write!(out, "{count} {unit}{plural} ");
        }
    }
    if value.nanoseconds == 0 && out.len() > begin {
        out.pop();
        return;
    }
    if value.nanoseconds < 0 {
        out.push('-');
    }
    let nanos = value.nanoseconds.unsigned_abs();
    push_clock(nanos / SECOND, nanos % SECOND, out);
}

/// Appends `04:05:06.5`: seconds and nanoseconds, without zeros at the end of the fraction.
pub fn push_clock(seconds: u64, nanos: u64, out: &mut String) {
    let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if nanos != 0 {
        let fraction = format!("{nanos:09}");
        let _ = write!(out, ".{}", fraction.trim_end_matches('0'));
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

    #[test]
    fn intervals_have_the_parts_that_are_not_0() {
        for ((months, days, nanos), text) in [
            ((13, 1, 0), "1 year 1 month 1 day"),
            ((-14, 3, 0), "-1 year -2 months 3 days"),
            ((0, 0, 0), "00:00:00"),
            ((0, 0, 360_000_500_000_000), "100:00:00.5"),
            ((0, 2, -10_800_000_001_000), "2 days -03:00:00.000001"),
            ((24, 0, 0), "2 years"),
        ] {
            let value = IntervalMonthDayNano::new(months, days, nanos);
            let mut out = String::new();
            push_interval(value, &mut out);
            assert_eq!(out, text);
        }
    }
}
