//! Schemas as Protocol Buffers' language, for other tools: a message with a field for each column.
//!
//! The encoding `protobuf` has a field's number and its type from the column's place and type alone; names are for
//! people. What is no letter, digit or underscore becomes an underscore.

use arrow_schema::{DataType, Schema, TimeUnit};

use super::TextError;
use crate::names::distinct;

/// Prints a schema as a `.proto` file with one message, called like the table.
pub fn print(table: &str, schema: &Schema) -> Result<String, TextError> {
    let names: Vec<String> = schema.fields().iter().map(|field| identifier(field.name())).collect();
    let names = distinct(names.iter().map(String::as_str)).unwrap_or(names);
    let mut text = format!("syntax = \"proto3\";\n\nmessage {} {{\n", message(table));
    for ((field, name), number) in schema.fields().iter().zip(names).zip(1..) {
        let Some((kind, note)) = kind(field.data_type()) else {
            return Err(TextError::Type {
                column: field.name().clone(),
                data_type: field.data_type().to_string(),
                form: "Protocol Buffers",
            });
        };
        let optional = if field.is_nullable() { "optional " } else { "" };
        text += &format!("  {optional}{kind} {name} = {number};");
        if !note.is_empty() {
            text += &format!("  // {note}");
        }
        text.push('\n');
    }
    text.push_str("}\n");
    Ok(text)
}

/// The name of a message: the words of a table's name, each with a capital.
fn message(table: &str) -> String {
    let words = table.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name: String = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name,
        false => format!("Table{name}"),
    }
}

fn identifier(name: &str) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = name.chars().map(letters).collect();
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name,
        false => format!("c{name}"),
    }
}

/// The type of a field, and what its values mean where the type does not tell.
fn kind(data_type: &DataType) -> Option<(&'static str, String)> {
    use DataType as T;
    let since = |unit: TimeUnit, from: &str| format!("{} since {from}", units(unit));
    Some(match data_type {
        T::Dictionary(_, values) => return kind(values),
        T::Boolean => ("bool", String::new()),
        T::Int8 | T::Int16 | T::Int32 => ("int32", String::new()),
        T::Int64 => ("int64", String::new()),
        T::UInt8 | T::UInt16 | T::UInt32 => ("uint32", String::new()),
        T::UInt64 => ("uint64", String::new()),
        T::Float16 | T::Float32 => ("float", String::new()),
        T::Float64 => ("double", String::new()),
        T::Decimal128(..) | T::Decimal256(..) => ("string", "a decimal number".into()),
        T::Date32 => ("int32", "days since 1970-01-01".into()),
        T::Date64 => ("int64", since(TimeUnit::Millisecond, "1970-01-01T00:00:00")),
        T::Timestamp(unit, None) => ("int64", since(*unit, "1970-01-01T00:00:00")),
        T::Timestamp(unit, Some(_)) => ("int64", since(*unit, "1970-01-01T00:00:00Z")),
        T::Time32(unit) => ("int32", since(*unit, "midnight")),
        T::Time64(unit) => ("int64", since(*unit, "midnight")),
        T::Utf8 | T::LargeUtf8 | T::Utf8View => ("string", String::new()),
        T::Binary | T::LargeBinary | T::BinaryView => ("bytes", String::new()),
        T::FixedSizeBinary(size) => ("bytes", format!("{size} bytes")),
        _ => return None,
    })
}

fn units(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Field;

    #[test]
    fn a_message_has_a_field_for_each_column() {
        let schema = Schema::new(vec![
            Field::new("sourceIP", DataType::Utf8View, true),
            Field::new("visit date", DataType::Date32, false),
            Field::new("visit-date", DataType::Timestamp(TimeUnit::Microsecond, None), false),
            Field::new("1st", DataType::Decimal128(10, 2), true),
        ]);
        let text = "syntax = \"proto3\";\n\nmessage UserVisits {\n  optional string sourceIP = 1;\n  \
                    int32 visit_date = 2;  // days since 1970-01-01\n  \
                    int64 visit_date_1 = 3;  // microseconds since 1970-01-01T00:00:00\n  \
                    optional string c1st = 4;  // a decimal number\n}\n";
        assert_eq!(print("user_visits", &schema).unwrap(), text);
        assert!(print("é", &Schema::empty()).unwrap().contains("message Table {"));
        let list = Schema::new(vec![Field::new("l", DataType::new_list(DataType::Int8, true), true)]);
        assert!(print("t", &list).unwrap_err().to_string().contains("column 'l'"));
    }
}
