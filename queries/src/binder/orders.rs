//! Aggregates of one SELECT that ask for their rows in different orders.
//!
//! An aggregate has its rows sorted once. So there is one for each order, over the same rows, and they are joined by their
//! keys, of which all have the same. The rows are those of a stage, as of a name of WITH that is read several times.

use std::collections::BTreeMap;

use datafusion_expr::Operator;
use datafusion_expr::utils::AggregateOrderSensitivity;

use super::Binder;
use crate::algebra::{Aggregate, Call, ColumnId, Expr, Join, JoinKind, Rel, Shared, Stage, StageOutput};

/// Calls that go together.
type Calls = Vec<(ColumnId, Call)>;

impl Binder<'_> {
    /// The relation of an aggregate. Where its rows depend on those of a query around it stays one, whatever its orders.
    pub(super) fn aggregated(&mut self, node: Aggregate) -> Rel {
        let Aggregate { input, keys, calls, totals } = node;
        let mut classes = by_order(calls);
        let first = if classes.is_empty() { vec![] } else { classes.remove(0) };
        if classes.is_empty() || !input.free().is_empty() {
            let calls = first.into_iter().chain(classes.into_iter().flatten()).collect();
            return Rel::Aggregate(Aggregate { input, keys, calls, totals });
        }
        let read: Vec<ColumnId> = input.columns().into_iter().collect();
        // The stage has columns of its own, so that the first reader has those that all else reads.
        let (root, own) = input.copied(&mut self.columns);
        let columns = read.iter().map(|id| own.get(id).copied().unwrap_or(*id)).collect();
        let stage = self.stages.len();
        self.stages.push(Stage { root, columns, gives: StageOutput::Rows { is_asked: false } });
        let reader = |columns| Box::new(Rel::Shared(Shared { stage, columns, fetch: None, facts: None }));
        let aggregate = |columns, keys, calls| {
            Rel::Aggregate(Aggregate { input: reader(columns), keys, calls, totals: totals.clone() })
        };
        let mut all = aggregate(read.clone(), keys.clone(), first);
        for mut calls in classes {
            let renamed: Vec<ColumnId> = read.iter().map(|id| self.columns.again(*id)).collect();
            let numbers: BTreeMap<ColumnId, ColumnId> =
                read.iter().copied().zip(renamed.iter().copied()).collect();
            let number = |id: ColumnId| numbers.get(&id).copied().unwrap_or(id);
            let exprs = calls.iter_mut().flat_map(|(_, call)| call.exprs_mut());
            exprs.for_each(|e| e.renumber(&number));
            let own: Vec<ColumnId> = keys.iter().map(|key| number(*key)).collect();
            let predicates = keys.iter().zip(&own).map(|(key, own)| {
                Expr::compare(self.columns.read(*key), Operator::IsNotDistinctFrom, self.columns.read(*own))
            });
            all = Rel::Join(Join {
                kind: JoinKind::Inner,
                predicates: predicates.collect(),
                left: Box::new(all),
                right: Box::new(aggregate(renamed, own, calls)),
            });
        }
        all
    }
}

/// The calls by the order of which they need their rows sorted. Those that need none are with the first ones.
fn by_order(calls: Calls) -> Vec<Calls> {
    let needs_order = |call: &Call| {
        !call.order_by.is_empty()
            && call.function.inner().order_sensitivity() == AggregateOrderSensitivity::HardRequirement
    };
    let (ordered, others): (Calls, Calls) = calls.into_iter().partition(|(_, call)| needs_order(call));
    let mut classes: Vec<Calls> = vec![others];
    for call in ordered {
        let same = |class: &&mut Calls| {
            class.iter().any(|(_, other)| needs_order(other) && other.order_by == call.1.order_by)
        };
        match classes.iter_mut().find(same) {
            Some(class) => class.push(call),
            None => match classes.as_mut_slice() {
                [first] if !first.iter().any(|(_, other)| needs_order(other)) => first.push(call),
                _ => classes.push(vec![call]),
            },
        }
    }
    classes
}
