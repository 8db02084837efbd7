//! A quick look at files that are thought to be like one of which the columns are known.
//!
//! To guess a file's types makes a reader, builds batches and gives a schema, which takes several times as long as to
//! open and read a small file. Most of many files say nothing new: here it is seen whether one does, by the same kinds
//! of values, and without any of that.

use arrow_schema::{DataType, Schema};
use schema::FormatOptions;

use super::infer::Kinds;
use crate::open::combined;

/// What the beginning of a file tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Like {
    /// Its first records have the columns that are known, and would not change their types.
    Same,
    /// They do not lie whole in these bytes.
    Short,
    /// Neither is certain: the file is to be looked at in full.
    Unsure,
}

/// Looks at the beginnings of files.
pub trait Alike: Send {
    /// Looks at the first bytes of a file, decompressed and without a byte order mark; `whole` says that there are no
    /// others.
    fn look(&mut self, head: &[u8], whole: bool) -> Like;
}

/// Makes what looks at so many records of each file, beside the schema of one.
pub type MakeAlike = fn(&FormatOptions, usize, &Schema) -> Option<Box<dyn Alike>>;

/// What is seen of the values of columns whose types are known.
pub struct Columns {
    columns: Vec<(DataType, Kinds)>,
}

impl Columns {
    /// Of these columns nothing was seen yet.
    pub fn new(known: &Schema) -> Columns {
        let columns = known.fields().iter().map(|field| (field.data_type().clone(), Kinds::default()));
        Columns { columns: columns.collect() }
    }

    /// Whether a column is text, which it stays whatever is seen.
    #[inline]
    pub fn is_text(&self, column: usize) -> bool {
        self.columns[column].0 == DataType::Utf8View
    }

    /// A value of these kinds was seen.
    #[inline]
    pub fn see(&mut self, column: usize, kinds: Kinds) {
        self.columns[column].1.add(kinds);
    }

    /// Whether the types that are known hold all that was seen, which is forgotten.
    pub fn fit(&mut self) -> bool {
        self.columns.iter_mut().fold(true, |fit, (known, kinds)| {
            let kinds = std::mem::take(kinds);
            let holds = || combined(known, &kinds.data_type(), true, true).as_ref() == Some(known);
            fit && (kinds == Kinds::default() || holds())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Field;

    #[test]
    fn what_is_wider_does_not_fit() {
        use DataType::{Boolean, Date32, Float64, Int64, Null, Utf8View};
        for (known, seen, fits) in [
            (Int64, &[][..], true),
            (Int64, &["1", "-2"], true),
            (Int64, &["1", "2.5"], false),
            (Int64, &["n/a"], false),
            (Int64, &["18446744073709551615"], false),
            (Float64, &["1", "2.5", "1e3"], true),
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
