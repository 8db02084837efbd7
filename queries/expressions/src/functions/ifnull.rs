//! `ifnull(a, b)` and `nvl(a, b)`: `coalesce` of two arguments. DataFusion's knows numbers and text alone, and makes all
//! else text.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use datafusion_common::{Result, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The function.
pub fn ifnull() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(IfNull {
        coalesce: datafusion_functions::core::coalesce(),
        signature: Signature::user_defined(Volatility::Immutable),
        aliases: vec!["ifnull".into()],
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IfNull {
    coalesce: Arc<ScalarUDF>,
    signature: Signature,
    aliases: Vec<String>,
}

impl ScalarUDFImpl for IfNull {
    fn name(&self) -> &str {
        "nvl"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types.len() {
            2 => self.coalesce.coerce_types(types),
            n => plan_err!("ifnull() takes two arguments, and is given {n}"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.coalesce.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.coalesce.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.coalesce.invoke_with_args(args)
    }
}
