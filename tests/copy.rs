//! `COPY … TO` and `--output`: all rows, in their order, whoever encodes them, in files that DuckDB reads.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use process::{palais, run};

#[path = "support/process.rs"]
mod process;

const ROWS: &str = "SELECT range AS a, md5(CAST(range AS VARCHAR)) AS b FROM range(400000)";

/// Runs a statement that must succeed and print nothing to standard error; gives what it prints.
fn query(sql: &str, workers: &str) -> String {
    // Off a terminal a result is csv.
    let done = palais(["query", sql, "--workers", workers]);
    assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{sql}: {}", done.ending());
    done.stdout
}

/// The files of a directory.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read(entry.path()).expect("a file can be read"))
    };
    entries.map(|entry| file(entry.expect("it can be listed"))).collect()
}

/// What DuckDB finds in files: rows, distinct rows, wrong rows.
fn duckdb(glob: &str, encoding: &str) -> String {
    let python = Path::new(".venv/bin/python");
    let python = if python.exists() { python } else { Path::new("python3") };
    let done = run(Command::new(python).args(["tests/oracle/copied.py", glob, encoding]));
    assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
    done.stdout
}

#[test]
fn workers_write_parts_of_their_own() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    for encoding in ["parquet", "csv", "jsonl"] {
        for (workers, parts) in [("1", 1..=1), ("3", 1..=3)] {
            let target = home.path().join(format!("{encoding}-{workers}")).display().to_string();
            assert_eq!(query(&format!("COPY ({ROWS}) TO '{target}/' (FORMAT {encoding})"), workers), "");
            let written = files(Path::new(&target));
            assert!(parts.contains(&(written.len() - 1)), "{:?}", written.keys());
            assert!(written.contains_key("_manifest.json"));
            assert_eq!(duckdb(&format!("{target}/part-*"), encoding), "400000 400000 0\n");
            let back = query(&format!("SELECT count(*) AS n, sum(a) AS s FROM '{target}'"), "2");
            assert_eq!(back, "n,s\n400000,79999800000\n");
        }
    }
}

#[test]
fn an_order_is_kept_and_gives_the_same_bytes_with_any_number_of_workers() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    for (encoding, options) in [
        ("parquet", "COMPRESSION zstd, FILE_SIZE_BYTES 1000000"),
        ("csv", "COMPRESSION gzip, FILE_SIZE_BYTES '2MB'"),
        ("buren", "FILE_SIZE_BYTES 1"),
    ] {
        let mut first = None;
        for workers in ["1", "2", "5"] {
            let target = path(&format!("{encoding}-{workers}"));
            query(&format!("COPY ({ROWS} ORDER BY b) TO '{target}' (FORMAT {encoding}, {options})"), workers);
            let written = files(Path::new(&target));
            assert!(written.len() > 3, "{:?}", written.keys());
            // One worker reads the parts in their order.
            let back = query(&format!("SELECT b FROM '{target}'"), "1");
            assert!(back.lines().skip(1).is_sorted(), "{encoding} by {workers} workers");
            assert_eq!(back.lines().count(), 400_001);
            let first = first.get_or_insert_with(|| written.clone());
            assert!(written == *first, "{encoding} by {workers} workers");
        }
    }
    let single = |workers: &str| {
        let target = path(&format!("o-{workers}.parquet"));
        let sql = format!("{ROWS} ORDER BY b DESC");
        let done = palais(["query", &sql, "--workers", workers, "--output", &target]);
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        fs::read(target).expect("it was written")
    };
    assert!(single("1") == single("4"));
}

#[test]
fn every_form_of_file_has_all_rows() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let names = ["x.csv", "x.tsv", "x.csv.zst", "x.jsonl", "x.json.gz", "x.parquet", "x.arrow", "x.buren"];
    for name in names {
        let target = home.path().join(name).display().to_string();
        // What is called json is an array, which is not compressed.
        let format = if name == "x.json.gz" { "(FORMAT jsonl)" } else { "" };
        query(&format!("COPY ({ROWS}) TO '{target}' {format}"), "3");
        let back = query(&format!("SELECT count(*) AS n, sum(a) AS s FROM '{target}'"), "2");
        assert_eq!(back, "n,s\n400000,79999800000\n", "{name}");
    }
}

#[test]
fn joined_and_grouped_rows_stay_on_their_workers() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let target = home.path().join("d").display().to_string();
    let grouped = "SELECT range % 50000 AS k, count(*) AS n FROM range(400000) GROUP BY 1";
    let joined = format!(
        "SELECT a.range AS a, b.n, c.n AS m FROM range(400000) a JOIN ({grouped}) b \
                          ON a.range % 50000 = b.k LEFT JOIN ({grouped}) c ON a.range = c.k"
    );
    for workers in ["1", "3"] {
        let sql = format!("COPY ({joined}) TO '{target}/' (FORMAT csv, OVERWRITE)");
        let done = palais(["query", &sql, "--workers", workers, "--broadcast-limit", "1"]);
        assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{}", done.ending());
        let back = query(
            &format!("SELECT count(*) AS r, sum(a) AS a, sum(n) AS n, sum(m) AS m FROM '{target}'"),
            "2",
        );
        assert_eq!(back, "r,a,n,m\n400000,79999800000,3200000,400000\n");
    }
}

#[test]
fn options_are_taken_and_refused() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    let csv = path("x.csv");
    let rows = "SELECT * FROM (VALUES (1, 'a'), (2, NULL)) t(n, s) ORDER BY n";
    query(&format!("COPY ({rows}) TO '{csv}' (HEADER false, DELIMITER '|')"), "2");
    assert_eq!(fs::read_to_string(&csv).expect("it was written"), "1|a\n2|\n");
    let again = palais(["query", &format!("COPY ({rows}) TO '{csv}'")]);
    assert!(again.code() == Some(1) && again.stderr.contains("(OVERWRITE)"), "{}", again.stderr);
    assert!(!again.stderr.contains("--overwrite"), "COPY has an option for it: {}", again.stderr);
    query(&format!("COPY ({rows}) TO '{csv}' (OVERWRITE)"), "2");
    assert_eq!(fs::read_to_string(&csv).expect("it was written"), "n,s\n1,a\n2,\n");

    let dataset = path("d");
    let copy = |options: &str| palais(["query", &format!("COPY ({rows}) TO '{dataset}/' ({options})")]);
    assert_eq!(copy("FORMAT parquet").code(), Some(0));
    let refused = copy("FORMAT csv");
    assert!(refused.code() == Some(1) && refused.stderr.contains("(OVERWRITE)"), "{}", refused.stderr);
    assert_eq!(copy("FORMAT csv, OVERWRITE").code(), Some(0));
    assert_eq!(
        files(Path::new(&dataset)).into_keys().collect::<Vec<_>>(),
        ["_manifest.json", "part-00000.csv"]
    );
    for (options, message) in [
        (
            "FORMAT csv, FILENAME_PATTERN x",
            "no option FILENAME_PATTERN\n  help: it has FORMAT, COMPRESSION, PARTITION_BY",
        ),
        ("FORMAT csv, COMPRESION gzip", "no option COMPRESION\n  help: did you mean COMPRESSION?"),
        ("FORMAT csv, CODEC gzip", "help: write COMPRESSION"),
        ("FORMAT csv, COMPRESSION", "COMPRESSION of COPY needs a value, such as COMPRESSION zstd"),
        ("FORMAT (csv)", "FORMAT of COPY takes one value, such as FORMAT parquet"),
    ] {
        let wrong = copy(options);
        assert!(wrong.code() == Some(2) && wrong.stderr.contains(message), "{options}: {}", wrong.stderr);
    }
}

#[test]
fn nothing_is_a_whole_result_too() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    for workers in ["1", "3"] {
        for order in ["", "ORDER BY a"] {
            let target = home.path().join("d").display().to_string();
            let sql =
                format!("COPY ({ROWS} WHERE range < 0 {order}) TO '{target}/' (FORMAT parquet, OVERWRITE)");
            query(&sql, workers);
            let names: Vec<_> = files(Path::new(&target)).into_keys().collect();
            assert_eq!(names, ["_manifest.json", "part-00000.parquet"]);
            assert_eq!(query(&format!("SELECT * FROM '{target}'"), "1"), "a,b\n");
        }
    }
}

#[test]
fn figures_are_those_of_each_worker() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let stats = home.path().join("stats.json");
    let sql = "SELECT range % 7 AS k, count(*) AS n FROM range(1000000) GROUP BY 1 ORDER BY k LIMIT 3";
    let arguments = ["query", sql, "--workers", "2", "--stats", stats.to_str().expect("text")];
    assert_eq!(palais(arguments).code(), Some(0));
    let text = fs::read_to_string(&stats).expect("it was written");
    let stats: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let operators = stats["operators"].as_array().expect("there are operators");
    for operator in operators {
        let workers = operator["workers"].as_array().expect("there are workers");
        assert_eq!(workers.len(), 2);
        for figure in ["rows", "batches", "bytes"] {
            let sum: u64 = workers.iter().filter_map(|w| w[figure].as_u64()).sum();
            assert_eq!(operator[figure].as_u64(), Some(sum), "{operator}");
        }
    }
    let rows = |name: &str| {
        let named = operators.iter().find(|o| o["operator"].as_str().is_some_and(|n| n.starts_with(name)));
        named.and_then(|o| o["rows"].as_u64())
    };
    assert_eq!((rows("scan"), rows("final"), rows("merge")), (Some(1_000_000), Some(7), Some(3)));
    let shown = query(&format!("EXPLAIN ANALYZE {sql}"), "2");
    let line = |word: &str| shown.lines().find(|line| line.contains(word)).unwrap_or_default();
    // Rows, about (marked where it is far off), busy, kept.
    let figures = line("final aggregate").split_whitespace().filter(|&word| word != "!").collect::<Vec<_>>();
    assert!(figures[0] == "7" && figures[3] == "s" && figures[5].ends_with('B'), "{shown}");
    assert!(line("scan ").contains("1,000,000 ") && line("scan ").contains(" a worker"), "{shown}");
}

/// Cap'n Proto's tool reads what a query writes, by the schema that palais prints, and the other way round.
#[test]
fn capnp_reads_what_copy_writes_and_writes_what_a_query_reads() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    let rows = "SELECT * FROM (VALUES (1, 'one', DATE '1970-01-03'), (2, NULL, NULL), (3, '', DATE '1969-12-31')) \
                t(id, word, day)";
    let capnp = |arguments: &[&str], given: &str, out: &str| {
        let given = fs::File::open(given).expect("it is there");
        let out = fs::File::create(out).expect("a file can be made");
        let status = Command::new("capnp").args(arguments).stdin(given).stdout(out).status();
        assert!(status.expect("`make others` installs capnp").success(), "{arguments:?}");
    };
    for (encoding, packed) in [("capnproto", &[][..]), ("capnproto-packed", &["--packed"])] {
        let directory = path(encoding);
        query(&format!("COPY ({rows}) TO '{directory}/' (FORMAT '{encoding}')"), "1");
        let done = palais(["schema", &directory, "--as", "capnp"]);
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        let schema = path("t.capnp");
        fs::write(&schema, &done.stdout).expect("the schema can be written");
        let name = done.stdout.split_whitespace().nth(2).expect("@id; struct Name");

        let part = format!("{directory}/part-00000.{encoding}");
        let (text, encoded) = (path("decoded"), path(&format!("encoded.{encoding}")));
        capnp(&[&["decode", "--short"], packed, &[&schema, name]].concat(), &part, &text);
        let decoded = "(id = (value = 1), word = \"one\", day = (value = 2))\n(id = (value = 2), day = (null = void))\n\
                       (id = (value = 3), word = \"\", day = (value = -1))\n";
        assert_eq!(fs::read_to_string(&text).expect("text"), decoded);
        capnp(&[&["encode"], packed, &[&schema, name]].concat(), &text, &encoded);

        let columns = path("t.sql");
        fs::write(&columns, palais(["schema", &directory]).stdout).expect("the schema can be written");
        let written = query(&format!("SELECT day, word FROM '{directory}' ORDER BY id"), "2");
        let (table, schema) = (format!("t={encoded}"), format!("t={columns}"));
        let sql = "SELECT day, word FROM t ORDER BY id";
        let done = palais(["query", sql, "--table", &table, "--schema", &schema]);
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        for found in [written, done.stdout] {
            assert_eq!(found, "day,word\n1970-01-03,one\n,\n1969-12-31,\"\"\n");
        }
    }
}

#[test]
fn nothing_is_written_into_a_store_that_is_not_there() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    fs::write(home.path().join("x.csv"), "a\n1\n").expect("it can be written");
    let commands: [&[&str]; 7] = [
        &["query", "SELECT 1", "--output", "s3://b/x.csv"],
        &["query", "SELECT 1", "--output", "s3://b/x.md"],
        &["query", "SELECT 1", "--output", "s3://b/"],
        &["query", "SELECT 1", "--profile", "s3://b/x.svg"],
        &["query", "SUMMARIZE 'x.csv'", "--output", "s3://b/x.csv"],
        &["convert", "x.csv", "s3://b/x.parquet"],
        &["convert", "x.csv", "s3://b", "--to", "parquet"],
    ];
    for arguments in commands {
        let done = run(Command::new(env!("CARGO_BIN_EXE_palais")).args(arguments).current_dir(home.path()));
        assert_eq!(done.code(), Some(1), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains("there is no store for 's3://'"), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains("help: write to a directory here"), "{arguments:?}: {}", done.stderr);
        assert_eq!(files(home.path()).into_keys().collect::<Vec<_>>(), ["x.csv"], "{arguments:?}");
    }
}
