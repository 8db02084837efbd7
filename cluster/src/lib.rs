//! Many processes as one. Each process runs its part of a query on timely dataflow. The coordinator that started the
//! processes ends all of them, whatever happens to one.
//!
//! - [`version_exchange`]: the first line of a process, which is the same in all versions.
//! - [`message`]: what the coordinator and a process tell each other, over the process's standard input and output.
//! - [`hosts`]: the file that says where processes are started.
//! - [`coordinator`]: starts processes, has them run queries, notices when one is lost.
//! - [`worker`]: serves the coordinator in a process: plans, connects to the other processes, runs.
//! - [`mesh`]: the sockets between processes: one for timely's channels and one for notes, for each pair.
//! - [`compression`]: whether they compress what they send each other.
//! - [`locality`]: processes of one machine, which read rows in each other's memory.
//! - [`node`]: the daemon of a host, which starts processes for others.
//! - [`remote`]: the connection between a caller and the process of a node that leads a query for it.
//! - [`query`]: what processes and nodes are told of a query; `decode`: turns it into bytes and back.
//! - [`processes`] and [`nodes`]: several processes, and nodes, as the runner of a session.
//! - [`process`]: looks at tables, plans and writes in a process; [`program`]: what the program does for its process.
//! - [`leader`]: what nodes are asked for, and the process of a node that leads it.
//! - [`making`]: files that several processes make without a query.
//! - [`retry`]: runs something again when a process is lost.
//! - `lobby`: clients that have connected and have not shown the token yet.
//! - [`handshake`]: how the two ends of a socket show each other that they belong to the same run of the same query.
//! - [`ports`]: where a process may listen.
//! - [`socket`] and [`tls`]: what a connection is, with TLS or without.
//! - `ending`: how a started process ended, and the last lines that it wrote.
//! - `brief`: cuts texts to a length that logs can hold.
//! - [`error`]: what can go wrong.

mod brief;
pub mod compression;
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
pub use ending::LINE_BREAK;
pub use error::{Error, Result};
pub use nodes::Nodes;
pub use processes::Processes;

/// Locks a mutex, also after a panic: no thread leaves half a change behind while it holds a lock.
fn locked<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
