//! `read_csv('path', delim = '|')`: what its options, which have DuckDB's names, say of how files are read.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema};
use formats::compress::compression;
use formats::discover::{OpenOptions, SchemaChoice, open};
use formats::format::Format;
use formats::registry;
use queries::parse::readers::{Reader, ReaderOption};
use schema::{Comments, OnError, Table};

use crate::error::Result;
use crate::variables::{byte, cell_range, charset, json_path, record, separator, switch, time_format};

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
    /// The types of the first columns.
    types_by_place: Vec<DataType>,
    /// The types that may be found, beside text, if not all may.
    candidates: Option<Vec<DataType>>,
    all_text: bool,
    /// The types of columns of directories, if they are not found, and whether the others are text.
    hive_types: Vec<(String, DataType)>,
    hive_text: bool,
    /// The name of the column with the path of each row's file.
    filename: String,
    /// Whether what the options don't say is found.
    finds: bool,
    rejects: RejectChoice,
}

/// What the options say of rejects that are kept.
#[derive(Debug, Default)]
struct RejectChoice {
    errors: Option<String>,
    scans: Option<String>,
    limit: Option<usize>,
}

/// The most rejects that are kept of a table.
const MOST_REJECTS: usize = 1_000_000;

/// Opens the table that a call reads. `name` is the name of the table.
///
/// # Errors
/// An option is unknown or has a wrong value, or the files can't be opened.
pub fn table(reader: &Reader, name: &str, options: &OpenOptions) -> Result<Table> {
    let mut reading = reading(reader, options).map_err(|error| error.at_word(&reader.function))?;
    // Of JSON any record may have more keys than those that were looked at.
    let open_keys = reading.columns.is_none() && reading.open.schema.is_none();
    let location = &reader.path;
    let given = match reading.columns.take() {
        Some(columns) => Some(columns),
        None if reading.is_as_found() => None,
        None => Some(changed(reader, name, &mut reading)?),
    };
    let Reading { open: mut options, hive_types, hive_text, filename, .. } = reading;
    if let Some(columns) = given {
        let fields = columns.into_iter().map(|(name, data_type)| Field::new(name, data_type, true));
        options.schema = Some(SchemaChoice::Given(Arc::new(Schema::new(fields.collect::<Vec<_>>()))));
    }
    let mut table = open(location, name, &options)?;
    if let schema::Source::Files(set) = &mut table.source {
        set.format.open_keys = open_keys && set.format.encoding == "jsonl";
    }
    if hive_text || !hive_types.is_empty() {
        type_directories(reader, &mut table, &hive_types, hive_text, options.file_column)?;
    }
    if options.file_column {
        if table.schema.field_with_name(&filename).is_ok() {
            return Err(wrong(
                reader,
                &format!("with filename = true, and the files have a column '{filename}' already"),
            ));
        }
        let mut fields: Vec<_> = table.schema.fields().iter().cloned().collect();
        if let Some(last) = fields.last_mut() {
            *last = Arc::new(last.as_ref().clone().with_name(filename));
        }
        table.schema = Arc::new(Schema::new_with_metadata(fields, table.schema.metadata().clone()));
    }
    Ok(table)
}

impl Reading {
    /// Whether the columns of the files are those of the table.
    fn is_as_found(&self) -> bool {
        let types = self.types.is_empty() && self.types_by_place.is_empty() && self.candidates.is_none();
        types && self.names.is_empty() && !self.all_text
    }
}

/// The columns of the files with the names and types that the options say.
fn changed(reader: &Reader, name: &str, reading: &mut Reading) -> Result<Vec<(String, DataType)>> {
    let options = &mut reading.open;
    let found = open(&reader.path, name, options)?;
    if let schema::Source::Files(set) = &found.source {
        // With types it is not looked for again.
        options.dialect = set.format.dialect.clone().unwrap_or_default();
        if set.format.encoding == "csv" {
            options.delimiter = Some(set.format.delimiter);
            // With other names or types a header would not be known.
            options.header = Some(set.format.header);
        }
    }
    let is_of_files = |i: usize| match &found.source {
        schema::Source::Files(set) => i < set.file_columns,
        _ => true,
    };
    let fields = found.schema.fields().iter().enumerate().filter(|(i, _)| is_of_files(*i));
    let mut columns: Vec<(String, DataType)> =
        fields.map(|(_, field)| (field.name().clone(), field.data_type().clone())).collect();
    for (_, data_type) in &mut columns {
        if reading.all_text {
            *data_type = DataType::Utf8View;
        } else if let Some(candidates) = &reading.candidates {
            *data_type = candidate(data_type, candidates);
        }
    }
    let most = reading.names.len().max(reading.types_by_place.len());
    if most > columns.len() {
        let option = if most == reading.names.len() { "names" } else { "types" };
        let there = columns.len();
        return Err(wrong(
            reader,
            &format!("{option} has {most} {option}, and the files have {there} columns"),
        ));
    }
    for (name, (column, _)) in reading.names.drain(..).zip(&mut columns) {
        *column = name;
    }
    for (data_type, (_, of_column)) in reading.types_by_place.drain(..).zip(&mut columns) {
        *of_column = data_type;
    }
    for (name, data_type) in reading.types.drain(..) {
        match columns.iter_mut().find(|(column, _)| column.eq_ignore_ascii_case(&name)) {
            Some((_, of_column)) => *of_column = data_type,
            None => {
                return Err(wrong(reader, &format!("types names the column '{name}', which is not there")));
            }
        }
    }
    Ok(columns)
}

/// The type of these candidates that has all values of a type that was found: text if there is none.
fn candidate(found: &DataType, candidates: &[DataType]) -> DataType {
    let is_same = |other: &&DataType| match (found, other) {
        (DataType::Timestamp(_, of), DataType::Timestamp(_, zone)) => of.is_some() == zone.is_some(),
        (one, other) => one == *other,
    };
    let is_wider = |other: &&DataType| {
        matches!(
            (found, other),
            (DataType::Int64 | DataType::UInt64, DataType::Float64)
                | (DataType::Date32, DataType::Timestamp(_, None))
        )
    };
    match candidates.iter().any(|other| is_same(&other)) {
        true => found.clone(),
        false => candidates.iter().find(is_wider).cloned().unwrap_or(DataType::Utf8View),
    }
}

/// Gives the columns of directories these types; the others are text if `as_text`. The last column is the path of the
/// file if `has_filename`.
///
/// # Errors
/// There is no such column, or a value is none of its type.
fn type_directories(
    reader: &Reader,
    table: &mut Table,
    types: &[(String, DataType)],
    as_text: bool,
    has_filename: bool,
) -> Result<()> {
    let schema::Source::Files(set) = &table.source else { return Ok(()) };
    let mut fields: Vec<_> = table.schema.fields().iter().cloned().collect();
    let directories = set.file_columns..fields.len() - usize::from(has_filename);
    let is_there =
        |name: &String| directories.clone().any(|column| fields[column].name().eq_ignore_ascii_case(name));
    if let Some((name, _)) = types.iter().find(|(name, _)| !is_there(name)) {
        let message = format!("hive_types names '{name}', and no directory is called {name}=…");
        return Err(wrong(reader, &message));
    }
    let again = |i: usize| types[..i].iter().any(|(name, _)| name.eq_ignore_ascii_case(&types[i].0));
    if let Some(i) = (0..types.len()).find(|&i| again(i)) {
        return Err(wrong(reader, &format!("hive_types names '{}' twice", types[i].0)));
    }
    for (place, column) in directories.enumerate() {
        let field = fields[column].as_ref().clone();
        let mut given = types.iter().filter(|(name, _)| field.name().eq_ignore_ascii_case(name));
        let data_type = match given.next() {
            Some((_, data_type)) => data_type.clone(),
            None if as_text => DataType::Utf8View,
            None => continue,
        };
        let values: StringArray =
            set.files.iter().map(|file| file.constants.get(place).cloned().flatten()).collect();
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        if let Err(error) = cast_with_options(&values, &data_type, &strict) {
            return Err(wrong(reader, &format!("hive_types of '{}': {error}", field.name())));
        }
        fields[column] = Arc::new(field.with_data_type(data_type));
    }
    table.schema = Arc::new(Schema::new_with_metadata(fields, table.schema.metadata().clone()));
    Ok(())
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
        types_by_place: vec![],
        candidates: None,
        all_text: false,
        hive_types: vec![],
        hive_text: false,
        filename: FILENAME.into(),
        finds: true,
        rejects: RejectChoice::default(),
    };
    for (option, value) in &reader.options {
        let takes = |what: &str| invalid(format!("the option {option} takes {what}"));
        let is_read = set(&mut reading, format, encoding, option, value).map_err(|what| takes(&what))?;
        if !is_read {
            let own = match format {
                "csv" => CSV,
                "json" => JSON,
                "xlsx" => XLSX,
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
    let RejectChoice { errors, scans, limit } = std::mem::take(&mut reading.rejects);
    match &mut reading.open.rejects {
        Some(keep) => {
            keep.errors = errors.unwrap_or(std::mem::take(&mut keep.errors));
            keep.scans = scans.unwrap_or(std::mem::take(&mut keep.scans));
            keep.limit = limit.unwrap_or(keep.limit);
            if keep.errors.eq_ignore_ascii_case(&keep.scans) {
                return Err(invalid("rejects_table and rejects_scan must differ".into()));
            }
        }
        None if errors.is_some() || scans.is_some() || limit.is_some() => {
            let message = "rejects_table, rejects_scan and rejects_limit go with store_rejects = true";
            return Err(invalid(message.into()));
        }
        None => {}
    }
    if !reading.finds {
        if reading.columns.is_none() {
            let message = "auto_detect = false goes with columns = {'a': 'INTEGER', …}, because nothing else tells them";
            return Err(invalid(message.into()));
        }
        reading.open.header.get_or_insert(false);
        reading.open.delimiter.get_or_insert(b',');
    }
    let dialect = &reading.open.dialect;
    if dialect.thousands == Some(dialect.decimal_separator) {
        return Err(invalid("decimal_separator and thousands must differ".into()));
    }
    Ok(reading)
}

/// The options of all formats, for messages.
const COMMON: &[&str] = &[
    "auto_detect",
    "columns",
    "compression",
    "filename",
    "hive_partitioning",
    "hive_types",
    "hive_types_autocast",
    "ignore_errors",
    "rejects_limit",
    "rejects_scan",
    "rejects_table",
    "sample_size",
    "store_rejects",
    "types",
    "union_by_name",
];

/// Those of csv besides.
const CSV: &[&str] = &[
    "all_varchar",
    "auto_type_candidates",
    "buffer_size",
    "comment",
    "dateformat",
    "decimal_separator",
    "delim",
    "encoding",
    "escape",
    "header",
    "max_line_size",
    "names",
    "new_line",
    "null_padding",
    "nullstr",
    "parallel",
    "quote",
    "skip",
    "strict_mode",
    "thousands",
    "timestampformat",
];

/// Those of JSON besides.
const JSON: &[&str] = &["encoding", "format", "json_path", "maximum_depth", "maximum_object_size", "records"];

/// Those of workbooks besides.
const XLSX: &[&str] = &["all_varchar", "header", "range", "sheet"];

/// The name of a table that an option gives.
fn table_name(text: &str) -> Result<String, String> {
    match text.is_empty() {
        true => Err("the name of a table".into()),
        false => Ok(text.into()),
    }
}

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
        "filename" => {
            let text = one("true, false or the name of the column")?;
            reading.open.file_column = switch(text) != Some(false);
            if text.is_empty() {
                return Err("true, false or the name of the column".into());
            }
            if switch(text).is_none() {
                reading.filename = text.into();
            }
        }
        // Errors are those of cells, and a row has others.
        "ignore_errors" if encoding.is_sheet() && truth()? => reading.open.on_error = OnError::Null,
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
        "types" | "dtypes" | "column_types" => match value {
            ReaderOption::List(list) => {
                let named = |text: &String| {
                    queries::binder::type_named(text).map_err(|error| format!("types, and {error}"))
                };
                reading.types_by_place = list.iter().map(named).collect::<Result<_, _>>()?;
            }
            _ => reading.types = types()?,
        },
        "auto_detect" => reading.finds = truth()?,
        "hive_partitioning" => reading.open.hive = truth()?,
        "hive_types" => reading.hive_types = types()?,
        "hive_types_autocast" => reading.hive_text = !truth()?,
        // What changes no answer here: how much is read at once, and by how many.
        "parallel" => _ = truth()?,
        "buffer_size" | "explicit_cardinality" | "files_to_sniff" => {
            let what = "a number from 0 on";
            one(what)?.parse::<u64>().map_err(|_| what.to_string())?;
        }
        "can_have_nan" if format == "parquet" => _ = truth()?,
        "binary_as_string" | "file_row_number" if !truth()? => {}
        // A record is read as it should be or is an error, which `ignore_errors` passes over.
        "strict_mode" if is_csv => _ = truth()?,
        "null_padding" if is_csv => reading.open.dialect.null_padding = truth()?,
        "allow_quoted_nulls" if is_csv && truth()? => {}
        "store_rejects" if truth()? => {
            reading.open.rejects.get_or_insert_default();
        }
        "store_rejects" => reading.open.rejects = None,
        "rejects_table" => reading.rejects.errors = Some(table_name(one("the name of a table")?)?),
        "rejects_scan" => reading.rejects.scans = Some(table_name(one("the name of a table")?)?),
        "rejects_limit" => {
            let what = "a number from 1 to 1000000: all can't be kept";
            let limit = one(what)?.parse().ok().filter(|limit| (1..=MOST_REJECTS).contains(limit));
            reading.rejects.limit = Some(limit.ok_or_else(|| what.to_string())?);
        }
        "new_line" if is_csv => {
            let what = r"'\n' or '\r\n', both of which end a line in any case";
            if !matches!(one(what)?, r"\n" | r"\r\n" | "\n" | "\r\n") {
                return Err(what.into());
            }
        }
        "auto_type_candidates" if is_csv => {
            let what = "a list of BOOLEAN, BIGINT, DOUBLE, TIME, DATE, TIMESTAMP, TIMESTAMPTZ and VARCHAR";
            let ReaderOption::List(list) = value else { return Err(what.into()) };
            // Times are not found, and stay text.
            let passed =
                |text: &&String| !["NULL", "TIME"].iter().any(|name| text.eq_ignore_ascii_case(name));
            let named = |text: &String| {
                use DataType::{Boolean, Date32, Float64, Int64, Timestamp, Utf8View};
                let data_type = queries::binder::type_named(text).map_err(|_| what.to_string())?;
                match data_type {
                    Boolean | Int64 | Float64 | Date32 | Timestamp(..) | Utf8View => Ok(data_type),
                    _ => Err(what.to_string()),
                }
            };
            reading.candidates = Some(list.iter().filter(passed).map(named).collect::<Result<_, _>>()?);
        }
        "delim" | "sep" | "delimiter" if is_csv => reading.open.delimiter = Some(character()?),
        "quote" if is_csv => reading.open.quote = character()?,
        "escape" if is_csv => reading.open.dialect.escape = Some(character()?),
        "comment" if is_csv => {
            reading.open.dialect.comments = match value {
                ReaderOption::One(text) if text.is_empty() => Comments::None,
                _ => Comments::From(character()?),
            };
        }
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
        "header" if is_csv || encoding.is_sheet() => reading.open.header = Some(truth()?),
        "sheet" if encoding.is_sheet() => {
            let what = "the name of a sheet";
            let name = one(what)?;
            reading.open.dialect.sheet.name = Some(name.to_string());
        }
        "range" if encoding.is_sheet() => {
            let what = "a range of cells such as 'A1:C10', 'A:C' or '2:10'";
            reading.open.dialect.sheet.range = Some(cell_range(one(what)?).ok_or_else(|| what.to_string())?);
        }
        "all_varchar" if is_csv || encoding.is_sheet() => reading.all_text = truth()?,
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
        // Types are as deep as the values.
        "maximum_depth" if format == "json" && matches!(value, ReaderOption::One(depth) if depth == "-1") => {
        }
        // Objects are records.
        "records" if format == "json" && one("true or auto")? == "auto" => {}
        "records" if format == "json" && truth()? => {}
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
