//! The trait of what runs the queries of a session: threads of this process, several processes, or nodes.
//!
//! A runner of plans opens tables, and runs plans that the session has made over them. A runner of statements takes the
//! text of each statement, and the session plans nothing.

use std::sync::Arc;

use engine::QueryState;
use engine::context::cancel::Cancel;

use crate::error::Result;
use crate::parsed::Parsed;
use crate::planned_query::PlannedQuery;
use crate::session::Session;
use crate::tables::Opened;

/// Runs the queries of a session over the tables that the runner sees.
pub trait Runner: Send + Sync {
    /// How many processes run a query.
    fn processes(&self) -> usize {
        1
    }

    /// The workers of each process, if `asked` are asked for.
    fn workers(&self, asked: usize) -> usize {
        asked
    }

    /// Whether rows of all workers come in one stream. A runner in this process gives a stream for each worker.
    fn gathers(&self) -> bool {
        true
    }

    /// Refuses a statement that changes state of this process, such as `SET`, unless the runner sees that state.
    ///
    /// # Errors
    /// Other processes run the queries.
    fn check_is_here(&self, statement: &str) -> Result<()> {
        let what = format!("{statement} where other processes run the queries");
        Err(queries::Error::Unsupported(what).into())
    }

    /// Runs a whole statement, and gives its rows; `None` from a runner of plans.
    ///
    /// # Errors
    /// The statement is wrong, or can't be begun.
    fn take(
        &self,
        _session: &Session,
        _statement: &Parsed,
        _cancel: &Cancel,
    ) -> Result<Option<engine::Results>> {
        Ok(None)
    }

    /// The names of all tables that have one.
    ///
    /// # Errors
    /// No process can answer.
    fn names(&self, session: &Session) -> Result<Vec<String>>;

    /// Opens the tables of these names. With `late` not all of many small files need be looked at, see
    /// [`formats::discover::OpenOptions::late`].
    ///
    /// # Errors
    /// A table does not exist, or no process can answer.
    fn open(&self, session: &Session, names: &[String], late: bool, cancel: &Cancel) -> Result<Opened>;

    /// Begins to run a plan, which was made for this runner.
    ///
    /// # Errors
    /// The plan can't be begun.
    fn begin(&self, session: &Session, planned: &PlannedQuery, cancel: &Cancel) -> Result<engine::Results>;

    /// Whether [`Runner::write`] takes the queries of COPY to a directory.
    fn writes_datasets(&self) -> bool {
        false
    }

    /// Runs the query of a COPY statement to a directory. Each process writes its own rows into it. Gives how many rows
    /// all have written. Calls `begun` when there are figures.
    ///
    /// # Errors
    /// Errors of the query and of writing.
    fn write(
        &self,
        _session: &Session,
        _planned: &PlannedQuery,
        _begun: &mut dyn FnMut(&Arc<QueryState>),
    ) -> Result<(u64, Arc<QueryState>)> {
        Err(queries::Error::Unsupported("a dataset that each process writes by itself".into()).into())
    }
}
