//! The files of a scan, and the order in which workers take their splits.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::Schema;
use formats::format::{Format, Morsel};
use formats::store::remote;
use queries::plan::Scan as Plan;
use schema::{FileEntry, FileSet, Source, Table};

use super::prefetch::{FileSplit, Queue, Window};
use super::reading::Reading;
use super::static_partition::StaticPartition;
use crate::error::Result;

/// A file is cut into morsels of about so many bytes.
pub const MORSEL_BYTES: u64 = 8 << 20;

/// The files of a table.
pub struct Files {
    pub table: Arc<Table>,
    pub format: &'static dyn Format,
    /// How to read files of the table's own layout.
    pub usual: Reading,
    /// How to read the files of each other layout.
    pub layouts: Vec<Reading>,
}

/// How far the workers of a process have taken the files.
#[derive(Default)]
pub struct Taken {
    pub file: usize,
    /// The bytes of all files before `file`.
    pub before: u64,
    /// The range of bytes over all files, or of generated rows, that this process scans.
    pub range: Range<u64>,
    /// Whether another process gave this range.
    pub given: bool,
    /// The next splits, in order.
    pub parts: Queue,
    /// How many splits were taken.
    pub pieces: u64,
    /// The next generated row.
    pub row: u64,
}

impl Files {
    /// The files of a plan's scan.
    pub fn new(plan: &Plan, set: &FileSet) -> Result<Files> {
        let format = formats::registry::format(&set.format.encoding)?;
        let fields: Vec<_> = plan.table.schema.fields()[..set.file_columns].to_vec();
        let usual = Reading::new(plan, set, Arc::new(Schema::new(fields)), None, &set.format.compression);
        let layouts = set
            .layouts
            .iter()
            .map(|l| Reading::new(plan, set, l.schema.clone(), Some(&l.columns), &l.compression))
            .collect();
        Ok(Files { table: plan.table.clone(), format, usual, layouts })
    }

    /// The files in order.
    pub fn list(&self) -> &[FileEntry] {
        match &self.table.source {
            Source::Files(set) => &set.files,
            Source::Range { .. } | Source::Generated(_) | Source::Memory(_) => &[],
        }
    }

    /// Whether the files lie in a store.
    pub fn lie_in_store(&self) -> bool {
        self.list().first().is_some_and(|file| remote::is_remote(&file.path))
    }

    /// Whether the readers of a file's splits wait for each other, so that its splits are assigned one by one.
    pub fn is_assigned_one_by_one(&self, file: &FileEntry) -> bool {
        file.process.is_none()
            && self.format.has_borders(file, &self.reading(file).options.format, MORSEL_BYTES)
    }

    /// The morsels of a file.
    pub fn split(&self, file: &FileEntry) -> formats::Result<Vec<Morsel>> {
        self.format.split(&Arc::new(file.clone()), &self.reading(file).options, MORSEL_BYTES)
    }

    /// The bytes of a file that count when a table is divided among processes.
    pub fn divided_bytes(&self, file: &FileEntry) -> u64 {
        if file.process.is_some() || self.is_assigned_one_by_one(file) { 0 } else { file.bytes }
    }

    /// How to read a file.
    pub fn reading(&self, file: &FileEntry) -> &Reading {
        file.layout.and_then(|i| self.layouts.get(i)).unwrap_or(&self.usual)
    }

    /// The next split of this process.
    pub fn take(
        &self,
        taken: &mut Taken,
        window: Window,
        partition: &StaticPartition,
    ) -> Result<Option<FileSplit>> {
        loop {
            while taken.parts.len() <= window.known(self.format)
                && let Some(file) = self.list().get(taken.file)
                && !partition.ends_before(taken.file)
            {
                let (before, end) = (taken.before, taken.before + self.divided_bytes(file));
                let range = &taken.range;
                let is_read = match file.process {
                    Some(process) => !taken.given && u64::from(process) == partition.process().0,
                    None if partition.is_all() => true,
                    None => !self.is_assigned_one_by_one(file) && before < range.end && end >= range.start,
                };
                if !is_read {
                    (taken.file, taken.before) = (taken.file + 1, end);
                    continue;
                }
                match self.split(file) {
                    Ok(morsels) if partition.is_all() || file.process.is_some() => {
                        taken.parts.extend(partition.keep_own(self.format, taken.file, morsels));
                    }
                    Ok(morsels) => taken.parts.extend_placed(StaticPartition::keep(before, morsels, range)),
                    // The splits before a file that can't be read come first.
                    Err(_) if !taken.parts.is_empty() => break,
                    Err(e) => return Err(e.into()),
                }
                (taken.file, taken.before) = (taken.file + 1, end);
            }
            let part = taken.parts.pop();
            if !part.as_ref().is_some_and(|part| part.morsel.is_over()) {
                return Ok(part);
            }
        }
    }
}
