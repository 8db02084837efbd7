//! `SELECT x: 1 FROM t: 'a.csv'`: a name before what it names. Here it is put behind, with AS.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::{BEHIND_TABLES, List, Said};

/// Words behind which an item of a select list stands, and a table.
const BEFORE_ITEMS: [&str; 3] = ["SELECT", "DISTINCT", "ALL"];
const BEFORE_TABLES: [&str; 3] = ["FROM", "JOIN", "LATERAL"];

/// The tokens of a text with such names behind what they name.
pub fn behind(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    // The places of names, and where each is put.
    let mut moved: Vec<(usize, usize)> = Vec::new();
    for (at, list) in said.lists().into_iter().enumerate() {
        let before = at.checked_sub(1);
        let is_behind_comma = before.is_some_and(|before| said.token(before) == Some(&Token::Comma));
        let begins_item = said.is_behind(at, &BEFORE_ITEMS) && !is_quantifier(&said, at)
            || is_behind_comma && list == List::Items;
        let begins_table = said.is_behind(at, &BEFORE_TABLES) || is_behind_comma && list == List::Tables;
        let is_named = matches!(said.token(at), Some(Token::Word(_) | Token::DoubleQuotedString(_)))
            && said.token(at + 1) == Some(&Token::Colon);
        if is_named && (begins_item || begins_table) {
            let end = if begins_table { table_end(&said, at + 2) } else { item_end(&said, at + 2) };
            if end > at + 2 {
                moved.push((at, end));
            }
        }
    }
    if moved.is_empty() {
        return tokens;
    }
    let place = |at: usize| said.before(at).len();
    let mut out = Vec::with_capacity(tokens.len() + moved.len());
    let mut names = moved.iter().map(|(at, end)| (place(*at), place(*at + 1), place(*end - 1))).peekable();
    // Names that are put behind a token; the innermost first.
    let mut waiting: Vec<(usize, &TokenWithSpan)> = Vec::new();
    let mut colon = None;
    for (at, token) in tokens.iter().enumerate() {
        match names.peek() {
            Some((name, of_colon, last)) if *name == at => {
                waiting.push((*last, token));
                colon = Some(*of_colon);
                names.next();
            }
            _ if colon == Some(at) => colon = None,
            _ => out.push(token.clone()),
        }
        while let Some((_, name)) = waiting.pop_if(|(last, _)| *last == at) {
            let word = Token::make_word("AS", None);
            debug_assert!(matches!(&word, Token::Word(word) if word.keyword == Keyword::AS));
            out.push(TokenWithSpan { token: word, span: name.span });
            out.push(name.clone());
        }
    }
    out
}

/// Whether the word before stands behind another one than SELECT: `UNION ALL`, `IS DISTINCT`.
fn is_quantifier(said: &Said<'_>, at: usize) -> bool {
    let before = at.saturating_sub(1);
    said.is_one(before, &["DISTINCT", "ALL"]) && !said.is_behind(before, &["SELECT"])
}

/// Where an item of a select list ends.
fn item_end(said: &Said<'_>, from: usize) -> usize {
    said.find(from, &|at| {
        said.token(at) == Some(&Token::Comma)
            || said.is_from(at)
            || said.is(at, "INTO")
            || said.is_one(at, &BEHIND_TABLES)
    })
}

/// Where the name of a table, a call, or what stands in parentheses ends.
fn table_end(said: &Said<'_>, from: usize) -> usize {
    let mut at = match said.token(from) {
        Some(Token::LParen) => return said.closing(from).map_or(from, |end| end + 1),
        Some(Token::Word(_) | Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)) => from + 1,
        _ => return from,
    };
    while said.token(at) == Some(&Token::Period) {
        at += 2;
    }
    match said.token(at) {
        Some(Token::LParen) => said.closing(at).map_or(at, |end| end + 1),
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn a_name_may_stand_before_what_it_names() {
        for (text, read) in [
            ("SELECT x: 1, \"y z\": a + b, c FROM t", "SELECT 1 AS x, a + b AS \"y z\", c FROM t"),
            ("SELECT x: (SELECT y: 1 FROM u), z: 2", "SELECT (SELECT 1 AS y FROM u) AS x, 2 AS z"),
            ("SELECT d: a IS NOT DISTINCT FROM b FROM t", "SELECT a IS NOT DISTINCT FROM b AS d FROM t"),
            ("SELECT DISTINCT k: a FROM t", "SELECT DISTINCT a AS k FROM t"),
            (
                "FROM k: t, j: range(3) JOIN i: 'a.csv' ON true",
                "FROM t AS k, range(3) AS j JOIN 'a.csv' AS i ON true",
            ),
            ("FROM k: (SELECT a: 1) SELECT b: a", "FROM (SELECT 1 AS a) AS k SELECT a AS b"),
            ("SELECT {a: 1, b: 2}", "SELECT {a: 1, b: 2}"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read, "{text}");
        }
        for wrong in ["SELECT x:", "SELECT x: FROM t WHERE"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
