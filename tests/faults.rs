//! Disks that are full or can't be written: one message, exit code 1, and nothing left behind, however rows are written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use disk::Disk;
use process::{Finished, palais, run};

#[path = "support/disk.rs"]
mod disk;
#[path = "support/process.rs"]
mod process;

/// The names in a directory, hidden ones included.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    entries.map(|e| e.expect("it can be listed").file_name().to_string_lossy().into_owned()).collect()
}

/// A csv file of some 10 MB.
fn source(home: &Path) -> PathBuf {
    let path = home.join("source.csv");
    let sql = format!(
        "COPY (SELECT range AS a, md5(CAST(range AS VARCHAR)) AS b FROM range(250000)) TO '{}'",
        path.display()
    );
    let done = palais(["query", &sql]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    path
}

/// Everything that writes, into a directory: the arguments of the command, and the name of what it writes.
fn writers(source: &Path, into: &Path) -> Vec<(Vec<String>, &'static str)> {
    let path = |name: &str| into.join(name).display().to_string();
    let text = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let rows = "SELECT range AS a, range * 7 AS b, md5(CAST(range AS VARCHAR)) AS c FROM range(250000)";
    let mut all = Vec::new();
    for name in ["o.csv", "o.csv.gz", "o.jsonl", "o.json", "o.md", "o.parquet", "o.arrow", "o.buren"] {
        all.push((text(&["query", rows, "--output", &path(name)]), name));
    }
    for (target, options, name) in [
        ("c.csv", "", "c.csv"),
        ("c.parquet", "", "c.parquet"),
        ("d/", "(FORMAT parquet)", "d"),
        ("e/", "(FORMAT csv, FILE_SIZE_BYTES 400000)", "e"),
    ] {
        for order in ["", "ORDER BY a DESC"] {
            let sql = format!("COPY ({rows} {order}) TO '{}' {options}", path(target));
            all.push((text(&["query", &sql, "--workers", "2"]), name));
        }
    }
    let source = source.display().to_string();
    all.push((text(&["convert", &source, &path("v.parquet")]), "v.parquet"));
    all.push((text(&["convert", &source, &path("w"), "--to", "csv"]), "w"));
    all.push((text(&["convert", &source, &path("new/er/x.parquet")]), "new"));
    all.push((text(&["generate", &path("g"), "--rankings", "100000"]), "g"));
    all
}

/// Asserts one message that names the file and the cause once.
fn told(done: &Finished, arguments: &[String], name: &str, cause: &str) {
    assert_eq!(done.code(), Some(1), "{arguments:?} {} {}", done.ending(), done.stderr);
    assert_eq!(done.stdout, "", "{arguments:?}");
    assert_eq!(done.stderr.matches("error:").count(), 1, "{}", done.stderr);
    assert_eq!(done.stderr.matches(cause).count(), 1, "{arguments:?}: {}", done.stderr);
    assert!(done.stderr.contains(name), "{name} is not in: {}", done.stderr);
}

#[test]
fn a_full_disk_is_an_error_and_nothing_is_left() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let Some(disk) = Disk::small() else { return };
    for (arguments, name) in writers(&source(home.path()), disk.path()) {
        let done = palais(&arguments);
        told(&done, &arguments, name, "No space left on device");
        let left = names(disk.path());
        assert!(left.is_empty(), "{arguments:?} left {left:?}");
    }
}

#[test]
fn a_read_only_disk_is_an_error() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let Some(disk) = Disk::small() else { return };
    disk.remount("ro");
    for (arguments, name) in writers(&source(home.path()), disk.path()) {
        told(&palais(&arguments), &arguments, name, "Read-only file system");
    }
}

#[test]
fn a_device_that_is_full_is_an_error() {
    for arguments in [
        &["query", "SELECT range FROM range(100000)", "--output", "/dev/full", "--format", "csv"][..],
        &["query", "SELECT range FROM range(100000)", "--output", "/dev/full", "--format", "json"],
        &["query", "COPY (SELECT range FROM range(100000)) TO '/dev/full' (FORMAT parquet)"],
        &["query", "SELECT 1", "--stats", "/dev/full"],
    ] {
        let done = palais(arguments);
        assert_eq!(done.code(), Some(1), "{arguments:?} {}", done.ending());
        assert_eq!(done.stderr.matches("No space left on device").count(), 1, "{}", done.stderr);
        assert!(done.stderr.contains("/dev/full"), "{}", done.stderr);
    }
    for format in ["csv", "json", "parquet", "table", "markdown"] {
        let program = env!("CARGO_BIN_EXE_palais");
        let line =
            format!("'{program}' query 'SELECT range FROM range(100000)' --format {format} > /dev/full");
        let done = run(Command::new("sh").args(["-c", &line]));
        assert_eq!(done.code(), Some(1), "{format} {}", done.ending());
        assert!(done.stderr.contains("standard output"), "{format}: {}", done.stderr);
        assert_eq!(done.stderr.matches("No space left on device").count(), 1, "{format}: {}", done.stderr);
    }
}

#[test]
fn what_is_there_is_kept_until_the_new_is_whole() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let Some(disk) = Disk::small() else { return };
    let path = |name: &str| disk.path().join(name).display().to_string();
    let copy = |rows: u64, target: &str, options: &str| {
        let sql = format!(
            "COPY (SELECT md5(CAST(range AS VARCHAR)) AS c FROM range({rows})) TO '{target}' ({options})"
        );
        palais(["query", &sql])
    };
    for (target, options) in [(path("o.csv"), "OVERWRITE"), (path("d/"), "FORMAT csv, OVERWRITE")] {
        assert_eq!(copy(10, &target, options).code(), Some(0));
        assert_eq!(copy(500_000, &target, options).code(), Some(1));
        let done = palais(["query", &format!("SELECT count(*) AS n FROM '{target}'")]);
        assert_eq!(done.stdout, "n\n10\n", "{}", done.stderr);
    }
    let mut left = names(disk.path());
    left.sort();
    assert_eq!(left, ["d", "o.csv"]);
    drop(home);
}
