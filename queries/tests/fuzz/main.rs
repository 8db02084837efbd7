//! The target of this package, without a fuzzer; [`runner`] says how.

#[path = "../../../formats/tests/fuzz/change.rs"]
mod change;
#[path = "../../../formats/tests/fuzz/runner.rs"]
mod runner;
mod samples;
#[path = "../../fuzz/targets/mod.rs"]
mod targets;
