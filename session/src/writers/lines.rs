//! Lines of text as they are, for plans: no frame, no names of columns and no quotes.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, SchemaRef};
use unicode_width::UnicodeWidthStr;

use super::escape::escaped;
use super::{Error, Output, Result, ResultWriter};

/// How many characters a continued line is indented below the first one.
const HANGING: usize = 4;

/// The least room of a line behind its indent, in characters.
const LEAST: usize = 20;

/// Writes the texts of the first column, a line each, and folds lines at the width of a terminal.
pub struct LinesWriter {
    out: Box<dyn Output>,
    width: Option<usize>,
    before: usize,
}

impl LinesWriter {
    /// Writes to `out`, with at most `width` characters in a line. A folded line goes on below the text behind the
    /// first `before` characters.
    pub fn new(out: Box<dyn Output>, width: Option<usize>, before: usize) -> LinesWriter {
        LinesWriter { out, width, before }
    }
}

impl ResultWriter for LinesWriter {
    fn begin(&mut self, schema: &SchemaRef) -> Result<()> {
        match schema.fields().first().map(|field| field.data_type()) {
            Some(DataType::Utf8) => Ok(()),
            _ => Err(Error::Refused("the result has no lines of text".into())),
        }
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        for line in batch.column(0).as_string::<i32>().iter().flatten() {
            let line = escaped(line, |_| false);
            let folded = self.width.map(|width| fold(&line, width, self.before));
            for line in folded.unwrap_or_else(|| vec![line.into_owned()]) {
                self.out.put(format!("{line}\n").as_bytes())?;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.out.finish()
    }
}

/// Folds a line between words into lines of at most `width` characters.
fn fold(line: &str, width: usize, before: usize) -> Vec<String> {
    // The text behind the figures has one byte a character up to its first word.
    let before = if line.is_char_boundary(before) && line.len() > before { before } else { 0 };
    let indent = before + line[before..].len() - line[before..].trim_start().len();
    let below = " ".repeat((indent + HANGING).min(width.saturating_sub(LEAST)));
    let (mut lines, mut current) = (Vec::new(), line[..indent].to_string());
    let mut is_begun = false;
    for word in line[indent..].split(' ') {
        if is_begun && current.width() + 1 + word.width() > width {
            lines.push(std::mem::replace(&mut current, below.clone()));
            is_begun = false;
        }
        if is_begun {
            current.push(' ');
        }
        current.push_str(word);
        is_begun = true;
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_folded_below_what_it_tells() {
        let line = "   1,000    filter  a = 1 and b = 'größe' and c";
        assert_eq!(fold(line, 80, 8), [line]);
        assert_eq!(fold(line, 30, 8), ["   1,000    filter  a = 1 and", "          b = 'größe' and c"]);
        assert_eq!(fold("no room at all", 5, 0), ["no", "room", "at", "all"]);
        assert_eq!(fold("", 80, 8), [""]);
    }

    #[test]
    fn no_line_is_longer_unless_a_word_is() {
        let line = format!("{:37}  {}", "", "some words of an operator, ".repeat(12));
        for width in 45..120 {
            let lines = fold(line.trim_end(), width, 37);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:?}");
            let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
            assert_eq!(words(&lines.join(" ")), words(&line));
        }
    }
}
