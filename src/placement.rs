//! Makes processes and clients of nodes from flags.

use std::time::Duration;

use cluster::coordinator::{Host, Options, Traffic};
use cluster::hosts::Hosts;
use cluster::node::{NodeClient, config};
use cluster::query::RemoteTables;
use cluster::retry::remaining;
use cluster::tls::Client;
use cluster::{Error, Processes, Result};
use session::Sources;

use crate::args;
use crate::signals;

/// The version that processes compare.
pub const VERSION: &str = env!("PALAIS_VERSION");

/// The processes that flags ask for, on hosts other than `without` if there are any, and the file that names the hosts.
///
/// # Errors
/// The file of hosts is wrong.
pub fn hosts(place: &args::PlacementFlags, without: &[String]) -> Result<(Vec<Host>, Option<Hosts>)> {
    let unknown = |e| Error::Refused(format!("cannot find the program that runs: {e}"));
    let program = std::env::current_exe().map_err(unknown)?;
    let file = place.hosts.as_deref().map(Hosts::read).transpose()?;
    let hosts = match &file {
        Some(file) => remaining(file.processes(&program)?, without, |host| &host.name),
        None => Host::local(&program, place.local.map_or(1, usize::from)),
    };
    Ok((hosts, file))
}

/// Whether each host that flags name has files of its own.
///
/// # Errors
/// The file of hosts is wrong.
pub fn has_local_parts(c: &args::ClusterRun) -> Result<bool> {
    let file = c.place.hosts.as_deref().map(Hosts::read).transpose()?;
    Ok(c.local_parts || file.is_some_and(|file| file.local_parts))
}

/// Starts processes of this machine or on the hosts of a file, on hosts other than `without` if there are any.
/// `memory_limit` is the limit of all processes of this machine together.
///
/// # Errors
/// The file of hosts is wrong, or a process can't be started.
pub fn processes(
    c: &args::ClusterRun,
    sources: &Sources,
    local_parts: bool,
    memory_limit: u64,
    without: &[String],
) -> Result<Processes> {
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
    let options = Options { version: VERSION.into(), hosts, traffic, patience: c.place.timeout };
    let processes = Processes::start(options)?;
    let workers = asked.unwrap_or(processes.workers());
    let tables = RemoteTables { directory: sources.directory.clone(), local_parts };
    let processes = processes.with_workers(workers).with_memory_limit(memory_limit).with_tables(tables);
    Ok(processes.telling(signals::cancel_on_interrupt))
}

/// The client of a node, from flags.
///
/// # Errors
/// The token or certificates can't be read.
pub fn client(at: &args::At, patience: Duration) -> Result<NodeClient> {
    let token = config::read_token(&at.token_file)?;
    let tls = at.tls.tls_authority.as_deref().map(|file| Client::read(file, at.tls.tls_name.as_deref()));
    let tls = tls.transpose()?;
    Ok(NodeClient { address: at.cluster.clone(), token, tls, version: VERSION.into(), patience })
}
