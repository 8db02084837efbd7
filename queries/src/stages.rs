//! The values of stages, put into the plan of one run: a plan can be run several times at once.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::physical_planning_context::SubqueryIndex;
use datafusion_physical_expr::expressions::Literal;
use datafusion_physical_expr::scalar_subquery::ScalarSubqueryExpr;

use crate::plan::{AggregateCall, Exchange, Expr, Node, Op, Plan, Stage, WindowCall};

impl Plan {
    /// This plan with the value of a stage in the place of what reads it. The value has the type of the stage's column.
    ///
    /// # Errors
    /// An expression can't be made anew.
    pub fn with_value(&self, stage: &Stage, value: &ScalarValue) -> Result<Plan> {
        let field = stage.root.schema.field(0);
        let index = SubqueryIndex::new(stage.number);
        let read = ScalarSubqueryExpr::new(field.data_type().clone(), true, index, self.values.clone());
        let literal: Expr = Arc::new(Literal::new(value.clone()));
        let put = |e: &Expr| put(e, &read, &literal);
        let of_stage = |stage: &Stage| {
            Ok(Stage {
                number: stage.number,
                gives: stage.gives.clone(),
                root: with_exprs(&stage.root, &put)?,
            })
        };
        Ok(Plan {
            stages: self.stages.iter().map(of_stage).collect::<Result<_>>()?,
            values: self.values.clone(),
            root: with_exprs(&self.root, &put)?,
            schema: self.schema.clone(),
            nodes: self.nodes,
        })
    }
}

/// An expression with the literal wherever it reads the stage.
fn put(e: &Expr, read: &ScalarSubqueryExpr, literal: &Expr) -> Result<Expr> {
    let replace = |e: Expr| {
        let reads = e.downcast_ref::<ScalarSubqueryExpr>().is_some_and(|found| found == read);
        Ok(if reads { Transformed::yes(literal.clone()) } else { Transformed::no(e) })
    };
    e.clone().transform_up(replace).data()
}

/// An operator and those below it, with other expressions.
fn with_exprs(node: &Node, put: &impl Fn(&Expr) -> Result<Expr>) -> Result<Node> {
    let mut node = node.clone();
    node.inputs = node.inputs.iter().map(|input| with_exprs(input, put)).collect::<Result<_>>()?;
    visit_exprs(&mut node.op, &mut |e| {
        *e = put(e)?;
        Ok(())
    })?;
    Ok(node)
}

/// Visits the expressions of an operator.
fn visit_exprs(op: &mut Op, visit: &mut impl FnMut(&mut Expr) -> Result<()>) -> Result<()> {
    match op {
        Op::Filter { predicate } => visit(predicate),
        Op::Project { exprs } | Op::Exchange(Exchange::Hash(exprs)) => exprs.iter_mut().try_for_each(visit),
        Op::Expand { sets } => sets.iter_mut().flatten().try_for_each(visit),
        Op::Aggregate(aggregate) => {
            aggregate.keys.iter_mut().try_for_each(&mut *visit)?;
            aggregate.aggregates.iter_mut().try_for_each(|AggregateCall { args, filter, .. }| {
                args.iter_mut().chain(filter).try_for_each(&mut *visit)
            })
        }
        Op::Window(window) => {
            let of_call = |call: &mut WindowCall| {
                call.args.iter_mut().chain(&mut call.filter).try_for_each(&mut *visit)
            };
            window.calls.iter_mut().try_for_each(of_call)
        }
        Op::Join(join) => {
            join.on.iter_mut().flat_map(|(left, right)| [left, right]).try_for_each(&mut *visit)?;
            join.filter.iter_mut().try_for_each(visit)
        }
        Op::Sort { keys, .. } | Op::Exchange(Exchange::Merge { keys, .. }) => {
            keys.iter_mut().try_for_each(|key| visit(&mut key.expr))
        }
        Op::Scan(_)
        | Op::Shared(_)
        | Op::Values(_)
        | Op::Limit { .. }
        | Op::Repeat
        | Op::Unnest(_)
        | Op::Union => Ok(()),
        Op::Exchange(Exchange::Broadcast | Exchange::Gather | Exchange::InOrder) => Ok(()),
    }
}
