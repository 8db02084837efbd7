//! What a statement of `tests/slt` gives, compared with what its file says.

use close::close;

use crate::statements::Kind;

#[path = "close.rs"]
mod close;

/// The text of a value in the files.
pub fn cell(value: Option<String>) -> String {
    let Some(text) = value else { return "NULL".into() };
    match text.as_str() {
        "" => return "(empty)".into(),
        "NULL" | "(empty)" => return format!("\\{text}"),
        _ => {}
    }
    let mut text = text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
    if let Some(rest) = text.strip_prefix(' ') {
        text = format!("\\s{rest}");
    }
    match text.strip_suffix(' ') {
        Some(rest) => format!("{rest}\\s"),
        None => text,
    }
}

/// Whether rows are those of the lines of a file.
pub fn same_rows(kinds: &[Kind], rows: &[Vec<String>], lines: &[String]) -> Result<(), String> {
    let expected: Vec<Vec<&str>> = lines.iter().map(|line| line.split('\t').collect()).collect();
    let same = rows.len() == expected.len()
        && rows.iter().zip(&expected).all(|(row, line)| {
            row.len() == line.len()
                && kinds.len() == line.len()
                && kinds
                    .iter()
                    .zip(row.iter().zip(line))
                    .all(|(kind, (got, want))| same_cell(*kind, got, want))
        });
    if same {
        return Ok(());
    }
    let got: Vec<String> = rows.iter().take(20).map(|row| row.join("\t")).collect();
    let want: Vec<&str> = lines.iter().take(20).map(String::as_str).collect();
    Err(format!(
        "{} rows, expected {}\n  got\n{}\n  expected\n{}",
        rows.len(),
        lines.len(),
        got.join("\n"),
        want.join("\n")
    ))
}

/// Whether a value is the one of a file.
pub fn same_cell(kind: Kind, got: &str, want: &str) -> bool {
    if got == want {
        return true;
    }
    if got == "NULL" || want == "NULL" {
        return false;
    }
    match kind {
        Kind::Float => matches!((got.parse(), want.parse()), (Ok(got), Ok(want)) if close(got, want)),
        Kind::Decimal => trim_zeros(got) == trim_zeros(want),
        Kind::Timestamp => timestamp(got) == timestamp(want),
        Kind::Integer | Kind::Boolean | Kind::Date | Kind::Text => false,
    }
}

/// A decimal without zeros at the end of its fraction.
fn trim_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// A timestamp as `date time`, in UTC, without zeros at the end of its fraction.
fn timestamp(text: &str) -> String {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")).unwrap_or(text);
    trim_zeros(text).replacen('T', " ", 1)
}
