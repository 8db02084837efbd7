//! Columns as a file has them to the columns that a scan wants.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{ArrowError, FieldRef, Schema, SchemaRef};
use arrow_select::take::take;

use super::uuid;
use crate::error::{DataError, Error, Result};
use crate::format::ScanOptions;

/// Finds the columns of a scan in a file by name, and casts, orders and completes what was read of them.
///
/// A column that the file lacks reads as NULL if the scan's schema lets it be NULL. This is for files of one table
/// whose schemas differ, united by name. A column of another type is cast; a value that does not fit is an error.
pub struct Adapter {
    output: SchemaRef,
    read: Vec<usize>,
    sources: Vec<Source>,
    /// For each column that is read the characters of its texts that are enough.
    chars: Vec<usize>,
}

enum Source {
    /// A column by its position among those read, its field if UUIDs in it are to be text, and whether it is cast.
    Column { position: usize, uuid: Option<FieldRef>, cast: bool },
    /// A column that the file lacks.
    Missing,
}

/// The position in the file of a column of the scan: the same position if the name is the same, else by name, else by a
/// name in another case, if no other column of the scan is called so.
pub fn find(file: &Schema, scan: &Schema, column: usize) -> Option<usize> {
    let name = scan.field(column).name();
    match file.fields().get(column) {
        Some(field) if field.name() == name => Some(column),
        _ => named(file, name).or_else(|| {
            let is_alike = |f: &&FieldRef| f.name().eq_ignore_ascii_case(name);
            let only = |schema: &Schema| schema.fields().iter().filter(is_alike).count() == 1;
            let found =
                file.fields().iter().position(|f| is_alike(&f)).filter(|_| only(file) && only(scan))?;
            named(scan, file.field(found).name()).is_none().then_some(found)
        }),
    }
}

/// The position of the column of this name.
fn named(schema: &Schema, name: &str) -> Option<usize> {
    schema.fields().iter().position(|f| f.name() == name)
}

impl Adapter {
    /// Prepares reading from a file of this schema.
    pub fn new(file: &Schema, scan: &ScanOptions) -> Result<Adapter> {
        let output =
            Arc::new(scan.schema.project(&scan.projection).map_err(|e| schema_error(e.to_string()))?);
        let found: Vec<Option<usize>> =
            scan.projection.iter().map(|&column| find(file, &scan.schema, column)).collect();
        let mut read: Vec<usize> = found.iter().copied().flatten().collect();
        read.sort_unstable();
        read.dedup();
        let mut chars = vec![0; read.len()];
        for (&column, found) in scan.projection.iter().zip(&found) {
            let Some(found) = found else { continue };
            let position =
                read.binary_search(found).expect("every column that was found is among those read");
            let same = file.field(*found).data_type() == scan.schema.field(column).data_type();
            chars[position] = chars[position].max(if same { scan.chars(column) } else { usize::MAX });
        }
        let sources = found
            .iter()
            .zip(output.fields())
            .map(|(found, field)| match found {
                None if field.is_nullable() => Ok(Source::Missing),
                None => Err(schema_error(format!("the file has no column '{}'", field.name()))),
                Some(column) => {
                    let to = field.data_type();
                    let own = &file.fields()[*column];
                    let uuid = (own.data_type() != to && uuid::has_uuid(own)).then(|| own.clone());
                    let from = &uuid.as_ref().map_or_else(|| own.data_type().clone(), |f| uuid::read_type(f));
                    if from != to && !can_cast_types(from, to) {
                        return Err(schema_error(format!(
                            "column '{}' is {from} in the file, which does not convert to {to}",
                            field.name()
                        )));
                    }
                    let position =
                        read.binary_search(column).expect("every column that was found is among those read");
                    Ok(Source::Column { position, uuid, cast: from != to })
                }
            })
            .collect::<Result<_>>()?;
        Ok(Adapter { output, read, sources, chars })
    }

    /// The positions in the file of the columns to be read, ascending.
    pub fn read(&self) -> &[usize] {
        &self.read
    }

    /// For each of them the characters of its texts that are enough.
    pub fn chars(&self) -> &[usize] {
        &self.chars
    }

    /// The batch that the scan wants, of the columns that were read, in the order of [`Adapter::read`].
    pub fn adapt(&self, columns: &[ArrayRef], rows: usize) -> Result<RecordBatch> {
        let columns = self
            .sources
            .iter()
            .zip(self.output.fields())
            .map(|(source, field)| match source {
                Source::Missing => Ok(new_null_array(field.data_type(), rows)),
                Source::Column { position, uuid: Some(own), cast: false } => {
                    uuid::as_text(&columns[*position], own)
                }
                Source::Column { position, uuid: None, cast: false } => Ok(columns[*position].clone()),
                Source::Column { position, uuid, cast: true } => {
                    let column = match uuid {
                        Some(own) => uuid::as_text(&columns[*position], own)?,
                        None => columns[*position].clone(),
                    };
                    let strict = CastOptions { safe: false, ..CastOptions::default() };
                    unpacked(&column)
                        .and_then(|column| cast_with_options(&column, field.data_type(), &strict))
                        .map_err(|e| column_error(field.name(), e.to_string()))
                }
            })
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.output.clone(), columns, &options)
            .map_err(|e| Error::corrupt(e.to_string()))
    }
}

/// A column whose dictionary has a NULL among its values, as those values: the cast to views would make it empty.
fn unpacked(column: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    match column.as_any_dictionary_opt() {
        Some(d) if d.values().logical_null_count() > 0 => take(d.values(), d.keys(), None),
        _ => Ok(column.clone()),
    }
}

fn schema_error(message: String) -> Error {
    Error::Schema { path: Default::default(), message }
}

/// The error of a value of a column.
pub fn column_error(column: &str, message: String) -> Error {
    Error::Data(Box::new(DataError { column: Some(column.to_string()), message, ..DataError::default() }))
}
