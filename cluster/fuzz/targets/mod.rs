//! What is fuzzed: whatever is read of what another process has sent, each a function that is given any bytes. It panics if
//! they are handled wrongly: if what was read is not valid, or not the same when it is sent on; or if more memory is kept
//! than so few bytes can be worth.
//!
//! - [`rows`]: record batches, also lent ones, the exchange batches in which timely carries them, and the values of subqueries.
//! - [`version_exchange`]: the first that a process tells.
//! - [`messages`]: what processes, nodes and callers tell each other.
//! - [`handshake`]: how they show each other the token.
//! - [`metrics`]: what a node is asked for its metrics.
//!
//! Two programs call them, as those of `formats/fuzz`, with which this package shares its bound on memory.

pub mod handshake;
#[path = "../../../formats/fuzz/targets/memory.rs"]
pub mod memory;
pub mod messages;
pub mod metrics;
pub mod rows;
pub mod version_exchange;

use cluster::message::{Order, Report};
use cluster::{mesh, node, remote};
pub use memory::Target;

/// What a target may keep at once: of a byte there may become a text's view of 16 bytes, and each target keeps some copies of
/// what it reads.
const MOST: isize = 4 << 20;

/// All targets. Each is a `[[bin]]` of the package `fuzz` too, and has a directory in `seeds/`.
pub const TARGETS: &[Target] = &[
    ("rows", rows::batch),
    ("transfer", rows::transfer),
    ("exchange_batch", rows::exchange_batch),
    ("stream", rows::stream),
    ("value", rows::value),
    ("version_exchange", version_exchange::check),
    ("order", messages::check::<Order>),
    ("report", messages::check::<Report>),
    ("note", messages::check::<mesh::Word>),
    ("request", messages::check::<remote::Word>),
    ("result", messages::check::<remote::Response>),
    ("letter", messages::check::<node::Letter>),
    ("ask", messages::check::<node::Ask>),
    ("reply", messages::check::<node::Reply>),
    ("handshake", handshake::check),
    ("metrics", metrics::check),
];

/// Runs a target with its bound on memory.
pub fn run(name: &str, bytes: &[u8]) {
    memory::run(TARGETS, MOST, name, bytes);
}
