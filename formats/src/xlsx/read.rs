//! The reader of a workbook: its bytes come at once, and its rows go out in batches.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::types::{Date32Type, Float64Type, Time64MicrosecondType, TimestampMicrosecondType};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use schema::OnError;

use super::cells::{Cell, Column, name};
use super::region::Region;
use super::{choice, table};
use crate::columns::adapt::{Adapter, find};
use crate::columns::guard::guarded;
use crate::error::{DataError, Error, Result};
use crate::format::ScanOptions;
use crate::memory;
use crate::reader::{FileReader, Next, Skipped};
use crate::rejects::{Line, Reject, RejectKind, Rejects};

/// About the bytes of a batch, and of a value in it. A batch of very many columns has fewer rows.
const BATCH_BYTES: usize = 64 << 20;
const VALUE_BYTES: usize = 16;

/// Reads the table of one workbook.
pub struct Reader {
    /// The bytes of the file, 0 if it is a pipe.
    bytes: u64,
    scan: ScanOptions,
    opened: Option<Opened>,
    skipped: Skipped,
    rejects: Rejects,
}

/// A table, and how its columns become those of the scan.
struct Opened {
    region: Region,
    adapter: Adapter,
    columns: Vec<Wanted>,
    /// The first row that was not given yet.
    at: usize,
}

/// What a column of the file is read as.
struct Wanted {
    /// The type that is built.
    built: DataType,
    /// Whether the scan casts it to integers, which have no fraction.
    is_integer: bool,
}

impl Reader {
    /// Prepares reading a file of so many bytes.
    pub fn new(bytes: u64, scan: &ScanOptions) -> Reader {
        let rejects = Rejects::up_to(scan.format.rejects_limit());
        Reader { bytes, scan: scan.clone(), opened: None, skipped: Skipped::default(), rejects }
    }

    fn open(&self, bytes: Bytes) -> Result<Opened> {
        let region = table(bytes, &choice(&self.scan.format))?;
        let own = region.schema();
        let built = |field: &Field| Wanted { built: field.data_type().clone(), is_integer: false };
        let mut columns: Vec<Wanted> = own.fields().iter().map(|field| built(field)).collect();
        for &column in &self.scan.projection {
            let Some(found) = find(&own, &self.scan.schema, column) else { continue };
            let (to, wanted) = (self.scan.schema.field(column).data_type(), &mut columns[found]);
            // Text is made of the cells themselves: the cast of a number to text would end in `.0`.
            if *to == DataType::Utf8View || wanted.built == DataType::Null {
                wanted.built = to.clone();
            }
            wanted.is_integer = wanted.built == DataType::Float64 && to.is_integer();
        }
        let fields = own.fields().iter().zip(&columns);
        let fields =
            fields.map(|(field, wanted)| field.as_ref().clone().with_data_type(wanted.built.clone()));
        let adapter = Adapter::new(&Schema::new(fields.collect::<Vec<_>>()), &self.scan)?;
        Ok(Opened { region, adapter, columns, at: 0 })
    }
}

impl FileReader for Reader {
    fn next(&mut self) -> Result<Next> {
        let Some(opened) = &mut self.opened else {
            let end = if self.bytes == 0 { u64::MAX } else { self.bytes };
            memory::ask(self.bytes, || format!("a workbook of {} bytes", self.bytes))?;
            let all = 0..end;
            return Ok(Next::Need(vec![all]));
        };
        let left = opened.region.rows() - opened.at;
        if left == 0 {
            return Ok(Next::Done);
        }
        let fit = BATCH_BYTES / VALUE_BYTES / opened.adapter.read().len().max(1);
        let rows = left.min(self.scan.batch_rows.max(1)).min(fit.max(1));
        let range = opened.at..opened.at + rows;
        let batch = opened.batch(range, self.scan.format.on_error, &mut self.skipped, &mut self.rejects)?;
        opened.at += rows;
        Ok(Next::Batch(batch))
    }

    fn give(&mut self, _range: Range<u64>, bytes: Bytes) -> Result<()> {
        self.opened = Some(guarded(|| self.open(bytes))?);
        Ok(())
    }

    fn skipped(&self) -> Skipped {
        self.skipped.clone()
    }

    fn take_rejects(&mut self) -> Rejects {
        let limit = self.rejects.limit();
        std::mem::replace(&mut self.rejects, Rejects::up_to(limit))
    }
}

impl Opened {
    /// The rows of the table in this range.
    fn batch(
        &self,
        rows: Range<usize>,
        on_error: OnError,
        skipped: &mut Skipped,
        rejects: &mut Rejects,
    ) -> Result<RecordBatch> {
        let mut keep = vec![true; rows.len()];
        let mut columns = Vec::with_capacity(self.adapter.read().len());
        for &column in self.adapter.read() {
            let wanted = &self.columns[column];
            let Some(cells) = self.region.column(column) else {
                columns.push(new_null_array(&wanted.built, rows.len()));
                continue;
            };
            let first = self.region.row(rows.start);
            let mut dense: Vec<Option<&Cell>> = vec![None; rows.len()];
            for (row, cell) in cells.rows(first..first + rows.len() as u32) {
                let at = (row - first) as usize;
                match wrong(cell, wanted) {
                    None => dense[at] = Some(cell),
                    Some(message) => match on_error {
                        OnError::Fail => return Err(self.error(column, *row, cells.printed(cell), message)),
                        OnError::Null => {
                            skipped.values += 1;
                            rejects.push(self.reject(column, *row, cells.printed(cell), message));
                        }
                        OnError::Skip => {
                            keep[at] = false;
                            rejects.push(self.reject(column, *row, cells.printed(cell), message));
                        }
                    },
                }
            }
            columns.push(array(cells, &dense, &wanted.built)?);
        }
        rejects.settle();
        let batch = self.adapter.adapt(&columns, rows.len())?;
        let left_out = keep.iter().filter(|keep| !**keep).count();
        if left_out == 0 {
            return Ok(batch);
        }
        skipped.rows += left_out as u64;
        filter_record_batch(&batch, &BooleanArray::from(keep)).map_err(|e| Error::corrupt(e.to_string()))
    }

    /// A cell that is passed over. Its row stands for the line.
    fn reject(&self, column: usize, row: u32, text: String, message: &str) -> Reject {
        let place = name(row, self.region.position(column));
        Reject {
            file: PathBuf::new(),
            record: u64::from(row),
            value: u64::from(row),
            is_placed: false,
            line: Line::Known(u64::from(row) + 1),
            column: Some(column),
            name: Some(self.region.schema().field(column).name().clone()),
            kind: RejectKind::Cast,
            message: format!("cell {place} of sheet '{}' {message}", self.region.sheet()),
            text,
        }
    }

    fn error(&self, column: usize, row: u32, value: String, message: &str) -> Error {
        let schema = self.region.schema();
        let place = name(row, self.region.position(column));
        Error::Data(Box::new(DataError {
            row: Some(u64::from(row - self.region.row(0)) + 1),
            column: Some(schema.field(column).name().clone()),
            value: Some(value),
            message: format!("cell {place} of sheet '{}' {message}", self.region.sheet()),
            help: Some("--on-error null reads it as NULL, --on-error skip leaves the row out".into()),
            ..DataError::default()
        }))
    }
}

/// What is wrong with a cell.
fn wrong(cell: &Cell, wanted: &Wanted) -> Option<&'static str> {
    match cell {
        Cell::Error(_) => Some("holds an error and no value"),
        Cell::Number(number) if wanted.is_integer && number.fract() != 0.0 => Some("is no whole number"),
        _ => None,
    }
}

/// The array of the cells of a column. The type is that of the cells, or text.
fn array(column: &Column, cells: &[Option<&Cell>], data_type: &DataType) -> Result<ArrayRef> {
    /// Takes the cells that are of one kind.
    macro_rules! of {
        ($($pattern:pat => $value:expr),+) => {
            cells.iter().map(|cell| match cell { $(Some($pattern) => Some($value),)+ _ => None })
        };
    }
    Ok(match data_type {
        DataType::Float64 => {
            Arc::new(of!(Cell::Number(number) => *number).collect::<PrimitiveArray<Float64Type>>())
        }
        DataType::Boolean => Arc::new(of!(Cell::Bool(is) => *is).collect::<BooleanArray>()),
        DataType::Date32 => Arc::new(of!(Cell::Date(days) => *days).collect::<PrimitiveArray<Date32Type>>()),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            const DAY: i64 = 86_400_000_000;
            let values = of!(Cell::Timestamp(us) => *us, Cell::Date(days) => i64::from(*days) * DAY);
            Arc::new(values.collect::<PrimitiveArray<TimestampMicrosecondType>>())
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            Arc::new(of!(Cell::Time(us) => *us).collect::<PrimitiveArray<Time64MicrosecondType>>())
        }
        DataType::Utf8View => {
            let lengths = cells.iter().flatten().filter_map(|cell| column.text_of(cell)).map(str::len);
            let bytes = lengths.sum::<usize>() as u64;
            memory::ask(bytes, || format!("{bytes} bytes of texts of a sheet"))?;
            let mut texts = StringViewBuilder::with_capacity(cells.len());
            for cell in cells {
                match cell {
                    None => texts.append_null(),
                    Some(cell) => match column.text_of(cell) {
                        Some(text) => texts.append_value(text),
                        None => texts.append_value(column.printed(cell)),
                    },
                }
            }
            Arc::new(texts.finish())
        }
        other => new_null_array(other, cells.len()),
    })
}
