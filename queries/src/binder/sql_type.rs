//! The names of types.

use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};
use schema::instants::UTC;
use sqlparser::ast::{DataType as Sql, ExactNumberInfo, TimezoneInfo};

use crate::error::{Error, Result};
use crate::meant;

/// The most digits of a decimal.
const DIGITS: u64 = 38;

/// The type of a name.
///
/// # Errors
/// It is not supported.
pub fn arrow_type(sql: &Sql) -> Result<DataType> {
    Ok(match sql {
        Sql::Boolean | Sql::Bool => DataType::Boolean,
        Sql::TinyInt(_) => DataType::Int8,
        Sql::SmallInt(_) | Sql::Int2(_) => DataType::Int16,
        Sql::Int(_) | Sql::Integer(_) | Sql::Int4(_) => DataType::Int32,
        Sql::BigInt(_) | Sql::Int8(_) => DataType::Int64,
        Sql::TinyIntUnsigned(_) => DataType::UInt8,
        Sql::SmallIntUnsigned(_) | Sql::Int2Unsigned(_) => DataType::UInt16,
        Sql::IntUnsigned(_) | Sql::IntegerUnsigned(_) | Sql::Int4Unsigned(_) => DataType::UInt32,
        Sql::BigIntUnsigned(_) | Sql::Int8Unsigned(_) => DataType::UInt64,
        Sql::Float(_) | Sql::Real | Sql::Float4 => DataType::Float32,
        Sql::Double(ExactNumberInfo::None) | Sql::DoublePrecision | Sql::Float8 => DataType::Float64,
        Sql::Varchar(_) | Sql::Char(_) | Sql::Text | Sql::String(_) => DataType::Utf8View,
        Sql::Bytea | Sql::Blob(_) => DataType::Binary,
        Sql::Date => DataType::Date32,
        Sql::Time(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            DataType::Time64(TimeUnit::Nanosecond)
        }
        Sql::Timestamp(digits, zone) => {
            let unit = match digits {
                Some(0) => TimeUnit::Second,
                Some(3) => TimeUnit::Millisecond,
                Some(6) => TimeUnit::Microsecond,
                None | Some(9) => TimeUnit::Nanosecond,
                Some(_) => return Err(unsupported(sql)),
            };
            let zoned = matches!(zone, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone);
            DataType::Timestamp(unit, zoned.then(|| UTC.into()))
        }
        Sql::Interval { fields: None, precision: None } => DataType::Interval(IntervalUnit::MonthDayNano),
        Sql::Numeric(info) | Sql::Decimal(info) => decimal(*info)?,
        Sql::Struct(fields, _) => {
            let fields = fields.iter().enumerate().map(|(i, field)| {
                let name =
                    field.field_name.as_ref().map_or_else(|| format!("c{i}"), |name| name.value.clone());
                Ok(Field::new(name, arrow_type(&field.field_type)?, true))
            });
            DataType::Struct(fields.collect::<Result<Fields>>()?)
        }
        other => return Err(unsupported(other)),
    })
}

/// The type of a name in an expression, for whose place there is but the expression.
///
/// # Errors
/// It is not supported.
pub fn written(sql: &Sql) -> Result<DataType> {
    let name = sql.to_string();
    let word = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(&name);
    arrow_type(sql).map_err(|error| error.at_word(word))
}

fn unsupported(sql: &Sql) -> Error {
    let name = sql.to_string();
    let bare = name.split('(').next().unwrap_or(&name).trim();
    let help = meant::data_type(bare).map(|help| format!("\n  help: {help}")).unwrap_or_default();
    Error::Unsupported(format!("the type {name}{help}"))
}

/// `DECIMAL` has 38 digits, 10 of them behind the point.
fn decimal(info: ExactNumberInfo) -> Result<DataType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(DataType::Decimal128(38, 10)),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let wrong =
        || Error::Invalid("a DECIMAL has 1 to 38 digits, and not more than that behind the point".into());
    if !(1..=DIGITS).contains(&precision) {
        return Err(wrong());
    }
    let (Ok(precision), Ok(scale)) = (u8::try_from(precision), i8::try_from(scale)) else {
        return Err(wrong());
    };
    if scale < 0 || scale.unsigned_abs() > precision {
        return Err(wrong());
    }
    Ok(DataType::Decimal128(precision, scale))
}
