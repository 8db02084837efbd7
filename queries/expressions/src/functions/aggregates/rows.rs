//! Values of any type as bytes whose order is that of the values, so that one comparison of bytes does for all types:
//! floats with NaN above all others, intervals by their length.

use arrow_array::ArrayRef;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, SortOptions};
use datafusion_common::Result;

use crate::values::normal::normalised;

/// What turns columns into bytes and back.
pub struct Converter(RowConverter);

impl Converter {
    /// For columns of these types, each ascending or descending.
    pub fn new(columns: &[(DataType, bool)]) -> Result<Converter> {
        let field = |(data_type, descending): &(DataType, bool)| {
            let options = SortOptions { descending: *descending, nulls_first: false };
            SortField::new_with_options(data_type.clone(), options)
        };
        Ok(Converter(RowConverter::new(columns.iter().map(field).collect())?))
    }

    /// Whether values of a type have bytes.
    pub fn takes(data_type: &DataType) -> bool {
        RowConverter::supports_fields(&[SortField::new(data_type.clone())])
    }

    /// The rows of a column; equal values have equal bytes.
    pub fn rows(&self, column: &ArrayRef) -> Result<Rows> {
        self.rows_as_they_are(&[normalised(column)])
    }

    /// The rows of columns, of which equal values may have different bytes.
    pub fn rows_as_they_are(&self, columns: &[ArrayRef]) -> Result<Rows> {
        Ok(self.0.convert_columns(columns)?)
    }

    /// The columns of rows.
    pub fn columns<'a>(&self, rows: impl Iterator<Item = &'a [u8]>) -> Result<Vec<ArrayRef>> {
        let parser = self.0.parser();
        Ok(self.0.convert_rows(rows.map(|row| parser.parse(row)))?)
    }

    /// The memory that it takes.
    pub fn size(&self) -> usize {
        self.0.size()
    }
}
