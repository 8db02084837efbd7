//! `encode(x, 'base64')` with the padding that RFC 4648 and every other system write. DataFusion leaves it out, and has it
//! under the name `base64pad`.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::of_general;

/// The function.
pub fn encode() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Encode { general: datafusion_functions::encoding::encode() }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Encode {
    general: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Encode {
    of_general!();

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.general.return_type(types)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(ColumnarValue::Scalar(encoding)) = args.args.get_mut(1)
            && encoding.try_as_str().flatten() == Some("base64")
        {
            *encoding = ScalarValue::from("base64pad");
        }
        self.general.invoke_with_args(args)
    }
}
