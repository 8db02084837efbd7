//! Directories of files, and tables opened and read from them.

use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, Schema};
use formats::discover::{OpenOptions, SchemaChoice, open};
use formats::format::ScanOptions;
use formats::reader::Driver;
use formats::registry::format;
use schema::manifest::{Manifest, PartFile};
use schema::{FileSet, FormatOptions, Source, Table};

/// A directory with these files.
pub fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (file, bytes) in files {
        let path = dir.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    dir
}

pub fn texts(files: &[(&str, &str)]) -> tempfile::TempDir {
    tree(&files.iter().map(|(name, text)| (*name, text.as_bytes())).collect::<Vec<_>>())
}

pub fn at(dir: &tempfile::TempDir, location: &str, options: &OpenOptions) -> formats::Result<Table> {
    open(dir.path().join(location).to_str().unwrap(), "t", options)
}

pub fn table(dir: &tempfile::TempDir, location: &str) -> Table {
    at(dir, location, &OpenOptions::default()).unwrap()
}

/// The message of the error, without the directory's name.
pub fn message(dir: &tempfile::TempDir, location: &str, options: &OpenOptions) -> String {
    let error = at(dir, location, options).unwrap_err().to_string();
    error.replace(&format!("{}/", dir.path().display()), "")
}

pub fn set(table: &Table) -> &FileSet {
    let Source::Files(set) = &table.source else { panic!("not a table of files") };
    set
}

pub fn columns(table: &Table) -> Vec<(&str, DataType)> {
    table.schema.fields().iter().map(|f| (f.name().as_str(), f.data_type().clone())).collect()
}

/// All rows as text, read as a scan reads them: file columns by the file's layout, constants behind them.
pub fn rows(table: &Table) -> Vec<Vec<String>> {
    try_rows(table).unwrap()
}

/// As [`rows`].
pub fn try_rows(table: &Table) -> formats::Result<Vec<Vec<String>>> {
    let set = set(table);
    let encoding = format(&set.format.encoding).unwrap();
    let fields = table.schema.fields()[..set.file_columns].to_vec();
    let usual = Arc::new(Schema::new(fields));
    let mut rows = Vec::new();
    for file in &set.files {
        let layout = set.layout(file);
        let schema = layout.map_or(&usual, |l| &l.schema).clone();
        let mut options = set.format.clone();
        options.compression = layout.map_or(&options.compression, |l| &l.compression).clone();
        let projection = (0..schema.fields().len()).collect();
        let scan = ScanOptions {
            schema,
            projection,
            bounds: vec![],
            prefixes: vec![],
            unseen: set.unseen.clone(),
            batch_rows: 1000,
            format: options,
        };
        for morsel in encoding.split(&Arc::new(file.clone()), &scan, 1 << 20).unwrap() {
            let reader = encoding.reader(&morsel, &scan).unwrap();
            for batch in Driver::open(&morsel, reader)? {
                let batch = batch?;
                for row in 0..batch.num_rows() {
                    let value = |column: usize| match layout.map_or(Some(column), |l| l.columns[column]) {
                        Some(place) => shown(batch.column(place), row),
                        None => "NULL".into(),
                    };
                    let constants = file.constants.iter().map(|c| c.clone().unwrap_or("NULL".into()));
                    rows.push((0..set.file_columns).map(value).chain(constants).collect());
                }
            }
        }
    }
    Ok(rows)
}

/// One value as text; strings in quotes.
pub fn shown(array: &dyn Array, row: usize) -> String {
    let text = arrow_cast::display::array_value_to_string(array, row).unwrap();
    match array.data_type() {
        _ if array.is_null(row) => "NULL".into(),
        DataType::Utf8View => format!("{text:?}"),
        _ => text,
    }
}

/// The bytes of a file of one block.
pub fn encoded(encoding: &str, batch: &RecordBatch) -> Vec<u8> {
    let options = FormatOptions { encoding: encoding.into(), ..FormatOptions::default() };
    let encoder = format(encoding).unwrap().encoder(&batch.schema(), &options).unwrap();
    let mut assembler = encoder.assembler().unwrap();
    let mut out = Vec::new();
    assembler.begin(&mut out).unwrap();
    assembler.append(encoder.encode(std::slice::from_ref(batch)).unwrap(), &mut out).unwrap();
    assembler.finish(&mut out).unwrap();
    out
}

pub fn numbers(name: &str, from: i64, rows: i64) -> RecordBatch {
    let text = Arc::new(StringViewArray::from_iter_values((from..from + rows).map(|i| format!("row {i}"))));
    let schema = Schema::new(vec![
        Field::new(name, DataType::Int64, false),
        Field::new("text", DataType::Utf8View, true),
    ]);
    let values = Arc::new(Int64Array::from_iter_values(from..from + rows));
    RecordBatch::try_new(Arc::new(schema), vec![values, text]).unwrap()
}

pub fn given(fields: &[(&str, DataType)]) -> OpenOptions {
    let fields: Vec<_> = fields.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect();
    let schema = Some(SchemaChoice::Given(Arc::new(Schema::new(fields))));
    OpenOptions { schema, ..OpenOptions::default() }
}

pub fn gzip(text: &str) -> Vec<u8> {
    formats::compress::compression("gzip").unwrap().compress(text.as_bytes().to_vec()).unwrap().bytes
}

/// A dataset of two csv files.
pub fn dataset() -> tempfile::TempDir {
    let dir = texts(&[("d/part-1.csv", "3,z\n"), ("d/part-0.csv", "1,x\n2,y\n")]);
    let part = |name: &str, rows, bytes| {
        let crc32 = crc32fast::hash(&std::fs::read(dir.path().join("d").join(name)).unwrap());
        PartFile { name: name.into(), rows, bytes, crc32, blocks: vec![] }
    };
    let schema =
        Schema::new(vec![Field::new("n", DataType::Int64, false), Field::new("s", DataType::Utf8, true)]);
    let files = vec![part("part-1.csv", 1, 4), part("part-0.csv", 2, 8)];
    let manifest = Manifest::new(Some("t".into()), Arc::new(schema), FormatOptions::default(), files);
    manifest.write(&dir.path().join("d")).unwrap();
    dir
}
