//! Queries in several processes: the answers of one process, and its errors.

use std::fs;

use compare::{same, sorted};
use process::palais;
use several::{succeed, text};

#[path = "support/cells.rs"]
mod cells;
#[path = "support/close.rs"]
mod close;
#[path = "support/compare.rs"]
mod compare;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

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
                let sockets = if processes == "3" { &["--sockets-only"][..] } else { &[] };
                let done = palais([&several, &shared[..], sockets].concat());
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
        let sql = format!("SELECT count(*), sum(a), count(DISTINCT b) FROM '{}'", file.display());
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
    for none in [r#""bytes_sent": 0,"#, r#""bytes_received": 0,"#] {
        assert!(!stats.contains(none), "{stats}");
    }
}

#[test]
fn memory_is_that_of_the_process_that_took_most() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let stats = home.path().join("stats.json");
    let sql = "SELECT count(DISTINCT range) FROM range(3000000)";
    let several = ["cluster", "run", "--local", "3", "--workers", "1"];
    succeed(&[&several[..], &[sql, "--stats", text(&stats)]].concat());
    let stats = fs::read_to_string(&stats).expect("it was written");
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("it is JSON");
    // A third of the values in each, which whoever starts them has not.
    let peak = stats["peak_memory_bytes"].as_u64().expect("it is there");
    let resident = stats["peak_resident_bytes"].as_u64().expect("it is there");
    assert!((8_000_000..resident).contains(&peak), "{peak} of {resident}");
    let explained = succeed(&[&several[..], &[&["EXPLAIN ANALYZE", sql].join(" ")]].concat());
    assert!(explained.stdout.contains(" a process\n"), "{}", explained.stdout);
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
fn no_row_is_made_of_what_others_have_when_one_fails() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let mut hosts = String::new();
    for (number, name) in ["whole", "lacking", "damaged"].iter().enumerate() {
        let place = home.path().join(name);
        fs::create_dir(&place).expect("it can be made");
        for part in 0..6 {
            let rows = format!("SELECT range % 1000 AS a FROM range({part}, 200000)");
            succeed(&["query", &format!("COPY ({rows}) TO '{}/{part}.buren'", text(&place))]);
        }
        let address = format!("address = \"127.0.0.{}\"", number + 2);
        hosts += &format!("[[host]]\n{address}\nname = \"{name}\"\ndirectory = {:?}\n", text(&place));
    }
    fs::remove_file(home.path().join("lacking/3.buren")).expect("it is there");
    let damaged = home.path().join("damaged/5.buren");
    let mut bytes = fs::read(&damaged).expect("it can be read");
    let middle = bytes.len() / 3;
    bytes[middle..][..64].iter_mut().for_each(|byte| *byte ^= 0xff);
    fs::write(&damaged, bytes).expect("it can be written");
    let file = home.path().join("hosts.toml");
    fs::write(&file, hosts).expect("it can be written");
    for sql in ["SELECT count(*), sum(a) FROM '*.buren'", "SELECT a, count(*) FROM '*.buren' GROUP BY a"] {
        let done = palais(["cluster", "run", "--hosts", text(&file), "--workers", "1", sql]);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(1), ""), "{sql}: {}", done.stderr);
        let says = ["3.buren", "5.buren"].iter().any(|part| done.stderr.contains(part));
        assert!(says && done.stderr.contains("host: "), "{sql}: {}", done.stderr);
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
        // A row of a command's input is a line.
        let lines = dir.join("lines.csv").display().to_string();
        succeed(&["query", &format!("COPY (SELECT a, b FROM ({rows})) TO '{lines}'")]);
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
    let script = "SELECT count(*), sum(n) FROM transform('lines.csv', 'grep -c ^[0-9]', 'n BIGINT')";
    let done = succeed(&[&run[..], &[script, "--allow-scripts"]].concat());
    assert!(done.stdout.ends_with("\n3,1500000\n"), "{}", done.stdout);
    // Processes of one machine have the same files: each row would count once for each of them.
    let done = palais(["cluster", "run", "--local", "2", "--local-parts", "SELECT 1"]);
    assert_eq!(done.code(), Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("--local-parts"), "{}", done.stderr);
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
