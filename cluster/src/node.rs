//! A node, the daemon of a host: the questions to it, and the client that asks them.
//!
//! A client connects, shows that it has the token of the nodes (see [`crate::handshake`]), and sends one [`Ask`]. The
//! node gives an answer, or makes the connection one to a process that it has started for the client. Each letter
//! carries its version outside of the part that may change with the version. So a node can tell a client of another
//! version why it refuses.
//!
//! - [`config`]: the file of a node.
//! - [`serve`]: the daemon.
//! - [`metrics`]: counts for Prometheus.
//! - `table`: the processes that it has started.

pub mod config;
pub mod metrics;
pub mod serve;
mod table;

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::brief::brief;
use crate::error::{Error, Result};
use crate::handshake::{self, Channel, Hello, Kind};
use crate::message::{self, Figures, Raw};
use crate::socket::Socket;
use crate::tls::Client;

/// The port of a node if its address has none.
pub const PORT: u16 = 7700;

/// The hello of connections to a node.
pub const HELLO: Hello =
    Hello { incarnation: [0; 16], fingerprint: 0, run: 0, kind: Kind::Node, from: 0, to: 0 };

/// The exit code of a process that has led a query, and has told its caller why the query failed.
pub const FAILED: i32 = 3;

/// How often a node tells a client that it still waits for its turn.
const BEAT: Duration = Duration::from_secs(1);

/// How long a client whose connection was closed waits before the second try. The wait doubles with each try, up to
/// [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(320);

const NO_ADDRESS: &str = "there is no such address";

/// A question or answer: its version, and bytes that only the same version reads.
#[derive(Serialize, Deserialize)]
pub struct Letter {
    version: String,
    text: Raw,
}

/// A question to a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Ask {
    /// Run a statement. After [`Reply::Taken`] the connection is one between the caller and a process of the node that
    /// leads.
    Query {
        /// The statement, for people who look at what runs.
        statement: String,
    },
    /// Start a process of a query. After [`Reply::Taken`] the connection belongs to the process.
    Process {
        /// The query.
        query: String,
        /// The statement, for people who look at what runs.
        statement: String,
    },
    /// How a process of a query has ended; [`Reply::Fate`].
    Fate {
        /// The query.
        query: String,
        /// Whether the process that leads is meant, or the one that reads rows.
        led: bool,
    },
    /// What runs here; [`Reply::Status`].
    Status,
    /// What runs on all nodes that this one knows; [`Reply::Overview`].
    Overview,
    /// A process of this node tells what it has done; [`Reply::Ended`] with 0 answers.
    Done {
        /// The query.
        query: String,
        /// The figures of its part.
        figures: Figures,
    },
    /// End a query here; [`Reply::Ended`].
    End {
        /// The query.
        query: String,
        /// Whether the process that leads is to end, or those that read rows.
        led: bool,
    },
    /// End a query on all nodes that this one knows; [`Reply::Ended`].
    Cancel {
        /// The query.
        query: String,
    },
}

/// The answer of a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Reply {
    /// Other queries are before this one. Further replies follow.
    Waiting,
    /// The connection belongs to a process of this query now.
    Taken {
        /// The query.
        query: String,
    },
    /// The node refuses, for this reason.
    Refused(String),
    /// How a process has ended, if it has.
    Fate(Option<Fate>),
    /// What runs here.
    Status(Status),
    /// What runs on each node, or why that is not known.
    Overview(Vec<(String, Result<Status, String>)>),
    /// The number of processes that were told to end.
    Ended(usize),
}

/// How a process ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fate {
    /// How it ended, as a clause.
    pub how: String,
    /// The last text that it wrote to standard error, each line on one of its own.
    pub stderr: String,
    /// Whether a client asked the node to end its query.
    pub cancelled: bool,
}

/// What runs on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The version of the node.
    pub version: String,
    /// How many queries the node runs at once.
    pub most: usize,
    /// The most memory of all queries together, in bytes.
    pub memory_limit: u64,
    /// How many queries wait for others to end.
    pub waiting: usize,
    /// The processes that run.
    pub running: Vec<Running>,
}

/// A process of a query that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The query.
    pub query: String,
    /// Its statement.
    pub statement: String,
    /// Whether the process leads: it talks with the caller of the query, and reads no rows itself.
    pub leads: bool,
    /// How long it has run.
    pub time: Duration,
    /// Its resident memory, in bytes.
    pub memory: u64,
}

/// The token of nodes, made of the text of its file. Blanks around the text do not count.
pub fn token(text: &str) -> [u8; 32] {
    Sha256::digest(text.trim().as_bytes()).into()
}

/// The client of a node.
#[derive(Clone)]
pub struct NodeClient {
    /// Where the node listens: an address or a name, with a port or without.
    pub address: String,
    /// The token.
    pub token: [u8; 32],
    /// The end that connects, for nodes with TLS.
    pub tls: Option<Client>,
    /// The version of this client.
    pub version: String,
    /// How long the node may be silent.
    pub patience: Duration,
}

impl NodeClient {
    fn failed(&self, what: impl Into<String>) -> Error {
        Error::Node { node: self.address.clone(), what: what.into() }
    }

    /// The error that nothing was heard of the node in time.
    fn silent(&self) -> Error {
        self.failed(format!("nothing was heard for {} seconds", self.patience.as_secs_f32()))
    }

    fn cannot_connect(&self, e: &io::Error) -> Error {
        use io::ErrorKind;
        self.failed(match e.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => return self.silent(),
            // A reset means the same: the node had not read everything when it closed the connection.
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                let help = "is it a node of this version of palais, and does it speak TLS if --tls-authority is given, and \
                            only then? One that has too many strangers at its door closes connections too";
                format!("it closed the connection\n  help: {help}")
            }
            ErrorKind::InvalidData => format!("TLS with it failed: {e}"),
            // The handshake gives this error, and not the system.
            ErrorKind::PermissionDenied if e.raw_os_error().is_none() => {
                format!("{e}\n  help: all nodes, and whoever asks them, need a token file with the same text")
            }
            _ => e.to_string(),
        })
    }

    /// Asks a question, and gives the connection. A node with too many clients that have proved nothing yet closes connections, so
    /// the client tries again.
    fn connect(&self, ask: &Ask) -> Result<Socket> {
        let begun = Instant::now();
        let is_dropped = |e: &io::Error| {
            matches!(
                e.kind(),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
            )
        };
        let mut pause = PAUSE;
        loop {
            match self.connect_once(ask) {
                Err(e)
                    if is_dropped(&e)
                        && pause <= LONGEST_PAUSE
                        && begun.elapsed() + pause < self.patience =>
                {
                    std::thread::sleep(pause);
                    pause *= 2;
                }
                connected => return connected.map_err(|e| self.cannot_connect(&e)),
            }
        }
    }

    fn connect_once(&self, ask: &Ask) -> io::Result<Socket> {
        let bare = !self.address.contains(':') || self.address.parse::<std::net::Ipv6Addr>().is_ok();
        let known = match bare {
            true => (self.address.as_str(), PORT).to_socket_addrs(),
            false => self.address.to_socket_addrs(),
        };
        // A name may have addresses at which no process listens, such as ::1 for localhost.
        let mut tried = known.into_iter().flatten().map(|at| TcpStream::connect_timeout(&at, self.patience));
        let unknown = || io::Error::new(io::ErrorKind::AddrNotAvailable, NO_ADDRESS);
        let first = tried.next().ok_or_else(unknown)?;
        let socket = first.or_else(|e| tried.find_map(io::Result::ok).ok_or(e))?;
        socket.set_nodelay(true)?;
        let (mut socket, channel) = match &self.tls {
            Some(tls) => {
                let deadline = Instant::now() + self.patience;
                tls.connect(socket, host_of(&self.address), deadline)?
            }
            None => (Socket::Bare(socket), Channel::Plain),
        };
        socket.set_read_timeout(Some(self.patience))?;
        socket.set_write_timeout(Some(self.patience))?;
        handshake::connect(&mut socket, channel, &HELLO, &self.token)?;
        write(&mut socket, &self.version, ask)?;
        Ok(socket)
    }

    /// Reads the next reply.
    fn reply(&self, socket: &mut Socket) -> Result<Reply> {
        let letter: Option<Letter> = message::read(socket).map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => self.silent(),
            _ => self.failed(e.to_string()),
        })?;
        let Letter { version, text } =
            letter.ok_or_else(|| self.failed("it closed the connection before it answered"))?;
        if version != self.version {
            let (host, ours) = (self.address.clone(), self.version.clone());
            return Err(Error::Version { host, theirs: version, ours });
        }
        match bincode::deserialize(&text.0) {
            Ok(Reply::Refused(why)) => Err(self.failed(why)),
            Ok(reply) => Ok(reply),
            Err(e) => Err(self.failed(e.to_string())),
        }
    }

    /// Asks a question that the node answers at once.
    ///
    /// # Errors
    /// The node can't be reached, is of another version, or refuses.
    pub fn ask(&self, ask: &Ask) -> Result<Reply> {
        let mut socket = self.connect(ask)?;
        self.reply(&mut socket)
    }

    /// How a process of a query has ended, if it has: the process that `led` it, or the one that read rows for it.
    ///
    /// # Errors
    /// As [`NodeClient::ask`].
    pub(crate) fn fate(&self, query: &str, led: bool) -> Result<Option<Fate>> {
        let (begun, ask) = (Instant::now(), Ask::Fate { query: query.into(), led });
        let reply = self.ask(&ask).or_else(|e| {
            // A node that is ending loses its processes first, and still takes connections.
            if begun.elapsed() > BEAT {
                return Err(e);
            }
            std::thread::sleep(BEAT / 5);
            self.ask(&ask)
        });
        match reply? {
            Reply::Fate(fate) => Ok(fate),
            _ => Ok(None),
        }
    }

    /// The same client with a patience of at most two seconds, for questions that are not worth waiting for.
    pub(crate) fn quick(&self) -> NodeClient {
        NodeClient { patience: self.patience.min(Duration::from_secs(2)), ..self.clone() }
    }

    /// Asks for a connection to a process, and waits while other queries are before. Gives the connection with the name
    /// of the query.
    ///
    /// # Errors
    /// As [`NodeClient::ask`].
    pub fn enter(&self, ask: &Ask) -> Result<(Socket, String)> {
        let mut socket = self.connect(ask)?;
        loop {
            match self.reply(&mut socket)? {
                Reply::Waiting => {}
                Reply::Taken { query } => {
                    let cleared = socket.set_read_timeout(None).and_then(|()| socket.set_write_timeout(None));
                    cleared.map_err(|e| self.failed(e.to_string()))?;
                    return Ok((socket, query));
                }
                _ => return Err(self.failed("it answered something else")),
            }
        }
    }
}

/// The host of an address, without its port.
fn host_of(address: &str) -> &str {
    let bare = address.parse::<std::net::IpAddr>().is_ok();
    let host = address.rsplit_once(':').filter(|_| !bare).map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// A slot: the place of a process of a query on a node.
#[derive(Clone)]
pub struct Slot {
    /// The client of the node.
    pub door: NodeClient,
    /// The query.
    pub query: String,
    /// Its statement.
    pub statement: String,
}

impl Slot {
    /// Has the node start the process as soon as its turn has come. Gives the connection to it.
    pub(crate) fn take(&self) -> Result<Socket> {
        let Slot { door, query, statement } = self;
        Ok(door.enter(&Ask::Process { query: query.clone(), statement: brief(statement) })?.0)
    }

    /// How the process ended, if it has.
    pub(crate) fn fate(&self) -> Result<Option<Fate>> {
        self.door.fate(&self.query, false)
    }

    /// Has the node kill the process.
    pub(crate) fn end(&self) -> Result<()> {
        self.door.quick().ask(&Ask::End { query: self.query.clone(), led: false }).map(|_| ())
    }
}

/// Writes a question or an answer.
fn write(out: &mut impl Write, version: &str, text: &impl Serialize) -> io::Result<()> {
    let text = Raw(bincode::serialize(text).map_err(io::Error::other)?);
    message::write(out, &Letter { version: version.to_string(), text })
}

/// Reads a question of at most `most` bytes. Gives the version of the client if it is not `version`.
fn read(from: &mut impl Read, version: &str, most: u32) -> io::Result<Result<Ask, String>> {
    let letter: Letter = message::read_up_to(from, most)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    if letter.version != version {
        return Ok(Err(letter.version));
    }
    bincode::deserialize(&letter.text.0).map(Ok).map_err(io::Error::other)
}

/// Waits until `done`, but at most for `longest`. Gives whether it is done.
fn wait_until(done: impl Fn() -> bool, longest: Duration) -> bool {
    let deadline = Instant::now() + longest;
    while Instant::now() < deadline {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    done()
}

#[cfg(test)]
mod tests {
    use super::host_of;

    #[test]
    fn an_address_names_its_host() {
        for (address, host) in [
            ("one:7700", "one"),
            ("one", "one"),
            ("10.0.0.1:7700", "10.0.0.1"),
            ("10.0.0.1", "10.0.0.1"),
            ("[::1]:7700", "::1"),
            ("::1", "::1"),
        ] {
            assert_eq!(host_of(address), host);
        }
    }
}
