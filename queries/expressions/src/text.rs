//! Casts of text that Arrow's kernels read otherwise than SQL does. They are to integers (where `'1.5'` and `'1e2'`
//! would be none) and to decimals (where `'1.5e2'` would be none). Others are to intervals (where `'100'` would be
//! months) and to times of day (where `'11'` would be one). The last are to timestamps, where `'2024-01-31 10:00'`
//! would be none, and an offset would move one that has no time zone. And to bytes, where `'\x00'` would be four.
//!
//! - [`nested`]: casts to lists, structs and maps.

pub mod nested;
mod parts;

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringArray};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use datafusion_common::{Result as DfResult, ScalarValue, exec_err, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use schema::instants::{UTC, per_second};
use schema::text::types::sql_name;
use schema::zones::Clocks;

use crate::values::blob_text::blob;
use crate::values::integer_text::{decimal, integer};
use crate::values::interval_text::interval;
use crate::values::time_text::{Timestamp, time, timestamp};

/// Whether text is cast to values of a type here.
pub fn is_read(to: &DataType) -> bool {
    match to {
        DataType::Interval(IntervalUnit::MonthDayNano)
        | DataType::Binary
        | DataType::BinaryView
        | DataType::LargeBinary
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Date32
        | DataType::Decimal128(..) => true,
        DataType::Timestamp(_, zone) => zone.as_deref().is_none_or(|zone| zone == UTC),
        other => other.is_integer(),
    }
}

/// The cast to such a type as a function of one argument. If it is `safe`, text that is no such value becomes NULL.
pub fn read(to: DataType, safe: bool) -> ReadText {
    ReadText { to, safe, signature: Signature::any(1, Volatility::Immutable) }
}

/// A type as SQL names it.
pub fn shown(data_type: &DataType) -> String {
    sql_name(data_type).unwrap_or_else(|| data_type.to_string())
}

/// The cast of text as a function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ReadText {
    to: DataType,
    /// Whether a text that is no such value is NULL.
    safe: bool,
    signature: Signature,
}

impl ReadText {
    /// The values that texts stand for. Fails at one that stands for none, unless it is safe.
    pub fn values(&self, text: &ArrayRef) -> DfResult<ArrayRef> {
        let nanos = |unit: i64| move |text: &str| time(text).map(|nanos| nanos / unit);
        let seconds = |unit: i64| move |text: &str| i32::try_from(time(text)? / unit).ok();
        Ok(match self.to {
            DataType::Int8 => self.each::<Int8Type>(text, |text| integer(text)?.signed())?,
            DataType::Int16 => self.each::<Int16Type>(text, |text| integer(text)?.signed())?,
            DataType::Int32 => self.each::<Int32Type>(text, |text| integer(text)?.signed())?,
            DataType::Int64 => self.each::<Int64Type>(text, |text| integer(text)?.signed())?,
            DataType::UInt8 => self.each::<UInt8Type>(text, |text| integer(text)?.unsigned())?,
            DataType::UInt16 => self.each::<UInt16Type>(text, |text| integer(text)?.unsigned())?,
            DataType::UInt32 => self.each::<UInt32Type>(text, |text| integer(text)?.unsigned())?,
            DataType::UInt64 => self.each::<UInt64Type>(text, |text| integer(text)?.unsigned())?,
            DataType::Decimal128(precision, scale) => {
                let units = self.each::<Decimal128Type>(text, |text| decimal(text, precision, scale))?;
                let units = units.as_primitive::<Decimal128Type>().clone();
                Arc::new(units.with_precision_and_scale(precision, scale)?)
            }
            DataType::Date32 => self.each::<Date32Type>(text, |text| self.date(text))?,
            DataType::Binary | DataType::BinaryView | DataType::LargeBinary => self.bytes(text)?,
            DataType::Interval(_) => self.each::<IntervalMonthDayNanoType>(text, interval)?,
            DataType::Time32(TimeUnit::Second) => {
                self.each::<Time32SecondType>(text, seconds(1_000_000_000))?
            }
            DataType::Time32(_) => self.each::<Time32MillisecondType>(text, seconds(1_000_000))?,
            DataType::Time64(TimeUnit::Microsecond) => {
                self.each::<Time64MicrosecondType>(text, nanos(1_000))?
            }
            DataType::Time64(_) => self.each::<Time64NanosecondType>(text, nanos(1))?,
            DataType::Timestamp(unit, ref zone) => {
                let integers =
                    self.each::<Int64Type>(text, |text| self.timestamp(text, unit, zone.is_some()))?;
                cast(&integers, &self.to)?
            }
            ref to if to.is_nested() => nested::values(text, to, self.safe)?,
            ref other => return internal_err!("text is not read as {other} here"),
        })
    }

    /// The bytes that texts stand for: letters, and `\x` with two digits for each byte that is none.
    fn bytes(&self, text: &ArrayRef) -> DfResult<ArrayRef> {
        let texts = cast(text, &DataType::Utf8View)?;
        let (mut out, mut bytes) = (BinaryBuilder::new(), Vec::new());
        let mut total = 0_usize;
        for text in texts.as_string_view() {
            bytes.clear();
            match text.map(|text| (text, blob(text, &mut bytes))) {
                None => out.append_null(),
                Some((_, true)) => {
                    total += bytes.len();
                    if i32::try_from(total).is_err() {
                        return exec_err!("a cast gives more than 2 GiB of bytes at once");
                    }
                    out.append_value(&bytes);
                }
                Some((_, false)) if self.safe => out.append_null(),
                Some((text, false)) => {
                    return exec_err!(
                        "Cannot cast string '{text}' to value of BLOB type: letters of ASCII stand for their bytes, and \\x00 to \\xFF for others"
                    );
                }
            }
        }
        Ok(cast(&(Arc::new(out.finish()) as ArrayRef), &self.to)?)
    }

    /// The days of a date, behind which a time of day may stand. What is written otherwise Arrow may know.
    fn date(&self, text: &str) -> Option<i32> {
        match timestamp(text) {
            Some(written) => i32::try_from(written.seconds.div_euclid(86_400)).ok(),
            None => {
                let one: ArrayRef = Arc::new(StringArray::from(vec![text]));
                cast(&one, &self.to).ok()?.as_primitive::<Date32Type>().iter().next()?
            }
        }
    }

    /// A timestamp in its unit. Without a zone the offset says nothing. What is written otherwise Arrow may know.
    fn timestamp(&self, text: &str, unit: TimeUnit, zoned: bool) -> Option<i64> {
        let written = timestamp(text).or_else(|| match text.trim_ascii().rsplit_once(' ') {
            // Without a zone in its type it says nothing. Behind an offset or a date it is none.
            Some((text, zone)) => Clocks::of(zone).and_then(|clocks| {
                let written = timestamp(text)?;
                let is_said = !zoned || written.offset.is_none() && text.contains(':');
                let offset = clocks.offset_shown(written.seconds).filter(|_| is_said)?;
                Some(Timestamp { offset: Some(offset), ..written })
            }),
            None => None,
        });
        let Some(written) = written else {
            let one: ArrayRef = Arc::new(StringArray::from(vec![text]));
            let value = cast(&cast(&one, &self.to).ok()?, &DataType::Int64).ok()?;
            return value.as_primitive::<Int64Type>().iter().next()?;
        };
        let seconds = written.seconds - if zoned { written.offset.unwrap_or(0) } else { 0 };
        let nanos = i128::from(seconds) * 1_000_000_000 + i128::from(written.nanos);
        let unit = 1_000_000_000 / i128::from(per_second(unit));
        // Rounded, halves away from 1970, as DuckDB has it.
        i64::try_from((nanos + nanos.signum() * (unit / 2)) / unit).ok()
    }

    fn each<T: ArrowPrimitiveType>(
        &self,
        text: &ArrayRef,
        parse: impl Fn(&str) -> Option<T::Native>,
    ) -> DfResult<ArrayRef> {
        let one = |text: Option<&str>| match text.map(|text| (text, parse(text))) {
            None => Ok(None),
            Some((text, None)) if !self.safe => {
                let to = shown(&self.to);
                Err(ArrowError::CastError(format!("Cannot cast string '{text}' to value of {to} type")))
            }
            Some((_, value)) => Ok(value),
        };
        let values = match text.data_type() {
            DataType::Utf8 => {
                text.as_string::<i32>().iter().map(one).collect::<Result<PrimitiveArray<T>, ArrowError>>()?
            }
            DataType::LargeUtf8 => {
                text.as_string::<i64>().iter().map(one).collect::<Result<_, ArrowError>>()?
            }
            DataType::Utf8View => text.as_string_view().iter().map(one).collect::<Result<_, ArrowError>>()?,
            other => return internal_err!("{other} is no text"),
        };
        Ok(Arc::new(values))
    }
}

impl ScalarUDFImpl for ReadText {
    fn name(&self) -> &str {
        if self.safe { "try_read_text" } else { "read_text" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> DfResult<FieldRef> {
        let nullable = self.safe || args.arg_fields[0].is_nullable();
        Ok(Arc::new(Field::new(args.arg_fields[0].name(), self.to.clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(text) => Ok(ColumnarValue::Array(self.values(text)?)),
            ColumnarValue::Scalar(text) => {
                let value = self.values(&text.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?))
            }
        }
    }
}
