//! Rows chosen by the bounds of a scan, on encoded values, before the other columns are decoded. This is
//! late materialisation (Abadi, Myers, DeWitt, Madden, Materialization strategies in a column-oriented DBMS, ICDE 2007).
//!
//! A block of packed integers whose head says that all of its values lie within a bound, or none, is not unpacked. A
//! dictionary is compared entry by entry and a run once. Codes of symbols are compared up to the first that differs,
//! and letters only in values of the right length. What is chosen is what the bounds let through; the filter itself
//! stands above the scan.

use arrow_schema::DataType;
use schema::instants::same_instants;

use super::decode::{Column, Values};
use super::floats::{Float, Floats};
use super::footer::Footer;
use super::integers::decode::Integers;
use super::integers::select::{Within, mark};
use super::word::Word;
use crate::columns::adapt::find;
use crate::columns::bounds::{Value, Wanted};
use crate::error::Result;
use crate::format::ScanOptions;

/// Rows are chosen if they are at most one of so many; if there are more, whole batches are decoded.
const FEW: usize = 4;
/// Batches of which too many rows are wanted, less those of which few are, after which no more are looked at.
const PATIENCE: i32 = 4;

/// The bounds of a scan on columns that it reads.
pub struct Selection {
    /// The place of a column among those that are read, and its bounds.
    bounds: Vec<(usize, Wanted)>,
    /// Batches in which looking did not pay, less those in which it did.
    disappointments: i32,
}

impl Selection {
    /// The bounds on columns of this file, of which those at the places `read` are read.
    pub fn new(footer: &Footer, scan: &ScanOptions, read: &[usize]) -> Selection {
        let bounds = Wanted::of(scan).into_iter().filter_map(|wanted| {
            let column = find(&footer.schema, &scan.schema, wanted.column)?;
            let same = same_instants(footer.schema.field(column).data_type(), &wanted.data_type);
            let place = read.binary_search(&column).ok()?;
            same.then_some((place, wanted))
        });
        Selection { bounds: bounds.collect(), disappointments: 0 }
    }

    /// The rows from `from` on that may be wanted, counted from there; `None` if they are too many to choose.
    pub fn choose(&mut self, columns: &[Column], from: usize, rows: usize) -> Result<Option<Vec<u32>>> {
        if self.bounds.is_empty() || self.disappointments > PATIENCE {
            return Ok(None);
        }
        let mut mask = vec![true; rows];
        for (place, wanted) in &self.bounds {
            let column = &columns[*place];
            narrow(column, wanted, from, &mut mask)?;
            if let Some(nulls) = column.nulls() {
                mask.iter_mut().enumerate().for_each(|(row, wanted)| *wanted &= nulls.is_valid(from + row));
            }
        }
        let count = mask.iter().filter(|wanted| **wanted).count();
        let pays = count * FEW <= rows;
        self.disappointments = (self.disappointments + if pays { -1 } else { 1 }).max(-PATIENCE);
        if !pays {
            return Ok(None);
        }
        let mut chosen = Vec::with_capacity(count);
        chosen.extend(mask.iter().zip(0..).filter(|(wanted, _)| **wanted).map(|(_, row)| row));
        Ok(Some(chosen))
    }
}

/// Takes the mark from rows whose values lie outside of a bound.
fn narrow(column: &Column, wanted: &Wanted, from: usize, mask: &mut [bool]) -> Result<()> {
    match column.values() {
        Values::None => {
            mask.fill(false);
            Ok(())
        }
        Values::One(values) => integers(values, wanted, from, mask),
        Values::Two(values) if wanted.data_type != DataType::Float16 => integers(values, wanted, from, mask),
        Values::Four(values) => integers(values, wanted, from, mask),
        Values::Eight(values) | Values::Narrow(values) => integers(values, wanted, from, mask),
        Values::Single(values) => floats(values, wanted, from, mask),
        Values::Double(values) => floats(values, wanted, from, mask),
        Values::Texts(texts) => {
            let bytes = |value: &Option<Value>| match value {
                Some(Value::Bytes(bytes)) => Some(bytes.clone()),
                _ => None,
            };
            texts.mark(from, bytes(&wanted.min).as_deref(), bytes(&wanted.max).as_deref(), mask)
        }
        _ => Ok(()),
    }
}

fn integers<W: Word>(values: &Integers<W>, wanted: &Wanted, from: usize, mask: &mut [bool]) -> Result<()> {
    let unsigned =
        matches!(wanted.data_type, DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64);
    let (least, most) = match unsigned {
        true => (0, i128::from(u64::MAX >> (64 - W::BITS))),
        false => (i128::from(i64::MIN >> (64 - W::BITS)), i128::from(i64::MAX >> (64 - W::BITS))),
    };
    let limit = |value: &Option<Value>, open: i128| match value {
        Some(Value::Int(value)) => *value,
        _ => open,
    };
    let low = limit(&wanted.min, least).max(least);
    let high = limit(&wanted.max, most).min(most);
    if low > high {
        mask.fill(false);
        return Ok(());
    }
    // The low bits of both ends: order is kept, since distances are taken without signs.
    mark(values, Within { low: W::narrow(low as u64), span: W::narrow((high - low) as u64) }, from, mask)
}

fn floats<F: Float>(values: &Floats<F>, wanted: &Wanted, from: usize, mask: &mut [bool]) -> Result<()> {
    let limit = |value: &Option<Value>, open: f64| match value {
        Some(Value::Float(value)) => *value,
        _ => open,
    };
    let (low, high) = (limit(&wanted.min, f64::NEG_INFINITY), limit(&wanted.max, f64::INFINITY));
    let mut all = vec![F::narrow(0); mask.len()];
    values.read(from, &mut all)?;
    for (wanted, value) in mask.iter_mut().zip(all) {
        let value = value.float();
        // A NaN is neither, and stays: what it means is the filter's business.
        *wanted &= !(value < low || value > high);
    }
    Ok(())
}
