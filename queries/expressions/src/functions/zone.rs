//! `x AT TIME ZONE 'zone'`: an instant to the date and time that a clock in the zone shows, and such a date and time to
//! the instant. The planner's cast changes the label of an instant alone.
//!
//! When clocks are put back an hour is shown twice, and the later one is meant; when they are put forward, an hour is not
//! shown, and is taken as if they had not been (as PostgreSQL and DuckDB do).

use std::sync::Arc;

use std::str::FromStr;

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use chrono::{DateTime, MappedLocalTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, internal_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use schema::instants::{UTC, per_second};

/// Its name, which nobody types: AT TIME ZONE becomes a call of it.
pub const NAME: &str = "at_time_zone";

/// The function.
pub fn at_time_zone() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(AtTimeZone {
        signature: Signature::user_defined(Volatility::Immutable),
        local: datafusion_functions::datetime::to_local_time(),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AtTimeZone {
    signature: Signature,
    /// What the clock of the zone of a timestamp's type shows.
    local: Arc<ScalarUDF>,
}

fn relabelled(values: &ArrayRef, to: DataType) -> Result<ArrayRef> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(values, &to, &strict)?)
}

/// How far a zone's clocks are from UTC when they show a date and time, in seconds.
fn offset(zone: &Tz, shown: NaiveDateTime) -> Option<i64> {
    // In a gap it is what it was before: clocks were put forward by a day at most.
    [0, 3, 27].into_iter().find_map(|hours| {
        let offset =
            match zone.offset_from_local_datetime(&shown.checked_sub_signed(TimeDelta::hours(hours))?) {
                MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(_, offset) => offset,
                MappedLocalTime::None => return None,
            };
        Some(i64::from(offset.fix().local_minus_utc()))
    })
}

/// The instants at which the clocks of a zone show these dates and times.
fn instants(values: &ArrayRef, unit: TimeUnit, zone: &str, to: DataType) -> Result<ArrayRef> {
    let zone = Tz::from_str(zone)?;
    let per_second = per_second(unit);
    let units = relabelled(values, DataType::Int64)?;
    let instant = |units: i64| {
        let nanos = units.rem_euclid(per_second) * (1_000_000_000 / per_second);
        let shown = DateTime::from_timestamp(units.div_euclid(per_second), nanos as u32)?.naive_utc();
        units.checked_sub(offset(&zone, shown)? * per_second)
    };
    let made = units.as_primitive::<Int64Type>().iter().map(|units| {
        let wrong = || exec_datafusion_err!("a timestamp is too far from 1970 for AT TIME ZONE");
        units.map(|units| instant(units).ok_or_else(wrong)).transpose()
    });
    let made: ArrayRef = Arc::new(made.collect::<Result<Int64Array>>()?);
    relabelled(&made, to)
}

impl ScalarUDFImpl for AtTimeZone {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let time = match types.first() {
            Some(t @ DataType::Timestamp(..)) => t.clone(),
            Some(DataType::Date32 | DataType::Null | DataType::Utf8 | DataType::Utf8View) => {
                DataType::Timestamp(TimeUnit::Nanosecond, None)
            }
            Some(other) => return plan_err!("AT TIME ZONE takes a timestamp, and {other} is none"),
            None => return plan_err!("AT TIME ZONE takes a timestamp"),
        };
        Ok(vec![time, DataType::Utf8])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type is that of the argument's field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let data_type = match args.arg_fields[0].data_type() {
            DataType::Timestamp(unit, None) => DataType::Timestamp(*unit, Some(UTC.into())),
            DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, None),
            other => return plan_err!("AT TIME ZONE takes a timestamp, and {other} is none"),
        };
        Ok(Arc::new(Field::new(NAME, data_type, true)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (rows, to) = (args.number_rows, args.return_field.data_type().clone());
        let [value, ColumnarValue::Scalar(zone)] = args.args.as_slice() else {
            return plan_err!("the zone of AT TIME ZONE is a constant, such as 'Europe/Berlin'");
        };
        let Some(zone) = zone.try_as_str().flatten() else {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(&to)?));
        };
        let value = value.to_array(rows)?;
        let DataType::Timestamp(unit, from) = value.data_type().clone() else {
            return internal_err!("AT TIME ZONE takes a timestamp");
        };
        if from.is_none() {
            return Ok(ColumnarValue::Array(instants(&value, unit, zone, to)?));
        }
        // From label to label the instant stays.
        let in_zone = relabelled(&value, DataType::Timestamp(unit, Some(Arc::from(zone))))?;
        args.arg_fields = vec![Arc::new(Field::new("time", in_zone.data_type().clone(), true))];
        args.args = vec![ColumnarValue::Array(in_zone)];
        self.local.invoke_with_args(args)
    }
}
