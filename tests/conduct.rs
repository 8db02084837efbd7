//! How palais conducts itself: it ends when nobody listens, reads what it wrote, refuses what has no effect, says what
//! took the memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use process::{Finished, palais, run};

#[path = "support/process.rs"]
mod process;

/// A directory of files, in which palais is run.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new(files: &[(&str, &str)]) -> Scratch {
        let scratch = Scratch(tempfile::tempdir().expect("a directory can be made"));
        files.iter().for_each(|(name, text)| scratch.write(name, text));
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory can be made");
        fs::write(path, text).expect("a file can be written");
    }

    fn palais(&self, arguments: &[&str]) -> Finished {
        run(Command::new(env!("CARGO_BIN_EXE_palais")).args(arguments).current_dir(self.0.path()))
    }

    /// The output of a query that succeeds.
    fn rows(&self, sql: &str, more: &[&str]) -> String {
        let done = self.palais(&[&["query", sql], more].concat());
        assert_eq!(done.code(), Some(0), "{sql}: {}: {}", done.ending(), done.stderr);
        done.stdout
    }

    /// The message of something that fails with this exit code.
    fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let done = self.palais(arguments);
        assert_eq!(done.code(), Some(code), "{arguments:?}: {} {}", done.stdout, done.stderr);
        assert_eq!(done.stdout, "", "{arguments:?}");
        done.stderr
    }

    /// Runs a query whose standard input is this text.
    fn piped(&self, arguments: &[&str], text: &str) -> (Option<i32>, String, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_palais"))
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("palais starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        let text = text.to_string();
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, text.as_bytes()));
        let done = child.wait_with_output().expect("a child can be waited for");
        // Whoever reads may leave before the end.
        let _ = writer.join().expect("the writer does not panic");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }
}

fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
}

fn fifo(path: &Path) {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).expect("a path holds no zero byte");
    // SAFETY: the name is a valid C string for the length of the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
}

#[test]
fn watch_ends_when_its_reader_has_gone() {
    let dir = Scratch::new(&[("in/1.csv", "k,v\n1,2\n")]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["watch", "SELECT k, v FROM 'in/*.csv'"])
        .current_dir(dir.0.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("palais starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    assert!(lines.next().expect("there is a line").expect("it can be read").contains("\"k\":1"));
    drop(lines);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break Some(status);
        }
        if start.elapsed() > Duration::from_secs(600) {
            child.kill().expect("a child can be killed");
            break None;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.expect("it ends although no file is added").code(), Some(0));
}

#[test]
fn a_pipe_in_a_directory_is_not_waited_for() {
    let dir = Scratch::new(&[("d/a.csv", "a\n1\n"), ("one/year=1/b.csv", "a\n2\n")]);
    fifo(&dir.path("d/pipe.csv"));
    std::os::unix::fs::symlink(dir.path("d/pipe.csv"), dir.path("d/link.csv")).expect("a link can be made");
    for location in ["d", "d/*.csv", "*/*.csv"] {
        assert_eq!(dir.rows(&format!("SELECT a FROM '{location}'"), &[]), "a\n1\n", "{location}");
    }
    // One that is named is read.
    let pipe = dir.path("d/pipe.csv");
    let writer = std::thread::spawn(move || fs::write(pipe, "a\n7\n"));
    assert_eq!(dir.rows("SELECT a FROM 'd/pipe.csv'", &[]), "a\n7\n");
    writer.join().expect("no panic").expect("it was written");
}

#[test]
fn json_that_palais_wrote_is_read() {
    let dir = Scratch::new(&[]);
    let sql = "SELECT range AS i, 'a ]},\"' || range AS t, CASE WHEN range % 3 > 0 THEN range / 4.0 END AS x \
               FROM range(50000)";
    dir.palais(&["query", sql, "--output", "x.json"]);
    dir.palais(&["query", &format!("COPY ({sql}) TO 'y.json'")]);
    let sums = "count(*) AS n, sum(i) AS i, count(DISTINCT t) AS t, count(x) AS x";
    for location in ["x.json", "y.json"] {
        for workers in ["1", "3"] {
            let rows = dir.rows(&format!("SELECT {sums} FROM '{location}'"), &["--workers", workers]);
            assert_eq!(rows, "n,i,t,x\n50000,1249975000,50000,33333\n", "{location}");
        }
    }
    assert_eq!(
        dir.rows(&format!("SELECT {sums} FROM '*.json'"), &[]),
        "n,i,t,x\n100000,2499950000,50000,66666\n"
    );
    // Longer than a morsel, so that a file of lines would be split.
    let long = "SELECT range AS i, repeat('x', 100) AS t FROM range(120000)";
    dir.palais(&["query", long, "--output", "z.json"]);
    assert!(fs::metadata(dir.path("z.json")).expect("it is there").len() > 9 << 20);
    assert_eq!(
        dir.rows("SELECT count(*) AS n, sum(i) AS i FROM 'z.json'", &["--workers", "2"]),
        "n,i\n120000,7199940000\n"
    );
}

#[test]
fn arrays_of_json_as_others_write_them() {
    let dir = Scratch::new(&[
        (
            "pretty.json",
            "[\n  {\n    \"a\": 1,\n    \"b\": [1, {\"c\": \"]\"}]\n  },\n  {\n    \"b\": null\n  }\n]\n",
        ),
        ("line.json", "[{\"a\":1},{\"a\":2},{\"a\":\"three\"}]"),
        ("bad.json", "[{\"a\":1},\n17,\n{\"a\":3}]"),
        ("empty.json", "[]\n"),
        ("lines.json", "{\"a\":1}\n{\"a\":2}\n"),
        ("named", " [ {\"a\": 5} ]"),
    ]);
    assert_eq!(
        dir.rows("SELECT a, b FROM 'pretty.json'", &[]),
        "a,b\n1,\"['1', '{\"\"c\"\": \"\"]\"\"}']\"\n,\n"
    );
    assert_eq!(dir.rows("SELECT a FROM 'line.json'", &[]), "a\n1\n2\nthree\n");
    assert_eq!(dir.rows("SELECT a FROM 'lines.json'", &[]), "a\n1\n2\n");
    assert_eq!(dir.rows("SELECT a FROM 'named'", &[]), "a\n5\n");
    says(
        &dir.fails(1, &["query", "SELECT * FROM 'bad.json'"]),
        &["bad.json, row 2, byte 10", "an object { … } was expected"],
    );
    let done = dir.palais(&["query", "SELECT a FROM 'bad.json'", "--on-error", "skip"]);
    assert_eq!(done.stdout, "a\n1\n3\n");
    says(&done.stderr, &["1 rows left out"]);
    says(&dir.fails(1, &["query", "SELECT * FROM 'empty.json'"]), &["empty.json", "no columns"]);
    // Wherever it was cut, it is an error and not fewer rows.
    let whole = "[{\"a\":1},{\"a\":2}]";
    for cut in 1..whole.len() {
        dir.write("cut.json", &whole[..cut]);
        says(&dir.fails(1, &["query", "SELECT a FROM 'cut.json'"]), &["cut.json", "array"]);
    }
}

#[test]
fn equal_names_of_columns_are_told_apart_where_they_are_written() {
    let dir = Scratch::new(&[]);
    let sql = "SELECT range AS i, range + 1 AS i, range + 2 AS i_1 FROM range(1)";
    assert_eq!(dir.rows(sql, &["--format", "jsonl"]), "{\"i\":0,\"i_1\":1,\"i_1_1\":2}\n");
    for form in ["json", "jsonl", "parquet", "buren", "arrow", "csv"] {
        let file = format!("x.{form}");
        dir.palais(&["query", sql, "--output", &file]);
        assert_eq!(
            dir.rows(&format!("SELECT i, i_1, i_1_1 FROM '{file}'"), &[]),
            "i,i_1,i_1_1\n0,1,2\n",
            "{form}"
        );
    }
}

#[test]
fn a_statement_stands_in_the_place_of_a_command() {
    let dir = Scratch::new(&[("t.csv", "a\n1\n2\n")]);
    for sql in
        ["SELECT sum(a) AS s FROM 't.csv'", "\nSELECT sum(a) AS s\nFROM 't.csv'\n", "FROM (SELECT 3 AS s)"]
    {
        let done = dir.palais(&[sql, "--format", "csv"]);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "s\n3\n"), "{sql}: {}", done.stderr);
    }
    says(&dir.fails(1, &["SELEC 1"]), &["SQL syntax"]);
    says(&dir.fails(2, &["SELECT"]), &["unrecognized subcommand 'SELECT'"]);
    says(&dir.fails(2, &["--table a", "SELECT 1"]), &["unexpected argument '--table a'"]);
}

#[test]
fn settings_without_effect_are_refused() {
    let dir = Scratch::new(&[("a.csv", "x\n1\n"), ("s.sql", "CREATE TABLE t (x BIGINT);")]);
    let query = |more: &[&str]| dir.fails(2, &[&["query", "SELECT x FROM './a.csv'"], more].concat());
    says(&query(&["--schema", "a.csv=s.sql"]), &["no table 'a.csv'", "'./a.csv'"]);
    says(&query(&["--table", "r=a.csv", "--table", "R=b.csv"]), &["two places for 'R'"]);
    says(&query(&["--schema", "t=s.sql", "--schema", "T=bdb"]), &["two schemas for 'T'"]);
    says(&query(&["--repeat", "2", "--output", "o.csv"]), &["--repeat", "--output"]);
    says(&query(&["--repeat", "0"]), &["--repeat"]);
    for sql in ["SUMMARIZE 'a.csv'", "COPY (SELECT 1) TO 'o.csv'", "EXPLAIN SELECT 1", "DESCRIBE 'a.csv'"] {
        says(&dir.fails(2, &["query", sql, "--repeat", "2"]), &["--repeat has no use for"]);
    }
    says(
        &dir.fails(2, &["query", "COPY (SELECT 1) TO 'o.csv'", "-o", "p.csv"]),
        &["--output has no use for COPY"],
    );
    says(
        &dir.fails(2, &["query", "EXPLAIN SELECT 1", "--stats", "s.json"]),
        &["--stats has no use for EXPLAIN"],
    );
    says(&dir.fails(2, &["schema", "a.csv", "--table", "t=a.csv"]), &["--table"]);
    says(&dir.fails(2, &["watch", "SELECT x FROM 'a.csv'", "--format", "csv"]), &["--format"]);
    assert_eq!(fs::read_dir(dir.0.path()).expect("it can be listed").count(), 2, "nothing was written");
    for sql in ["SUMMARIZE 'a.csv'", "EXPLAIN ANALYZE SELECT x FROM 'a.csv'", "COPY (SELECT 1) TO 'o.csv'"] {
        dir.rows(sql, &["--stats", "s.json"]);
        let text = fs::read_to_string(dir.path("s.json")).expect("it was written");
        assert!(text.contains("execution_seconds"), "{text}");
        fs::remove_file(dir.path("s.json")).expect("it can be removed");
    }
    assert_eq!(
        dir.palais(&["schema", "a.csv", "--schema", "t=s.sql"]).stdout,
        "CREATE TABLE t (\n  x BIGINT NULL\n);\n"
    );
}

#[test]
fn wrong_values_of_flags_are_wrong_usage() {
    let dir = Scratch::new(&[("a.csv", "x\n1\n")]);
    says(&dir.fails(2, &["convert", "a.csv", "o", "--to", "xml"]), &["xml", "parquet"]);
    says(
        &dir.fails(2, &["convert", "a.csv", "o", "--to", "csv", "--compression", "brotli"]),
        &["brotli", "zstd"],
    );
    says(&dir.fails(2, &["query", "SELECT 1", "--from", "xml"]), &["xml", "jsonl"]);
    says(&dir.fails(2, &["query", "SELECT 1", "--delimiter", "'", "--quote", "'"]), &["must differ"]);
    says(&dir.fails(2, &["query", "SELECT 1", "--infer-rows", "0"]), &["--infer-rows"]);
    says(&dir.fails(2, &["generate", "d", "--rankings", "0"]), &["--rankings"]);
    let run = ["cluster", "run", "--local", "2", "SELECT 1", "--timeout"];
    for wrong in ["0", "1.9", "x", "1e30"] {
        says(&dir.fails(2, &[&run[..], &[wrong]].concat()), &["--timeout", "from 2 on"]);
    }
}

#[test]
fn a_command_that_prints_something_else_names_the_file() {
    let dir = Scratch::new(&[("lines.txt", "one\n")]);
    for (command, part) in [
        ("echo x", "lines 1 to 1 that the command printed: cannot cast 'x' to BIGINT"),
        ("echo", "cannot cast '' to BIGINT\n  help: declare it as VARCHAR"),
        ("printf 'a\\tb\\n'", "has 2 columns"),
    ] {
        let sql =
            format!("SELECT * FROM transform('lines.txt', '{}', 'n BIGINT')", command.replace('\'', "''"));
        says(&dir.fails(1, &["query", &sql, "--allow-scripts"]), &["transform of lines.txt", part]);
    }
}

#[test]
fn a_command_gets_a_line_for_each_row() {
    let dir = Scratch::new(&[
        ("x.csv", "a,b\n1,\n,\"\"\n"),
        ("tab.csv", "a,b\n\"x\ty\",1\n"),
        ("line.csv", "a\n\"x\ny\"\n"),
    ]);
    let through =
        |file: &str, columns: &str| format!("SELECT * FROM transform('{file}', 'cat', '{columns}')");
    let scripts = ["--allow-scripts"];
    assert_eq!(dir.rows(&through("x.csv", "a BIGINT, b VARCHAR"), &scripts), "a,b\n1,\n,\"\"\n");
    let raw = "SELECT * FROM transform('x.csv', 'sed s/^/-/ | tr ''\\t'' :', 'line VARCHAR')";
    assert_eq!(dir.rows(raw, &scripts), "line\n-1:\\N\n-\\N:\n");
    for (file, columns, what) in [
        ("tab.csv", "a VARCHAR, b BIGINT", "column a has a tab"),
        ("line.csv", "a VARCHAR", "column a has a line break"),
    ] {
        says(
            &dir.fails(1, &["query", &through(file, columns), "--allow-scripts"]),
            &[file, what, "replace()"],
        );
    }
}

#[test]
fn a_statement_that_names_the_file_of_a_row_gets_it() {
    let dir = Scratch::new(&[
        ("logs/a.csv", "n\n1\n2\n"),
        ("logs/b.csv", "n\n3\n"),
        ("own.csv", "filename,n\nx,1\n"),
    ]);
    let counted = "SELECT filename, count(*) AS c FROM 'logs/*.csv' GROUP BY filename ORDER BY FileName";
    for flags in [&["--workers", "1"][..], &["--workers", "3"]] {
        assert_eq!(dir.rows(counted, flags), "filename,c\nlogs/a.csv,2\nlogs/b.csv,1\n");
    }
    assert_eq!(dir.rows("SELECT * FROM 'logs/*.csv' WHERE filename LIKE '%b.csv'", &[]), "n\n3\n");
    let joined =
        "SELECT x.filename, y.n FROM 'logs/*.csv' x JOIN 'logs/b.csv' y ON y.n = x.n + 1 ORDER BY y.filename";
    assert_eq!(dir.rows(joined, &[]), "filename,n\nlogs/a.csv,3\n");
    assert_eq!(dir.rows("SELECT filename FROM 'own.csv'", &[]), "filename\nx\n");
    let both = "SELECT filename FROM 'logs/a.csv' x, 'logs/b.csv' y";
    says(&dir.fails(1, &["query", both]), &["'filename' is ambiguous"]);
    says(&dir.fails(1, &["query", "SELECT filename FROM range(2)"]), &["no column 'filename'"]);
    let inner = "WITH t AS (SELECT * FROM 'logs/*.csv') SELECT filename FROM t";
    says(&dir.fails(1, &["query", inner]), &["no column 'filename'"]);
    // Names that are no UTF-8 stay different.
    for byte in [0xfe, 0xff] {
        let name = [b"odd/", &[byte][..], b".csv"].concat();
        let path = dir.path("").join(std::ffi::OsStr::from_bytes(&name));
        fs::create_dir_all(dir.path("odd")).expect("a directory can be made");
        fs::write(path, "n\n1\n").expect("a file can be written");
    }
    let odd = "SELECT filename, _file FROM 'odd' ORDER BY 1";
    let named = "filename,_file\nodd/\\xFE.csv,odd/\\xFE.csv\nodd/\\xFF.csv,odd/\\xFF.csv\n";
    assert_eq!(dir.rows(odd, &["--file-column"]), named);
    let outer = "SELECT n, (SELECT max(n) FROM 'logs/*.csv' i WHERE i.filename = o.filename) AS m FROM 'logs/*.csv' o ORDER BY n";
    assert_eq!(dir.rows(outer, &[]), "n,m\n1,2\n2,2\n3,3\n");
}

#[test]
fn no_file_is_written_among_the_parts_of_a_dataset() {
    let dir = Scratch::new(&[("a.csv", "n\n1\n")]);
    assert_eq!(dir.palais(&["convert", "a.csv", "d", "--to", "parquet"]).code(), Some(0));
    for arguments in [
        &["convert", "a.csv", "d/new.parquet"][..],
        &["convert", "a.csv", "d/part-00000.parquet", "--overwrite"],
        &["query", "SELECT 1 AS n", "--output", "d/new.csv"],
        &["convert", "a.csv", "d/below", "--to", "parquet"],
    ] {
        says(&dir.fails(1, arguments), &["its directory is a dataset"]);
    }
    assert_eq!(dir.rows("SELECT n FROM 'd'", &[]), "n\n1\n");
    assert_eq!(dir.rows("SELECT 1 AS n", &["-o", "-"]), "n\n1\n");
    assert!(!dir.path("-").exists());
    for flag in [["--compression", "gzip"], ["--partition-by", "n"]] {
        let arguments = [&["query", "SELECT 1 AS n", "-o", "-"][..], &flag].concat();
        says(&dir.fails(2, &arguments), &[flag[0], "standard output"]);
    }
}

#[test]
fn a_column_through_a_pipe_keeps_its_name() {
    let dir = Scratch::new(&[]);
    let column = dir.rows("SELECT range FROM range(3)", &[]);
    let (code, rows, stderr) =
        dir.piped(&["query", "SELECT sum(range) AS s, count(*) AS n FROM '-'"], &column);
    assert_eq!((code, rows.as_str()), (Some(0), "s,n\n3,3\n"), "{stderr}");
    // Words may be anything.
    let (_, rows, _) = dir.piped(&["query", "SELECT count(line) AS n FROM '-'"], "to\nbe\n");
    assert_eq!(rows, "n\n2\n");
}

#[test]
fn nothing_on_standard_input_is_an_error() {
    let dir = Scratch::new(&[("s.sql", "CREATE TABLE t (x BIGINT);")]);
    let (code, rows, stderr) = dir.piped(&["query", "SELECT * FROM '-'"], "");
    assert_eq!((code, rows.as_str()), (Some(1), ""));
    says(&stderr, &["-: the file is empty", "--from"]);
    let (code, _, stderr) = dir.piped(&["query", "SELECT * FROM '-'", "--from", "csv"], "");
    assert_eq!(code, Some(1));
    says(&stderr, &["no schema can be inferred"]);
    let given =
        ["query", "SELECT count(*) AS n FROM t", "--table", "t=-", "--schema", "t=s.sql", "--from", "csv"];
    assert_eq!(dir.piped(&given, "").1, "n\n0\n");
}

#[test]
fn doubled_names_in_a_header_are_told_apart() {
    let dir = Scratch::new(&[("a.csv", "a,a,\n1,2,3\n"), ("b.csv", "k,k\nx,y\n")]);
    assert_eq!(
        dir.rows("SELECT * FROM 'a.csv'", &["--format", "jsonl"]),
        "{\"a\":1,\"a_1\":2,\"column3\":3}\n"
    );
    let forced = dir.rows("SELECT * FROM 'b.csv'", &["--header", "yes", "--format", "jsonl"]);
    assert_eq!(forced, "{\"k\":\"x\",\"k_1\":\"y\"}\n");
}

#[test]
fn directories_name_a_column_that_is_in_the_files_too() {
    let dir = Scratch::new(&[("h/a=1/x.csv", "a,b\n7,8\n"), ("h/a=2/x.csv", "a,b\n7,9\n")]);
    assert_eq!(dir.rows("SELECT a, b FROM 'h' ORDER BY a", &[]), "a,b\n1,8\n2,9\n");
    assert_eq!(dir.rows("SELECT b FROM 'h' WHERE a = 2", &[]), "b\n9\n");
    assert_eq!(dir.rows("SELECT count(*) AS n FROM 'h'", &[]), "n\n2\n");
    // A schema is that of the files.
    dir.write("s.sql", &dir.palais(&["schema", "h"]).stdout);
    let given = ["--table", "h=h", "--schema", "h=s.sql"];
    assert_eq!(dir.rows("SELECT a, b FROM h ORDER BY a", &given), "a,b\n1,8\n2,9\n");
}

#[test]
fn files_of_one_name_in_a_data_directory_hurt_only_who_uses_it() {
    let dir = Scratch::new(&[("p.csv", "x\n1\n"), ("q.csv", "y\n2\n")]);
    dir.palais(&["convert", "p.csv", "p.parquet"]);
    assert_eq!(dir.rows("SELECT y FROM q", &["--data", "."]), "y\n2\n");
    let said = dir.fails(1, &["query", "SELECT x FROM p", "--data", "."]);
    says(&said, &["p.csv", "p.parquet", "--table p=PATH"]);
    assert_eq!(dir.rows("SELECT x FROM p", &["--data", ".", "--table", "p=p.parquet"]), "x\n1\n");
    assert_eq!(dir.rows("SHOW TABLES", &["--data", "."]), "table_name\np\nq\n");
}

#[test]
fn query_4_of_the_benchmark_runs_anywhere() {
    let dir = Scratch::new(&[]);
    let made = ["generate", "d", "--rankings", "100", "--documents", "50kB"];
    assert_eq!(dir.palais(&made).code(), Some(0));
    let done = dir.palais(&["bdb", "4", "--data", "d", "--allow-scripts", "--format", "csv"]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert!(done.stdout.lines().count() > 10, "{}", done.stdout);
    let done = dir.palais(&["bdb", "4", "--data", "d", "--allow-scripts", "--script", "exit 5"]);
    says(&done.stderr, &["'exit 5'", "exit status 5"]);
}

#[test]
fn memory_is_told_by_the_operator_that_keeps_it() {
    let dir = Scratch::new(&[]);
    let out =
        |sql: &str, limit: &str| dir.fails(1, &["query", sql, "--memory-limit", limit, "--workers", "2"]);
    let join = "SELECT count(*), sum(b.x) FROM range(4000000) a JOIN (SELECT range AS k, range * 3 AS x FROM \
                range(5000000)) b ON a.range = b.k";
    says(&out(join, "100MB"), &["out of memory", "join", "build side", "--memory-limit 95.4 MiB"]);
    says(
        &out("SELECT range, count(*) FROM range(9000000) GROUP BY ROLLUP(range)", "64MiB"),
        &["final aggregate by", "distinct"],
    );
    says(&out("SELECT range FROM range(20000000) ORDER BY range DESC", "64MiB"), &["sort by", "LIMIT"]);
    // What is over before anybody looks counts as well.
    says(&out("SELECT sum(length(repeat('x', 100000000))) FROM range(10)", "100MB"), &["out of memory"]);
    says(&out("SELECT array_agg(range) FROM range(20000000)", "100MB"), &["out of memory"]);
    for limit in ["0", "1", "1MiB"] {
        says(&dir.fails(2, &["query", "SELECT 1", "--memory-limit", limit]), &["--memory-limit", "16.0 MiB"]);
    }
    assert_eq!(dir.rows("SELECT 1 AS a", &["--memory-limit", "16MiB"]), "a\n1\n");
    // Lists count once, in however many batches of a join's build side they lie.
    let lists = "SELECT count(q.l) AS n FROM range(1000) r JOIN (SELECT range % 500000 AS k, array_agg(range) AS l FROM \
                 range(1000000) GROUP BY 1) q ON r.range = q.k";
    assert_eq!(dir.rows(lists, &["--memory-limit", "400MiB", "--workers", "1"]), "n\n1000\n");
}

#[test]
fn intervals_of_parquet_keep_their_months() {
    let python = std::env::var("PALAIS_PYTHON").unwrap_or_else(|_| ".venv/bin/python".into());
    let write = |script: &str| {
        let made = run(Command::new(&python).args(["-c", script]));
        assert_eq!(made.code(), Some(0), "{}", made.stderr);
    };
    let dir = Scratch::new(&[]);
    let file = dir.path("i.parquet");
    let script = format!(
        "import duckdb; duckdb.execute(\"copy (select i, case when i <> 2 then to_months(i * 7) + to_days(i) + \
         to_seconds(i) end as v from range(4) t(i)) to '{}'\")",
        file.display()
    );
    write(&script);
    let rows =
        dir.rows("SELECT i, TIMESTAMP '2020-01-31 00:00:00' + v AS t FROM 'i.parquet' ORDER BY i", &[]);
    let times: Vec<&str> = rows.lines().map(|line| &line[..line.len().min(21)]).collect();
    assert_eq!(times[0], "i,t");
    says(times[1], &["0,2020-01-31T00:00:00"]);
    says(times[2], &["1,2020-09-01T00:00:01"]);
    assert_eq!(times[3], "2,");
    says(times[4], &["3,2021-11-03T00:00:03"]);
    assert_eq!(
        palais(["query", &format!("SELECT count(v) AS n FROM '{}'", file.display())]).stdout,
        "n\n3\n"
    );
    // Within others too.
    let script = format!(
        "import duckdb; duckdb.execute(\"copy (select [v, null] as l, {{'a': 1, 'b': {{'v': v}}}} as s, map([1, 2], [v, v]) \
         as m, 'abcdefghijkl'::blob as x, v from (select to_months(14) + to_days(3) + to_seconds(1.5) as v)) to '{}'\")",
        file.display()
    );
    write(&script);
    let v = "1 year 2 months 3 days 00:00:01.5";
    assert_eq!(
        dir.rows("SELECT l[1] AS l, s.b.v AS s, m[2] AS m, octet_length(x) AS x, v FROM 'i.parquet'", &[]),
        format!("l,s,m,x,v\n{v},{v},{v},12,{v}\n")
    );
    assert_eq!(
        dir.rows("SELECT s, l FROM 'i.parquet'", &[]),
        format!("s,l\n\"{{a: 1, b: {{v: {v}}}}}\",\"[{v}, NULL]\"\n")
    );
}

#[test]
fn several_statements_run_one_after_another() {
    let script =
        "COPY (SELECT a * 2 AS b FROM 't.csv') TO 'u.csv'; -- and then\nSELECT sum(b) AS s FROM 'u.csv';;\n";
    let dir = Scratch::new(&[("t.csv", "a\n1\n2\n"), ("script.sql", script)]);
    assert_eq!(dir.rows("SELECT 1 AS x; SELECT count(*) AS n FROM 't.csv'", &[]), "x\n1\nn\n2\n");
    let done = dir.palais(&["query", "--file", "script.sql"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "s\n6\n"), "{}", done.stderr);
    assert_eq!(dir.rows("-- a note\nSELECT 1 AS x", &[]), "x\n1\n");
    assert_eq!(dir.palais(&["-- a note\nSELECT 1 AS x"]).stdout, "x\n1\n");
    let marked = Scratch::new(&[("marked.sql", "\u{feff}SELECT 1 AS x;\n")]);
    assert_eq!(marked.palais(&["query", "-f", "marked.sql"]).stdout, "x\n1\n");
    assert_eq!(marked.piped(&["query"], "\u{feff}SELECT 2 AS x").1, "x\n2\n");
    let (code, out, _) = dir.piped(&["query"], "SELECT 1 AS x;\nDESCRIBE 't.csv';");
    assert_eq!((code, out.lines().count()), (Some(0), 4), "{out}");
    // All are parsed before the first one runs; one that fails is the last.
    says(&dir.fails(1, &["query", "SELECT 1 AS x; SELEC 2"]), &["SQL syntax", "line 1, column 16"]);
    says(&dir.fails(1, &["query", "SELECT 1 SELECT 2; SELECT 3"]), &["SQL syntax", "a semicolon or the end"]);
    let done = dir.palais(&["query", "SELECT 1 AS x; SELECT 1 // (a - 1) FROM 't.csv'; SELECT 2 AS x"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(1), "x\n1\n"));
    says(&done.stderr, &["error: "]);
    for flags in
        [&["--output", "o.csv"][..], &["--repeat", "2"], &["--stats", "s.json"], &["--profile", "p.svg"]]
    {
        let refused = dir.fails(2, &[&["query", "SELECT 1; SELECT 2"], flags].concat());
        says(&refused, &[flags[0], "takes one statement"]);
    }
    says(&dir.fails(1, &["cluster", "run", "--local", "2", "SELECT 1; SELECT 2"]), &["one statement a call"]);
}

#[test]
fn views_and_settings_last_for_a_run() {
    let dir = Scratch::new(&[("t.csv", "a,b\n1,x\n2,y\nz,z\n")]);
    let view = "CREATE VIEW v AS SELECT a, b FROM 't.csv' WHERE b > 'x'; SELECT count(*) AS n FROM v";
    assert_eq!(dir.rows(view, &[]), "n\n2\n");
    says(&dir.fails(1, &["query", "SELECT * FROM v"]), &["there is no table 'v'"]);
    // What it keeps is told on standard error, and the rows alone are on standard output.
    let table = "SET on_error = skip; SET infer_rows = 2; CREATE TEMP TABLE t AS SELECT sum(a) AS s FROM 't.csv'; FROM t";
    let done = dir.palais(&["query", table, "--format", "csv"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "s\n3\n"), "{}", done.stderr);
    says(&done.stderr, &["1 rows left out"]);
    let kinds = "CREATE VIEW v AS SELECT 1 AS a; CREATE TEMP TABLE t AS SELECT 2 AS a; SHOW TABLES; DESCRIBE v; SUMMARIZE v";
    let shown = dir.rows(kinds, &[]);
    assert!(shown.starts_with("table_name\nt\nv\ncolumn_name,column_type,nullable\na,"), "{shown}");
    let file = "CREATE VIEW v AS SELECT 7 AS a; COPY v TO 'o.csv'; SELECT a FROM 'o.csv'";
    assert_eq!(dir.rows(file, &[]), "a\n7\n");

    for (sql, parts) in [
        ("SET workers = 0", &["SET workers takes a number from 1 to 1024", "'0'"][..]),
        ("SET memory_limit = 1MiB", &["SET memory_limit takes a size from 16MiB on"]),
        (
            "SET quote = ','; SET delimiter = ','",
            &["SET delimiter takes one ASCII character other than the quote"],
        ),
        ("SET allow_scripts = true", &["allow_scripts is not set by a statement"]),
        ("SET nothing = 1", &["there is no setting nothing; there are workers, memory_limit"]),
        ("SET workers", &["SQL syntax"]),
        ("CREATE VIEW v", &["SQL syntax"]),
        ("CREATE TABLE t AS SELECT 1", &["CREATE TABLE", "help: CREATE TEMP TABLE"]),
        ("CREATE TEMP TABLE t (a INT)", &["with types of columns"]),
        ("CREATE INDEX i ON t (a)", &["CREATE of something else"]),
        (
            "CREATE VIEW v AS SELECT 1; WITH v AS (SELECT * FROM v) SELECT * FROM v",
            &["a CTE that is called 'v'"],
        ),
        ("CREATE VIEW v AS SELECT c FROM 't.csv'", &["c"]),
        ("CREATE VIEW v AS SELECT ? AS x", &["no value for the parameter"]),
    ] {
        says(&dir.fails(1, &["query", sql]), parts);
    }
    for (sql, flag) in [("CREATE VIEW v AS SELECT 1", "--output"), ("DROP VIEW v", "--stats")] {
        says(&dir.fails(2, &["query", sql, flag, "o"]), &[flag, "has no use for"]);
    }
    says(
        &dir.fails(1, &["cluster", "run", "--local", "2", "CREATE VIEW v AS SELECT 1"]),
        &["CREATE VIEW where other processes run the queries"],
    );
    let named = dir.fails(1, &["query", "--table", "t=t.csv", "DROP TABLE t"]);
    says(&named, &["the table 't' is a file, which is not removed"]);
}
