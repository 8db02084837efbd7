//! `regr_r2(y, x)` where all y are one value: 1, as the standard has it, since the line goes through every point.
//! DataFusion gives NULL.

use std::fmt;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl};

use super::of_general;

/// The function.
pub fn regr_r2() -> Arc<AggregateUDF> {
    let general = datafusion_functions_aggregate::regr::regr_r2_udaf();
    Arc::new(AggregateUDF::new_from_impl(RegrR2 { general }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegrR2 {
    general: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for RegrR2 {
    of_general!();

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.general.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(R2 { general: self.general.accumulator(args)? }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.general.state_fields(args)
    }
}

struct R2 {
    general: Box<dyn Accumulator>,
}

impl fmt::Debug for R2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.general.fmt(f)
    }
}

impl Accumulator for R2 {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.general.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.general.evaluate()?;
        // The state is the count, the means of x and y, the sums of squares of x and y, and that of their products.
        let state = self.general.state()?;
        let positive = |v: &ScalarValue| matches!(v, ScalarValue::Float64(Some(sum)) if *sum > 0.0);
        let zero = |v: &ScalarValue| matches!(v, ScalarValue::Float64(Some(sum)) if *sum == 0.0);
        let flat = state.get(3).is_some_and(positive) && state.get(4).is_some_and(zero);
        Ok(if value.is_null() && flat { ScalarValue::from(1.0) } else { value })
    }

    fn size(&self) -> usize {
        self.general.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.general.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.general.merge_batch(states)
    }
}
