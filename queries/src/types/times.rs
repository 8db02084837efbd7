//! Arithmetic on dates and times, where a cast alone does not give an operand its type.

use arrow_cast::can_cast_types;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use super::Types;
use super::mismatch::not_taken;
use crate::algebra::Expr;
use crate::error::Result;

const SECONDS_OF_DAY: i64 = 86_400;

impl Types {
    /// A date plus or minus a number of days, over the days since 1970, as which dates lie in memory. DataFusion would make
    /// the number an interval of nanoseconds, which dates don't have. The operands, if they are no such sum.
    pub(super) fn days(
        &self,
        left: Expr,
        op: Operator,
        right: Expr,
    ) -> Result<std::result::Result<Expr, (Expr, Expr)>> {
        let (l, r) = (&left.data_type, &right.data_type);
        let forward = *l == DataType::Date32 && r.is_integer();
        let backward = l.is_integer() && *r == DataType::Date32 && op == Operator::Plus;
        if !matches!(op, Operator::Plus | Operator::Minus) || !(forward || backward) {
            return Ok(Err((left, right)));
        }
        let day = |e| self.coerced(e, &DataType::Int32);
        let sum = self.operation(day(left)?, op, day(right)?, None);
        self.coerced(sum, &DataType::Date32).map(Ok)
    }

    /// An operand in the type `to` that an operation takes beside one of the type `beside`.
    pub(super) fn operand(&self, e: Expr, op: Operator, to: &DataType, beside: &DataType) -> Result<Expr> {
        use DataType::{Date32, Date64, Duration, Int64, Interval, Time32, Time64, Timestamp};
        use TimeUnit::Nanosecond;
        if e.data_type == *to || can_cast_types(&e.data_type, to) {
            return self.coerced(e, to);
        }
        let interval = Interval(IntervalUnit::MonthDayNano);
        let is_sum = matches!(op, Operator::Plus | Operator::Minus);
        match (&e.data_type, to, beside) {
            // A number of days.
            (from, Interval(IntervalUnit::MonthDayNano), Date32 | Date64) if is_sum && from.is_integer() => {
                let seconds = self.times(self.coerced(e, &Int64)?, SECONDS_OF_DAY);
                self.coerced(self.coerced(seconds, &Duration(TimeUnit::Second))?, &interval)
            }
            // The time of a date.
            (Time32(_) | Time64(_), Duration(Nanosecond), Timestamp(Nanosecond, None)) if is_sum => {
                self.coerced(self.nanoseconds(e)?, to)
            }
            // The difference of two times.
            (Time32(_) | Time64(_), Interval(_), Interval(_)) if is_sum => {
                self.coerced(self.coerced(self.nanoseconds(e)?, &Duration(Nanosecond))?, &interval)
            }
            (from, ..) => Err(not_taken(from, to)),
        }
    }

    /// The nanoseconds since midnight.
    fn nanoseconds(&self, time: Expr) -> Result<Expr> {
        let (through, by) = match &time.data_type {
            DataType::Time32(TimeUnit::Second) => (DataType::Int32, 1_000_000_000),
            DataType::Time32(_) => (DataType::Int32, 1_000_000),
            DataType::Time64(TimeUnit::Microsecond) => (DataType::Int64, 1_000),
            _ => (DataType::Int64, 1),
        };
        Ok(self.times(self.coerced(self.coerced(time, &through)?, &DataType::Int64)?, by))
    }

    /// A 64-bit integer times a constant.
    fn times(&self, e: Expr, by: i64) -> Expr {
        match by {
            1 => e,
            by => self.operation(e, Operator::Multiply, Expr::literal(ScalarValue::Int64(Some(by))), None),
        }
    }
}
