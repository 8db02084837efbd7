//! Row groups that a scan can't want, by their statistics.
//!
//! Only statistics whose order is beyond doubt are used:
//! - signed integers, dates, timestamps and decimals stored as integers: any;
//! - unsigned integers and bytes: only `min_value` and `max_value` of files that declare the column order, since older
//!   writers compared as signed. Truncated text still bounds, which is all that is asked of it;
//! - floats: never. Statistics leave NaN out, and NaN is greater than every bound.

use arrow_schema::DataType;
use parquet::basic::ColumnOrder;
use parquet::file::statistics::Statistics;
use schema::instants::same_instants;

use super::footer::Footer;
use crate::columns::adapt::find;
use crate::columns::bounds::{Value, Wanted, Zone};
use crate::format::ScanOptions;

/// Whether the statistics of a row group prove that the scan wants no row of it.
pub fn excluded(footer: &Footer, group: usize, scan: &ScanOptions, wanted: &[Wanted]) -> bool {
    wanted.iter().any(|wanted| {
        find(footer.schema(), &scan.schema, wanted.column)
            .and_then(|column| zone(footer, group, column, &wanted.data_type))
            .is_some_and(|zone| wanted.excludes(&zone))
    })
}

/// What the statistics tell for certain of a column that is read as `data_type`.
pub(super) fn zone(footer: &Footer, group: usize, column: usize, data_type: &DataType) -> Option<Zone> {
    if !same_instants(footer.schema().field(column).data_type(), data_type) {
        return None;
    }
    let leaf = footer.leaf(column)?;
    let statistics = footer.parquet().row_group(group).columns().get(leaf)?.statistics()?;
    let ordered = !statistics.is_min_max_deprecated()
        && matches!(footer.parquet().file_metadata().column_order(leaf), ColumnOrder::TYPE_DEFINED_ORDER(_));
    let zone = |min: Option<Value>, max: Option<Value>| Some(Zone { min, max });
    match (data_type, statistics) {
        (DataType::Boolean, Statistics::Boolean(s)) => {
            let int = |v: &bool| Value::Int((*v).into());
            zone(s.min_opt().map(int), s.max_opt().map(int))
        }
        (DataType::UInt8 | DataType::UInt16 | DataType::UInt32, Statistics::Int32(s)) if ordered => {
            let int = |v: &i32| Value::Int((*v as u32).into());
            zone(s.min_opt().map(int), s.max_opt().map(int))
        }
        (DataType::UInt64, Statistics::Int64(s)) if ordered => {
            let int = |v: &i64| Value::Int((*v as u64).into());
            zone(s.min_opt().map(int), s.max_opt().map(int))
        }
        (
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Date32 | DataType::Decimal128(..),
            Statistics::Int32(s),
        ) => {
            let int = |v: &i32| Value::Int((*v).into());
            zone(s.min_opt().map(int), s.max_opt().map(int))
        }
        (DataType::Int64 | DataType::Timestamp(..) | DataType::Decimal128(..), Statistics::Int64(s)) => {
            let int = |v: &i64| Value::Int((*v).into());
            zone(s.min_opt().map(int), s.max_opt().map(int))
        }
        (DataType::Utf8View | DataType::BinaryView, Statistics::ByteArray(s)) if ordered => {
            let bytes = |v: &[u8]| Value::Bytes(v.to_vec());
            zone(s.min_bytes_opt().map(bytes), s.max_bytes_opt().map(bytes))
        }
        _ => None,
    }
}
