//! A table in a frame, for a terminal. Wide columns are shortened. Columns and rows in the middle are left out, with a
//! note of how many.

mod drawing;

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use schema::zones::Clocks;
use unicode_width::UnicodeWidthStr;

use super::value::Column;
use super::{Output, Result, ResultWriter};
use drawing::Drawing;

/// The most rows of a table that does not go to a terminal. The writer holds a table whole until it knows the widths,
/// so there must be an end.
const MOST_ROWS: usize = 10_000;

/// How a table is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableOptions {
    /// The characters in a line; `None` is any number.
    pub width: Option<usize>,
    /// The most rows shown; of more rows, the first and the last of them.
    pub max_rows: usize,
    /// Whether NULL, types and notes are dimmed and names bold.
    pub color: bool,
    /// Whether frames may be drawn with other characters than ASCII's.
    pub unicode: bool,
}

impl Default for TableOptions {
    /// A table of full width, for a file. Its frames have the characters that the locale has.
    fn default() -> TableOptions {
        let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| std::env::var(name).ok());
        let locale = set.into_iter().find(|value| !value.is_empty()).unwrap_or_default();
        let unicode = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
        TableOptions { width: None, max_rows: MOST_ROWS, color: false, unicode }
    }
}

/// Shows the first and the last rows in a frame when all rows have come. Holds only the rows that it shows.
pub struct TableWriter {
    out: Box<dyn Output>,
    options: TableOptions,
    /// The clocks that instants are printed by; those of UTC if none.
    clocks: Option<Clocks>,
    schema: Option<SchemaRef>,
    first: Vec<Vec<Cell>>,
    last: VecDeque<Vec<Cell>>,
    rows: u64,
}

struct Cell {
    text: String,
    width: usize,
    null: bool,
}

impl TableWriter {
    /// Writes to `out` when the result has ended.
    pub fn new(out: Box<dyn Output>, options: TableOptions, clocks: Option<Clocks>) -> TableWriter {
        TableWriter { out, options, clocks, schema: None, first: Vec::new(), last: VecDeque::new(), rows: 0 }
    }

    fn keeps_first(&self) -> usize {
        self.options.max_rows.div_ceil(2)
    }

    fn keeps_last(&self) -> usize {
        self.options.max_rows / 2
    }

    /// The number of rows that are not shown.
    fn hidden(&self) -> u64 {
        self.rows - (self.first.len() + self.last.len()) as u64
    }
}

impl ResultWriter for TableWriter {
    fn begin(&mut self, schema: &SchemaRef) -> Result<()> {
        self.schema = Some(schema.clone());
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        self.rows += rows as u64;
        let first = rows.min(self.keeps_first() - self.first.len().min(self.keeps_first()));
        let last = first.max(rows.saturating_sub(self.keeps_last()));
        // Only rows that are shown are made text.
        let wanted = batch.slice(0, first);
        self.first.extend(cells(&wanted, self.clocks)?);
        let wanted = batch.slice(last, rows - last);
        self.last.extend(cells(&wanted, self.clocks)?);
        let beyond = self.last.len().saturating_sub(self.keeps_last());
        self.last.drain(..beyond);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let Some(schema) = self.schema.take() else { return Ok(()) };
        let text = Drawing::new(self, &schema).draw(self);
        self.out.put(text.as_bytes())?;
        self.out.finish()
    }

    fn warning(&self) -> Option<String> {
        // On a terminal the user sees the note within the table.
        (self.hidden() > 0 && self.options.width.is_none()).then(|| {
            let (shown, all) = (grouped(self.options.max_rows as u64), grouped(self.rows));
            format!("the table shows {shown} of {all} rows\n  help: the format csv gives all")
        })
    }
}

fn cells(batch: &RecordBatch, clocks: Option<Clocks>) -> Result<Vec<Vec<Cell>>> {
    let columns = Column::all(batch, clocks)?;
    let row = |row: usize| {
        let cell = |column: &Column| {
            let mut text = String::new();
            column.cell(row, &mut text);
            Cell { width: text.width(), text, null: column.is_null(row) }
        };
        columns.iter().map(cell).collect()
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

/// A number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The word in the plural, unless the number is 1.
pub fn plural(number: u64, word: &str) -> String {
    match (number, word.ends_with("ch")) {
        (1, _) => word.to_string(),
        (_, true) => format!("{word}es"),
        (_, false) => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests;
