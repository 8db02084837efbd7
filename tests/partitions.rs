//! `PARTITION_BY` and `--partition-by`: hive directories that palais and DuckDB read back, with a bounded memory, and
//! whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::{Finished, palais, run};

#[path = "support/process.rs"]
mod process;

/// Values that are no names of directories as they are.
const NAMES: &str = "CASE range % 9 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'a/b c%=:é*?[+\"' \
                     WHEN 3 THEN '__HIVE_DEFAULT_PARTITION__' WHEN 4 THEN '..' WHEN 5 THEN 'x''y\\z' \
                     WHEN 6 THEN '%41' WHEN 7 THEN '東京' ELSE ' end ' END";

/// Rows with these values in the column `name`, and whole numbers in `n`.
fn rows(count: usize) -> String {
    format!(
        "SELECT range AS v, {NAMES} AS name, md5(CAST(range AS VARCHAR)) AS h, range % 4 AS n FROM range({count})"
    )
}

fn succeeds(arguments: &[&str]) -> String {
    let done = palais(arguments);
    assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{arguments:?}: {}", done.ending());
    done.stdout
}

fn query(sql: &str) -> String {
    succeeds(&["query", sql])
}

/// All files in a directory and below it, by their paths.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut below) = (BTreeMap::new(), vec![directory.to_path_buf()]);
    while let Some(at) = below.pop() {
        for entry in fs::read_dir(at).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                below.push(path);
                continue;
            }
            let name = path.strip_prefix(directory).expect("it lies below").display().to_string();
            found.insert(name, fs::read(&path).expect("it can be read"));
        }
    }
    found
}

/// What lies in a directory, that what is hidden too.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it can be listed");
    let mut names: Vec<_> =
        entries.map(|e| e.expect("it can be listed").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What DuckDB finds in a tree: rows, those of the query that are missing, and others.
fn duckdb(tree: &str, encoding: &str, sql: &str) -> String {
    let python = Path::new(".venv/bin/python");
    let python = if python.exists() { python } else { Path::new("python3") };
    let glob = format!("{tree}/**/part-*");
    let done = run(Command::new(python).args(["tests/oracle/partitioned.py", &glob, encoding, sql]));
    assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
    done.stdout.trim().to_string()
}

/// A directory for one test, and paths in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().expect("a temporary directory can be made"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

#[test]
fn what_is_written_is_read_back_by_palais_and_by_duckdb() {
    let home = Home::new();
    let sql = rows(4000);
    for (encoding, compression, suffix) in [
        ("parquet", "snappy", "parquet"),
        ("parquet", "zstd", "parquet"),
        ("csv", "gzip", "csv.gz"),
        ("jsonl", "none", "jsonl"),
    ] {
        let tree = home.text(&format!("{encoding}-{compression}"));
        let options = format!("FORMAT {encoding}, COMPRESSION {compression}, PARTITION_BY (name, n)");
        assert_eq!(query(&format!("COPY ({sql}) TO '{tree}' ({options})")), "");
        let written = files(Path::new(&tree));
        assert_eq!(written.len(), 36, "{:?}", written.keys());
        let spelled = format!("name=a%2Fb%20c%25%3D%3Aé%2A%3F%5B%2B%22/n=2/part-00000.{suffix}");
        assert!(written.contains_key(&spelled), "{:?}", written.keys());
        for name in
            ["name=/n=1", "name=__HIVE_DEFAULT_PARTITION__/n=0", "name=%5F_HIVE_DEFAULT_PARTITION__/n=3"]
        {
            assert!(written.contains_key(&format!("{name}/part-00000.{suffix}")), "{:?}", written.keys());
        }
        let back = format!("SELECT v, name, h, n FROM '{tree}'");
        for (one, other) in [(&sql, &back), (&back, &sql)] {
            let differ = format!("SELECT count(*) AS differ FROM ({one} EXCEPT ALL {other})");
            assert_eq!(query(&differ), "differ\n0\n", "{encoding}");
        }
        let columns = query(&format!("SELECT * FROM '{tree}' LIMIT 0"));
        assert_eq!(columns, "v,h,name,n\n", "the files have the other columns");
        assert_eq!(duckdb(&tree, encoding, &sql), "4000 0 0", "{encoding}");
    }
}

#[test]
fn every_format_is_written() {
    let home = Home::new();
    let schema = home.text("t.sql");
    fs::write(&schema, "CREATE TABLE t (v BIGINT, h VARCHAR)").expect("it can be written");
    let sql = "SELECT range AS v, 'h' || CAST(range AS VARCHAR) AS h, range % 3 AS k FROM range(300)";
    for (format, states_names) in [
        ("csv", true),
        ("tsv", true),
        ("jsonl", true),
        ("parquet", true),
        ("arrow", true),
        ("buren", true),
        ("msgpack", true),
        ("cbor", true),
        ("bincode", false),
        ("protobuf", false),
        ("capnproto", false),
        ("capnproto-packed", false),
    ] {
        for compression in ["none", "zstd"] {
            let tree = home.text(&format!("{format}-{compression}"));
            let options = format!("FORMAT {format}, COMPRESSION {compression}, PARTITION_BY k");
            query(&format!("COPY ({sql}) TO '{tree}/' ({options})"));
            assert_eq!(names(Path::new(&tree)), ["k=0", "k=1", "k=2"], "{format}");
            let table = format!("t={tree}");
            let given = format!("t={schema}");
            let schema = if states_names { vec![] } else { vec!["--schema", given.as_str()] };
            let back =
                "SELECT count(*) AS n, sum(v) AS v, count(DISTINCT h) AS h, sum(v % 3 - k) AS k FROM t";
            let back = succeeds(&[&["query", back, "--table", &table][..], &schema].concat());
            assert_eq!(back, "n,v,h,k\n300,44850,300,0\n", "{format} {compression}");
        }
    }
}

#[test]
fn an_order_gives_the_same_bytes_with_any_number_of_workers() {
    let home = Home::new();
    let csv = home.text("t.csv");
    query(&format!("COPY ({} ORDER BY v) TO '{csv}'", rows(300_000)));
    let from = format!("SELECT v, name, h, v % 400 AS k FROM '{csv}'");
    for (case, sql, options) in [
        ("sorted", format!("{from} ORDER BY h"), "FORMAT parquet, PARTITION_BY (k)"),
        ("table", from.clone(), "FORMAT csv, COMPRESSION zstd, PARTITION_BY (k)"),
        ("few", format!("{from} ORDER BY h"), "FORMAT buren, PARTITION_BY (name), FILE_SIZE_BYTES 100000"),
    ] {
        let mut first = None;
        for workers in ["1", "2", "5"] {
            let tree = home.text(&format!("{case}-{workers}"));
            let copy = format!("COPY ({sql}) TO '{tree}' ({options})");
            // Rows are 25 MB, of which this lets 12 MiB be held.
            succeeds(&["query", &copy, "--workers", workers, "--memory-limit", "96MiB"]);
            let written = files(Path::new(&tree));
            let later = written.keys().filter(|name| !name.contains("part-00000")).count();
            assert!(case != "few" || later > 0, "{:?}", written.keys());
            let first = first.get_or_insert_with(|| written.clone());
            assert!(written == *first, "{case} by {workers} workers");
        }
        let tree = home.text(&format!("{case}-2"));
        let back = format!("SELECT count(*) AS n, sum(v) AS v, count(DISTINCT h) AS h FROM '{tree}'");
        assert_eq!(query(&back), "n,v,h\n300000,44999850000,300000\n", "{case}");
        if case == "sorted" {
            let one = query(&format!("SELECT h FROM '{tree}/k=7' LIMIT 100000"));
            assert!(one.lines().skip(1).is_sorted(), "a partition keeps the order");
        }
    }
}

#[test]
fn thousands_of_partitions_stay_under_a_small_limit() {
    let home = Home::new();
    let (tree, stats) = (home.text("t"), home.text("stats.json"));
    let sql =
        "SELECT range AS v, md5(CAST(range AS VARCHAR)) AS h, range * 7919 % 3000 AS p FROM range(400000)";
    let copy = format!("COPY ({sql}) TO '{tree}' (FORMAT parquet, PARTITION_BY (p))");
    for workers in ["1", "4"] {
        let run = ["query", &copy, "--overwrite", "--workers", workers, "--memory-limit", "96MiB"];
        succeeds(&[&run[..], &["--stats", &stats]].concat());
        let told = fs::read_to_string(&stats).expect("it was written");
        let peak = told.split("\"peak_memory").nth(1).expect("it tells the peak");
        let digits: String =
            peak.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        let peak: u64 = digits.parse().expect("it is a number");
        assert!(peak < 96 << 20, "{peak} bytes by {workers} workers");
    }
    assert_eq!(names(Path::new(&tree)).len(), 3000);
    assert!(files(Path::new(&tree)).len() > 3000, "what is held is bounded");
    assert_eq!(duckdb(&tree, "parquet", sql), "400000 0 0");
    // Each file is opened for a block: few descriptors are enough.
    let script = format!("ulimit -n 64 && exec \"$0\" query \"{copy}\" --overwrite --workers 2");
    let done = run(Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_palais")]));
    assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{}", done.ending());
}

fn refused(done: &Finished, code: i32, parts: &[&str]) {
    assert_eq!(done.code(), Some(code), "{}: {}", done.ending(), done.stderr);
    for part in parts {
        assert!(done.stderr.contains(part), "no {part:?} in {}", done.stderr);
    }
}

#[test]
fn what_is_no_partition_is_refused_with_what_to_write() {
    let home = Home::new();
    let tree = home.text("t");
    let sql = "SELECT 1 AS a, 2 AS b, array_agg(range) AS l, X'00' AS x, 3 AS v FROM range(2)";
    let copy =
        |options: &str| palais(["query", &format!("COPY ({sql}) TO '{tree}' (FORMAT jsonl, {options})")]);
    refused(&copy("PARTITION_BY (other)"), 1, &["the result has no column 'other'", "it has a, b, l, x, v"]);
    refused(&copy("PARTITION_BY (a, A)"), 1, &["the column 'a' is named twice"]);
    refused(&copy("PARTITION_BY (a, l)"), 1, &["the column 'l' is a BIGINT[]", "CAST(… AS VARCHAR)"]);
    refused(&copy("PARTITION_BY x"), 1, &["the column 'x' is a BLOB", "encode("]);
    refused(&copy("PARTITION_BY *"), 2, &["PARTITION_BY * would leave no column", "PARTITION_BY (a, b)"]);
    refused(&copy("PARTITION_BY ()"), 2, &["names no column", "PARTITION_BY (a, b)"]);
    refused(&copy("PARTITION_BY"), 2, &["names no column", "PARTITION_BY (a, b)"]);
    refused(&copy("PARTITION_BY a, b"), 2, &["COPY has no option B", "in parentheses: PARTITION_BY (a, b)"]);
    refused(&copy("PARTITION_BY a, PER_THREAD_OUTPUT"), 2, &["PER_THREAD_OUTPUT and PARTITION_BY"]);
    refused(&copy("PARTITIONBY (a)"), 2, &["COPY has no option PARTITIONBY", "did you mean PARTITION_BY?"]);
    refused(&copy("ROW_GROUP_SIZE many"), 2, &["no option ROW_GROUP_SIZE", "has no effect"]);
    let to = |sql: &str, target: &str, options: &str| {
        palais(["query", &format!("COPY ({sql}) TO '{target}' ({options})")])
    };
    let two = "SELECT 1 AS a, 2 AS b";
    refused(&to(two, &tree, "FORMAT csv, PARTITION_BY (a, b)"), 1, &["all columns of the result are named"]);
    refused(&to(two, "-", "FORMAT csv, PARTITION_BY a"), 2, &["- is none", "name a directory"]);
    let file = home.text("out.csv.gz");
    refused(
        &to(two, &file, "PARTITION_BY a"),
        2,
        &["is the name of a file", &format!("{}\n", home.text("out"))],
    );
    refused(&to(two, &tree, "FORMAT json, PARTITION_BY a"), 2, &["a directory is not written as json"]);
    refused(&to(two, &tree, "PARTITION_BY a"), 2, &["tells no format"]);
    let twins = "SELECT 1 AS a, 2 AS a, 3 AS b";
    refused(&to(twins, &tree, "FORMAT csv, PARTITION_BY a"), 1, &["several columns 'a'"]);
    let long = "SELECT repeat('ü', 200) AS a, 2 AS b";
    refused(&to(long, &tree, "FORMAT csv, PARTITION_BY a"), 1, &["402 bytes", "left(a, 40)"]);
    fs::write(home.path("plain"), "x").expect("it can be written");
    refused(&to(two, &home.text("plain"), "FORMAT csv, PARTITION_BY a"), 1, &["and this is a file"]);
    let flag = |more: &[&str]| palais([&["query", two, "--partition-by", "a"][..], more].concat());
    refused(&flag(&[]), 2, &["--output"]);
    refused(&flag(&["--output", &home.text("x.csv")]), 2, &["is the name of a file"]);
    let copying = format!("COPY ({two}) TO '{tree}/' (FORMAT csv)");
    refused(&palais(["query", &copying, "-o", "x", "--partition-by", "a"]), 2, &["--output"]);
    assert_eq!(names(home.0.path()), ["plain"]);
}

#[test]
fn a_tree_appears_whole_and_replaces_datasets_and_trees_alone() {
    let home = Home::new();
    let tree = home.text("t");
    let copy = |sql: &str, more: &str| {
        palais(["query", &format!("COPY ({sql}) TO '{tree}' (FORMAT csv, PARTITION_BY a{more})")])
    };
    let first = "SELECT 1 AS a, 'x' AS b";
    assert_eq!(copy(first, "").code(), Some(0));
    refused(&copy(first, ""), 1, &["exists and is not empty", "(OVERWRITE)"]);
    // The last row fails, when files of others are there.
    let fails = "SELECT range % 50 AS a, CASE WHEN range < 900000 THEN range ELSE (range || 'x')::BIGINT END AS b \
                 FROM range(1000000)";
    assert_eq!(copy(fails, ", OVERWRITE").code(), Some(1));
    assert_eq!(files(Path::new(&tree)).into_keys().collect::<Vec<_>>(), ["a=1/part-00000.csv"]);
    assert_eq!(names(home.0.path()), ["t"], "nothing is left");
    assert_eq!(copy("SELECT 2 AS a, 'y' AS b", ", OVERWRITE").code(), Some(0));
    assert_eq!(files(Path::new(&tree)).into_keys().collect::<Vec<_>>(), ["a=2/part-00000.csv"]);
    // A dataset takes the place of a tree, and the other way round.
    query(&format!("COPY ({first}) TO '{tree}/' (FORMAT csv, OVERWRITE)"));
    assert_eq!(names(Path::new(&tree)), ["_manifest.json", "part-00000.csv"]);
    assert_eq!(copy(first, ", OVERWRITE").code(), Some(0));
    assert_eq!(names(Path::new(&tree)), ["a=1"]);
    fs::write(home.path("t/notes.txt"), "mine").expect("it can be written");
    refused(&copy(first, ", OVERWRITE"), 1, &["the directory is no dataset"]);
    assert_eq!(names(Path::new(&tree)), ["a=1", "notes.txt"]);
    fs::remove_dir_all(&tree).expect("it can be removed");

    let none = copy("SELECT range AS v, range % 2 AS a FROM range(3) WHERE range > 5", "");
    assert_eq!(none.code(), Some(0), "{}", none.stderr);
    assert_eq!(query(&format!("SELECT * FROM '{tree}'")), "v,a\n");
}

#[test]
fn flags_write_trees_too() {
    let home = Home::new();
    let sql = rows(1000);
    let (out, csv) = (home.text("out"), home.text("t.csv"));
    let flags =
        ["--output", &out, "--format", "parquet", "--compression", "zstd", "--partition-by", "name,n"];
    succeeds(&[&["query", &sql][..], &flags].concat());
    assert_eq!(duckdb(&out, "parquet", &sql), "1000 0 0");

    query(&format!("COPY ({sql}) TO '{csv}'"));
    let converted = |more: &[&str]| {
        palais(
            [&["convert", &csv, &home.text("converted"), "--to", "parquet", "--overwrite"][..], more]
                .concat(),
        )
    };
    let mut first = None;
    for workers in ["1", "3"] {
        let done = converted(&["--partition-by", "n", "--workers", workers]);
        assert!(done.code() == Some(0) && done.stderr.contains("in 4 files"), "{}", done.stderr);
        let written = files(&home.path("converted"));
        assert!(written == *first.get_or_insert_with(|| written.clone()), "{workers} workers");
    }
    assert_eq!(names(&home.path("converted")), ["n=0", "n=1", "n=2", "n=3"]);
    assert_eq!(duckdb(&home.text("converted"), "parquet", &sql), "1000 0 0");
    refused(&converted(&["--partition-by", "m"]), 1, &["no column 'm'", "it has"]);
    refused(&converted(&["--partition-by", "n", "--verify"]), 2, &["--verify"]);
    let one = palais(["convert", &csv, &home.text("x.parquet"), "--partition-by", "n"]);
    refused(&one, 2, &["--partition-by writes a directory", "is one file"]);
    let cluster = ["cluster", "convert", &csv, &home.text("y"), "--to", "csv", "--partition-by", "n"];
    let several = palais([&cluster[..], &["--local", "2"]].concat());
    refused(&several, 2, &["--partition-by is not for several processes", "palais convert"]);
}

#[test]
fn of_several_processes_one_writes_the_tree() {
    let home = Home::new();
    let sql = rows(5000);
    let copy = |tree: &str| format!("COPY ({sql}) TO '{tree}' (FORMAT parquet, PARTITION_BY (n, name))");
    let (tree, out) = (home.text("t"), home.text("out"));
    succeeds(&["cluster", "run", "--local", "2", "--workers", "1", &copy(&tree)]);
    assert_eq!(duckdb(&tree, "parquet", &sql), "5000 0 0");
    let flags = ["--output", &out, "--format", "parquet", "--partition-by", "n,name"];
    succeeds(&[&["cluster", "run", "--local", "2", "--workers", "1", &sql][..], &flags].concat());
    assert_eq!(duckdb(&out, "parquet", &sql), "5000 0 0");
    assert_eq!(
        files(Path::new(&tree)).keys().collect::<Vec<_>>(),
        files(Path::new(&out)).keys().collect::<Vec<_>>()
    );
}
