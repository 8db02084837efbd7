//! Functions of lists. A function is a [`ListFunction`] in a list. That has its name, the arguments that it takes, the
//! type that it gives, and what computes it over the columns of a batch.
//!
//! Most of them only choose items: [`picks`] makes lists of places in a column. Equal items have equal bytes
//! (`items`), so that NaN is NaN, and 0 is -0.
//!
//! - [`picks`]: lists by the places of their items.
//! - [`made`]: lists of values, numbers and parts of texts.
//! - `paths`: lists of the parts of paths.
//! - [`matched`]: lists of what a regular expression matches.
//! - [`chosen`]: items and parts of lists, lists put together and in order.
//! - [`asked`]: whether and where an item is in a list.
//! - [`maps`]: maps of lists of keys and values.
//! - [`times`]: lists of timestamps.
//! - `vectors`: distances and products of lists of numbers.
//! - [`text`]: lists, structs and maps as text.
//! - [`lambda`]: an expression over the items of lists.
//! - [`aggregated`]: an aggregate over the items of lists.

pub mod aggregated;
mod asked;
mod chosen;
pub mod lambda;
mod made;
pub mod maps;
pub(super) mod matched;
mod paths;
mod picks;
pub mod text;
mod times;
mod vectors;

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};
use arrow_select::concat::concat;
use datafusion_common::{Result, ScalarValue, exec_err, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// What an argument may be. All items of a call, those of its lists too, are brought to one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A list.
    List,
    /// An item.
    Item,
    /// A list of lists.
    Lists,
    /// A list of integers, in 64 bits.
    Integers,
    /// A list of conditions.
    Conditions,
    /// A list of texts, or of anything as its text.
    Texts,
    /// A list of numbers, as FLOAT if one of them is and none is DOUBLE, else as DOUBLE.
    Vector,
    /// An integer, in 64 bits.
    Integer,
    /// A text.
    Text,
    /// A list of any type, whatever those of the others are.
    Any,
}

/// A function of lists.
pub struct ListFunction {
    /// Its name, in lower case.
    pub name: &'static str,
    /// The arguments that it takes; the last ones may be left out down to `least`.
    pub takes: &'static [Takes],
    /// How many arguments there are at least.
    pub least: usize,
    /// What may follow the last argument, any number of times.
    pub more: Option<Takes>,
    /// The type of its result, by those of its arguments.
    pub gives: fn(&[DataType]) -> DataType,
    /// Whether it gives a value for any arguments.
    pub total: bool,
    /// Computes the column of results.
    pub compute: fn(&Given) -> Result<ArrayRef>,
}

/// The arguments of a call over the rows of a batch.
pub struct Given<'a> {
    /// The rows.
    pub rows: usize,
    /// The type of the result.
    pub gives: &'a DataType,
    args: Vec<ArrayRef>,
}

impl Given<'_> {
    /// The arguments.
    pub fn args(&self) -> &[ArrayRef] {
        &self.args
    }

    /// The argument at a place.
    pub fn arg(&self, at: usize) -> Result<&ArrayRef> {
        self.args.get(at).map_or_else(|| internal_err!("there is no argument {}", at + 1), Ok)
    }
}

/// The type of lists of items of a type.
pub fn list_of(item: &DataType) -> DataType {
    DataType::List(list_field(item))
}

/// The field of the items of lists.
fn list_field(item: &DataType) -> FieldRef {
    Arc::new(Field::new_list_field(item.clone(), true))
}

/// The type of the items of a list.
pub fn item_of(list: &DataType) -> DataType {
    match list {
        DataType::List(field) => field.data_type().clone(),
        _ => DataType::Null,
    }
}

/// The functions of all modules.
fn lists() -> impl Iterator<Item = &'static ListFunction> {
    let lists: [&'static [ListFunction]; 9] = [
        made::FUNCTIONS,
        matched::FUNCTIONS,
        chosen::FUNCTIONS,
        asked::FUNCTIONS,
        maps::FUNCTIONS,
        paths::FUNCTIONS,
        text::FUNCTIONS,
        times::FUNCTIONS,
        vectors::FUNCTIONS,
    ];
    lists.into_iter().flatten()
}

/// The function of a name, in lower case.
pub fn find(name: &str) -> Option<&'static ListFunction> {
    lists().find(|function| function.name == name)
}

/// The names of all functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    lists().map(|function| function.name)
}

/// The functions as DataFusion knows them.
pub fn all() -> impl Iterator<Item = Arc<ScalarUDF>> {
    lists().map(|function| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(OfLists { function, signature }))
    })
}

/// A function as DataFusion knows one. Its arguments have their types.
struct OfLists {
    function: &'static ListFunction,
    signature: Signature,
}

impl std::fmt::Debug for OfLists {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.function.name)
    }
}

impl PartialEq for OfLists {
    fn eq(&self, other: &Self) -> bool {
        self.function.name == other.function.name
    }
}

impl Eq for OfLists {}

impl Hash for OfLists {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name.hash(state);
    }
}

impl ScalarUDFImpl for OfLists {
    fn name(&self) -> &str {
        self.function.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok((self.function.gives)(types))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name(), (self.function.gives)(&types), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_rows(&args, |given| (self.function.compute)(given))
    }
}

/// The most bytes of copies of a constant list that lie in memory at once.
const COPIED: usize = 16 << 20;

/// What a function gives for the rows of a batch; of constants once. A constant list stands in a column once a row, so
/// that of a long one the rows are taken a part at a time.
pub(super) fn over_rows(
    args: &ScalarFunctionArgs,
    compute: impl Fn(&Given) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    let gives = args.return_field.data_type();
    let over = |rows: Range<usize>| {
        let arrays = args.args.iter().map(|value| match value {
            ColumnarValue::Array(column) => Ok(column.slice(rows.start, rows.len())),
            ColumnarValue::Scalar(constant) => constant.to_array_of_size(rows.len()),
        });
        let computed = compute(&Given { rows: rows.len(), gives, args: arrays.collect::<Result<_>>()? })?;
        if computed.len() != rows.len() {
            return exec_err!("{} rows of {}", computed.len(), rows.len());
        }
        Ok(computed)
    };
    let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
    if !args.args.is_empty() && args.args.iter().all(is_scalar) {
        return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&over(0..1)?, 0)?));
    }
    let rows = args.number_rows;
    let copied = args.args.iter().map(bytes_of).sum::<Result<usize>>()?;
    let part = (COPIED / copied.max(1)).max(1);
    if rows <= part {
        return Ok(ColumnarValue::Array(over(0..rows)?));
    }
    let parts = (0..rows).step_by(part).map(|from| over(from..rows.min(from + part)));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let items: usize = parts.iter().filter_map(|part| Some(part.as_list_opt::<i32>()?.values().len())).sum();
    if i32::try_from(items).is_err() {
        return exec_err!("lists of {items} items beside each other, of which there may be {}", i32::MAX);
    }
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    Ok(ColumnarValue::Array(concat(&parts)?))
}

/// The bytes of a constant list, struct or map.
fn bytes_of(value: &ColumnarValue) -> Result<usize> {
    match value {
        ColumnarValue::Scalar(constant) if constant.data_type().is_nested() => {
            Ok(constant.to_array_of_size(1)?.to_data().get_slice_memory_size()?)
        }
        _ => Ok(0),
    }
}
