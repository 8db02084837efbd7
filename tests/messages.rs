//! What palais says of wrong statements, wrong names and wrong usage.

use std::fs;
use std::path::Path;
use std::process::Command;

use process::{Finished, palais, run};

#[path = "support/process.rs"]
mod process;

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = dir.join(name);
    fs::write(&path, text).expect("a file can be written");
    path.to_string_lossy().into_owned()
}

/// Asserts that a query fails with exit code 1, nothing on standard output, and all of these in its message.
fn fails<const N: usize>(done: &Finished, parts: [&str; N]) {
    refused(done, 1, parts);
}

/// Asserts that a command fails with this exit code, nothing on standard output, and all of these in its message.
fn refused<const N: usize>(done: &Finished, code: i32, parts: [&str; N]) {
    assert_eq!(done.code(), Some(code), "{} {}{}", done.ending(), done.stdout, done.stderr);
    assert_eq!(done.stdout, "");
    for part in parts {
        assert!(done.stderr.contains(part), "'{part}' is not in: {}", done.stderr);
    }
}

#[test]
fn a_missing_file_names_the_nearest() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let path = write(dir.path(), "visits.csv", "a\n1\n");
    let wrong = path.replace("visits", "visit");
    fails(&palais(["query", &format!("SELECT * FROM '{wrong}'")]), ["visit.csv", "visits.csv"]);
}

#[test]
fn a_syntax_error_has_its_place() {
    fails(
        &palais(["query", "SELECT 1\nFRM t"]),
        ["SQL syntax", "\n  line 2, column 5\n    FRM t\n        ^\n"],
    );
    let done = palais(["query", "SELECT 'é',\n  a FROM \n"]);
    let mark = "\n  line 2, column 9\n    a FROM\n          ^\n";
    fails(&done, ["SQL syntax", "found: the end of the statement", mark]);
}

/// The statements of `places.txt` and what is said of each. `PALAIS_WRITE_GOLDEN=1 cargo test --release --test messages`
/// writes what is said now; the difference is to be read.
#[test]
fn an_error_has_a_mark_under_its_place() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages/places.txt");
    let text = fs::read_to_string(&file).expect("the statements are there");
    let mut now = Vec::new();
    for record in text.trim_end().split("\n\n") {
        let (statement, expected) = record.split_once("\n----").expect("a statement and its message");
        let done = palais(["query", statement]);
        let said = done.stderr.trim_end();
        assert_eq!((done.code(), done.stdout.as_str()), (Some(1), ""), "{statement}\n{said}");
        now.push(format!("{statement}\n----\n{said}"));
        if std::env::var_os("PALAIS_WRITE_GOLDEN").is_none() {
            assert_eq!(said, expected.trim_start_matches('\n'), "{statement}");
        }
    }
    if std::env::var_os("PALAIS_WRITE_GOLDEN").is_some() {
        fs::write(&file, now.join("\n\n") + "\n").expect("the file can be written");
    }
}

#[test]
fn a_place_is_that_in_the_file() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let statements = "SELECT 1 AS one;\n\n-- größe\nSELECT 2;\n\tSELECT nix FROM range(3);\n";
    let file = write(dir.path(), "s.sql", statements);
    let place = "\n  line 5, column 9\n    SELECT nix FROM range(3);\n           ^^^\n";
    let shell = |command: &str| {
        let program = env!("CARGO_BIN_EXE_palais");
        run(Command::new("bash").args(["-c", &format!("'{program}' {command} '{file}'")]))
    };
    for done in [palais(["query", "--file", &file]), shell("query <")] {
        assert_eq!(done.code(), Some(1), "{}", done.stderr);
        assert!(done.stderr.contains(place), "{}", done.stderr);
    }
}

#[test]
fn a_call_that_fits_no_function_names_those_that_there_are() {
    let done = palais(["query", "SELECT sum(name) FROM (VALUES ('a')) t(name)"]);
    fails(&done, ["sum(VARCHAR)", "help:", "sum(DOUBLE)"]);
    assert!(!done.stderr.contains("issue tracker"), "{}", done.stderr);
}

#[test]
fn frequent_mistakes_are_told_in_plain_words() {
    let table = "(VALUES (1, 'a')) t(n, s)";
    for (sql, parts) in [
        (format!("SELECT s, sum(n) FROM {table}"), ["neither in GROUP BY", "any_value()"]),
        (format!("SELECT CAST(s AS INT) FROM {table}"), ["cannot cast 'a' to INT", "TRY_CAST"]),
        (format!("SELECT * FROM {table} WHERE n = 'x'"), ["cannot cast 'x' to BIGINT", "TRY_CAST"]),
        (format!("SELECT summ(n) FROM {table}"), ["there is no function 'summ'", "sum"]),
        (format!("SELECT * FROM {table} WHERE n"), ["true or false", "BOOLEAN"]),
        (format!("SELECT s * n FROM {table}"), ["no operation VARCHAR * BIGINT", "CAST"]),
        (format!("SELECT coalesce(n, DATE '2024-01-01') FROM {table}"), ["coalesce(BIGINT, DATE)", "CAST"]),
        (format!("SELECT CAST(DATE '2024-01-01' AS DOUBLE) FROM {table}"), ["CAST from DATE", "DOUBLE"]),
        (format!("SELECT n // 2.5 FROM {table}"), ["// divides integers", "trunc(a / b)"]),
        (format!("SELECT _file FROM {table}"), ["no column '_file'", "--file-column"]),
    ] {
        fails(&palais(["query", &sql]), parts);
    }
}

#[test]
fn hours_are_not_dropped_from_a_date_in_silence() {
    for sql in [
        "SELECT DATE '2024-01-01' + INTERVAL '1 hour'",
        "SELECT d - INTERVAL '90 minutes' FROM (VALUES (DATE '2024-01-01')) t(d)",
    ] {
        fails(&palais(["query", sql]), ["DATE has no hours", "TIMESTAMP"]);
    }
}

#[test]
fn a_refusal_names_the_construct() {
    let from = "(SELECT 1 AS x) a";
    for (sql, what) in [
        (format!("SELECT * FROM {from} ASOF JOIN {from} MATCH_CONDITION (a.x > a.x) ON true"), "ASOF JOIN"),
        (format!("SELECT x FROM {from} CROSS APPLY (SELECT 1) b"), "APPLY"),
        (format!("SELECT x FROM {from} LIMIT x"), "a LIMIT or OFFSET that is not constant"),
        ("SELECT MAP {'a': 1, NULL: 2}".into(), "a key of a map is NULL"),
        (format!("SELECT 1 -> 'a' FROM {from}"), "no function json_extract(BIGINT, VARCHAR)"),
        (format!("SELECT x -> 'a' FROM {from}"), "no function json_extract(BIGINT, VARCHAR)"),
        (format!("SELECT x[1] FROM {from}"), "a subscript of BIGINT"),
        (format!("SELECT nosuch(x) FROM {from}"), "there is no function 'nosuch'"),
        ("SELECT 1234567890123456789012345678901234567890".into(), "has 40 digits"),
    ] {
        let done = palais(["query", &sql]);
        fails(&done, [what]);
        for tree in ["Expr", "Ident", "{ "] {
            assert!(!done.stderr.contains(tree), "{sql}: {}", done.stderr);
        }
    }
}

#[test]
fn a_quote_that_is_never_closed_can_not_be_skipped() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let path = write(dir.path(), "q.csv", "a,b\n1,\"x\n2,y\n");
    let done = palais(["query", &format!("SELECT * FROM '{path}'"), "--on-error", "skip"]);
    fails(&done, ["row 1", "never closed", "--quote"]);
    assert!(!done.stderr.contains("--on-error"), "{}", done.stderr);
}

#[test]
fn names_of_outputs_that_could_not_be_read_back_are_refused() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| dir.path().join(name).display().to_string();
    refused(
        &palais(["query", "SELECT 1", "--output", &path("x.parquet.gz")]),
        2,
        ["compressed inside", "x.parquet"],
    );
    let copy = format!("COPY (SELECT 1) TO '{}'", path("x.buren.zst"));
    refused(&palais(["query", &copy]), 2, ["compressed inside"]);
    refused(&palais(["query", "SELECT 1", "--output", &path("x.txt")]), 2, ["tells no format", "--format"]);
    let source = write(dir.path(), "s.csv", "a\n1\n");
    refused(&palais(["convert", &source, "-", "--to", "jsonl"]), 2, ["convert writes files"]);
    assert_eq!(fs::read_dir(dir.path()).expect("it can be listed").count(), 1);
}

#[test]
fn a_pipe_is_a_file_to_convert() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let source = write(dir.path(), "s.csv", "a\n1\n2\n");
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    let reader =
        Command::new("cat").arg(&pipe).stdout(std::process::Stdio::piped()).spawn().expect("cat starts");
    let done = palais(["convert", &source, &pipe.display().to_string(), "--to", "jsonl"]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    let read = reader.wait_with_output().expect("cat ends");
    assert_eq!(String::from_utf8_lossy(&read.stdout), "{\"a\":1}\n{\"a\":2}\n");
}

#[test]
fn times_and_sizes_out_of_range_are_wrong_usage() {
    for seconds in ["-1", "inf", "nan", "1e20", "soon"] {
        let done = palais(["watch", "SELECT 1", &format!("--until-idle={seconds}")]);
        refused(&done, 2, ["--until-idle", "seconds"]);
    }
    refused(&palais(["query", "SELECT 1", "--max-record", "2GiB"]), 2, ["--max-record", "1.0 GiB"]);
}

#[test]
fn whoever_reads_scripts_may_stop() {
    let program = env!("CARGO_BIN_EXE_palais");
    for arguments in ["completions bash", "query 'SELECT 1' --plan-fingerprint"] {
        let shell = format!("set -o pipefail; '{program}' {arguments} | true");
        let done = run(Command::new("bash").args(["-c", &shell]));
        assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{arguments}");
        let shell = format!("'{program}' {arguments} > /dev/full");
        let done = run(Command::new("bash").args(["-c", &shell]));
        assert_eq!(done.code(), Some(1), "{arguments}: {}", done.stderr);
        assert!(done.stderr.contains("No space left"), "{arguments}: {}", done.stderr);
    }
}

#[test]
fn a_summary_takes_columns_of_every_type() {
    let rows = "SELECT CAST('\\xff00' AS BLOB) AS b, CAST(1.5 AS DECIMAL(38, 36)) AS d, \
                CAST('-inf' AS DOUBLE) AS f, TIMESTAMP '2024-02-29 13:14:15' AS t, - - 7654 AS m";
    let done = palais(["query", &format!("SUMMARIZE {rows}"), "--format", "csv"]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    for part in ["1.5", "-Infinity", "2024-02-29T13:14:15", "7654"] {
        assert!(done.stdout.contains(part), "'{part}' is not in: {}", done.stdout);
    }
}

#[test]
fn a_file_is_what_it_begins_with_whatever_its_name() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    for (written, name) in [("m.parquet", "m.csv.gz"), ("m.buren", "m.jsonl.zst"), ("m.arrow", "m.csv")] {
        let (written, named) = (dir.path().join(written), dir.path().join(name));
        let output = written.to_str().expect("a path of UTF-8");
        let done = palais(["query", "SELECT 1 AS one", "--output", output]);
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        std::fs::rename(&written, &named).expect("a file can be renamed");
        let done = palais(["query", &format!("SELECT one FROM '{}'", named.display())]);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "one\n1\n"), "{name}: {}", done.stderr);
    }
}

#[test]
fn a_first_row_is_not_lost_to_a_schema_of_other_names() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let path = write(dir.path(), "p.csv", "A12,x\n13,y\n14,z\n");
    let ddl = write(dir.path(), "p.sql", "CREATE TABLE p (code VARCHAR, name VARCHAR)");
    let (table, schema) = (format!("p={path}"), format!("p={ddl}"));
    let count = |more: &[&str]| {
        let flags = ["query", "SELECT count(*) AS n FROM p", "--table", &table, "--schema", &schema];
        let done = palais(flags.iter().chain(more));
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        done.stdout
    };
    assert_eq!(count(&[]), "n\n3\n");
    assert_eq!(count(&["--header", "yes"]), "n\n2\n");
}

#[test]
fn a_file_with_another_first_row_than_the_others_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    write(dir.path(), "a.csv", "id,name\n1,ada\n");
    let second = write(dir.path(), "b.csv", "2,bob\n");
    let schema = write(dir.path(), "s.sql", "CREATE TABLE t (id INT, name VARCHAR);");
    let (table, schema) = (format!("t={}/*.csv", dir.path().display()), format!("t={schema}"));
    for query in ["SELECT sum(id) FROM t", "SELECT count(*) FROM t"] {
        let done = palais(["query", query, "--table", &table, "--schema", &schema]);
        fails(&done, [second.as_str(), "does not hold the names", "--header"]);
    }
}

/// Names of what palais is made of, which no user knows.
const INSIDE: [&str; 36] = [
    "relation 1",
    "Unary operator",
    "coercion failed",
    "Incompatible inputs",
    "DataFusion",
    "Arrow error",
    "Internal error",
    "Execution error",
    "Schema error",
    "Compute error",
    "Cast error",
    "Invalid argument",
    "Error during planning",
    "This feature is not implemented",
    "caused by",
    "RowConverter",
    "LogicalPlan",
    "Logical expression",
    "Physical plan",
    "Optimizer rule",
    "type_coercion",
    "coerce",
    "Utf8",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Float64",
    "Decimal128",
    "Date32",
    "Timestamp(",
    "Interval(",
    "Span(",
    "NullAry",
    "Projections require",
    "Cannot get result type",
];

#[test]
fn what_is_refused_is_told_without_names_of_the_inside() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let table = format!("types={}", tests.join("slt/data/types.parquet").display());
    let statements =
        fs::read_to_string(tests.join("messages/refused.txt")).expect("the statements are there");
    let mut refused = 0;
    for statement in statements.lines() {
        let done = palais(["query", statement, "--table", &table]);
        let told = done.stderr.replace(statement, "");
        let inside: Vec<&&str> = INSIDE.iter().filter(|name| told.contains(**name)).collect();
        assert!(inside.is_empty(), "{statement}\n{}\n{inside:?}", done.stderr);
        refused += usize::from(done.code() != Some(0));
    }
    assert!(refused > 250, "{refused} statements were refused");
}
