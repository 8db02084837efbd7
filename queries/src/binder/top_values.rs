//! `max(x, n)`, `min(x, n)`, `arg_max(x, key, n)` and `arg_min(x, key, n)`: lists of the n values that come first.
//!
//! Each is the beginning of a list in the order of its key: `list(x ORDER BY key DESC)[1:n]`. Rows with a NULL are left
//! out. Of equal keys those that come first are taken.

use datafusion_common::ScalarValue;
use sqlparser::ast::{
    BinaryOperator, Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, OrderByExpr, OrderByOptions,
};

use super::Binder;
use super::scope::{Env, Scope};
use crate::algebra::Expr;
use crate::error::{Error, Result};
use crate::parse::calls;

/// The most values that such a list may be asked for, as in DuckDB.
const MOST: i64 = 999_999;

/// Whether the greatest come first, and whether values have a key of their own.
fn of(name: &str) -> Option<(bool, bool)> {
    Some(match name {
        "max" => (true, false),
        "min" => (false, false),
        "arg_max" | "argmax" | "max_by" => (true, true),
        "arg_min" | "argmin" | "min_by" => (false, true),
        _ => return None,
    })
}

impl Binder<'_> {
    /// The list, if a call of such a function asks for several values.
    ///
    /// # Errors
    /// An argument can't be bound, or the number is no constant from 1 to 999,999.
    pub(super) fn top_values(&mut self, function: &Function, env: &Env<'_>) -> Result<Option<Expr>> {
        let name = function.name.to_string().to_ascii_lowercase();
        let Some((descending, has_key)) = of(&name) else { return Ok(None) };
        let FunctionArguments::List(FunctionArgumentList { args, clauses, duplicate_treatment }) =
            &function.args
        else {
            return Ok(None);
        };
        let args: Option<Vec<&Ast>> = args.iter().map(calls::unnamed).collect();
        let (value, key, count) = match (args.as_deref(), has_key) {
            (Some([value, count]), false) => (*value, *value, *count),
            (Some([value, key, count]), true) => (*value, *key, *count),
            _ => return Ok(None),
        };
        if !clauses.is_empty() {
            return Err(Error::Unsupported(format!("ORDER BY in {name}() of several values")));
        }
        let scope = Scope::default();
        let count = self.expr(count, &Env::of(&scope, "a number of values")).ok();
        let most = count.as_ref().and_then(Expr::as_literal).and_then(|n| i64::try_from(n.clone()).ok());
        let Some(most) = most.filter(|n| (1..=MOST).contains(n)) else {
            return Err(Error::Invalid(format!(
                "the last argument of {name}() is a constant from 1 to {MOST}"
            )));
        };
        let mut filter = function.filter.as_deref().cloned();
        for part in [value, key].into_iter().take(if has_key { 2 } else { 1 }) {
            let known = Ast::IsNotNull(Box::new(part.clone()));
            filter = Some(match filter {
                None => known,
                Some(other) => Ast::BinaryOp {
                    left: Box::new(Ast::Nested(Box::new(other))),
                    op: BinaryOperator::And,
                    right: Box::new(known),
                },
            });
        }
        let order = OrderByExpr {
            expr: key.clone(),
            options: OrderByOptions { asc: Some(!descending), nulls_first: None },
            with_fill: None,
        };
        let list = Function {
            name: ObjectName::from(vec![Ident::new("list")]),
            args: FunctionArguments::List(FunctionArgumentList {
                duplicate_treatment: *duplicate_treatment,
                args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(value.clone()))],
                clauses: vec![FunctionArgumentClause::OrderBy(vec![order])],
            }),
            filter: filter.map(Box::new),
            ..function.clone()
        };
        let list = self.function(&list, env)?;
        self.types.slice(list, [None, Some(Expr::literal(ScalarValue::Int64(Some(most))))], None).map(Some)
    }
}
