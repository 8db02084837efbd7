//! The tables of a statement: from flags and paths to a catalog.

use std::collections::{BTreeMap, BTreeSet};

use formats::open::{OpenOptions, SchemaChoice, open, open_data_dir};
use queries::Catalog;
use schema::{OnError, Table};

use crate::Usage;
use crate::args::{Header, Input, OnErrorFlag};

/// What the flags say about tables.
pub struct Tables {
    /// By name in lower case: the name, and where the table lies. Names of which a directory has several can't be used.
    named: BTreeMap<String, (String, Vec<String>)>,
    schemas: BTreeMap<String, SchemaChoice>,
    options: OpenOptions,
}

impl Tables {
    /// Resolves flags; lists the directory of `--data`, opens nothing.
    pub fn resolve(input: &Input) -> anyhow::Result<Tables> {
        let mut named = BTreeMap::new();
        if let Some(dir) = &input.data {
            for (name, location) in open_data_dir(dir)? {
                let known = named.entry(name.to_lowercase()).or_insert((name, Vec::new()));
                known.1.push(location);
            }
        }
        let mut given = BTreeSet::new();
        for table in &input.tables {
            let (name, location) = pair("--table", "NAME=PATH", table)?;
            let lower = name.to_lowercase();
            if !given.insert(lower.clone()) {
                return Err(Usage(format!("--table gives two places for '{name}'")).into());
            }
            named.insert(lower, (name, vec![location]));
        }
        let mut schemas = BTreeMap::new();
        for choice in &input.schemas {
            let (name, value) = pair("--schema", "TABLE=bdb or TABLE=FILE", choice)?;
            if schemas.insert(name.to_lowercase(), SchemaChoice::parse(&value)).is_some() {
                return Err(Usage(format!("--schema gives two schemas for '{name}'")).into());
            }
        }
        let quote = input.quote.as_deref().map_or(Ok(b'"'), |c| byte("--quote", c))?;
        let delimiter = input.delimiter.as_deref().map(|c| byte("--delimiter", c)).transpose()?;
        if delimiter == Some(quote) {
            return Err(Usage("--delimiter and --quote must differ".into()).into());
        }
        let options = OpenOptions {
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
        };
        Ok(Tables { named, schemas, options })
    }

    /// The names of the tables that flags name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.values().map(|(name, _)| name.as_str())
    }

    /// Opens one location, whatever it is called, with the schema that is given, if one is.
    pub fn open(&self, location: &str) -> anyhow::Result<Table> {
        if !self.named.is_empty() || self.schemas.len() > 1 {
            return Err(Usage(
                "files are read by their path here: no --table, no --data, one --schema".into(),
            )
            .into());
        }
        let given = self.schemas.iter().next();
        let name = given.map_or_else(|| crate::schema::name(location), |(name, _)| name.clone());
        let schema = given.map(|(_, choice)| choice.clone());
        Ok(open(location, &name, &OpenOptions { schema, ..self.options.clone() })?)
    }

    /// Opens these tables. A name that no flag gives is a path. With `late`, not all of many small files are looked at,
    /// see [`OpenOptions::late`].
    pub fn catalog(&self, names: &[String], late: bool) -> anyhow::Result<Catalog> {
        let is_read = |schema: &str| names.iter().any(|name| name.to_lowercase() == schema);
        if let Some(name) = self.schemas.keys().find(|name| !self.named.contains_key(*name) && !is_read(name))
        {
            let read: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
            return Err(Usage(format!(
                "--schema {name}=…: there is no table '{name}'; the query reads {}\n  \
                 help: give the table this name with --table {name}=PATH",
                if read.is_empty() { "none".to_string() } else { read.join(", ") }
            ))
            .into());
        }
        let mut catalog = Catalog::default();
        for name in names {
            let lower = name.to_lowercase();
            let known = self.named.get(&lower);
            if known.is_none() && !is_location(name) {
                let near = formats::open::nearest(name, self.names());
                let help = match near.as_slice() {
                    [] => "there is no file or directory of this name either; --table NAME=PATH and --data DIR name tables".to_string(),
                    near => format!("did you mean {}?", near.join(" or ")),
                };
                return Err(queries::Error::Name {
                    message: format!("there is no table '{name}'"),
                    help: Some(help),
                }
                .into());
            }
            // A name that a flag gives is one table however the query spells it.
            let (name, location) = match known.map(|(known, locations)| (known, locations.as_slice())) {
                None => (name, name),
                Some((known, [location])) => (known, location),
                Some((_, several)) => {
                    return Err(queries::Error::Name {
                        message: format!("'{name}' could be {}", several.join(" or ")),
                        help: Some(format!(
                            "name one of them with --table {name}=PATH, or read it by its path"
                        )),
                    }
                    .into());
                }
            };
            let schema = self.schemas.get(&lower).cloned();
            let options = OpenOptions { schema, late, ..self.options.clone() };
            let mut table = open(location, name, &options)?;
            table.name.clone_from(name);
            catalog.add(table);
        }
        Ok(catalog)
    }
}

/// Whether a name that no flag gives may be a path.
fn is_location(name: &str) -> bool {
    name == "-"
        || name.contains(['/', '.', '*', '?', '['])
        || formats::roots::exists(std::path::Path::new(name))
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
