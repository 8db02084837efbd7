//! Nodes: daemons that run queries for others, several at once, and whatever happens to one of them an error that names it.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use compare::{same, sorted};
use nodes::{LONG, Nodes, Waiting, signal, wait_for};
use process::{palais, run};
use several::{succeed, text};

#[path = "support/cells.rs"]
mod cells;
#[path = "support/close.rs"]
mod close;
#[path = "support/compare.rs"]
mod compare;
#[path = "support/nodes.rs"]
mod nodes;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

fn visits(home: &Path) -> PathBuf {
    let data = home.join("data");
    succeed(&["generate", text(&data), "--set", "tiny", "--to", "csv", "--parts", "4"]);
    data
}

#[test]
fn answers_of_nodes_are_those_of_one_process() {
    let nodes = Nodes::start(3, "");
    let data = visits(nodes.home.path());
    let input = ["--data", text(&data), "--format", "csv"];
    for (node, query) in ["1b", "2a", "2c", "3b"].iter().enumerate() {
        let sql = queries::bdb::sql(query, "cat").expect("it is a query of the benchmark");
        let expected = sorted(&succeed(&[&["query", &sql], &input[..]].concat()).stdout);
        let done = nodes.succeed(node % 3, &[&[sql.as_str()], &input[..]].concat());
        assert!(same(&sorted(&done.stdout), &expected), "{query}");
    }
    let file = nodes.path("x.buren");
    for (sql, part) in [
        ("SELECT pageRank FROM rankings ORDER BY pageRank DESC LIMIT 3", "pageRank\n"),
        ("SHOW TABLES", "uservisits"),
        ("DESCRIBE rankings", "pageURL,VARCHAR"),
        ("EXPLAIN ANALYZE SELECT count(*) FROM uservisits", "by 3 workers"),
        ("SUMMARIZE SELECT pageRank FROM rankings", "pageRank,INT"),
        ("SELECT count(*) FROM range(0)", "count(*)\n0\n"),
        ("SELECT * FROM range(0)", "range\n"),
    ] {
        let done = nodes.succeed(0, &[&[sql], &input[..]].concat());
        assert!(done.stdout.contains(part), "{sql}: {}", done.stdout);
    }
    // The result goes where the caller is, COPY where the query is led.
    nodes.succeed(1, &["SELECT pageRank FROM rankings", "--data", text(&data), "-o", text(&file)]);
    let copied = nodes.path("copied");
    let copy = format!("COPY (SELECT pageRank FROM rankings) TO '{}/' (FORMAT csv)", copied.display());
    let done = nodes.succeed(1, &[&copy, "--data", text(&data)]);
    assert!(done.stdout.is_empty(), "{}", done.stdout);
    let counts = [&data.join("rankings"), &file, &copied].map(|place| {
        succeed(&["query", &format!("SELECT count(*), sum(pageRank) FROM '{}'", place.display())]).stdout
    });
    assert!(counts[0] == counts[1] && counts[1] == counts[2], "{counts:?}");
    nodes.wait_until_idle();
}

#[test]
fn errors_are_told_with_their_place_and_code() {
    let nodes = Nodes::start(2, "");
    for (sql, code, part) in [
        ("SELECT * FROM 'nowhere.csv'", 1, "nowhere.csv: there is no such file"),
        ("SELECT 9223372036854775807 + range FROM range(5)", 1, "host: 127.0.0.1"),
        ("SELEC 1", 1, "SQL syntax"),
        ("SELECT * FROM '-'", 2, "standard input can't be read"),
    ] {
        let done = nodes.query(1, &[sql]);
        assert_eq!(done.code(), Some(code), "{sql}: {}", done.stderr);
        assert!(done.stderr.starts_with("error: ") && done.stderr.contains(part), "{sql}: {}", done.stderr);
        assert!(done.stdout.is_empty(), "{sql}");
    }
}

#[test]
fn queries_wait_for_their_turn_and_can_be_cancelled() {
    let nodes = Nodes::start(2, "queries = 1");
    let long = nodes.spawn(0, LONG);
    nodes.wait_for(2);
    // Asked at different nodes, which must not wait for each other.
    let others: Vec<Waiting> =
        (0..4).map(|i| nodes.spawn(i % 2, "SELECT sum(range) FROM range(1000)")).collect();
    wait_for("queries wait", || {
        nodes.status().iter().any(|row| row[1].as_deref().is_some_and(|state| state.contains("waiting")))
    });
    let running = nodes.running();
    let (_, _, query) = running.iter().find(|(_, state, _)| state == "runs").expect("one runs");
    let at = nodes.at(1);
    let at: Vec<&str> = at.iter().map(String::as_str).collect();
    succeed(&[&["cluster", "cancel", query], &at[..]].concat());
    let (code, text) = long.finish();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the query was cancelled"), "{text}");
    for other in others {
        let (code, text) = other.finish();
        assert_eq!((code, text.ends_with("\n499500\n")), (Some(0), true), "{text}");
    }
    nodes.wait_until_idle();
    let none = palais([&["cluster", "cancel", query], &at[..]].concat());
    assert!(none.code() == Some(1) && none.stderr.contains("no query"), "{}", none.stderr);
}

#[test]
fn a_query_that_dies_takes_no_other_with_it() {
    let nodes = Nodes::start(2, "queries = 2");
    let first = nodes.spawn(0, LONG);
    nodes.wait_for(2);
    let (theirs, second) = (nodes.children(1, "process"), nodes.spawn(1, LONG));
    nodes.wait_for(4);
    signal(theirs[0], "KILL");
    let (code, text) = first.finish();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains(&nodes.addresses[1]) && text.contains("was killed (signal 9"), "{text}");
    nodes.wait_for(2);
    nodes.succeed(0, &["SELECT 1"]);
    // Whoever waits for a query ends it, stopped processes too.
    signal(nodes.children(0, "process")[0], "STOP");
    signal(second.child.id(), "KILL");
    wait_for("nothing is left", || {
        (0..2).all(|node| ["lead", "process"].iter().all(|part| nodes.children(node, part).is_empty()))
    });
}

#[test]
fn a_caller_is_told_how_the_process_ended_that_led_its_query() {
    let mut nodes = Nodes::start(2, "");
    let waits = nodes.spawn(0, LONG);
    nodes.wait_for(2);
    signal(nodes.children(0, "lead")[0], "KILL");
    let (code, text) = waits.finish();
    let says = format!("error: {}: the process was killed (signal 9", nodes.addresses[0]);
    assert!(code == Some(1) && text.starts_with(&says), "{text}");
    nodes.wait_until_idle();
    // One whose rows nobody reads can't tell that it is cancelled.
    let mut reads = Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["query", "SELECT range FROM range(100000000)", "--format", "csv"])
        .args(nodes.at(0))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("palais starts");
    let mut first = [0; 8];
    reads.stdout.as_mut().expect("it is piped").read_exact(&mut first).expect("there are rows");
    let cancelled = nodes.ask(1, &["cluster", "cancel", &nodes.running()[0].2], &[]);
    assert_eq!(cancelled.code(), Some(0), "{}", cancelled.stderr);
    nodes.wait_until_idle();
    let done = reads.wait_with_output().expect("it can be read");
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(told, format!("error: {}: the query was cancelled\n", nodes.addresses[0]));
    assert_eq!(done.status.code(), Some(1));
    // A node that is gone can't be asked.
    let waits = nodes.spawn(0, LONG);
    nodes.wait_for(2);
    nodes.kill(0);
    let (code, text) = waits.finish();
    let says =
        ["the connection was closed before the query has ended", "it can't be asked why: Connection refused"];
    assert!(code == Some(1) && says.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn a_query_is_run_again_without_a_node_that_is_lost() {
    let mut nodes = Nodes::start(3, "");
    nodes.kill(1);
    let sum = "SELECT sum(range) FROM range(1000)";
    let done = nodes.succeed(0, &[sum, "--retries", "1"]);
    assert!(done.stdout.ends_with("\n499500\n"), "{}", done.stdout);
    let says = format!("the query is run again, without {}", nodes.addresses[1]);
    assert!(done.stderr.starts_with("warning: ") && done.stderr.contains(&says), "{}", done.stderr);
    wait_for("it is logged", || {
        fs::read_to_string(nodes.path("log-0")).expect("there is a log").contains(&says)
    });
    nodes.begin(1);
    let done = nodes.succeed(0, &[sum, "--retries", "1"]);
    assert!(done.stderr.is_empty(), "{}", done.stderr);
}

/// Has the first node look for another one somewhere else.
fn look_elsewhere(nodes: &mut Nodes, node: usize, address: &str) {
    let file = nodes.path("node-0.toml");
    let config = fs::read_to_string(&file).expect("it can be read");
    fs::write(&file, config.replace(&nodes.addresses[node], address)).expect("it can be written");
    nodes.kill(0);
    nodes.begin(0);
}

#[test]
fn a_node_whose_name_is_gone_is_left_out_like_one_that_is_lost() {
    // As that of a container that has ended. Nobody is asked for a name of which a part is missing.
    let gone = "gone..example:7700";
    let mut nodes = Nodes::start(3, "");
    look_elsewhere(&mut nodes, 1, gone);
    let says = format!("{gone}: there is no such address");
    let out = nodes.path("out");
    let generate = ["cluster", "generate"];
    let (rows, files) = (["SELECT sum(range) FROM range(1000)"], [text(&out), "--rankings", "100"]);
    for (command, arguments) in [(&["query"][..], &rows[..]), (&generate, &files)] {
        let done = nodes.ask(0, command, arguments);
        assert!(done.code() == Some(1) && done.stderr.contains(&says), "{}", done.stderr);
        let done = nodes.ask(0, command, &[arguments, &["--retries", "1"]].concat());
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        assert!(done.stderr.contains(&format!("again, without {gone}")), "{}", done.stderr);
    }
    assert!(nodes.status().iter().any(|row| row[1].as_deref() == Some("there is no such address")));
}

#[test]
fn a_node_that_answers_byte_by_byte_does_not_hide_the_others() {
    let slow = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = slow.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for mut socket in slow.incoming().flatten() {
            thread::spawn(move || {
                while socket.write_all(&[0]).is_ok() {
                    thread::sleep(Duration::from_millis(500));
                }
            });
        }
    });
    let mut nodes = Nodes::start(2, "");
    look_elsewhere(&mut nodes, 1, &address);
    let states: Vec<_> = nodes.status().into_iter().map(|row| row[1].clone().unwrap_or_default()).collect();
    assert_eq!(states, ["0 of 4 queries", "nothing was heard for 2 seconds"]);
}

#[test]
fn a_node_that_is_gone_is_named_and_comes_back() {
    let mut nodes = Nodes::start(3, "");
    let long = nodes.spawn(0, LONG);
    nodes.wait_for(3);
    nodes.kill(2);
    let (code, text) = long.finish();
    assert_eq!(code, Some(1), "{text}");
    let says = format!("error: {}: its process was lost, and it can't be asked why: ", nodes.addresses[2]);
    assert!(text.starts_with(&says), "{text}");
    assert!(nodes.children(2, "process").is_empty(), "a daemon's processes go with it");
    let done = nodes.query(0, &["SELECT 1"]);
    assert!(done.code() == Some(1) && done.stderr.contains(&nodes.addresses[2]), "{}", done.stderr);
    let gone = nodes.status().into_iter().find(|row| row[0].as_ref() == Some(&nodes.addresses[2]));
    assert!(gone.is_some_and(|row| row[2].is_none()), "the status tells that it is gone");
    nodes.begin(2);
    nodes.succeed(0, &["SELECT 1"]);
}

#[test]
fn who_has_no_token_is_not_served() {
    let nodes = Nodes::start(1, "");
    fs::write(nodes.path("other"), "another text that is long enough to be one").expect("it can be written");
    let other = nodes.path("other");
    let done = palais(["query", "--cluster", &nodes.addresses[0], "--token-file", text(&other), "SELECT 1"]);
    assert!(done.code() == Some(1) && done.stderr.contains("token"), "{}", done.stderr);
    // Strangers: some that send what they like, some that say nothing.
    let mut silent = Vec::new();
    for round in 0..300 {
        let Ok(mut socket) = TcpStream::connect(&nodes.addresses[0]) else { continue };
        let bytes: Vec<u8> = (0..round * 7).map(|i| (i * 31 + round) as u8).collect();
        let _ = socket.write_all(&bytes);
        silent.push(socket);
    }
    // They keep nobody out.
    nodes.succeed(0, &["SELECT 1"]);
    drop(silent);
    nodes.wait_until_idle();
}

#[test]
fn metrics_tell_what_a_node_has_done() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let nodes = Nodes::start(1, &format!("metrics = \"{address}\""));
    nodes.succeed(0, &["SELECT count(*) FROM range(1000)"]);
    // Its groups do not fit.
    let large = "SELECT count(*) FROM (SELECT DISTINCT range FROM range(9000000))";
    let stats = nodes.path("stats.json");
    let done = nodes.succeed(0, &[large, "--memory-limit", "100MiB", "--stats", text(&stats)]);
    assert!(done.stdout.contains("9000000"), "{}", done.stdout);
    // The process that runs it takes the memory, not this one.
    let stats = fs::read_to_string(&stats).expect("it was written");
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("it is JSON");
    assert!(stats["peak_memory_bytes"].as_u64().is_some_and(|bytes| bytes > 16 << 20), "{stats}");
    let get = |path: &str| {
        let mut socket = TcpStream::connect(address).expect("it listens");
        write!(socket, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").expect("it listens");
        let mut text = String::new();
        socket.read_to_string(&mut text).expect("it answers");
        text
    };
    let text = get("/metrics");
    for part in [
        "200 OK",
        "palais_rows_read_total 9001000",
        "palais_queries_finished_total 2",
        "palais_bytes_received_total 0",
        "palais_processes_lost_total 0",
        "palais_queries_failed_total 0",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("palais_bytes_spilled_total 0\n") && text.contains("palais_bytes_spilled_total "));
    // One that fails, and one whose leading process is lost.
    assert_eq!(nodes.query(0, &["SELECT * FROM 'nowhere.csv'"]).code(), Some(1));
    wait_for("it is counted", || get("/metrics").contains("palais_queries_failed_total 1\n"));
    assert!(get("/metrics").contains("palais_processes_lost_total 0\n"));
    let waits = nodes.spawn(0, LONG);
    nodes.wait_for(1);
    signal(nodes.children(0, "lead")[0], "KILL");
    assert_eq!(waits.finish().0, Some(1));
    wait_for("it is counted", || get("/metrics").contains("palais_queries_failed_total 2\n"));
    assert!(!get("/metrics").contains("palais_processes_lost_total 0\n"));
    assert!(get("/").starts_with("HTTP/1.1 404"));
    // Those that say nothing keep nobody waiting.
    let silent: Vec<_> = (0..100).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    assert!(get("/metrics").contains("200 OK"));
    assert!(silent.iter().rev().take(5).all(|socket| {
        socket.set_nonblocking(true).expect("it is open");
        (&mut &*socket).read(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
    }));
    drop(silent);
}

#[test]
fn what_happens_is_logged_with_the_query_and_the_host() {
    let nodes = Nodes::start(2, "log_format = \"json\"\nlog_level = \"debug\"");
    nodes.succeed(0, &["SELECT sum(range) FROM range(1000)"]);
    let failing = nodes.query(0, &["SELECT * FROM 'nowhere.csv'"]);
    assert_eq!(failing.code(), Some(1));
    drop(TcpStream::connect(&nodes.addresses[0]));
    nodes.wait_until_idle();
    let events = |node: usize| -> Vec<serde_json::Value> {
        let text = fs::read_to_string(nodes.path(&format!("log-{node}"))).expect("there is a log");
        text.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
    };
    wait_for("all is logged", || {
        events(0).iter().any(|event| event["message"] == "a connection was refused")
    });
    let (first, second) = (events(0), events(1));
    for event in first.iter().chain(&second) {
        assert!(event["timestamp"].is_string() && event["level"].is_string(), "{event}");
    }
    assert!(first.iter().all(|event| event["host"] == nodes.addresses[0].as_str()));
    let asked: Vec<_> = first.iter().filter(|event| event["message"] == "asked to run a query").collect();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0]["statement"], "SELECT sum(range) FROM range(1000)");
    let of = |events: &[serde_json::Value], asked: &serde_json::Value, message: &str| {
        let is_one = |event: &&serde_json::Value| {
            event["query"] == asked["query"]
                && event["message"].as_str().is_some_and(|text| text.starts_with(message))
        };
        events.iter().filter(is_one).count()
    };
    for (events, processes) in [(&first, 2), (&second, 1)] {
        assert_eq!(of(events, asked[0], "a process was started"), processes);
        assert_eq!(of(events, asked[0], "did its part of a query"), 1);
    }
    assert_eq!(of(&first, asked[1], "nowhere.csv: there is no such file"), 1);
    let rows: u64 = [&first, &second]
        .iter()
        .flat_map(|events| events.iter())
        .filter_map(|event| event["rows_read"].as_u64())
        .sum();
    assert_eq!(rows, 1000);
}

#[test]
fn long_statements_are_run_and_shown_in_part() {
    let nodes = Nodes::start(1, "");
    let file = nodes.path("long.sql");
    // Longer than what a node hears before it starts a process, and than a line of a log should be.
    let long = |bytes: usize| format!("SELECT sum(range) AS s FROM range(1000) -- {}", "x".repeat(bytes));
    fs::write(&file, long(3 << 20)).expect("it can be written");
    let done = nodes.succeed(0, &["-f", text(&file)]);
    assert!(done.stdout.ends_with("\n499500\n"), "{}", done.stdout);
    fs::write(&file, long(17 << 20)).expect("it can be written");
    let done = nodes.query(0, &["-f", text(&file)]);
    assert!(done.code() == Some(1) && done.stderr.contains("the statement is too large"), "{}", done.stderr);
    let log = fs::read_to_string(nodes.path("log-0")).expect("there is a log");
    assert!(log.contains("(3145") && log.lines().all(|line| line.len() < 10_000), "{log}");
}

#[test]
fn planning_on_a_node_stays_within_the_memory_limit() {
    // Of the four queries that may run at once each has 25 MiB.
    let nodes = Nodes::start(1, "memory_limit = \"100MiB\"");
    let file = nodes.path("long.sql");
    let values: Vec<String> = (0..30_000).map(|i| format!("{i}+range")).collect();
    let sql = format!("SELECT count(*) AS n FROM range(5) WHERE range IN ({})", values.join(","));
    fs::write(&file, sql).expect("it can be written");
    // A process with the usual limit can plan it. The caller has that limit.
    assert_eq!(succeed(&["query", "-f", text(&file)]).stdout.lines().last(), Some("5"));
    let done = nodes.query(0, &["-f", text(&file)]);
    assert_eq!(done.code(), Some(1), "{}", done.stderr);
    let says = ["out of memory: planning the statement took the process to ", " of --memory-limit 25.0 MiB"];
    assert!(says.iter().all(|part| done.stderr.contains(part)), "{}", done.stderr);
    nodes.wait_until_idle();
    // The process of the node that plans has met it.
    let log = fs::read_to_string(nodes.path("log-0")).expect("there is a log");
    assert!(log.lines().any(|line| says.iter().all(|part| line.contains(part))), "{log}");
    // The node goes on.
    let done = nodes.succeed(0, &["SELECT sum(range) AS s FROM range(1000)"]);
    assert!(done.stdout.ends_with("\n499500\n"), "{}", done.stdout);
}

#[test]
fn names_do_not_reach_terminals_and_logs_as_they_are() {
    let nodes = Nodes::start(1, "log_format = \"text\"");
    let name = "a\u{1b}[31m\rb\u{9b}2J\nforged.csv";
    let file = nodes.path(name);
    // A quote that is not closed is told with the name of the file.
    fs::write(&file, "n\u{1b}]0;x\u{7},b\n1,2\n3,\"4\n").expect("it can be written");
    let sql = format!("SELECT sum(\"n\u{1b}]0;x\u{7}\"), max(b) FROM '{}'", text(&file));
    for done in [nodes.query(0, &[&sql]), palais(["query", &sql])] {
        assert_eq!(done.code(), Some(1), "{}", done.stderr);
        assert!(done.stderr.contains("a\\u001b[31m\\rb\\u009b2J\nforged.csv"), "{}", done.stderr);
        assert!(!done.stderr.contains(|c: char| c.is_control() && c != '\n'), "{:?}", done.stderr);
    }
    let wrong = palais(["query", "--format", "\u{1b}[31m"]);
    assert!(wrong.code() == Some(2) && wrong.stderr.contains("--format"), "{}", wrong.stderr);
    assert!(!wrong.stderr.contains('\u{1b}'), "{:?}", wrong.stderr);
    nodes.wait_until_idle();
    let log = fs::read_to_string(nodes.path("log-0")).expect("there is a log");
    assert!(log.contains("\\u001b[31m"), "{log}");
    assert!(!log.contains(|c: char| c.is_control() && c != '\n'), "{log:?}");
    // A message is one line, however many its names have. Each line begins with the time and the level.
    let forged: Vec<&str> = log.lines().filter(|line| line.contains("forged")).collect();
    assert_eq!(forged.len(), 2, "the statement and the error: {log}");
    assert!(forged.iter().all(|line| line.contains("2J\\nforged.csv")), "{log}");
    assert!(forged[1].contains("is never closed") && forged[1].contains("\\n  help: "), "{log}");
}

#[test]
fn a_pipe_holds_no_place_on_a_node() {
    let nodes = Nodes::start(1, "queries = 1");
    let pipe = nodes.path("pipe.csv");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("the system has mkfifo");
    assert!(made.success());
    let place = text(&pipe);
    for sql in [
        format!("SELECT * FROM '{place}'"),
        format!("COPY (SELECT 1 AS a) TO '{place}'"),
        format!("SELECT * FROM '{}'", text(&nodes.path("*.csv"))),
    ] {
        let done = nodes.query(0, &[&sql]);
        assert_eq!(done.code(), Some(1), "{sql}: {} {}", done.stdout, done.stderr);
    }
    let schema = format!("t={place}");
    fs::write(nodes.path("x.jsonl"), "{\"a\":1}\n").expect("it can be written");
    let table = format!("t={}", text(&nodes.path("x.jsonl")));
    let done = nodes.query(0, &["SELECT * FROM t", "--table", &table, "--schema", &schema]);
    assert!(done.code() == Some(1) && done.stderr.contains("regular files"), "{}", done.stderr);
    let manifest = nodes.path("set");
    fs::create_dir(&manifest).expect("it can be made");
    let made = Command::new("mkfifo").arg(manifest.join("_manifest.json")).status();
    assert!(made.expect("the system has mkfifo").success());
    let done = nodes.query(0, &[&format!("SELECT * FROM '{}'", text(&manifest))]);
    assert!(done.code() == Some(1) && done.stderr.contains("regular files"), "{}", done.stderr);
    nodes.succeed(0, &["SELECT 1"]);
}

#[test]
fn a_new_token_is_one() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let file = home.path().join("token");
    let printed = succeed(&["node", "--new-token"]).stdout;
    assert_eq!((printed.len(), printed.trim_end().len()), (65, 64), "{printed}");
    succeed(&["node", "--new-token", text(&file)]);
    let written = fs::read_to_string(&file).expect("it was written");
    assert!(written.len() == 65 && written != printed, "{written}");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).expect("it is there").permissions());
    assert_eq!(mode & 0o777, 0o600);
    let again = palais(["node", "--new-token", text(&file)]);
    assert!(again.code() == Some(1) && again.stderr.contains("can't be written"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), written);
}

#[test]
fn a_caller_that_is_silent_loses_its_query_and_the_log_tells_why() {
    let nodes = Nodes::start(1, "");
    let caller = nodes.spawn(0, LONG);
    nodes.wait_for(1);
    signal(caller.child.id(), "STOP");
    nodes.wait_until_idle();
    wait_for("it is logged", || {
        let log = fs::read_to_string(nodes.path("log-0")).expect("there is a log");
        log.contains("nothing was heard of the one who asked for 8 seconds")
    });
    signal(caller.child.id(), "CONT");
    let (code, text) = caller.finish();
    let says =
        ["the process ended with exit code 0", "  | nothing was heard of the one who asked for 8 seconds"];
    assert!(code == Some(1) && says.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn files_outside_of_the_data_root_and_scripts_are_refused() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let (inside, outside) = (home.path().join("inside"), home.path().join("outside"));
    for dir in [&inside, &outside] {
        fs::create_dir(dir).expect("it can be made");
        fs::write(dir.join("x.csv"), "a\n1\n").expect("it can be written");
    }
    std::os::unix::fs::symlink(outside.join("x.csv"), inside.join("link.csv")).expect("it can be made");
    let nodes =
        Nodes::start(2, &format!("data_root = [{:?}]\ndirectory = {:?}", text(&inside), text(&inside)));
    let sum = |place: &str| format!("SELECT sum(a) FROM '{place}'");
    nodes.succeed(0, &[&sum("x.csv")]);
    nodes.succeed(0, &[&sum(&format!("{}/x.*", inside.display()))]);
    nodes.succeed(0, &["COPY (SELECT 1 AS a) TO 'new.csv'"]);
    assert!(inside.join("new.csv").exists());
    let copy = format!("COPY (SELECT 1 AS a) TO '{}'", outside.join("new.csv").display());
    for sql in [
        sum(text(&outside.join("x.csv"))),
        sum("../outside/x.csv"),
        sum("link.csv"),
        sum(&format!("{}/*.csv", outside.display())),
        sum("/etc/*.conf"),
        copy,
    ] {
        let done = nodes.query(0, &[&sql]);
        assert!(done.code() == Some(1) && done.stderr.contains("outside"), "{sql}: {}", done.stderr);
    }
    assert!(!outside.join("new.csv").exists());
    let schema = format!("t={}", outside.join("x.csv").display());
    let done = nodes.query(0, &["SELECT * FROM t", "--table", "t=x.csv", "--schema", &schema]);
    assert!(done.code() == Some(1) && done.stderr.contains("outside"), "{}", done.stderr);
    let script = "SELECT * FROM transform('x.csv', 'cat', 'a VARCHAR')";
    let done = nodes.query(0, &[script, "--allow-scripts"]);
    assert!(done.code() == Some(1) && done.stderr.contains("allow_scripts"), "{}", done.stderr);
}

#[test]
fn what_is_wrong_with_a_node_is_told() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let file = home.path().join("node.toml");
    fs::write(home.path().join("short"), "secret\n").expect("it can be written");
    for (config, part) in [
        ("", "token_file"),
        ("token_file = \"none\"", "the token can't be read"),
        ("token_file = \"/dev/null\"", "there is no token in it"),
        ("token_file = \"short\"", "the token has 6 characters"),
        ("token_file = \"token\"\nmemory_limit = \"much\"", "memory_limit"),
    ] {
        fs::write(&file, config).expect("it can be written");
        let done = run(Command::new(env!("CARGO_BIN_EXE_palais")).current_dir(home.path()).args([
            "node",
            "--config",
            text(&file),
        ]));
        assert_ne!(done.code(), Some(0), "{config}");
        assert!(done.stderr.contains(part), "{config}: {}", done.stderr);
    }
    let done = palais(["query", "--cluster", "127.0.0.1:1", "--token-file", text(&file), "SELECT 1"]);
    assert!(done.code() == Some(1) && done.stderr.contains("127.0.0.1:1"), "{}", done.stderr);
    let done = palais(["query", "--cluster", "127.0.0.1:1", "SELECT 1"]);
    assert!(done.code() == Some(2) && done.stderr.contains("--token-file"), "{}", done.stderr);
}
