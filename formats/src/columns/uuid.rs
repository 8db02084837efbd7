//! UUIDs of column formats: 16 bytes that are annotated as such, read as their text in lower case, which is ordered like
//! the bytes.
//!
//! In Arrow the annotation is the extension type `arrow.uuid`, in Parquet the logical type `UUID`, which the Parquet
//! reader makes the former. Without it 16 bytes stay bytes.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};

use super::leaves;
use crate::error::Result;

/// The key of an extension type's name in the metadata of a field.
const EXTENSION: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";
const BYTES: i32 = 16;

/// A field with the annotation.
pub fn annotated(field: &Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(EXTENSION.into(), UUID.into());
    field.clone().with_metadata(metadata)
}

fn is_uuid(field: &Field) -> bool {
    *field.data_type() == DataType::FixedSizeBinary(BYTES)
        && field.metadata().get(EXTENSION).is_some_and(|name| name == UUID)
}

/// Whether a field holds UUIDs, or values in it do.
pub fn has_uuid(field: &Field) -> bool {
    match field.data_type() {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => has_uuid(item),
        DataType::Map(entries, _) => has_uuid(entries),
        DataType::Struct(fields) => fields.iter().any(|field| has_uuid(field)),
        _ => is_uuid(field),
    }
}

/// The type in which a field is read, UUIDs as text; other types as they are.
pub fn read_type(field: &Field) -> DataType {
    let inner = |f: &FieldRef| match has_uuid(f) {
        true => Arc::new(Field::new(f.name(), read_type(f), f.is_nullable())),
        false => f.clone(),
    };
    match field.data_type() {
        _ if is_uuid(field) => DataType::Utf8View,
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(inner(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    }
}

/// A column of a field in the type in which it is read.
pub fn as_text(column: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    if !has_uuid(field) {
        return Ok(column.clone());
    }
    leaves::changed(column, &read_type(field), &|leaf, _| Ok(text(leaf)))
}

fn text(column: &ArrayRef) -> ArrayRef {
    let bytes = column.as_fixed_size_binary();
    let mut texts = StringViewBuilder::with_capacity(bytes.len());
    let mut text = String::with_capacity(36);
    for value in bytes.iter() {
        let Some(value) = value else {
            texts.append_null();
            continue;
        };
        text.clear();
        spell(value, &mut text);
        texts.append_value(&text);
    }
    Arc::new(texts.finish())
}

/// Appends the text of a UUID.
pub fn spell(bytes: &[u8], text: &mut String) {
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{FixedSizeBinaryArray, ListArray};
    use arrow_buffer::OffsetBuffer;

    use super::*;

    #[test]
    fn uuids_are_text_at_any_depth_and_other_bytes_stay() {
        let plain = Field::new("id", DataType::FixedSizeBinary(BYTES), true);
        let values = (0..16u8).map(|i| i * 17).collect::<Vec<_>>();
        let rows = vec![Some(values.as_slice()), None];
        let column: ArrayRef =
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(rows.into_iter(), 16).unwrap());
        assert_eq!(&as_text(&column, &plain).unwrap(), &column);
        let read = as_text(&column, &annotated(&plain)).unwrap();
        assert_eq!(read.as_string_view().value(0), "00112233-4455-6677-8899-aabbccddeeff");
        assert!(read.is_null(1));

        let item = Arc::new(annotated(&plain));
        let list: ArrayRef =
            Arc::new(ListArray::new(item.clone(), OffsetBuffer::from_lengths([2]), column, None));
        let field = Field::new("ids", DataType::List(item), true);
        let read = as_text(&list, &field).unwrap();
        assert_eq!(*read.data_type(), read_type(&field));
        assert_eq!(read.as_list::<i32>().values().as_string_view().value(0).len(), 36);
    }
}
