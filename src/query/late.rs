//! Queries over many small files, most of which are looked at when they are read.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use queries::{Plan, parse};
use schema::{FileSet, Source, Table, Unseen};

use super::Session;

impl Session<'_> {
    /// Plans a query and has it run. Not all of many small files are looked at before, and one that turns out to be
    /// unlike those that were has all of them looked at, and the query planned and run anew.
    pub(super) fn planned<T>(
        &self,
        query: &parse::Query,
        planning: &queries::Settings,
        mut run: impl FnMut(&Arc<Plan>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let catalog = self.tables.catalog(&parse::tables(query)?, true)?;
        if !catalog.tables().any(|table| is_late(table)) {
            return run(&queries::plan(query, &catalog, planning)?);
        }
        // What gives rows before it has read all files can't be run anew.
        let first = queries::plan(query, &catalog, planning).ok().filter(|plan| plan.root.reads_first());
        let Some(first) = first else { return run(&self.plan(query, planning)?) };
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
        let mut pairs = all.tables().zip(catalog.tables());
        if !unlike && pairs.all(|(all, some)| all.schema == some.schema) {
            return Err(error);
        }
        run(&queries::plan(query, &all, planning)?)
    }
}

/// Whether some of a table's files are looked at only when they are read.
fn is_late(table: &Table) -> bool {
    matches!(&table.source, Source::Files(FileSet { unseen: Unseen::Records { .. }, .. }))
}
