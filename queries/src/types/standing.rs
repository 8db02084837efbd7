//! The expressions that functions stand for: `date_part('year', x)` for `year(x)`.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use expressions::functions::own::bytes::TEXT_OF_BYTES;
use expressions::functions::zone;
use schema::instants::UTC;

use super::Types;
use super::operators::are_integers;
use crate::algebra::Expr;
use crate::error::{Error, Result};
use crate::functions::Functions;
use crate::functions::standing::Standing;

impl Types {
    /// What a call of a function stands for.
    ///
    /// # Errors
    /// The function takes no such arguments.
    pub fn standing(&self, name: &str, of: Standing, args: Vec<Expr>) -> Result<Expr> {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let wrong = || super::signatures::no_standing(name, &given);
        let call = |name: &str, args: Vec<Expr>| match Functions::all().scalar(name) {
            Some(function) => self.call(&function, args),
            None => Err(Error::Invalid(format!("there is no function '{name}'"))),
        };
        if of == Standing::InZone {
            let Ok([year, month, day, hour, minute, second, in_zone]) = <[Expr; 7]>::try_from(args) else {
                return Err(wrong());
            };
            if in_zone.data_type.is_null() || in_zone.as_literal().is_some_and(ScalarValue::is_null) {
                return Ok(Expr::null(&DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into()))));
            }
            let parts = vec![year, month, day, hour, minute, second];
            let shown = call("make_timestamp", parts).map_err(|_| wrong())?;
            return call(zone::NAME, vec![shown, in_zone]);
        }
        let mut args = args.into_iter();
        match (of, args.next(), args.next(), args.next()) {
            (Standing::Part(part), Some(value), None, None) => {
                if !(value.data_type.is_temporal() || value.data_type.is_null()) {
                    return Err(wrong());
                }
                call("date_part", vec![Expr::literal(ScalarValue::from(part)), value])
            }
            // `divide` is `//`.
            (Standing::Operation(Operator::Divide), Some(left), Some(right), None)
                if are_integers(&left, &right) =>
            {
                self.integer_quotient(left, right)
            }
            (Standing::Operation(op), Some(left), Some(right), None) => self.binary(left, op, right),
            (Standing::If, Some(condition), Some(then), Some(otherwise)) => {
                let condition = self.condition(condition)?;
                self.case(None, vec![(condition, then)], Some(otherwise))
            }
            (Standing::TypeOf, Some(value), None, None) => {
                Ok(Expr::literal(ScalarValue::Utf8View(Some(expressions::text::shown(&value.data_type)))))
            }
            (Standing::AgeOfToday, Some(value), None, None) => {
                let today = call("current_date", vec![])?;
                call("age", vec![today, value]).map_err(|_| wrong())
            }
            (Standing::LocalTimestamp, None, None, None) => {
                let now = call("now", vec![])?;
                self.cast(now, &DataType::Timestamp(TimeUnit::Nanosecond, None), false)
            }
            (Standing::Setting, Some(name), None, None) => self.setting(&name),
            (Standing::Bytes, Some(text), None, None) => {
                if !(crate::compile::is_text(&text.data_type) || text.data_type.is_null()) {
                    return Err(wrong());
                }
                self.bytes_of(text)
            }
            (Standing::TextOfBytes, Some(bytes), None, None) => {
                call(TEXT_OF_BYTES, vec![bytes]).map_err(|_| wrong())
            }
            _ => Err(wrong()),
        }
    }

    /// How often a condition is true: what `count_if` counts is NULL where it is not.
    ///
    /// # Errors
    /// It is no condition.
    pub fn counted_if(&self, condition: Expr) -> Result<Expr> {
        let condition = self.condition(condition)?;
        self.case(None, vec![(condition, Expr::boolean(Some(true)))], None)
    }
}
