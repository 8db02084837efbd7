//! The options of a COPY statement.

use std::path::PathBuf;

use formats::store::atomic::Overwrite;
use queries::{CopyOptions, OptionValue};

use super::{CopyTarget, directory};
use crate::error::{Error, Result};
use crate::variables;
use crate::writers::ResultFormat;

/// The options of COPY, for messages.
const OPTIONS: [&str; 9] = [
    "FORMAT",
    "COMPRESSION",
    "PARTITION_BY",
    "OVERWRITE",
    "PER_THREAD_OUTPUT",
    "FILE_SIZE_BYTES",
    "HEADER",
    "DELIMITER",
    "ARRAYS",
];

/// Options that other systems have, and what to write here.
const OTHERS: [(&str, &str); 12] = [
    ("append", "write to another directory, and read both with a glob"),
    ("codec", "write COMPRESSION"),
    ("compression_level", "it is a number, and has no effect: each compression has one level"),
    ("escape", "quotes in csv are doubled"),
    ("force_quote", "what needs quotes has them, and the empty string, which NULL has not"),
    ("null", "NULL is nothing between two delimiters; coalesce(…) in the query writes something else"),
    ("nullstr", "NULL is nothing between two delimiters; coalesce(…) in the query writes something else"),
    ("overwrite_or_ignore", "write OVERWRITE, which replaces the whole directory"),
    ("quote", "csv is quoted with \""),
    (
        "row_group_size",
        "it is a number, and has no effect: row groups have the size that the format asks for",
    ),
    ("type", "write FORMAT"),
    ("write_partition_columns", "name the column twice in the query: SELECT *, year AS of_year"),
];

impl CopyTarget {
    /// As a COPY statement says; `overwrite` is the setting.
    ///
    /// # Errors
    /// Its name tells no form, options that are none, and what does not go together.
    pub fn of_statement(target: &str, options: &CopyOptions, overwrite: bool) -> Result<CopyTarget> {
        let (path, mut dataset) = directory(PathBuf::from(target));
        let mut to = CopyTarget::of_csv(path);
        if overwrite {
            to.overwrite = Overwrite::Yes;
        }
        let mut form = None;
        let mut partition_by = None;
        for (name, value) in options {
            let text = || text(name, value);
            match name.as_str() {
                "format" => form = Some(form_of(text()?)?),
                "compression" => to.compression = Some(text()?.to_lowercase()),
                "overwrite" if switch(name, value)? => to.overwrite = Overwrite::Yes,
                "overwrite" => {}
                "partition_by" => partition_by = Some(columns(value)?),
                "per_thread_output" => dataset |= switch(name, value)?,
                "file_size_bytes" => {
                    to.part_bytes = Some(variables::size(text()?).map_err(Error::Settings)?.max(1));
                    dataset = true;
                }
                "arrays" => to.arrays = switch(name, value)?,
                "header" => to.header = Some(switch(name, value)?),
                "delimiter" | "delim" | "sep" => match variables::byte(text()?) {
                    Some(byte) => to.delimiter = Some(byte),
                    None => {
                        let text = text()?;
                        return Err(Error::Settings(format!("the DELIMITER '{text}' is not one byte")));
                    }
                },
                // Files are written so in any case.
                "null" | "nullstr" if text()?.is_empty() => {}
                "quote" | "escape" if text()? == "\"" => {}
                // They say how large a file is, and nothing of its rows.
                "row_group_size" | "compression_level" if text()?.parse::<u64>().is_ok() => {}
                "row_group_size_bytes" if variables::size(text()?).is_ok() => {}
                _ => return Err(no_option(name, value, options)),
            }
        }
        to.dataset = dataset;
        if let (Some(_), Some(OptionValue::Nothing)) = (&partition_by, options.get("per_thread_output")) {
            let text = "PER_THREAD_OUTPUT and PARTITION_BY do not go together: PARTITION_BY says which rows a file has";
            return Err(Error::Settings(text.into()));
        }
        let named = ResultFormat::by_suffix(&to.path);
        let form = match (form, named) {
            // The name says that there is a record a line.
            (Some(ResultFormat::Json), Some(ResultFormat::Jsonl)) => named,
            _ => form.or(named),
        };
        to.form = form.ok_or_else(|| {
            Error::Settings(format!("the name {target} tells no format; add (FORMAT parquet) or another"))
        })?;
        match partition_by {
            Some(names) => to.partitioned(names),
            None => to.checked(),
        }
    }
}

fn form_of(name: &str) -> Result<ResultFormat> {
    ResultFormat::named(name).ok_or_else(|| {
        let names: Vec<_> = ResultFormat::all().into_iter().map(|(format, _)| format.name()).collect();
        let help = match schema::names::nearest(name, names.iter().copied()).as_slice() {
            [] => format!("there are {}", names.join(", ")),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        Error::Settings(format!("there is no format {name}\n  help: {help}"))
    })
}

fn switch(name: &str, value: &OptionValue) -> Result<bool> {
    let text = match value {
        OptionValue::Nothing => return Ok(true),
        value => text(name, value)?,
    };
    match text.to_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::Settings(format!("the option {} is true or false, not {text}", name.to_uppercase()))),
    }
}

/// The one value of an option.
fn text<'a>(name: &str, value: &'a OptionValue) -> Result<&'a str> {
    let name = name.to_uppercase();
    let example = match name.as_str() {
        "FORMAT" => "parquet",
        "COMPRESSION" => "zstd",
        "FILE_SIZE_BYTES" => "100MB",
        "DELIMITER" | "DELIM" | "SEP" => "'|'",
        _ => "true",
    };
    match value {
        OptionValue::One(text) => Ok(text),
        OptionValue::Nothing => {
            Err(Error::Settings(format!("the option {name} of COPY needs a value, such as {name} {example}")))
        }
        OptionValue::Several(_) | OptionValue::All => Err(Error::Settings(format!(
            "the option {name} of COPY takes one value, such as {name} {example}"
        ))),
    }
}

/// The columns of PARTITION_BY.
fn columns(value: &OptionValue) -> Result<Vec<String>> {
    let refuse = |text: &str| Err(Error::Settings(text.into()));
    match value {
        OptionValue::One(name) => Ok(vec![name.clone()]),
        OptionValue::Several(names) if !names.is_empty() => Ok(names.clone()),
        OptionValue::Several(_) | OptionValue::Nothing => {
            refuse("PARTITION_BY names no column\n  help: write PARTITION_BY (a, b)")
        }
        OptionValue::All => refuse(
            "PARTITION_BY * would leave no column for the files\n  help: name some columns: PARTITION_BY (a, b)",
        ),
    }
}

/// There is no such option.
fn no_option(name: &str, value: &OptionValue, options: &CopyOptions) -> Error {
    let shown = name.to_uppercase();
    let near = schema::names::nearest(&shown, OPTIONS);
    // `PARTITION_BY a, b` is two options.
    let is_column =
        *value == OptionValue::Nothing && matches!(options.get("partition_by"), Some(OptionValue::One(_)));
    let help = match (OTHERS.iter().find(|(other, _)| *other == name), near.first()) {
        (Some((_, help)), _) => help.to_string(),
        (None, Some(near)) => format!("did you mean {near}?"),
        (None, None) if is_column => "write several columns in parentheses: PARTITION_BY (a, b)".into(),
        (None, None) => format!("it has {}", OPTIONS.join(", ")),
    };
    Error::Settings(format!("COPY has no option {shown}\n  help: {help}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn copy(target: &str, options: &[(&str, &str)]) -> Result<CopyTarget, String> {
        let one = |value: &str| match value {
            "" => OptionValue::Nothing,
            value => OptionValue::One(value.to_string()),
        };
        let options = options.iter().map(|(n, v)| (n.to_string(), one(v))).collect();
        CopyTarget::of_statement(target, &options, false).map_err(|e| e.to_string())
    }

    #[test]
    fn names_and_options_tell_what_is_written() {
        let to = copy("x.csv.gz", &[("header", "false"), ("delimiter", "|")]).unwrap();
        let format = to.format().unwrap();
        assert_eq!((to.dataset, to.form, format.compression.as_str()), (false, ResultFormat::Csv, "gzip"));
        assert_eq!((format.header, format.delimiter), (false, b'|'));
        let to = copy("x.csv", &[("delimiter", "\\t"), ("quote", "\""), ("escape", "\"")]).unwrap();
        assert_eq!(to.format().unwrap().delimiter, b'\t');
        assert!(copy("x.parquet", &[("row_group_size", "1000"), ("compression_level", "3")]).is_ok());
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
        assert!(wrong("x.csv", &[("partition_by", "a")]).contains("x.csv is the name of a file"));
        assert!(wrong("x", &[("format", "xls")]).contains("no format xls\n  help: there are table, csv"));
        assert!(wrong("out/", &[("format", "json")]).contains("jsonl"));
        assert!(wrong("x.parquet", &[("header", "true")]).contains("FORMAT csv"));
        assert!(wrong("x.csv", &[("arrays", "true")]).contains("msgpack and cbor"));
        assert!(wrong("x.csv", &[("delimiter", "::")]).contains("one byte"));
        assert!(wrong("x.csv", &[("nullstr", "NA")]).contains("between two delimiters"));
        assert!(wrong("x.csv", &[("quote", "'")]).contains("quoted with \""));
        assert!(wrong("x.csv", &[("overwrite", "maybe")]).contains("OVERWRITE is true or false"));
    }
}
