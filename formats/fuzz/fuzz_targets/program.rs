//! One target, the one that this program is called after.

use libfuzzer_sys::fuzz_target;

use super::targets;
use super::targets::memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(init: {
    // libFuzzer ends at any panic, those too that are caught and become errors.
    std::panic::set_hook(Box::new(|info| {
        if !formats::panics::is_caught(info) {
            eprintln!("{info}");
            std::process::abort();
        }
    }));
}, |bytes: &[u8]| targets::run(env!("CARGO_BIN_NAME"), bytes));
