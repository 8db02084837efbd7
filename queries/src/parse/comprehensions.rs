//! `[x * 2 FOR x IN list IF x > 1]`: here it is `list_transform(list_filter(list, lambda x: x > 1), lambda x: x * 2)`. With
//! a second name, which is the item's place in the whole list, what is left out is an empty list instead:
//! `flatten(list_transform(list, lambda x, i: CASE WHEN i > 1 THEN [x] ELSE [] END))`.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use super::said::Said;

/// The parts of a comprehension, from one token to another.
struct Parts {
    expr: (usize, usize),
    names: (usize, usize),
    list: (usize, usize),
    condition: Option<(usize, usize)>,
    end: usize,
}

/// The tokens of a text with calls in the place of comprehensions. `None`: there are none.
pub fn called(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let said = Said::of(tokens);
    let is_there =
        (0..said.len()).any(|at| said.token(at) == Some(&Token::LBracket) && parts(&said, at).is_some());
    if !is_there {
        return None;
    }
    let mut out = Vec::with_capacity(tokens.len() + 64);
    rewrite(&said, 0, said.len(), &mut out);
    Some(out)
}

/// What stands in the brackets that open at a place, if it is a comprehension.
fn parts(said: &Said<'_>, open: usize) -> Option<Parts> {
    let begin = said.find(open + 1, &|at| said.is(at, "FOR"));
    let named = |at: usize| matches!(said.token(at), Some(Token::Word(_)));
    if !said.is(begin, "FOR") || begin == open + 1 || !named(begin + 1) {
        return None;
    }
    let behind = match said.token(begin + 2) {
        Some(Token::Comma) if named(begin + 3) => begin + 4,
        _ => begin + 2,
    };
    if !said.is(behind, "IN") {
        return None;
    }
    let end = said.closing(open)?;
    let condition = said.find(behind + 1, &|at| begins_condition(said, at));
    let has_condition = condition < end;
    let list_end = if has_condition { condition } else { end };
    let is_whole = list_end > behind + 1 && (!has_condition || end > condition + 1);
    is_whole.then_some(Parts {
        expr: (open + 1, begin),
        names: (begin + 1, behind),
        list: (behind + 1, list_end),
        condition: has_condition.then_some((condition + 1, end)),
        end,
    })
}

/// Words behind which a value stands.
const BEFORE_VALUES: [&str; 9] = ["IN", "AND", "OR", "NOT", "WHEN", "THEN", "ELSE", "CASE", "LIKE"];

/// Whether IF begins the condition, and is no call of a function: it stands behind a value.
fn begins_condition(said: &Said<'_>, at: usize) -> bool {
    let is_behind_value = match said.token(at - 1) {
        Some(
            Token::RBracket
            | Token::RParen
            | Token::RBrace
            | Token::Number(..)
            | Token::SingleQuotedString(_),
        ) => true,
        Some(Token::Word(_)) => !said.is_behind(at, &BEFORE_VALUES),
        _ => false,
    };
    is_behind_value && said.is(at, "IF")
}

/// Copies the tokens of `from..end`.
fn rewrite(said: &Said<'_>, from: usize, end: usize, out: &mut Vec<TokenWithSpan>) {
    let mut at = from;
    while at < end {
        let found = match said.token(at) {
            Some(Token::LBracket) => parts(said, at),
            _ => None,
        };
        match found {
            Some(parts) => {
                call(said, at, &parts, out);
                at = parts.end + 1;
            }
            None => {
                // With the spaces behind it.
                let (rest, next) = (said.from(at), said.from(at + 1));
                out.extend_from_slice(&rest[..rest.len() - next.len()]);
                at += 1;
            }
        }
    }
}

/// Adds the call that a comprehension is.
fn call(said: &Said<'_>, open: usize, parts: &Parts, out: &mut Vec<TokenWithSpan>) {
    let (opens, closes) = (said.span(open), said.span(parts.end));
    let put = |out: &mut Vec<TokenWithSpan>, span: Span, text: &[&str]| {
        for word in text {
            let token = match *word {
                "(" => Token::LParen,
                ")" => Token::RParen,
                "[" => Token::LBracket,
                "]" => Token::RBracket,
                "," => Token::Comma,
                ":" => Token::Colon,
                word => Token::make_word(word, None),
            };
            out.push(TokenWithSpan { token, span });
        }
    };
    let copy = |out: &mut Vec<TokenWithSpan>, (from, end): (usize, usize)| rewrite(said, from, end, out);
    let names = |out: &mut Vec<TokenWithSpan>| {
        put(out, opens, &["lambda"]);
        out.extend_from_slice(said.slice(parts.names.0, parts.names.1));
        put(out, opens, &[":"]);
    };
    let has_place = parts.names.1 - parts.names.0 > 1;
    match parts.condition {
        Some(condition) if has_place => {
            put(out, opens, &["flatten", "(", "list_transform", "("]);
            copy(out, parts.list);
            put(out, opens, &[","]);
            names(out);
            put(out, opens, &["CASE", "WHEN"]);
            copy(out, condition);
            put(out, opens, &["THEN", "["]);
            copy(out, parts.expr);
            put(out, closes, &["]", "ELSE", "[", "]", "END", ")", ")"]);
        }
        condition => {
            put(out, opens, &["list_transform", "("]);
            match condition {
                Some(condition) => {
                    put(out, opens, &["list_filter", "("]);
                    copy(out, parts.list);
                    put(out, opens, &[","]);
                    names(out);
                    copy(out, condition);
                    put(out, opens, &[")"]);
                }
                None => copy(out, parts.list),
            }
            put(out, opens, &[","]);
            names(out);
            copy(out, parts.expr);
            put(out, closes, &[")"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn comprehensions_are_calls() {
        for (text, read) in [
            ("SELECT [x * 2 FOR x IN l]", "SELECT list_transform(l, lambda x : x * 2)"),
            (
                "SELECT [ x FOR x IN a || b IF x > 1 AND y ], 1",
                "SELECT list_transform(list_filter(a || b, lambda x : x > 1 AND y), lambda x : x), 1",
            ),
            (
                "SELECT [[y FOR y IN x] FOR x IN l]",
                "SELECT list_transform(l, lambda x : list_transform(x, lambda y : y))",
            ),
            ("SELECT [x + i for x, i in l]", "SELECT list_transform(l, lambda x, i : x + i)"),
            (
                "SELECT [x FOR x, i IN l IF i = 2]",
                "SELECT flatten(list_transform(l, lambda x, i : CASE WHEN i = 2 THEN [x] ELSE [] END))",
            ),
            (
                "SELECT [x FOR x IN f(l) IF (x)]",
                "SELECT list_transform(list_filter(f(l), lambda x : (x)), lambda x : x)",
            ),
            ("SELECT [if(a, 1, 2), 'FOR x IN']", "SELECT [if(a, 1, 2), 'FOR x IN']"),
            ("SELECT [\"for\", 1][1:2]", "SELECT [\"for\", 1][1:2]"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            let said: String = query.to_string().split_whitespace().collect();
            assert_eq!(said, read.split_whitespace().collect::<String>(), "{text}");
        }
        for text in [
            "SELECT [x FOR x IN]",
            "SELECT [FOR x IN l]",
            "SELECT [x FOR 1 IN l]",
            "SELECT [x FOR x IN l IF]",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
