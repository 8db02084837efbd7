//! Scans: projection and zone-map bounds.

use arrow_array::ArrayRef;
use datafusion_common::ScalarValue;
use datafusion_expr::logical_plan::TableScan;
use datafusion_expr::{Expr, Operator};
use schema::ColumnBound;

use super::{Lowering, batch_schema, estimate};
use crate::bind::{PlanTable, plan_table};
use crate::error::Result;
use crate::guards;
use crate::plan::{Node, Op, Scan};

pub(super) fn lower(lowering: &mut Lowering, scan: &TableScan) -> Result<Node> {
    let source = plan_table(&scan.source)?;
    let projection = scan.projection.clone().unwrap_or_else(|| (0..source.schema.fields().len()).collect());
    let rows = estimate::table_rows(&source.table);
    let op = Op::Scan(Scan {
        table: source.table.clone(),
        projection,
        bounds: bounds(&scan.filters, source),
        filters: scan.filters.iter().map(shown).collect::<Result<_>>()?,
        fetch: scan.fetch,
        transform: source.transform.clone(),
    });
    let schema = batch_schema(&scan.projected_schema);
    let mut node = lowering.node(op, schema, vec![], rows);
    node.single = false;
    Ok(node)
}

/// A predicate as EXPLAIN shows it.
fn shown(filter: &Expr) -> Result<String> {
    Ok(guards::unmarked(filter.clone())?.to_string())
}

/// The bounds that follow from a conjunction of comparisons of a column with a constant of its type.
fn bounds(filters: &[Expr], source: &PlanTable) -> Vec<ColumnBound> {
    let mut bounds = Vec::new();
    filters.iter().for_each(|f| collect(f, source, &mut bounds));
    bounds
}

fn collect(e: &Expr, source: &PlanTable, bounds: &mut Vec<ColumnBound>) {
    let mut add = |column: &Expr, op: Operator, value: &Expr| {
        let (Expr::Column(column), Expr::Literal(value, _)) = (column, value) else { return };
        let Ok(index) = source.schema.index_of(&column.name) else { return };
        if source.schema.field(index).data_type() != &value.data_type() || value.is_null() {
            return;
        }
        let Ok(array) = ScalarValue::to_array_of_size(value, 1) else { return };
        let (min, max): (Option<ArrayRef>, Option<ArrayRef>) = match op {
            Operator::Eq => (Some(array.clone()), Some(array)),
            Operator::Lt | Operator::LtEq => (None, Some(array)),
            Operator::Gt | Operator::GtEq => (Some(array), None),
            _ => return,
        };
        bounds.push(ColumnBound { column: index, min, max });
    };
    match e {
        Expr::BinaryExpr(b) if b.op == Operator::And => {
            collect(&b.left, source, bounds);
            collect(&b.right, source, bounds);
        }
        Expr::BinaryExpr(b) => {
            add(&b.left, b.op, &b.right);
            if let Some(swapped) = b.op.swap() {
                add(&b.right, swapped, &b.left);
            }
        }
        Expr::Between(b) if !b.negated => {
            add(&b.expr, Operator::GtEq, &b.low);
            add(&b.expr, Operator::LtEq, &b.high);
        }
        _ => {}
    }
}
