//! IN and EXISTS, where the optimiser would answer them wrongly: here those of conditions, in [`selected`] those of the
//! select list.
//!
//! The optimiser turns both into semi, anti and mark joins, of two values: a row has a match or has none. `EXISTS` is
//! that; `x IN (SELECT y …)` is not: it is unknown if there is no match, but a row whose `y` is NULL, or any row for an
//! `x` that is NULL. Where the difference between false and unknown can be seen it is taken apart into `EXISTS`:
//!
//! ```text
//! x IN q  =  EXISTS (q WHERE y = x)  OR  NULL AND (EXISTS (q WHERE y IS NULL)  OR  x IS NULL AND EXISTS q)
//! ```
//!
//! It can't be seen of an IN that is a term of WHERE or HAVING; a NOT IN that is one, of a subquery that names no outer
//! column, is the optimiser's null-aware anti join, if its left side is not a constant.
//!
//! A correlated aggregate without GROUP BY has a row for each outer row, also where it has nothing to aggregate; as a
//! join it has none there. So IN of it is a comparison with a scalar subquery, for which the optimiser sees to that,
//! and EXISTS of it is true, or its HAVING as a scalar subquery.

pub mod selected;

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, Result as DfResult, ScalarValue, Spans, TableReference};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::logical_plan::{Distinct, Projection, SubqueryAlias};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, ExprSchemable, FetchType, Filter, LogicalPlan, SkipType, Subquery, lit};

use crate::error::{Error, Result};
use crate::tree;

/// Rewrites the IN and EXISTS of a plan that is not analysed yet.
pub fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut rewrite = Rewrite { aliases: 0, refused: None };
    let plan = tree::plan_up(plan, &mut |node| {
        let LogicalPlan::Filter(filter) = node else { return Ok(Transformed::no(node)) };
        if !tree::any_expr(&filter.predicate, &mut |e| matches!(e, Expr::InSubquery(_) | Expr::Exists(_))) {
            return Ok(Transformed::no(LogicalPlan::Filter(filter)));
        }
        let terms = split_conjunction_owned(filter.predicate)
            .into_iter()
            .map(|term| rewrite.term(term, &filter.input))
            .collect::<DfResult<Vec<_>>>()?;
        let predicate = conjunction(terms).unwrap_or_else(|| lit(true));
        Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
    })?;
    let plan = selected::rewrite(plan.data, &mut rewrite)?;
    match rewrite.refused {
        Some(what) => Err(Error::Unsupported(what.into())),
        None => Ok(plan),
    }
}

struct Rewrite {
    aliases: usize,
    refused: Option<&'static str>,
}

impl Rewrite {
    /// A term of WHERE or HAVING, of which false and unknown are the same.
    fn term(&mut self, term: Expr, outer: &LogicalPlan) -> DfResult<Expr> {
        let (negated, inner) = match term {
            Expr::Not(inner) => (true, *inner),
            term => (false, term),
        };
        match inner {
            Expr::InSubquery(mut q) => {
                q.negated ^= negated;
                q.expr = Box::new(self.within(*q.expr, outer)?);
                self.in_term(q, outer)
            }
            inner => {
                let inner = self.within(inner, outer)?;
                Ok(if negated { !inner } else { inner })
            }
        }
    }

    /// All IN and EXISTS of an expression of which false and unknown differ.
    fn within(&mut self, e: Expr, outer: &LogicalPlan) -> DfResult<Expr> {
        let e = tree::expr_up(e, &mut |e| match e {
            Expr::InSubquery(q) => Ok(Transformed::yes(self.in_value(q, outer)?)),
            Expr::Exists(q) => Ok(Transformed::yes(self.exists(q))),
            e => Ok(Transformed::no(e)),
        })?;
        Ok(e.data)
    }

    fn in_term(&mut self, q: InSubquery, outer: &LogicalPlan) -> DfResult<Expr> {
        if let Some(equal) = self.scalar(&q) {
            return Ok(equal);
        }
        // A constant left side would be pushed below the null-aware join, as a filter that loses the NULLs.
        let joined = q.subquery.outer_ref_columns.is_empty() && q.expr.any_column_refs();
        if !q.negated || joined {
            return Ok(Expr::InSubquery(q));
        }
        let Some(parts) = self.parts(&q, outer)? else { return Ok(Expr::InSubquery(q)) };
        let unknown = parts.unknown.map(|u| !u);
        Ok(conjunction([Some(!parts.equal), unknown].into_iter().flatten()).unwrap_or_else(|| lit(true)))
    }

    fn in_value(&mut self, q: InSubquery, outer: &LogicalPlan) -> DfResult<Expr> {
        if let Some(equal) = self.scalar(&q) {
            return Ok(equal);
        }
        let Some(parts) = self.parts(&q, outer)? else { return Ok(Expr::InSubquery(q)) };
        let null = Expr::Literal(ScalarValue::Boolean(None), None);
        let value = match parts.unknown {
            Some(unknown) => parts.equal.or(unknown.and(null)),
            None => parts.equal,
        };
        Ok(if q.negated { !value } else { value })
    }

    /// `x = (SELECT aggregate …)` for IN of a correlated aggregate without GROUP BY.
    fn scalar(&mut self, q: &InSubquery) -> Option<Expr> {
        if q.subquery.outer_ref_columns.is_empty() {
            return None;
        }
        let shape = Shape::of(&q.subquery.subquery);
        if shape.cut {
            self.refused = Some("LIMIT and OFFSET in a correlated IN (SELECT …)");
        }
        if !shape.one_row {
            return None;
        }
        if !shape.having.is_empty() {
            self.refused = Some("HAVING without GROUP BY in a correlated IN (SELECT …)");
        }
        let value = Expr::ScalarSubquery(q.subquery.clone());
        Some(if q.negated {
            q.expr.as_ref().clone().not_eq(value)
        } else {
            q.expr.as_ref().clone().eq(value)
        })
    }

    fn exists(&mut self, q: Exists) -> Expr {
        if q.subquery.outer_ref_columns.is_empty() {
            return Expr::Exists(q);
        }
        let shape = Shape::of(&q.subquery.subquery);
        if shape.offset {
            self.refused = Some("OFFSET in a correlated EXISTS");
        }
        if !shape.one_row {
            return Expr::Exists(q);
        }
        let found = match (conjunction(shape.having), shape.aggregate) {
            (Some(having), Some(aggregate)) => {
                // The condition may name columns of a query between the two.
                let Ok(value) = Projection::try_new(vec![having], Arc::new(aggregate)) else {
                    self.refused = Some("a correlated aggregate below WHERE in EXISTS");
                    return Expr::Exists(q);
                };
                let plan = Arc::new(LogicalPlan::Projection(value));
                Expr::ScalarSubquery(Subquery { subquery: plan, ..q.subquery }).is_true()
            }
            _ => lit(true),
        };
        if q.negated { !found } else { found }
    }

    /// Takes an IN apart.
    fn parts(&mut self, q: &InSubquery, of: &LogicalPlan) -> DfResult<Option<Parts>> {
        let (x, plan) = (q.expr.as_ref(), q.subquery.subquery.as_ref());
        let schema = of.schema();
        let x_null = x.nullable(schema)?;
        let y_null = plan.schema().field(0).is_nullable();
        let inner_x = outer(x.clone(), schema)?;
        let mut outer_columns = q.subquery.outer_ref_columns.clone();
        tree::look_at_expr(&inner_x, &mut |e| {
            if matches!(e, Expr::OuterReferenceColumn(..)) && !outer_columns.contains(e) {
                outer_columns.push(e.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let (rows, y) = if q.subquery.outer_ref_columns.is_empty() {
            self.aliases += 1;
            let name = format!("__in_{}", self.aliases);
            let column = Column::new(Some(TableReference::bare(name.clone())), plan.schema().field(0).name());
            let alias = SubqueryAlias::try_new(q.subquery.subquery.clone(), name)?;
            (LogicalPlan::SubqueryAlias(alias), Expr::Column(column))
        } else {
            match source(plan) {
                LogicalPlan::Projection(p) => (p.input.as_ref().clone(), p.expr[0].clone().unalias()),
                other => {
                    let (table, field) = other.schema().qualified_field(0);
                    (other.clone(), Expr::Column(Column::from((table, field))))
                }
            }
        };
        // An outer column that the subquery has too could not be told from it.
        let clash = !q.subquery.outer_ref_columns.is_empty()
            && x.column_refs().into_iter().any(|c| rows.schema().has_column(c));
        if clash {
            self.refused =
                Some("NOT IN (SELECT …) of a table by the name of the outer one; give it another alias");
            return Ok(None);
        }
        let exists = |condition: Option<Expr>| -> DfResult<Expr> {
            let names_x = condition.as_ref().is_some_and(Expr::contains_outer);
            // One filter: of two, one above the other, the optimiser would lose the columns of the first.
            let plan = match (condition, rows.clone()) {
                (None, rows) => rows,
                (Some(c), LogicalPlan::Filter(f)) => {
                    LogicalPlan::Filter(Filter::try_new(f.predicate.and(c), f.input)?)
                }
                (Some(c), rows) => LogicalPlan::Filter(Filter::try_new(c, Arc::new(rows))?),
            };
            let correlated = !q.subquery.outer_ref_columns.is_empty();
            let outer_ref_columns = if names_x || correlated { outer_columns.clone() } else { vec![] };
            let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() };
            Ok(Expr::Exists(Exists { subquery, negated: false }))
        };
        let equal = exists(Some(y.clone().eq(inner_x)))?;
        let null_y = y_null.then(|| exists(Some(y.is_null()))).transpose()?;
        let null_x = x_null
            .then(|| Ok::<_, datafusion_common::DataFusionError>(x.clone().is_null().and(exists(None)?)));
        let unknown = [null_y, null_x.transpose()?].into_iter().flatten().reduce(Expr::or);
        Ok(Some(Parts { equal, unknown }))
    }
}

/// An IN, taken apart.
struct Parts {
    /// A row equals.
    equal: Expr,
    /// A row may equal, if one can: it or the left side is NULL.
    unknown: Option<Expr>,
}

/// The plan below what does not change whether a row is there.
fn source(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Distinct(Distinct::All(input)) => source(input),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => source(&sort.input),
        other => other,
    }
}

/// What the rows of a correlated subquery come from.
#[derive(Default)]
struct Shape {
    /// An aggregate without GROUP BY: one row, or none by its HAVING.
    one_row: bool,
    aggregate: Option<LogicalPlan>,
    having: Vec<Expr>,
    /// There is an OFFSET, or a LIMIT 0, above what is correlated.
    offset: bool,
    /// There is a LIMIT or an OFFSET above what is correlated.
    cut: bool,
}

impl Shape {
    fn of(plan: &LogicalPlan) -> Shape {
        let mut shape = Shape::default();
        // Looking does not fail.
        let _ = tree::look_at_plan(plan, &mut |node| {
            if let LogicalPlan::Limit(limit) = node
                && correlated(node)
            {
                shape.cut = true;
                let skips = !matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)));
                let nothing = matches!(limit.get_fetch_type(), Ok(FetchType::Literal(Some(0))));
                shape.offset |= skips || nothing;
            }
            Ok(TreeNodeRecursion::Continue)
        });
        let mut node = plan;
        loop {
            node = match node {
                LogicalPlan::Projection(p) => &p.input,
                LogicalPlan::SubqueryAlias(a) => &a.input,
                LogicalPlan::Sort(s) => &s.input,
                LogicalPlan::Limit(l) => &l.input,
                LogicalPlan::Distinct(Distinct::All(input)) => input,
                LogicalPlan::Filter(f) => {
                    shape.having.push(f.predicate.clone());
                    &f.input
                }
                LogicalPlan::Aggregate(a) if a.group_expr.is_empty() && correlated(node) => {
                    shape.one_row = true;
                    shape.aggregate = Some(node.clone());
                    return shape;
                }
                _ => return shape,
            };
        }
    }
}

/// Whether a node or one below it names an outer column.
fn correlated(plan: &LogicalPlan) -> bool {
    tree::any_plan(plan, &mut |node| node.contains_outer_reference())
}

/// An expression over `schema` as a subquery sees it.
fn outer(e: Expr, schema: &DFSchema) -> DfResult<Expr> {
    let seen = tree::expr_up(e, &mut |e| {
        let Expr::Column(column) = e else { return Ok(Transformed::no(e)) };
        let field = schema.qualified_field_from_column(&column)?.1.clone();
        Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
    })?;
    Ok(seen.data)
}
