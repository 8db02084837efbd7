//! `sum(x) FILTER (y > 1)`: DuckDB leaves `WHERE` out, and the parser wants it.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::said::{List, Said};

/// The tokens of a text with `WHERE` in the filters of aggregates.
pub fn with_where(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let lists = said.lists();
    let is_bare = |at: usize| {
        said.is(at, "FILTER")
            && at.checked_sub(1).is_some_and(|before| said.token(before) == Some(&Token::RParen))
            && said.token(at + 1) == Some(&Token::LParen)
            && !said.is(at + 2, "WHERE")
            && !(lists[at] == List::Tables && names_columns(&said, at + 1))
    };
    let bare: Vec<usize> =
        (0..said.len()).filter(|at| is_bare(*at)).map(|at| said.before(at + 2).len()).collect();
    if bare.is_empty() {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + bare.len());
    let mut bare = bare.into_iter().peekable();
    for (place, token) in tokens.into_iter().enumerate() {
        if bare.next_if_eq(&place).is_some() {
            let word = Word { value: "WHERE".into(), quote_style: None, keyword: Keyword::WHERE };
            out.push(TokenWithSpan { token: Token::Word(word), span: token.span });
        }
        out.push(token);
    }
    out
}

/// Whether parentheses have nothing but names in them, as behind the alias of a table: `range(3) filter(x)`.
fn names_columns(said: &Said<'_>, opening: usize) -> bool {
    let mut at = opening + 1;
    while matches!(said.token(at), Some(Token::Word(_))) {
        match said.token(at + 1) {
            Some(Token::Comma) => at += 2,
            Some(Token::RParen) => return true,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn a_filter_needs_no_where() {
        for (text, read) in [
            ("SELECT f(x) FILTER (y > 1) FROM t", "SELECT f(x) FILTER (WHERE y > 1) FROM t"),
            ("SELECT f(x) FILTER (WHERE y) FROM t", "SELECT f(x) FILTER (WHERE y) FROM t"),
            ("SELECT f(x) FILTER (y) FROM t", "SELECT f(x) FILTER (WHERE y) FROM t"),
            ("SELECT 1 FROM a, r(3) filter(x)", "SELECT 1 FROM a, r(3) filter (x)"),
            ("SELECT filter(l, x -> x > 1) FROM t", "SELECT filter(l, x -> x > 1) FROM t"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read);
        }
        assert!(parse("SELECT f(x) FILTER () FROM t").is_err());
    }
}
