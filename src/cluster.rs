//! `palais cluster` and `palais node`: a statement to rows, computed by several processes.
//!
//! - `decode`: what another process has sent.
//! - `make`: files that several processes make without a query; `maker`: the part of one of them.
//! - [`node`]: the daemon of a host, and who looks at it.
//! - `payloads`: that other bytes than what they tell each other are errors.
//! - `process`: what the binary does for a process of a query.
//! - [`remote`]: what nodes do for others.
//! - [`retry`]: what is done again when a process is lost.

mod decode;
mod make;
mod maker;
pub mod node;
#[cfg(test)]
mod payloads;
mod process;
pub mod remote;
pub mod retry;

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cluster::coordinator::{Host, Launch, Options, Traffic};
use cluster::hosts::Hosts;
use cluster::message::Failure;
use cluster::ports::Ports;
use decode::decode;
use engine::writing::atomic::Remains;
use engine::{QueryState, Results};
use process::{Look, Process, Query};
use queries::Catalog;
use schema::Table;
use session::{PlannedQuery, Runner as _, Sources};

use crate::Usage;
use crate::args;
use crate::{query, signals};

/// `palais cluster`.
pub fn run(c: &args::Cluster) -> anyhow::Result<()> {
    sweep_up();
    match c {
        args::Cluster::Run(c) => query::run_among(c),
        args::Cluster::Generate(c) => make::generate(c),
        args::Cluster::Convert(c) => make::convert(c),
        args::Cluster::Status(at) => node::status(at),
        args::Cluster::Cancel { query, at } => node::cancel(at, query),
        args::Cluster::Process(started) => {
            signals::end_with_parent(started.parent);
            signals::tell_failures_by(|message, code| {
                let message = message.strip_prefix("error: ").unwrap_or(&message).to_string();
                cluster::worker::report_failure(Failure { message, code })
            });
            let process = Process::of(started)?;
            let (orders, reports) = streams().context("cannot take the standard streams")?;
            cluster::worker::serve(orders, reports, &Arc::new(process))
        }
        args::Cluster::Lead(started) => remote::lead(started),
        args::Cluster::Sweep(args::Sweep { path, parents }) => {
            let remains = Remains { path: path.clone(), parents: parents.clone() };
            engine::writing::atomic::sweep(std::io::stdin(), remains);
            Ok(())
        }
    }
}

/// Has what this process writes removed if it is killed.
pub fn sweep_up() {
    engine::writing::atomic::sweep_with(&["cluster", "sweep"]);
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

/// Processes that run the queries of a statement.
pub struct Runner {
    cluster: cluster::Cluster,
    statement: String,
    sources: Sources,
    /// Whether each process has files of its own.
    local_parts: bool,
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
            ports: Ports::ANY,
            directory: None,
            sharing: processes,
            far: false,
            tls: None,
            launch: Launch::Command(command),
        }
    };
    (0..processes).map(process).collect()
}

/// The hosts without those that were lost, if there are others.
pub fn remaining<H>(mut hosts: Vec<H>, without: &[String], name: impl Fn(&H) -> &String) -> Vec<H> {
    if hosts.iter().any(|host| !without.contains(name(host))) {
        hosts.retain(|host| !without.contains(name(host)));
    }
    hosts
}

/// The processes that flags ask for, on others than `without` if there are any, and the file that names their hosts.
///
/// # Errors
/// A file of hosts that is wrong.
fn hosts(place: &args::PlacementFlags, without: &[String]) -> anyhow::Result<(Vec<Host>, Option<Hosts>)> {
    let program = std::env::current_exe().context("cannot find the program that runs")?;
    let file = place.hosts.as_deref().map(Hosts::read).transpose()?;
    let hosts = match &file {
        Some(file) => remaining(file.processes(&program)?, without, |host| &host.name),
        None => local(&program, place.local.map_or(1, usize::from)),
    };
    Ok((hosts, file))
}

/// Whether each host that flags name has files of its own.
///
/// # Errors
/// A file of hosts that is wrong.
pub fn has_local_parts(c: &args::ClusterRun) -> anyhow::Result<bool> {
    let file = c.place.hosts.as_deref().map(Hosts::read).transpose()?;
    Ok(c.local_parts || file.is_some_and(|file| file.local_parts))
}

impl Runner {
    /// Starts processes of this machine or on the hosts of a file, for one statement; on others than `without`, if there
    /// are any. `memory_limit` is that of all processes of this machine.
    pub fn of_flags(
        c: &args::ClusterRun,
        statement: &str,
        sources: &Sources,
        memory_limit: u64,
        without: &[String],
    ) -> anyhow::Result<Runner> {
        let (hosts, file) = hosts(&c.place, without)?;
        let memory_limit = match c.place.local {
            Some(processes) => Some(memory_limit / u64::from(processes)),
            None => c.run.execution.memory_limit,
        };
        let asked = c.run.execution.workers.map(usize::from).or(file.as_ref().and_then(|file| file.workers));
        let mut traffic = Traffic { sockets_only: c.sockets_only, ..Traffic::default() };
        if let Some(file) = &file {
            traffic.compression = file.compression;
            traffic.sockets_only |= file.sockets_only;
        }
        let runner = Runner::start(hosts, statement, sources, c.place.timeout, traffic)?;
        let workers = asked.unwrap_or(runner.settings.workers);
        let settings =
            engine::Settings { read_ahead: usize::from(c.run.read_ahead), ..engine::Settings::new(workers) };
        Ok(runner.with(settings, memory_limit))
    }

    /// Starts processes for one statement. Each has as many workers as the one that has the fewest.
    pub fn start(
        hosts: Vec<Host>,
        statement: &str,
        sources: &Sources,
        patience: Duration,
        traffic: Traffic,
    ) -> anyhow::Result<Runner> {
        let options = Options { version: version(), hosts, traffic, patience };
        let cluster = cluster::Cluster::start(options)?;
        let settings = engine::Settings::new(cluster.workers());
        let (statement, sources) = (statement.to_string(), sources.clone());
        Ok(Runner { cluster, statement, sources, local_parts: false, settings, memory_limit: None })
    }

    /// With files of each process's own, if so.
    pub fn with_local_parts(self, local_parts: bool) -> Runner {
        Runner { local_parts, ..self }
    }

    /// With other settings.
    pub fn with(self, settings: engine::Settings, memory_limit: Option<u64>) -> Runner {
        Runner { settings, memory_limit, ..self }
    }

    /// The host that was lost, if that ended a query.
    pub fn lost(&self) -> Option<String> {
        self.cluster.lost()
    }

    /// The tables of these names, as the first process sees them.
    fn tables(&self, names: &[String]) -> anyhow::Result<Catalog> {
        let places = self.sources.tables.iter().map(|(_, place)| place.as_str());
        if names.iter().map(String::as_str).chain(places).any(|place| place == "-") {
            let text = "standard input can't be read by several processes\n  help: write it to a file first";
            return Err(Usage(text.into()).into());
        }
        let look = bincode::serialize(&Look::Tables(self.sources.clone(), names.to_vec()))?;
        let seen = self.cluster.open(&look, if self.local_parts { self.processes() } else { 1 })?;
        let seen = seen.iter().map(|tables| decode::<Vec<Table>>(tables));
        let seen = seen.collect::<Result<Vec<_>, _>>()?;
        let mut joined = Vec::new();
        for number in 0..seen.first().map_or(0, Vec::len) {
            // A look gives the tables of the same names in the same order everywhere.
            let parts: Vec<Table> = seen.iter().filter_map(|tables| tables.get(number).cloned()).collect();
            let name = parts.first().map(|table| table.name.clone()).unwrap_or_default();
            if !self.local_parts {
                joined.extend(parts);
                continue;
            }
            let table = schema::parts::join(parts).map_err(|wrong| {
                let (host, first) = (self.cluster.name(wrong.host), self.cluster.name(0));
                let help = "--schema gives the columns, if they are only guessed otherwise";
                anyhow::anyhow!(
                    "the table {name} {} on {host}, as {first} has it\n  help: {help}",
                    wrong.what
                )
            })?;
            joined.extend(table);
        }
        Ok(catalog(joined))
    }

    /// What the processes are told of a query, with its fingerprint and its figures.
    fn query(
        &self,
        planned: &PlannedQuery,
        overwrite: bool,
    ) -> anyhow::Result<(Vec<u8>, u64, Arc<QueryState>)> {
        let PlannedQuery { plan, is_summary, catalog, planning, .. } = planned;
        let sent = Query {
            statement: self.statement.clone(),
            is_summary: *is_summary,
            tables: catalog.tables().map(|table| Table::clone(table)).collect(),
            planning: planning.clone(),
            workers: self.settings.workers,
            read_ahead: self.settings.read_ahead,
            memory_limit: self.memory_limit,
            overwrite,
        };
        let state = Arc::new(QueryState::new(plan.nodes, self.settings.workers * self.processes()));
        signals::cancel_on_interrupt(&state);
        let sent = bincode::serialize(&sent).context("the names of files must be UTF-8 here")?;
        Ok((sent, queries::explain::fingerprint(plan), state))
    }
}

impl session::Runner for Runner {
    fn processes(&self) -> usize {
        self.cluster.processes()
    }

    fn workers(&self) -> usize {
        self.settings.workers
    }

    fn catalog(&self, names: &[String]) -> Result<Catalog, session::runner::Failure> {
        self.tables(names).map_err(failure)
    }

    fn names(&self) -> Result<Vec<String>, session::runner::Failure> {
        let look = Look::Names(self.sources.clone());
        let seen = self.cluster.open(&bincode::serialize(&look)?, 1)?;
        decode(&seen[0]).map_err(failure)
    }

    fn run(&self, planned: &PlannedQuery) -> Result<Results, session::runner::Failure> {
        let (bytes, fingerprint, state) = self.query(planned, false).map_err(failure)?;
        let query = cluster::coordinator::Query { bytes: &bytes, fingerprint };
        Ok(self.cluster.run(&query, planned.plan.schema.clone(), state)?)
    }

    fn write(
        &self,
        planned: &PlannedQuery,
        overwrite: bool,
        begun: &mut dyn FnMut(&Arc<QueryState>),
    ) -> Result<(u64, Arc<QueryState>), session::runner::Failure> {
        let (bytes, fingerprint, state) = self.query(planned, overwrite).map_err(failure)?;
        begun(&state);
        let written =
            self.cluster.write(&cluster::coordinator::Query { bytes: &bytes, fingerprint }, &state)?;
        Ok((written.rows, state))
    }
}

/// An error as a session has it, of the type that it has here.
fn failure(e: anyhow::Error) -> session::runner::Failure {
    e.reallocate_into_boxed_dyn_error_without_backtrace()
}

fn version() -> String {
    env!("PALAIS_VERSION").to_string()
}

fn catalog(tables: Vec<Table>) -> Catalog {
    let mut catalog = Catalog::default();
    tables.into_iter().for_each(|table| catalog.add(table));
    catalog
}
