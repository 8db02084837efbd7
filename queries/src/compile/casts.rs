//! Which kernel computes a cast. Arrow's kernels read some texts otherwise than SQL does, and go between decimals and
//! floats by way of floats that are not exact.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion_expr::ScalarUDF;
use datafusion_physical_expr::ScalarFunctionExpr;
use datafusion_physical_expr::expressions::{CastExpr, TryCastExpr};
use expressions::differences::Difference;
use expressions::{exact, print_text, text};

use super::Compiler;
use crate::error::Result;
use crate::plan;

/// Whether values of a type are text.
pub(crate) fn is_text(t: &DataType) -> bool {
    matches!(t, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8)
}

impl Compiler {
    /// A compiled value cast from one type to another. If it is `safe`, what can't be cast is NULL.
    pub(super) fn cast(
        &self,
        value: plan::Expr,
        from: &DataType,
        to: &DataType,
        safe: bool,
        schema: &Schema,
    ) -> Result<plan::Expr> {
        if from == to {
            return Ok(value);
        }
        if is_text(from) && (text::is_read(to) || text::nested::is_made(to)) {
            let read = Arc::new(ScalarUDF::new_from_impl(text::read(to.clone(), safe)));
            return self.call(read, vec![value], schema);
        }
        if exact::is_exact(from, to) {
            return self.call(exact::to(to.clone(), safe), vec![value], schema);
        }
        // The difference of two timestamps is an interval, and printed like one.
        let value = match from {
            DataType::Duration(_) if is_text(to) => Arc::new(Difference::new(value)),
            _ => value,
        };
        let is_difference = matches!(from, DataType::Duration(_));
        if is_text(to) && (is_difference || print_text::is_printed(from)) {
            return self.call(print_text::to(to.clone()), vec![value], schema);
        }
        Ok(match safe {
            true => Arc::new(TryCastExpr::new(value, to.clone())),
            false => Arc::new(CastExpr::new(value, to.clone(), None)),
        })
    }

    /// A call of a function.
    pub(super) fn call(
        &self,
        function: Arc<ScalarUDF>,
        args: Vec<plan::Expr>,
        schema: &Schema,
    ) -> Result<plan::Expr> {
        Ok(Arc::new(ScalarFunctionExpr::try_new(function, args, schema, self.options.clone())?))
    }
}
