//! The command line of `palais cluster`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as Flags, Subcommand};

use super::{Input, Run};

/// What to do with several processes.
#[derive(Debug, Subcommand)]
pub enum Cluster {
    /// Start processes, run a SQL query in all of them at once, and end them.
    Run(Box<ClusterRun>),
    /// A process of a query, which takes its orders from standard input; started by others.
    #[command(hide = true)]
    Process,
}

/// `palais cluster run`.
#[derive(Debug, Flags)]
pub struct ClusterRun {
    /// The statement; read from standard input if neither this nor --file is given.
    pub sql: Option<String>,
    /// Read the statement from a file.
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with = "sql")]
    pub file: Option<PathBuf>,
    /// Start a process on each host that this file names, see docs/cluster.md. --workers and --memory-limit are those of
    /// each process.
    #[arg(long, value_name = "FILE", required_unless_present = "local", conflicts_with = "local")]
    pub hosts: Option<PathBuf>,
    /// Start so many processes on this machine. --workers are those of each, --memory-limit is shared by all of them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub local: Option<u16>,
    /// End the query when nothing was heard of a process for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "8", value_parser = crate::settings::seconds)]
    pub timeout: Duration,
    /// Tables and how to read them.
    #[command(flatten)]
    pub input: Input,
    /// How to run.
    #[command(flatten)]
    pub run: Run,
}
