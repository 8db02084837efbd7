//! Finds lines of a csv text that are comments, where nobody has said what a comment begins with.
//!
//! A line that begins with `#` may be a comment, a header (`#id,name`), or a row whose first value begins so. It is taken
//! for a comment only where the text tells: with these lines the records differ in their number of fields, and without
//! them all agree on a delimiter and a number of fields.

use super::sniff::{DELIMITERS, has_values, header, is_column, records};
use crate::rows::quotes::Marks;
use crate::rows::rewrite::{with_comments_rewritten, without_comments};

/// What a comment begins with.
pub const MARK: u8 = b'#';

/// How comments stand in a csv text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// What cuts the records without the comments.
    pub delimiter: u8,
    /// Comments are whole lines, and what stands behind a `#` in another line belongs to its record.
    pub alone: bool,
    /// The fields of each record, if they are several.
    pub fields: Option<usize>,
    /// A comment stands behind the first record.
    pub between: bool,
    /// The first record has names above values.
    pub header: bool,
}

/// The comments of a csv text, where it is clear that it has some. `head` ends with its last whole record.
pub fn find(head: &[u8], delimiter: Option<u8>, quote: u8) -> Option<Found> {
    let delimiters = delimiter.as_ref().map_or(DELIMITERS, std::slice::from_ref);
    if quote == MARK || delimiters.contains(&MARK) || !each_line(head).any(is_comment) {
        return None;
    }
    let cut = |text: &[u8], delimiter: u8| records(text, delimiter, quote, usize::MAX);
    // A text that is even as it stands may have values that begin with the mark.
    if is_column(head) || delimiters.iter().any(|&delimiter| width(&cut(head, delimiter)).is_some()) {
        return None;
    }
    let within = |delimiter: u8, alone: bool| {
        let marks = Marks { delimiter, quote };
        with_comments_rewritten(head, MARK, alone, marks)
    };
    for alone in [true, false] {
        for &delimiter in delimiters {
            let text = within(delimiter, alone);
            let records = cut(&without_comments(&text, Some(MARK)), delimiter);
            let Some(width) = width(&records) else { continue };
            let header = header(&records, None) == Ok(true) && has_values(&records[1..]);
            // `#id,name` above rows is their header.
            let is_record =
                |line: &[u8]| is_comment(line) && cut(line, delimiter).iter().any(|r| r.len() == width);
            let mut before =
                each_line(head).take_while(|line| is_comment(line) || line.trim_ascii().is_empty());
            if !header && before.any(is_record) {
                return None;
            }
            return Some(Found { delimiter, alone, fields: Some(width), between: is_between(&text), header });
        }
    }
    let text = within(b',', true);
    (delimiters.contains(&b',') && is_column(&without_comments(&text, Some(MARK)))).then(|| Found {
        delimiter: b',',
        alone: true,
        fields: None,
        between: is_between(&text),
        header: true,
    })
}

/// The number of fields of all records, if there are several records and several fields.
fn width(records: &[Vec<String>]) -> Option<usize> {
    let width = records.first()?.len();
    (width > 1 && records.len() > 1 && records.iter().all(|record| record.len() == width)).then_some(width)
}

fn each_line(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn is_comment(line: &[u8]) -> bool {
    line.iter().find(|byte| **byte != b' ') == Some(&MARK)
}

/// Whether a comment stands behind the first record of a text whose comments are rewritten.
fn is_between(text: &[u8]) -> bool {
    let is_left = |line: &&[u8]| line.trim_ascii() == [MARK];
    let mut behind = each_line(text).skip_while(|line| is_left(line) || line.trim_ascii().is_empty());
    behind.any(|line| is_left(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(char, bool, bool)> {
        let found = find(text.as_bytes(), None, b'"')?;
        Some((found.delimiter.into(), found.alone, found.between))
    }

    #[test]
    fn comments_are_found_where_the_records_tell() {
        for (text, expected) in [
            ("# x, y and z\na;b\n1;2\n# why\n3;4\n", (';', true, true)),
            ("# x\n1,2\n3,4\n", (',', true, false)),
            ("  # x\n1,2\n #y\n3,4\n", (',', true, true)),
            ("# x \"\na,b\n1,\"#\n#\"\n2,#f00\n", (',', true, false)),
            ("# x\na;b\n1;2#3;4\n5;6\n", (';', false, false)),
            ("# x\na;b\n# 1;2\n3;4\n", (';', true, true)),
            ("# 1;2\n# x\na;b\n3;4\n", (';', true, false)),
            ("# x\nn\n1\n# y\n2\n", (',', true, true)),
        ] {
            assert_eq!(found(text), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_clear_is_left() {
        for text in [
            "a,b\n1,2\n",
            "#a,b\n1,2\n",
            "## of the survey\n#a,b\n1,2\n3,4\n",
            "tag,n\n#x,1\n#y,2\n",
            "a;b\n1;2\n#3;4\n",
            "# one line\nanother, and more\nthe last\n",
            "# x\na,b\n1,2,3\n4\n",
            "# x\n1,2\n",
            "#x\n1\n2\n",
        ] {
            assert_eq!(found(text), None, "{text:?}");
        }
        assert_eq!(find(b"# x\n1,2\n3,4\n", Some(b';'), b'"'), None);
        assert_eq!(find(b"# x\n1,2\n3,4\n", None, b'#'), None);
    }
}
