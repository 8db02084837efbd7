//! `x AT TIME ZONE 'zone'`: an instant to the date and time that a clock in the zone shows, and such a date and time to
//! the instant. The planner's cast changes the label of an instant alone. Of hours that are shown twice or never
//! [`schema::zones`] tells what is meant.
//!
//! - [`session`]: what else the time zone of a session needs.

pub mod session;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, exec_err, internal_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use schema::instants::{UTC, per_second};
use schema::zones::Clocks;

/// Its name, which nobody types: AT TIME ZONE becomes a call of it.
pub const NAME: &str = "at_time_zone";

/// The function.
pub fn at_time_zone() -> Arc<ScalarUDF> {
    function(false)
}

/// The function. If it is `safe`, a date and time beyond all instants is NULL, and no error.
pub fn function(safe: bool) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(AtTimeZone {
        safe,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

/// The clocks of a zone.
fn clocks(zone: &str) -> Result<Clocks> {
    match Clocks::of(zone) {
        Some(clocks) => Ok(clocks),
        None => exec_err!("there is no time zone '{zone}'"),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AtTimeZone {
    /// Whether what is out of range is NULL.
    safe: bool,
    signature: Signature,
}

fn relabelled(values: &ArrayRef, to: DataType) -> Result<ArrayRef> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(values, &to, &strict)?)
}

/// The instants at which the clocks of a zone show these dates and times, or what they show at these instants. If it is
/// `safe`, what is out of range is NULL.
fn moved(values: &ArrayRef, zone: &str, to: DataType, safe: bool) -> Result<ArrayRef> {
    let clocks = clocks(zone)?;
    let DataType::Timestamp(unit, from) = values.data_type() else {
        return internal_err!("AT TIME ZONE takes a timestamp");
    };
    let per_second = per_second(*unit);
    let units = relabelled(values, DataType::Int64)?;
    let instant = |units: i64| {
        let seconds = units.div_euclid(per_second);
        match from {
            None => units.checked_sub(clocks.offset_shown(seconds)?.checked_mul(per_second)?),
            Some(_) => units.checked_add(clocks.offset_at(seconds)?.checked_mul(per_second)?),
        }
    };
    let made = units.as_primitive::<Int64Type>().iter().map(|units| match units.map(instant) {
        Some(None) if !safe => Err(exec_datafusion_err!("a timestamp is too far from 1970 for AT TIME ZONE")),
        made => Ok(made.flatten()),
    });
    let made: ArrayRef = Arc::new(made.collect::<Result<Int64Array>>()?);
    relabelled(&made, to)
}

impl ScalarUDFImpl for AtTimeZone {
    fn name(&self) -> &str {
        if self.safe { "try_at_time_zone" } else { NAME }
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

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (rows, to) = (args.number_rows, args.return_field.data_type().clone());
        let [value, ColumnarValue::Scalar(zone)] = args.args.as_slice() else {
            return plan_err!("the zone of AT TIME ZONE is a constant, such as 'Europe/Berlin'");
        };
        let Some(zone) = zone.try_as_str().flatten() else {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(&to)?));
        };
        let value = value.to_array(rows)?;
        Ok(ColumnarValue::Array(moved(&value, zone, to, self.safe)?))
    }
}
