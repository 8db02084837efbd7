//! Encodes rows as JSON lines: an object a row, all columns in every object, NULL as `null`. Lists are arrays, structs
//! and maps objects.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use schema::FormatOptions;
use schema::zones::Clocks;

use crate::error::Result;
use crate::rows::cells::Cells;
use crate::rows::encoder::RowWriter;
use crate::rows::json_strings::string;
use crate::rows::print::{Kind, is_printable};
use crate::rows::values::{Node, Values, check_nested};

/// Writes batches as JSON lines.
pub struct JsonWriter {
    /// What stands before the value of each column: the brace or comma, the name, the colon.
    keys: Vec<Vec<u8>>,
    /// The clocks that instants are printed by; those of UTC if none.
    clocks: Option<Clocks>,
}

impl JsonWriter {
    /// A writer for this schema.
    pub fn new(schema: &SchemaRef, options: &FormatOptions) -> Result<JsonWriter> {
        check_nested(schema, "JSON", is_printable)?;
        let keys = schema.fields().iter().enumerate().map(|(i, field)| {
            let mut before = vec![if i == 0 { b'{' } else { b',' }];
            key(field.name(), &mut before);
            before
        });
        Ok(JsonWriter { keys: keys.collect(), clocks: options.clocks() })
    }
}

/// Appends a key and the colon behind it.
fn key(name: &str, out: &mut Vec<u8>) {
    string(name.as_bytes(), out);
    out.push(b':');
}

/// Appends the value of a row.
fn put(values: &Values, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    if values.is_null(row) {
        return out.extend_from_slice(b"null");
    }
    match &values.node {
        Node::Flat(Cells::Text(texts)) => string(texts.value(row).as_bytes(), out),
        Node::Flat(cells) if matches!(cells.kind(row), Kind::Number | Kind::Bool) => cells.print(row, out),
        Node::Flat(cells) => {
            word.clear();
            cells.print(row, word);
            string(word, out);
        }
        nested => put_nested(nested, row, word, out),
    }
}

fn put_nested(node: &Node, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    let comma = |first: bool, out: &mut Vec<u8>| out.extend_from_slice(if first { b"" } else { b"," });
    match node {
        Node::Flat(_) => {}
        Node::List(items, ranges) => {
            let range = ranges[row].clone();
            out.push(b'[');
            for item in range.clone() {
                comma(item == range.start, out);
                put(items, item, word, out);
            }
            out.push(b']');
        }
        Node::Struct(fields) => {
            out.push(b'{');
            for (i, (key, values)) in fields.iter().enumerate() {
                comma(i == 0, out);
                out.extend_from_slice(key);
                put(values, row, word, out);
            }
            out.push(b'}');
        }
        Node::Map(entries, ranges) => {
            let (keys, values) = &**entries;
            let range = ranges[row].clone();
            out.push(b'{');
            for entry in range.clone() {
                comma(entry == range.start, out);
                // A key is a string, whatever its type.
                let from = out.len();
                put(keys, entry, word, out);
                if out.get(from) != Some(&b'"') {
                    let bare = out.split_off(from);
                    string(&bare, out);
                }
                out.push(b':');
                put(values, entry, word, out);
            }
            out.push(b'}');
        }
    }
}

impl RowWriter for JsonWriter {
    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let mut columns = Values::columns(batch, key)?;
        if self.clocks.is_some() {
            columns = columns.into_iter().map(|column| column.in_zone(self.clocks)).collect();
        }
        let mut word = Vec::new();
        for row in 0..batch.num_rows() {
            for (column, key) in columns.iter().zip(&self.keys) {
                out.extend_from_slice(key);
                put(column, row, &mut word, out);
            }
            out.extend_from_slice(if columns.is_empty() { b"{}\n" } else { b"}\n" });
        }
        Ok(())
    }
}
