//! JSON in texts. A JSON value is a text of type VARCHAR; which texts are JSON is known of expressions while a query is
//! planned ([`Holds`]).
//!
//! - [`reader`]: one pass over a text. `scalars`: its keys, strings, numbers and words.
//! - [`path`]: what a path leads to.
//! - [`tape`]: the values of a text as numbers, for what looks at all of it.
//! - [`writer`]: the normal form.
//! - `views`: columns of parts of texts.
//! - [`reads`]: what is asked of values: `json_extract`, `json_type` and the like.
//! - [`made`]: JSON of values: `to_json`, `json_object`.
//! - [`transform`]: values of JSON: `json_transform`, and casts.
//! - [`changed`]: `json_set`, `json_insert`, `json_replace` and `json_remove`.
//! - [`merged`], `differing`: `json_merge_patch`, `json_deep_merge` and `json_merge_patch_diff`.
//! - `rewritten`: `json_normalize` and `json_strip_nulls`.
//! - `contained`, `structure`: `json_contains`, `json_structure` and `json_pretty`.
//! - [`rows`]: `json_each` and `json_tree`.

pub mod changed;
mod contained;
mod differing;
pub mod made;
pub mod merged;
pub mod path;
pub mod reader;
pub mod reads;
mod rewritten;
pub mod rows;
mod scalars;
mod structure;
pub mod tape;
pub mod transform;
mod views;
pub mod writer;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::{DataType, Field, FieldRef};
use arrow_select::nullif::nullif;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use self::changed::Change;
use self::made::{Form, Makes};
use self::merged::Nulls;
use self::reader::{Reader, Wrong};
use self::reads::{Asks, Target};
use self::rows::Part;
use self::transform::Strictness;
use super::lists::list_of;
use super::own::arguments::Call;

/// Where the values of a type have JSON in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Holds {
    /// Nowhere, as far as it is known.
    #[default]
    Nothing,
    /// They are JSON.
    Json,
    /// In the items of lists, or in the values of maps.
    Items(Box<Holds>),
    /// In fields of structs.
    Fields(Vec<(String, Holds)>),
}

impl Holds {
    /// Where the items of lists have it, and the values of maps.
    pub fn items(&self) -> &Holds {
        match self {
            Holds::Items(items) => items,
            _ => &Holds::Nothing,
        }
    }

    /// Where a field of structs has it.
    pub fn field(&self, name: &str) -> &Holds {
        let Holds::Fields(fields) = self else { return &Holds::Nothing };
        fields.iter().find(|(field, _)| field == name).map_or(&Holds::Nothing, |(_, holds)| holds)
    }

    /// That of lists of items that have it here, and of maps of such values.
    pub fn in_lists(self) -> Holds {
        match self {
            Holds::Nothing => Holds::Nothing,
            items => Holds::Items(Box::new(items)),
        }
    }

    /// That of structs of these fields.
    pub fn in_structs(fields: Vec<(String, Holds)>) -> Holds {
        match fields.iter().all(|(_, holds)| *holds == Holds::Nothing) {
            true => Holds::Nothing,
            false => Holds::Fields(fields),
        }
    }

    /// That of values of which each is one of either kind: text beside JSON is JSON.
    pub fn or(self, other: Holds) -> Holds {
        match (self, other) {
            (Holds::Nothing, other) => other,
            (holds, Holds::Nothing) => holds,
            (Holds::Items(left), Holds::Items(right)) => Holds::Items(Box::new(left.or(*right))),
            (Holds::Fields(left), Holds::Fields(right)) => Holds::in_structs(
                left.into_iter()
                    .map(|(name, holds)| {
                        let other = right.iter().find(|(field, _)| *field == name);
                        let other = other.map(|(_, holds)| holds.clone()).unwrap_or_default();
                        (name, holds.or(other))
                    })
                    .collect(),
            ),
            (holds, _) => holds,
        }
    }
}

/// What a function of JSON does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfJson {
    /// Answers what is asked of the first argument.
    Read(Asks, Target),
    /// Whether a text is JSON.
    IsValid,
    /// The text, which is to be JSON; if it is `safe`, NULL where it is none.
    Checked {
        /// Whether there is no error.
        safe: bool,
    },
    /// Whether the first argument has the second one in it.
    Contains,
    /// Makes JSON of arguments that are written so.
    Make(Makes, Vec<Form>),
    /// A text between two others, which is JSON then.
    Enclosed(&'static str, &'static str),
    /// Makes values of a type that has JSON at these places.
    Transform(DataType, Holds, Strictness),
    /// Changes the first argument by the others.
    MergePatch(Nulls),
    /// What changes the first argument into the second one.
    Diff,
    /// Changes what a path leads to.
    Change(Change),
    /// Puts fields in the order of their keys.
    Normalize,
    /// Leaves out the fields that are null.
    StripNulls,
    /// The types of the values in it.
    Structure,
    /// A line for each member.
    Pretty,
    /// A column of `json_each`, or of `json_tree`.
    Rows {
        /// The column.
        part: Part,
        /// Whether it is that of `json_tree`.
        is_tree: bool,
    },
}

impl OfJson {
    /// The function under a name.
    pub fn function(self, name: &'static str) -> Arc<ScalarUDF> {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(JsonFunction { name, of: self, signature }))
    }

    /// What a function does, if it is one of JSON.
    pub fn of(function: &ScalarUDF) -> Option<&OfJson> {
        function.inner().downcast_ref::<JsonFunction>().map(|function| &function.of)
    }

    /// The type of its result.
    pub fn gives(&self) -> DataType {
        match self {
            OfJson::Read(asks, place) if place.gives_list() => list_of(&asks.gives()),
            OfJson::Read(asks, _) => asks.gives(),
            OfJson::IsValid | OfJson::Contains => DataType::Boolean,
            OfJson::Transform(to, ..) => to.clone(),
            OfJson::Rows { part, .. } => list_of(&part.gives()),
            OfJson::Checked { .. }
            | OfJson::Make(..)
            | OfJson::Enclosed(..)
            | OfJson::MergePatch(_)
            | OfJson::Diff
            | OfJson::Change(_)
            | OfJson::Normalize
            | OfJson::StripNulls
            | OfJson::Structure
            | OfJson::Pretty => DataType::Utf8View,
        }
    }

    /// Where its result has JSON in it.
    pub fn holds(&self) -> Holds {
        match self {
            OfJson::Read(Asks::Json, place) if place.gives_list() => Holds::Json.in_lists(),
            OfJson::Read(Asks::Json, _)
            | OfJson::Checked { .. }
            | OfJson::Make(..)
            | OfJson::Enclosed(..)
            | OfJson::MergePatch(_)
            | OfJson::Diff
            | OfJson::Change(_)
            | OfJson::StripNulls
            | OfJson::Structure => Holds::Json,
            OfJson::Transform(_, holds, _) => holds.clone(),
            OfJson::Rows { part, .. } if part.is_json() => Holds::Json.in_lists(),
            OfJson::Read(..)
            | OfJson::IsValid
            | OfJson::Contains
            | OfJson::Normalize
            | OfJson::Pretty
            | OfJson::Rows { .. } => Holds::Nothing,
        }
    }

    /// Whether it gives a value for any arguments.
    pub fn is_total(&self) -> bool {
        fn has_json(form: &Form) -> bool {
            match form {
                Form::Json => true,
                Form::List(item) | Form::Map(item) => has_json(item),
                Form::Struct(fields) => fields.iter().any(|(_, form)| has_json(form)),
                Form::Null | Form::Boolean | Form::Number | Form::Text => false,
            }
        }
        match self {
            OfJson::Make(Makes::Value | Makes::Item | Makes::Array, forms) => !forms.iter().any(has_json),
            OfJson::Enclosed(..) => true,
            _ => false,
        }
    }

    /// Whether two functions give lists of the same length for the same arguments.
    pub fn has_length_of(&self, other: &OfJson) -> bool {
        match (self, other) {
            (OfJson::Rows { is_tree: left, .. }, OfJson::Rows { is_tree: right, .. }) => left == right,
            _ => false,
        }
    }

    fn compute(&self, call: &Call) -> Result<ArrayRef> {
        match self {
            OfJson::Read(asks, place) => reads::read(call, *asks, place),
            OfJson::IsValid => {
                let texts = call.text(0)?;
                call.give_booleans(|row| texts.get(row).map(is_valid).transpose())
            }
            OfJson::Checked { safe } => checked(call, *safe),
            OfJson::Contains => contained::contains(call),
            OfJson::Make(makes, forms) => made::make(call, *makes, forms),
            OfJson::Enclosed(begin, end) => made::enclosed(call, begin, end),
            OfJson::Transform(_, holds, strictness) => transform::transform(call, holds, *strictness),
            OfJson::MergePatch(nulls) => merged::patch(call, *nulls),
            OfJson::Diff => differing::diff(call),
            OfJson::Change(change) => changed::change(call, *change),
            OfJson::Normalize => rewritten::normalize(call),
            OfJson::StripNulls => rewritten::strip_nulls(call),
            OfJson::Structure => structure::structure(call),
            OfJson::Pretty => structure::pretty(call),
            OfJson::Rows { part, is_tree } => rows::rows(call, *part, *is_tree),
        }
    }
}

/// Whether a text is JSON. Of one with too many levels nothing is said.
fn is_valid(text: &str) -> Result<bool> {
    match Reader::whole(text) {
        Ok(_) => Ok(true),
        Err(wrong) if wrong.what == Wrong::Levels => Err(wrong.error(text)),
        Err(_) => Ok(false),
    }
}

/// Texts that are JSON, as they are.
fn checked(call: &Call, safe: bool) -> Result<ArrayRef> {
    let (texts, _) = reads::texts(call, 0)?;
    let mut wrong = Vec::with_capacity(texts.len());
    for text in &texts {
        let is_wrong = match text {
            Some(text) if safe => !is_valid(text)?,
            Some(text) => Reader::whole(text).map(|_| false).map_err(|wrong| wrong.error(text))?,
            None => false,
        };
        wrong.push(is_wrong);
    }
    Ok(match wrong.contains(&true) {
        true => nullif(&texts, &BooleanArray::from(wrong))?,
        false => Arc::new(texts),
    })
}

/// A function as DataFusion knows one. Its arguments have their types.
#[derive(Debug)]
struct JsonFunction {
    name: &'static str,
    of: OfJson,
    signature: Signature,
}

impl PartialEq for JsonFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.of == other.of
    }
}

impl Eq for JsonFunction {}

impl Hash for JsonFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.of.hash(state);
    }
}

impl ScalarUDFImpl for JsonFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.of.gives())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name, self.of.gives(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let computed = self.of.compute(&Call::new(self.name, &args.args, rows, self.of.gives()))?;
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&computed, 0)?),
            false => ColumnarValue::Array(computed),
        })
    }
}
