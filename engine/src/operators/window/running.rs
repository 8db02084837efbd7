//! Aggregates of all rows from the partition's first one to the row, or to its last peer.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBufferBuilder};
use arrow_schema::DataType;
use queries::plan::{AggregateFunction, Units};

use super::accumulate::{Accumulate, AvgDecimal, AvgFloat, Extreme, SumDecimal, SumFloat, SumInteger};
use super::block::Block;
use super::frames::Spec;
use super::{Evaluator, Inputs};
use crate::error::Result;

/// Whether there are typed loops for an aggregate.
pub fn is_typed(function: &AggregateFunction) -> bool {
    match function {
        AggregateFunction::Count
        | AggregateFunction::SumFloat
        | AggregateFunction::SumInt { .. }
        | AggregateFunction::SumDecimal { .. }
        | AggregateFunction::AvgFloat
        | AggregateFunction::AvgDecimal { .. } => true,
        other => extreme(other).is_some(),
    }
}

/// Whether an aggregate is the greatest or the least value of a primitive type, and that type.
pub fn extreme(function: &AggregateFunction) -> Option<(bool, DataType)> {
    match function {
        AggregateFunction::Extreme { max, data_type } => {
            is_ordered(data_type).then(|| (*max, data_type.clone()))
        }
        AggregateFunction::General(f) => {
            let data_type = f.field().data_type().clone();
            let name = f.fun().name();
            (matches!(name, "min" | "max") && is_ordered(&data_type)).then_some((name == "max", data_type))
        }
        _ => None,
    }
}

/// Calls a macro with the types whose values are in order as they are.
macro_rules! ordered_types {
    ($data_type:expr, $each:ident, $otherwise:expr) => {
        match $data_type {
            ::arrow_schema::DataType::Int8 => $each!(::arrow_array::types::Int8Type),
            ::arrow_schema::DataType::Int16 => $each!(::arrow_array::types::Int16Type),
            ::arrow_schema::DataType::Int32 => $each!(::arrow_array::types::Int32Type),
            ::arrow_schema::DataType::Int64 => $each!(::arrow_array::types::Int64Type),
            ::arrow_schema::DataType::UInt8 => $each!(::arrow_array::types::UInt8Type),
            ::arrow_schema::DataType::UInt16 => $each!(::arrow_array::types::UInt16Type),
            ::arrow_schema::DataType::UInt32 => $each!(::arrow_array::types::UInt32Type),
            ::arrow_schema::DataType::UInt64 => $each!(::arrow_array::types::UInt64Type),
            ::arrow_schema::DataType::Float32 => $each!(::arrow_array::types::Float32Type),
            ::arrow_schema::DataType::Float64 => $each!(::arrow_array::types::Float64Type),
            ::arrow_schema::DataType::Date32 => $each!(::arrow_array::types::Date32Type),
            ::arrow_schema::DataType::Date64 => $each!(::arrow_array::types::Date64Type),
            ::arrow_schema::DataType::Decimal128(..) => $each!(::arrow_array::types::Decimal128Type),
            ::arrow_schema::DataType::Time32(::arrow_schema::TimeUnit::Second) => {
                $each!(::arrow_array::types::Time32SecondType)
            }
            ::arrow_schema::DataType::Time32(::arrow_schema::TimeUnit::Millisecond) => {
                $each!(::arrow_array::types::Time32MillisecondType)
            }
            ::arrow_schema::DataType::Time64(::arrow_schema::TimeUnit::Microsecond) => {
                $each!(::arrow_array::types::Time64MicrosecondType)
            }
            ::arrow_schema::DataType::Time64(::arrow_schema::TimeUnit::Nanosecond) => {
                $each!(::arrow_array::types::Time64NanosecondType)
            }
            ::arrow_schema::DataType::Timestamp(::arrow_schema::TimeUnit::Second, _) => {
                $each!(::arrow_array::types::TimestampSecondType)
            }
            ::arrow_schema::DataType::Timestamp(::arrow_schema::TimeUnit::Millisecond, _) => {
                $each!(::arrow_array::types::TimestampMillisecondType)
            }
            ::arrow_schema::DataType::Timestamp(::arrow_schema::TimeUnit::Microsecond, _) => {
                $each!(::arrow_array::types::TimestampMicrosecondType)
            }
            ::arrow_schema::DataType::Timestamp(::arrow_schema::TimeUnit::Nanosecond, _) => {
                $each!(::arrow_array::types::TimestampNanosecondType)
            }
            _ => $otherwise,
        }
    };
}
pub(super) use ordered_types;

fn is_ordered(data_type: &DataType) -> bool {
    macro_rules! yes {
        ($t:ty) => {
            true
        };
    }
    ordered_types!(data_type, yes, false)
}

/// The running evaluator of a typed aggregate. `data_type` is that of its result.
///
/// # Panics
/// It is not typed ([`is_typed`]).
pub fn running(
    function: &AggregateFunction,
    spec: &Spec,
    inputs: Inputs,
    data_type: &DataType,
) -> Box<dyn Evaluator> {
    let by_row = spec.frame.units == Units::Rows;
    fn made<A: Accumulate + 'static>(
        state: A,
        by_row: bool,
        keys: usize,
        inputs: Inputs,
        data_type: &DataType,
    ) -> Box<dyn Evaluator> {
        let data_type = data_type.clone();
        Box::new(Running { state, by_row, keys, inputs, data_type, mask: None, added: 0 })
    }
    let keys = spec.keys;
    match function {
        AggregateFunction::SumFloat => made(SumFloat::default(), by_row, keys, inputs, data_type),
        AggregateFunction::AvgFloat => made(AvgFloat::default(), by_row, keys, inputs, data_type),
        AggregateFunction::SumInt { unsigned: false } => {
            made(SumInteger::<Int64Type>::default(), by_row, keys, inputs, data_type)
        }
        AggregateFunction::SumInt { unsigned: true } => {
            made(SumInteger::<UInt64Type>::default(), by_row, keys, inputs, data_type)
        }
        AggregateFunction::SumDecimal { precision, .. } => {
            made(SumDecimal::new(*precision), by_row, keys, inputs, data_type)
        }
        AggregateFunction::AvgDecimal { scale } => {
            made(AvgDecimal::new(*scale), by_row, keys, inputs, data_type)
        }
        other => {
            let (max, of) = extreme(other).expect("the aggregate is typed");
            macro_rules! extreme_of {
                ($t:ty) => {
                    made(Extreme::<$t>::new(max), by_row, keys, inputs, data_type)
                };
            }
            ordered_types!(of, extreme_of, unreachable!("the type is ordered"))
        }
    }
}

struct Running<A> {
    state: A,
    /// Whether peers are added one by one.
    by_row: bool,
    keys: usize,
    inputs: Inputs,
    data_type: DataType,
    /// The rows that are added.
    mask: Option<BooleanBuffer>,
    /// The rows ahead that were added, peers of the last one that was given.
    added: usize,
}

/// The results of rows.
pub struct Results<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType> Results<T> {
    /// Of so many rows.
    pub fn new(rows: usize) -> Self {
        Results { values: Vec::with_capacity(rows), nulls: NullBufferBuilder::new(rows) }
    }

    /// Adds the result of a row.
    pub fn push(&mut self, value: Option<T::Native>) {
        self.values.push(value.unwrap_or_default());
        self.nulls.append(value.is_some());
    }

    fn push_n(&mut self, value: Option<T::Native>, count: usize) {
        self.values.resize(self.values.len() + count, value.unwrap_or_default());
        if value.is_some() { self.nulls.append_n_non_nulls(count) } else { self.nulls.append_n_nulls(count) }
    }

    /// A column of this type, or of one that is cast to it.
    pub fn finish(mut self, data_type: &DataType) -> ArrayRef {
        let array = PrimitiveArray::<T>::new(self.values.into(), self.nulls.finish());
        match PrimitiveArray::<T>::is_compatible(data_type) {
            true => Arc::new(array.with_data_type(data_type.clone())),
            false => Arc::new(array),
        }
    }
}

impl<A: Accumulate> Running<A> {
    fn add(&mut self, values: &[<A::In as ArrowPrimitiveType>::Native], rows: Range<usize>) -> Result<()> {
        match &self.mask {
            None => values[rows].iter().try_for_each(|value| self.state.add(*value)),
            Some(mask) => {
                for row in rows {
                    if mask.value(row) {
                        self.state.add(values[row])?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl<A: Accumulate> Evaluator for Running<A> {
    fn prepare(&mut self, block: &Block) -> Result<()> {
        self.mask = block.mask(&self.inputs);
        Ok(())
    }

    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let values = block.inputs[self.inputs.args[0]].as_primitive::<A::In>().values().clone();
        let mut results = Results::<A::Out>::new(rows.len());
        for (_, rows) in block.segments(rows) {
            if block.begins(rows.start) {
                self.state.clear();
                self.added = 0;
            }
            if self.by_row {
                for row in rows {
                    self.add(&values, row..row + 1)?;
                    results.push(self.state.result()?);
                }
                continue;
            }
            let peers = &block.peers[self.keys];
            let mut next = peers.partition_point(|start| *start as usize <= rows.start);
            let mut row = rows.start;
            while row < rows.end {
                if self.added == 0 {
                    let end = peers.get(next).map_or(block.rows, |start| *start as usize);
                    next += 1;
                    self.add(&values, row..end)?;
                    self.added = end - row;
                } else if peers.get(next).is_some_and(|start| *start as usize == row + self.added) {
                    // The peers before were added in an earlier call.
                    next += 1;
                }
                let count = self.added.min(rows.end - row);
                results.push_n(self.state.result()?, count);
                self.added -= count;
                row += count;
            }
        }
        Ok(results.finish(&self.data_type))
    }

    fn release(&mut self) {
        self.mask = None;
    }
}
