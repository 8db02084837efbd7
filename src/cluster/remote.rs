//! What nodes do for others: who asks for it with `--cluster`, and the process on a node that leads it.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anyhow::Context;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use cluster::coordinator::{Host, Launch, Traffic};
use cluster::message::Failure;
use cluster::node::config::Config;
use cluster::node::{FAILED, NodeClient, PORT, Slot};
use cluster::ports::Ports;
use cluster::remote::{Caller, Event, Remote};
use engine::{QueryState, Results};
use serde::{Deserialize, Serialize};
use session::Sources;
use session::writers::{self, ResultWriter};

use super::decode::decode;
use super::make::nodes::Asked;
use super::process::failure;
use super::{Runner, node, remaining, streams, version};
use crate::Usage;
use crate::args;
use crate::say::{self, say};
use crate::{query, signals};

/// How long a process of a query, or a node, may be silent.
pub const PATIENCE: Duration = Duration::from_secs(8);

/// What a caller asks for.
#[derive(Serialize, Deserialize)]
pub enum Request {
    /// The rows of a statement.
    Rows(Asking),
    /// Files.
    Files(Asked),
}

impl Request {
    /// It, for those who look at what runs.
    fn text(&self) -> String {
        match self {
            Request::Rows(asking) => asking.statement.clone(),
            Request::Files(asked) => asked.text(),
        }
    }
}

/// What a caller asks for who wants the rows of a statement.
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
    /// As the flag.
    pub broadcast_limit: Option<u64>,
    /// As the flag.
    pub allow_scripts: bool,
    /// As the flag.
    pub read_ahead: u16,
    /// As the flag, for COPY.
    pub overwrite: bool,
    /// As the flag.
    pub retries: u32,
    /// As the flag.
    pub local_parts: bool,
}

/// The rows of a statement that nodes run; whether it `writes` files there.
pub fn ask(
    q: &args::Query,
    at: &args::At,
    statement: &str,
    sources: Sources,
    writes: bool,
    state: Arc<QueryState>,
) -> anyhow::Result<Results> {
    let args::Execution { workers, memory_limit, broadcast_limit, allow_scripts } = q.run.execution;
    let request = Asking {
        statement: statement.to_string(),
        sources,
        workers,
        memory_limit,
        broadcast_limit,
        allow_scripts,
        read_ahead: q.run.read_ahead,
        overwrite: q.run.overwrite,
        retries: q.retries,
        local_parts: q.local_parts,
    };
    let hear = |besides| {
        if let Event::Warning(text) = besides {
            say::warn(text);
        }
    };
    Ok(enter(&Request::Rows(request), writes, at)?.results(state, hear)?)
}

/// Asks nodes for something; whether it `writes` files there.
pub fn enter(request: &Request, writes: bool, at: &args::At) -> anyhow::Result<Remote> {
    let bytes = bincode::serialize(request).context("the names of files must be UTF-8 here")?;
    Ok(Remote::ask(&node::door(at, PATIENCE)?, &request.text(), bytes, writes)?)
}

/// `palais cluster lead`.
pub fn lead(started: &args::Started) -> anyhow::Result<()> {
    signals::end_with_parent(started.parent);
    let (Some(path), Some(id)) = (&started.node, &started.query) else {
        return Err(Usage("nodes start this".into()).into());
    };
    let (orders, reports) = streams().context("cannot take the standard streams")?;
    let told = Arc::new(AtomicI32::new(0));
    let code = told.clone();
    let end = move |why: Option<String>| {
        // For the log of the node.
        why.into_iter().for_each(say);
        signals::end(code.load(Ordering::SeqCst))
    };
    let (caller, request) = Caller::take(orders, reports, PATIENCE, end)?;
    let (telling, code) = (caller.clone(), told.clone());
    signals::tell_failures_by(move |message, exit| {
        let message = message.strip_prefix("error: ").unwrap_or(&message).to_string();
        // For the log of the node.
        say(format_args!("{message}"));
        code.store(FAILED, Ordering::SeqCst);
        telling.failed(Failure { message, code: exit });
        true
    });
    match run(path, id, &caller, &request) {
        Ok(()) => caller.done(),
        Err(e) => {
            let failure = failure(&e);
            // For the log of the node.
            say(&failure.message);
            told.store(FAILED, Ordering::SeqCst);
            caller.failed(failure);
        }
    }
    // What was told may still be on its way, and is lost if this end closes first. The other end does once it has all.
    loop {
        std::thread::park();
    }
}

/// Tells the caller what it is to know besides, and the log of the node.
pub fn warn(caller: &Caller, text: String) {
    say(&text);
    caller.warn(text);
}

fn run(path: &Path, id: &str, caller: &Arc<Caller>, request: &[u8]) -> anyhow::Result<()> {
    let config = Config::read(path)?;
    let (token, tls) = (config.token()?, config.tls()?);
    node::enter(&config)?;
    // As each process of the query.
    let limit = node::memory_limit(&config)? / config.queries as u64;
    engine::context::memory::set_limit(limit);
    let request: Request = decode(request)?;
    // All who lead ask for places in the same order, so that none waits for one who waits for it.
    let mut nodes = config.nodes.clone();
    nodes.sort();
    nodes.dedup();
    let host = |address: &&String| {
        let address = *address;
        let door = NodeClient {
            address: address.clone(),
            token,
            tls: tls.as_ref().map(|tls| tls.client.clone()),
            version: version(),
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
    // The name of a node that was lost may be gone with it.
    let hosts = |without: &[String]| {
        remaining(nodes.iter().collect(), without, |node| node).iter().map(host).collect()
    };
    match &request {
        Request::Rows(asking) => {
            if asking.allow_scripts && !config.allow_scripts {
                anyhow::bail!(
                    "these nodes start no commands\n  help: allow_scripts in their files lets them"
                );
            }
            let start = |without: &[String]| {
                let traffic = Traffic { compression: config.compression, sockets_only: config.sockets_only };
                Runner::start(hosts(without)?, &asking.statement, &asking.sources, PATIENCE, traffic)
            };
            let limit = asking.memory_limit.map_or(limit, |asked| asked.min(limit));
            engine::context::memory::set_limit(limit);
            query::lead(asking, limit, start, caller)
        }
        Request::Files(asked) => asked.lead(hosts, caller),
    }
}

/// The address at which the processes of a node are reached.
///
/// # Errors
/// Its name is not known: as that of a container that does not run.
fn reached_at(node: &str) -> cluster::Result<IpAddr> {
    let known: Option<SocketAddr> = node
        .to_socket_addrs()
        .or_else(|_| (node, PORT).to_socket_addrs())
        .ok()
        .and_then(|mut known| known.next());
    let unknown = || cluster::Error::Node { node: node.into(), what: "there is no such address".into() };
    Ok(known.ok_or_else(unknown)?.ip())
}

/// Tells a caller the rows.
pub struct Teller(pub Arc<Caller>);

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
