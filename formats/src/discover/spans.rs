//! Finds the least and the greatest value of a table's columns, by the footers of a few of its files. They are only
//! good for estimates: the other files may have values outside.

use schema::{Source, Table};

use crate::columns::bounds::{Value, Zone};
use crate::error::Result;
use crate::registry::format;

/// The number of files that are looked at. They are spread evenly over the table.
const FILES: usize = 4;

/// Fills in [`Table::spans`].
pub fn add_spans(table: &mut Table) -> Result<()> {
    let Source::Files(set) = &table.source else { return Ok(()) };
    let format = format(&set.format.encoding)?;
    let usual: Vec<_> = set.files.iter().filter(|f| f.layout.is_none() && f.bytes > 0).collect();
    let looked_at = FILES.min(usual.len());
    let mut spans: Vec<Option<(f64, f64)>> = Vec::new();
    for i in 0..looked_at {
        let zones = format.zones(usual[i * usual.len() / looked_at])?;
        spans.resize(spans.len().max(zones.len()), None);
        for (span, zone) in spans.iter_mut().zip(zones) {
            if let Some((from, to)) = ends(&zone) {
                *span = Some(span.map_or((from, to), |(min, max)| (min.min(from), max.max(to))));
            }
        }
    }
    table.spans = spans;
    Ok(())
}

/// The least and the greatest value of a zone of numbers.
fn ends(zone: &Zone) -> Option<(f64, f64)> {
    let number = |value: &Option<Value>| match value {
        Some(Value::Int(v)) => Some(*v as f64),
        Some(Value::Float(v)) => Some(*v),
        _ => None,
    };
    Some((number(&zone.min)?, number(&zone.max)?))
}
