//! `PIVOT` and `UNPIVOT`, of which the parser reads a part. Here each becomes a SELECT in parentheses over what is turned.
//! Its first items are calls of functions whose names no text can have: words with a space, without quotes.
//!
//! ```text
//! PIVOT t ON q, y IN (1, 2 AS two) USING sum(x) AS s GROUP BY g
//!     SELECT * FROM (SELECT PIVOT ON(q), PIVOT ON(y, PIVOT IN(1), PIVOT IN(2, 'two')), sum(x) AS s FROM t GROUP BY g)
//! UNPIVOT t ON a, b AS c INTO NAME n VALUE v
//!     SELECT * FROM (SELECT UNPIVOT INTO(n, v), a, b AS c FROM t)
//! ```
//!
//! The binder makes relations of them (`binder/pivot.rs`). The values of a `PIVOT ON` without any are asked for before that,
//! by a query of their own: [`next_unlisted`], [`list`].

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Cte, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query,
    Select, SelectItem, SetExpr, Value, Visitor, VisitorMut, With,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

use super::calls::{args, call};
use super::said::Said;
use super::{Statement, parse};
use crate::error::{Error, Result};
use crate::visitors;

/// A column that is turned, and its values.
pub const ON: &str = "PIVOT ON";
/// The same with values that a query has given, perhaps none.
pub const LISTED: &str = "PIVOT LISTED";
/// A value, and its name.
pub const IN: &str = "PIVOT IN";
/// The names of the columns that UNPIVOT makes: of the name and of the values.
pub const INTO: &str = "UNPIVOT INTO";
/// The same where rows of NULLs stay.
pub const INTO_NULLS: &str = "UNPIVOT INTO NULLS";

/// The most PIVOTs and UNPIVOTs of a text: for each of them all of it is read once more.
const MOST: usize = 200;

/// The most values of a column that PIVOT finds by itself.
pub const MOST_VALUES: usize = 2_000;

/// Words that end a part of the statement.
const STOPS: [&str; 9] =
    ["USING", "GROUP", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "EXCEPT", "INTERSECT"];

/// Words before which no table has ended.
const BEFORE_TABLES: [&str; 5] = ["FROM", "JOIN", "LATERAL", "AS", "ON"];

/// Whether a word begins such a clause, and whether it is UNPIVOT.
fn kind(said: &Said<'_>, at: usize) -> Option<bool> {
    let word = said.word(at)?.value.to_ascii_uppercase();
    match word.as_str() {
        "PIVOT" | "PIVOT_WIDER" => Some(false),
        "UNPIVOT" | "PIVOT_LONGER" => Some(true),
        _ => None,
    }
}

/// The tokens of a text with a SELECT in the place of each PIVOT and UNPIVOT.
///
/// # Errors
/// A part of one is missing.
pub fn selected(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    for _ in 0..MOST {
        let said = Said::of(&tokens);
        let mut next = None;
        for at in 0..said.len() {
            let Some(is_unpivot) = kind(&said, at) else { continue };
            if let Some(open) = clause(&said, at, is_unpivot) {
                next = Some(of_clause(&said, at, is_unpivot, open)?);
                break;
            }
            if is_statement(&said, at) {
                next = Some(of_statement(&said, at, is_unpivot)?);
                break;
            }
        }
        match next {
            Some(next) => tokens = next,
            None => return Ok(tokens),
        }
    }
    Err(Error::TooLarge { message: format!("it has more than {MOST} PIVOTs and UNPIVOTs") })
}

/// The parenthesis of `t PIVOT (sum(x) FOR …)`, if the word at `at` begins that.
fn clause(said: &Said<'_>, at: usize, is_unpivot: bool) -> Option<usize> {
    let before = at.checked_sub(1)?;
    let has_table = match said.token(before)? {
        Token::RParen | Token::SingleQuotedString(_) => true,
        Token::Word(_) => !said.is_one(before, &BEFORE_TABLES),
        _ => false,
    };
    let mut open = at + 1;
    if is_unpivot && said.is_one(open, &["INCLUDE", "EXCLUDE"]) && said.is(open + 1, "NULLS") {
        open += 2;
    }
    let is_open = has_table && said.token(open) == Some(&Token::LParen);
    (is_open && said.is(said.until(open + 1, &["FOR"]), "FOR")).then_some(open)
}

/// Whether the word at `at` begins a statement, or what stands in the place of a SELECT.
fn is_statement(said: &Said<'_>, at: usize) -> bool {
    let begins = match at.checked_sub(1).and_then(|before| said.token(before)) {
        None | Some(Token::SemiColon | Token::LParen | Token::RParen) => true,
        Some(Token::Word(_)) if said.is_behind(at, &["AS"]) => creates(said, at),
        Some(Token::Word(_)) => said.is_behind(
            at,
            &["EXPLAIN", "ANALYZE", "DESCRIBE", "DESC", "SUMMARIZE", "UNION", "ALL", "EXCEPT", "INTERSECT"],
        ),
        Some(_) => false,
    };
    let has_table = match said.token(at + 1) {
        Some(Token::LParen | Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)) => true,
        Some(Token::Word(word)) => word.quote_style.is_some() || !said.is_one(at + 1, &STOPS),
        _ => false,
    };
    begins && has_table && said.token(at + 2).is_some_and(|token| *token != Token::SemiColon)
}

/// Whether the statement of the word at `at` begins with CREATE.
fn creates(said: &Said<'_>, at: usize) -> bool {
    let of_statement = (0..at).rev().take_while(|at| said.token(*at) != Some(&Token::SemiColon));
    of_statement.last().is_some_and(|begin| said.is(begin, "CREATE"))
}

fn syntax(message: &str, said: &Said<'_>, at: usize) -> Error {
    let found = match said.token(at) {
        Some(token) => token.to_string(),
        None => "the end of the statement".into(),
    };
    Error::Syntax { message: format!("{message}, found: {found}") }.at(said.span(at))
}

/// Tokens that are made, all with one place.
struct Made {
    tokens: Vec<TokenWithSpan>,
    span: Span,
}

impl Made {
    fn put(&mut self, token: Token) {
        self.tokens.push(TokenWithSpan { token, span: self.span });
    }

    fn words(&mut self, words: &[&str]) {
        words.iter().for_each(|word| self.put(Token::make_word(word, None)));
    }

    /// A word that no text has, and a parenthesis.
    fn call(&mut self, name: &str) {
        self.put(Token::Word(Word { value: name.into(), quote_style: None, keyword: Keyword::NoKeyword }));
        self.put(Token::LParen);
    }

    fn given(&mut self, tokens: &[TokenWithSpan]) {
        self.tokens.extend_from_slice(tokens);
    }
}

/// `PIVOT t ON …` and `UNPIVOT t ON …`.
fn of_statement(said: &Said<'_>, at: usize, is_unpivot: bool) -> Result<Vec<TokenWithSpan>> {
    let on = behind_table(said, at + 1);
    if !said.is(on, "ON") {
        let usage = match is_unpivot {
            true => "expected ON behind the table of UNPIVOT: UNPIVOT t ON a, b INTO NAME n VALUE v",
            false => "expected ON behind the table of PIVOT: PIVOT t ON a USING sum(b) GROUP BY c",
        };
        return Err(syntax(usage, said, on));
    }
    let mut made = Made { tokens: said.before(at).to_vec(), span: said.span(at) };
    made.words(&["SELECT"]);
    made.put(Token::Mul);
    made.words(&["FROM"]);
    made.put(Token::LParen);
    made.words(&["SELECT"]);
    let table = said.slice(at + 1, on);
    let end = match is_unpivot {
        true => {
            let into = said.until(on + 1, &[&["INTO"], &STOPS[1..]].concat());
            let (names, end) = match said.is(into, "INTO") {
                true => names_of(said, into + 1)?,
                false => (vec![], into),
            };
            made.call(INTO);
            match names.as_slice() {
                [] => {
                    made.words(&["name"]);
                    made.put(Token::Comma);
                    made.words(&["value"]);
                }
                names => {
                    for (i, (from, end)) in names.iter().enumerate() {
                        if i > 0 {
                            made.put(Token::Comma);
                        }
                        made.given(said.slice(*from, *end));
                    }
                }
            }
            made.put(Token::RParen);
            made.put(Token::Comma);
            made.given(said.slice(on + 1, into));
            made.words(&["FROM"]);
            made.given(table);
            end
        }
        false => {
            let end = said.until(on + 1, &STOPS);
            for (from, end) in said.parts(on + 1, end) {
                element(said, from, end, &mut made)?;
            }
            let (aggregates, end) = match said.is(end, "USING") {
                true => {
                    let behind = said.until(end + 1, &STOPS[1..]);
                    (said.slice(end + 1, behind), behind)
                }
                false => (&[][..], end),
            };
            match aggregates {
                [] => {
                    made.words(&["count"]);
                    made.put(Token::LParen);
                    made.put(Token::Mul);
                    made.put(Token::RParen);
                }
                aggregates => made.given(aggregates),
            }
            made.words(&["FROM"]);
            made.given(table);
            let behind = match said.is(end, "GROUP") {
                true => said.until(end + 1, &STOPS[1..]),
                false => end,
            };
            made.given(said.slice(end, behind));
            behind
        }
    };
    made.put(Token::RParen);
    made.given(said.from(end));
    Ok(made.tokens)
}

/// The names behind INTO: `NAME n VALUE v, w`, and what stands behind them.
fn names_of(said: &Said<'_>, at: usize) -> Result<(Vec<(usize, usize)>, usize)> {
    let usage = "expected the names behind INTO of UNPIVOT: INTO NAME n VALUE v";
    let wrong = |at: usize| Err(syntax(usage, said, at));
    if !said.is(at, "NAME") {
        return wrong(at);
    }
    if !matches!(said.token(at + 1), Some(Token::Word(_) | Token::DoubleQuotedString(_))) {
        return wrong(at + 1);
    }
    if !said.is_one(at + 2, &["VALUE", "VALUES"]) {
        return wrong(at + 2);
    }
    let end = said.until(at + 3, &STOPS);
    let mut names = vec![(at + 1, at + 2)];
    names.extend(said.parts(at + 3, end));
    match names.iter().find(|(from, end)| from == end) {
        Some((at, _)) => wrong(*at),
        None => Ok((names, end)),
    }
}

/// Where the table of a statement has ended: at an ON that is no join's, or at another word.
fn behind_table(said: &Said<'_>, from: usize) -> usize {
    let (mut at, mut open) = (from, 0_usize);
    loop {
        at = said.until(at, &[&["JOIN", "ON"], &STOPS[..]].concat());
        if said.is(at, "JOIN") {
            let needs_none = ["CROSS", "NATURAL", "POSITIONAL"];
            open += usize::from(!said.is_behind(at, &needs_none));
        } else if open > 0 && said.is_one(at, &["ON", "USING"]) {
            open -= 1;
        } else {
            return at;
        }
        at += 1;
    }
}

/// `t PIVOT (sum(x) FOR a IN (…) b IN (…) GROUP BY g)` and `t UNPIVOT (v FOR n IN (…))`.
fn of_clause(said: &Said<'_>, at: usize, is_unpivot: bool, open: usize) -> Result<Vec<TokenWithSpan>> {
    let Some(close) = said.closing(open) else {
        return Err(syntax("expected a ) behind PIVOT (", said, said.len()));
    };
    let begin = table_begin(said, at);
    let mut made = Made { tokens: said.before(begin).to_vec(), span: said.span(at) };
    made.put(Token::LParen);
    made.words(&["SELECT"]);
    let by = said.until(open + 1, &["FOR"]);
    let mut groups: &[TokenWithSpan] = &[];
    if is_unpivot {
        let within = said.until(by + 1, &["IN"]);
        let (list, end) = (within + 1, said.closing(within + 1).unwrap_or(close));
        if !said.is(within, "IN") || said.token(list) != Some(&Token::LParen) || end + 1 != close {
            let usage = "expected FOR name IN (columns) in UNPIVOT: t UNPIVOT (v FOR n IN (a, b))";
            return Err(syntax(usage, said, within));
        }
        made.call(if said.is(at + 1, "INCLUDE") { INTO_NULLS } else { INTO });
        made.given(said.slice(by + 1, within));
        made.put(Token::Comma);
        match said.token(open + 1) {
            Some(Token::LParen) => made.given(said.slice(open + 2, by.saturating_sub(1))),
            _ => made.given(said.slice(open + 1, by)),
        }
        made.put(Token::RParen);
        made.put(Token::Comma);
        if list + 1 == end {
            return Err(syntax("expected a column in the list of UNPIVOT", said, end));
        }
        made.given(said.slice(list + 1, end));
    } else {
        if by == open + 1 {
            return Err(syntax("expected an aggregate in PIVOT: t PIVOT (sum(x) FOR c IN (1, 2))", said, by));
        }
        let mut from = by + 1;
        while from < close {
            if said.is(from, "GROUP") {
                groups = said.slice(from, close);
                break;
            }
            let within = said.until(from, &["IN"]);
            let end = match said.token(within + 1) {
                Some(Token::LParen) => said.closing(within + 1).unwrap_or(close),
                _ => within,
            };
            if !said.is(within, "IN") || end >= close || end == within {
                let usage = "expected FOR column IN (values) in PIVOT: t PIVOT (sum(x) FOR c IN (1, 2))";
                return Err(syntax(usage, said, within + usize::from(said.is(within, "IN"))));
            }
            element(said, from, end + 1, &mut made)?;
            from = end + 1;
        }
        made.given(said.slice(open + 1, by));
    }
    made.words(&["FROM"]);
    made.given(said.slice(begin, at));
    made.given(groups);
    made.put(Token::RParen);
    made.given(said.from(close + 1));
    Ok(made.tokens)
}

/// Puts a column that is turned, with its values, and a comma.
fn element(said: &Said<'_>, from: usize, end: usize, made: &mut Made) -> Result<()> {
    if from >= end {
        return Err(syntax("expected a column of PIVOT", said, from));
    }
    let last = end - 1;
    // A column or a call has a list; `a + 1 IN (2, 3)` is true or false.
    let list = match said.token(last) {
        Some(Token::RParen) => said.opening(last).filter(|open| {
            let column = open.checked_sub(2).filter(|_| said.is_behind(*open, &["IN"]));
            column.is_some_and(|column| primary(said, column) == from)
        }),
        _ => None,
    };
    if said.is_behind(last, &["IN"]) && primary(said, last.saturating_sub(2)) == from {
        let message = "PIVOT … IN with a name\n  help: list the values: IN ('a', 'b')";
        return Err(Error::Unsupported(message.into()).at(said.span(last)));
    }
    made.call(ON);
    let Some(open) = list else {
        made.given(said.slice(from, end));
        made.put(Token::RParen);
        made.put(Token::Comma);
        return Ok(());
    };
    made.given(said.slice(from, open - 1));
    for (from, end) in said.parts(open + 1, last) {
        if from == end {
            return Err(syntax("expected a value in the list of PIVOT", said, from));
        }
        made.put(Token::Comma);
        made.call(IN);
        let is_plain = matches!(said.token(from), Some(Token::Number(..) | Token::SingleQuotedString(_)));
        let value_end = match end - from {
            3.. if said.is(end - 2, "AS") => end - 2,
            2 if is_plain && matches!(said.token(from + 1), Some(Token::Word(_))) => end - 1,
            _ => end,
        };
        made.given(said.slice(from, value_end));
        if value_end < end {
            let name = match said.token(end - 1) {
                Some(Token::Word(word)) => word.value.clone(),
                Some(Token::SingleQuotedString(text) | Token::DoubleQuotedString(text)) => text.clone(),
                _ => return Err(syntax("expected a name behind AS", said, end - 1)),
            };
            made.put(Token::Comma);
            made.put(Token::SingleQuotedString(name));
        }
        made.put(Token::RParen);
    }
    made.put(Token::RParen);
    made.put(Token::Comma);
    Ok(())
}

/// Where the table begins that stands before the word at `at`, with its alias.
fn table_begin(said: &Said<'_>, at: usize) -> usize {
    let Some(last) = at.checked_sub(1) else { return at };
    let begin = primary(said, last);
    let Some(before) = begin.checked_sub(1) else { return begin };
    if said.is(before, "AS") {
        return before.checked_sub(1).map_or(begin, |end| primary(said, end));
    }
    let is_table = match said.token(before) {
        Some(Token::RParen | Token::SingleQuotedString(_)) => true,
        Some(Token::Word(_)) => !said.is_one(before, &BEFORE_TABLES),
        _ => false,
    };
    if is_table { primary(said, before) } else { begin }
}

/// Where a name, a call or what stands in parentheses begins that ends at `last`.
fn primary(said: &Said<'_>, last: usize) -> usize {
    let mut begin = last;
    if said.token(last) == Some(&Token::RParen) {
        let Some(open) = said.opening(last) else { return last };
        let is_call = open.checked_sub(1).is_some_and(|before| {
            matches!(said.token(before), Some(Token::Word(_))) && !said.is_one(before, &BEFORE_TABLES)
        });
        if !is_call {
            return open;
        }
        begin = open - 1;
    }
    while begin >= 2 && said.token(begin - 1) == Some(&Token::Period) {
        begin -= 2;
    }
    begin
}

/// The first item of a SELECT that is a column of PIVOT without values.
fn unlisted(select: &Select) -> Option<usize> {
    let is_open = |item: &SelectItem| call(item, &[ON]).is_some_and(|function| args(function).count() == 1);
    select.projection.iter().position(is_open)
}

/// The query of the values of the first column that PIVOT turns and that has none listed, of the innermost PIVOT first. It
/// gives one column of texts, and one row more than [`MOST_VALUES`] at most.
///
/// # Errors
/// It can't be made.
pub fn next_unlisted(query: &Query) -> Result<Option<Arc<Query>>> {
    if visitors::look(query, &mut HasUnlisted).is_continue() {
        return Ok(None);
    }
    let mut find = Find { open: Vec::new(), found: None };
    // It breaks off where it has found one.
    let _ = visitors::look(query, &mut find);
    let Some((select, at, with)) = find.found else { return Ok(None) };
    let element = call(&select.projection[at], &[ON]).and_then(|function| args(function).next());
    let limit = MOST_VALUES + 1;
    let text = format!(
        "SELECT DISTINCT CAST((x) AS VARCHAR) AS value FROM t WHERE (x) IS NOT NULL ORDER BY 1 LIMIT {limit}"
    );
    let (Some(element), Statement::Query(mut values)) = (element, parse(&text)?) else { return Ok(None) };
    let made = Arc::make_mut(&mut values);
    visitors::place_all(made, Span::empty());
    // It never breaks off.
    let _ = visitors::change(made, &mut Put(element));
    if let SetExpr::Select(made) = made.body.as_mut() {
        made.from.clone_from(&select.from);
    }
    if !with.cte_tables.is_empty() {
        made.with = Some(with);
    }
    Ok(Some(values))
}

/// Puts the values that the query of [`next_unlisted`] gives into the query that it was made of.
pub fn list(query: &mut Query, values: &[String]) {
    // It breaks off where it has found the place.
    let _ = visitors::change(query, &mut List(values));
}

struct Put<'a>(&'a Expr);

impl VisitorMut for Put<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<Error> {
        if matches!(e, Expr::Identifier(name) if name.value == "x") {
            *e = self.0.clone();
        }
        ControlFlow::Continue(())
    }
}

struct List<'a>(&'a [String]);

impl VisitorMut for List<'_> {
    type Break = Error;

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        let Some(at) = unlisted(select) else { return ControlFlow::Continue(()) };
        let SelectItem::UnnamedExpr(Expr::Function(function)) = &mut select.projection[at] else {
            return ControlFlow::Continue(());
        };
        let named = |name: &str| ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]);
        let values: Vec<FunctionArg> = self
            .0
            .iter()
            .map(|text| {
                let mut value = function.clone();
                value.name = named(IN);
                if let FunctionArguments::List(list) = &mut value.args {
                    let text = Expr::Value(Value::SingleQuotedString(text.clone()).into());
                    list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(text))];
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(value)))
            })
            .collect();
        function.name = named(LISTED);
        if let FunctionArguments::List(list) = &mut function.args {
            list.args.extend(values);
        }
        // There is no error: nothing else is to be looked at.
        ControlFlow::Break(Error::Invalid(String::new()))
    }
}

/// Whether there is a column of PIVOT without values, as there is hardly ever.
struct HasUnlisted;

impl Visitor for HasUnlisted {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        match unlisted(select) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Finds the first column of PIVOT without values, and the names of WITH that it sees.
struct Find {
    /// For each query around what is at hand, the names of WITH that are seen, and those that come next.
    open: Vec<(Vec<Cte>, VecDeque<Cte>, bool)>,
    found: Option<(Box<Select>, usize, With)>,
}

impl Visitor for Find {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let ctes = query.with.iter().flat_map(|with| with.cte_tables.iter().cloned());
        let recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        self.open.push((Vec::new(), ctes.collect(), recursive));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.open.pop();
        // Names of WITH come before all else of a query, in their order, and one sees those before it.
        if let Some((seen, next, _)) = self.open.last_mut() {
            seen.extend(next.pop_front());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let Some(at) = unlisted(select) else { return ControlFlow::Continue(()) };
        let mut ctes: Vec<Cte> = Vec::new();
        // A name of a WITH that is not recursive would mean itself beside one that is: the query is found wrong then.
        let recursive = self.open.iter().any(|(seen, _, recursive)| *recursive && !seen.is_empty());
        for cte in self.open.iter().flat_map(|(seen, ..)| seen) {
            // The nearer one of two with one name is meant.
            ctes.retain(|other| other.alias.name.value.to_lowercase() != cte.alias.name.value.to_lowercase());
            ctes.push(cte.clone());
        }
        let with = With { with_token: AttachedToken::empty(), recursive, cte_tables: ctes };
        self.found = Some((Box::new(select.clone()), at, with));
        ControlFlow::Break(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> String {
        match parse(sql) {
            Ok(Statement::Query(query)) => query.to_string(),
            other => panic!("no query: {sql}: {other:?}"),
        }
    }

    #[test]
    fn each_form_is_a_select_over_its_table() {
        for (text, made) in [
            (
                "PIVOT t ON q, y IN (1, 2 AS two) USING sum(x) AS s GROUP BY g LIMIT 1",
                "SELECT * FROM (SELECT PIVOT ON(q), PIVOT ON(y, PIVOT IN(1), PIVOT IN(2, 'two')), sum(x) AS s \
                 FROM t GROUP BY g) LIMIT 1",
            ),
            ("FROM (PIVOT t ON a) p", "FROM (SELECT * FROM (SELECT PIVOT ON(a), count(*) FROM t)) p"),
            (
                "SELECT * FROM u JOIN t x PIVOT (sum(a), max(b) FOR c IN (1) d IN ('p' q) GROUP BY e) AS p ON true",
                "SELECT * FROM u JOIN (SELECT PIVOT ON(c, PIVOT IN(1)), PIVOT ON(d, PIVOT IN('p', 'q')), sum(a), \
                 max(b) FROM t x GROUP BY e) AS p ON true",
            ),
            (
                "UNPIVOT t ON a, b AS c INTO NAME n VALUE v ORDER BY v",
                "SELECT * FROM (SELECT UNPIVOT INTO(n, v), a, b AS c FROM t) ORDER BY v",
            ),
            ("UNPIVOT t ON *", "SELECT * FROM (SELECT UNPIVOT INTO(name, value), * FROM t)"),
            (
                "FROM f(1) UNPIVOT INCLUDE NULLS ((v, w) FOR n IN ((a, b) AS x)) u",
                "FROM (SELECT UNPIVOT INTO NULLS(n, v, w), (a, b) AS x FROM f(1)) u",
            ),
            (
                "FROM t PIVOT (sum(x) FOR a IN (1)) PIVOT (sum(y) FOR b IN (2))",
                "FROM (SELECT PIVOT ON(b, PIVOT IN(2)), sum(y) FROM (SELECT PIVOT ON(a, PIVOT IN(1)), sum(x) FROM t))",
            ),
            ("SELECT pivot, unpivot FROM pivot", "SELECT pivot, unpivot FROM pivot"),
            ("SELECT x AS pivot FROM t JOIN u ON a", "SELECT x AS pivot FROM t JOIN u ON a"),
        ] {
            assert_eq!(read(text), made, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_told() {
        for (text, message) in [
            ("PIVOT t USING sum(x)", "expected ON behind the table of PIVOT"),
            ("UNPIVOT t INTO NAME n VALUE v", "expected ON behind the table of UNPIVOT"),
            ("PIVOT t ON q IN () USING sum(x)", "expected a value in the list of PIVOT"),
            ("PIVOT t ON q IN kinds USING sum(x)", "IN with a name"),
            ("UNPIVOT t ON a INTO NAME n", "INTO NAME n VALUE v, found: the end"),
            ("FROM t PIVOT (sum(x) FOR q)", "expected FOR column IN (values)"),
            ("FROM t UNPIVOT (v FOR n)", "expected FOR name IN (columns)"),
            ("FROM t UNPIVOT (v FOR n IN ())", "expected a column in the list"),
            ("FROM t PIVOT (FOR q IN (1))", "expected an aggregate"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn values_are_asked_for_with_the_names_that_are_seen() {
        let text = "WITH a AS (SELECT 1), b AS (PIVOT a ON k USING sum(x)) FROM b";
        let Ok(Statement::Query(mut query)) = parse(text) else { panic!("no query") };
        let values = next_unlisted(&query).expect("it is made").expect("there is one");
        assert_eq!(
            values.to_string(),
            "WITH a AS (SELECT 1) SELECT DISTINCT CAST((k) AS VARCHAR) AS value FROM a WHERE (k) IS NOT NULL \
             ORDER BY 1 LIMIT 2001"
        );
        list(Arc::make_mut(&mut query), &["p".into(), "q".into()]);
        assert!(next_unlisted(&query).expect("it is made").is_none());
        let listed = "PIVOT LISTED(k, PIVOT IN('p'), PIVOT IN('q'))";
        assert!(query.to_string().contains(listed), "{query}");
    }
}
