//! The arguments of a call as columns of a type, of which a constant is one value for all rows. And columns of results,
//! made row by row.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, PrimitiveArray, StringViewArray,
};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion_expr::ColumnarValue;
use schema::durations::to_intervals;
use schema::instants::per_second;

/// Nanoseconds of a day.
pub const DAY: i64 = 86_400_000_000_000;

/// A value that is known, or a result of NULL.
macro_rules! known {
    ($value:expr) => {
        match $value {
            Some(value) => value,
            None => return Ok(None),
        }
    };
}
pub(crate) use known;

/// A call over the rows of a batch.
pub struct Call<'a> {
    /// The function.
    pub name: &'static str,
    /// The rows of the batch.
    pub rows: usize,
    /// The type of the result.
    pub gives: DataType,
    args: &'a [ColumnarValue],
}

impl<'a> Call<'a> {
    /// A call of a function.
    pub fn new(name: &'static str, args: &'a [ColumnarValue], rows: usize, gives: DataType) -> Call<'a> {
        Call { name, rows, gives, args }
    }

    /// The number of arguments.
    pub fn given(&self) -> usize {
        self.args.len()
    }

    /// The argument at a place, and whether it is one value for all rows.
    pub fn array(&self, at: usize) -> Result<(ArrayRef, bool)> {
        match self.args.get(at) {
            Some(ColumnarValue::Array(array)) => Ok((array.clone(), false)),
            Some(ColumnarValue::Scalar(value)) => Ok((value.to_array()?, true)),
            None => exec_err!("{}() has no argument {}", self.name, at + 1),
        }
    }

    /// The type of an argument.
    pub fn type_of(&self, at: usize) -> DataType {
        self.args.get(at).map_or(DataType::Null, ColumnarValue::data_type)
    }

    /// The value of an argument that is a constant.
    pub fn constant(&self, at: usize) -> Option<&'a ScalarValue> {
        match self.args.get(at) {
            Some(ColumnarValue::Scalar(value)) => Some(value),
            _ => None,
        }
    }

    /// An argument that is text.
    pub fn text(&self, at: usize) -> Result<Texts> {
        let (array, one) = self.array(at)?;
        Ok(Texts { array: cast(&array, &DataType::Utf8View)?.as_string_view().clone(), one })
    }

    /// An argument that is bytes.
    pub fn bytes(&self, at: usize) -> Result<Bytes> {
        let (array, one) = self.array(at)?;
        let array = match array.data_type() {
            DataType::Utf8View | DataType::LargeUtf8 => cast(&array, &DataType::Utf8)?,
            _ => array,
        };
        Ok(Bytes { array: cast(&array, &DataType::Binary)?.as_binary::<i32>().clone(), one })
    }

    /// An argument of a type of numbers.
    pub fn numbers<T: ArrowPrimitiveType>(&self, at: usize) -> Result<Numbers<T>> {
        let (array, one) = self.array(at)?;
        Ok(Numbers { array: cast(&array, &T::DATA_TYPE)?.as_primitive::<T>().clone(), one })
    }

    /// An argument of integers.
    pub fn integers(&self, at: usize) -> Result<Numbers<Int64Type>> {
        self.numbers(at)
    }

    /// An argument of integers in 128 bits.
    pub fn large_integers(&self, at: usize) -> Result<Numbers<Decimal128Type>> {
        let (array, one) = self.array(at)?;
        Ok(Numbers { array: array.as_primitive::<Decimal128Type>().clone(), one })
    }

    /// An argument of conditions.
    pub fn booleans(&self, at: usize) -> Result<Booleans> {
        let (array, one) = self.array(at)?;
        Ok(Booleans { array: cast(&array, &DataType::Boolean)?.as_boolean().clone(), one })
    }

    /// An argument of intervals.
    pub fn intervals(&self, at: usize) -> Result<Numbers<IntervalMonthDayNanoType>> {
        let (array, one) = self.array(at)?;
        let array = to_intervals(&array);
        Ok(Numbers { array: array.as_primitive::<IntervalMonthDayNanoType>().clone(), one })
    }

    /// An argument of dates or timestamps.
    pub fn instants(&self, at: usize) -> Result<Instants> {
        let (array, one) = self.array(at)?;
        let unit = match array.data_type() {
            DataType::Date32 => None,
            DataType::Timestamp(unit, _) => Some(*unit),
            other => return exec_err!("{}() takes dates and timestamps, and no {other}", self.name),
        };
        let array = match unit {
            // A date becomes a number through the one of its own width.
            None => cast(&cast(&array, &DataType::Int32)?, &DataType::Int64)?,
            Some(_) => cast(&array, &DataType::Int64)?,
        };
        Ok(Instants { array: array.as_primitive::<Int64Type>().clone(), unit, one })
    }

    /// A column of text: `each` writes the text of a row, and gives whether there is one.
    pub fn give_text(&self, mut each: impl FnMut(usize, &mut String) -> Result<bool>) -> Result<ArrayRef> {
        let mut out = StringViewBuilder::with_capacity(self.rows);
        let mut text = String::new();
        for row in 0..self.rows {
            text.clear();
            match each(row, &mut text)? {
                true => out.try_append_value(&text)?,
                false => out.append_null(),
            }
        }
        Ok(Arc::new(out.finish()))
    }

    /// A column of bytes: `each` writes the bytes of a row, and gives whether there are any.
    pub fn give_bytes(&self, mut each: impl FnMut(usize, &mut Vec<u8>) -> Result<bool>) -> Result<ArrayRef> {
        let mut out = BinaryBuilder::new();
        let mut bytes = Vec::new();
        let mut total = 0_usize;
        for row in 0..self.rows {
            bytes.clear();
            match each(row, &mut bytes)? {
                true => {
                    total += bytes.len();
                    if i32::try_from(total).is_err() {
                        return exec_err!("{}() gives more than 2 GiB of bytes at once", self.name);
                    }
                    out.append_value(&bytes);
                }
                false => out.append_null(),
            }
        }
        Ok(Arc::new(out.finish()))
    }

    /// A column of numbers of a type.
    pub fn give<T: ArrowPrimitiveType>(
        &self,
        mut each: impl FnMut(usize) -> Result<Option<T::Native>>,
    ) -> Result<ArrayRef> {
        let mut out = PrimitiveBuilder::<T>::with_capacity(self.rows);
        for row in 0..self.rows {
            out.append_option(each(row)?);
        }
        Ok(Arc::new(out.finish()))
    }

    /// A column of integers.
    pub fn give_integers(&self, each: impl FnMut(usize) -> Result<Option<i64>>) -> Result<ArrayRef> {
        self.give::<Int64Type>(each)
    }

    /// A column of conditions.
    pub fn give_booleans(&self, mut each: impl FnMut(usize) -> Result<Option<bool>>) -> Result<ArrayRef> {
        let mut out = BooleanBuilder::with_capacity(self.rows);
        for row in 0..self.rows {
            out.append_option(each(row)?);
        }
        Ok(Arc::new(out.finish()))
    }

    /// A column of dates or timestamps of the type of the result, from days since 1970 and nanoseconds of the day.
    ///
    /// # Errors
    /// One is out of range.
    pub fn give_instants(
        &self,
        mut each: impl FnMut(usize) -> Result<Option<(i64, i64)>>,
    ) -> Result<ArrayRef> {
        let beyond = || exec_datafusion_err!("the result of {}() is out of range", self.name);
        let (unit, zone) = match &self.gives {
            DataType::Timestamp(unit, zone) => (*unit, zone.clone()),
            _ => {
                return self.give::<Date32Type>(|row| {
                    let day = known!(each(row)?).0;
                    Ok(Some(i32::try_from(day).map_err(|_| beyond())?))
                });
            }
        };
        let counts = |row: usize, each: &mut dyn FnMut(usize) -> Result<Option<(i64, i64)>>| {
            let (day, nanos) = known!(each(row)?);
            let per_nano = per_nanosecond(unit);
            let count = i128::from(day) * i128::from(DAY / per_nano) + i128::from(nanos.div_euclid(per_nano));
            Ok(Some(i64::try_from(count).map_err(|_| beyond())?))
        };
        let array: ArrayRef = match unit {
            TimeUnit::Second => self.give::<TimestampSecondType>(|row| counts(row, &mut each))?,
            TimeUnit::Millisecond => self.give::<TimestampMillisecondType>(|row| counts(row, &mut each))?,
            TimeUnit::Microsecond => self.give::<TimestampMicrosecondType>(|row| counts(row, &mut each))?,
            TimeUnit::Nanosecond => self.give::<TimestampNanosecondType>(|row| counts(row, &mut each))?,
        };
        Ok(cast(&array, &DataType::Timestamp(unit, zone))?)
    }

    /// A column of intervals.
    pub fn give_intervals(
        &self,
        each: impl FnMut(usize) -> Result<Option<IntervalMonthDayNano>>,
    ) -> Result<ArrayRef> {
        self.give::<IntervalMonthDayNanoType>(each)
    }
}

/// Nanoseconds of a unit.
fn per_nanosecond(unit: TimeUnit) -> i64 {
    1_000_000_000 / per_second(unit)
}

/// An argument of text.
pub struct Texts {
    array: StringViewArray,
    one: bool,
}

impl Texts {
    /// Those of a column.
    pub fn of(column: &StringViewArray) -> Texts {
        Texts { array: column.clone(), one: false }
    }

    /// The text of a row.
    pub fn get(&self, row: usize) -> Option<&str> {
        let row = if self.one { 0 } else { row };
        self.array.is_valid(row).then(|| self.array.value(row))
    }
}

/// An argument of bytes.
pub struct Bytes {
    array: BinaryArray,
    one: bool,
}

impl Bytes {
    /// The bytes of a row.
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let row = if self.one { 0 } else { row };
        self.array.is_valid(row).then(|| self.array.value(row))
    }
}

/// An argument of numbers.
pub struct Numbers<T: ArrowPrimitiveType> {
    array: PrimitiveArray<T>,
    one: bool,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    /// The number of a row.
    pub fn get(&self, row: usize) -> Option<T::Native> {
        let row = if self.one { 0 } else { row };
        self.array.is_valid(row).then(|| self.array.value(row))
    }
}

/// An argument of conditions.
pub struct Booleans {
    array: BooleanArray,
    one: bool,
}

impl Booleans {
    /// The condition of a row.
    pub fn get(&self, row: usize) -> Option<bool> {
        let row = if self.one { 0 } else { row };
        self.array.is_valid(row).then(|| self.array.value(row))
    }
}

/// An argument of dates, or of timestamps of a unit.
pub struct Instants {
    array: PrimitiveArray<Int64Type>,
    unit: Option<TimeUnit>,
    one: bool,
}

impl Instants {
    /// The days since 1970 and the nanoseconds of the day of a row.
    pub fn get(&self, row: usize) -> Option<(i64, i64)> {
        let row = if self.one { 0 } else { row };
        if !self.array.is_valid(row) {
            return None;
        }
        let value = self.array.value(row);
        Some(match self.unit {
            None => (value, 0),
            Some(unit) => {
                let nanos = per_nanosecond(unit);
                let day = DAY / nanos;
                (value.div_euclid(day), value.rem_euclid(day) * nanos)
            }
        })
    }
}
