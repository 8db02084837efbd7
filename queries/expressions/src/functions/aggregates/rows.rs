//! Values of any type as bytes whose order is that of the values, so that one comparison of bytes does for all types.
//! It puts floats with NaN above all others, and intervals by their length.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, SortOptions};
use datafusion_common::{Result, exec_err};

use crate::values::normal::normalised;

/// What turns columns into bytes and back.
pub struct Converter {
    converter: RowConverter,
    /// The types of the columns.
    types: Vec<DataType>,
}

impl Converter {
    /// For columns of these types, each ascending or descending.
    pub fn new(columns: &[(DataType, bool)]) -> Result<Converter> {
        let field = |(data_type, descending): &(DataType, bool)| {
            let options = SortOptions { descending: *descending, nulls_first: false };
            SortField::new_with_options(data_type.clone(), options)
        };
        Ok(Converter {
            converter: RowConverter::new(columns.iter().map(field).collect())?,
            types: columns.iter().map(|(data_type, _)| data_type.clone()).collect(),
        })
    }

    /// Whether values of a type have bytes.
    pub fn takes(data_type: &DataType) -> bool {
        RowConverter::supports_fields(&[SortField::new(data_type.clone())])
    }

    /// The types of so many arguments, if they are as many, and their values have bytes.
    pub fn taken(given: &[DataType], arguments: usize) -> Option<Vec<DataType>> {
        (given.len() == arguments && given.iter().all(Converter::takes)).then(|| given.to_vec())
    }

    /// The rows of a column; equal values have equal bytes.
    pub fn rows(&self, column: &ArrayRef) -> Result<Rows> {
        self.rows_as_they_are(&[normalised(column)])
    }

    /// The rows of columns, of which equal values may have different bytes.
    pub fn rows_as_they_are(&self, columns: &[ArrayRef]) -> Result<Rows> {
        Ok(self.converter.convert_columns(columns)?)
    }

    /// The columns of rows; where there is none they are NULL.
    pub fn columns<'a>(&self, rows: impl Iterator<Item = Option<&'a [u8]>>) -> Result<Vec<ArrayRef>> {
        let nulls: Vec<ArrayRef> = self.types.iter().map(|t| new_null_array(t, 1)).collect();
        let nothing = self.converter.convert_columns(&nulls)?;
        let (parser, nothing) = (self.converter.parser(), nothing.row(0));
        let rows = rows.map(|row| row.map_or(nothing, |row| parser.parse(row)));
        Ok(self.converter.convert_rows(rows)?)
    }

    /// The column of rows of one value.
    pub fn column<'a>(&self, rows: impl Iterator<Item = Option<&'a [u8]>>) -> Result<ArrayRef> {
        match self.columns(rows)?.as_slice() {
            [column] => Ok(column.clone()),
            columns => exec_err!("rows have {} columns, and not one", columns.len()),
        }
    }

    /// The memory that it takes.
    pub fn size(&self) -> usize {
        self.converter.size()
    }
}

/// Whether each row of a column has a value.
pub fn known(column: &ArrayRef) -> impl Fn(usize) -> bool + use<> {
    let nulls = column.logical_nulls();
    move |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
}
