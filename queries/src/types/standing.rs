//! Functions that only stand for another expression: `year(x)` for `date_part('year', x)`, `mod(a, b)` for `a % b`.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use super::Types;
use super::operators::are_integers;
use crate::algebra::Expr;
use crate::error::{Error, Result};
use crate::functions::Functions;

/// What a function stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standing {
    /// A part of a date or a time.
    Part(&'static str),
    /// An operation on two values.
    Operation(Operator),
    /// `CASE WHEN condition THEN a ELSE b END`.
    If,
    /// The name of the argument's type.
    TypeOf,
    /// The time since a date or timestamp up to midnight of today.
    AgeOfToday,
    /// `now()` without its time zone.
    LocalTimestamp,
    /// The bytes of text.
    Bytes,
}

/// The functions: the names of each, and what it stands for where it has so many arguments.
pub const STANDING: [(&[&str], usize, Standing); 37] = [
    (&["year"], 1, Standing::Part("year")),
    (&["month"], 1, Standing::Part("month")),
    (&["day", "dayofmonth"], 1, Standing::Part("day")),
    (&["hour"], 1, Standing::Part("hour")),
    (&["minute"], 1, Standing::Part("minute")),
    (&["second"], 1, Standing::Part("second")),
    (&["millisecond"], 1, Standing::Part("millisecond")),
    (&["microsecond"], 1, Standing::Part("microsecond")),
    (&["nanosecond"], 1, Standing::Part("nanosecond")),
    (&["quarter"], 1, Standing::Part("quarter")),
    (&["week", "weekofyear"], 1, Standing::Part("week")),
    (&["yearweek"], 1, Standing::Part("yearweek")),
    (&["isoyear"], 1, Standing::Part("isoyear")),
    (&["dayofweek", "weekday"], 1, Standing::Part("dow")),
    (&["isodow"], 1, Standing::Part("isodow")),
    (&["dayofyear"], 1, Standing::Part("doy")),
    (&["decade"], 1, Standing::Part("decade")),
    (&["century"], 1, Standing::Part("century")),
    (&["millennium"], 1, Standing::Part("millennium")),
    (&["era"], 1, Standing::Part("era")),
    (&["epoch"], 1, Standing::Part("epoch")),
    (&["timezone"], 1, Standing::Part("timezone")),
    (&["timezone_hour"], 1, Standing::Part("timezone_hour")),
    (&["timezone_minute"], 1, Standing::Part("timezone_minute")),
    (&["date_add"], 2, Standing::Operation(Operator::Plus)),
    (&["add"], 2, Standing::Operation(Operator::Plus)),
    (&["subtract"], 2, Standing::Operation(Operator::Minus)),
    (&["multiply"], 2, Standing::Operation(Operator::Multiply)),
    (&["divide"], 2, Standing::Operation(Operator::Divide)),
    (&["mod"], 2, Standing::Operation(Operator::Modulo)),
    (&["xor"], 2, Standing::Operation(Operator::BitwiseXor)),
    (&["if"], 3, Standing::If),
    (&["typeof"], 1, Standing::TypeOf),
    (&["age"], 1, Standing::AgeOfToday),
    (&["current_localtimestamp"], 0, Standing::LocalTimestamp),
    (&["localtimestamp"], 0, Standing::LocalTimestamp),
    (&["encode"], 1, Standing::Bytes),
];

/// What a function of a name, in lower case, stands for where it has so many arguments.
pub fn of(name: &str, arguments: usize) -> Option<Standing> {
    let all = STANDING.iter();
    all.filter(|(names, count, _)| names.contains(&name) && *count == arguments).map(|(.., of)| *of).next()
}

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
            (Standing::Bytes, Some(text), None, None) => {
                if !(crate::compile::is_text(&text.data_type) || text.data_type.is_null()) {
                    return Err(wrong());
                }
                self.cast(text, &DataType::Binary, false)
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

/// The function of each name, for what knows functions by their names alone.
pub fn names() -> impl Iterator<Item = &'static str> {
    STANDING.iter().flat_map(|(names, ..)| names.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_for_one_expression() {
        let all: Vec<(&str, usize)> =
            STANDING.iter().flat_map(|(names, count, _)| names.iter().map(|name| (*name, *count))).collect();
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "{one:?} stands twice");
        }
        assert_eq!(of("year", 1), Some(Standing::Part("year")));
        assert_eq!(of("year", 2), None);
    }
}
