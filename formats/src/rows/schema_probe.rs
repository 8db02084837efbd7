//! A schema probe: a quick look at whether a file has the columns of another file, which are known.
//!
//! To infer a file's types makes a reader, builds batches and gives a schema. That takes several times as long as to
//! open and read a small file. Most of many files have the known columns. A probe sees that by the same kinds of
//! values, without readers and batches.

use arrow_schema::{DataType, Schema};
use schema::FormatOptions;

use super::infer::{Digits, Kinds};
use super::parse;
use crate::rows::wider::{Widening, combined};

/// The answer of a probe about the beginning of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Like {
    /// The first records have the known columns, and would not change their types.
    Same,
    /// The first records do not lie whole in these bytes.
    Short,
    /// Neither is certain. The file needs a full look.
    Unsure,
}

/// Looks at the beginnings of files.
pub trait SchemaProbe: Send {
    /// Looks at the first bytes of a file, decompressed and without a byte order mark. `whole` says that the file has
    /// no other bytes.
    fn look(&mut self, head: &[u8], whole: bool) -> Like;
}

/// Makes a probe, from the number of records that it looks at in each file and the known schema.
pub type MakeProbe = fn(&FormatOptions, usize, &Schema) -> Option<Box<dyn SchemaProbe>>;

/// The kinds of values that a probe has seen in each column, with the known types.
pub struct Columns {
    columns: Vec<(DataType, Kinds)>,
}

impl Columns {
    /// Columns of these types, of which no value was seen yet.
    pub fn new(known: &Schema) -> Columns {
        let columns = known.fields().iter().map(|field| (field.data_type().clone(), Kinds::default()));
        Columns { columns: columns.collect() }
    }

    /// Whether a column is text. It stays text whatever values it has.
    #[inline]
    pub fn is_text(&self, column: usize) -> bool {
        self.columns[column].0 == DataType::Utf8View
    }

    /// Whether a column is a date.
    #[inline]
    pub fn is_day(&self, column: usize) -> bool {
        self.columns[column].0 == DataType::Date32
    }

    /// Whether a text is a number or date in its usual form, of the column's type. Then [`Columns::see`] need not be
    /// called for it.
    #[inline]
    pub fn holds(&self, column: usize, text: &[u8]) -> bool {
        match self.columns[column].0 {
            DataType::Int64 => is_short_integer(text),
            DataType::Float64 => is_short_integer(text) || is_plain_decimal(text),
            DataType::Date32 => parse::date(text).is_some(),
            _ => false,
        }
    }

    /// Notes a value of these kinds.
    #[inline]
    pub fn see(&mut self, column: usize, kinds: Kinds) {
        self.columns[column].1.add(kinds);
    }

    /// Whether the known types hold all values that were seen. Then starts anew without any.
    pub fn fit(&mut self) -> bool {
        self.columns.iter_mut().fold(true, |fit, (known, kinds)| {
            let kinds = std::mem::take(kinds);
            let holds = || {
                combined(known, &kinds.data_type(Digits::default()), Widening::GUESSED).as_ref()
                    == Some(known)
            };
            fit && (kinds == Kinds::default() || holds())
        })
    }
}

/// Whether a text is a whole number of at most 18 digits, without a leading zero. It fits 64 bits.
fn is_short_integer(text: &[u8]) -> bool {
    matches!(text, [b'0'] | [b'1'..=b'9', ..]) && text.len() <= 18 && text.iter().all(u8::is_ascii_digit)
}

/// Whether a text is digits, a point and digits, as numbers are printed.
fn is_plain_decimal(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(text);
    let fraction = text.get(whole + 1..).unwrap_or_default();
    parse::is_printed(text)
        && whole > 0
        && !fraction.is_empty()
        && text[whole] == b'.'
        && digits(fraction) == fraction.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Field;

    #[test]
    fn what_need_not_be_seen_would_fit() {
        use DataType::{Boolean, Date32, Float64, Int64, Null, Utf8View};
        let texts = [
            "0",
            "1",
            "12",
            "007",
            "-1",
            "+1",
            " 1",
            "123456789012345678",
            "1234567890123456789",
            "1.",
            ".5",
            "1.5",
            "00.5",
            "1.2.3",
            "1e5",
            "1.5e3",
            "2020-01-01",
            "2020-02-30",
            "2020-1-1",
            "2020-01-01 10:00",
            "",
            "x",
            "NaN",
            "true",
            "99999999999999999999.5",
            "1.99999999999999999999",
        ];
        for known in [Int64, Float64, Date32, Boolean, Null, Utf8View] {
            let mut columns = Columns::new(&Schema::new(vec![Field::new("a", known.clone(), true)]));
            for text in texts {
                if columns.holds(0, text.as_bytes()) {
                    columns.see(0, Kinds::of_field(text.as_bytes()));
                    assert!(columns.fit(), "{known} {text}");
                }
            }
            let usual = ["12", "12.5", "2020-01-01"].map(|text| columns.holds(0, text.as_bytes()));
            assert_eq!(
                usual,
                match known {
                    Int64 => [true, false, false],
                    Float64 => [true, true, false],
                    Date32 => [false, false, true],
                    _ => [false; 3],
                }
            );
        }
    }

    #[test]
    fn what_is_wider_does_not_fit() {
        use DataType::{Boolean, Date32, Float64, Int64, Null, Utf8View};
        for (known, seen, fits) in [
            (Int64, &[][..], true),
            (Int64, &["1", "-2"], true),
            (Int64, &["1", "2.5"], false),
            (Int64, &["n/a"], false),
            (Int64, &["18446744073709551615"], false),
            (Int64, &["+1"], false),
            (Int64, &["007"], false),
            (Float64, &["1", "2.5", "1e3"], true),
            (Float64, &["00.5"], false),
            (Float64, &["18446744073709551616"], false),
            (Float64, &["-1", "18446744073709551615"], false),
            (Date32, &["2020-01-01"], true),
            (Date32, &["2020-01-01 10:00"], false),
            (Boolean, &["true"], true),
            (Boolean, &["true", "1"], false),
            (Utf8View, &["1", "x", "2020-01-01"], true),
            (Null, &[], true),
            (Null, &["1"], false),
        ] {
            let mut columns = Columns::new(&Schema::new(vec![Field::new("a", known.clone(), true)]));
            seen.iter().for_each(|text| columns.see(0, Kinds::of_field(text.as_bytes())));
            assert_eq!(columns.fit(), fits, "{known} {seen:?}");
            assert!(columns.fit(), "forgotten");
        }
    }
}
