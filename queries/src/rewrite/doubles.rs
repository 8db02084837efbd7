//! Decimals beside floats are floats. The analyser would make both decimals of 15 digits behind the point, in which
//! 1e-20 is 0 and 1e30 is out of range.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result as DfResult};
use datafusion_expr::expr::{InSubquery, SetComparison};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::{Projection, Subquery, Union};
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast};

use crate::error::Result;
use crate::tree;

/// Functions whose arguments are brought to one type.
const OF_ONE_TYPE: [&str; 7] = ["coalesce", "nullif", "greatest", "least", "nvl", "ifnull", "nvl2"];

/// Rewrites a plan that is not analysed yet.
pub fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    let rewritten = tree::plan_up(plan.clone(), &mut |node| {
        let node = match node {
            LogicalPlan::Union(union) => match of_union(&union)? {
                Some(union) => {
                    found = true;
                    LogicalPlan::Union(union)
                }
                // The schema may be that of inputs that were changed; it is not recomputed.
                None if found => LogicalPlan::Union(Union::try_new_with_loose_types(union.inputs)?),
                None => LogicalPlan::Union(union),
            },
            LogicalPlan::Join(mut join) => {
                let (left, right) = (join.left.schema().clone(), join.right.schema().clone());
                for (l, r) in &mut join.on {
                    found |= align(&mut [(l, &left), (r, &right)]);
                }
                LogicalPlan::Join(join)
            }
            other => other,
        };
        let schema = Arc::new(merge_schema(&node.inputs()));
        let names = NamePreserver::new(&node);
        let node = tree::expressions(node, &mut |e| {
            let name = names.save(&e);
            let mut inside = false;
            let e = tree::expr_up(e, &mut |mut e| {
                inside |= in_expression(&mut e, &schema)?;
                Ok(Transformed::yes(e))
            })?;
            found |= inside;
            Ok(if inside { e.update_data(|e| name.restore(e)) } else { e })
        })?;
        node.map_data(LogicalPlan::recompute_schema)
    })?;
    Ok(if found { rewritten.data } else { plan })
}

/// The values of `VALUES` lose the decimals that the planner has cast floats to.
pub fn of_values(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    let rewritten = tree::plan_up(plan.clone(), &mut |node| {
        let LogicalPlan::Values(mut values) = node else {
            return Transformed::yes(node).map_data(LogicalPlan::recompute_schema);
        };
        let none = Arc::new(DFSchema::empty());
        let mut changed = false;
        for column in 0..values.schema.fields().len() {
            if !is_decimal(values.schema.field(column).data_type()) {
                continue;
            }
            let bare = |e: &Expr| match e {
                // What the user cast stands in a call, see `casts`.
                Expr::Cast(planned) => (*planned.expr).clone(),
                other => other.clone(),
            };
            let mut cells: Vec<Expr> = values.values.iter().map(|row| bare(&row[column])).collect();
            let mut all: Vec<_> = cells.iter_mut().map(|e| (e, &none)).collect();
            if align(&mut all) {
                changed = true;
                values.values.iter_mut().zip(cells).for_each(|(row, cell)| row[column] = cell);
            }
        }
        if !changed {
            return Ok(Transformed::no(LogicalPlan::Values(values)));
        }
        found = true;
        Ok(Transformed::yes(LogicalPlanBuilder::values(values.values)?.build()?))
    })?;
    Ok(if found { rewritten.data } else { plan })
}

fn is_decimal(t: &DataType) -> bool {
    matches!(t, DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// Casts the decimals among expressions that are compared, or are values of one column, if there is a float as well.
fn align(all: &mut [(&mut Expr, &Arc<DFSchema>)]) -> bool {
    let types: Vec<_> = all.iter().map(|(e, schema)| e.get_type(schema.as_ref()).ok()).collect();
    if !types.iter().flatten().any(DataType::is_floating) || !types.iter().flatten().any(is_decimal) {
        return false;
    }
    for ((e, _), t) in all.iter_mut().zip(types) {
        if t.as_ref().is_some_and(is_decimal) {
            **e = cast(std::mem::take(*e), DataType::Float64);
        }
    }
    true
}

/// Whether there was something to be cast in an expression, apart from what it consists of.
fn in_expression(e: &mut Expr, schema: &Arc<DFSchema>) -> DfResult<bool> {
    Ok(match e {
        Expr::BinaryExpr(binary) if binary.op.supports_propagation() => {
            align(&mut [(&mut binary.left, schema), (&mut binary.right, schema)])
        }
        Expr::Between(b) => align(&mut [(&mut b.expr, schema), (&mut b.low, schema), (&mut b.high, schema)]),
        Expr::InList(list) => {
            let mut all: Vec<_> = list.list.iter_mut().map(|e| (e, schema)).collect();
            all.push((&mut list.expr, schema));
            align(&mut all)
        }
        Expr::Case(case) => {
            let mut compared = case.expr.iter_mut().map(|e| (e.as_mut(), schema)).collect::<Vec<_>>();
            let mut given = case.else_expr.iter_mut().map(|e| (e.as_mut(), schema)).collect::<Vec<_>>();
            for (when, then) in &mut case.when_then_expr {
                compared.push((when, schema));
                given.push((then, schema));
            }
            align(&mut compared) | align(&mut given)
        }
        Expr::ScalarFunction(f) if OF_ONE_TYPE.contains(&f.func.name()) => {
            let mut all: Vec<_> = f.args.iter_mut().map(|e| (e, schema)).collect();
            align(&mut all)
        }
        Expr::InSubquery(InSubquery { expr, subquery, .. })
        | Expr::SetComparison(SetComparison { expr, subquery, .. }) => of_subquery(expr, subquery, schema)?,
        _ => false,
    })
}

fn of_subquery(expr: &mut Expr, subquery: &mut Subquery, schema: &Arc<DFSchema>) -> DfResult<bool> {
    let plan = &subquery.subquery;
    let Some(column) = plan.schema().columns().first().cloned() else { return Ok(false) };
    let mut value = Expr::Column(column.clone());
    let found = align(&mut [(expr, schema), (&mut value, plan.schema())]);
    if matches!(value, Expr::Cast(_)) {
        let value = value.alias_qualified(column.relation, column.name);
        let plan = LogicalPlan::Projection(Projection::try_new(vec![value], plan.clone())?);
        *subquery = subquery.with_plan(Arc::new(plan));
    }
    Ok(found)
}

/// A union of which each column has one type; `None` if that is so.
fn of_union(union: &Union) -> DfResult<Option<Union>> {
    let columns = |input: &Arc<LogicalPlan>| input.schema().columns().into_iter().map(Expr::Column);
    let mut rows: Vec<Vec<Expr>> = union.inputs.iter().map(|input| columns(input).collect()).collect();
    let mut found = false;
    for column in 0..union.schema.fields().len() {
        let inputs = rows.iter_mut().zip(&union.inputs);
        let mut all: Vec<_> =
            inputs.filter_map(|(exprs, input)| Some((exprs.get_mut(column)?, input.schema()))).collect();
        found |= align(&mut all);
    }
    if !found {
        return Ok(None);
    }
    let inputs = union.inputs.iter().zip(rows).map(|(input, exprs)| {
        let named = exprs.into_iter().zip(input.schema().columns()).map(|(e, column)| match e {
            Expr::Cast(_) => e.alias_qualified(column.relation, column.name),
            other => other,
        });
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(named.collect(), input.clone())?)))
    });
    Union::try_new_with_loose_types(inputs.collect::<DfResult<_>>()?).map(Some)
}
