//! Sums of one column plus constants, as one sum and one count.
//!
//! `sum(x + 1), sum(x + 2), …` is `sum(x) + 1 * count(x), sum(x) + 2 * count(x), …`: the rows are looked at for two
//! aggregates, however many were asked for. It is done where `x` is an integer of at most 32 bits that is added as one of
//! 64, and the constant has as few: then neither `x + c` nor, of 2³¹ rows, a product is too large. Where a group has no
//! value, both sides are NULL.

use std::collections::BTreeMap;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_functions_aggregate::count::count_udaf;

use super::simplify::nodes::taken;
use crate::algebra::{Aggregate, Call, ColumnId, Columns, Expr, Kind, Map, Rel};

/// Fewer sums of a column stay what they are.
const FEWEST: usize = 3;

/// Takes constants out of sums, in a tree.
pub fn factor(rel: &mut Rel, columns: &mut Columns) {
    if let Rel::Aggregate(node) = rel {
        let exprs = factored(node, columns);
        if !exprs.is_empty() {
            *rel = Rel::Map(Map { input: Box::new(taken(rel)), exprs });
        }
    }
    rel.inputs_mut().into_iter().for_each(|input| factor(input, columns));
}

/// What is computed of the groups, of calls that are left out.
fn factored(node: &mut Aggregate, columns: &mut Columns) -> Vec<(ColumnId, Expr)> {
    let mut of_column: BTreeMap<ColumnId, usize> = BTreeMap::new();
    for (id, call) in &node.calls {
        if let Some((column, _)) = of_call(*id, call, columns) {
            *of_column.entry(column).or_default() += 1;
        }
    }
    let mut bases: BTreeMap<ColumnId, (ColumnId, ColumnId)> = BTreeMap::new();
    let (mut calls, mut exprs) = (Vec::with_capacity(node.calls.len()), Vec::new());
    for (id, call) in std::mem::take(&mut node.calls) {
        let of = of_call(id, &call, columns).filter(|(column, _)| of_column[column] >= FEWEST);
        let Some((column, constant)) = of else {
            calls.push((id, call));
            continue;
        };
        let (sum, count) = *bases.entry(column).or_insert_with(|| {
            let value = columns.read(column);
            let name = columns.show_names(&value);
            let sum = columns.add(format!("sum({name})"), DataType::Int64);
            let count = columns.add(format!("count({name})"), DataType::Int64);
            let wide = Kind::Cast { expr: Box::new(value), safe: false };
            let wide = Expr { kind: wide, data_type: DataType::Int64 };
            calls.push((count, Call { function: count_udaf(), args: vec![wide.clone()], ..call.clone() }));
            calls.push((sum, Call { args: vec![wide], ..call }));
            (sum, count)
        });
        let operation = |left: Expr, op: Operator, right: Expr| Expr {
            kind: Kind::Binary(op, Box::new(left), Box::new(right)),
            data_type: DataType::Int64,
        };
        let constant = Expr::literal(ScalarValue::Int64(Some(constant)));
        let added = operation(constant, Operator::Multiply, columns.read(count));
        exprs.push((id, operation(columns.read(sum), Operator::Plus, added)));
    }
    node.calls = calls;
    exprs
}

/// The column of which a call is the sum, plus a constant.
fn of_call(id: ColumnId, call: &Call, columns: &Columns) -> Option<(ColumnId, i64)> {
    let is_plain = !call.distinct && call.filter.is_none() && call.order_by.is_empty();
    let is_sum = call.function.name() == "sum" && columns.get(id).data_type == DataType::Int64;
    match call.args.as_slice() {
        [value] if is_plain && is_sum && value.data_type == DataType::Int64 => of_argument(value),
        _ => None,
    }
}

fn of_argument(value: &Expr) -> Option<(ColumnId, i64)> {
    let Kind::Binary(op, left, right) = &value.kind else { return None };
    match op {
        Operator::Plus => narrow(left).zip(small(right)).or_else(|| narrow(right).zip(small(left))),
        Operator::Minus => narrow(left).zip(small(right).map(|constant| -constant)),
        _ => None,
    }
}

/// The column that is made an integer of 64 bits of one of at most 32.
fn narrow(e: &Expr) -> Option<ColumnId> {
    let Kind::Cast { expr, safe: false } = &e.kind else { return None };
    let is_narrow = matches!(
        expr.data_type,
        DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
    );
    if is_narrow { expr.as_column() } else { None }
}

/// A constant of at most 32 bits.
fn small(e: &Expr) -> Option<i64> {
    match e.as_literal() {
        Some(ScalarValue::Int64(Some(value))) if i32::try_from(*value).is_ok() => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion_functions_aggregate::sum::sum_udaf;

    use super::*;
    use crate::algebra::Statement;
    use crate::rules::testing::{Sample, id, int};

    fn factor_all(statement: &mut Statement) {
        let Statement { columns, root, .. } = statement;
        factor(root, columns);
    }

    fn sum_of(arg: Expr) -> Call {
        Call {
            function: sum_udaf(),
            args: vec![arg],
            distinct: false,
            filter: None,
            order_by: vec![],
            ignore_nulls: None,
        }
    }

    fn wide(e: &Expr) -> Expr {
        Expr { kind: Kind::Cast { expr: Box::new(e.clone()), safe: false }, data_type: DataType::Int64 }
    }

    fn operation(left: Expr, op: Operator, right: Expr) -> Expr {
        Expr { kind: Kind::Binary(op, Box::new(left), Box::new(right)), data_type: DataType::Int64 }
    }

    #[test]
    fn sums_of_one_column_are_one_sum() {
        let mut sample = Sample::default();
        let (t, [k, y]) = sample.table("t", ["k", "y"]);
        let x = sample.column("x", DataType::Int16);
        let input = crate::rules::testing::map(t, vec![(id(&x), y)]);
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| sample.number(name));
        let calls = vec![
            (id(&a), sum_of(operation(wide(&x), Operator::Plus, int(1)))),
            (id(&b), sum_of(operation(int(2), Operator::Plus, wide(&x)))),
            (id(&d), sum_of(wide(&x))),
            (id(&c), sum_of(operation(wide(&x), Operator::Minus, int(3)))),
        ];
        let rel = Aggregate { input: Box::new(input), keys: vec![id(&k)], calls, totals: vec![] };
        sample.becomes(
            factor_all,
            Rel::Aggregate(rel),
            &[&k, &a, &b, &c, &d],
            "map a#3 := sum(x)#7 + (1 * count(x)#8), b#4 := sum(x)#7 + (2 * count(x)#8), \
             c#5 := sum(x)#7 + (-3 * count(x)#8)\n  \
             aggregate by k#0; count(x)#8 := count(CAST(x#2 AS Int64)); sum(x)#7 := sum(CAST(x#2 AS Int64)); \
             d#6 := sum(CAST(x#2 AS Int64))\n    map x#2 := y#1\n      scan t k#0, y#1\n",
        );
    }

    #[test]
    fn what_may_be_too_large_stays() {
        let mut sample = Sample::default();
        let (t, [k, x]) = sample.table("t", ["k", "x"]);
        let [a, b, c] = ["a", "b", "c"].map(|name| sample.number(name));
        let plus = |n: i64| sum_of(operation(x.clone(), Operator::Plus, int(n)));
        let calls = vec![(id(&a), plus(1)), (id(&b), plus(2)), (id(&c), plus(3))];
        let rel = Aggregate { input: Box::new(t), keys: vec![id(&k)], calls, totals: vec![] };
        let rel = Rel::Aggregate(rel);
        sample.becomes(factor_all, rel.clone(), &[&k, &a, &b, &c], &sample.columns.show_rel(&rel));
    }
}
