//! The file that names the hosts of a cluster.
//!
//! ```toml
//! workers = 4                      # of each process; the fewest cores of a host if not given
//! binary = "/usr/local/bin/palais" # on the hosts; this one's path if not given
//! directory = "/data"              # where relative paths begin
//! ports = [7400, 7499]             # of which processes take theirs; any free one if not given
//! local_parts = true               # each host has files of its own; false if not given
//! ssh_options = ["-i", "key"]      # for all hosts with ssh
//! compression = "lz4"              # of what processes send each other: lz4, none, or auto, as if not given
//! sockets_only = true              # processes of one machine do not read rows in each other's memory; false if not given
//!
//! [tls]                            # connections between the processes are encrypted, with files of each host
//! certificate = "/etc/palais/node.pem"
//! key = "/etc/palais/node.key"
//! authority = "/etc/palais/authority.pem"
//! name = "palais"                  # what all certificates are for; the address of each host if not given
//!
//! [[host]]
//! address = "10.0.0.1"             # where the other hosts reach it: an IP address or a name
//! ssh = "me@one"                   # how it is reached from here; without it the process is one of this machine
//!
//! [[host]]
//! address = "10.0.0.2"
//! name = "two"                     # in messages; the target of ssh or the address if not given
//! port = 7400                      # this one, and no other
//! launch = ["ip", "netns", "exec", "two"]  # another way to start a process: this command, with palais behind it
//! ```
//! `binary`, `directory`, `ports`, `ssh_options` and `tls` may stand with a host too.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::compression::Compression;
use crate::coordinator::{Host, Launch};
use crate::error::{Error, Result};
use crate::ports::Ports;
use crate::tls::Files;

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Workers of each process.
    pub workers: Option<usize>,
    /// Whether each host has files of its own.
    #[serde(default)]
    pub local_parts: bool,
    binary: Option<PathBuf>,
    directory: Option<PathBuf>,
    ports: Option<[u16; 2]>,
    #[serde(default)]
    ssh_options: Vec<String>,
    tls: Option<Files>,
    /// How bytes that processes send each other are compressed.
    #[serde(default)]
    pub compression: Compression,
    /// Whether processes of one machine do not read rows in each other's memory.
    #[serde(default)]
    pub sockets_only: bool,
    #[serde(default, rename = "host")]
    hosts: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    address: String,
    name: Option<String>,
    port: Option<u16>,
    ports: Option<[u16; 2]>,
    ssh: Option<String>,
    launch: Option<Vec<String>>,
    binary: Option<PathBuf>,
    directory: Option<PathBuf>,
    #[serde(default)]
    ssh_options: Vec<String>,
    tls: Option<Files>,
}

/// The seconds that ssh may take to reach a host.
const CONNECT: &str = "ConnectTimeout=5";

impl Hosts {
    /// Reads the file.
    ///
    /// # Errors
    /// The file can't be read, or says something that it may not.
    pub fn read(path: &Path) -> Result<Hosts> {
        let wrong = |what: String| Error::Hosts { path: path.to_path_buf(), what };
        let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("it can't be read: {e}")))?;
        let hosts: Hosts = toml::from_str(&text).map_err(|e| wrong(e.to_string().trim_end().to_string()))?;
        if hosts.hosts.is_empty() {
            return Err(wrong(
                "it names no host\n  help: [[host]] with address = \"10.0.0.1\" is one".into(),
            ));
        }
        if hosts.workers == Some(0) {
            return Err(wrong("workers are 1 at least".into()));
        }
        for entry in &hosts.hosts {
            if entry.ssh.is_some() && entry.launch.is_some() {
                return Err(wrong(format!("{} has both ssh and launch", entry.name())));
            }
            if entry.port.is_some() && entry.ports.is_some() {
                return Err(wrong(format!("{} has both port and ports", entry.name())));
            }
            hosts.ports(entry).map_err(wrong)?;
            if entry.launch.as_ref().is_some_and(Vec::is_empty) {
                return Err(wrong(format!("{} has an empty launch", entry.name())));
            }
        }
        Ok(hosts)
    }

    /// The processes that the file names, and what starts them. `program` is the path of this binary.
    ///
    /// # Errors
    /// A host has an address that is not known.
    pub fn processes(&self, program: &Path) -> Result<Vec<Host>> {
        let here = self.hosts.iter().filter(|entry| entry.ssh.is_none()).count();
        self.hosts.iter().map(|entry| self.process(entry, program, here)).collect()
    }

    /// The ports of which the process of a host takes one.
    fn ports(&self, entry: &Entry) -> Result<Ports, String> {
        match (entry.port, entry.ports.or(self.ports)) {
            (Some(port), _) => Ok(Ports::one(port)),
            (None, Some(ports)) => Ports::range(ports),
            (None, None) => Ok(Ports::ANY),
        }
    }

    fn process(&self, entry: &Entry, program: &Path, here: usize) -> Result<Host> {
        let binary = entry.binary.as_deref().or(self.binary.as_deref()).unwrap_or(program);
        let command = match (&entry.ssh, &entry.launch) {
            (Some(target), _) => {
                let mut command = Command::new("ssh");
                command.args(["-T", "-o", "BatchMode=yes", "-o", CONNECT]);
                command.args(&self.ssh_options).args(&entry.ssh_options).arg("--").arg(target);
                command.arg(format!("exec {} cluster process", quoted(&binary.to_string_lossy())));
                command
            }
            (None, Some(launch)) => {
                let mut command = Command::new(&launch[0]);
                command.args(&launch[1..]).arg(binary).args(["cluster", "process"]);
                command
            }
            (None, None) => {
                let mut command = Command::new(binary);
                command.args(["cluster", "process"]);
                command
            }
        };
        Ok(Host {
            name: entry.name().to_string(),
            address: address(entry)?,
            ports: self.ports(entry).unwrap_or_default(),
            directory: entry.directory.clone().or_else(|| self.directory.clone()),
            sharing: if entry.ssh.is_some() { 1 } else { here },
            far: entry.ssh.is_some(),
            tls: entry.tls.clone().or_else(|| self.tls.clone()),
            launch: Launch::Command(command),
        })
    }
}

impl Entry {
    fn name(&self) -> &str {
        self.name.as_deref().or(self.ssh.as_deref()).unwrap_or(&self.address)
    }
}

fn address(entry: &Entry) -> Result<IpAddr> {
    let known = (entry.address.as_str(), 0).to_socket_addrs();
    let first = known.ok().and_then(|mut known| known.next());
    first
        .map(|address| address.ip())
        .ok_or_else(|| Error::Address { host: entry.name().to_string(), address: entry.address.clone() })
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Hosts> {
        let file = std::env::temp_dir().join(format!("palais-hosts-{}-{}", std::process::id(), text.len()));
        std::fs::write(&file, text).unwrap();
        let read = Hosts::read(&file);
        std::fs::remove_file(&file).unwrap();
        read
    }

    fn words(host: &Host) -> Vec<String> {
        let Launch::Command(command) = &host.launch else { panic!("a file names no nodes") };
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn hosts_are_reached_by_ssh_by_a_command_or_are_here() {
        let hosts = read(
            "workers = 3\nbinary = \"/opt/it's/palais\"\nssh_options = [\"-p\", \"22\"]\ndirectory = \"/data\"\n\
             [[host]]\naddress = \"10.0.0.1\"\nssh = \"me@one\"\nssh_options = [\"-v\"]\n\
             [[host]]\naddress = \"::1\"\nname = \"two\"\nport = 7\nlaunch = [\"nice\", \"-n\", \"5\"]\n\
             [[host]]\naddress = \"localhost\"\nbinary = \"/here/palais\"\ndirectory = \"/tmp\"\n\
             ports = [8, 9]\n",
        )
        .unwrap();
        assert_eq!(hosts.workers, Some(3));
        let made = hosts.processes(Path::new("/usr/bin/palais")).unwrap();
        let names: Vec<&str> = made.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["me@one", "two", "localhost"]);
        let ssh = words(&made[0]);
        assert_eq!(ssh[..3], ["ssh", "-T", "-o"]);
        let rest = ["-p", "22", "-v", "--", "me@one", r"exec '/opt/it'\''s/palais' cluster process"];
        assert_eq!(ssh[ssh.len() - 6..], rest);
        let nice = ["nice", "-n", "5", "/opt/it's/palais", "cluster", "process"];
        assert_eq!(words(&made[1]), nice);
        assert_eq!(words(&made[2]), ["/here/palais", "cluster", "process"]);
        assert_eq!(made.iter().map(|host| host.sharing).collect::<Vec<_>>(), [1, 2, 2]);
        let ports = [Ports::ANY, Ports::one(7), Ports::range([8, 9]).unwrap()];
        assert_eq!(made.iter().map(|host| host.ports).collect::<Vec<_>>(), ports);
        assert!(made[2].address.is_loopback() && made[0].far && !made[1].far);
        assert_eq!(made[2].directory.as_deref(), Some(Path::new("/tmp")));
    }

    #[test]
    fn what_is_wrong_is_told_with_the_file() {
        for (text, part) in [
            ("", "names no host"),
            ("[[host]]\n", "address"),
            ("[[host]]\naddress = \"::1\"\nssl = 1\n", "ssl"),
            ("workers = 0\n[[host]]\naddress = \"::1\"\n", "1 at least"),
            ("[[host]]\naddress = \"::1\"\nssh = \"a\"\nlaunch = [\"b\"]\n", "both ssh and launch"),
            ("[[host]]\naddress = \"::1\"\nlaunch = []\n", "empty launch"),
            ("[[host]]\naddress = \"::1\"\nport = 1\nports = [1, 2]\n", "both port and ports"),
            ("ports = [2, 1]\n[[host]]\naddress = \"::1\"\n", "not [2, 1]"),
            ("[[host\n", "line 1"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("palais-hosts-"), "{text}: {error}");
        }
        let hosts = read("[[host]]\naddress = \"no host.invalid\"\n").unwrap();
        let error = hosts.processes(Path::new("p")).err().map(|e| e.to_string());
        assert!(error.is_some_and(|error| error.contains("no host.invalid")));
    }
}
