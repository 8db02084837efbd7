//! HAVING makes one group of all rows where there is no GROUP BY, which the planner takes it to do only beside an
//! aggregate. So one is put there that says nothing: `HAVING (condition) AND count(*) >= 0`.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Query,
    Select, SelectItem, Value, Visitor,
};

use super::call;
use crate::functions::Functions;
use crate::visits;

/// Adds the aggregate where HAVING stands without GROUP BY and without one.
pub fn make_one_group(select: &mut Select) {
    let no_key = matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let Some(having) = select.having.as_ref().filter(|_| no_key) else { return };
    let selected = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    if selected.chain([having]).any(is_aggregated) {
        return;
    }
    let mut count = call("count", Vec::new());
    if let Expr::Function(function) = &mut count
        && let FunctionArguments::List(list) = &mut function.args
    {
        list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
    }
    let zero = Expr::Value(Value::Number("0".into(), false).into());
    let always = Expr::BinaryOp { left: Box::new(count), op: BinaryOperator::GtEq, right: Box::new(zero) };
    let condition = Expr::Nested(Box::new(having.clone()));
    select.having =
        Some(Expr::BinaryOp { left: Box::new(condition), op: BinaryOperator::And, right: Box::new(always) });
}

/// Whether a call is that of an aggregate.
pub fn is_aggregate(function: &Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| Functions::all().is_aggregate(&name.value.to_lowercase()))
}

/// Whether an aggregate stands in an expression. Those of its subqueries are theirs.
pub fn is_aggregated(expr: &Expr) -> bool {
    struct Search(usize);

    impl Visitor for Search {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            match e {
                Expr::Function(function) if self.0 == 0 && is_aggregate(function) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    visits::look(expr, &mut Search(0)).is_break()
}
