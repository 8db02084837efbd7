//! Results as bags of rows, compared up to the rounding of floats.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, SchemaRef};
use queries::plan::Scan;
use schema::Table;

use crate::context::query::QueryState;
use crate::dataflow::batch::batch_of;
use crate::error::{Error, Result};
use crate::operators::scan::source::ScanSource;
use crate::state::hash::normalise;

/// Sums of 64-bit floats that were added in another order differ by less than this, as a share of their size.
const WIDE: f64 = 1e-9;
/// And values that were rounded to 32 bits.
const NARROW: f64 = 1e-5;

/// The rows of a result, in an order that does not depend on the one in which they came.
pub struct Answer {
    schema: SchemaRef,
    rows: Vec<Row>,
}

/// The columns that are compared exactly, as bytes, and the floats; of a NULL the bits are [`NULL`].
#[derive(Debug, PartialEq)]
struct Row {
    exact: Box<[u8]>,
    floats: Box<[f64]>,
}

impl Answer {
    /// Reads all rows of a table, as values of these columns' types.
    pub fn read(table: &Arc<Table>, schema: &SchemaRef) -> Result<Answer> {
        let own = table.schema.clone();
        let scan = Scan {
            table: table.clone(),
            projection: (0..own.fields().len()).collect(),
            bounds: Vec::new(),
            prefixes: vec![],
            filters: Vec::new(),
            fetch: None,
            in_order: false,
            transform: None,
        };
        let source = ScanSource::new(&scan, own)?;
        let mut batches = Vec::new();
        source.read_all(&Arc::new(QueryState::default()), &mut |batch| {
            batches.push(batch);
            Ok(())
        })?;
        Answer::collect(schema, batches.into_iter().map(Ok))
    }

    /// Takes rows as values of these columns' types.
    pub fn collect(
        schema: &SchemaRef,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
    ) -> Result<Answer> {
        let exact: Vec<usize> = (0..schema.fields().len()).filter(|&i| !is_float(schema, i)).collect();
        let fields = exact.iter().map(|&i| SortField::new(schema.field(i).data_type().clone()));
        let converter = RowConverter::new(fields.collect())?;
        let mut rows = Vec::new();
        for batch in batches {
            append(&mut rows, &converter, &exact, &typed(&batch?, schema)?)?;
        }
        rows.sort_unstable_by(|a: &Row, b| {
            let floats = || a.floats.iter().zip(&b.floats).map(|(a, b)| a.total_cmp(b));
            a.exact.cmp(&b.exact).then_with(|| floats().find(|o| o.is_ne()).unwrap_or(Ordering::Equal))
        });
        Ok(Answer { schema: schema.clone(), rows })
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What differs first, if something does.
    pub fn difference(&self, other: &Answer) -> Option<String> {
        if self.rows.len() != other.rows.len() {
            return Some(format!("{} rows, and not {}", other.rows.len(), self.rows.len()));
        }
        let floats: Vec<usize> =
            (0..self.schema.fields().len()).filter(|&i| is_float(&self.schema, i)).collect();
        for (number, (row, other)) in self.rows.iter().zip(&other.rows).enumerate() {
            if row.exact != other.exact {
                return Some(format!("row {} in order has other values", number + 1));
            }
            for (&column, (&a, &b)) in floats.iter().zip(row.floats.iter().zip(&other.floats)) {
                let field = self.schema.field(column);
                let tolerance = if *field.data_type() == DataType::Float64 { WIDE } else { NARROW };
                if !close(a, b, tolerance) {
                    let (row, name) = (number + 1, field.name());
                    return Some(format!(
                        "row {row} in order has {} as {name}, and not {}",
                        shown(b),
                        shown(a)
                    ));
                }
            }
        }
        None
    }
}

/// Whether two floats differ by rounding only.
fn close(a: f64, b: f64, tolerance: f64) -> bool {
    let finite = a.is_finite() && b.is_finite();
    a.to_bits() == b.to_bits() || finite && (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// A quiet NaN that no computation gives.
const NULL: u64 = 0x7ff8_dead_beef_0000;

fn shown(float: f64) -> String {
    if float.to_bits() == NULL { "NULL".into() } else { float.to_string() }
}

fn is_float(schema: &SchemaRef, column: usize) -> bool {
    schema.field(column).data_type().is_floating()
}

/// The columns with these types.
fn typed(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.num_columns() != schema.fields().len() {
        let (found, wanted) = (batch.num_columns(), schema.fields().len());
        return Err(Error::Compute(format!("the answer has {found} columns, and not {wanted}")));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        let column = cast_with_options(column, field.data_type(), &options)?;
        Ok(normalise(column))
    });
    let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
    // A column that may be NULL here may not be it there; what counts is whether it is.
    let fields: Vec<_> = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    batch_of(&Arc::new(arrow_schema::Schema::new(fields)), columns, batch.num_rows())
}

fn append(rows: &mut Vec<Row>, converter: &RowConverter, exact: &[usize], batch: &RecordBatch) -> Result<()> {
    let columns: Vec<ArrayRef> = exact.iter().map(|&i| batch.column(i).clone()).collect();
    let keys = (!exact.is_empty()).then(|| converter.convert_columns(&columns)).transpose()?;
    let floats = (0..batch.num_columns()).filter(|i| !exact.contains(i)).map(|i| {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(batch.column(i), &DataType::Float64, &options)
    });
    let floats: Vec<ArrayRef> = floats.collect::<std::result::Result<_, _>>()?;
    for row in 0..batch.num_rows() {
        let value = |column: &ArrayRef| match column.is_null(row) {
            true => f64::from_bits(NULL),
            false => column.as_primitive::<Float64Type>().value(row),
        };
        rows.push(Row {
            exact: keys.as_ref().map_or_else(Box::default, |keys| keys.row(row).data().into()),
            floats: floats.iter().map(value).collect(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use formats::discover::{OpenOptions, open};

    use super::*;

    fn answer(text: &str) -> Answer {
        let mut file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let path = file.path().to_str().unwrap();
        let table = Arc::new(open(path, "t", &OpenOptions::default()).unwrap());
        Answer::read(&table, &table.schema).unwrap()
    }

    #[test]
    fn rows_are_compared_in_any_order_and_floats_up_to_rounding() {
        let one = answer("k,s\na,1.5\nb,2.25\nb,\n");
        assert_eq!(one.difference(&answer("k,s\nb,\nb,2.2500000000001\na,1.5\n")), None);
        assert!(one.difference(&answer("k,s\nb,\nb,2.2501\na,1.5\n")).unwrap().contains("2.2501 as s"));
        assert!(
            one.difference(&answer("k,s\nb,\nc,2.25\na,1.5\n")).unwrap().contains("NULL as s, and not 2.25")
        );
        assert!(
            one.difference(&answer("k,s\nb,2.25\nc,\na,1.5\n")).unwrap().contains("row 3 in order has other")
        );
        assert!(one.difference(&answer("k,s\na,1.5\nb,2.25\nb,0.0\n")).is_some(), "a NULL is no number");
        let endless = answer("k,s\na,1.5\nb,inf\nb,\n");
        assert!(one.difference(&endless).is_some() && endless.difference(&one).is_some());
        assert!(one.difference(&answer("k,s\na,1.5\nb,2.25\n")).unwrap().starts_with("2 rows"));
    }
}
