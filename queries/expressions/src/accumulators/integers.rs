//! `SUM` of integers, decimals and intervals. The sum is exact, and a result that does not fit its type is an error.
//! `AVG` of decimals divides the exact sum.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, PrimitiveArray};
use arrow_buffer::NullBuffer;
use datafusion_common::{DataFusionError, Result as DfResult};
use datafusion_expr::{EmitTo, GroupsAccumulator};

use super::{emit, filtered, values};
use crate::values::decimals::average;

/// The type of the summed values.
#[derive(Debug, Clone, Copy)]
pub(super) enum Integers {
    Signed,
    Unsigned,
    Decimal { precision: u8, scale: i8 },
}

/// `SUM` of integers and decimals, exact within 128 bits.
pub(super) struct SumInt {
    of: Integers,
    sums: Vec<i128>,
    seen: Vec<bool>,
}

impl SumInt {
    pub fn new(of: Integers) -> SumInt {
        SumInt { of, sums: Vec::new(), seen: Vec::new() }
    }

    fn scale(&self) -> i8 {
        if let Integers::Decimal { scale, .. } = self.of { scale } else { 0 }
    }

    fn states(&self, sums: Vec<i128>, nulls: Option<NullBuffer>) -> DfResult<ArrayRef> {
        Ok(Arc::new(Decimal128Array::new(sums.into(), nulls).with_precision_and_scale(38, self.scale())?))
    }

    fn overflow() -> DataFusionError {
        DataFusionError::Execution(
            "overflow: SUM does not fit its type\n  help: SUM(CAST(… AS DECIMAL(38, 0))) or SUM(CAST(… AS DOUBLE))"
                .into(),
        )
    }

    fn add<T: ArrowPrimitiveType>(
        &mut self,
        array: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()>
    where
        i128: From<T::Native>,
    {
        self.sums.resize(total, 0);
        self.seen.resize(total, false);
        let mut overflow = false;
        values::<T>(array, groups, filter, |g, v| {
            let (sum, over) = self.sums[g].overflowing_add(i128::from(v));
            self.sums[g] = sum;
            overflow |= over;
            self.seen[g] = true;
        });
        if overflow { Err(Self::overflow()) } else { Ok(()) }
    }

    fn narrow<T: ArrowPrimitiveType>(&mut self, to: EmitTo) -> DfResult<ArrayRef>
    where
        T::Native: TryFrom<i128> + Default,
    {
        let sums = emit(&mut self.sums, to);
        let seen = emit(&mut self.seen, to);
        let sums = sums
            .into_iter()
            .map(|s| T::Native::try_from(s).map_err(|_| Self::overflow()))
            .collect::<DfResult<Vec<_>>>()?;
        Ok(Arc::new(PrimitiveArray::<T>::new(sums.into(), Some(seen.into()))))
    }
}

impl GroupsAccumulator for SumInt {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        match self.of {
            Integers::Unsigned => self.add::<UInt64Type>(&args[0], groups, filter, total),
            Integers::Signed => self.add::<Int64Type>(&args[0], groups, filter, total),
            Integers::Decimal { .. } => self.add::<Decimal128Type>(&args[0], groups, filter, total),
        }
    }

    fn evaluate(&mut self, to: EmitTo) -> DfResult<ArrayRef> {
        match self.of {
            Integers::Unsigned => self.narrow::<UInt64Type>(to),
            Integers::Signed => self.narrow::<Int64Type>(to),
            Integers::Decimal { precision, scale } => {
                let sums = emit(&mut self.sums, to);
                let seen = emit(&mut self.seen, to);
                let limit = 10_i128.checked_pow(u32::from(precision)).unwrap_or(i128::MAX);
                if sums.iter().any(|s| s.unsigned_abs() >= limit.unsigned_abs()) {
                    return Err(Self::overflow());
                }
                let array = Decimal128Array::new(sums.into(), Some(seen.into()));
                Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
            }
        }
    }

    fn state(&mut self, to: EmitTo) -> DfResult<Vec<ArrayRef>> {
        let sums = emit(&mut self.sums, to);
        let seen = emit(&mut self.seen, to);
        Ok(vec![self.states(sums, Some(seen.into()))?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        self.add::<Decimal128Type>(&states[0], groups, None, total)
    }

    fn convert_to_state(&self, args: &[ArrayRef], filter: Option<&BooleanArray>) -> DfResult<Vec<ArrayRef>> {
        let array = filtered(&args[0], filter)?;
        let nulls = array.nulls().cloned();
        let sums: Vec<i128> = match self.of {
            Integers::Unsigned => {
                array.as_primitive::<UInt64Type>().values().iter().map(|v| i128::from(*v)).collect()
            }
            Integers::Signed => {
                array.as_primitive::<Int64Type>().values().iter().map(|v| i128::from(*v)).collect()
            }
            Integers::Decimal { .. } => array.as_primitive::<Decimal128Type>().values().to_vec(),
        };
        Ok(vec![self.states(sums, nulls)?])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * 16 + self.seen.capacity()
    }
}

/// `AVG` of decimals: the float nearest to the exact sum divided by the count. NULL for a group without values.
pub(super) struct AvgDecimal {
    scale: i8,
    sums: SumInt,
    counts: Vec<i64>,
}

impl AvgDecimal {
    /// Averages decimals with `scale` digits behind the point.
    pub fn new(scale: i8) -> AvgDecimal {
        let sums = SumInt::new(Integers::Decimal { precision: 38, scale });
        AvgDecimal { scale, sums, counts: Vec::new() }
    }
}

impl GroupsAccumulator for AvgDecimal {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        self.counts.resize(total, 0);
        values::<Decimal128Type>(&args[0], groups, filter, |g, _| self.counts[g] += 1);
        self.sums.update_batch(args, groups, filter, total)
    }

    fn evaluate(&mut self, to: EmitTo) -> DfResult<ArrayRef> {
        let sums = self.sums.state(to)?.swap_remove(0);
        let sums = sums.as_primitive::<Decimal128Type>().values().iter();
        let counts = emit(&mut self.counts, to);
        let averages = sums.zip(counts).map(|(sum, count)| {
            let count = u64::try_from(count).ok().filter(|count| *count > 0)?;
            Some(average(*sum, self.scale, count))
        });
        Ok(Arc::new(averages.collect::<Float64Array>()))
    }

    fn state(&mut self, to: EmitTo) -> DfResult<Vec<ArrayRef>> {
        let mut states = self.sums.state(to)?;
        states.push(Arc::new(Int64Array::from(emit(&mut self.counts, to))));
        Ok(states)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        self.counts.resize(total, 0);
        values::<Int64Type>(&states[1], groups, None, |g, count| self.counts[g] += count);
        self.sums.merge_batch(&states[..1], groups, total)
    }

    fn convert_to_state(&self, args: &[ArrayRef], filter: Option<&BooleanArray>) -> DfResult<Vec<ArrayRef>> {
        let mut states = self.sums.convert_to_state(args, filter)?;
        let counts = (0..states[0].len()).map(|row| i64::from(states[0].is_valid(row)));
        states.push(Arc::new(Int64Array::from_iter_values(counts)));
        Ok(states)
    }

    fn size(&self) -> usize {
        self.sums.size() + self.counts.capacity() * 8
    }
}

/// `SUM` of intervals: sums their months, their days and their nanoseconds.
pub(super) struct SumInterval([SumInt; 3]);

impl Default for SumInterval {
    fn default() -> SumInterval {
        SumInterval([Integers::Signed; 3].map(SumInt::new))
    }
}

/// The months, the days and the nanoseconds of intervals.
fn fields(column: &ArrayRef) -> [ArrayRef; 3] {
    let column = column.as_primitive::<IntervalMonthDayNanoType>();
    let each = |field: fn(IntervalMonthDayNano) -> i64| -> ArrayRef {
        Arc::new(column.unary(field) as PrimitiveArray<Int64Type>)
    };
    [each(|v| v.months.into()), each(|v| v.days.into()), each(|v| v.nanoseconds)]
}

impl GroupsAccumulator for SumInterval {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        let mut parts = self.0.iter_mut().zip(fields(&args[0]));
        parts.try_for_each(|(sum, field)| sum.update_batch(&[field], groups, filter, total))
    }

    fn evaluate(&mut self, to: EmitTo) -> DfResult<ArrayRef> {
        let [months, days, nanoseconds] = &mut self.0;
        let (months, days, nanoseconds) =
            (months.evaluate(to)?, days.evaluate(to)?, nanoseconds.evaluate(to)?);
        let small = |v: i64| {
            let text = "overflow: SUM does not fit INTERVAL, whose months and days have 32 bits each";
            i32::try_from(v).map_err(|_| DataFusionError::Execution(text.into()))
        };
        let values = months.as_primitive::<Int64Type>().values().iter();
        let values = values.zip(days.as_primitive::<Int64Type>().values());
        let values = values.zip(nanoseconds.as_primitive::<Int64Type>().values());
        let values = values
            .map(|((m, d), n)| Ok(IntervalMonthDayNano::new(small(*m)?, small(*d)?, *n)))
            .collect::<DfResult<Vec<_>>>()?;
        let nulls = months.nulls().cloned();
        Ok(Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::new(values.into(), nulls)))
    }

    fn state(&mut self, to: EmitTo) -> DfResult<Vec<ArrayRef>> {
        let mut states = Vec::new();
        for sum in &mut self.0 {
            states.extend(sum.state(to)?);
        }
        Ok(states)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        let mut parts = self.0.iter_mut().zip(states.chunks(1));
        parts.try_for_each(|(sum, state)| sum.merge_batch(state, groups, total))
    }

    fn convert_to_state(&self, args: &[ArrayRef], filter: Option<&BooleanArray>) -> DfResult<Vec<ArrayRef>> {
        let mut states = Vec::new();
        for (sum, field) in self.0.iter().zip(fields(&args[0])) {
            states.extend(sum.convert_to_state(&[field], filter)?);
        }
        Ok(states)
    }

    fn size(&self) -> usize {
        self.0.iter().map(GroupsAccumulator::size).sum()
    }
}
