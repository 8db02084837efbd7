//! Excel workbooks, read: one sheet of a file is a table.
//!
//! ```text
//! file  = a zip archive: xl/workbook.xml (names of sheets), xl/styles.xml (formats of numbers),
//!         xl/sharedStrings.xml (texts), xl/worksheets/*.xml (cells)
//! table = the cells that are in use, or those of a range; names in the first row, or the letters of the columns
//! ```
//!
//! The calamine crate reads the cells. What a sheet says of its own size is not believed: only cells that are there take
//! memory.
//!
//! - `book`: the archive. The sizes of its parts are checked before they are unpacked.
//! - `cells`: the cells of a sheet, by column.
//! - `serials`: numbers that stand for dates and times, and which formats say so.
//! - `region`: which cells are the table, what its columns are called, and their types.
//! - `read`: cells to batches.

mod book;
mod cells;
mod read;
mod region;
mod serials;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use schema::{FileEntry, FormatOptions, SheetChoice};

use crate::columns::guard::guarded;
use crate::error::Result;
use crate::format::{Format, Morsel, Part, ScanOptions};
use crate::inspect::{Inspection, PartInspection};
use crate::memory;
use crate::reader::FileReader;
use crate::store::input::Input;

use book::Book;
use region::Region;
pub use region::range;

/// Excel workbooks.
pub struct Xlsx;

impl Format for Xlsx {
    fn name(&self) -> &'static str {
        "xlsx"
    }

    fn title(&self) -> &'static str {
        "Excel workbooks"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["xlsx", "xlsm"]
    }

    fn in_archive(&self) -> Option<&'static str> {
        Some("xl/workbook.xml")
    }

    fn is_sheet(&self) -> bool {
        true
    }

    fn compresses_inside(&self) -> bool {
        true
    }

    fn compressions(&self) -> &'static [&'static str] {
        &[]
    }

    fn infer(&self, file: &FileEntry, options: &FormatOptions, _infer_rows: usize) -> Result<SchemaRef> {
        let bytes = whole(file)?;
        let _reading = memory::read(&file.path);
        let region = guarded(|| table(bytes, &choice(options)));
        region.map(|region| Arc::new(region.schema())).map_err(|e| e.at(&file.path))
    }

    fn rows(&self, _file: &FileEntry, _options: &FormatOptions) -> Result<Option<u64>> {
        Ok(None)
    }

    fn inspect(&self, file: &FileEntry) -> Result<Option<Inspection>> {
        let bytes = whole(file)?;
        let _reading = memory::read(&file.path);
        guarded(|| inspect(bytes)).map(Some).map_err(|e| e.at(&file.path))
    }

    fn split(&self, file: &Arc<FileEntry>, _scan: &ScanOptions, _target: u64) -> Result<Vec<Morsel>> {
        let (part, bytes) = (Part::Whole, file.bytes);
        Ok(vec![Morsel { file: file.clone(), part, bytes, shared: Arc::new(()) }])
    }

    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>> {
        Ok(Box::new(read::Reader::new(morsel.file.bytes, scan)))
    }
}

/// The bytes of a file.
fn whole(file: &FileEntry) -> Result<Bytes> {
    let input = Input::of(file)?;
    let len = input.len()?;
    memory::ask(len, || format!("a workbook of {len} bytes")).map_err(|e| e.at(&file.path))?;
    input.read_range(&(0..len))
}

/// Which cells are read.
fn choice(options: &FormatOptions) -> SheetChoice {
    options.dialect.as_ref().map(|dialect| dialect.sheet.clone()).unwrap_or_default()
}

/// The table of a workbook with these bytes.
fn table(bytes: Bytes, choice: &SheetChoice) -> Result<Region> {
    let mut book = Book::open(bytes)?;
    let cells = match choice.name.as_deref() {
        Some(name) => {
            let sheet = book.sheet_named(name)?;
            book.cells(&sheet)?
        }
        None => book.first_cells()?,
    };
    Region::new(cells, choice)
}

/// The sheets, and the rows of their tables.
fn inspect(bytes: Bytes) -> Result<Inspection> {
    let mut book = Book::open(bytes)?;
    let names = book.sheets();
    let mut parts = Vec::with_capacity(names.len());
    let mut first = None;
    for name in &names {
        let region = Region::new(book.cells(name)?, &SheetChoice::default())?;
        parts.push(PartInspection { rows: region.rows() as u64, chunks: Vec::new() });
        let schema = Some(region.schema()).filter(|schema| !schema.fields().is_empty());
        first = first.or(schema);
    }
    let schema = Arc::new(first.unwrap_or_else(arrow_schema::Schema::empty));
    Ok(Inspection { schema, rows: None, distinct: Vec::new(), part: "sheet", names, parts })
}
