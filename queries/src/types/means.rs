//! Means, medians and quantiles of dates, timestamps, times of day and differences of timestamps: those of their
//! microseconds, made such a value again.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::{AggregateUDF, Operator};

use super::Types;
use crate::algebra::{Expr, SortKey};
use crate::error::{Error, Result};
use crate::functions::Functions;

/// What becomes of the result of an aggregate of microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct OfMicros {
    /// The type of the result.
    gives: DataType,
    /// Whether half a microsecond goes toward 1970, and not away from it, as in DuckDB.
    is_mean: bool,
}

/// The type of a mean of values of a type, where it is one of microseconds.
fn mean_of(t: &DataType) -> Option<DataType> {
    match t {
        DataType::Date32 => Some(DataType::Timestamp(TimeUnit::Microsecond, None)),
        DataType::Timestamp(_, zone) => Some(DataType::Timestamp(TimeUnit::Microsecond, zone.clone())),
        DataType::Time32(_) | DataType::Time64(_) => Some(DataType::Time64(TimeUnit::Microsecond)),
        DataType::Duration(_) => Some(DataType::Duration(TimeUnit::Microsecond)),
        _ => None,
    }
}

impl Types {
    /// Puts microseconds in the place of the times of which an aggregate takes the mean or a quantile, if it does.
    ///
    /// # Errors
    /// They have none.
    pub fn in_micros(
        &self,
        function: &AggregateUDF,
        args: &mut [Expr],
        order_by: &mut [SortKey],
    ) -> Result<Option<OfMicros>> {
        let is_mean = match function.name() {
            "avg" => true,
            "median" | "percentile_cont" => false,
            _ => return Ok(None),
        };
        let Some(value) = args.first_mut() else { return Ok(None) };
        let Some(gives) = mean_of(&value.data_type) else { return Ok(None) };
        let Some(micros) = Functions::all().scalar("epoch_us") else {
            return Err(Error::Invalid("there is no function 'epoch_us'".into()));
        };
        let mut counted = self.call(&micros, vec![value.clone()])?;
        if is_mean {
            // The sum of decimals is exact.
            counted = self.coerced(counted, &DataType::Decimal128(19, 0))?;
        }
        for key in order_by.iter_mut().filter(|key| key.expr == *value) {
            key.expr = counted.clone();
        }
        *value = counted;
        Ok(Some(OfMicros { gives, is_mean }))
    }

    /// The result of such an aggregate, or the list of its results, as times.
    ///
    /// # Errors
    /// It is no number.
    pub fn from_micros(&self, result: Expr, of: &OfMicros) -> Result<Expr> {
        if let DataType::List(_) = result.data_type {
            return self.of_each_item(result, "times".into(), &|item| self.from_micros(item, of));
        }
        let call = |name: &str, arg: Expr| match Functions::all().scalar(name) {
            Some(function) => self.call(&function, vec![arg]),
            None => Err(Error::Invalid(format!("there is no function '{name}'"))),
        };
        let whole = match of.is_mean {
            true => {
                let half = Expr::literal(ScalarValue::from(0.5));
                let above = self.binary(call("abs", result.clone())?, Operator::Minus, half)?;
                self.binary(call("sign", result)?, Operator::Multiply, call("ceil", above)?)?
            }
            false => call("round", result)?,
        };
        let micros = self.cast(whole, &DataType::Int64, false)?;
        Ok(self.cast_to(micros, &of.gives, false))
    }
}
