//! `sum`, of NULL too: of a column of which nothing but NULL is known it is an integer, and NULL.
//!
//! A sum of a column plus a constant is computed as it stands. DataFusion would make it the sum of the column plus the
//! constant times a count, in the constant's type. `sum(price + 1.5)` of ten rows had more digits than `1.5`.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use datafusion_common::Result;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::AggregateOrderSensitivity;
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF};

use super::of_general;

/// `sum`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum {
    general: Arc<AggregateUDF>,
}

/// The aggregate.
pub fn sum() -> Arc<AggregateUDF> {
    let general = datafusion_functions_aggregate::sum::sum_udaf();
    Arc::new(AggregateUDF::new_from_impl(Sum { general }))
}

impl AggregateUDFImpl for Sum {
    of_general!();

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            // The argument is made an integer before anything runs.
            [DataType::Null] => Ok(DataType::Int64),
            types => self.general.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.general.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.general.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.general.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        self.general.create_groups_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.general.order_sensitivity()
    }
}
