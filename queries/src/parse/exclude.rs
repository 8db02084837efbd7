//! `ROWS … EXCLUDE TIES`: the parser knows no EXCLUDE of a frame. Here the words are taken out of the tokens. What they
//! say is put behind the ORDER BY of the window, as a key that no text can have. It is a name with a space, without
//! quotes.

use sqlparser::ast::{Expr, OrderByExpr};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::algebra::window::Exclude;

/// The words behind EXCLUDE, and the key that stands for them.
const KINDS: [(&[&str], &str, Exclude); 4] = [
    (&["CURRENT", "ROW"], "EXCLUDE CURRENT ROW", Exclude::CurrentRow),
    (&["GROUP"], "EXCLUDE GROUP", Exclude::Group),
    (&["TIES"], "EXCLUDE TIES", Exclude::Ties),
    (&["NO", "OTHERS"], "EXCLUDE NO OTHERS", Exclude::Nothing),
];

/// The keys of an ORDER BY that are written, and which rows a frame leaves out.
pub fn split(keys: &[OrderByExpr]) -> (&[OrderByExpr], Exclude) {
    if let [before @ .., OrderByExpr { expr: Expr::Identifier(name), .. }] = keys
        && name.quote_style.is_none()
        && let Some((_, _, exclude)) = KINDS.iter().find(|(_, key, _)| *key == name.value)
    {
        return (before, *exclude);
    }
    (keys, Exclude::Nothing)
}

/// A text of an expression with EXCLUDE where it was written: behind its frame.
pub fn shown(text: String) -> String {
    let mut text = text;
    for (_, key, _) in KINDS {
        for (begin, space) in [(", ", " "), ("ORDER BY ", "")] {
            while let Some(at) = text.find(&format!("{begin}{key} ")) {
                let rest = text.split_off(at);
                let behind = rest[begin.len() + key.len()..].trim_start();
                let end = closing(behind);
                text.push_str(&format!("{space}{} {key}{}", &behind[..end], &behind[end..]));
            }
        }
    }
    text
}

/// Where the parenthesis closes in which a text begins.
fn closing(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The tokens of a text with such keys in the place of EXCLUDE.
pub fn into_orders(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    // Where a key is put, and whether there is an ORDER BY; the tokens that go.
    let (mut keys, mut gone) = (Vec::new(), Vec::new());
    for at in 0..said.len() {
        let word = |at: usize| said.get(at).and_then(|at| plain(&tokens[*at].token));
        if !word(at).is_some_and(|word| word.value.eq_ignore_ascii_case("EXCLUDE")) {
            continue;
        }
        let says = |words: &[&str]| {
            let mut places = (at + 1..).zip(words);
            places.all(|(at, text)| word(at).is_some_and(|word| word.value.eq_ignore_ascii_case(text)))
        };
        let Some((words, key, _)) = KINDS.iter().find(|(words, _, _)| says(words)) else { continue };
        let end = at + words.len();
        let is_last = said.get(end + 1).is_some_and(|at| tokens[*at].token == Token::RParen);
        let Some((units, has_order)) = units(&tokens, &said[..at]).filter(|_| is_last) else { continue };
        keys.push((units, has_order, *key));
        gone.extend(&said[at..=end]);
    }
    if keys.is_empty() {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 4 * keys.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        if let Some((_, has_order, key)) = keys.iter().find(|(units, _, _)| *units == at) {
            let put = |token: Token| TokenWithSpan { token, span };
            match has_order {
                true => out.push(put(Token::Comma)),
                false => out.extend(["ORDER", "BY"].map(|word| put(Token::make_word(word, None)))),
            }
            let keyword = Keyword::NoKeyword;
            out.push(put(Token::Word(Word { value: (*key).to_string(), quote_style: None, keyword })));
        }
        if gone.binary_search(&at).is_err() {
            out.push(token);
        }
    }
    out
}

/// A word without quotes.
fn plain(token: &Token) -> Option<&Word> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word),
        _ => None,
    }
}

/// Where the frame begins that ends behind these tokens, and whether an ORDER BY stands before it in the window.
fn units(tokens: &[TokenWithSpan], said: &[usize]) -> Option<(usize, bool)> {
    let (mut depth, mut begin) = (0_usize, None);
    for at in said.iter().rev() {
        match &tokens[*at].token {
            Token::RParen => depth += 1,
            Token::LParen => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => break,
            },
            token if depth == 0 => match plain(token).map(|word| word.keyword) {
                Some(Keyword::SELECT | Keyword::FROM) => return None,
                Some(Keyword::ROWS | Keyword::RANGE | Keyword::GROUPS) if begin.is_none() => {
                    begin = Some(*at)
                }
                Some(Keyword::ORDER) if begin.is_some() => return Some((begin?, true)),
                _ => {}
            },
            _ => {}
        }
    }
    Some((begin?, false))
}

#[cfg(test)]
mod tests {
    use super::shown;
    use crate::parse::{Statement, parse};

    #[test]
    fn it_stands_behind_the_order() {
        for (text, read) in [
            (
                "SELECT sum(a) OVER (ORDER BY (b), c ROWS 1 PRECEDING EXCLUDE TIES)",
                "SELECT sum(a) OVER (ORDER BY (b), c, EXCLUDE TIES ROWS 1 PRECEDING)",
            ),
            (
                "SELECT 1 FROM t WINDOW w AS (PARTITION BY a RANGE BETWEEN CURRENT ROW AND CURRENT ROW exclude Current  row)",
                "SELECT 1 FROM t WINDOW w AS (PARTITION BY a ORDER BY EXCLUDE CURRENT ROW RANGE BETWEEN CURRENT ROW AND CURRENT ROW)",
            ),
            ("SELECT * EXCLUDE (a) FROM t", "SELECT * EXCLUDE (a) FROM t"),
            ("SELECT (SELECT * EXCLUDE ties)", "SELECT (SELECT * EXCLUDE ties)"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read);
        }
        assert!(parse("SELECT sum(a) OVER (ROWS 1 PRECEDING EXCLUDE b)").is_err());
    }

    #[test]
    fn it_is_shown_as_it_was_written() {
        for (text, written) in [
            (
                "sum(a) OVER (ORDER BY b, EXCLUDE TIES ROWS f(1) PRECEDING) + 1",
                "sum(a) OVER (ORDER BY b ROWS f(1) PRECEDING EXCLUDE TIES) + 1",
            ),
            (
                "sum(a) OVER (ORDER BY EXCLUDE GROUP ROWS 1 PRECEDING)",
                "sum(a) OVER (ROWS 1 PRECEDING EXCLUDE GROUP)",
            ),
            ("a || ', EXCLUDE TIES'", "a || ', EXCLUDE TIES'"),
        ] {
            assert_eq!(shown(text.to_string()), written);
        }
    }
}
