//! The parameters of a statement, `?`, `$1` and `$name`, and values in their place.
//!
//! A value is put into the syntax tree as a literal of its type. So planning sees what it would see in the text: a
//! filter over a parameter finds its zone maps and estimates.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, ScalarValue};
use sqlparser::ast::{Expr, Value, ValueWithSpan, Visitor, VisitorMut};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Location;

use crate::dialect::Palais;
use crate::error::{Error, Result, syntax};
use crate::parse::{Query, Statement};
use crate::visitors;

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// By its number from 1 on: `$1`, or the first `?` of the text.
    Number(usize),
    /// By its name: `$name` or `:name`.
    Name(String),
}

/// The values of parameters.
#[derive(Debug, Clone, Default)]
pub struct Values(BTreeMap<Parameter, ScalarValue>);

impl Values {
    /// Values of `?`, or of `$1` and so on, in their order.
    pub fn of(values: impl IntoIterator<Item = ScalarValue>) -> Values {
        Values(values.into_iter().enumerate().map(|(i, value)| (Parameter::Number(i + 1), value)).collect())
    }

    /// With the value of a name.
    pub fn with(mut self, name: &str, value: ScalarValue) -> Values {
        self.0.insert(Parameter::Name(name.to_string()), value);
        self
    }
}

/// The parameters of a statement, each once.
///
/// # Errors
/// `?` beside `$1`, and what is neither a number nor a name.
pub fn parameters(statement: &Statement) -> Result<Vec<Parameter>> {
    let mut all: Vec<Parameter> = statement
        .query()
        .map(|query| places(&query))
        .transpose()?
        .unwrap_or_default()
        .into_values()
        .collect();
    all.sort();
    all.dedup();
    Ok(all)
}

/// The statement with these values in the place of its parameters.
///
/// # Errors
/// A parameter without a value, a value without a parameter, and one of a type that has no literal.
pub fn bind(statement: &Statement, values: &Values) -> Result<Statement> {
    let places = statement.query().map(|query| places(&query)).transpose()?.unwrap_or_default();
    if let Some((unknown, _)) = values.0.iter().find(|(known, _)| !places.values().any(|p| p == *known)) {
        return Err(Error::Invalid(format!(
            "there is a value for {}, which the statement has not",
            name(unknown)
        )));
    }
    if places.is_empty() {
        return Ok(statement.clone());
    }
    let mut literals = BTreeMap::new();
    for (place, parameter) in &places {
        let value = values.0.get(parameter).ok_or_else(|| missing(parameter).at_point(*place))?;
        literals.insert(parameter.clone(), literal(value)?);
    }
    let mut statement = statement.clone();
    if let Some(query) = statement.query_mut() {
        let mut put = Put { places: &places, literals: &literals };
        // It never breaks off.
        let _ = visitors::change(Arc::make_mut(query), &mut put);
    }
    Ok(statement)
}

/// Refuses a query with parameters that have no value.
pub(crate) fn check_none(query: &Query) -> Result<()> {
    let first = places(query)?.into_iter().next();
    first.map_or(Ok(()), |(place, parameter)| Err(missing(&parameter).at_point(place)))
}

fn missing(parameter: &Parameter) -> Error {
    Error::Invalid(format!("there is no value for the parameter {}", name(parameter)))
}

fn name(parameter: &Parameter) -> String {
    match parameter {
        Parameter::Number(number) => format!("${number}"),
        Parameter::Name(name) => format!("${name}"),
    }
}

/// The places of the parameters in the text.
fn places(query: &Query) -> Result<BTreeMap<Location, Parameter>> {
    struct Find(BTreeMap<Location, String>);

    impl Visitor for Find {
        type Break = ();

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
            if let Value::Placeholder(text) = &value.value {
                self.0.insert(value.span.start, text.clone());
            }
            ControlFlow::Continue(())
        }
    }

    let mut found = Find(BTreeMap::new());
    // It never breaks off.
    let _ = visitors::look(query, &mut found);
    let (mut places, mut unnamed) = (BTreeMap::new(), 0);
    for (place, text) in &found.0 {
        let parameter = match text.as_str() {
            "?" => {
                unnamed += 1;
                Parameter::Number(unnamed)
            }
            other => {
                let name = other.trim_start_matches(['$', ':', '?', '@']);
                match name.parse() {
                    Ok(number) if number > 0 => Parameter::Number(number),
                    _ if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                        Parameter::Name(name.into())
                    }
                    _ => {
                        return Err(Error::Invalid(format!(
                            "the parameter {other} is neither a number from 1 on nor a name"
                        ))
                        .at_point(*place));
                    }
                }
            }
        };
        places.insert(*place, parameter);
    }
    let numbered = places.values().filter(|p| matches!(p, Parameter::Number(_))).count();
    if unnamed > 0 && numbered > unnamed {
        let error =
            Error::Invalid("parameters are either ? or have numbers, not both in one statement".into());
        let first = found
            .0
            .iter()
            .find(|(place, text)| *text != "?" && matches!(places.get(place), Some(Parameter::Number(_))));
        return Err(match first {
            Some((place, _)) => error.at_point(*place),
            None => error,
        });
    }
    Ok(places)
}

struct Put<'a> {
    places: &'a BTreeMap<Location, Parameter>,
    literals: &'a BTreeMap<Parameter, Expr>,
}

impl VisitorMut for Put<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Value(value) = e
            && matches!(value.value, Value::Placeholder(_))
            && let Some(literal) = self.places.get(&value.span.start).and_then(|p| self.literals.get(p))
        {
            let place = value.span;
            *e = literal.clone();
            visitors::place_all(e, place);
        }
        ControlFlow::Continue(())
    }
}

/// A value as SQL writes it.
fn literal(value: &ScalarValue) -> Result<Expr> {
    let array = value.to_array()?;
    let options = FormatOptions::new();
    let formatter = ArrayFormatter::try_new(&array, &options).map_err(DataFusionError::from)?;
    let quoted = || {
        let text = formatter.value(0).try_to_string().map_err(DataFusionError::from)?;
        Ok::<_, Error>(text.replace('\'', "''"))
    };
    let sql = match value.data_type() {
        _ if value.is_null() => "NULL".to_string(),
        DataType::Boolean => quoted()?,
        // A bare number would be the place of a column in ORDER BY and GROUP BY.
        t if t.is_integer() => {
            let text = quoted()?;
            match text.parse::<i64>() {
                Ok(_) => format!("CAST('{text}' AS BIGINT)"),
                Err(_) => format!("({text})"),
            }
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            format!("CAST('{}' AS DOUBLE)", quoted()?)
        }
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s) => {
            format!("CAST('{}' AS DECIMAL({p}, {s}))", quoted()?)
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => format!("'{}'", quoted()?),
        DataType::Date32 => format!("CAST('{}' AS DATE)", quoted()?),
        DataType::Timestamp(_, None) => format!("CAST('{}' AS TIMESTAMP)", quoted()?),
        other => return Err(Error::Unsupported(format!("a value of the type {other} for a parameter"))),
    };
    let mut parser = Parser::new(&Palais).try_with_sql(&sql).map_err(|e| syntax(&e.to_string()))?;
    parser.parse_expr().map_err(|e| syntax(&e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, Settings, binder, parse};

    #[test]
    fn a_value_has_the_place_of_its_parameter() {
        let text = "SELECT true\n  AND $1 AND true";
        let statement = bind(&parse(text).unwrap(), &Values::of([ScalarValue::from(5_i64)])).unwrap();
        let error = binder::bind(&statement.query().unwrap(), &Catalog::default(), &Settings::default());
        let said = error.map(|_| ()).unwrap_err().in_text(text).to_string();
        assert!(said.contains("\n  line 2, column 7\n    AND $1 AND true\n        ^^\n"), "{said}");
        let none = check_none(&parse(text).unwrap().query().unwrap()).unwrap_err().to_string();
        assert_eq!(none, "there is no value for the parameter $1\n  line 2, column 7");
    }
}
