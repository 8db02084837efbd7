//! Nodes in whose expressions subqueries stand: the subqueries are joined to the node's input, and their values are
//! columns there.

use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, Result, not_impl_err};
use datafusion_expr::expr::Sort as SortExpr;
use datafusion_expr::logical_plan::{
    Aggregate, Distinct, DistinctOn, Join, JoinConstraint, Projection, Sort,
};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, Filter, JoinType, LogicalPlan};

use super::{Outer, Rewrite, columns_of, has, join, outer_columns, outside, project};
use crate::tree;

impl Rewrite {
    /// Takes the subqueries out of a node's own expressions. Those below it and inside its subqueries are out already.
    pub(super) fn node(&mut self, node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let lateral = matches!(&node, LogicalPlan::Join(j) if matches!(*j.right, LogicalPlan::Subquery(_)));
        if !lateral && !node.expressions().iter().any(is_open) {
            return Ok(Transformed::no(node));
        }
        let node = match node {
            LogicalPlan::Filter(f) => self.filter(f)?,
            LogicalPlan::Join(j) if lateral => self.lateral(j)?,
            LogicalPlan::Join(j) => self.on(j)?,
            LogicalPlan::Projection(p) => {
                let mut outer = Outer::new(Arc::unwrap_or_clone(p.input));
                let exprs = self.values(p.expr, &mut outer)?;
                LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(outer.plan))?)
            }
            LogicalPlan::Aggregate(a) => self.aggregate(a)?,
            LogicalPlan::Sort(s) => {
                let mut outer = Outer::new(Arc::unwrap_or_clone(s.input));
                let expr = self.keys(s.expr, &mut outer)?;
                let input = Arc::new(std::mem::take(&mut outer.plan));
                outer.without_added(LogicalPlan::Sort(Sort { expr, input, fetch: s.fetch }))?
            }
            LogicalPlan::Distinct(Distinct::On(d)) => {
                let mut outer = Outer::new(Arc::unwrap_or_clone(d.input));
                let on = self.values(d.on_expr, &mut outer)?;
                let select = self.values(d.select_expr, &mut outer)?;
                let sort = d.sort_expr.map(|keys| self.keys(keys, &mut outer)).transpose()?;
                let on = DistinctOn::try_new(on, select, sort, Arc::new(outer.plan))?;
                LogicalPlan::Distinct(Distinct::On(on))
            }
            other => return not_impl_err!("a subquery in {}", other.display()),
        };
        Ok(Transformed::yes(node))
    }

    fn values(&mut self, exprs: Vec<Expr>, outer: &mut Outer) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|e| self.value(e, outer)).collect()
    }

    fn keys(&mut self, keys: Vec<SortExpr>, outer: &mut Outer) -> Result<Vec<SortExpr>> {
        let keys = keys.into_iter();
        keys.map(|key| Ok(SortExpr { expr: self.value(key.expr, outer)?, ..key })).collect()
    }

    /// An expression whose subqueries are columns that joins add to `outer`.
    pub(super) fn value(&mut self, e: Expr, outer: &mut Outer) -> Result<Expr> {
        let value = tree::expr_up(e, &mut |e| self.subquery(e, outer))?;
        Ok(value.data)
    }

    fn subquery(&mut self, e: Expr, outer: &mut Outer) -> Result<Transformed<Expr>> {
        Ok(Transformed::yes(match e {
            Expr::Exists(q) => {
                let found = self.exists(Arc::unwrap_or_clone(q.subquery.subquery), outer)?;
                if q.negated { !found } else { found }
            }
            Expr::InSubquery(q) => self.quantified(q.into(), outer)?,
            Expr::SetComparison(q) => self.quantified(q.into(), outer)?,
            Expr::ScalarSubquery(mut q) => {
                if outer_columns(&q.subquery).is_empty() {
                    q.outer_ref_columns.clear();
                    return Ok(Transformed::no(Expr::ScalarSubquery(q)));
                }
                self.scalar(Arc::unwrap_or_clone(q.subquery), outer)?
            }
            other => return Ok(Transformed::no(other)),
        }))
    }

    /// WHERE and HAVING. Terms without subqueries are evaluated first, then those that are joins of their own.
    fn filter(&mut self, f: Filter) -> Result<LogicalPlan> {
        let terms = split_conjunction_owned(f.predicate);
        let (with, without): (Vec<_>, Vec<_>) = terms.into_iter().partition(is_open);
        let rows = match conjunction(without) {
            Some(predicate) => LogicalPlan::Filter(Filter::try_new(predicate, f.input)?),
            None => Arc::unwrap_or_clone(f.input),
        };
        let mut outer = Outer::new(rows);
        let mut left = Vec::new();
        for term in with {
            left.extend(self.term(term, &mut outer)?);
        }
        let plan = std::mem::take(&mut outer.plan);
        let plan = match conjunction(left) {
            Some(predicate) => LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(plan))?),
            None => plan,
        };
        outer.without_added(plan)
    }

    fn aggregate(&mut self, a: Aggregate) -> Result<LogicalPlan> {
        let mut outer = Outer::new(Arc::unwrap_or_clone(a.input));
        // Above the aggregate its columns are known by their expressions.
        let mut aggregates = Vec::with_capacity(a.aggr_expr.len());
        for e in a.aggr_expr {
            let name = e.schema_name().to_string();
            aggregates.push(match is_open(&e) {
                true => self.value(e, &mut outer)?.unalias().alias(name),
                false => e,
            });
        }
        let mut keys = Vec::new();
        let mut group = Vec::with_capacity(a.group_expr.len());
        for e in a.group_expr {
            if !is_open(&e) {
                group.push(e);
                continue;
            }
            if matches!(e, Expr::GroupingSet(_)) {
                return not_impl_err!("a subquery in ROLLUP, CUBE or GROUPING SETS");
            }
            let name = e.schema_name().to_string();
            keys.push(self.value(e, &mut outer)?.unalias().alias(name.clone()));
            group.push(Expr::Column(Column::new_unqualified(name)));
        }
        let mut input = outer.plan;
        if !keys.is_empty() {
            let columns = input.schema().columns().into_iter().map(Expr::Column);
            let exprs = columns.chain(keys).collect();
            input = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?);
        }
        Ok(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), group, aggregates)?))
    }

    /// Subqueries in ON: of an inner join they are a condition above it; of another join each must name columns of one
    /// side alone, to which it is joined.
    fn on(&mut self, j: Join) -> Result<LogicalPlan> {
        let mut terms: Vec<Expr> = j.filter.map(split_conjunction_owned).unwrap_or_default();
        let (with_pairs, pairs): (Vec<_>, Vec<_>) =
            j.on.into_iter().partition(|(l, r)| is_open(l) || is_open(r));
        terms.extend(with_pairs.into_iter().map(|(l, r)| l.eq(r)));
        let (with, without): (Vec<_>, Vec<_>) = terms.into_iter().partition(is_open);
        let columns = j.schema.columns();
        let (mut left, mut right) =
            (Outer::new(Arc::unwrap_or_clone(j.left)), Outer::new(Arc::unwrap_or_clone(j.right)));
        let mut conditions = without;
        let mut above = Vec::new();
        for term in with {
            match j.join_type {
                JoinType::Inner => above.push(term),
                _ => conditions.push(self.on_side(term, &mut left, &mut right)?),
            }
        }
        let added = left.added || right.added;
        let joined = LogicalPlan::Join(Join::try_new(
            Arc::new(left.plan),
            Arc::new(right.plan),
            pairs,
            conjunction(conditions),
            j.join_type,
            JoinConstraint::On,
            j.null_equality,
            j.null_aware,
        )?);
        let joined = if added { project(joined, columns)? } else { joined };
        match conjunction(above) {
            Some(predicate) => self.filter(Filter::try_new(predicate, Arc::new(joined))?),
            None => Ok(joined),
        }
    }

    fn on_side(&mut self, term: Expr, left: &mut Outer, right: &mut Outer) -> Result<Expr> {
        let term = tree::expr_up(term, &mut |e| {
            let (x, plan) = match &e {
                Expr::Exists(q) => (None, &q.subquery.subquery),
                Expr::InSubquery(q) => (Some(&q.expr), &q.subquery.subquery),
                Expr::SetComparison(q) => (Some(&q.expr), &q.subquery.subquery),
                Expr::ScalarSubquery(q) => (None, &q.subquery),
                _ => return Ok(Transformed::no(e)),
            };
            let mut columns = outer_columns(plan);
            columns.extend(x.iter().flat_map(|x| x.column_refs()).cloned());
            let of = |outer: &Outer| columns.iter().any(|c| has(outer.plan.schema(), c));
            match (of(left), of(right)) {
                (true, true) => not_impl_err!(
                    "a subquery in ON of an outer join that names columns of both sides; a subquery in WHERE may"
                ),
                (false, true) => self.subquery(e, right),
                _ => self.subquery(e, left),
            }
        })?;
        Ok(term.data)
    }

    /// A derived table behind LATERAL, which names columns of the left side.
    fn lateral(&mut self, j: Join) -> Result<LogicalPlan> {
        let LogicalPlan::Subquery(q) = Arc::unwrap_or_clone(j.right) else {
            return not_impl_err!("LATERAL");
        };
        if !matches!(j.join_type, JoinType::Inner | JoinType::Left) {
            return not_impl_err!("LATERAL in {}", j.join_type);
        }
        let left = Arc::unwrap_or_clone(j.left);
        let plan = Arc::unwrap_or_clone(q.subquery);
        let columns = j.schema.columns();
        if columns_of(&plan, left.schema()).is_empty() {
            return not_impl_err!("LATERAL that names columns of a table other than the one before it");
        }
        let (rows, on) = self.matched(plan, &left)?;
        let conditions = j.filter.into_iter().chain(j.on.into_iter().map(|(l, r)| l.eq(r))).chain(on);
        let conditions = conditions.map(|c| outside(c, left.schema())).collect::<Result<Vec<_>>>()?;
        if conditions.iter().any(is_open) {
            return not_impl_err!("a subquery in ON behind LATERAL");
        }
        project(join(left, rows, conjunction(conditions), j.join_type)?, columns)
    }
}

/// Whether there is a subquery in an expression that is not run by itself.
pub(super) fn is_open(e: &Expr) -> bool {
    tree::any_expr(e, &mut |e| match e {
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => true,
        Expr::ScalarSubquery(q) => !q.outer_ref_columns.is_empty() || !outer_columns(&q.subquery).is_empty(),
        _ => false,
    })
}
