//! `palais inspect`: shows what lies in files.

use std::borrow::Cow;
use std::fmt::Write;

use formats::inspect::{Inspection, PartInspection};
use formats::registry::format;
use schema::text::types::sql_name;
use schema::{FileSet, Source, Table};
use session::writers::escape::escaped;
use session::writers::table::{grouped, plural};
use unicode_width::UnicodeWidthStr;

use crate::args;
use crate::print;
use crate::tables;

/// The most characters of a least or greatest value.
const LONGEST: usize = 24;

/// The most files that are listed.
const FILES: usize = 100;

/// `palais inspect`.
pub fn run(i: &args::Inspect) -> anyhow::Result<()> {
    let table = tables::sources(&i.input)?.open_one(&i.path)?;
    let Source::Files(files) = &table.source else { unreachable!("a location is one of files") };
    let mut text = Report::new(&table, files)?.text(&i.path);
    if i.check {
        let _ = writeln!(text, "\n{} agree", counted(formats::checksum::check(files)?, "checksum"));
    }
    Ok(print::text(&text)?)
}

/// What `palais inspect` tells of a table.
struct Report<'a> {
    table: &'a Table,
    files: &'a FileSet,
    /// What lies in each file, for formats whose files tell of their parts.
    found: Vec<Inspection>,
}

impl Report<'_> {
    fn new<'a>(table: &'a Table, files: &'a FileSet) -> anyhow::Result<Report<'a>> {
        let format = format(&files.format.encoding)?;
        let found = files.files.iter().map(|file| format.inspect(file));
        let found = found.collect::<formats::Result<Option<Vec<Inspection>>>>()?;
        Ok(Report { table, files, found: found.unwrap_or_default() })
    }

    fn text(&self, location: &str) -> String {
        let mut text = format!(
            "{}: {}\n\n{}",
            escaped(location, |_| false),
            self.summary(),
            aligned(&self.columns(), &[2, 3, 4, 5])
        );
        if self.files.files.len() != 1 {
            text.push('\n');
            text.push_str(&aligned(&self.list(), &[1, 2]));
            if let Some(more) = self.files.files.len().checked_sub(FILES).filter(|more| *more > 0) {
                let _ = writeln!(text, "  and {} more", grouped(more as u64));
            }
            return text;
        }
        for found in &self.found {
            if !found.names.is_empty() {
                text.push('\n');
                text.push_str(&aligned(&named(found), &[1]));
                continue;
            }
            for (number, part) in found.parts.iter().enumerate() {
                let _ = writeln!(text, "\n{} {number}: {}", found.part, counted(part.rows, "row"));
                text.push_str(&aligned(&chunks(part), &[1, 2, 3, 4]));
            }
        }
        text
    }

    /// The rows, files and bytes of the table, and their format.
    fn summary(&self) -> String {
        let FileSet { files, format, layouts, .. } = self.files;
        let rows = self.rows();
        let within = match self.found.as_slice() {
            [Inspection { part, parts, .. }] if rows.is_some() => Some(counted(parts.len() as u64, part)),
            _ if rows.is_none() && files.len() == 1 => None,
            _ => Some(counted(files.len() as u64, "file")),
        };
        let rows = rows.map(|rows| format!("{} in ", counted(rows, "row"))).unwrap_or_default();
        let within = within.map(|within| format!("{within}, ")).unwrap_or_default();
        let mut text = format!("{rows}{within}{} bytes of {}", grouped(self.files.bytes()), format.encoding);
        let mut around: Vec<&str> = layouts.iter().map(|layout| layout.compression.as_str()).collect();
        around.push(&format.compression);
        around.sort_unstable();
        around.dedup();
        around.retain(|compression| *compression != "none");
        if !around.is_empty() {
            let _ = write!(text, " with {}", around.join(" and "));
        }
        if formats::registry::format(&format.encoding).is_ok_and(|encoding| encoding.is_delimited()) {
            let delimiter = char::from(format.delimiter).escape_default();
            let header = if format.header { "names in the first record" } else { "no names" };
            let _ = write!(text, ", '{delimiter}' between fields, {header}");
        }
        text
    }

    fn rows(&self) -> Option<u64> {
        let found = || self.found.iter().map(|found| found.rows).sum::<Option<u64>>();
        self.table.rows.or_else(|| found().filter(|_| !self.found.is_empty()))
    }

    /// A line for each column, with the sums over all parts of all files.
    fn columns(&self) -> Vec<Vec<String>> {
        let has_parts = self.found.iter().any(|found| !found.parts.is_empty());
        let titles = ["column", "type", "raw", "stored", "nulls", "distinct"];
        let titles = if has_parts { &titles[..] } else { &titles[..2] };
        let mut lines = vec![titles.iter().map(|title| title.to_string()).collect::<Vec<_>>()];
        for field in self.table.schema.fields() {
            let name = field.name();
            let data_type = sql_name(field.data_type()).unwrap_or_else(|| field.data_type().to_string());
            let mut line = vec![name.clone(), data_type];
            if has_parts {
                let parts = || self.found.iter().flat_map(|found| &found.parts);
                let chunks =
                    || parts().flat_map(|part| part.chunks.iter().filter(|chunk| chunk.column == *name));
                let known = |sum: Option<u64>| sum.filter(|_| chunks().next().is_some());
                line.push(number(known(chunks().map(|chunk| chunk.raw_bytes).sum())));
                line.push(number(known(Some(chunks().map(|chunk| chunk.stored_bytes).sum()))));
                line.push(number(known(chunks().map(|chunk| chunk.nulls).sum())));
                line.push(about(self.distinct(name)));
            }
            lines.push(line);
        }
        lines
    }

    /// The distinct values of a column in one file; `None` for several, since what they have in common is not known.
    fn distinct(&self, column: &str) -> Option<u64> {
        let [found] = self.found.as_slice() else { return None };
        found.distinct.get(found.schema.index_of(column).ok()?).copied()
    }

    /// A line for each file.
    fn list(&self) -> Vec<Vec<String>> {
        let mut lines = vec![["file", "rows", "bytes"].map(String::from).to_vec()];
        for (at, file) in self.files.files.iter().enumerate().take(FILES) {
            let rows = file.rows.or_else(|| self.found.get(at)?.rows);
            lines.push(vec![file.path.display().to_string(), number(rows), grouped(file.bytes)]);
        }
        lines
    }
}

/// A line for each part, of those that have names.
fn named(found: &Inspection) -> Vec<Vec<String>> {
    let mut lines = vec![vec![found.part.to_string(), "rows".into()]];
    let parts = found.names.iter().zip(&found.parts);
    lines.extend(parts.map(|(name, part)| vec![name.clone(), grouped(part.rows)]));
    lines
}

/// A line for each column of a part.
fn chunks(part: &PartInspection) -> Vec<Vec<String>> {
    let titles = ["column", "raw", "stored", "nulls", "distinct", "min", "max", "compression", "encoding"];
    let mut lines = vec![titles.map(String::from).to_vec()];
    lines.extend(part.chunks.iter().map(|chunk| {
        vec![
            chunk.column.clone(),
            number(chunk.raw_bytes),
            grouped(chunk.stored_bytes),
            number(chunk.nulls),
            about(chunk.distinct),
            short(chunk.min.as_deref()),
            short(chunk.max.as_deref()),
            chunk.compression.clone(),
            chunk.encoding.clone(),
        ]
    }));
    lines
}

/// A number as text; `-` if it is not known.
fn number(number: Option<u64>) -> String {
    number.map_or("-".into(), grouped)
}

/// An estimated number as text.
fn about(number: Option<u64>) -> String {
    number.map_or("-".into(), |number| format!("~{}", grouped(number)))
}

fn counted(number: u64, word: &str) -> String {
    format!("{} {}", grouped(number), plural(number, word))
}

/// A value on one line, cut where it is long; `-` if it is not known.
fn short(value: Option<&str>) -> String {
    let Some(value) = value else { return "-".into() };
    let mut shown: String = value.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if value.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// Rows of cells as lines, each column as wide as its widest cell. Columns in `right` are set to the right. Columns of
/// which nothing but the title is known are left out.
fn aligned(rows: &[Vec<String>], right: &[usize]) -> String {
    let rows: Vec<Vec<Cow<'_, str>>> =
        rows.iter().map(|row| row.iter().map(|cell| escaped(cell, |_| false)).collect()).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let is_known = |column: usize| rows.len() < 2 || rows[1..].iter().any(|row| row[column] != "-");
    let widths: Vec<usize> =
        (0..columns).map(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate().filter(|(i, _)| is_known(*i)) {
            let gap = " ".repeat(width - cell.width());
            let (before, behind) =
                if right.contains(&column) { (gap.as_str(), "") } else { ("", gap.as_str()) };
            let _ = write!(line, "  {before}{cell}{behind}");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
