//! Sorts whose order nobody sees.
//!
//! The order of rows matters to the result, to LIMIT, and to aggregates that put values together in it. It matters to
//! windows of all rows that have no order of their own. What is joined, grouped or put together by a union has no
//! order, whatever its inputs had. A sort that keeps the first rows stays. The order of a stage's rows is seen if that
//! of some reader is.

use std::collections::BTreeSet;

use super::simplify::nodes::taken;
use crate::algebra::{Aggregate, Rel, StageOutput, Statement};

/// Aggregates whose result depends on the order of rows where none of their own is asked for.
const ORDERED: [&str; 5] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value"];

/// Takes such sorts away.
pub fn remove(statement: &mut Statement) {
    let mut seen = BTreeSet::new();
    unsorted(&mut statement.root, true, &mut seen);
    // A stage reads those before it.
    for (number, stage) in statement.stages.iter_mut().enumerate().rev() {
        // A value is one row.
        let is_seen = seen.contains(&number);
        if let StageOutput::Rounds(rounds) = stage.gives
            && is_seen
        {
            seen.insert(rounds.seed);
        }
        unsorted(&mut stage.root, is_seen, &mut seen);
    }
}

/// Takes sorts away in a relation whose order is seen, or not. Notes the stages whose order is seen.
fn unsorted(rel: &mut Rel, is_seen: bool, seen: &mut BTreeSet<usize>) {
    while let Rel::Sort(node) = rel
        && !is_seen
        && node.fetch.is_none()
    {
        *rel = taken(&mut node.input);
    }
    let below = match rel {
        Rel::Filter(_) | Rel::Map(_) | Rel::Repeat(_) | Rel::Unnest(_) => is_seen,
        Rel::Limit(_) => true,
        Rel::Aggregate(node) => sees_order(node),
        // Any other window puts its rows in an order of its own.
        Rel::Window(node) => node.partition.is_empty() && node.order.is_empty(),
        Rel::Shared(node) if is_seen => {
            seen.insert(node.stage);
            false
        }
        _ => false,
    };
    rel.inputs_mut().into_iter().for_each(|input| unsorted(input, below, seen));
}

fn sees_order(node: &Aggregate) -> bool {
    node.calls.iter().any(|(_, call)| call.order_by.is_empty() && ORDERED.contains(&call.function.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{JoinKind, Limit, Sort, SortKey};
    use crate::rules::testing::{Sample, eq, group, id, join};

    #[test]
    fn an_order_that_is_not_seen_is_not_made() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let sort = |input, fetch| {
            let keys = vec![SortKey { expr: x.clone(), descending: false, nulls_first: false }];
            Rel::Sort(Sort { input: Box::new(input), keys, fetch })
        };
        let sorted = sort(t.clone(), None);
        let grouped = group(sorted.clone(), vec![id(&x)]);
        sample.becomes(remove, grouped, &[&x], "aggregate by x#0\n  scan t x#0\n");
        let joined = join(JoinKind::Semi, sorted.clone(), sort(u, Some(3)), vec![eq(&x, &y)]);
        let to = "semi join (x#0 = y#1)\n  scan t x#0\n  sort x#0 fetch 3\n    scan u y#1\n";
        sample.becomes(remove, joined, &[&x], to);
        let limited = Rel::Limit(Limit { input: Box::new(sorted), skip: 0, fetch: Some(5) });
        let kept = sample.columns.show_rel(&group(limited.clone(), vec![id(&x)]));
        sample.becomes(remove, group(limited, vec![id(&x)]), &[&x], &kept);
    }
}
