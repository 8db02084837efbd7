//! `regexp_extract(text, pattern, ['year', 'month'])`: a struct of groups. Its type follows from the names, which are
//! constants therefore.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use expressions::functions::groups;

use super::{Types, signatures, structs};
use crate::algebra::Expr;
use crate::compile::is_text;
use crate::error::{Error, Result};

/// The name of the function.
const NAME: &str = "regexp_extract";

/// Whether a call is one with names of groups.
pub fn has_names(name: &str, args: &[Expr]) -> bool {
    name == NAME && args.get(2).is_some_and(|names| matches!(names.data_type, DataType::List(_)))
}

impl Types {
    /// A call with names of groups.
    ///
    /// # Errors
    /// The text is none, the pattern or the names are not constant, or are none.
    pub fn named_groups(&self, args: Vec<Expr>) -> Result<Expr> {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let no_match = || signatures::no_standing(NAME, &given);
        let mut args = args.into_iter();
        let (Some(text), Some(pattern), Some(names), options, None) =
            (args.next(), args.next(), args.next(), args.next(), args.next())
        else {
            return Err(no_match());
        };
        if !(is_text(&text.data_type) || text.data_type.is_null()) {
            return Err(no_match());
        }
        let constant = |e: &Expr, what: &str| match e.as_literal().map(|value| value.try_as_str()) {
            Some(Some(Some(text))) => Ok(text.to_string()),
            _ => Err(Error::Invalid(format!("{NAME}() with names of groups takes a constant {what}"))),
        };
        let pattern = constant(&pattern, "pattern")?;
        let options = options.map_or(Ok(String::new()), |options| constant(&options, "text of options"))?;
        let names = names_of(&names)?;
        structs::check_names(NAME, &names)?;
        let function = groups::function(&pattern, &options, &names)?;
        self.typed_call(function, vec![self.coerced(text, &DataType::Utf8View)?])
    }
}

/// The names of a constant list.
fn names_of(list: &Expr) -> Result<Vec<String>> {
    let wrong =
        || Error::Invalid(format!("{NAME}() takes a constant list of names of groups, such as ['a', 'b']"));
    let Some(ScalarValue::List(list)) = list.as_literal() else { return Err(wrong()) };
    if list.is_null(0) || list.value(0).is_empty() {
        return Err(wrong());
    }
    let names = cast(&list.value(0), &DataType::Utf8View).map_err(|_| wrong())?;
    names.as_string_view().iter().map(|name| name.map(str::to_string).ok_or_else(wrong)).collect()
}
