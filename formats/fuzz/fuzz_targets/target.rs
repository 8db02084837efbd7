//! A target of this package; [`program`] says which.

#![no_main]

mod program;
#[path = "../targets/mod.rs"]
mod targets;
