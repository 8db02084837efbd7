//! `nullif(a, b)`: of the type of `a`, which is compared with `b` in the type that both have in common. DataFusion's
//! has the common type: `nullif(7, 2.5) / 2` would be 3.5.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{Result, plan_err};
use datafusion_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion_expr::{
    ColumnarValue, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

/// Its name.
pub const NAME: &str = "nullif";

/// The function.
pub fn nullif() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(NullIf {
        of_one_type: datafusion_functions::core::nullif(),
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

/// The types in which the arguments are compared.
fn compared(left: &DataType, right: &DataType) -> Result<(DataType, DataType)> {
    match (left.is_null(), right.is_null()) {
        (_, true) => Ok((left.clone(), left.clone())),
        (true, _) => Ok((right.clone(), right.clone())),
        _ => BinaryTypeCoercer::new(left, &Operator::Eq, right).get_input_types(),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NullIf {
    /// The function of arguments of one type.
    of_one_type: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for NullIf {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The first argument keeps its type. If both are compared in it, the second one gets it.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [left, right] = types else {
            return plan_err!("nullif() takes two arguments, and is given {}", types.len());
        };
        let (left_as, right_as) = compared(left, right)?;
        match left.is_null() || *left == left_as && left_as == right_as {
            true => Ok(vec![left_as, right_as]),
            false => Ok(types.to_vec()),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [left, _] => Ok(left.clone()),
            other => plan_err!("nullif() takes two arguments, and is given {}", other.len()),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(NAME, self.return_type(&types)?, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.of_one_type.invoke_with_args(args)
    }
}
