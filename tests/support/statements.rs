//! The statements of `tests/slt` and the command line that runs one; the rules of the files are in
//! `tests/oracle/slt.py`, which holds them against DuckDB.

use std::fs;
use std::path::{Path, PathBuf};

use sqllogictest::{ColumnType, QueryExpect, Record, StatementExpect};

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

impl ColumnType for Kind {
    fn from_char(value: char) -> Option<Self> {
        Some(match value {
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

    fn to_char(&self) -> char {
        match self {
            Kind::Integer => 'I',
            Kind::Float => 'R',
            Kind::Decimal => 'N',
            Kind::Boolean => 'B',
            Kind::Date => 'D',
            Kind::Timestamp => 'P',
            Kind::Text => 'T',
        }
    }
}

/// One statement of a file.
pub struct Statement {
    /// File and line.
    pub place: String,
    /// The text of the statement.
    pub sql: String,
    /// The rows that it is to give, each a line of cells between tabs, or the error.
    pub expected: QueryExpect<Kind>,
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
    let records = sqllogictest::parse_file::<Kind>(file).expect("the file is a sqllogictest file");
    let mut statements = Vec::new();
    for record in records {
        let (loc, sql, expected) = match record {
            Record::Query { loc, sql, expected, .. } => (loc, sql, expected),
            Record::Statement { loc, sql, expected: StatementExpect::Error(error), .. } => {
                (loc, sql, QueryExpect::Error(error))
            }
            Record::Comment(_) | Record::Newline => continue,
            other => panic!("{}: a record of another kind: {other}", file.display()),
        };
        statements.push(Statement { place: format!("{}:{}", loc.file(), loc.line()), sql, expected });
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
