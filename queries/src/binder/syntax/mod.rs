//! What the parser reads in an inconvenient form is put into one form before names are looked at. The text of an
//! expression stays the same: it may be the name of a column.
//!
//! - [`unsupported`]: clauses that are refused by name.
//! - [`collations`]: COLLATE NOCASE of what is compared or put in order.
//! - [`commas`]: joins whose condition reaches back over a comma.
//! - [`distinct`]: how far the right side of IS DISTINCT FROM reaches.
//! - [`grouping`]: GROUP BY with tuples, ROLLUP, CUBE and GROUPING SETS.
//! - [`intervals`]: INTERVAL literals, when one is bound.

pub mod collations;
pub mod commas;
pub mod distinct;
pub mod grouping;
pub mod intervals;
pub mod unsupported;

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Select, Spanned, TableFactor, VisitorMut};
use sqlparser::tokenizer::Span;

use crate::error::{Error, Result};
use crate::{views, visitors};

/// The query in that form.
///
/// # Errors
/// A clause is not supported, or a constant is wrong.
pub fn prepared(query: &Query) -> Result<Query> {
    let mut query = query.clone();
    // The views that the query reads come first, and have texts of their own.
    let mut views = Vec::new();
    if let Some(with) = &mut query.with {
        let count = with.cte_tables.iter().take_while(|cte| views::is_view(cte)).count();
        views.extend(with.cte_tables.drain(..count));
    }
    for view in &mut views {
        let done = allowed(visitors::change(&mut view.query, &mut Prepare));
        done.map_err(|error| error.in_view(&view.alias.name.value))?;
    }
    allowed(visitors::change(&mut query, &mut Prepare))?;
    if let Some(with) = &mut query.with {
        with.cte_tables.splice(..0, views);
    }
    Ok(query)
}

/// What a check of the syntax says.
///
/// # Errors
/// It is not supported.
pub fn allowed(flow: ControlFlow<Error>) -> Result<()> {
    match flow {
        ControlFlow::Break(e) => Err(e),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// What a check says, at the place of what it has looked at. The place of an expression is found by a walk through it.
fn placed(flow: ControlFlow<Error>, place: impl FnOnce() -> Span) -> ControlFlow<Error> {
    flow.map_break(|error| error.at(place()))
}

/// The first token of a place.
fn begin(place: Span) -> Span {
    Span::new(place.start, place.start)
}

struct Prepare;

impl VisitorMut for Prepare {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        collations::of_query(query);
        placed(unsupported::query(query), || begin(query.span()))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        placed(unsupported::table_factor(factor), || factor.span())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        collations::of_expr(expr);
        placed(unsupported::expr(expr), || expr.span())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        collations::of_select(select);
        placed(unsupported::select(select), || select.select_token.0.span)
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        distinct::rotate(expr);
        ControlFlow::Continue(())
    }
}
