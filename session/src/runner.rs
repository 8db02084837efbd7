//! What runs the queries of a session: threads of this process, several processes, or nodes.
//!
//! A runner of plans opens tables and runs what the session has planned over them. A runner of statements takes the text of
//! each statement and plans nothing here.

use std::sync::Arc;

use engine::QueryState;
use engine::context::cancel::Cancel;

use crate::error::Result;
use crate::parsed::Parsed;
use crate::planned_query::PlannedQuery;
use crate::session::Session;
use crate::tables::Opened;

/// Runs the queries of a session. Tables are those that the runner sees.
pub trait Runner: Send + Sync {
    /// How many processes run a query.
    fn processes(&self) -> usize {
        1
    }

    /// The workers of each process, where so many are asked for.
    fn workers(&self, asked: usize) -> usize {
        asked
    }

    /// Whether rows that lie on all workers come in one stream. They come in one for each worker of this process.
    fn gathers(&self) -> bool {
        true
    }

    /// Refuses a statement that changes what only this process knows, such as `SET`, unless the runner looks there.
    ///
    /// # Errors
    /// The runner is another process.
    fn check_is_here(&self, statement: &str) -> Result<()> {
        let what = format!("{statement} where other processes run the queries");
        Err(queries::Error::Unsupported(what).into())
    }

    /// Has the runner take a whole statement, and gives its rows; `None` from a runner of plans.
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
    /// No process can be asked.
    fn names(&self, session: &Session) -> Result<Vec<String>>;

    /// Opens the tables of these names. With `late`, not all of many small files need be looked at, see
    /// [`formats::discover::OpenOptions::late`].
    ///
    /// # Errors
    /// There is no such table, or no process can be asked.
    fn open(&self, session: &Session, names: &[String], late: bool, cancel: &Cancel) -> Result<Opened>;

    /// Begins to run a plan, which was made for this runner.
    ///
    /// # Errors
    /// It can't be begun.
    fn begin(&self, session: &Session, planned: &PlannedQuery, cancel: &Cancel) -> Result<engine::Results>;

    /// Whether [`Runner::write`] takes the queries of COPY to a directory.
    fn writes_datasets(&self) -> bool {
        false
    }

    /// Runs the query of a COPY statement to a directory, into which each process writes its own rows, and gives how many
    /// all have written. `begun` is told when there are figures.
    ///
    /// # Errors
    /// Those of the query, and those of writing.
    fn write(
        &self,
        _session: &Session,
        _planned: &PlannedQuery,
        _begun: &mut dyn FnMut(&Arc<QueryState>),
    ) -> Result<(u64, Arc<QueryState>)> {
        Err(queries::Error::Unsupported("a dataset that each process writes by itself".into()).into())
    }
}
