//! What gives the same rows whenever it is read, and what can be made to.
//!
//! A LIMIT takes some of the rows that are equal by its order, or of all rows without one; the first value of a group is
//! any one without an order. Both can be made to take the same ones each time, by more keys. A random value can't.

use std::collections::BTreeSet;

use arrow_schema::DataType;

use crate::algebra::{Aggregate, ColumnId, Columns, Expr, Rel, Sort, SortKey};

use super::stages::is_volatile;
use super::{reads, take};

/// Aggregates whose value depends on the order of their rows.
const OF_ORDER: [&str; 6] =
    ["any_value", "array_agg", "first_value", "last_value", "nth_value", "string_agg"];

/// Whether two readings of a relation give the same rows.
pub(super) fn is_repeatable(rel: &Rel) -> bool {
    let mut is = !is_volatile(rel);
    rel.look(&mut |node| {
        is &= match node {
            Rel::Limit(node) => node.skip == 0 && node.fetch.is_none_or(|n| n == 0),
            Rel::Sort(node) => node.fetch.is_none(),
            Rel::Scan(node) => node.fetch.is_none(),
            Rel::Aggregate(node) => {
                !node.calls.iter().any(|(_, call)| OF_ORDER.contains(&call.function.name()))
            }
            _ => true,
        }
    });
    is
}

/// Makes a relation give the same rows, as far as the columns `needed` tell them apart, whenever it is read. Whether that
/// is so now.
pub(super) fn make_repeatable(rel: &mut Rel, needed: &BTreeSet<ColumnId>, columns: &Columns) -> bool {
    let mut below: BTreeSet<ColumnId> = needed.clone();
    match rel {
        Rel::Map(node) => {
            let exprs = node.exprs.iter().filter(|(id, _)| needed.contains(id)).map(|(_, e)| e);
            if exprs.clone().any(Expr::is_volatile) {
                return false;
            }
            below.extend(reads(exprs));
        }
        Rel::Aggregate(node) => {
            let calls = node.calls.iter().filter(|(id, _)| needed.contains(id));
            if calls.clone().any(|(_, call)| OF_ORDER.contains(&call.function.name())) {
                return false;
            }
            if rel_is_volatile(node) {
                return false;
            }
            below = node.keys.iter().copied().collect();
            let calls = node.calls.iter().filter(|(id, _)| needed.contains(id));
            let exprs = calls.flat_map(|(_, call)| call.args.iter().chain(&call.filter));
            below.extend(reads(exprs));
        }
        Rel::Limit(node) => {
            if node.skip == 0 && node.fetch.is_none_or(|n| n == 0) {
                return make_repeatable(&mut node.input, needed, columns);
            }
            if !total_order(&mut node.input, needed, columns) {
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

fn rel_is_volatile(node: &Aggregate) -> bool {
    node.calls.iter().any(|(_, call)| call.args.iter().chain(&call.filter).any(Expr::is_volatile))
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
