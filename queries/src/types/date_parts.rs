//! `date_part(['year', 'month'], x)`: a struct of parts. Its type follows from the names, which are constants therefore.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use expressions::functions::structs::{self, Made, Part};

use super::groups::names_of;
use super::structs::check_names;
use super::{Types, signatures};
use crate::algebra::Expr;
use crate::error::{Error, Result};
use crate::functions::Functions;

/// The name of the function.
const NAME: &str = "date_part";

/// Whether a call is one with a list of parts.
pub fn has_names(name: &str, args: &[Expr]) -> bool {
    matches!(name, NAME | "datepart")
        && args.first().is_some_and(|names| matches!(names.data_type, DataType::List(_)))
}

impl Types {
    /// A call with a list of parts. The struct is NULL where the date is.
    ///
    /// # Errors
    /// The names are not constant, or are none, or the value has no such parts.
    pub fn date_parts(&self, args: Vec<Expr>) -> Result<Expr> {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let [names, value] =
            <[Expr; 2]>::try_from(args).map_err(|_| signatures::no_standing(NAME, &given))?;
        if names.as_literal().is_some_and(ScalarValue::is_null) {
            return Ok(Expr::null(&DataType::Null));
        }
        let names = names_of(&names).ok_or_else(|| {
            Error::Invalid(format!("{NAME}() takes a constant list of parts, such as ['year', 'month']"))
        })?;
        check_names(NAME, &names)?;
        let Some(function) = Functions::all().scalar(NAME) else {
            return Err(Error::Invalid(format!("there is no function '{NAME}'")));
        };
        let mut parts = vec![value.clone()];
        for name in &names {
            let part = Expr::literal(ScalarValue::Utf8View(Some(name.clone())));
            parts.push(self.call(&function, vec![part, value.clone()])?);
        }
        let fields = names.into_iter().enumerate().map(|(at, name)| (name, Part::Argument(at + 1))).collect();
        let made = Made { name: "date_parts".into(), fields, is_null_with_first: true };
        self.typed_call(structs::function(made), parts)
    }
}
