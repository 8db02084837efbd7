//! `FROM (DESCRIBE t)` and `FROM (SUMMARIZE t)`: the parser reads no statement there. Here it is
//! `FROM describe((SELECT * FROM t))`, a table function of a query.

use std::collections::BTreeMap;

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::said::Said;

/// The name of the function that DESCRIBE is.
pub const DESCRIBE: &str = "describe";
/// The name of the function that SUMMARIZE is.
pub const SUMMARIZE: &str = "summarize";

/// Words behind which a table may stand, besides a comma.
const BEFORE: [&str; 2] = ["FROM", "JOIN"];
/// Words that a query begins with.
const QUERY: [&str; 6] = ["SELECT", "WITH", "FROM", "VALUES", "PIVOT", "UNPIVOT"];

/// The tokens of a text with calls of these functions.
pub fn called(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    // What is put before the token at a place, or in its place.
    let mut edits: BTreeMap<usize, (bool, Vec<Token>)> = BTreeMap::new();
    for at in 2..said.len() {
        let opens = said.token(at - 1) == Some(&Token::LParen);
        let called = match () {
            () if said.is_one(at, &["DESCRIBE", "DESC"]) => DESCRIBE,
            () if said.is(at, "SUMMARIZE") => SUMMARIZE,
            () => continue,
        };
        if !opens || said.token(at + 1) == Some(&Token::RParen) {
            continue;
        }
        let stands = said.is_behind(at - 1, &BEFORE) || said.token(at - 2) == Some(&Token::Comma);
        let is_query = said.is_one(at + 1, &QUERY) || said.token(at + 1) == Some(&Token::LParen);
        if let (true, Some(end)) = (stands, said.closing(at - 1)) {
            let word = |text| Token::make_word(text, None);
            let space = || Token::Whitespace(Whitespace::Space);
            let mut select = vec![word("SELECT"), space(), Token::Mul, space(), word("FROM")];
            let mut closing = vec![Token::RParen];
            // The parser reads a query among arguments only if SELECT or WITH begins it.
            if is_query {
                select.push(Token::LParen);
                closing.push(Token::RParen);
            }
            edits.insert(said.before(at - 1).len(), (false, vec![word(called), Token::LParen]));
            edits.insert(said.before(at).len(), (true, select));
            edits.insert(said.before(end).len(), (false, closing));
        }
    }
    if edits.is_empty() {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 8 * edits.len());
    for (place, token) in tokens.into_iter().enumerate() {
        let Some((replaces, made)) = edits.remove(&place) else {
            out.push(token);
            continue;
        };
        let span = token.span;
        out.extend(made.into_iter().map(|token| TokenWithSpan { token, span }));
        out.extend((!replaces).then_some(token));
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn a_description_is_a_table() {
        for (text, read) in [
            ("SELECT a FROM (DESCRIBE t) d", "SELECT a FROM describe((SELECT * FROM t)) d"),
            (
                "SELECT * FROM u, (describe SELECT (1) FROM t)",
                "SELECT * FROM u, describe((SELECT * FROM (SELECT (1) FROM t)))",
            ),
            (
                "FROM (DESCRIBE FROM (DESC t)) WHERE a",
                "SELECT * FROM describe((SELECT * FROM (FROM describe((SELECT * FROM t))))) WHERE a",
            ),
            ("SELECT a FROM (SUMMARIZE t) s", "SELECT a FROM summarize((SELECT * FROM t)) s"),
            ("SELECT (describe + 1) FROM t", "SELECT (describe + 1) FROM t"),
            ("SELECT a FROM (summarize)", "SELECT a FROM summarize"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read, "{text}");
        }
    }
}
