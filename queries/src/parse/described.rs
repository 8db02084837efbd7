//! `FROM (DESCRIBE t)`: the parser reads no statement there. Here it is `FROM describe((SELECT * FROM t))`, a table
//! function of a query.

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::said::Said;

/// The name of that function.
pub const DESCRIBE: &str = "describe";

/// Words behind which a table may stand, besides a comma.
const BEFORE: [&str; 2] = ["FROM", "JOIN"];
/// Words that a query begins with.
const QUERY: [&str; 6] = ["SELECT", "WITH", "FROM", "VALUES", "PIVOT", "UNPIVOT"];

/// The tokens of a text with calls of that function.
pub fn called(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let mut edits: Vec<(usize, usize, Vec<Token>)> = Vec::new();
    for at in 2..said.len() {
        let opens = said.token(at - 1) == Some(&Token::LParen);
        if !opens || !said.is_one(at, &["DESCRIBE", "DESC"]) {
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
            edits.push((said.before(at - 1).len(), 0, vec![word(DESCRIBE), Token::LParen]));
            edits.push((said.before(at).len(), 1, select));
            edits.push((said.before(end).len(), 0, closing));
        }
    }
    // From the end, so that the places before stay what they are.
    edits.sort_by_key(|(place, ..)| std::cmp::Reverse(*place));
    let mut tokens = tokens;
    for (place, removed, made) in edits {
        let span = tokens[place].span;
        let made = made.into_iter().map(|token| TokenWithSpan { token, span });
        tokens.splice(place..place + removed, made);
    }
    tokens
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
            ("SELECT (describe + 1) FROM t", "SELECT (describe + 1) FROM t"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read, "{text}");
        }
    }
}
