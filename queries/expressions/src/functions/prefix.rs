//! `substr` of string views from their first character on. Grouping by a prefix is common enough to have a kernel of
//! its own.

use std::sync::Arc;

use crate::values::prefix::prefixes;
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::{of_general, type_of_general};

/// `substr`, with a kernel for prefixes; anything else is DataFusion's.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Substr {
    general: Arc<ScalarUDF>,
}

/// The function.
pub fn substr() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Substr { general: datafusion_functions::unicode::substr() }))
}

impl ScalarUDFImpl for Substr {
    of_general!();
    type_of_general!();

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [
            ColumnarValue::Array(strings),
            ColumnarValue::Scalar(ScalarValue::Int64(Some(1))),
            ColumnarValue::Scalar(ScalarValue::Int64(Some(chars))),
        ] = args.args.as_slice()
            && strings.data_type() == &DataType::Utf8View
            && let Ok(chars) = usize::try_from(*chars)
        {
            let prefixes: ArrayRef = Arc::new(prefixes(strings.as_string_view(), chars));
            return Ok(ColumnarValue::Array(prefixes));
        }
        self.general.invoke_with_args(args)
    }
}
