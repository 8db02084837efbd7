//! `trim(LEADING FROM x)`: the parser wants the characters that are taken off. Here they are spaces, as in the standard.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What a token is.
#[derive(PartialEq)]
enum Said {
    Trim,
    Open,
    Side,
    Other,
}

/// The tokens of a text, with a space between `LEADING`, `TRAILING` or `BOTH` and `FROM` behind `trim(`.
pub fn of_spaces(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The last three tokens that are no space between others.
    let mut last = [Said::Other, Said::Other, Said::Other];
    for token in tokens {
        let keyword = match &token.token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        if keyword == Keyword::FROM && last == [Said::Trim, Said::Open, Said::Side] {
            kept.push(TokenWithSpan { token: Token::SingleQuotedString(" ".into()), span: token.span });
        }
        let said = match (&token.token, keyword) {
            (Token::Whitespace(_), _) => None,
            (Token::LParen, _) => Some(Said::Open),
            (_, Keyword::TRIM) => Some(Said::Trim),
            (_, Keyword::LEADING | Keyword::TRAILING | Keyword::BOTH) => Some(Said::Side),
            _ => Some(Said::Other),
        };
        if let Some(said) = said {
            last.rotate_left(1);
            last[2] = said;
        }
        kept.push(token);
    }
    kept
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn spaces_are_trimmed() {
        let text = "SELECT trim(LEADING FROM a), trim( both  FROM b ), trim(TRAILING 'x' FROM c)";
        let Ok(Statement::Query(query)) = parse(text) else { panic!("no query") };
        assert_eq!(
            query.to_string(),
            "SELECT TRIM(LEADING ' ' FROM a), TRIM(BOTH ' ' FROM b), TRIM(TRAILING 'x' FROM c)"
        );
    }
}
