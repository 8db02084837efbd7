//! Draws the frame, the names, the types and the values of a table.

use arrow_schema::SchemaRef;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Cell, TableWriter, grouped, plural};
use crate::writers::escape::escaped;
use crate::writers::fit::{Fit, Need, fit};
use crate::writers::value::{is_number, quote};

/// The characters of frames: corners and crossings from the top left, the lines, and the mark for what is left out.
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

/// All of a drawing that depends on the schema and the widths.
pub struct Drawing {
    frame: &'static Frame,
    color: bool,
    fit: Fit,
    /// The note in place of the rows that are not shown.
    note: Option<String>,
    names: Vec<String>,
    types: Vec<String>,
    right: Vec<bool>,
}

impl Drawing {
    /// The drawing of the rows that the writer holds.
    pub fn new(writer: &TableWriter, schema: &SchemaRef) -> Drawing {
        let names: Vec<String> =
            schema.fields().iter().map(|f| quote(f.name()).unwrap_or_else(|| f.name().clone())).collect();
        let type_name =
            |data_type| schema::text::types::sql_name(data_type).unwrap_or_else(|| format!("{data_type}"));
        let types: Vec<String> =
            schema.fields().iter().map(|f| shown_type(&type_name(f.data_type()))).collect();
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
        let hidden = writer.hidden();
        let note = (hidden > 0)
            .then(|| format!("{} {} more {}", frame.more, grouped(hidden), plural(hidden, "row")));
        // Half a count would be a wrong one.
        let missing = note.as_ref().map_or(0, |note| note.width().saturating_sub(inner_width(&widths(&fit))));
        if let Some((_, width)) = fit.columns.last_mut() {
            *width += missing;
        }
        Drawing { frame, color: writer.options.color, fit, note, names, types, right }
    }

    /// The text of the whole table.
    pub fn draw(&self, writer: &TableWriter) -> String {
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

    /// Draws one line of cells; `cell` gives the text of a column and its colour.
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

    /// Cuts the text to a width, with a mark at its end if it was cut. Gives the text and the width that it has.
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

/// The name of a type as it is shown. Invisible characters are escaped, because names of struct fields come from files.
fn shown_type(name: &str) -> String {
    escaped(&name.to_lowercase(), |_| false).into_owned()
}

/// The widths of the columns and of the gap.
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
