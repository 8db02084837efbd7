//! An interrupt, sent when the process takes it.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// What takes longer counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// The bit of SIGINT in the masks of `/proc/PID/status`.
const INTERRUPT: u64 = 1 << (2 - 1);

/// Sends SIGINT to a `palais` process: before it blocks the signal, to take it in a thread of its own, it would end as
/// any process does.
pub fn interrupt(process: u32) {
    let start = Instant::now();
    while !blocks_interrupts(process) {
        assert!(start.elapsed() < PATIENCE, "process {process} takes interrupts");
        thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill").args(["-INT", &process.to_string()]).status();
    assert!(sent.expect("kill runs").success(), "process {process} is there");
}

fn blocks_interrupts(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|mask| mask & INTERRUPT != 0)
}
