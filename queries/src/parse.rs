//! Text to statement, and the tables that it names.
//!
//! - [`definitions`]: statements that define names and settings of a session.
//! - [`copy`]: where rows are written.
//! - [`readers`]: functions that read files.
//! - [`pivots`]: PIVOT and UNPIVOT.
//! - `calls`: what is said by calls of made names.
//! - `aliases`, `comprehensions`, `described`, `distances`, `exclude`, `filters`, `free_names`, `froms`, `grouping`,
//!   `hexadecimal`, `joins`, `limits`, `materialized`, `methods`, `named_tables`, `powers`, `samples`, `stars`,
//!   `structs`, `trailing_commas`, `trims`, `values`: what the parser reads in another dialect alone, or not at all.
//!   `said`: the tokens that they look at.

mod aliases;
pub(crate) mod calls;
mod comprehensions;
pub mod copy;
pub mod definitions;
pub(crate) mod described;
pub(crate) mod distances;
pub(crate) mod exclude;
mod filters;
mod free_names;
mod froms;
mod grouping;
mod hexadecimal;
pub(crate) mod joins;
pub(crate) mod limits;
mod materialized;
pub(crate) mod methods;
mod named_tables;
pub mod pivots;
mod powers;
pub mod readers;
mod said;
mod samples;
pub(crate) mod stars;
mod structs;
mod trailing_commas;
mod trims;
mod values;

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, TableFactor, TableFunctionArgs, Value, Visitor,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

use crate::dialect::Palais;
use crate::error::{Error, Result, syntax};
pub use crate::names::table_name;
use crate::{bounds, visitors};
use copy::CopyOptions;
use definitions::{Definition, Kind, MacroDefinition};

/// A query's syntax tree.
pub type Query = ast::Query;

/// What a text asks for.
#[derive(Debug, Clone)]
pub enum Statement {
    /// Rows.
    Query(Arc<Query>),
    /// The plan of a query; with `analyze` it is run and measured.
    Explain {
        /// Whether the query is run.
        analyze: bool,
        /// The query.
        query: Arc<Query>,
    },
    /// The columns of a table.
    Describe(String),
    /// The columns of a query, which is not run.
    DescribeQuery(Arc<Query>),
    /// The names of the tables of `--data` and `--table`.
    ShowTables,
    /// The same with the columns of each.
    ShowAllTables,
    /// Count, minimum, maximum, distinct values and nulls of each column.
    Summarize(Arc<Query>),
    /// Rows into files.
    Copy {
        /// The rows.
        query: Arc<Query>,
        /// The file or directory.
        target: String,
        /// What stands in parentheses behind it.
        options: CopyOptions,
    },
    /// A name for a query, which is run wherever the name is read.
    CreateView(Definition),
    /// A name for the rows that a query has now.
    CreateTable(Definition),
    /// A name for an expression or a query with parameters.
    CreateMacro(MacroDefinition),
    /// Macros that are forgotten.
    DropMacros {
        /// Whether they stand in FROM.
        is_table: bool,
        /// The names.
        names: Vec<String>,
        /// Whether some may be unknown.
        if_exists: bool,
    },
    /// Names that are forgotten.
    Drop {
        /// What they stand for.
        kind: Kind,
        /// The names.
        names: Vec<String>,
        /// Whether some may be unknown.
        if_exists: bool,
    },
    /// A setting of the session.
    Set {
        /// Its name in lower case.
        name: String,
        /// Its value as written; `None` for what it was when the session began.
        value: Option<String>,
    },
}

impl Statement {
    /// The query that it runs or names, if it has one.
    pub fn query(&self) -> Option<Arc<Query>> {
        self.clone().query_mut().cloned()
    }

    /// Whether it gives rows to be shown, and not only a number of rows that were written, or none.
    pub fn gives_rows(&self) -> bool {
        match self {
            Statement::Query(_)
            | Statement::Explain { .. }
            | Statement::Describe(_)
            | Statement::DescribeQuery(_)
            | Statement::ShowTables
            | Statement::ShowAllTables
            | Statement::Summarize(_) => true,
            Statement::Copy { .. }
            | Statement::CreateView(_)
            | Statement::CreateTable(_)
            | Statement::CreateMacro(_)
            | Statement::DropMacros { .. }
            | Statement::Drop { .. }
            | Statement::Set { .. } => false,
        }
    }

    /// The query, to be changed.
    pub fn query_mut(&mut self) -> Option<&mut Arc<Query>> {
        match self {
            Statement::Query(query)
            | Statement::Explain { query, .. }
            | Statement::DescribeQuery(query)
            | Statement::Summarize(query)
            | Statement::Copy { query, .. }
            | Statement::CreateView(Definition { query, .. })
            | Statement::CreateTable(Definition { query, .. }) => Some(query),
            Statement::Describe(_)
            | Statement::ShowTables
            | Statement::ShowAllTables
            | Statement::CreateMacro(_)
            | Statement::DropMacros { .. }
            | Statement::Drop { .. }
            | Statement::Set { .. } => None,
        }
    }
}

/// Parses one statement; a semicolon may end it.
///
/// # Errors
/// It is wrong or too large, or something stands behind it.
pub fn parse(sql: &str) -> Result<Statement> {
    let one = |parser: &mut Parser| {
        let statement = statement(parser)?;
        while parser.consume_token(&Token::SemiColon) {}
        expect_end(parser, "the end of the statement", "; one statement a call")?;
        Ok([statement])
    };
    let [statement] = parsed(sql, one).map_err(|e| at_end(e, sql).in_text(sql))?;
    Ok(statement)
}

/// Parses statements with semicolons between them.
///
/// # Errors
/// One of them is wrong or too large, or there is none.
pub fn parse_all(sql: &str) -> Result<Vec<Statement>> {
    let all = |parser: &mut Parser| {
        let mut all = Vec::new();
        loop {
            while parser.consume_token(&Token::SemiColon) {}
            if parser.peek_token().token == Token::EOF && !all.is_empty() {
                return Ok(all);
            }
            all.push(statement(parser)?);
            if parser.peek_token().token != Token::SemiColon {
                expect_end(parser, "a semicolon or the end of the statement", "")?;
            }
        }
    };
    parsed(sql, all).map_err(|e| at_end(e, sql).in_text(sql))
}

/// The parser knows no place for what is missing at the end of the text.
fn at_end(e: Error, sql: &str) -> Error {
    match e {
        Error::Syntax { message } if message.ends_with("found: EOF") => {
            let text = sql.trim_end();
            let line = text.lines().count().max(1) as u64;
            let column = text.lines().last().map_or(0, |line| line.chars().count()) as u64 + 1;
            let message = message.replace("found: EOF", "found: the end of the statement");
            Error::Syntax { message }.at_point(Location::new(line, column))
        }
        other => other,
    }
}

fn parsed<T: AsMut<[Statement]>>(sql: &str, parse: impl FnOnce(&mut Parser) -> Result<T>) -> Result<T> {
    bounds::check_text(sql)?;
    let tokens = Tokenizer::new(&Palais, sql).tokenize_with_location();
    let tokens = tokens.map_err(|e| syntax(&e.to_string()))?;
    bounds::check_tokens(&tokens)?;
    let tokens = match comprehensions::called(&tokens) {
        Some(called) => {
            bounds::check_tokens(&called)?;
            called
        }
        None => tokens,
    };
    let tokens = trailing_commas::taken_out(trims::of_spaces(distances::whole(hexadecimal::numbers(tokens))));
    let tokens = values::behind_quantifiers(powers::carets(tokens));
    let tokens = structs::in_angles(filters::with_where(methods::named(free_names::unreserved(tokens))));
    let tokens = exclude::into_orders(tokens);
    let (tokens, wishes) = materialized::taken_out(tokens);
    let tokens = named_tables::selected(tokens);
    let tokens = froms::selected(described::called(grouping::read(tokens)));
    let tokens = samples::named(limits::percent(stars::unpacked(stars::like(aliases::behind(tokens)))))?;
    let tokens = pivots::selected(joins::global(tokens)?)?;
    let reads = readers::occurs(&tokens);
    let keyed = using_key(&tokens);
    let mut parser =
        Parser::new(&Palais).with_recursion_limit(bounds::MOST_CALLS).with_tokens_with_locations(tokens);
    let mut parsed = parse(&mut parser).map_err(|e| match keyed {
        Some(span) => Error::Unsupported("USING KEY of a recursion".into()).at(span),
        None => e,
    })?;
    if !wishes.is_empty() {
        parsed.as_mut().iter_mut().filter_map(Statement::query_mut).for_each(|query| wishes.put_into(query));
    }
    for query in parsed.as_mut().iter_mut().filter_map(Statement::query_mut) {
        if let ControlFlow::Break(error) = methods::called(Arc::make_mut(query), &[]) {
            return Err(error);
        }
    }
    if reads {
        for query in parsed.as_mut().iter_mut().filter_map(Statement::query_mut) {
            if let ControlFlow::Break(error) = visitors::change(Arc::make_mut(query), &mut readers::Name) {
                return Err(error);
            }
        }
    }
    Ok(parsed)
}

/// Where `USING KEY (` stands, which the parser reads nowhere.
fn using_key(tokens: &[TokenWithSpan]) -> Option<Span> {
    let said: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let is = |token: &TokenWithSpan, name: &str| matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name));
    let found = said
        .windows(3)
        .find(|three| is(three[0], "USING") && is(three[1], "KEY") && three[2].token == Token::LParen);
    found.map(|three| three[0].span)
}

fn expect_end(parser: &Parser, what: &str, more: &str) -> Result<()> {
    let rest = parser.peek_token();
    if rest.token == Token::EOF {
        return Ok(());
    }
    let clause =
        [Keyword::WHERE, Keyword::GROUP, Keyword::HAVING, Keyword::QUALIFY, Keyword::ORDER, Keyword::LIMIT];
    let order = match &rest.token {
        Token::Word(word) if clause.contains(&word.keyword) => {
            "\n  help: clauses stand in the order FROM, WHERE, GROUP BY, HAVING, WINDOW, QUALIFY, ORDER BY, LIMIT"
        }
        _ => "",
    };
    let message = format!("expected {what}, found: {rest}{more}{order}");
    Err(Error::Syntax { message }.at(rest.span))
}

fn statement(parser: &mut Parser) -> Result<Statement> {
    let first = parser.peek_token().span;
    read(parser).map_err(|e| match e {
        e @ (Error::Unsupported(_) | Error::Invalid(_)) => e.at(first),
        e => e,
    })
}

fn read(parser: &mut Parser) -> Result<Statement> {
    let word = match parser.peek_token().token {
        Token::Word(w) => w.value.to_uppercase(),
        Token::EOF => {
            return Err(Error::Syntax { message: "the statement is empty".into() });
        }
        _ => String::new(),
    };
    Ok(match word.as_str() {
        "EXPLAIN" => {
            parser.next_token();
            let analyze = parser.parse_keyword(Keyword::ANALYZE);
            Statement::Explain { analyze, query: query(parser)? }
        }
        "DESCRIBE" | "DESC" => {
            parser.next_token();
            describe(parser)?
        }
        "SHOW" => {
            parser.next_token();
            if parser.parse_keyword(Keyword::FUNCTIONS) {
                return Ok(Statement::Query(functions()?));
            }
            let is_zone = parser.parse_keywords(&[Keyword::TIME, Keyword::ZONE]);
            if is_zone || parser.parse_keyword(Keyword::TIMEZONE) {
                return Ok(Statement::Query(made("SELECT current_setting('TimeZone') AS \"TimeZone\"")?));
            }
            let all = parser.parse_keyword(Keyword::ALL);
            parser.expect_keyword(Keyword::TABLES).map_err(|e| syntax(&e.to_string()))?;
            if all { Statement::ShowAllTables } else { Statement::ShowTables }
        }
        "SUMMARIZE" => {
            parser.next_token();
            Statement::Summarize(relation(parser)?)
        }
        "COPY" => {
            parser.next_token();
            copy::copy(parser)?
        }
        "CREATE" => definitions::create(parser)?,
        "DROP" => definitions::drop(parser)?,
        "SET" | "RESET" => definitions::set(parser)?,
        "SELECT" | "WITH" | "VALUES" | "FROM" | "TABLE" | "" => Statement::Query(query(parser)?),
        "INSERT" | "UPDATE" | "DELETE" | "ALTER" | "MERGE" | "TRUNCATE" => {
            return Err(Error::Unsupported(format!(
                "{word}: palais reads files and writes new ones; use COPY (query) TO 'path'"
            )));
        }
        "USE" | "BEGIN" | "COMMIT" | "GRANT" | "ANALYZE" | "PREPARE" | "EXECUTE" => {
            return Err(Error::Unsupported(format!("the statement {word}")));
        }
        _ => Statement::Query(query(parser)?),
    })
}

fn query(parser: &mut Parser) -> Result<Arc<Query>> {
    let query = parser.parse_query().map_err(|e| syntax(&e.to_string()))?;
    bounds::check_tree(&query)?;
    Ok(query.into())
}

/// `SHOW FUNCTIONS`.
fn functions() -> Result<Arc<Query>> {
    made(
        "SELECT function_name, function_type, alias_of, parameters, return_type, description, example \
         FROM functions() ORDER BY function_name, function_type",
    )
}

/// A query that a statement stands for, without places in its text.
fn made(sql: &str) -> Result<Arc<Query>> {
    match parse(sql)? {
        Statement::Query(mut query) => {
            visitors::place_all(Arc::make_mut(&mut query), Span::empty());
            Ok(query)
        }
        _ => Err(Error::Invalid("this statement stands for no query".into())),
    }
}

fn object_name(parser: &mut Parser) -> Result<String> {
    let name = parser.parse_object_name(false).map_err(|e| syntax(&e.to_string()))?;
    Ok(table_name(&name))
}

/// What stands behind `DESCRIBE`: the name of a table, or a query, in parentheses or bare.
fn describe(parser: &mut Parser) -> Result<Statement> {
    match parser.peek_token().token {
        Token::LParen => Ok(Statement::DescribeQuery(relation(parser)?)),
        Token::Word(w)
            if matches!(w.keyword, Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::FROM) =>
        {
            Ok(Statement::DescribeQuery(query(parser)?))
        }
        _ => {
            let _ = parser.parse_keyword(Keyword::TABLE);
            Ok(Statement::Describe(object_name(parser)?))
        }
    }
}

/// A query in parentheses or bare, or the name of a table, as a query.
fn relation(parser: &mut Parser) -> Result<Arc<Query>> {
    if parser.consume_token(&Token::LParen) {
        let inner = query(parser)?;
        parser.expect_token(&Token::RParen).map_err(|e| syntax(&e.to_string()))?;
        return Ok(inner);
    }
    if let Token::Word(w) = parser.peek_token().token
        && matches!(w.keyword, Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::FROM)
    {
        return query(parser);
    }
    let place = parser.peek_token().span;
    let name = object_name(parser)?;
    select_all_at(&name, place)
}

/// `SELECT * FROM name`, which stands nowhere in the text of the statement.
pub fn select_all(name: &str) -> Result<Arc<Query>> {
    select_all_at(name, Span::empty())
}

fn select_all_at(name: &str, place: Span) -> Result<Arc<Query>> {
    let sql = format!("SELECT * FROM \"{}\"", name.replace('"', "\"\""));
    let Statement::Query(mut query) = parse(&sql)? else {
        return Err(Error::Invalid(format!("'{name}' is not the name of a table")));
    };
    visitors::place_all(Arc::make_mut(&mut query), place);
    Ok(query)
}

/// The tables that a query reads, without its CTEs and table functions, each once, in the order of their names.
/// Those that `transform()` reads are among them.
pub fn tables(query: &Query) -> Vec<String> {
    let mut tables = Tables::default();
    // It never breaks off.
    let _ = visitors::look(query, &mut tables);
    tables.names.into_iter().collect()
}

/// Collects tables.
#[derive(Default)]
struct Tables {
    names: BTreeSet<String>,
    /// The queries around what is at hand.
    open: Vec<Ctes>,
}

/// The names that a query gives to its CTEs, in lower case: names match without regard to case.
#[derive(Default)]
struct Ctes {
    /// Those that are seen: all of them in WITH RECURSIVE, else those whose queries have ended.
    seen: BTreeSet<String>,
    /// Those that come next.
    next: VecDeque<String>,
}

impl Visitor for Tables {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        let next: VecDeque<String> = ctes.map(|cte| cte.alias.name.value.to_lowercase()).collect();
        let is_recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        let seen = if is_recursive { next.iter().cloned().collect() } else { BTreeSet::new() };
        self.open.push(Ctes { seen, next });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.open.pop();
        // CTEs come before all else of a query, in their order, and one sees those before it.
        if let Some(around) = self.open.last_mut() {
            around.seen.extend(around.next.pop_front());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, args, .. } = factor else { return ControlFlow::Continue(()) };
        let name = table_name(name);
        match args {
            Some(args) if name.eq_ignore_ascii_case("transform") => {
                self.names.extend(text_argument(args, 0).cloned());
            }
            Some(_) => {}
            None => {
                let lower = name.to_lowercase();
                if !self.open.iter().any(|query| query.seen.contains(&lower)) {
                    self.names.insert(name);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The text of an argument that is a string.
fn text_argument(args: &TableFunctionArgs, i: usize) -> Option<&String> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(v))) = args.args.get(i)? else { return None };
    if let Value::SingleQuotedString(text) = &v.value { Some(text) } else { None }
}
