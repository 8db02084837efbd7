//! `regexp_extract(text, pattern, ['year', 'month'])`: a struct of groups, and `regexp_extract_all` of such names: a
//! list of structs. Their types follow from the names, which are constants therefore.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use expressions::functions::groups::{self, Gives};

use super::{Types, signatures, structs};
use crate::algebra::Expr;
use crate::compile::is_text;
use crate::error::{Error, Result};

/// The function of a name, if a call is one with names of groups.
pub fn named(name: &str, args: &[Expr]) -> Option<Gives> {
    let gives = match name {
        "regexp_extract" => Gives::First,
        "regexp_extract_all" => Gives::All,
        _ => return None,
    };
    args.get(2).is_some_and(|names| matches!(names.data_type, DataType::List(_))).then_some(gives)
}

impl Types {
    /// A call with names of groups.
    ///
    /// # Errors
    /// The text is none, the pattern or the names are not constant, or are none.
    pub fn named_groups(&self, gives: Gives, args: Vec<Expr>) -> Result<Expr> {
        let name = gives.function();
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let no_match = || signatures::no_standing(name, &given);
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
            _ => Err(Error::Invalid(format!("{name}() with names of groups takes a constant {what}"))),
        };
        let pattern = constant(&pattern, "pattern")?;
        let options = options.map_or(Ok(String::new()), |options| constant(&options, "text of options"))?;
        let names = names_of(&names).ok_or_else(|| {
            Error::Invalid(format!("{name}() takes a constant list of names of groups, such as ['a', 'b']"))
        })?;
        structs::check_names(name, &names)?;
        let function = groups::function(gives, &pattern, &options, &names)?;
        self.typed_call(function, vec![self.coerced(text, &DataType::Utf8View)?])
    }
}

/// The names of a constant list; `None` if it is none, or has none.
pub(super) fn names_of(list: &Expr) -> Option<Vec<String>> {
    let Some(ScalarValue::List(list)) = list.as_literal() else { return None };
    if list.is_null(0) || list.value(0).is_empty() {
        return None;
    }
    let names = cast(&list.value(0), &DataType::Utf8View).ok()?;
    names.as_string_view().iter().map(|name| name.map(str::to_string)).collect()
}
