//! `a <-> b`: the tokens `<` and `->` without a space between them are one operator, the distance of two lists.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The operator.
pub const DISTANCE: &str = "<->";

/// The tokens of a text, with that operator in the place of its parts.
pub fn whole(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match kept.last_mut() {
            Some(last) if last.token == Token::Lt && token.token == Token::Arrow => {
                last.token = Token::CustomBinaryOperator(DISTANCE.into());
                last.span.end = token.span.end;
            }
            _ => kept.push(token),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn a_distance_is_one_operator() {
        let Ok(Statement::Query(query)) = parse("SELECT a<->b, a < -1, j->'k' FROM t") else {
            panic!("no query")
        };
        assert_eq!(query.to_string(), "SELECT a <-> b, a < -1, j -> 'k' FROM t");
    }
}
