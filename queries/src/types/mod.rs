//! Typed constructors of the algebra's expressions.
//!
//! Each gives its operands the types that the operation takes, from the inside of an expression to the outside. The
//! type of an expression follows from those of its parts: to `CASE WHEN a THEN 1 ELSE 1e0 END * 0.5` its first operand
//! is an integer before. DataFusion's rules decide where these modules have none of their own.
//!
//! Constants are computed at once: where all parts are literals and nothing is volatile, the result is a literal. So is
//! that of an operator beside NULL. What fails stays an expression, for it may stand in a branch that is never taken.
//!
//! - [`casts`]: casts, those that are written and those that types ask for.
//! - [`numbers`]: the type that several numbers have in common, decimals above all.
//! - [`common`]: the type that values of one column have in common.
//! - [`operators`]: arithmetic, bits and `||`.
//! - [`times`]: arithmetic on dates and times.
//! - [`compared`]: comparisons, BETWEEN, IN and LIKE.
//! - [`narrow`]: comparisons with constants, whose casts are taken off.
//! - [`logic`]: AND, OR, NOT and conditions.
//! - [`cases`]: CASE, `coalesce` and `nullif`.
//! - [`calls`]: calls of functions; [`attempts`]: NULL for errors.
//! - [`aggregates`]: calls of aggregates.
//! - [`means`]: means and quantiles of times.
//! - [`lists`]: functions of lists, subscripts and lambdas; [`items`]: aggregates of the items of a list.
//! - [`structs`]: functions of structs; [`groups`]: groups of a regular expression as a struct; [`date_parts`]: parts
//!   of a date as a struct; [`maps`]: functions of maps.
//! - [`series`]: lists of timestamps.
//! - [`zones`]: the time zone of the session.
//! - [`json`]: functions of JSON, its casts, and what it is compared with.
//! - `standing`: the expressions that functions stand for.
//! - `signatures`, `mismatch`: what is said of arguments that a function does not take, and of types that don't go
//!   together.

pub(crate) mod aggregates;
pub(crate) mod attempts;
mod calls;
mod cases;
mod casts;
mod common;
mod compared;
pub(crate) mod date_parts;
pub(crate) mod groups;
pub(crate) mod items;
pub(crate) mod json;
mod json_paths;
pub(crate) mod lists;
mod logic;
pub(crate) mod maps;
pub(crate) mod means;
mod mismatch;
mod narrow;
mod numbers;
mod operators;
pub(crate) mod series;
mod signatures;
mod standing;
pub(crate) mod structs;
#[cfg(test)]
mod tests;
mod times;
mod zones;

pub use aggregates::check_order;

use std::sync::Arc;

use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::Volatility;
use datafusion_expr::physical_planning_context::ScalarSubqueryResults;
use datafusion_expr::simplify::SimplifyContext;
use expressions::functions::attempt;
use expressions::functions::json::Holds;
use expressions::functions::lists::lambda;

use schema::zones::is_utc;

use crate::Settings;
use crate::algebra::{Expr, Kind};
use crate::compile::{self, Compiler};
use crate::error::Result;

/// What the types of expressions, and the values of constants, depend on: the query's time, and the session's zone.
#[derive(Debug)]
pub struct Types {
    /// Computes constants.
    compiler: Compiler,
    /// What functions like `now()` are told.
    context: SimplifyContext,
    /// See [`Settings::integer_division`].
    integer_division: bool,
    /// See [`Settings::time_zone`].
    zone_name: Arc<str>,
    /// The same, unless it is UTC.
    zone: Option<Arc<str>>,
}

impl Types {
    /// The types of expressions of a query with these settings.
    pub fn new(settings: &Settings) -> Types {
        let now = chrono::DateTime::from_timestamp_nanos(settings.now_ns);
        let context = SimplifyContext::builder()
            .with_schema(Arc::new(DFSchema::empty()))
            .with_config_options(compile::options())
            .with_query_execution_start_time(Some(now))
            .build();
        let compiler = Compiler::new(settings, ScalarSubqueryResults::new(0));
        let zone_name: Arc<str> = settings.time_zone.as_str().into();
        let zone = (!is_utc(&zone_name)).then(|| zone_name.clone());
        Types { compiler, context, integer_division: settings.integer_division, zone_name, zone }
    }

    /// The value of an expression without columns.
    ///
    /// # Errors
    /// It has columns, or computing it fails.
    pub fn constant(&self, e: &Expr) -> Result<ScalarValue> {
        self.compiler.constant(e)
    }

    /// Whether an operation of which NULL makes NULL is known to give that. A subquery is asked all the same: its rows
    /// may be too many.
    fn is_unknown(&self, left: &Expr, right: &Expr) -> bool {
        let is_null = |e: &Expr| e.as_literal().is_some_and(ScalarValue::is_null);
        is_null(left) && !right.has_subquery() || is_null(right) && !left.has_subquery()
    }

    /// The expression, or its value if all its parts are literals and it can be computed.
    pub fn folded(&self, e: Expr) -> Expr {
        let is_constant = match &e.kind {
            Kind::Literal(_) | Kind::Column(_) | Kind::Stage(_) | Kind::Subquery(_) => false,
            Kind::Call { function, .. } if function.signature().volatility == Volatility::Volatile => false,
            // They may be long.
            Kind::Call { function, .. } if series::is_one(function.name()) => false,
            // Of a literal it is not known whether there is JSON in it.
            Kind::Call { function, .. }
                if lambda::of(function).is_some_and(|l| l.holds != Holds::Nothing)
                    || attempt::of(function).is_some_and(|a| a.holds != Holds::Nothing) =>
            {
                false
            }
            _ => e.children().iter().all(|part| part.as_literal().is_some()),
        };
        if !is_constant {
            return e;
        }
        match self.constant(&e) {
            Ok(value) if value.data_type() == e.data_type => Expr::literal(value),
            _ => e,
        }
    }
}
