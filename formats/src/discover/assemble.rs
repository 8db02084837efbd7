//! Adds the columns of a table that are not in its files.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use schema::{FileLayout, Source, Table};

use super::hive::Hive;
use crate::error::{Error, Result};

/// The name of the column with the path of each row's file.
pub const FILE_COLUMN: &str = "_file";

/// Appends the columns that directories give. If the files have a column of the same name, the directories' column
/// replaces it, as in DuckDB and Spark.
pub fn add_hive_columns(table: &mut Table, hive: Hive) {
    if hive.fields.is_empty() {
        return;
    }
    hide(table, |name| hive.fields.iter().any(|f| f.name().eq_ignore_ascii_case(name)));
    let Source::Files(set) = &mut table.source else { return };
    for (file, values) in set.files.iter_mut().zip(hive.values) {
        file.constants = values;
    }
    append(table, hive.fields);
}

/// Takes columns out of a table. The files keep them.
fn hide(table: &mut Table, hidden: impl Fn(&str) -> bool) {
    let Source::Files(set) = &mut table.source else { return };
    let fields = table.schema.fields();
    let kept: Vec<usize> = (0..fields.len()).filter(|&i| !hidden(fields[i].name())).collect();
    if kept.len() == fields.len() {
        return;
    }
    for layout in &mut set.layouts {
        layout.columns = kept.iter().map(|&i| layout.columns[i]).collect();
    }
    let usual = set.layouts.len();
    set.layouts.push(FileLayout {
        compression: set.format.compression.clone(),
        schema: table.schema.clone(),
        columns: kept.iter().copied().map(Some).collect(),
    });
    set.files.iter_mut().for_each(|file| _ = file.layout.get_or_insert(usual));
    set.file_columns = kept.len();
    table.schema = Arc::new(Schema::new(kept.iter().map(|&i| fields[i].clone()).collect::<Vec<_>>()));
}

/// The table with the column `_file`.
pub fn with_file_column(table: Table) -> Result<Table> {
    if let Ok(field) = table.schema.field_with_name(FILE_COLUMN) {
        let message = format!("it has a column '{FILE_COLUMN}' ({}) already", field.data_type());
        return Err(Error::location(&table.name, message, Some("leave --file-column out".into())));
    }
    Ok(table.with_paths(FILE_COLUMN))
}

fn append(table: &mut Table, fields: impl IntoIterator<Item = Field>) {
    let fields = table.schema.fields().iter().cloned().chain(fields.into_iter().map(Arc::new));
    table.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
}
