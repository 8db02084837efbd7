//! Joins: build side, broadcast or exchange.

use std::sync::Arc;

use arrow_schema::Schema;
use datafusion_common::JoinType;
use datafusion_common::tree_node::TreeNode;
use datafusion_expr::logical_plan::Join as LogicalJoin;
use datafusion_physical_expr::utils::{collect_columns, reassign_expr_columns};

use super::{Lowering, batch_schema, estimate, invalid};
use crate::error::Result;
use crate::plan::{Exchange, Expr, Join, Node, Op, Side};

pub(super) fn lower(lowering: &mut Lowering, j: &LogicalJoin) -> Result<Node> {
    let left = lowering.lower(&j.left)?;
    let right = lowering.lower(&j.right)?;
    let mut on = Vec::new();
    for (l, r) in &j.on {
        on.push((
            lowering.compiler.compile(l, j.left.schema())?,
            lowering.compiler.compile(r, j.right.schema())?,
        ));
    }
    let both = Arc::new(j.left.schema().join(j.right.schema())?);
    let filter = j.filter.as_ref().map(|f| lowering.compiler.compile_filter(f, &both)).transpose()?;
    let (filter, filter_columns, filter_schema) = narrow(filter, &left, &right)?;

    let build = build_side(j, &left, &right);
    let output = output(j.join_type, &left, &right);
    let rows = match j.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => left.rows / 2.0,
        JoinType::RightSemi | JoinType::RightAnti => right.rows / 2.0,
        _ if on.is_empty() => left.rows * right.rows,
        _ => left.rows.max(right.rows),
    };
    let mut join = Join {
        kind: j.join_type,
        build,
        shared: false,
        replicates: false,
        filter,
        filter_columns,
        filter_schema,
        null_equality: j.null_equality,
        null_aware: j.null_aware,
        output,
        on,
    };
    let inputs = distribute(lowering, &mut join, left, right);
    Ok(lowering.node(Op::Join(join), batch_schema(&j.schema), inputs, rows))
}

/// A join's filter, the columns of its input and the schema of that.
type Narrowed = (Option<Expr>, Vec<(Side, usize)>, arrow_schema::SchemaRef);

/// Keeps of the filter's input only the columns that it reads.
fn narrow(filter: Option<Expr>, left: &Node, right: &Node) -> Result<Narrowed> {
    let Some(filter) = filter else { return Ok((None, vec![], Arc::new(Schema::empty()))) };
    let mut used: Vec<usize> = collect_columns(&filter).iter().map(|c| c.index()).collect();
    used.sort_unstable();
    let width = left.schema.fields().len();
    let fields = left.schema.fields().iter().chain(right.schema.fields());
    let all: Vec<_> = fields.cloned().collect();
    // Columns of one name on both sides are told apart by position, so that each gets a name of its own.
    let renamed = |i: usize| Arc::new(all[i].as_ref().clone().with_name(format!("#{i}")));
    let whole = Schema::new((0..all.len()).map(renamed).collect::<Vec<_>>());
    let narrowed = Arc::new(Schema::new(used.iter().map(|i| renamed(*i)).collect::<Vec<_>>()));
    let filter = reassign_expr_columns(by_position(filter, &whole, |i| i)?, &narrowed)?;
    let columns =
        used.iter().map(|i| if *i < width { (Side::Left, *i) } else { (Side::Right, *i - width) }).collect();
    Ok((Some(filter), columns, narrowed))
}

/// Each column of an expression as the one of `schema` at the position that `place` says for its own.
fn by_position(e: Expr, schema: &Schema, place: impl Fn(usize) -> usize) -> Result<Expr> {
    use datafusion_common::tree_node::Transformed;
    use datafusion_physical_expr::expressions::Column;
    let moved = e.transform_up(|e| {
        let Some(column) = e.downcast_ref::<Column>() else { return Ok(Transformed::no(e)) };
        let index = place(column.index());
        Ok(Transformed::yes(Arc::new(Column::new(schema.field(index).name(), index)) as Expr))
    })?;
    Ok(moved.data)
}

/// The columns of the output.
fn output(kind: JoinType, left: &Node, right: &Node) -> Vec<(Side, usize)> {
    let side = |s: Side, n: &Node| (0..n.schema.fields().len()).map(move |i| (s, i)).collect::<Vec<_>>();
    match kind {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => side(Side::Left, left),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => side(Side::Right, right),
        _ => [side(Side::Left, left), side(Side::Right, right)].concat(),
    }
}

/// A projection above a join: the join gives only the columns that the projection reads.
pub(super) fn narrow_output(mut node: Node, exprs: Vec<Expr>) -> Result<(Node, Vec<Expr>)> {
    let Op::Join(join) = &mut node.op else { return Ok((node, exprs)) };
    let mut used: Vec<usize> = exprs.iter().flat_map(collect_columns).map(|c| c.index()).collect();
    used.sort_unstable();
    used.dedup();
    // The mark of a mark join lies behind the columns and is always given.
    let mark = matches!(join.kind, JoinType::LeftMark | JoinType::RightMark);
    if mark || used.len() == join.output.len() {
        return Ok((node, exprs));
    }
    join.output = used.iter().map(|i| join.output[*i]).collect();
    node.schema = Arc::new(node.schema.project(&used).map_err(invalid)?);
    let place = |index: usize| used.binary_search(&index).expect("every column that is read was collected");
    let exprs = exprs.into_iter().map(|e| by_position(e, &node.schema, place)).collect::<Result<_>>()?;
    Ok((node, exprs))
}

/// Whether rows of the build side are given once the probe side has ended. Such a join can't have a copy of the build
/// side on each worker.
pub fn gives_build_rows(kind: JoinType, build: Side) -> bool {
    match kind {
        JoinType::Inner => false,
        JoinType::Full => true,
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => build == Side::Left,
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
            build == Side::Right
        }
    }
}

fn bytes(n: &Node) -> f64 {
    n.rows * estimate::width(&n.schema)
}

/// The smaller input is kept, unless the kind of join asks for a side. Without keys the build side is copied to every
/// worker, so that it must be one whose rows are not given at the end.
fn build_side(j: &LogicalJoin, left: &Node, right: &Node) -> Side {
    if j.null_aware {
        return Side::Right;
    }
    let smaller = if bytes(left) < bytes(right) { Side::Left } else { Side::Right };
    if j.on.is_empty() && gives_build_rows(j.join_type, smaller) {
        return if smaller == Side::Left { Side::Right } else { Side::Left };
    }
    smaller
}

/// Whether a key has the same value wherever it is computed.
fn is_fixed(key: &Expr) -> bool {
    !key.exists(|e| Ok(e.is_volatile_node())).unwrap_or(true)
}

/// Brings rows that may match to the same worker.
fn distribute(lowering: &mut Lowering, join: &mut Join, left: Node, right: Node) -> Vec<Node> {
    if left.single && right.single {
        return vec![left, right];
    }
    let (build_bytes, at_end) = match join.build {
        Side::Left => (bytes(&left), gives_build_rows(join.kind, Side::Left)),
        Side::Right => (bytes(&right), gives_build_rows(join.kind, Side::Right)),
    };
    let keyless = join.on.is_empty();
    if keyless && at_end {
        return [left, right]
            .into_iter()
            .map(|n| if n.single { n } else { lowering.exchange(Exchange::Gather, n) })
            .collect();
    }
    let small = build_bytes <= lowering.settings.broadcast_bytes as f64;
    if keyless || join.null_aware || (small && !at_end) {
        return match join.build {
            Side::Left => vec![lowering.exchange(Exchange::Broadcast, left), right],
            Side::Right => vec![left, lowering.exchange(Exchange::Broadcast, right)],
        };
    }
    let (left_keys, right_keys) = join.on.iter().cloned().unzip();
    let probe_single = if join.build == Side::Left { right.single } else { left.single };
    // Rows that the build side gives at the end are marked by one worker; a probe side on one worker is spread. A table
    // can't be probed from another process, but some of its rows can be sent there: marked, if their keys alone say
    // that they have met their like.
    join.shared = !at_end && !probe_single && lowering.settings.processes == 1;
    let keys_decide = !at_end || join.filter.is_none();
    let spreads = lowering.settings.workers > 1 && !probe_single && !join.shared;
    join.replicates = spreads && keys_decide && join.on.iter().all(|(l, r)| is_fixed(l) && is_fixed(r));
    if join.shared {
        return match join.build {
            Side::Left => vec![lowering.exchange(Exchange::Hash(left_keys), left), right],
            Side::Right => vec![left, lowering.exchange(Exchange::Hash(right_keys), right)],
        };
    }
    vec![
        lowering.exchange(Exchange::Hash(left_keys), left),
        lowering.exchange(Exchange::Hash(right_keys), right),
    ]
}
