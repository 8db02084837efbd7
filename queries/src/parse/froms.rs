//! `FROM t WHERE x`: the parser reads a FROM without SELECT only where nothing but ORDER BY and LIMIT follows. Here it is
//! `SELECT * FROM t WHERE x`, which is the same rows.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::{BEHIND_TABLES, Said};

/// Words behind which a query may begin.
const BEFORE: [&str; 11] = [
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "ALL",
    "NAME",
    "EXPLAIN",
    "ANALYZE",
    "DESCRIBE",
    "DESC",
    "SUMMARIZE",
    "DISTINCT",
];

/// How many of [`BEHIND_TABLES`] the parser does not read behind a FROM alone.
const UNREAD: usize = 5;

/// The tokens of a text with such a SELECT.
pub fn selected(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let mut places = Vec::new();
    let mut creates = false;
    for at in 0..said.len() {
        let before = at.checked_sub(1).and_then(|before| said.token(before));
        let is_first = matches!(before, None | Some(Token::SemiColon));
        if is_first {
            creates = said.is(at, "CREATE");
        }
        let begins = is_first
            || matches!(before, Some(Token::LParen | Token::RParen))
            || said.is_behind(at, &BEFORE) && !said.is_behind(at - 1, &["IS", "NOT", "SELECT"])
            || creates && said.is_behind(at, &["AS", "TABLE"]);
        if !begins || !said.is(at, "FROM") || is_of_select(&said, at) {
            continue;
        }
        let ends = |at| said.is(at, "SELECT") || said.is_from(at) || said.is_one(at, &BEHIND_TABLES);
        let end = said.find(at + 1, &ends);
        if end > at + 1 && said.is_one(end, &BEHIND_TABLES[..UNREAD]) {
            places.push(said.before(at).len());
        }
    }
    let mut tokens = tokens;
    for place in places.into_iter().rev() {
        let span = tokens[place].span;
        let made = [Token::make_word("SELECT", None), Token::Mul].map(|token| TokenWithSpan { token, span });
        tokens.splice(place..place, made);
    }
    tokens
}

/// Whether a FROM behind a parenthesis is that of a SELECT before it: `SELECT f(x) FROM t`. Behind the names of WITH it is
/// none.
fn is_of_select(said: &Said<'_>, at: usize) -> bool {
    let mut place = at;
    while let Some(before) = place.checked_sub(1) {
        place = match said.token(before) {
            Some(Token::RParen | Token::RBracket | Token::RBrace) => match said.opening(before) {
                Some(open) => open,
                None => return false,
            },
            Some(Token::LParen | Token::LBracket | Token::LBrace | Token::SemiColon) => return false,
            _ if said.is(before, "SELECT") => return true,
            // `* EXCEPT (a)` leaves a column out.
            _ if said.is(before, "EXCEPT") && before > 0 && said.token(before - 1) == Some(&Token::Mul) => {
                before
            }
            _ if said.is_one(before, &BEFORE[..3]) || said.is(before, "WITH") => return false,
            _ => before,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn what_follows_a_from_alone_is_read() {
        for (text, read) in [
            ("FROM t WHERE x = 1", "SELECT * FROM t WHERE x = 1"),
            ("FROM t, u GROUP BY ALL", "SELECT * FROM t, u GROUP BY ALL"),
            ("FROM (FROM t WHERE a) u LIMIT 1", "FROM (SELECT * FROM t WHERE a) u LIMIT 1"),
            (
                "WITH a AS (SELECT f(x) FROM t WHERE y) FROM a WHERE b",
                "WITH a AS (SELECT f(x) FROM t WHERE y) SELECT * FROM a WHERE b",
            ),
            ("SELECT 1 UNION ALL FROM t WHERE a", "SELECT 1 UNION ALL SELECT * FROM t WHERE a"),
            ("FROM t SELECT a WHERE b", "FROM t SELECT a WHERE b"),
            (
                "SELECT (1) FROM t WHERE extract(year FROM d) = 1",
                "SELECT (1) FROM t WHERE EXTRACT(YEAR FROM d) = 1",
            ),
            ("SELECT (a) IS DISTINCT FROM b WHERE c", "SELECT (a) IS DISTINCT FROM b WHERE c"),
            ("SELECT * EXCEPT (a) FROM t WHERE c", "SELECT * EXCEPT (a) FROM t WHERE c"),
            ("SELECT t.* EXCEPT (a) FROM t WHERE c", "SELECT t.* EXCEPT (a) FROM t WHERE c"),
            ("FROM t SELECT a EXCEPT FROM u WHERE c", "FROM t SELECT a EXCEPT SELECT * FROM u WHERE c"),
            (
                "FROM t JOIN u ON a IS NOT DISTINCT FROM b WHERE c",
                "SELECT * FROM t JOIN u ON a IS NOT DISTINCT FROM b WHERE c",
            ),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read, "{text}");
        }
    }
}
