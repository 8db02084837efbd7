//! Column types as bytes.
//!
//! ```text
//! type = tag: u8, then
//!        decimal    precision: u8  scale: i8           of 128 and of 256 bits
//!        timestamp  unit: u8 (seconds, milli-, micro-, nanoseconds)  zoned: u8 (0 or 1)  zone: text, if zoned
//!        bytes of one size  size: u32
//!        list       the column of its items
//!        struct     fields: u32  a column for each
//! text = length: u16  bytes
//! ```

use std::sync::Arc;

use arrow_schema::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, IntervalUnit, TimeUnit,
};

use schema::text::types::sql_name;

use super::bytes::{Input, put_text};
use crate::error::{Error, Result};

/// Types of one tag and nothing else, by tag.
const SIMPLE: [DataType; 14] = [
    DataType::Boolean,
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
    DataType::Float32,
    DataType::Float64,
    DataType::Date32,
    DataType::Utf8View,
    DataType::BinaryView,
];
const DECIMAL: u8 = 14;
const TIMESTAMP: u8 = 15;
const DECIMAL256: u8 = 16;
const FIXED_BINARY: u8 = 17;
/// Rare types of one tag and nothing else, by tag less [`RARE_FROM`].
const RARE: [DataType; 13] = [
    DataType::Float16,
    DataType::Date64,
    DataType::Time32(TimeUnit::Second),
    DataType::Time32(TimeUnit::Millisecond),
    DataType::Time64(TimeUnit::Microsecond),
    DataType::Time64(TimeUnit::Nanosecond),
    DataType::Duration(TimeUnit::Second),
    DataType::Duration(TimeUnit::Millisecond),
    DataType::Duration(TimeUnit::Microsecond),
    DataType::Duration(TimeUnit::Nanosecond),
    DataType::Interval(IntervalUnit::YearMonth),
    DataType::Interval(IntervalUnit::DayTime),
    DataType::Interval(IntervalUnit::MonthDayNano),
];
const RARE_FROM: u8 = 18;
const LIST: u8 = 31;
const STRUCT: u8 = 32;
/// The most types within one another.
const DEEPEST: usize = 8;
const UNITS: [TimeUnit; 4] =
    [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

/// Writes name, nullability and type of a column; an error if there is no such type in buren.
pub fn put_field(out: &mut Vec<u8>, field: &Field) -> Result<()> {
    put_field_at(out, field, 0)
}

fn put_field_at(out: &mut Vec<u8>, field: &Field, depth: usize) -> Result<()> {
    if depth > DEEPEST {
        return Err(Error::Unsupported(format!(
            "column '{}' has more than {DEEPEST} types within one another, which buren can't hold: write parquet",
            field.name()
        )));
    }
    put_text(out, field.name())?;
    out.push(field.is_nullable().into());
    match field.data_type() {
        DataType::Decimal128(precision, scale) => out.extend([DECIMAL, *precision, *scale as u8]),
        DataType::Decimal256(precision, scale) => out.extend([DECIMAL256, *precision, *scale as u8]),
        DataType::FixedSizeBinary(size) => {
            out.push(FIXED_BINARY);
            out.extend(size.to_le_bytes());
        }
        DataType::Timestamp(unit, zone) => {
            let unit = UNITS.iter().position(|u| u == unit).expect("all units are listed");
            out.extend([TIMESTAMP, unit as u8, zone.is_some().into()]);
            if let Some(zone) = zone {
                put_text(out, zone)?;
            }
        }
        DataType::List(item) => {
            out.push(LIST);
            put_field_at(out, item, depth + 1)?;
        }
        DataType::Struct(fields) => {
            out.push(STRUCT);
            out.extend((fields.len() as u32).to_le_bytes());
            fields.iter().try_for_each(|field| put_field_at(out, field, depth + 1))?;
        }
        other => {
            let simple = SIMPLE.iter().position(|t| t == other).map(|tag| tag as u8);
            let rare = || RARE.iter().position(|t| t == other).map(|place| RARE_FROM + place as u8);
            let tag = simple.or_else(rare).ok_or_else(|| {
                let name = sql_name(other).unwrap_or_else(|| other.to_string());
                Error::Unsupported(format!(
                    "column '{}' is {name}, which buren can't hold: cast the column or write parquet or arrow",
                    field.name()
                ))
            })?;
            out.push(tag);
        }
    }
    Ok(())
}

/// Reads what [`put_field`] wrote.
pub fn get_field(input: &mut Input) -> Result<Field> {
    get_field_at(input, 0)
}

fn get_field_at(input: &mut Input, depth: usize) -> Result<Field> {
    let name = input.text()?;
    let nullable = flag(input)?;
    let data_type = match input.u8()? {
        tag @ (DECIMAL | DECIMAL256) => {
            let (precision, scale) = (input.u8()?, input.u8()? as i8);
            let wide = tag == DECIMAL256;
            let most = if wide { DECIMAL256_MAX_PRECISION } else { DECIMAL128_MAX_PRECISION };
            if !(1..=most).contains(&precision) || scale.unsigned_abs() > precision {
                return Err(damaged(name));
            }
            if wide { DataType::Decimal256(precision, scale) } else { DataType::Decimal128(precision, scale) }
        }
        FIXED_BINARY => DataType::FixedSizeBinary(i32::try_from(input.u32()?).map_err(|_| damaged(name))?),
        LIST | STRUCT if depth == DEEPEST => return Err(damaged(name)),
        LIST => DataType::List(Arc::new(get_field_at(input, depth + 1)?)),
        STRUCT => {
            let count = input.count(4)?;
            let fields = (0..count).map(|_| get_field_at(input, depth + 1));
            DataType::Struct(fields.collect::<Result<Vec<_>>>()?.into())
        }
        TIMESTAMP => {
            let unit = UNITS.get(usize::from(input.u8()?)).ok_or_else(|| damaged(name))?;
            let zone = if flag(input)? { Some(Arc::from(input.text()?)) } else { None };
            DataType::Timestamp(*unit, zone)
        }
        tag => {
            let rare = || RARE.get(usize::from(tag.checked_sub(RARE_FROM)?));
            SIMPLE.get(usize::from(tag)).or_else(rare).ok_or_else(|| damaged(name))?.clone()
        }
    };
    Ok(Field::new(name, data_type, nullable))
}

fn flag(input: &mut Input) -> Result<bool> {
    match input.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::corrupt(format!("damaged buren footer: {other} is neither yes nor no"))),
    }
}

fn damaged(column: &str) -> Error {
    Error::corrupt(format!("damaged buren footer: column '{column}' has a type that does not exist"))
}

/// The bytes of a value of a fixed-width type; `None` for booleans (one bit), text and bytes, those of one size too.
pub fn width(data_type: &DataType) -> Option<usize> {
    data_type.primitive_width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_comes_back_and_others_are_refused() {
        let mut types = SIMPLE.to_vec();
        types.extend(RARE);
        types.extend([
            DataType::Decimal128(38, -3),
            DataType::Decimal256(76, 76),
            DataType::FixedSizeBinary(0),
        ]);
        types.extend(UNITS.map(|unit| DataType::Timestamp(unit, None)));
        types.push(DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Zürich".into())));
        let item = |t: DataType| Arc::new(Field::new("item", t, true));
        types.push(DataType::List(item(DataType::List(item(DataType::Utf8View)))));
        types.push(DataType::Struct(
            vec![item(DataType::Int8), item(DataType::Struct(arrow_schema::Fields::empty()))].into(),
        ));
        for data_type in types {
            for nullable in [false, true] {
                let field = Field::new("größe", data_type.clone(), nullable);
                let mut bytes = Vec::new();
                put_field(&mut bytes, &field).unwrap();
                let mut input = Input::new(&bytes, "buren footer");
                assert_eq!(get_field(&mut input).unwrap(), field);
                assert!(input.is_empty());
            }
        }
        let map = DataType::Map(Arc::new(Field::new("entries", DataType::Int8, true)), false);
        let error = put_field(&mut Vec::new(), &Field::new("m", map, true)).unwrap_err().to_string();
        assert!(error.contains("column 'm'") && error.contains("parquet"), "{error}");
    }
}
