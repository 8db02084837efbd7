//! `WITH t AS [NOT] MATERIALIZED (…)`: the parser reads it in the dialect of PostgreSQL alone. Here the words are taken
//! out of the tokens before it reads them. What they say is put into its tree, by the place of the name in the text.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{CteAsMaterialized, Query, VisitorMut};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::Error;
use crate::visitors;

/// What a text says of names of WITH, by the line and the column of each name.
#[derive(Debug, Default)]
pub struct Wishes(BTreeMap<(u64, u64), CteAsMaterialized>);

impl Wishes {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts what the text says into the tree of a query.
    pub fn put_into(&self, query: &mut Arc<Query>) {
        // It never breaks off.
        let _ = visitors::change(Arc::make_mut(query), &mut Put(self));
    }
}

struct Put<'a>(&'a Wishes);

impl VisitorMut for Put<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let place = cte.alias.name.span.start;
            cte.materialized = self.0.0.get(&(place.line, place.column)).copied();
        }
        ControlFlow::Continue(())
    }
}

/// The tokens of a text without these words, and what they say.
pub fn taken_out(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Wishes) {
    let said: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let token = |at: usize| said.get(at).map(|at| &tokens[*at].token);
    let is = |at: usize, keyword: Keyword| matches!(token(at), Some(Token::Word(word)) if word.quote_style.is_none() && word.keyword == keyword);
    let begins_query = |at: usize| {
        let begin = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::FROM, Keyword::TABLE];
        token(at) == Some(&Token::LParen) || begin.into_iter().any(|keyword| is(at, keyword))
    };
    let (mut wishes, mut words) = (Wishes::default(), Vec::new());
    for at in (1..said.len()).filter(|at| is(*at, Keyword::AS)) {
        let is_negated = is(at + 1, Keyword::NOT);
        let word = at + 1 + usize::from(is_negated);
        // `FROM t AS materialized (a, b)` gives the name to a table.
        let is_wish = is(word, Keyword::MATERIALIZED)
            && token(word + 1) == Some(&Token::LParen)
            && begins_query(word + 2);
        let Some(name) = name_before(at, &token).filter(|_| is_wish) else { continue };
        let begins_cte = name.checked_sub(1).is_some_and(|before| {
            token(before) == Some(&Token::Comma)
                || is(before, Keyword::WITH)
                || is(before, Keyword::RECURSIVE)
        });
        if !begins_cte {
            continue;
        }
        let place = tokens[said[name]].span.start;
        let wish = match is_negated {
            true => CteAsMaterialized::NotMaterialized,
            false => CteAsMaterialized::Materialized,
        };
        wishes.0.insert((place.line, place.column), wish);
        words.extend(said[at + 1..=word].iter().copied());
    }
    if words.is_empty() {
        return (tokens, wishes);
    }
    let mut at = 0;
    let mut tokens = tokens;
    tokens.retain(|_| {
        at += 1;
        words.binary_search(&(at - 1)).is_err()
    });
    (tokens, wishes)
}

/// Where the name stands whose AS is at `at`; the names of columns may stand between, in parentheses.
fn name_before<'a>(at: usize, token: &impl Fn(usize) -> Option<&'a Token>) -> Option<usize> {
    let mut name = at.checked_sub(1)?;
    if token(name) == Some(&Token::RParen) {
        while token(name) != Some(&Token::LParen) {
            name = name.checked_sub(1)?;
        }
        name = name.checked_sub(1)?;
    }
    matches!(token(name), Some(Token::Word(_))).then_some(name)
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn it_is_put_into_the_tree() {
        for text in [
            "WITH t AS MATERIALIZED (SELECT 1) SELECT * FROM t",
            "WITH t AS (SELECT 1), u (a, b) AS NOT MATERIALIZED (SELECT 1, 2) SELECT * FROM t, u",
            "SELECT * FROM (WITH t AS MATERIALIZED ((SELECT 1) UNION (SELECT 2)) SELECT * FROM t)",
            "SELECT 1 AS materialized, a FROM t AS materialized (a, b)",
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            let plain = |text: &str| text.split_whitespace().collect::<String>().replace(['(', ')'], "");
            assert_eq!(plain(&query.to_string()), plain(text));
        }
        let spread = "WITH t AS\n  -- kept\n  MATERIALIZED (SELECT 1) SELECT * FROM t";
        assert!(
            matches!(parse(spread), Ok(Statement::Query(query)) if query.to_string().contains("MATERIALIZED"))
        );
        for wrong in [
            "WITH t AS MATERIALIZED SELECT 1",
            "WITH t AS NOT (SELECT 1) SELECT * FROM t",
            "CREATE TEMP TABLE t AS MATERIALIZED (SELECT 1)",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
