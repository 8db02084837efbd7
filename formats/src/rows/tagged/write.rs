//! Writes rows of values that begin with their type and length. A row is a map from the names of its columns, or an
//! array. A struct is a map from the names of its fields.

use std::marker::PhantomData;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::{Error, Result};
use crate::rows::binary::is_flat;
use crate::rows::cells::Cells;
use crate::rows::encoder::RowWriter;
use crate::rows::values::{Node, Values, check_nested};

/// How an encoding writes its values.
pub trait Heads: Send + Sync {
    /// Its name in messages.
    const NAME: &'static str;
    /// The byte of a value that is missing.
    const NULL: u8;

    /// The head of an array of so many values.
    fn array(count: usize, out: &mut Vec<u8>);

    /// The head of a map of so many pairs.
    fn map(count: usize, out: &mut Vec<u8>);

    /// A text, which is UTF-8.
    fn text(bytes: &[u8], out: &mut Vec<u8>);

    /// The value of a row; `word` is room for one that is printed.
    fn put(cells: &Cells, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>);
}

/// Writes batches.
pub struct TaggedWriter<H> {
    /// What a row begins with: the head of its map or array.
    row: Vec<u8>,
    /// What stands before the value of each column: its name in a map.
    names: Vec<Vec<u8>>,
    heads: PhantomData<H>,
}

impl<H: Heads> TaggedWriter<H> {
    /// A writer for this schema: of rows that are arrays, or maps.
    pub fn new(schema: &SchemaRef, arrays: bool) -> Result<TaggedWriter<H>> {
        check_nested(schema, H::NAME, is_flat)?;
        let fields = schema.fields();
        let (mut row, mut names) = (Vec::new(), vec![Vec::new(); fields.len()]);
        if arrays {
            H::array(fields.len(), &mut row);
            return Ok(TaggedWriter { row, names, heads: PhantomData });
        }
        H::map(fields.len(), &mut row);
        for (place, (field, name)) in fields.iter().zip(&mut names).enumerate() {
            if fields[..place].iter().any(|before| before.name() == field.name()) {
                let message = format!(
                    "two columns are called '{}', and a row of {} has each name once; give one another name, \
                     or write rows as arrays",
                    field.name(),
                    H::NAME
                );
                return Err(Error::Schema { path: PathBuf::new(), message });
            }
            H::text(field.name().as_bytes(), name);
        }
        Ok(TaggedWriter { row, names, heads: PhantomData })
    }
}

impl<H: Heads> RowWriter for TaggedWriter<H> {
    fn is_text(&self) -> bool {
        false
    }

    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let columns = Values::columns(batch, |name, out| H::text(name.as_bytes(), out))?;
        let mut word = Vec::new();
        for row in 0..batch.num_rows() {
            out.extend_from_slice(&self.row);
            for (column, name) in columns.iter().zip(&self.names) {
                out.extend_from_slice(name);
                put_value::<H>(column, row, &mut word, out);
            }
        }
        Ok(())
    }
}

#[inline]
fn put_value<H: Heads>(values: &Values, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    match &values.node {
        _ if values.is_null(row) => out.push(H::NULL),
        Node::Flat(cells) => H::put(cells, row, word, out),
        nested => put_nested::<H>(nested, row, word, out),
    }
}

fn put_nested<H: Heads>(node: &Node, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    match node {
        Node::Flat(_) => {}
        Node::List(items, ranges) => {
            H::array(ranges[row].len(), out);
            ranges[row].clone().for_each(|item| put_value::<H>(items, item, word, out));
        }
        Node::Struct(fields) => {
            H::map(fields.len(), out);
            for (name, values) in fields {
                out.extend_from_slice(name);
                put_value::<H>(values, row, word, out);
            }
        }
        Node::Map(entries, ranges) => {
            H::map(ranges[row].len(), out);
            for entry in ranges[row].clone() {
                put_value::<H>(&entries.0, entry, word, out);
                put_value::<H>(&entries.1, entry, word, out);
            }
        }
    }
}
