//! `GROUPING SETS (GROUPING SETS (a), b)` and `ROLLUP (a, (SELECT 1))`, which the parser does not read. Sets within sets
//! are some more of them. A subquery in parentheses gets a second pair: it would be a list of keys.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::Said;

/// Words that a query begins with.
const QUERY: [&str; 3] = ["SELECT", "WITH", "VALUES"];

/// What a parenthesis holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// The elements of GROUPING SETS.
    Sets,
    /// Those of ROLLUP or CUBE.
    Keys,
    Other,
}

/// The tokens of a text with such elements as the parser reads them.
pub fn read(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let place = |at: usize| said.before(at).len();
    let is_token = |at: Option<usize>, tokens: &[Token]| {
        at.and_then(|at| said.token(at)).is_some_and(|token| tokens.contains(token))
    };
    // The tokens that go, and those that come before others.
    let (mut gone, mut made) = (BTreeSet::new(), BTreeMap::new());
    // The parentheses around the token at hand.
    let mut around: Vec<(usize, Holds)> = Vec::new();
    for at in 0..said.len() {
        match said.token(at) {
            Some(Token::LParen) => around.push((at, held(&said, at))),
            Some(Token::RParen) => {
                let Some((opens, holds)) = around.pop() else { continue };
                let outer = around.last().map_or(Holds::Other, |(_, holds)| *holds);
                // An element stands between commas or parentheses.
                let is_element = |begin: Option<usize>| {
                    is_token(begin.and_then(|begin| begin.checked_sub(1)), &[Token::LParen, Token::Comma])
                        && is_token(Some(at + 1), &[Token::RParen, Token::Comma])
                };
                let words = opens.checked_sub(2);
                if outer == Holds::Sets && holds == Holds::Sets && is_element(words) && at > opens + 1 {
                    gone.extend([opens - 2, opens - 1, opens, at].map(place));
                } else if outer != Holds::Other && said.is_one(opens + 1, &QUERY) && is_element(Some(opens)) {
                    made.insert(place(opens), Token::LParen);
                    made.insert(place(at), Token::RParen);
                }
            }
            _ => {}
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

/// What the parenthesis holds that opens at a place.
fn held(said: &Said<'_>, opens: usize) -> Holds {
    let Some(before) = opens.checked_sub(1) else { return Holds::Other };
    match () {
        () if said.is(before, "SETS") && said.is_behind(before, &["GROUPING"]) => Holds::Sets,
        () if said.is_one(before, &["ROLLUP", "CUBE"]) => Holds::Keys,
        () => Holds::Other,
    }
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
        // The time grows as the text does, however deep it is.
        let deep = format!("{begin} {}a{}", "CUBE (".repeat(20_000), ")".repeat(20_000));
        assert!(parse(&deep).is_err(), "the parser does not go that deep");
    }
}
