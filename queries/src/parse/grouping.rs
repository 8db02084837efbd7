//! `GROUPING SETS (GROUPING SETS (a), b)` and `ROLLUP (a, (SELECT 1))`, which the parser does not read. Sets within sets
//! are some more of them. A subquery in parentheses gets a second pair: it would be a list of keys.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::Said;

/// Words that a query begins with.
const QUERY: [&str; 3] = ["SELECT", "WITH", "VALUES"];

/// The tokens of a text with such elements as the parser reads them.
pub fn read(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    // The tokens that go, and those that come before others.
    let (mut gone, mut made) = (BTreeSet::new(), BTreeMap::new());
    for at in 0..said.len() {
        let is_sets = said.is(at, "GROUPING") && said.is(at + 1, "SETS");
        let opens = match (is_sets, said.is_one(at, &["ROLLUP", "CUBE"])) {
            (true, _) => at + 2,
            (false, true) => at + 1,
            (false, false) => continue,
        };
        let Some(end) = said.closing(opens).filter(|_| said.token(opens) == Some(&Token::LParen)) else {
            continue;
        };
        for (from, behind) in said.parts(opens + 1, end) {
            let last = |opens: usize| said.closing(opens).filter(|last| last + 1 == behind);
            let place = |at: usize| said.before(at).len();
            if is_sets && said.is(from, "GROUPING") && said.is(from + 1, "SETS") {
                if let Some(last) = last(from + 2).filter(|last| *last > from + 3) {
                    gone.extend([from, from + 1, from + 2, last].map(place));
                }
            } else if said.token(from) == Some(&Token::LParen)
                && said.is_one(from + 1, &QUERY)
                && let Some(last) = last(from)
            {
                made.insert(place(from), Token::LParen);
                made.insert(place(last), Token::RParen);
            }
        }
    }
    if gone.is_empty() && made.is_empty() {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + made.len());
    for (place, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        out.extend(made.remove(&place).map(|token| TokenWithSpan { token, span }));
        if !gone.contains(&place) {
            out.push(token);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn elements_are_sets_and_subqueries() {
        let begin = "SELECT 1 FROM t GROUP BY";
        for (text, read) in [
            ("GROUPING SETS (GROUPING SETS (a, b), CUBE (c))", "GROUPING SETS (a, b, CUBE (c))"),
            (
                "GROUPING SETS (GROUPING SETS (GROUPING SETS ((a, b)), ()), d)",
                "GROUPING SETS ((a, b), (), d)",
            ),
        ] {
            let texts = [text, read].map(|text| match parse(&format!("{begin} {text}")) {
                Ok(Statement::Query(query)) => query.to_string(),
                other => panic!("no query: {text}: {other:?}"),
            });
            assert_eq!(texts[0], texts[1], "{text}");
        }
        for text in ["ROLLUP (a, (SELECT 1))", "GROUPING SETS ((SELECT (2)), (a, b))"] {
            assert!(parse(&format!("{begin} {text}")).is_ok(), "{text}");
        }
    }
}
