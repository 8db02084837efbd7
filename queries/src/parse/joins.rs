//! `ASOF JOIN` and `POSITIONAL JOIN`: the parser reads the first in another form alone, and takes the second word for
//! an alias. Here they are `GLOBAL JOIN` and `GLOBAL CROSS JOIN`, a word before joins that the parser knows and palais
//! has no use for. The binder finds it in the tree.

use sqlparser::ast::{Join, JoinOperator};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::Said;
use crate::error::{Error, Result};

/// Words with which a join goes on.
const KINDS: [&str; 8] = ["JOIN", "INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "CROSS"];

/// The tokens of a text with GLOBAL in the place of these words.
///
/// # Errors
/// GLOBAL is written itself, or ASOF before CROSS JOIN.
pub fn global(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let said = Said::of(&tokens);
    let mut changed: Vec<(usize, bool)> = Vec::new();
    for at in 1..said.len() {
        // Behind these the word is a name.
        let is_name = matches!(said.token(at - 1), Some(Token::Comma | Token::Period))
            || said.is_behind(at, &["AS", "FROM", "JOIN", "SELECT"]);
        if is_name {
            continue;
        }
        if said.is(at, "ASOF") && said.is(at + 1, "CROSS") {
            let message = "ASOF CROSS JOIN: it has no condition\n  help: write ASOF JOIN … ON a.key = b.key AND a.time >= b.time";
            return Err(Error::Invalid(message.into()).at(said.span(at)));
        }
        if said.is(at, "ASOF") && said.is_one(at + 1, &KINDS) {
            changed.push((said.before(at).len(), false));
        }
        if said.is(at, "POSITIONAL") && said.is(at + 1, "JOIN") {
            changed.push((said.before(at).len(), true));
        }
        let is_condition = said.is(at, "MATCH_CONDITION") && said.token(at + 1) == Some(&Token::LParen);
        if is_condition && !changed.is_empty() {
            let message = "MATCH_CONDITION of ASOF JOIN\n  help: write ON a.key = b.key AND a.time >= b.time";
            return Err(Error::Unsupported(message.into()).at(said.span(at)));
        }
        if said.is(at, "GLOBAL") && said.is_one(at + 1, &KINDS) {
            let message = "GLOBAL JOIN\n  help: leave GLOBAL out: each join sees all rows of both sides";
            return Err(Error::Unsupported(message.into()).at(said.span(at)));
        }
    }
    for (place, is_positional) in changed.into_iter().rev() {
        let span = tokens[place].span;
        let put = |word| TokenWithSpan { token: Token::make_word(word, None), span };
        tokens[place] = put("GLOBAL");
        if is_positional {
            tokens.insert(place + 1, put("CROSS"));
        }
    }
    Ok(tokens)
}

/// How a join finds the rows of its right side by their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByOrder {
    /// `ASOF JOIN`.
    Nearest,
    /// `POSITIONAL JOIN`.
    Positional,
}

/// How a join of a tree does that, if it does.
pub fn by_order(join: &Join) -> Option<ByOrder> {
    let kind = match join.join_operator {
        JoinOperator::CrossJoin(_) => ByOrder::Positional,
        _ => ByOrder::Nearest,
    };
    join.global.then_some(kind)
}

/// A text of a query with such joins as they are written.
pub fn shown(text: String) -> String {
    let mut text = text.replace("  GLOBAL ", " GLOBAL ").replace(" GLOBAL CROSS JOIN ", " POSITIONAL JOIN ");
    for kind in KINDS {
        text = text.replace(&format!(" GLOBAL {kind} "), &format!(" ASOF {kind} "));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn both_are_told_by_a_word_of_the_tree() {
        for (text, read) in [
            ("FROM a ASOF JOIN b USING (k, t)", "FROM a ASOF JOIN b USING(k, t)"),
            ("FROM a x ASOF LEFT JOIN b ON x.t > b.t", "FROM a x ASOF LEFT JOIN b ON x.t > b.t"),
            ("FROM a POSITIONAL JOIN b", "FROM a POSITIONAL JOIN b"),
            ("SELECT asof, positional FROM a", "SELECT asof, positional FROM a"),
            ("FROM a AS asof JOIN b USING (k)", "FROM a AS asof JOIN b USING(k)"),
            ("FROM asof JOIN b USING (k)", "FROM asof JOIN b USING(k)"),
            ("FROM a, global LEFT JOIN b USING (k)", "FROM a, global LEFT JOIN b USING(k)"),
            ("FROM a JOIN positional JOIN b USING (k)", "FROM a JOIN positional JOIN b USING(k)"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(super::shown(query.to_string()), read);
        }
        for text in ["FROM a GLOBAL JOIN b USING (k)", "FROM a ASOF CROSS JOIN b"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
