//! The value of a scalar subquery that may have several rows for one row around it, which is an error there.
//!
//! An aggregate has one of its values and the number of rows. A call of both gives the value, and fails where there is
//! more than one row. It stands where the subquery stood: a row that does not need the value does not fail.

use std::sync::{Arc, LazyLock};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{DataFusionError, Result, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::algebra::{Expr, Kind};

/// The name of the function.
pub(super) const NAME: &str = "single_row";

/// The value, which fails if the count is above 1.
pub(super) fn single(value: Expr, count: Expr) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(2, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Single { signature }))
    });
    let data_type = value.data_type.clone();
    Expr { kind: Kind::Call { function: FUNCTION.clone(), args: vec![value, count] }, data_type }
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Single {
    signature: Signature,
}

impl ScalarUDFImpl for Single {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of a single row is that of its field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields.first() {
            Some(value) => Ok(Arc::new(Field::new(NAME, value.data_type().clone(), true))),
            None => internal_err!("a single row without a value"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut args_iter = args.args.into_iter();
        let (Some(value), Some(count)) = (args_iter.next(), args_iter.next()) else {
            return internal_err!("a single row without a count");
        };
        let counts = count.to_array(args.number_rows)?;
        let several = counts.as_primitive_opt::<Int64Type>().and_then(|counts| {
            (0..counts.len()).filter(|i| counts.is_valid(*i)).map(|i| counts.value(i)).find(|n| *n > 1)
        });
        match several {
            Some(n) => Err(DataFusionError::Execution(format!(
                "a scalar subquery gave {n} rows for one row of the query around it; it may give one at most\n  \
                 help: use MIN, MAX or LIMIT 1, or IN (…)"
            ))),
            None => Ok(value),
        }
    }
}
