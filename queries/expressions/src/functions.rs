//! Functions in place of DataFusion's:
//! - [`substring`]: `substr` from any place, prefixes by a kernel of their own.
//! - [`parts`]: parts of dates, times and intervals.
//! - [`truncate`]: dates and times cut to a part.
//! - [`encode`]: base64 with its padding.
//! - [`field`]: fields of structs that are NULL.
//! - [`ifnull`]: `coalesce` of two.
//! - [`nullif`]: of the type of its first argument.
//! - [`regression`]: counts of points, and points on a level line.
//! - [`average`]: `avg` of decimals.
//! - [`decimal_rounding`]: `round`, `trunc`, `ceil` and `floor` of decimals.
//! - [`rounding`]: `round` and `trunc` of floats.
//! - [`percentile`]: `percentile_cont` of any fraction.
//! - [`sum`]: `sum`, of NULL too.
//! - [`own`], [`lists`], [`structs`], [`groups`], [`json`], [`aggregates`], [`attempt`]: those that DataFusion has not.
//!
//! and what is syntax in SQL:
//! - [`quantified`]: ANY and ALL over the items of a list.
//! - [`interval_product`]: intervals times numbers.
//! - [`zone`]: AT TIME ZONE, and the time zone of a session.

pub mod aggregates;
pub mod attempt;
pub mod average;
pub mod decimal_rounding;
pub mod encode;
pub mod field;
pub mod groups;
pub mod ifnull;
pub mod interval_product;
pub mod json;
pub mod lists;
pub mod nullif;
pub mod own;
pub mod parts;
pub mod percentile;
pub mod quantified;
pub mod regression;
pub mod rounding;
pub mod structs;
pub mod substring;
pub mod sum;
pub mod truncate;
pub mod zone;

/// The name, aliases, signature and documentation of a function that stands for `self.general`.
macro_rules! of_general {
    () => {
        fn name(&self) -> &str {
            self.general.name()
        }

        fn aliases(&self) -> &[String] {
            self.general.aliases()
        }

        fn signature(&self) -> &datafusion_expr::Signature {
            self.general.signature()
        }

        fn documentation(&self) -> Option<&datafusion_expr::Documentation> {
            self.general.documentation()
        }
    };
}

/// The type of a scalar function that stands for `self.general`.
macro_rules! type_of_general {
    () => {
        fn return_type(
            &self,
            types: &[arrow_schema::DataType],
        ) -> datafusion_common::Result<arrow_schema::DataType> {
            self.general.return_type(types)
        }

        fn return_field_from_args(
            &self,
            args: datafusion_expr::ReturnFieldArgs,
        ) -> datafusion_common::Result<arrow_schema::FieldRef> {
            self.general.return_field_from_args(args)
        }
    };
}

use {of_general, type_of_general};
