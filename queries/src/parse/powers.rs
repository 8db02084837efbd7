//! `2 ** 10`: the parser reads two stars as two products. Here they are `^`, which is the same operator.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens of a text, with `^` in the place of two stars without a space between them.
pub fn carets(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_star = |token: &TokenWithSpan| token.token == Token::Mul;
    if !tokens.windows(2).any(|pair| pair.iter().all(is_star)) {
        return tokens;
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match out.last_mut() {
            Some(before) if is_star(before) && is_star(&token) => {
                before.token = Token::Caret;
                before.span = before.span.union(&token.span);
            }
            _ => out.push(token),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn two_stars_are_a_power() {
        let Ok(Statement::Query(query)) = parse("SELECT 2 ** 3 * 4, count(*) FROM t") else {
            panic!("no query")
        };
        assert_eq!(query.to_string(), "SELECT 2 ^ 3 * 4, count(*) FROM t");
        assert!(parse("SELECT 2 * * 3").is_err());
        assert!(parse("SELECT 2 *** 3").is_err());
    }
}
