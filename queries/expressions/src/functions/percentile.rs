//! `percentile_cont`: the value at a place among the values of a group in their order, between two of them in
//! proportion. Of decimals it is a decimal with as many digits behind the point, and what is behind them is cut. And `mad`,
//! the median of the distances to the median.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type};
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use datafusion_common::utils::SingleRowListArrayBuilder;
use datafusion_common::{Result, ScalarValue, exec_err, plan_err};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Signature, Volatility};

/// `percentile_cont`, or `mad`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Percentile {
    signature: Signature,
    aliases: Vec<String>,
    /// Whether it is the median of the distances to the median.
    of_distances: bool,
}

/// The aggregate.
pub fn percentile_cont() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(Percentile {
        signature: Signature::user_defined(Volatility::Immutable),
        aliases: vec!["quantile_cont".into()],
        of_distances: false,
    }))
}

/// `mad`.
pub fn mad() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(Percentile {
        signature: Signature::user_defined(Volatility::Immutable),
        aliases: vec![],
        of_distances: true,
    }))
}

impl AggregateUDFImpl for Percentile {
    fn name(&self) -> &str {
        if self.of_distances { "mad" } else { "percentile_cont" }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let (value, place) = match types {
            [value] if self.of_distances => (value, &DataType::Float64),
            [value, place] if !self.of_distances => (value, place),
            _ => return plan_err!("percentile_cont() takes a value and a place, mad() a value"),
        };
        if !(place.is_numeric() || place.is_null()) {
            return plan_err!("the place of percentile_cont() is a number between 0 and 1, and no {place}");
        }
        let value = match value {
            kept @ (DataType::Float32 | DataType::Float64 | DataType::Decimal128(..)) => kept.clone(),
            other if other.is_numeric() || other.is_null() => DataType::Float64,
            other => return plan_err!("{}() takes numbers, and no {other}", self.name()),
        };
        Ok(if self.of_distances { vec![value] } else { vec![value, DataType::Float64] })
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(value) => Ok(value.clone()),
            None => plan_err!("percentile_cont() takes a value and a place"),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let values = DataType::new_list(args.return_field.data_type().clone(), true);
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "values"), values, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let place = if self.of_distances { Place::OfDistances } else { Place::At(place(&args)?) };
        let descending = args.order_bys.first().is_some_and(|key| key.options.descending);
        let data_type = args.return_field.data_type().clone();
        let distinct = args.is_distinct;
        Ok(match data_type {
            DataType::Float32 => Box::new(Values::<Float32Type>::new(place, descending, distinct, data_type)),
            DataType::Float64 => Box::new(Values::<Float64Type>::new(place, descending, distinct, data_type)),
            DataType::Decimal128(..) => {
                Box::new(Values::<Decimal128Type>::new(place, descending, distinct, data_type))
            }
            other => return exec_err!("percentile_cont() takes numbers, and no {other}"),
        })
    }

    /// The values are sorted here.
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }
}

/// What is asked of the values.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The value at a part of the way from the first to the last.
    At(f64),
    /// The median of the distances to the median.
    OfDistances,
}

/// The place, a constant.
fn place(args: &AccumulatorArgs) -> Result<f64> {
    let wrong = || plan_err!("the place of percentile_cont() is a constant between 0 and 1");
    let Some(expr) = args.exprs.get(1) else { return wrong() };
    let nothing = RecordBatch::new_empty(Arc::new(Schema::empty()));
    match expr.evaluate(&nothing) {
        Ok(ColumnarValue::Scalar(ScalarValue::Float64(Some(place)))) if (0.0..=1.0).contains(&place) => {
            Ok(place)
        }
        _ => wrong(),
    }
}

/// Numbers that have an order and others between them.
trait Between: ArrowPrimitiveType {
    /// The order, in which NaN is greater than all other numbers.
    fn order(a: &Self::Native, b: &Self::Native) -> std::cmp::Ordering;
    /// The number at a part of the way, which is below 1, from one to the other.
    fn between(low: Self::Native, high: Self::Native, part: f64) -> Self::Native;
    /// How far two numbers are from each other.
    fn distance(a: Self::Native, b: Self::Native) -> Self::Native;
}

fn float_between(low: f64, high: f64, part: f64) -> f64 {
    if part == 0.0 || low == high { low } else { low * (1.0 - part) + high * part }
}

impl Between for Float64Type {
    fn order(a: &f64, b: &f64) -> std::cmp::Ordering {
        crate::values::normal::normal64(*a).total_cmp(&crate::values::normal::normal64(*b))
    }

    fn between(low: f64, high: f64, part: f64) -> f64 {
        float_between(low, high, part)
    }

    fn distance(a: f64, b: f64) -> f64 {
        if a == b { 0.0 } else { (a - b).abs() }
    }
}

impl Between for Float32Type {
    fn order(a: &f32, b: &f32) -> std::cmp::Ordering {
        crate::values::normal::normal32(*a).total_cmp(&crate::values::normal::normal32(*b))
    }

    fn between(low: f32, high: f32, part: f64) -> f32 {
        float_between(low.into(), high.into(), part) as f32
    }

    fn distance(a: f32, b: f32) -> f32 {
        if a == b { 0.0 } else { (a - b).abs() }
    }
}

impl Between for Decimal128Type {
    fn order(a: &i128, b: &i128) -> std::cmp::Ordering {
        a.cmp(b)
    }

    fn between(low: i128, high: i128, part: f64) -> i128 {
        // The difference of two decimals of 38 digits fits 128 bits unless their signs differ; then half of it does.
        let way = match high.checked_sub(low) {
            Some(way) => way as f64 * part,
            None => (high as f64 - low as f64) * part,
        };
        let at = low.saturating_add(way.floor() as i128);
        // Cut toward zero.
        if at < 0 && way.floor() != way { at + 1 } else { at }
    }

    fn distance(a: i128, b: i128) -> i128 {
        a.saturating_sub(b).saturating_abs()
    }
}

/// The values of a group.
#[derive(Debug)]
struct Values<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    place: Place,
    descending: bool,
    distinct: bool,
    data_type: DataType,
}

impl<T: ArrowPrimitiveType> Values<T> {
    fn new(place: Place, descending: bool, distinct: bool, data_type: DataType) -> Values<T> {
        Values { values: Vec::new(), place, descending, distinct, data_type }
    }
}

impl<T: Between> Values<T> {
    /// The value at a place among them, which are in their order.
    fn at(&self, place: f64) -> Option<T::Native> {
        let at = self.values.len().saturating_sub(1) as f64 * place;
        let low = self.values.get(at.floor() as usize).copied();
        let high = self.values.get(at.ceil() as usize).copied();
        low.zip(high).map(|(low, high)| match self.descending {
            // From the lower to the higher one in either order, so that decimals are cut alike.
            true if at.fract() > 0.0 => T::between(high, low, 1.0 - at.fract()),
            _ => T::between(low, high, at.fract()),
        })
    }
}

impl<T: Between + Debug> Accumulator for Values<T> {
    fn update_batch(&mut self, args: &[ArrayRef]) -> Result<()> {
        let Some(values) = args.first() else { return Ok(()) };
        self.values.extend(values.as_primitive::<T>().iter().flatten());
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.values.sort_unstable_by(T::order);
        if self.distinct {
            self.values.dedup_by(|a, b| T::order(a, b).is_eq());
        }
        let value = match self.place {
            Place::At(place) => {
                if self.descending {
                    self.values.reverse();
                }
                self.at(place)
            }
            Place::OfDistances => self.at(0.5).and_then(|median| {
                self.values.iter_mut().for_each(|value| *value = T::distance(*value, median));
                self.values.sort_unstable_by(T::order);
                self.at(0.5)
            }),
        };
        ScalarValue::new_primitive::<T>(value, &self.data_type)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<T::Native>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = PrimitiveArray::<T>::from_iter_values(std::mem::take(&mut self.values));
        let values: ArrayRef = Arc::new(values.with_data_type(self.data_type.clone()));
        Ok(vec![SingleRowListArrayBuilder::new(values).build_list_scalar()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first() else { return Ok(()) };
        for values in lists.as_list::<i32>().iter().flatten() {
            self.update_batch(&[values])?;
        }
        Ok(())
    }
}
