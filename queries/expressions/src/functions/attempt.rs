//! `try(e)`: the value of an expression, and NULL on the rows where computing it is an error.
//!
//! The expression is computed over a batch as any other. Where that fails it is computed over each of a few parts of it,
//! down to single rows.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use arrow_select::concat::concat;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::json::Holds;
use super::lists::{Given, over_rows};
use crate::Expr;

/// An expression whose errors are NULL.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// How the call is written. Calls of one text are equal.
    pub text: String,
    /// The expression, over batches of the schema.
    pub body: Expr,
    /// The columns that it reads, which are the arguments.
    pub schema: SchemaRef,
    /// The type of its values.
    pub gives: DataType,
    /// Where its values have JSON in them.
    pub holds: Holds,
}

/// An attempt as DataFusion knows a function.
#[derive(Debug)]
struct Attempts {
    attempt: Attempt,
    signature: Signature,
}

/// The function of an attempt.
pub fn function(attempt: Attempt) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Attempts { attempt, signature }))
}

/// The attempt that a function is; it can't fail.
pub fn of(function: &ScalarUDF) -> Option<&Attempt> {
    function.inner().downcast_ref::<Attempts>().map(|attempts| &attempts.attempt)
}

impl PartialEq for Attempts {
    fn eq(&self, other: &Self) -> bool {
        self.attempt.text == other.attempt.text
            && self.attempt.schema == other.attempt.schema
            && self.attempt.body.eq(&other.attempt.body)
    }
}

impl Eq for Attempts {}

impl Hash for Attempts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.attempt.text.hash(state);
    }
}

impl ScalarUDFImpl for Attempts {
    fn name(&self) -> &str {
        &self.attempt.text
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.attempt.gives.clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new("try", self.attempt.gives.clone(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_rows(&args, |given| self.attempt.given(given))
    }
}

/// Into how many parts rows are taken apart among which one fails. Where each fails, few more are computed than there are.
const PARTS: usize = 16;

impl Attempt {
    fn given(&self, given: &Given) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(given.rows));
        let columns = given.args().to_vec();
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        let mut parts = Vec::new();
        self.add(&batch, &mut parts)?;
        match parts.as_slice() {
            [only] => Ok(only.clone()),
            several => Ok(concat(&several.iter().map(|part| part.as_ref()).collect::<Vec<_>>())?),
        }
    }

    /// Adds the values of a batch, in parts.
    fn add(&self, batch: &RecordBatch, parts: &mut Vec<ArrayRef>) -> Result<()> {
        let rows = batch.num_rows();
        match self.body.evaluate(batch).and_then(|values| values.into_array(rows)) {
            Ok(values) => parts.push(values),
            // Such an error is one of the program, and says nothing of a value.
            Err(error @ DataFusionError::Internal(_)) => return Err(error),
            Err(_) if rows <= 1 => parts.push(new_null_array(&self.gives, rows)),
            Err(_) => {
                let step = rows.div_ceil(PARTS);
                for from in (0..rows).step_by(step) {
                    self.add(&batch.slice(from, step.min(rows - from)), parts)?;
                }
            }
        }
        Ok(())
    }
}
