//! Nodes on this machine, each a daemon at an address of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::cells::csv_rows;
use super::process::{Finished, palais};
use super::several::text;

/// A query that takes long in each process.
pub const LONG: &str = "SELECT count(*), sum(a.range % 7) FROM range(0, 200000000000) a";

/// What all nodes and callers have.
pub const TOKEN: &str = "a text that all have, and long enough";

/// What takes longer counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// Some nodes, each at an address of its own.
pub struct Nodes {
    pub home: tempfile::TempDir,
    pub addresses: Vec<String>,
    /// What callers say besides.
    pub flags: Vec<String>,
    daemons: Vec<Option<Child>>,
    /// What daemons are started with.
    before: Vec<String>,
}

impl Nodes {
    /// So many; `more` stands in their files.
    pub fn start(nodes: u8, more: &str) -> Nodes {
        Nodes::start_with(&[], nodes, more)
    }

    /// So many, which the command `before` starts, if there is one.
    pub fn start_with(before: &[&str], nodes: u8, more: &str) -> Nodes {
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        fs::write(home.path().join("token"), format!("{TOKEN}\n")).expect("it can be written");
        let free = |node: u8| {
            let listener = TcpListener::bind((std::net::Ipv4Addr::new(127, 0, 0, 10 + node), 0))
                .expect("loopback has many addresses");
            listener.local_addr().expect("it is bound").to_string()
        };
        let addresses: Vec<String> = (0..nodes).map(free).collect();
        let daemons = (0..nodes).map(|_| None).collect();
        let before = before.iter().map(ToString::to_string).collect();
        let mut made = Nodes { home, addresses, flags: Vec::new(), daemons, before };
        for node in 0..made.addresses.len() {
            let config = format!(
                "listen = \"{}\"\ntoken_file = \"{}\"\nnodes = {:?}\nworkers = 2\n{more}\n",
                made.addresses[node],
                made.path("token").display(),
                made.addresses
            );
            fs::write(made.path(&format!("node-{node}.toml")), config).expect("it can be written");
            made.begin(node);
        }
        made
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Starts a daemon, and waits until it listens.
    pub fn begin(&mut self, node: usize) {
        let log = fs::File::create(self.path(&format!("log-{node}"))).expect("it can be made");
        let mut words = self.before.clone();
        words.push(env!("CARGO_BIN_EXE_palais").to_string());
        let daemon = Command::new(&words[0])
            .args(&words[1..])
            .args(["node", "--config", text(&self.path(&format!("node-{node}.toml")))])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.daemons[node] = Some(daemon.expect("palais starts"));
        wait_for("a node listens", || TcpStream::connect(&self.addresses[node]).is_ok());
    }

    pub fn kill(&mut self, node: usize) {
        let mut daemon = self.daemons[node].take().expect("it runs");
        daemon.kill().and_then(|()| daemon.wait()).expect("it can be killed");
    }

    /// What `palais query` needs to ask a node.
    pub fn at(&self, node: usize) -> Vec<String> {
        let token = text(&self.path("token")).to_string();
        let at = ["--cluster".into(), self.addresses[node].clone(), "--token-file".into(), token];
        [&at, &self.flags[..]].concat()
    }

    pub fn query(&self, node: usize, arguments: &[&str]) -> Finished {
        self.ask(node, &["query"], arguments)
    }

    /// Runs a command that asks a node.
    pub fn ask(&self, node: usize, command: &[&str], arguments: &[&str]) -> Finished {
        let at = self.at(node);
        let at: Vec<&str> = at.iter().map(String::as_str).collect();
        palais([command, &at[..], arguments].concat())
    }

    pub fn succeed(&self, node: usize, arguments: &[&str]) -> Finished {
        let done = self.query(node, arguments);
        assert_eq!(done.code(), Some(0), "{arguments:?} {}: {}", done.ending(), done.stderr);
        done
    }

    /// A query that somebody waits for.
    pub fn spawn(&self, node: usize, sql: &str) -> Waiting {
        self.wait_for_command(node, &["query"], &[sql])
    }

    /// A command that asks a node, for which somebody waits.
    pub fn wait_for_command(&self, node: usize, command: &[&str], arguments: &[&str]) -> Waiting {
        let out = tempfile::NamedTempFile::new_in(self.home.path()).expect("a temporary file can be made");
        let err = out.as_file().try_clone().expect("a file can be shared");
        let child = Command::new(env!("CARGO_BIN_EXE_palais"))
            .args(command)
            .args(self.at(node))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(out.as_file().try_clone().expect("a file can be shared"))
            .stderr(err)
            .spawn();
        Waiting { child: child.expect("palais starts"), out }
    }

    /// The rows of `palais cluster status`.
    pub fn status(&self) -> Vec<Vec<Option<String>>> {
        let done = self.ask(0, &["cluster", "status"], &[]);
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        let mut rows = csv_rows(&done.stdout).expect("palais writes csv").split_off(1);
        rows.sort();
        rows
    }

    /// The processes of queries: node, state and query.
    pub fn running(&self) -> Vec<(String, String, String)> {
        let rows = self.status().into_iter();
        let running = rows.filter_map(|row| Some((row[0].clone()?, row[1].clone()?, row[3].clone()?)));
        running.collect()
    }

    /// Waits until so many processes read rows.
    pub fn wait_for(&self, processes: usize) {
        wait_for("processes run", || {
            self.running().iter().filter(|(_, state, _)| state == "runs").count() == processes
        });
    }

    /// Waits until no query is listed. One is while its processes end, also when its caller has the answer already.
    pub fn wait_until_idle(&self) {
        wait_for("nothing runs", || self.running().is_empty());
    }

    /// The processes that a node has started, by their part.
    pub fn children(&self, node: usize, part: &str) -> Vec<u32> {
        let config = self.path(&format!("node-{node}.toml"));
        let entries = fs::read_dir("/proc").expect("the system has /proc").flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_one = |id: &u32| {
            let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            words.contains(&format!("\0cluster\0{part}\0")) && words.contains(text(&config))
        };
        ids.filter(is_one).collect()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().flatten() {
            if !self.before.is_empty() {
                // What was started by another command would go on without it.
                let _ = Command::new("pkill").args(["-KILL", "-P", &daemon.id().to_string()]).status();
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// A caller that waits.
pub struct Waiting {
    pub child: Child,
    out: tempfile::NamedTempFile,
}

impl Waiting {
    /// Its exit code and all that it wrote, once it has ended.
    pub fn finish(mut self) -> (Option<i32>, String) {
        let mut code = None;
        wait_for("the caller ends", || {
            code = self.child.try_wait().expect("a child can be waited for").map(|status| status.code());
            code.is_some()
        });
        (code.flatten(), fs::read_to_string(self.out.path()).expect("it can be read"))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub fn signal(process: u32, name: &str) {
    let _ = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
}
