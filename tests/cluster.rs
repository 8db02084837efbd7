//! Queries in several processes: the answers of one process, and whatever happens to one of them an error that names it,
//! soon, with nothing left behind.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use compare::{same, sorted};
use process::{Finished, palais, run};
use several::{succeed, text};

#[path = "support/cells.rs"]
mod cells;
#[path = "support/compare.rs"]
mod compare;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// A query that takes some seconds in each process.
const LONG: &str = "SELECT count(*), sum(a.range % 7) FROM range(0, 20000000000) a";

/// What takes longer counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_benchmark_in_two_three_and_five_processes() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let csv = home.path().join("csv");
    succeed(&["generate", text(&csv), "--set", "tiny", "--to", "csv", "--parts", "3"]);
    let mut failures = Vec::new();
    for encoding in ["csv", "buren", "jsonl"] {
        let data = home.path().join(encoding);
        for table in ["rankings", "uservisits", "documents"].iter().filter(|_| data != csv) {
            let (from, to) = (csv.join(table), data.join(table));
            succeed(&["convert", text(&from), text(&to), "--to", encoding]);
        }
        for query in ["1a", "1b", "1c", "2a", "2b", "2c", "3a", "3b", "3c", "4"] {
            let script = "python3 bench/url_count.py";
            let sql = queries::bdb::sql(query, script).expect("it is a query of the benchmark");
            let shared =
                ["--data", text(&data), "--allow-scripts", "--format", "csv", "--broadcast-limit", "1MiB"];
            let expected = sorted(&succeed(&[&["query", &sql], &shared[..]].concat()).stdout);
            for processes in ["2", "3", "5"] {
                let several = ["cluster", "run", "--local", processes, "--workers", "2", &sql];
                let done = palais([&several, &shared[..]].concat());
                if done.code() != Some(0) || !same(&sorted(&done.stdout), &expected) {
                    failures.push(format!("{query} on {encoding}, {processes} processes: {}", done.stderr));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn one_file_is_read_by_all_processes() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let rows = "SELECT range AS a, 'line' || chr(10) || range AS b FROM range(2000000)";
    for name in ["x.csv", "x.jsonl", "x.jsonl.zst", "x.buren", "x.parquet", "x.msgpack"] {
        let file = home.path().join(name);
        succeed(&["query", &format!("COPY ({rows}) TO '{}'", file.display())]);
        // Rows of msgpack have no names.
        let (a, b) = if name == "x.msgpack" { ("column1", "column2") } else { ("a", "b") };
        let sql = format!("SELECT count(*), sum({a}), count(DISTINCT {b}) FROM '{}'", file.display());
        for processes in ["1", "2", "4"] {
            let done = succeed(&["cluster", "run", "--local", processes, "--workers", "1", &sql]);
            let row = done.stdout.lines().last();
            assert_eq!(row, Some("2000000,1999999000000,2000000"), "{name} {processes}");
        }
    }
}

#[test]
fn results_are_written_and_counted_as_by_one_process() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let (file, dataset) = (home.path().join("x.buren"), home.path().join("y"));
    let several = ["cluster", "run", "--local", "3", "--workers", "1"];
    let sql = "SELECT range AS a FROM range(1000000)";
    succeed(&[&several, &[sql, "--output", text(&file)][..]].concat());
    succeed(
        &[&several, &[format!("COPY ({sql}) TO '{}' (FORMAT csv)", dataset.display()).as_str()][..]].concat(),
    );
    for path in [&file, &dataset] {
        let sums = succeed(&["query", &format!("SELECT count(*), sum(a) FROM '{}'", path.display())]);
        assert!(sums.stdout.ends_with("1000000,499999500000\n"), "{}", sums.stdout);
    }
    let bad = home.path().join("bad.csv");
    let stats = home.path().join("stats.json");
    fs::write(&bad, "a,b\n1,x\nz,y\n3,z\n").expect("it can be written");
    fs::write(home.path().join("t.sql"), "CREATE TABLE t (a BIGINT, b VARCHAR)").expect("it can be written");
    let (table, schema) = (format!("t={}", bad.display()), format!("t={}/t.sql", home.path().display()));
    let input = ["--table", &table, "--schema", &schema, "--on-error", "skip", "--stats", text(&stats)];
    let done = succeed(&[&several[..], &["SELECT sum(a) FROM t"], &input].concat());
    assert!(done.stdout.ends_with("\n4\n"), "{}", done.stdout);
    assert!(done.stderr.contains("1 rows left out"), "{}", done.stderr);
    let stats = fs::read_to_string(&stats).expect("it was written");
    for part in [r#""workers": 3"#, r#""rows_read": 2"#, r#""bytes_sent": "#] {
        assert!(stats.contains(part), "{part} in {stats}");
    }
    assert!(!stats.contains(r#""bytes_sent": 0,"#), "{stats}");
}

#[test]
fn errors_are_those_of_one_process_and_tell_where() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let bad = home.path().join("bad.csv");
    fs::write(&bad, "a\n".to_string() + &"1\n".repeat(20_000) + "x\n").expect("it can be written");
    let read = format!("SELECT sum(a) FROM '{}'", bad.display());
    for (sql, code, parts) in [
        (read.as_str(), 1, &["bad.csv, row 20001, line 20002", "host: local-"][..]),
        ("SELECT 9223372036854775807 + range FROM range(5)", 1, &["overflow", "host: local-"]),
        ("SELECT (SELECT range FROM range(2))", 1, &["a scalar subquery gave 2 rows", "host: local-0"]),
        ("SELECT * FROM 'nowhere.csv'", 1, &["nowhere.csv: there is no such file", "host: local-0"]),
        ("SELECT nme FROM range(5)", 1, &["there is no column 'nme'"]),
        ("SELECT * FROM '-'", 2, &["standard input can't be read by several processes"]),
        ("SELEC 1", 1, &["SQL syntax"]),
    ] {
        let done = palais(["cluster", "run", "--local", "3", "--workers", "1", sql]);
        assert_eq!(done.code(), Some(code), "{sql}: {}", done.stderr);
        assert!(parts.iter().all(|part| done.stderr.contains(part)), "{sql}: {}", done.stderr);
        assert!(done.stderr.starts_with("error: ") && done.stdout.is_empty(), "{sql}: {}", done.stderr);
    }
    // A LIMIT ends the others too, and a scalar subquery is known to all.
    let some = "SELECT count(*) FROM (SELECT * FROM range(0, 9000000000000) LIMIT 10)";
    let value = "SELECT count(*) FROM range(1000) WHERE range > (SELECT avg(range) FROM range(1000))";
    for (sql, expected) in [(some, "\n10\n"), (value, "\n500\n")] {
        let done = succeed(&["cluster", "run", "--local", "3", sql]);
        assert!(done.stdout.ends_with(expected), "{}", done.stdout);
    }
}

#[test]
fn a_limit_is_met_by_one_process_alone() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let file = home.path().join("x.csv");
    // Parts of 8 MiB, in turn with many short rows and with few long ones.
    let mut lines = String::from("a,b\n");
    for part in 1..=10 {
        let text = if part % 2 == 1 { "\"x\ny\"".to_string() } else { "z".repeat(10_000) };
        while lines.len() < part * (8 << 20) {
            lines += &format!("{part},{text}\n");
        }
    }
    fs::write(&file, lines).expect("it can be written");
    for what in
        ["*", "a", "max(b)"].map(|what| if what.len() == 1 { format!("count({what})") } else { what.into() })
    {
        for processes in ["2", "3"] {
            let sql = format!("SELECT {what} FROM (SELECT * FROM '{}' LIMIT 300000)", file.display());
            let done = succeed(&["cluster", "run", "--local", processes, "--workers", "1", &sql]);
            assert!(
                what == "max(b)" || done.stdout.ends_with("\n300000\n"),
                "{what} {processes}: {}",
                done.stdout
            );
        }
    }
}

/// A long query in three processes, which can be told from others by a word in their environment.
struct Running {
    starter: Child,
    mark: String,
    home: tempfile::TempDir,
}

impl Running {
    fn start(sql: &str) -> Running {
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        let mark = format!("PALAIS_TEST_MARK={}", home.path().display());
        let (name, value) = mark.split_once('=').expect("it has a sign");
        let out = |name| fs::File::create(home.path().join(name)).expect("it can be made");
        let starter = Command::new(env!("CARGO_BIN_EXE_palais"))
            .args(["cluster", "run", "--local", "3", "--workers", "1", "--timeout", "2", sql])
            .env(name, value)
            .stdin(Stdio::null())
            .stdout(out("out"))
            .stderr(out("err"))
            .spawn()
            .expect("palais starts");
        let running = Running { starter, mark, home };
        let deadline = Instant::now() + PATIENCE;
        while running.listening().len() < 3 {
            assert!(Instant::now() < deadline, "three processes listen");
            thread::sleep(Duration::from_millis(10));
        }
        // The query is planned and the processes are connected.
        thread::sleep(Duration::from_millis(300));
        running
    }

    /// The processes that were started, the starter not among them.
    fn processes(&self) -> Vec<u32> {
        let marked = marked(&self.mark);
        marked.into_iter().filter(|id| *id != self.starter.id()).collect()
    }

    /// The ports on which they listen.
    fn listening(&self) -> Vec<u16> {
        listening(&self.mark)
    }

    /// Waits until the starter has ended; its code and what it wrote.
    fn finish(mut self) -> (Option<i32>, String, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.starter.try_wait().expect("a child can be waited for") {
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
        let _ = self.starter.kill();
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
fn listening(mark: &str) -> Vec<u16> {
    let sockets: Vec<String> = marked(mark)
        .iter()
        .flat_map(|id| fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten())
        .filter_map(|fd| fs::read_link(fd.path()).ok()?.to_str().map(String::from))
        .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_string()))
        .collect();
    let table = fs::read_to_string("/proc/net/tcp").expect("the system has /proc");
    let ports = table.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The state 0A is LISTEN.
        let listens = words[3] == "0A" && sockets.iter().any(|inode| inode == words[9]);
        let port = words[1].split(':').nth(1)?;
        listens.then(|| u16::from_str_radix(port, 16).ok()).flatten()
    });
    ports.collect()
}

fn signal(process: u32, name: &str) {
    let _ = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
}

#[test]
fn a_dataset_is_written_by_all_processes_or_not_at_all() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let out = home.path().join("out");
    fs::create_dir(&out).expect("it can be made");
    let copy = |name: &str, rows: &str| format!("COPY ({rows}) TO '{}/{name}/' (FORMAT csv)", out.display());
    let several = ["cluster", "run", "--local", "3", "--workers", "1", "--timeout", "2"];
    let rows = "SELECT range AS a FROM range(1000000)";
    succeed(&[&several[..], &[&copy("all", rows)]].concat());
    succeed(&[&several[..], &[&copy("ordered", &format!("{rows} ORDER BY a DESC LIMIT 7"))]].concat());
    succeed(&[&several[..], &[&copy("none", &format!("{rows} WHERE range < 0"))]].concat());
    for (name, expected) in [("all", "1000000,499999500000"), ("ordered", "7,6999972"), ("none", "0,")] {
        let sums = format!("SELECT count(*), sum(a) FROM '{}/{name}'", out.display());
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
        signal(running.processes()[place], "KILL");
        let (code, _, err) = running.finish();
        assert!(code == Some(1) && err.contains("was killed"), "{err}");
    }
    let mut left: Vec<_> =
        fs::read_dir(&out).expect("it is there").flatten().map(|e| e.file_name()).collect();
    left.sort();
    assert_eq!(left, ["all", "none", "ordered"]);
}

#[test]
fn parts_that_lie_on_hosts_of_their_own_are_one_table() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let mut hosts = String::from("workers = 2\nlocal_parts = true\n");
    for host in 0..3 {
        let dir = home.path().join(format!("host-{host}"));
        fs::create_dir(&dir).expect("it can be made");
        // A large file of each format, and small ones; all hosts have the same names.
        let rows = format!(
            "SELECT range AS a, {host} AS b, 'x' || chr(10) AS c FROM range({}, {}, 3)",
            host, 1_500_000
        );
        for name in ["x.csv", "x.jsonl", "x.buren", "x.csv.gz"] {
            succeed(&["query", &format!("COPY ({rows}) TO '{}'", dir.join(name).display())]);
        }
        hosts += &format!(
            "[[host]]\nname = \"h{host}\"\naddress = \"127.0.0.1\"\ndirectory = \"{}\"\n",
            dir.display()
        );
    }
    let file = home.path().join("hosts.toml");
    fs::write(&file, &hosts).expect("it can be written");
    let run = ["cluster", "run", "--hosts", text(&file)];
    for name in ["x.csv", "x.jsonl", "x.buren", "x.csv.gz"] {
        let sql = format!("SELECT count(*), sum(a), count(DISTINCT a), count(DISTINCT b) FROM '{name}'");
        let done = succeed(&[&run[..], &[&sql]].concat());
        let expected = "1500000,1124999250000,1500000,3";
        assert_eq!(done.stdout.lines().last(), Some(expected), "{name}");
    }
    let script = "SELECT count(*), sum(n) FROM transform('x.csv', 'grep -c ^[0-9]', 'n BIGINT')";
    let done = succeed(&[&run[..], &[script, "--allow-scripts"]].concat());
    assert!(done.stdout.ends_with("\n3,1500000\n"), "{}", done.stdout);
    // A table is not one if its parts differ, or one is missing.
    fs::write(home.path().join("host-2/y.csv"), "a,z\n1,x\n").expect("it can be written");
    for host in 0..2 {
        fs::write(home.path().join(format!("host-{host}/y.csv")), "a\n1\n").expect("it can be written");
    }
    let differ = palais([&run[..], &["SELECT * FROM 'y.csv'"]].concat());
    assert!(differ.code() == Some(1) && differ.stderr.contains("on h2, as h0 has it"), "{}", differ.stderr);
    fs::remove_file(home.path().join("host-1/x.csv")).expect("it is there");
    let count = "SELECT count(*) FROM 'x.csv'";
    let gone = palais([&run[..], &[count, "--retries", "2"]].concat());
    assert!(gone.code() == Some(1) && gone.stderr.contains("host: h1"), "{}", gone.stderr);
    // A host that is lost is not left out: what it has would be missing in silence.
    let more = "[[host]]\nname = \"h3\"\naddress = \"127.0.0.1\"\nlaunch = [\"false\"]\n";
    fs::write(&file, hosts + more).expect("it can be written");
    let lost = palais([&run[..], &[count, "--retries", "1"]].concat());
    assert!(lost.code() == Some(1) && lost.stderr.contains("error: h3"), "{}", lost.stderr);
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
    let sql = format!("SELECT sum(a) FROM transform('{}', '{script}', 'a BIGINT')", file.display());
    let query = ["cluster", "run", "--local", "2", "--workers", "1", "--allow-scripts", &sql];
    let lost = palais(query);
    assert!(lost.code() == Some(1) && lost.stderr.contains("was killed (signal 9"), "{}", lost.stderr);
    fs::write(&mark, "").expect("it can be written");
    let done = succeed(&[&query[..], &["--retries", "1"]].concat());
    assert!(done.stdout.ends_with("\n3\n") && done.stderr.contains("is run again"), "{}", done.stderr);
}

#[test]
fn a_process_that_is_killed_or_stopped_ends_the_query() {
    for (name, says) in [
        ("KILL", "the process was killed"),
        ("ABRT", "the process was ended by signal 6"),
        ("STOP", "nothing was heard of the process for 2 seconds"),
    ] {
        for place in 0..3 {
            let running = Running::start(LONG);
            let processes = running.processes();
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
fn without_the_starter_no_process_is_left() {
    for (name, code) in [("INT", Some(130)), ("TERM", Some(130)), ("KILL", None)] {
        let running = Running::start(LONG);
        if name == "KILL" {
            signal(running.processes()[1], "STOP");
        }
        signal(running.starter.id(), name);
        let (ended, out, err) = running.finish();
        assert_eq!(ended, code, "{name}: {err}");
        assert!(out.is_empty(), "{name}");
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
    // Connections to every port that palais opens, as soon as it does.
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let stop = home.path().join("stop");
    let mark = format!("PALAIS_TEST_MARK={}", home.path().display());
    let sql = "SELECT count(*), sum(range) FROM range(1000000)";
    thread::scope(|scope| {
        let (stopped, marked) = (stop.clone(), mark.clone());
        let strangers = scope.spawn(move || {
            let (mut held, mut met) = (Vec::new(), 0);
            while !stopped.exists() {
                for port in listening(&marked) {
                    let near = Duration::from_millis(50);
                    if let Ok(mut socket) = TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), near) {
                        let _ = socket.write_all(b"palais\0\x01 and nothing else");
                        held.push(socket);
                        met += 1;
                    }
                }
                held.truncate(300);
            }
            met
        });
        let (name, value) = mark.split_once('=').expect("it has a sign");
        let all: Vec<Finished> = (0..10)
            .map(|_| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
                run(command.args(["cluster", "run", "--local", "3", "--workers", "1", sql]).env(name, value))
            })
            .collect();
        fs::write(&stop, "").expect("it can be written");
        for done in all {
            assert_eq!(done.code(), Some(0), "{}", done.stderr);
            assert!(done.stdout.ends_with("\n1000000,499999500000\n"), "{}", done.stdout);
        }
        assert!(strangers.join().expect("the thread ends") > 0, "strangers have connected");
    });
}
