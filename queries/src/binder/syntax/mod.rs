//! What the parser reads in an inconvenient form is put into one form before names are looked at.
//!
//! - [`refused`]: clauses that are refused by name.
//! - [`commas`]: joins whose condition reaches back over a comma.
//! - [`distinct`]: how far the right side of IS DISTINCT FROM reaches.
//! - [`grouping`]: GROUP BY with tuples, ROLLUP, CUBE and GROUPING SETS.
//! - [`intervals`]: INTERVAL literals, when one is bound.

pub mod commas;
pub mod distinct;
pub mod grouping;
pub mod intervals;
pub mod refused;

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Select, TableFactor, VisitorMut};

use crate::error::{Error, Result};
use crate::visits;

/// The query in that form.
///
/// # Errors
/// A clause is not supported, or a constant is wrong.
pub fn prepared(query: &Query) -> Result<Query> {
    let mut query = query.clone();
    allowed(visits::change(&mut query, &mut Prepare))?;
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

struct Prepare;

impl VisitorMut for Prepare {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        refused::query(query)
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        refused::table_factor(factor)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        refused::expr(expr)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        refused::select(select)?;
        commas::reach_back(&mut select.from);
        grouping::rewrite(&mut select.group_by, &select.projection)
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        distinct::rotate(expr);
        ControlFlow::Continue(())
    }
}
