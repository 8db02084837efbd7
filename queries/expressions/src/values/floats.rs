//! Comparisons of floats: zeros are equal, and NaN is one value above all others.
//!
//! Beside a number that is no NaN the comparisons of the processor say what is right of zeros at once. So no operand is
//! copied. NaN is looked at on its own.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use datafusion_common::{Result, internal_err};
use datafusion_expr::{ColumnarValue, Operator};

/// What a float type has that is needed here.
pub trait Float: Copy + PartialOrd {
    /// Whether it is no number.
    fn nan(self) -> bool;
}

impl Float for f32 {
    fn nan(self) -> bool {
        self.is_nan()
    }
}

impl Float for f64 {
    fn nan(self) -> bool {
        self.is_nan()
    }
}

// Without branches, so that many values are compared at once.
fn equal<F: Float>(a: F, b: F) -> bool {
    (a == b) | (a.nan() & b.nan())
}

fn less<F: Float>(a: F, b: F) -> bool {
    (a < b) | (!a.nan() & b.nan())
}

/// `left op right`, of which one may be a constant, for so many rows.
pub fn compare<T>(
    left: ColumnarValue,
    op: Operator,
    right: ColumnarValue,
    rows: usize,
) -> Result<BooleanArray>
where
    T: ArrowPrimitiveType,
    T::Native: Float,
{
    // A constant stands on the right.
    let (left, op, right) = match (op.swap(), &left) {
        (Some(swapped), ColumnarValue::Scalar(_)) => (right, swapped, left),
        _ => (left, op, right),
    };
    let left = left.into_array(rows)?;
    let left = left.as_primitive::<T>();
    if let ColumnarValue::Scalar(value) = &right
        && !value.is_null()
    {
        let value = value.to_array()?.as_primitive::<T>().value(0);
        let numbers = left.values();
        let values = match op {
            Operator::Eq | Operator::IsNotDistinctFrom => pack(numbers, |v| equal(v, value)),
            Operator::NotEq | Operator::IsDistinctFrom => pack(numbers, |v| !equal(v, value)),
            Operator::Lt => pack(numbers, |v| less(v, value)),
            Operator::LtEq => pack(numbers, |v| !less(value, v)),
            Operator::Gt => pack(numbers, |v| less(value, v)),
            Operator::GtEq => pack(numbers, |v| !less(v, value)),
            _ => return internal_err!("{op} does not compare"),
        };
        return Ok(with_nulls(values, op, left.nulls(), None));
    }
    let right = right.into_array(rows)?;
    let right: &PrimitiveArray<T> = right.as_primitive();
    let (a, b) = (left.values(), right.values());
    let values = match op {
        Operator::Eq | Operator::IsNotDistinctFrom => pack_pairs(a, b, equal),
        Operator::NotEq | Operator::IsDistinctFrom => pack_pairs(a, b, |a, b| !equal(a, b)),
        Operator::Lt => pack_pairs(a, b, less),
        Operator::LtEq => pack_pairs(a, b, |a, b| !less(b, a)),
        Operator::Gt => pack_pairs(a, b, |a, b| less(b, a)),
        Operator::GtEq => pack_pairs(a, b, |a, b| !less(a, b)),
        _ => return internal_err!("{op} does not compare"),
    };
    Ok(with_nulls(values, op, left.nulls(), right.nulls()))
}

/// The outcome where the sides may be NULL.
fn with_nulls(
    values: BooleanBuffer,
    op: Operator,
    left: Option<&NullBuffer>,
    right: Option<&NullBuffer>,
) -> BooleanArray {
    let distinct = match op {
        Operator::IsDistinctFrom => true,
        Operator::IsNotDistinctFrom => false,
        _ => return BooleanArray::new(values, NullBuffer::union(left, right)),
    };
    let rows = values.len();
    let known = |side: Option<&NullBuffer>| {
        side.map_or_else(|| BooleanBuffer::new_set(rows), |nulls| nulls.inner().clone())
    };
    let (left, right) = (known(left), known(right));
    let both = &left & &right;
    let one = &left ^ &right;
    let none = !&(&left | &right);
    BooleanArray::new(&(&values & &both) | if distinct { &one } else { &none }, None)
}

/// A bit for each value.
fn pack<F: Copy>(values: &[F], bit: impl Fn(F) -> bool) -> BooleanBuffer {
    let word =
        |values: &[F]| values.iter().enumerate().fold(0_u64, |word, (i, v)| word | u64::from(bit(*v)) << i);
    buffer(values.chunks(64).map(word).collect(), values.len())
}

/// A bit for each pair.
fn pack_pairs<F: Copy>(left: &[F], right: &[F], bit: impl Fn(F, F) -> bool) -> BooleanBuffer {
    let word = |(a, b): (&[F], &[F])| {
        a.iter().zip(b).enumerate().fold(0_u64, |word, (i, (a, b))| word | u64::from(bit(*a, *b)) << i)
    };
    buffer(left.chunks(64).zip(right.chunks(64)).map(word).collect(), left.len())
}

fn buffer(words: Vec<u64>, bits: usize) -> BooleanBuffer {
    // A buffer of bits counts them from the lowest of its first byte.
    let words: Vec<u64> = words.into_iter().map(u64::to_le).collect();
    BooleanBuffer::new(Buffer::from_vec(words), 0, bits)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Float64Array;
    use arrow_array::types::Float64Type;
    use datafusion_common::ScalarValue;

    use super::*;

    /// In ascending order, equal ones in a list.
    const ASCENDING: [&[f64]; 5] =
        [&[f64::NEG_INFINITY], &[-1.0], &[-0.0, 0.0], &[f64::INFINITY], &[f64::NAN, -f64::NAN]];

    #[test]
    fn zeros_are_equal_and_nan_is_greatest() {
        let ranked: Vec<(usize, f64)> = ASCENDING
            .iter()
            .enumerate()
            .flat_map(|(rank, all)| all.iter().map(move |v| (rank, *v)))
            .collect();
        for (a_rank, a) in &ranked {
            for (b_rank, b) in &ranked {
                for (op, expected) in [
                    (Operator::Eq, a_rank == b_rank),
                    (Operator::NotEq, a_rank != b_rank),
                    (Operator::Lt, a_rank < b_rank),
                    (Operator::LtEq, a_rank <= b_rank),
                    (Operator::Gt, a_rank > b_rank),
                    (Operator::GtEq, a_rank >= b_rank),
                    (Operator::IsDistinctFrom, a_rank != b_rank),
                    (Operator::IsNotDistinctFrom, a_rank == b_rank),
                ] {
                    // More than a word of bits.
                    let array = |v| ColumnarValue::Array(Arc::new(Float64Array::from(vec![v; 70])));
                    let scalar = |v| ColumnarValue::Scalar(ScalarValue::Float64(Some(v)));
                    for (left, right) in
                        [(array(*a), array(*b)), (array(*a), scalar(*b)), (scalar(*a), array(*b))]
                    {
                        let found = compare::<Float64Type>(left, op, right, 70).expect("floats");
                        assert_eq!(found, BooleanArray::from(vec![expected; 70]), "{a} {op} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn null_is_unknown_but_to_distinct() {
        let left = Float64Array::from(vec![Some(1.0), Some(1.0), None, None]);
        let right = Float64Array::from(vec![Some(1.0), None, Some(1.0), None]);
        for (op, expected) in [
            (Operator::Eq, [Some(true), None, None, None]),
            (Operator::IsDistinctFrom, [Some(false), Some(true), Some(true), Some(false)]),
            (Operator::IsNotDistinctFrom, [Some(true), Some(false), Some(false), Some(true)]),
        ] {
            let array = |a: &Float64Array| ColumnarValue::Array(Arc::new(a.clone()));
            let found = compare::<Float64Type>(array(&left), op, array(&right), 4).expect("floats");
            assert_eq!(found, BooleanArray::from(expected.to_vec()), "{op}");
        }
    }
}
