//! What typed loops add up: sums, averages and extremes of values that are one after the other.

use std::marker::PhantomData;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Decimal128Type, Float64Type};
use queries::accumulators::extreme::Order;
use queries::decimals::average;

use crate::error::{Error, Result};

/// A state to which values are added.
pub trait Accumulate {
    /// The type of the values.
    type In: ArrowPrimitiveType;
    /// The type of the result.
    type Out: ArrowPrimitiveType;

    /// Forgets all values.
    fn clear(&mut self);

    /// Adds a value.
    ///
    /// # Errors
    /// The sum leaves 128 bits.
    fn add(&mut self, value: <Self::In as ArrowPrimitiveType>::Native) -> Result<()>;

    /// The result; `None` of no values.
    ///
    /// # Errors
    /// It does not fit its type.
    fn result(&self) -> Result<Option<<Self::Out as ArrowPrimitiveType>::Native>>;
}

/// A state from which values can be taken away again, exactly.
pub trait Retract: Accumulate {
    /// Takes away a value that was added.
    ///
    /// # Errors
    /// The sum leaves 128 bits.
    fn retract(&mut self, value: <Self::In as ArrowPrimitiveType>::Native) -> Result<()>;
}

fn overflow() -> Error {
    Error::Compute(
        "overflow: SUM does not fit its type\n  help: SUM(CAST(… AS DECIMAL(38, 0))) or SUM(CAST(… AS DOUBLE))".into(),
    )
}

/// An exact sum.
#[derive(Default)]
struct Exact {
    sum: i128,
    count: u64,
}

impl Exact {
    fn add(&mut self, value: i128) -> Result<()> {
        self.sum = self.sum.checked_add(value).ok_or_else(overflow)?;
        self.count += 1;
        Ok(())
    }

    fn retract(&mut self, value: i128) -> Result<()> {
        self.sum = self.sum.checked_sub(value).ok_or_else(overflow)?;
        self.count -= 1;
        Ok(())
    }
}

/// `SUM` of integers.
pub struct SumInteger<T>(Exact, PhantomData<T>);

impl<T> Default for SumInteger<T> {
    fn default() -> Self {
        SumInteger(Exact::default(), PhantomData)
    }
}

impl<T: ArrowPrimitiveType> Accumulate for SumInteger<T>
where
    i128: From<T::Native>,
    T::Native: TryFrom<i128>,
{
    type In = T;
    type Out = T;

    fn clear(&mut self) {
        self.0 = Exact::default();
    }

    fn add(&mut self, value: T::Native) -> Result<()> {
        self.0.add(value.into())
    }

    fn result(&self) -> Result<Option<T::Native>> {
        if self.0.count == 0 {
            return Ok(None);
        }
        T::Native::try_from(self.0.sum).map(Some).map_err(|_| overflow())
    }
}

impl<T: ArrowPrimitiveType> Retract for SumInteger<T>
where
    i128: From<T::Native>,
    T::Native: TryFrom<i128>,
{
    fn retract(&mut self, value: T::Native) -> Result<()> {
        self.0.retract(value.into())
    }
}

/// `SUM` of decimals of so many digits.
pub struct SumDecimal {
    sum: Exact,
    limit: i128,
}

impl SumDecimal {
    /// A sum of `precision` digits.
    pub fn new(precision: u8) -> SumDecimal {
        SumDecimal {
            sum: Exact::default(),
            limit: 10_i128.checked_pow(precision.into()).unwrap_or(i128::MAX),
        }
    }
}

impl Accumulate for SumDecimal {
    type In = Decimal128Type;
    type Out = Decimal128Type;

    fn clear(&mut self) {
        self.sum = Exact::default();
    }

    fn add(&mut self, value: i128) -> Result<()> {
        self.sum.add(value)
    }

    fn result(&self) -> Result<Option<i128>> {
        match self.sum {
            Exact { count: 0, .. } => Ok(None),
            Exact { sum, .. } if sum.unsigned_abs() >= self.limit.unsigned_abs() => Err(overflow()),
            Exact { sum, .. } => Ok(Some(sum)),
        }
    }
}

impl Retract for SumDecimal {
    fn retract(&mut self, value: i128) -> Result<()> {
        self.sum.retract(value)
    }
}

/// `AVG` of decimals with so many digits behind the point.
pub struct AvgDecimal {
    sum: Exact,
    scale: i8,
}

impl AvgDecimal {
    /// Of decimals with `scale` digits behind the point.
    pub fn new(scale: i8) -> AvgDecimal {
        AvgDecimal { sum: Exact::default(), scale }
    }
}

impl Accumulate for AvgDecimal {
    type In = Decimal128Type;
    type Out = Float64Type;

    fn clear(&mut self) {
        self.sum = Exact::default();
    }

    fn add(&mut self, value: i128) -> Result<()> {
        self.sum.add(value)
    }

    fn result(&self) -> Result<Option<f64>> {
        let Exact { sum, count } = self.sum;
        Ok((count > 0).then(|| average(sum, self.scale, count)))
    }
}

impl Retract for AvgDecimal {
    fn retract(&mut self, value: i128) -> Result<()> {
        self.sum.retract(value)
    }
}

/// `SUM` of floats.
#[derive(Default)]
pub struct SumFloat {
    sum: f64,
    count: u64,
}

impl Accumulate for SumFloat {
    type In = Float64Type;
    type Out = Float64Type;

    fn clear(&mut self) {
        *self = SumFloat::default();
    }

    fn add(&mut self, value: f64) -> Result<()> {
        self.sum += value;
        self.count += 1;
        Ok(())
    }

    fn result(&self) -> Result<Option<f64>> {
        Ok((self.count > 0).then_some(self.sum))
    }
}

/// `AVG` of floats.
#[derive(Default)]
pub struct AvgFloat(SumFloat);

impl Accumulate for AvgFloat {
    type In = Float64Type;
    type Out = Float64Type;

    fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, value: f64) -> Result<()> {
        self.0.add(value)
    }

    fn result(&self) -> Result<Option<f64>> {
        Ok((self.0.count > 0).then(|| self.0.sum / self.0.count as f64))
    }
}

/// `MIN` or `MAX`.
pub struct Extreme<T: ArrowPrimitiveType> {
    max: bool,
    best: Option<T::Native>,
}

impl<T: ArrowPrimitiveType> Extreme<T> {
    /// The least value, or the greatest.
    pub fn new(max: bool) -> Extreme<T> {
        Extreme { max, best: None }
    }
}

impl<T: ArrowPrimitiveType<Native: Order>> Accumulate for Extreme<T> {
    type In = T;
    type Out = T;

    fn clear(&mut self) {
        self.best = None;
    }

    fn add(&mut self, value: T::Native) -> Result<()> {
        let is_better = |best: T::Native| if self.max { best.before(value) } else { value.before(best) };
        if self.best.is_none_or(is_better) {
            self.best = Some(value);
        }
        Ok(())
    }

    fn result(&self) -> Result<Option<T::Native>> {
        Ok(self.best)
    }
}
