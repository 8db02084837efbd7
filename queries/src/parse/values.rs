//! `x = ANY (VALUES (1), (2))`: the parser takes what stands behind ANY, ALL and SOME for a subquery only if it begins with
//! SELECT or WITH. Here VALUES is put into `SELECT * FROM (VALUES …)`, which is the same rows, and so are queries in
//! parentheses with a set operation between them: `x = ANY ((SELECT 1) UNION (SELECT 2))`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The set operations.
const SETS: [Keyword; 3] = [Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT];

/// The tokens of a text, with such a SELECT wherever these stand in parentheses behind ANY, ALL or SOME.
pub fn behind_quantifiers(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let places = places(&tokens);
    if places.is_empty() {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 8 * places.len());
    for (i, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        let put = |token: Token| TokenWithSpan { token, span };
        if places.iter().any(|(begin, _)| *begin == i) {
            let word = |text| put(Token::make_word(text, None));
            out.extend([word("SELECT"), put(Token::Mul), word("FROM"), put(Token::LParen)]);
        }
        if places.iter().any(|(_, end)| *end == i) {
            out.push(put(Token::RParen));
        }
        out.push(token);
    }
    out
}

/// Whether a token is one of these keywords.
fn is(token: &Token, keywords: &[Keyword]) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && keywords.contains(&word.keyword))
}

/// Whether these tokens begin with a parenthesis, behind which there is a set operation.
fn is_set(said: &[(usize, &Token)]) -> bool {
    if !matches!(said.first(), Some((_, Token::LParen))) {
        return false;
    }
    let mut depth = 0_usize;
    for (at, (_, token)) in said.iter().enumerate() {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return said.get(at + 1).is_some_and(|(_, behind)| is(behind, &SETS));
        }
    }
    false
}

/// Where such rows begin, and where the parenthesis behind them stands.
fn places(tokens: &[TokenWithSpan]) -> Vec<(usize, usize)> {
    let said: Vec<(usize, &Token)> = tokens
        .iter()
        .map(|token| &token.token)
        .enumerate()
        .filter(|(_, token)| !matches!(token, Token::Whitespace(_)))
        .collect();
    let mut places = Vec::new();
    for (at, window) in said.windows(3).enumerate() {
        let [(_, quantifier), (_, open), (begin, values)] = window else { continue };
        // The ALL of UNION ALL.
        let is_of_sets = at.checked_sub(1).is_some_and(|before| is(said[before].1, &SETS));
        let begins = is(quantifier, &[Keyword::ANY, Keyword::ALL, Keyword::SOME])
            && matches!(open, Token::LParen)
            && (is(values, &[Keyword::VALUES]) || !is_of_sets && is_set(&said[at + 2..]));
        if !begins {
            continue;
        }
        let mut depth = 0_usize;
        for (place, token) in &said[at + 1..] {
            match token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                places.push((*begin, *place));
                break;
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn values_behind_a_quantifier_are_a_subquery() {
        for (text, read) in [
            ("SELECT 1 = ANY (VALUES (1), (2))", "SELECT 1 = ANY(SELECT * FROM (VALUES (1), (2)))"),
            ("SELECT 1 UNION ALL (VALUES (1))", "SELECT 1 UNION ALL (SELECT * FROM (VALUES (1)))"),
            ("SELECT 1 < ALL(SELECT 1)", "SELECT 1 < ALL(SELECT 1)"),
            (
                "SELECT 1 < ALL ((SELECT 1) INTERSECT (SELECT 2))",
                "SELECT 1 < ALL(SELECT * FROM ((SELECT 1) INTERSECT (SELECT 2)))",
            ),
            (
                "SELECT 1 UNION ALL ((SELECT 1) UNION (SELECT 2))",
                "SELECT 1 UNION ALL ((SELECT 1) UNION (SELECT 2))",
            ),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read);
        }
        assert!(parse("SELECT 1 = ANY (VALUES (1)").is_err());
    }
}
