//! Who runs the queries of a session, if not threads of this process.

use std::error::Error;
use std::sync::Arc;

use engine::QueryState;
use queries::Catalog;

use crate::planned_query::PlannedQuery;

/// What goes wrong elsewhere.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Runs the queries of a session elsewhere than on threads of this process. Tables are those that are seen there.
pub trait Runner: Send + Sync {
    /// How many processes run a query.
    fn processes(&self) -> usize;

    /// The workers of each of them.
    fn workers(&self) -> usize;

    /// The tables of these names, all of whose files were looked at.
    ///
    /// # Errors
    /// There is no such table, or nobody can be asked.
    fn catalog(&self, names: &[String]) -> Result<Catalog, Failure>;

    /// The names of all tables that have one.
    ///
    /// # Errors
    /// Nobody can be asked.
    fn names(&self) -> Result<Vec<String>, Failure>;

    /// Begins to run a query, which was planned for so many processes.
    ///
    /// # Errors
    /// It can't be begun.
    fn run(&self, planned: &PlannedQuery) -> Result<engine::Results, Failure>;

    /// Runs the query of a COPY statement to a directory, into which each process writes its own rows, and gives how many
    /// all have written. `overwrite` lets it replace a directory that is there; `begun` is told when there are figures.
    ///
    /// # Errors
    /// Those of the query, and those of writing.
    fn write(
        &self,
        planned: &PlannedQuery,
        overwrite: bool,
        begun: &mut dyn FnMut(&Arc<QueryState>),
    ) -> Result<(u64, Arc<QueryState>), Failure>;
}
