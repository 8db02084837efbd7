//! What is guessed of a table before it is read ([`schema::estimates`]).
//!
//! - `footers`: from what the footers of column formats say of values.
//! - `sample`: from the first records of other files, and from rows in memory.
//! - `constants`: from what stands in the names of directories and files.

mod constants;
mod footers;
pub mod sample;

use schema::{ColumnEstimate, FileEntry, FileSet, Source, Table};

use crate::error::Result;
use crate::registry::format;

/// Of so many files at most it is looked what they hold. They are spread evenly over the table.
const FILES: usize = 4;

/// Fills in [`Table::spans`] and [`Table::guesses`].
///
/// # Errors
/// A footer is damaged. What is wrong with a file of records is told when it is read.
pub fn add(table: &mut Table) -> Result<()> {
    let Source::Files(set) = &table.source else { return Ok(()) };
    let format = format(&set.format.encoding)?;
    let files = looked_at(set);
    let (spans, mut guesses) = match format.compresses_inside() {
        true => footers::of(format, table, set, &files)?,
        false => (vec![], sample::of(format, table, set, &files)),
    };
    let columns = table.schema.fields().len();
    let constants = constants::of(set, columns - set.file_columns.min(columns));
    if !guesses.columns.is_empty() || !constants.is_empty() {
        guesses.columns.resize(set.file_columns, ColumnEstimate::default());
        guesses.columns.extend(constants);
    }
    (table.spans, table.guesses) = (spans, guesses);
    Ok(())
}

/// Some of the files that have bytes, the first and the last among them.
fn looked_at(set: &FileSet) -> Vec<&FileEntry> {
    let files: Vec<&FileEntry> = set.files.iter().filter(|file| file.bytes > 0).collect();
    let some = FILES.min(files.len());
    let last = files.len().saturating_sub(1);
    (0..some).map(|i| files[i * last / some.saturating_sub(1).max(1)]).collect()
}

/// The columns that a file holds, each with its position in the table and its name.
fn columns_in<'a>(
    table: &'a Table,
    set: &'a FileSet,
    file: &'a FileEntry,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let layout = set.layout(file);
    (0..set.file_columns.min(table.schema.fields().len())).filter_map(move |column| {
        let position = layout.map_or(Some(column), |layout| layout.columns.get(column).copied().flatten());
        position.map(|position| (column, position))
    })
}
