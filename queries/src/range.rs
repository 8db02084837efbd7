//! Results that leave their type are errors, where DataFusion's kernels give something else: `1 << 70` is 64 there, and
//! a decimal of 38 digits plus 1 can have 39.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Schema};
use datafusion_common::{Result as DfResult, exec_err};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::BinaryExpr;

use crate::plan::Expr;

/// The digits of the widest decimal of 128 bits.
const DIGITS: u8 = 38;
const WIDE: DataType = DataType::Decimal128(DIGITS, 0);

/// An operation whose result is checked.
#[derive(Debug, Eq)]
pub struct Ranged {
    inner: Arc<BinaryExpr>,
}

impl PartialEq for Ranged {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Hash for Ranged {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

/// Whether the result of an operation must be checked.
pub fn leaves(e: &BinaryExpr, schema: &Schema) -> DfResult<bool> {
    Ok(match e.op() {
        Operator::BitwiseShiftLeft | Operator::BitwiseShiftRight => e.data_type(schema)?.is_integer(),
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide => {
            matches!(e.data_type(schema)?, DataType::Decimal128(DIGITS, _))
        }
        _ => false,
    })
}

/// The operation, checked.
pub fn checked(e: BinaryExpr) -> Expr {
    Arc::new(Ranged { inner: Arc::new(e) })
}

fn shift(value: i128, by: i128, left: bool, bits: i128) -> DfResult<i128> {
    match (left, by) {
        (_, ..0) => exec_err!("overflow: a shift by {by} bits"),
        (true, by) if by >= bits => exec_err!("overflow: a shift of {bits} bits by {by}"),
        (true, by) => Ok(value << by),
        (false, by) => Ok(value >> by.min(bits)),
    }
}

impl Ranged {
    fn shifted(&self, batch: &RecordBatch) -> DfResult<ArrayRef> {
        let rows = batch.num_rows();
        let to = self.inner.data_type(&batch.schema())?;
        let bits = to.primitive_width().unwrap_or(8) as i128 * 8;
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let wide = |e: &Expr| -> DfResult<ArrayRef> {
            Ok(cast_with_options(&e.evaluate(batch)?.into_array(rows)?, &WIDE, &strict)?)
        };
        let (values, by) = (wide(self.inner.left())?, wide(self.inner.right())?);
        let (values, by) = (values.as_primitive::<Decimal128Type>(), by.as_primitive::<Decimal128Type>());
        let left = self.inner.op() == &Operator::BitwiseShiftLeft;
        let one = |row| shift(values.value(row), by.value(row), left, bits);
        let there = |row| values.is_valid(row) && by.is_valid(row);
        let all: Decimal128Array =
            (0..rows).map(|row| there(row).then(|| one(row)).transpose()).collect::<DfResult<_>>()?;
        Ok(cast_with_options(&all.with_precision_and_scale(DIGITS, 0)?, &to, &strict)?)
    }
}

impl PhysicalExpr for Ranged {
    fn data_type(&self, schema: &Schema) -> DfResult<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> DfResult<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> DfResult<ColumnarValue> {
        if matches!(self.inner.op(), Operator::BitwiseShiftLeft | Operator::BitwiseShiftRight) {
            return Ok(ColumnarValue::Array(self.shifted(batch)?));
        }
        let result = self.inner.evaluate(batch)?.into_array(batch.num_rows())?;
        if result.as_primitive::<Decimal128Type>().validate_decimal_precision(DIGITS).is_err() {
            return exec_err!("overflow: the result of {} has more than {DIGITS} digits", self.inner.op());
        }
        Ok(ColumnarValue::Array(result))
    }

    fn children(&self) -> Vec<&Expr> {
        self.inner.children()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Expr>) -> DfResult<Expr> {
        let inner = BinaryExpr::new(children[0].clone(), *self.inner.op(), children[1].clone());
        let sum = matches!(self.inner.op(), Operator::Plus | Operator::Minus | Operator::Multiply);
        Ok(checked(inner.with_fail_on_overflow(sum)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}

impl fmt::Display for Ranged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
