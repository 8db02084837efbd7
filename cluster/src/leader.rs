//! Requests of callers to nodes, and the process of a node that leads a request: it has the nodes run it, and answers
//! the caller.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use engine::QueryState;
use engine::context::query::Skipped;
use queries::Statement;
use serde::{Deserialize, Serialize};
use session::writers::{self, ResultWriter};
use session::{Cancel, CopyTarget, Session, Settings, Sources};

use crate::coordinator::{Host, Launch, Options, Traffic};
use crate::decode::{decode, encode};
use crate::error::{Error, Result};
use crate::making::{self, Made, Task};
use crate::node::config::Config;
use crate::node::{NodeClient, PORT, Slot};
use crate::ports::Ports;
use crate::processes::Processes;
use crate::query::{Asking, RemoteTables};
use crate::remote::{Remote, Requester};
use crate::retry::{Undone, remaining, retried};

/// A process of a query, or a node, that is silent for so long is lost.
pub const PATIENCE: Duration = Duration::from_secs(8);

/// What a caller asks for.
#[derive(Serialize, Deserialize)]
pub enum Request {
    /// Run a statement, and send its rows.
    Rows(Asking),
    /// Make files.
    Files {
        /// Which files.
        task: Task,
        /// Workers of each node, if fewer than it gives.
        workers: Option<u16>,
        /// How often the files that are missing are made again when a node is lost.
        retries: u32,
    },
}

impl Request {
    /// The request as text, for people who look at what runs.
    fn text(&self) -> String {
        match self {
            Request::Rows(asking) => asking.statement.clone(),
            Request::Files { task, .. } => task.text(),
        }
    }
}

/// Sends a request to a node. `writes` says that files appear on the nodes.
///
/// # Errors
/// The node can't be reached, is of another version, or refuses.
pub fn ask(client: &NodeClient, request: &Request, writes: bool) -> Result<Remote> {
    Remote::ask(client, &request.text(), encode(request)?, writes)
}

/// What the program does for its process that leads.
#[derive(Clone, Copy)]
pub struct Program {
    /// The version of the program.
    pub version: &'static str,
    /// Takes the state of a query that begins, so that the end of the process stops the query.
    pub begun: fn(&Arc<QueryState>),
    /// Writes to the log of the node.
    pub log: fn(&str),
    /// Writes to the log of the node what readers passed over.
    pub skipped: fn(Skipped),
    /// A line for people about files that were made.
    pub report: fn(&Made<'_>) -> String,
}

/// Has the nodes do what a caller asks for, and sends it the answer. `file` is the file of this node, and `id` the name
/// of the query there.
///
/// # Errors
/// Errors of the request.
pub fn lead(file: &Path, id: &str, caller: &Arc<Requester>, request: &[u8], program: Program) -> Result<()> {
    let config = Config::read(file)?;
    let (token, tls) = (config.token()?, config.tls()?);
    config.enter()?;
    // This process has the same limit as each process of the query.
    let limit = config.share_of_memory()?;
    engine::context::memory::set_limit(limit);
    let request: Request = decode(request)?;
    // All processes that lead ask the nodes for slots in the same order, so that no two of them wait for each other.
    let mut nodes = config.nodes.clone();
    nodes.sort();
    nodes.dedup();
    let host = |address: &&String| {
        let address = *address;
        let door = NodeClient {
            address: address.clone(),
            token,
            tls: tls.as_ref().map(|tls| tls.client.clone()),
            version: program.version.into(),
            patience: PATIENCE,
        };
        let seat = Slot { door, query: id.to_string(), statement: request.text() };
        Ok(Host {
            name: address.clone(),
            address: reached_at(address)?,
            ports: Ports::ANY,
            directory: None,
            sharing: 1,
            far: true,
            tls: None,
            launch: Launch::Node(seat),
        })
    };
    // The address of a lost node may be gone with it, so only the others are looked up.
    let hosts = |without: &[String]| -> Result<Vec<Host>> {
        remaining(nodes.iter().collect(), without, |node| node).iter().map(host).collect()
    };
    let leader = Leader { caller: caller.clone(), program };
    match &request {
        Request::Rows(asking) => {
            if asking.allow_scripts && !config.allow_scripts {
                let help = "allow_scripts in their files lets them";
                return Err(Error::Refused(format!("these nodes start no commands\n  help: {help}")));
            }
            let start = |without: &[String]| {
                let traffic = Traffic { compression: config.compression, sockets_only: config.sockets_only };
                let version = program.version.to_string();
                Processes::start(Options { version, hosts: hosts(without)?, traffic, patience: PATIENCE })
            };
            let limit = asking.memory_limit.map_or(limit, |asked| asked.min(limit));
            engine::context::memory::set_limit(limit);
            leader.rows(asking, limit, start)
        }
        Request::Files { task, workers, retries } => {
            let asked = workers.map_or(usize::MAX, usize::from);
            let start = |without: &[String]| {
                let version = program.version.to_string();
                making::Group::start(version, hosts(without)?, PATIENCE, |fewest| {
                    asked.clamp(1, fewest.max(1))
                })
            };
            task.make(*retries, false, start, &leader)
        }
    }
}

/// The IP address at which other processes reach those of a node.
///
/// # Errors
/// The name of the node is not known, such as that of a container that does not run.
fn reached_at(node: &str) -> Result<IpAddr> {
    let known: Option<SocketAddr> = node
        .to_socket_addrs()
        .or_else(|_| (node, PORT).to_socket_addrs())
        .ok()
        .and_then(|mut known| known.next());
    let unknown = || Error::Node { node: node.into(), what: "there is no such address".into() };
    Ok(known.ok_or_else(unknown)?.ip())
}

/// The process that leads.
struct Leader {
    caller: Arc<Requester>,
    program: Program,
}

impl Leader {
    /// Runs a statement; this process may take `memory_limit` bytes. `start` gives processes on all nodes but those
    /// that were lost.
    fn rows(
        &self,
        asking: &Asking,
        memory_limit: u64,
        start: impl Fn(&[String]) -> Result<Processes>,
    ) -> Result<()> {
        let warn = |text: String| self.tell_warning(text);
        retried(asking.retries, asking.local_parts, "the query is run", warn, |without| {
            let begun = start(without).map_err(Undone::from)?;
            let workers = asking.workers.map_or(usize::MAX, usize::from).clamp(1, begun.workers().max(1));
            let tables =
                RemoteTables { directory: asking.sources.directory.clone(), local_parts: asking.local_parts };
            let processes = begun.with_workers(workers).with_memory_limit(asking.memory_limit);
            let processes = Arc::new(processes.with_tables(tables).telling(self.program.begun));
            let given = AtomicBool::new(false);
            self.run(asking, memory_limit, &processes, &given).map_err(|error| {
                let lost = processes.lost().or_else(|| error.lost().map(String::from));
                // Rows that the caller has can't be taken back.
                Undone { error: Box::new(error), lost: lost.filter(|_| !given.load(Ordering::Relaxed)) }
            })
        })
    }

    fn run(
        &self,
        asking: &Asking,
        memory_limit: u64,
        processes: &Arc<Processes>,
        given: &AtomicBool,
    ) -> Result<()> {
        let settings = Settings {
            memory_limit,
            broadcast_bytes: asking.broadcast_bytes,
            integer_division: asking.integer_division,
            time_zone: asking.time_zone.clone(),
            allow_scripts: asking.allow_scripts,
            read_ahead: asking.read_ahead,
            overwrite: asking.overwrite,
            open: asking.sources.open.clone(),
            ..Settings::default()
        };
        let here = Sources { directory: None, ..asking.sources.clone() };
        let mut session = Session::new(settings).with_tables(here.tables()?);
        session.run_by(processes.clone());
        let (statement, cancel) = (session::parse(&asking.statement)?, Cancel::default());
        // The processes have told the program of it.
        let mut begun = |_: &_, state: &Arc<QueryState>| self.caller.follow(state);
        let skipped = match &*statement {
            Statement::Copy { target, options, .. } => {
                let to = CopyTarget::of_statement(target, options, asking.overwrite)?;
                let results = session.copy(&statement, &to, &cancel, given, &mut begun)?;
                results.warnings().iter().for_each(|text| self.tell_warning(text.clone()));
                results.skipped()
            }
            tree if tree.gives_rows() => {
                let mut results = session.run(&statement, &cancel, &mut begun)?;
                let schema = results.schema().clone();
                let mut writer = Teller(self.caller.clone());
                writers::write_all(&schema, &mut results, &mut writer, || {
                    given.store(true, Ordering::Relaxed);
                })?;
                results.warnings().iter().for_each(|text| self.tell_warning(text.clone()));
                results.skipped()
            }
            _ => session.run(&statement, &cancel, &mut begun)?.skipped(),
        };
        (self.program.skipped)(skipped);
        Ok(())
    }

    /// Sends a warning to the caller, and writes it to the log of the node.
    fn tell_warning(&self, text: String) {
        (self.program.log)(&format!("warning: {text}"));
        self.caller.warn(text);
    }
}

impl making::Listener for Leader {
    fn begin(&self, bytes: u64, state: &Arc<QueryState>) -> Box<dyn std::any::Any> {
        (self.program.begun)(state);
        self.caller.begin(bytes, state);
        Box::new(())
    }

    fn skipped(&self, _skipped: Skipped) {
        // The caller gets these with the last response.
    }

    fn made(&self, made: &Made<'_>) {
        self.caller.note((self.program.report)(made));
    }

    fn warn(&self, text: String) {
        self.tell_warning(text);
    }
}

/// Sends the rows of a result to the caller.
struct Teller(Arc<Requester>);

impl ResultWriter for Teller {
    fn begin(&mut self, schema: &SchemaRef) -> writers::Result<()> {
        self.0.columns(schema).map_err(refused)
    }

    fn batch(&mut self, batch: &RecordBatch) -> writers::Result<()> {
        self.0.rows(batch).map_err(refused)
    }

    fn end(&mut self) -> writers::Result<()> {
        Ok(())
    }
}

fn refused(e: engine::Error) -> writers::Error {
    writers::Error::Refused(e.to_string())
}
