//! Logical expressions to compiled ones, and what palais changes in them.

use std::sync::Arc;

use arrow_schema::Schema;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result as DfResult, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{Expr as LogicalExpr, Operator};
use datafusion_physical_expr::create_physical_expr;
use datafusion_physical_expr::expressions::{BinaryExpr, Literal, NegativeExpr};

use crate::error::Result;
use crate::plan::Expr;
use crate::{guards, range, shift};

/// What compiling expressions depends on.
pub struct Compiler {
    /// The query's time and settings.
    pub props: ExecutionProps,
    /// The slots of scalar subqueries.
    pub context: PhysicalPlanningContext,
}

impl Compiler {
    /// Compiles an expression over the columns of `schema`.
    pub fn compile(&self, e: &LogicalExpr, schema: &DFSchema) -> Result<Expr> {
        self.arranged(&guards::arrange(e.clone(), schema, false)?, schema)
    }

    /// Compiles a condition: NULL counts as false.
    pub fn compile_filter(&self, e: &LogicalExpr, schema: &DFSchema) -> Result<Expr> {
        self.arranged(&guards::arrange(e.clone(), schema, true)?, schema)
    }

    fn arranged(&self, e: &LogicalExpr, schema: &DFSchema) -> Result<Expr> {
        Ok(checked(create_physical_expr(e, schema, &self.props, &self.context)?, schema.as_arrow())?)
    }

    /// Compiles several.
    pub fn compile_all(&self, all: &[LogicalExpr], schema: &DFSchema) -> Result<Vec<Expr>> {
        all.iter().map(|e| self.compile(e, schema)).collect()
    }
}

/// Makes integer overflow in `+`, `-` and `*` an error, where DataFusion's default wraps in silence.
pub fn checked(expr: Expr, schema: &Schema) -> DfResult<Expr> {
    let overflowing = |left: &Expr, op: Operator, right: &Expr| -> Expr {
        Arc::new(BinaryExpr::new(left.clone(), op, right.clone()).with_fail_on_overflow(true))
    };
    let transformed = expr.transform_up(|e| {
        if let Some(negation) = e.downcast_ref::<NegativeExpr>() {
            let value = negation.arg();
            let data_type = value.data_type(schema)?;
            if data_type.is_integer() {
                let zero: Expr = Arc::new(Literal::new(ScalarValue::new_zero(&data_type)?));
                return Ok(Transformed::yes(overflowing(&zero, Operator::Minus, value)));
            }
        }
        let Some(binary) = e.downcast_ref::<BinaryExpr>() else { return Ok(Transformed::no(e)) };
        if let Some(shifted) = shift::dates(binary, schema)? {
            return Ok(Transformed::yes(shifted));
        }
        let sum = matches!(binary.op(), Operator::Plus | Operator::Minus | Operator::Multiply);
        if range::leaves(binary, schema)? {
            return Ok(Transformed::yes(range::checked(binary.clone().with_fail_on_overflow(sum))));
        }
        match sum {
            true => Ok(Transformed::yes(overflowing(binary.left(), *binary.op(), binary.right()))),
            false => Ok(Transformed::no(e)),
        }
    })?;
    Ok(transformed.data)
}
