//! Verifies written files: reads them again and compares them with their source, before they appear at their
//! destination.
//!
//! They are read as any reader reads them: one table by its path, or a dataset by its manifest. Only the schema is the
//! source's, because a text format can't tell decimals from floats. The system is first asked to forget the files, so
//! that they come from the disk if the file system allows that.

use std::path::Path;
use std::sync::Arc;

use formats::discover::{OpenOptions, SchemaChoice, open_path};
use formats::rows::reader::MAX_RECORD;
use formats::store::input::Input;
use schema::{Manifest, Source, Table};

use crate::context::query::QueryState;
use crate::error::{Error, Result};
use crate::writing::convert::{all_of, rows};
use crate::writing::dataset::{Rows, weight};
use crate::writing::ordered_pipeline::{self, LaneItem, Limits, Stages};
use crate::writing::row_checksum::RowChecksum;

/// Compares a file, or a dataset with this manifest, with the checksum of its source. The file or dataset lies at
/// `path`, and errors call it `shown`.
///
/// # Errors
/// [`Error::Verify`] if they differ or can't be read, and the errors of the query.
pub fn verify(
    path: &Path,
    shown: &Path,
    manifest: &Manifest,
    source: &RowChecksum,
    workers: usize,
    state: &QueryState,
) -> Result<()> {
    let difference = match read_back(path, manifest, workers, state) {
        Ok(content) => {
            source.difference(&content, &manifest.schema).map(|it| format!("what was written {it}"))
        }
        Err(e @ Error::Format(_)) => {
            let why = e.to_string().replace(&path.display().to_string(), &shown.display().to_string());
            Some(format!("what was written can't be read again: {why}"))
        }
        Err(e) => return Err(e),
    };
    match difference {
        None => Ok(()),
        Some(difference) => Err(Error::Verify { path: shown.to_path_buf(), difference }),
    }
}

/// The checksum of the file or dataset at `path`.
fn read_back(path: &Path, manifest: &Manifest, workers: usize, state: &QueryState) -> Result<RowChecksum> {
    let format = &manifest.format;
    let options = match path.is_dir() {
        // The manifest of a dataset says how it is read.
        true => OpenOptions { max_record: MAX_RECORD, ..OpenOptions::default() },
        false => OpenOptions {
            encoding: Some(format.encoding.clone()),
            compression: Some(format.compression.clone()),
            delimiter: Some(format.delimiter),
            quote: format.quote,
            header: Some(format.header),
            schema: Some(SchemaChoice::Given(manifest.schema.clone())),
            // A record may be longer in this encoding than in the encoding of the source.
            max_record: MAX_RECORD,
            ..OpenOptions::default()
        },
    };
    let table = Arc::new(open_path(path, "the result", &options)?);
    let types = |schema: &arrow_schema::Schema| -> Vec<_> {
        schema.fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect()
    };
    if types(&table.schema) != types(&manifest.schema) {
        let message = format!("it has the columns {}, and the source {}", table.schema, manifest.schema);
        return Err(formats::Error::Schema { path: path.to_path_buf(), message }.into());
    }
    content(&table, workers, state)
}

/// Computes the checksum of a table, by `workers` threads. The system is first asked to forget its files.
pub fn content(table: &Arc<Table>, workers: usize, state: &QueryState) -> Result<RowChecksum> {
    let files = match &table.source {
        Source::Files(set) => set.files.as_slice(),
        _ => &[],
    };
    for file in files {
        Input::of(file)?.forget();
    }
    let content = RowChecksum::new(&table.schema)?;
    let source = all_of(table)?;
    let Rows { deal, read, .. } = rows(&source, files, state);
    let mut first = 0;
    let stages = Stages {
        deal,
        read,
        weight: |(_, batch)| weight(batch),
        cut: Box::new(|piece, works| {
            if let LaneItem::Item((_, batch)) = piece {
                let rows = batch.num_rows() as u64;
                works.push((first, batch));
                first += rows;
            }
            Ok(())
        }),
        work: Box::new(|(first, batch)| content.add(first, &[batch])),
        put: Box::new(Ok),
    };
    ordered_pipeline::run(stages, Limits::new(workers), state)?;
    Ok(content)
}
