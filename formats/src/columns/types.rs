//! The types in which columns are read: one for text and one for bytes, whatever the file calls them.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};

use super::uuid;
use crate::error::{Error, Result};

/// The type in which a column of a file's type is read. Text is `Utf8View`, bytes are `BinaryView`. Dictionary and
/// run-end encoded columns are their values, and narrow decimals are `Decimal128`. Lists of any kind are `List`, except
/// those of a fixed size. In lists, structs and maps only other lists, dictionaries and runs change.
pub fn read_type(file: &DataType) -> DataType {
    match file {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, values) => read_type(values),
        DataType::RunEndEncoded(_, values) => read_type(values.data_type()),
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        other => nested(other),
    }
}

/// The type in which values within lists, structs and maps are read.
fn nested(file: &DataType) -> DataType {
    let inner = |field: &FieldRef| match nested(field.data_type()) {
        same if same == *field.data_type() => field.clone(),
        other => Arc::new(field.as_ref().clone().with_data_type(other)),
    };
    match file {
        DataType::Dictionary(_, values) => nested(values),
        DataType::RunEndEncoded(_, values) => nested(values.data_type()),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => DataType::List(inner(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(inner(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    }
}

/// The field of a type that has one: of lists and maps, and of runs.
pub fn item(data_type: &DataType) -> Option<&Field> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::RunEndEncoded(_, item)
        | DataType::Map(item, _) => Some(item),
        _ => None,
    }
}

/// How many lists, structs and maps a type has within one another.
pub fn depth(data_type: &DataType) -> usize {
    match data_type {
        DataType::Dictionary(_, values) => depth(values),
        DataType::Struct(fields) => {
            1 + fields.iter().map(|field| depth(field.data_type())).max().unwrap_or(0)
        }
        other => item(other).map_or(0, |item| 1 + depth(item.data_type())),
    }
}

/// Refuses columns of a type that no operator knows.
pub fn check_readable(file: &Schema) -> Result<()> {
    let union = file.flattened_fields().into_iter().find(|f| matches!(f.data_type(), DataType::Union(..)));
    match union {
        None => Ok(()),
        Some(field) => Err(Error::Schema {
            path: PathBuf::new(),
            message: format!(
                "column '{}' is a union of types, which is not read; write the file without it",
                field.name()
            ),
        }),
    }
}

/// The schema in which a file is read: UUIDs as text, other types by [`read_type`], without metadata, whose hash maps have no order.
pub fn read_schema(file: &Schema) -> Schema {
    Schema::new(
        file.fields()
            .iter()
            .map(|f| Arc::new(Field::new(f.name(), read_type(&uuid::read_type(f)), f.is_nullable())))
            .collect::<Vec<_>>(),
    )
}

/// The schema with which a file is written for other tools: views as plain text and bytes, without metadata.
pub fn plain_schema(schema: &Schema) -> Schema {
    Schema::new(schema.fields().iter().map(plain_field).collect::<Vec<_>>())
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(plain_field(item)),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(plain_field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(plain_field(entries), *sorted),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}
