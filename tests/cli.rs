//! What a user sees: messages and exit codes, interrupts, closed pipes, output that is whole or not there.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use interrupt::interrupt;
use process::{Finished, palais};

#[path = "support/interrupt.rs"]
mod interrupt;
#[path = "support/process.rs"]
mod process;

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory can be made")
}

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = dir.join(name);
    fs::write(&path, text).expect("a file can be written");
    path.to_string_lossy().into_owned()
}

/// Asserts that a query fails with exit code 1, nothing on standard output, and all of these in its message.
fn fails<const N: usize>(done: &Finished, parts: [&str; N]) {
    assert_eq!(done.code(), Some(1), "{} {}{}", done.ending(), done.stdout, done.stderr);
    assert_eq!(done.stdout, "");
    for part in parts {
        assert!(done.stderr.contains(part), "'{part}' is not in: {}", done.stderr);
    }
}

#[test]
fn a_directory_without_data_is_an_error() {
    let dir = scratch();
    fails(
        &palais(["query", &format!("SELECT * FROM '{}'", dir.path().display())]),
        [&*dir.path().to_string_lossy()],
    );
}

#[test]
fn an_unknown_column_names_the_nearest() {
    let dir = scratch();
    let path = write(dir.path(), "t.csv", "duration,page\n1,x\n");
    fails(
        &palais(["query", &format!("SELECT durations FROM '{path}'")]),
        ["durations", "did you mean duration?"],
    );
}

#[test]
fn a_column_is_named_by_the_text_of_the_query() {
    for name in [
        "(SELECT count(*) FROM range(2) u (g) GROUP BY ROLLUP (g) LIMIT 1)",
        "(SELECT count(*) FROM range(2) u (g) GROUP BY CUBE (g) LIMIT 1) + 1",
        "(SELECT count(*) FROM range(1) a, range(1) b JOIN range(1) c ON a.range = c.range) + 1",
        "1 IS DISTINCT FROM 2 AND true",
    ] {
        let done = palais(["query", &format!("SELECT {name}"), "--format", "tsv"]);
        assert_eq!(done.stdout.lines().next(), Some(name), "{}", done.stderr);
    }
}

#[test]
fn columns_have_their_names_and_equal_ones_are_told_apart_where_they_must_be() {
    let dir = scratch();
    let o = write(dir.path(), "o.csv", "id,name,p\n1,a,2\n");
    let c = write(dir.path(), "c.csv", "id,name\n1,b\n");
    let (o, c) = (format!("'{o}' o"), format!("'{c}' c"));
    let both = format!("SELECT o.*, c.name FROM {o} JOIN {c} USING (id)");
    for (sql, header) in [
        (both.clone(), "id,name,p,name"),
        (format!("SELECT c.name, o.* FROM {o} JOIN {c} USING (id)"), "name,id,name,p"),
        (format!("SELECT *, p FROM {o}"), "id,name,p,p"),
        (format!("SELECT *, o.* FROM {o}"), "id,name,p,id,name,p"),
        (format!("SELECT p, o.p, +p, p AS p FROM {o}"), "p,p,+p,p"),
        (format!("SELECT * FROM {o}, {c}"), "id,name,p,id,name"),
        (format!("SELECT * FROM {o} FULL JOIN {c} USING (id)"), "id,name,p,name"),
        (format!("SELECT * FROM {o} SEMI JOIN {c} USING (id)"), "id,name,p"),
        (format!("SELECT * EXCLUDE (name), name FROM {o}"), "id,p,name"),
        (format!("SELECT p AS x, name AS X FROM {o} ORDER BY x"), "x,X"),
        (format!("SELECT id, id FROM {o} UNION SELECT 1, 2"), "id,id"),
        // Nobody could tell them apart in a relation.
        (format!("WITH x AS ({both}) SELECT * FROM x"), "id,name,p,name_1"),
        (format!("WITH x AS ({both}) SELECT NAME, name_1 FROM x WHERE x.Name_1 = 'b'"), "name,name_1"),
        (format!("SELECT x.* FROM (SELECT * FROM {o}, {c}) x"), "id,name,p,id_1,name_1"),
        ("SELECT * FROM (SELECT 3 a_1, 1 a, 2 a)".into(), "a_1,a,a_2"),
        ("SELECT * FROM (SELECT 1 a, 2 a) t(x)".into(), "x,a"),
    ] {
        let done = palais(["query", &sql, "--format", "csv"]);
        assert_eq!(done.code(), Some(0), "{sql}: {}", done.stderr);
        assert_eq!(done.stdout.lines().next(), Some(header), "{sql}");
    }
    // So it is in a file.
    let file = dir.path().join("x.parquet").to_string_lossy().into_owned();
    let done = palais(["query", &both, "--output", &file]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    let done = palais(["query", &format!("SELECT name_1, name FROM '{file}'"), "--format", "csv"]);
    assert_eq!(done.stdout, "name_1,name\nb,a\n");
}

#[test]
fn the_beginning_of_a_text_is_all_that_is_read_where_nothing_else_is_seen() {
    let dir = scratch();
    let path = write(dir.path(), "t.csv", "a,b\nsome longer text,another longer text\n");
    let scan = |select: &str| {
        let explained = palais(["query", &format!("EXPLAIN SELECT {select}")]).stdout;
        let scan = explained.lines().find(|line| line.contains("scan ")).unwrap_or_default().to_string();
        assert!(scan.contains("[a"), "{explained}");
        scan
    };
    let of_a = ", of a the first 5 characters";
    assert!(scan(&format!("substr(a, 1, 5), substring(a, 1, 2) FROM '{path}'")).contains(of_a));
    assert!(
        scan(&format!("substr(a, 1, 5), max(substr(a, 1, 3)) FROM '{path}' x GROUP BY 1")).contains(of_a)
    );
    for whole in [
        format!("substr(a, 1, 5), a FROM '{path}'"),
        format!("substr(a, 2, 5) FROM '{path}'"),
        format!("substr(a, 1, 5), length(a) FROM '{path}'"),
        format!("substr(a, 1, 5) FROM '{path}' WHERE a > 'b'"),
    ] {
        assert!(!scan(&whole).contains("characters"), "{whole}");
    }
    let both = palais(["query", &format!("SELECT substr(a, 1, 5) AS a, b FROM '{path}'")]);
    assert_eq!(both.stdout, "a,b\nsome ,another longer text\n", "{}", both.stderr);
}

#[test]
fn a_long_table_off_a_terminal_says_what_it_leaves_out() {
    let done = palais(["query", "SELECT range AS n FROM range(12000)", "--format", "table"]);
    assert_eq!((done.code(), done.stdout.lines().count()), (Some(0), 10_006));
    assert!(done.stdout.contains("2,000 more rows") && done.stdout.contains(" 11999 "), "{}", done.stderr);
    assert!(done.stderr.contains("10,000 of 12,000 rows"), "{}", done.stderr);
}

#[test]
fn files_whose_names_differ_by_case_are_two_tables() {
    let dir = scratch();
    let (upper, lower) = (write(dir.path(), "A.csv", "x\n1\n"), write(dir.path(), "a.csv", "x\n2\n"));
    for sql in [
        format!("SELECT x FROM '{upper}' UNION ALL SELECT x FROM '{lower}' ORDER BY x"),
        format!("SELECT x FROM '{lower}' UNION ALL SELECT X FROM '{upper}' ORDER BY x"),
    ] {
        let done = palais(["query", &sql]);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "x\n1\n2\n"), "{}", done.stderr);
    }
}

#[test]
fn a_deep_expression_does_not_overflow_the_stack() {
    let sql = format!("SELECT {} AS n", vec!["1"; 2000].join(" + "));
    let done = palais(["query", &sql]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "n\n2000\n"), "{}", done.stderr);
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for arguments in [
        &["query", "--frobnicate"][..],
        &["query", "SELECT 1", "--table", "x"],
        &["query", "SELECT 1", "--infer-rows", "0"],
        &["query", "SELECT 1", "--schema", "nowhere=bdb"],
        &["query"],
        &["bdb", "9z"],
    ] {
        let done = palais(arguments);
        assert_eq!(done.code(), Some(2), "{arguments:?}: {}", done.stderr);
    }
}

#[test]
fn a_bad_value_names_row_byte_column_and_what_would_help() {
    let dir = scratch();
    let mut text = String::from("id,n\n");
    for i in 0..200_000 {
        text.push_str(&format!("{i},{i}\n"));
    }
    let offset = text.len();
    text.push_str("200000,twelve\n200001,1\n");
    let path = write(dir.path(), "t.csv", &text);
    let schema = write(dir.path(), "t.sql", "CREATE TABLE t (id BIGINT, n BIGINT);");
    let table = format!("t={path}");
    let schema = format!("t={schema}");
    let sql = "SELECT sum(n), count(*) FROM t";
    let query = |more: &[&str]| {
        let arguments =
            ["query", sql, "--table", &table, "--schema", &schema, "--header", "yes", "--workers", "2"];
        palais(arguments.iter().chain(more))
    };
    let byte = (offset + "200000,".len()).to_string();
    let done = query(&[]);
    fails(&done, ["t.csv", "200001", "twelve", "column n", "--on-error"]);
    assert!(done.stderr.contains(&byte) || done.stderr.contains(&offset.to_string()), "{}", done.stderr);

    let sum: u64 = (0..200_000).sum::<u64>() + 1;
    let done = query(&["--on-error", "null"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), &*format!("sum(n),count(*)\n{sum},200002\n")));
    assert!(done.stderr.contains("1 values read as NULL"), "{}", done.stderr);
    let done = query(&["--on-error", "skip"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), &*format!("sum(n),count(*)\n{sum},200001\n")));
    assert!(done.stderr.contains("1 rows left out"), "{}", done.stderr);
}

#[test]
fn a_column_file_cut_short_is_an_error() {
    let dir = scratch();
    for format in ["parquet", "buren", "arrow"] {
        let path = dir.path().join(format!("t.{format}")).to_string_lossy().into_owned();
        let done =
            palais(["query", "SELECT range, range * 2 AS twice FROM range(100000)", "--output", &path]);
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        let bytes = fs::read(&path).expect("the file is there");
        fs::write(&path, &bytes[..bytes.len() - 100]).expect("a file can be written");
        let done = palais(["query", &format!("SELECT sum(twice) FROM '{path}'")]);
        fails(&done, [&*format!("t.{format}")]);
    }
}

#[test]
fn output_is_not_overwritten_unasked_and_not_left_half() {
    let dir = scratch();
    let path = write(dir.path(), "out.csv", "precious\n");
    fails(&palais(["query", "SELECT 1 AS a", "--output", &path]), ["out.csv", "--overwrite"]);
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "precious\n");
    // A query that fails half-way leaves neither the file nor a part of it.
    let new = dir.path().join("new.csv").to_string_lossy().into_owned();
    let sql = "SELECT 10 // (range - 500000) FROM range(1000000)";
    fails(&palais(["query", sql, "--output", &new]), ["division by zero"]);
    assert_eq!(fs::read_dir(dir.path()).expect("it can be listed").count(), 1);
    let done = palais(["query", "SELECT 1 AS a", "--output", &path, "--overwrite"]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "a\n1\n");
}

#[test]
fn rows_of_messagepack_are_maps_and_with_a_flag_arrays() {
    let dir = scratch();
    let source = write(dir.path(), "t.csv", "a,b\n1,2\n");
    let to = dir.path().join("t.msgpack").to_string_lossy().into_owned();
    for (more, first) in [(&[][..], 0x82), (&["--arrays"], 0x92)] {
        let done = palais([&["convert", &source, &to, "--overwrite"], more].concat());
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        // The high half of the byte is the kind, the low half the number of values.
        assert_eq!(fs::read(&to).expect("it was written")[0], first, "{more:?}");
    }
}

/// Starts a query that would run for very long.
fn endless(more: &[&str]) -> Child {
    let sql = "SELECT a.range FROM range(100000000) a, range(100000000) b WHERE a.range + b.range < 0";
    Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["query", sql])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("palais starts")
}

#[test]
fn standard_input_is_a_table() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["query", "SELECT sum(a) AS s, count(*) AS n FROM '-'", "--workers", "2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("palais starts");
    let text: String = ["a,b\n".into()].into_iter().chain((0..100_000).map(|i| format!("{i},x\n"))).collect();
    let mut stdin = child.stdin.take().expect("it is piped");
    std::thread::spawn(move || std::io::Write::write_all(&mut stdin, text.as_bytes()));
    let done = child.wait_with_output().expect("a child can be waited for");
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "s,n\n4999950000,100000\n");
}

#[test]
fn an_interrupt_stops_a_query() {
    for workers in ["1", "3"] {
        let mut child = endless(&["--workers", workers, "--memory-limit", "16GiB"]);
        std::thread::sleep(Duration::from_millis(500));
        interrupt(child.id());
        let status = child.wait().expect("a child can be waited for");
        assert_eq!(status.code(), Some(130));
    }
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["query", "SELECT range FROM range(1000000000)", "--format", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("palais starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let first = lines.next().expect("there is a line").expect("it can be read");
    assert_eq!(first, "range");
    drop(lines);
    let done = child.wait_with_output().expect("a child can be waited for");
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
}

#[test]
fn a_limit_stops_the_scan() {
    let done = palais(["query", "SELECT count(*) FROM (SELECT range FROM range(100000000000) LIMIT 10) t"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "count(*)\n10\n"), "{}", done.stderr);
}

#[test]
fn the_limit_of_memory_is_an_error_that_says_what_to_change() {
    let sql = "SELECT range FROM range(40000000) ORDER BY range DESC";
    let done = palais(["query", sql, "--memory-limit", "200MiB", "--workers", "2"]);
    fails(&done, ["out of memory", "--memory-limit", "200.0 MiB", "help:"]);
}

#[test]
fn many_groups_are_all_there() {
    for key in [
        "range % 1000003",
        "CAST(range % 1000003 AS VARCHAR) || ' and a long tail'",
        "range % 1000003, range % 7",
    ] {
        for workers in ["1", "2", "5"] {
            let sql = format!(
                "SELECT count(*) AS g, sum(c) AS c, sum(s) AS s, min(m) AS m, max(x) AS x FROM (SELECT {key}, \
                 count(*) AS c, sum(range) AS s, min(range) AS m, max(range) AS x FROM range(2000000) GROUP BY {key}) t"
            );
            let done = palais(["query", &sql, "--workers", workers]);
            let groups = if key.contains('7') { "2000000" } else { "1000003" };
            let expected = format!("g,c,s,m,x\n{groups},2000000,1999999000000,0,1999999\n");
            assert_eq!((done.code(), done.stdout.as_str()), (Some(0), &*expected), "{key}: {}", done.stderr);
        }
    }
}

#[test]
fn a_failing_script_is_reported() {
    let dir = scratch();
    let path = write(dir.path(), "lines.txt", "one\ntwo\n");
    let sql = format!("SELECT * FROM transform('{path}', 'echo oh no >&2; exit 3', 'a VARCHAR')");
    fails(&palais(["query", &sql]), ["--allow-scripts"]);
    fails(&palais(["query", &sql, "--allow-scripts"]), ["exit status 3", "oh no", "lines.txt"]);
    let sql = format!("SELECT sum(n) AS n FROM transform('{path}', 'sed s/.*/7/', 'n BIGINT')");
    let done = palais(["query", &sql, "--allow-scripts"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "n\n14\n"), "{}", done.stderr);
}

#[test]
fn what_watch_and_transform_pass_over_is_counted() {
    let dir = scratch();
    let path = write(dir.path(), "t.csv", "a,b\n1,x\n2,y\n");
    let schema = write(dir.path(), "t.sql", "CREATE TABLE t (a BIGINT, b VARCHAR)");
    write(dir.path(), "t.csv", "a,b\n1,x\noops,y\n3,z\n4,w,more\n");
    let (table, schema) = (format!("t={path}"), format!("t={schema}"));
    let flags = ["--table", &table, "--schema", &schema, "--on-error"];
    let says = |arguments: &[&str], on_error: &str, expected: &str, count: &str| {
        let done = palais([arguments, &flags[..], &[on_error]].concat());
        assert_eq!((done.code(), done.stdout.trim_end()), (Some(0), expected), "{}", done.stderr);
        assert!(done.stderr.contains(count), "{arguments:?}: {}", done.stderr);
    };
    let left_out = "warning: 2 rows left out";
    for workers in ["1", "3"] {
        let watch = ["watch", "--until-idle", "--workers", workers, "SELECT count(a) AS n FROM t"];
        says(&watch, "skip", "{\"n\":2,\"__diff\":1}", left_out);
        let sql = format!("SELECT count(*) AS n FROM transform('{path}', 'cat', 'a VARCHAR, b VARCHAR')");
        let transform = ["query", "--allow-scripts", "--workers", workers, &sql];
        // The schema is that of the table t: in the path alone every value of a is text.
        says(&transform, "skip", "n\n3", "warning: 1 rows left out");
        says(&["query", "--workers", workers, "SELECT count(a) AS n FROM t"], "skip", "n\n2", left_out);
        let null = "warning: 2 values read as NULL";
        says(&["query", "--workers", workers, "SELECT count(a) AS n FROM t"], "null", "n\n3", null);
    }
    // Those before the row at which a query has enough.
    let many: String =
        (0..50_000).map(|i| format!("{},x\n", if i == 5 { "oops".into() } else { i.to_string() })).collect();
    write(dir.path(), "t.csv", format!("a,b\n{many}"));
    says(&["query", "--workers", "1", "SELECT a FROM t LIMIT 1"], "skip", "a\n0", "warning: 1 rows left out");
}

#[test]
fn a_window_is_not_watched() {
    let dir = scratch();
    let path = write(dir.path(), "1.csv", "k\n1\n");
    let sql = format!("SELECT k, row_number() OVER (ORDER BY k) AS n FROM '{path}'");
    let done = palais(["watch", "--until-idle", &sql]);
    assert_eq!(done.code(), Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("not supported: watch: a window function; "), "{}", done.stderr);
}

#[test]
fn watch_ends_when_a_file_is_removed() {
    let dir = scratch();
    for name in ["1.csv", "2.csv"] {
        write(dir.path(), name, "k\n1\n");
    }
    let child = Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["watch", "--until-idle=60", &format!("SELECT count(*) AS n FROM '{}'", dir.path().display())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("palais starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    while !lines.next().expect("there is a line").expect("it can be read").contains("\"n\":2") {}
    fs::remove_file(dir.path().join("1.csv")).expect("a file can be removed");
    let done = child.wait_with_output().expect("a child can be waited for");
    let message = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{message}");
    assert!(message.contains("1.csv: the file was removed"), "{message}");
}

#[test]
fn a_watched_query_ends_equal_to_the_batch_answer() {
    let dir = scratch();
    let data = dir.path().join("in");
    fs::create_dir(&data).expect("a directory can be made");
    let add = |i: u64| {
        let rows: String = (0..500).map(|n| format!("{},{}\n", (n * i) % 11, n + i)).collect();
        let aside = dir.path().join("aside");
        fs::write(&aside, format!("k,v\n{rows}")).expect("a file can be written");
        fs::rename(&aside, data.join(format!("{i}.csv"))).expect("a file can be renamed");
    };
    add(1);
    let table = format!("t={}", data.display());
    let sql = "SELECT k, count(*) AS n, sum(v) AS s FROM t WHERE v > 3 GROUP BY k";
    let child = Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["watch", "--until-idle=600", sql, "--table", &table, "--workers", "2"])
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.expect("palais starts");
    for i in 2..6 {
        std::thread::sleep(Duration::from_millis(300));
        add(i);
    }
    let batch = palais(["query", &format!("{sql} ORDER BY k"), "--table", &table, "--format", "csv"]);
    assert_eq!(batch.code(), Some(0), "{}", batch.stderr);
    let mut rows = BTreeMap::new();
    let text = |rows: &BTreeMap<_, i64>| {
        let kept = rows.iter().filter(|(_, diff)| **diff != 0);
        let line = |((k, n, s), diff): (&(i64, i64, i64), &i64)| {
            assert_eq!(*diff, 1, "{k} {n} {s}");
            format!("{k},{n},{s}\n")
        };
        format!("k,n,s\n{}", kept.map(line).collect::<String>())
    };
    // A round of changes has a line for each row that came or went; the last round ends with the batch answer.
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    while rows.values().any(|diff| *diff != 0 && *diff != 1) || text(&rows) != batch.stdout {
        let line = lines.next().expect("the changes lead to the batch answer").expect("it can be read");
        let change: serde_json::Value = serde_json::from_str(&line).expect("a change is JSON");
        let number = |name: &str| change[name].as_i64().expect("it is a number");
        *rows.entry((number("k"), number("n"), number("s"))).or_insert(0) += number("__diff");
    }
    interrupt(child.id());
    assert_eq!(child.wait().expect("a child can be waited for").code(), Some(130));
}
