//! Aggregates of distinct values, over groups that have each value once.
//!
//! `count(DISTINCT x) … GROUP BY k` is `count(x) … GROUP BY k` over `SELECT DISTINCT k, x`: groups are spread over
//! workers and put on disk, which one set of values is not. It is done where all DISTINCT calls have the same argument.
//! All others must give the same of the values of parts: `min(y)` is `min` of the `min(y)` of each `k, x`. A group has
//! one of several equal values, as a set has; but for intervals, of which DISTINCT gives a certain one.

use expressions::compare::is_interval;

use super::simplify::nodes::taken;
use crate::algebra::{Aggregate, Call, ColumnId, Columns, Expr, Map, Rel};

/// Groups by the values of DISTINCT, in a tree.
pub fn group(rel: &mut Rel, columns: &mut Columns) {
    if let Rel::Aggregate(node) = rel
        && let Some(value) = value(node).cloned()
    {
        group_by(node, value, columns);
    }
    rel.inputs_mut().into_iter().for_each(|input| group(input, columns));
}

/// The argument of the DISTINCT calls of an aggregate; none if it is not to be changed.
fn value(node: &Aggregate) -> Option<&Expr> {
    if !node.totals.is_empty() {
        return None;
    }
    let mut calls = node.calls.iter().map(|(_, call)| call).filter(|call| !is_of_parts(call));
    let value = calls.next().and_then(argument)?;
    let is_worth = !value.is_volatile() && !is_interval(&value.data_type);
    (is_worth && calls.all(|call| argument(call) == Some(value))).then_some(value)
}

/// The argument of a call that is given each value once, whatever their order.
fn argument(call: &Call) -> Option<&Expr> {
    match call.args.as_slice() {
        [value] if call.distinct && call.filter.is_none() && call.order_by.is_empty() => Some(value),
        _ => None,
    }
}

/// Whether a call gives the same of what it gives of parts.
fn is_of_parts(call: &Call) -> bool {
    matches!(call.function.name(), "min" | "max" | "bool_and" | "bool_or") && call.order_by.is_empty()
}

fn group_by(node: &mut Aggregate, value: Expr, columns: &mut Columns) {
    let mut input = Box::new(taken(&mut node.input));
    let id = value.as_column().unwrap_or_else(|| {
        let id = columns.add(columns.show_names(&value), value.data_type.clone());
        *input = Rel::Map(Map { input: Box::new(taken(&mut input)), exprs: vec![(id, value)] });
        id
    });
    let mut parts: Vec<(ColumnId, Call)> = Vec::new();
    for (of, call) in &mut node.calls {
        call.distinct = false;
        if !is_of_parts(call) {
            call.args = vec![columns.read(id)];
            continue;
        }
        let made = columns.get(*of);
        let (name, data_type) = (made.name.clone(), made.data_type.clone());
        let part = columns.add(name, data_type);
        let of_part = Call { args: vec![columns.read(part)], filter: None, ..call.clone() };
        parts.push((part, std::mem::replace(call, of_part)));
    }
    let mut keys = node.keys.clone();
    if !keys.contains(&id) {
        keys.push(id);
    }
    *node.input = Rel::Aggregate(Aggregate { input, keys, calls: parts, totals: vec![] });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::DataType;
    use datafusion_expr::AggregateUDF;
    use datafusion_functions_aggregate::count::count_udaf;
    use datafusion_functions_aggregate::min_max::min_udaf;
    use datafusion_functions_aggregate::sum::sum_udaf;

    use super::*;
    use crate::algebra::Statement;
    use crate::rules::testing::{Sample, id};

    fn call(function: Arc<AggregateUDF>, arg: &Expr, distinct: bool) -> Call {
        Call {
            function,
            args: vec![arg.clone()],
            distinct,
            filter: None,
            order_by: vec![],
            ignore_nulls: None,
        }
    }

    fn group_all(statement: &mut Statement) {
        let Statement { columns, root, .. } = statement;
        group(root, columns);
    }

    #[test]
    fn each_value_of_a_group_is_a_group() {
        let mut sample = Sample::default();
        let (t, [k, x, y]) = sample.table("t", ["k", "x", "y"]);
        let [n, s, m] = ["n", "s", "m"].map(|name| sample.number(name));
        let calls = vec![
            (id(&n), call(count_udaf(), &x, true)),
            (id(&s), call(sum_udaf(), &x, true)),
            (id(&m), call(min_udaf(), &y, false)),
        ];
        let rel = Aggregate { input: Box::new(t), keys: vec![id(&k)], calls, totals: vec![] };
        sample.becomes(
            group_all,
            Rel::Aggregate(rel),
            &[&k, &n, &s, &m],
            "aggregate by k#0; n#3 := count(x#1); s#4 := sum(x#1); m#5 := min(m#6)\n  \
             aggregate by k#0, x#1; m#6 := min(y#2)\n    scan t k#0, x#1, y#2\n",
        );
    }

    #[test]
    fn a_count_of_rows_beside_it_or_another_value_keeps_it() {
        let mut sample = Sample::default();
        let (t, [k, x, y]) = sample.table("t", ["k", "x", "y"]);
        let [n, s] = ["n", "s"].map(|name| sample.number(name));
        let d = sample.column("d", DataType::Interval(arrow_schema::IntervalUnit::MonthDayNano));
        for (one, other) in [
            (call(count_udaf(), &x, true), call(count_udaf(), &x, false)),
            (call(count_udaf(), &x, true), call(count_udaf(), &y, true)),
            (call(count_udaf(), &d, true), call(count_udaf(), &d, true)),
            (call(min_udaf(), &x, true), call(min_udaf(), &y, true)),
        ] {
            let calls = vec![(id(&n), one), (id(&s), other)];
            let rel = Rel::Aggregate(Aggregate {
                input: Box::new(t.clone()),
                keys: vec![id(&k)],
                calls,
                totals: vec![],
            });
            sample.becomes(group_all, rel.clone(), &[&k, &n, &s], &sample.columns.show_rel(&rel));
        }
    }
}
