//! Casts to text of values that Arrow's kernels write otherwise than SQL does: timestamps, dates, times of
//! day, intervals, floats and bytes.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int64Type, IntervalMonthDayNanoType, Time64NanosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use schema::durations::push_interval;
use schema::instants::{UTC, per_second};

use crate::values::blob_text::push_blob;
use crate::values::printed;

/// Whether values of a type are cast to text here.
pub fn is_printed(from: &DataType) -> bool {
    match from {
        DataType::Timestamp(_, zone) => zone.as_deref().is_none_or(|zone| zone == UTC),
        DataType::Interval(IntervalUnit::MonthDayNano) | DataType::Float32 | DataType::Float64 => true,
        DataType::Date32 | DataType::Time32(_) | DataType::Time64(_) => true,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            true
        }
        _ => false,
    }
}

/// The cast to a type of text as a function of one argument.
pub fn to(to: DataType) -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(PrintText { to, signature }))
}

/// The cast to text as a function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PrintText {
    to: DataType,
    signature: Signature,
}

impl PrintText {
    fn texts(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let texts: ArrayRef = match values.data_type() {
            DataType::Timestamp(unit, zone) => {
                let per_second = per_second(*unit);
                let integers = cast(values, &DataType::Int64)?;
                let is_instant = zone.is_some();
                each::<Int64Type>(&integers, |value, out| {
                    printed::timestamp(value, per_second, is_instant, out);
                })
            }
            DataType::Date32 => each::<Date32Type>(values, |days, out| printed::date(days.into(), "", out)),
            DataType::Time32(_) | DataType::Time64(_) => {
                let nanos = cast(values, &DataType::Time64(TimeUnit::Nanosecond))?;
                each::<Time64NanosecondType>(&nanos, printed::time)
            }
            DataType::Interval(_) => each::<IntervalMonthDayNanoType>(values, push_interval),
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => blobs(values)?,
            DataType::Float32 => each::<Float32Type>(values, |value, out| {
                printed::float(value.into(), &format!("{value:e}"), out);
            }),
            DataType::Float64 => each::<Float64Type>(values, |value, out| {
                printed::float(value, &format!("{value:e}"), out);
            }),
            other => return internal_err!("{other} is not cast to text here"),
        };
        Ok(if self.to == DataType::Utf8View { texts } else { cast(&texts, &self.to)? })
    }
}

/// The text of bytes.
fn blobs(values: &ArrayRef) -> Result<ArrayRef> {
    let values = cast(values, &DataType::BinaryView)?;
    let (mut texts, mut text) = (StringViewBuilder::with_capacity(values.len()), String::new());
    for bytes in values.as_binary_view() {
        text.clear();
        bytes.inspect(|bytes| push_blob(bytes, &mut text));
        texts.append_option(bytes.map(|_| &text));
    }
    Ok(Arc::new(texts.finish()))
}

/// The text of each value.
fn each<T: ArrowPrimitiveType>(values: &ArrayRef, print: impl Fn(T::Native, &mut String)) -> ArrayRef {
    let values = values.as_primitive::<T>();
    let (mut texts, mut text) = (StringViewBuilder::with_capacity(values.len()), String::new());
    for value in values {
        match value {
            None => texts.append_null(),
            Some(value) => {
                text.clear();
                print(value, &mut text);
                texts.append_value(&text);
            }
        }
    }
    Arc::new(texts.finish())
}

impl ScalarUDFImpl for PrintText {
    fn name(&self) -> &str {
        "print_text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.to.clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(values) => Ok(ColumnarValue::Array(self.texts(values)?)),
            ColumnarValue::Scalar(value) => {
                let text = self.texts(&value.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&text, 0)?))
            }
        }
    }
}
