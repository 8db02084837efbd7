//! What the processes of a query are told of it, within [`crate::message::Job`] and [`crate::message::Order::Open`]. It
//! is enough to open the same files and to make the same plan. It says nothing of how the user asked for the query.

use std::path::PathBuf;
use std::sync::Arc;

use engine::QueryState;
use schema::Table;
use serde::{Deserialize, Serialize};
use session::Sources;

/// A query that all processes plan.
#[derive(Serialize, Deserialize)]
pub struct Query {
    /// The text of the statement as it was given, because a syntax tree that was printed is not always the same.
    pub statement: String,
    /// Whether the plan is that of a SUMMARIZE, which is made from the plan of the statement.
    pub is_summary: bool,
    /// The tables. All files of them were looked at.
    pub tables: Vec<Table>,
    /// The settings of planning.
    pub planning: queries::Settings,
    /// Workers of a process.
    pub workers: usize,
    /// See [`engine::Settings::read_ahead`].
    pub read_ahead: usize,
    /// The most memory of a process, in bytes. With `None` a process may take its part of what its machine has.
    pub memory_limit: Option<u64>,
    /// Whether COPY may replace files that exist.
    pub overwrite: bool,
}

/// A question to a process about tables.
#[derive(Serialize, Deserialize)]
pub enum Look {
    /// The tables of these names.
    Tables(Sources, Vec<String>),
    /// The names of all tables that have a name.
    Names(Sources),
    /// The table at this path.
    Source(Sources, String),
}

/// A statement that a caller asks nodes to run.
#[derive(Serialize, Deserialize)]
pub struct Asking {
    /// The statement.
    pub statement: String,
    /// Its tables, which lie on the nodes.
    pub sources: Sources,
    /// Workers of each process, if fewer than the node gives.
    pub workers: Option<u16>,
    /// The most memory of each process, if less than the node gives.
    pub memory_limit: Option<u64>,
    /// See [`session::Settings::broadcast_bytes`].
    pub broadcast_bytes: u64,
    /// See [`session::Settings::integer_division`].
    pub integer_division: bool,
    /// See [`session::Settings::time_zone`].
    pub time_zone: String,
    /// Whether `transform()` may start commands, if the nodes allow it.
    pub allow_scripts: bool,
    /// See [`session::Settings::read_ahead`].
    pub read_ahead: usize,
    /// Whether COPY may replace files that exist.
    pub overwrite: bool,
    /// How often the statement is run again when a process is lost.
    pub retries: u32,
    /// Whether each node has files of its own at the paths of a table.
    pub local_parts: bool,
}

/// Gets the state of a query that begins, to stop the query if need be.
pub(crate) type OnBegun = Box<dyn Fn(&Arc<QueryState>) + Send + Sync>;

/// Tables that a session itself does not open, because only other processes look there.
#[derive(Debug, Clone, Default)]
pub struct RemoteTables {
    /// A directory of which each file and directory is a table.
    pub directory: Option<PathBuf>,
    /// Whether each host has files of its own at the paths of a table. The table is all of them together.
    pub local_parts: bool,
}

impl RemoteTables {
    /// What another process needs to open these tables of a session, and all others that have a path.
    ///
    /// # Errors
    /// One of these tables lies in the memory of this process.
    pub fn sources(&self, session: &session::Session, names: &[String]) -> session::Result<Sources> {
        Ok(Sources { directory: self.directory.clone(), ..session.sources(names)? })
    }
}
