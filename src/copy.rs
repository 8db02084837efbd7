//! `COPY … TO` and `--output`: where the rows of a query are written, and how.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use engine::aside::Overwrite;
use engine::dataset::{Destination, Output, WriteOptions};
use queries::CopyOptions;

use crate::Usage;
use crate::args;
use crate::print::{self, Format, ResultWriter, Target};
use crate::terminal;

/// A part of a dataset whose rows have an order has about this many bytes where nobody says how many.
const PART_BYTES: u64 = 256_000_000;

/// The options of COPY, for messages.
const OPTIONS: &str =
    "FORMAT, COMPRESSION, OVERWRITE, PER_THREAD_OUTPUT, FILE_SIZE_BYTES, HEADER, DELIMITER and ARRAYS";

/// Where rows are written, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct To {
    /// The file or directory.
    pub path: PathBuf,
    /// Whether it is a directory with part files.
    pub dataset: bool,
    /// The form of the files.
    pub form: Format,
    /// Whether what is there may be replaced.
    pub overwrite: Overwrite,
    compression: Option<String>,
    part_bytes: Option<u64>,
    header: Option<bool>,
    delimiter: Option<u8>,
    arrays: bool,
}

impl To {
    /// As `--output` and the flags beside it say.
    pub fn of_flags(path: &Path, run: &args::Run) -> anyhow::Result<To> {
        let (path, dataset) = directory(path.to_path_buf());
        let form = match (run.format, Format::by_name(&path)) {
            (Some(form), _) => form,
            (None, Some(form)) if !dataset => form,
            (None, None) if !dataset && path.extension().is_some() => {
                return Err(Usage(format!(
                    "the name {} tells no format that is written; add --format csv or another",
                    path.display()
                ))
                .into());
            }
            (None, _) => Format::Csv,
        };
        let overwrite = Overwrite::flag(run.overwrite);
        To {
            path,
            dataset,
            form,
            overwrite,
            compression: None,
            part_bytes: None,
            header: None,
            delimiter: None,
            arrays: false,
        }
        .checked()
    }

    /// As a COPY statement says; `overwrite` is the flag.
    pub fn of_copy(target: &str, options: &CopyOptions, overwrite: bool) -> anyhow::Result<To> {
        let (path, mut dataset) = directory(PathBuf::from(target));
        let mut to = To {
            path,
            dataset: false,
            form: Format::Csv,
            overwrite: Overwrite::Unless("add the option (OVERWRITE)"),
            compression: None,
            part_bytes: None,
            header: None,
            delimiter: None,
            arrays: false,
        };
        if overwrite {
            to.overwrite = Overwrite::Yes;
        }
        let mut form = None;
        for (name, value) in options {
            match name.as_str() {
                "format" => form = Some(form_of(value)?),
                "compression" => to.compression = Some(value.to_lowercase()),
                "overwrite" if switch(name, value)? => to.overwrite = Overwrite::Yes,
                "overwrite" => {}
                "per_thread_output" => dataset |= switch(name, value)?,
                "file_size_bytes" => {
                    to.part_bytes = Some(session::variables::size(value).map_err(Usage)?.max(1));
                    dataset = true;
                }
                "arrays" => to.arrays = switch(name, value)?,
                "header" => to.header = Some(switch(name, value)?),
                "delimiter" | "delim" | "sep" => match value.as_bytes() {
                    [byte] => to.delimiter = Some(*byte),
                    _ => return Err(Usage(format!("the DELIMITER '{value}' is not one byte")).into()),
                },
                _ => {
                    let name = name.to_uppercase();
                    return Err(Usage(format!("COPY has no option {name}; it has {OPTIONS}")).into());
                }
            }
        }
        to.dataset = dataset;
        to.form = match (form, Format::by_name(&to.path)) {
            (Some(form), _) | (None, Some(form)) => form,
            (None, None) => {
                return Err(Usage(format!(
                    "the name {target} tells no format; add (FORMAT parquet) or another"
                ))
                .into());
            }
        };
        to.checked()
    }

    /// Refuses what does not go together.
    fn checked(self) -> anyhow::Result<To> {
        let usage = |text: &str| Err(Usage(text.into()).into());
        if self.dataset && self.format().is_none() {
            return usage(
                "a directory is not written as json, markdown or table; jsonl has an object a line",
            );
        }
        let named = formats::open::by_name(&self.path).compression;
        let inside = matches!(self.form, Format::Parquet | Format::Arrow | Format::Buren);
        if let Some(named) = named.filter(|_| inside && !self.dataset) {
            let (form, bare) = (format!("{:?}", self.form).to_lowercase(), self.path.with_extension(""));
            return Err(Usage(format!(
                "{form} is compressed inside, and no {named} goes around it; name it {}",
                bare.display()
            ))
            .into());
        }
        let is_csv = matches!(self.form, Format::Csv | Format::Tsv);
        if !is_csv && (self.header.is_some() || self.delimiter.is_some()) {
            return usage("HEADER and DELIMITER go with FORMAT csv");
        }
        if self.arrays && !matches!(self.form, Format::Msgpack | Format::Cbor) {
            return usage("ARRAYS goes with FORMAT msgpack and cbor, whose rows are maps or arrays");
        }
        Ok(self)
    }

    /// How files of this form are encoded in parallel; `None` of forms that are written by one thread.
    pub fn format(&self) -> Option<schema::FormatOptions> {
        let mut format = print::file_format(self.form, &self.compression())?;
        format.row_arrays = self.arrays;
        format.header = self.header.unwrap_or(format.header);
        format.delimiter = self.delimiter.unwrap_or(format.delimiter);
        Some(format)
    }

    /// The compression that was asked for, or that the name says.
    pub fn compression(&self) -> String {
        let by_name = || formats::open::by_name(&self.path).compression.unwrap_or("none").to_string();
        self.compression.clone().unwrap_or_else(by_name)
    }

    /// A writer of forms that are written by one thread.
    pub fn writer(&self) -> print::Result<Box<dyn ResultWriter>> {
        let target = Target::File {
            path: self.path.clone(),
            overwrite: self.overwrite,
            compression: Some(self.compression()),
        };
        print::writer(self.form, &target, terminal::table_options(false))
    }

    /// Opens it for rows of these columns; `parts` says that those of a dataset come in one stream, of which parts are
    /// to be made.
    pub fn open(
        &self,
        format: schema::FormatOptions,
        columns: arrow_schema::SchemaRef,
        parts: bool,
        workers: usize,
    ) -> engine::Result<Output> {
        if !self.dataset && formats::roots::is_dir(&self.path) {
            let help = "name a file in it, or end the name with / to write a dataset".to_string();
            let message = "a file is to be written, and this is a directory";
            return Err(formats::Error::location(self.path.display(), message, Some(help)).into());
        }
        let destination = match self.dataset {
            true => Destination::Dataset(self.path.clone()),
            false => Destination::File(self.path.clone()),
        };
        Output::open(None, columns, &destination, &self.options(format, parts, workers))
    }

    /// How files are written; `parts` as for [`To::open`].
    pub fn options(&self, format: schema::FormatOptions, parts: bool, workers: usize) -> WriteOptions {
        let part_bytes = self.part_bytes.or(parts.then_some(PART_BYTES));
        WriteOptions { format, workers, overwrite: self.overwrite, part_bytes, verify: false }
    }
}

/// A path without the slash at its end, and whether it had one.
fn directory(path: PathBuf) -> (PathBuf, bool) {
    let text = path.as_os_str().to_string_lossy();
    let bare = text.trim_end_matches('/');
    match bare.len() == text.len() || bare.is_empty() {
        true => (path.clone(), false),
        // Components leave the slash away, whatever bytes the rest of the path has.
        false => (path.components().collect(), true),
    }
}

fn form_of(name: &str) -> anyhow::Result<Format> {
    Format::from_str(name, true).map_err(|_| {
        let names: Vec<_> =
            Format::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
        let names: Vec<_> = names.iter().map(|n| n.get_name()).collect();
        Usage(format!("there is no format {name}; there are {}", names.join(", "))).into()
    })
}

fn switch(name: &str, value: &str) -> anyhow::Result<bool> {
    match value.to_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Usage(format!("the option {} is true or false, not {value}", name.to_uppercase())).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(target: &str, options: &[(&str, &str)]) -> Result<To, String> {
        let options = options.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        To::of_copy(target, &options, false).map_err(|e| e.to_string())
    }

    #[test]
    fn names_and_options_tell_what_is_written() {
        let to = copy("x.csv.gz", &[("header", "false"), ("delimiter", "|")]).unwrap();
        let format = to.format().unwrap();
        assert_eq!((to.dataset, to.form, format.compression.as_str()), (false, Format::Csv, "gzip"));
        assert_eq!((format.header, format.delimiter), (false, b'|'));
        let to = copy("out/", &[("format", "parquet"), ("overwrite", "true")]).unwrap();
        assert_eq!((to.dataset, to.path.as_path()), (true, Path::new("out")));
        assert_eq!((to.overwrite, to.part_bytes), (Overwrite::Yes, None));
        let to = copy("x.parquet", &[("per_thread_output", "true")]).unwrap();
        assert!(to.dataset && to.overwrite != Overwrite::Yes);
        let to = copy("x.parquet", &[("file_size_bytes", "100MB")]).unwrap();
        assert_eq!((to.dataset, to.part_bytes), (true, Some(100_000_000)));
        assert_eq!(copy("x.json", &[]).unwrap().format(), None);
        let arrays = |options: &[(&str, &str)]| copy("x.cbor", options).unwrap().format().unwrap().row_arrays;
        assert_eq!((arrays(&[]), arrays(&[("arrays", "true")])), (false, true));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let wrong = |target, options: &[(&str, &str)]| copy(target, options).unwrap_err();
        assert!(wrong("out/", &[]).contains("FORMAT parquet"));
        assert!(wrong("x", &[]).contains("FORMAT parquet"));
        assert!(wrong("x.csv", &[("partition_by", "a")]).contains("PARTITION_BY; it has FORMAT,"));
        assert!(wrong("x", &[("format", "xls")]).contains("no format xls; there are table, csv"));
        assert!(wrong("out/", &[("format", "json")]).contains("jsonl"));
        assert!(wrong("x.parquet", &[("header", "true")]).contains("FORMAT csv"));
        assert!(wrong("x.csv", &[("arrays", "true")]).contains("msgpack and cbor"));
        assert!(wrong("x.csv", &[("delimiter", "::")]).contains("one byte"));
        assert!(wrong("x.csv", &[("overwrite", "maybe")]).contains("OVERWRITE is true or false"));
    }
}
