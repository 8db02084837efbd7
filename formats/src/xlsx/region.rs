//! Which cells of a sheet are the table, what its columns are called, and their types.

use std::ops::Range;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use schema::SheetChoice;
use schema::names::distinct;

use super::cells::{Cell, Cells, Column, MOST_COLUMNS, MOST_ROWS, letters};
use crate::error::{Error, Result};

/// The table of a sheet.
#[derive(Debug)]
pub struct Region {
    cells: Cells,
    columns: Vec<TableColumn>,
    /// The rows of the sheet below the header.
    rows: Range<u32>,
}

/// A column of the table.
#[derive(Debug)]
struct TableColumn {
    /// The position in the sheet.
    position: u32,
    name: String,
    /// The type that its cells have. `Null` if there are none.
    data_type: DataType,
}

impl Region {
    /// Finds the table among the cells.
    pub fn new(cells: Cells, choice: &SheetChoice) -> Result<Region> {
        let (given_rows, given_columns) = match &choice.range {
            Some(text) => {
                range(text).ok_or_else(|| Error::Unsupported(format!("'{text}' is no range of cells")))?
            }
            None => (None, None),
        };
        let used = |column: &Column| column.first().is_some();
        let columns = given_columns.unwrap_or_else(|| {
            let first = cells.columns.iter().position(used).unwrap_or(0) as u32;
            let end = cells.columns.iter().rposition(used).map_or(first, |last| last as u32 + 1);
            first..end
        });
        let within = |column: u32| cells.columns.get(column as usize);
        let firsts = columns.clone().filter_map(|column| within(column)?.first());
        let ends = columns.clone().filter_map(|column| Some(within(column)?.last()? + 1));
        let end = ends.max().unwrap_or(0);
        let mut rows = match given_rows {
            Some(given) => given.start..given.end.min(end).max(given.start),
            None => firsts.min().unwrap_or(0)..end,
        };
        let head = |column: u32| -> Option<(&Column, &Cell)> {
            let column = within(column)?;
            column.rows(rows.start..rows.start.saturating_add(1)).first().map(|(_, cell)| (column, cell))
        };
        let has_header = !rows.is_empty()
            && choice.header.unwrap_or_else(|| {
                let there: Vec<&Cell> = columns.clone().filter_map(head).map(|(_, cell)| cell).collect();
                let all_text = there.iter().all(|cell| matches!(cell, Cell::Text(..)));
                all_text && 2 * there.len() > columns.len()
            });
        let names: Vec<String> = columns
            .clone()
            .map(|position| match head(position).filter(|_| has_header) {
                Some((column, cell)) => column.printed(cell),
                None => letters(position),
            })
            .collect();
        rows.start += u32::from(has_header);
        let names = distinct(names.iter().map(String::as_str)).unwrap_or(names);
        let typed = columns.zip(names).map(|(position, name)| {
            let data_type = within(position).map_or(DataType::Null, |column| type_of(column, rows.clone()));
            TableColumn { position, name, data_type }
        });
        let columns = typed.collect();
        Ok(Region { columns, rows, cells })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The name of the sheet.
    pub fn sheet(&self) -> &str {
        &self.cells.sheet
    }

    /// The columns, which may all be NULL. One without values has the type `Null`.
    pub fn schema(&self) -> Schema {
        let fields = self.columns.iter().map(|c| Field::new(&c.name, c.data_type.clone(), true));
        Schema::new(fields.collect::<Vec<_>>())
    }

    /// The position in the sheet of a column of the table.
    pub fn position(&self, column: usize) -> u32 {
        self.columns[column].position
    }

    /// The row in the sheet of a row of the table.
    pub fn row(&self, row: usize) -> u32 {
        self.rows.start + row as u32
    }

    /// The column of the sheet that a column of the table is; `None` if it has no cells.
    pub fn column(&self, column: usize) -> Option<&Column> {
        self.cells.columns.get(self.position(column) as usize)
    }
}

/// The type that holds the cells of these rows. Errors have none.
fn type_of(column: &Column, rows: Range<u32>) -> DataType {
    let mut found = [false; 6];
    for (_, cell) in column.rows(rows) {
        let kind = match cell {
            Cell::Number(_) => 0,
            Cell::Bool(_) => 1,
            Cell::Date(_) => 2,
            Cell::Timestamp(_) => 3,
            Cell::Time(_) => 4,
            Cell::Text(..) => 5,
            Cell::Error(_) => continue,
        };
        found[kind] = true;
    }
    match found {
        [false, false, false, false, false, false] => DataType::Null,
        [true, false, false, false, false, false] => DataType::Float64,
        [false, true, false, false, false, false] => DataType::Boolean,
        [false, false, true, false, false, false] => DataType::Date32,
        [false, false, _, true, false, false] => DataType::Timestamp(TimeUnit::Microsecond, None),
        [false, false, false, false, true, false] => DataType::Time64(TimeUnit::Microsecond),
        _ => DataType::Utf8View,
    }
}

/// Rows and columns of a range; `None` where it does not name them.
type Borders = (Option<Range<u32>>, Option<Range<u32>>);

/// Reads a range of cells: `A1:C10`, `A:C`, `2:10` or `B2`. `None` if it is none.
pub fn range(text: &str) -> Option<Borders> {
    let text = text.replace('$', "").to_ascii_uppercase();
    let (from, to) = text.split_once(':').unwrap_or((&text, &text));
    let ((row, column), (last_row, last_column)) = (corner(from)?, corner(to)?);
    let between = |from: Option<u32>, to: Option<u32>| match (from, to) {
        (Some(from), Some(to)) => (from <= to).then(|| Some(from..to + 1)),
        (None, None) => Some(None),
        _ => None,
    };
    let (rows, columns) = (between(row, last_row)?, between(column, last_column)?);
    let is_one_cell = rows.is_some() && columns.is_some();
    (is_one_cell || text.contains(':')).then_some((rows, columns))
}

/// Row and column of `C10`, of which one may lack.
fn corner(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    let digits = text.find(|c: char| !c.is_ascii_uppercase()).unwrap_or(text.len());
    let (column, row) = text.split_at(digits);
    let row = match row {
        "" => None,
        row if row.len() <= 7 && row.bytes().all(|b| b.is_ascii_digit()) => {
            Some(row.parse::<u32>().ok().filter(|row| (1..=MOST_ROWS).contains(row))? - 1)
        }
        _ => return None,
    };
    let column = match column {
        "" => None,
        column if column.len() <= 3 => {
            let number = column.bytes().fold(0_u32, |n, letter| n * 26 + u32::from(letter - b'A') + 1);
            Some(Some(number - 1).filter(|column| *column < MOST_COLUMNS)?)
        }
        _ => return None,
    };
    (row.is_some() || column.is_some()).then_some((row, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cells_columns_or_rows() {
        assert_eq!(range("A1:C10"), Some((Some(0..10), Some(0..3))));
        assert_eq!(range("$b$2:xfd1048576"), Some((Some(1..1 << 20), Some(1..1 << 14))));
        assert_eq!(range("A:C"), Some((None, Some(0..3))));
        assert_eq!(range("2:10"), Some((Some(1..10), None)));
        assert_eq!(range("B2"), Some((Some(1..2), Some(1..2))));
        for wrong in
            ["", ":", "A", "7", "A1:", "A1:C", "A0:B2", "C1:A1", "XFE1:XFE2", "A1048577", "A-1", "Ä1:B2"]
        {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }
}
