//! The statements of `tests/slt` and the command line that runs one; the rules of the files are in
//! `tests/oracle/slt.py`, which holds them against DuckDB.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Tables whose csv file has no header and the schema of the benchmark.
const BENCHMARK_TABLES: [&str; 2] = ["rankings", "uservisits"];

/// The type of a column, one letter of a `query` line: it says how values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `I`: exactly.
    Integer,
    /// `R`: at 1e-9 relative.
    Float,
    /// `N`: exactly, but for zeros at the end.
    Decimal,
    /// `B`: `true` or `false`.
    Boolean,
    /// `D`: exactly.
    Date,
    /// `P`: exactly, but for the separator, a zone of UTC and zeros at the end.
    Timestamp,
    /// `T`: exactly.
    Text,
}

impl Kind {
    fn of(letter: char) -> Option<Kind> {
        Some(match letter {
            'I' => Kind::Integer,
            'R' => Kind::Float,
            'N' => Kind::Decimal,
            'B' => Kind::Boolean,
            'D' => Kind::Date,
            'P' => Kind::Timestamp,
            'T' => Kind::Text,
            _ => return None,
        })
    }
}

/// What a statement is to give.
pub enum Expected {
    /// Rows, each a line of cells between tabs. With `sorted` rows are compared in the order of their cells.
    Rows { kinds: Vec<Kind>, sorted: bool, lines: Vec<String> },
    /// An error whose message has this.
    Error(Regex),
}

/// One statement of a file.
pub struct Statement {
    /// File and line.
    pub place: String,
    /// The text of the statement.
    pub sql: String,
    pub expected: Expected,
}

/// All statements, in the order of the files' names; `SLT=part` keeps the files whose name holds `part`.
pub fn statements() -> Vec<Statement> {
    statements_in("tests/slt")
}

/// The same of a directory.
pub fn statements_in(directory: &str) -> Vec<Statement> {
    let part = std::env::var("SLT").unwrap_or_default();
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .expect("tests run in the directory of the package")
        .map(|entry| entry.expect("the directory can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "slt"))
        .filter(|path| path.to_string_lossy().contains(&part))
        .collect();
    files.sort();
    let statements: Vec<Statement> = files.iter().flat_map(|file| statements_of(file)).collect();
    assert!(!statements.is_empty(), "no statement in {directory}");
    statements
}

fn statements_of(file: &Path) -> Vec<Statement> {
    let text = fs::read_to_string(file).expect("the file can be read");
    let mut lines = (1..).zip(text.lines());
    let mut statements = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{}:{number}", file.display());
        let block: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !line.is_empty()).collect();
        let (sql, expected) = match line.split_once(' ') {
            Some(("query", of)) => {
                let (kinds, sorted) = of.strip_suffix(" rowsort").map_or((of, false), |kinds| (kinds, true));
                let kinds = kinds.chars().map(Kind::of).collect::<Option<_>>();
                let kinds = kinds.unwrap_or_else(|| panic!("{place}: no types: {of}"));
                let border = block.iter().position(|line| *line == "----");
                let (sql, rows) = block.split_at(border.unwrap_or_else(|| panic!("{place}: no ----")));
                let lines = rows[1..].iter().map(ToString::to_string).collect();
                (sql.join("\n"), Expected::Rows { kinds, sorted, lines })
            }
            Some(("statement", of)) if of == "error" || of.starts_with("error ") => {
                // No message is said where none is the point.
                let message = Regex::new(of["error".len()..].trim_start());
                let message = message.unwrap_or_else(|error| panic!("{place}: {error}"));
                (block.join("\n"), Expected::Error(message))
            }
            _ => panic!("{place}: neither a query nor the error of a statement: {line}"),
        };
        statements.push(Statement { place, sql, expected });
    }
    statements
}

/// The arguments that name the tables which a statement uses: a file of `tests/slt/data` is a table if its name occurs
/// in the text.
pub fn table_arguments(sql: &str) -> Vec<String> {
    let sql = sql.to_lowercase();
    let words: Vec<&str> = sql.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut arguments = Vec::new();
    let mut files: Vec<PathBuf> = fs::read_dir("tests/slt/data")
        .expect("tests run in the directory of the package")
        .map(|entry| entry.expect("the directory can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "csv" || e == "parquet"))
        .collect();
    files.sort();
    for file in files {
        let name = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        if !words.contains(&name.as_str()) {
            continue;
        }
        arguments.extend(["--table".to_owned(), format!("{name}={}", file.display())]);
        let types = file.with_extension("sql");
        if BENCHMARK_TABLES.contains(&name.as_str()) {
            arguments.extend(["--schema".to_owned(), format!("{name}=bdb")]);
        } else if types.exists() {
            arguments.extend(["--schema".to_owned(), format!("{name}={}", types.display())]);
        }
    }
    arguments
}
