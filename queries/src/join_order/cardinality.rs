//! About how many rows a logical plan gives, and how many values a column of it has, from the catalog alone.

use arrow_schema::DataType;
use datafusion_common::{Column, JoinType, ScalarValue};
use datafusion_expr::logical_plan::{Distinct, Join};
use datafusion_expr::utils::{conjunction, split_conjunction};
use datafusion_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

use crate::bind::plan_table;
use crate::lower::estimate::{self, table_rows};

/// About how many rows a plan gives; `None` if the number of rows of a table below is not known.
pub fn rows(plan: &LogicalPlan) -> Option<f64> {
    Some(match plan {
        LogicalPlan::TableScan(scan) => {
            let table = &plan_table(&scan.source).ok()?.table;
            table.rows?;
            let kept = conjunction(scan.filters.iter().cloned()).map_or(1.0, |f| estimate::kept(&f, plan));
            let rows = table_rows(table) * kept;
            scan.fetch.map_or(rows, |fetch| rows.min(fetch as f64))
        }
        LogicalPlan::Filter(filter) => {
            rows(&filter.input)? * estimate::kept(&filter.predicate, &filter.input)
        }
        LogicalPlan::Limit(limit) => match limit.fetch.as_deref() {
            Some(Expr::Literal(ScalarValue::Int64(Some(fetch)), _)) => rows(&limit.input)?.min(*fetch as f64),
            _ => rows(&limit.input)?,
        },
        LogicalPlan::Aggregate(aggregate) => {
            let input = rows(&aggregate.input)?;
            let keys = aggregate.group_expr.iter();
            let values = keys.map(|key| values(&aggregate.input, key).unwrap_or(input));
            estimate::groups(input, aggregate.group_expr.len()).min(values.product::<f64>()).max(1.0)
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            estimate::groups(rows(input)?, input.schema().fields().len())
        }
        LogicalPlan::Join(join) => join_rows(join)?,
        LogicalPlan::Union(union) => union.inputs.iter().map(|input| rows(input)).sum::<Option<f64>>()?,
        LogicalPlan::Values(values) => values.values.len() as f64,
        LogicalPlan::EmptyRelation(empty) => f64::from(u8::from(empty.produce_one_row)),
        LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Repartition(_) => rows(plan.inputs().first()?)?,
        _ => return None,
    })
}

fn join_rows(join: &Join) -> Option<f64> {
    let (left, right) = (rows(&join.left)?, rows(&join.right)?);
    let parts = join.on.iter().map(|(l, r)| {
        let of_left = values(&join.left, l).unwrap_or(left);
        1.0 / of_left.min(values(&join.right, r).unwrap_or(right)).max(1.0)
    });
    let part =
        parts.product::<f64>().max(if join.on.is_empty() { 1.0 } else { 1.0 / left.min(right).max(1.0) });
    let filtered = join.filter.as_ref().map_or(1.0, kept);
    let inner = left * right * part * filtered;
    Some(match join.join_type {
        JoinType::Inner => inner,
        JoinType::Left => inner.max(left),
        JoinType::Right => inner.max(right),
        JoinType::Full => inner.max(left + right),
        JoinType::LeftSemi | JoinType::LeftAnti => left / 2.0,
        JoinType::RightSemi | JoinType::RightAnti => right / 2.0,
        JoinType::LeftMark => left,
        JoinType::RightMark => right,
    })
}

/// About which part of the rows a predicate over several relations keeps.
pub fn kept(predicate: &Expr) -> f64 {
    split_conjunction(predicate).into_iter().map(estimate::selectivity).product()
}

/// About how many values an expression has, before filters: those of a column that is a whole number are no more than lie
/// between its least and its greatest one, and no column has more values than its table has rows. `None` of what is not
/// followed to a column of a table.
pub fn values(plan: &LogicalPlan, expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Column(column) => of_column(plan, column),
        Expr::Cast(cast) => values(plan, &cast.expr),
        Expr::Alias(alias) => values(plan, &alias.expr),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus | Operator::Minus, right }) => {
            match (left.as_ref(), right.as_ref()) {
                (expr, Expr::Literal(..)) | (Expr::Literal(..), expr) => values(plan, expr),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The values of a column, followed to the table that has it.
fn of_column(plan: &LogicalPlan, column: &Column) -> Option<f64> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let source = plan_table(&scan.source).ok()?;
            let at = source.schema.index_of(&column.name).ok()?;
            let rows = table_rows(&source.table);
            let is_whole = |t: &DataType| t.is_integer() || matches!(t, DataType::Date32);
            let span = source.table.spans.get(at).copied().flatten();
            let span = span.filter(|_| is_whole(source.schema.field(at).data_type()));
            Some(span.map_or(rows, |(from, to)| rows.min(to - from + 1.0)))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let at = plan.schema().maybe_index_of_column(column)?;
            of_column(&alias.input, &Column::from(alias.input.schema().qualified_field(at)))
        }
        LogicalPlan::Projection(projection) => {
            let at = plan.schema().maybe_index_of_column(column)?;
            values(&projection.input, projection.expr.get(at)?)
        }
        LogicalPlan::Filter(filter) => of_column(&filter.input, column),
        LogicalPlan::Sort(sort) => of_column(&sort.input, column),
        LogicalPlan::Join(join) => {
            let side = if join.left.schema().has_column(column) { &join.left } else { &join.right };
            of_column(side, column)
        }
        LogicalPlan::Aggregate(aggregate) => {
            let at = plan.schema().maybe_index_of_column(column)?;
            match aggregate.group_expr.get(at) {
                Some(Expr::GroupingSet(_)) | None => None,
                Some(key) => values(&aggregate.input, key),
            }
        }
        _ => None,
    }
}
