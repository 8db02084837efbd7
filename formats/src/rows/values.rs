//! Columns as encoders of nested values take them: trees, of which flat columns are the leaves.

use std::ops::Range;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};
use schema::text::types::DEEPEST;
use schema::zones::Clocks;

use super::cells::{Cells, cast};
use crate::columns::types::{depth, item};
use crate::error::{Error, Result};

/// A column as it is written, with the columns in it.
pub struct Values {
    /// What its values are.
    pub node: Node,
    nulls: Option<NullBuffer>,
}

/// What the values of a column are; those of rows that are NULL mean nothing.
pub enum Node {
    /// Values that hold no others.
    Flat(Cells),
    /// Lists: the items, and where those of each row lie.
    List(Box<Values>, Vec<Range<usize>>),
    /// Structs: for each field its name as it is written, and its values.
    Struct(Vec<(Vec<u8>, Values)>),
    /// Maps: keys and values, and where those of each row lie.
    Map(Box<(Values, Values)>, Vec<Range<usize>>),
}

/// Appends the name of a field as an encoding writes it.
pub type PutName = fn(&str, &mut Vec<u8>);

impl Values {
    /// The columns of a batch.
    pub fn columns(batch: &RecordBatch, name: PutName) -> Result<Vec<Values>> {
        batch.columns().iter().map(|column| Values::new(column, name)).collect()
    }

    /// The values of this column.
    pub fn new(column: &ArrayRef, name: PutName) -> Result<Values> {
        let node = match column.data_type() {
            DataType::List(_) => list(column.as_list::<i32>(), name)?,
            DataType::LargeList(_) => list(column.as_list::<i64>(), name)?,
            DataType::ListView(item) => {
                return Values::new(&cast(column, &DataType::List(item.clone()))?, name);
            }
            DataType::LargeListView(item) => {
                return Values::new(&cast(column, &DataType::LargeList(item.clone()))?, name);
            }
            DataType::FixedSizeList(_, size) => {
                let (list, size) = (column.as_fixed_size_list(), *size as usize);
                let items = Values::new(list.values(), name)?;
                Node::List(Box::new(items), (0..list.len()).map(|row| row * size..(row + 1) * size).collect())
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(column.as_struct().columns()).map(|(field, column)| {
                    let mut written = Vec::new();
                    name(field.name(), &mut written);
                    Ok((written, Values::new(column, name)?))
                });
                Node::Struct(columns.collect::<Result<_>>()?)
            }
            DataType::Map(..) => {
                let map = column.as_map();
                let (first, ranges) = ranges(map.value_offsets());
                let of = |entries: &ArrayRef| {
                    let count = ranges.last().map_or(0, |last| last.end);
                    Values::new(&entries.slice(first, count), name)
                };
                Node::Map(Box::new((of(map.keys())?, of(map.values())?)), ranges)
            }
            DataType::Dictionary(_, values) if values.is_nested() => {
                return Values::new(&cast(column, values)?, name);
            }
            DataType::RunEndEncoded(_, values) => {
                return Values::new(&cast(column, values.data_type())?, name);
            }
            _ => Node::Flat(Cells::new(column)?),
        };
        Ok(Values { node, nulls: column.logical_nulls() })
    }

    /// The same; instants are printed as the clocks of a zone show them.
    pub fn in_zone(self, clocks: Option<Clocks>) -> Values {
        let node = match self.node {
            Node::Flat(cells) => Node::Flat(cells.in_zone(clocks)),
            Node::List(items, ranges) => Node::List(Box::new(items.in_zone(clocks)), ranges),
            Node::Struct(fields) => {
                Node::Struct(fields.into_iter().map(|(name, field)| (name, field.in_zone(clocks))).collect())
            }
            Node::Map(entries, ranges) => {
                let (keys, values) = *entries;
                Node::Map(Box::new((keys.in_zone(clocks), values.in_zone(clocks))), ranges)
            }
        };
        Values { node, ..self }
    }

    /// Whether this row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

/// The items of lists. A slice of a column has those of the whole column in its buffer; they are left out.
fn list<O: OffsetSizeTrait>(list: &GenericListArray<O>, name: PutName) -> Result<Node> {
    let (first, ranges) = ranges(list.value_offsets());
    let items = list.values().slice(first, ranges.last().map_or(0, |last| last.end));
    Ok(Node::List(Box::new(Values::new(&items, name)?), ranges))
}

/// The first offset, and the ranges between offsets from there on.
fn ranges<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, Vec<Range<usize>>) {
    let first = offsets.first().map_or(0, |first| first.as_usize());
    (first, offsets.windows(2).map(|ends| ends[0].as_usize() - first..ends[1].as_usize() - first).collect())
}

/// Checks that every column is of a type that `leaf` takes, or lists, structs and maps of such; `what` is the encoding.
pub fn check_nested(schema: &Schema, what: &str, leaf: fn(&DataType) -> bool) -> Result<()> {
    schema.fields().iter().try_for_each(|field| {
        let too_deep =
            || format!("there are more than {DEEPEST} types within one another, which have no form");
        let checked = match depth(field.data_type()) > DEEPEST {
            true => Err(too_deep()),
            false => check(field.data_type(), leaf),
        };
        checked.map_err(|wrong| Error::Schema {
            path: PathBuf::new(),
            message: format!(
                "column '{}': {wrong} in {what}; cast it in the query, or write parquet or arrow",
                field.name()
            ),
        })
    })
}

fn check(data_type: &DataType, leaf: fn(&DataType) -> bool) -> Result<(), String> {
    if let Some(item) = item(data_type) {
        return check(item.data_type(), leaf);
    }
    match data_type {
        DataType::Dictionary(_, values) => check(values, leaf),
        DataType::Struct(fields) => {
            for (i, field) in fields.iter().enumerate() {
                if fields[..i].iter().any(|before| before.name() == field.name()) {
                    return Err(format!("a struct with two fields '{}' has no form", field.name()));
                }
            }
            fields.iter().try_for_each(|field| check(field.data_type(), leaf))
        }
        other if leaf(other) => Ok(()),
        other => Err(format!(
            "{} has no form",
            schema::text::types::sql_name(other).unwrap_or_else(|| other.to_string())
        )),
    }
}
