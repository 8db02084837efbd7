//! The daemon of a host: starts the processes of queries that clients ask for, and tells what runs.
//!
//! The daemon reads no rows and plans nothing. A process of its own leads each query, and a process on each node runs
//! it. So a process that dies takes no other query with it. A process that leads asks the nodes one after another for a
//! slot, always in the same order. So two queries never wait for each other.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use super::config::Config;
use super::metrics::{self, Counts};
use super::table::{Purpose, Table};
use super::{Ask, HELLO, NodeClient, Reply, Status, read, wait_until, write};
use crate::brief::brief;
use crate::error::{Error, Result};
use crate::handshake;
use crate::lobby::{Guest, Lobby};
use crate::mesh::meet::take_within;
use crate::message::Figures;
use crate::socket::{Hasty, Socket};
use crate::tls::Tls;

/// How long a client may take to show the token and to ask.
const SHOW: Duration = Duration::from_secs(3);
/// The longest question, in bytes. Of a statement it holds the text that people are shown.
const LETTER: u32 = 1 << 20;
/// So many queries are led at once. Further ones wait without a process.
const LED: usize = 64;
/// How long the other nodes may take to answer.
const LOOK: Duration = Duration::from_secs(2);
/// How long the node waits for the end of a process that has closed its output.
const GOING: Duration = Duration::from_millis(500);

/// What [`serve`] needs to know.
pub struct Settings {
    /// The file of the node.
    pub config: Config,
    /// The path of that file, for the processes that the node starts.
    pub path: PathBuf,
    /// The version of this binary.
    pub version: String,
    /// The path of this binary.
    pub program: PathBuf,
    /// The most memory of all queries together, in bytes.
    pub memory_limit: u64,
}

struct Node {
    settings: Settings,
    /// The name of the node in its log.
    host: String,
    token: [u8; 32],
    tls: Option<Tls>,
    table: Arc<Table>,
    counts: Arc<Counts>,
    lobby: Lobby,
}

/// Serves for ever. Calls `ready` with the name of the node once it listens.
///
/// # Errors
/// The token or the files of TLS can't be read, or the address is taken.
pub fn serve(settings: Settings, ready: impl FnOnce(&str)) -> Result<()> {
    let token = settings.config.token()?;
    let tls = settings.config.tls()?;
    let listen = settings.config.listen;
    let failed = |e: io::Error| Error::Node { node: listen.to_string(), what: format!("cannot listen: {e}") };
    let listener = TcpListener::bind(listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let (counts, lobby) = (Arc::<Counts>::default(), Lobby::default());
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = settings.config.name(address, machine.trim());
    let table = Arc::new(Table::new(host.clone(), counts.clone()));
    let node = Arc::new(Node { settings, host, token, tls, table, counts, lobby });
    if let Some(address) = node.settings.config.metrics {
        let told = node.clone();
        let text = move || told.counts.text(&told.table, &told.settings.version);
        metrics::serve(address, text).map_err(|e| Error::Node {
            node: address.to_string(),
            what: format!("cannot serve metrics: {e}"),
        })?;
    }
    ready(&node.host);
    loop {
        let Ok((socket, _)) = listener.accept() else {
            // There are no more descriptors for now.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let Ok(guest) = node.lobby.enter(&socket) else { continue };
        let serving = node.clone();
        let serve = move || serving.take_in(socket, guest);
        // Without the thread the connection is closed.
        let _ = std::thread::Builder::new().name("palais-ask".into()).spawn(serve);
    }
}

impl Node {
    /// Serves a client that has connected.
    fn take_in(&self, socket: TcpStream, guest: Guest) {
        let (version, host) = (&self.settings.version, &self.host);
        let peer = socket.peer_addr().map(|peer| peer.to_string()).unwrap_or_default();
        let server = self.tls.as_ref().map(|tls| &tls.server);
        let asked = take_within(socket, server, SHOW, |socket: &mut Hasty<'_>, channel| {
            handshake::accept(socket, channel, |hello| *hello == HELLO, &self.token)?;
            // The client is no stranger any more.
            drop(guest);
            read(socket, version, LETTER)
        });
        // A client without the token gets no answer. A client that can't be answered is gone.
        let _ = match asked {
            Err(e) => {
                debug!(host, peer, reason = %e, "a connection was refused");
                Ok(())
            }
            Ok((mut socket, Err(theirs))) => {
                let theirs = brief(&theirs);
                warn!(host, peer, theirs, "another version asked");
                let why = format!("palais {version} runs here, and {theirs} asks");
                write(&mut socket, version, &Reply::Refused(why))
            }
            Ok((socket, Ok(ask))) => self.answer(ask, socket, &peer),
        };
    }

    fn answer(&self, ask: Ask, mut socket: Socket, peer: &str) -> io::Result<()> {
        let host = &self.host;
        let reply = match ask {
            Ask::Query { statement } => {
                let statement = brief(&statement);
                let mut random = [0; 4];
                getrandom::fill(&mut random).map_err(io::Error::other)?;
                let query = format!("{:08x}", u32::from_be_bytes(random));
                info!(host, query, peer, statement, "asked to run a query");
                return self.start(socket, Purpose { query, statement, leads: true });
            }
            Ask::Process { query, statement } => {
                let statement = brief(&statement);
                return self.start(socket, Purpose { query, statement, leads: false });
            }
            Ask::Fate { query, led } => {
                wait_until(|| self.table.fate(&query, led).is_some(), GOING);
                Reply::Fate(self.table.fate(&query, led))
            }
            Ask::Done { query, figures } => {
                let Figures { rows_read, bytes_read, bytes_sent, .. } = figures;
                info!(host, query, rows_read, bytes_read, bytes_sent, "did its part of a query");
                self.counts.add(&figures, self.table.note_done(&query));
                Reply::Ended(0)
            }
            Ask::Status => Reply::Status(self.status()),
            Ask::End { query, led } => {
                let processes = self.table.end(&query, led);
                if processes > 0 {
                    info!(host, query, peer, processes, "asked to end a query");
                }
                Reply::Ended(processes)
            }
            Ask::Overview => Reply::Overview(self.all(&Ask::Status).into_iter().map(overview).collect()),
            Ask::Cancel { query } => {
                let end = |led| {
                    let replies = self.all(&Ask::End { query: query.clone(), led }).into_iter();
                    let ended = replies.map(|(_, reply)| match reply {
                        Ok(Reply::Ended(processes)) => processes,
                        _ => 0,
                    });
                    ended.sum()
                };
                // The process that leads tells its caller. If its node is gone, there is none.
                Reply::Ended(match end(true) {
                    0 => end(false),
                    leads => leads,
                })
            }
        };
        write(&mut socket, &self.settings.version, &reply)
    }

    /// Asks all nodes at once, and gives their replies in the order of `nodes`. The client waits for all of them. So a
    /// node counts as silent after [`LOOK`], also if the look-up of its name takes long or its answer comes byte by
    /// byte.
    fn all(&self, ask: &Ask) -> Vec<(String, Result<Reply>)> {
        let deadline = Instant::now() + LOOK;
        let asking = |address: &String| {
            let door = NodeClient {
                address: address.clone(),
                token: self.token,
                tls: self.tls.as_ref().map(|tls| tls.client.clone()),
                version: self.settings.version.clone(),
                patience: LOOK,
            };
            let (silent, ask) = (door.silent(), ask.clone());
            let (tell, told) = sync_channel(1);
            let look = move || {
                // After [`LOOK`] the answer is not awaited any more.
                let _ = tell.send(door.ask(&ask));
            };
            let started = std::thread::Builder::new().name("palais-look".into()).spawn(look);
            (address.clone(), started.map(|_| (told, silent)))
        };
        let asking: Vec<_> = self.settings.config.nodes.iter().map(asking).collect();
        let replies = asking.into_iter().map(|(address, started)| {
            let reply = started.map_err(|e| Error::System(e.to_string())).and_then(|(told, silent)| {
                let left = deadline.saturating_duration_since(Instant::now());
                told.recv_timeout(left).unwrap_or(Err(silent))
            });
            (address, reply)
        });
        replies.collect()
    }

    fn status(&self) -> Status {
        let Settings { config, version, memory_limit, .. } = &self.settings;
        Status {
            version: version.clone(),
            most: config.queries,
            memory_limit: *memory_limit,
            waiting: self.table.waiting(),
            running: self.table.running(),
        }
    }

    /// Starts a process whose standard streams are the socket.
    fn start(&self, socket: Socket, purpose: Purpose) -> io::Result<()> {
        let Settings { config, path, version, program, .. } = &self.settings;
        let mut command = Command::new(program);
        command.args(["cluster", if purpose.leads { "lead" } else { "process" }, "--node"]).arg(path);
        command.args(["--query", &purpose.query, "--parent", &std::process::id().to_string()]);
        let query = purpose.query.clone();
        let taken = Reply::Taken { query: query.clone() };
        let (mut telling, mut answering) = (socket.try_clone()?, socket.try_clone()?);
        let wait = || {
            if is_gone(&telling) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            write(&mut telling, version, &Reply::Waiting)
        };
        // A process that leads uses memory alone of what the others share, and mostly waits. So more of them may run.
        let most = if purpose.leads { LED.max(2 * config.queries) } else { config.queries };
        let started = self
            .table
            .start(command, purpose, &socket, most, wait, || write(&mut answering, version, &taken));
        started.or_else(|e| {
            warn!(host = self.host, query, reason = %e, "no process was started");
            write(&mut answering, version, &Reply::Refused(e.to_string()))
        })
    }
}

/// What a node runs, or why that is not known.
fn overview((address, reply): (String, Result<Reply>)) -> (String, Result<Status, String>) {
    let status = match reply {
        Ok(Reply::Status(status)) => Ok(status),
        Ok(_) => Err("it answered something else".into()),
        Err(Error::Node { what, .. }) => Err(what),
        Err(e) => Err(e.to_string()),
    };
    (address, status)
}

/// Whether the other end has closed the connection.
fn is_gone(socket: &Socket) -> bool {
    let mut byte = 0_u8;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: the descriptor is open as long as `socket` lives, and the one byte of room outlives the call.
    unsafe { libc::recv(socket.as_raw_fd(), (&raw mut byte).cast(), 1, flags) == 0 }
}
