//! Nodes as the runner of a session. A node takes the text of each statement, and a process there leads it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use engine::QueryState;
use queries::Statement;
use session::runner::Runner;
use session::tables::Opened;
use session::{Cancel, Parsed, PlannedQuery, Session};

use crate::error::{Error, Result};
use crate::leader::{Request, ask};
use crate::node::NodeClient;
use crate::query::{Asking, OnBegun, RemoteTables};
use crate::remote::Event;

/// Nodes that run the statements of a session. This process plans and opens nothing.
pub struct Nodes {
    /// The client of the node that this process asks.
    client: NodeClient,
    tables: RemoteTables,
    bounds: Bounds,
    begun: OnBegun,
    hear: Arc<dyn Fn(Event) + Send + Sync>,
}

/// What a statement may use on the nodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// The workers of each node, if fewer than it gives.
    pub workers: Option<u16>,
    /// The most memory of each node, in bytes, if less than it gives.
    pub memory_limit: Option<u64>,
    /// How often a statement is run again when a node is lost and the session has got no row.
    pub retries: u32,
}

impl Nodes {
    /// Nodes that are reached through the node of `client`.
    pub fn new(client: NodeClient) -> Nodes {
        let (tables, bounds) = (RemoteTables::default(), Bounds::default());
        Nodes { client, tables, bounds, begun: Box::new(|_| ()), hear: Arc::new(|_| ()) }
    }

    /// Sets the tables that only the nodes see.
    pub fn with_tables(self, tables: RemoteTables) -> Nodes {
        Nodes { tables, ..self }
    }

    /// Sets the bounds of each statement.
    pub fn with_bounds(self, bounds: Bounds) -> Nodes {
        Nodes { bounds, ..self }
    }

    /// Sets two callbacks. `begun` gets the state of each statement before the nodes are asked, so that it can be
    /// stopped while it waits for its turn. `hear` gets the events that the nodes send besides rows.
    pub fn telling(
        self,
        begun: impl Fn(&Arc<QueryState>) + Send + Sync + 'static,
        hear: impl Fn(Event) + Send + Sync + 'static,
    ) -> Nodes {
        Nodes { begun: Box::new(begun), hear: Arc::new(hear), ..self }
    }

    /// Has the nodes run a statement. `writes` says that it writes files there.
    fn ask(
        &self,
        session: &Session,
        statement: &str,
        names: &[String],
        writes: bool,
        cancel: &Cancel,
    ) -> Result<engine::Results> {
        let settings = session.settings();
        let request = Request::Rows(Asking {
            statement: statement.to_string(),
            sources: self.tables.sources(session, names)?,
            workers: self.bounds.workers,
            memory_limit: self.bounds.memory_limit,
            broadcast_bytes: settings.broadcast_bytes,
            integer_division: settings.integer_division,
            time_zone: settings.time_zone.clone(),
            allow_scripts: settings.allow_scripts,
            read_ahead: settings.read_ahead,
            overwrite: settings.overwrite,
            retries: self.bounds.retries,
            local_parts: self.tables.local_parts,
        });
        let state = Arc::new(QueryState::new(0, 1));
        (self.begun)(&state);
        cancel.stops(&state);
        let hear = self.hear.clone();
        ask(&self.client, &request, writes)?.results(state, move |event| hear(event))
    }
}

impl Runner for Nodes {
    fn take(
        &self,
        session: &Session,
        statement: &Parsed,
        cancel: &Cancel,
    ) -> session::Result<Option<engine::Results>> {
        cancel.check()?;
        let writes = matches!(&**statement, Statement::Copy { .. });
        let names = session.names_in(statement, cancel)?;
        match self.ask(session, statement.text()?, &names, writes, cancel) {
            Ok(results) => Ok(Some(results)),
            // The caller leaves the node, and how that ends does not matter.
            Err(_) if cancel.is_asked() => Err(engine::Error::Cancelled.into()),
            Err(e) => Err(e.into()),
        }
    }

    fn names(&self, session: &Session) -> session::Result<Vec<String>> {
        let mut names = Vec::new();
        for batch in self.ask(session, "SHOW TABLES", &[], false, &Cancel::default())? {
            let batch = batch?;
            let wrong = || Error::Received("the names of tables are no text".into());
            let column = batch.columns().first().and_then(|column| column.as_string_opt::<i32>());
            let column = column.ok_or_else(wrong)?;
            names.extend(column.iter().flatten().map(String::from));
        }
        Ok(names)
    }

    fn open(
        &self,
        _session: &Session,
        _names: &[String],
        _late: bool,
        _cancel: &Cancel,
    ) -> session::Result<Opened> {
        Err(not_planned())
    }

    fn begin(
        &self,
        _session: &Session,
        _planned: &PlannedQuery,
        _cancel: &Cancel,
    ) -> session::Result<engine::Results> {
        Err(not_planned())
    }
}

fn not_planned() -> session::Error {
    let what = "a plan where nodes run the statements: they plan them, and EXPLAIN shows it";
    queries::Error::Unsupported(what.into()).into()
}
