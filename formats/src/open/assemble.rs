//! The columns of a table that do not lie in its files.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use schema::{Source, Table};

use super::hive::Hive;
use crate::error::{Error, Result};

/// The name of the column with the path of each row's file.
pub const FILE_COLUMN: &str = "_file";

/// Appends the columns that directories give. A column that lies in the files as well is read from the files.
pub fn add_hive_columns(table: &mut Table, hive: Hive) {
    let Source::Files(set) = &mut table.source else { return };
    let in_files = |name: &String| table.schema.fields().iter().any(|f| f.name().eq_ignore_ascii_case(name));
    let kept: Vec<usize> = (0..hive.fields.len()).filter(|&i| !in_files(hive.fields[i].name())).collect();
    for (file, values) in set.files.iter_mut().zip(hive.values) {
        file.constants = kept.iter().map(|&i| values[i].clone()).collect();
    }
    append(table, kept.iter().map(|&i| hive.fields[i].clone()));
}

/// Appends the column `_file`.
pub fn add_file_column(table: &mut Table) -> Result<()> {
    if let Ok(field) = table.schema.field_with_name(FILE_COLUMN) {
        let message = format!("it has a column '{FILE_COLUMN}' ({}) already", field.data_type());
        return Err(Error::location(&table.name, message, Some("leave --file-column out".into())));
    }
    let Source::Files(set) = &mut table.source else { return Ok(()) };
    for file in &mut set.files {
        file.constants.push(Some(shown(&file.path)));
    }
    append(table, [Field::new(FILE_COLUMN, DataType::Utf8View, false)]);
    Ok(())
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn append(table: &mut Table, fields: impl IntoIterator<Item = Field>) {
    let fields = table.schema.fields().iter().cloned().chain(fields.into_iter().map(Arc::new));
    table.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
}
