//! Schemas as Cap'n Proto's language, for other tools: a struct with a field for each column.
//!
//! A column that may be NULL is a group of one union, `null` or `value`; text and bytes that are NULL are a null
//! pointer. Fields are numbered in the order of the columns. So the struct of a table with more columns at its end is a
//! newer version of the same struct. Names are for people: words begin with capitals but for the first, and what is no
//! letter or digit is left out.

use std::collections::HashSet;

use arrow_schema::{DataType, Schema};

use super::TextError;
use super::proto::{message, units};

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One bit.
    Bool,
    /// A signed integer of so many bits.
    Int(u32),
    /// An unsigned integer of so many bits.
    UInt(u32),
    /// A float of 32 or 64 bits.
    Float(u32),
    /// A pointer to text.
    Text,
    /// A pointer to bytes.
    Data,
}

impl Kind {
    /// The type that columns of this type have; `None` for nested types.
    pub fn of(data_type: &DataType) -> Option<Kind> {
        use DataType as T;
        Some(match data_type {
            T::Dictionary(_, values) => return Kind::of(values),
            T::Boolean => Kind::Bool,
            T::Int8 => Kind::Int(8),
            T::Int16 => Kind::Int(16),
            T::Int32 | T::Date32 | T::Time32(_) => Kind::Int(32),
            T::Int64 | T::Date64 | T::Timestamp(..) | T::Time64(_) => Kind::Int(64),
            T::UInt8 => Kind::UInt(8),
            T::UInt16 => Kind::UInt(16),
            T::UInt32 => Kind::UInt(32),
            T::UInt64 => Kind::UInt(64),
            T::Float16 | T::Float32 => Kind::Float(32),
            T::Float64 => Kind::Float(64),
            T::Decimal128(..) | T::Decimal256(..) | T::Utf8 | T::LargeUtf8 | T::Utf8View => Kind::Text,
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => Kind::Data,
            _ => return None,
        })
    }

    /// The bits that a value has in a struct's data section; `None` for pointers.
    pub fn bits(self) -> Option<u32> {
        match self {
            Kind::Bool => Some(1),
            Kind::Int(bits) | Kind::UInt(bits) | Kind::Float(bits) => Some(bits),
            Kind::Text | Kind::Data => None,
        }
    }

    fn name(self) -> String {
        match self {
            Kind::Bool => "Bool".into(),
            Kind::Int(bits) => format!("Int{bits}"),
            Kind::UInt(bits) => format!("UInt{bits}"),
            Kind::Float(bits) => format!("Float{bits}"),
            Kind::Text => "Text".into(),
            Kind::Data => "Data".into(),
        }
    }
}

/// Prints a schema as a `.capnp` file with one struct, called like the table. The file's id follows from the rest of
/// its text.
pub fn print(table: &str, schema: &Schema) -> Result<String, TextError> {
    let names = distinct(schema.fields().iter().map(|field| identifier(field.name())));
    let mut text = format!("struct {} {{\n", message(table));
    let mut number = 0;
    for (field, name) in schema.fields().iter().zip(names) {
        let Some(kind) = Kind::of(field.data_type()) else {
            return Err(TextError::Type {
                column: field.name().clone(),
                data_type: field.data_type().to_string(),
                form: "Cap'n Proto",
            });
        };
        let (note, kind_name) = (note(field.data_type()), kind.name());
        if field.is_nullable() && kind.bits().is_some() {
            let value = number + 1;
            text += &format!("  {name} :union {{ null @{number} :Void; value @{value} :{kind_name}; }}");
            number += 2;
        } else {
            text += &format!("  {name} @{number} :{kind_name};");
            number += 1;
        }
        if !note.is_empty() {
            text += &format!("  # {note}");
        }
        text.push('\n');
    }
    text.push_str("}\n");
    // The topmost bit of an id is set.
    Ok(format!("@0x{:016x};\n\n{text}", fnv1a(text.as_bytes()) | 1 << 63))
}

/// FNV-1a of 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A name as the language demands it: `page_url` is `pageUrl`, `Duration` is `duration`, `URL` is `url`.
fn identifier(name: &str) -> String {
    let mut identifier = String::new();
    for word in name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let shouted = word.len() > 1 && !word.contains(|c: char| c.is_ascii_lowercase());
        let word = if shouted { word.to_ascii_lowercase() } else { word.to_string() };
        let (first, rest) = word.split_at(1);
        match identifier.is_empty() {
            true => identifier += &first.to_ascii_lowercase(),
            false => identifier += &first.to_ascii_uppercase(),
        }
        identifier += rest;
    }
    match identifier.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => identifier,
        false => format!("c{identifier}"),
    }
}

/// Tells equal names apart by numbers; letters' case makes no difference, as generated code changes it.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let different = |name: String| {
        let numbered = |number: usize| if number == 0 { name.clone() } else { format!("{name}{number}") };
        (0..).map(numbered).find(|name| seen.insert(name.to_ascii_lowercase())).unwrap_or_default()
    };
    names.map(different).collect()
}

/// What values mean where the type of the field does not tell.
fn note(data_type: &DataType) -> String {
    use DataType as T;
    match data_type {
        T::Dictionary(_, values) => note(values),
        T::Decimal128(..) | T::Decimal256(..) => "a decimal number".into(),
        T::Date32 => "days since 1970-01-01".into(),
        T::Date64 => "milliseconds since 1970-01-01T00:00:00".into(),
        T::Timestamp(unit, None) => format!("{} since 1970-01-01T00:00:00", units(*unit)),
        T::Timestamp(unit, Some(_)) => format!("{} since 1970-01-01T00:00:00Z", units(*unit)),
        T::Time32(unit) | T::Time64(unit) => format!("{} since midnight", units(*unit)),
        T::FixedSizeBinary(size) => format!("{size} bytes"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{Field, TimeUnit};

    #[test]
    fn a_struct_has_a_field_for_each_column() {
        let schema = Schema::new(vec![
            Field::new("sourceIP", DataType::Utf8View, true),
            Field::new("visit date", DataType::Date32, false),
            Field::new("Visit-Date", DataType::Timestamp(TimeUnit::Microsecond, None), true),
            Field::new("1st", DataType::Decimal128(10, 2), true),
            Field::new("USER_ID", DataType::Boolean, true),
        ]);
        let text = "struct UserVisits {\n  sourceIP @0 :Text;\n  visitDate @1 :Int32;  # days since 1970-01-01\n  \
                    visitDate1 :union { null @2 :Void; value @3 :Int64; }  # microseconds since 1970-01-01T00:00:00\n  \
                    c1st @4 :Text;  # a decimal number\n  userId :union { null @5 :Void; value @6 :Bool; }\n}\n";
        let printed = print("user_visits", &schema).unwrap();
        let (id, body) = printed.split_once("\n\n").unwrap();
        assert_eq!(body, text);
        // An id that changes makes other programs believe in another type.
        assert_eq!(id, "@0xab4ec2627cc22d8c;");
        let list = Schema::new(vec![Field::new("l", DataType::new_list(DataType::Int8, true), true)]);
        assert!(print("t", &list).unwrap_err().to_string().contains("column 'l'"));
    }

    #[test]
    fn names_are_as_the_language_demands() {
        let of = ["page_url", "URL", "x", "X", "2nd Name", "größe", "", "_", "a1", "a", "A", "userID"];
        let expected = ["pageUrl", "url", "x", "x1", "c2ndName", "grE", "c", "c1", "a1", "a", "a2", "userID"];
        assert_eq!(distinct(of.into_iter().map(identifier)), expected);
    }
}
