//! `* LIKE 'a%'`: the parser reads `* ILIKE 'a%'` alone. Here each of these has its place, and the pattern says which it is:
//! the operator, a space, and the pattern.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::Said;

/// The operators, and the words that each is written with.
const OPERATORS: [(&str, &[&str]); 8] = [
    ("LIKE", &["LIKE"]),
    ("NOT-LIKE", &["NOT", "LIKE"]),
    ("ILIKE", &["ILIKE"]),
    ("NOT-ILIKE", &["NOT", "ILIKE"]),
    ("GLOB", &["GLOB"]),
    ("NOT-GLOB", &["NOT", "GLOB"]),
    ("SIMILAR", &["SIMILAR", "TO"]),
    ("NOT-SIMILAR", &["NOT", "SIMILAR", "TO"]),
];

/// What a pattern of the tree says: the operator without NOT, whether there is one, and the pattern.
pub fn split(pattern: &str) -> (&str, bool, &str) {
    let (operator, pattern) = pattern.split_once(' ').unwrap_or(("ILIKE", pattern));
    match operator.strip_prefix("NOT-") {
        Some(operator) => (operator, true, pattern),
        None => (operator, false, pattern),
    }
}

/// The tokens of a text with ILIKE in the place of these words.
pub fn like(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let mut changed = Vec::new();
    for at in 1..said.len() {
        if said.token(at) != Some(&Token::Mul) || !is_star(&said, at) {
            continue;
        }
        for (name, words) in OPERATORS {
            let end = at + 1 + words.len();
            let is_written = words.iter().enumerate().all(|(i, word)| said.is(at + 1 + i, word));
            if is_written && let Some(Token::SingleQuotedString(pattern)) = said.token(end) {
                let pattern = Token::SingleQuotedString(format!("{name} {pattern}"));
                changed.push((said.before(at + 1).len(), said.before(end).len(), pattern));
            }
        }
    }
    for (from, end, pattern) in changed.into_iter().rev() {
        tokens[end].token = pattern;
        let word = TokenWithSpan { token: Token::make_word("ILIKE", None), span: tokens[from].span };
        tokens.splice(from..end, [word]);
    }
    tokens
}

/// Whether a star stands for columns, and for no product.
fn is_star(said: &Said<'_>, at: usize) -> bool {
    let before = said.token(at - 1);
    matches!(before, Some(Token::Comma | Token::Period | Token::LParen))
        || said.is_behind(at, &["SELECT", "DISTINCT", "ALL"])
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn each_operator_is_told_by_the_pattern() {
        for (text, read) in [
            ("SELECT * LIKE 'a%' FROM t", "SELECT * ILIKE 'LIKE a%' FROM t"),
            ("SELECT 1, t.* NOT SIMILAR TO 'a|b' FROM t", "SELECT 1, t.* ILIKE 'NOT-SIMILAR a|b' FROM t"),
            ("SELECT a * ilike FROM t", "SELECT a * ilike FROM t"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read, "{text}");
        }
        assert_eq!(super::split("NOT-GLOB a b"), ("GLOB", true, "a b"));
        assert_eq!(super::split("SIMILAR "), ("SIMILAR", false, ""));
    }
}
