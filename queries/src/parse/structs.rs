//! `STRUCT(a INT, b VARCHAR)` as a type, which the parser reads with angle brackets alone. `ROW(a INT)` is another name
//! for it.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::Said;

/// Words that stand behind an expression, and are no type.
const NO_TYPES: [&str; 12] =
    ["AND", "AS", "BETWEEN", "COLLATE", "FROM", "GLOB", "ILIKE", "IN", "IS", "LIKE", "NOT", "OR"];

/// The tokens of a text with angle brackets around the fields of such types.
pub fn in_angles(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let is_name = |at: usize| matches!(said.token(at), Some(Token::Word(_)));
    // `FROM t AS struct(a, b)` names columns, and a call has expressions: neither has two words first.
    let is_type = |at: usize| {
        said.is_one(at, &["STRUCT", "ROW"])
            && said.token(at + 1) == Some(&Token::LParen)
            && is_name(at + 2)
            && is_name(at + 3)
            && !said.is_one(at + 3, &NO_TYPES)
    };
    let mut changed = Vec::new();
    for at in (0..said.len()).filter(|at| is_type(*at)) {
        if let Some(end) = said.closing(at + 1) {
            if said.is(at, "ROW") {
                changed.push((said.before(at).len(), Token::make_word("STRUCT", None)));
            }
            changed.push((said.before(at + 1).len(), Token::Lt));
            changed.push((said.before(end).len(), Token::Gt));
        }
    }
    let mut tokens = tokens;
    for (place, token) in changed {
        if let Some(old) = tokens.get_mut(place) {
            old.token = token;
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn fields_stand_in_parentheses() {
        for (text, read) in [
            ("SELECT x::STRUCT(a INT)", "SELECT x::STRUCT<a INT>"),
            (
                r#"SELECT CAST(x AS STRUCT("a b" DECIMAL(10, 2), s STRUCT(c INT[])[]))"#,
                r#"SELECT CAST(x AS STRUCT<"a b" DECIMAL(10,2), s STRUCT<c INT[]>[]>)"#,
            ),
            ("SELECT x::ROW(a INT, b ROW(c INT))", "SELECT x::STRUCT<a INT, b STRUCT<c INT>>"),
            ("SELECT row(a, b)", "SELECT row(a, b)"),
            ("SELECT x::MAP(INT, STRUCT(a INT))", "SELECT x::Map(INT, STRUCT<a INT>)"),
            ("SELECT a FROM t AS struct(a, b)", "SELECT a FROM t AS struct (a, b)"),
            ("SELECT struct(a IS NULL, b)", "SELECT STRUCT(a IS NULL, b)"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read);
        }
    }
}
