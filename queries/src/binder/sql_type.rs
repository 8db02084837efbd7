//! The names of types.

use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};
use expressions::functions::json::Holds;
use expressions::functions::lists::list_of;
use expressions::functions::lists::maps::map_of;
use schema::instants::UTC;
use sqlparser::ast::{ArrayElemTypeDef, DataType as Sql, ExactNumberInfo, TimezoneInfo};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::dialect::Palais;
use crate::error::{Error, Result};
use crate::meant;
use crate::types::structs;

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
        Sql::SmallInt(_) | Sql::Int2(_) | Sql::Int16 => DataType::Int16,
        Sql::Int(_) | Sql::Integer(_) | Sql::Int4(_) | Sql::Int32 | Sql::Signed => DataType::Int32,
        // Of eight bytes, where those of unsigned integers have so many bits.
        Sql::BigInt(_) | Sql::Int8(_) | Sql::Int64 => DataType::Int64,
        Sql::TinyIntUnsigned(_) | Sql::UTinyInt | Sql::UInt8 => DataType::UInt8,
        Sql::SmallIntUnsigned(_) | Sql::Int2Unsigned(_) | Sql::USmallInt | Sql::UInt16 => DataType::UInt16,
        Sql::IntUnsigned(_) | Sql::IntegerUnsigned(_) | Sql::Int4Unsigned(_) | Sql::UInt32 => {
            DataType::UInt32
        }
        Sql::BigIntUnsigned(_) | Sql::Int8Unsigned(_) | Sql::UBigInt | Sql::UInt64 => DataType::UInt64,
        Sql::Float(_) | Sql::Real | Sql::Float4 => DataType::Float32,
        Sql::Double(ExactNumberInfo::None) | Sql::DoublePrecision | Sql::Float8 => DataType::Float64,
        Sql::Varchar(_)
        | Sql::Char(_)
        | Sql::Character(_)
        | Sql::CharacterVarying(_)
        | Sql::Nvarchar(_)
        | Sql::Text
        | Sql::String(_)
        // JSON is text: see `holds`.
        | Sql::JSON => DataType::Utf8View,
        Sql::Bytea | Sql::Blob(_) | Sql::Binary(_) | Sql::Varbinary(_) => DataType::Binary,
        Sql::Datetime(None) => DataType::Timestamp(TimeUnit::Nanosecond, None),
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
        Sql::Numeric(info) | Sql::Decimal(info) | Sql::Dec(info) => decimal(*info)?,
        // An integer of 128 bits has 39 digits, the last of which is for a few values alone.
        Sql::HugeInt => DataType::Decimal128(38, 0),
        Sql::Array(ArrayElemTypeDef::SquareBracket(item, None) | ArrayElemTypeDef::AngleBracket(item)) => {
            list_of(&arrow_type(item)?)
        }
        Sql::Map(key, value) => map_of(&arrow_type(key)?, &arrow_type(value)?),
        Sql::Struct(fields, _) => {
            let fields = fields.iter().enumerate().map(|(i, field)| {
                let name =
                    field.field_name.as_ref().map_or_else(|| format!("c{i}"), |name| name.value.clone());
                Ok(Field::new(name, arrow_type(&field.field_type)?, true))
            });
            let fields = fields.collect::<Result<Fields>>()?;
            structs::check_names("STRUCT", fields.iter().map(|field| field.name()))?;
            DataType::Struct(fields)
        }
        Sql::Custom(name, arguments) if arguments.is_empty() => {
            of_name(&name.to_string()).ok_or_else(|| unsupported(sql))?
        }
        other => return Err(unsupported(other)),
    })
}

/// The type of a name that the parser does not know, as DuckDB has it.
fn of_name(name: &str) -> Option<DataType> {
    Some(match name.to_lowercase().as_str() {
        "logical" => DataType::Boolean,
        "int1" => DataType::Int8,
        "short" => DataType::Int16,
        "integral" => DataType::Int32,
        "long" | "oid" => DataType::Int64,
        "uinteger" => DataType::UInt32,
        "int128" => DataType::Decimal128(38, 0),
        "bpchar" => DataType::Utf8View,
        "timestamp_s" => DataType::Timestamp(TimeUnit::Second, None),
        "timestamp_ms" => DataType::Timestamp(TimeUnit::Millisecond, None),
        "timestamp_us" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamp_ns" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        _ => return None,
    })
}

/// The type that a text names.
///
/// # Errors
/// It is not supported, or the text is something else.
pub fn named(text: &str) -> Result<DataType> {
    named_with_json(text).map(|(data_type, _)| data_type)
}

/// The type that a text names, and where its values have JSON in them.
///
/// # Errors
/// As of [`named`].
pub fn named_with_json(text: &str) -> Result<(DataType, Holds)> {
    let wrong = || Error::Invalid(format!("'{text}' is not a type"));
    let mut parser = Parser::new(&Palais).try_with_sql(text).map_err(|_| wrong())?;
    let sql = parser.parse_data_type().map_err(|_| wrong())?;
    match parser.peek_token_ref().token == Token::EOF {
        true => Ok((arrow_type(&sql)?, holds(&sql))),
        false => Err(wrong()),
    }
}

/// Where values of a type have JSON in them.
pub fn holds(sql: &Sql) -> Holds {
    match sql {
        Sql::JSON => Holds::Json,
        Sql::Array(ArrayElemTypeDef::SquareBracket(item, None) | ArrayElemTypeDef::AngleBracket(item)) => {
            holds(item).in_lists()
        }
        Sql::Map(_, value) => holds(value).in_lists(),
        Sql::Struct(fields, _) => Holds::in_structs(
            fields
                .iter()
                .enumerate()
                .map(|(i, field)| {
                    let name =
                        field.field_name.as_ref().map_or_else(|| format!("c{i}"), |name| name.value.clone());
                    (name, holds(&field.field_type))
                })
                .collect(),
        ),
        _ => Holds::Nothing,
    }
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
