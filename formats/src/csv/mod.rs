//! csv as RFC 4180 has it: fields between delimiters, records between newlines, quotes around fields that hold either.
//!
//! - `index`: where fields and records end; `count`: how many records there are.
//! - `decode`: bytes to rows.
//! - [`style`]: how other programs write values.
//! - [`sniff`]: the delimiter of a file, and whether its first record has the names.
//! - [`comments`]: whether lines of it are comments.
//! - `encode`: rows to bytes.
//! - `infer`: the columns of a file from its first records, and of a large file from [`samples`] too; `schema_probe`:
//!   whether another has the same; `first`: whether all have a header or none.

pub(crate) mod comments;
mod count;
mod decode;
mod encode;
mod first;
mod index;
mod infer;
mod schema_probe;
pub(crate) mod sniff;
pub mod style;

use schema::FormatOptions;

use crate::error::{Error, Result};
use crate::rows::BatchDecoder;
use crate::rows::format::{Kind, RowFormat};
use crate::rows::infer::infer;
use crate::rows::quotes::Marks;
use crate::rows::samples;
use crate::rows::split::Border;

/// Comma-separated values.
pub static CSV: RowFormat = RowFormat {
    name: "csv",
    title: "Comma-separated values with a header (RFC 4180)",
    extensions: &["csv"],
    kind: Kind::Delimited,
    border: Border::Quotes,
    splits: |_, _| true,
    decoder: |scan, first| Ok(Box::new(BatchDecoder::new(decode::CsvParser::new(scan, first)?, scan)?)),
    infer: |file, options, rows| {
        let places = || samples::lines(file, options);
        infer(file, options, true, |seen| {
            Ok(Box::new(infer::CsvInference::new(options, rows, seen, places)?))
        })
    },
    probe: |options, rows, known| {
        // What a file with a style may hold is for the full look.
        let is_plain = options.dialect.is_none();
        Some(Box::new(schema_probe::CsvProbe::new(options, rows, known).filter(|_| is_plain)?))
    },
    writer: |schema, options| Ok(Box::new(encode::CsvWriter::new(schema, options)?)),
};

/// The delimiter and the quote, checked.
fn marks(options: &FormatOptions) -> Result<Marks> {
    let (delimiter, quote) = (options.delimiter, options.quote);
    for (name, byte) in [("delimiter", delimiter), ("quote", quote)] {
        if !byte.is_ascii() || matches!(byte, b'\n' | b'\r') {
            return Err(Error::Unsupported(format!(
                "the {name} of csv must be an ASCII character other than a line break"
            )));
        }
    }
    if delimiter == quote {
        return Err(Error::Unsupported("the delimiter and the quote of csv must differ".into()));
    }
    Ok(Marks { delimiter, quote })
}
