//! Rows chosen by the scan's bounds before the other columns are decoded (late materialisation: Abadi, Myers, DeWitt,
//! Madden, Materialization strategies in a column-oriented DBMS, 2007). It pays where few rows are wanted; where most
//! are, decoding everything and filtering later costs less.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, Scalar};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, DataType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};
use schema::ColumnBound;

use super::footer::Footer;
use super::prune::zone;
use crate::columns::adapt::find;
use crate::columns::bounds::{Wanted, share};
use crate::format::ScanOptions;

/// Rows are chosen first if the statistics say that at most this part of them is wanted. With scattered rows, query 3A
/// of the benchmark (0.6 %) takes 13 % fewer CPU seconds so, 3B (7 %) takes as many as without.
const FEW: f64 = 0.02;

/// The filter of a run of row groups; `None` if it would not pay.
pub fn filter(footer: &Footer, groups: &Range<usize>, scan: &ScanOptions) -> Option<RowFilter> {
    let wanted = Wanted::of(scan);
    // Bounds by the file's columns, of those whose order is that of numbers.
    let mut chosen: Vec<(usize, ColumnBound)> = Vec::new();
    let mut least = 1.0_f64;
    for bound in &scan.bounds {
        let Some(column) = find(footer.schema(), &scan.schema, bound.column) else { continue };
        let data_type = scan.schema.field(bound.column).data_type();
        let shares = groups.clone().map(|group| {
            let zone = zone(footer, group, column, data_type)?;
            share(&wanted, bound.column, &zone)
        });
        let Some(shares) = shares.collect::<Option<Vec<f64>>>() else { continue };
        least = least.min(shares.iter().sum::<f64>() / shares.len().max(1) as f64);
        let Some(bound) = labelled(bound, footer.schema().field(column).data_type()) else { continue };
        chosen.push((column, bound));
    }
    if least > FEW {
        return None;
    }
    let mut columns: Vec<usize> = chosen.iter().map(|(column, _)| *column).collect();
    columns.sort_unstable();
    columns.dedup();
    let mask = ProjectionMask::roots(footer.arrow().parquet_schema(), columns.iter().copied());
    let place = |column: usize| columns.binary_search(&column).expect("all columns were collected");
    let bounds: Vec<(usize, ColumnBound)> =
        chosen.into_iter().map(|(column, bound)| (place(column), bound)).collect();
    let predicate = ArrowPredicateFn::new(mask, move |batch| within(&bounds, &batch));
    Some(RowFilter::new(vec![Box::new(predicate)]))
}

/// A bound in the type in which the file's column is decoded, of which the scan's differs in the time zone at most.
fn labelled(bound: &ColumnBound, decoded: &DataType) -> Option<ColumnBound> {
    let labelled = |value: &Option<ArrayRef>| match value {
        Some(value) => arrow_cast::cast(value, decoded).ok().map(Some),
        None => Some(None),
    };
    Some(ColumnBound { column: bound.column, min: labelled(&bound.min)?, max: labelled(&bound.max)? })
}

/// Which rows lie within all bounds; a NULL does not.
fn within(bounds: &[(usize, ColumnBound)], batch: &RecordBatch) -> Result<BooleanArray, ArrowError> {
    let mut all: Option<BooleanBuffer> = None;
    for (column, bound) in bounds {
        let column = batch.column(*column);
        let least = bound.min.as_ref().map(|min| arrow_ord::cmp::gt_eq(column, &Scalar::new(min)));
        let most = bound.max.as_ref().map(|max| arrow_ord::cmp::lt_eq(column, &Scalar::new(max)));
        for part in [least, most].into_iter().flatten() {
            let part = part?;
            // NULL is false here, so that the bits of validity and of the values can be joined by themselves.
            let bits = match part.nulls() {
                Some(valid) => part.values() & valid.inner(),
                None => part.values().clone(),
            };
            all = Some(match all {
                Some(all) => &all & &bits,
                None => bits,
            });
        }
    }
    Ok(all.unwrap_or_else(|| BooleanBuffer::new_set(batch.num_rows())).into())
}
