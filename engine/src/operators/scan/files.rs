//! The files of a scan, and which of their parts are taken next.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::Schema;
use formats::format::{Format, Morsel};
use queries::plan::Scan as Plan;
use schema::{FileEntry, FileSet, Source, Table};

use super::prefetch::{FileSplit, Queue, Window};
use super::reading::Reading;
use super::static_partition::StaticPartition;
use crate::error::Result;

/// Morsels of about this many bytes are dealt.
pub const MORSEL_BYTES: u64 = 8 << 20;

/// The files of a table.
pub struct Files {
    pub table: Arc<Table>,
    pub format: &'static dyn Format,
    /// How files without a layout of their own are read.
    pub usual: Reading,
    /// How those of each layout are read.
    pub layouts: Vec<Reading>,
}

/// How far they have been taken.
#[derive(Default)]
pub struct Taken {
    pub file: usize,
    /// The bytes of the files before it.
    pub before: u64,
    /// What is read of all files that are dealt by their bytes, or of the rows of a made table.
    pub stretch: Range<u64>,
    /// Whether that was another process's.
    pub given: bool,
    /// The next parts of files in order.
    pub parts: Queue,
    /// How many of them were taken.
    pub pieces: u64,
    /// The next row of a made table.
    pub row: u64,
}

impl Files {
    /// Those of a plan.
    pub fn new(plan: &Plan, set: &FileSet) -> Result<Files> {
        let format = formats::format::format(&set.format.encoding)?;
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

    /// Whether the readers of a file's parts wait for each other, so that parts are dealt to processes in turn.
    pub fn is_dealt_in_turn(&self, file: &FileEntry) -> bool {
        file.process.is_none()
            && self.format.has_borders(file, &self.reading(file).options.format, MORSEL_BYTES)
    }

    /// The morsels of a file.
    pub fn split(&self, file: &FileEntry) -> formats::Result<Vec<Morsel>> {
        self.format.split(&Arc::new(file.clone()), &self.reading(file).options, MORSEL_BYTES)
    }

    /// The bytes of a file by which it is dealt to processes.
    pub fn dealt_bytes(&self, file: &FileEntry) -> u64 {
        if file.process.is_some() || self.is_dealt_in_turn(file) { 0 } else { file.bytes }
    }

    /// How a file is read.
    pub fn reading(&self, file: &FileEntry) -> &Reading {
        file.layout.and_then(|i| self.layouts.get(i)).unwrap_or(&self.usual)
    }

    /// The next part that this process reads.
    pub fn take(
        &self,
        taken: &mut Taken,
        window: Window,
        share: &StaticPartition,
    ) -> Result<Option<FileSplit>> {
        loop {
            while taken.parts.len() <= window.known(self.format)
                && let Some(file) = self.list().get(taken.file)
                && !share.ends_before(taken.file)
            {
                let (before, end) = (taken.before, taken.before + self.dealt_bytes(file));
                let stretch = &taken.stretch;
                let is_read = match file.process {
                    Some(process) => !taken.given && u64::from(process) == share.process().0,
                    None if share.is_all() => true,
                    None => !self.is_dealt_in_turn(file) && before < stretch.end && end >= stretch.start,
                };
                if !is_read {
                    (taken.file, taken.before) = (taken.file + 1, end);
                    continue;
                }
                match self.split(file) {
                    Ok(morsels) if share.is_all() || file.process.is_some() => {
                        taken.parts.extend(share.keep_own(self.format, taken.file, morsels));
                    }
                    Ok(morsels) => taken.parts.extend_placed(StaticPartition::keep(before, morsels, stretch)),
                    // What lies before a file that can't be read is given first.
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
