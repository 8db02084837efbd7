//! What can be wrong with a statement.

use datafusion_common::{DataFusionError, SchemaError};
use strsim::osa_distance;

use crate::words::{no_match, plain, strip};

/// The result of this package's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong with a statement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not SQL.
    #[error("SQL syntax: {message}{}", place(*.line, *.column))]
    Syntax {
        /// What was expected and what was found.
        message: String,
        /// The line, counted from 1; 0 if unknown.
        line: u64,
        /// The column, counted from 1.
        column: u64,
    },
    /// A name that means nothing, or several things.
    #[error("{message}{}", hint(.help))]
    Name {
        /// Which name, and what is wrong with it.
        message: String,
        /// What would help.
        help: Option<String>,
    },
    /// It passes a bound ([`crate::bounds`]).
    #[error("the statement is too large: {message}{}", place(*.line, *.column))]
    TooLarge {
        /// Which bound.
        message: String,
        /// The line where it is passed, counted from 1; 0 if unknown.
        line: u64,
        /// The column, counted from 1.
        column: u64,
    },
    /// A construct that palais does not run.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// Types or clauses that do not go together.
    #[error("{0}")]
    Invalid(String),
}

fn place(line: u64, column: u64) -> String {
    if line == 0 { String::new() } else { format!(" (line {line}, column {column})") }
}

fn hint(help: &Option<String>) -> String {
    help.as_ref().map(|h| format!("\n  help: {h}")).unwrap_or_default()
}

impl From<DataFusionError> for Error {
    fn from(e: DataFusionError) -> Self {
        match e {
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => Error::from(*inner),
            DataFusionError::Shared(inner) => Error::Invalid(plain(&strip(&inner.to_string()))),
            DataFusionError::Collection(mut all) if !all.is_empty() => Error::from(all.swap_remove(0)),
            DataFusionError::SchemaError(inner, _) => schema_error(*inner),
            DataFusionError::NotImplemented(what) => Error::Unsupported(plain(&what)),
            DataFusionError::Plan(what) => Error::Invalid(plain(&no_match(&what))),
            DataFusionError::ArrowError(inner, _) => Error::Invalid(plain(&strip(&inner.to_string()))),
            other => Error::Invalid(plain(&no_match(&strip(&other.to_string())))),
        }
    }
}

fn schema_error(e: SchemaError) -> Error {
    match e {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let wanted = field.name().to_string();
            let mut names: Vec<(usize, String)> = valid_fields
                .iter()
                .map(|f| {
                    (osa_distance(&wanted.to_lowercase(), &f.name().to_lowercase()), f.name().to_string())
                })
                .collect();
            names.sort();
            names.dedup();
            let near: Vec<_> = names.iter().filter(|(d, n)| *d <= 2.max(n.len() / 3)).take(3).collect();
            let list = |names: &[&(usize, String)]| {
                names.iter().map(|(_, n)| n.as_str()).collect::<Vec<_>>().join(", ")
            };
            let help = if wanted.eq_ignore_ascii_case("_file") {
                Some("--file-column adds the column _file, the path of each row's file".into())
            } else if !near.is_empty() {
                Some(format!("the nearest names are: {}", list(&near)))
            } else if !names.is_empty() {
                Some(format!("there are: {}", list(&names.iter().take(20).collect::<Vec<_>>())))
            } else {
                None
            };
            Error::Name {
                message: format!("there is no column '{}'", field.flat_name().replace('"', "")),
                help,
            }
        }
        SchemaError::AmbiguousReference { field } => Error::ambiguous(field.name()),
        SchemaError::DuplicateUnqualifiedField { name } => Error::Unsupported(format!(
            "two expressions that are both {} and differ in types alone\n  \
             help: compute one of them in a subquery in FROM",
            plain(&name)
        )),
        other => Error::Invalid(other.to_string()),
    }
}

impl Error {
    /// A column of a name that more than one relation has.
    pub(crate) fn ambiguous(name: &str) -> Error {
        Error::Name {
            message: format!("column '{name}' is ambiguous: more than one table has it"),
            help: Some("put the table's name or alias and a dot before it".into()),
        }
    }
}

/// Makes a syntax error of the parser's message, which ends in "at Line: L, Column: C" where the place is known.
pub(crate) fn syntax(text: &str) -> Error {
    let text = text.trim_start_matches("sql parser error: ").trim_matches('"');
    let text = text.strip_prefix("ParserError(\"").unwrap_or(text);
    if let Some((message, rest)) = text.split_once(" at Line: ") {
        let digits =
            |s: &str| s.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
        let line = digits(rest);
        let column = rest.split_once("Column: ").map_or(0, |(_, c)| digits(c));
        return Error::Syntax { message: message.to_string(), line, column };
    }
    Error::Syntax { message: text.to_string(), line: 0, column: 0 }
}
