//! Calls of aggregates.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{AggregateUDF, Operator};

use super::Types;
use super::calls::fields_of;
use crate::algebra::{Call, Expr};
use crate::compile::is_text;
use crate::error::{Error, Result};
use crate::functions::Functions;

/// Aggregates that take decimals as they are. Others take floats.
const OF_DECIMALS: [&str; 30] = [
    "any_value",
    "approx_distinct",
    "arg_max",
    "arg_max_null",
    "arg_max_nulls_last",
    "arg_min",
    "arg_min_null",
    "arg_min_nulls_last",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "count",
    "entropy",
    "first_value",
    "grouping",
    "histogram",
    "last_value",
    "mad",
    "max",
    "median",
    "min",
    "mode",
    "nth_value",
    "quantile_disc",
    "string_agg",
    "sum",
];

/// Aggregates that take no NULL without a type. A column of which nothing but NULL is known has the type NULL, and
/// there is no sum of that, and are no bits. It is an integer here.
const OF_INTEGERS: [&str; 4] = ["sum", "bit_and", "bit_or", "bit_xor"];

/// Aggregates that take only the values of their first argument once.
const OF_THE_FIRST: [&str; 3] = ["string_agg", "percentile_cont", "quantile_disc"];

impl Types {
    /// A call of an aggregate whose arguments have their types, and the type of its result.
    ///
    /// # Errors
    /// The aggregate takes no such arguments.
    pub fn aggregate(&self, call: Call) -> Result<(Call, DataType)> {
        let name = call.function.name().to_string();
        self.aggregate_as(&name, call)
    }

    /// A call of an aggregate by a name that it is given, which may be one of several.
    ///
    /// # Errors
    /// As of [`Types::aggregate`], with that name.
    pub fn aggregate_as(&self, written: &str, mut call: Call) -> Result<(Call, DataType)> {
        let name = call.function.name();
        if call.distinct && call.args.len() > 1 && !OF_THE_FIRST.contains(&name) {
            return Err(Error::Unsupported(format!(
                "DISTINCT in {name}(), which has several arguments; a subquery with SELECT DISTINCT may do"
            )));
        }
        check_order(&call)?;
        if name == "median" && call.args.first().is_some_and(|arg| is_text(&arg.data_type)) {
            // Between two texts there is none.
            let of_values = Functions::all().aggregate("quantile_disc");
            call.function =
                of_values.ok_or_else(|| Error::Invalid("there is no aggregate 'quantile_disc'".into()))?;
            call.args.push(Expr::literal(ScalarValue::from(0.5)));
            return self.aggregate_as(written, call);
        }
        let mut args = std::mem::take(&mut call.args);
        if name == "approx_distinct" && args.iter().any(|arg| arg.data_type.is_floating()) {
            // Floats by their text, of which equal ones have one: -0.0 is 0.0.
            let zero = || Expr::literal(ScalarValue::from(0.0));
            let texts = args.into_iter().map(|arg| {
                let sum = self.binary(arg, Operator::Plus, zero())?;
                self.cast(sum, &DataType::Utf8View, false)
            });
            args = texts.collect::<Result<_>>()?;
        }
        if name == "string_agg" && is_null(args.get(1)) {
            // A separator that is NULL makes all NULL.
            let text = |value| Expr::literal(ScalarValue::Utf8View(value));
            args = vec![text(None), text(Some(",".into()))];
        }
        if OF_INTEGERS.contains(&name) {
            let typed = args.into_iter().map(|arg| match arg.data_type {
                DataType::Null => self.coerced(arg, &DataType::Int64),
                _ => Ok(arg),
            });
            args = typed.collect::<Result<_>>()?;
        }
        if matches!(name, "percentile_cont" | "quantile_disc") {
            // The values stay what they are, the place is a float.
            let place = args.split_off(args.len().min(1));
            args.extend(self.doubles(place)?);
        } else if !OF_DECIMALS.contains(&name) {
            args = self.doubles(args)?;
        }
        call.args = self.arguments(written, call.function.as_ref(), args)?;
        call.filter = match call.filter.take() {
            Some(filter) => Some(self.coerced(filter, &DataType::Boolean)?),
            None => None,
        };
        let data_type = self.result(&call.function, &call.args)?;
        Ok((call, data_type))
    }

    /// The type of the result of an aggregate that is given these arguments, of the types that it takes.
    ///
    /// # Errors
    /// It takes no such arguments.
    pub fn result(&self, function: &AggregateUDF, args: &[Expr]) -> Result<DataType> {
        Ok(function.return_field(&fields_of(args))?.data_type().clone())
    }
}

/// Whether there is an argument that is NULL.
fn is_null(arg: Option<&Expr>) -> bool {
    arg.and_then(Expr::as_literal).is_some_and(ScalarValue::is_null)
}

/// Refuses an order by values that the aggregate compares otherwise than ORDER BY does where these hold NULL.
///
/// # Errors
/// It has such an order.
pub fn check_order(call: &Call) -> Result<()> {
    let is_nested = call.order_by.iter().any(|key| key.expr.data_type.is_nested());
    if is_nested && matches!(call.function.name(), "first_value" | "last_value") {
        let what = "ORDER BY a list, struct or map in first_value(), last_value() or with DISTINCT ON";
        return Err(Error::Unsupported(what.into()));
    }
    if call.function.name() == "array_agg" && !call.order_by.iter().all(|key| is_ordered(&key.expr.data_type))
    {
        return Err(Error::Unsupported("ORDER BY a struct, a map or a list of such in array_agg()".into()));
    }
    Ok(())
}

/// Whether `array_agg` puts values of a type in order.
pub fn is_ordered(t: &DataType) -> bool {
    match t {
        DataType::List(item) => !item.data_type().is_nested(),
        t => !t.is_nested(),
    }
}
