//! What computes an aggregate of many groups at once: palais' own accumulators, and the way to DataFusion's.
//!
//! - [`plain`]: count, and sum and avg of floats.
//! - [`integers`]: exact sums, and averages of decimals.
//! - [`extreme`], [`nested_extreme`]: the least and the greatest value.

pub mod extreme;
mod integers;
mod nested_extreme;
mod plain;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::DataType;
use datafusion_common::{Result as DfResult, internal_err};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use datafusion_physical_expr::GroupsAccumulatorAdapter;
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;

use crate::values::normal::normalised;
use integers::{AvgDecimal, Integers, SumInt, SumInterval};
use plain::{AvgFloat, Count, SumFloat};

/// An accumulator.
#[derive(Debug, Clone)]
pub enum AggregateFunction {
    /// `COUNT`: of rows, or of values that are not NULL.
    Count,
    /// `SUM` of 64-bit floats.
    SumFloat,
    /// `SUM` of integers: exact within 128 bits; a result that does not fit is an error.
    SumInt {
        /// Whether the result is unsigned.
        unsigned: bool,
    },
    /// `SUM` of decimals: a result that does not fit its type is an error.
    SumDecimal {
        /// Digits of the result.
        precision: u8,
        /// Digits behind the point.
        scale: i8,
    },
    /// `SUM` of intervals, by their months, days and nanoseconds.
    SumInterval,
    /// `AVG` of 64-bit floats.
    AvgFloat,
    /// `AVG` of decimals: the float nearest to the exact sum divided by the count.
    AvgDecimal {
        /// Digits behind the point.
        scale: i8,
    },
    /// `MIN` or `MAX` of numbers, dates and intervals; NaN is greater than any other number.
    Extreme {
        /// Whether it is the greatest.
        max: bool,
        /// The type of the values.
        data_type: DataType,
    },
    /// Of the values that differ within a group, by another accumulator.
    Distinct {
        /// The accumulator that is given each of them once.
        of: Box<AggregateFunction>,
        /// The type of the values.
        data_type: DataType,
    },
    /// Any other, by DataFusion's accumulator.
    General(Arc<AggregateFunctionExpr>),
}

/// Makes the accumulator of a function. With `empty` there may be a group without rows. DataFusion's accumulators of
/// many groups give a wrong result for it, so that each group gets an accumulator of its own.
///
/// # Errors
/// It is one of distinct values, which is made where groups are, or of a type that has no order.
pub fn accumulator(function: &AggregateFunction, empty: bool) -> DfResult<Box<dyn GroupsAccumulator>> {
    Ok(match function {
        AggregateFunction::Count => Box::new(Count::default()),
        AggregateFunction::SumFloat => Box::new(SumFloat::default()),
        AggregateFunction::SumInt { unsigned } => {
            Box::new(SumInt::new(if *unsigned { Integers::Unsigned } else { Integers::Signed }))
        }
        AggregateFunction::SumDecimal { precision, scale } => {
            Box::new(SumInt::new(Integers::Decimal { precision: *precision, scale: *scale }))
        }
        AggregateFunction::SumInterval => Box::new(SumInterval::default()),
        AggregateFunction::AvgFloat => Box::new(AvgFloat::default()),
        AggregateFunction::AvgDecimal { scale } => Box::new(AvgDecimal::new(*scale)),
        AggregateFunction::Extreme { max, data_type } => extreme::extreme(*max, data_type)?,
        AggregateFunction::Distinct { .. } => return internal_err!("distinct values are kept by the engine"),
        AggregateFunction::General(f) if !empty && f.groups_accumulator_supported() => {
            f.create_groups_accumulator()?
        }
        AggregateFunction::General(f) => {
            let f = f.clone();
            Box::new(GroupsAccumulatorAdapter::new(move || f.create_accumulator()))
        }
    })
}

/// Arguments as an accumulator of DataFusion takes them: those that it compares by their bits have one representation for
/// equal values. They are all of them where it looks for distinct values, and else the keys of its order, which stand
/// behind the arguments.
pub fn comparable(f: &AggregateFunctionExpr, mut args: Vec<ArrayRef>) -> Vec<ArrayRef> {
    let tells_apart = f.is_distinct() || f.fun().name() == "approx_distinct";
    let keys = args.len().saturating_sub(f.order_bys().len());
    for column in &mut args[if tells_apart { 0 } else { keys }..] {
        *column = normalised(column);
    }
    args
}

/// Whether a row passes a filter.
pub fn passes(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|f| f.is_valid(row) && f.value(row))
}

/// Calls `each` with the group and the value of every row that is not NULL and passes the filter.
fn values<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    groups: &[usize],
    filter: Option<&BooleanArray>,
    mut each: impl FnMut(usize, T::Native),
) {
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 && filter.is_none() {
        for (group, value) in groups.iter().zip(array.values()) {
            each(*group, *value);
        }
        return;
    }
    for (row, group) in groups.iter().enumerate() {
        if array.is_valid(row) && passes(filter, row) {
            each(*group, array.value(row));
        }
    }
}

/// Takes the first values of a vector, or all of them.
fn emit<T>(from: &mut Vec<T>, to: EmitTo) -> Vec<T> {
    to.take_needed(from)
}

/// The values, with NULL for the rows that the filter leaves out.
fn filtered(array: &ArrayRef, filter: Option<&BooleanArray>) -> DfResult<ArrayRef> {
    let Some(filter) = filter else { return Ok(array.clone()) };
    let out: BooleanArray = (0..filter.len()).map(|i| Some(!passes(Some(filter), i))).collect();
    Ok(arrow_select::nullif::nullif(array, &out)?)
}
