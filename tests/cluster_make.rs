//! Files that several processes make: the rows and the bytes of one process, or an error that says where, with nothing
//! left behind.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kept::only_these_are_kept;
use names::names;
use process::{Finished, palais};
use several::{succeed, text};
use trees::assert_same;

#[path = "support/kept.rs"]
mod kept;
#[path = "support/names.rs"]
mod names;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;
#[path = "support/trees.rs"]
mod trees;

/// The flags of so many processes of this machine.
fn local(processes: &'static str) -> [&'static str; 6] {
    ["--local", processes, "--workers", "2", "--timeout", "120"]
}

/// What the parts of a dataset hold, one after another.
fn contents(directory: &Path) -> String {
    let parts = names(directory).into_iter().filter(|name| name != "_manifest.json");
    parts.map(|part| fs::read_to_string(directory.join(part)).expect("it can be read")).collect()
}

fn refused(done: &Finished, code: i32, parts: &[&str]) {
    assert_eq!(done.code(), Some(code), "{}: {}", done.ending(), done.stderr);
    assert!(parts.iter().all(|part| done.stderr.contains(part)), "{parts:?}: {}", done.stderr);
    assert_eq!(done.stderr.matches("error:").count(), 1, "{}", done.stderr);
}

/// How long something may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until there is something.
fn wait_for<T>(what: &str, found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    let mut found = std::iter::repeat_with(found);
    loop {
        match found.next().flatten() {
            Some(found) => return found,
            None => assert!(Instant::now() < deadline, "{what}"),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// `palais cluster` that runs.
struct Running {
    coordinator: Child,
    told: tempfile::NamedTempFile,
}

impl Running {
    fn start(arguments: &[&str]) -> Running {
        Running::command(&[&["generate"], arguments].concat())
    }

    fn command(arguments: &[&str]) -> Running {
        let told = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        let err = told.as_file().try_clone().expect("a file can be shared");
        let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
        command.arg("cluster").args(arguments).stdin(Stdio::null()).stderr(err);
        Running { coordinator: command.spawn().expect("palais starts"), told }
    }

    /// The process that writes something, once it has begun in a directory: it has its number in the name.
    fn first(&self, directory: &Path, name: &str) -> u32 {
        let prefix = format!(".{name}.partial-");
        wait_for("it is begun", || {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok()).next()
        })
    }

    /// The processes that were started.
    fn processes(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").expect("the system has /proc").flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let parent = |id: &u32| {
            let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
            status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
        };
        ids.filter(|id| parent(id) == Some(self.coordinator.id())).collect()
    }

    /// Waits until it has ended; its code and what it told.
    fn finish(mut self) -> (Option<i32>, String) {
        let ended =
            wait_for("it has ended", || self.coordinator.try_wait().expect("a child can be waited for"));
        (ended.code(), fs::read_to_string(self.told.path()).expect("it can be read"))
    }
}

/// Kills a process, which may have ended: the coordinator ends the others as soon as one of them is lost.
fn kill(process: u32) {
    let killed = Command::new("kill").args(["-KILL", &process.to_string()]).stderr(Stdio::null()).status();
    killed.expect("kill starts");
}

#[test]
fn what_a_lost_process_did_not_make_is_made_again() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    let hosts = path("hosts.toml");
    let host = |name| format!("[[host]]\nname = \"{name}\"\naddress = \"127.0.0.1\"\n");
    fs::write(&hosts, ["one", "two", "three"].map(host).concat()).expect("it can be written");
    let flags = ["--rankings", "2000", "--uservisits", "800000", "--parts", "30", "--compression", "gzip"];
    succeed(&[&["generate", text(&path("whole"))][..], &flags].concat());
    let retries = ["--workers", "1", "--timeout", "120", "--retries", "1"];
    for (out, place) in [("local", ["--local", "3"]), ("hosts", ["--hosts", text(&hosts)])] {
        let out = path(out);
        let running = Running::start(&[&[text(&out)], &flags[..], &place, &retries].concat());
        // One process is lost in the second table: the first one is there already.
        let first = running.first(&out, "uservisits");
        let others: Vec<u32> = running.processes().into_iter().filter(|id| *id != first).collect();
        assert_eq!(others.len(), 2);
        kill(others[1]);
        let (code, told) = running.finish();
        assert_eq!(code, Some(0), "{told}");
        let says = ["warning: ", "was killed (signal 9", "the files are made again"];
        assert!(says.iter().all(|says| told.contains(says)), "{told}");
        assert_eq!(told.matches("rankings: 2,000 rows").count(), 1, "{told}");
        assert_same(&path("whole"), &out);
    }
    only_these_are_kept(home.path(), &["hosts", "hosts.toml", "local", "whole"]);
}

#[test]
fn nothing_is_left_of_what_was_written_by_those_that_are_killed() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    let rows = "SELECT range, range % 7 FROM range(0, 100000000000)";
    let copy = format!("COPY ({rows}) TO '{}/' (FORMAT csv)", path("copy").display());
    let (made, output) = (path("deep/made"), path("output.csv"));
    let generate = ["generate", text(&made), "--rankings", "90000000", "--parts", "90"];
    let of_coordinator = ["run", rows, "--output", text(&output)];
    for (directory, name, command) in [
        (made.as_path(), "rankings", &generate[..]),
        (home.path(), "copy", &["run", &copy]),
        (home.path(), "output.csv", &of_coordinator),
    ] {
        for all in [false, true] {
            let mut running = Running::command(&[command, &local("2")].concat());
            running.first(directory, name);
            if all {
                running.processes().into_iter().for_each(kill);
                let (code, told) = running.finish();
                assert!(code == Some(1) && told.contains("was killed (signal 9"), "{told}");
            } else {
                running
                    .coordinator
                    .kill()
                    .and_then(|()| running.coordinator.wait())
                    .expect("it can be killed");
            }
            only_these_are_kept(home.path(), &[]);
        }
    }
}

#[test]
fn tables_are_generated_with_the_bytes_of_one_process() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let sizes = ["--rankings", "3000", "--uservisits", "40000", "--documents", "2MB", "--seed", "7"];
    // With more files than processes, and with fewer.
    for (to, compression, parts) in [("csv", "gzip", "7"), ("buren", "none", "2")] {
        let (one, three) = (home.path().join(format!("{to}-1")), home.path().join(format!("{to}-3")));
        let flags = [&sizes[..], &["--to", to, "--compression", compression, "--parts", parts]].concat();
        succeed(&[&["generate", text(&one)][..], &flags].concat());
        let done = succeed(&[&["cluster", "generate", text(&three)][..], &flags, &local("3")].concat());
        assert!(done.stderr.contains("uservisits: 40,000 rows"), "{}", done.stderr);
        assert_same(&one, &three);
    }
}

#[test]
fn files_are_converted_with_the_bytes_of_one_process() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    succeed(&["generate", text(&path("data")), "--set", "tiny", "--parts", "6", "--compression", "zstd"]);
    let source = path("data").join("uservisits");
    for (to, compression) in [("buren", "none"), ("csv", "lz4"), ("parquet", "zstd")] {
        let (one, two) = (path(&format!("{to}-1")), path(&format!("{to}-2")));
        let flags = ["--to", to, "--compression", compression];
        succeed(&[&["convert", text(&source), text(&one)][..], &flags].concat());
        let several = ["cluster", "convert", text(&source), text(&two), "--verify"];
        let done = succeed(&[&several[..], &flags, &local("2")].concat());
        assert!(done.stderr.contains(&format!("{to}-2, verified: 10,000 rows")), "{}", done.stderr);
        assert_same(&one, &two);
    }
}

#[test]
fn one_file_is_divided_and_its_rows_keep_their_order() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    // Newlines stand inside of quotes wherever the file is divided.
    let mut lines = String::new();
    for row in 0..1_500_000 {
        lines += &format!("{row},\"a \"\"text\"\",\n{}\n, of several lines\"\n", row % 977);
    }
    fs::write(path("x.csv"), format!("a,b\n{lines}")).expect("it can be written");
    let csv = ["--to", "csv", "--no-header"];
    succeed(&["convert", text(&path("x.csv")), text(&path("x.jsonl"))]);
    let visits = ["--rankings", "1000", "--uservisits", "1000000", "--parts", "1"];
    succeed(&[&["generate", text(&path("data"))][..], &visits, &["--to", "buren"]].concat());
    let groups = path("data").join("uservisits");
    succeed(&[&["convert", text(&groups), text(&path("visits"))][..], &csv].concat());
    for (source, rows, processes, parts) in [
        (path("x.csv"), &lines, "3", 3),
        (path("x.jsonl"), &lines, "2", 2),
        (groups, &contents(&path("visits")), "2", 2),
    ] {
        let (out, shown) = (path("out"), source.display());
        let several = ["cluster", "convert", text(&source), text(&out), "--verify"];
        let done = succeed(&[&several[..], &csv, &local(processes)].concat());
        assert!(done.stderr.contains("out, verified: "), "{}", done.stderr);
        assert_eq!(names(&out).len(), parts + 1, "{shown}: {:?}", names(&out));
        assert!(&contents(&out) == rows, "{shown} has other rows");
        // The parts are one dataset.
        let count = |table: &Path| {
            let sql = format!("SELECT count(*) FROM '{}'", table.display());
            succeed(&["query", &sql, "--format", "csv"]).stdout
        };
        assert_eq!(count(&out), count(&source), "{shown}");
        fs::remove_dir_all(&out).expect("it was written");
    }
}

#[test]
fn bad_rows_of_a_divided_file_are_counted_once() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    let (rows, bad) = (300_000, [10, 250_000, 299_999]);
    let mut lines = "a,b\n".to_string();
    for row in 0..rows {
        let number = if bad.contains(&row) { "x".to_string() } else { row.to_string() };
        lines += &format!("{number},\"{}\n, of several lines\"\n", "text ".repeat(10));
    }
    fs::write(path("t.csv"), lines).expect("it can be written");
    fs::write(path("t.sql"), "CREATE TABLE t (a BIGINT, b VARCHAR)").expect("it can be written");
    let (source, schema) = (path("t.csv"), format!("t={}", path("t.sql").display()));
    for (on_error, written, told) in [
        ("skip", rows - bad.len(), "warning: 3 rows left out, "),
        ("null", rows, "warning: 3 values read as NULL, "),
    ] {
        let flags = ["--schema", &schema, "--on-error", on_error, "--to", "csv", "--no-header"];
        let [one, two] = ["one", "two"].map(|name| path(&format!("{on_error}-{name}")));
        let here = succeed(&[&["convert", text(&source), text(&one)], &flags[..]].concat());
        let several = ["cluster", "convert", text(&source), text(&two)];
        let there = succeed(&[&several[..], &flags, &local("2")].concat());
        for done in [here, there] {
            assert_eq!(done.stderr.matches("warning: ").count(), 1, "{}", done.stderr);
            assert!(done.stderr.contains(told), "{}", done.stderr);
        }
        assert_eq!(names(&two).len(), 2 + 1, "the file is divided: {:?}", names(&two));
        assert!(contents(&one) == contents(&two), "{on_error}: other rows");
        assert_eq!(contents(&two).matches("of several lines").count(), written);
    }
}

#[test]
fn what_is_there_stays_unless_it_may_be_replaced() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    let (data, kept) = (path("data"), path("kept"));
    let generate = ["cluster", "generate", text(&data), "--rankings", "1000", "--parts", "3"];
    succeed(&[&generate[..], &local("2")].concat());
    succeed(&["generate", text(&kept), "--rankings", "1000", "--parts", "3"]);
    let other = [&generate[..], &["--seed", "1"], &local("2")].concat();
    refused(&palais(&other), 1, &["data/rankings: the directory exists", "--overwrite", "host: local-0"]);
    assert_same(&kept, &data);
    let source = kept.join("rankings");
    let convert = ["cluster", "convert", text(&source), text(&data), "--to", "csv"];
    refused(&palais([&convert[..], &local("2")].concat()), 1, &["data: the directory exists", "--overwrite"]);
    let own = ["cluster", "convert", text(&source), text(&source), "--to", "buren", "--overwrite"];
    refused(&palais([&own[..], &local("2")].concat()), 1, &["is read and would be replaced"]);
    assert_same(&kept, &data);
    succeed(&[&other[..], &["--overwrite"]].concat());
    only_these_are_kept(home.path(), &["data", "kept"]);
    let part = "rankings/part-00000.csv";
    assert!(
        fs::read(data.join(part)).expect("it is there") != fs::read(kept.join(part)).expect("it is there")
    );
}

#[test]
fn what_one_process_alone_can_do_is_refused() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    fs::write(path("x.csv"), "a\n1\n").expect("it can be written");
    let (source, file, out) = (path("x.csv"), path("y.buren"), path("out"));
    let text = |path: &Path| text(path).to_string();
    for (from, to, says) in [
        (text(&source), text(&file), "y.buren is one file, which one process writes"),
        (text(&source), "-".into(), "convert writes files"),
        (text(&source), "/dev/null".into(), "/dev/null is one file"),
        ("-".into(), text(&out), "standard input can't be read by several processes"),
        ("/dev/null".into(), text(&out), "/dev/null can't be read by several processes"),
    ] {
        let done = palais([&["cluster", "convert", &from, &to, "--to", "buren"][..], &local("2")].concat());
        refused(&done, 2, &[says]);
    }
    let hosts = path("hosts.toml");
    fs::write(&hosts, "local_parts = true\n[[host]]\naddress = \"127.0.0.1\"\n").expect("it can be written");
    let (from, to, hosts) = (text(&source), text(&out), text(&hosts));
    let done = palais(["cluster", "convert", &from, &to, "--to", "buren", "--hosts", &hosts]);
    refused(&done, 2, &["hosts with files of their own"]);
    assert_eq!(names(home.path()), ["hosts.toml", "x.csv"]);
}

#[test]
fn nothing_is_left_of_what_fails_in_one_process() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    succeed(&["generate", text(&path("data")), "--rankings", "60000", "--parts", "6"]);
    let source = path("data").join("rankings");
    for (number, host) in [("0", "local-0"), ("5", "local-2")] {
        let part = source.join(format!("part-0000{number}.csv"));
        let whole = fs::read(&part).expect("it can be read");
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        fs::write(&part, damaged).expect("it can be written");
        let out = path("new").join("out");
        for verify in [&[][..], &["--verify"]] {
            let several = ["cluster", "convert", text(&source), text(&out), "--to", "buren"];
            let done = palais([&several[..], verify, &local("3")].concat());
            refused(&done, 1, &[&format!("part-0000{number}.csv"), &format!("host: {host}")]);
            only_these_are_kept(home.path(), &["data"]);
        }
        fs::write(&part, whole).expect("it can be written");
    }
}
