//! `MIN` and `MAX` of numbers, dates and intervals, and of lists and structs (`NestedExtreme`).

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray};
use arrow_schema::{DataType, IntervalUnit};
use datafusion_common::{Result as DfResult, not_impl_err};
use datafusion_expr::{EmitTo, GroupsAccumulator};

use super::nested_extreme::NestedExtreme;
use super::{emit, filtered, values};
use crate::values::normal::{interval_length, normal32, normal64};

/// Makes the accumulator of `MIN` or `MAX` for a type.
///
/// # Errors
/// The type has no order.
pub fn extreme(max: bool, data_type: &DataType) -> DfResult<Box<dyn GroupsAccumulator>> {
    if data_type.is_nested() {
        return Ok(Box::new(NestedExtreme::new(max, data_type)?));
    }
    macro_rules! of {
        ($($variant:ident => $t:ty),*) => {
            match data_type {
                $(DataType::$variant => Box::new(Extreme::<$t>::new(max)),)*
                DataType::Interval(IntervalUnit::MonthDayNano) => {
                    Box::new(Extreme::<IntervalMonthDayNanoType>::new(max))
                }
                other => return not_impl_err!("MIN and MAX of {other}"),
            }
        };
    }
    Ok(of!(
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type, UInt8 => UInt8Type,
        UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type, Float32 => Float32Type,
        Float64 => Float64Type, Date32 => Date32Type
    ))
}

/// A total order of values, of floats too: NaN is greater than any other number, as in ORDER BY.
pub trait Order: Copy {
    /// No value is less.
    const LEAST: Self;
    /// No value is greater.
    const GREATEST: Self;

    /// Whether it is less.
    fn before(self, other: Self) -> bool;
}

macro_rules! integers {
    ($($t:ty),*) => {
        $(impl Order for $t {
            const LEAST: Self = <$t>::MIN;
            const GREATEST: Self = <$t>::MAX;

            fn before(self, other: Self) -> bool {
                self < other
            }
        })*
    };
}

integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl Order for f32 {
    const LEAST: Self = f32::NEG_INFINITY;
    const GREATEST: Self = f32::NAN;

    fn before(self, other: Self) -> bool {
        normal32(self).total_cmp(&normal32(other)).is_lt()
    }
}

impl Order for f64 {
    const LEAST: Self = f64::NEG_INFINITY;
    const GREATEST: Self = f64::NAN;

    fn before(self, other: Self) -> bool {
        normal64(self).total_cmp(&normal64(other)).is_lt()
    }
}

impl Order for IntervalMonthDayNano {
    const LEAST: Self = IntervalMonthDayNano::MIN;
    const GREATEST: Self = IntervalMonthDayNano::MAX;

    fn before(self, other: Self) -> bool {
        interval_length(self) < interval_length(other)
    }
}

struct Extreme<T: ArrowPrimitiveType> {
    max: bool,
    best: Vec<T::Native>,
    seen: Vec<bool>,
}

impl<T: ArrowPrimitiveType<Native: Order>> Extreme<T> {
    fn new(max: bool) -> Extreme<T> {
        Extreme { max, best: Vec::new(), seen: Vec::new() }
    }

    fn add(&mut self, array: &ArrayRef, groups: &[usize], filter: Option<&BooleanArray>, total: usize) {
        self.best.resize(total, T::Native::default());
        self.seen.resize(total, false);
        let max = self.max;
        values::<T>(array, groups, filter, |g, v| {
            let best = self.best[g];
            if !self.seen[g] || (if max { best.before(v) } else { v.before(best) }) {
                self.best[g] = v;
                self.seen[g] = true;
            }
        });
    }
}

impl<T: ArrowPrimitiveType<Native: Order>> GroupsAccumulator for Extreme<T> {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        self.add(&args[0], groups, filter, total);
        Ok(())
    }

    fn evaluate(&mut self, to: EmitTo) -> DfResult<ArrayRef> {
        let best = emit(&mut self.best, to);
        let seen = emit(&mut self.seen, to);
        Ok(Arc::new(PrimitiveArray::<T>::new(best.into(), Some(seen.into()))))
    }

    fn state(&mut self, to: EmitTo) -> DfResult<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(to)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        self.add(&states[0], groups, None, total);
        Ok(())
    }

    fn convert_to_state(&self, args: &[ArrayRef], filter: Option<&BooleanArray>) -> DfResult<Vec<ArrayRef>> {
        Ok(vec![filtered(&args[0], filter)?])
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<T::Native>() + self.seen.capacity()
    }
}
