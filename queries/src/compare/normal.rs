//! One representation for equal values.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, FieldRef, IntervalUnit, Schema};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Literal;

use crate::plan::Expr;

/// The nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// The one NaN that is above infinity, and 0.0 for -0.0.
#[inline(always)]
pub fn normal64(v: f64) -> f64 {
    // -0.0 + 0.0 is 0.0.
    if v.is_nan() { f64::NAN.abs() } else { v + 0.0 }
}

/// As [`normal64`].
#[inline(always)]
pub fn normal32(v: f32) -> f32 {
    if v.is_nan() { f32::NAN.abs() } else { v + 0.0 }
}

/// The nanoseconds of an interval, with 30 days a month and 24 hours a day. Compared by their fields in turn, 36 hours
/// would be less than a day.
#[inline(always)]
pub fn interval_length(v: IntervalMonthDayNano) -> i128 {
    (i128::from(v.months) * 30 + i128::from(v.days)) * DAY + i128::from(v.nanoseconds)
}

/// The values in their one representation: of floats the one NaN that is above infinity, and 0.0 for -0.0. An interval
/// has 30 days a month and 24 hours a day, in as many months and then days as there are, none of them below 0 but the
/// months.
pub fn normalised(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float64 => {
            let floats = values.as_primitive::<Float64Type>();
            let normal: PrimitiveArray<Float64Type> = floats.unary(normal64);
            Arc::new(normal)
        }
        DataType::Float32 => {
            let floats = values.as_primitive::<Float32Type>();
            let normal: PrimitiveArray<Float32Type> = floats.unary(normal32);
            Arc::new(normal)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let intervals = values.as_primitive::<IntervalMonthDayNanoType>();
            let normal: PrimitiveArray<IntervalMonthDayNanoType> = intervals.unary(|v| {
                let total = interval_length(v);
                let (months, rest) = (total.div_euclid(30 * DAY), total.rem_euclid(30 * DAY));
                IntervalMonthDayNano::new(months as i32, (rest / DAY) as i32, (rest % DAY) as i64)
            });
            Arc::new(normal)
        }
        _ => values.clone(),
    }
}

/// The expression whose values are normalised. A literal stays one: what is known of constants is computed once.
pub fn normal(e: &Expr) -> Result<Expr> {
    if e.is::<Normal>() {
        return Ok(e.clone());
    }
    if let Some(literal) = e.downcast_ref::<Literal>() {
        let value = normalised(&literal.value().to_array()?);
        return Ok(Arc::new(Literal::new(ScalarValue::try_from_array(&value, 0)?)));
    }
    Ok(Arc::new(Normal { value: e.clone() }))
}

/// The values of an expression, normalised.
#[derive(Debug, Eq)]
pub struct Normal {
    value: Expr,
}

// Derived, these would move out of the shared pointer.
impl PartialEq for Normal {
    fn eq(&self, other: &Self) -> bool {
        self.value.eq(&other.value)
    }
}

impl Hash for Normal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl fmt::Display for Normal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl PhysicalExpr for Normal {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let values = self.value.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(normalised(&values)))
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.value.return_field(schema)
    }

    fn children(&self) -> Vec<&Expr> {
        vec![&self.value]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        Ok(Arc::new(Normal { value: children.swap_remove(0) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt_sql(f)
    }
}
