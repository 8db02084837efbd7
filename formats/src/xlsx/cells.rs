//! The cells of a sheet, by column. An empty cell takes no memory, wherever the sheet says that it ends.

use std::io::{Read, Seek};
use std::ops::Range;

use arrow_array::temporal_conversions::{date32_to_datetime, time64us_to_time, timestamp_us_to_datetime};
use arrow_array::types::{Date32Type, Time64MicrosecondType, TimestampMicrosecondType};
use arrow_cast::parse::Parser;
use calamine::{CellErrorType, DataRef, XlsxCellReader};

use super::book::bad;
use super::serials::{self, Shows};
use crate::error::{Error, Result};
use crate::memory;

/// The most rows and columns of a sheet.
pub const MOST_ROWS: u32 = 1 << 20;
pub const MOST_COLUMNS: u32 = 1 << 14;
/// Memory for cells is asked for in steps of so many bytes.
const STEP: u64 = 8 << 20;

/// The value of a cell that is not empty.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// TRUE or FALSE.
    Bool(bool),
    /// A number.
    Number(f64),
    /// Days since 1970.
    Date(i32),
    /// Microseconds since 1970.
    Timestamp(i64),
    /// Microseconds since midnight.
    Time(i64),
    /// A text, by its place among those of its column.
    Text(u64, u32),
    /// An error, such as `#N/A`.
    Error(&'static str),
}

/// The cells of a column, with their rows in ascending order.
#[derive(Debug, Default)]
pub struct Column {
    cells: Vec<(u32, Cell)>,
    texts: String,
    is_unordered: bool,
}

/// The cells of a sheet.
#[derive(Debug)]
pub struct Cells {
    /// The name of the sheet.
    pub sheet: String,
    /// The columns from the first on, as far as there are cells.
    pub columns: Vec<Column>,
}

impl Cells {
    /// Reads all cells.
    pub fn read<R: Read + Seek>(
        mut reader: XlsxCellReader<'_, R>,
        sheet: &str,
        is_1904: bool,
    ) -> Result<Cells> {
        let shows: Vec<Shows> = reader
            .styles()
            .iter()
            .map(|style| style.number_format.as_ref())
            .map(|format| format.map_or(Shows::Date, |format| serials::shows(&format.format_code)))
            .collect();
        let mut cells = Cells { sheet: sheet.to_string(), columns: Vec::new() };
        let (mut used, mut asked) = (0_u64, 0_u64);
        while let Some((cell, style)) = reader.next_cell_with_style_id().map_err(bad)? {
            let (row, column) = cell.get_position();
            if row >= MOST_ROWS || column >= MOST_COLUMNS {
                let place = name(row, column);
                return Err(Error::corrupt(format!(
                    "sheet '{sheet}' has a cell {place}, and no sheet reaches so far"
                )));
            }
            let value = cell.get_value();
            if *value == DataRef::Empty {
                continue;
            }
            if cells.columns.len() <= column as usize {
                cells.columns.resize_with(column as usize + 1, Column::default);
            }
            let shows = shows.get(style).copied().unwrap_or(Shows::Date);
            used += cells.columns[column as usize].push(row, value, shows, is_1904);
            if used > asked {
                // A vector that grows takes twice its size for a moment.
                memory::ask(used.max(STEP), || format!("the cells of sheet '{sheet}'"))?;
                asked = used + STEP;
            }
        }
        cells.columns.iter_mut().for_each(Column::order);
        Ok(cells)
    }
}

impl Column {
    /// Adds a cell that is not empty, and gives the bytes that it takes. An empty text is an empty cell.
    fn push(&mut self, row: u32, value: &DataRef<'_>, shows: Shows, is_1904: bool) -> u64 {
        let cell = match value {
            DataRef::Empty => return 0,
            DataRef::Bool(is) => Cell::Bool(*is),
            DataRef::Int(number) => Cell::Number(*number as f64),
            DataRef::Float(number) => Cell::Number(*number),
            DataRef::String(text) | DataRef::DurationIso(text) => self.text(text),
            DataRef::SharedString(text) => self.text(text),
            DataRef::DateTime(moment) if moment.is_duration() => match serials::elapsed(moment.as_f64()) {
                Some(text) => self.text(&text),
                None => Cell::Number(moment.as_f64()),
            },
            DataRef::DateTime(moment) => serials::moment(moment.as_f64(), shows, is_1904),
            DataRef::DateTimeIso(text) => iso(text).unwrap_or_else(|| self.text(text)),
            DataRef::Error(error) => Cell::Error(error_text(error)),
        };
        let length = match cell {
            Cell::Text(_, 0) => return 0,
            Cell::Text(_, length) => u64::from(length),
            _ => 0,
        };
        self.is_unordered |= self.cells.last().is_some_and(|(last, _)| *last >= row);
        self.cells.push((row, cell));
        length + size_of::<(u32, Cell)>() as u64
    }

    fn text(&mut self, text: &str) -> Cell {
        let start = self.texts.len() as u64;
        match u32::try_from(text.len()) {
            Ok(length) => {
                self.texts.push_str(text);
                Cell::Text(start, length)
            }
            // A cell of Excel has at most 32,767 characters.
            Err(_) => Cell::Error("#VALUE!"),
        }
    }

    /// Brings the rows in order. Of two cells of one place the first counts.
    fn order(&mut self) {
        if self.is_unordered {
            self.cells.sort_by_key(|(row, _)| *row);
            self.cells.dedup_by_key(|(row, _)| *row);
        }
    }

    /// The row of the first cell.
    pub fn first(&self) -> Option<u32> {
        self.cells.first().map(|(row, _)| *row)
    }

    /// The row of the last cell.
    pub fn last(&self) -> Option<u32> {
        self.cells.last().map(|(row, _)| *row)
    }

    /// The cells of these rows.
    pub fn rows(&self, rows: Range<u32>) -> &[(u32, Cell)] {
        let from = self.cells.partition_point(|(row, _)| *row < rows.start);
        let to = self.cells.partition_point(|(row, _)| *row < rows.end);
        &self.cells[from..to.max(from)]
    }

    /// A cell as Excel prints it plainly, and dates and times as SQL does.
    pub fn printed(&self, cell: &Cell) -> String {
        let printed = match cell {
            Cell::Bool(is) => Some(if *is { "TRUE" } else { "FALSE" }.to_string()),
            Cell::Number(number) => Some(number_text(*number)),
            Cell::Date(days) => date32_to_datetime(*days).map(|at| at.date().to_string()),
            Cell::Timestamp(us) => timestamp_us_to_datetime(*us).map(|at| at.to_string()),
            Cell::Time(us) => time64us_to_time(*us).map(|at| at.to_string()),
            Cell::Text(start, length) => {
                let start = *start as usize;
                self.texts.get(start..start + *length as usize).map(str::to_string)
            }
            Cell::Error(error) => Some(error.to_string()),
        };
        printed.unwrap_or_default()
    }

    /// A cell that is text.
    pub fn text_of(&self, cell: &Cell) -> Option<&str> {
        let Cell::Text(start, length) = cell else { return None };
        self.texts.get(*start as usize..*start as usize + *length as usize)
    }
}

/// The place of a cell as Excel names it: `B7`.
pub fn name(row: u32, column: u32) -> String {
    format!("{}{}", letters(column), u64::from(row) + 1)
}

/// The letters of a column: `A` to `Z`, `AA` and so on.
pub fn letters(column: u32) -> String {
    let (mut left, mut letters) = (u64::from(column) + 1, Vec::new());
    while left > 0 {
        letters.push(b'A' + ((left - 1) % 26) as u8);
        left = (left - 1) / 26;
    }
    letters.iter().rev().map(|letter| char::from(*letter)).collect()
}

/// A number as text, without a fraction if it has none.
fn number_text(number: f64) -> String {
    match number.abs() {
        0.0 => "0".into(),
        size if (1e-5..1e15).contains(&size) || !size.is_finite() => number.to_string(),
        _ => format!("{number:E}"),
    }
}

/// A date or time in the form of ISO 8601, which strict workbooks have.
fn iso(text: &str) -> Option<Cell> {
    match (text.contains('-'), text.contains(':')) {
        (true, true) => TimestampMicrosecondType::parse(text).map(Cell::Timestamp),
        (true, false) => Date32Type::parse(text).map(Cell::Date),
        _ => Time64MicrosecondType::parse(text).map(Cell::Time),
    }
}

fn error_text(error: &CellErrorType) -> &'static str {
    match error {
        CellErrorType::Div0 => "#DIV/0!",
        CellErrorType::NA => "#N/A",
        CellErrorType::Name => "#NAME?",
        CellErrorType::Null => "#NULL!",
        CellErrorType::Num => "#NUM!",
        CellErrorType::Ref => "#REF!",
        CellErrorType::Value => "#VALUE!",
        CellErrorType::GettingData => "#GETTING_DATA",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_letters() {
        assert_eq!([0, 25, 26, 701, 702, 16_383].map(letters), ["A", "Z", "AA", "ZZ", "AAA", "XFD"]);
        assert_eq!(name(6, 1), "B7");
    }

    #[test]
    fn numbers_are_printed_without_an_empty_fraction() {
        let numbers = [1.0, -0.0, 1.5, 1e14, 1e15, 123_456_789_012.0, 0.00001, 1e-7];
        assert_eq!(
            numbers.map(number_text),
            ["1", "0", "1.5", "100000000000000", "1E15", "123456789012", "0.00001", "1E-7"]
        );
    }

    #[test]
    fn cells_in_disorder_are_brought_in_order() {
        let mut column = Column::default();
        for (row, value) in [(3, 30.0), (1, 10.0), (3, 31.0), (2, 20.0)] {
            column.push(row, &DataRef::Float(value), Shows::Date, false);
        }
        assert_eq!(column.push(9, &DataRef::String(String::new()), Shows::Date, false), 0);
        column.order();
        let rows = |range| column.rows(range).iter().map(|(_, cell)| cell.clone()).collect::<Vec<_>>();
        assert_eq!(rows(0..9), [10.0, 20.0, 30.0].map(Cell::Number));
        assert_eq!(rows(2..3), [Cell::Number(20.0)]);
        let (from, to) = (4, 2);
        assert!(rows(from..to).is_empty());
    }
}
