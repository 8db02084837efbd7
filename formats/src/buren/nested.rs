//! Lists and structs.
//!
//! ```text
//! lists(n)   = count: u32  integers of 32 bits(n): lengths  column(count)      the items of all lists, one after the other
//! structs(n) = column(n) for each field
//! ```
//!
//! Items are a column like any other, with a validity of its own. A list that is NULL has no items. The fields of a struct
//! that is NULL are NULL too.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, StructArray, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use arrow_select::nullif::nullif;
use arrow_select::take::take;

use super::chunk::{Sink, Source};
use super::decode::Column;
use super::encode::{Encoded, put_column};
use super::integers::decode::Integers;
use super::integers::encode::put as put_integers;
use crate::columns::types::read_type;
use crate::error::{Error, Result};

/// The most items of the lists of a row group, so that a forged count does not ask for memory without end.
pub const MOST_ITEMS: usize = 1 << 24;

/// The type as which a column is written: every kind of list as a list, and text as views in them too.
pub fn written_type(data_type: &DataType) -> DataType {
    let field = |f: &FieldRef| Arc::new(Field::new(f.name(), written_type(f.data_type()), f.is_nullable()));
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => DataType::List(field(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        other => read_type(other),
    }
}

/// Writes lists.
pub fn put_lists(array: &ListArray, sink: &mut Sink, out: &mut Encoded) -> Result<()> {
    let mut lengths = Vec::with_capacity(array.len());
    let mut kept: Vec<u32> = Vec::new();
    let offsets = array.value_offsets();
    for (row, ends) in offsets.windows(2).enumerate() {
        let items = if array.is_valid(row) { ends[0] as u32..ends[1] as u32 } else { 0..0 };
        lengths.push(items.end - items.start);
        kept.extend(items);
        if kept.len() > MOST_ITEMS {
            return Err(Error::Unsupported(format!(
                "a row group of a buren file holds lists of {MOST_ITEMS} items in all, and here are more: write parquet"
            )));
        }
    }
    let items = take(array.values(), &UInt32Array::from(kept), None).map_err(|e| wrong(&e.to_string()))?;
    sink.count(items.len())?;
    put_integers(&lengths, sink)?;
    put_column(&items, sink, out)
}

/// Writes structs.
pub fn put_structs(array: &StructArray, sink: &mut Sink, out: &mut Encoded) -> Result<()> {
    // What lies in a struct that is NULL must not reach the file.
    let hidden = array.nulls().map(|nulls| BooleanArray::new(!nulls.inner(), None));
    for column in array.columns() {
        match &hidden {
            None => put_column(column, sink, out)?,
            Some(hidden) => {
                let column = nullif(column, hidden).map_err(|e| wrong(&e.to_string()))?;
                put_column(&column, sink, out)?;
            }
        }
    }
    Ok(())
}

/// Reads lists; rows without a value are empty.
pub fn lists(
    source: &mut Source,
    item: &FieldRef,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    source.below(|source| {
        let count = source.count(MOST_ITEMS)?;
        let lengths: Vec<u32> = Integers::open(source, rows)?.all(rows)?;
        let total: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        if total != count as u64 {
            return Err(source.damaged(format_args!("lists of {total} items in all, and there are {count}")));
        }
        let items = Column::within(source, item.data_type(), count)?.read(0, count, None)?;
        let mut end = 0;
        let ends = lengths.iter().map(|&length| {
            end += length as i32;
            end
        });
        let offsets = OffsetBuffer::new(ScalarBuffer::from_iter(std::iter::once(0).chain(ends)));
        let lists = ListArray::try_new(item.clone(), offsets, items, nulls);
        Ok(Arc::new(lists.map_err(|e| wrong(&e.to_string()))?) as ArrayRef)
    })
}

/// Reads structs.
pub fn structs(
    source: &mut Source,
    fields: &Fields,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    source.below(|source| {
        let columns = fields.iter().map(|f| Column::within(source, f.data_type(), rows)?.read(0, rows, None));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let structs = match fields.is_empty() {
            true => Ok(StructArray::new_empty_fields(rows, nulls)),
            false => StructArray::try_new(fields.clone(), columns, nulls),
        };
        Ok(Arc::new(structs.map_err(|e| wrong(&e.to_string()))?) as ArrayRef)
    })
}

/// Writes a column of lists or structs; `None` if it is neither.
pub fn put(array: &ArrayRef, sink: &mut Sink, out: &mut Encoded) -> Option<Result<()>> {
    match array.data_type() {
        DataType::List(_) => Some(put_lists(array.as_list(), sink, out)),
        DataType::Struct(_) => Some(put_structs(array.as_struct(), sink, out)),
        _ => None,
    }
}

fn wrong(why: &str) -> Error {
    Error::corrupt(format!("damaged column chunk: {why}"))
}
