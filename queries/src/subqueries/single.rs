//! A scalar subquery that may have several rows for one outer row, which is an error there.
//!
//! It becomes an aggregate: one of its values and the number of rows. A call of both gives the value, and fails where
//! there is more than one row.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{DataFusionError, Result, internal_err};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::logical_plan::Aggregate;
use datafusion_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion_functions_aggregate::count::count_all;
use datafusion_functions_aggregate::first_last::first_value;

/// An aggregate of a plan: its first column's first value, and how many rows it has.
pub(super) fn counted(plan: LogicalPlan, name: &str) -> Result<LogicalPlan> {
    let column = Expr::Column(plan.schema().columns().swap_remove(0));
    let aggregates = vec![
        first_value(column, vec![]).alias(format!("{name}_value")),
        count_all().alias(format!("{name}_count")),
    ];
    Ok(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(plan), vec![], aggregates)?))
}

/// The value, which fails if the count is above 1.
pub(super) fn single(value: Expr, count: Expr) -> Expr {
    let signature = Signature::any(2, Volatility::Immutable);
    let udf = Arc::new(ScalarUDF::new_from_impl(Single { signature }));
    Expr::ScalarFunction(ScalarFunction::new_udf(udf, vec![value, count]))
}

/// The call.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Single {
    signature: Signature,
}

impl ScalarUDFImpl for Single {
    fn name(&self) -> &str {
        "single_row"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of a single row is that of its field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new("single_row", args.arg_fields[0].data_type().clone(), true)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let counts = args.args[1].to_array(args.number_rows)?;
        let several = counts.as_primitive_opt::<Int64Type>().and_then(|counts| {
            (0..counts.len()).filter(|i| counts.is_valid(*i)).map(|i| counts.value(i)).find(|n| *n > 1)
        });
        match several {
            Some(n) => Err(DataFusionError::Execution(format!(
                "a scalar subquery gave {n} rows for one row of the query around it; it may give one at most\n  \
                 help: use MIN, MAX or LIMIT 1, or IN (…)"
            ))),
            None => Ok(args.args.swap_remove(0)),
        }
    }
}
