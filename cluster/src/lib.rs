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
//! - [`remote`]: who has a query run by nodes, and the process there that leads it.
//! - `lobby`: those who have connected and not shown yet that they belong to it.
//! - [`handshake`]: how the two ends of a socket show each other that they belong to the same run of the same query.
//! - [`ports`]: where a process may listen.
//! - [`socket`] and [`tls`]: what a connection is, with TLS or without.
//! - `ending`: how a started process ended, and the last that it wrote.
//! - `brief`: texts of a length that logs can hold.
//! - [`error`]: what can go wrong.

mod brief;
pub mod coordinator;
mod ending;
pub mod error;
pub mod handshake;
pub mod hosts;
mod lobby;
pub mod locality;
pub mod mesh;
pub mod message;
pub mod node;
pub mod ports;
pub mod remote;
pub mod socket;
pub mod tls;
pub mod version_exchange;
pub mod worker;

pub use coordinator::Cluster;
pub use error::{Error, Result};

/// Locks; whoever panicked with the lock has changed nothing by halves.
fn locked<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
