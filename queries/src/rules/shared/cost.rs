//! About how much work a relation is, to compare computing it once with computing it wherever it is read.
//!
//! The unit is a row that a scan gives. What the other operators cost beside it was measured on tables of TPC-H in Parquet
//! (decision 40).

use arrow_schema::DataType;

use crate::algebra::Rel;
use crate::estimates::{self, Estimate, equality};

/// A row that a filter looks at.
const FILTERED: f64 = 0.1;
/// A value that is computed.
const COMPUTED: f64 = 0.1;
/// A row that is put into the table of a join: one of the smaller side.
const BUILT: f64 = 4.0;
/// A row that looks into the table of a join.
const PROBED: f64 = 1.0;
/// A pair of rows that a join without a key compares.
const COMPARED: f64 = 0.1;
/// A row that is added to a group.
const GROUPED: f64 = 2.0;
/// A row that is sorted.
const SORTED: f64 = 3.0;
/// A row that a join or a group makes.
const MADE: f64 = 4.0;
/// A row that is repeated.
const REPEATED: f64 = 0.5;
/// A byte of a row that is kept.
const KEPT: f64 = 0.03;
/// A kept row that is read: its columns are not copied.
const READ: f64 = 0.05;

/// The work of keeping rows of these types, and of reading them so often.
pub fn of_keeping(rows: f64, types: &[DataType], readers: usize) -> f64 {
    rows * (KEPT * estimates::width(types) + READ * readers as f64)
}

/// The work of a relation, and its estimate.
pub fn of(rel: &Rel) -> (f64, Estimate) {
    let (mut work, mut inputs) = (0.0, Vec::new());
    for input in rel.inputs() {
        let (below, estimate) = of(input);
        work += below;
        inputs.push(estimate);
    }
    let estimate = estimates::of(rel, &inputs.iter().collect::<Vec<_>>());
    let read: f64 = inputs.iter().map(|input| input.rows).sum();
    work += match rel {
        Rel::Scan(_) | Rel::Values(_) => estimate.rows,
        Rel::Shared(_) => READ * estimate.rows,
        Rel::Filter(_) => FILTERED * read,
        Rel::Map(node) => COMPUTED * node.exprs.len() as f64 * read,
        Rel::Join(node) => {
            let built = inputs.iter().map(|input| input.rows).fold(f64::INFINITY, f64::min);
            let has_key = node.predicates.iter().any(|e| equality(e).is_some());
            let pairs = if has_key { 0.0 } else { built * (read - built) };
            BUILT * built + PROBED * (read - built) + COMPARED * pairs + MADE * estimate.rows
        }
        Rel::Aggregate(_) => GROUPED * read + MADE * estimate.rows,
        Rel::Sort(_) => SORTED * read,
        Rel::Window(node) => (SORTED + COMPUTED * node.calls.len() as f64) * read,
        Rel::Expand(_) | Rel::Repeat(_) | Rel::Unnest(_) => REPEATED * estimate.rows,
        Rel::Limit(_) | Rel::Union(_) => 0.0,
    };
    (work, estimate)
}
