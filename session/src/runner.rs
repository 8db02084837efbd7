//! Who runs the queries of a session, if not threads of this process.

use std::error::Error;

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
}
