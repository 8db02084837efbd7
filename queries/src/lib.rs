//! SQL to physical plan: parse, bind, apply rules, decide. The only package that names the SQL parser.
//!
//! Modules in the order in which a query passes through them:
//! - [`bounds`]: how long, deep and large a statement may be.
//! - [`parse`]: text to statement, and the tables that it names.
//! - [`parameters`]: values in the place of `?`, `$1` and `$name`.
//! - [`views`]: names of queries.
//! - [`binder`]: syntax tree to [`algebra`]; names are resolved, and never looked at again.
//! - [`algebra`]: relations and typed expressions.
//! - [`types`]: typed constructors of expressions.
//! - [`rules`]: a statement as one that gives the same rows with less work.
//! - [`estimates`]: about how many rows a relation gives.
//! - [`compile`]: expressions to compiled ones.
//! - [`physical`]: algebra to physical [`plan`]; every decision is taken here.
//! - [`plan`]: the physical plan, what `engine` renders.
//! - `stages`: the values of scalar subqueries, put into the plan of one run.
//!
//! What goes with it:
//! - [`dialect`]: the SQL that the parser reads.
//! - [`catalog`], [`functions`]: tables and functions.
//! - `names`: what several modules read of syntax trees.
//! - [`error`], [`position`], [`messages`]: what is said of what is wrong, and where it is; `meant`: what a user may have
//!   meant.
//! - `visitors`: passes over syntax trees.
//! - [`summarize`]: SUMMARIZE as a query; [`bdb`]: the queries of the benchmark.
//! - [`explain`]: the plan as text, and its fingerprint.
//! - [`tokens`]: the tokens of a text, for programs that show it while it is typed.

pub mod algebra;
pub mod bdb;
pub mod binder;
pub mod bounds;
pub mod catalog;
pub mod compile;
pub mod dialect;
pub mod error;
pub mod estimates;
pub mod explain;
pub mod functions;
pub mod macros;
mod meant;
pub mod messages;
mod names;
pub mod parameters;
pub mod parse;
pub mod physical;
pub mod plan;
pub mod position;
pub mod rules;
mod stages;
pub mod summarize;
pub mod tokens;
pub mod types;
pub mod views;
mod visitors;

use std::sync::Arc;

pub use catalog::Catalog;
pub use datafusion_common::ScalarValue;
pub use error::{Error, Result};
pub use expressions::accumulators;
pub use expressions::values::{decimals, normal};
pub use macros::Macros;
pub use parse::copy::{CopyOptions, OptionValue};
pub use parse::definitions::{Definition, Existing, Kind};
pub use parse::{Statement, parse, parse_all};
pub use plan::Plan;
pub use views::{View, Views};

/// What planning depends on besides the statement and the catalog.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// The query's time, `now()`, in nanoseconds since 1970 UTC.
    pub now_ns: i64,
    /// Workers over all processes.
    pub workers: usize,
    /// The processes that they are in; each has as many.
    pub processes: usize,
    /// A build side of at most this many bytes is sent to every worker.
    pub broadcast_bytes: u64,
    /// Whether `/` of two integers is the integer that `//` gives, and not a DOUBLE.
    pub integer_division: bool,
    /// The time zone of the session by its name. In it instants have their dates, times and texts.
    pub time_zone: String,
    /// Whether `transform()` may start the user's command.
    pub allow_scripts: bool,
    /// Whether the rows of the result may stay on the workers where they are. They are brought to worker 0 only if they
    /// have an order.
    pub spread_result: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            now_ns: 0,
            workers: 1,
            processes: 1,
            broadcast_bytes: 16 << 20,
            integer_division: false,
            time_zone: schema::instants::UTC.into(),
            allow_scripts: false,
            spread_result: false,
        }
    }
}

/// Plans a query over the tables of the catalog. The same inputs give the same plan in every process.
pub fn plan(query: &parse::Query, catalog: &Catalog, settings: &Settings) -> Result<Arc<Plan>> {
    parameters::check_none(query)?;
    let (statement, names) = binder::bind(query, catalog, settings)?;
    let statement = rules::apply(statement, settings)?;
    Ok(Arc::new(physical::lower(&statement, Some(&names), settings)?))
}
