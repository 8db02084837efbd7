//! The ten queries of the Big Data Benchmark on its tiny set, as csv, Parquet and buren, with 1, 2 and 5 workers,
//! against DuckDB and, for query 4, a plain Python version (`tests/oracle/bdb.py`).

use std::fs;
use std::path::Path;
use std::process::Command;

use cells::csv_rows;
use close::close;
use process::{palais, run};

#[path = "support/cells.rs"]
mod cells;
#[path = "support/close.rs"]
mod close;
#[path = "support/process.rs"]
mod process;

const QUERIES: [&str; 10] = ["1a", "1b", "1c", "2a", "2b", "2c", "3a", "3b", "3c", "4"];
const TABLES: [&str; 3] = ["rankings", "uservisits", "documents"];

type Rows = Vec<Vec<Option<String>>>;

#[test]
fn ten_queries_on_three_encodings() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let csv = home.path().join("csv");
    succeed(&[
        "generate",
        text(&csv),
        "--set",
        "tiny",
        "--to",
        "csv",
        "--compression",
        "none",
        "--parts",
        "3",
    ]);
    let expected = home.path().join("expected");
    let done = run(Command::new(python()).arg("tests/oracle/bdb.py").args([&csv, &expected]));
    assert_eq!(done.code(), Some(0), "the oracle {}: {}", done.ending(), done.stderr);

    let mut failures = Vec::new();
    for encoding in ["csv", "parquet", "buren"] {
        let data = home.path().join(encoding);
        if data != csv {
            for table in TABLES {
                let (from, to) = (csv.join(table), data.join(table));
                succeed(&["convert", text(&from), text(&to), "--to", encoding]);
            }
        }
        for query in QUERIES {
            let file =
                fs::read_to_string(expected.join(query).with_extension("csv")).expect("the oracle wrote it");
            let expected = sorted(&file);
            for workers in ["1", "2", "5"] {
                if let Err(what) = check(query, &data, workers, &expected) {
                    failures.push(format!("{query} on {encoding} with {workers} workers: {what}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Runs one query and compares its rows, in whatever order, with those expected.
fn check(query: &str, data: &Path, workers: &str, expected: &Rows) -> Result<(), String> {
    let mut arguments = vec!["bdb", query, "--data", text(data), "--workers", workers, "--format", "csv"];
    if query == "4" {
        arguments.push("--allow-scripts");
    }
    let done = palais(&arguments);
    if done.code() != Some(0) {
        return Err(format!("palais {}: {}", done.ending(), done.stderr.trim()));
    }
    let rows = sorted(&done.stdout);
    if rows.len() != expected.len() {
        return Err(format!("{} rows, expected {}", rows.len(), expected.len()));
    }
    let different = rows.iter().zip(expected).find(|(got, want)| !same_row(got, want));
    different.map_or(Ok(()), |(got, want)| Err(format!("got {got:?}, expected {want:?}")))
}

/// The rows of csv text without its header, in the order of their first value, which is a key in all ten queries.
fn sorted(csv: &str) -> Rows {
    let mut rows = csv_rows(csv).expect("the output is csv").split_off(1);
    rows.sort();
    rows
}

/// Whether two rows are equal; numbers at 1e-9 relative.
fn same_row(got: &[Option<String>], want: &[Option<String>]) -> bool {
    got.len() == want.len()
        && got.iter().zip(want).all(|(got, want)| match (got, want) {
            (Some(got), Some(want)) if got != want => {
                matches!((got.parse(), want.parse()), (Ok(got), Ok(want)) if close(got, want))
            }
            _ => got == want,
        })
}

fn succeed(arguments: &[&str]) {
    let done = palais(arguments);
    assert_eq!(done.code(), Some(0), "palais {arguments:?} {}: {}", done.ending(), done.stderr);
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary path is text")
}

/// The Python that has the oracle's packages.
fn python() -> String {
    let python = std::env::var("PALAIS_PYTHON").unwrap_or_else(|_| ".venv/bin/python".into());
    assert!(
        Path::new(&python).exists(),
        "no {python}: `make venv` makes it, or PALAIS_PYTHON names another Python"
    );
    python
}
