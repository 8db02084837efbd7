//! A target of this package; [`program`] says which.

#![no_main]

#[path = "../../../formats/fuzz/fuzz_targets/program.rs"]
mod program;
#[path = "../targets/mod.rs"]
mod targets;
