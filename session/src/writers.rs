//! The rows of a result to text or bytes, in a form and to a place.
//!
//! - [`format`]: the forms, by their names and the suffixes of files.
//! - [`encoded`]: csv, tsv, json, JSON lines, Parquet, Arrow, buren and the like: what `formats` encodes.
//! - [`distinct`]: columns of equal names, in forms that can't hold them.
//! - [`table`], [`fit`]: a table in a frame, fitted to a terminal.
//! - [`markdown`]: a table in markdown.
//! - [`lines`]: lines as they are, for plans.
//! - [`value`]: one value as text; [`escape`]: text that a terminal does not obey.
//! - [`output`]: where it goes: a file that appears whole or not at all, or what the caller has.

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

pub use encoded::{compresses_inside, file_format, is_binary, shape, usual_compression};
pub use format::ResultFormat;
pub use lines::{LinesWriter, before_operators};
pub use output::{FileOutput, Output, failed};
pub use table::TableOptions;

/// What can go wrong in writing a result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Whoever read the output has gone (`| head`): a normal end, for which nothing is said.
    #[error("the reader of the output has gone")]
    Closed,
    /// The system refused to write.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The result can't be encoded.
    #[error(transparent)]
    Format(formats::Error),
    /// What was asked for makes no sense.
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
    /// The schema, once, before all batches.
    fn begin(&mut self, schema: &SchemaRef) -> Result<()>;

    /// The next rows.
    fn batch(&mut self, batch: &RecordBatch) -> Result<()>;

    /// The result is whole: what is still held back is written, and a file gets its name. A writer that is dropped
    /// before leaves no file.
    fn end(&mut self) -> Result<()>;

    /// What the reader may not expect of what was written, once it has ended.
    fn warning(&self) -> Option<String> {
        None
    }
}

/// The writer of a result in this form; a table for people is shown as `table` says. A plan, with so many characters
/// before the operators, is written as lines for people where the form is no other than the usual ones.
///
/// # Errors
/// A compression around a form that is for people.
pub fn writer(
    format: ResultFormat,
    out: Box<dyn Output>,
    compression: &str,
    table: TableOptions,
    plan: Option<usize>,
) -> Result<Box<dyn ResultWriter>> {
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
            Box::new(encoded::EncodedWriter::new(out, encoding, compression))
        }
        (_, Some(encoding)) => {
            let writer = encoded::EncodedWriter::new(out, encoding, compression);
            Box::new(distinct::Distinct::new(Box::new(writer)))
        }
        (ResultFormat::Markdown, None) => Box::new(markdown::MarkdownWriter::new(out)),
        (_, None) => Box::new(table::TableWriter::new(out, table)),
    })
}

/// Refuses a compression around a form that is for people.
pub(crate) fn check_compression(format: ResultFormat, compression: &str, path: &Path) -> Result<()> {
    match encoded::encoding(format) {
        None if compression != "none" => {
            Err(Error::Refused(format!("{}: a table for people is not compressed", path.display())))
        }
        _ => Ok(()),
    }
}

/// Hands all rows to the writer, and gives how many there were; `before` is called each time before something is written.
/// Nothing is written before there is something to write: an error comes without half a result before it.
///
/// # Errors
/// Those of the rows, those of the writer, and more memory taken by what it keeps than there may be.
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
        // Some writers keep what they are given.
        engine::context::memory::check(0, || "the result".into())?;
    }
    before();
    if !is_begun {
        writer.begin(schema)?;
    }
    writer.end()?;
    Ok(rows)
}
