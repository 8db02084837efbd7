//! A correlated subquery as a value.
//!
//! An aggregate without GROUP BY has a row for each outer row, also where it has nothing to aggregate. It is grouped by
//! the columns that the correlated equalities name and joined; where nothing joins, its value is that of no rows: 0 for a
//! count, else NULL. What is computed from it is computed above the join.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_common::{Column, Result, ScalarValue, not_impl_err};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::logical_plan::{Aggregate, Distinct};
use datafusion_expr::utils::conjunction;
use datafusion_expr::{Expr, FetchType, JoinType, LogicalPlan, Operator, SkipType, lit, when};

use super::pulled::pull;
use super::single::{counted, single};
use super::{Outer, Rewrite, columns_of, has, named, names, outside, replace};

/// What relations of [`Rewrite::scalar`] are called: they have at most one row for each row that they are joined to.
const SCALAR: &str = "scalar";

impl Rewrite {
    /// A correlated subquery as a value over `outer`, to which a join adds columns.
    pub(super) fn scalar(&mut self, plan: LogicalPlan, outer: &mut Outer) -> Result<Expr> {
        if one_row(&plan) {
            return match self.columns(plan, outer)?.into_iter().next() {
                Some(value) => Ok(value),
                None => not_impl_err!("a scalar subquery without a column"),
            };
        }
        let name = self.fresh("single");
        match <[Expr; 2]>::try_from(self.columns(counted(plan, &name)?, outer)?) {
            Ok([value, count]) => Ok(single(value, count)),
            Err(_) => not_impl_err!("a scalar subquery of several columns"),
        }
    }

    /// The columns of a subquery that has at most one row for each outer row.
    fn columns(&mut self, plan: LogicalPlan, outer: &mut Outer) -> Result<Vec<Expr>> {
        if let Some(values) = self.grouped(&plan, outer)? {
            return Ok(values);
        }
        let mut columns = plan.schema().columns();
        let width = columns.len();
        let (rows, on) = match columns_of(&plan, outer.rows.schema()).is_empty() {
            true => (plan, vec![]),
            false => self.dependent(plan, &outer.rows)?,
        };
        columns.extend(named(&on, rows.schema()));
        let exprs = columns.iter().cloned().map(Expr::Column).collect();
        let (right, new) = self.relation(SCALAR, exprs, rows)?;
        let place = |c: &Column| columns.iter().rposition(|other| other == c);
        let on = on.into_iter().map(|e| replace(e, &mut |c| place(c).map(|i| Expr::Column(new[i].clone()))));
        outer.join(right, conjunction(on.collect::<Result<Vec<_>>>()?), JoinType::Left)?;
        Ok(new.into_iter().take(width).map(Expr::Column).collect())
    }

    /// An aggregate of rows that equalities choose.
    fn grouped(&mut self, plan: &LogicalPlan, outer: &mut Outer) -> Result<Option<Vec<Expr>>> {
        let schema = outer.rows.schema().clone();
        let Some((steps, aggregate)) = steps(plan) else { return Ok(None) };
        if aggregate.aggr_expr.iter().any(|e| names(e, &schema)) {
            return Ok(None);
        }
        let Some((input, on)) = pull(&aggregate.input, &schema)? else { return Ok(None) };
        let mut keys: Vec<Expr> = Vec::new();
        let mut equalities = Vec::new();
        let mut conditions = Vec::new();
        let inner = input.schema().clone();
        for e in on {
            match equality(&e, |e| e.column_refs().into_iter().any(|c| has(&inner, c)), |e| names(e, &schema))
            {
                Some((key, of_outer)) => {
                    let place = keys.iter().position(|k| *k == key).unwrap_or_else(|| {
                        keys.push(key);
                        keys.len() - 1
                    });
                    equalities.push((place, of_outer));
                }
                None if e.column_refs().into_iter().any(|c| has(&inner, c)) => return Ok(None),
                None => conditions.push(outside(e, &schema)?),
            }
        }
        let width = keys.len();
        let defaults = aggregate.aggr_expr.iter().map(of_nothing).collect::<Result<Vec<_>>>()?;
        let before = aggregate.schema.columns();
        let grouped = Aggregate::try_new(Arc::new(input), keys, aggregate.aggr_expr.clone())?;
        let columns = grouped.schema.columns().into_iter().map(Expr::Column).collect();
        let (right, new) = self.relation(SCALAR, columns, LogicalPlan::Aggregate(grouped))?;
        for (place, of_outer) in equalities {
            conditions.push(outside(of_outer, &schema)?.eq(Expr::Column(new[place].clone())));
        }
        outer.join(right, conjunction(conditions), JoinType::Left)?;

        let mut values = HashMap::new();
        for ((before, default), column) in before.into_iter().zip(defaults).zip(&new[width..]) {
            values.insert(before, or(Expr::Column(column.clone()), default)?);
        }
        let mut passed: Vec<Expr> = Vec::new();
        for step in steps.into_iter().rev() {
            let mut seen = |e: &Expr| -> Result<Expr> {
                outside(replace(e.clone().unalias(), &mut |c| values.get(c).cloned())?, &schema)
            };
            match step {
                LogicalPlan::Filter(f) => passed.push(seen(&f.predicate)?),
                LogicalPlan::Projection(p) => {
                    let next = p.expr.iter().map(&mut seen).collect::<Result<Vec<_>>>()?;
                    values = p.schema.columns().into_iter().zip(next).collect();
                }
                LogicalPlan::SubqueryAlias(a) => {
                    let below = a.input.schema().columns().into_iter().map(Expr::Column);
                    let next = below.map(|e| seen(&e)).collect::<Result<Vec<_>>>()?;
                    values = a.schema.columns().into_iter().zip(next).collect();
                }
                _ => {}
            }
        }
        let passed = conjunction(passed);
        let mut selected = Vec::new();
        for column in plan.schema().columns() {
            let Some(value) = values.remove(&column) else {
                return not_impl_err!("this correlated scalar subquery");
            };
            selected.push(match &passed {
                Some(passed) => when(passed.clone(), value).end()?,
                None => value,
            });
        }
        Ok(Some(selected))
    }
}

/// The nodes above an aggregate without GROUP BY, and that.
fn steps(plan: &LogicalPlan) -> Option<(Vec<&LogicalPlan>, &Aggregate)> {
    let mut steps = Vec::new();
    let mut node = plan;
    loop {
        steps.push(node);
        node = match node {
            LogicalPlan::Projection(p) => &p.input,
            LogicalPlan::SubqueryAlias(a) => &a.input,
            LogicalPlan::Filter(f) => &f.input,
            LogicalPlan::Sort(s) => &s.input,
            LogicalPlan::Distinct(Distinct::All(input)) => input,
            LogicalPlan::Limit(l) => {
                let all = matches!(l.get_skip_type(), Ok(SkipType::Literal(0)));
                let some = matches!(l.get_fetch_type(), Ok(FetchType::Literal(n)) if n != Some(0));
                if !all || !some {
                    return None;
                }
                &l.input
            }
            LogicalPlan::Aggregate(a) if a.group_expr.is_empty() => return Some((steps, a)),
            _ => return None,
        };
    }
}

/// An equality of an expression over the rows of the subquery and one over those outside.
fn equality(e: &Expr, inner: impl Fn(&Expr) -> bool, outer: impl Fn(&Expr) -> bool) -> Option<(Expr, Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = e else { return None };
    let sides = |key: &Expr, of_outer: &Expr| {
        (inner(key) && !outer(key) && !key.contains_outer() && !inner(of_outer))
            .then(|| (key.clone(), of_outer.clone()))
    };
    sides(left, right).or_else(|| sides(right, left))
}

/// What an aggregate gives for no rows, if that is not NULL.
pub(super) fn of_nothing(e: &Expr) -> Result<Option<ScalarValue>> {
    match e {
        Expr::Alias(alias) => of_nothing(&alias.expr),
        Expr::AggregateFunction(call) => {
            let value = call.func.default_value(&arrow_schema::DataType::Int64)?;
            Ok((!value.is_null()).then_some(value))
        }
        _ => Ok(None),
    }
}

/// A column that is NULL where nothing was joined, as what an aggregate gives for no rows.
pub(super) fn or(column: Expr, of_nothing: Option<ScalarValue>) -> Result<Expr> {
    match of_nothing {
        Some(value) => when(column.clone().is_not_null(), column).otherwise(lit(value)),
        None => Ok(column),
    }
}

/// Whether a plan has at most one row for each outer row.
fn one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(p) => one_row(&p.input),
        LogicalPlan::SubqueryAlias(a) => one_row(&a.input),
        LogicalPlan::Filter(f) => one_row(&f.input),
        LogicalPlan::Sort(s) => one_row(&s.input),
        LogicalPlan::Distinct(Distinct::All(input)) => one_row(input),
        LogicalPlan::Limit(l) => {
            matches!(l.get_fetch_type(), Ok(FetchType::Literal(Some(0 | 1)))) || one_row(&l.input)
        }
        LogicalPlan::Aggregate(a) => a.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Values(v) => v.values.len() <= 1,
        LogicalPlan::Join(j) => match j.join_type {
            JoinType::Inner => one_row(&j.left) && one_row(&j.right),
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => one_row(&j.left),
            JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => one_row(&j.right),
            JoinType::Left => one_row(&j.left) && (is_scalar(&j.right) || one_row(&j.right)),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a plan is one that a scalar subquery became.
fn is_scalar(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::SubqueryAlias(a) if a.alias.table().starts_with(&format!("__{SCALAR}")))
}
