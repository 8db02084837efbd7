//! `palais bench`: the real binary measures itself on small tables.

#[path = "support/names.rs"]
mod names;
#[path = "support/process.rs"]
mod process;

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use names::names;
use process::palais;

#[test]
fn every_pair_is_measured_and_its_answer_compared() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    let flags = ["bench", "formats", "--rows", "3000", "--rounds", "1", "--scratch", &path(""), "--output"];
    let done = palais(flags.iter().chain(&[path("figures").as_str(), "--compressions", "none,zstd"]));
    assert_eq!(done.code(), Some(0), "it {}: {}", done.ending(), done.stderr);
    assert!(done.stdout.contains("not measured: text: the table: text holds one column"), "{}", done.stdout);
    assert!(done.stdout.contains("Sweet spots"), "{}", done.stdout);
    assert_eq!(names(home.path()), ["figures"], "the data sets are removed");
    assert_eq!(names(&home.path().join("figures")), ["formats.csv", "formats.json", "formats.svg"]);

    let figures = path("figures/formats.csv");
    let sql = format!(
        "SELECT count(*) AS pairs, count(query_seconds) AS measured, count(error) AS refused, \
         count(decompress_seconds) AS unpacked, min(bytes) > 1000 AS large FROM '{figures}'"
    );
    let done = palais(["query", &sql]);
    let formats: Vec<_> = formats::registry::written().collect();
    let inside = formats.iter().filter(|f| f.compresses_inside()).count();
    let (pairs, refused) = (formats.len() * 2, 2);
    let unpacked = formats.len() - inside - 1;
    let expected = format!(
        "pairs,measured,refused,unpacked,large\n{pairs},{},{refused},{unpacked},true\n",
        pairs - refused
    );
    assert_eq!((done.code(), done.stdout), (Some(0), expected), "{}", done.stderr);
}

#[test]
fn a_table_of_ones_own_is_held_against_an_answer_of_ones_own() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    fs::write(path("t.csv"), "k,v\na,1.5\nb,2\na,0.25\n").expect("a file can be written");
    fs::write(path("right.csv"), "k,s\nb,2\na,1.75\n").expect("a file can be written");
    fs::write(path("wrong.csv"), "k,s\nb,2\na,1.7500001\n").expect("a file can be written");
    let run = |expected: &str| {
        let (table, expected, scratch) = (path("t.csv"), path(expected), path("scratch"));
        palais([
            "bench",
            "formats",
            &table,
            "--query",
            "SELECT k, sum(v) AS s FROM t GROUP BY k",
            "--expect",
            &expected,
            "--encodings",
            "csv,msgpack",
            "--compressions",
            "lz4",
            "--scratch",
            &scratch,
        ])
    };
    let done = run("right.csv");
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    let done = run("wrong.csv");
    assert_eq!(done.code(), Some(1), "{}", done.stdout);
    assert!(
        done.stderr.contains("csv with lz4: the answer is wrong: row 1 in order has 1.75 as s"),
        "{}",
        done.stderr
    );
    assert!(done.stdout.contains("failed: msgpack with lz4"), "{}", done.stdout);
    assert_eq!(names(home.path()), ["right.csv", "t.csv", "wrong.csv"]);
}

#[test]
fn a_query_that_is_wrong_is_told_before_anything_is_measured() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let scratch = home.path().display().to_string();
    let flags = ["bench", "formats", "--rows", "10", "--scratch", &scratch];
    let done = palais(flags.iter().chain(&["--query", "SELECT nothing FROM t"]));
    assert_eq!(done.code(), Some(1));
    assert!(done.stderr.contains("nothing") && !done.stderr.contains("csv none"), "{}", done.stderr);
    assert_eq!(names(home.path()), [""; 0]);
}

#[test]
fn workers_and_reading_ahead_are_measured_over_small_and_large_files() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    let flags = ["bench", "threads", "--rows", "60000", "--rounds", "1", "--cold", "--workers", "1,3"];
    let scratch = ["--read-ahead", "0,16", "--scratch", &path(""), "--output", &path("figures")];
    let done = palais(flags.iter().chain(&scratch));
    assert_eq!(done.code(), Some(0), "it {}: {}", done.ending(), done.stderr);
    for told in [
        "500 small files, csv none, ",
        "4 large files, csv zstd, ",
        "from the disk",
        "For all of these: --workers ",
    ] {
        assert!(done.stdout.contains(told), "{told}: {}", done.stdout);
    }
    assert_eq!(names(home.path()), ["figures"], "the data sets are removed");
    assert_eq!(names(&home.path().join("figures")), ["threads.csv", "threads.json", "threads.svg"]);
    let sql = format!(
        "SELECT small, compression, count(*) AS settings, min(files) AS files, min(seconds) > 0 AS timed, \
         count(DISTINCT bytes) AS sizes FROM '{}' GROUP BY small, compression ORDER BY small, compression",
        path("figures/threads.csv")
    );
    let done = palais(["query", &sql]);
    let expected = "small,compression,settings,files,timed,sizes\n\
        false,none,8,4,true,1\nfalse,zstd,8,4,true,1\ntrue,none,8,500,true,1\ntrue,zstd,8,500,true,1\n";
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), expected), "{}", done.stderr);
}

#[test]
fn threads_are_measured_on_a_table_of_ones_own() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    fs::write(path("t.data"), "k;v\na;1.5\nb;2\na;0.25\n").expect("a file can be written");
    let run = |query: &str, encoding: &str| {
        let (table, scratch) = (path("t.data"), path("scratch"));
        let flags = ["bench", "threads", &table, "--query", query, "--encoding", encoding, "--from", "csv"];
        let few = [
            "--delimiter",
            ";",
            "--workers",
            "2",
            "--read-ahead",
            "4",
            "--rounds",
            "1",
            "--scratch",
            &scratch,
        ];
        palais(flags.iter().chain(&few))
    };
    let done = run("SELECT k, sum(v) AS s FROM t GROUP BY k", "jsonl");
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert!(
        done.stdout.contains("1 small file, jsonl none")
            && done.stdout.contains("--workers 2 --read-ahead 4")
    );
    // A query that is wrong is told before anything is measured, and so is an encoding that can't hold the table.
    let done = run("SELECT nothing FROM t", "csv");
    assert!(done.code() == Some(1) && done.stderr.contains("nothing"), "{}", done.stderr);
    let done = run("SELECT k FROM t", "text");
    assert!(
        done.code() == Some(1) && done.stderr.contains("the table: text holds one column"),
        "{}",
        done.stderr
    );
    assert_eq!(names(home.path()), ["t.data"]);
}

#[test]
fn formats_are_measured_from_the_disk() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let scratch = home.path().display().to_string();
    let flags = ["bench", "formats", "--rows", "2000", "--rounds", "2", "--cold", "--compressions", "gzip"];
    let done = palais(flags.iter().chain(&["--encodings", "csv,buren", "--scratch", &scratch]));
    assert_eq!(done.code(), Some(0), "it {}: {}", done.ending(), done.stderr);
    assert!(
        done.stdout.contains("median of 2 runs after a first one, each from the disk"),
        "{}",
        done.stdout
    );
    assert_eq!(names(home.path()), [""; 0]);
}

/// Whether a process has this text among its arguments.
fn runs(text: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("it can be listed").flatten();
    let arguments = processes.map(|p| fs::read(p.path().join("cmdline")).unwrap_or_default());
    arguments.into_iter().any(|line| String::from_utf8_lossy(&line).contains(text))
}

#[test]
fn an_interrupt_leaves_no_data_set_and_no_process() {
    let formats = ["formats", "--rows", "300000", "--encodings", "csv,jsonl", "--rounds", "1000"];
    let threads = ["threads", "--rows", "300000", "--rounds", "1000"];
    // When rows are made, when a set is written, when it is queried.
    for (bench, signal, seen) in [
        (&formats[..], "-INT", ".source.partial-"),
        (&formats, "-INT", ".cell.partial-"),
        (&formats, "-TERM", "cell"),
        (&threads, "-INT", "set"),
    ] {
        let home = tempfile::tempdir().expect("a directory can be made");
        let scratch = home.path().display().to_string();
        let mut child = Command::new(env!("CARGO_BIN_EXE_palais"))
            .arg("bench")
            .args(bench)
            .args(["--scratch", &scratch])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("palais starts");
        let partial = home.path().join(format!(".palais-bench.partial-{}", child.id()));
        let start = Instant::now();
        let is_there = || {
            let entries = fs::read_dir(&partial).into_iter().flatten().flatten();
            let mut names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
            names.any(|name| name == seen || seen.starts_with('.') && name.starts_with(seen))
        };
        while !is_there() {
            assert!(start.elapsed() < Duration::from_secs(600), "{bench:?}: there is no {seen}");
            assert!(child.try_wait().expect("a child can be waited for").is_none(), "{bench:?} has ended");
            sleep(Duration::from_millis(1));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        let done = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(130), "{bench:?} {seen}: {said}");
        assert!(said.ends_with("interrupted\n") && !said.contains("signal"), "{bench:?} {seen}: {said}");
        while runs(&scratch) {
            assert!(start.elapsed() < Duration::from_secs(600), "{bench:?} {seen}: a process still runs");
            sleep(Duration::from_millis(5));
        }
        assert_eq!(names(home.path()), [""; 0], "{bench:?} {seen}");
    }
}
