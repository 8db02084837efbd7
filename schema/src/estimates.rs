//! What is estimated of a table before it is read. It comes from the sizes of its files and their first records, and
//! from what footers say of values.
//!
//! Plans depend on guesses, and results never do: what is known for certain stands in [`Table`](crate::Table) itself. The
//! process that opens a table makes them, and others get them with it, so that all plan alike.

use serde::{Deserialize, Serialize};

/// What is guessed of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableEstimates {
    /// About how many rows there are, where [`Table::rows`](crate::Table::rows) does not tell it.
    pub rows: Option<u64>,
    /// The columns, by their positions in the table's schema. Empty if nothing is known of any.
    pub columns: Vec<ColumnEstimate>,
}

/// What is guessed of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnEstimate {
    /// About how many different values there are.
    pub values: Option<u64>,
    /// Whether a footer or repeated values tell that number. Else it is the most that there may be.
    pub is_counted: bool,
    /// From which value to which those of a sample go, in the unit of [`Table::spans`](crate::Table::spans). Values may lie
    /// outside.
    pub span: Option<(f64, f64)>,
}

impl ColumnEstimate {
    /// The guess of a column of two parts of a table, which have about so many rows.
    fn join(self, rows: f64, other: ColumnEstimate, other_rows: f64) -> ColumnEstimate {
        let values = self.values.zip(other.values).map(|(a, b)| {
            // Keys differ from part to part, and other values are much the same in all.
            let is_key = a as f64 * 2.0 > rows && b as f64 * 2.0 > other_rows;
            if is_key { a.saturating_add(b) } else { a.max(b) }
        });
        ColumnEstimate {
            values,
            is_counted: self.is_counted && other.is_counted,
            span: self.span.zip(other.span).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))),
        }
    }
}

/// Guesses of columns of a table of two parts, which have about so many rows.
pub(crate) fn join(
    (columns, rows): (&[ColumnEstimate], f64),
    (others, other_rows): (&[ColumnEstimate], f64),
) -> Vec<ColumnEstimate> {
    columns.iter().zip(others).map(|(a, b)| a.join(rows, *b, other_rows)).collect()
}
