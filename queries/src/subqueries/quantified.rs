//! EXISTS, IN, ANY and ALL.
//!
//! `x IN q` is `x = ANY q`, and `x op ALL q` is the opposite of ANY with the opposite operator. So there is one
//! comparison, with three outcomes: true if some row of q compares true; else NULL if some comparison is NULL, which it
//! is if a y is, or x while q has rows; else false.
//!
//! As a term of WHERE, where false and NULL are the same, it is a semi join on the comparison; its opposite is an anti
//! join on "the comparison is not false". As a value it is put together from up to three mark joins, whose column says
//! whether a row has a match.

use std::sync::Arc;

use datafusion_common::{Column, NullEquality, Result, Spans, not_impl_err};
use datafusion_expr::expr::{InSubquery, SetComparison, SetQuantifier};
use datafusion_expr::logical_plan::{Aggregate, Distinct, Join, JoinConstraint, Limit, Subquery};
use datafusion_expr::utils::conjunction;
use datafusion_expr::{Expr, FetchType, Filter, JoinType, LogicalPlan, Operator, SkipType, binary_expr, lit};
use datafusion_functions_aggregate::count::count_all;

use super::{Outer, Rewrite, has, named, null, outer_columns, replace};

/// A value compared with the rows of a subquery.
pub(super) struct Quantified {
    x: Expr,
    op: Operator,
    rows: LogicalPlan,
    /// The comparison holds for ANY of the rows, or (`negated`) it is not so.
    negated: bool,
}

impl From<InSubquery> for Quantified {
    fn from(q: InSubquery) -> Self {
        let rows = Arc::unwrap_or_clone(q.subquery.subquery);
        Quantified { x: *q.expr, op: Operator::Eq, rows, negated: q.negated }
    }
}

impl From<SetComparison> for Quantified {
    fn from(q: SetComparison) -> Self {
        let rows = Arc::unwrap_or_clone(q.subquery.subquery);
        let (op, negated) = match q.quantifier {
            SetQuantifier::Any => (q.op, false),
            SetQuantifier::All => (q.op.negate().unwrap_or(q.op), true),
        };
        Quantified { x: *q.expr, op, rows, negated }
    }
}

impl Quantified {
    fn check(&self) -> Result<()> {
        match self.op {
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq => Ok(()),
            other => not_impl_err!("{other} ANY and {other} ALL of a subquery"),
        }
    }

    fn y(&self) -> Expr {
        Expr::Column(self.rows.schema().columns().swap_remove(0))
    }

    fn compared(&self) -> Expr {
        binary_expr(self.x.clone(), self.op, self.y())
    }

    /// The rows whose y is NULL. What the plan says of that is not asked: of a scalar subquery it is wrong.
    fn nulls(&self) -> Result<LogicalPlan> {
        let nulls = Filter::try_new(self.y().is_null(), Arc::new(self.rows.clone()))?;
        Ok(LogicalPlan::Filter(nulls))
    }

    /// Whether x is NULL, if it can be.
    fn x_is_null(&self) -> Option<Expr> {
        match &self.x {
            Expr::Literal(value, _) if !value.is_null() => None,
            x => Some(x.clone().is_null()),
        }
    }
}

impl Rewrite {
    /// A term of WHERE or HAVING, of which false and NULL are the same. What is left of it as a condition.
    pub(super) fn term(&mut self, term: Expr, outer: &mut Outer) -> Result<Option<Expr>> {
        let (not, inner) = match term {
            Expr::Not(inner) => (true, *inner),
            other => (false, other),
        };
        let quantified: Quantified = match inner {
            Expr::Exists(q) => {
                let rows = Arc::unwrap_or_clone(q.subquery.subquery);
                let kind = if q.negated ^ not { JoinType::LeftAnti } else { JoinType::LeftSemi };
                return self.semi(bare(rows), None, outer, kind);
            }
            Expr::InSubquery(q) => q.into(),
            Expr::SetComparison(q) => q.into(),
            other => {
                let value = self.value(other, outer)?;
                return Ok(Some(if not { !value } else { value }));
            }
        };
        quantified.check()?;
        let x = self.value(quantified.x.clone(), outer)?;
        let q = Quantified { x, negated: quantified.negated ^ not, ..quantified };
        if !q.negated {
            let compared = q.compared();
            return self.semi(q.rows, Some(compared), outer, JoinType::LeftSemi);
        }
        if q.op != Operator::Eq || !outer_columns(&q.rows).is_empty() {
            let compared = q.compared().is_not_false();
            return self.semi(q.rows, Some(compared), outer, JoinType::LeftAnti);
        }
        self.not_in(q, outer)
    }

    /// NOT IN of a subquery that names no outer columns.
    fn not_in(&mut self, q: Quantified, outer: &mut Outer) -> Result<Option<Expr>> {
        if is_column(&q.x) {
            let y = q.y();
            let (right, columns) = self.relation("in", vec![y], q.rows)?;
            let pairs = columns.into_iter().map(|y| (q.x.clone(), Expr::Column(y))).collect();
            outer.plan = LogicalPlan::Join(Join::try_new(
                Arc::new(std::mem::take(&mut outer.plan)),
                Arc::new(right),
                pairs,
                None,
                JoinType::LeftAnti,
                JoinConstraint::On,
                NullEquality::NullEqualsNothing,
                true,
            )?);
            return Ok(None);
        }
        // The join that knows NULLs takes a key, and not what may turn out to be a constant.
        let known = !self.unknown(&q, outer)?;
        let compared = q.compared();
        let left = self.semi(q.rows, Some(compared), outer, JoinType::LeftAnti)?;
        Ok(conjunction([known].into_iter().chain(left)))
    }

    /// Keeps the rows of `outer` that have a match among those of a subquery, or that have none.
    fn semi(
        &mut self,
        rows: LogicalPlan,
        compared: Option<Expr>,
        outer: &mut Outer,
        kind: JoinType,
    ) -> Result<Option<Expr>> {
        if compared.is_none() && outer_columns(&rows).is_empty() {
            let found = self.exists(rows, outer)?;
            return Ok(Some(if kind == JoinType::LeftAnti { !found } else { found }));
        }
        let (rows, mut on) = self.matched(rows, &outer.rows)?;
        on.extend(compared);
        let (right, on) = self.narrowed("in", rows, on)?;
        outer.join(right, conjunction(on), kind)?;
        Ok(None)
    }

    /// Whether a subquery has rows, as a value.
    pub(super) fn exists(&mut self, rows: LogicalPlan, outer: &mut Outer) -> Result<Expr> {
        self.mark(bare(rows), None, outer)
    }

    /// Whether a comparison without a match is NULL: there is a y that is NULL, or x is and there is any row.
    fn unknown(&mut self, q: &Quantified, outer: &mut Outer) -> Result<Expr> {
        let nulls = self.exists(q.nulls()?, outer)?;
        Ok(match q.x_is_null() {
            Some(x_is_null) => nulls.or(x_is_null.and(self.exists(q.rows.clone(), outer)?)),
            None => nulls,
        })
    }

    /// A comparison as a value.
    pub(super) fn quantified(&mut self, q: Quantified, outer: &mut Outer) -> Result<Expr> {
        q.check()?;
        let unknown = self.unknown(&q, outer)?;
        let compared = q.compared();
        let found = self.mark(q.rows, Some(compared), outer)?;
        let value = found.or(unknown.and(null()));
        Ok(if q.negated { !value } else { value })
    }

    /// Whether a row has a match among those of a subquery: true or false.
    fn mark(&mut self, rows: LogicalPlan, compared: Option<Expr>, outer: &mut Outer) -> Result<Expr> {
        let (rows, compared) = match compared {
            // Compared with a constant they are a subset of the rows.
            Some(c) if c.column_refs().into_iter().all(|c| has(rows.schema(), c)) => {
                (LogicalPlan::Filter(Filter::try_new(c, Arc::new(rows))?), None)
            }
            compared => (rows, compared),
        };
        let (rows, mut on) = self.matched(rows, &outer.rows)?;
        on.extend(compared);
        let inner = rows.schema().clone();
        let (on, of_outer): (Vec<_>, Vec<_>) =
            on.into_iter().partition(|e| e.column_refs().into_iter().any(|c| has(&inner, c)));
        let found = match on.is_empty() {
            true => self.any_row(rows, outer)?,
            false => {
                let (right, on) = self.narrowed("mark", rows, on)?;
                outer.join(right, conjunction(on), JoinType::LeftMark)?;
                match outer.plan.schema().columns().pop() {
                    Some(mark) => Expr::Column(mark),
                    None => return not_impl_err!("a mark join without a mark"),
                }
            }
        };
        Ok(of_outer.into_iter().map(Expr::is_true).fold(found, |found, e| e.and(found)))
    }

    /// Whether there is a row, which is the same for all rows of `outer`.
    fn any_row(&mut self, rows: LogicalPlan, outer: &mut Outer) -> Result<Expr> {
        let first = Limit { skip: None, fetch: Some(Box::new(lit(1_i64))), input: Arc::new(rows) };
        let name = self.fresh("count");
        let count = Aggregate::try_new(
            Arc::new(LogicalPlan::Limit(first)),
            vec![],
            vec![count_all().alias(name.clone())],
        )?;
        let plan = LogicalPlan::Aggregate(count);
        if outer_columns(&plan).is_empty() {
            let subquery = Arc::new(plan);
            let count = Subquery { subquery, outer_ref_columns: vec![], spans: Spans::new() };
            return Ok(Expr::ScalarSubquery(count).gt(lit(0_i64)));
        }
        let count = Expr::Column(Column::new_unqualified(name));
        let (right, columns) = self.relation("any", vec![count], plan)?;
        outer.join(right, None, JoinType::Inner)?;
        let count = columns.into_iter().map(Expr::Column).next();
        Ok(count.map_or_else(null, |count| count.gt(lit(0_i64))))
    }

    /// The columns of rows that a condition names, as a relation of its own.
    fn narrowed(&mut self, what: &str, rows: LogicalPlan, on: Vec<Expr>) -> Result<(LogicalPlan, Vec<Expr>)> {
        let columns = named(&on, rows.schema());
        let exprs = columns.iter().cloned().map(Expr::Column).collect();
        let (right, new) = self.relation(what, exprs, rows)?;
        let place = |c: &Column| columns.iter().position(|other| other == c);
        let on = on.into_iter().map(|e| replace(e, &mut |c| place(c).map(|i| Expr::Column(new[i].clone()))));
        Ok((right, on.collect::<Result<_>>()?))
    }
}

/// Whether an expression is a column, or one in another type.
fn is_column(e: &Expr) -> bool {
    match e {
        Expr::Column(_) => true,
        Expr::Cast(cast) => is_column(&cast.expr),
        _ => false,
    }
}

/// The plan below what does not change whether a row is there.
fn bare(plan: LogicalPlan) -> LogicalPlan {
    match plan {
        LogicalPlan::Distinct(Distinct::All(input)) => bare(Arc::unwrap_or_clone(input)),
        LogicalPlan::Sort(sort) => bare(Arc::unwrap_or_clone(sort.input)),
        LogicalPlan::Limit(limit) => {
            let all = matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)));
            let some = matches!(limit.get_fetch_type(), Ok(FetchType::Literal(n)) if n != Some(0));
            if all && some { bare(Arc::unwrap_or_clone(limit.input)) } else { LogicalPlan::Limit(limit) }
        }
        other => other,
    }
}
