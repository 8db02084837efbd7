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
    /// What stands for the rows that are not shown.
    note: Option<String>,
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
        let mut fit = fit(&needs, writer.options.width);
        let hidden = writer.rows - (writer.first.len() + writer.last.len()) as u64;
        let note = (hidden > 0)
            .then(|| format!("{} {} more {}", frame.more, grouped(hidden), plural(hidden, "row")));
        // Half a count would be a wrong one.
        let missing = note.as_ref().map_or(0, |note| note.width().saturating_sub(inner_width(&widths(&fit))));
        if let Some((_, width)) = fit.columns.last_mut() {
            *width += missing;
        }
        Drawing { frame, color: writer.options.color, fit, note, names, types, right }
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
        if let Some(note) = &self.note {
            let blank = " ".repeat(inner_width(&widths(&self.fit)) - note.width());
            let down = self.frame.down;
            out += &format!("{down} {}{blank} {down}\n", self.painted(note, DIM));
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

    fn rule(&self, [left, cross, right]: &[&str; 3], out: &mut String) {
        let lines: Vec<String> = widths(&self.fit).iter().map(|w| self.frame.across.repeat(w + 2)).collect();
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

/// The widths of what stands between the lines, the gap's included.
fn widths(fit: &Fit) -> Vec<usize> {
    let mut widths: Vec<usize> = fit.columns.iter().map(|(_, width)| *width).collect();
    if let Some(gap) = fit.gap {
        widths.insert(gap, 1);
    }
    widths
}

/// The width of a line of text over all columns.
fn inner_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1)
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

/// The word, with an `s` where there is not one of it.
pub fn plural(number: u64, word: &str) -> String {
    if number == 1 { word.to_string() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::output::tests::Memory;

    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatchOptions, StringArray};
    use arrow_schema::{Field, Schema};

    const WIDE: TableOptions = TableOptions { width: None, max_rows: 40, color: false, unicode: true };

    fn shown(options: TableOptions, columns: Vec<(&str, ArrayRef)>, cut: usize) -> String {
        let fields: Vec<_> =
            columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let count = if columns.is_empty() { Some(3) } else { None };
        let arrays = columns.into_iter().map(|(_, a)| a).collect();
        let counted = RecordBatchOptions::new().with_row_count(count);
        let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &counted).unwrap();
        let memory = Memory::default();
        let mut writer = TableWriter::new(Box::new(memory.clone()), options);
        writer.begin(&schema).unwrap();
        for start in (0..batch.num_rows()).step_by(cut) {
            writer.batch(&batch.slice(start, cut.min(batch.num_rows() - start))).unwrap();
        }
        writer.end().unwrap();
        assert!(memory.finished());
        memory.text()
    }

    fn numbers(range: std::ops::Range<i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(range))
    }

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    #[test]
    fn numbers_stand_at_the_right_and_null_is_not_the_word() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(-300)]));
        let columns = vec![("n", numbers), ("word", texts(&[Some("NULL"), None, Some("日本")]))];
        let expected = "\
┌────────┬─────────┐
│      n │ word    │
│ bigint │ varchar │
├────────┼─────────┤
│      1 │ 'NULL'  │
│   NULL │ NULL    │
│   -300 │ 日本    │
└────────┴─────────┘
";
        assert_eq!(shown(WIDE, columns.clone(), 10), expected);
        let ascii = shown(TableOptions { unicode: false, ..WIDE }, columns.clone(), 10);
        assert!(ascii.starts_with("+--------+---------+\n|      n | word    |\n"), "{ascii}");
        let color = shown(TableOptions { color: true, ..WIDE }, columns, 10);
        assert!(
            color.contains("│ \x1b[2mNULL\x1b[0m    │") && color.contains("│      \x1b[1mn\x1b[0m │"),
            "{color}"
        );
    }

    #[test]
    fn rows_in_the_middle_are_counted() {
        for cut in [1, 3, 7, 5000] {
            let text = shown(TableOptions { max_rows: 5, ..WIDE }, vec![("n", numbers(0..4321))], cut);
            let expected = "\
┌───────────────────┐
│                 n │
│            bigint │
├───────────────────┤
│                 0 │
│                 1 │
│                 2 │
│ … 4,316 more rows │
│              4319 │
│              4320 │
└───────────────────┘
";
            assert_eq!(text, expected, "in batches of {cut}");
        }
        let text = shown(TableOptions { max_rows: 5, ..WIDE }, vec![("n", numbers(0..5))], 2);
        assert!(!text.contains('…') && text.lines().count() == 10, "{text}");
        let wide: Vec<_> = (0..3).map(|_| ("a long name", numbers(0..7))).collect();
        let text = shown(TableOptions { max_rows: 6, ..WIDE }, wide, 2);
        assert!(text.contains("│ … 1 more row                            │"), "{text}");
        let text = shown(TableOptions { max_rows: 0, ..WIDE }, vec![("many columns", numbers(0..7))], 2);
        assert!(text.contains("│ … 7 more rows │"), "{text}");
    }

    #[test]
    fn wide_tables_fit_the_terminal() {
        let long = "x".repeat(300);
        let width = |text: &str| text.lines().map(UnicodeWidthStr::width).max().unwrap();
        let text = shown(
            TableOptions { width: Some(60), ..WIDE },
            vec![("a", numbers(0..1)), ("b", texts(&[Some(&long)]))],
            1,
        );
        assert!(width(&text) <= 60 && text.contains("xxx… │"), "{text}");
        let cjk = "日本語".repeat(50);
        let text = shown(TableOptions { width: Some(41), ..WIDE }, vec![("a", texts(&[Some(&cjk)]))], 1);
        assert!(text.lines().all(|l| l.width() == text.lines().next().unwrap().width()), "{text}");
        assert!(width(&text) <= 41);
        let many: Vec<_> = (0..30).map(|_| ("name", numbers(1_000_000..1_000_001))).collect();
        let text = shown(TableOptions { width: Some(60), ..WIDE }, many, 1);
        assert!(width(&text) <= 60, "{text}");
        assert!(
            text.contains("│ … │") && text.ends_with("30 columns, 5 shown; --format csv gives all\n"),
            "{text}"
        );
    }

    #[test]
    fn a_result_without_rows_shows_its_columns() {
        let text = shown(WIDE, vec![("n", numbers(0..0))], 1);
        assert_eq!(text.lines().count(), 5);
        assert_eq!(shown(WIDE, vec![], 1), "");
    }

    #[test]
    fn thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
