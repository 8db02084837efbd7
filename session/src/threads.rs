//! Threads of this process as the runner of a session.

use engine::context::cancel::Cancel;

use crate::error::Result;
use crate::limits::until;
use crate::planned_query::PlannedQuery;
use crate::runner::Runner;
use crate::session::Session;
use crate::settings::Settings;
use crate::tables::{Opened, Tables};

/// Runs queries on threads of this process. They see all that the session has: record batches, views and temporary
/// tables too.
#[derive(Debug, Clone, Copy, Default)]
pub struct Threads;

impl Runner for Threads {
    fn gathers(&self) -> bool {
        false
    }

    fn check_is_here(&self, _statement: &str) -> Result<()> {
        Ok(())
    }

    fn names(&self, session: &Session) -> Result<Vec<String>> {
        Ok(session.tables().names().into_iter().map(String::from).collect())
    }

    fn open(&self, session: &Session, names: &[String], late: bool, cancel: &Cancel) -> Result<Opened> {
        let tables = session.tables().clone();
        open(&tables, names, late, &session.settings(), cancel)
    }

    fn begin(&self, session: &Session, planned: &PlannedQuery, cancel: &Cancel) -> Result<engine::Results> {
        // The query was planned for so many workers.
        let settings = Settings { workers: planned.planning.workers, ..session.settings() };
        Ok(engine::run(&planned.plan, &settings.engine(), cancel)?)
    }
}

/// Opens these tables on a thread of its own. After a cancel the caller does not wait for it.
pub(crate) fn open(
    tables: &Tables,
    names: &[String],
    late: bool,
    settings: &Settings,
    cancel: &Cancel,
) -> Result<Opened> {
    if names.is_empty() {
        return tables.open(names, late, &settings.open);
    }
    let (tables, names, options) = (tables.clone(), names.to_vec(), settings.open.clone());
    until(cancel, move || tables.open(&names, late, &options))?
}
