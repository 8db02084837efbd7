//! Results in the encodings of `formats`.

use arrow_array::builder::StringViewBuilder;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use formats::format::Format;
use formats::writer::{FileAssembler, FileEncoder};
use schema::FormatOptions;
use schema::zones::Clocks;
use std::sync::Arc;

use super::distinct::{distinct, renamed};
use super::value::Column;
use super::{Error, Output, Result, ResultFormat, ResultWriter};

/// How a form of results is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    /// The name of the encoding among the formats.
    name: &'static str,
    delimiter: u8,
    /// Whether the encoding is text, which a terminal can show and which is written as the rows come.
    text: bool,
    /// Whether records are the elements of one JSON array.
    array: bool,
}

/// The encoding of a form; `None` for forms for people.
pub fn encoding(format: ResultFormat) -> Option<Encoding> {
    let text = Encoding { name: "csv", delimiter: b',', text: true, array: false };
    Some(match format {
        ResultFormat::Table | ResultFormat::Markdown => return None,
        ResultFormat::Csv => text,
        ResultFormat::Tsv => Encoding { delimiter: b'\t', ..text },
        ResultFormat::Json => Encoding { name: "jsonl", array: true, ..text },
        ResultFormat::Jsonl => Encoding { name: "jsonl", ..text },
        ResultFormat::Binary(name) => Encoding { name, text: false, ..text },
    })
}

/// Whether a terminal could not show the form.
pub fn is_binary(format: ResultFormat) -> bool {
    encoding(format).is_some_and(|encoding| !encoding.text)
}

/// The compression of a form if the user gives none.
pub fn usual_compression(format: ResultFormat) -> &'static str {
    registered(format).map_or("none", |encoding| encoding.usual_compression())
}

/// Whether files of this form compress inside, so that no compression goes around them.
pub fn compresses_inside(format: ResultFormat) -> bool {
    registered(format).is_some_and(|encoding| encoding.compresses_inside())
}

/// Whether rows of this form are maps or arrays.
pub fn is_tagged(format: ResultFormat) -> bool {
    registered(format).is_some_and(|encoding| encoding.is_tagged())
}

fn registered(format: ResultFormat) -> Option<&'static dyn Format> {
    formats::registry::format(encoding(format)?.name).ok()
}

/// The format in which `formats` writes files of this form; `None` if it does not write the form.
pub fn file_format(format: ResultFormat, compression: &str) -> Option<FormatOptions> {
    encoding(format).filter(|encoding| !encoding.array).map(|encoding| encoding.options(compression))
}

/// The columns of a file of this form, and a function that gives them to a batch. In csv nested columns become text. In
/// other forms equal names are made to differ.
pub fn shape(
    format: ResultFormat,
    schema: &SchemaRef,
) -> (SchemaRef, impl Fn(RecordBatch) -> formats::Result<RecordBatch> + Sync + use<>) {
    let text = encoding(format).is_some_and(|e| e.is_flat());
    let shaped = if text { flat_schema(schema) } else { schema.clone() };
    let named =
        (!matches!(format, ResultFormat::Csv | ResultFormat::Tsv)).then(|| distinct(&shaped)).flatten();
    let (from, to) = (shaped.clone(), named.clone());
    let lay_out = move |batch: RecordBatch| {
        let batch = if text { flat(&batch, &from, None)? } else { batch };
        to.as_ref().map_or(Ok(batch.clone()), |names| renamed(&batch, names))
    };
    (named.unwrap_or(shaped), lay_out)
}

impl Encoding {
    /// Whether nested columns become text.
    fn is_flat(&self) -> bool {
        self.name == "csv"
    }

    fn options(&self, compression: &str) -> FormatOptions {
        FormatOptions {
            encoding: self.name.into(),
            compression: compression.into(),
            delimiter: self.delimiter,
            header: true,
            ..FormatOptions::default()
        }
    }
}

/// Encodes a result block by block, on one thread.
pub struct EncodedWriter {
    out: Box<dyn Output>,
    encoding: Encoding,
    compression: String,
    /// See [`FormatOptions::time_zone`].
    time_zone: Option<String>,
    started: Option<Started>,
}

struct Started {
    schema: SchemaRef,
    encoder: Arc<dyn FileEncoder>,
    assembler: Box<dyn FileAssembler>,
    /// Rows that wait for a block to be full.
    held: Vec<RecordBatch>,
    held_rows: usize,
    /// Whether an element of the JSON array was written.
    any: bool,
}

impl EncodedWriter {
    /// Writes to `out` with this compression.
    pub fn new(out: Box<dyn Output>, encoding: Encoding, compression: &str) -> EncodedWriter {
        EncodedWriter { out, encoding, compression: compression.into(), time_zone: None, started: None }
    }

    /// The same; instants are printed as the clocks of a zone show them, in forms that are text.
    pub fn in_zone(self, time_zone: Option<&str>) -> EncodedWriter {
        EncodedWriter { time_zone: time_zone.map(String::from), ..self }
    }

    /// Whether each batch is written as it comes. Only compressed files show where blocks end.
    fn streams(&self) -> bool {
        self.encoding.text && self.compression == "none"
    }

    /// Encodes the first `rows` of the held rows.
    fn write_block(&mut self, rows: usize) -> Result<()> {
        let Some(started) = &mut self.started else { return Ok(()) };
        let mut block = Vec::new();
        let mut missing = rows;
        while missing > 0 {
            let batch = started.held.remove(0);
            let taken = batch.num_rows().min(missing);
            block.push(batch.slice(0, taken));
            if taken < batch.num_rows() {
                started.held.insert(0, batch.slice(taken, batch.num_rows() - taken));
            }
            missing -= taken;
        }
        started.held_rows -= rows;
        let block = started.encoder.encode(&block)?;
        if !self.encoding.array {
            return Ok(started.assembler.append(block, &mut self.out)?);
        }
        let mut text = Vec::with_capacity(block.bytes.len() + rows);
        for record in block.bytes.split(|b| *b == b'\n').filter(|record| !record.is_empty()) {
            text.extend_from_slice(if started.any { b",\n" } else { b"[\n" });
            text.extend_from_slice(record);
            started.any = true;
        }
        self.out.put(&text)
    }

    /// Adds the path to errors of encoders, which don't know it.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::Format(formats::Error::Io { path, action, source }) if path.as_os_str().is_empty() => {
                Error::Io { path: self.out.path().to_path_buf(), action, source }
            }
            Error::Format(error) => Error::Format(error.at(self.out.path())),
            error => error,
        }
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let streams = self.streams();
        let Some(started) = &mut self.started else { return Ok(()) };
        let clocks = self.time_zone.as_deref().and_then(Clocks::of);
        let batch =
            if self.encoding.is_flat() { flat(batch, &started.schema, clocks)? } else { batch.clone() };
        started.held_rows += batch.num_rows();
        started.held.push(batch);
        let block = if streams { started.held_rows.max(1) } else { started.encoder.block_rows() };
        while self.started.as_ref().is_some_and(|s| s.held_rows >= block) {
            self.write_block(block)?;
        }
        if streams { self.out.pass_on() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<()> {
        let held = self.started.as_ref().map_or(0, |s| s.held_rows);
        if held > 0 {
            self.write_block(held)?;
        }
        let Some(mut started) = self.started.take() else { return Ok(()) };
        match self.encoding.array {
            true => self.out.put(if started.any { b"\n]\n" } else { b"[]\n" })?,
            false => started.assembler.finish(&mut self.out)?,
        }
        self.out.finish()
    }
}

impl ResultWriter for EncodedWriter {
    fn begin(&mut self, schema: &SchemaRef) -> Result<()> {
        if self.encoding.array && self.compression != "none" {
            return Err(Error::Refused(
                "one JSON array is not written compressed\n  help: --format jsonl can be".into(),
            ));
        }
        let time_zone = self.time_zone.clone();
        let options = FormatOptions { time_zone, ..self.encoding.options(&self.compression) };
        let schema = if self.encoding.is_flat() { flat_schema(schema) } else { schema.clone() };
        let encoder = formats::registry::format(self.encoding.name)?.encoder(&schema, &options)?;
        let mut assembler = encoder.assembler()?;
        if !self.encoding.array {
            assembler.begin(&mut self.out).map_err(|e| self.named(e.into()))?;
        }
        self.started =
            Some(Started { schema, encoder, assembler, held: Vec::new(), held_rows: 0, any: false });
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.take(batch).map_err(|e| self.named(e))
    }

    fn end(&mut self) -> Result<()> {
        self.close().map_err(|e| self.named(e))
    }
}

/// The schema of a csv file: nested columns become text.
fn flat_schema(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type().is_nested() {
        true => Arc::new(Field::new(field.name(), DataType::Utf8View, field.is_nullable())),
        false => field.clone(),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Gives a batch this schema: nested columns become text.
fn flat(batch: &RecordBatch, schema: &SchemaRef, clocks: Option<Clocks>) -> formats::Result<RecordBatch> {
    let column = |array: &ArrayRef| -> formats::Result<ArrayRef> {
        if !array.data_type().is_nested() {
            return Ok(array.clone());
        }
        let column = Column::new(array)?.in_zone(clocks);
        let mut texts = StringViewBuilder::with_capacity(array.len());
        let mut text = String::new();
        for row in 0..array.len() {
            text.clear();
            column.cell(row, &mut text);
            texts.append_option((!column.is_null(row)).then_some(&text));
        }
        Ok(Arc::new(texts.finish()))
    };
    let columns = batch.columns().iter().map(column).collect::<formats::Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|e| formats::Error::Unsupported(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writers::output::tests::Memory;

    use arrow_array::builder::{Int32Builder, ListBuilder};
    use arrow_array::{Array, Float64Array, StringViewArray};

    fn batch(from: usize, rows: usize) -> RecordBatch {
        let texts = (from..from + rows).map(|i| match i % 4 {
            0 => None,
            1 => Some(String::new()),
            2 => Some("a,\"b\"\n".to_string()),
            _ => Some(format!("row {i}")),
        });
        let numbers = (from..from + rows).map(|i| if i % 3 == 0 { f64::NAN } else { i as f64 / 2.0 });
        let mut lists = ListBuilder::new(Int32Builder::new());
        (from..from + rows).for_each(|i| lists.append_value([Some(i as i32), None]));
        let schema = Schema::new(vec![
            Field::new("text", DataType::Utf8View, true),
            Field::new("x", DataType::Float64, false),
            Field::new("list", lists.finish_cloned().data_type().clone(), true),
        ]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(texts.collect::<StringViewArray>()),
            Arc::new(Float64Array::from_iter_values(numbers)),
            Arc::new(lists.finish()),
        ];
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    }

    fn written(format: ResultFormat, compression: &str, batches: &[RecordBatch]) -> Memory {
        let memory = Memory::default();
        let mut writer = EncodedWriter::new(Box::new(memory.clone()), encoding(format).unwrap(), compression);
        writer.begin(&batch(0, 0).schema()).unwrap();
        for batch in batches {
            writer.batch(batch).unwrap();
        }
        writer.end().unwrap();
        assert!(memory.finished());
        memory
    }

    #[test]
    fn csv_has_a_header_and_lists_as_text() {
        let text = written(ResultFormat::Csv, "none", &[batch(0, 2), batch(2, 2)]).text();
        let expected = "text,x,list\n,NaN,\"[0, NULL]\"\n\"\",0.5,\"[1, NULL]\"\n\
                        \"a,\"\"b\"\"\n\",1.0,\"[2, NULL]\"\nrow 3,NaN,\"[3, NULL]\"\n";
        assert_eq!(text.replace("\r\n", "\n"), expected);
        assert_eq!(written(ResultFormat::Csv, "none", &[]).text().trim_end(), "text,x,list");
        assert!(written(ResultFormat::Tsv, "none", &[]).text().starts_with("text\tx\tlist"));
    }

    #[test]
    fn borders_of_batches_are_not_seen() {
        for format in [ResultFormat::Csv, ResultFormat::Binary("parquet")] {
            let whole = written(format, "none", &[batch(0, 20_000)]).bytes();
            let pieces: Vec<_> =
                [0, 1, 500, 9_000, 19_999].windows(2).map(|w| batch(w[0], w[1] - w[0])).collect();
            let mut pieces = pieces;
            pieces.push(batch(19_999, 1));
            assert!(written(format, "none", &pieces).bytes() == whole, "{format:?}");
        }
    }

    #[test]
    fn rows_go_on_as_they_come() {
        let memory = Memory::default();
        let mut writer =
            EncodedWriter::new(Box::new(memory.clone()), encoding(ResultFormat::Csv).unwrap(), "none");
        writer.begin(&batch(0, 0).schema()).unwrap();
        writer.batch(&batch(3, 1)).unwrap();
        assert!(memory.text().contains("row 3"));
    }
}
