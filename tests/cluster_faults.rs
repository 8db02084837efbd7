//! Queries in several processes of which one is lost, or whose ports strangers find: an error that names it, soon, with
//! nothing left behind, or the answer.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use listening::listening;
use process::{palais, run};
use several::{succeed, text};

#[path = "support/listening.rs"]
mod listening;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// A query that takes some seconds in each process.
const LONG: &str = "SELECT count(*), sum(a.range % 7) FROM range(0, 20000000000) a";

/// What takes longer counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// A long query in three processes, which can be told from others by a word in their environment.
struct Running {
    coordinator: Child,
    mark: String,
    home: tempfile::TempDir,
}

/// How long a process may be silent, in seconds, where silence is what ends a query.
const IMPATIENT: &str = "2";

/// The same where something else does: on a machine that is busy a process takes its time to end.
const PATIENT: &str = "120";

impl Running {
    fn start(sql: &str) -> Running {
        Running::with(sql, PATIENT)
    }

    fn with(sql: &str, timeout: &str) -> Running {
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        let mark = format!("PALAIS_TEST_MARK={}", home.path().display());
        let (name, value) = mark.split_once('=').expect("it has a sign");
        let out = |name| fs::File::create(home.path().join(name)).expect("it can be made");
        let coordinator = Command::new(env!("CARGO_BIN_EXE_palais"))
            .args(["cluster", "run", "--local", "3", "--workers", "1", "--timeout", timeout, sql])
            .env(name, value)
            .stdin(Stdio::null())
            .stdout(out("out"))
            .stderr(out("err"))
            .spawn()
            .expect("palais starts");
        let running = Running { coordinator, mark, home };
        let deadline = Instant::now() + PATIENCE;
        while running.listening().len() < 3 {
            assert!(Instant::now() < deadline, "three processes listen");
            thread::sleep(Duration::from_millis(10));
        }
        // The query is planned and the processes are connected.
        thread::sleep(Duration::from_millis(300));
        running
    }

    /// The processes that were started, the coordinator not among them.
    fn processes(&self) -> Vec<u32> {
        let marked = marked(&self.mark);
        marked.into_iter().filter(|id| *id != self.coordinator.id()).collect()
    }

    /// Those that run the query: what removes their files is a process too, of any number.
    fn running(&self) -> Vec<u32> {
        self.processes().into_iter().filter(|id| !listening(*id).is_empty()).collect()
    }

    /// The ports on which they listen.
    fn listening(&self) -> Vec<u16> {
        ports_of(&self.mark)
    }

    /// Waits until the coordinator has ended; its code and what it wrote.
    fn finish(mut self) -> (Option<i32>, String, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.coordinator.try_wait().expect("a child can be waited for") {
                Some(status) => break status,
                None => assert!(Instant::now() < deadline, "it has ended"),
            }
            thread::sleep(Duration::from_millis(5));
        };
        let deadline = Instant::now() + PATIENCE;
        while !self.processes().is_empty() {
            assert!(Instant::now() < deadline, "no process is left");
            thread::sleep(Duration::from_millis(10));
        }
        let read = |name| fs::read_to_string(self.home.path().join(name)).expect("it can be read");
        (status.code(), read("out"), read("err"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.coordinator.kill();
        self.processes().iter().for_each(|id| signal(*id, "KILL"));
    }
}

/// The processes with this word in their environment.
fn marked(mark: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("the system has /proc").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_marked = |id: &u32| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
    };
    let mut ids: Vec<u32> = ids.filter(is_marked).collect();
    ids.sort_unstable();
    ids
}

/// The ports on which they listen.
fn ports_of(mark: &str) -> Vec<u16> {
    marked(mark).into_iter().flat_map(listening).collect()
}

fn signal(process: u32, name: &str) {
    let _ = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
}

#[test]
fn an_idle_process_takes_little_and_rows_have_large_pages() {
    let running = Running::start("SELECT count(*) FROM range(20000000000)");
    for id in running.processes() {
        let says = |name: &str| {
            let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
            status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
        };
        // From the first row on. Kernels before 5.0 do not say it.
        let deadline = Instant::now() + PATIENCE;
        while says("THP_enabled:").is_some_and(|enabled| enabled != "1") {
            assert!(Instant::now() < deadline, "process {id} has large pages");
            thread::sleep(Duration::from_millis(10));
        }
        let resident = says("RssAnon:").and_then(|size| size.strip_suffix(" kB")?.parse::<u64>().ok());
        assert!(matches!(resident, Some(..=17_000)), "{resident:?} KiB");
    }
}

#[test]
fn a_dataset_is_written_by_all_processes_or_not_at_all() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let out = home.path().join("out");
    fs::create_dir(&out).expect("it can be made");
    let copy = |name: &str, rows: &str| format!("COPY ({rows}) TO '{}/{name}/' (FORMAT csv)", text(&out));
    let several = ["cluster", "run", "--local", "3", "--workers", "1", "--timeout", PATIENT];
    let rows = "SELECT range AS a FROM range(1000000)";
    succeed(&[&several[..], &[&copy("all", rows)]].concat());
    succeed(&[&several[..], &[&copy("ordered", &format!("{rows} ORDER BY a DESC LIMIT 7"))]].concat());
    succeed(&[&several[..], &[&copy("none", &format!("{rows} WHERE range < 0"))]].concat());
    for (name, expected) in [("all", "1000000,499999500000"), ("ordered", "7,6999972"), ("none", "0,")] {
        let sums = format!("SELECT count(*), sum(a) FROM '{}/{name}'", text(&out));
        let sums = succeed(&["query", &sums, "--format", "csv"]);
        assert_eq!(sums.stdout.lines().last(), Some(expected), "{name}");
    }
    let parts = |name: &str| fs::read_dir(out.join(name)).expect("it was written").count() - 1;
    assert_eq!((parts("all"), parts("ordered"), parts("none")), (3, 1, 1), "files beside the manifest");
    let refused = palais([&several[..], &[&copy("all", rows)]].concat());
    assert!(refused.code() == Some(1) && refused.stderr.contains("OVERWRITE"), "{}", refused.stderr);
    succeed(&[&several[..], &[&copy("all", rows), "--overwrite"]].concat());
    // Whichever process ends early, nothing is left.
    let bad = home.path().join("bad.csv");
    fs::write(&bad, "a\n".to_string() + &"1\n".repeat(3_000_000) + "x\n").expect("it can be written");
    let failed =
        palais([&several[..], &[&copy("bad", &format!("SELECT a FROM '{}'", bad.display()))]].concat());
    assert!(failed.code() == Some(1) && failed.stderr.contains("host: local-"), "{}", failed.stderr);
    for place in 0..3 {
        let running = Running::start(&copy("long", "SELECT range AS a FROM range(20000000000)"));
        signal(running.running()[place], "KILL");
        let (code, _, err) = running.finish();
        assert!(code == Some(1) && err.contains("was killed"), "{err}");
    }
    let mut left: Vec<_> =
        fs::read_dir(&out).expect("it is there").flatten().map(|e| e.file_name()).collect();
    left.sort();
    assert_eq!(left, ["all", "none", "ordered"]);
}

#[test]
fn a_query_whose_process_is_lost_is_run_again() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    // The first process of each run that finds the file kills itself.
    let mark = home.path().join("mark");
    fs::write(&mark, "").expect("it can be written");
    let script = format!("if rm {} 2>/dev/null; then kill -9 $PPID; fi; cat", mark.display());
    let file = home.path().join("x.csv");
    fs::write(&file, "1\n2\n").expect("it can be written");
    let sql = format!("SELECT sum(a) FROM transform('{}', '{script}', 'a BIGINT')", text(&file));
    let query = ["cluster", "run", "--local", "2", "--workers", "1", "--allow-scripts", &sql];
    let lost = palais(query);
    assert!(lost.code() == Some(1) && lost.stderr.contains("was killed (signal 9"), "{}", lost.stderr);
    fs::write(&mark, "").expect("it can be written");
    let done = succeed(&[&query[..], &["--retries", "1"]].concat());
    assert!(done.stdout.ends_with("\n3\n") && done.stderr.contains("is run again"), "{}", done.stderr);
}

#[test]
fn a_process_that_is_killed_or_stopped_ends_the_query() {
    for (name, timeout, says) in [
        ("KILL", PATIENT, "the process was killed"),
        ("ABRT", PATIENT, "the process ended with exit code 70"),
        ("STOP", IMPATIENT, "nothing was heard of the process for 2 seconds"),
    ] {
        for place in 0..3 {
            let running = Running::with(LONG, timeout);
            let processes = running.running();
            assert_eq!(processes.len(), 3);
            signal(processes[place], name);
            let (code, out, err) = running.finish();
            assert_eq!(code, Some(1), "{name}: {err}");
            assert!(out.is_empty() && err.contains(says), "{name}: {err}");
            assert!(err.starts_with("error: local-"), "{name}: {err}");
        }
    }
}

#[test]
fn without_the_coordinator_no_process_is_left() {
    for (name, code) in [("INT", Some(130)), ("TERM", Some(130)), ("KILL", None)] {
        let running = Running::with(LONG, IMPATIENT);
        if name == "KILL" {
            signal(running.processes()[1], "STOP");
        }
        signal(running.coordinator.id(), name);
        let (ended, out, err) = running.finish();
        assert_eq!(ended, code, "{name}: {err}");
        assert!(out.is_empty(), "{name}");
    }
}

#[test]
fn a_process_may_take_longer_to_begin_than_to_be_silent() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let hosts = home.path().join("hosts.toml");
    let launch = r#"launch = ["sh", "-c", "sleep 4; exec \"$@\"", "sh"]"#;
    fs::write(&hosts, format!("[[host]]\naddress = \"127.0.0.1\"\n{launch}\n")).expect("it can be written");
    let done = succeed(&["cluster", "run", "--hosts", text(&hosts), "--timeout", "2", "SELECT 1 AS a"]);
    assert_eq!(done.stdout, "a\n1\n");
}

/// A process that is stopped before it is palais ends with the coordinator too.
#[test]
fn without_the_coordinator_no_process_is_left_that_has_not_begun() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let hosts = home.path().join("hosts.toml");
    let launch = r#"launch = ["sh", "-c", "kill -STOP $$; exec \"$@\"", "sh"]"#;
    fs::write(&hosts, format!("[[host]]\naddress = \"127.0.0.1\"\n{launch}\n")).expect("it can be written");
    let mark = format!("PALAIS_TEST_MARK={}", home.path().display());
    let (name, value) = mark.split_once('=').expect("it has a sign");
    let mut coordinator = Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["cluster", "run", "--hosts", text(&hosts), "SELECT 1"])
        .env(name, value)
        .stdout(Stdio::null())
        .spawn()
        .expect("palais starts");
    let is_stopped = |id: &u32| {
        let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        status.contains(") T ")
    };
    let deadline = Instant::now() + PATIENCE;
    while !marked(&mark).iter().any(is_stopped) {
        assert!(Instant::now() < deadline, "it stops itself");
        thread::sleep(Duration::from_millis(5));
    }
    coordinator.kill().expect("it can be killed");
    coordinator.wait().expect("a child can be waited for");
    let deadline = Instant::now() + PATIENCE;
    while !marked(&mark).is_empty() {
        assert!(Instant::now() < deadline, "no process is left");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn strangers_at_the_ports_change_nothing() {
    let running = Running::start(LONG);
    let ports = running.listening();
    assert_eq!(ports.len(), 3);
    let mut held = Vec::new();
    // As many as the system lets wait, and some more.
    for port in ports.repeat(30) {
        for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[0; 300], &[0xff; 300], b"palais\0\x01"] {
            let near = Duration::from_millis(10);
            if let Ok(mut socket) = TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), near) {
                let _ = socket.write_all(bytes);
                held.push(socket);
            }
        }
    }
    assert!(held.len() >= 300, "{}", held.len());
    thread::sleep(Duration::from_millis(500));
    assert_eq!(running.processes().len(), 3, "they run on");
    signal(running.processes()[0], "KILL");
    assert_eq!(running.finish().0, Some(1));
}

#[test]
fn strangers_from_the_beginning_do_not_keep_processes_apart() {
    // Connections to every port that palais opens, as soon as it does. The last process begins when there was one.
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let (stop, met) = (home.path().join("stop"), home.path().join("met"));
    let here = "[[host]]\naddress = \"127.0.0.1\"\n";
    let launch = format!(
        "[\"sh\", \"-c\", \"until [ -e {} ]; do sleep 0.01; done; exec \\\"$@\\\"\", \"sh\"]",
        text(&met)
    );
    let hosts = home.path().join("hosts.toml");
    fs::write(&hosts, format!("{here}{here}{here}launch = {launch}\n")).expect("it can be written");
    let mark = format!("PALAIS_TEST_MARK={}", home.path().display());
    let sql = "SELECT count(*), sum(range) FROM range(1000000)";
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut held = Vec::new();
            while !stop.exists() {
                for port in ports_of(&mark) {
                    let near = Duration::from_millis(50);
                    if let Ok(mut socket) = TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), near) {
                        let _ = socket.write_all(b"palais\0\x01 and nothing else");
                        held.push(socket);
                        fs::write(&met, "").expect("it can be written");
                    }
                }
                held.truncate(300);
            }
        });
        let (name, value) = mark.split_once('=').expect("it has a sign");
        let (hosts, met) = (&hosts, &met);
        let queries = scope.spawn(move || {
            [(); 10].map(|()| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
                command
                    .args(["cluster", "run", "--workers", "1", "--hosts", text(hosts), sql])
                    .env(name, value);
                let done = run(&mut command);
                let _ = fs::remove_file(met);
                done
            })
        });
        let all = queries.join();
        // However they have ended, or the strangers would go on for ever.
        fs::write(&stop, "").expect("it can be written");
        for done in all.expect("all queries end") {
            assert_eq!(done.code(), Some(0), "{}", done.stderr);
            assert!(done.stdout.ends_with("\n1000000,499999500000\n"), "{}", done.stdout);
        }
    });
}
