//! Columns that a rule takes for NULL.
//!
//! A plan says of each column whether it can hold NULL. That is wrong at times: of a CASE, of what a rule has rewritten
//! since. A rule that believes it makes `x IS NOT NULL` true of rows where x is NULL.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{DFSchema, DFSchemaRef, Result};
use datafusion_expr::LogicalPlan;
use datafusion_expr::logical_plan::EmptyRelation;

use crate::tree;

/// Has a rule rewrite a node, which does not look below it, as if each column of its inputs could hold NULL.
pub fn with_nullable_inputs(
    plan: LogicalPlan,
    rule: &mut dyn FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
) -> Result<Transformed<LogicalPlan>> {
    if plan.inputs().iter().all(|input| is_nullable(input.schema())) {
        return rule(plan);
    }
    let mut inputs: Vec<(DFSchemaRef, LogicalPlan)> = Vec::new();
    let alone = tree::plan_children(plan, &mut |input| {
        let schema = nullable(input.schema())?;
        inputs.push((schema.clone(), input));
        Ok(Transformed::yes(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema })))
    })?;
    let mut rewritten = rule(alone.data)?;
    // The node may have become several.
    let whole = tree::plan_down(rewritten.data, &mut |node| {
        let place = match &node {
            LogicalPlan::EmptyRelation(e) => inputs.iter().position(|(s, _)| Arc::ptr_eq(s, &e.schema)),
            _ => None,
        };
        Ok(match place {
            Some(place) => Transformed::new(inputs[place].1.clone(), true, TreeNodeRecursion::Jump),
            None => Transformed::no(node),
        })
    })?;
    rewritten.data = whole.data;
    Ok(rewritten)
}

fn is_nullable(schema: &DFSchema) -> bool {
    schema.fields().iter().all(|f| f.is_nullable())
}

fn nullable(schema: &DFSchemaRef) -> Result<DFSchemaRef> {
    let fields = schema
        .iter()
        .map(|(relation, field)| (relation.cloned(), Arc::new(field.as_ref().clone().with_nullable(true))));
    Ok(Arc::new(DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())?))
}
