//! What [`queries`](../queries/index.html) calls on the values of columns: functions, and compiled expressions where
//! DataFusion's would give a wrong value. They are a package of their own because planning is compiled for a quick
//! build, and these are compiled for a quick run.
//!
//! - [`functions`]: functions that SQL can call.
//! - [`exact`], [`text`] and [`print_text`]: casts between decimals and floats, of text, and to text.
//! - [`accumulators`]: what computes aggregates.
//! - [`checked`]: expressions of which none wraps in silence. They have the [`overflow_checks`] that the kernels lack, and know
//!   how floats and intervals [`compare`]. They have the [`date_shift`] by intervals, the [`differences`] of
//!   timestamps, and AND and OR in order ([`short_circuit`]).
//! - [`between`]: BETWEEN of what is computed once.
//! - [`conjunction`]: AND in WHERE, each term on the rows that those before it leave.
//! - [`first_known`]: `coalesce`, of which each argument is computed once, where it is asked for.
//! - [`like`]: LIKE with several texts in the pattern.
//! - [`values`]: the loops over values.

pub mod accumulators;
pub mod between;
pub mod checked;
pub mod compare;
pub mod conjunction;
pub mod date_shift;
pub mod differences;
pub mod exact;
pub mod first_known;
pub mod functions;
pub mod like;
pub mod overflow_checks;
pub mod print_text;
pub mod short_circuit;
pub mod text;
pub mod values;

use std::sync::Arc;

use datafusion_physical_expr::PhysicalExpr;

/// An expression compiled for columns at fixed positions.
pub type Expr = Arc<dyn PhysicalExpr>;
