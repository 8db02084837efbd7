//! What gives the same rows whenever it is read, and what can be made to.
//!
//! A LIMIT takes some of the rows that are equal by its order, or of all rows without one. The first value of a group
//! is any one without an order, and so is the number of a row among its peers. All of these can be made to be the same
//! each time, by more keys. A random value can't.

use std::collections::BTreeSet;

use arrow_schema::DataType;
use datafusion_functions_aggregate::min_max::min_udaf;

use crate::algebra::window::{Exclude, Units};
use crate::algebra::{Call, ColumnId, Columns, Expr, Limit, Rel, Sort, SortKey, WindowCall, WindowFunction};

use super::stages::is_volatile;
use super::{reads, take};

/// Aggregates whose value depends on the order in which they are given rows.
const ORDERED: [&str; 6] = ["any_value", "array_agg", "first_value", "last_value", "nth_value", "string_agg"];

/// Whether the value of a call depends on the order in which floats are summed.
pub(super) fn sums_floats(call: &Call) -> bool {
    !is_exact_name(call.function.name()) && call.args.iter().any(|e| e.data_type.is_floating())
}

fn is_exact_name(aggregate: &str) -> bool {
    let exact = [
        "approx_distinct",
        "arg_max",
        "arg_max_null",
        "arg_max_nulls_last",
        "arg_min",
        "arg_min_null",
        "arg_min_nulls_last",
        "count",
        "entropy",
        "first_value",
        "last_value",
        "max",
        "min",
        "mode",
        "nth_value",
        "quantile_disc",
    ];
    exact.contains(&aggregate)
}

/// Whether two readings of a relation give the same rows, to the last digit of each float.
pub fn is_exact(rel: &Rel) -> bool {
    let mut is = is_repeatable(rel);
    rel.look(&mut |node| {
        if let Rel::Aggregate(node) = node {
            is &= !node.calls.iter().any(|(_, call)| sums_floats(call));
        }
        if let Rel::Window(node) = node {
            let of_floats = |call: &WindowCall| call.args.iter().any(|e| e.data_type.is_floating());
            let sums = |call: &WindowCall| {
                matches!(call.function, WindowFunction::Aggregate(_)) && !is_exact_name(call.function.name())
            };
            is &= !node.calls.iter().any(|(_, call)| sums(call) && of_floats(call));
        }
    });
    is
}

/// Whether two readings of a relation give the same rows.
pub(in crate::rules) fn is_repeatable(rel: &Rel) -> bool {
    let mut is = !is_volatile(rel);
    rel.look(&mut |node| {
        is &= match node {
            Rel::Limit(node) => takes_all(node),
            Rel::Sort(node) => node.fetch.is_none(),
            Rel::Scan(node) => node.fetch.is_none(),
            Rel::Shared(node) => node.fetch.is_none(),
            Rel::Aggregate(node) => !node.calls.iter().any(|(_, call)| depends_on_order(call)),
            Rel::Window(node) => !node.calls.iter().any(|(_, call)| depends_on_peers(call)),
            _ => true,
        }
    });
    is
}

/// Whether no rows or all of them are taken.
fn takes_all(node: &Limit) -> bool {
    node.fetch == Some(0) || node.skip == 0 && node.fetch.is_none()
}

/// Whether the value of a call depends on an order that its keys leave open. If the values are among the keys, it takes
/// equal ones.
fn depends_on_order(call: &Call) -> bool {
    let is_key = |e: &Expr| e.as_literal().is_some() || call.order_by.iter().any(|key| key.expr == *e);
    ORDERED.contains(&call.function.name()) && !call.args.iter().all(is_key)
}

/// Whether the value of a call depends on the order of rows that are equal in its keys.
fn depends_on_peers(call: &WindowCall) -> bool {
    match &call.function {
        WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist => false,
        WindowFunction::Aggregate(function) => {
            let is_of_peers = call.frame.units != Units::Rows && call.frame.exclude == Exclude::Nothing;
            !is_of_peers || ORDERED.contains(&function.name())
        }
        _ => true,
    }
}

/// Makes a relation give the same rows, as far as the columns `needed` tell them apart, whenever it is read. Whether that
/// is so now.
pub(super) fn make_repeatable(rel: &mut Rel, needed: &BTreeSet<ColumnId>, columns: &Columns) -> bool {
    let mut below: BTreeSet<ColumnId> = needed.clone();
    match rel {
        Rel::Map(node) => {
            for (id, e) in &node.exprs {
                if needed.contains(id) {
                    if e.is_volatile() {
                        return false;
                    }
                    e.collect_columns(&mut below);
                }
            }
        }
        Rel::Aggregate(node) => {
            below = node.keys.iter().copied().collect();
            for (_, call) in node.calls.iter_mut().filter(|(id, _)| needed.contains(id)) {
                if !settle(call) {
                    return false;
                }
                below.extend(reads(call.exprs()));
            }
        }
        Rel::Window(node) => {
            below.extend(reads(node.exprs()));
            if node.calls.iter().any(|(_, call)| depends_on_peers(call)) {
                // Rows that are equal in all that is read of them are the same.
                let given = node.input.columns();
                let more: Vec<ColumnId> = given.intersection(&below).copied().collect();
                if !more.iter().all(|id| is_ordered(&columns.get(*id).data_type)) {
                    return false;
                }
                add_keys(&mut node.order, &more, columns);
            }
        }
        Rel::Limit(node) => {
            if !takes_all(node) && !total_order(&mut node.input, needed, columns) {
                return false;
            }
        }
        Rel::Sort(node) => {
            if node.fetch.is_some() && !extend(node, needed, columns) {
                return false;
            }
            below.extend(reads(node.keys.iter().map(|key| &key.expr)));
        }
        Rel::Scan(node) => return node.fetch.is_none(),
        Rel::Shared(node) => return node.fetch.is_none(),
        Rel::Union(_) => below = rel.reads(),
        _ => {
            if rel.exprs().into_iter().any(Expr::is_volatile) {
                return false;
            }
            below.extend(rel.reads());
        }
    }
    rel.inputs_mut().into_iter().all(|input| make_repeatable(input, &below, columns))
}

/// Makes the value of a call the same one each time.
fn settle(call: &mut Call) -> bool {
    if call.exprs().any(Expr::is_volatile) {
        return false;
    }
    if !depends_on_order(call) {
        return true;
    }
    let [arg] = call.args.as_slice() else { return false };
    if !is_ordered(&arg.data_type) {
        return false;
    }
    match call.function.name() {
        "first_value" | "last_value" => {
            call.order_by.push(SortKey { expr: arg.clone(), descending: false, nulls_first: false });
        }
        // The least value is one of them.
        "any_value" => call.function = min_udaf(),
        _ => return false,
    }
    true
}

/// Makes the order in which a LIMIT takes rows one without equal rows.
fn total_order(input: &mut Rel, needed: &BTreeSet<ColumnId>, columns: &Columns) -> bool {
    if is_sorted(input) {
        return match input {
            Rel::Sort(node) => extend(node, needed, columns),
            Rel::Map(node) => {
                let exprs = node.exprs.iter().filter(|(id, _)| needed.contains(id)).map(|(_, e)| e);
                let needed = needed.union(&reads(exprs)).copied().collect();
                total_order(&mut node.input, &needed, columns)
            }
            Rel::Filter(node) => {
                let needed = needed.union(&reads(&node.predicates)).copied().collect();
                total_order(&mut node.input, &needed, columns)
            }
            _ => false,
        };
    }
    let mut sort = Sort { input: Box::new(take(input)), keys: vec![], fetch: None };
    let is_total = extend(&mut sort, needed, columns);
    *input = if sort.keys.is_empty() { *sort.input } else { Rel::Sort(sort) };
    is_total
}

/// Whether rows have the order of a sort.
pub(super) fn is_sorted(rel: &Rel) -> bool {
    match rel {
        Rel::Sort(node) => node.fetch.is_none(),
        Rel::Map(node) => is_sorted(&node.input),
        Rel::Filter(node) => is_sorted(&node.input),
        _ => false,
    }
}

/// Adds the columns needed to the keys.
fn extend(sort: &mut Sort, needed: &BTreeSet<ColumnId>, columns: &Columns) -> bool {
    let given = sort.input.columns();
    let more: Vec<ColumnId> = given.intersection(needed).copied().collect();
    if !more.iter().all(|id| is_ordered(&columns.get(*id).data_type)) {
        return false;
    }
    add_keys(&mut sort.keys, &more, columns);
    true
}

/// Adds columns to the keys of an order.
pub(super) fn add_keys(keys: &mut Vec<SortKey>, more: &[ColumnId], columns: &Columns) {
    for id in more {
        if !keys.iter().any(|key| key.expr.as_column() == Some(*id)) {
            keys.push(SortKey { expr: columns.read(*id), descending: false, nulls_first: false });
        }
    }
}

/// Whether values of a type have an order that aggregates keep too.
pub(super) fn is_ordered(t: &DataType) -> bool {
    !t.is_nested()
}
