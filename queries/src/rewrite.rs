//! Repairs of the syntax tree, where the planner would read it wrongly or refuse it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, JoinConstraint, JoinOperator, Query, Select, SelectFlavor, SelectItem,
    SetExpr, SetOperator, SetQuantifier, TableFactor, VisitMut, VisitorMut, WildcardAdditionalOptions,
};

use crate::error::{Error, Result};
use crate::refused;

/// Rewrites a query whose names are resolved.
pub fn rewrite(query: &mut Query) -> Result<()> {
    match query.visit(&mut Rewrite) {
        ControlFlow::Break(e) => Err(e),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Rewrite;

impl VisitorMut for Rewrite {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        refused::query(query)?;
        set_operations(&query.body)
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        refused::table_factor(factor)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        refused::expr(expr)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        refused::select(select)?;
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        full_join_using(select)?;
        distinct_names(&mut select.projection);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        rotate_distinct(expr);
        ControlFlow::Continue(())
    }
}

/// `INTERSECT ALL` and `EXCEPT ALL` would be planned as semi and anti joins, which give other multiplicities.
fn set_operations(body: &SetExpr) -> ControlFlow<Error> {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else {
        return ControlFlow::Continue(());
    };
    let all = matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
    if all && matches!(op, SetOperator::Intersect | SetOperator::Except | SetOperator::Minus) {
        return ControlFlow::Break(Error::Unsupported(format!(
            "{op} ALL; {op}, which drops duplicates, can be used"
        )));
    }
    set_operations(left)?;
    set_operations(right)
}

/// The column of `FULL JOIN … USING (k)` is the left side's if there is one and else the right side's; the planner
/// takes the left side's always, which is NULL for rows of the right side alone.
fn full_join_using(select: &Select) -> ControlFlow<Error> {
    for join in select.from.iter().flat_map(|t| &t.joins) {
        if let JoinOperator::FullOuter(JoinConstraint::Using(_) | JoinConstraint::Natural) =
            &join.join_operator
        {
            return ControlFlow::Break(Error::Unsupported(
                "FULL JOIN … USING and NATURAL FULL JOIN; write FULL JOIN … ON l.k = r.k and coalesce(l.k, r.k)".into(),
            ));
        }
    }
    ControlFlow::Continue(())
}

/// `a IS DISTINCT FROM b AND c` is parsed as `a IS DISTINCT FROM (b AND c)`; AND and OR bind less than IS.
fn rotate_distinct(expr: &mut Expr) {
    let (Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)) = &*expr else { return };
    if !matches!(right.as_ref(), Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. }) {
        return;
    }
    let nothing = || Expr::Identifier(Ident::new(""));
    let (negated, a, rest) = match std::mem::replace(expr, nothing()) {
        Expr::IsDistinctFrom(a, rest) => (false, a, rest),
        Expr::IsNotDistinctFrom(a, rest) => (true, a, rest),
        _ => unreachable!("it was looked at"),
    };
    let Expr::BinaryOp { left, op, right } = *rest else { unreachable!("it was looked at") };
    // The left operand may hold further AND and OR: the comparison goes to its leftmost leaf.
    let mut compared = left;
    {
        let mut leaf = compared.as_mut();
        while let Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, .. } = leaf {
            leaf = left.as_mut();
        }
        let b = Box::new(std::mem::replace(leaf, nothing()));
        *leaf = if negated { Expr::IsNotDistinctFrom(a, b) } else { Expr::IsDistinctFrom(a, b) };
    }
    *expr = Expr::BinaryOp { left: compared, op, right };
}

/// An expression without its casts: the planner's names leave them out.
fn without_casts(e: &Expr) -> Expr {
    let mut e = e.clone();
    let _ = e.visit(&mut WithoutCasts);
    e
}

struct WithoutCasts;

impl VisitorMut for WithoutCasts {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { expr: inner, .. } | Expr::Nested(inner) = expr {
            let inner = std::mem::replace(inner.as_mut(), Expr::Identifier(Ident::new("")));
            *expr = inner;
        }
        ControlFlow::Continue(())
    }
}

/// Gives a second select item of the same name a name of its own (`name:1`), for the planner refuses two of one name.
/// Parentheses and casts do not count: the planner's names have none.
fn distinct_names(items: &mut [SelectItem]) {
    let wildcard =
        items.iter().any(|i| matches!(i, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    let mut seen = BTreeSet::new();
    for item in items {
        let name = match &*item {
            SelectItem::UnnamedExpr(e) => e.to_string(),
            SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
            _ => continue,
        };
        let bare = match &*item {
            SelectItem::UnnamedExpr(e) => without_casts(e).to_string(),
            _ => name.clone(),
        };
        let key: String =
            bare.chars().filter(|c| !matches!(c, '(' | ')' | ' ')).collect::<String>().to_lowercase();
        let column =
            matches!(&*item, SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)));
        if seen.insert(key.clone()) && !(wildcard && column) {
            continue;
        }
        let free = (1..).map(|n| format!("{name}:{n}")).find(|n| seen.insert(n.to_lowercase()));
        let alias = Ident::with_quote('"', free.unwrap_or_default());
        let nothing = SelectItem::UnnamedExpr(Expr::Identifier(Ident::new("")));
        *item = match std::mem::replace(item, nothing) {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                SelectItem::ExprWithAlias { expr, alias }
            }
            other => other,
        };
    }
}
