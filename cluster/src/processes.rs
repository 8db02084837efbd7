//! Several processes as the runner of a session. Each process plans a query by itself, and all run it as one dataflow.

use std::sync::Arc;

use engine::QueryState;
use queries::Catalog;
use schema::Table;
use session::runner::Runner;
use session::tables::Opened;
use session::{Cancel, PlannedQuery, Session};

use crate::coordinator::{self, Cluster, Options};
use crate::decode::{decode, encode};
use crate::error::{Error, Result};
use crate::query::{Look, OnBegun, Query, RemoteTables};

/// Processes that run the queries of a session, one after another. The processes end when this is dropped, and with the
/// first query that fails or is stopped. After that each query is an error, and the caller is to start other processes.
pub struct Processes {
    cluster: Cluster,
    tables: RemoteTables,
    /// Workers of each process.
    workers: usize,
    memory_limit: Option<u64>,
    begun: OnBegun,
}

impl Processes {
    /// Starts processes, and waits until all of them listen. Each runs as many workers as the process with the fewest
    /// cores has. They last until this is dropped or the program ends; the thread that starts them may end before.
    ///
    /// # Errors
    /// A process can't be started, says nothing in time or is of another version.
    pub fn start(options: Options) -> Result<Processes> {
        let cluster = Cluster::start(options)?;
        let (workers, begun) = (cluster.workers(), Box::new(|_: &_| ()));
        Ok(Processes { cluster, tables: RemoteTables::default(), workers, memory_limit: None, begun })
    }

    /// Sets the tables that only the processes see.
    pub fn with_tables(self, tables: RemoteTables) -> Processes {
        Processes { tables, ..self }
    }

    /// Sets the workers of each process.
    pub fn with_workers(self, workers: usize) -> Processes {
        Processes { workers, ..self }
    }

    /// Sets the memory limit of each process, in bytes. With `None` a process may take its part of what its machine
    /// has.
    pub fn with_memory_limit(self, memory_limit: Option<u64>) -> Processes {
        Processes { memory_limit, ..self }
    }

    /// Sets a callback that gets the state of each query before the processes do anything, so that the query can be
    /// stopped while they plan.
    pub fn telling(self, begun: impl Fn(&Arc<QueryState>) + Send + Sync + 'static) -> Processes {
        Processes { begun: Box::new(begun), ..self }
    }

    /// The workers of each process.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The host that was lost, if that loss ended a query.
    pub fn lost(&self) -> Option<String> {
        self.cluster.lost()
    }

    /// Opens the tables of these names, as the first process sees them. If each host has files of its own, all
    /// processes look, and their parts are joined.
    fn tables(&self, session: &Session, names: &[String]) -> Result<Catalog> {
        let sources = self.tables.sources(session, names)?;
        let places = sources.tables.iter().map(|(_, place)| place.as_str());
        if names.iter().map(String::as_str).chain(places).any(|place| place == "-") {
            let text = "standard input can't be read by several processes\n  help: write it to a file first";
            return Err(Error::Usage(text.into()));
        }
        let local_parts = self.tables.local_parts;
        let look = encode(&Look::Tables(sources, names.to_vec()))?;
        let seen = self.cluster.open(&look, if local_parts { self.cluster.processes() } else { 1 })?;
        let seen = seen.iter().map(|tables| decode::<Vec<Table>>(tables));
        let seen = seen.collect::<Result<Vec<_>>>()?;
        let mut joined = Vec::new();
        for number in 0..seen.first().map_or(0, Vec::len) {
            // Each process gives the tables of the same names in the same order.
            let parts: Vec<Table> = seen.iter().filter_map(|tables| tables.get(number).cloned()).collect();
            let name = parts.first().map(|table| table.name.clone()).unwrap_or_default();
            if !local_parts {
                joined.extend(parts);
                continue;
            }
            let table = schema::parts::join(parts).map_err(|wrong| {
                let (host, first) = (self.cluster.name(wrong.host), self.cluster.name(0));
                let help = "--schema gives the columns, if they are only guessed otherwise";
                let what = wrong.what;
                Error::Refused(format!(
                    "the table {name} {what} on {host}, as {first} has it\n  help: {help}"
                ))
            })?;
            joined.extend(table);
        }
        Ok(catalog(joined))
    }

    /// The bytes of a query for the processes, its fingerprint and the state for its figures.
    fn query(&self, session: &Session, planned: &PlannedQuery) -> Result<(Vec<u8>, u64, Arc<QueryState>)> {
        let settings = session.settings();
        let sent = Query {
            statement: planned.text()?.to_string(),
            is_summary: planned.is_summary,
            tables: planned.catalog.tables().map(|table| Table::clone(table)).collect(),
            planning: planned.planning.clone(),
            workers: self.workers,
            read_ahead: settings.read_ahead,
            memory_limit: self.memory_limit,
            overwrite: settings.overwrite,
        };
        let state = Arc::new(QueryState::new(planned.plan.nodes, self.workers * self.cluster.processes()));
        (self.begun)(&state);
        Ok((encode(&sent)?, queries::explain::fingerprint(&planned.plan), state))
    }
}

impl Runner for Processes {
    fn processes(&self) -> usize {
        self.cluster.processes()
    }

    fn workers(&self, _asked: usize) -> usize {
        self.workers
    }

    fn names(&self, session: &Session) -> session::Result<Vec<String>> {
        let look = Look::Names(self.tables.sources(session, &[])?);
        let seen = self.cluster.open(&encode(&look)?, 1).map_err(session::Error::from)?;
        Ok(decode(&seen[0])?)
    }

    fn open(
        &self,
        session: &Session,
        names: &[String],
        _late: bool,
        _cancel: &Cancel,
    ) -> session::Result<Opened> {
        Ok(self.tables(session, names)?.into())
    }

    fn begin(
        &self,
        session: &Session,
        planned: &PlannedQuery,
        cancel: &Cancel,
    ) -> session::Result<engine::Results> {
        let (bytes, fingerprint, state) = self.query(session, planned)?;
        cancel.stops(&state);
        let query = coordinator::Query { bytes: &bytes, fingerprint };
        Ok(self.cluster.run(&query, planned.plan.schema.clone(), state)?)
    }

    fn writes_datasets(&self) -> bool {
        true
    }

    fn write(
        &self,
        session: &Session,
        planned: &PlannedQuery,
        begun: &mut dyn FnMut(&Arc<QueryState>),
    ) -> session::Result<(u64, Arc<QueryState>)> {
        let (bytes, fingerprint, state) = self.query(session, planned)?;
        begun(&state);
        let query = coordinator::Query { bytes: &bytes, fingerprint };
        Ok((self.cluster.write(&query, &state)?.rows, state))
    }
}

/// Makes a catalog of tables.
pub(crate) fn catalog(tables: Vec<Table>) -> Catalog {
    let mut catalog = Catalog::default();
    tables.into_iter().for_each(|table| catalog.add(table));
    catalog
}
