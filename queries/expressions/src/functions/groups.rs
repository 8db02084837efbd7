//! `regexp_extract(text, pattern, ['year', 'month'])`: what the groups of the first match have matched, as a struct.
//! Where nothing matches they are empty texts. `regexp_extract_all` gives a list of the structs of all matches, in
//! which a group that has matched nothing is NULL.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use datafusion_common::{Result, exec_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use regex::Regex;

use super::json::reads::Lists;
use super::lists::matched::each_match;
use super::lists::{Given, list_of, over_rows};
use super::own::regular::expression;

/// Of which matches there are structs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gives {
    /// One of the first match.
    First,
    /// A list of those of all matches.
    All,
}

impl Gives {
    /// The name of the function.
    pub fn function(self) -> &'static str {
        match self {
            Gives::First => "regexp_extract",
            Gives::All => "regexp_extract_all",
        }
    }
}

/// The function that gives such structs as DataFusion knows one.
#[derive(Debug)]
struct Groups {
    gives: Gives,
    pattern: String,
    options: String,
    expression: Regex,
    fields: Fields,
    signature: Signature,
}

/// The function of a text that gives the first groups of a pattern under these names.
///
/// # Errors
/// The pattern is no regular expression, an option is unknown, or there are fewer groups than names.
pub fn function(gives: Gives, pattern: &str, options: &str, names: &[String]) -> Result<Arc<ScalarUDF>> {
    let name = gives.function();
    let (expression, _) = expression(name, pattern, options, false)?;
    let there = expression.captures_len() - 1;
    if names.len() > there {
        return exec_err!("the pattern of {name}() has {there} groups, and there are {} names", names.len());
    }
    let fields = names.iter().map(|name| Field::new(name, DataType::Utf8View, true)).collect();
    let signature = Signature::user_defined(Volatility::Immutable);
    let (pattern, options) = (pattern.into(), options.into());
    Ok(Arc::new(ScalarUDF::new_from_impl(Groups { gives, pattern, options, expression, fields, signature })))
}

/// Whether a function gives such structs; it can't fail.
pub fn is_one(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<Groups>().is_some()
}

impl Groups {
    fn key(&self) -> (Gives, &str, &str, &Fields) {
        (self.gives, &self.pattern, &self.options, &self.fields)
    }

    /// The type of the result.
    fn data_type(&self) -> DataType {
        let fields = DataType::Struct(self.fields.clone());
        match self.gives {
            Gives::First => fields,
            Gives::All => list_of(&fields),
        }
    }

    /// A list of the structs of all matches.
    fn lists(&self, given: &Given) -> Result<ArrayRef> {
        let texts = given.arg(0)?.as_string_view();
        let mut columns: Vec<StringViewBuilder> =
            self.fields.iter().map(|_| StringViewBuilder::new()).collect();
        let (mut lists, mut matches) = (Lists::default(), 0);
        let mut places = self.expression.capture_locations();
        for text in texts {
            if let Some(text) = text {
                each_match(&self.expression, text, &mut places, &mut |places| {
                    for (i, column) in columns.iter_mut().enumerate() {
                        column.append_option(places.get(i + 1).map(|(from, to)| &text[from..to]));
                    }
                    matches += 1;
                });
            }
            lists.end(matches, text.is_some());
        }
        let columns = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef).collect();
        let structs = StructArray::try_new_with_length(self.fields.clone(), columns, None, matches)?;
        lists.finish(Arc::new(structs))
    }

    fn structs(&self, given: &Given) -> Result<ArrayRef> {
        let texts = given.arg(0)?.as_string_view();
        let mut columns: Vec<StringViewBuilder> =
            self.fields.iter().map(|_| StringViewBuilder::with_capacity(given.rows)).collect();
        let mut places = self.expression.capture_locations();
        for row in 0..given.rows {
            if texts.is_null(row) {
                columns.iter_mut().for_each(StringViewBuilder::append_null);
                continue;
            }
            let text = texts.value(row);
            let found = self.expression.captures_read(&mut places, text);
            for (i, column) in columns.iter_mut().enumerate() {
                let group = found.and_then(|_| places.get(i + 1));
                column.append_value(group.map_or("", |(from, to)| &text[from..to]));
            }
        }
        let columns = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef).collect();
        let nulls = texts.nulls().cloned();
        Ok(Arc::new(StructArray::try_new_with_length(self.fields.clone(), columns, nulls, given.rows)?))
    }
}

impl PartialEq for Groups {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Groups {}

impl Hash for Groups {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl ScalarUDFImpl for Groups {
    fn name(&self) -> &str {
        self.gives.function()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), self.data_type(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_rows(&args, |given| match self.gives {
            Gives::First => self.structs(given),
            Gives::All => self.lists(given),
        })
    }
}
