//! Whether a csv file begins like another.

use arrow_schema::Schema;
use schema::FormatOptions;

use super::decode::CsvSyntax;
use super::index::Index;
use crate::rows::infer::Kinds;
use crate::rows::quotes::Marks;
use crate::rows::schema_probe::{Columns, Like, SchemaProbe};
use crate::rows::syntax::{Syntax, Token};

/// So many bytes are indexed at first.
const FIRST_BYTES: usize = 2 << 10;

/// Looks at the first records of csv files.
pub struct CsvProbe {
    names: Vec<String>,
    columns: Columns,
    header: bool,
    marks: Marks,
    rows: usize,
    index: Index,
    /// The bytes that were enough for the file before.
    enough: usize,
}

impl CsvProbe {
    /// Looks at so many records behind the header, if files have one.
    pub fn new(options: &FormatOptions, rows: usize, known: &Schema) -> Option<CsvProbe> {
        let names: Vec<_> = known.fields().iter().map(|field| field.name().clone()).collect();
        // A blank line, which is a record where there is one column, is no regular one elsewhere.
        (names.len() > 1).then_some(CsvProbe {
            names,
            columns: Columns::new(known),
            header: options.header,
            marks: super::marks(options).ok()?,
            rows,
            index: Index::default(),
            enough: FIRST_BYTES,
        })
    }

    /// The text of a field; `None` if there are quotes in it that have to be taken out, or that are wrong.
    fn plain<'a>(&self, head: &'a [u8], (start, end): (usize, usize)) -> Option<&'a [u8]> {
        match CsvSyntax::new(self.marks).token(head, start, end) {
            Token::Plain(start, end) => Some(&head[start..end]),
            Token::Null | Token::Empty => Some(&[]),
            Token::Escaped(..) | Token::Broken => None,
        }
    }

    /// Whether the quotes of a field are as they should be.
    fn is_well_quoted(&self, head: &[u8], (start, end): (usize, usize)) -> bool {
        let syntax = CsvSyntax::new(self.marks);
        match syntax.token(head, start, end) {
            Token::Plain(..) | Token::Null | Token::Empty => true,
            Token::Escaped(start, end) => syntax.unescape(&head[start..end], &mut Vec::new()).is_some(),
            Token::Broken => false,
        }
    }

    /// Whether the first record holds the names, if it is to.
    fn has_names(&self, head: &[u8]) -> bool {
        let mut names = (0..self.names.len()).map(|column| (column, self.fields(head, column, 1).next()));
        !self.header
            || names.all(|(column, field)| {
                let name = field.and_then(|field| self.plain(head, field)).unwrap_or_default().trim_ascii();
                !name.is_empty() && name == self.names[column].as_bytes()
            })
    }

    fn fields(&self, head: &[u8], column: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
        let last = column == self.names.len() - 1;
        self.index.fields(column, self.names.len(), count).map(move |(start, end)| {
            // The carriage return of a CRLF is no part of the last field.
            (start, end - usize::from(last && end > start && head[end - 1] == b'\r'))
        })
    }
}

impl SchemaProbe for CsvProbe {
    fn look(&mut self, head: &[u8], whole: bool) -> Like {
        let (columns, headers) = (self.names.len(), usize::from(self.header));
        let wanted = self.rows + headers;
        // Most files have records of about the same length, which need not be indexed to the end.
        let mut end = self.enough.min(head.len());
        let count = loop {
            let last = whole && end == head.len();
            self.index.scan(head, 0, end, columns, last, self.marks);
            match self.index.records {
                records if records >= wanted => break wanted,
                _ if self.index.irregular => return Like::Unsure,
                records if last => break records,
                _ if end == head.len() => return Like::Short,
                _ => end = head.len().min(end * 4),
            }
        };
        if count == wanted && count > 0 {
            self.enough = FIRST_BYTES.max(self.index.end(count - 1) * 5 / 4);
        }
        if count < headers || !self.has_names(head) {
            return Like::Unsure;
        }
        let quoted = self.index.quoted;
        let mut clear = true;
        for column in 0..columns {
            let mut fields = self.fields(head, column, count).skip(headers);
            if self.columns.is_text(column) {
                // Whatever its values are. But a record with a wrong quote is passed over where types are inferred, and
                // one more is looked at in its place.
                clear &= !quoted || fields.all(|field| self.is_well_quoted(head, field));
                continue;
            }
            let seen = fields.fold(Kinds::default(), |mut seen, (start, end)| {
                let text = if quoted { self.plain(head, (start, end)) } else { Some(&head[start..end]) };
                match text {
                    Some([]) => {}
                    Some(text) if self.columns.holds(column, text) => {}
                    Some(text) => seen.add(Kinds::of_field(text)),
                    None => clear = false,
                }
                seen
            });
            self.columns.see(column, seen);
        }
        if self.columns.fit() && clear { Like::Same } else { Like::Unsure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field};

    fn probe(header: bool) -> CsvProbe {
        alike_of(header, 2)
    }

    fn alike_of(header: bool, rows: usize) -> CsvProbe {
        let known = Schema::new(vec![
            Field::new("id", DataType::Int64, true),
            Field::new("name", DataType::Utf8View, true),
            Field::new("day", DataType::Date32, true),
        ]);
        CsvProbe::new(&FormatOptions { header, ..FormatOptions::default() }, rows, &known).unwrap()
    }

    #[test]
    fn files_that_say_nothing_new() {
        let mut probe = probe(true);
        for text in [
            "id,name,day\n1,x,2020-01-01\n2,y,2020-01-02\n",
            "id,name,day\r\n1,x,2020-01-01\r\n2,y,\r\nwhat,follows\n",
            "id ,\"name\",day\n\"1\",\"a, \"\"b\"\"\n\",2020-01-01\n,,\"\"",
            "id,name,day\n7,7,2020-01-01",
            "id,name,day\n",
        ] {
            assert_eq!(probe.look(text.as_bytes(), true), Like::Same, "{text}");
        }
    }

    #[test]
    fn files_that_may_say_something_new() {
        let mut probe = probe(true);
        for text in [
            "",
            "id,name\n1,x\n",
            "id,title,day\n1,x,2020-01-01\n",
            "name,id,day\n1,x,2020-01-01\n",
            ",name,day\n1,x,2020-01-01\n",
            "id,name,day\n1.5,x,2020-01-01\n",
            "id,name,day\n007,x,2020-01-01\n",
            "id,name,day\n1,x,2020-01-01 10:00\n",
            "id,name,day\n1,x,\"2020-01-01\n",
            "id,name,day\n1,x,2020-01-01\n\n2,y,2020-01-01\n",
            "\n\nid,name,day\n1,x,2020-01-01\n",
            "id,name,day\n1,x,2020-01-01\n2,y,z,2020-01-01\n",
            "id,name,day\n\"1\"\"\",x,2020-01-01\n",
            "id,name,day\n1,\"\"x,2020-01-01\n",
            "id,name,day\n1,\"x\"y\",2020-01-01\n",
        ] {
            assert_eq!(probe.look(text.as_bytes(), true), Like::Unsure, "{text}");
        }
    }

    #[test]
    fn more_is_asked_for_until_the_records_are_whole() {
        let text = b"id,name,day\n1,x,2020-01-01\n2,\"y\nz\",2020-01-02\n3";
        for length in 0..text.len() {
            let like = probe(true).look(&text[..length], false);
            assert_eq!(like, if length < 46 { Like::Short } else { Like::Same }, "{length}");
        }
    }

    #[test]
    fn no_records_at_all() {
        for text in ["", "x", "x,y,z\n", "id,name,day\n"] {
            let like = alike_of(false, 0).look(text.as_bytes(), true);
            assert_eq!(like, Like::Same, "{text}");
        }
        assert_eq!(alike_of(true, 0).look(b"id,name,day\n1", true), Like::Same);
    }

    #[test]
    fn files_of_any_length() {
        let mut probe = probe(false);
        for length in [1, 100, 3000, 9, 20_000, 1] {
            let record = format!("1,{},2020-01-01\n", "x".repeat(length));
            let text = record.repeat(5);
            assert_eq!(probe.look(text.as_bytes(), true), Like::Same, "{length}");
            assert_eq!(probe.look(&text.as_bytes()[..record.len() + 5], false), Like::Short, "{length}");
            let text = format!("{record}{}", record.replace("2020", "x"));
            assert_eq!(probe.look(text.as_bytes(), true), Like::Unsure, "{length}");
        }
    }

    #[test]
    fn without_names() {
        let mut probe = probe(false);
        assert_eq!(probe.look(b"1,x,2020-01-01\n2,y,2020-01-02\n", true), Like::Same);
        assert_eq!(probe.look(b"id,name,day\n2,y,2020-01-02\n", true), Like::Unsure);
        assert_eq!(probe.look(b"1,x,2020-01-01,\n", true), Like::Unsure);
    }
}
