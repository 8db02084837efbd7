//! Logical expressions to compiled ones, and what palais changes in them.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result as DfResult, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{Expr as LogicalExpr, Operator};
use datafusion_physical_expr::create_physical_expr;
use datafusion_physical_expr::expressions::{BinaryExpr, CastExpr, Literal, NegativeExpr};

use crate::checks::{BitShift, Precise};
use crate::differences::Difference;
use crate::error::Result;
use crate::plan::Expr;
use crate::{compare, date_shift, guards};

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

/// Makes overflow in the arithmetic of integers and decimals an error, where DataFusion's default wraps in silence, and
/// compares floats and intervals by their values. What has been checked already stays as it is.
pub fn checked(expr: Expr, schema: &Schema) -> DfResult<Expr> {
    let overflowing = |left: &Expr, op: Operator, right: &Expr| -> Expr {
        Arc::new(BinaryExpr::new(left.clone(), op, right.clone()).with_fail_on_overflow(true))
    };
    let transformed = expr.transform_up(|e| {
        if let Some(ordered) = guards::short_circuit::compiled(&e) {
            return Ok(Transformed::yes(ordered));
        }
        if let Some(negation) = e.downcast_ref::<NegativeExpr>() {
            let value = negation.arg();
            let data_type = value.data_type(schema)?;
            if data_type.is_integer() {
                let zero: Expr = Arc::new(Literal::new(ScalarValue::new_zero(&data_type)?));
                return Ok(Transformed::yes(overflowing(&zero, Operator::Minus, value)));
            }
        }
        if let Some(text) = e.downcast_ref::<CastExpr>()
            && matches!(text.target_field().data_type(), DataType::Utf8 | DataType::Utf8View)
            && matches!(text.expr().data_type(schema)?, DataType::Duration(_))
        {
            // The difference of two timestamps is an interval, and printed like one.
            let interval: Expr = Arc::new(Difference::new(text.expr().clone()));
            let target = text.target_field().data_type().clone();
            return Ok(Transformed::yes(Arc::new(CastExpr::new(interval, target, None))));
        }
        if let Some(comparison) = compare::replaced(&e, schema)? {
            return Ok(Transformed::yes(comparison));
        }
        let Some(binary) = e.downcast_ref::<BinaryExpr>() else { return Ok(Transformed::no(e)) };
        let (left, right) = (binary.left(), binary.right());
        let computed = match binary.op() {
            Operator::Plus | Operator::Minus | Operator::Multiply => {
                if let Some(shifted) = date_shift::dates(binary, schema)? {
                    return Ok(Transformed::yes(shifted));
                }
                overflowing(left, *binary.op(), right)
            }
            Operator::Divide | Operator::Modulo => e,
            op @ (Operator::BitwiseShiftLeft | Operator::BitwiseShiftRight) => {
                let to_left = *op == Operator::BitwiseShiftLeft;
                return Ok(Transformed::yes(Arc::new(BitShift::new(left.clone(), right.clone(), to_left))));
            }
            _ => return Ok(Transformed::no(e)),
        };
        Ok(Transformed::yes(match computed.data_type(schema)? {
            DataType::Decimal128(..) => Arc::new(Precise::new(computed)),
            _ => computed,
        }))
    })?;
    Ok(transformed.data)
}
