//! `LIMIT 10 %` and `LIMIT 10 PERCENT`, which the parser does not read. Here it is `LIMIT LIMIT PERCENT(10)`, a call of a
//! function whose name no text can have: two words without quotes.

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::calls;
use super::said::Said;

/// The name of the function.
const PERCENT: &str = "LIMIT PERCENT";

/// The tokens of a text with such calls.
pub fn percent(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let mut changed = Vec::new();
    for at in 0..said.len() {
        let is_number = matches!(said.token(at + 1), Some(Token::Number(..)));
        let is_share = said.token(at + 2) == Some(&Token::Mod) || said.is(at + 2, "PERCENT");
        let is_end = match said.token(at + 3) {
            None | Some(Token::RParen | Token::SemiColon) => true,
            Some(_) => said.is(at + 3, "OFFSET"),
        };
        if said.is(at, "LIMIT") && is_number && is_share && is_end {
            changed.push((said.before(at + 1).len(), said.before(at + 2).len()));
        }
    }
    let mut tokens = tokens;
    for (number, sign) in changed.into_iter().rev() {
        let span = tokens[number].span;
        tokens[sign].token = Token::RParen;
        let word = Word { value: PERCENT.into(), quote_style: None, keyword: Keyword::NoKeyword };
        let made = [Token::Word(word), Token::LParen].map(|token| TokenWithSpan { token, span });
        tokens.splice(number..number, made);
    }
    tokens
}

/// The digits of what such a call says; `None` of any other limit, and no digits if it has none.
pub fn share(limit: &Expr) -> Option<Option<&str>> {
    let Expr::Function(function) = limit else { return None };
    (calls::name_of(function) == Some(PERCENT)).then(|| calls::args(function).next().and_then(calls::digits))
}

/// A text of a query with such shares as they are written.
pub fn shown(text: String) -> String {
    let (mut text, call) = (text, format!("LIMIT {PERCENT}("));
    while let Some(at) = text.find(&call) {
        let rest = text.split_off(at);
        let (digits, behind) = rest[call.len()..].split_once(')').unwrap_or_default();
        text.push_str(&format!("LIMIT {digits} %{behind}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn a_share_is_a_call() {
        for (text, read) in [
            ("FROM t LIMIT 10 %", "FROM t LIMIT LIMIT PERCENT(10)"),
            ("FROM (FROM t LIMIT 1.5% OFFSET 2)", "FROM (FROM t LIMIT LIMIT PERCENT(1.5) OFFSET 2)"),
            ("FROM t LIMIT 7 PERCENT;", "FROM t LIMIT LIMIT PERCENT(7)"),
            ("FROM t LIMIT 10 % 3", "FROM t LIMIT 10 % 3"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read, "{text}");
        }
        assert_eq!(
            super::shown("(FROM t LIMIT LIMIT PERCENT(1.5) OFFSET 2)".into()),
            "(FROM t LIMIT 1.5 % OFFSET 2)"
        );
    }
}
