//! JSON that is made of values: `to_json`, `json_object`, `json_array`, and the parts of what `json_group_array` and
//! `json_group_object` make.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};

use super::Holds;
use super::reader::Reader;
use super::writer::{float, normal, quoted};
use crate::functions::own::arguments::Call;
use crate::values::decimals;

/// The most digits of a decimal that is written as a `DOUBLE`, as DuckDB does. It is without zeros at its end, and with
/// `.0` behind a whole number.
const DIGITS_OF_DOUBLES: u8 = 15;

/// What is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Makes {
    /// The JSON of a value; of NULL there is none.
    Value,
    /// The JSON of a value; of NULL it is `null`.
    Item,
    /// A key with its value, as they stand in an object.
    Field,
    /// An array of values.
    Array,
    /// An object of keys and values in turn.
    Object,
}

/// How a value is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Form {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A string.
    Text,
    /// What it is: it is JSON.
    Json,
    /// An array.
    List(Box<Form>),
    /// An object of these keys.
    Struct(Vec<(String, Form)>),
    /// An object whose keys are values.
    Map(Box<Form>),
}

impl Form {
    /// How values of a type are written in which there may be JSON. Of a type that has to be text before there is none.
    pub fn of(data_type: &DataType, holds: &Holds) -> Option<Form> {
        Some(match data_type {
            DataType::Null => Form::Null,
            DataType::Boolean => Form::Boolean,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => match holds {
                Holds::Json => Form::Json,
                _ => Form::Text,
            },
            DataType::Decimal128(..) => Form::Number,
            t if t.is_integer() || matches!(t, DataType::Float32 | DataType::Float64) => Form::Number,
            DataType::List(item) => Form::List(Box::new(Form::of(item.data_type(), holds.items())?)),
            DataType::Struct(fields) => {
                let fields = fields.iter().map(|field| {
                    let form = Form::of(field.data_type(), holds.field(field.name()))?;
                    Some((field.name().clone(), form))
                });
                Form::Struct(fields.collect::<Option<_>>()?)
            }
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) => {
                    Form::Map(Box::new(Form::of(fields.get(1)?.data_type(), holds.items())?))
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Adds a value of a column.
    ///
    /// # Errors
    /// A text that should be JSON is none.
    fn write(&self, column: &ArrayRef, row: usize, out: &mut String) -> Result<()> {
        if column.is_null(row) || column.data_type().is_null() {
            out.push_str("null");
            return Ok(());
        }
        match self {
            Form::Null => out.push_str("null"),
            Form::Boolean => out.push_str(if column.as_boolean().value(row) { "true" } else { "false" }),
            Form::Number => number(column, row, out)?,
            Form::Text => quoted(text(column, row), out),
            Form::Json => {
                let text = text(column, row);
                let value = Reader::whole(text).map_err(|wrong| wrong.error(text))?;
                normal(&text[value], out);
            }
            Form::List(item) => {
                let list = column.as_list::<i32>();
                let offsets = list.value_offsets();
                out.push('[');
                for (place, at) in (offsets[row]..offsets[row + 1]).enumerate() {
                    out.push_str(if place == 0 { "" } else { "," });
                    item.write(list.values(), at as usize, out)?;
                }
                out.push(']');
            }
            Form::Struct(fields) => {
                let columns = column.as_struct().columns();
                out.push('{');
                for (place, ((name, form), column)) in fields.iter().zip(columns).enumerate() {
                    out.push_str(if place == 0 { "" } else { "," });
                    quoted(name, out);
                    out.push(':');
                    form.write(column, row, out)?;
                }
                out.push('}');
            }
            Form::Map(value) => {
                let map = column.as_map();
                let entries = map.value(row);
                let keys = cast(entries.column(0), &DataType::Utf8View)?;
                out.push('{');
                for entry in 0..entries.len() {
                    out.push_str(if entry == 0 { "" } else { "," });
                    quoted(text(&keys, entry), out);
                    out.push(':');
                    value.write(entries.column(1), entry, out)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}

fn text(column: &ArrayRef, row: usize) -> &str {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row),
        _ => column.as_string_view().value(row),
    }
}

/// Adds a number of a column.
fn number(column: &ArrayRef, row: usize, out: &mut String) -> Result<()> {
    macro_rules! integer {
        ($type:ty) => {
            out.push_str(&column.as_primitive::<$type>().value(row).to_string())
        };
    }
    match column.data_type() {
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => integer!(Int64Type),
        DataType::UInt8 => integer!(UInt8Type),
        DataType::UInt16 => integer!(UInt16Type),
        DataType::UInt32 => integer!(UInt32Type),
        DataType::UInt64 => integer!(UInt64Type),
        DataType::Float32 => float(column.as_primitive::<Float32Type>().value(row).into(), out),
        DataType::Float64 => float(column.as_primitive::<Float64Type>().value(row), out),
        DataType::Decimal128(precision, scale) => {
            let units = column.as_primitive::<Decimal128Type>();
            match *precision <= DIGITS_OF_DOUBLES {
                true => float(decimals::to_f64(*scale)(units.value(row)), out),
                false => out.push_str(&units.value_as_string(row)),
            }
        }
        other => return exec_err!("{other} is no number of JSON"),
    }
    Ok(())
}

/// The JSON for the rows of a batch, of arguments that are written so.
pub fn make(call: &Call, makes: Makes, forms: &[Form]) -> Result<ArrayRef> {
    let columns = (0..call.given()).map(|at| call.array(at)).collect::<Result<Vec<_>>>()?;
    let put = |at: usize, row: usize, out: &mut String| {
        let (column, one) = &columns[at];
        forms[at].write(column, if *one { 0 } else { row }, out)
    };
    let is_null = |at: usize, row: usize| {
        let (column, one) = &columns[at];
        column.data_type().is_null() || column.is_null(if *one { 0 } else { row })
    };
    let field = |at: usize, row: usize, out: &mut String| {
        if is_null(at, row) {
            return exec_err!(
                "the key of a field of a JSON object is NULL\n  help: leave such rows out, or coalesce(key, '')"
            );
        }
        put(at, row, out)?;
        out.push(':');
        put(at + 1, row, out)
    };
    call.give_text(|row, out| {
        match makes {
            Makes::Value if is_null(0, row) => return Ok(false),
            Makes::Value | Makes::Item => put(0, row, out)?,
            Makes::Field => field(0, row, out)?,
            Makes::Array => {
                out.push('[');
                for at in 0..columns.len() {
                    out.push_str(if at == 0 { "" } else { "," });
                    put(at, row, out)?;
                }
                out.push(']');
            }
            Makes::Object => {
                out.push('{');
                for at in (0..columns.len()).step_by(2) {
                    out.push_str(if at == 0 { "" } else { "," });
                    field(at, row, out)?;
                }
                out.push('}');
            }
        }
        Ok(true)
    })
}

/// A text between two others.
pub fn enclosed(call: &Call, begin: &str, end: &str) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        out.extend([begin, text, end]);
        Ok(true)
    })
}
