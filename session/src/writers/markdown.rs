//! A table in markdown (GitHub's tables), written as the rows come.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use schema::zones::Clocks;

use super::value::{Column, is_number, quote};
use super::{Output, Result, ResultWriter};

/// Writes one line a row.
pub struct MarkdownWriter {
    out: Box<dyn Output>,
    /// The clocks that instants are printed by; those of UTC if none.
    clocks: Option<Clocks>,
}

impl MarkdownWriter {
    /// Writes to `out`.
    pub fn new(out: Box<dyn Output>, clocks: Option<Clocks>) -> MarkdownWriter {
        MarkdownWriter { out, clocks }
    }

    fn line(&mut self, cells: impl Iterator<Item = String>) -> Result<()> {
        let mut line = String::new();
        for cell in cells {
            line += &format!("| {cell} ");
        }
        line += "|\n";
        self.out.put(line.as_bytes())
    }
}

impl ResultWriter for MarkdownWriter {
    fn begin(&mut self, schema: &SchemaRef) -> Result<()> {
        let fields = schema.fields();
        self.line(fields.iter().map(|f| escaped(&quote(f.name()).unwrap_or_else(|| f.name().clone()))))?;
        self.line(fields.iter().map(|f| if is_number(f.data_type()) { "---:" } else { "---" }.to_string()))
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = Column::all(batch, self.clocks)?;
        for row in 0..batch.num_rows() {
            self.line(columns.iter().map(|column| {
                let mut cell = String::new();
                column.cell(row, &mut cell);
                escaped(&cell)
            }))?;
        }
        self.out.pass_on()
    }

    fn end(&mut self) -> Result<()> {
        self.out.finish()
    }
}

/// Escapes characters that have a meaning in markdown. An underscore within a word has none.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let within_word =
            before.is_alphanumeric() && rest.peek().is_some_and(|c| c.is_alphanumeric() || *c == '_');
        match c {
            '\\' | '|' | '*' | '`' | '<' | '[' | ']' | '~' => out.push('\\'),
            '_' if !within_word => out.push('\\'),
            _ => {}
        }
        out.push(c);
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writers::output::tests::Memory;

    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};

    #[test]
    fn rows_are_lines_and_signs_lose_their_meaning() {
        let memory = Memory::default();
        let mut writer = MarkdownWriter::new(Box::new(memory.clone()), None);
        let schema = Arc::new(Schema::new(vec![
            Field::new("total_revenue", DataType::Int64, true),
            Field::new("a|b", DataType::Utf8, true),
        ]));
        writer.begin(&schema).unwrap();
        let texts = StringArray::from(vec![Some("x | *y* _z_ <b> `c` \\"), None, Some("two\nlines")]);
        let numbers = Int64Array::from(vec![Some(-1), None, Some(3)]);
        let batch = RecordBatch::try_new(schema, vec![Arc::new(numbers), Arc::new(texts)]).unwrap();
        writer.batch(&batch).unwrap();
        writer.end().unwrap();
        let expected = "| total_revenue | a\\|b |\n| ---: | --- |\n\
                        | -1 | x \\| \\*y\\* \\_z\\_ \\<b> \\`c\\` \\\\ |\n\
                        | NULL | NULL |\n| 3 | E'two\\\\nlines' |\n";
        assert_eq!(memory.text(), expected);
        assert!(memory.finished());
    }
}
