//! Aggregations: key layouts, one phase or two.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::utils::AggregateOrderSensitivity;

use super::project::inline;
use super::{Lowered, Lowering, accumulators, column};
use crate::algebra::{Aggregate, Call, ColumnId, Expr, Rel, Values};
use crate::compile::Layout;
use crate::error::{Error, Result};
use crate::estimates;
use crate::plan::{self, AggregateCall, Exchange, KeyLayout, Node, Op, Phase, SortKey};
use crate::types::check_order;

impl Lowering<'_> {
    /// Lowers an aggregation. Keys and arguments that a map below it computes are computed here, if that is once.
    pub fn aggregate(&mut self, rel: &Rel, aggregate: &Aggregate, at: usize) -> Result<Lowered> {
        let wanted = aggregate.calls.iter().filter(|(id, _)| self.reads.is_wanted(*id, at));
        let mut calls: Vec<(ColumnId, Call)> = wanted.cloned().collect();
        if aggregate.keys.is_empty() && calls.is_empty() {
            // One group, of which nothing is asked.
            return self.rel(&Values::one(), at);
        }
        let (ids, totals) = distinct_keys(aggregate);
        let mut keys: Vec<Expr> = ids.iter().map(|id| self.columns.read(*id)).collect();
        let is_ordered = calls.iter().any(|(_, call)| !call.order_by.is_empty());
        let (mut maps, mut below, mut below_at) = (vec![], &*aggregate.input, at + 1);
        while let Rel::Map(map) = below
            && !is_ordered
        {
            let of_calls = calls.iter_mut().flat_map(|(_, call)| call.exprs_mut());
            let mut exprs: Vec<&mut Expr> = keys.iter_mut().chain(of_calls).collect();
            if !inline(map, &mut exprs) {
                break;
            }
            maps.push(below);
            (below, below_at) = (&map.input, below_at + 1);
        }
        let of_calls = calls.iter().flat_map(|(_, call)| call.exprs());
        let seen: Vec<&Expr> = keys.iter().chain(of_calls).collect();
        let input = self.below(below, below_at, &seen)?;
        let given = maps.iter().rfold(input.estimate.clone(), |below, map| estimates::of(map, &[&below]));
        let estimate = estimates::of(rel, &[&given]);
        // Rows that are moved to be put in order shall be narrow.
        let input = if is_ordered { self.narrowed(input, below_at)? } else { input };

        let (compiled, order) = self.calls(&calls, &input.layout)?;
        let mut compiled_keys = Vec::with_capacity(keys.len());
        for key in &keys {
            compiled_keys.push(self.compile(key, &input.layout)?);
        }
        let global = keys.is_empty();
        let plan = plan::Aggregate {
            phase: Phase::Single,
            layout: layout(&keys),
            keys: compiled_keys,
            aggregates: compiled,
            groups: if global { 1.0 } else { estimate.rows },
            global,
            totals,
        };
        let given = ids.into_iter().chain(calls.iter().map(|(id, _)| *id)).collect();
        let output = Layout::new(given, &self.columns);
        let schema = output.schema().clone();
        let node = match order {
            Some(order) => self.ordered(input.node, plan, order, schema),
            None => self.phases(input.node, plan, schema)?,
        };
        Ok(Lowered { node, layout: output, estimate })
    }

    /// The accumulators of calls, and the order in which they are to be given rows.
    fn calls(
        &mut self,
        calls: &[(ColumnId, Call)],
        input: &Layout,
    ) -> Result<(Vec<AggregateCall>, Option<Vec<SortKey>>)> {
        let mut compiled = Vec::with_capacity(calls.len());
        let mut order: Option<Vec<SortKey>> = None;
        for (_, call) in calls {
            call.exprs().for_each(|e| self.note_stages(e));
            let name = call.function.name();
            // Rules make such calls, too.
            check_order(call)?;
            let shown = if call.distinct { format!("{name} of distinct") } else { name.to_string() };
            let (function, filter, keys) = self.compiler.aggregate(call, input, &shown)?;
            // Some accumulators keep the order themselves (first_value); the others need their rows sorted.
            let sorted = function.order_sensitivity() == AggregateOrderSensitivity::HardRequirement;
            if sorted && !keys.is_empty() {
                match &order {
                    Some(order) if !same(order, &keys) => {
                        let what = "aggregates with different ORDER BY in one query";
                        return Err(Error::Unsupported(what.into()));
                    }
                    _ => order = Some(keys),
                }
            }
            compiled.push(accumulators::call(function, filter, input.schema())?);
        }
        Ok((compiled, order))
    }

    /// One phase where the rows lie together already, else two with an exchange of states between them.
    fn phases(&mut self, input: Node, plan: plan::Aggregate, output: SchemaRef) -> Result<Node> {
        let (groups, global) = (plan.groups, plan.global);
        if input.single || self.settings.workers == 1 {
            let mut node = self.node(Op::Aggregate(plan), output, vec![input], groups);
            node.single |= global;
            return Ok(node);
        }
        let count = plan.keys.len();
        let fields = output.fields()[..count].iter().map(|f| f.as_ref().clone());
        let fields: Vec<_> = fields.chain(accumulators::states(&plan.aggregates)?).collect();
        let between = Arc::new(Schema::new(fields));
        let partial = Op::Aggregate(plan::Aggregate { phase: Phase::Partial, ..plan.clone() });
        let partial = self.node(partial, between.clone(), vec![input], groups);
        let keys: Vec<_> = (0..count).map(|i| column(&between, i)).collect();
        let exchange = if global { Exchange::Gather } else { Exchange::Hash(keys.clone()) };
        let moved = self.exchange(exchange, partial);
        let last = Op::Aggregate(plan::Aggregate { phase: Phase::Final, keys, ..plan });
        Ok(self.node(last, output, vec![moved], groups))
    }

    /// Aggregates that depend on the order of their rows: rows of a group to one worker, sorted there, one phase.
    fn ordered(
        &mut self,
        input: Node,
        plan: plan::Aggregate,
        order: Vec<SortKey>,
        output: SchemaRef,
    ) -> Node {
        let groups = plan.groups;
        let input = match (input.single, plan.global) {
            (true, _) => input,
            (false, true) => self.exchange(Exchange::Gather, input),
            (false, false) => self.exchange(Exchange::Hash(plan.keys.clone()), input),
        };
        let (schema, rows) = (input.schema.clone(), input.rows);
        let sorted = self.node(Op::Sort { keys: order, fetch: None }, schema, vec![input], rows);
        self.node(Op::Aggregate(plan), output, vec![sorted], groups)
    }
}

/// The keys, each once, and what they are in groups that are given for no rows too.
fn distinct_keys(aggregate: &Aggregate) -> (Vec<ColumnId>, Vec<Vec<ScalarValue>>) {
    let mut seen = BTreeSet::new();
    let is_first: Vec<bool> = aggregate.keys.iter().map(|key| seen.insert(*key)).collect();
    let keys = aggregate.keys.iter().zip(&is_first).filter(|(_, first)| **first).map(|(key, _)| *key);
    let total = |total: &Vec<ScalarValue>| {
        let values = total.iter().zip(&is_first).filter(|(_, first)| **first);
        values.map(|(value, _)| value.clone()).collect()
    };
    (keys.collect(), aggregate.totals.iter().map(total).collect())
}

fn same(a: &[SortKey], b: &[SortKey]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.options == b.options && a.expr.eq(&b.expr))
}

/// How keys lie in the hash table.
pub(super) fn layout(keys: &[Expr]) -> KeyLayout {
    match keys {
        [] => KeyLayout::None,
        [key] => match &key.data_type {
            DataType::Utf8View => KeyLayout::View,
            t if t.is_integer()
                || matches!(t, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)) =>
            {
                KeyLayout::Word
            }
            _ => KeyLayout::Rows,
        },
        _ => KeyLayout::Rows,
    }
}
