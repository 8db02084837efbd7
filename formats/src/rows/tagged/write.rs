//! Writes rows of values that begin with their type and length: a row is an array, a struct a map from the names of its
//! fields.

use std::marker::PhantomData;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::Result;
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
    /// What a row begins with: the head of its array.
    row: Vec<u8>,
    heads: PhantomData<H>,
}

impl<H: Heads> TaggedWriter<H> {
    /// A writer for this schema.
    pub fn new(schema: &SchemaRef) -> Result<TaggedWriter<H>> {
        check_nested(schema, H::NAME, is_flat)?;
        let mut row = Vec::new();
        H::array(schema.fields().len(), &mut row);
        Ok(TaggedWriter { row, heads: PhantomData })
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
            for column in &columns {
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
