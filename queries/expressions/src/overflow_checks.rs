//! Operators whose kernels give a wrong number instead of an error.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema};
use datafusion_common::{Result, internal_err};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

use crate::Expr;

/// A computed decimal. The kernels fail beyond 128 bits only, which hold 38 digits and most numbers of 39.
#[derive(Debug, Eq)]
pub struct Precise {
    value: Expr,
}

// Derived, these would move out of the shared pointer.
impl PartialEq for Precise {
    fn eq(&self, other: &Self) -> bool {
        self.value.eq(&other.value)
    }
}

impl Hash for Precise {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl Precise {
    /// Checks the digits of `value`.
    pub fn new(value: Expr) -> Precise {
        Precise { value }
    }
}

impl fmt::Display for Precise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl PhysicalExpr for Precise {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let value = self.value.evaluate(batch)?;
        let array = value.to_array(batch.num_rows())?;
        if let DataType::Decimal128(precision, scale) = array.data_type() {
            let digits = array.as_primitive::<Decimal128Type>().validate_decimal_precision(*precision);
            digits.map_err(|_| {
                let text = format!("the result has more digits than a DECIMAL({precision}, {scale})");
                ArrowError::ArithmeticOverflow(text)
            })?;
        }
        Ok(value)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.value.return_field(schema)
    }

    fn children(&self) -> Vec<&Expr> {
        vec![&self.value]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        Ok(Arc::new(Precise { value: children.swap_remove(0) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt_sql(f)
    }
}

/// `left << right` or `left >> right` of integers of one type. The kernels take the right side modulo the number of
/// bits.
#[derive(Debug, Eq)]
pub struct BitShift {
    left: Expr,
    right: Expr,
    to_left: bool,
}

impl PartialEq for BitShift {
    fn eq(&self, other: &Self) -> bool {
        self.left.eq(&other.left) && self.right.eq(&other.right) && self.to_left == other.to_left
    }
}

impl Hash for BitShift {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.left.hash(state);
        self.right.hash(state);
        self.to_left.hash(state);
    }
}

impl BitShift {
    /// Shifts `left` by `right` bits. To the left a result that does not fit the type is an error, and so is a negative
    /// operand. To the right what leaves the type at either end is 0.
    pub fn new(left: Expr, right: Expr, to_left: bool) -> BitShift {
        BitShift { left, right, to_left }
    }
}

impl fmt::Display for BitShift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, if self.to_left { "<<" } else { ">>" }, self.right)
    }
}

impl PhysicalExpr for BitShift {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let left = self.left.evaluate(batch)?.into_array(batch.num_rows())?;
        let right = self.right.evaluate(batch)?.into_array(batch.num_rows())?;
        let shifted = match left.data_type() {
            DataType::Int8 => shift::<Int8Type>(&left, &right, self.to_left),
            DataType::Int16 => shift::<Int16Type>(&left, &right, self.to_left),
            DataType::Int32 => shift::<Int32Type>(&left, &right, self.to_left),
            DataType::Int64 => shift::<Int64Type>(&left, &right, self.to_left),
            DataType::UInt8 => shift::<UInt8Type>(&left, &right, self.to_left),
            DataType::UInt16 => shift::<UInt16Type>(&left, &right, self.to_left),
            DataType::UInt32 => shift::<UInt32Type>(&left, &right, self.to_left),
            DataType::UInt64 => shift::<UInt64Type>(&left, &right, self.to_left),
            other => return internal_err!("bits of {other} are not shifted"),
        };
        Ok(ColumnarValue::Array(shifted?))
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.left.return_field(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        Ok(self.left.nullable(schema)? || self.right.nullable(schema)?)
    }

    fn children(&self) -> Vec<&Expr> {
        vec![&self.left, &self.right]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        let right = children.swap_remove(1);
        Ok(Arc::new(BitShift { left: children.swap_remove(0), right, to_left: self.to_left }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn shift<T: ArrowPrimitiveType>(left: &ArrayRef, right: &ArrayRef, to_left: bool) -> Result<ArrayRef>
where
    T::Native: Into<i128> + TryFrom<i128>,
{
    let bits = 8 * size_of::<T::Native>() as i128;
    let overflow = |a: i128, n: i128| {
        ArrowError::ArithmeticOverflow(format!("{a} << {n} does not fit {}", T::DATA_TYPE))
    };
    let one = |a: T::Native, n: T::Native| -> std::result::Result<T::Native, ArrowError> {
        let (a, n): (i128, i128) = (a.into(), n.into());
        let shifted = match (0..bits).contains(&n) {
            true if to_left && a >= 0 => a << n,
            true if !to_left => a >> n,
            false if !to_left || (a == 0 && n > 0) => 0,
            _ => return Err(overflow(a, n)),
        };
        T::Native::try_from(shifted).map_err(|_| overflow(a, n))
    };
    let (left, right) = (left.as_primitive::<T>(), right.as_primitive::<T>());
    let values = left.iter().zip(right).map(|(a, n)| a.zip(n).map(|(a, n)| one(a, n)).transpose());
    let shifted: PrimitiveArray<T> = values.collect::<std::result::Result<_, ArrowError>>()?;
    Ok(Arc::new(shifted))
}
