//! `read_csv('path', delim = '|')`: what its options, which have DuckDB's names, say of how files are read.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use formats::compress::compression;
use formats::discover::{OpenOptions, SchemaChoice, open};
use formats::format::Format;
use formats::registry;
use queries::parse::readers::{Reader, ReaderOption};
use schema::{OnError, Table};

use crate::error::Result;
use crate::variables::{byte, charset, json_path, record, separator, switch, time_format};

/// The name of the column with the path of each row's file, as DuckDB has it.
const FILENAME: &str = "filename";

/// How files are read, and what becomes of the columns that they have.
#[derive(Debug)]
struct Reading {
    open: OpenOptions,
    /// All columns, with their types, in the place of those of the files.
    columns: Option<Vec<(String, DataType)>>,
    /// The names of the first columns.
    names: Vec<String>,
    /// The types of some columns.
    types: Vec<(String, DataType)>,
    all_text: bool,
}

/// Opens the table that a call reads. `name` is the name of the table.
///
/// # Errors
/// An option is unknown or has a wrong value, or the files can't be opened.
pub fn table(reader: &Reader, name: &str, options: &OpenOptions) -> Result<Table> {
    let reading = reading(reader, options).map_err(|error| error.at_word(&reader.function))?;
    let Reading { open: mut options, columns, names, types, all_text } = reading;
    // Of JSON any record may have more keys than those that were looked at.
    let open_keys = columns.is_none() && options.schema.is_none();
    let location = &reader.path;
    let given = match columns {
        Some(columns) => Some(columns),
        None if names.is_empty() && types.is_empty() && !all_text => None,
        // What the files have is changed.
        None => {
            let found = open(location, name, &options)?;
            if let schema::Source::Files(set) = &found.source {
                // With types it is not looked for again.
                options.dialect = set.format.dialect.clone().unwrap_or_default();
                if set.format.encoding == "csv" {
                    options.delimiter = Some(set.format.delimiter);
                }
            }
            let is_of_files = |i: usize| match &found.source {
                schema::Source::Files(set) => i < set.file_columns,
                _ => true,
            };
            let fields = found.schema.fields().iter().enumerate().filter(|(i, _)| is_of_files(*i));
            let mut columns: Vec<(String, DataType)> =
                fields.map(|(_, field)| (field.name().clone(), field.data_type().clone())).collect();
            if all_text {
                columns.iter_mut().for_each(|(_, data_type)| *data_type = DataType::Utf8View);
            }
            if names.len() > columns.len() {
                let (named, there) = (names.len(), columns.len());
                return Err(wrong(
                    reader,
                    &format!("names has {named} names, and the files have {there} columns"),
                ));
            }
            for (name, (column, _)) in names.into_iter().zip(&mut columns) {
                *column = name;
            }
            for (name, data_type) in types {
                match columns.iter_mut().find(|(column, _)| column.eq_ignore_ascii_case(&name)) {
                    Some((_, of_column)) => *of_column = data_type,
                    None => {
                        return Err(wrong(
                            reader,
                            &format!("types names the column '{name}', which is not there"),
                        ));
                    }
                }
            }
            Some(columns)
        }
    };
    if let Some(columns) = given {
        let fields = columns.into_iter().map(|(name, data_type)| Field::new(name, data_type, true));
        options.schema = Some(SchemaChoice::Given(Arc::new(Schema::new(fields.collect::<Vec<_>>()))));
    }
    let mut table = open(location, name, &options)?;
    if let schema::Source::Files(set) = &mut table.source {
        set.format.open_keys = open_keys && set.format.encoding == "jsonl";
    }
    if options.file_column {
        if table.schema.field_with_name(FILENAME).is_ok() {
            return Err(wrong(
                reader,
                "with filename = true, and the files have a column 'filename' already",
            ));
        }
        let mut fields: Vec<_> = table.schema.fields().iter().cloned().collect();
        if let Some(last) = fields.last_mut() {
            *last = Arc::new(last.as_ref().clone().with_name(FILENAME));
        }
        table.schema = Arc::new(Schema::new_with_metadata(fields, table.schema.metadata().clone()));
    }
    Ok(table)
}

fn wrong(reader: &Reader, message: &str) -> crate::Error {
    queries::Error::Invalid(format!("{}(): {message}", reader.function)).at_word(&reader.function).into()
}

/// What the options say.
fn reading(reader: &Reader, options: &OpenOptions) -> queries::Result<Reading> {
    let invalid = |message: String| queries::Error::Invalid(format!("{}(): {message}", reader.function));
    let (format, name) = match reader.format() {
        "csv" | "csv_auto" => ("csv", "csv"),
        "json" | "json_auto" | "ndjson" | "ndjson_auto" => ("json", "jsonl"),
        name => (name, name),
    };
    let encoding = registry::format(name).map_err(|error| queries::Error::Name {
        message: format!("there is no function '{}'", reader.function),
        help: Some(error.to_string()),
    })?;
    let mut reading = Reading {
        open: OpenOptions { encoding: Some(encoding.name().into()), ..options.clone() },
        columns: None,
        names: vec![],
        types: vec![],
        all_text: false,
    };
    for (option, value) in &reader.options {
        let takes = |what: &str| invalid(format!("the option {option} takes {what}"));
        let is_read = set(&mut reading, format, encoding, option, value).map_err(|what| takes(&what))?;
        if !is_read {
            let own = match format {
                "csv" => CSV,
                "json" => JSON,
                _ => &[],
            };
            let known: Vec<&str> = COMMON.iter().chain(own).copied().collect();
            return Err(queries::Error::Unsupported(format!(
                "the option {option} of {}()\n  help: there are {}",
                reader.function,
                known.join(", ")
            )));
        }
    }
    let dialect = &reading.open.dialect;
    if dialect.thousands == Some(dialect.decimal_separator) {
        return Err(invalid("decimal_separator and thousands must differ".into()));
    }
    Ok(reading)
}

/// The options of all formats, for messages.
const COMMON: &[&str] =
    &["columns", "compression", "filename", "ignore_errors", "sample_size", "types", "union_by_name"];

/// Those of csv besides.
const CSV: &[&str] = &[
    "all_varchar",
    "comment",
    "dateformat",
    "decimal_separator",
    "delim",
    "encoding",
    "escape",
    "header",
    "max_line_size",
    "names",
    "nullstr",
    "quote",
    "skip",
    "thousands",
    "timestampformat",
];

/// Those of JSON besides.
const JSON: &[&str] = &["encoding", "format", "json_path", "maximum_object_size"];

/// Sets an option; `false` if there is none of this name.
///
/// # Errors
/// What the option takes, if it does not take the value.
fn set(
    reading: &mut Reading,
    format: &str,
    encoding: &dyn Format,
    option: &str,
    value: &ReaderOption,
) -> Result<bool, String> {
    let is_csv = encoding.is_delimited();
    let one = |what: &str| match value {
        ReaderOption::One(text) => Ok(text.as_str()),
        _ => Err(what.to_string()),
    };
    let truth = || {
        let what = "true or false";
        switch(one(what)?).ok_or_else(|| what.to_string())
    };
    let character = || {
        let what = "one ASCII character";
        byte(one(what)?).ok_or_else(|| what.to_string())
    };
    let separator = || {
        let what = "one ASCII character that is no part of a number";
        separator(one(what)?).ok_or_else(|| what.to_string())
    };
    let time = || {
        let what = "a format such as '%d.%m.%Y'";
        time_format(one(what)?).ok_or_else(|| what.to_string())
    };
    let types = || {
        let what = "pairs of names and types: {'a': 'INTEGER'}";
        let ReaderOption::Pairs(pairs) = value else { return Err(what.to_string()) };
        let named = |(name, text): &(String, String)| {
            let data_type =
                queries::binder::type_named(text).map_err(|error| format!("types, and {error}"))?;
            Ok::<_, String>((name.clone(), data_type))
        };
        pairs.iter().map(named).collect::<Result<Vec<_>, _>>()
    };
    match option {
        "union_by_name" => reading.open.union_by_name = truth()?,
        "filename" => reading.open.file_column = truth()?,
        "ignore_errors" if truth()? => reading.open.on_error = OnError::Skip,
        "ignore_errors" => reading.open.on_error = OnError::Fail,
        "compression" => {
            let what = "the name of a compression, none or auto";
            reading.open.compression = match one(what)?.to_lowercase().as_str() {
                "auto" | "auto_detect" => None,
                "none" | "uncompressed" => Some("none".into()),
                name => Some(compression(name).map_err(|_| what.to_string())?.name().into()),
            };
        }
        "sample_size" => {
            let what = "a number of rows from 1 on, or -1 for all";
            reading.open.infer_rows = match one(what)? {
                "-1" => usize::MAX,
                text => text.parse().ok().filter(|rows| *rows > 0).ok_or_else(|| what.to_string())?,
            };
        }
        "columns" => reading.columns = Some(types()?),
        "types" | "dtypes" | "column_types" => reading.types = types()?,
        // Hive directories are found, and types are inferred, in any case.
        "hive_partitioning" | "auto_detect" | "parallel" if truth()? => {}
        "delim" | "sep" | "delimiter" if is_csv => reading.open.delimiter = Some(character()?),
        "quote" if is_csv => reading.open.quote = character()?,
        "escape" if is_csv => reading.open.dialect.escape = Some(character()?),
        "comment" if is_csv => reading.open.dialect.comment = Some(character()?),
        "skip" if is_csv => {
            let what = "a number of lines";
            reading.open.dialect.skip = one(what)?.parse().map_err(|_| what.to_string())?;
        }
        "nullstr" | "null" if is_csv => {
            reading.open.dialect.nulls = match value {
                ReaderOption::One(text) => vec![text.clone()],
                ReaderOption::List(texts) => texts.clone(),
                ReaderOption::Pairs(_) => return Err("a text or a list of texts: ['NA', '-']".into()),
            };
        }
        "decimal_separator" if is_csv => reading.open.dialect.decimal_separator = separator()?,
        "thousands" if is_csv => reading.open.dialect.thousands = Some(separator()?),
        "dateformat" | "date_format" if is_csv => reading.open.dialect.date_format = Some(time()?),
        "timestampformat" | "timestamp_format" if is_csv => {
            reading.open.dialect.timestamp_format = Some(time()?);
        }
        "encoding" if encoding.is_text() => {
            let what = "a character encoding such as utf-8, latin-1, windows-1252 or utf-16";
            reading.open.dialect.charset = Some(charset(one(what)?).ok_or_else(|| what.to_string())?);
        }
        "header" if is_csv => reading.open.header = Some(truth()?),
        "all_varchar" if is_csv => reading.all_text = truth()?,
        "names" | "column_names" if is_csv => {
            let ReaderOption::List(names) = value else { return Err("a list of names: ['a', 'b']".into()) };
            reading.names.clone_from(names);
        }
        "max_line_size" | "maximum_line_size" if is_csv => {
            reading.open.max_record = record(one("a size")?)? as usize;
        }
        "maximum_object_size" if format == "json" => {
            reading.open.max_record = record(one("a size")?)? as usize;
        }
        "json_path" if format == "json" => {
            let what = "keys with points between them, such as 'data' or 'result.items', or '$'";
            reading.open.dialect.json_path = Some(json_path(one(what)?).ok_or_else(|| what.to_string())?);
        }
        // How records lie is told by the files.
        "format" if format == "json" => {
            let what = "auto, newline_delimited, unstructured or array";
            if !matches!(one(what)?, "auto" | "newline_delimited" | "nd" | "unstructured" | "array") {
                return Err(what.into());
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}
