//! `avg`, which is a DOUBLE of decimals too. Of other types it is DataFusion's.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use datafusion_common::{Result, not_impl_err};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator};

use super::of_general;

/// `avg`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Average {
    general: Arc<AggregateUDF>,
}

/// The aggregate.
pub fn avg() -> Arc<AggregateUDF> {
    let general = datafusion_functions_aggregate::average::avg_udaf();
    Arc::new(AggregateUDF::new_from_impl(Average { general }))
}

impl AggregateUDFImpl for Average {
    of_general!();

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Decimal128(..)] => Ok(DataType::Float64),
            types => self.general.return_type(types),
        }
    }

    /// Of decimals the engine has an accumulator of its own.
    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match args.expr_fields.first().map(|f| f.data_type()) {
            Some(DataType::Decimal128(..)) => not_impl_err!("avg of decimals has an accumulator of its own"),
            _ => self.general.accumulator(args),
        }
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
}
