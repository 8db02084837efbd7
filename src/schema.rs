//! `palais schema`: the schema of a table, as text that `--schema NAME=FILE` reads.

use std::path::Path;

use arrow_schema::Schema;
use formats::open::OpenOptions;

/// The form of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// `CREATE TABLE`, for people.
    Ddl,
    /// The JSON form of Arrow's specification.
    Json,
}

/// The schema of the files at `location`, columns of directories left out: they don't lie in the files.
pub fn text(location: &str, form: Form, options: &OpenOptions) -> anyhow::Result<String> {
    let name = name(location);
    let table = formats::open::open(location, &name, options)?;
    let in_files = match &table.source {
        schema::Source::Files(set) => set.file_columns,
        _ => table.schema.fields().len(),
    };
    let fields = Schema::new(table.schema.fields()[..in_files].to_vec());
    Ok(match form {
        Form::Ddl => schema::text::ddl::print(&name, &fields)?,
        Form::Json => schema::text::json::print(&fields)?,
    })
}

/// What the table is called: the file or directory up to the first point, or `t` where that is no name (`*.csv`, `-`).
pub fn name(location: &str) -> String {
    let file = Path::new(location).file_name().unwrap_or_default().to_string_lossy();
    let stem = file.split('.').next().unwrap_or_default();
    match stem.is_empty() || stem.contains(|c: char| !c.is_alphanumeric() && c != '_') {
        true => "t".into(),
        false => stem.into(),
    }
}
