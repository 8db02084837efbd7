//! Files that nodes make: the bytes of one process, or an error that names the node, with nothing left behind.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kept::only_these_are_kept;
use names::names;
use nodes::{LONG, Nodes, Waiting, signal, wait_for};
use process::Finished;
use several::{succeed, text};
use trees::assert_same;

#[path = "support/cells.rs"]
mod cells;
#[path = "support/kept.rs"]
mod kept;
#[path = "support/names.rs"]
mod names;
#[path = "support/nodes.rs"]
#[allow(dead_code, reason = "other tests look at queries")]
mod nodes;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;
#[path = "support/trees.rs"]
mod trees;

const GENERATE: [&str; 2] = ["cluster", "generate"];
const CONVERT: [&str; 2] = ["cluster", "convert"];

/// A table that takes long, in many files.
const MANY: [&str; 4] = ["--rankings", "3000000000", "--parts", "3000"];

fn made(nodes: &Nodes, node: usize, command: &[&str], arguments: &[&str]) -> Finished {
    let done = nodes.ask(node, command, arguments);
    assert_eq!(done.code(), Some(0), "{arguments:?} {}: {}", done.ending(), done.stderr);
    done
}

fn refused(done: &Finished, code: i32, parts: &[&str]) {
    assert_eq!(done.code(), Some(code), "{}: {}", done.ending(), done.stderr);
    assert!(parts.iter().all(|part| done.stderr.contains(part)), "{parts:?}: {}", done.stderr);
    assert_eq!(done.stderr.matches("error:").count(), 1, "{}", done.stderr);
}

/// Where nodes make files, and nobody else does.
fn place(nodes: &Nodes) -> PathBuf {
    let place = nodes.path("place");
    fs::create_dir(&place).expect("it can be made");
    place
}

/// Begins what takes long in `place/new/er`, and waits until all nodes have begun.
fn long(nodes: &Nodes, place: &Path, node: usize) -> Waiting {
    let to = place.join("new").join("er");
    let waiting = nodes.wait_for_command(node, &GENERATE, &[&[text(&to)], &MANY[..]].concat());
    wait_for_all(nodes, &to, 3000);
    waiting
}

/// Waits until all nodes have begun a table of so many parts, in a directory.
fn wait_for_all(nodes: &Nodes, to: &Path, parts: usize) {
    // Each writes its own files: those of the last one have the highest numbers.
    let begun = |first: usize| {
        let entries = fs::read_dir(to).into_iter().flatten().flatten();
        let tables = entries.filter(|table| table.file_name().to_string_lossy().contains(".partial-"));
        let mut files = tables.flat_map(|table| fs::read_dir(table.path()).into_iter().flatten().flatten());
        let number = |name: &str| name.strip_prefix("part-")?.split('.').next()?.parse::<usize>().ok();
        files.any(|file| file.file_name().to_str().and_then(number).is_some_and(|number| number >= first))
    };
    let all = nodes.addresses.len();
    wait_for("the last node has begun", || begun(parts * (all - 1) / all));
}

fn nothing_is_left(nodes: &Nodes, place: &Path) {
    let left = |node| ["lead", "process"].iter().any(|part| !nodes.children(node, part).is_empty());
    wait_for("no process is left", || !(0..nodes.addresses.len()).any(left));
    only_these_are_kept(place, &[]);
}

#[test]
fn files_have_the_bytes_of_one_process() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    let nodes = Nodes::start(3, &format!("directory = {:?}", text(home.path())));
    let flags = ["--rankings", "3000", "--uservisits", "40000", "--parts", "7", "--compression", "gzip"];
    succeed(&[&["generate", text(&path("one"))][..], &flags].concat());
    // Relative paths begin where the nodes say.
    let done = made(&nodes, 1, &GENERATE, &[&["three"], &flags[..]].concat());
    for part in ["rankings: 3,000 rows", "uservisits: 40,000 rows", " in 7 files"] {
        assert!(done.stderr.contains(part) && done.stdout.is_empty(), "{part}: {}", done.stderr);
    }
    assert_same(&path("one"), &path("three"));
    let source = path("one").join("uservisits");
    let flags = ["--to", "buren", "--workers", "1"];
    succeed(&[&["convert", text(&source), text(&path("buren-1"))][..], &flags].concat());
    let done = made(&nodes, 2, &CONVERT, &[&["one/uservisits", "buren-3", "--verify"], &flags[..]].concat());
    assert!(done.stderr.contains("buren-3, verified: 40,000 rows"), "{}", done.stderr);
    assert_same(&path("buren-1"), &path("buren-3"));
    nodes.wait_until_idle();
    // What is passed over is told to the caller.
    fs::write(path("bad.csv"), "a\n1\nx\n3\n").expect("it can be written");
    fs::write(path("bad.sql"), "CREATE TABLE bad (a BIGINT);").expect("it can be written");
    let skip = ["bad.csv", "good", "--to", "csv", "--schema", "bad=bad.sql", "--on-error", "skip"];
    let done = made(&nodes, 0, &CONVERT, &skip);
    assert!(done.stderr.contains("warning: 1 rows left out"), "{}", done.stderr);
    // Usage is that of several processes.
    for (from, to, says) in [
        ("bad.csv", "x.buren", "x.buren is one file"),
        ("bad.csv", "-", "convert writes files"),
        ("-", "out", "standard input can't be read"),
        ("/dev/null", "out", "/dev/null can't be read"),
    ] {
        refused(&nodes.ask(0, &CONVERT, &[from, to, "--to", "buren"]), 2, &[says]);
    }
    refused(&nodes.ask(0, &GENERATE, &["three", "--rankings", "10"]), 1, &["--overwrite", "host: 127.0.0.1"]);
    refused(&nodes.ask(0, &GENERATE, &["x", "--rankings", "10", "--local", "2"]), 2, &["--local"]);
    assert_eq!(names(home.path()), ["bad.csv", "bad.sql", "buren-1", "buren-3", "good", "one", "three"]);
}

#[test]
fn nothing_outside_of_the_data_root_is_read_or_written() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let (inside, outside) = (home.path().join("inside"), home.path().join("outside"));
    for dir in [&inside, &outside] {
        fs::create_dir(dir).expect("it can be made");
        fs::write(dir.join("x.csv"), "a\n1\n").expect("it can be written");
    }
    std::os::unix::fs::symlink(outside.join("x.csv"), inside.join("link.csv")).expect("it can be made");
    std::os::unix::fs::symlink(&outside, inside.join("door")).expect("it can be made");
    let nodes =
        Nodes::start(2, &format!("data_root = [{:?}]\ndirectory = {:?}", text(&inside), text(&inside)));
    made(&nodes, 0, &CONVERT, &["x.csv", "new/y", "--to", "jsonl"]);
    made(&nodes, 0, &GENERATE, &[text(&inside.join("data")), "--rankings", "100"]);
    let there = |name: &str| text(&outside.join(name)).to_string();
    let (file, glob, new) = (there("x.csv"), there("*.csv"), there("new"));
    let schema = format!("x={file}");
    for arguments in [
        &[&file, "out"][..],
        &["../outside/x.csv", "out"],
        &["link.csv", "out"],
        &["door", "out"],
        &["door/*.csv", "out"],
        &[&glob, "out"],
        &["/dev/null", "out"],
        &["x.csv", "out", "--schema", &schema],
        &["x.csv", &new],
        &["x.csv", "../outside/new"],
        &["x.csv", "door/new"],
        &["x.csv", "/dev/null"],
        &["x.csv", "door", "--overwrite"],
    ] {
        let done = nodes.ask(0, &CONVERT, &[arguments, &["--to", "jsonl"]].concat());
        refused(&done, 1, &["outside of the directories"]);
    }
    for directory in [new.as_str(), "../outside/new", "door/new", "/"] {
        let done = nodes.ask(1, &GENERATE, &[directory, "--rankings", "100"]);
        refused(&done, 1, &["outside of the directories"]);
    }
    assert_eq!(names(&outside), ["x.csv"]);
    assert_eq!(names(&inside), ["data", "door", "link.csv", "new", "x.csv"]);
}

#[test]
fn what_is_ended_half_way_leaves_nothing() {
    let nodes = Nodes::start(3, "");
    let place = place(&nodes);
    for (node, name, code) in [(0, "INT", Some(130)), (1, "KILL", None)] {
        let waiting = long(&nodes, &place, node);
        signal(waiting.child.id(), name);
        let (ended, text) = waiting.finish();
        assert_eq!(ended, code, "{text}");
        nothing_is_left(&nodes, &place);
    }
    let waiting = long(&nodes, &place, 2);
    let (_, _, query) = nodes.running().pop().expect("it runs");
    assert_eq!(nodes.ask(1, &["cluster", "cancel"], &[&query]).code(), Some(0));
    let (code, text) = waiting.finish();
    assert!(code == Some(1) && text.contains("the query was cancelled"), "{text}");
    nothing_is_left(&nodes, &place);
    // One process, and one that is stopped.
    for (signalled, says) in [("KILL", "was killed (signal 9"), ("STOP", "nothing was heard")] {
        let waiting = long(&nodes, &place, 0);
        signal(nodes.children(2, "process")[0], signalled);
        let (code, text) = waiting.finish();
        assert!(code == Some(1) && text.contains(&nodes.addresses[2]) && text.contains(says), "{text}");
        nothing_is_left(&nodes, &place);
    }
}

#[test]
fn a_node_that_is_killed_is_named_and_leaves_nothing() {
    let mut nodes = Nodes::start(3, "");
    let place = place(&nodes);
    // The first node makes the directory, and the one that is asked leads.
    for (asked, killed) in [(0, 2), (1, 0), (1, 1)] {
        let waiting = long(&nodes, &place, asked);
        let start = Instant::now();
        nodes.kill(killed);
        let (code, text) = waiting.finish();
        assert!(start.elapsed() < Duration::from_secs(600), "{:?}", start.elapsed());
        assert_eq!(code, Some(1), "{text}");
        assert!(text.starts_with("error: ") && text.contains(&nodes.addresses[killed]), "{text}");
        // Who leads it can't tell any more how far it was.
        assert_eq!(text.contains("help: look whether the files are there"), asked == killed, "{text}");
        nothing_is_left(&nodes, &place);
        nodes.begin(killed);
    }
}

#[test]
fn what_a_lost_node_did_not_make_is_made_again() {
    let mut nodes = Nodes::start(3, "");
    let place = place(&nodes);
    let flags = ["--rankings", "2000", "--uservisits", "800000", "--parts", "30", "--compression", "gzip"];
    let one = nodes.path("one");
    succeed(&[&["generate", text(&one)][..], &flags].concat());
    // One process is lost in the second table: the first one is there already.
    let out = place.join("out");
    let again = ["--retries", "1"];
    let waiting = nodes.wait_for_command(0, &GENERATE, &[&[text(&out)], &flags[..], &again].concat());
    wait_for("the first table is there", || out.join("rankings").exists());
    wait_for_all(&nodes, &out, 30);
    signal(nodes.children(1, "process")[0], "KILL");
    let (code, told) = waiting.finish();
    assert_eq!(code, Some(0), "{told}");
    let says = format!("the files are made again, without {}", nodes.addresses[1]);
    assert!(told.contains("warning: ") && told.contains(&says), "{told}");
    assert_eq!(told.matches("rankings: 2,000 rows").count(), 1, "{told}");
    assert_same(&one, &out);
    // A node that is away.
    nodes.kill(2);
    let convert = [text(&one.join("rankings")).to_string(), text(&place.join("pages")).to_string()];
    let convert = [&*convert[0], &convert[1], "--to", "csv", "--compression", "gzip"];
    refused(&nodes.ask(0, &CONVERT, &convert), 1, &[&nodes.addresses[2]]);
    let done = made(&nodes, 0, &CONVERT, &[&convert[..], &again].concat());
    assert!(done.stderr.contains(&format!("without {}", nodes.addresses[2])), "{}", done.stderr);
    let pages = nodes.path("pages");
    succeed(&["convert", convert[0], text(&pages), "--to", "csv", "--compression", "gzip"]);
    assert_same(&pages, &place.join("pages"));
    // What fails by itself is not tried again.
    let done = nodes.ask(0, &CONVERT, &[&convert[..], &["--retries", "5"]].concat());
    assert!(done.code() == Some(1) && done.stderr.contains("--overwrite"), "{}", done.stderr);
    only_these_are_kept(&place, &["out", "pages"]);
}

#[test]
fn what_fails_on_one_node_is_told_with_file_and_node() {
    let nodes = Nodes::start(3, "");
    let place = place(&nodes);
    let data = nodes.path("data");
    succeed(&["generate", text(&data), "--rankings", "60000", "--parts", "6"]);
    let source = data.join("rankings");
    let mut addresses = nodes.addresses.clone();
    addresses.sort();
    for (number, node) in [("0", &addresses[0]), ("5", &addresses[2])] {
        let part = source.join(format!("part-0000{number}.csv"));
        let whole = fs::read(&part).expect("it can be read");
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        fs::write(&part, damaged).expect("it can be written");
        let out = place.join("new").join("out");
        let done = nodes.ask(1, &CONVERT, &[text(&source), text(&out), "--to", "buren"]);
        refused(&done, 1, &[&format!("part-0000{number}.csv"), &format!("host: {node}")]);
        nothing_is_left(&nodes, &place);
        fs::write(&part, whole).expect("it can be written");
    }
}

#[test]
fn they_wait_for_their_turn_and_count_like_queries() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let metrics = free.expect("loopback is there");
    let nodes = Nodes::start(1, &format!("queries = 1\nmetrics = \"{metrics}\""));
    let query = nodes.spawn(0, LONG);
    nodes.wait_for(1);
    let out = nodes.path("out");
    let flags = ["--rankings", "1000", "--uservisits", "1000", "--documents", "100kB"];
    let waiting = nodes.wait_for_command(0, &GENERATE, &[&[text(&out)], &flags[..]].concat());
    let is_told =
        |row: &[Option<String>]| row[6].as_deref().is_some_and(|what| what.contains("cluster generate"));
    wait_for("it is shown", || nodes.status().iter().any(|row| is_told(row)));
    wait_for("it waits", || {
        nodes.status().iter().any(|row| row[1].as_deref().is_some_and(|state| state.contains("1 waiting")))
    });
    assert!(!out.exists());
    signal(query.child.id(), "KILL");
    let (code, text) = waiting.finish();
    assert!(code == Some(0) && text.contains("documents: "), "{text}");
    assert_eq!(names(&out), ["documents", "rankings", "uservisits"]);
    let text = get(metrics);
    for part in ["palais_queries_finished_total 1\n", "palais_queries_waiting 0\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The metrics of a node.
fn get(address: std::net::SocketAddr) -> String {
    use std::io::{Read, Write};
    let mut socket = TcpStream::connect(address).expect("it listens");
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("it listens");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("it answers");
    text
}
