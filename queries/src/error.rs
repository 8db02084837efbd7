//! What can be wrong with a statement.

use arrow_schema::DataType;
use datafusion_common::{DataFusionError, SchemaError};

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
            DataFusionError::Shared(inner) => Error::Invalid(strip(&inner.to_string())),
            DataFusionError::Collection(mut all) if !all.is_empty() => Error::from(all.swap_remove(0)),
            DataFusionError::SchemaError(inner, _) => schema_error(*inner),
            DataFusionError::SQL(inner, _) => syntax(&inner.to_string()),
            DataFusionError::NotImplemented(what) => Error::Unsupported(what),
            DataFusionError::Plan(what) => Error::Invalid(plain(&no_match(&what))),
            DataFusionError::ArrowError(inner, _) => Error::Invalid(plain(&strip(&inner.to_string()))),
            other => Error::Invalid(plain(&no_match(&strip(&other.to_string())))),
        }
    }
}

/// Of the planner's many lines about a call that fits no function, those that a user can use.
fn no_match(text: &str) -> String {
    if let Some(rest) = text.strip_prefix("Invalid function '") {
        let (name, near) = rest.split_once("'.").unwrap_or((rest, ""));
        let near = near.trim().trim_start_matches("Did you mean ").trim_end_matches('?');
        return format!("there is no function '{name}'\n  help: the nearest name is {near}");
    }
    let text = text.strip_prefix("[return_type] ").unwrap_or(text);
    let Some((_, call)) = text.split_once("No function matches the given name and argument types '") else {
        return text.to_string();
    };
    let Some((call, candidates)) = call.split_once('\'') else { return text.to_string() };
    let candidates: Vec<&str> = candidates.lines().skip(2).map(str::trim).filter(|l| !l.is_empty()).collect();
    format!("there is no function {call}\n  help: there are {}; a CAST may help", candidates.join(", "))
}

/// The sentences of the planner and of Arrow that a user meets most, in plain words and with what would help.
pub fn plain(text: &str) -> String {
    let quoted = |text: &str, before: &str, after: &str| {
        let (_, rest) = text.split_once(before)?;
        Some(rest.split_once(after)?.0.to_string())
    };
    let text = text.trim_start_matches("Cast error: ");
    if text.starts_with("Cannot cast string '")
        && let Some((value, kind)) = text["Cannot cast string '".len()..].rsplit_once("' to value of ")
    {
        let kind = kind.trim_end_matches(" type");
        let name = kind.parse().ok().and_then(|kind: DataType| schema::text::types::sql_name(&kind));
        let name = name.as_deref().unwrap_or(kind);
        return format!("cannot cast '{value}' to {name}\n  help: TRY_CAST gives NULL instead");
    }
    if text.starts_with("Column in SELECT must be in GROUP BY")
        && let Some(column) = quoted(text, "column \"", "\" must appear")
    {
        return format!(
            "column '{column}' is neither in GROUP BY nor in an aggregate\n  \
             help: add it to GROUP BY, or take one of its values with any_value()"
        );
    }
    if let Some(name) = quoted(text, "Invalid function '", "'") {
        let near =
            quoted(text, "Did you mean '", "'").filter(|near| distance(&name, near) <= 1.max(name.len() / 3));
        let help = near.map(|near| format!("\n  help: did you mean {near}?")).unwrap_or_default();
        return format!("there is no function '{name}'{help}");
    }
    if let Some(predicate) = quoted(text, "Cannot create filter with non-boolean predicate '", "' returning")
    {
        return format!(
            "a condition must be true or false, and {predicate} is no BOOLEAN\n  \
             help: compare it with something"
        );
    }
    text.to_string()
}

fn schema_error(e: SchemaError) -> Error {
    match e {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let wanted = field.name().to_string();
            let mut names: Vec<(usize, String)> = valid_fields
                .iter()
                .map(|f| (distance(&wanted.to_lowercase(), &f.name().to_lowercase()), f.name().to_string()))
                .collect();
            names.sort();
            names.dedup();
            let near: Vec<_> = names.iter().filter(|(d, n)| *d <= 2.max(n.len() / 3)).take(3).collect();
            let list = |names: &[&(usize, String)]| {
                names.iter().map(|(_, n)| n.as_str()).collect::<Vec<_>>().join(", ")
            };
            let help = if !near.is_empty() {
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
        SchemaError::AmbiguousReference { field } => Error::Name {
            message: format!("column '{}' is ambiguous: more than one table has it", field.name()),
            help: Some("put the table's name or alias and a dot before it".into()),
        },
        other => Error::Invalid(other.to_string()),
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

/// Takes the prefixes off that name the planner's own stages.
fn strip(text: &str) -> String {
    let mut text = text;
    for prefix in
        ["Error during planning: ", "Execution error: ", "Arrow error: ", "type_coercion\ncaused by\n"]
    {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    arithmetic(text)
}

/// The kernels' messages on arithmetic, in words for users.
pub fn arithmetic(text: &str) -> String {
    let Some(overflow) = text.strip_prefix("Arithmetic overflow: ") else {
        return text.replace("Divide by zero error", "division by zero");
    };
    let what = overflow.trim_start_matches("Overflow happened on: ");
    format!("overflow: {what}\n  help: cast to a wider type, such as DECIMAL(38, 0) or DOUBLE")
}

/// The Levenshtein distance of two names.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let next = (diagonal + usize::from(ca != *cb)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_others_become_plain() {
        assert_eq!(
            plain("Cast error: Cannot cast string 'it's' to value of Int64 type"),
            "cannot cast 'it's' to BIGINT\n  help: TRY_CAST gives NULL instead"
        );
        let grouped = plain(
            "Column in SELECT must be in GROUP BY or an aggregate function: While expanding wildcard, column \
             \"t.name\" must appear in the GROUP BY clause",
        );
        assert!(grouped.starts_with("column 't.name' is neither in GROUP BY"), "{grouped}");
        assert_eq!(
            plain("Invalid function 'summ'.\nDid you mean 'sum'?"),
            "there is no function 'summ'\n  help: did you mean sum?"
        );
        assert_eq!(plain("Invalid function 'foobar'.\nDid you mean 'cos'?"), "there is no function 'foobar'");
        assert_eq!(plain("anything else"), "anything else");
    }
}
