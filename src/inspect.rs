//! `palais inspect`: what lies in a buren file.

use std::fmt::Write;
use std::path::Path;

use formats::buren::inspect::{ChunkInspection, Inspection, check, inspect};
use schema::text::types::sql_name;
use session::writers::table::{grouped, plural};
use unicode_width::UnicodeWidthStr;

use crate::args;
use crate::print;

/// The most characters of a least or greatest value.
const LONGEST: usize = 24;

/// `palais inspect`.
pub fn run(i: &args::Inspect) -> anyhow::Result<()> {
    let found = inspect(&i.file)?;
    let mut text = report(&i.file, &found)?;
    if i.check {
        let _ = writeln!(text, "\n{} agree", counted(check(&i.file)?, "checksum"));
    }
    Ok(print::text(&text)?)
}

fn report(path: &Path, found: &Inspection) -> anyhow::Result<String> {
    let bytes = std::fs::metadata(path)?.len();
    let mut text = format!(
        "{}: {} in {}, {} bytes\n\n",
        path.display(),
        counted(found.rows, "row"),
        counted(found.groups.len() as u64, "row group"),
        grouped(bytes)
    );
    let mut columns =
        vec![["column", "type", "raw", "stored", "nulls", "distinct"].map(String::from).to_vec()];
    for (place, field) in found.schema.fields().iter().enumerate() {
        let chunks = || found.groups.iter().map(|group| &group.chunks[place]);
        let sum = |of: fn(&ChunkInspection) -> u64| grouped(chunks().map(of).sum());
        columns.push(vec![
            field.name().clone(),
            sql_name(field.data_type()).unwrap_or_else(|| field.data_type().to_string()),
            sum(|c| c.raw_bytes),
            sum(|c| c.stored_bytes),
            sum(|c| c.nulls),
            format!("~{}", grouped(found.distinct[place])),
        ]);
    }
    text.push_str(&aligned(&columns, &[2, 3, 4, 5]));
    for (number, group) in found.groups.iter().enumerate() {
        let _ = writeln!(text, "\nrow group {number}: {}", counted(group.rows, "row"));
        let titles =
            ["column", "raw", "stored", "nulls", "distinct", "min", "max", "compression", "encoding"];
        let mut rows = vec![titles.map(String::from).to_vec()];
        rows.extend(group.chunks.iter().map(|chunk| {
            vec![
                chunk.column.clone(),
                grouped(chunk.raw_bytes),
                grouped(chunk.stored_bytes),
                grouped(chunk.nulls),
                format!("~{}", grouped(chunk.distinct)),
                short(chunk.min.as_deref()),
                short(chunk.max.as_deref()),
                chunk.description.compression.into(),
                chunk.description.encoding.clone(),
            ]
        }));
        text.push_str(&aligned(&rows, &[1, 2, 3, 4]));
    }
    Ok(text)
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

/// Rows of cells as lines, each column as wide as its widest cell; those of the numbers given stand to the right.
fn aligned(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..columns).map(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
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
