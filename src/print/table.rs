//! A table in a frame, for a terminal: wide columns shortened, columns in the middle and rows in the middle left out,
//! with a note of how many.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::fit::{Fit, Need, fit};
use super::value::{Column, is_number, quote};
use super::{Output, Result, ResultWriter};

/// How a table is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableOptions {
    /// The characters in a line; `None` is any number.
    pub width: Option<usize>,
    /// The most rows shown; of more, the first and the last of them.
    pub max_rows: usize,
    /// Whether NULL, types and notes are dimmed and names bold.
    pub color: bool,
    /// Whether frames may be drawn with other characters than ASCII's.
    pub unicode: bool,
}

/// Shows the first and the last rows in a frame when all of them have come. Holds only the rows that it shows.
pub struct TableWriter {
    out: Box<dyn Output>,
    options: TableOptions,
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

/// The characters of frames: corners and crossings from the top left, the lines, and what stands for what is left out.
struct Frame {
    top: [&'static str; 3],
    middle: [&'static str; 3],
    bottom: [&'static str; 3],
    across: &'static str,
    down: &'static str,
    more: &'static str,
}

const UNICODE: Frame = Frame {
    top: ["┌", "┬", "┐"],
    middle: ["├", "┼", "┤"],
    bottom: ["└", "┴", "┘"],
    across: "─",
    down: "│",
    more: "…",
};

const ASCII: Frame = Frame {
    top: ["+", "+", "+"],
    middle: ["+", "+", "+"],
    bottom: ["+", "+", "+"],
    across: "-",
    down: "|",
    more: "~",
};

const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

impl TableWriter {
    /// Writes to `out` when the result has ended.
    pub fn new(out: Box<dyn Output>, options: TableOptions) -> TableWriter {
        TableWriter { out, options, schema: None, first: Vec::new(), last: VecDeque::new(), rows: 0 }
    }

    fn keeps_first(&self) -> usize {
        self.options.max_rows.div_ceil(2)
    }

    fn keeps_last(&self) -> usize {
        self.options.max_rows / 2
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
        // Only what is shown is made text of.
        let wanted = batch.slice(0, first);
        self.first.extend(cells(&wanted)?);
        let wanted = batch.slice(last, rows - last);
        self.last.extend(cells(&wanted)?);
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
}

fn cells(batch: &RecordBatch) -> Result<Vec<Vec<Cell>>> {
    let columns = batch.columns().iter().map(Column::new).collect::<Result<Vec<_>, formats::Error>>()?;
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

/// What is drawn: everything that depends on the schema and the widths.
struct Drawing {
    frame: &'static Frame,
    color: bool,
    fit: Fit,
    names: Vec<String>,
    types: Vec<String>,
    right: Vec<bool>,
}

impl Drawing {
    fn new(writer: &TableWriter, schema: &SchemaRef) -> Drawing {
        let names: Vec<String> =
            schema.fields().iter().map(|f| quote(f.name()).unwrap_or_else(|| f.name().clone())).collect();
        let type_name =
            |data_type| schema::text::types::sql_name(data_type).unwrap_or_else(|| format!("{data_type}"));
        let types: Vec<String> =
            schema.fields().iter().map(|f| type_name(f.data_type()).to_lowercase()).collect();
        let right: Vec<bool> = schema.fields().iter().map(|f| is_number(f.data_type())).collect();
        let needs: Vec<Need> = (0..names.len())
            .map(|column| {
                let rows = writer.first.iter().chain(&writer.last);
                let values = rows.map(|row| row[column].width).max().unwrap_or(0);
                // A long name of a type is shortened before it makes a column wide.
                let name = names[column].width().max(types[column].width().min(12));
                Need { widest: values.max(name), least: if right[column] { values } else { 0 } }
            })
            .collect();
        let frame = if writer.options.unicode { &UNICODE } else { &ASCII };
        Drawing {
            frame,
            color: writer.options.color,
            fit: fit(&needs, writer.options.width),
            names,
            types,
            right,
        }
    }

    fn draw(&self, writer: &TableWriter) -> String {
        let mut out = String::new();
        if self.names.is_empty() {
            return out;
        }
        self.rule(&self.frame.top, &mut out);
        self.line(&mut out, |column| (&self.names[column], BOLD));
        self.line(&mut out, |column| (&self.types[column], DIM));
        self.rule(&self.frame.middle, &mut out);
        let row = |row: &Vec<Cell>, out: &mut String| {
            self.line(out, |column| (&row[column].text, if row[column].null { DIM } else { "" }));
        };
        writer.first.iter().for_each(|cells| row(cells, &mut out));
        let hidden = writer.rows - (writer.first.len() + writer.last.len()) as u64;
        if hidden > 0 {
            self.note(
                &format!("{} {} more {}", self.frame.more, grouped(hidden), plural(hidden, "row")),
                &mut out,
            );
        }
        writer.last.iter().for_each(|cells| row(cells, &mut out));
        self.rule(&self.frame.bottom, &mut out);
        if self.fit.gap.is_some() {
            let (all, shown) = (self.names.len(), self.fit.columns.len());
            let note = format!("{all} columns, {shown} shown; --format csv gives all");
            out += &self.painted(&note, DIM);
            out.push('\n');
        }
        out
    }

    /// The inner widths of what stands between two lines, the gap's included.
    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.fit.columns.iter().map(|(_, width)| *width).collect();
        if let Some(gap) = self.fit.gap {
            widths.insert(gap, 1);
        }
        widths
    }

    fn rule(&self, [left, cross, right]: &[&str; 3], out: &mut String) {
        let lines: Vec<String> = self.widths().iter().map(|w| self.frame.across.repeat(w + 2)).collect();
        *out += &format!("{left}{}{right}\n", lines.join(cross));
    }

    /// One line of cells; `cell` gives a column's text and its colour.
    fn line<'a>(&self, out: &mut String, cell: impl Fn(usize) -> (&'a String, &'a str)) {
        let mut cells: Vec<String> = self
            .fit
            .columns
            .iter()
            .map(|&(column, width)| {
                let (text, color) = cell(column);
                let (text, used) = self.shortened(text, width);
                let blank = " ".repeat(width - used);
                let text = self.painted(&text, color);
                if self.right[column] { blank + &text } else { text + &blank }
            })
            .collect();
        if let Some(gap) = self.fit.gap {
            cells.insert(gap, self.frame.more.to_string());
        }
        let down = self.frame.down;
        *out += &format!("{down} {} {down}\n", cells.join(&format!(" {down} ")));
    }

    /// One line of text over all columns.
    fn note(&self, text: &str, out: &mut String) {
        let widths = self.widths();
        let width = widths.iter().sum::<usize>() + 3 * (widths.len() - 1);
        let (text, used) = self.shortened(text, width);
        let down = self.frame.down;
        *out += &format!("{down} {}{} {down}\n", self.painted(&text, DIM), " ".repeat(width - used));
    }

    /// The text cut to a width, with a mark at its end if it was cut, and the width that it has.
    fn shortened(&self, text: &str, width: usize) -> (String, usize) {
        let used = text.width();
        if used <= width {
            return (text.to_string(), used);
        }
        let (mut cut, mut used) = (String::new(), 0);
        for c in text.chars() {
            let next = c.width().unwrap_or(0);
            if used + next + 1 > width {
                break;
            }
            cut.push(c);
            used += next;
        }
        // Marks that join characters can make the whole narrower than the sum of its parts.
        let used = cut.width() + 1;
        (cut + self.frame.more, used.min(width))
    }

    fn painted(&self, text: &str, color: &str) -> String {
        if self.color && !color.is_empty() { format!("{color}{text}{PLAIN}") } else { text.to_string() }
    }
}

/// A number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The word, with an `s` where there is not one of it.
pub fn plural(number: u64, word: &str) -> String {
    if number == 1 { word.to_string() } else { format!("{word}s") }
}
