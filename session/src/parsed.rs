//! A statement that was parsed, with its text.
//!
//! Other processes plan a query by themselves and read its text, because a syntax tree that was printed is not always
//! the same.

use std::ops::Deref;
use std::sync::Arc;

use engine::context::cancel::Cancel;
use engine::context::stack::Deep;
use queries::Statement;
use queries::tokens::{TokenKind, Tokens};

use crate::error::{Error, Result};
use crate::limits::within_limits;

/// A statement that was parsed. A statement that is nested deeply is dropped on a deep stack.
#[derive(Debug, Clone)]
pub struct Parsed {
    statement: Deep<Statement>,
    text: Option<Arc<str>>,
    /// What was parsed: the statement, and others perhaps. Places in errors are those of this text.
    whole: Arc<str>,
}

impl Parsed {
    fn new(statement: Statement, text: &str, whole: &Arc<str>) -> Parsed {
        Parsed { statement: Deep::new(statement), text: Some(text.into()), whole: whole.clone() }
    }

    /// This statement with values in the place of its parameters. It has no text.
    pub(crate) fn with_values(&self, statement: Statement) -> Parsed {
        Parsed { statement: Deep::new(statement), text: None, whole: self.whole.clone() }
    }

    /// The text in which the statement was found.
    pub(crate) fn whole(&self) -> &Arc<str> {
        &self.whole
    }

    /// An error of this statement, with the line of the text that it is about.
    pub fn shown(&self, error: Error) -> Error {
        match error {
            Error::Statement(error) => Error::Statement(error.in_text(&self.whole)),
            error => error,
        }
    }

    /// The text of the statement, if it has one.
    pub(crate) fn written(&self) -> Option<&Arc<str>> {
        self.text.as_ref()
    }

    /// The text of the statement, for other processes.
    ///
    /// # Errors
    /// The statement has values in the place of its parameters.
    pub fn text(&self) -> Result<&str> {
        self.text.as_deref().ok_or_else(no_text)
    }
}

impl Deref for Parsed {
    type Target = Statement;

    fn deref(&self) -> &Statement {
        &self.statement
    }
}

/// The error that other processes can't get a statement.
pub(crate) fn no_text() -> Error {
    let what = "values of parameters where other processes run the queries";
    queries::Error::Unsupported(what.into()).into()
}

/// Parses a statement.
///
/// # Errors
/// The statement is wrong, or too large.
pub fn parse(sql: &str) -> Result<Parsed> {
    let whole: Arc<str> = sql.into();
    let text = whole.clone();
    let statement = within_limits(&Cancel::default(), move || queries::parse(&text))??;
    Ok(Parsed::new(statement, sql, &whole))
}

/// Parses statements with semicolons between them.
///
/// # Errors
/// A statement is wrong or too large, or there is none.
pub fn parse_all(sql: &str) -> Result<Vec<Parsed>> {
    parse_all_until(sql, &Cancel::default())
}

/// As [`parse_all`], with cancel.
pub(crate) fn parse_all_until(sql: &str, cancel: &Cancel) -> Result<Vec<Parsed>> {
    let whole: Arc<str> = sql.into();
    within_limits(cancel, move || {
        let (statements, texts) = (queries::parse_all(&whole)?, texts(&whole));
        debug_assert_eq!(statements.len(), texts.len(), "each statement has its text");
        Ok(statements.into_iter().zip(texts).map(|(s, text)| Parsed::new(s, text, &whole)).collect())
    })?
}

/// The texts of the statements of a text that was parsed. There are semicolons between statements, and none within one.
fn texts(sql: &str) -> Vec<&str> {
    if !sql.contains(';') {
        return vec![sql];
    }
    let (mut texts, mut begin, mut is_empty) = (Vec::new(), 0, true);
    for (kind, range) in Tokens::of(sql).tokens {
        match kind {
            TokenKind::Comment => {}
            TokenKind::Semicolon => {
                if !is_empty {
                    texts.push(sql[begin..range.start].trim());
                }
                (begin, is_empty) = (range.end, true);
            }
            _ => is_empty = false,
        }
    }
    if !is_empty {
        texts.push(sql[begin..].trim());
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_has_its_text() {
        let written = |sql: &str| {
            let all = parse_all(sql).unwrap();
            all.iter().map(|parsed| parsed.text().unwrap().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(written(" SELECT 1 "), [" SELECT 1 "]);
        let several = "; -- first;\nSELECT ';' AS \"a;\" ;; /* ; */ ;\n DROP VIEW v; SELECT 'é' -- last;\n";
        assert_eq!(
            written(several),
            ["-- first;\nSELECT ';' AS \"a;\"", "DROP VIEW v", "SELECT 'é' -- last;"]
        );
        assert_eq!(written("SELECT 1;"), ["SELECT 1"]);
        assert!(parse_all(";").is_err() && parse_all("").is_err());
    }
}
