//! The batch that a decoder is filling: its columns, its records, and what was wrong with them.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::{BooleanBufferBuilder, Buffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use schema::OnError;

use super::Input;
use super::column::{Bad, Column, Found, TextBlock, Within, unfit, view_type};
use super::keys::Unknown;
use super::noted::Noted;
use super::parse;
use super::syntax::{Syntax, Token};
use super::walk::MISSING;
use crate::error::{DataError, Error, Result};
use crate::format::ScanOptions;
use crate::reader::Skipped;
use crate::rejects::{Line, Reject, RejectKind, Rejects, TEXT_BYTES};

/// A batch ends when this many bytes of input lie behind it, so that long records do not make it large.
const BATCH_BYTES: usize = 8 << 20;

/// The longest part of an offending text that an error shows, in bytes.
const SHOWN_BYTES: usize = 80;

/// What helps against values that do not fit.
const HELP: &str =
    "--on-error null or --on-error skip passes over it and counts it, --schema gives other types";

/// And where types were inferred.
const INFERRED_HELP: &str = ", --infer-rows infers them from more rows";

/// What helps where NULL is not allowed.
const NOT_NULL_HELP: &str =
    "--on-error skip passes over its row and counts it, --schema without NOT NULL lets it be NULL";

/// Records at hand: where they lie and how many there are.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    /// The block.
    pub block: &'a Buffer,
    /// The offset of the block's first byte in the file.
    pub offset: u64,
    /// Where the first of the records begins in the block.
    pub start: usize,
    /// Where the last of them ends, its newline included.
    pub end: usize,
    /// How many they are.
    pub count: usize,
    /// The newlines in them.
    pub lines: u64,
    /// Where each of them begins and ends in the block, if they are several.
    pub borders: Option<&'a dyn Fn(usize) -> (usize, usize)>,
    /// Where in the file the record lies that begins at an offset, if the block is none of its bytes.
    pub places: Option<&'a dyn Fn(u64) -> u64>,
    /// The bytes of each of them in the file, if the block has others.
    pub originals: Option<&'a dyn Fn(usize) -> &'a [u8]>,
    /// Where the fields of a column's structs lie in them, if that was noted.
    pub noted: Option<&'a dyn Fn(usize) -> Option<Noted<'a>>>,
}

impl<'a> Records<'a> {
    /// The `count` records that lie at `range` of the input's block.
    pub fn of(input: &Input<'a>, range: Range<usize>, count: usize, lines: u64) -> Records<'a> {
        let (block, offset) = (input.block, input.offset);
        let Range { start, end } = range;
        Records {
            block,
            offset,
            start,
            end,
            count,
            lines,
            borders: None,
            places: None,
            originals: None,
            noted: None,
        }
    }

    /// The same records, with where each of them begins and ends in the block.
    pub fn with_borders(self, borders: &'a dyn Fn(usize) -> (usize, usize)) -> Records<'a> {
        Records { borders: Some(borders), ..self }
    }

    /// The same records, with where the fields of a column's structs lie in them.
    pub fn with_noted(self, noted: &'a dyn Fn(usize) -> Option<Noted<'a>>) -> Records<'a> {
        Records { noted: Some(noted), ..self }
    }

    /// The same records, of which the file has other bytes.
    pub fn placed(self, places: &'a dyn Fn(u64) -> u64) -> Records<'a> {
        Records { places: Some(places), ..self }
    }

    /// Where this one of them begins and ends in the block.
    fn border(&self, record: usize) -> (usize, usize) {
        self.borders.map_or((self.start, self.end), |borders| borders(record))
    }

    /// The offset in the file of this place in the block.
    fn place(&self, at: usize) -> u64 {
        let offset = self.offset + at as u64;
        self.places.map_or(offset, |places| places(offset))
    }
}

/// What a record does not have as its columns ask for.
pub struct Misfit {
    /// What is wrong.
    pub kind: RejectKind,
    /// The same as a clause.
    pub message: String,
    /// The position in the file of the first column that does not fit, if it is known.
    pub column: Option<usize>,
    /// Where in the block it shows.
    pub at: usize,
}

/// The batch that a decoder is filling.
pub struct Batch {
    schema: SchemaRef,
    columns: Vec<Column>,
    text: bool,
    rows: usize,
    bytes: usize,
    most_rows: usize,
    on_error: OnError,
    /// Rows of the batch that are to be left out.
    left_out: Vec<u32>,
    /// The address of the current block; only compared.
    block: usize,
    records: u64,
    lines: u64,
    /// Whether records stand in lines.
    in_lines: bool,
    skipped: Skipped,
    rejects: Rejects,
    /// All columns of the file, and the positions of those wanted among them.
    all: SchemaRef,
    wanted: Vec<usize>,
    /// How much of a record is kept with a reject: of one that is too long no more is surely at hand.
    shown: usize,
    /// Types were inferred from examples.
    inferred: bool,
    /// Columns are the keys of examples.
    open_keys: bool,
}

impl Batch {
    /// An empty batch of the columns that the scan wants, which may be nested or not.
    pub fn new(scan: &ScanOptions, nested: bool) -> Result<Batch> {
        let fields: Vec<_> = scan.projection.iter().map(|&i| scan.schema.field(i)).collect();
        let columns = fields.iter().zip(&scan.projection);
        let columns = columns.map(|(f, &column)| Ok(Column::new(f, nested)?.cut(scan.chars(column))));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let views: Vec<_> = fields
            .iter()
            .map(|f| {
                Field::new(f.name(), view_type(f.data_type()), f.is_nullable())
                    .with_metadata(f.metadata().clone())
            })
            .collect();
        let found_below = scan.format.dialect.as_ref().filter(|dialect| dialect.json_path_found);
        let rows_below = found_below.and_then(|dialect| dialect.json_path.clone());
        Ok(Batch {
            schema: Arc::new(Schema::new(views)),
            text: columns.iter().any(Column::is_text),
            columns,
            rows: 0,
            bytes: 0,
            most_rows: scan.batch_rows.max(1),
            on_error: scan.format.on_error,
            left_out: Vec::new(),
            block: 0,
            records: 0,
            lines: 0,
            in_lines: true,
            skipped: Skipped { rows_below, ..Skipped::default() },
            rejects: Rejects::up_to(scan.format.rejects_limit()),
            all: scan.schema.clone(),
            wanted: scan.projection.clone(),
            shown: TEXT_BYTES.min(scan.format.max_record),
            inferred: scan.format.inferred,
            open_keys: scan.format.open_keys,
        })
    }

    /// The same batch, of records that don't stand in lines.
    pub fn without_lines(self) -> Batch {
        Batch { in_lines: false, ..self }
    }

    /// The rows that still fit; 0 if the batch is to be flushed.
    pub fn room(&self) -> usize {
        if self.bytes >= BATCH_BYTES { 0 } else { self.most_rows - self.rows }
    }

    /// Records are counted anew, of another file.
    pub fn restart(&mut self) {
        (self.block, self.records, self.lines) = (0, 0, 0);
    }

    /// The columns wanted.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The records read so far, the skipped ones too.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The newlines passed so far, where records stand in lines.
    pub fn lines(&self) -> Option<u64> {
        self.in_lines.then_some(self.lines)
    }

    /// What was passed over so far.
    pub fn skipped(&self) -> Skipped {
        self.skipped.clone()
    }

    /// Takes the rows and values that were passed over since the last call.
    pub fn take_rejects(&mut self) -> Rejects {
        let limit = self.rejects.limit();
        std::mem::replace(&mut self.rejects, Rejects::up_to(limit))
    }

    /// Whether more of what is passed over is kept, so that it must be known where each record begins.
    pub fn keeps_rejects(&self) -> bool {
        self.rejects.has_room()
    }

    /// What is done with a bad record.
    pub fn on_error(&self) -> OnError {
        self.on_error
    }

    /// Passes lines that are no records (blank ones, the header).
    pub fn pass_lines(&mut self, lines: u64) {
        self.lines += lines;
    }

    /// Counts values that a record had too few or too many of and that were passed over.
    pub fn count_values(&mut self, values: u64, record: &Records, misfit: impl FnOnce() -> Misfit) {
        self.skipped.values += values;
        match self.rejects.has_room() {
            true => self.reject_record(record, misfit()),
            false => self.rejects.count(1),
        }
    }

    /// Counts values under keys that name no column, where columns were inferred.
    pub fn count_unknown(&mut self, unknown: Unknown) {
        if unknown.values > 0 && self.open_keys {
            let (values, key) = (unknown.values, Some(shown(&unknown.key)));
            self.skipped.add(&Skipped { unknown: values, unknown_key: key, ..Skipped::default() });
        }
    }

    /// Appends records; `fields` gives the borders of the values of a wanted column, one for each record.
    pub fn append<S: Syntax, I: Iterator<Item = (usize, usize)>>(
        &mut self,
        records: Records,
        syntax: S,
        fields: impl Fn(usize) -> I,
    ) -> Result<()> {
        let address = records.block.as_ptr() as usize;
        if address != self.block {
            self.block = address;
            self.columns.iter_mut().for_each(Column::next_block);
        }
        let utf8 = S::TEXT
            && self.text
            && simdutf8::basic::from_utf8(&records.block[records.start..records.end]).is_ok();
        let stretch =
            TextBlock { block: records.block, utf8, fail_fast: self.on_error == OnError::Fail, noted: None };
        let mut found = Found::default();
        let mut worst: Option<(Bad, usize, Option<Within>)> = None;
        let mut rejected: Vec<(Bad, usize)> = Vec::new();
        // More of one column can't be kept.
        let most = if self.rejects.has_room() { self.rejects.limit() } else { 0 };
        for (i, column) in self.columns.iter_mut().enumerate() {
            let noted = records.noted.and_then(|noted| noted(i));
            column.extend(syntax, &TextBlock { noted, ..stretch }, fields(i), &mut found);
            let Some(&first) = found.bad.first() else { continue };
            if self.on_error == OnError::Fail || (self.on_error == OnError::Null && !column.nullable()) {
                if worst.as_ref().is_none_or(|(bad, ..)| first.record < bad.record) {
                    worst = Some((first, i, found.within.take()));
                }
            } else if self.on_error == OnError::Null {
                self.skipped.values += found.bad.len() as u64;
            } else {
                self.left_out.extend(found.bad.iter().map(|bad| (self.rows + bad.record) as u32));
            }
            if worst.is_none() {
                rejected.extend(found.bad.iter().take(most).map(|bad| (*bad, i)));
                self.rejects.count(found.bad.len() as u64);
            }
            found.bad.clear();
            found.within = None;
        }
        self.skipped.replaced += found.replaced;
        self.count_unknown(found.unknown);
        if let Some((bad, column, within)) = worst {
            return Err(self.bad_value(&records, syntax, bad, column, within));
        }
        if !rejected.is_empty() {
            self.reject_values(&records, syntax, rejected);
        }
        self.advance(&records, records.count);
        Ok(())
    }

    /// Passes a record that is not built as it should be: an error, a row of NULLs, or nothing. `missing` counts the
    /// values that are NULL for it.
    pub fn malformed(
        &mut self,
        records: Records,
        kind: RejectKind,
        message: String,
        missing: u64,
    ) -> Result<()> {
        self.misfit(records, Misfit { kind, message, column: None, at: records.start }, missing)
    }

    /// As [`Batch::malformed`], where it is known which column the record does not fit.
    pub fn misfit(&mut self, records: Records, misfit: Misfit, missing: u64) -> Result<()> {
        let nullable = self.columns.iter().all(Column::nullable);
        match self.on_error {
            OnError::Skip => {
                self.reject_record(&records, misfit);
                self.skipped.rows += 1;
                self.advance(&records, 0);
                Ok(())
            }
            OnError::Null if nullable => {
                self.reject_record(&records, misfit);
                self.columns.iter_mut().for_each(Column::push_null);
                self.skipped.values += missing;
                self.advance(&records, 1);
                Ok(())
            }
            _ => Err(self.bad_record(&records, misfit.message)),
        }
    }

    /// Keeps a record that is passed over.
    fn reject_record(&mut self, records: &Records, misfit: Misfit) {
        if !self.rejects.has_room() {
            self.rejects.count(1);
            return;
        }
        let Misfit { kind, message, column, at } = misfit;
        let name = column.and_then(|column| self.all.fields().get(column)).map(|field| field.name().clone());
        let reject =
            Reject { value: records.place(at), column, name, ..self.reject(records, 0, kind, message) };
        self.rejects.push(reject);
    }

    /// Keeps the first of these values, which are passed over and counted.
    fn reject_values<S: Syntax>(&mut self, records: &Records, syntax: S, values: Vec<(Bad, usize)>) {
        for (bad, column) in values {
            let is_nested = self.columns[column].data_type().is_nested();
            let Error::Data(error) = self.bad_value(records, syntax, bad, column, None) else { continue };
            let text = error.offset.and_then(|_| records.block.get(bad.start.min(bad.end)..bad.end));
            let is_missing = text.is_none() || bad.start > bad.end;
            let kind = match text {
                Some(text) if syntax.refusal(text).is_some() => RejectKind::InvalidEncoding,
                Some(text) if matches!(syntax.token(text, 0, text.len()), Token::Broken) => {
                    RejectKind::UnquotedValue
                }
                _ => RejectKind::Cast,
            };
            let message = match (&error.value, is_nested) {
                // Which value in it is wrong is told of the first one alone, and that differs from reader to reader.
                (_, true) => "the value, or one in it, is none of its type".into(),
                (Some(value), false) if !is_missing => format!("{}, found '{value}'", error.message),
                _ => error.message.clone(),
            };
            let reject = self.reject(records, bad.record, kind, message);
            let value = if is_missing { reject.record } else { records.place(bad.start) };
            let column = self.wanted[column];
            self.rejects.insert(Reject { value, column: Some(column), name: error.column, ..reject });
        }
        self.rejects.settle();
    }

    /// A record that is passed over, or of which a value is.
    fn reject(&self, records: &Records, record: usize, kind: RejectKind, message: String) -> Reject {
        let (start, end) = records.border(record);
        // Of a record that is too long its end is not known.
        let end = if start < end { end } else { records.block.len() };
        let bytes = records.originals.map_or(&records.block[start..end], |originals| originals(record));
        let bytes = if self.in_lines { without_line_end(bytes) } else { bytes };
        let bytes = &bytes[..bytes.len().min(self.shown)];
        let before = &records.block[records.start.min(start)..start];
        let place = records.place(start);
        Reject {
            file: PathBuf::new(),
            record: place,
            value: place,
            is_placed: true,
            line: match self.in_lines {
                true => Line::Known(self.lines + memchr::memchr_iter(b'\n', before).count() as u64 + 1),
                false => Line::None,
            },
            column: None,
            name: None,
            kind,
            message,
            text: match self.in_lines {
                true => String::from_utf8_lossy(bytes).into_owned(),
                false => bytes.iter().fold(String::from(r"\x"), |mut hex, byte| {
                    hex.push_str(&format!("{byte:02x}"));
                    hex
                }),
            },
        }
    }

    fn advance(&mut self, records: &Records, rows: usize) {
        self.rows += rows;
        self.bytes += records.end - records.start;
        self.records += records.count as u64;
        self.lines += records.lines;
    }

    /// The error of a value that is not one of its column's type.
    fn bad_value<S: Syntax>(
        &self,
        records: &Records,
        syntax: S,
        bad: Bad,
        column: usize,
        within: Option<Within>,
    ) -> Error {
        // One that is missing ends before it begins, at the beginning of its record; of one that is missing in another
        // value the place is not known.
        let start = bad.start.min(bad.end);
        let text = records.block.get(start..bad.end);
        let text = text.filter(|_| start >= records.start && (bad.start, bad.end) != MISSING);
        let before = text.and_then(|_| records.block.get(records.start..start));
        let newlines = before.map(|before| memchr::memchr_iter(b'\n', before).count() as u64);
        let (name, column) = (self.schema.field(column).name(), &self.columns[column]);
        let (path, data_type, nullable) = match &within {
            None => ("", column.data_type(), column.nullable()),
            Some(within) => (within.path.as_str(), &within.data_type, within.nullable),
        };
        let nulls = if nullable { "" } else { " (the column has no NULLs)" };
        Error::Data(Box::new(DataError {
            row: Some(self.records + bad.record as u64 + 1),
            line: newlines.zip(self.lines()).map(|(newlines, lines)| lines + newlines + 1),
            offset: text.map(|_| records.offset + start as u64),
            column: Some(format!("{name}{path}")),
            value: text.filter(|_| bad.start <= bad.end).map(shown),
            message: match text.and_then(|text| syntax.refusal(text)) {
                Some(refusal) => refusal.to_string(),
                None => format!("expected {}{nulls}{}", expected(data_type), self.printed(data_type, text)),
            },
            help: Some(self.help(text.and_then(|text| syntax.cure(text, data_type)))),
            ..DataError::default()
        }))
    }

    /// What helps against a value that does not fit, `cure` first.
    fn help(&self, cure: Option<&str>) -> String {
        let help = if self.on_error == OnError::Null { NOT_NULL_HELP } else { HELP };
        let sample = if self.inferred { INFERRED_HELP } else { "" };
        let cure = cure.map(|cure| format!("{cure}; ")).unwrap_or_default();
        format!("{cure}{help}{sample}")
    }

    /// What is wrong with a number that is one, where types were inferred from examples.
    fn printed(&self, data_type: &DataType, text: Option<&[u8]>) -> &'static str {
        let text = text.map(<[u8]>::trim_ascii).unwrap_or_default();
        let text = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text);
        match self.inferred && data_type.is_numeric() && !parse::is_printed(text) {
            true => ", without '+' or zeros before it: the values that the type was inferred from have none",
            false => "",
        }
    }

    /// The error of a record that is not built as it should be.
    pub fn bad_record(&self, records: &Records, message: String) -> Error {
        self.broken(records, message, "--on-error skip passes over such records and counts them")
    }

    /// The error of a quoted field that the input ends in. It can't be passed over: where the next record begins is not
    /// known.
    pub fn unclosed_quote(&self, records: &Records) -> Error {
        let help = "close it or double it; --quote CHAR names another character that stands around fields";
        self.broken(records, "a quote in this record is never closed".into(), help)
    }

    /// The error of a record behind which the next one can't be found, which begins at this byte of the file.
    pub fn lost(&self, offset: u64, message: String) -> Error {
        Error::Data(Box::new(DataError {
            row: Some(self.records + 1),
            offset: Some(offset),
            message,
            help: Some("no option passes over it: where the next record begins is not known".into()),
            ..DataError::default()
        }))
    }

    fn broken(&self, records: &Records, message: String, help: &str) -> Error {
        let text = records.block[records.start..records.end].trim_ascii_end();
        Error::Data(Box::new(DataError {
            row: Some(self.records + 1),
            line: self.lines().map(|lines| lines + 1),
            offset: Some(records.offset + records.start as u64),
            value: Some(shown(text)),
            message,
            help: Some(help.into()),
            ..DataError::default()
        }))
    }

    /// The rows so far as a batch, or `None` if there are none.
    pub fn flush(&mut self) -> Result<Option<RecordBatch>> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        self.block = 0;
        if rows == 0 {
            return Ok(None);
        }
        let mut arrays = self.columns.iter_mut().map(Column::take).collect::<Result<Vec<_>>>()?;
        let mut kept = rows;
        if !self.left_out.is_empty() {
            let mut keep = BooleanBufferBuilder::new(rows);
            keep.append_n(rows, true);
            self.left_out.drain(..).for_each(|row| keep.set_bit(row as usize, false));
            let keep = BooleanArray::new(keep.finish(), None);
            kept = keep.true_count();
            self.skipped.rows += (rows - kept) as u64;
            if kept == 0 {
                return Ok(None);
            }
            for array in &mut arrays {
                *array = arrow_select::filter::filter(array, &keep).map_err(unfit)?;
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(kept));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map(Some).map_err(unfit)
    }
}

/// A text as an error shows it: shortened, with control characters escaped.
pub fn shown(text: &[u8]) -> String {
    let part = &text[..text.len().min(SHOWN_BYTES)];
    let mut shown = String::new();
    for c in String::from_utf8_lossy(part).chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    if part.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// The words for what a value of this type looks like.
fn expected(data_type: &DataType) -> String {
    match data_type {
        DataType::Boolean => "true or false".into(),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            let bits = data_type.primitive_width().unwrap_or(8) * 8;
            format!("a whole number of {bits} bits")
        }
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            let bits = data_type.primitive_width().unwrap_or(8) * 8;
            format!("a whole number of {bits} bits that is not negative")
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => "a number".into(),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            format!("a decimal of at most {precision} digits, {scale} of them behind the point")
        }
        DataType::Date32 => "a date YYYY-MM-DD".into(),
        DataType::Timestamp(unit, _) => {
            let digits = super::parse::per_second(*unit).ilog10();
            format!("a timestamp YYYY-MM-DDTHH:MM:SS with at most {digits} digits behind the second")
        }
        DataType::Date64 => expected(&DataType::Timestamp(TimeUnit::Millisecond, None)),
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let digits = super::parse::per_second(*unit).ilog10();
            format!("a time of day HH:MM:SS with at most {digits} digits behind the second")
        }
        DataType::FixedSizeList(_, size) => format!("a list of {size} values"),
        DataType::List(_) => "a list".into(),
        DataType::Struct(_) => "a struct, as an object of its fields".into(),
        DataType::Map(..) => "a map, as an object".into(),
        DataType::FixedSizeBinary(size) => format!(r"{size} bytes, as \x and {} digits", 2 * size),
        _ => "text with whole quotes and escapes".into(),
    }
}
/// A record without the line end behind it.
fn without_line_end(record: &[u8]) -> &[u8] {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    record.strip_suffix(b"\r").unwrap_or(record)
}
