//! Statements that define names and settings of a session: `CREATE`, `DROP`, `SET` and `RESET`.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{Query, Statement, methods, query};
use crate::error::{Error, Result, syntax};
use crate::macros::{Body, Form, Macro, Parameter};

/// A name for the rows of a query.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// Other names for the first columns.
    pub columns: Vec<String>,
    /// The query.
    pub query: Arc<Query>,
    /// What becomes of what has the name already.
    pub existing: Existing,
}

/// What becomes of what has the name of a definition already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is an error that there is something.
    Refuse,
    /// It stays, and nothing is defined: `IF NOT EXISTS`.
    Keep,
    /// It is replaced: `OR REPLACE`.
    Replace,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A query, which is run wherever the name is read.
    View,
    /// Rows.
    Table,
}

/// A macro, and what becomes of one that has its name already.
#[derive(Debug, Clone)]
pub struct MacroDefinition {
    /// The macro.
    pub of: Arc<Macro>,
    /// What becomes of the other.
    pub existing: Existing,
}

/// What may be defined.
const DEFINED: &[Keyword] = &[Keyword::VIEW, Keyword::TABLE, Keyword::MACRO, Keyword::FUNCTION];

/// `CREATE VIEW`, `CREATE TEMP TABLE … AS` and `CREATE MACRO`, from `CREATE` on.
pub(super) fn create(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    let kind = match parser.parse_one_of_keywords(DEFINED) {
        Some(Keyword::VIEW) => Some(Kind::View),
        Some(Keyword::MACRO | Keyword::FUNCTION) => None,
        Some(_) if temporary => Some(Kind::Table),
        Some(_) => {
            return Err(Error::Unsupported(
                "CREATE TABLE: a table that stays is a file, which COPY (query) TO 'path' writes\n  \
                 help: CREATE TEMP TABLE name AS query keeps rows as long as the session lasts"
                    .into(),
            ));
        }
        None => {
            return Err(Error::Unsupported(
                "CREATE of something else than a VIEW, a MACRO or a TEMP TABLE; COPY (query) TO 'path' writes files"
                    .into(),
            ));
        }
    };
    let keep = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let existing = match (replace, keep) {
        (true, true) => {
            return Err(Error::Invalid("OR REPLACE and IF NOT EXISTS do not go together".into()));
        }
        (true, false) => Existing::Replace,
        (false, true) => Existing::Keep,
        (false, false) => Existing::Refuse,
    };
    let name = name(parser)?;
    let Some(kind) = kind else {
        return Ok(Statement::CreateMacro(MacroDefinition { of: Arc::new(forms(parser, name)?), existing }));
    };
    let mut columns = Vec::new();
    if parser.consume_token(&Token::LParen) {
        loop {
            columns.push(parser.parse_identifier().map_err(wrong)?.value);
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        if parser.peek_token().token != Token::RParen && kind == Kind::Table {
            return Err(Error::Unsupported(
                "CREATE TEMP TABLE with types of columns; CREATE TEMP TABLE name AS query takes those of the query"
                    .into(),
            ));
        }
        parser.expect_token(&Token::RParen).map_err(wrong)?;
    }
    parser.expect_keyword(Keyword::AS).map_err(wrong)?;
    let definition = Definition { name, columns, query: query(parser)?, existing };
    Ok(match kind {
        Kind::View => Statement::CreateView(definition),
        Kind::Table => Statement::CreateTable(definition),
    })
}

/// The parameters of a macro and what it stands for, several times perhaps: `(a) AS a, (a, b := 1) AS a + b`.
fn forms(parser: &mut Parser, name: String) -> Result<Macro> {
    let (mut forms, mut is_table) = (Vec::new(), false);
    loop {
        let parameters = parameters(parser)?;
        parser.expect_keyword(Keyword::AS).map_err(wrong)?;
        let is_query = parser.parse_keyword(Keyword::TABLE);
        if !forms.is_empty() && is_query != is_table {
            let message = format!("the macro '{name}' stands for a value and for a table");
            return Err(Error::Invalid(message));
        }
        is_table = is_query;
        let begin = parser.index();
        let mut body = match is_query {
            true => Body::Query(Box::new(Arc::unwrap_or_clone(query(parser)?))),
            false => Body::Expr(Box::new(parser.parse_expr().map_err(wrong)?)),
        };
        let names: Vec<String> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let called = match &mut body {
            Body::Query(query) => methods::called(query.as_mut(), &names),
            Body::Expr(e) => methods::called(e.as_mut(), &names),
        };
        if let ControlFlow::Break(error) = called {
            return Err(error);
        }
        forms.push(Form { parameters, body, size: parser.index().saturating_sub(begin) });
        if !parser.consume_token(&Token::Comma) {
            return Ok(Macro { name, is_table, forms });
        }
    }
}

fn parameters(parser: &mut Parser) -> Result<Vec<Parameter>> {
    parser.expect_token(&Token::LParen).map_err(wrong)?;
    let mut parameters = Vec::new();
    while !parser.consume_token(&Token::RParen) {
        if !parameters.is_empty() {
            parser.expect_token(&Token::Comma).map_err(wrong)?;
        }
        let name = parser.parse_identifier().map_err(wrong)?.value;
        let has_default = parser.consume_token(&Token::Assignment) || parser.consume_token(&Token::RArrow);
        let default: Option<Expr> = has_default.then(|| parser.parse_expr()).transpose().map_err(wrong)?;
        parameters.push(Parameter { name, default });
    }
    Ok(parameters)
}

/// `DROP VIEW`, `DROP TABLE`, `DROP MACRO` and `DROP MACRO TABLE`, from `DROP` on.
pub(super) fn drop(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let kind = match parser.parse_one_of_keywords(DEFINED) {
        Some(Keyword::VIEW) => Some(Kind::View),
        Some(Keyword::TABLE) => Some(Kind::Table),
        Some(_) => None,
        None => {
            return Err(Error::Unsupported("DROP of something else than a VIEW, a TABLE or a MACRO".into()));
        }
    };
    let is_table = kind.is_none() && parser.parse_keyword(Keyword::TABLE);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let mut names = vec![name(parser)?];
    while parser.consume_token(&Token::Comma) {
        names.push(name(parser)?);
    }
    Ok(match kind {
        Some(kind) => Statement::Drop { kind, names, if_exists },
        None => Statement::DropMacros { is_table, names, if_exists },
    })
}

/// `SET name = value`, `SET name TO value`, `SET TIME ZONE value` and `RESET name`, from their first word on.
pub(super) fn set(parser: &mut Parser) -> Result<Statement> {
    let reset = parser.parse_keyword(Keyword::RESET);
    if !reset {
        parser.next_token();
        let _ = parser.parse_keyword(Keyword::SESSION);
    }
    // Of SQL's standard, without a sign of equality.
    let is_zone = parser.parse_keywords(&[Keyword::TIME, Keyword::ZONE]);
    let name = match is_zone {
        true => "timezone".to_string(),
        false => parser.parse_identifier().map_err(wrong)?.value.to_lowercase(),
    };
    if reset || is_zone && parser.parse_one_of_keywords(&[Keyword::LOCAL, Keyword::DEFAULT]).is_some() {
        return Ok(Statement::Set { name, value: None });
    }
    if !parser.consume_token(&Token::Eq) && !is_zone {
        parser.expect_keyword(Keyword::TO).map_err(wrong)?;
    }
    // `512MiB` is a number and a word, `-1` a sign and a number.
    let mut value = String::new();
    while !matches!(parser.peek_token().token, Token::SemiColon | Token::EOF) {
        let next = parser.next_token();
        match next.token {
            Token::Word(word) => value.push_str(&word.value),
            Token::Number(text, _) | Token::SingleQuotedString(text) => value.push_str(&text),
            Token::Minus => value.push('-'),
            other => {
                let message = format!("expected a value for the setting {name}, found: {other}");
                return Err(Error::Syntax { message }.at(next.span));
            }
        }
    }
    if value.is_empty() {
        let message = format!("expected a value for the setting {name}, found: EOF");
        return Err(Error::Syntax { message });
    }
    Ok(Statement::Set { name, value: Some(value) })
}

/// A name of one part: a session has no schemas.
fn name(parser: &mut Parser) -> Result<String> {
    let name = parser.parse_object_name(false).map_err(wrong)?;
    match name.0.as_slice() {
        [part] if part.as_ident().is_some() => Ok(super::table_name(&name)),
        _ => {
            Err(Error::Invalid(format!("{name} has several parts, and the name of a view or table has one")))
        }
    }
}

fn wrong(e: ParserError) -> Error {
    syntax(&e.to_string())
}
