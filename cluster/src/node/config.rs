//! The file of a node.
//!
//! ```toml
//! listen = "10.0.0.1:7700"                # where others reach it; 127.0.0.1:7700 if not given
//! token_file = "/etc/palais/token"        # what palais node --new-token prints, the same for all
//! ports = [7701, 7799]                    # of which the processes of queries take theirs; any if not given
//! nodes = ["10.0.0.1:7700", "10.0.0.2:7700"]  # all of them, this one too; it alone if not given
//! queries = 4                             # at once; others wait
//! workers = 8                             # of all queries together; the cores of the machine if not given
//! memory_limit = "64GiB"                  # of all queries together; 70 % of the machine's if not given
//! directory = "/data"                     # where relative paths begin
//! data_root = ["/data"]                   # files are read and written below these alone; anywhere if not given
//! allow_scripts = false                   # whether queries may start commands
//! metrics = "10.0.0.1:9700"               # where Prometheus finds what it has done, without a token; nowhere if not given
//! log_format = "json"                     # of what it writes to standard error: text or json; text if not given
//! log_level = "debug"                     # warn, info or debug; info if not given
//! compression = "lz4"                     # of what processes of a query send each other: lz4, none, or auto, as if not given
//! sockets_only = true                     # processes of one machine do not read rows in each other's memory; false if not given
//!
//! [tls]                                   # all connections are encrypted; none if not given
//! certificate = "/etc/palais/node.pem"    # of this host
//! key = "/etc/palais/node.key"
//! authority = "/etc/palais/authority.pem" # whose certificates are trusted
//! name = "palais"                         # what all certificates are for; the address of each host if not given
//! ```

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::PORT;
use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::ports::Ports;
use crate::tls::{Files, Tls};

/// The settings of a node, as its file gives them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address at which the node listens, and at no other.
    #[serde(default = "usual_listen")]
    pub listen: SocketAddr,
    token_file: PathBuf,
    /// The first and the last port at which processes of queries may listen.
    ports: Option<[u16; 2]>,
    /// The addresses of all nodes.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// How many queries run at once.
    #[serde(default = "usual_queries")]
    pub queries: usize,
    /// The workers of all queries together.
    pub workers: Option<usize>,
    /// The memory of all queries together, as a size with a unit.
    pub memory_limit: Option<String>,
    /// Where relative paths begin.
    pub directory: Option<PathBuf>,
    /// The directories below which files are read and written; anywhere if empty.
    #[serde(default)]
    pub data_root: Vec<PathBuf>,
    /// Whether queries may start commands.
    #[serde(default)]
    pub allow_scripts: bool,
    /// The address at which metrics are served.
    pub metrics: Option<SocketAddr>,
    /// The form of the node's log.
    #[serde(default)]
    pub log_format: LogFormat,
    /// The least grave level that is logged.
    #[serde(default)]
    pub log_level: LogLevel,
    /// How bytes that processes of a query send each other are compressed.
    #[serde(default)]
    pub compression: Compression,
    /// Whether processes of one machine do not read rows in each other's memory.
    #[serde(default)]
    pub sockets_only: bool,
    tls: Option<Files>,
}

/// The form of a node's log.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line of text for each event.
    #[default]
    Text,
    /// A JSON object on a line for each event.
    Json,
}

/// Which events a node logs: those of this level, and graver ones.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Queries that went wrong.
    Warn,
    /// Questions to the node, and processes that begin and end.
    #[default]
    Info,
    /// Connections that were refused, too.
    Debug,
}

fn usual_listen() -> SocketAddr {
    (IpAddr::from([127, 0, 0, 1]), PORT).into()
}

fn usual_queries() -> usize {
    4
}

impl Config {
    /// Reads the file.
    ///
    /// # Errors
    /// The file can't be read, or says something that it may not.
    pub fn read(path: &Path) -> Result<Config> {
        let wrong = |what: String| Error::Hosts { path: path.to_path_buf(), what };
        let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("it can't be read: {e}")))?;
        let mut config: Config =
            toml::from_str(&text).map_err(|e| wrong(e.to_string().trim_end().to_string()))?;
        if config.queries == 0 || config.workers == Some(0) {
            return Err(wrong("queries and workers are 1 at least".into()));
        }
        let ports = config.ports.map_or(Ok(Ports::ANY), Ports::range).map_err(wrong)?;
        if let Some(count) = ports.count().filter(|count| *count < config.queries) {
            let queries = config.queries;
            return Err(wrong(format!("ports are {count}, and queries {queries}, each of which takes one")));
        }
        if config.listen.ip().is_unspecified() && config.tls.as_ref().is_some_and(|tls| tls.name.is_none()) {
            let why = "the node listens on all addresses, of which none is that of its certificate";
            return Err(wrong(format!(
                "{why}\n  help: name in [tls] is the one that all certificates are for"
            )));
        }
        if config.nodes.is_empty() {
            config.nodes = vec![config.listen.to_string()];
        }
        Ok(config)
    }

    /// Reads the token of the nodes.
    ///
    /// # Errors
    /// The file of the token can't be read, or holds less than a token.
    pub fn token(&self) -> Result<[u8; 32]> {
        read_token(&self.token_file)
    }

    /// Both ends of connections with TLS, if the file has `[tls]`.
    ///
    /// # Errors
    /// A file of TLS can't be read, or holds something else.
    pub fn tls(&self) -> Result<Option<Tls>> {
        self.tls.as_ref().map(Tls::read).transpose()
    }

    /// The ports of which the processes of queries take theirs.
    pub fn ports(&self) -> Ports {
        self.ports.and_then(|ports| Ports::range(ports).ok()).unwrap_or_default()
    }

    /// The address at which processes of this machine reach the node.
    pub fn reached_here(&self) -> SocketAddr {
        let ip = self.listen.ip();
        let loopback = if ip.is_ipv4() { IpAddr::from([127, 0, 0, 1]) } else { Ipv6Addr::LOCALHOST.into() };
        SocketAddr::new(if ip.is_unspecified() { loopback } else { ip }, self.listen.port())
    }

    /// The name of the node in its log: the address at which it listens. If that is any address of the machine, the
    /// name is the entry of `nodes` that begins with the name of the machine.
    pub fn name(&self, listens: SocketAddr, machine: &str) -> String {
        if !listens.ip().is_unspecified() || machine.is_empty() {
            return listens.to_string();
        }
        let is_here = |node: &&String| {
            node.strip_prefix(machine).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
        };
        let entry = self.nodes.iter().find(is_here);
        entry.cloned().unwrap_or_else(|| format!("{machine}:{}", listens.port()))
    }

    /// The most memory of all queries together, in bytes.
    ///
    /// # Errors
    /// `memory_limit` in the file is no size.
    pub fn memory(&self) -> Result<u64> {
        let given = self.memory_limit.as_deref().map(session::variables::memory).transpose();
        let given = given.map_err(|e| Error::Usage(format!("memory_limit of the node: {e}")))?;
        Ok(given.unwrap_or_else(engine::context::memory::default_limit))
    }

    /// The most memory of one query, in bytes.
    ///
    /// # Errors
    /// As [`Config::memory`].
    pub fn share_of_memory(&self) -> Result<u64> {
        Ok(self.memory()? / self.queries as u64)
    }

    /// Makes this process one of the node: it enters the directory of the node, and may touch files below `data_root`
    /// alone.
    ///
    /// # Errors
    /// A directory does not exist, or can't be entered.
    pub fn enter(&self) -> Result<()> {
        formats::store::roots::allow(&self.data_root)?;
        if let Some(directory) = &self.directory {
            std::env::set_current_dir(directory)
                .map_err(|e| Error::Refused(format!("{}: cannot be entered: {e}", directory.display())))?;
        }
        Ok(())
    }

    /// The workers of one query, at least 1.
    pub fn share_of_workers(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        (self.workers.unwrap_or_else(cores) / self.queries).max(1)
    }
}

/// Reads a token from a file.
///
/// # Errors
/// The file can't be read, is empty, or holds less than a token.
pub fn read_token(path: &Path) -> Result<[u8; 32]> {
    let wrong = |what: String| Error::Hosts { path: path.to_path_buf(), what };
    let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("the token can't be read: {e}")))?;
    let help = "palais node --new-token prints one, which all nodes and all who ask them need";
    match text.trim().chars().count() {
        0 => Err(wrong(format!("there is no token in it\n  help: {help}"))),
        // An attacker on the way, or one that a client asks by mistake, can try all short tokens that people think of.
        short @ 1..SHORTEST_TOKEN => Err(wrong(format!(
            "the token has {short} characters, and {SHORTEST_TOKEN} are the fewest\n  help: {help}"
        ))),
        _ => Ok(super::token(&text)),
    }
}

/// The fewest characters of a token.
const SHORTEST_TOKEN: usize = 32;

/// Draws a token: 256 random bits as 64 hexadecimal digits.
///
/// # Errors
/// The system has no random bytes.
pub fn new_token() -> Result<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|e| Error::System(e.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config> {
        let file = std::env::temp_dir().join(format!("palais-node-{}-{}", std::process::id(), text.len()));
        std::fs::write(&file, text).unwrap();
        let read = Config::read(&file);
        std::fs::remove_file(&file).unwrap();
        read
    }

    #[test]
    fn what_is_not_said_is_as_usual() {
        let config = read("token_file = \"t\"\n").unwrap();
        assert_eq!((config.listen.to_string().as_str(), config.queries), ("127.0.0.1:7700", 4));
        assert_eq!(config.nodes, ["127.0.0.1:7700"]);
        assert_eq!(config.ports(), Ports::ANY);
        let config = read("token_file = \"t\"\nports = [7101, 7104]\n").unwrap();
        assert_eq!(config.ports().count(), Some(4));
        let config = read("token_file = \"t\"\nworkers = 9\nqueries = 2\nlisten = \"[::1]:9\"\n").unwrap();
        assert_eq!((config.share_of_workers(), config.nodes), (4, vec!["[::1]:9".to_string()]));
    }

    #[test]
    fn a_node_is_called_as_the_others_call_it() {
        let nodes = "token_file = \"t\"\nlisten = \"0.0.0.0:7700\"\nnodes = ";
        let named = |text: &str, machine| {
            let config = read(&format!("{nodes}{text}")).unwrap();
            config.name(config.listen, machine)
        };
        let pods = "[\"palais-1.palais:7700\", \"palais-10.palais:7700\"]";
        assert_eq!(named(pods, "palais-10"), "palais-10.palais:7700");
        assert_eq!(named(pods, "palais-1"), "palais-1.palais:7700");
        assert_eq!(named("[\"one\", \"two\"]", "two"), "two");
        assert_eq!(named(pods, "three"), "three:7700");
        assert_eq!(named(pods, ""), "0.0.0.0:7700");
        let config = read("token_file = \"t\"\nlisten = \"10.0.0.1:7700\"\nnodes = [\"one\"]").unwrap();
        assert_eq!(config.name(config.listen, "one"), "10.0.0.1:7700");
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, part) in [
            ("", "token_file"),
            ("token_file = \"t\"\nqueries = 0", "1 at least"),
            ("token_file = \"t\"\nlisten = \"here\"", "listen"),
            ("token_file = \"t\"\nport = 1", "port"),
            ("token_file = \"t\"\nports = [9, 1]", "not [9, 1]"),
            ("token_file = \"t\"\nports = [7, 70000]", "70000"),
            ("token_file = \"t\"\nports = [7, 8]", "ports are 2, and queries 4"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let error = read_token(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(error.contains("no token"), "{error}");
    }

    #[test]
    fn short_tokens_are_refused() {
        let file = std::env::temp_dir().join(format!("palais-token-{}", std::process::id()));
        std::fs::write(&file, format!("  {}\n", "ü".repeat(31))).unwrap();
        let error = read_token(&file).unwrap_err().to_string();
        assert!(error.contains("31 characters") && error.contains("--new-token"), "{error}");
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert!(one.len() == 64 && one != other, "{one}");
        std::fs::write(&file, format!("{one}\n")).unwrap();
        assert_eq!(read_token(&file).unwrap(), crate::node::token(&one));
        std::fs::remove_file(file).unwrap();
    }
}
