//! A name of its own for each relation of a plan, so that the columns of one are never taken for those of another.
//!
//! The planner knows a column by the name of its relation and its own. In `SELECT i FROM t WHERE i > ANY (SELECT i FROM
//! t)` both columns are `t.i` to it: once the subquery is a join they are one column. Here each table, set operation
//! and list of computed columns gets a name that nothing else in the statement has. The names of columns stay, so that
//! the result's do; those of constants without an alias are given back at the end.

use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, DFSchemaRef, Result, not_impl_err};
use datafusion_expr::expr::{Exists, InSubquery, SetComparison, Sort as SortExpr};
use datafusion_expr::logical_plan::{
    Aggregate, Distinct, DistinctOn, Extension, Join, JoinConstraint, Limit, Projection, Sort, SubqueryAlias,
    Union, Values,
};
use datafusion_expr::{Expr, Filter, JoinType, LogicalPlan, Subquery};

use crate::tree;

/// Renames the relations of a plan and of its subqueries.
pub(super) fn rename(plan: &LogicalPlan) -> Result<LogicalPlan> {
    let renamed = Names { given: 0, outer: vec![] }.plan(plan)?;
    let fields = plan.schema().fields();
    if renamed.columns.iter().zip(fields).all(|(column, field)| column.name == *field.name()) {
        return Ok(renamed.plan);
    }
    let exprs = renamed.columns.into_iter().zip(fields).map(|(column, field)| {
        if column.name == *field.name() {
            Expr::Column(column)
        } else {
            Expr::Column(column).alias(field.name())
        }
    });
    Ok(LogicalPlan::Projection(Projection::try_new(exprs.collect(), Arc::new(renamed.plan))?))
}

struct Names {
    given: usize,
    /// The queries around the one that is being renamed, the outermost first.
    outer: Vec<Scope>,
}

/// The columns of a plan, by their names before and after.
#[derive(Clone)]
struct Scope {
    before: DFSchemaRef,
    after: Vec<Column>,
}

impl Scope {
    fn find(&self, column: &Column) -> Option<Column> {
        self.after.get(self.before.maybe_index_of_column(column)?).cloned()
    }
}

/// A plan with new names, and for each column that it had before the one that it is now.
struct Renamed {
    plan: LogicalPlan,
    columns: Vec<Column>,
}

impl Renamed {
    /// A plan whose columns are those it had before, in their order.
    fn in_order(plan: LogicalPlan) -> Renamed {
        Renamed { columns: plan.schema().columns(), plan }
    }
}

impl Names {
    fn fresh(&mut self) -> String {
        self.given += 1;
        format!("__r{}", self.given)
    }

    fn plan(&mut self, plan: &LogicalPlan) -> Result<Renamed> {
        match plan {
            LogicalPlan::TableScan(_) | LogicalPlan::EmptyRelation(_) => self.relation(plan.clone()),
            LogicalPlan::SubqueryAlias(a) => match a.input.as_ref() {
                scan @ LogicalPlan::TableScan(_) => self.relation(scan.clone()),
                input => {
                    let input = self.plan(input)?;
                    let input = project(input.plan, input.columns)?;
                    self.relation(input)
                }
            },
            LogicalPlan::Values(values) => {
                let none = Scope { before: Arc::new(datafusion_common::DFSchema::empty()), after: vec![] };
                let rows = values.values.iter();
                let rows = rows.map(|row| self.exprs(row, &none)).collect::<Result<Vec<_>>>()?;
                self.relation(LogicalPlan::Values(Values { schema: values.schema.clone(), values: rows }))
            }
            LogicalPlan::Projection(p) => {
                let (input, scope) = self.input(&p.input)?;
                let exprs = self.named(&p.expr, p.schema.fields().iter().map(|f| f.name()), &scope)?;
                Ok(Renamed::in_order(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?)))
            }
            LogicalPlan::Filter(f) => {
                let (input, scope) = self.input(&f.input)?;
                let predicate = self.expr(f.predicate.clone(), &scope)?;
                let plan = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?);
                Ok(Renamed { plan, columns: scope.after })
            }
            LogicalPlan::Sort(s) => {
                let (input, scope) = self.input(&s.input)?;
                let expr = self.keys(&s.expr, &scope)?;
                let plan = LogicalPlan::Sort(Sort { expr, input: Arc::new(input), fetch: s.fetch });
                Ok(Renamed { plan, columns: scope.after })
            }
            LogicalPlan::Limit(l) => {
                let (input, scope) = self.input(&l.input)?;
                let plan = LogicalPlan::Limit(Limit { input: Arc::new(input), ..l.clone() });
                Ok(Renamed { plan, columns: scope.after })
            }
            LogicalPlan::Distinct(Distinct::All(below)) => {
                let below = self.plan(below)?;
                let input = project(below.plan, below.columns)?;
                let columns = input.schema().columns();
                Ok(Renamed { plan: LogicalPlan::Distinct(Distinct::All(Arc::new(input))), columns })
            }
            LogicalPlan::Distinct(Distinct::On(d)) => {
                let (input, scope) = self.input(&d.input)?;
                let on = self.exprs(&d.on_expr, &scope)?;
                let select =
                    self.named(&d.select_expr, d.schema.fields().iter().map(|f| f.name()), &scope)?;
                let sort = d.sort_expr.as_ref().map(|keys| self.keys(keys, &scope)).transpose()?;
                let on = DistinctOn::try_new(on, select, sort, Arc::new(input))?;
                Ok(Renamed::in_order(LogicalPlan::Distinct(Distinct::On(on))))
            }
            LogicalPlan::Aggregate(a) => self.aggregate(a),
            LogicalPlan::Join(j) => self.join(j),
            LogicalPlan::Union(u) => {
                let inputs = u.inputs.iter().map(|input| self.side(input)).collect::<Result<_>>()?;
                self.relation(LogicalPlan::Union(Union { inputs, schema: u.schema.clone() }))
            }
            LogicalPlan::Extension(e) => {
                let inputs = e.node.inputs().into_iter();
                let inputs = inputs
                    .map(|input| Ok(Arc::unwrap_or_clone(self.side(input)?)))
                    .collect::<Result<Vec<_>>>()?;
                let node = e.node.with_exprs_and_inputs(e.node.expressions(), inputs)?;
                self.relation(LogicalPlan::Extension(Extension { node }))
            }
            other => not_impl_err!("{} beside a subquery", other.display()),
        }
    }

    /// A plan under a name of its own.
    fn relation(&mut self, plan: LogicalPlan) -> Result<Renamed> {
        let alias = SubqueryAlias::try_new(Arc::new(plan), self.fresh())?;
        Ok(Renamed::in_order(LogicalPlan::SubqueryAlias(alias)))
    }

    fn input(&mut self, plan: &LogicalPlan) -> Result<(LogicalPlan, Scope)> {
        let renamed = self.plan(plan)?;
        Ok((renamed.plan, Scope { before: plan.schema().clone(), after: renamed.columns }))
    }

    /// The side of a set operation: the columns that it had, by the names that they had.
    fn side(&mut self, plan: &LogicalPlan) -> Result<Arc<LogicalPlan>> {
        let renamed = self.plan(plan)?;
        let exprs =
            renamed.columns.into_iter().zip(plan.schema().iter()).map(|(column, (relation, field))| {
                Expr::Column(column).alias_qualified(relation.cloned(), field.name())
            });
        let side = Projection::try_new(exprs.collect(), Arc::new(renamed.plan))?;
        Ok(Arc::new(LogicalPlan::Projection(side)))
    }

    /// The columns of an aggregate are known by their expressions; above it stands a list that names them.
    fn aggregate(&mut self, a: &Aggregate) -> Result<Renamed> {
        let (input, scope) = self.input(&a.input)?;
        let group = self.exprs(&a.group_expr, &scope)?;
        let aggregates = self.exprs(&a.aggr_expr, &scope)?;
        let aggregate = Aggregate::try_new(Arc::new(input), group, aggregates)?;
        let relation = self.fresh();
        let mut columns = Vec::new();
        let mut exprs = Vec::new();
        for (column, field) in aggregate.schema.columns().into_iter().zip(a.schema.fields()) {
            if column.name == Aggregate::INTERNAL_GROUPING_ID {
                columns.push(column);
                continue;
            }
            let named = match column.relation {
                Some(_) => Expr::Column(column),
                None => Expr::Column(column).alias_qualified(Some(relation.clone()), field.name()),
            };
            let (relation, name) = named.qualified_name();
            columns.push(Column::new(relation, name));
            exprs.push(named);
        }
        let named = Projection::try_new(exprs, Arc::new(LogicalPlan::Aggregate(aggregate)))?;
        Ok(Renamed { plan: LogicalPlan::Projection(named), columns })
    }

    fn join(&mut self, j: &Join) -> Result<Renamed> {
        let left = self.plan(&j.left)?;
        let (before, after) = (j.left.schema().clone(), left.columns.clone());
        let left_scope = Scope { before, after };
        // What LATERAL stands before names columns of the left side.
        let right = match lateral(&j.right)? {
            Some(q) => {
                let q = self.subquery(q, &left_scope)?;
                let columns = q.subquery.schema().columns();
                Renamed { plan: LogicalPlan::Subquery(q), columns }
            }
            None => self.plan(&j.right)?,
        };
        let (before, after) = (j.right.schema().clone(), right.columns.clone());
        let right_scope = Scope { before, after };
        let both = Scope {
            before: Arc::new(j.left.schema().join(j.right.schema())?),
            after: [left.columns.clone(), right.columns.clone()].concat(),
        };
        let on =
            j.on.iter()
                .map(|(l, r)| Ok((self.expr(l.clone(), &left_scope)?, self.expr(r.clone(), &right_scope)?)));
        let on = on.collect::<Result<Vec<_>>>()?;
        let filter = j.filter.clone().map(|f| self.expr(f, &both)).transpose()?;
        let columns = match j.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => left.columns,
            JoinType::RightSemi | JoinType::RightAnti => right.columns,
            JoinType::LeftMark | JoinType::RightMark => {
                return not_impl_err!("a mark join beside a subquery");
            }
            _ => both.after,
        };
        let join = Join::try_new(
            Arc::new(left.plan),
            Arc::new(right.plan),
            on,
            filter,
            j.join_type,
            JoinConstraint::On,
            j.null_equality,
            j.null_aware,
        )?;
        Ok(Renamed { plan: LogicalPlan::Join(join), columns })
    }

    fn exprs(&mut self, exprs: &[Expr], scope: &Scope) -> Result<Vec<Expr>> {
        exprs.iter().map(|e| self.expr(e.clone(), scope)).collect()
    }

    fn keys(&mut self, keys: &[SortExpr], scope: &Scope) -> Result<Vec<SortExpr>> {
        keys.iter()
            .map(|key| Ok(SortExpr { expr: self.expr(key.expr.clone(), scope)?, ..key.clone() }))
            .collect()
    }

    /// Selected expressions; what is computed gets a relation of its own. A constant that is named as it is gets another
    /// name too: the optimiser would take such a name off, and the relation with it.
    fn named<'a>(
        &mut self,
        exprs: &[Expr],
        names: impl Iterator<Item = &'a String>,
        scope: &Scope,
    ) -> Result<Vec<Expr>> {
        let relation = self.fresh();
        let mut named = Vec::with_capacity(exprs.len());
        for (e, name) in exprs.iter().zip(names) {
            named.push(match self.expr(e.clone(), scope)? {
                Expr::Column(column) if column.name == *name => Expr::Column(column),
                other => {
                    let e = other.unalias();
                    let name = match e.schema_name().to_string() == *name {
                        true => format!("{relation} {name}"),
                        false => name.clone(),
                    };
                    e.alias_qualified(Some(relation.clone()), name)
                }
            });
        }
        Ok(named)
    }

    fn expr(&mut self, e: Expr, scope: &Scope) -> Result<Expr> {
        let renamed = tree::expr_up(e, &mut |e| match e {
            Expr::Column(column) => {
                let found = scope.find(&column);
                Ok(Transformed::yes(Expr::Column(found.unwrap_or(column))))
            }
            Expr::OuterReferenceColumn(field, column) => {
                match self.outer.iter().rev().find_map(|scope| scope.find(&column)) {
                    Some(found) => Ok(Transformed::yes(Expr::OuterReferenceColumn(field, found))),
                    None => not_impl_err!("a subquery that names '{}' here", column.name),
                }
            }
            Expr::ScalarSubquery(q) => Ok(Transformed::yes(Expr::ScalarSubquery(self.subquery(q, scope)?))),
            Expr::Exists(q) => {
                let subquery = self.subquery(q.subquery, scope)?;
                Ok(Transformed::yes(Expr::Exists(Exists { subquery, negated: q.negated })))
            }
            Expr::InSubquery(q) => {
                let subquery = self.subquery(q.subquery, scope)?;
                Ok(Transformed::yes(Expr::InSubquery(InSubquery { subquery, ..q })))
            }
            Expr::SetComparison(q) => {
                let subquery = self.subquery(q.subquery, scope)?;
                Ok(Transformed::yes(Expr::SetComparison(SetComparison { subquery, ..q })))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(renamed.data)
    }

    fn subquery(&mut self, q: Subquery, scope: &Scope) -> Result<Subquery> {
        self.outer.push(scope.clone());
        let renamed = self.plan(&q.subquery);
        self.outer.pop();
        let renamed = renamed?;
        let plan = project(renamed.plan, renamed.columns)?;
        Ok(Subquery { outer_ref_columns: plan.all_out_ref_exprs(), subquery: Arc::new(plan), spans: q.spans })
    }
}

/// What stands behind LATERAL, under the name that it is given.
fn lateral(plan: &LogicalPlan) -> Result<Option<Subquery>> {
    match plan {
        LogicalPlan::Subquery(q) => Ok(Some(q.clone())),
        LogicalPlan::SubqueryAlias(a) => match a.input.as_ref() {
            LogicalPlan::Subquery(q) => {
                let named = SubqueryAlias::try_new(q.subquery.clone(), a.alias.clone())?;
                Ok(Some(q.with_plan(Arc::new(LogicalPlan::SubqueryAlias(named)))))
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The columns that a plan had before, and no others.
fn project(plan: LogicalPlan, columns: Vec<Column>) -> Result<LogicalPlan> {
    if plan.schema().columns() == columns {
        return Ok(plan);
    }
    let columns = columns.into_iter().filter(|c| c.name != Aggregate::INTERNAL_GROUPING_ID);
    let exprs = columns.map(Expr::Column).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
}
