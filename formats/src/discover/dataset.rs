//! A directory with a manifest.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schema::manifest::{FILE_NAME, Manifest};
use schema::{
    DeferredValidation, FileEntry, FileSet, FormatOptions, Listed, Source, Splitting, Table, TableEstimates,
};

use super::{OpenOptions, assemble, list};
use crate::columns::types::read_schema;
use crate::error::{Error, Result};
use crate::registry::format;
use crate::rows::split::is_listed;
use crate::store::input;

/// Opens a dataset.
///
/// The directory must hold the files of the manifest, each of the size that the manifest says, and no other files. So
/// rows that were added or lost are an error. The manifest states how the files are written. The options that say so
/// for other files don't count here.
pub fn open(dir: &Path, name: &str, options: &OpenOptions) -> Result<Table> {
    let Some(manifest) = Manifest::read_with(dir, input::reader)? else {
        return Err(Error::location(dir.display(), format!("{FILE_NAME} is gone"), None));
    };
    let files = files(dir, &manifest)?;
    let columns = read_schema(&manifest.schema);
    if let Some(choice) = &options.schema {
        let given = choice.resolve(name, dir)?;
        // Its records have their fields in the order of the columns.
        if given.record_layout.is_some() || given.schema.fields() != columns.fields() {
            let message = format!("the schema that is given is not the one in {FILE_NAME}");
            let help =
                format!("leave --schema out, or remove {FILE_NAME} to read the files with another schema");
            return Err(Error::location(dir.display(), message, Some(help)));
        }
    }
    let format = FormatOptions {
        on_error: options.on_bad_value(),
        rejects: options.rejects.clone(),
        max_record: options.max_record,
        ..manifest.format.clone()
    };
    let rows = Some(manifest.rows());
    let set = FileSet {
        files,
        format,
        file_columns: columns.fields().len(),
        layouts: vec![],
        unseen: DeferredValidation::Nothing,
    };
    let mut table = Table {
        name: name.to_string(),
        schema: Arc::new(columns),
        source: Source::Files(set),
        rows,
        spans: vec![],
        guesses: TableEstimates::default(),
    };
    if options.file_column {
        table = assemble::with_file_column(table)?;
    }
    Ok(table)
}

fn files(dir: &Path, manifest: &Manifest) -> Result<Vec<FileEntry>> {
    let refuse = |what: &Path, message: String| {
        let help = format!("make the dataset again, or remove {FILE_NAME} to read the files that are there");
        Error::location(what.display(), message, Some(help))
    };
    let encoding = format(&manifest.format.encoding)?;
    let there = list::below(dir)?;
    let listed: HashSet<PathBuf> = manifest.files.iter().map(|f| dir.join(&f.name)).collect();
    if let Some(other) = there.iter().find(|f| !listed.contains(&f.path)) {
        return Err(refuse(&other.path, "the file is not in the dataset's manifest".into()));
    }
    let there: HashMap<&Path, &list::Found> = there.iter().map(|f| (f.path.as_path(), f)).collect();
    let entry = |part: &schema::manifest::PartFile| {
        let path = dir.join(&part.name);
        let Some(found) = there.get(path.as_path()) else {
            return Err(refuse(&path, "the dataset's manifest lists the file, and it is missing".into()));
        };
        if found.bytes != part.bytes {
            let message =
                format!("the file has {} bytes, the dataset's manifest says {}", found.bytes, part.bytes);
            return Err(refuse(&path, message));
        }
        let mut entry = FileEntry::new(path, part.bytes, found.modified_ns);
        let listed = Listed { crc32: part.crc32, blocks: part.blocks.clone() };
        entry.cut = match is_listed(&listed, part.bytes) {
            true => Splitting::Blocks,
            false => encoding.cut(&entry, &manifest.format)?,
        };
        (entry.rows, entry.listed) = (Some(part.rows), Some(listed));
        Ok(entry)
    };
    manifest.files.iter().map(entry).collect()
}
