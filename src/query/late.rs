//! Queries over many small files, most of which are looked at when they are read.

use std::sync::atomic::Ordering;

use queries::parse;
use schema::{FileSet, Source, Table, Unseen};

use super::{Prepared, Session};

impl Session<'_> {
    /// Plans a query and has it run. Not all of many small files are looked at before, and one that turns out to be
    /// unlike those that were has all of them looked at, and the query planned and run anew.
    pub(super) fn planned<T>(
        &self,
        query: &parse::Query,
        planning: &queries::Settings,
        mut run: impl FnMut(&Prepared) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        // Other processes look at all files before.
        if self.runner.is_some() {
            return run(&self.prepare(query, planning)?);
        }
        let catalog = self.tables.catalog(&parse::tables(query)?, true)?;
        if !catalog.tables().any(|table| is_late(table)) {
            return run(&Prepared::new(query, catalog, planning)?);
        }
        // What gives rows before it has read all files can't be run anew.
        let first = Prepared::new(query, catalog, planning).ok().filter(|p| p.plan.root.reads_first());
        let Some(first) = first else { return run(&self.prepare(query, planning)?) };
        let error = match run(&first) {
            Err(error) if !self.given.load(Ordering::Relaxed) => error,
            done => return done,
        };
        let unlike = match error.downcast_ref::<engine::Error>() {
            Some(engine::Error::Format(formats::Error::Unlike { .. })) => true,
            Some(engine::Error::Cancelled) | None => return Err(error),
            Some(_) => false,
        };
        // Types that hold the values of all files may be wider, and with them there may be no error.
        let all = self.tables.catalog(&parse::tables(query)?, false)?;
        let is_as_before = || {
            let mut pairs = all.tables().zip(first.catalog.tables());
            pairs.all(|(all, some)| all.schema == some.schema)
        };
        if !unlike && is_as_before() {
            return Err(error);
        }
        run(&Prepared::new(query, all, planning)?)
    }
}

/// Whether some of a table's files are looked at only when they are read.
fn is_late(table: &Table) -> bool {
    matches!(&table.source, Source::Files(FileSet { unseen: Unseen::Records { .. }, .. }))
}
