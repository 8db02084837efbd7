//! Scans: projection and zone-map bounds.

use datafusion_common::ScalarValue;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::logical_plan::TableScan;
use datafusion_expr::{Expr, Operator};
use schema::{ColumnBound, ColumnPrefix};

use super::{Lowering, batch_schema, estimate};
use crate::bind::{PlanTable, plan_table};
use crate::error::Result;
use crate::guards;
use crate::physical::bounds::{bound, following, prefix};
use crate::plan::{Node, Op, Scan};
use crate::tree;

/// Lowers a scan. `above` are the only expressions that see its columns, if that is known.
pub(super) fn lower(lowering: &mut Lowering, scan: &TableScan, above: Option<&[Expr]>) -> Result<Node> {
    let source = plan_table(&scan.source)?;
    let projection = scan.projection.clone().unwrap_or_else(|| (0..source.schema.fields().len()).collect());
    let rows = estimate::table_rows(&source.table);
    let op = Op::Scan(Scan {
        table: source.table.clone(),
        projection,
        bounds: bounds(&scan.filters, source),
        prefixes: above.map_or(Ok(vec![]), |above| prefixes(above, source))?,
        filters: scan.filters.iter().map(shown).collect::<Result<_>>()?,
        fetch: scan.fetch,
        in_order: false,
        transform: source.transform.clone(),
    });
    let schema = batch_schema(&scan.projected_schema);
    let mut node = lowering.node(op, schema, vec![], rows);
    node.single = false;
    Ok(node)
}

/// The columns of which expressions take nothing but the first characters, and how many at most.
fn prefixes(exprs: &[Expr], source: &PlanTable) -> Result<Vec<ColumnPrefix>> {
    // For each column the characters that are wanted; all of them if it stands by itself.
    let mut wanted = vec![0; source.schema.fields().len()];
    let mut want = |name: &str, chars: usize| {
        if let Ok(column) = source.schema.index_of(name) {
            wanted[column] = chars.max(wanted[column]);
        }
    };
    for expr in exprs {
        tree::look_at_expr(expr, &mut |e| {
            match e {
                Expr::ScalarFunction(call) if call.func.name() == "substr" => {
                    if let [Expr::Column(text), Expr::Literal(ScalarValue::Int64(Some(1)), _), length] =
                        call.args.as_slice()
                        && let Expr::Literal(ScalarValue::Int64(Some(chars)), _) = length
                        && let Ok(chars) = usize::try_from(*chars)
                    {
                        want(&text.name, chars);
                        return Ok(TreeNodeRecursion::Jump);
                    }
                }
                Expr::Column(column) => want(&column.name, usize::MAX),
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    let columns = wanted.into_iter().enumerate().filter(|(_, chars)| (1..usize::MAX).contains(chars));
    Ok(columns.map(|(column, chars)| ColumnPrefix { column, chars }).collect())
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
        bounds.extend(bound(&source.schema, index, op, value));
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
        Expr::Like(like) if !like.negated && !like.case_insensitive => {
            if let (Expr::Literal(pattern, _), None) = (like.pattern.as_ref(), like.escape_char)
                && let Some(prefix) = pattern.try_as_str().flatten().and_then(prefix)
            {
                let text = |text: String| ScalarValue::Utf8View(Some(text));
                let after = following(prefix).map(text);
                add(&like.expr, Operator::GtEq, &Expr::Literal(text(prefix.to_string()), None));
                if let Some(after) = after {
                    add(&like.expr, Operator::LtEq, &Expr::Literal(after, None));
                }
            }
        }
        _ => {}
    }
}
