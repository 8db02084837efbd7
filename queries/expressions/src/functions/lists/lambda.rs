//! An expression over the items of lists: `list_transform([1, 2], lambda x: x + 1)`, and casts of lists.
//!
//! The expression is computed over a batch of all items of all lists. What it reads besides them is the same for all items
//! of a row, and stands in the arguments behind the list.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use arrow_select::take::take;
use datafusion_common::{Result, ScalarValue, exec_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::picks::{Lists, Picks};
use super::{Given, item_of, list_field, list_of, over_rows};
use crate::Expr;
use crate::functions::json::Holds;

/// What is made of the values of the expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Makes {
    /// A list of them.
    Lists,
    /// The items for which it is true.
    Chosen,
    /// One value a list: the expression is computed of the value so far and the next item.
    One {
        /// Whether the value before the first item is the second argument, and not the first item.
        from_value: bool,
    },
}

/// An expression over the items of a list.
#[derive(Debug, Clone)]
pub struct Lambda {
    /// What is made of its values.
    pub makes: Makes,
    /// How the call is written, without what is given behind the list. Calls of one text are equal.
    pub text: String,
    /// The expression, over batches of the schema.
    pub body: Expr,
    /// The columns that it reads. They are the item, or the value so far and the item. Then come the item's place, from
    /// 1 on, and the values given behind the list.
    pub schema: SchemaRef,
    /// Whether evaluating it can fail.
    pub fails: bool,
    /// Whether it has another value each time.
    pub is_volatile: bool,
    /// The type of its values.
    pub gives: DataType,
    /// Where its values have JSON in them.
    pub holds: Holds,
}

/// A lambda as DataFusion knows a function.
#[derive(Debug)]
struct OverItems {
    lambda: Lambda,
    signature: Signature,
}

/// The function of a lambda. Its first argument is the list.
pub fn function(lambda: Lambda) -> Arc<ScalarUDF> {
    let volatility = if lambda.is_volatile { Volatility::Volatile } else { Volatility::Immutable };
    let signature = Signature::user_defined(volatility);
    Arc::new(ScalarUDF::new_from_impl(OverItems { lambda, signature }))
}

/// The lambda that a function is.
pub fn of(function: &ScalarUDF) -> Option<&Lambda> {
    function.inner().downcast_ref::<OverItems>().map(|over| &over.lambda)
}

/// Whether a function is a lambda that can't fail.
pub fn is_total(function: &ScalarUDF) -> bool {
    of(function).is_some_and(|lambda| !lambda.fails)
}

impl PartialEq for OverItems {
    fn eq(&self, other: &Self) -> bool {
        self.lambda.makes == other.lambda.makes
            && self.lambda.text == other.lambda.text
            && self.lambda.schema == other.lambda.schema
            && self.lambda.body.eq(&other.lambda.body)
    }
}

impl Eq for OverItems {}

impl Hash for OverItems {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.lambda.text.hash(state);
    }
}

impl fmt::Display for OverItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lambda.text)
    }
}

impl ScalarUDFImpl for OverItems {
    fn name(&self) -> &str {
        &self.lambda.text
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match self.lambda.makes {
            Makes::Lists => list_of(&self.lambda.gives),
            // Lists of files may name their items otherwise.
            Makes::Chosen => types.first().map_or(DataType::Null, |list| list_of(&item_of(list))),
            Makes::One { .. } => self.lambda.gives.clone(),
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new("lambda", self.return_type(&types)?, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_rows(&args, |given| match self.lambda.makes {
            Makes::Lists => self.lambda.lists(given),
            Makes::Chosen => self.lambda.chosen(given),
            Makes::One { from_value } => self.lambda.one(given, from_value),
        })
    }
}

impl Lambda {
    /// The value of the expression for rows of columns.
    fn values(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        self.body.evaluate(&batch)?.into_array(rows)
    }

    /// The value for each of the items, which are those of rows: the items, their rows and their places from 0 on.
    fn of_items(&self, items: ArrayRef, of: &[(u32, i64)], others: &[ArrayRef]) -> Result<ArrayRef> {
        let places = Int64Array::from_iter_values(of.iter().map(|(_, place)| place + 1));
        let rows = UInt32Array::from_iter_values(of.iter().map(|(row, _)| *row));
        let mut columns: Vec<ArrayRef> = vec![items, Arc::new(places)];
        for other in others {
            columns.push(take(other, &rows, None)?);
        }
        self.values(columns, of.len())
    }

    /// The lists without what stands between them: items, and of each its row and place.
    fn items(&self, given: &Given) -> Result<(ListArray, Vec<(u32, i64)>)> {
        let lists = Lists::of(given.arg(0)?)?.alone()?;
        let mut of = Vec::with_capacity(lists.values().len());
        for row in 0..lists.len() {
            of.extend((0..i64::from(lists.value_length(row))).map(|place| (row as u32, place)));
        }
        Ok((lists, of))
    }

    fn lists(&self, given: &Given) -> Result<ArrayRef> {
        let (lists, of) = self.items(given)?;
        let values = self.of_items(lists.values().clone(), &of, &given.args()[1..])?;
        let offsets = OffsetBuffer::clone(lists.offsets());
        Ok(Arc::new(ListArray::try_new(list_field(&self.gives), offsets, values, lists.nulls().cloned())?))
    }

    fn chosen(&self, given: &Given) -> Result<ArrayRef> {
        let (lists, of) = self.items(given)?;
        let holds = self.of_items(lists.values().clone(), &of, &given.args()[1..])?;
        let holds = holds.as_boolean();
        let lists: ArrayRef = Arc::new(lists);
        let items = Lists::of(&lists)?;
        let mut picks = Picks::default();
        for row in 0..given.rows {
            match items.get(row) {
                Some(items) => {
                    picks.extend(items.filter(|i| holds.is_valid(*i) && holds.value(*i)));
                    picks.end();
                }
                None => picks.null(),
            }
        }
        picks.lists(items.values(), &item_of(lists.data_type()))
    }

    /// The items of all lists at one place are one batch.
    fn one(&self, given: &Given, from_value: bool) -> Result<ArrayRef> {
        if given.rows == 0 {
            return Ok(arrow_array::new_empty_array(&self.gives));
        }
        let lists = Lists::of(given.arg(0)?)?;
        let others = &given.args()[1 + usize::from(from_value)..];
        let mut so_far: Vec<ScalarValue> = vec![ScalarValue::try_from(&self.gives)?; given.rows];
        let mut going: Vec<usize> = Vec::new();
        for (row, value) in so_far.iter_mut().enumerate() {
            let Some(items) = lists.get(row) else { continue };
            if from_value {
                *value = ScalarValue::try_from_array(given.arg(1)?, row)?;
            } else if let Some(first) = items.clone().next() {
                *value = ScalarValue::try_from_array(lists.values(), first)?;
            } else {
                return exec_err!(
                    "an empty list has no first item to begin with\n  help: give list_reduce() a value to begin with"
                );
            }
            going.push(row);
        }
        for step in usize::from(!from_value).. {
            going.retain(|row| lists.get(*row).is_some_and(|items| step < items.len()));
            if going.is_empty() {
                break;
            }
            let before = ScalarValue::iter_to_array(going.iter().map(|row| so_far[*row].clone()))?;
            let at = |row: &usize| lists.get(*row).map_or(0, |items| items.start + step) as u32;
            let items = take(lists.values(), &UInt32Array::from_iter_values(going.iter().map(at)), None)?;
            let rows = UInt32Array::from_iter_values(going.iter().map(|row| *row as u32));
            let place = step as i64 + 1;
            let places = Int64Array::from_iter_values(going.iter().map(|_| place));
            let mut columns: Vec<ArrayRef> = vec![before, items, Arc::new(places)];
            for other in others {
                columns.push(take(other, &rows, None)?);
            }
            let values = self.values(columns, going.len())?;
            for (at, row) in going.iter().enumerate() {
                so_far[*row] = ScalarValue::try_from_array(&values, at)?;
            }
        }
        ScalarValue::iter_to_array(so_far)
    }
}
