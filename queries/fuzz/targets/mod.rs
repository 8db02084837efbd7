//! What is fuzzed: the way from the text of a statement to its plan, and the reader of JSON in texts. It panics if the text is
//! handled wrongly: if planning panics, does not end, keeps more memory or nests more calls than so short a text can be worth,
//! or gives another plan the second time.
//!
//! - [`json`]: what functions of JSON read.
//! - [`plan`]: text to plan, over some tables.
//!
//! Two programs call it, as the targets of `formats/fuzz`, with which this package shares its bound on memory.

pub mod json;
#[path = "../../../formats/fuzz/targets/memory.rs"]
pub mod memory;
pub mod plan;

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

pub use memory::Target;

/// What planning may keep at once: CTEs that are named often make plans that are large for their texts.
const MOST: isize = 512 << 20;

/// The stack that planning has, in bytes. The binary gives it twice as much, and statements that are eight times as long.
const STACK: usize = 256 << 20;

/// How long planning may take before it counts as hanging. The binary gives it 10 seconds; with a sanitizer, beside other
/// targets, it takes as many times as long.
const PATIENCE: Duration = Duration::from_secs(300);

/// All targets. Each is a `[[bin]]` of the package `fuzz` too, and has a directory in `seeds/`.
pub const TARGETS: &[Target] = &[("json", json::check), ("plan", plan::check)];

/// Runs a target with its bounds.
pub fn run(name: &str, bytes: &[u8]) {
    let (name, bytes) = (name.to_string(), bytes.to_vec());
    let (done, ended) = channel();
    let work = move || {
        memory::run(TARGETS, MOST, &name, &bytes);
        // Nobody waits for one that took too long.
        let _ = done.send(());
    };
    let thread = Builder::new().stack_size(STACK).spawn(work).expect("a thread can be started");
    assert!(ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout), "it does not end");
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}
