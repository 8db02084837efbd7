//! Words that the parser keeps for clauses of other systems, as names of columns and tables: `user`, `values`, `top`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Words that are names wherever something follows that follows a name. `EXPLAIN SELECT` and `TOP 5` are none.
const FREE: [Keyword; 24] = [
    Keyword::CLUSTER,
    Keyword::CUBE,
    Keyword::DISTRIBUTE,
    Keyword::DIV,
    Keyword::EXPLAIN,
    Keyword::FORMAT,
    Keyword::GLOBAL,
    Keyword::MATCH,
    Keyword::MEMBER,
    Keyword::MINUS,
    Keyword::OPEN,
    Keyword::OPERATOR,
    Keyword::OUTPUT,
    Keyword::PARTITION,
    Keyword::REGEXP,
    Keyword::RLIKE,
    Keyword::ROLLUP,
    Keyword::SETTINGS,
    Keyword::SORT,
    Keyword::START,
    Keyword::TOP,
    Keyword::VALUES,
    Keyword::VIEW,
    Keyword::XOR,
];

/// Words that follow names.
const FOLLOW: [Keyword; 33] = [
    Keyword::AND,
    Keyword::AS,
    Keyword::ASC,
    Keyword::BETWEEN,
    Keyword::CROSS,
    Keyword::DESC,
    Keyword::ELSE,
    Keyword::END,
    Keyword::EXCEPT,
    Keyword::FROM,
    Keyword::FULL,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::IN,
    Keyword::INNER,
    Keyword::INTERSECT,
    Keyword::IS,
    Keyword::JOIN,
    Keyword::LEFT,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::NOT,
    Keyword::NULLS,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::ORDER,
    Keyword::QUALIFY,
    Keyword::RIGHT,
    Keyword::THEN,
    Keyword::UNION,
    Keyword::WHEN,
    Keyword::WHERE,
];

/// Words behind which a query may begin with FROM.
const BEFORE_QUERIES: [Keyword; 2] = [Keyword::EXPLAIN, Keyword::MINUS];

/// The tokens of a text in which such words, and `user` that is not called, are names like any other.
pub fn unreserved(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut free = Vec::new();
    let mut next = &Token::EOF;
    for (at, TokenWithSpan { token, .. }) in tokens.iter().enumerate().rev() {
        match token {
            Token::Whitespace(_) => continue,
            Token::Word(word) if word.quote_style.is_none() => {
                let is_free = FREE.contains(&word.keyword) && follows_a_name(word.keyword, next);
                if is_free || word.keyword == Keyword::USER && *next != Token::LParen {
                    free.push(at);
                }
            }
            _ => {}
        }
        next = token;
    }
    for at in free {
        if let Token::Word(word) = &mut tokens[at].token {
            word.keyword = Keyword::NoKeyword;
        }
    }
    tokens
}

/// Whether what stands behind a word stands behind names.
fn follows_a_name(word: Keyword, next: &Token) -> bool {
    match next {
        Token::Word(next) if next.keyword == Keyword::FROM && BEFORE_QUERIES.contains(&word) => false,
        Token::Word(next) => next.quote_style.is_none() && FOLLOW.contains(&next.keyword),
        Token::EOF
        | Token::Comma
        | Token::SemiColon
        | Token::RParen
        | Token::RBracket
        | Token::Period
        | Token::DoubleColon
        | Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::LtEq
        | Token::Gt
        | Token::GtEq
        | Token::Plus
        | Token::Minus
        | Token::Div
        | Token::StringConcat => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn words_of_other_systems_are_names() {
        for text in [
            "SELECT user FROM t",
            "SELECT t.user, user.device FROM t WHERE user = 'x'",
            "SELECT a, values, view FROM t",
            "SELECT count(*) top FROM start JOIN format ON start.sort = format.sort",
            "SELECT a, minus, b FROM t",
            "SELECT cube, rollup FROM t GROUP BY cube, rollup ORDER BY cube DESC",
        ] {
            assert!(matches!(parse(text), Ok(Statement::Query(_))), "{text}");
        }
        for text in ["SELECT a FROM t GROUP BY ROLLUP (a)", "VALUES (1)", "SELECT * FROM (VALUES (1)) t(x)"] {
            assert!(matches!(parse(text), Ok(Statement::Query(_))), "{text}");
        }
    }
}
