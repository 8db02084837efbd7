//! JSON as values of types: `json_transform`, and casts of JSON.
//!
//! A level of the type after the other is made, each over the values of all rows of a batch. A value is the part of the text
//! that it is, which has been checked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Fields};
use datafusion_common::{Result, exec_err};

use super::Holds;
use super::reader::{Kind, Member, Reader};
use super::reads::{Lists, type_name};
use super::writer::{finite, is_integer, normal, unescaped};
use crate::functions::own::arguments::Call;
use crate::text;
use crate::values::decimals;
use crate::values::integer_text::{decimal, integer};

/// The longest part of a value that a message shows, in bytes.
const SHOWN: usize = 80;

/// What is an error, and not NULL, and which texts are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Strictness {
    /// A value that is none of the type.
    pub values: bool,
    /// A field that an object has not.
    pub missing: bool,
    /// A field that the type has not, and one that stands twice.
    pub unknown: bool,
    /// Whether a text has to be the digits of a whole number to become an integer; others are rounded.
    pub whole: bool,
}

impl Strictness {
    /// Of `json_transform`.
    pub const NONE: Strictness = Strictness { values: false, missing: false, unknown: false, whole: false };
    /// Of `TRY_CAST`.
    pub const TRY: Strictness = Strictness { whole: true, ..Strictness::NONE };
    /// Of `json_transform_strict`.
    pub const STRICT: Strictness = Strictness { values: true, missing: true, ..Strictness::TRY };
    /// Of `CAST`.
    pub const CAST: Strictness = Strictness { unknown: true, ..Strictness::STRICT };
}

/// Whether values of a type are made.
pub fn is_made(to: &DataType) -> bool {
    match to {
        DataType::List(item) => is_made(item.data_type()),
        DataType::Struct(fields) => {
            !fields.is_empty() && fields.iter().all(|field| is_made(field.data_type()))
        }
        DataType::Null
        | DataType::Boolean
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Utf8View
        | DataType::Binary
        | DataType::BinaryView => true,
        other => text::is_read(other),
    }
}

/// The values for the rows of a batch, and where there is JSON in them.
pub fn transform(call: &Call, holds: &Holds, strictness: Strictness) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    let mut values: Vec<Option<&str>> = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        values.push(match texts.get(row) {
            Some(text) => {
                let value = Reader::whole(text).map_err(|wrong| wrong.error(text))?;
                Some(&text[value]).filter(|value| *value != "null")
            }
            None => None,
        });
    }
    made(&values, &call.gives, holds, strictness)
}

/// Values of a type. `null` is none.
fn made(values: &[Option<&str>], to: &DataType, holds: &Holds, strictness: Strictness) -> Result<ArrayRef> {
    let leaves = Leaves { values, to, is_strict: strictness.values, whole: strictness.whole };
    match to {
        DataType::List(item) => lists(values, item.data_type(), holds.items(), strictness),
        DataType::Struct(fields) => structs(values, fields, holds, strictness),
        DataType::Null => Ok(new_null_array(to, values.len())),
        DataType::Boolean => leaves.booleans(),
        DataType::Int8 => leaves.integers::<Int8Type>(),
        DataType::Int16 => leaves.integers::<Int16Type>(),
        DataType::Int32 => leaves.integers::<Int32Type>(),
        DataType::Int64 => leaves.integers::<Int64Type>(),
        DataType::UInt8 => leaves.integers::<UInt8Type>(),
        DataType::UInt16 => leaves.integers::<UInt16Type>(),
        DataType::UInt32 => leaves.integers::<UInt32Type>(),
        DataType::UInt64 => leaves.integers::<UInt64Type>(),
        DataType::Float32 => leaves.each::<Float32Type>(|value| value.float().map(|float| float as f32)),
        DataType::Float64 => leaves.each::<Float64Type>(|value| value.float()),
        DataType::Decimal128(precision, scale) => leaves.decimals(*precision, *scale),
        DataType::Utf8View => leaves.texts(*holds == Holds::Json),
        DataType::Binary | DataType::BinaryView => cast_texts(&leaves.texts(false)?, to),
        _ => leaves.read(),
    }
}

/// A value for a message.
fn shown(value: &str) -> String {
    let mut all = String::new();
    normal(value, &mut all);
    let end = all.floor_char_boundary(SHOWN);
    format!("{}{}", &all[..end], if end < all.len() { "…" } else { "" })
}

fn cast_texts(texts: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: true, ..CastOptions::default() };
    Ok(cast_with_options(texts, to, &options)?)
}

/// The items of arrays as lists.
fn lists(
    values: &[Option<&str>],
    item: &DataType,
    holds: &Holds,
    strictness: Strictness,
) -> Result<ArrayRef> {
    let mut items: Vec<Option<&str>> = Vec::new();
    let mut lists = Lists::default();
    for value in values {
        let mut is_list = false;
        if let Some(value) = value {
            is_list = Kind::of(value.as_bytes()) == Kind::Array;
            if !is_list && strictness.values {
                return exec_err!(
                    "expected an ARRAY of JSON, and this is {}: {}",
                    type_name(value),
                    shown(value)
                );
            }
            if is_list {
                each_member(value, |_, item| {
                    items.push(Some(item).filter(|item| *item != "null"));
                    Ok(())
                })?;
            }
        }
        lists.end(items.len(), is_list);
    }
    lists.finish(made(&items, item, holds, strictness)?)
}

/// The fields of objects as structs. What is no object has none of them.
fn structs(
    values: &[Option<&str>],
    fields: &Fields,
    holds: &Holds,
    strictness: Strictness,
) -> Result<ArrayRef> {
    let places: HashMap<&str, usize> =
        fields.iter().enumerate().map(|(place, field)| (field.name().as_str(), place)).collect();
    let mut columns: Vec<Vec<Option<&str>>> = vec![Vec::with_capacity(values.len()); fields.len()];
    for (row, value) in values.iter().enumerate() {
        columns.iter_mut().for_each(|column| column.push(None));
        let Some(value) = value else { continue };
        if Kind::of(value.as_bytes()) != Kind::Object {
            if strictness.values {
                return exec_err!(
                    "expected an OBJECT of JSON, and this is {}: {}",
                    type_name(value),
                    shown(value)
                );
            }
            continue;
        }
        let mut seen = vec![false; fields.len()];
        each_member(value, |key, member| {
            let Some(place) = places.get(key.as_ref()).copied() else {
                if strictness.unknown {
                    return exec_err!(
                        "the JSON object {} has a field '{key}', which the type has not\n  help: json_transform_strict() leaves \
                         such fields out",
                        shown(value)
                    );
                }
                return Ok(());
            };
            // Of several the first one counts.
            if !seen[place] {
                columns[place][row] = Some(member).filter(|member| *member != "null");
            } else if strictness.unknown {
                return exec_err!("the JSON object {} has the field '{key}' twice", shown(value));
            }
            seen[place] = true;
            Ok(())
        })?;
        if let Some(place) = seen.iter().position(|seen| !seen)
            && strictness.missing
        {
            return exec_err!(
                "the JSON object {} has no field '{}'\n  help: json_transform() and TRY_CAST give NULL then",
                shown(value),
                fields[place].name()
            );
        }
    }
    let mut arrays = Vec::with_capacity(fields.len());
    for (column, field) in columns.iter().zip(fields) {
        arrays.push(made(column, field.data_type(), holds.field(field.name()), strictness)?);
    }
    let valid: Vec<bool> = values.iter().map(Option::is_some).collect();
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    Ok(Arc::new(StructArray::try_new(fields.clone(), arrays, nulls)?))
}

/// Gives each member of a container; of an array's the key is empty.
fn each_member<'a>(value: &'a str, mut each: impl FnMut(Cow<'a, str>, &'a str) -> Result<()>) -> Result<()> {
    let malformed = |wrong: super::reader::Malformed| wrong.error(value);
    let mut reader = Reader::new(value).map_err(malformed)?;
    if !reader.enter(reader.is_at_object()).map_err(malformed)? {
        return Ok(());
    }
    let mut first = true;
    loop {
        let key = match reader.member(first).map_err(malformed)? {
            Member::End => return Ok(()),
            Member::Item => Cow::Borrowed(""),
            Member::Field(key) if !key.is_escaped => Cow::Borrowed(&value[key.begin..key.end]),
            Member::Field(key) => {
                let mut text = String::new();
                unescaped(&value[key.begin..key.end], &mut text);
                Cow::Owned(text)
            }
        };
        let member = reader.value().map_err(malformed)?;
        each(key, &value[member])?;
        first = false;
    }
}

/// A value that is no container, as numbers are made of it.
enum Scalar<'a> {
    Boolean(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    /// A string, or a number that is none of these.
    Text(Cow<'a, str>),
}

impl<'a> Scalar<'a> {
    fn of(value: &'a str) -> Option<Scalar<'a>> {
        Some(match Kind::of(value.as_bytes()) {
            Kind::Null | Kind::Array | Kind::Object => return None,
            Kind::Boolean => Scalar::Boolean(value == "true"),
            Kind::String => Scalar::Text(string(value)),
            Kind::Number if is_integer(value) => match (value.parse(), value.parse()) {
                (Ok(unsigned), _) => Scalar::Unsigned(unsigned),
                (_, Ok(signed)) => Scalar::Signed(signed),
                _ => Scalar::Text(Cow::Borrowed(value)),
            },
            Kind::Number => match finite(value) {
                Some(float) => Scalar::Float(float),
                None => Scalar::Text(Cow::Borrowed(value)),
            },
        })
    }

    /// As an integer. Halves go to the even neighbour, as those of floats do; those of texts go away from zero.
    fn integer(&self, whole: bool) -> Option<i128> {
        match self {
            Scalar::Boolean(value) => Some(i128::from(*value)),
            Scalar::Unsigned(value) => Some(i128::from(*value)),
            Scalar::Signed(value) => Some(i128::from(*value)),
            // Of one that is too large the greatest integer is made, which is too large for all types.
            Scalar::Float(value) => Some(value.round_ties_even() as i128),
            Scalar::Text(text) if whole && !is_whole(text) => None,
            Scalar::Text(text) => integer(text).map(|integer| integer.value),
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Scalar::Boolean(value) => Some(f64::from(u8::from(*value))),
            Scalar::Unsigned(value) => Some(*value as f64),
            Scalar::Signed(value) => Some(*value as f64),
            Scalar::Float(value) => Some(*value),
            Scalar::Text(text) => text.trim().parse().ok(),
        }
    }
}

/// Whether a text has nothing but the digits of a whole number.
fn is_whole(text: &str) -> bool {
    let text = text.trim().trim_start_matches('-');
    text.starts_with("0x") || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text of a string.
fn string(value: &str) -> Cow<'_, str> {
    let written = &value[1..value.len() - 1];
    if !written.contains('\\') {
        return Cow::Borrowed(written);
    }
    let mut text = String::with_capacity(written.len());
    unescaped(written, &mut text);
    Cow::Owned(text)
}

/// Values that become those of a type that has no others in it.
struct Leaves<'a> {
    values: &'a [Option<&'a str>],
    to: &'a DataType,
    /// Whether a value that is none of the type is an error.
    is_strict: bool,
    whole: bool,
}

impl Leaves<'_> {
    /// What is to be done with a value that is none of the type.
    fn none<T>(&self, value: &str) -> Result<Option<T>> {
        match self.is_strict {
            true => exec_err!("the JSON value {} is no {}", shown(value), text::shown(self.to)),
            false => Ok(None),
        }
    }

    fn each<T: ArrowPrimitiveType>(&self, of: impl Fn(&Scalar<'_>) -> Option<T::Native>) -> Result<ArrayRef> {
        let mut out = PrimitiveBuilder::<T>::with_capacity(self.values.len());
        for value in self.values {
            out.append_option(match value {
                Some(value) => match Scalar::of(value).and_then(|scalar| of(&scalar)) {
                    None => self.none(value)?,
                    made => made,
                },
                None => None,
            });
        }
        Ok(Arc::new(out.finish()))
    }

    fn integers<T: ArrowPrimitiveType>(&self) -> Result<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        self.each::<T>(|value| T::Native::try_from(value.integer(self.whole)?).ok())
    }

    fn decimals(&self, precision: u8, scale: i8) -> Result<ArrayRef> {
        let most = 10_i128.checked_pow(u32::from(precision)).unwrap_or(i128::MAX);
        let unit = u32::try_from(scale).ok().and_then(|scale| 10_i128.checked_pow(scale));
        let units = self.each::<Decimal128Type>(|value| {
            let units = match value {
                Scalar::Boolean(value) => unit?.checked_mul(i128::from(*value))?,
                Scalar::Unsigned(value) => unit?.checked_mul(i128::from(*value))?,
                Scalar::Signed(value) => unit?.checked_mul(i128::from(*value))?,
                Scalar::Float(value) => decimals::from_f64(*value, scale)?,
                Scalar::Text(text) => decimal(text, precision, scale)?,
            };
            (-most < units && units < most).then_some(units)
        })?;
        let units = units.as_primitive::<Decimal128Type>().clone();
        Ok(Arc::new(units.with_precision_and_scale(precision, scale)?))
    }

    fn booleans(&self) -> Result<ArrayRef> {
        let mut out = BooleanBuilder::with_capacity(self.values.len());
        for value in self.values {
            let Some(value) = value else {
                out.append_null();
                continue;
            };
            let made = match Scalar::of(value) {
                Some(Scalar::Boolean(value)) => Some(value),
                Some(Scalar::Unsigned(value)) => Some(value != 0),
                Some(Scalar::Signed(value)) => Some(value != 0),
                Some(Scalar::Float(value)) => Some(value != 0.0),
                Some(Scalar::Text(text)) => match text.to_ascii_lowercase().as_str() {
                    "true" | "t" | "yes" | "y" | "1" => Some(true),
                    "false" | "f" | "no" | "n" | "0" => Some(false),
                    _ => None,
                },
                None => None,
            };
            out.append_option(if made.is_none() { self.none(value)? } else { made });
        }
        Ok(Arc::new(out.finish()))
    }

    /// The texts of strings, or their JSON; of everything else its JSON.
    fn texts(&self, as_json: bool) -> Result<ArrayRef> {
        let mut out = StringViewBuilder::with_capacity(self.values.len());
        let mut made = String::new();
        for value in self.values {
            match value {
                Some(value) if !as_json && Kind::of(value.as_bytes()) == Kind::String => {
                    out.try_append_value(string(value))?;
                }
                Some(value) => {
                    made.clear();
                    normal(value, &mut made);
                    out.try_append_value(&made)?;
                }
                None => out.append_null(),
            }
        }
        Ok(Arc::new(out.finish()))
    }

    /// What strings say as dates and the like.
    fn read(&self) -> Result<ArrayRef> {
        let mut texts = StringViewBuilder::with_capacity(self.values.len());
        for value in self.values {
            match value {
                Some(value) if Kind::of(value.as_bytes()) == Kind::String => {
                    texts.try_append_value(string(value))?;
                }
                Some(value) => texts.append_option(self.none::<&str>(value)?),
                None => texts.append_null(),
            }
        }
        let texts: ArrayRef = Arc::new(texts.finish());
        let made = text::read(self.to.clone(), true).values(&texts)?;
        if self.is_strict
            && let Some(row) = (0..made.len()).find(|row| made.is_null(*row) && texts.is_valid(*row))
        {
            return self.none::<ArrayRef>(self.values[row].unwrap_or_default()).map(|_| made);
        }
        Ok(made)
    }
}
