//! `regr_r2(y, x)` where all y are one value: 1, as the standard has it, since the line goes through every point, where
//! DataFusion gives NULL. And `regr_count(y, x)` as a `BIGINT`, like other counts, where DataFusion's is unsigned. A
//! result below 0 of what is computed with it would be out of range.

use std::fmt;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl};
use datafusion_functions_aggregate::regr::{regr_count_udaf, regr_r2_udaf};

use super::of_general;

/// The functions.
pub fn all() -> [Arc<AggregateUDF>; 2] {
    [(Of::Count, regr_count_udaf()), (Of::R2, regr_r2_udaf())]
        .map(|(of, general)| Arc::new(AggregateUDF::new_from_impl(Regression { of, general })))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    Count,
    R2,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Regression {
    of: Of,
    general: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Regression {
    of_general!();

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match self.of {
            Of::Count => Ok(DataType::Int64),
            Of::R2 => self.general.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Points { of: self.of, general: self.general.accumulator(args)? }))
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        match self.of {
            Of::Count => Ok(ScalarValue::Int64(Some(0))),
            Of::R2 => self.general.default_value(data_type),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.general.state_fields(args)
    }
}

struct Points {
    of: Of,
    general: Box<dyn Accumulator>,
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.general.fmt(f)
    }
}

impl Accumulator for Points {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.general.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.general.evaluate()?;
        match self.of {
            Of::Count => value.cast_to(&DataType::Int64),
            Of::R2 if value.is_null() && is_level(&self.general.state()?) => Ok(ScalarValue::from(1.0)),
            Of::R2 => Ok(value),
        }
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

/// Whether all y are one value and not all x are, by the state. That has the count, the means of x and y, the sums of
/// squares of x and y, and that of their products.
fn is_level(state: &[ScalarValue]) -> bool {
    let sum = |at: usize| match state.get(at) {
        Some(ScalarValue::Float64(Some(sum))) => *sum,
        _ => f64::NAN,
    };
    sum(3) > 0.0 && sum(4) == 0.0
}
