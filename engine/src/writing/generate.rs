//! Writes the benchmark's tables to files.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;

use schema::bdb::Spec;
use schema::bdb::parts::Division;

use crate::context::query::QueryState;
use crate::dataflow::batch::BATCH_ROWS;
use crate::error::Result;
use crate::writing::dataset::{Destination, Output, Rows, WriteOptions, Written};
use crate::writing::ordered_pipeline::Step;

/// The bytes of a lane's rows as text, about.
const LANE_BYTES: u64 = 4 << 20;

/// The bytes of a batch as text, about, for a table whose units have an unknown number of rows.
const BATCH_BYTES: u64 = 1 << 20;

/// A range of rows of one part file.
pub(crate) struct Lane {
    /// The number of the file among the wanted files.
    part: usize,
    /// Units of the table, in order.
    ranges: VecDeque<Range<u64>>,
}

/// Writes a table of the benchmark into `directory`, as `parts` files and a manifest. `state` counts the rows, and
/// their bytes as text, as they are made.
pub fn generate(
    spec: &Spec,
    parts: usize,
    directory: &Path,
    options: &WriteOptions,
    state: &QueryState,
) -> Result<Written> {
    let mut output = open(spec, &Destination::Dataset(directory.to_path_buf()), options)?;
    let parts = output.write(rows(spec, parts, 0..parts.max(1), state), state)?;
    output.finish(parts, state)
}

/// Opens a destination for the rows of a table.
pub(crate) fn open(spec: &Spec, destination: &Destination, options: &WriteOptions) -> Result<Output> {
    spec.check().map_err(formats::Error::Unsupported)?;
    Output::open(Some(spec.table.name().to_string()), spec.schema(), destination, options)
}

/// The rows of some of the `parts` files of a table, as lanes in their order.
pub(crate) fn rows<'a>(
    spec: &Spec,
    parts: usize,
    wanted: Range<usize>,
    state: &'a QueryState,
) -> Rows<'a, Lane> {
    let generator = spec.generator();
    let deal = Division::new(spec.units(), parts.max(1) as u64);
    let unit_bytes = spec.unit_bytes().max(1);
    let lane_units = (LANE_BYTES / unit_bytes).max(1);
    let batch_units = match spec.rows() {
        Some(_) => BATCH_ROWS as u64,
        None => (BATCH_BYTES / unit_bytes).max(1),
    };
    let columns: Vec<usize> = (0..spec.schema().fields().len()).collect();
    let Range { start: first, end } = wanted;
    let (mut part, mut at) = (first as u64, 0);
    Rows {
        files: end - first,
        deal: Box::new(move || {
            while part < end as u64 && at >= deal.part_units(part) {
                (part, at) = (part + 1, 0);
            }
            if part == end as u64 {
                return Ok(None);
            }
            let ranges = deal.ranges(part, at..at + lane_units).into();
            at += lane_units;
            Ok(Some(Lane { part: part as usize - first, ranges }))
        }),
        read: Box::new(move |lane: &mut Lane| {
            let Some(front) = lane.ranges.front_mut() else { return Ok(Step::Done) };
            let end = front.end.min(front.start + batch_units);
            let units = front.start..end;
            front.start = end;
            if front.is_empty() {
                lane.ranges.pop_front();
            }
            let made = generator.batch(units.clone(), &columns);
            state.rows_read.fetch_add(made.num_rows() as u64, Ordering::Relaxed);
            state.bytes_read.fetch_add((units.end - units.start) * unit_bytes, Ordering::Relaxed);
            Ok(Step::Item((lane.part, made)))
        }),
    }
}
