//! `* LIKE 'a%'`: the parser reads `* ILIKE 'a%'` alone. Here each of these has its place, and the pattern says which it is:
//! the operator, a space, and the pattern.
//!
//! `f(*COLUMNS(…))`, whose columns are arguments of the call: here the star and the name are one name that no text can have.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

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

/// The name that stands for `*COLUMNS`.
pub const UNPACKED: &str = "UNPACKED COLUMNS";

/// The tokens of a text with that name in the place of `*COLUMNS`.
pub fn unpacked(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let is_one = |at: usize| {
        let begins = matches!(said.token(at - 1), Some(Token::Comma | Token::LParen | Token::LBracket));
        let calls = said.is(at + 1, "COLUMNS") && said.token(at + 2) == Some(&Token::LParen);
        said.token(at) == Some(&Token::Mul) && begins && calls
    };
    let stars: Vec<(usize, usize)> = (1..said.len())
        .filter(|at| is_one(*at))
        .map(|at| (said.before(at).len(), said.before(at + 1).len()))
        .collect();
    for (star, name) in stars.into_iter().rev() {
        let word = Word { value: UNPACKED.into(), quote_style: None, keyword: Keyword::NoKeyword };
        tokens[name].token = Token::Word(word);
        tokens.drain(star..name);
    }
    tokens
}

/// A text of an expression with the star as it is written.
pub fn shown(text: String) -> String {
    text.replace(&format!("{UNPACKED}("), "*COLUMNS(")
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
            ("SELECT f(1, * COLUMNS(*)) FROM t", "SELECT f(1, UNPACKED COLUMNS(*)) FROM t"),
            ("SELECT f(a * COLUMNS(*)) FROM t", "SELECT f(a * COLUMNS(*)) FROM t"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read, "{text}");
        }
        assert_eq!(super::shown("f(UNPACKED COLUMNS(*))".into()), "f(*COLUMNS(*))");
        assert_eq!(super::split("NOT-GLOB a b"), ("GLOB", true, "a b"));
        assert_eq!(super::split("SIMILAR "), ("SIMILAR", false, ""));
    }
}
