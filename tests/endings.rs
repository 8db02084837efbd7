//! How runs end before they are done: signals, closed pipes, limits, errors. Each ends, says so by its exit
//! code, and leaves no files and no processes.

use std::fs;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use interrupt::interrupt;
use process::palais;

#[path = "support/interrupt.rs"]
mod interrupt;
#[path = "support/process.rs"]
mod process;

/// What guards against hangs; how long endings take is not a test's business.
const PATIENCE: Duration = Duration::from_secs(600);

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

/// The names in a directory, hidden ones included.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    entries.map(|e| e.expect("it can be listed").file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
        sleep(Duration::from_millis(5));
    }
}

/// A process that is killed when the test is over.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Running {
        Running(command.stderr(Stdio::piped()).spawn().expect("it starts"))
    }

    fn palais(arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.0.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().expect("a child can be waited for").is_none()
    }

    /// Waits for its end; gives its status and standard error.
    fn end(mut self) -> (ExitStatus, String) {
        until("it ends", || !self.is_running());
        let mut text = String::new();
        let mut stderr = self.0.stderr.take().expect("it is piped");
        stderr.read_to_string(&mut text).expect("a pipe can be read");
        (self.0.wait().expect("a child can be waited for"), text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A conversion of lines that never end, some of which are written.
fn convert_for_ever(destination: &Path) -> (Running, Running) {
    let mut lines =
        Running(Command::new("yes").arg("17,some text").stdout(Stdio::piped()).spawn().expect("yes starts"));
    let mut command = Running::palais(&["convert", "-", &destination.display().to_string(), "--from", "csv"]);
    let mut convert =
        Running::start(command.stdin(lines.0.stdout.take().expect("it is piped")).args(["--workers", "2"]));
    let home = destination.parent().expect("it lies in a directory").to_path_buf();
    until("something is written", || {
        assert!(convert.is_running(), "it has ended");
        size(&home) > 0
    });
    (convert, lines)
}

/// The bytes of all files in a directory.
fn size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).expect("it can be listed").flatten();
    let sizes = entries.map(|e| match e.metadata() {
        Ok(meta) if meta.is_dir() => size(&e.path()),
        meta => meta.map_or(0, |m| m.len()),
    });
    sizes.sum()
}

const ENDLESS: &str = "SELECT range AS a, md5(CAST(range AS VARCHAR)) AS b FROM range(9000000000000000000)";

#[test]
fn signals_end_what_writes_and_leave_nothing() {
    let home = scratch();
    let path = |name: &str| home.path().join(name).display().to_string();
    let copy = |to: &str| format!("COPY ({ENDLESS}) TO '{}' (FORMAT csv, COMPRESSION gzip)", path(to));
    let output = path("o.parquet");
    let runs: [(&str, &[&str]); 5] = [
        ("-INT", &["query", ENDLESS, "--output", &output]),
        ("-TERM", &["query", &copy("c.csv.gz"), "--workers", "1"]),
        ("-INT", &["query", &copy("d/"), "--workers", "3"]),
        ("-HUP", &["query", &copy("d/"), "--workers", "1"]),
        ("-TERM", &["generate", home.path().to_str().expect("text"), "--rankings", "1000000000000"]),
    ];
    for (signal, arguments) in runs {
        let mut run = Running::start(&mut Running::palais(arguments));
        until("something is written", || {
            assert!(run.is_running(), "{arguments:?} has ended");
            size(home.path()) > 0
        });
        run.signal(signal);
        let (status, said) = run.end();
        assert_eq!((status.code(), said.as_str()), (Some(130), "interrupted\n"), "{arguments:?}");
        assert_eq!(names(home.path()), [""; 0], "{arguments:?}");
    }
}

#[test]
fn signals_end_a_conversion_and_leave_nothing() {
    for (signal, name) in [("-INT", "x.parquet"), ("-TERM", "x.csv.gz")] {
        let home = scratch();
        let (run, _lines) = convert_for_ever(&home.path().join(name));
        run.signal(signal);
        let (status, said) = run.end();
        assert_eq!((status.code(), said.as_str()), (Some(130), "interrupted\n"), "{name}");
        assert_eq!(names(home.path()), [""; 0]);
    }
}

#[test]
fn a_killed_conversion_leaves_no_destination_and_the_next_one_works() {
    let home = scratch();
    let destination = home.path().join("x.parquet");
    let (mut run, _lines) = convert_for_ever(&destination);
    run.0.kill().expect("it can be killed");
    run.end();
    assert!(!destination.exists());
    let source = scratch();
    let source = source.path().join("s.csv");
    fs::write(&source, "a,b\n1,x\n").expect("a file can be written");
    let done = palais([Path::new("convert"), &source, &destination]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert_eq!(names(home.path()), ["x.parquet"]);
}

#[test]
fn a_signal_ends_a_query_that_waits_for_its_input() {
    // Nobody ever writes to this standard input.
    let mut silent =
        Running(Command::new("sleep").arg("1000").stdout(Stdio::piped()).spawn().expect("sleep starts"));
    for sql in ["SELECT * FROM '-'", "SELECT count(*) FROM '-' WHERE line LIKE '%a%'"] {
        let mut command = Running::palais(&["query", sql, "--from", "text"]);
        if let Some(stdin) = silent.0.stdout.take() {
            command.stdin(stdin);
        }
        let run = Running::start(&mut command);
        sleep(Duration::from_millis(300));
        interrupt(run.0.id());
        assert_eq!(run.end().0.code(), Some(130), "{sql}");
        silent =
            Running(Command::new("sleep").arg("1000").stdout(Stdio::piped()).spawn().expect("sleep starts"));
    }
}

#[test]
fn signals_end_scripts_and_all_that_they_started() {
    for (signal, workers) in [("-INT", "1"), ("-TERM", "3")] {
        let home = scratch();
        let path = |name: &str| home.path().join(name).display().to_string();
        for part in 0..4 {
            fs::create_dir_all(home.path().join("in")).expect("a directory can be made");
            fs::write(path(&format!("in/{part}.txt")), "line\n").expect("a file can be written");
        }
        let script = format!("sleep 1000 & echo $! >> {0}; echo $$ >> {0}; wait", path("pids"));
        let sql = format!("SELECT * FROM transform('{}', '{script}', 'a VARCHAR')", path("in"));
        let arguments = ["query", &sql, "--allow-scripts", "--workers", workers];
        let run = Running::start(&mut Running::palais(&arguments));
        let pids = || fs::read_to_string(path("pids")).unwrap_or_default();
        until("the scripts run", || pids().lines().count() >= 2 * workers.parse::<usize>().unwrap_or(1));
        run.signal(signal);
        assert_eq!(run.end().0.code(), Some(130));
        for pid in pids().lines() {
            // One that has ended, but that nobody has waited for, is a zombie until init does.
            let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            until("a process of the script ends", || stat().is_empty() || stat().contains(") Z "));
        }
    }
}

#[test]
fn a_limit_ends_what_has_no_end() {
    let table = "range(9000000000000000000)";
    for workers in ["1", "3"] {
        for (sql, expected) in [
            (format!("SELECT range FROM {table} LIMIT 3"), "range\n0\n1\n2\n"),
            (format!("SELECT count(*) AS n FROM (SELECT * FROM {table} LIMIT 100000) t"), "n\n100000\n"),
            (format!("SELECT 1 AS n FROM (SELECT * FROM {table} UNION ALL SELECT 7) t LIMIT 1"), "n\n1\n"),
            (
                format!(
                    "SELECT count(*) AS n FROM (SELECT a.range FROM {table} a JOIN (VALUES (5)) b(v) \
                      ON a.range >= b.v LIMIT 10) t"
                ),
                "n\n10\n",
            ),
        ] {
            let done = palais(["query", &sql, "--workers", workers]);
            let given = (done.code(), done.stdout.lines().count());
            assert_eq!(given, (Some(0), expected.lines().count()), "{sql}: {}", done.stderr);
            if !sql.starts_with("SELECT range") {
                assert_eq!(done.stdout, expected, "{sql}");
            }
        }
    }
}

#[test]
fn the_first_of_many_errors_ends_all_workers() {
    let home = scratch();
    for part in 0..8 {
        let rows: String = (0..30_000).map(|i| format!("{i}\n")).collect();
        fs::write(home.path().join(format!("{part}.csv")), format!("n\n{rows}x\n{rows}"))
            .expect("a file can be written");
    }
    let data = home.path().display();
    for workers in ["1", "4"] {
        for sql in [
            format!("SELECT sum(n) FROM '{data}'"),
            format!("SELECT a.n FROM '{data}' a JOIN '{data}' b ON a.n = b.n ORDER BY 1"),
            "SELECT sum(10 // (range % 100000 - 99999)) FROM range(1000000000000)".to_string(),
        ] {
            let done = palais(["query", &sql, "--workers", workers, "--infer-rows", "100"]);
            assert_eq!(done.code(), Some(1), "{sql} {}", done.ending());
            assert_eq!(done.stdout, "");
            assert_eq!(done.stderr.matches("error:").count(), 1, "{}", done.stderr);
        }
    }
}

#[test]
fn a_closed_pipe_is_a_quiet_end_in_every_format() {
    for format in ["csv", "json", "jsonl", "parquet", "arrow", "buren", "markdown"] {
        for workers in ["1", "3"] {
            let arguments = ["query", ENDLESS, "--format", format, "--workers", workers];
            let mut run = Running::start(Running::palais(&arguments).stdout(Stdio::piped()));
            let mut bytes = [0; 100];
            let mut pipe = BufReader::with_capacity(100, run.0.stdout.take().expect("it is piped"));
            pipe.read_exact(&mut bytes).expect("there are bytes");
            drop(pipe);
            let (status, said) = run.end();
            assert_eq!((status.code(), said.as_str()), (Some(0), ""), "{format}");
        }
    }
}
