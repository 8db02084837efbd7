//! `COPY … TO 'path' (options)`.

use std::collections::BTreeMap;

use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Statement, relation};
use crate::error::{Error, Result, syntax};

/// The options of `COPY … TO`: names in lower case and their values as written.
pub type CopyOptions = BTreeMap<String, OptionValue>;

/// What stands behind the name of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// Nothing: `OVERWRITE`.
    Nothing,
    /// A word, a number or a text in quotes: `FORMAT csv`.
    One(String),
    /// Several in parentheses: `PARTITION_BY (a, b)`.
    Several(Vec<String>),
    /// `*`, or `(*)`.
    All,
}

/// The statement behind `COPY`.
pub(super) fn copy(parser: &mut Parser) -> Result<Statement> {
    let query = relation(parser)?;
    let next = parser.peek_token();
    match &next.token {
        Token::LParen => {
            let help = "COPY (SELECT a, b FROM t) TO 'path' writes some columns of a table";
            return Err(
                Error::Unsupported(format!("columns behind the table of COPY\n  help: {help}")).at(next.span)
            );
        }
        Token::Word(word) if word.keyword == Keyword::FROM => {
            let help = "SELECT … FROM 'path' reads a file where it is";
            return Err(Error::Unsupported(format!("COPY … FROM\n  help: {help}")).at(next.span));
        }
        _ => {}
    }
    parser.expect_keyword(Keyword::TO).map_err(|e| syntax(&e.to_string()))?;
    let next = parser.next_token();
    let Token::SingleQuotedString(target) = next.token else {
        return Err(expected("the path in single quotes: TO 'path'", &next));
    };
    let mut options = CopyOptions::new();
    let _ = parser.parse_keyword(Keyword::WITH);
    let next = parser.peek_token();
    match next.token {
        Token::LParen => {
            parser.next_token();
            while option(parser, &mut options)? {}
        }
        Token::SemiColon | Token::EOF => {}
        _ => return Err(expected("the options of COPY in parentheses: TO 'path' (FORMAT csv)", &next)),
    }
    Ok(Statement::Copy { query, target, options })
}

/// Takes an option and what ends it; whether another one follows.
fn option(parser: &mut Parser, options: &mut CopyOptions) -> Result<bool> {
    let next = parser.next_token();
    let place = next.span;
    let Token::Word(word) = &next.token else { return Err(expected("the name of an option of COPY", &next)) };
    let mut name = word.value.to_lowercase();
    if name == "partition" && parser.parse_keyword(Keyword::BY) {
        name = "partition_by".into();
    }
    let _ = parser.consume_token(&Token::Eq);
    let value = match parser.peek_token().token {
        Token::Comma | Token::RParen => OptionValue::Nothing,
        Token::Mul => {
            parser.next_token();
            OptionValue::All
        }
        Token::LParen => several(parser, &name)?,
        _ => OptionValue::One(one(parser, &name)?),
    };
    let next = parser.next_token();
    let another = match next.token {
        Token::Comma => true,
        Token::RParen => false,
        _ => return Err(expected(&format!("a comma or ) behind the option {}", name.to_uppercase()), &next)),
    };
    if options.insert(name.clone(), value).is_some() {
        let name = name.to_uppercase();
        return Err(Error::Invalid(format!(
            "the option {name} of COPY is given twice; leave one of them out"
        ))
        .at(place));
    }
    Ok(another)
}

/// A value, of which a number may have a unit: `100MB`.
fn one(parser: &mut Parser, name: &str) -> Result<String> {
    let next = parser.next_token();
    match next.token {
        Token::Word(word) => {
            let mut value = word.value;
            // `capnproto-packed` is three tokens.
            while parser.consume_token(&Token::Minus) {
                let next = parser.next_token();
                let Token::Word(part) = &next.token else { return Err(expected("a word behind -", &next)) };
                value = format!("{value}-{}", part.value);
            }
            Ok(value)
        }
        Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => Ok(text),
        Token::Number(mut number, _) => {
            if let Token::Word(unit) = parser.peek_token().token {
                parser.next_token();
                number.push_str(&unit.value);
            }
            Ok(number)
        }
        _ => Err(expected(&format!("a value for the option {} of COPY", name.to_uppercase()), &next)),
    }
}

/// Values in parentheses.
fn several(parser: &mut Parser, name: &str) -> Result<OptionValue> {
    parser.next_token();
    let mut values = Vec::new();
    if parser.consume_token(&Token::RParen) {
        return Ok(OptionValue::Several(values));
    }
    loop {
        if values.is_empty() && parser.consume_token(&Token::Mul) {
            let next = parser.next_token();
            return match next.token {
                Token::RParen => Ok(OptionValue::All),
                _ => Err(expected("a ) behind *", &next)),
            };
        }
        values.push(one(parser, name)?);
        let next = parser.next_token();
        match next.token {
            Token::Comma => {}
            Token::RParen => return Ok(OptionValue::Several(values)),
            _ => {
                let what = format!("a comma or ) in the values of the option {}", name.to_uppercase());
                return Err(expected(&what, &next));
            }
        }
    }
}

/// Something else stands where `what` has to.
fn expected(what: &str, found: &TokenWithSpan) -> Error {
    let message = format!("expected {what}, found: {}", found.token);
    Error::Syntax { message }.at(found.span)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn options(text: &str) -> Result<CopyOptions> {
        match parse(&format!("COPY t TO 'x' {text}"))? {
            Statement::Copy { options, .. } => Ok(options),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_have_values_of_every_kind() {
        let one = |text: &str| OptionValue::One(text.into());
        let several = |texts: &[&str]| OptionValue::Several(texts.iter().map(|t| t.to_string()).collect());
        for (text, name, value) in [
            ("(OVERWRITE)", "overwrite", OptionValue::Nothing),
            ("WITH (Format = csv);", "format", one("csv")),
            ("(DELIMITER '|')", "delimiter", one("|")),
            ("(FORMAT capnproto-packed)", "format", one("capnproto-packed")),
            ("(FILE_SIZE_BYTES 100MB)", "file_size_bytes", one("100MB")),
            ("(PARTITION_BY a)", "partition_by", one("a")),
            ("(PARTITION_BY \"a b\")", "partition_by", one("a b")),
            ("(PARTITION_BY (a, 'B', \"c\"))", "partition_by", several(&["a", "B", "c"])),
            ("(PARTITION BY (a))", "partition_by", several(&["a"])),
            ("(PARTITION_BY ())", "partition_by", several(&[])),
            ("(PARTITION_BY *)", "partition_by", OptionValue::All),
            ("(PARTITION_BY (*))", "partition_by", OptionValue::All),
        ] {
            let found = options(text).unwrap();
            assert_eq!(found.into_iter().collect::<Vec<_>>(), [(name.to_string(), value)], "{text}");
        }
        let found = options("(FORMAT csv, PARTITION_BY (a, b), OVERWRITE)").unwrap();
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn what_is_wrong_is_told_with_what_is_right() {
        for (statement, message) in [
            ("COPY t TO 'x' (FORMAT csv, FORMAT csv)", "FORMAT of COPY is given twice"),
            (
                "COPY t TO 'x' FORMAT csv",
                "in parentheses: TO 'path' (FORMAT csv), found: FORMAT\n  line 1, column 15",
            ),
            ("COPY t TO 'x' PARTITION_BY (a)", "the options of COPY in parentheses"),
            ("COPY t TO x.csv", "the path in single quotes: TO 'path', found: x"),
            ("COPY t TO \"x.csv\"", "in single quotes"),
            ("COPY t TO", "found: the end of the statement"),
            ("COPY t FROM 'x.csv'", "help: SELECT … FROM 'path'"),
            ("COPY t (a, b) TO 'x.csv'", "help: COPY (SELECT a, b FROM t)"),
            ("COPY t TO 'x' (", "the name of an option of COPY, found: the end"),
            ("COPY t TO 'x' ()", "the name of an option of COPY, found: )"),
            ("COPY t TO 'x' (FORMAT csv", "a comma or ) behind the option FORMAT, found: the end"),
            ("COPY t TO 'x' (FORMAT csv HEADER)", "a comma or ) behind the option FORMAT, found: HEADER"),
            ("COPY t TO 'x' (FORMAT ,)", "the name of an option of COPY, found: )"),
            ("COPY t TO 'x' (FORMAT a-)", "a word behind -, found: )"),
            ("COPY t TO 'x' (HEADER -)", "a value for the option HEADER of COPY, found: -"),
            ("COPY t TO 'x' (PARTITION_BY (a b))", "in the values of the option PARTITION_BY, found: b"),
            ("COPY t TO 'x' (PARTITION_BY (*, a))", "a ) behind *"),
            ("COPY t TO 'x' (PARTITION_BY (a,))", "a value for the option PARTITION_BY of COPY, found: )"),
            ("COPY t TO 'x' (PARTITION_BY [a])", "a value for the option PARTITION_BY of COPY, found: ["),
        ] {
            let said = parse(statement).unwrap_err().to_string();
            assert!(said.contains(message), "{statement}: {said}");
        }
    }
}
