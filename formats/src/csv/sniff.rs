//! Looks at the first records of a csv text: the delimiter, the lines before the records, and whether the first record
//! has the names.

use std::collections::HashSet;

use arrow_schema::Schema;

use crate::rows::quotes::{Marks, State};

/// The delimiters that are tried, the likeliest first.
pub const DELIMITERS: &[u8] = b",\t;|";

/// The number of records that are looked at.
pub const RECORDS: usize = 50;

/// Whether a text is a csv file of one column: a name, and below it only values.
pub fn is_column(head: &[u8]) -> bool {
    let records = records(head, b',', b'"', RECORDS);
    let Some(([name], rest)) = records.split_first().map(|(first, rest)| (first.as_slice(), rest)) else {
        return false;
    };
    let is_value = |record: &Vec<String>| matches!(&record[..], [field] if is_value(field.trim()));
    !is_value(&vec![name.clone()]) && is_like_name(name) && !rest.is_empty() && rest.iter().all(is_value)
}

/// The delimiter of a csv text: a comma if it cuts the first record. Else it is the first delimiter that cuts all
/// records into the same number of fields. A comma if none does.
pub fn delimiter(head: &[u8], quote: u8) -> u8 {
    let comma = records(head, b',', quote, 1);
    if comma.first().is_some_and(|record| record.len() > 1) {
        return b',';
    }
    consistent(head, quote).unwrap_or(b',')
}

/// A delimiter that cuts all records into the same number of fields, at least two.
pub fn consistent(head: &[u8], quote: u8) -> Option<u8> {
    DELIMITERS.iter().copied().find(|&delimiter| is_even(head, delimiter, quote))
}

/// The delimiter that cuts a record into the most fields, of those that cut none within quotes. A comma if none does.
pub fn widest(head: &[u8], quote: u8) -> u8 {
    let quote_char = char::from(quote);
    let fit = |delimiter: u8| {
        let records = records(head, delimiter, quote, RECORDS);
        let is_cut = |field: &String| field.matches(quote_char).count() % 2 == 1;
        let is_whole = !records.iter().flatten().any(is_cut);
        (is_whole, records.iter().map(Vec::len).max())
    };
    // Of several with as many fields the last one counts.
    DELIMITERS.iter().rev().copied().max_by_key(|delimiter| fit(*delimiter)).unwrap_or(b',')
}

/// Whether a delimiter cuts all records into the same number of fields, at least two.
pub fn is_even(head: &[u8], delimiter: u8, quote: u8) -> bool {
    let records = records(head, delimiter, quote, RECORDS);
    let fields = records.first().map_or(0, Vec::len);
    fields > 1 && records.iter().all(|record| record.len() == fields)
}

/// The most lines before a header that are passed over without being told.
const PREAMBLE: usize = 30;

/// The lines that stand before the header of a csv text, and its delimiter, where that is clear. The first record has
/// another number of fields than those that follow, or a title in one of them. A later record has names above values.
/// All records behind that have as many fields, and no line before it does.
pub fn preamble(head: &[u8], delimiter: Option<u8>, quote: u8) -> Option<(u64, u8)> {
    let delimiters = delimiter.as_ref().map_or(DELIMITERS, std::slice::from_ref);
    // Spreadsheets put delimiters behind a title, as many as other rows have.
    let is_title = |record: &[String]| {
        record.len() < 2 || record.iter().filter(|field| !field.trim().is_empty()).count() < 2
    };
    let is_even = |records: &[Vec<String>]| records.iter().all(|record| record.len() == records[0].len());
    if delimiters.iter().any(|&delimiter| {
        let records = records(head, delimiter, quote, RECORDS);
        records.first().is_none_or(|first| !is_title(first)) && is_even(&records)
    }) {
        return None;
    }
    let ends = memchr::memchr_iter(b'\n', head).map(|newline| newline + 1);
    for (lines, end) in (1..).zip(ends.take(PREAMBLE)) {
        let (before, behind) = head.split_at(end);
        // A newline within quotes ends no line.
        if memchr::memchr_iter(quote, before).count() % 2 == 1 {
            continue;
        }
        for &delimiter in delimiters {
            let records = records(behind, delimiter, quote, RECORDS);
            let Some(first) = records.first().filter(|first| first.len() > 1 && records.len() > 1) else {
                continue;
            };
            let is_whole = |line: &[u8]| {
                let records = self::records(line, delimiter, quote, 1);
                records.first().is_some_and(|record| record.len() == first.len() && !is_title(record))
            };
            if is_even(&records)
                && first.iter().all(|name| !name.trim().is_empty())
                && header(&records, None) == Ok(true)
                && has_values(&records[1..])
                && !before.split(|byte| *byte == b'\n').any(is_whole)
            {
                return Some((lines, delimiter));
            }
        }
    }
    None
}

/// The first records of a csv text, `most` at most. A record that the end of `head` may have cut is left out, unless it
/// is the only one.
pub fn records(head: &[u8], delimiter: u8, quote: u8, most: usize) -> Vec<Vec<String>> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut records = Vec::new();
    let mut record: Vec<String> = Vec::new();
    let mut field = Vec::new();
    let (mut quoted, mut start) = (false, true);
    let mut bytes = head.iter().copied().peekable();
    let text = |field: &mut Vec<u8>| String::from_utf8_lossy(&std::mem::take(field)).into_owned();
    while let Some(byte) = bytes.next() {
        match byte {
            b if quoted && b == quote => match bytes.peek() == Some(&quote) {
                true => field.extend(bytes.next()),
                false => quoted = false,
            },
            b if quoted => field.push(b),
            b if b == quote && start => quoted = true,
            b if b == delimiter => record.push(text(&mut field)),
            b'\r' if bytes.peek() == Some(&b'\n') => {}
            b'\n' if record.is_empty() && field.is_empty() && start => {}
            b'\n' => {
                record.push(text(&mut field));
                records.push(std::mem::take(&mut record));
                if records.len() == most {
                    return records;
                }
            }
            b => field.push(b),
        }
        start = !quoted && (byte == delimiter || byte == b'\n' || (start && byte == b'\r'));
    }
    if records.is_empty() && !(record.is_empty() && field.is_empty()) {
        record.push(text(&mut field));
        records.push(record);
    }
    records
}

/// Whether a csv text has two whole records that are no blank lines. Also true if its lines end in carriage returns
/// alone.
pub fn has_records(head: &[u8], marks: Marks) -> bool {
    let (mut state, mut start, mut count) = (State::RecordStart, 0, 0);
    for (&byte, at) in head.iter().zip(0..) {
        state = state.step(byte, marks);
        if state == State::RecordStart {
            count += usize::from(!head[start..at].trim_ascii().is_empty());
            start = at + 1;
        }
        if count == 2 {
            return true;
        }
    }
    has_lone_returns(head, marks)
}

/// Whether lines end in carriage returns alone, as in old Macintosh files. There is no newline, and a carriage return
/// outside of quotes has more bytes behind it.
pub fn has_lone_returns(head: &[u8], marks: Marks) -> bool {
    if memchr::memchr(b'\n', head).is_some() {
        return false;
    }
    let mut state = State::RecordStart;
    head.iter().zip(1..).any(|(&byte, behind)| {
        state = state.step(byte, marks);
        byte == b'\r' && state != State::Quoted && behind < head.len()
    })
}

/// The help of the error that a header has the names of the given schema in another order.
pub const IN_ORDER: &str = "leave --schema out, or give its columns in the file's order";

/// Whether the first record of a csv text holds names.
///
/// With a given schema, it does if its fields are the schema's names, without regard to case. Other words count as a
/// row. A row that is taken for names would be lost in silence, while the user sees names that are taken for a row.
///
/// Without a schema, no field may be a value (a number, a date, a boolean). Then the record holds names in two cases.
/// Some column with a name has only values below. Or all fields look like names and no two are the same.
///
/// # Errors
/// The fields are the schema's names in another order.
pub fn header(records: &[Vec<String>], schema: Option<&Schema>) -> Result<bool, &'static str> {
    let Some((first, rest)) = records.split_first() else { return Ok(false) };
    let trimmed: Vec<&str> = first.iter().map(|f| f.trim()).collect();
    if let Some(schema) = schema {
        let mut names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        let like = |a: &[&str], b: &[&str]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.eq_ignore_ascii_case(b))
        };
        if like(&trimmed, &names) {
            return Ok(true);
        }
        let mut sorted = trimmed;
        sorted.sort_by_key(|n| n.to_ascii_lowercase());
        names.sort_by_key(|n| n.to_ascii_lowercase());
        return if like(&sorted, &names) {
            Err("its first record names the columns of the schema in another order")
        } else {
            Ok(false)
        };
    }
    if trimmed.iter().any(|field| is_value(field)) {
        return Ok(false);
    }
    let names_values = |column: usize| {
        let mut fields =
            rest.iter().filter_map(|r| r.get(column)).map(|f| f.trim()).filter(|f| !f.is_empty()).peekable();
        !trimmed[column].is_empty() && fields.peek().is_some() && fields.all(is_value)
    };
    let distinct = trimmed.iter().collect::<HashSet<_>>().len() == trimmed.len();
    // The column of row numbers that pandas writes has no name.
    let named = |(i, field): (usize, &&str)| match field.is_empty() {
        true => i == 0 && trimmed.len() > 1,
        false => is_like_name(field),
    };
    Ok((0..trimmed.len()).any(names_values) || (distinct && trimmed.iter().enumerate().all(named)))
}

/// Whether some column of records has nothing but values.
pub fn has_values(records: &[Vec<String>]) -> bool {
    let width = records.first().map_or(0, Vec::len);
    (0..width).any(|column| {
        let fields = records.iter().filter_map(|record| record.get(column)).map(|field| field.trim());
        let mut fields = fields.filter(|field| !field.is_empty()).peekable();
        fields.peek().is_some() && fields.all(is_value)
    })
}

/// Whether a field is a number, a boolean, or a date or time.
fn is_value(field: &str) -> bool {
    let time =
        |c: char| c.is_ascii_digit() || matches!(c, '-' | '/' | ':' | '.' | ',' | 'T' | 'Z' | '+' | ' ');
    field.parse::<f64>().is_ok()
        || field.eq_ignore_ascii_case("true")
        || field.eq_ignore_ascii_case("false")
        || (field.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
            && field.chars().all(time))
}

fn is_like_name(field: &str) -> bool {
    let within =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '-' | '.' | '(' | ')' | '%' | '#' | '/');
    field.chars().count() <= 64
        && field.chars().all(within)
        && !field.contains("//")
        && !field.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field};

    fn is_header(text: &str) -> bool {
        header(&records(text.as_bytes(), b',', b'"', RECORDS), None).unwrap()
    }

    #[test]
    fn records_are_cut_at_quotes_and_line_ends() {
        let text = "\u{feff}a,\"b,\"\"c\"\"\nd\",e\r\n\r\n\n1,,\"\"\nlast,is,cut";
        let cut = [vec!["a", "b,\"c\"\nd", "e"], vec!["1", "", ""]];
        assert_eq!(records(text.as_bytes(), b',', b'"', RECORDS), cut);
        assert_eq!(records(b"only;one", b';', b'"', RECORDS), [["only", "one"]]);
        assert_eq!(records(b"it's,5\" x 3\"\n", b',', b'"', RECORDS), [["it's", "5\" x 3\""]]);
        assert!(records(b"", b',', b'"', RECORDS).is_empty());
        assert_eq!(records(text.as_bytes(), b',', b'"', 1), cut[..1]);
    }

    #[test]
    fn delimiters() {
        assert_eq!(delimiter(b"a;b\n1,5;2\n", b'"'), b';');
        assert_eq!(delimiter(b"a,b;c\n1,2\n", b'"'), b',');
        assert_eq!(delimiter(b"a\n1\n", b'"'), b',');
        assert_eq!(delimiter(b"\"a,b\"|c\n1|2\n", b'"'), b'|');
    }

    #[test]
    fn lone_carriage_returns() {
        let marks = Marks { delimiter: b',', quote: b'"' };
        let lone = |text: &str| has_lone_returns(text.as_bytes(), marks);
        assert!(lone("a,b\r1,2\r"));
        assert!(lone("\"a\",b\r1"));
        assert!(!lone("a,b\r\n1,2"));
        assert!(!lone("a,\"b\rc\""));
        assert!(!lone("a,b\r"));
        assert!(!lone(""));
    }

    #[test]
    fn headers() {
        assert!(is_header("id,name\n1,x\n"));
        assert!(is_header("name,city\nada,london\n"), "of words only, the first record is taken for names");
        assert!(is_header(",a\n0,x\n"));
        assert!(is_header("only,names"));
        assert!(is_header("a very long sentence; of many words,n\nx,1\n"));
        assert!(!is_header("abc,1\nx,2\n"));
        assert!(!is_header("http://a.b/c,x y\nhttp://d,z\n"));
        assert!(is_header("a,a\n1,2\n"), "names may be doubled above values");
        assert!(is_header("a,a,\n1,2,3\n"));
        assert!(is_header("a,\n1,2\n"));
        assert!(!is_header("a,a\nx,y\n"));
        assert!(!is_header(",\n1,2\n"));
        assert!(!is_header("2026-01-31,x\n"));
        assert!(!is_header("true,x\n"));
        assert!(!is_header(""));
    }

    #[test]
    fn headers_against_a_schema() {
        let schema = Schema::new(vec![
            Field::new("pageURL", DataType::Utf8View, true),
            Field::new("pageRank", DataType::Int32, true),
        ]);
        let of = |text: &str| header(&records(text.as_bytes(), b',', b'"', RECORDS), Some(&schema));
        assert_eq!(of("PAGEURL, pagerank\nx,1\n"), Ok(true));
        assert_eq!(of("x,1\n"), Ok(false));
        assert_eq!(of("name,other\n"), Ok(false));
        assert_eq!(of("A12,x\n13,y\n14,z\n"), Ok(false), "a row above others is not lost");
        assert!(of("pageRank,pageURL\n").is_err());
    }
}
