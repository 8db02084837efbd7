//! What flags say about tables.

use std::collections::BTreeSet;

use formats::open::{OpenOptions, SchemaChoice, open};
use schema::{OnError, Table};
use session::Tables;

use crate::Usage;
use crate::args::{Header, Input, OnErrorFlag};

/// The tables that flags name. Lists the directory of `--data`, opens nothing.
pub fn resolve(input: &Input) -> anyhow::Result<Tables> {
    let mut tables = Tables::default();
    if let Some(directory) = &input.data {
        tables.add_directory(directory)?;
    }
    let mut given = BTreeSet::new();
    for table in &input.tables {
        let (name, location) = pair("--table", "NAME=PATH", table)?;
        if !given.insert(name.to_lowercase()) {
            return Err(Usage(format!("--table gives two places for '{name}'")).into());
        }
        tables.add(&name, &location);
    }
    for (name, schema) in schemas(input)? {
        if !tables.set_schema(&name, schema) {
            return Err(Usage(format!("--schema gives two schemas for '{name}'")).into());
        }
    }
    Ok(tables)
}

fn schemas(input: &Input) -> anyhow::Result<Vec<(String, SchemaChoice)>> {
    let schema = |choice: &String| {
        let (name, value) = pair("--schema", "TABLE=bdb or TABLE=FILE", choice)?;
        Ok((name, SchemaChoice::parse(&value)))
    };
    input.schemas.iter().map(schema).collect()
}

/// How flags say that files are read.
pub fn options(input: &Input) -> anyhow::Result<OpenOptions> {
    let quote = input.quote.as_deref().map_or(Ok(b'"'), |c| byte("--quote", c))?;
    let delimiter = input.delimiter.as_deref().map(|c| byte("--delimiter", c)).transpose()?;
    if delimiter == Some(quote) {
        return Err(Usage("--delimiter and --quote must differ".into()).into());
    }
    Ok(OpenOptions {
        encoding: input.from.clone(),
        delimiter,
        quote,
        header: match input.header {
            Header::Yes => Some(true),
            Header::No => Some(false),
            Header::Auto => None,
        },
        infer_rows: input.infer_rows as usize,
        union_by_name: input.union_by_name,
        on_error: match input.on_error {
            OnErrorFlag::Fail => OnError::Fail,
            OnErrorFlag::Null => OnError::Null,
            OnErrorFlag::Skip => OnError::Skip,
        },
        max_record: input.max_record as usize,
        file_column: input.file_column,
        ..OpenOptions::default()
    })
}

/// Opens one location, whatever it is called, with the schema that is given, if one is.
pub fn open_one(input: &Input, location: &str) -> anyhow::Result<Table> {
    let options = options(input)?;
    let schemas = schemas(input)?;
    if input.data.is_some() || !input.tables.is_empty() || schemas.len() > 1 {
        let text = "files are read by their path here: no --table, no --data, one --schema";
        return Err(Usage(text.into()).into());
    }
    let given = schemas.into_iter().next();
    let name = given.as_ref().map_or_else(|| crate::schema::name(location), |(name, _)| name.to_lowercase());
    let schema = given.map(|(_, choice)| choice);
    Ok(open(location, &name, &OpenOptions { schema, ..options })?)
}

fn pair(flag: &str, form: &str, text: &str) -> anyhow::Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_string(), value.to_string()))
        }
        _ => Err(Usage(format!("{flag} takes {form}, and was given '{text}'")).into()),
    }
}

fn byte(flag: &str, text: &str) -> anyhow::Result<u8> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ if text.len() == 1 && text.is_ascii() => Ok(text.as_bytes()[0]),
        _ => Err(Usage(format!("{flag} takes one ASCII character (or \\t), and was given '{text}'")).into()),
    }
}
