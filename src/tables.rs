//! Reads the flags of tables.

use std::collections::BTreeSet;

use formats::discover::{OpenOptions, SchemaChoice};
use schema::{Comments, Dialect, OnError, SheetChoice};
use session::{Sources, variables};

use crate::Usage;
use crate::args::{Header, Input, OnErrorFlag};

/// The sources that the flags name. Looks at no file.
pub fn sources(input: &Input) -> anyhow::Result<Sources> {
    let pairs = |flag: &str, form: &str, texts: &[String], what: &str| {
        let mut given = BTreeSet::new();
        let one = |text: &String| -> anyhow::Result<(String, String)> {
            let (name, value) = pair(flag, form, text)?;
            match given.insert(name.to_lowercase()) {
                true => Ok((name, value)),
                false => Err(Usage(format!("{flag} gives two {what} for '{name}'")).into()),
            }
        };
        texts.iter().map(one).collect::<anyhow::Result<Vec<_>>>()
    };
    let schemas = pairs("--schema", "TABLE=bdb or TABLE=FILE", &input.schemas, "schemas")?;
    Ok(Sources {
        directory: input.data.clone(),
        tables: pairs("--table", "NAME=PATH", &input.tables, "places")?,
        schemas: schemas.into_iter().map(|(name, value)| (name, SchemaChoice::parse(&value))).collect(),
        open: options(input)?,
    })
}

/// The options of reading files, from flags.
fn options(input: &Input) -> anyhow::Result<OpenOptions> {
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
        dialect: Box::new(dialect(input)?),
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

/// How text is written, from flags.
fn dialect(input: &Input) -> anyhow::Result<Dialect> {
    let one = |flag: &str, text: &Option<String>| text.as_deref().map(|c| byte(flag, c)).transpose();
    let separator = |flag: &str, text: &Option<String>| {
        let wrong = |text: &str| {
            let what = "one ASCII character that is no part of a number";
            Usage(format!("{flag} takes {what}, and was given '{text}'"))
        };
        let separator = |text: &str| variables::separator(text).ok_or_else(|| wrong(text));
        text.as_deref().map(separator).transpose()
    };
    let time = |flag: &str, text: &Option<String>| {
        let wrong =
            |text: &str| Usage(format!("{flag} takes a format such as '%d.%m.%Y', and was given '{text}'"));
        let time = |text: &str| variables::time_format(text).ok_or_else(|| wrong(text));
        text.as_deref().map(time).transpose()
    };
    let decimal_separator = separator("--decimal-separator", &input.decimal_separator)?.unwrap_or(b'.');
    let thousands = separator("--thousands", &input.thousands)?;
    if thousands == Some(decimal_separator) {
        return Err(Usage("--decimal-separator and --thousands must differ".into()).into());
    }
    if let Some(name) = &input.encoding
        && variables::charset(name).is_none()
    {
        let known = "utf-8, latin-1, windows-1252 or utf-16";
        return Err(
            Usage(format!("--encoding takes an encoding such as {known}, and was given '{name}'")).into()
        );
    }
    if let Some(path) = &input.json_path
        && variables::json_path(path).is_none()
    {
        let known = "keys with points between them, such as data or result.items, or $";
        return Err(Usage(format!("--json-path takes {known}, and was given '{path}'")).into());
    }
    if let Some(range) = &input.range
        && variables::cell_range(range).is_none()
    {
        let known = "cells such as A1:C10, A:C or 2:10";
        return Err(Usage(format!("--range takes {known}, and was given '{range}'")).into());
    }
    Ok(Dialect {
        charset: input.encoding.clone(),
        skip: input.skip,
        comments: match input.comment.as_deref() {
            Some("") => Comments::None,
            _ => one("--comment", &input.comment)?.map_or(Comments::Sought, Comments::From),
        },
        null_padding: false,
        escape: one("--escape", &input.escape)?,
        nulls: input.nullstr.as_deref().map(variables::nulls).unwrap_or_default(),
        decimal_separator,
        thousands,
        date_format: time("--dateformat", &input.dateformat)?,
        timestamp_format: time("--timestampformat", &input.timestampformat)?,
        json_path: input.json_path.clone(),
        json_path_found: false,
        sheet: SheetChoice { name: input.sheet.clone(), range: input.range.clone(), header: None },
    })
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
    let wrong = || Usage(format!("{flag} takes one ASCII character (or \\t), and was given '{text}'"));
    Ok(variables::byte(text).ok_or_else(wrong)?)
}
