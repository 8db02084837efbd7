//! A correlated subquery computed for each distinct combination of the outer columns that it names, its *domain*.
//!
//! The domain is a relation like any other. It is moved down to where the outer columns are named and from there on it
//! is carried along: it is joined to tables, added to the keys of aggregates, and what stands on both sides of a join
//! meets where its domains are equal. At the top each outer row is joined to the rows of its combination.
//!
//! After Thomas Neumann and Alfons Kemper, Unnesting Arbitrary Queries (BTW 2015), section 3. Unlike there the domain is
//! taken from the smallest part of the outer plan that has the columns: combinations that no row has do no harm.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, DFSchema, NullEquality, Result, ScalarValue, not_impl_err};
use datafusion_expr::expr::{GroupingSet, Sort as SortExpr};
use datafusion_expr::logical_plan::{
    Aggregate, Distinct, DistinctOn, Extension, Join, JoinConstraint, Limit, Projection, SubqueryAlias, Union,
};
use datafusion_expr::utils::conjunction;
use datafusion_expr::{Expr, FetchType, Filter, JoinType, LogicalPlan, SkipType, lit};
use datafusion_functions::core::expr_fn::coalesce;

use super::scalar::{of_nothing, or};
use super::{Rewrite, columns_of, has, join, project};
use crate::rewrite::multiset::Repeat;
use crate::tree;

impl Rewrite {
    /// The rows of a subquery for each combination, and the conditions under which they belong to a row of `outer`.
    pub(super) fn dependent(
        &mut self,
        plan: LogicalPlan,
        outer: &LogicalPlan,
    ) -> Result<(LogicalPlan, Vec<Expr>)> {
        let columns = columns_of(&plan, outer.schema());
        let (source, named) = source(outer, columns.clone());
        if tree::any_plan(&source, &mut is_arbitrary) {
            return not_impl_err!("this correlated subquery over a query with LIMIT");
        }
        let mut types = Vec::with_capacity(columns.len());
        for column in &columns {
            let field = outer.schema().qualified_field_from_column(column)?.1;
            types.push(field.data_type().clone());
        }
        let mut push = Push { names: self, source, named, columns, types };
        let (plan, domain) = push.plan(plan)?;
        let on = push.same(&push.columns, &domain)?;
        Ok((plan, on))
    }
}

/// Whether two runs of a node may give different rows.
fn is_arbitrary(node: &LogicalPlan) -> bool {
    matches!(node, LogicalPlan::Limit(_) | LogicalPlan::Distinct(Distinct::On(_)))
        || node.expressions().iter().any(Expr::is_volatile)
}

/// The smallest part of a plan that has the columns, or more rows of them, and their names there.
fn source(plan: &LogicalPlan, columns: Vec<Column>) -> (LogicalPlan, Vec<Column>) {
    let all = |plan: &LogicalPlan| columns.iter().all(|c| has(plan.schema(), c));
    let below = match plan {
        LogicalPlan::Sort(s) => Some((&s.input, columns.clone())),
        LogicalPlan::Limit(l) => Some((&l.input, columns.clone())),
        LogicalPlan::Distinct(Distinct::All(input)) => Some((input, columns.clone())),
        LogicalPlan::Filter(f) if tree::any_plan(&f.input, &mut is_arbitrary) => {
            Some((&f.input, columns.clone()))
        }
        LogicalPlan::SubqueryAlias(a) if !matches!(*a.input, LogicalPlan::TableScan(_)) => {
            let names = a.input.schema().columns();
            let places = columns.iter().map(|c| a.schema.maybe_index_of_column(c));
            let below = places.map(|i| names.get(i?).cloned()).collect::<Option<Vec<_>>>();
            below.map(|below| (&a.input, below))
        }
        LogicalPlan::Projection(p) => {
            let places = columns.iter().map(|c| p.schema.maybe_index_of_column(c));
            let below = places.map(|i| match p.expr.get(i?)?.clone().unalias() {
                Expr::Column(column) => Some(column),
                _ => None,
            });
            below.collect::<Option<Vec<_>>>().map(|below| (&p.input, below))
        }
        LogicalPlan::Join(j) => match j.join_type {
            JoinType::Inner
            | JoinType::Left
            | JoinType::LeftSemi
            | JoinType::LeftAnti
            | JoinType::LeftMark
                if all(&j.left) =>
            {
                Some((&j.left, columns.clone()))
            }
            JoinType::Inner
            | JoinType::Right
            | JoinType::RightSemi
            | JoinType::RightAnti
            | JoinType::RightMark
                if all(&j.right) =>
            {
                Some((&j.right, columns.clone()))
            }
            _ => None,
        },
        _ => None,
    };
    match below {
        Some((below, columns)) => source(below, columns),
        None => (plan.clone(), columns),
    }
}

/// What moves a domain down.
struct Push<'a> {
    names: &'a mut Rewrite,
    /// Where the domain comes from, and its columns there.
    source: LogicalPlan,
    named: Vec<Column>,
    /// The outer columns by the names that the subquery has for them.
    columns: Vec<Column>,
    /// Their types.
    types: Vec<DataType>,
}

/// A plan with the columns that it had and those of a domain, and the names of the latter.
type Pushed = (LogicalPlan, Vec<Column>);

impl Push<'_> {
    fn plan(&mut self, plan: LogicalPlan) -> Result<Pushed> {
        if !self.is_in(&plan) {
            let (domain, columns) = self.domain()?;
            return Ok((join(domain, plan, None, JoinType::Inner)?, columns));
        }
        match plan {
            LogicalPlan::Projection(p) => {
                let (input, domain) = self.plan(Arc::unwrap_or_clone(p.input))?;
                let exprs = self.inside_all(p.expr, &domain)?.into_iter().chain(exprs(&domain)).collect();
                Ok((LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?), domain))
            }
            LogicalPlan::Filter(f) => {
                let (input, domain) = self.plan(Arc::unwrap_or_clone(f.input))?;
                let predicate = self.inside(f.predicate, &domain)?;
                Ok((LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?), domain))
            }
            LogicalPlan::SubqueryAlias(a) => {
                let columns = a.input.schema().columns();
                let (input, domain) = self.plan(Arc::unwrap_or_clone(a.input))?;
                let (plan, domain) = self.renamed(input, columns, domain)?;
                let width = plan.schema().fields().len() - domain.len();
                let alias = SubqueryAlias::try_new(Arc::new(plan), a.alias)?;
                let domain = alias.schema.columns().split_off(width);
                Ok((LogicalPlan::SubqueryAlias(alias), domain))
            }
            LogicalPlan::Sort(s) => self.plan(Arc::unwrap_or_clone(s.input)),
            LogicalPlan::Limit(l) => self.limit(l),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let columns = input.schema().columns();
                let (input, domain) = self.plan(Arc::unwrap_or_clone(input))?;
                let input = project(input, [columns, domain.clone()].concat())?;
                Ok((LogicalPlan::Distinct(Distinct::All(Arc::new(input))), domain))
            }
            LogicalPlan::Distinct(Distinct::On(d)) => {
                let (input, domain) = self.plan(Arc::unwrap_or_clone(d.input))?;
                let on = self.inside_all(d.on_expr, &domain)?;
                let select = self.inside_all(d.select_expr, &domain)?;
                let keys = d.sort_expr.unwrap_or_default();
                self.first(input, domain, on, select, keys)
            }
            LogicalPlan::Aggregate(a) => self.aggregate(a),
            LogicalPlan::Join(j) => self.join(j),
            LogicalPlan::Union(u) => self.union(u),
            LogicalPlan::Extension(e) => {
                let Some(repeat) = e.node.as_any().downcast_ref::<Repeat>() else {
                    return not_impl_err!("{} in this correlated subquery", e.node.name());
                };
                let columns = repeat.input.schema().columns();
                let (input, domain) = self.plan(repeat.input.as_ref().clone())?;
                // Last is how often a row is repeated.
                let mut order = columns;
                let times = order.pop();
                order.extend(domain.iter().cloned().chain(times));
                let node = repeat.carrying(project(input, order)?, domain.len())?;
                Ok((LogicalPlan::Extension(Extension { node: Arc::new(node) }), domain))
            }
            other => not_impl_err!("{} in this correlated subquery", other.display()),
        }
    }

    /// Whether a plan names columns of the domain.
    fn is_in(&self, plan: &LogicalPlan) -> bool {
        super::outer_columns(plan).iter().any(|c| self.columns.contains(c))
    }

    fn names(&self, e: &Expr) -> bool {
        let mut named = Vec::new();
        super::collect(e, &mut named);
        named.iter().any(|c| self.columns.contains(c))
    }

    /// A new instance of the domain.
    fn domain(&mut self) -> Result<Pushed> {
        let name = self.names.fresh("domain");
        let exprs = self.named.iter().enumerate();
        let exprs = exprs.map(|(i, c)| Expr::Column(c.clone()).alias(format!("{name}_{i}"))).collect();
        let named = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(self.source.clone()))?);
        let distinct = LogicalPlan::Distinct(Distinct::All(Arc::new(named)));
        let alias = SubqueryAlias::try_new(Arc::new(distinct), name)?;
        let columns = alias.schema.columns();
        Ok((LogicalPlan::SubqueryAlias(alias), columns))
    }

    /// Where two instances have the same combination. NULL is one of the values: what a plan says of that is wrong at times.
    fn same(&self, left: &[Column], right: &[Column]) -> Result<Vec<Expr>> {
        let mut on = Vec::new();
        for ((l, r), data_type) in left.iter().zip(right).zip(&self.types) {
            let (l, r) = (Expr::Column(l.clone()), Expr::Column(r.clone()));
            // Two equalities, and not IS NOT DISTINCT FROM: the optimiser would make all keys of a join such.
            let some = lit(ScalarValue::new_default(data_type)?);
            on.push(coalesce(vec![l.clone(), some.clone()]).eq(coalesce(vec![r.clone(), some])));
            on.push(l.is_null().eq(r.is_null()));
        }
        Ok(on)
    }

    /// An expression with the columns of the domain for the outer ones.
    fn inside(&self, e: Expr, domain: &[Column]) -> Result<Expr> {
        let place = |column: &Column| self.columns.iter().position(|c| c == column);
        let seen = tree::expr_up(e, &mut |e| match &e {
            Expr::OuterReferenceColumn(_, column) => Ok(match place(column) {
                Some(i) => Transformed::yes(Expr::Column(domain[i].clone())),
                None => Transformed::no(e),
            }),
            _ => Ok(Transformed::no(e)),
        })?;
        Ok(seen.data)
    }

    fn inside_all(&self, exprs: Vec<Expr>, domain: &[Column]) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|e| self.inside(e, domain)).collect()
    }

    /// The columns of a plan, then those of the domain under names that no other column of it has.
    fn renamed(&mut self, plan: LogicalPlan, columns: Vec<Column>, domain: Vec<Column>) -> Result<Pushed> {
        let name = self.names.fresh("domain");
        let names = domain.iter().enumerate();
        let named = names.map(|(i, c)| Expr::Column(c.clone()).alias(format!("{name}_{i}")));
        let exprs = columns.into_iter().map(Expr::Column).chain(named).collect::<Vec<_>>();
        let width = exprs.len() - domain.len();
        let plan = Projection::try_new(exprs, Arc::new(plan))?;
        let domain = plan.schema.columns().split_off(width);
        Ok((LogicalPlan::Projection(plan), domain))
    }

    /// The first row of each combination.
    fn limit(&mut self, l: Limit) -> Result<Pushed> {
        let all = matches!(l.get_skip_type()?, SkipType::Literal(0));
        let FetchType::Literal(Some(n)) = l.get_fetch_type()? else {
            return not_impl_err!("OFFSET in this correlated subquery");
        };
        let input = Arc::unwrap_or_clone(l.input);
        match (all, n) {
            (_, 0) => {
                let (input, domain) = self.plan(input)?;
                let none = LogicalPlan::Filter(Filter::try_new(lit(false), Arc::new(input))?);
                return Ok((none, domain));
            }
            (true, 1) => {}
            _ => return not_impl_err!("OFFSET, and LIMIT of more than one row, in this correlated subquery"),
        }
        // Columns that are sorted by but not selected are taken off above the sort.
        let (selected, sorted) = match input {
            LogicalPlan::Projection(p) if matches!(*p.input, LogicalPlan::Sort(_)) => {
                (Some(p.expr), Arc::unwrap_or_clone(p.input))
            }
            other => (None, other),
        };
        let columns = sorted.schema().columns();
        let (below, keys) = match sorted {
            LogicalPlan::Sort(s) => (Arc::unwrap_or_clone(s.input), s.expr),
            other => (other, vec![]),
        };
        let select = selected.unwrap_or_else(|| exprs(&columns).collect());
        let (input, domain) = self.plan(below)?;
        let select = self.inside_all(select, &domain)?;
        self.first(input, domain, vec![], select, keys)
    }

    /// The first row of each combination and group, by some order.
    fn first(
        &mut self,
        input: LogicalPlan,
        domain: Vec<Column>,
        on: Vec<Expr>,
        select: Vec<Expr>,
        keys: Vec<SortExpr>,
    ) -> Result<Pushed> {
        let on: Vec<Expr> = exprs(&domain).chain(on).collect();
        let mut order: Vec<SortExpr> = exprs(&domain).map(|e| e.sort(true, false)).collect();
        for key in keys {
            order.push(SortExpr { expr: self.inside(key.expr, &domain)?, ..key });
        }
        let order = (order.len() > domain.len()).then_some(order);
        let select = select.into_iter().chain(exprs(&domain)).collect();
        let on = DistinctOn::try_new(on, select, order, Arc::new(input))?;
        Ok((LogicalPlan::Distinct(Distinct::On(on)), domain))
    }

    fn aggregate(&mut self, a: Aggregate) -> Result<Pushed> {
        let columns = a.schema.columns();
        let (input, domain) = self.plan(Arc::unwrap_or_clone(a.input))?;
        // Above it, what is computed from outer columns is known by the name that it had.
        let inside = |e: Expr| -> Result<Expr> {
            let name = e.schema_name().to_string();
            let new = self.inside(e, &domain)?;
            Ok(if new.schema_name().to_string() == name { new } else { new.unalias().alias(name) })
        };
        let aggregates = a.aggr_expr.into_iter().map(inside).collect::<Result<Vec<_>>>()?;
        if !a.group_expr.is_empty() {
            let mut keys = Vec::new();
            for key in a.group_expr {
                keys.push(match key {
                    Expr::GroupingSet(sets) if sets.distinct_expr().into_iter().any(|e| self.names(e)) => {
                        return not_impl_err!("outer columns in GROUPING SETS");
                    }
                    Expr::GroupingSet(sets) => grouping_sets(sets, &domain)?,
                    key => inside(key)?,
                });
            }
            if !matches!(keys.as_slice(), [Expr::GroupingSet(_)]) {
                keys.extend(exprs(&domain));
            }
            let plan = Aggregate::try_new(Arc::new(input), keys, aggregates)?;
            return Ok((LogicalPlan::Aggregate(plan), domain));
        }
        // Of a combination without rows there is a row as well.
        let defaults = aggregates.iter().map(of_nothing).collect::<Result<Vec<_>>>()?;
        let grouped = Aggregate::try_new(Arc::new(input), exprs(&domain).collect(), aggregates)?;
        let (all, all_columns) = self.domain()?;
        let on = self.same(&all_columns, &domain)?;
        let plan = join(all, LogicalPlan::Aggregate(grouped), conjunction(on), JoinType::Left)?;
        let mut selected = Vec::with_capacity(columns.len() + all_columns.len());
        for (column, default) in columns.into_iter().zip(defaults) {
            let name = column.name.clone();
            selected.push(or(Expr::Column(column), default)?.unalias().alias(name));
        }
        selected.extend(exprs(&all_columns));
        Ok((LogicalPlan::Projection(Projection::try_new(selected, Arc::new(plan))?), all_columns))
    }

    fn join(&mut self, j: Join) -> Result<Pushed> {
        let in_condition = j.filter.as_ref().is_some_and(|e| self.names(e))
            || j.on.iter().any(|(l, r)| self.names(l) || self.names(r));
        let (in_left, in_right) = (self.is_in(&j.left), self.is_in(&j.right));
        let (left, right) = match j.join_type {
            JoinType::Inner => (in_left || !in_right, in_right),
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => (true, in_right),
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
                (in_left, true)
            }
            JoinType::Full => (true, true),
        };
        if j.null_aware && (right || in_condition) {
            return not_impl_err!("NOT IN in this correlated subquery");
        }
        let side = |push: &mut Self, plan: Arc<LogicalPlan>, pushed: bool| match pushed {
            true => push.plan(Arc::unwrap_or_clone(plan)).map(|(plan, domain)| (plan, Some(domain))),
            false => Ok((Arc::unwrap_or_clone(plan), None)),
        };
        let (left, of_left) = side(self, j.left, left)?;
        let (right, of_right) = side(self, j.right, right)?;
        let mut terms = Vec::new();
        if let (Some(l), Some(r)) = (&of_left, &of_right) {
            terms = self.same(l, r)?;
        }
        // A semi join gives the columns of one side, an outer one all values of one side.
        let domain = match j.join_type {
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
                of_right.clone().or(of_left.clone())
            }
            _ => of_left.clone().or(of_right.clone()),
        };
        let Some(domain) = domain else { return not_impl_err!("a join without a domain") };
        let mut pairs = Vec::with_capacity(j.on.len());
        for (l, r) in j.on {
            pairs.push((self.inside(l, &domain)?, self.inside(r, &domain)?));
        }
        if j.null_equality == NullEquality::NullEqualsNull && !terms.is_empty() {
            // Keys of such a join are equal where both are NULL: so are those of the domains.
            let (l, r) = (of_left.iter().flatten(), of_right.iter().flatten());
            pairs.extend(exprs_of(l).zip(exprs_of(r)));
            terms.clear();
        }
        if let Some(filter) = j.filter {
            terms.push(self.inside(filter, &domain)?);
        }
        let plan = LogicalPlan::Join(Join::try_new(
            Arc::new(left),
            Arc::new(right),
            pairs,
            conjunction(terms),
            j.join_type,
            JoinConstraint::On,
            j.null_equality,
            j.null_aware,
        )?);
        if j.join_type != JoinType::Full {
            return Ok((plan, domain));
        }
        // A row of a full join has the combination of the side that it has.
        let columns = plan.schema().columns();
        let name = self.names.fresh("domain");
        let mut selected: Vec<Expr> = exprs(&columns).collect();
        for (i, (l, r)) in of_left.iter().flatten().zip(of_right.iter().flatten()).enumerate() {
            let both = coalesce(vec![Expr::Column(l.clone()), Expr::Column(r.clone())]);
            selected.push(both.alias_qualified(Some(name.clone()), format!("{name}_{i}")));
        }
        let plan = Projection::try_new(selected, Arc::new(plan))?;
        let domain = plan.schema.columns().split_off(columns.len());
        Ok((LogicalPlan::Projection(plan), domain))
    }

    fn union(&mut self, u: Union) -> Result<Pushed> {
        let name = self.names.fresh("domain");
        let width = u.schema.fields().len();
        let mut inputs = Vec::with_capacity(u.inputs.len());
        for input in u.inputs {
            let columns = input.schema().columns();
            let (plan, domain) = self.plan(Arc::unwrap_or_clone(input))?;
            let named = columns.into_iter().zip(u.schema.iter()).map(|(column, (relation, field))| {
                Expr::Column(column).alias_qualified(relation.cloned(), field.name())
            });
            let domain = domain.into_iter().enumerate();
            let domain = domain.map(|(i, c)| Expr::Column(c).alias(format!("{name}_{i}")));
            let plan = Projection::try_new(named.chain(domain).collect(), Arc::new(plan))?;
            inputs.push(Arc::new(LogicalPlan::Projection(plan)));
        }
        let given = u.schema.iter().map(|(relation, field)| (relation.cloned(), field.clone()));
        let domain = inputs.first().map(|i| i.schema().clone());
        let domain =
            domain.iter().flat_map(|schema| schema.fields().iter().skip(width)).map(|f| (None, f.clone()));
        let schema = DFSchema::new_with_metadata(given.chain(domain).collect(), u.schema.metadata().clone())?;
        let domain = schema.columns().split_off(width);
        Ok((LogicalPlan::Union(Union { inputs, schema: Arc::new(schema) }), domain))
    }
}

fn exprs(columns: &[Column]) -> impl Iterator<Item = Expr> + '_ {
    exprs_of(columns.iter())
}

fn exprs_of<'a>(columns: impl Iterator<Item = &'a Column> + 'a) -> impl Iterator<Item = Expr> + 'a {
    columns.cloned().map(Expr::Column)
}

/// Grouping sets with the domain in each. Of no rows an empty set has a row all the same, which such a set would not.
fn grouping_sets(sets: GroupingSet, domain: &[Column]) -> Result<Expr> {
    match sets {
        GroupingSet::GroupingSets(sets) if sets.iter().all(|set| !set.is_empty()) => {
            let sets = sets.into_iter().map(|set| set.into_iter().chain(exprs(domain)).collect());
            Ok(Expr::GroupingSet(GroupingSet::GroupingSets(sets.collect())))
        }
        _ => not_impl_err!("ROLLUP, CUBE and an empty grouping set in this correlated subquery"),
    }
}
