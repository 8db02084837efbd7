//! Guesses from the footers of a few files. The other files may have values outside of what these have.

use arrow_schema::Field;
use schema::instants::same_instants;
use schema::{ColumnEstimate, FileEntry, FileSet, Table, TableEstimates};

use super::columns_in;
use crate::columns::bounds::{Value, Zone};
use crate::columns::facts::{ColumnFacts, RowsPart, values_of};
use crate::error::Result;
use crate::format::Format;
use crate::parallel;

/// The least and the greatest value of a column, where both are known.
type Span = Option<(f64, f64)>;

/// The spans of the columns, and guesses.
pub fn of(
    format: &dyn Format,
    table: &Table,
    set: &FileSet,
    files: &[&FileEntry],
) -> Result<(Vec<Span>, TableEstimates)> {
    let facts = parallel::each(files.len(), |i| format.facts(files[i]))?;
    let mut spans: Vec<Span> = vec![None; set.file_columns];
    let mut parts: Vec<Vec<RowsPart>> = vec![vec![]; set.file_columns];
    for (file, facts) in files.iter().zip(facts) {
        for (column, position) in columns_in(table, set, file) {
            let Some(facts) = of_column(&facts, position, table.schema.field(column)) else { continue };
            if let Some((from, to)) = ends(&facts.zone) {
                let all = &mut spans[column];
                *all = Some(all.map_or((from, to), |(least, most)| (from.min(least), to.max(most))));
            }
            if let Some((values, rows)) = facts.values.zip(file.rows) {
                parts[column].push(RowsPart { rows: rows as f64, values, zone: facts.zone.clone() });
            }
        }
    }
    let guess = |parts: &Vec<RowsPart>| {
        let rows = table.rows? as f64;
        let values = values_of(parts, rows)?;
        let seen: f64 = parts.iter().map(|part| part.rows).sum();
        // Rows of which most repeat a value have shown nearly all of them.
        let is_counted = (parts.len() == 1 && seen >= rows) || values * 2.0 <= seen;
        Some(ColumnEstimate { values: Some(values.round() as u64), is_counted, span: None })
    };
    let columns: Vec<ColumnEstimate> = parts.iter().map(|parts| guess(parts).unwrap_or_default()).collect();
    let is_known = columns.iter().any(|column| column.values.is_some());
    let columns = if is_known { columns } else { vec![] };
    let spans = if spans.iter().any(Option::is_some) { spans } else { vec![] };
    Ok((spans, TableEstimates { rows: None, columns }))
}

/// What a footer says of a column of a table, which mostly has this position in the file. Nothing if it is read as another
/// type: its values have another unit then.
fn of_column<'a>(facts: &'a [ColumnFacts], position: usize, field: &Field) -> Option<&'a ColumnFacts> {
    let has_name = |facts: &&ColumnFacts| facts.field.name() == field.name();
    let found = facts.get(position).filter(has_name).or_else(|| facts.iter().find(has_name))?;
    same_instants(found.field.data_type(), field.data_type()).then_some(found)
}

/// The least and the greatest value of a zone of numbers.
fn ends(zone: &Zone) -> Span {
    let number = |value: &Option<Value>| match value {
        Some(Value::Int(v)) => Some(*v as f64),
        Some(Value::Float(v)) => Some(*v),
        _ => None,
    };
    Some((number(&zone.min)?, number(&zone.max)?))
}
