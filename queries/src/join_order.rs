//! The order of inner joins: the cheapest tree by estimates from the catalog alone, so that every process plans alike.
//!
//! A tree of inner joins becomes a graph: its inputs are the relations, its predicates the edges. [`search`] finds a tree
//! over the graph, and the plan is built anew in its shape. The order of the text stays where the tree found is not clearly
//! cheaper, and where nothing is known: the number of rows of some table, a predicate that can fail or differs from one
//! evaluation to the next, or two columns of one name.
//!
//! - [`cardinality`]: about how many rows a plan gives, and how many values a column has.
//! - [`search`]: from the graph to a tree.

pub mod cardinality;
pub mod search;

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion_common::{JoinType, NullEquality, TableReference};
use datafusion_expr::logical_plan::{Filter, Join, JoinConstraint, Projection};
use datafusion_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Volatility};

use crate::error::Result;
use crate::guards::failing::fails;
use crate::optimise;
use crate::tree;
use search::{Edge, Graph, Relations, Shape};

/// The tree that was found replaces that of the text if its cost is at most this part of the other's.
const CLEARLY: f64 = 0.9;

/// Orders the inner joins of a plan that is optimised otherwise.
///
/// # Errors
/// Those of building a plan.
pub fn order(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut is_changed = false;
    let plan = ordered(plan, false, &mut is_changed)?;
    if !is_changed {
        return Ok(plan);
    }
    // Columns that no operator above reads have come back into the joins.
    optimise::without_unread_columns(plan)
}

/// Orders the inner joins of a plan, which may be `within` a tree of them that was searched, and whose order stays.
fn ordered(plan: LogicalPlan, within: bool, is_changed: &mut bool) -> Result<LogicalPlan> {
    let found = if within { None } else { Inner::of(&plan) };
    let within = is_join(&plan) && (within || found.is_some());
    if let Some((Inner { relations, predicates, .. }, shape)) = found.and_then(Inner::cheaper) {
        *is_changed = true;
        let relations = relations.iter().map(|relation| ordered((*relation).clone(), false, is_changed));
        let relations = relations.collect::<Result<Vec<_>>>()?;
        let mut left = predicates.iter().map(|predicate| (predicate.on, predicate.expr.clone())).collect();
        let built = build(&shape, &relations, &mut left)?;
        // In the order of the text again, for what is above.
        let columns = plan.schema().columns().into_iter().map(Expr::Column).collect();
        return Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(built))?));
    }
    let mut failed = None;
    let mut below = |input: LogicalPlan| {
        ordered(input, within, is_changed).map_or_else(
            |e| {
                failed = Some(e);
                datafusion_common::internal_err!("a plan could not be built")
            },
            |plan| Ok(datafusion_common::tree_node::Transformed::yes(plan)),
        )
    };
    let changed = tree::plan_children(plan, &mut below).and_then(|plan| plan.data.map_subqueries(&mut below));
    match (failed, changed) {
        (Some(e), _) => Err(e),
        (None, changed) => Ok(changed?.data),
    }
}

fn is_inner(join: &Join) -> bool {
    join.join_type == JoinType::Inner
        && join.null_equality == NullEquality::NullEqualsNothing
        && !join.null_aware
}

/// A predicate, and the relations whose columns it names.
struct Predicate {
    on: Relations,
    expr: Expr,
}

/// A tree of inner joins as what is joined and by what.
struct Inner<'a> {
    relations: Vec<&'a LogicalPlan>,
    predicates: Vec<Predicate>,
    /// The shape that the text has.
    shape: Shape,
}

impl<'a> Inner<'a> {
    /// The tree below a join; `None` if its order has to stay.
    fn of(plan: &'a LogicalPlan) -> Option<Inner<'a>> {
        let (mut relations, mut exprs) = (Vec::new(), Vec::new());
        let shape = collect(plan, &mut relations, &mut exprs)?;
        if relations.len() < 3 || !are_told_apart(&relations) {
            return None;
        }
        let predicates = exprs.into_iter().map(|expr| {
            let on = relations_of(&expr, &relations)?;
            (on != 0).then_some(Predicate { on, expr })
        });
        let predicates = predicates.collect::<Option<_>>()?;
        Some(Inner { relations, predicates, shape })
    }

    /// It, and a shape that is clearly cheaper than that of the text.
    fn cheaper(self) -> Option<(Inner<'a>, Shape)> {
        let rows = self.relations.iter().map(|relation| cardinality::rows(relation));
        let rows: Vec<f64> = rows.collect::<Option<_>>()?;
        let edges = self.predicates.iter().map(|predicate| self.edge(predicate, &rows)).collect();
        let graph = Graph { rows, edges };
        let found = search::cheapest(&graph);
        let cost = graph.cost(&found);
        let is_cheaper = cost.is_finite() && cost <= CLEARLY * graph.cost(&self.shape);
        is_cheaper.then_some((self, found))
    }

    fn edge(&self, predicate: &Predicate, rows: &[f64]) -> Edge {
        let of = |expr: &Expr| {
            let on = relations_of(expr, &self.relations).filter(|on| on.count_ones() == 1)?;
            let number = on.trailing_zeros() as usize;
            Some((on, cardinality::values(self.relations[number], expr).unwrap_or(rows[number])))
        };
        let equal = match &predicate.expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => of(left).zip(of(right)),
            _ => None,
        };
        match equal {
            Some(((a, of_a), (b, of_b))) if a != b => {
                Edge { on: predicate.on, part: 1.0 / of_a.min(of_b).max(1.0), is_key: true }
            }
            _ => Edge { on: predicate.on, part: cardinality::kept(&predicate.expr), is_key: false },
        }
    }
}

/// The relations and the predicates of a tree of inner joins, and its shape. Projections that only leave columns out are
/// looked through.
fn collect<'a>(
    plan: &'a LogicalPlan,
    relations: &mut Vec<&'a LogicalPlan>,
    predicates: &mut Vec<Expr>,
) -> Option<Shape> {
    match plan {
        LogicalPlan::Join(join) if is_inner(join) && is_free(join) => {
            let left = collect(&join.left, relations, predicates)?;
            let right = collect(&join.right, relations, predicates)?;
            predicates.extend(predicates_of(join));
            Some(Shape::join(left, right))
        }
        LogicalPlan::Projection(projection) if is_join(plan) => {
            collect(&projection.input, relations, predicates)
        }
        _ if relations.len() == search::MOST_RELATIONS => None,
        relation => {
            relations.push(relation);
            Some(Shape::Relation(relations.len() - 1))
        }
    }
}

/// Whether the columns of all relations are told apart by their names. A column without the name of a relation is taken for
/// any of its own name.
fn are_told_apart(relations: &[&LogicalPlan]) -> bool {
    let mut known: BTreeMap<&str, Vec<Option<&TableReference>>> = BTreeMap::new();
    relations.iter().all(|relation| {
        let columns = relation.schema().iter();
        columns.into_iter().all(|(table, field)| {
            let same = known.entry(field.name()).or_default();
            let is_new = same.iter().all(|other| table.is_some() && other.is_some() && *other != table);
            same.push(table);
            is_new
        })
    })
}

/// Whether a plan is an inner join, but for columns that are left out.
fn is_join(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(join) => is_inner(join),
        LogicalPlan::Projection(projection) => {
            projection.expr.iter().all(|e| matches!(e, Expr::Column(_))) && is_join(&projection.input)
        }
        _ => false,
    }
}

/// The relations whose columns an expression names; `None` if one of them has no such column.
fn relations_of(expr: &Expr, relations: &[&LogicalPlan]) -> Option<Relations> {
    let mut on = 0;
    for column in expr.column_refs() {
        on |= 1 << relations.iter().position(|relation| relation.schema().has_column(column))?;
    }
    Some(on)
}

/// The predicates of a join.
fn predicates_of(join: &Join) -> impl Iterator<Item = Expr> {
    let equal = |(left, right): &(Expr, Expr)| left.clone().eq(right.clone());
    let filter = join.filter.clone().into_iter().flat_map(split_conjunction_owned);
    join.on.iter().map(equal).chain(filter)
}

/// Whether the predicates of a join may be evaluated on other rows than before: they neither fail nor change.
fn is_free(join: &Join) -> bool {
    let schema = merge_schema(&[&join.left, &join.right]);
    predicates_of(join).all(|predicate| {
        let is_bound = tree::any_expr(&predicate, &mut |e| match e {
            Expr::ScalarFunction(f) => f.func.signature().volatility == Volatility::Volatile,
            Expr::ScalarSubquery(_)
            | Expr::InSubquery(_)
            | Expr::Exists(_)
            | Expr::OuterReferenceColumn(..) => true,
            _ => false,
        });
        !is_bound && !fails(&predicate, &schema)
    })
}

/// A plan of this shape. Each predicate goes to the first join that has all its columns.
fn build(shape: &Shape, relations: &[LogicalPlan], left: &mut Vec<(Relations, Expr)>) -> Result<LogicalPlan> {
    let (a, b) = match shape {
        Shape::Relation(number) => {
            let own = taken(left, 1 << number);
            let relation = Arc::new(relations[*number].clone());
            return Ok(match conjunction(own.into_iter().map(|(_, expr)| expr)) {
                Some(predicate) => LogicalPlan::Filter(Filter::try_new(predicate, relation)?),
                None => Arc::unwrap_or_clone(relation),
            });
        }
        Shape::Join(inputs, _) => (&inputs[0], &inputs[1]),
    };
    let (left_plan, right_plan) = (build(a, relations, left)?, build(b, relations, left)?);
    let (mut on, mut filter) = (Vec::new(), Vec::new());
    let refs: Vec<&LogicalPlan> = relations.iter().collect();
    for (_, expr) in taken(left, a.relations() | b.relations()) {
        let sides = match &expr {
            Expr::BinaryExpr(BinaryExpr { left: l, op: Operator::Eq, right: r }) => {
                relations_of(l, &refs).zip(relations_of(r, &refs)).map(|sides| (sides, l, r))
            }
            _ => None,
        };
        let is_in = |part: Relations, whole: &Shape| part != 0 && part & !whole.relations() == 0;
        match sides {
            Some(((of_l, of_r), l, r)) if is_in(of_l, a) && is_in(of_r, b) => {
                on.push((l.as_ref().clone(), r.as_ref().clone()));
            }
            Some(((of_l, of_r), l, r)) if is_in(of_l, b) && is_in(of_r, a) => {
                on.push((r.as_ref().clone(), l.as_ref().clone()));
            }
            _ => filter.push(expr),
        }
    }
    let (constraint, equality) = (JoinConstraint::On, NullEquality::NullEqualsNothing);
    Ok(LogicalPlan::Join(Join::try_new(
        Arc::new(left_plan),
        Arc::new(right_plan),
        on,
        conjunction(filter),
        JoinType::Inner,
        constraint,
        equality,
        false,
    )?))
}

/// Takes the predicates that name these relations alone.
fn taken(left: &mut Vec<(Relations, Expr)>, whole: Relations) -> Vec<(Relations, Expr)> {
    left.extract_if(.., |(on, _)| *on & !whole == 0).collect()
}
