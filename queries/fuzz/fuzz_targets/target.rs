//! One target of this package, the one that this program is called after.

#![no_main]

#[path = "../targets/mod.rs"]
mod targets;

use libfuzzer_sys::fuzz_target;
use targets::memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| targets::run(env!("CARGO_BIN_NAME"), bytes));
