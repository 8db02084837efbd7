//! Results to a terminal, a pipe or a file. Nothing is computed here.
//!
//! - [`value`]: one value as text.
//! - [`table`], [`fit`]: a table in a frame, fitted to the terminal.
//! - [`markdown`]: a table in markdown.
//! - [`distinct`]: columns of equal names, in forms that can't hold them.
//! - [`encoded`]: csv, tsv, json, JSON lines, Parquet, Arrow, buren: what `formats` encodes.
//! - [`output`]: where it goes: standard output, or a file that appears whole or not at all.

mod distinct;
mod encoded;
mod fit;
mod markdown;
mod output;
pub mod table;
mod value;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use engine::aside::Overwrite;

pub use encoded::{file_format, shape};
pub use output::{FileOutput, Output, StandardOutput};
pub use table::TableOptions;
use table::{grouped, plural};

use crate::say::escaped;

/// What can go wrong in printing.
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

/// The result of printing.
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
}

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table in a frame.
    Table,
    /// Comma-separated values with a header (RFC 4180).
    Csv,
    /// The same with tabs.
    Tsv,
    /// One array of objects.
    Json,
    /// One object a line.
    Jsonl,
    /// A table in markdown.
    Markdown,
    /// Parquet.
    Parquet,
    /// Arrow IPC.
    Arrow,
    /// buren, the column format of palais.
    Buren,
    /// bincode, version 1.
    Bincode,
    /// MessagePack.
    Msgpack,
    /// CBOR.
    Cbor,
    /// Protocol Buffers.
    Protobuf,
    /// Cap'n Proto.
    Capnproto,
    /// Cap'n Proto, packed.
    CapnprotoPacked,
}

impl Format {
    /// The form that the suffix of a file's name asks for (`out.csv.gz`, `out.md`).
    pub fn by_name(path: &std::path::Path) -> Option<Format> {
        let suffix = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match suffix.as_str() {
            "json" => return Some(Format::Json),
            "md" | "markdown" => return Some(Format::Markdown),
            _ => {}
        }
        let named = formats::open::by_name(path);
        match (named.encoding?, named.delimiter) {
            ("csv", None) => Some(Format::Csv),
            ("csv", Some(b'\t')) => Some(Format::Tsv),
            ("jsonl", _) => Some(Format::Jsonl),
            ("parquet", _) => Some(Format::Parquet),
            ("arrow", _) => Some(Format::Arrow),
            ("buren", _) => Some(Format::Buren),
            ("bincode", _) => Some(Format::Bincode),
            ("msgpack", _) => Some(Format::Msgpack),
            ("cbor", _) => Some(Format::Cbor),
            ("protobuf", _) => Some(Format::Protobuf),
            ("capnproto", _) => Some(Format::Capnproto),
            ("capnproto-packed", _) => Some(Format::CapnprotoPacked),
            _ => None,
        }
    }
}

/// Where a result goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// Standard output.
    Standard,
    /// A file, with a compression around or inside it.
    File {
        /// Its name.
        path: PathBuf,
        /// Whether a file of this name may be replaced.
        overwrite: Overwrite,
        /// The compression; `None` is what the suffix says, or none.
        compression: Option<String>,
    },
}

/// The writer of a result. The target is opened, so that one that can't be written is known before the query runs.
pub fn writer(format: Format, target: &Target, table: TableOptions) -> Result<Box<dyn ResultWriter>> {
    let encoding = encoded::encoding(format);
    let (out, compression): (Box<dyn Output>, String) = match target {
        Target::Standard => {
            if let Some(name) = encoding.filter(|e| !e.text).map(|e| e.name)
                && std::io::stdout().is_terminal()
            {
                return Err(Error::Refused(format!(
                    "{name} is not text that a terminal could show\n  help: name a file with --output, or redirect"
                )));
            }
            (Box::new(StandardOutput::new()), "none".into())
        }
        Target::File { path, overwrite, compression } => {
            let by_name = || formats::open::by_name(path).compression.unwrap_or("none").to_string();
            let compression = compression.clone().unwrap_or_else(by_name);
            if encoding.is_none() && compression != "none" {
                return Err(Error::Refused(format!(
                    "{}: a table for people is not compressed",
                    path.display()
                )));
            }
            (Box::new(FileOutput::create(path, *overwrite)?), compression)
        }
    };
    Ok(match (format, encoding) {
        (Format::Csv | Format::Tsv, Some(encoding)) => {
            Box::new(encoded::EncodedWriter::new(out, encoding, &compression))
        }
        (_, Some(encoding)) => {
            let writer = encoded::EncodedWriter::new(out, encoding, &compression);
            Box::new(distinct::Distinct::new(Box::new(writer)))
        }
        (Format::Markdown, None) => Box::new(markdown::MarkdownWriter::new(out)),
        (_, None) => Box::new(table::TableWriter::new(out, table)),
    })
}

/// Prints a text on standard output; on a terminal what that would obey is escaped.
pub fn text(text: &str) -> Result<()> {
    let mut out = StandardOutput::new();
    let shown = match std::io::stdout().is_terminal() {
        true => escaped(text, |c| matches!(c, '\n' | '\t')),
        false => text.into(),
    };
    out.put(shown.as_bytes())?;
    out.finish()
}

/// The line below a result: `(3 rows, 0.12 s)`.
pub fn summary(rows: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let digits = if seconds < 10.0 { 2 } else { 1 };
    format!("({} {}, {seconds:.digits$} s)", grouped(rows), plural(rows, "row"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_suffix_tells_the_form() {
        let of = |name: &str| Format::by_name(Path::new(name));
        assert_eq!(of("a.csv.gz"), Some(Format::Csv));
        assert_eq!(of("a.tsv"), Some(Format::Tsv));
        assert_eq!(of("a.json"), Some(Format::Json));
        assert_eq!(of("a.jsonl.zst"), Some(Format::Jsonl));
        assert_eq!(of("A.MD"), Some(Format::Markdown));
        assert_eq!(of("a.parquet"), Some(Format::Parquet));
        assert_eq!(of("a.capnproto-packed.zst"), Some(Format::CapnprotoPacked));
        assert_eq!(of("a.xlsx"), None);
    }

    #[test]
    fn summaries() {
        assert_eq!(summary(1, Duration::from_millis(124)), "(1 row, 0.12 s)");
        assert_eq!(summary(0, Duration::from_micros(4)), "(0 rows, 0.00 s)");
        assert_eq!(summary(1_234_567, Duration::from_secs(75)), "(1,234,567 rows, 75.0 s)");
    }
}
