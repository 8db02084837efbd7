//! Expressions that panic, put into a plan.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use datafusion_common::Result as Computed;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use queries::plan::{Exchange, Expr, Node, Op, Phase};

/// An expression that panics when it is evaluated for the so-manieth time, by any worker.
#[derive(Debug)]
struct Panics {
    of: Expr,
    left: AtomicUsize,
}

impl Panics {
    fn wrap(expr: &mut Expr, calls: usize) {
        *expr = Arc::new(Panics { of: expr.clone(), left: AtomicUsize::new(calls) });
    }
}

impl PartialEq for Panics {
    fn eq(&self, other: &Panics) -> bool {
        self.of.eq(&other.of)
    }
}

impl Eq for Panics {}

impl Hash for Panics {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.of.hash(state);
    }
}

impl fmt::Display for Panics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panics({})", self.of)
    }
}

impl PhysicalExpr for Panics {
    fn data_type(&self, schema: &Schema) -> Computed<DataType> {
        self.of.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Computed<bool> {
        self.of.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Computed<ColumnarValue> {
        assert!(self.left.fetch_sub(1, Ordering::SeqCst) != 1, "on purpose");
        self.of.evaluate(batch)
    }

    fn children(&self) -> Vec<&Expr> {
        Vec::new()
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Expr>) -> Computed<Expr> {
        Ok(self)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Has the first expression of the first operator of this kind panic, at its so-manieth batch; false if there is none.
pub fn sabotage(node: &mut Node, kind: &str, calls: usize) -> bool {
    let expr = match (&mut node.op, kind) {
        (Op::Project { exprs }, "project") => exprs.first_mut(),
        (Op::Filter { predicate }, "filter") => Some(predicate),
        // The last phase finds the keys in its input.
        (Op::Aggregate(aggregate), "aggregate") if aggregate.phase != Phase::Final => {
            aggregate.keys.first_mut()
        }
        (Op::Join(join), "join") => join.on.first_mut().map(|(_, right)| right),
        (Op::Sort { keys, .. }, "sort") => keys.first_mut().map(|key| &mut key.expr),
        (Op::Exchange(Exchange::Hash(keys)), "exchange") => keys.first_mut(),
        (Op::Exchange(Exchange::Merge { keys, .. }), "merge") => keys.first_mut().map(|key| &mut key.expr),
        _ => None,
    };
    match expr {
        Some(expr) => {
            Panics::wrap(expr, calls);
            true
        }
        None => node.inputs.iter_mut().any(|input| sabotage(input, kind, calls)),
    }
}
