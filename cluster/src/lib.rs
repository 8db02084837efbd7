//! Many processes as one: each runs its part of a query on timely dataflow, and whoever started them sees to it that all
//! of them end, whatever happens to one.
//!
//! - [`version_exchange`]: the first that a process tells, in all versions.
//! - [`message`]: what the starter and a process tell each other, over the process's standard input and output.
//! - [`hosts`]: the file that says where processes are started.
//! - [`coordinator`]: the starter: launches processes, has them run queries, notices when one is lost.
//! - [`worker`]: a process: plans, connects to the others, runs.
//! - [`mesh`]: the sockets between processes: one for timely's channels and one for notes, for each pair.
//! - [`locality`]: processes of one machine, which read rows in each other's memory.
//! - [`node`]: the daemon of a host, which starts processes for others.
//! - [`remote`]: the connection between a caller and the process of a node that leads a query for it.
//! - [`query`]: what processes and nodes are told of a query; `decode`: as bytes.
//! - [`processes`] and [`nodes`]: several processes, and nodes, as the runner of a session.
//! - [`process`]: a process of a query: looks at tables, plans, writes; [`program`]: what its program does for it.
//! - [`leader`]: what nodes are asked for, and the process of a node that leads it.
//! - [`making`]: files that several processes make without a query.
//! - [`retry`]: what is done again when a process is lost.
//! - `lobby`: those who have connected and not shown yet that they belong to it.
//! - [`handshake`]: how the two ends of a socket show each other that they belong to the same run of the same query.
//! - [`ports`]: where a process may listen.
//! - [`socket`] and [`tls`]: what a connection is, with TLS or without.
//! - `ending`: how a started process ended, and the last that it wrote.
//! - `brief`: texts of a length that logs can hold.
//! - [`error`]: what can go wrong.

mod brief;
pub mod coordinator;
mod decode;
mod ending;
pub mod error;
pub mod handshake;
pub mod hosts;
pub mod leader;
mod lobby;
pub mod locality;
pub mod making;
pub mod mesh;
pub mod message;
pub mod node;
pub mod nodes;
#[cfg(test)]
mod payloads;
pub mod ports;
pub mod process;
pub mod processes;
pub mod program;
pub mod query;
pub mod remote;
pub mod retry;
pub mod socket;
pub mod tls;
pub mod version_exchange;
pub mod worker;

pub use coordinator::Cluster;
pub use error::{Error, Result};
pub use nodes::Nodes;
pub use processes::Processes;

/// Locks; whoever panicked with the lock has changed nothing by halves.
fn locked<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
