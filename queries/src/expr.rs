//! Logical expressions to compiled ones.

use datafusion_common::DFSchema;
use datafusion_expr::Expr as LogicalExpr;
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_physical_expr::create_physical_expr;
use expressions::checked::checked;

use crate::error::Result;
use crate::guards;
use crate::plan::Expr;

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
