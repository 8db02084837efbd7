//! `0x1F`: the parser takes it for bytes, as `X'1F'`. Here it is the number 31, as in PostgreSQL and SQL:2023.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens of a text, with a decimal number in the place of each hexadecimal one of at most 128 bits.
pub fn numbers(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for token in &mut tokens {
        let Token::HexStringLiteral(digits) = &token.token else { continue };
        let (begin, end) = (token.span.start, token.span.end);
        // `0x` stands before the digits of a number, `X'` and `'` around bytes.
        let is_number = begin.line == end.line && end.column - begin.column == digits.len() as u64 + 2;
        if is_number && let Ok(number) = u128::from_str_radix(digits, 16) {
            token.token = Token::Number(number.to_string(), false);
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn a_number_is_no_bytes() {
        let Ok(Statement::Query(query)) = parse("SELECT 0x1F + 0xff, X'1F', x'ff' FROM t") else {
            panic!("no query")
        };
        assert_eq!(query.to_string(), "SELECT 31 + 255, X'1F', X'ff' FROM t");
    }
}
