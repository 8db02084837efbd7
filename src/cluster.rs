//! `palais cluster`: a statement to rows, computed by several processes.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::Context;
use cluster::caller::{Host, Options};
use cluster::hosts::Hosts;
use cluster::message::Failure;
use cluster::worker::{Binary, Planned};
use engine::{QueryState, Results};
use queries::{Catalog, Statement, summarize};
use schema::Table;
use serde::{Deserialize, Serialize};

use crate::Usage;
use crate::args::{self, Input};
use crate::query::Prepared;
use crate::settings::Settings;
use crate::tables::Tables;
use crate::{query, signals};

/// `palais cluster`.
pub fn run(c: &args::Cluster) -> anyhow::Result<()> {
    match c {
        args::Cluster::Run(c) => query::run_among(c),
        args::Cluster::Process => {
            signals::end_with_parent();
            let (orders, reports) = streams().context("cannot take the standard streams")?;
            cluster::worker::serve(orders, reports, &Arc::new(Process))
        }
    }
}

/// The standard input and output of a process, which carry orders and reports. What else reads or writes them finds
/// nothing, and writes to standard error.
fn streams() -> std::io::Result<(File, File)> {
    let orders = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let reports = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let nothing = File::open("/dev/null")?;
    for (from, to) in [(nothing.as_raw_fd(), 0), (2, 1)] {
        // SAFETY: both are descriptors that are open; the one that is replaced belongs to no value that closes it.
        if unsafe { libc::dup2(from, to) } < 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok((orders, reports))
}

/// What all processes plan.
#[derive(Serialize, Deserialize)]
struct Query {
    /// The statement as it was given: a query that was printed is not always the same.
    statement: String,
    is_summary: bool,
    tables: Vec<Table>,
    now_ns: i64,
    /// Workers of a process.
    workers: usize,
    processes: usize,
    broadcast_bytes: u64,
    allow_scripts: bool,
    spread_result: bool,
    read_ahead: usize,
    /// The most memory of a process; its part of what its machine has if it isn't given.
    memory_limit: Option<u64>,
}

impl Query {
    fn planning(&self) -> queries::Settings {
        queries::Settings {
            now_ns: self.now_ns,
            workers: self.workers * self.processes,
            processes: self.processes,
            broadcast_bytes: self.broadcast_bytes,
            allow_scripts: self.allow_scripts,
            spread_result: self.spread_result,
        }
    }
}

/// What a process is asked to look at.
#[derive(Serialize, Deserialize)]
enum Look {
    /// These tables.
    Tables(Input, Vec<String>),
    /// The names of all tables that flags name.
    Names(Input),
}

/// Processes that run the queries of a statement.
pub struct Runner {
    cluster: cluster::Cluster,
    statement: String,
    input: Input,
    /// Of each process.
    settings: engine::Settings,
    memory_limit: Option<u64>,
}

/// Processes of this machine.
fn local(program: &Path, processes: usize) -> Vec<Host> {
    let process = |process| {
        let mut command = Command::new(program);
        command.args(["cluster", "process"]);
        Host {
            name: format!("local-{process}"),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            directory: None,
            sharing: processes,
            far: false,
            command,
        }
    };
    (0..processes).map(process).collect()
}

impl Runner {
    /// Starts the processes, for one statement.
    pub fn start(c: &args::ClusterRun, statement: &str, settings: &Settings) -> anyhow::Result<Runner> {
        let program = std::env::current_exe().context("cannot find the program that runs")?;
        let file = c.hosts.as_deref().map(Hosts::read).transpose()?;
        let hosts = match &file {
            Some(file) => file.processes(&program)?,
            None => local(&program, c.local.map_or(1, usize::from)),
        };
        let memory_limit = match c.local {
            Some(processes) => Some(settings.memory_limit / u64::from(processes)),
            None => c.run.execution.memory_limit,
        };
        let cluster = cluster::Cluster::start(Options { version: version(), hosts, patience: c.timeout })?;
        let asked = c.run.execution.workers.map(usize::from).or(file.and_then(|file| file.workers));
        let workers = asked.unwrap_or_else(|| cluster.workers());
        let settings = engine::Settings { workers, read_ahead: usize::from(c.run.read_ahead) };
        let statement = statement.to_string();
        Ok(Runner { cluster, statement, input: c.input.clone(), settings, memory_limit })
    }

    /// The workers of each process.
    pub fn workers(&self) -> usize {
        self.settings.workers
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.cluster.processes()
    }

    /// The tables of these names, as the first process sees them.
    pub fn catalog(&self, names: &[String]) -> anyhow::Result<Catalog> {
        let places =
            self.input.tables.iter().filter_map(|table| table.split_once('=').map(|(_, place)| place));
        if names.iter().map(String::as_str).chain(places).any(|place| place == "-") {
            let text = "standard input can't be read by several processes\n  help: write it to a file first";
            return Err(Usage(text.into()).into());
        }
        let look = Look::Tables(self.input.clone(), names.to_vec());
        let tables = self.cluster.open(bincode::serialize(&look)?)?;
        Ok(catalog(bincode::deserialize(&tables)?))
    }

    /// The names of the tables that flags name, as the first process sees them.
    pub fn names(&self) -> anyhow::Result<Vec<String>> {
        let look = Look::Names(self.input.clone());
        Ok(bincode::deserialize(&self.cluster.open(bincode::serialize(&look)?)?)?)
    }

    /// Runs a query, which was planned for so many processes.
    pub fn run(&self, prepared: &Prepared) -> anyhow::Result<Results> {
        let Prepared { plan, is_summary, catalog, planning } = prepared;
        let sent = Query {
            statement: self.statement.clone(),
            is_summary: *is_summary,
            tables: catalog.tables().map(|table| Table::clone(table)).collect(),
            now_ns: planning.now_ns,
            workers: self.settings.workers,
            processes: self.processes(),
            broadcast_bytes: planning.broadcast_bytes,
            allow_scripts: planning.allow_scripts,
            spread_result: planning.spread_result,
            read_ahead: self.settings.read_ahead,
            memory_limit: self.memory_limit,
        };
        let state = Arc::new(QueryState::new(plan.nodes, self.settings.workers * self.processes()));
        signals::cancel_on_interrupt(&state);
        let fingerprint = queries::explain::fingerprint(plan);
        let sent = bincode::serialize(&sent).context("the names of files must be UTF-8 here")?;
        Ok(self.cluster.run(&sent, fingerprint, plan.schema.clone(), state)?)
    }
}

fn version() -> String {
    env!("PALAIS_VERSION").to_string()
}

fn catalog(tables: Vec<Table>) -> Catalog {
    let mut catalog = Catalog::default();
    tables.into_iter().for_each(|table| catalog.add(table));
    catalog
}

/// What the binary does for a process.
struct Process;

impl Process {
    fn look(&self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        let catalog = match bincode::deserialize(request)? {
            Look::Tables(input, names) => Tables::resolve(&input)?.catalog(&names, false)?,
            Look::Names(input) => {
                let tables = Tables::resolve(&input)?;
                return Ok(bincode::serialize(&tables.names().collect::<Vec<_>>())?);
            }
        };
        let tables: Vec<&Table> = catalog.tables().map(|table| &**table).collect();
        bincode::serialize(&tables).context("the names of files must be UTF-8 here")
    }

    fn make(&self, query: &[u8], sharing: usize) -> anyhow::Result<Planned> {
        let mut query: Query = bincode::deserialize(query)?;
        let parsed = match queries::parse(&query.statement)? {
            Statement::Query(parsed) | Statement::Summarize(parsed) => parsed,
            Statement::Explain { query: parsed, .. } | Statement::Copy { query: parsed, .. } => parsed,
            Statement::Describe(_) | Statement::ShowTables => anyhow::bail!("only a query has a plan"),
        };
        let catalog = catalog(std::mem::take(&mut query.tables));
        let mut plan = queries::plan(&parsed, &catalog, &query.planning())?;
        if query.is_summary {
            let summary = summarize::query(&parsed, &plan.schema)?;
            plan = queries::plan(&summary, &catalog, &query.planning())?;
        }
        let usual = || engine::memory::default_limit() / sharing.max(1) as u64;
        engine::memory::set_limit(query.memory_limit.unwrap_or_else(usual));
        let fingerprint = queries::explain::fingerprint(&plan);
        let settings = engine::Settings { workers: query.workers, read_ahead: query.read_ahead };
        Ok(Planned { plan, settings, fingerprint })
    }
}

fn failure(e: &anyhow::Error) -> Failure {
    let (message, code) = crate::describe(e);
    Failure { message: message.strip_prefix("error: ").unwrap_or(&message).to_string(), code }
}

impl Binary for Process {
    fn version(&self) -> String {
        version()
    }

    fn open(&self, request: &[u8]) -> Result<Vec<u8>, Failure> {
        self.look(request).map_err(|e| failure(&e))
    }

    fn plan(&self, query: &[u8], sharing: usize) -> Result<Planned, Failure> {
        self.make(query, sharing).map_err(|e| failure(&e))
    }

    fn end(&self, code: u8) -> ! {
        signals::end(code.into())
    }
}
