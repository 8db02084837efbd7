//! Functions over windows.

use std::collections::BTreeSet;

use arrow_schema::SortOptions;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use super::{Lowered, Lowering, accumulators};
use crate::algebra::window::{Bound, Frame};
use crate::algebra::{Call, ColumnId, Expr, Kind, Rel, SortKey, Window, WindowCall, WindowFunction};
use crate::compile::Layout;
use crate::error::{Error, Result};
use crate::estimates;
use crate::plan::{self, Exchange, Node, Op};

impl Lowering<'_> {
    /// Brings the rows of each partition together, in the order of the window. Without PARTITION BY that is worker 0.
    pub fn window(&mut self, rel: &Rel, window: &Window, at: usize) -> Result<Lowered> {
        let wanted = window.calls.iter().filter(|(id, _)| self.reads.is_wanted(*id, at));
        let mut calls: Vec<(ColumnId, WindowCall)> = wanted.cloned().collect();
        if calls.is_empty() {
            return self.rel(&window.input, at + 1);
        }
        let input = self.rel(&window.input, at + 1)?;
        let estimate = estimates::of(rel, &[&input.estimate]);

        let mut computed = Vec::new();
        let mut partition: Vec<ColumnId> = Vec::with_capacity(window.partition.len());
        for e in &window.partition {
            if e.as_literal().is_none() {
                let id = self.key(e, &input.layout, &mut computed);
                if !partition.contains(&id) {
                    partition.push(id);
                }
            }
        }
        let mut order = Vec::with_capacity(window.order.len());
        for key in &window.order {
            order.push((self.key(&key.expr, &input.layout, &mut computed), options(key)));
        }
        for e in calls.iter_mut().flat_map(|(_, call)| call.exprs_mut()) {
            if e.as_literal().is_none() {
                let id = self.value(e, &input.layout, &mut computed);
                *e = self.columns.read(id);
            }
        }
        let mut read: BTreeSet<ColumnId> = partition.iter().copied().collect();
        read.extend(order.iter().map(|(id, _)| *id));
        calls.iter().flat_map(|(_, call)| call.exprs()).for_each(|e| e.collect_columns(&mut read));
        let kept = input.layout.ids().iter().copied();
        let kept = kept.filter(|id| self.reads.is_wanted(*id, at) || read.contains(id)).collect();
        let Lowered { node, layout, .. } = self.computing(input, kept, computed)?;

        let keys = partition.iter().map(|id| (*id, SortOptions::default())).chain(order.iter().copied());
        let mut sort_keys: Vec<plan::SortKey> = Vec::new();
        for (id, options) in keys {
            sort_keys.push(plan::SortKey { expr: self.compile(&self.columns.read(id), &layout)?, options });
        }
        let node = self.together(node, partition.len(), sort_keys);
        let position = |id: &ColumnId| layout.position(*id).ok_or_else(|| lost(&self.columns.get(*id).name));
        let plan = plan::Window {
            partition: partition.iter().map(position).collect::<Result<_>>()?,
            order: order.iter().map(|(id, options)| Ok((position(id)?, *options))).collect::<Result<_>>()?,
            calls: calls.iter().map(|(_, call)| self.window_call(call, &layout)).collect::<Result<_>>()?,
        };
        let ids = layout.ids().iter().copied().chain(calls.iter().map(|(id, _)| *id)).collect();
        let layout = Layout::new(ids, &self.columns);
        let rows = node.rows;
        let node = self.node(Op::Window(plan), layout.schema().clone(), vec![node], rows);
        Ok(Lowered { node, layout, estimate })
    }

    /// The rows of each partition on one worker, sorted by the keys, of which the first `partition` are those of the
    /// partition.
    fn together(&mut self, node: Node, partition: usize, keys: Vec<plan::SortKey>) -> Node {
        let (schema, rows, single) = (node.schema.clone(), node.rows, node.single);
        let spread = match partition {
            0 if keys.is_empty() && !single => return self.gather(node, false),
            0 => node,
            _ if single || self.settings.workers == 1 => node,
            _ => {
                let hashed = keys[..partition].iter().map(|key| key.expr.clone()).collect();
                self.exchange(Exchange::Hash(hashed), node)
            }
        };
        if keys.is_empty() {
            return spread;
        }
        let op = Op::Sort { keys: keys.clone(), fetch: None };
        let sorted = self.node(op, schema, vec![spread], rows);
        match partition == 0 && !single {
            true => self.exchange(Exchange::Merge { keys, fetch: None }, sorted),
            false => sorted,
        }
    }

    /// The column of a key. Of floats 0 and -0 are equal, and what sorts tells them apart.
    fn key(&mut self, e: &Expr, input: &Layout, computed: &mut Vec<(ColumnId, Expr)>) -> ColumnId {
        if !e.data_type.is_floating() {
            return self.value(e, input, computed);
        }
        let zero =
            ScalarValue::new_zero(&e.data_type).map_or_else(|_| Expr::null(&e.data_type), Expr::literal);
        let kind = Kind::Binary(Operator::Plus, Box::new(e.clone()), Box::new(zero));
        let normal = Expr { kind, data_type: e.data_type.clone() };
        self.value(&normal, input, computed)
    }

    /// The column of a value, made if there is none.
    fn value(&mut self, e: &Expr, input: &Layout, computed: &mut Vec<(ColumnId, Expr)>) -> ColumnId {
        if let Some(id) = e.as_column().filter(|id| input.position(*id).is_some()) {
            return id;
        }
        if let Some((id, _)) = computed.iter().find(|(_, known)| known == e && !e.is_volatile()) {
            return *id;
        }
        let id = self.columns.add(format!("window key {}", computed.len()), e.data_type.clone());
        computed.push((id, e.clone()));
        id
    }

    fn window_call(&self, call: &WindowCall, input: &Layout) -> Result<plan::WindowCall> {
        use WindowFunction as F;
        let position = |e: &Expr| {
            let id = e.as_column();
            id.and_then(|id| input.position(id)).ok_or_else(|| lost(&self.columns.show_names(e)))
        };
        let compiled = call.args.iter().map(|arg| self.compiler.compile(arg, input));
        let mut args = compiled.collect::<Result<Vec<_>>>()?;
        let function = match &call.function {
            F::RowNumber => plan::WindowFunction::RowNumber,
            F::Rank => plan::WindowFunction::Rank,
            F::DenseRank => plan::WindowFunction::DenseRank,
            F::PercentRank => plan::WindowFunction::PercentRank,
            F::CumeDist => plan::WindowFunction::CumeDist,
            F::Ntile => plan::WindowFunction::Ntile,
            F::Lag | F::Lead => {
                let constant = match call.args.get(1).map(Expr::as_literal) {
                    None => Some(Some(1)),
                    Some(Some(ScalarValue::Int64(rows))) => Some(*rows),
                    Some(_) => None,
                };
                let ahead = call.function == F::Lead;
                let by = match constant {
                    Some(None) => plan::Shift::Nowhere,
                    Some(Some(rows)) => {
                        plan::Shift::Rows(if ahead { i128::from(rows) } else { -i128::from(rows) })
                    }
                    None => plan::Shift::ByRow { ahead },
                };
                plan::WindowFunction::Shift(by)
            }
            F::FirstValue => plan::WindowFunction::First,
            F::LastValue => plan::WindowFunction::Last,
            F::NthValue => plan::WindowFunction::Nth,
            F::Aggregate(function) => {
                let key = call.args.first();
                let order = key.filter(|_| !call.within.is_empty()).map(|key| crate::algebra::SortKey {
                    expr: key.clone(),
                    descending: call.within.first() == Some(&true),
                    nulls_first: false,
                });
                let plain = Call {
                    function: function.clone(),
                    args: call.args.clone(),
                    distinct: call.distinct,
                    filter: None,
                    order_by: order.into_iter().collect(),
                    ignore_nulls: call.ignore_nulls.then_some(true),
                };
                let name = function.name();
                let shown = if call.distinct { format!("{name} of distinct") } else { name.to_string() };
                let (f, _, _) = self.compiler.aggregate(&plain, input, &shown)?;
                let compiled = accumulators::call(f, None, input.schema())?;
                args = compiled.args.clone();
                plan::WindowFunction::Aggregate(compiled.function)
            }
        };
        Ok(plan::WindowCall {
            function,
            args,
            order: call.order,
            frame: frame(&call.frame, &position)?,
            filter: call.filter.as_ref().map(|e| self.compiler.compile(e, input)).transpose()?,
            ignore_nulls: call.ignore_nulls,
        })
    }
}

fn options(key: &SortKey) -> SortOptions {
    SortOptions { descending: key.descending, nulls_first: key.nulls_first }
}

fn frame(frame: &Frame, position: &dyn Fn(&Expr) -> Result<usize>) -> Result<plan::Frame> {
    let bound = |bound: &Bound| -> Result<plan::Bound> {
        Ok(match bound {
            Bound::First => plan::Bound::First,
            Bound::Before(n) => plan::Bound::Before(*n),
            Bound::Current => plan::Bound::Current,
            Bound::After(n) => plan::Bound::After(*n),
            Bound::Last => plan::Bound::Last,
            Bound::Value(e) => plan::Bound::Value(position(e)?),
        })
    };
    Ok(plan::Frame {
        units: frame.units,
        start: bound(&frame.start)?,
        end: bound(&frame.end)?,
        exclude: frame.exclude,
        key: frame.key.as_ref().map(position).transpose()?,
    })
}

fn lost(name: &str) -> Error {
    Error::Unsupported(format!("column '{name}' in a window, where no table gives it"))
}
