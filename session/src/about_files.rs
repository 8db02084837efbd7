//! Tables about files: `glob('*.csv')`, `sniff_csv('a.csv')`, `parquet_metadata('a.parquet')` and the like.
//!
//! They are made where a statement is planned, and lie in memory.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};
use formats::discover::{OpenOptions, files, open_batches, paths};
use formats::parquet::facts::Facts;
use queries::parse::readers::{Reader, ReaderOption};
use schema::{Comments, FormatOptions, Source, Table};

use crate::error::Result;
use crate::introspection::{columns, type_name};
use crate::readers;

/// What stands for a character that there is not.
const NONE: &str = "(empty)";

/// Makes the table of a call. `name` is the name of the table.
///
/// # Errors
/// It takes no options, but for `sniff_csv()`, or the files can't be read.
pub fn table(reader: &Reader, name: &str, options: &OpenOptions) -> Result<Table> {
    let function = reader.function.as_str();
    if let Some((option, _)) = reader.options.first().filter(|_| function != "sniff_csv") {
        let error = queries::Error::Unsupported(format!("the option {option} of {function}()"));
        return Err(error.at_word(function).into());
    }
    let batch = match function {
        "glob" => {
            let paths = paths(&reader.path)?;
            let paths = StringArray::from_iter_values(paths.iter().map(|path| path.to_string_lossy()));
            columns(&[("file", Arc::new(paths))])?
        }
        "sniff_csv" => sniffed(reader, options)?,
        _ => {
            let facts = match function {
                "parquet_file_metadata" => Facts::Files,
                "parquet_metadata" => Facts::Chunks,
                _ => Facts::Nodes,
            };
            facts.rows(&files(&reader.path)?)?
        }
    };
    Ok(open_batches(name, &batch.schema(), &[batch])?)
}

/// The options of a call that say more than how the text of its files is written, which is found.
const BESIDES: &[&str] = &[
    "compression",
    "filename",
    "hive_partitioning",
    "hive_types",
    "hive_types_autocast",
    "ignore_errors",
    "max_line_size",
    "maximum_line_size",
    "union_by_name",
];

/// What is found of csv files, in one row.
fn sniffed(reader: &Reader, options: &OpenOptions) -> Result<RecordBatch> {
    let call = Reader { function: "read_csv".into(), ..reader.clone() };
    let table = readers::table(&call, &call.name(), options)?;
    let (format, of_files) = match &table.source {
        Source::Files(set) => (set.format.clone(), set.file_columns),
        _ => (FormatOptions::default(), 0),
    };
    let dialect = format.dialect.clone().unwrap_or_default();
    let found: Vec<(String, String)> = (table.schema.fields().iter().take(of_files))
        .map(|field| (field.name().clone(), type_name(field.data_type())))
        .collect();
    let text = |text: Option<String>| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let character = |byte: Option<u8>| text(Some(byte.map_or(NONE.into(), |byte| char::from(byte).into())));
    columns(&[
        ("Delimiter", character(Some(format.delimiter))),
        ("Quote", character(Some(format.quote))),
        ("Escape", character(dialect.escape.or(Some(format.quote)))),
        ("Comment", character(dialect.comments.mark())),
        ("SkipRows", Arc::new(Int64Array::from(vec![i64::try_from(dialect.skip).ok()]))),
        ("HasHeader", Arc::new(BooleanArray::from(vec![format.header]))),
        ("Columns", named_types(&found)?),
        ("DateFormat", text(dialect.date_format.clone())),
        ("TimestampFormat", text(dialect.timestamp_format.clone())),
        ("UserArguments", text(said(reader))),
        ("Prompt", text(Some(prompt(reader, &format, &found)))),
    ])
}

/// A list of structs with names and types, as one value.
fn named_types(found: &[(String, String)]) -> Result<ArrayRef> {
    let names = StringArray::from_iter_values(found.iter().map(|(name, _)| name));
    let types = StringArray::from_iter_values(found.iter().map(|(_, data_type)| data_type));
    let fields: Fields =
        ["name", "type"].map(|name| Field::new(name, DataType::Utf8, true)).into_iter().collect();
    let item = Field::new_list_field(DataType::Struct(fields.clone()), true);
    let pairs = StructArray::try_new(fields, vec![Arc::new(names), Arc::new(types)], None);
    let list = pairs.and_then(|pairs| {
        ListArray::try_new(Arc::new(item), OffsetBuffer::from_lengths([found.len()]), Arc::new(pairs), None)
    });
    Ok(Arc::new(list.map_err(engine::Error::from)?))
}

/// The options of the call as they would be written.
fn said(reader: &Reader) -> Option<String> {
    let of = |options: Vec<(String, ReaderOption)>| Reader { options, ..reader.clone() }.name();
    let (bare, whole) = (of(Vec::new()), of(reader.options.clone()));
    let options = whole.strip_prefix(bare.strip_suffix(')')?)?.strip_suffix(')')?.strip_prefix(", ")?;
    Some(options.to_string())
}

/// The statement that reads the files so.
fn prompt(reader: &Reader, format: &FormatOptions, found: &[(String, String)]) -> String {
    let dialect = format.dialect.clone().unwrap_or_default();
    let one = |text: String| ReaderOption::One(text);
    let character = |byte: u8| one(char::from(byte).to_string());
    let mut options = vec![("delim", character(format.delimiter)), ("quote", character(format.quote))];
    options.push(("header", one(format.header.to_string())));
    options.push(("skip", one(dialect.skip.to_string())));
    options.extend(dialect.escape.map(|escape| ("escape", character(escape))));
    // Comments that are whole lines are found again, and could not be told from others by an option.
    match dialect.comments {
        Comments::None => options.push(("comment", one(String::new()))),
        Comments::From(mark) | Comments::Found { mark, alone: false, .. } => {
            options.push(("comment", character(mark)));
        }
        Comments::Sought | Comments::Found { alone: true, .. } => {}
    }
    if !dialect.nulls.is_empty() {
        options.push(("nullstr", ReaderOption::List(dialect.nulls.clone())));
    }
    if dialect.decimal_separator != b'.' {
        options.push(("decimal_separator", character(dialect.decimal_separator)));
    }
    options.extend(dialect.thousands.map(|mark| ("thousands", character(mark))));
    options.extend(dialect.charset.clone().map(|charset| ("encoding", one(charset))));
    options.extend(dialect.date_format.clone().map(|format| ("dateformat", one(format))));
    options.extend(dialect.timestamp_format.clone().map(|format| ("timestampformat", one(format))));
    if dialect.null_padding {
        options.push(("null_padding", one("true".into())));
    }
    options.push(("columns", ReaderOption::Pairs(found.to_vec())));
    let mut options: Vec<_> = options.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    let besides = reader.options.iter().filter(|(name, _)| BESIDES.contains(&name.as_str()));
    options.extend(besides.cloned());
    format!("FROM {};", Reader { function: "read_csv".into(), path: reader.path.clone(), options }.name())
}
