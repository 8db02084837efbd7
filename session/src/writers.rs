//! Write the rows of a result as text or bytes, in a form and to a place.
//!
//! - [`mod@format`]: the forms, by their names and by suffixes of files.
//! - `encoded`: the forms that `formats` encodes: csv, tsv, json, JSON lines, Parquet, Arrow, buren and others.
//! - `distinct`: renames columns of equal names, in forms that can't hold them.
//! - [`table`], `fit`: a table in a frame, fitted to a terminal.
//! - `markdown`: a table in markdown.
//! - `lines`: lines as they are, for plans.
//! - `value`: one value as text; [`escape`]: text that a terminal does not obey.
//! - `output`: where bytes go: a file that appears whole or not at all, or an output of the caller.

mod distinct;
mod encoded;
pub mod escape;
mod fit;
pub mod format;
mod lines;
mod markdown;
mod output;
pub mod table;
mod value;

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use schema::zones::{Clocks, is_utc};

pub use encoded::{compresses_inside, file_format, is_binary, is_tagged, shape, usual_compression};
pub use format::ResultFormat;
pub use lines::LinesWriter;
pub use output::{FileOutput, Output, failed};
pub use table::TableOptions;

/// What can go wrong in writing a result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The reader of the output is gone (`| head`): a normal end, of which no message is written.
    #[error("the reader of the output has gone")]
    Closed,
    /// The system refused to write.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the program tried.
        action: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The result can't be encoded.
    #[error(transparent)]
    Format(formats::Error),
    /// The request makes no sense.
    #[error("{0}")]
    Refused(String),
}

impl From<formats::Error> for Error {
    fn from(error: formats::Error) -> Error {
        match error {
            formats::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe => {
                Error::Closed
            }
            error => Error::Format(error),
        }
    }
}

/// The result of writing.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Takes a result as it comes: its schema, its batches, its end.
pub trait ResultWriter: Send {
    /// Takes the schema. Call it once, before all batches.
    fn begin(&mut self, schema: &SchemaRef) -> Result<()>;

    /// Takes the next rows.
    fn batch(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Ends the result: writes what is still held back, and gives a file its name. A writer that is dropped before
    /// leaves no file.
    fn end(&mut self) -> Result<()>;

    /// A warning about the output, if it is other than its reader may expect. Call it after [`ResultWriter::end`].
    fn warning(&self) -> Option<String> {
        None
    }
}

/// The writer of a result in this form. `table` says how a table for people looks. Text has the instants that the clocks
/// of a time zone show, with their offset; in UTC with a `Z`. With `plan` the result is a plan
/// with so many characters before its operators. A plan is written as lines for people if the form is one of the usual
/// ones.
///
/// # Errors
/// A compression is given for a form for people.
pub fn writer(
    format: ResultFormat,
    out: Box<dyn Output>,
    compression: &str,
    table: TableOptions,
    plan: Option<usize>,
    time_zone: &str,
) -> Result<Box<dyn ResultWriter>> {
    let time_zone = Some(time_zone).filter(|name| !is_utc(name));
    let clocks = time_zone.and_then(Clocks::of);
    if let Some(before) = plan
        && compression == "none"
        && matches!(format, ResultFormat::Table | ResultFormat::Csv | ResultFormat::Tsv)
    {
        return Ok(Box::new(LinesWriter::new(out, table.width, before)));
    }
    check_compression(format, compression, out.path())?;
    let encoding = encoded::encoding(format);
    Ok(match (format, encoding) {
        (ResultFormat::Csv | ResultFormat::Tsv, Some(encoding)) => {
            Box::new(encoded::EncodedWriter::new(out, encoding, compression).in_zone(time_zone))
        }
        (_, Some(encoding)) => {
            let writer = encoded::EncodedWriter::new(out, encoding, compression).in_zone(time_zone);
            Box::new(distinct::Distinct::new(Box::new(writer)))
        }
        (ResultFormat::Markdown, None) => Box::new(markdown::MarkdownWriter::new(out, clocks)),
        (_, None) => Box::new(table::TableWriter::new(out, table, clocks)),
    })
}

/// Refuses a compression around a form for people.
pub(crate) fn check_compression(format: ResultFormat, compression: &str, path: &Path) -> Result<()> {
    match encoded::encoding(format) {
        None if compression != "none" => {
            Err(Error::Refused(format!("{}: a table for people is not compressed", path.display())))
        }
        _ => Ok(()),
    }
}

/// Passes all rows to the writer, and gives how many there were. Calls `before` each time before something is written.
/// Nothing is written before there are rows, so that no half result precedes an error.
///
/// # Errors
/// Errors of the rows and of the writer, and a writer that keeps more memory than it may.
pub fn write_all<E: From<Error> + From<engine::Error>>(
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
    writer: &mut dyn ResultWriter,
    mut before: impl FnMut(),
) -> Result<u64, E> {
    let (mut rows, mut is_begun) = (0, false);
    for batch in batches {
        let batch = batch?;
        before();
        if !is_begun {
            writer.begin(schema)?;
            is_begun = true;
        }
        rows += batch.num_rows() as u64;
        writer.batch(&batch)?;
        // Some writers keep the rows.
        engine::context::memory::check(0, || "the result".into())?;
    }
    before();
    if !is_begun {
        writer.begin(schema)?;
    }
    writer.end()?;
    Ok(rows)
}
