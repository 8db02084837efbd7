//! `ASOF JOIN` and `POSITIONAL JOIN`: the parser reads the first in another form alone, and takes the second word for an
//! alias. Here they are `GLOBAL JOIN` and `GLOBAL CROSS JOIN`, a word before joins that the parser knows and palais has no
//! use for: the binder finds it in the tree.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::Said;
use crate::error::{Error, Result};

/// Words with which a join goes on.
const KINDS: [&str; 8] = ["JOIN", "INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "CROSS"];

/// The tokens of a text with GLOBAL in the place of these words.
///
/// # Errors
/// GLOBAL is written itself.
pub fn global(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let said = Said::of(&tokens);
    let mut changed: Vec<(usize, bool)> = Vec::new();
    for at in 1..said.len() {
        if said.is_behind(at, &["AS"]) {
            continue;
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

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn both_are_told_by_a_word_of_the_tree() {
        for (text, read) in [
            ("FROM a ASOF JOIN b USING (k, t)", "FROM a GLOBAL JOIN b USING(k, t)"),
            ("FROM a x ASOF LEFT JOIN b ON x.t > b.t", "FROM a x GLOBAL LEFT JOIN b ON x.t > b.t"),
            ("FROM a POSITIONAL JOIN b", "FROM a GLOBAL CROSS JOIN b"),
            ("SELECT asof, positional FROM a", "SELECT asof, positional FROM a"),
            ("FROM a AS asof JOIN b USING (k)", "FROM a AS asof JOIN b USING(k)"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            // The text of the tree has two spaces before a join of this kind.
            assert_eq!(query.to_string().replace("  ", " "), read);
        }
        assert!(parse("FROM a GLOBAL JOIN b USING (k)").is_err());
    }
}
