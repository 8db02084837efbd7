//! A conversion of files to files of another format, as the caller asked for it.
//!
//! A conversion names files and looks at none, so that another process can get it. Methods that look at files are to be
//! called where the files are.

use std::path::{Path, PathBuf};

use engine::writing::dataset::Destination;
use formats::compress::compression;
use formats::discover::by_name;
use formats::registry::{self, format};
use formats::store::input::STDIN;
use formats::store::{remote, roots};
use schema::{FormatOptions, Table};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::sources::Sources;

/// A conversion of files. The fields are those of the flags of `palais convert`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// A file, a glob, a directory or a dataset.
    pub source: String,
    /// How the source is read.
    pub sources: Sources,
    /// A file, if its name says an encoding, else a directory.
    pub destination: PathBuf,
    /// The encoding, if the name of the destination does not say it.
    pub to: Option<String>,
    /// The compression, if the name does not say it and the usual one is not wanted.
    pub compression: Option<String>,
    /// Whether a destination that exists may be replaced.
    pub overwrite: bool,
    /// Whether csv files have the names of the columns.
    pub header: bool,
    /// Whether rows are arrays and not maps, in encodings where they may be both ([`Format::is_tagged`]).
    ///
    /// [`Format::is_tagged`]: formats::format::Format::is_tagged
    pub arrays: bool,
    /// Whether the written files are compared with the source before they appear.
    pub verify: bool,
}

impl Conversion {
    /// Opens the source.
    ///
    /// # Errors
    /// The source does not exist, or its files don't go together.
    pub fn open(&self) -> Result<Table> {
        self.sources.open_one(&self.source)
    }

    /// The destination and the format of its files, by its name and the flags. Name and flags must not contradict one
    /// another: a program that trusts a wrong suffix reads the file wrongly. Looks whether the destination is a device.
    ///
    /// # Errors
    /// Name and flags contradict one another, or say too little.
    pub fn target(&self) -> Result<(Destination, FormatOptions)> {
        let (destination, format) = self.named_target()?;
        if self.arrays && !registry::format(&format.encoding)?.is_tagged() {
            let tagged = registry::formats().iter().filter(|format| format.is_tagged());
            let names = tagged.map(|format| format.name()).collect::<Vec<_>>().join(" and ");
            return Err(wrong(format!("--arrays is for {names}, and {} is written", format.encoding)));
        }
        Ok((destination, FormatOptions { row_arrays: self.arrays, ..format }))
    }

    fn named_target(&self) -> Result<(Destination, FormatOptions)> {
        let path = self.destination.as_path();
        let shown = path.display();
        if path == Path::new(STDIN) {
            let text = "convert writes files; palais query \"SELECT * FROM '…'\" --format FORMAT writes to standard output";
            return Err(wrong(text.into()));
        }
        let named = by_name(path);
        // A device is a file, whatever its name says.
        let there = is_device(path);
        let is_file = there || named.encoding.is_some() || named.compression.is_some();
        let encoding = match (&self.to, named.encoding) {
            (Some(to), Some(named)) if to != named => {
                return Err(wrong(format!("the name {shown} says {named}, and --to says {to}")));
            }
            (Some(to), _) => to.as_str(),
            (None, Some(named)) => named,
            (None, None) => {
                let names: Vec<_> = registry::written().map(|f| f.name()).collect();
                return Err(wrong(format!("--to ENCODING is needed; there are {}", names.join(", "))));
            }
        };
        let of = format(encoding)?;
        if !of.is_written() {
            return Err(registry::not_written(of.title()).into());
        }
        let (inside, usual) = (of.compresses_inside(), of.usual_compression());
        let compression_name = match (&self.compression, named.compression) {
            (Some(asked), Some(named)) if asked != named => {
                return Err(wrong(format!("the name {shown} says {named}, and --compression says {asked}")));
            }
            (Some(asked), None) if is_file && !there && !inside && asked != "none" => {
                let suffix = compression(asked)?.extensions().first().copied().unwrap_or_default();
                return Err(wrong(format!(
                    "a file compressed with {asked} is to be called {shown}.{suffix}"
                )));
            }
            (_, Some(named)) if inside => {
                let suggestion = path.with_extension("");
                let suggestion = suggestion.display();
                return Err(wrong(format!(
                    "{encoding} is compressed inside: --compression {named} with the name {suggestion}"
                )));
            }
            (Some(asked), _) => asked.as_str(),
            (None, Some(named)) => named,
            (None, None) => usual,
        };
        let destination = match is_file {
            true => Destination::File(path.to_path_buf()),
            false => Destination::Dataset(path.to_path_buf()),
        };
        let defaults = FormatOptions::default();
        let format = FormatOptions {
            encoding: encoding.into(),
            compression: compression_name.into(),
            delimiter: named.delimiter.unwrap_or(defaults.delimiter),
            header: self.header,
            ..defaults
        };
        Ok((destination, format))
    }
}

fn wrong(text: String) -> Error {
    Error::Settings(text)
}

/// Whether the path exists and is neither a file nor a directory, such as a named pipe.
pub fn is_device(path: &Path) -> bool {
    !remote::is_location(path) && roots::metadata(path).is_ok_and(|there| !there.is_dir() && !there.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(path: &str, to: Option<&str>, compression: Option<&str>) -> Result<String, String> {
        let conversion = Conversion {
            source: "x".into(),
            sources: Sources::default(),
            destination: path.into(),
            to: to.map(Into::into),
            compression: compression.map(Into::into),
            overwrite: false,
            header: true,
            arrays: false,
            verify: false,
        };
        let (destination, format) = conversion.target().map_err(|e| e.to_string())?;
        let kind = if matches!(destination, Destination::File(_)) { "file" } else { "dataset" };
        Ok(format!("{kind} {} {} {}", format.encoding, format.compression, char::from(format.delimiter)))
    }

    #[test]
    fn names_and_flags_agree_on_the_target() {
        let ok = |path, to, compression| resolved(path, to, compression).unwrap();
        assert_eq!(ok("out", Some("csv"), None), "dataset csv none ,");
        assert_eq!(ok("out", Some("csv"), Some("zstd")), "dataset csv zstd ,");
        assert_eq!(ok("d/x.csv", None, None), "file csv none ,");
        assert_eq!(ok("x.csv.gz", None, None), "file csv gzip ,");
        assert_eq!(ok("x.tsv", Some("csv"), None), "file csv none \t");
        assert_eq!(ok("x.gz", Some("csv"), None), "file csv gzip ,");
        assert_eq!(ok("x.parquet", None, Some("zstd")), "file parquet zstd ,");
        let wrong = |path, to, compression| resolved(path, to, compression).unwrap_err();
        assert!(wrong("x.csv", Some("parquet"), None).contains("says csv, and --to says parquet"));
        assert!(wrong("out", None, None).contains("--to ENCODING is needed"));
        assert!(wrong("out", Some("xml"), None).contains("no encoding 'xml'"));
        assert!(wrong("x.csv.gz", None, Some("zstd")).contains("says gzip"));
        assert!(wrong("x.csv", None, Some("gzip")).contains("x.csv.gz"));
        assert!(wrong("x.parquet.gz", None, None).contains("compressed inside"));
    }
}
