//! Correlated conditions moved up, out of a subquery into the join that it becomes.
//!
//! A condition in WHERE passes what does not change which rows it takes: lists of columns, inner joins, the rows that an
//! outer join keeps, a GROUP BY of the columns that it names. It does not pass a side of an outer join that is filled with
//! NULLs, or the right side of a semi or anti join: there it decides what is NULL or found, not which rows there are.

use std::sync::Arc;

use datafusion_common::{Column, DFSchema, Result};
use datafusion_expr::logical_plan::{Aggregate, Distinct, Join, JoinConstraint, Projection};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, Filter, JoinType, LogicalPlan};

use super::{Rewrite, columns_of, has, named, names, outside, project};

/// A plan without the conditions that name outer columns, and these.
type Pulled = (LogicalPlan, Vec<Expr>);

impl Rewrite {
    /// The rows of a subquery and the conditions under which they belong to a row of `outer`. The rows have the
    /// subquery's columns, and those that the conditions name.
    pub(super) fn matched(&mut self, plan: LogicalPlan, outer: &LogicalPlan) -> Result<Pulled> {
        let schema = outer.schema().clone();
        if let Some((rows, on)) = pull(&plan, &schema)? {
            let on = on.into_iter().map(|e| outside(e, &schema)).collect::<Result<_>>()?;
            return Ok((rows, on));
        }
        self.dependent(plan, outer)
    }
}

/// Moves the conditions up, if all of them can be.
pub(super) fn pull(plan: &LogicalPlan, outer: &DFSchema) -> Result<Option<Pulled>> {
    if columns_of(plan, outer).is_empty() {
        return Ok(Some((plan.clone(), vec![])));
    }
    match plan {
        LogicalPlan::Filter(f) => {
            let Some((input, mut on)) = pull(&f.input, outer)? else { return Ok(None) };
            let (pulled, stay): (Vec<_>, Vec<_>) =
                split_conjunction_owned(f.predicate.clone()).into_iter().partition(|e| names(e, outer));
            on.extend(pulled);
            let plan = match conjunction(stay) {
                Some(predicate) => LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?),
                None => input,
            };
            Ok(Some((plan, on)))
        }
        LogicalPlan::Projection(p) => {
            if p.expr.iter().any(|e| names(e, outer)) {
                return Ok(None);
            }
            let Some((input, on)) = pull(&p.input, outer)? else { return Ok(None) };
            let plan = exposed(p.expr.clone(), input, &on)?;
            Ok(Some((plan, on)))
        }
        LogicalPlan::SubqueryAlias(a) => {
            let Some((input, on)) = pull(&a.input, outer)? else { return Ok(None) };
            let columns = a.input.schema().columns().into_iter().zip(a.schema.fields());
            let exprs = columns.map(|(column, field)| {
                Expr::Column(column).alias_qualified(Some(a.alias.clone()), field.name())
            });
            let plan = exposed(exprs.collect(), input, &on)?;
            Ok(Some((plan, on)))
        }
        LogicalPlan::Sort(s) => pull(&s.input, outer),
        LogicalPlan::Distinct(Distinct::All(below)) => {
            let Some((input, on)) = pull(below, outer)? else { return Ok(None) };
            if !named(&on, input.schema()).iter().all(|c| has(below.schema(), c)) {
                return Ok(None);
            }
            let input = project(input, below.schema().columns())?;
            Ok(Some((LogicalPlan::Distinct(Distinct::All(Arc::new(input))), on)))
        }
        LogicalPlan::Aggregate(a) => {
            if a.group_expr.is_empty() || a.group_expr.iter().chain(&a.aggr_expr).any(|e| names(e, outer)) {
                return Ok(None);
            }
            let Some((input, on)) = pull(&a.input, outer)? else { return Ok(None) };
            let key = |c: &Column| a.group_expr.iter().any(|e| matches!(e, Expr::Column(k) if k == c));
            if !named(&on, input.schema()).iter().all(key) {
                return Ok(None);
            }
            let grouped = Aggregate::try_new(Arc::new(input), a.group_expr.clone(), a.aggr_expr.clone())?;
            Ok(Some((LogicalPlan::Aggregate(grouped), on)))
        }
        LogicalPlan::Join(j) => pull_join(j, outer),
        _ => Ok(None),
    }
}

fn pull_join(j: &Join, outer: &DFSchema) -> Result<Option<Pulled>> {
    if j.on.iter().any(|(l, r)| names(l, outer) || names(r, outer)) {
        return Ok(None);
    }
    let terms = j.filter.clone().map(split_conjunction_owned).unwrap_or_default();
    let (mut on, stay): (Vec<_>, Vec<_>) = terms.into_iter().partition(|e| names(e, outer));
    let keeps_left = matches!(
        j.join_type,
        JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark
    );
    let keeps_right = matches!(
        j.join_type,
        JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark
    );
    if !on.is_empty() && j.join_type != JoinType::Inner
        || !keeps_left && !columns_of(&j.left, outer).is_empty()
        || !keeps_right && !columns_of(&j.right, outer).is_empty()
    {
        return Ok(None);
    }
    let Some((left, of_left)) = pull(&j.left, outer)? else { return Ok(None) };
    let Some((right, of_right)) = pull(&j.right, outer)? else { return Ok(None) };
    on.extend(of_left);
    on.extend(of_right);
    let join = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        j.on.clone(),
        conjunction(stay),
        j.join_type,
        JoinConstraint::On,
        j.null_equality,
        j.null_aware,
    )?;
    Ok(Some((LogicalPlan::Join(join), on)))
}

/// A list of columns, and those below it that conditions name.
fn exposed(mut exprs: Vec<Expr>, input: LogicalPlan, on: &[Expr]) -> Result<LogicalPlan> {
    for column in named(on, input.schema()) {
        let e = Expr::Column(column);
        if !exprs.contains(&e) {
            exprs.push(e);
        }
    }
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?))
}
