//! `s.a` and `s['a']`: a field of a struct, NULL where the struct is. DataFusion's gives what the field's column holds
//! there, which may be any value. It says that it is never NULL where the field alone is not.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, StructArray};
use arrow_schema::{DataType, Field, FieldRef};
use arrow_select::nullif::nullif;
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::of_general;

/// The function.
pub fn get_field() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(FieldOf { general: datafusion_functions::core::get_field() }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FieldOf {
    general: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for FieldOf {
    of_general!();

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.general.coerce_types(types)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of a field is that of its column")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field: Field = self.general.return_field_from_args(args)?.as_ref().clone();
        Ok(Arc::new(field.with_nullable(true)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(value) = args.args.first_mut() {
            *value = ColumnarValue::Array(value.to_array(args.number_rows)?);
        }
        while let [ColumnarValue::Array(structs), ColumnarValue::Scalar(name), ..] = args.args.as_slice()
            && let Some(values) = field(structs, name)?
        {
            if args.args.len() == 2 {
                return Ok(ColumnarValue::Array(values));
            }
            // What lies further below has this one for its struct, or map.
            args.arg_fields.remove(1);
            args.arg_fields[0] = Arc::new(Field::new(self.name(), values.data_type().clone(), true));
            args.args.remove(1);
            args.args[0] = ColumnarValue::Array(values);
        }
        self.general.invoke_with_args(args)
    }
}

/// A field of a struct by its name; none of something else.
fn field(value: &ArrayRef, name: &ScalarValue) -> Result<Option<ArrayRef>> {
    let (Some(structs), Some(name)) = (value.as_struct_opt(), name.try_as_str().flatten()) else {
        return Ok(None);
    };
    let DataType::Struct(fields) = structs.data_type() else { return Ok(None) };
    fields.find(name).map(|(at, _)| below(structs, at)).transpose()
}

/// A field of structs by its place; NULL where the struct is.
pub(super) fn below(structs: &StructArray, at: usize) -> Result<ArrayRef> {
    let field = structs.column(at);
    Ok(match structs.nulls().filter(|nulls| nulls.null_count() > 0) {
        // A column of type NULL has no other values.
        Some(nulls) if !field.data_type().is_null() => {
            nullif(field, &BooleanArray::new(!nulls.inner(), None))?
        }
        _ => field.clone(),
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use arrow_array::types::Int64Type;
    use arrow_buffer::NullBuffer;
    use arrow_schema::Fields;

    use super::*;

    #[test]
    fn what_lies_below_a_null_struct_is_null() {
        let fields = Fields::from(vec![Field::new("a", DataType::Int64, false)]);
        let column: ArrayRef = Arc::new(Int64Array::from(vec![5, 6, 7]));
        let nulls = NullBuffer::from(vec![true, false, true]);
        let structs: ArrayRef = Arc::new(StructArray::new(fields, vec![column], Some(nulls)));
        let values = field(&structs, &ScalarValue::from("a")).unwrap().unwrap();
        assert_eq!(values.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(5), None, Some(7)]);
        assert!(field(&structs, &ScalarValue::from("b")).unwrap().is_none());
        assert!(field(&values, &ScalarValue::from("a")).unwrap().is_none());
    }
}
