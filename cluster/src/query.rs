//! What the processes of a query are told of it, within [`crate::message::Job`] and [`crate::message::Order::Open`]: enough
//! to open the same files and to make the same plan, and nothing of how the query was asked for.

use std::path::PathBuf;
use std::sync::Arc;

use engine::QueryState;
use schema::Table;
use serde::{Deserialize, Serialize};
use session::Sources;

/// What all processes plan.
#[derive(Serialize, Deserialize)]
pub struct Query {
    /// The statement as it was given: a query that was printed is not always the same.
    pub statement: String,
    /// Whether the plan is that of a SUMMARIZE, which is made of the statement's own.
    pub is_summary: bool,
    /// The tables, of which all files were looked at.
    pub tables: Vec<Table>,
    /// What planning depends on besides.
    pub planning: queries::Settings,
    /// Workers of a process.
    pub workers: usize,
    /// As of [`engine::Settings::read_ahead`].
    pub read_ahead: usize,
    /// The most memory of a process; its part of what its machine has if it isn't given.
    pub memory_limit: Option<u64>,
    /// Whether COPY may replace what is there.
    pub overwrite: bool,
}

/// What a process is asked to look at.
#[derive(Serialize, Deserialize)]
pub enum Look {
    /// These tables.
    Tables(Sources, Vec<String>),
    /// The names of all tables that have one.
    Names(Sources),
    /// The table that lies here.
    Source(Sources, String),
}

/// What a caller asks nodes for who wants a statement run.
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
    /// As of [`session::Settings::broadcast_bytes`].
    pub broadcast_bytes: u64,
    /// Whether `transform()` may start commands, if the nodes allow it.
    pub allow_scripts: bool,
    /// As of [`session::Settings::read_ahead`].
    pub read_ahead: usize,
    /// Whether COPY may replace what is there.
    pub overwrite: bool,
    /// How often the statement is run again when a process is lost.
    pub retries: u32,
    /// Whether each node has files of its own at the places of a table.
    pub local_parts: bool,
}

/// Takes a query that begins, to stop it if need be.
pub(crate) type OnBegun = Box<dyn Fn(&Arc<QueryState>) + Send + Sync>;

/// What is kept out of a session's tables, because only other processes look there.
#[derive(Debug, Clone, Default)]
pub struct RemoteTables {
    /// A directory of which each file and directory is a table.
    pub directory: Option<PathBuf>,
    /// Whether each host has files of its own at the places of a table, which is all of them together.
    pub local_parts: bool,
}

impl RemoteTables {
    /// What another process needs to open these tables of a session, and all others that have a path.
    ///
    /// # Errors
    /// One of these lies in the memory of this process.
    pub fn sources(&self, session: &session::Session, names: &[String]) -> session::Result<Sources> {
        Ok(Sources { directory: self.directory.clone(), ..session.sources(names)? })
    }
}
