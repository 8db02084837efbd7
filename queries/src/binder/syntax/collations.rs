//! `COLLATE NOCASE` where values are compared or put in order: both sides, or the key, are what `lower()` gives of them.
//!
//! It is taken out of the operands of comparisons and out of the keys of ORDER BY. Anywhere else, such as in GROUP BY, a
//! collation would go on to what reads the value; there it stays, and is refused.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArgumentClause, FunctionArguments, Ident, NamedWindowExpr,
    OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem, Spanned, Value, WindowSpec, WindowType,
};
use sqlparser::tokenizer::Span;

use crate::parse::calls;
use crate::visitors;

/// The collation that is known.
const NOCASE: &str = "nocase";

/// ORDER BY of a query.
pub fn of_query(query: &mut Query) {
    if let Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) = &mut query.order_by {
        of_keys(keys);
    }
}

/// Windows of a SELECT, and the names of its columns, which are those of what is written.
pub fn of_select(select: &mut Select) {
    for named in &mut select.named_window {
        if let NamedWindowExpr::WindowSpec(window) = &mut named.1 {
            of_window(window);
        }
    }
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(e) = item
            && visitors::any_expression(e, &mut |e| matches!(e, Expr::Collate { .. }))
        {
            let alias = Ident::with_quote_and_span('"', e.span(), e.to_string());
            *item = SelectItem::ExprWithAlias { expr: e.clone(), alias };
        }
    }
}

/// A comparison, or the orders of a call.
pub fn of_expr(e: &mut Expr) {
    match e {
        Expr::BinaryOp { left, op, right } if is_comparison(op) => of_operands(vec![left, right]),
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
            of_operands(vec![left, right]);
        }
        Expr::Between { expr, low, high, .. } => of_operands(vec![expr, low, high]),
        Expr::InList { expr, list, .. } => of_operands(std::iter::once(expr.as_mut()).chain(list).collect()),
        Expr::Function(function) => of_call(function),
        _ => {}
    }
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn of_call(function: &mut Function) {
    of_keys(&mut function.within_group);
    if let FunctionArguments::List(list) = &mut function.args {
        for clause in &mut list.clauses {
            if let FunctionArgumentClause::OrderBy(keys) = clause {
                of_keys(keys);
            }
        }
    }
    if let Some(WindowType::WindowSpec(window)) = &mut function.over {
        of_window(window);
    }
}

fn of_window(window: &mut WindowSpec) {
    of_keys(&mut window.order_by);
}

fn of_keys(keys: &mut [OrderByExpr]) {
    for key in keys {
        let is_place = matches!(collated(&key.expr), Some((Expr::Value(_), _)));
        if !is_place && let Some((e, place)) = collated(&key.expr) {
            key.expr = lower(e.clone(), place);
        }
    }
}

/// If one operand has the collation, all of them are compared by it.
fn of_operands(operands: Vec<&mut Expr>) {
    let found = operands.iter().find_map(|e| collated(e).map(|(_, place)| place));
    let Some(place) = found else { return };
    for operand in operands {
        let e = match collated(operand) {
            Some((e, _)) => e.clone(),
            None => std::mem::replace(operand, Expr::Value(Value::Null.into())),
        };
        *operand = lower(e, place);
    }
}

/// What has the collation, and where that stands.
fn collated(e: &Expr) -> Option<(&Expr, Span)> {
    match e {
        Expr::Nested(inner) => collated(inner),
        Expr::Collate { expr, collation } => match collation.0.as_slice() {
            [name] => {
                let name = name.as_ident()?;
                name.value.eq_ignore_ascii_case(NOCASE).then_some((expr.as_ref(), name.span))
            }
            _ => None,
        },
        _ => None,
    }
}

fn lower(e: Expr, place: Span) -> Expr {
    calls::of("lower", vec![e], place)
}
