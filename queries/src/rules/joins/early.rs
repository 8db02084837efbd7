//! Groups before a join: eager aggregation (Yan and Larson, VLDB 1995).
//!
//! Each row of one side of a join may be one of many with its key, as an order is of its customer. If nothing but
//! aggregates is asked of that side, its rows are put into groups by the key first:
//!
//! ```text
//! aggregate by k: count(y)           aggregate by k: sum(c)
//!   left join (k = x)          is      left join (k = x)
//!     l                                  l
//!     r                                  aggregate by x: c := count(y)
//!                                          r
//! ```
//!
//! The upper aggregate stays: that keys of `l` are unique is not known. What is aggregated can't fail, and does not depend on
//! how it is cut: not an average, nor what is distinct or has an order. Sums have room for more digits than what is added, so
//! that no part of a sum fails where the whole one does not. Of an outer join's filled up rows an argument is NULL: it is a
//! column.

use std::collections::BTreeSet;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::utils::can_hash;

use crate::algebra::{Aggregate, Call, ColumnId, Columns, Expr, Join, JoinKind, Kind, Map, Rel};
use crate::compile::fails;
use crate::error::Result;
use crate::estimates::{self, Estimate, equality};
use crate::functions::Functions;
use crate::rules::simplify::nodes::taken;
use crate::types::Types;

/// A side has at least so many rows.
const LEAST_ROWS: f64 = 10_000.0;
/// There are at most this part as many groups as rows.
const MOST_GROUPS: f64 = 0.3;
/// A sum of decimals has 38 digits at most. Of numbers of so many, a part of it has no more if it is of a million of them,
/// whatever they are.
const MOST_DIGITS: u8 = 32;

/// Moves aggregates below joins where that pays.
///
/// # Errors
/// Those of building calls of aggregates, which don't occur where the given ones have their types.
pub fn group(rel: &mut Rel, columns: &mut Columns, types: &Types) -> Result<()> {
    visit(rel, columns, types).map(|_| ())
}

fn visit(rel: &mut Rel, columns: &mut Columns, types: &Types) -> Result<Estimate> {
    if let Rel::Aggregate(node) = rel
        && let Rel::Join(join) = &mut *node.input
        && matches!(join.kind, JoinKind::Inner | JoinKind::Left)
    {
        let left = visit(&mut join.left, columns, types)?;
        let right = visit(&mut join.right, columns, types)?;
        let joined = estimates::of(&node.input, &[&left, &right]);
        let estimate = estimates::of(rel, &[&joined]);
        let Rel::Aggregate(node) = rel else { return Ok(estimate) };
        if let Some(side) = side_to_group(node, [&left, &right], &joined) {
            *rel = grouped_early(node, side, columns, types)?;
        }
        return Ok(estimate);
    }
    let inputs = rel.inputs_mut().into_iter().map(|input| visit(input, columns, types));
    let inputs: Vec<Estimate> = inputs.collect::<Result<_>>()?;
    Ok(estimates::of(rel, &inputs.iter().collect::<Vec<_>>()))
}

/// A side of a join.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Side {
    fn of(self, join: &Join) -> &Rel {
        if self == Side::Left { &join.left } else { &join.right }
    }

    fn of_mut(self, join: &mut Join) -> &mut Rel {
        if self == Side::Left { &mut join.left } else { &mut join.right }
    }
}

/// The side of which nothing but aggregates is asked, if to group it first pays.
fn side_to_group(node: &Aggregate, sides: [&Estimate; 2], joined: &Estimate) -> Option<Side> {
    let Rel::Join(join) = &*node.input else { return None };
    if !has_groups(node) {
        return None;
    }
    for (side, estimate) in [(Side::Left, sides[0]), (Side::Right, sides[1])] {
        if side == Side::Left && join.kind != JoinKind::Inner
            || !estimate.is_known
            || estimate.rows < LEAST_ROWS
            || joined.rows < estimate.rows / 2.0
            || matches!(side.of(join), Rel::Aggregate(_))
        {
            continue;
        }
        let own = side.of(join).columns();
        let asked = if join.kind == JoinKind::Inner { Asked::Given(&own) } else { Asked::FilledUp(&own) };
        let is_fine = |call: &Call| is_apart(call, &asked);
        let Some(keys) = keys(node, join, &own).filter(|_| node.calls.iter().all(|(_, call)| is_fine(call)))
        else {
            continue;
        };
        let groups = keys.iter().map(|key| estimate.values(*key)).product::<f64>();
        if groups <= MOST_GROUPS * estimate.rows {
            return Some(side);
        }
    }
    None
}

/// Whether an aggregate has groups, of each of which something is asked.
pub fn has_groups(node: &Aggregate) -> bool {
    !node.calls.is_empty() && node.totals.is_empty() && !node.keys.is_empty()
}

/// Whether values of a type say by themselves what they are equal to. A float stands for its equals in a group.
pub fn can_be_key(t: &DataType) -> bool {
    can_hash(t) && !t.is_floating()
}

/// The keys of a side's groups. They are its columns that the join compares and those that are keys of the groups
/// above. `None` if the join compares anything but columns, or not one of each side.
fn keys(node: &Aggregate, join: &Join, own: &BTreeSet<ColumnId>) -> Option<Vec<ColumnId>> {
    let mut keys = BTreeSet::new();
    for e in &join.predicates {
        let (a, b) = equality(e)?;
        if !can_be_key(&a.data_type) {
            return None;
        }
        let (a, b) = (a.as_column()?, b.as_column()?);
        keys.insert(match (own.contains(&a), own.contains(&b)) {
            (true, false) => a,
            (false, true) => b,
            _ => return None,
        });
    }
    keys.extend(node.keys.iter().filter(|key| own.contains(key)));
    (!join.predicates.is_empty()).then(|| keys.into_iter().collect())
}

/// The columns of which aggregates are asked.
pub enum Asked<'a> {
    /// Each row is given, or not.
    Given(&'a BTreeSet<ColumnId>),
    /// Other rows are given besides, where they are NULL.
    FilledUp(&'a BTreeSet<ColumnId>),
}

/// Whether a call asks for nothing but columns of a side, and can be made of those of parts of a group.
pub fn is_apart(call: &Call, asked: &Asked) -> bool {
    let Some(arg) = call.args.first().filter(|_| call.args.len() == 1) else { return false };
    let t = &arg.data_type;
    let combines = match call.function.name() {
        "count" => true,
        "min" | "max" => !t.is_nested(),
        "sum" => match t {
            DataType::Decimal128(digits, _) => *digits <= MOST_DIGITS,
            t => t == &DataType::Float64 || t.is_integer() && t.primitive_width() <= Some(4),
        },
        _ => false,
    };
    let is_plain =
        !call.distinct && call.filter.is_none() && call.order_by.is_empty() && call.ignore_nulls.is_none();
    let is_own = match asked {
        Asked::Given(own) => arg.columns().is_subset(own) && !fails(arg) && !arg.is_volatile(),
        Asked::FilledUp(own) => arg.as_column().is_some_and(|id| own.contains(&id)),
    };
    combines && is_plain && is_own
}

/// The aggregate over groups of the rows of a side.
fn grouped_early(node: &mut Aggregate, side: Side, columns: &mut Columns, types: &Types) -> Result<Rel> {
    let Rel::Join(mut join) = taken(&mut node.input) else { return Ok(taken(&mut node.input)) };
    let own = side.of(&join).columns();
    let keys = keys(node, &join, &own).unwrap_or_default();
    let (parts, wholes, given) = calls(std::mem::take(&mut node.calls), columns, types)?;
    let input = Box::new(taken(side.of_mut(&mut join)));
    *side.of_mut(&mut join) = Rel::Aggregate(Aggregate { input, keys, calls: parts, totals: vec![] });
    let input = Box::new(Rel::Join(join));
    let keys = std::mem::take(&mut node.keys);
    Ok(mapped(Rel::Aggregate(Aggregate { input, keys, calls: wholes, totals: vec![] }), given))
}

/// Columns and what computes them.
type Calls = Vec<(ColumnId, Call)>;
type Computed = Vec<(ColumnId, Expr)>;

/// Aggregates of parts of groups, those of the whole groups over these, and what is computed of them.
///
/// # Errors
/// As [`group`].
pub fn calls(calls: Calls, columns: &mut Columns, types: &Types) -> Result<(Calls, Calls, Computed)> {
    let (mut parts, mut wholes, mut given) = (Vec::new(), Vec::new(), Vec::new());
    for (id, call) in calls {
        let column = columns.get(id).clone();
        let is_count = call.function.name() == "count";
        let function = if is_count { Functions::all().aggregate("sum") } else { None };
        let function = function.unwrap_or_else(|| call.function.clone());
        let part = columns.add(column.name.clone(), column.data_type.clone());
        parts.push((part, call));
        let args = vec![columns.read(part)];
        let (filter, order_by, ignore_nulls) = (None, vec![], None);
        let whole = Call { function, args, distinct: false, filter, order_by, ignore_nulls };
        let (whole, data_type) = types.aggregate(whole)?;
        if !is_count && data_type == column.data_type {
            wholes.push((id, whole));
            continue;
        }
        let sum = columns.add(column.name.clone(), data_type.clone());
        wholes.push((sum, whole));
        let mut value = columns.read(sum);
        if data_type != column.data_type {
            let kind = Kind::Cast { expr: Box::new(value), safe: false };
            value = Expr { kind, data_type: column.data_type.clone() };
        }
        // Of no rows but those that an outer join fills up the count is 0.
        if is_count && let Some(coalesce) = Functions::all().scalar("coalesce") {
            value = types.call(&coalesce, vec![value, Expr::literal(ScalarValue::Int64(Some(0)))])?;
        }
        given.push((id, value));
    }
    Ok((parts, wholes, given))
}

/// Computes columns, if there are any.
pub fn mapped(rel: Rel, exprs: Computed) -> Rel {
    if exprs.is_empty() { rel } else { Rel::Map(Map { input: Box::new(rel), exprs }) }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Settings;
    use crate::rules::testing::{Sample, eq, id, join};

    pub fn call(function: &str, arg: &Expr) -> Call {
        let function = Functions::all().aggregate(function).unwrap();
        let (args, order_by) = (vec![arg.clone()], vec![]);
        Call { function, args, distinct: false, filter: None, order_by, ignore_nulls: None }
    }

    /// The groups of a join of 100 rows with a million, by a column of the former.
    fn grouped(sample: &mut Sample, kind: JoinKind, distinct: bool) -> (Rel, [Expr; 2]) {
        let (t, [a]) = sample.sized("t", ["a"], Some(100));
        let (u, [x, y]) = sample.sized("u", ["x", "y"], Some(1_000_000));
        let Rel::Scan(mut u) = u else { panic!("a scan") };
        std::sync::Arc::make_mut(&mut u.table).spans = vec![Some((1.0, 100.0)), None];
        let input = Box::new(join(kind, t, Rel::Scan(u), vec![eq(&a, &x)]));
        let count = sample.number("count");
        let calls = vec![(id(&count), Call { distinct, ..call("count", &y) })];
        (Rel::Aggregate(Aggregate { input, keys: vec![id(&a)], calls, totals: vec![] }), [a, count])
    }

    fn group_all(statement: &mut crate::algebra::Statement) {
        let types = Types::new(&Settings::default());
        group(&mut statement.root, &mut statement.columns, &types).unwrap();
    }

    #[test]
    fn rows_are_counted_before_the_join() {
        for (kind, shown) in [(JoinKind::Left, "left"), (JoinKind::Inner, "inner")] {
            let mut sample = Sample::default();
            let (rel, [a, count]) = grouped(&mut sample, kind, false);
            sample.becomes(
                group_all,
                rel,
                &[&a, &count],
                &format!(
                    "map count#3 := coalesce(count#5, 0)\n  aggregate by a#0; count#5 := sum(count#4)\n    {shown} join \
                     (a#0 = x#1)\n      scan t a#0\n      aggregate by x#1; count#4 := count(y#2)\n        \
                     scan u x#1, y#2\n"
                ),
            );
        }
    }

    #[test]
    fn what_has_no_parts_stays() {
        let mut sample = Sample::default();
        let (rel, [a, count]) = grouped(&mut sample, JoinKind::Left, true);
        let shown = sample.columns.show_rel(&rel);
        sample.becomes(group_all, rel, &[&a, &count], &shown);
    }
}
