//! Fuzzing without a fuzzer: each target of a package's `fuzz/targets` is given the files of `fuzz/seeds`, and then some
//! seconds of bytes that were made of these.
//!
//! `FUZZ_SECONDS` says how many seconds each target has (1), `FUZZ_TARGET` names one target, `FUZZ_SEED` is a number
//! from which other changes follow. The same numbers try the same bytes, as many of them as there is time for. What was
//! wrong is left in a file which the message names: put it into the target's directory of `fuzz/seeds` and mend the code.
//! `make fuzz` runs the same targets under `cargo fuzz`, which finds more.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::change::Changes;
use crate::samples;
use crate::targets::memory::Counting;
use crate::targets::{TARGETS, run};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The stack of a thread, in bytes, as in the program.
const STACK: usize = 64 << 20;

fn seeds_of(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target)
}

/// The kept files of a target with their names, in the order of these.
fn kept(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(seeds_of(target))
        .into_iter()
        .flatten()
        .map(|entry| {
            let path = entry.expect("the directory can be listed").path();
            let bytes = std::fs::read(&path).expect("the file can be read");
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    files.sort();
    files
}

thread_local! {
    static TRYING: Cell<bool> = const { Cell::new(false) };
}

/// Calls a target; what it panics with, if it does.
fn attempt(target: &str, bytes: &[u8]) -> Result<(), String> {
    TRYING.set(true);
    let tried = catch_unwind(AssertUnwindSafe(|| run(target, bytes)));
    TRYING.set(false);
    tried.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    })
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Changes bytes until the time is over; the number of attempts, or what was found.
fn search(target: &str, seconds: u64, seed: u64) -> Result<u64, String> {
    let files: Vec<Vec<u8>> = kept(target).into_iter().map(|(_, bytes)| bytes).collect();
    let mut changes = Changes::new(target, seed, &files);
    let start = Instant::now();
    let mut attempts = 0;
    while start.elapsed() < Duration::from_secs(seconds) {
        let bytes = changes.next();
        if let Err(panic) = attempt(target, &bytes) {
            let path = std::env::temp_dir().join(format!("fuzz-{target}-{seed}-{attempts}"));
            std::fs::write(&path, &bytes).expect("a temporary file can be written");
            return Err(format!("{target}: {panic}\n  the bytes are in {}", path.display()));
        }
        attempts += 1;
    }
    Ok(attempts)
}

/// Panics that the code turns into errors, and those that are reported at the end, are not printed one by one.
fn quiet() {
    std::panic::set_hook(Box::new(|info| {
        if !TRYING.get() {
            eprintln!("{info}");
        }
    }));
}

fn is_chosen(target: &str) -> bool {
    std::env::var("FUZZ_TARGET").is_ok_and(|name| name == target) || std::env::var("FUZZ_TARGET").is_err()
}

#[test]
fn kept_files_and_changes_to_them() {
    quiet();
    let thread = Builder::new().stack_size(STACK).spawn(try_all).expect("a thread can be started");
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

fn try_all() {
    let mut wrong = Vec::new();
    for (target, _) in TARGETS.iter().filter(|(target, _)| is_chosen(target)) {
        let files = kept(target);
        assert!(!files.is_empty(), "{target} has no seeds");
        for (name, bytes) in files {
            wrong.extend(attempt(target, &bytes).err().map(|panic| format!("{target}/{name}: {panic}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let (seconds, seed) = (number("FUZZ_SECONDS", 1), number("FUZZ_SEED", 0));
    let queue = Mutex::new(TARGETS.iter().map(|(target, _)| *target).filter(|target| is_chosen(target)));
    let next = || queue.lock().ok()?.next();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let found: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut found = Vec::new();
            while let Some(target) = next() {
                match search(target, seconds, seed) {
                    Ok(attempts) => println!("{target}: {attempts} attempts"),
                    Err(panic) => found.push(panic),
                }
            }
            found
        };
        let start =
            |work| Builder::new().stack_size(STACK).spawn_scoped(scope, work).expect("it can be started");
        let threads: Vec<_> = (0..threads).map(|_| start(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("panics are caught")).collect()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_target_is_a_program_of_cargo_fuzz() {
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/Cargo.toml"));
    let manifest = manifest.expect("the package has it");
    for (target, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{target}\"\n")), "{target}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
}

/// Writes the samples into `fuzz/seeds`, beside what lies there: of all targets, or of `FUZZ_TARGET`.
#[test]
#[ignore = "writes into the source tree"]
fn write_samples() {
    let only = std::env::var("FUZZ_TARGET").ok();
    for (target, _) in TARGETS.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        let directory = seeds_of(target);
        std::fs::create_dir_all(&directory).expect("the source tree can be written");
        for (number, bytes) in samples::files(target).iter().enumerate() {
            std::fs::write(directory.join(format!("sample-{number}")), bytes).expect("it can be written");
        }
    }
}
