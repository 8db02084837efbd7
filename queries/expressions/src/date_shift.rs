//! A date plus or minus an interval, or a number of days.
//!
//! DataFusion's kernels drop what an interval has below a day, and turn a number of days into nanoseconds, of which 64
//! bits hold 292 years. Here whole days count as days, and hours are an error: a DATE has none.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::date32_to_datetime;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, DurationSecondType, IntervalMonthDayNanoType as Interval,
};
use arrow_array::{Array, Date32Array, RecordBatch};
use arrow_schema::{DataType, IntervalUnit, Schema, TimeUnit};
use chrono::{Datelike, Months};
use datafusion_common::{Result as DfResult, exec_err};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, CastExpr};

use crate::Expr;

const DAY_SECONDS: i64 = 86_400;
const DAY_NANOS: i64 = DAY_SECONDS * 1_000_000_000;
/// Day 0 of dates, 1970-01-01, counted from the year 1.
const EPOCH: i32 = 719_163;

/// A date moved by months and days.
#[derive(Debug, Eq)]
pub struct DateShift {
    date: Expr,
    /// An interval of months, days and nanoseconds, or a duration in seconds.
    by: Expr,
    back: bool,
}

impl PartialEq for DateShift {
    fn eq(&self, other: &Self) -> bool {
        self.date.eq(&other.date) && self.by.eq(&other.by) && self.back == other.back
    }
}

impl Hash for DateShift {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.date.hash(state);
        self.by.hash(state);
        self.back.hash(state);
    }
}

/// The sum as a [`DateShift`], if it is one of a date and an interval.
pub fn dates(sum: &BinaryExpr, schema: &Schema) -> DfResult<Option<Expr>> {
    let shift = |date: &Expr, by: &Expr, back| -> DfResult<Option<Expr>> {
        if date.data_type(schema)? != DataType::Date32 {
            return Ok(None);
        }
        let mut by = by;
        // An integer number of days has become seconds, and these an interval.
        if let Some(cast) = by.downcast_ref::<CastExpr>()
            && cast.expr().data_type(schema)? == DataType::Duration(TimeUnit::Second)
        {
            by = cast.expr();
        }
        Ok(match by.data_type(schema)? {
            DataType::Interval(IntervalUnit::MonthDayNano) | DataType::Duration(TimeUnit::Second) => {
                Some(Arc::new(DateShift { date: date.clone(), by: by.clone(), back }))
            }
            _ => None,
        })
    };
    match sum.op() {
        Operator::Plus => match shift(sum.left(), sum.right(), false)? {
            None => shift(sum.right(), sum.left(), false),
            found => Ok(found),
        },
        Operator::Minus => shift(sum.left(), sum.right(), true),
        _ => Ok(None),
    }
}

/// The date `months` and then `days` later; `None` beyond the range of dates.
fn moved(date: i32, months: i32, days: i64) -> Option<i32> {
    let mut date = date;
    if months != 0 {
        let from = date32_to_datetime(date)?.date();
        let count = Months::new(months.unsigned_abs());
        let to = if months < 0 { from.checked_sub_months(count) } else { from.checked_add_months(count) };
        date = to?.num_days_from_ce() - EPOCH;
    }
    i32::try_from(i64::from(date).checked_add(days)?).ok()
}

impl DateShift {
    fn one(&self, date: i32, months: i32, days: i64, rest: i64) -> DfResult<i32> {
        if rest != 0 {
            return exec_err!(
                "a DATE has no hours to add to; cast it first: CAST(… AS TIMESTAMP) + INTERVAL …"
            );
        }
        let shifted = match self.back {
            true => months.checked_neg().zip(days.checked_neg()).and_then(|(m, d)| moved(date, m, d)),
            false => moved(date, months, days),
        };
        shifted.map_or_else(|| exec_err!("overflow: the date leaves the range of DATE"), Ok)
    }
}

impl PhysicalExpr for DateShift {
    fn data_type(&self, _: &Schema) -> DfResult<DataType> {
        Ok(DataType::Date32)
    }

    fn nullable(&self, schema: &Schema) -> DfResult<bool> {
        Ok(self.date.nullable(schema)? || self.by.nullable(schema)?)
    }

    fn evaluate(&self, batch: &RecordBatch) -> DfResult<ColumnarValue> {
        let rows = batch.num_rows();
        let dates = self.date.evaluate(batch)?.into_array(rows)?;
        let by = self.by.evaluate(batch)?.into_array(rows)?;
        let dates = dates.as_primitive::<Date32Type>();
        let there = |row: usize| dates.is_valid(row) && by.is_valid(row);
        let shifted: Date32Array = match by.data_type() {
            DataType::Duration(_) => {
                let by = by.as_primitive::<DurationSecondType>();
                let one = |row| {
                    let seconds: <DurationSecondType as ArrowPrimitiveType>::Native = by.value(row);
                    self.one(dates.value(row), 0, seconds / DAY_SECONDS, seconds % DAY_SECONDS)
                };
                (0..rows).map(|row| there(row).then(|| one(row)).transpose()).collect::<DfResult<_>>()?
            }
            _ => {
                let by = by.as_primitive::<Interval>();
                let one = |row| {
                    let (months, days, nanos) = Interval::to_parts(by.value(row));
                    let days = i64::from(days) + nanos / DAY_NANOS;
                    self.one(dates.value(row), months, days, nanos % DAY_NANOS)
                };
                (0..rows).map(|row| there(row).then(|| one(row)).transpose()).collect::<DfResult<_>>()?
            }
        };
        Ok(ColumnarValue::Array(Arc::new(shifted)))
    }

    fn children(&self) -> Vec<&Expr> {
        vec![&self.date, &self.by]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Expr>) -> DfResult<Expr> {
        Ok(Arc::new(DateShift { date: children[0].clone(), by: children[1].clone(), back: self.back }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DateShift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.date, if self.back { '-' } else { '+' }, self.by)
    }
}
