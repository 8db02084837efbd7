//! The command line of `palais cluster`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args as Flags, Subcommand};

use super::{Convert, Generate, Input, Run};

/// What to do with several processes.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Cluster {
    /// Start processes, run a SQL query in all of them at once, and end them.
    Run(Box<ClusterRun>),
    /// Write the tables of the AMPLab Big Data Benchmark with several processes, each some of the files.
    Generate(Box<ClusterGenerate>),
    /// Write files into a directory of files of another format with several processes, in the order of their rows.
    Convert(Box<ClusterConvert>),
    /// Show what runs on nodes: their versions, queries and memory.
    Status(At),
    /// End a query that runs on nodes.
    Cancel {
        /// The query, as `palais cluster status` shows it.
        query: String,
        /// Where they are.
        #[command(flatten)]
        at: At,
    },
    /// A process of a query, which takes its orders from standard input; started by others.
    #[command(hide = true)]
    Process(Started),
    /// The process that leads a query for a caller; started by a node.
    #[command(hide = true)]
    Lead(Started),
    /// Removes what a process leaves behind that is killed; started by it.
    #[command(hide = true)]
    Cleanup(Cleanup),
}

// What is removed, as [`formats::store::atomic::Remains`] has it.
#[derive(Debug, Flags)]
pub struct Cleanup {
    /// The file or directory.
    pub path: PathBuf,
    /// Directories above it.
    pub parents: Vec<PathBuf>,
}

// Where nodes are.
#[derive(Debug, Flags)]
pub struct At {
    /// The address of any node, with its port if that is not 7700.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7700")]
    pub cluster: String,
    /// The file with the token of the nodes.
    #[arg(long, value_name = "FILE", env = "PALAIS_TOKEN_FILE")]
    pub token_file: PathBuf,
    /// Whether they speak TLS.
    #[command(flatten)]
    pub tls: Tls,
}

// For nodes that speak TLS.
#[derive(Debug, Clone, Flags)]
pub struct Tls {
    /// The file with the certificates that are trusted, in PEM, where the nodes speak TLS.
    #[arg(long, value_name = "FILE", env = "PALAIS_TLS_AUTHORITY")]
    pub tls_authority: Option<PathBuf>,
    /// The name that the certificates of the nodes are for, if not the host of the address.
    #[arg(long, value_name = "NAME", env = "PALAIS_TLS_NAME", requires = "tls_authority")]
    pub tls_name: Option<String>,
}

// What a process is told of the node that started it.
#[derive(Debug, Flags)]
pub struct Started {
    /// The file of the node; none if no node started it.
    #[arg(long, value_name = "FILE")]
    pub node: Option<PathBuf>,
    /// The query.
    #[arg(long, value_name = "ID")]
    pub query: Option<String>,
    /// The process of the node.
    #[arg(long, value_name = "PID")]
    pub parent: Option<u32>,
}

// `palais node`.
#[derive(Debug, Flags)]
pub struct Node {
    /// The file that says where it listens, see docs/cluster.md.
    #[arg(long, value_name = "FILE", required_unless_present = "new_token")]
    pub config: Option<PathBuf>,
    /// Draw a token for nodes, and write it to a file that is not there yet, or print it.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", conflicts_with = "config")]
    pub new_token: Option<PathBuf>,
}

// Where processes are started.
#[derive(Debug, Flags)]
#[command(next_help_heading = "Processes")]
pub struct PlacementFlags {
    /// Start a process on each host that this file names, see docs/cluster.md. --workers, and --memory-limit of a
    /// query, are those of each process.
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Start so many processes on this machine. --workers are those of each, --memory-limit of a query is
    /// shared by all of them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub local: Option<u16>,
    /// End all of them when nothing was heard of one for so many seconds, 2 at least. One has 30 to begin.
    #[arg(long, value_name = "SECONDS", default_value = "8", value_parser = crate::settings::patience)]
    pub timeout: Duration,
}

// Where files are made.
#[derive(Debug, Flags)]
#[command(next_help_heading = "Processes", group = place(&["hosts", "local", "cluster"]))]
pub struct MakeTarget {
    /// Processes that are started here or by ssh.
    #[command(flatten)]
    pub started: PlacementFlags,
    /// Have nodes do it (palais node), of which this is any one. Files are those of the nodes, and relative paths begin
    /// where these say. --workers are those of each node, if fewer than it gives.
    #[arg(long, value_name = "HOST:PORT", requires = "token_file", conflicts_with = "timeout")]
    pub cluster: Option<String>,
    /// The file with the token of the nodes.
    #[arg(long, value_name = "FILE", env = "PALAIS_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// Whether the nodes speak TLS.
    #[command(flatten)]
    pub tls: Tls,
    /// Make what is missing again, up to so many times, when a process is lost; without its host, if there is another one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
}

impl MakeTarget {
    /// Where the nodes are, if they are asked.
    pub fn nodes(&self) -> Option<At> {
        let (cluster, token_file) = self.cluster.clone().zip(self.token_file.clone())?;
        Some(At { cluster, token_file, tls: self.tls.clone() })
    }
}

/// One of these flags says where processes are.
fn place(flags: &'static [&'static str]) -> ArgGroup {
    ArgGroup::new("where").args(flags).required(true)
}

// `palais cluster generate`.
#[derive(Debug, Flags)]
pub struct ClusterGenerate {
    /// What is made.
    #[command(flatten)]
    pub generate: Generate,
    /// Where it is made.
    #[command(flatten)]
    pub place: MakeTarget,
}

// `palais cluster convert`.
#[derive(Debug, Flags)]
pub struct ClusterConvert {
    /// What is converted. The destination is a directory.
    #[command(flatten)]
    pub convert: Convert,
    /// Where it is done.
    #[command(flatten)]
    pub place: MakeTarget,
}

// `palais cluster run`.
#[derive(Debug, Flags)]
#[command(group = place(&["hosts", "local"]))]
pub struct ClusterRun {
    /// The statement; read from standard input if neither this nor --file is given.
    pub sql: Option<String>,
    /// Read the statement from a file.
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with = "sql")]
    pub file: Option<PathBuf>,
    /// Where it runs.
    #[command(flatten)]
    pub place: PlacementFlags,
    /// Each host has files of its own at the places of a table, which is all of them together.
    #[arg(long, conflicts_with = "local")]
    pub local_parts: bool,
    /// Run the query again, up to so many times, when a process is lost and no row was printed. It runs without that
    /// process's host, if there is another one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Have processes of one machine send rows over sockets, as those of several do, and not read them in each other's
    /// memory.
    #[arg(long)]
    pub sockets_only: bool,
    /// Tables and how to read them.
    #[command(flatten)]
    pub input: Input,
    /// How to run.
    #[command(flatten)]
    pub run: Run,
}
