//! Casts that show in names.
//!
//! The planner names an expression without its casts, so that `sum(x)` and `sum(CAST(x AS DOUBLE))` are one name, which
//! it refuses, or confuses. Here each cast in the syntax tree is put into a call of a function that gives its first
//! argument; the second one is the text of the type. Once names are bound the calls are taken out again. A cast of the same
//! cast, `x::INT::INT`, is one.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::Result as DfResult;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{
    ColumnarValue, Expr as LogicalExpr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion_sql::sqlparser::ast::{CastKind, DataType as SqlType, Expr, Value};

use super::call;
use crate::error::Result;
use crate::tree;

/// The function's name. A user's call of it does no harm.
pub const NAME: &str = "cast as";

/// Whether a cast, perhaps in parentheses, is what another one is applied to, which changes nothing then.
pub fn is_repeated(expr: &Expr) -> bool {
    inner(expr).is_some_and(|(of, expr)| inner(expr).is_some_and(|(same, _)| of == same))
}

/// The kind and the type of a cast, and what is cast.
fn inner(expr: &Expr) -> Option<((&CastKind, &SqlType), &Expr)> {
    match expr {
        Expr::Cast { kind, data_type, expr, format: None, .. } => {
            let mut expr = expr.as_ref();
            while let Expr::Nested(inner) = expr {
                expr = inner;
            }
            Some(((kind, data_type), expr))
        }
        _ => None,
    }
}

/// Takes the casts out that only repeat the one inside them.
pub fn collapse(expr: &mut Expr) {
    while is_repeated(expr) {
        let Expr::Cast { expr: inner, .. } = std::mem::replace(expr, Expr::Value(Value::Null.into())) else {
            return;
        };
        *expr = *inner;
        while let Expr::Nested(inner) = expr {
            *expr = std::mem::replace(inner, Expr::Value(Value::Null.into()));
        }
    }
}

/// Puts a cast into a call.
pub fn wrap(expr: &mut Expr) {
    let Expr::Cast { kind, data_type, .. } = &*expr else { return };
    let text = Value::SingleQuotedString(format!("{kind:?} {data_type}"));
    let cast = std::mem::replace(expr, Expr::Value(Value::Null.into()));
    *expr = call(NAME, vec![cast, Expr::Value(text.into())]);
}

/// The function.
pub fn function() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(First { signature: Signature::any(2, Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct First {
    signature: Signature,
}

impl ScalarUDFImpl for First {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> DfResult<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, mut arguments: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        Ok(arguments.args.swap_remove(0))
    }
}

/// The cast in a call.
pub fn wrapped(expr: &LogicalExpr) -> Option<&LogicalExpr> {
    match expr {
        LogicalExpr::ScalarFunction(ScalarFunction { func, args }) if func.name() == NAME => args.first(),
        _ => None,
    }
}

/// The expression without calls.
pub fn unwrapped(e: LogicalExpr) -> DfResult<LogicalExpr> {
    Ok(tree::expr_up(e, &mut |e| Ok(taken_out(e)))?.data)
}

fn taken_out(e: LogicalExpr) -> Transformed<LogicalExpr> {
    match wrapped(&e) {
        Some(cast) => Transformed::yes(cast.clone()),
        None => Transformed::no(e),
    }
}

/// Takes the calls out; names stay as they are, also those of the arguments of grouping(), which are looked for among the
/// keys.
pub fn unwrap(plan: LogicalPlan) -> Result<LogicalPlan> {
    let unwrapped = tree::plan_up(plan, &mut |node| {
        let names = NamePreserver::new(&node);
        let named = tree::expressions(node, &mut |e| {
            tree::expr_up(e, &mut |e| match e {
                LogicalExpr::AggregateFunction(mut call) if call.func.name() == "grouping" => {
                    let key = |e: LogicalExpr| Ok(names.save(&e).restore(unwrapped(e)?));
                    let keys = call.params.args.into_iter().map(key);
                    call.params.args = keys.collect::<DfResult<_>>()?;
                    Ok(Transformed::yes(LogicalExpr::AggregateFunction(call)))
                }
                e => Ok(Transformed::no(e)),
            })
        })?;
        tree::expressions_up(named.data, &mut |e| Ok(taken_out(e)))
    })?;
    Ok(unwrapped.data)
}
