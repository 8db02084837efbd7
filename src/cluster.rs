//! `palais cluster` and `palais node`: statements and files that several processes compute.
//!
//! - `lead`: the process of a node that leads a request of a caller.
//! - `make`: files that several processes make without a query.
//! - [`node`]: the daemon of a host, and commands that ask it.

mod lead;
mod make;
pub mod node;

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use anyhow::Context;
use cluster::message::Failure;
use cluster::process::{Process, Started};
use cluster::program::Program;
use formats::store::atomic::Remains;

use crate::args;
use crate::placement::VERSION;
use crate::{query, say, signals};

/// `palais cluster`.
pub fn run(c: &args::Cluster) -> anyhow::Result<()> {
    signals::sweep_up();
    match c {
        args::Cluster::Run(c) => query::run_among(c),
        args::Cluster::Generate(c) => make::generate(c),
        args::Cluster::Convert(c) => make::convert(c),
        args::Cluster::Status(at) => node::status(at),
        args::Cluster::Cancel { query, at } => node::cancel(at, query),
        args::Cluster::Process(started) => {
            signals::end_with_parent(started.parent);
            if started.node.is_some() {
                say::to_node();
            }
            signals::tell_failures_by(|message, code| {
                cluster::worker::report_failure(failure_of(&message, code))
            });
            let program = Program { version: VERSION, failure, end: signals::end };
            let of_node = Started { node: started.node.clone(), query: started.query.clone() };
            let process = Process::of(&of_node, program)?;
            let (orders, reports) = streams().context("cannot take the standard streams")?;
            cluster::worker::serve(orders, reports, &Arc::new(process))
        }
        args::Cluster::Lead(started) => lead::lead(started),
        args::Cluster::Cleanup(args::Cleanup { path, parents }) => {
            let remains = Remains { path: path.clone(), parents: parents.clone() };
            formats::store::atomic::sweep(std::io::stdin(), remains);
            Ok(())
        }
    }
}

/// Takes the standard input and output of a process, which carry orders and reports. Other code that reads the standard
/// input then finds nothing, and what it writes to standard output goes to standard error.
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

/// An error as a message to another process.
fn failure(e: &(dyn std::error::Error + 'static)) -> Failure {
    let (message, code) = crate::describe(e);
    failure_of(&message, code)
}

/// As [`failure`], of a message of the program.
fn failure_of(message: &str, code: u8) -> Failure {
    Failure { message: message.strip_prefix("error: ").unwrap_or(message).to_string(), code }
}
