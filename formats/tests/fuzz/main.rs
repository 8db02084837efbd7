//! The targets of this package, without a fuzzer; [`runner`] says how.

mod change;
mod runner;
mod samples;
#[path = "../../fuzz/targets/mod.rs"]
mod targets;
