//! Structs that are made of values, and of the fields of other structs: `struct_pack(a := 1)`, `struct_insert(s, b := 2)`.
//! A field of a struct that is NULL is NULL.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use datafusion_common::{Result, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::field;
use super::lists::{Given, over_rows};

/// Where a field comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// An argument.
    Argument(usize),
    /// A field of an argument, which is a struct.
    Field {
        /// The argument.
        of: usize,
        /// The place of the field.
        at: usize,
    },
}

/// How a struct is made of arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Made {
    /// The name of the function.
    pub name: String,
    /// The names of its fields, and where they come from.
    pub fields: Vec<(String, Part)>,
    /// Whether it is NULL where the first argument, a struct, is.
    pub is_null_with_first: bool,
}

/// The function that makes such structs as DataFusion knows one.
#[derive(Debug, PartialEq, Eq)]
struct Makes {
    made: Made,
    signature: Signature,
}

/// The function that makes such structs.
pub fn function(made: Made) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Makes { made, signature }))
}

/// How a function makes structs, if it does.
pub fn of(function: &ScalarUDF) -> Option<&Made> {
    function.inner().downcast_ref::<Makes>().map(|makes| &makes.made)
}

/// Whether a function makes structs; it can't fail.
pub fn is_made(function: &ScalarUDF) -> bool {
    of(function).is_some()
}

impl Hash for Makes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.made.hash(state);
    }
}

impl ScalarUDFImpl for Makes {
    fn name(&self) -> &str {
        &self.made.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let field = |(name, part): &(String, Part)| {
            let data_type = match *part {
                Part::Argument(at) => types.get(at),
                Part::Field { of, at } => match types.get(of) {
                    Some(DataType::Struct(fields)) => fields.get(at).map(|field| field.data_type()),
                    _ => None,
                },
            };
            match data_type {
                Some(data_type) => Ok(Field::new(name, data_type.clone(), true)),
                None => internal_err!("'{name}' has no argument"),
            }
        };
        Ok(DataType::Struct(self.made.fields.iter().map(field).collect::<Result<Fields>>()?))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_rows(&args, |given| self.made.structs(given))
    }
}

impl Made {
    fn structs(&self, given: &Given) -> Result<ArrayRef> {
        let DataType::Struct(fields) = given.gives else { return internal_err!("a struct is made") };
        let columns = self.fields.iter().map(|(_, part)| match *part {
            Part::Argument(at) => Ok(given.arg(at)?.clone()),
            Part::Field { of, at } => field::below(given.arg(of)?.as_struct(), at),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let nulls = match self.is_null_with_first {
            true => given.arg(0)?.logical_nulls(),
            false => None,
        };
        Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, given.rows)?))
    }
}
