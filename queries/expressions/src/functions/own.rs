//! Scalar functions that DataFusion has not, or has otherwise. A function is an [`Own`] in a list. That has its name,
//! the arguments that it takes, the type that it gives, and what computes it over the columns of a batch.
//!
//! - [`arguments`]: arguments by their types; results by rows.
//! - [`numbers`]: functions of numbers.
//! - [`texts`], [`graphemes`], [`normalization`], [`similar`], [`paths`]: functions of text.
//! - [`regular`]: regular expressions.
//! - [`bytes`]: bytes as text and back, their digests, and sizes of things; [`hashes`]: hashes of any values.
//! - [`uuids`]: casts to UUIDs.
//! - [`printing`]: `format` and `printf`.
//! - [`calendar`], [`differences`], [`made`], [`buckets`]: dates and times.
//! - [`time_formats`]: `strftime` and `strptime`.

pub mod arguments;
mod buckets;
pub mod bytes;
mod calendar;
mod differences;
mod graphemes;
mod hashes;
mod made;
mod normalization;
mod numbers;
pub(super) mod paths;
mod printing;
pub(super) mod regular;
mod similar;
mod texts;
mod time_formats;
pub mod uuids;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use schema::instants::UTC;

use arguments::Call;

/// What an argument may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Text; numbers, dates and the like as their text.
    Text,
    /// Text, and nothing else.
    OnlyText,
    /// Bytes.
    Bytes,
    /// An integer, in 64 bits.
    Integer,
    /// An integer in its own width.
    AnyInteger,
    /// A number as a `DOUBLE`.
    Double,
    /// A `FLOAT`.
    Float,
    /// A condition.
    Boolean,
    /// A date, or a timestamp in its own unit, with a time zone or without one.
    Instant,
    /// A time of day, in nanoseconds.
    Time,
    /// An interval, and the difference of two timestamps.
    Interval,
    /// What `format` and `printf` print: numbers and conditions, and all else as text.
    Printed,
    /// A value of any type, as it is.
    Any,
}

impl Takes {
    /// The type in which an argument of a type is taken.
    fn of(self, given: &DataType) -> Option<DataType> {
        let is_text = matches!(given, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let taken = match self {
            Takes::Text => (!given.is_nested()).then_some(DataType::Utf8View),
            Takes::OnlyText => is_text.then_some(DataType::Utf8View),
            Takes::Bytes => matches!(given, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
                .then_some(DataType::Binary),
            Takes::Integer => given.is_integer().then_some(DataType::Int64),
            Takes::AnyInteger => given.is_integer().then(|| given.clone()),
            Takes::Double => given.is_numeric().then_some(DataType::Float64),
            Takes::Float => (given == &DataType::Float32).then_some(DataType::Float32),
            Takes::Boolean => (given == &DataType::Boolean).then_some(DataType::Boolean),
            Takes::Instant => {
                matches!(given, DataType::Date32 | DataType::Timestamp(..)).then(|| given.clone())
            }
            Takes::Time => matches!(given, DataType::Time32(_) | DataType::Time64(_))
                .then_some(DataType::Time64(TimeUnit::Nanosecond)),
            Takes::Interval => match given {
                DataType::Interval(_) => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
                DataType::Duration(_) => Some(given.clone()),
                _ => None,
            },
            Takes::Any => Some(given.clone()),
            Takes::Printed => match given {
                // The decimals are HUGEINT, or a number of as many digits.
                DataType::Boolean | DataType::UInt64 | DataType::Decimal128(19.., 0) => Some(given.clone()),
                given if given.is_integer() => Some(DataType::Int64),
                given if given.is_numeric() => Some(DataType::Float64),
                _ => Takes::Text.of(given),
            },
        };
        taken.or_else(|| given.is_null().then(|| self.of_null()))
    }

    /// The type in which NULL is taken.
    fn of_null(self) -> DataType {
        match self {
            Takes::Text | Takes::OnlyText | Takes::Printed => DataType::Utf8View,
            Takes::Bytes => DataType::Binary,
            Takes::Integer | Takes::AnyInteger => DataType::Int64,
            Takes::Double => DataType::Float64,
            Takes::Float => DataType::Float32,
            Takes::Boolean => DataType::Boolean,
            Takes::Instant => DataType::Timestamp(TimeUnit::Nanosecond, None),
            Takes::Time => DataType::Time64(TimeUnit::Nanosecond),
            Takes::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            Takes::Any => DataType::Null,
        }
    }

    /// What a user reads of it.
    pub fn shown(self) -> &'static str {
        match self {
            Takes::Text | Takes::OnlyText => "VARCHAR",
            Takes::Bytes => "BLOB",
            Takes::Integer | Takes::AnyInteger => "BIGINT",
            Takes::Double => "DOUBLE",
            Takes::Float => "FLOAT",
            Takes::Boolean => "BOOLEAN",
            Takes::Instant => "TIMESTAMP",
            Takes::Time => "TIME",
            Takes::Interval => "INTERVAL",
            Takes::Printed | Takes::Any => "value",
        }
    }
}

/// The type of a result.
#[derive(Debug, Clone, Copy)]
pub enum ResultType {
    /// `VARCHAR`.
    Text,
    /// `BLOB`.
    Bytes,
    /// `BIGINT`.
    Integer,
    /// `UBIGINT`.
    Unsigned,
    /// `DOUBLE`.
    Double,
    /// `BOOLEAN`.
    Boolean,
    /// `DATE`.
    Date,
    /// `TIMESTAMP`.
    Timestamp,
    /// `TIMESTAMP WITH TIME ZONE`.
    Instant,
    /// `TIME`.
    Time,
    /// `INTERVAL`.
    Interval,
    /// The type of the argument at this place.
    Argument(usize),
    /// Of the types of the arguments.
    Types(fn(&[DataType]) -> DataType),
    /// Of the constants among the arguments.
    Constants(fn(&[Option<&ScalarValue>]) -> DataType),
}

impl ResultType {
    fn of(self, given: &[DataType], constants: &[Option<&ScalarValue>]) -> DataType {
        match self {
            ResultType::Text => DataType::Utf8View,
            ResultType::Bytes => DataType::Binary,
            ResultType::Integer => DataType::Int64,
            ResultType::Unsigned => DataType::UInt64,
            ResultType::Double => DataType::Float64,
            ResultType::Boolean => DataType::Boolean,
            ResultType::Date => DataType::Date32,
            ResultType::Timestamp => DataType::Timestamp(TimeUnit::Nanosecond, None),
            ResultType::Instant => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
            ResultType::Time => DataType::Time64(TimeUnit::Nanosecond),
            ResultType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            ResultType::Argument(at) => given.get(at).cloned().unwrap_or(DataType::Null),
            ResultType::Types(of) => of(given),
            ResultType::Constants(of) => of(constants),
        }
    }
}

/// A scalar function of palais' own.
pub struct Own {
    /// Its name, in lower case.
    pub name: &'static str,
    /// The lists of arguments that it takes; the first one that fits is taken.
    pub takes: &'static [&'static [Takes]],
    /// What may follow the last argument, any number of times.
    pub more: Option<Takes>,
    /// The type of its result.
    pub gives: ResultType,
    /// Whether it gives a value for any arguments.
    pub total: bool,
    /// Computes the column of results.
    pub compute: fn(&Call) -> Result<ArrayRef>,
}

impl Own {
    /// The lists of its arguments, as a user reads them.
    pub fn shown(&self) -> Vec<Vec<String>> {
        let lists = self.takes.iter().map(|takes| {
            let names = takes.iter().map(|takes| takes.shown().to_string());
            names.chain(self.more.map(|_| "…".to_string())).collect()
        });
        lists.collect()
    }
}

/// The function of a name, in lower case.
pub fn find(name: &str) -> Option<&'static Own> {
    lists().find(|own| own.name == name)
}

/// The names of all functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    lists().map(|own| own.name)
}

/// The functions of all modules.
pub fn all() -> impl Iterator<Item = Arc<ScalarUDF>> {
    lists().map(|own| Arc::new(ScalarUDF::new_from_impl(OwnFunction::new(own))))
}

fn lists() -> impl Iterator<Item = &'static Own> {
    let lists: [&'static [Own]; 16] = [
        buckets::FUNCTIONS,
        bytes::FUNCTIONS,
        calendar::FUNCTIONS,
        differences::FUNCTIONS,
        graphemes::FUNCTIONS,
        hashes::FUNCTIONS,
        normalization::FUNCTIONS,
        printing::FUNCTIONS,
        made::FUNCTIONS,
        numbers::FUNCTIONS,
        paths::FUNCTIONS,
        regular::FUNCTIONS,
        similar::FUNCTIONS,
        time_formats::FUNCTIONS,
        texts::FUNCTIONS,
        uuids::FUNCTIONS,
    ];
    lists.into_iter().flatten()
}

/// A function as DataFusion knows one.
pub struct OwnFunction {
    own: &'static Own,
    signature: Signature,
}

impl OwnFunction {
    fn new(own: &'static Own) -> OwnFunction {
        OwnFunction { own, signature: Signature::user_defined(Volatility::Immutable) }
    }

    /// The types in which arguments are taken.
    fn taken(&self, given: &[DataType]) -> Option<Vec<DataType>> {
        self.own.takes.iter().find_map(|takes| {
            let more = given.len().checked_sub(takes.len())?;
            if more > 0 && self.own.more.is_none() {
                return None;
            }
            let takes = takes.iter().copied().chain(self.own.more.into_iter().cycle().take(more));
            takes.zip(given).map(|(takes, given)| takes.of(given)).collect()
        })
    }
}

impl std::fmt::Debug for OwnFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.own.name)
    }
}

impl PartialEq for OwnFunction {
    fn eq(&self, other: &Self) -> bool {
        self.own.name == other.own.name
    }
}

impl Eq for OwnFunction {}

impl Hash for OwnFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.own.name.hash(state);
    }
}

impl ScalarUDFImpl for OwnFunction {
    fn name(&self) -> &str {
        self.own.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match self.taken(types) {
            Some(taken) => Ok(taken),
            None => plan_err!("{}() takes no such arguments", self.own.name),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(self.own.gives.of(types, &vec![None; types.len()]))
    }

    fn return_field_from_args(
        &self,
        args: datafusion_expr::ReturnFieldArgs,
    ) -> Result<arrow_schema::FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let gives = self.own.gives.of(&types, args.scalar_arguments);
        Ok(Arc::new(arrow_schema::Field::new(self.own.name, gives, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant =
            !args.args.is_empty() && args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let result = args.return_field.data_type().clone();
        let computed = (self.own.compute)(&Call::new(self.own.name, &args.args, rows, result))?;
        Ok(match constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&computed, 0)?),
            false => ColumnarValue::Array(computed),
        })
    }
}
