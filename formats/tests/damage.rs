//! Files that were cut, flipped, overwritten or glued together: every one is read or is an error that names it.
//! Nothing panics, nothing goes on for ever, and no file of a few kilobytes asks for memory without bound.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::types::*;
use arrow_array::*;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use formats::discover::{OpenOptions, open};
use formats::format::ScanOptions;
use formats::reader::{FileReader, Next};
use formats::registry::format;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use schema::{FileEntry, FormatOptions, OnError, Source, Splitting};

/// No file here needs a hundredth of this in one piece: Zstandard's window is what comes closest.
const MOST: usize = 256 << 20;

/// More batches than any file here has rows.
const BATCHES: usize = 2000;

/// Notes the largest piece of memory that was asked for, and says for what before the process would end.
struct Watching;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CASE: Cell<(&'static str, &'static str, usize)> = const { Cell::new(("", "", 0)) };
}

fn watch(size: usize) {
    if size > LARGEST.fetch_max(size, Ordering::Relaxed) && size > MOST {
        let (file, change, at) = CASE.get();
        eprintln!("{size} bytes were asked for at once: {file}, {change} {at}");
    }
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        watch(size);
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// A table of a few types, with NULLs, a dictionary, text long and short.
fn table(rows: usize) -> RecordBatch {
    let some = |i: usize| i % 5 != 3;
    let text = |i: usize| match i % 4 {
        0 => String::new(),
        1 => format!("a \"text\", with é and more {i}"),
        2 => "line\nbreak".into(),
        _ => i.to_string(),
    };
    let ints = (0..rows).map(|i| some(i).then_some(i as i64 * 1_000_003)).collect::<Int64Array>();
    let floats = (0..rows).map(|i| some(i).then_some(i as f64 * 0.37)).collect::<Float64Array>();
    let texts = (0..rows).map(|i| some(i).then(|| text(i))).collect::<StringViewArray>();
    let words = (0..rows).map(|i| Some(format!("word {} of a few", i % 3))).collect::<StringViewArray>();
    let dates = (0..rows).map(|i| some(i).then_some(i as i32 * 17)).collect::<Date32Array>();
    let flags = (0..rows).map(|i| some(i).then_some(i % 2 == 0)).collect::<BooleanArray>();
    let money = (0..rows).map(|i| some(i).then_some(i as i128 * 12345)).collect::<Decimal128Array>();
    let bytes = (0..rows).map(|i| some(i).then(|| vec![i as u8; i % 20])).collect::<BinaryViewArray>();
    RecordBatch::try_from_iter_with_nullable([
        ("int", Arc::new(ints) as ArrayRef, true),
        ("float", Arc::new(floats), true),
        ("text", Arc::new(texts), true),
        ("word", Arc::new(words), true),
        ("date", Arc::new(dates), true),
        ("flag", Arc::new(flags), true),
        ("money", Arc::new(money.with_precision_and_scale(20, 2).unwrap()), true),
        ("bytes", Arc::new(bytes), true),
    ])
    .unwrap()
}

/// The bytes of a file that palais writes.
fn written(encoding: &str, compression: &str, batch: &RecordBatch) -> Vec<u8> {
    let options = FormatOptions {
        encoding: encoding.into(),
        compression: compression.into(),
        header: true,
        ..FormatOptions::default()
    };
    let encoder = format(encoding).unwrap().encoder(&batch.schema(), &options).unwrap();
    let mut assembler = encoder.assembler().unwrap();
    let mut out = Vec::new();
    assembler.begin(&mut out).unwrap();
    let half = batch.num_rows() / 2;
    for piece in [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)] {
        assembler.append(encoder.encode(&[piece]).unwrap(), &mut out).unwrap();
    }
    assembler.finish(&mut out).unwrap();
    out
}

/// Parquet as other tools write it: pages of the second version, encodings that palais does not choose.
fn foreign_parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(compression)
        .set_column_dictionary_enabled("int".into(), false)
        .set_column_encoding("int".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled("float".into(), false)
        .set_column_encoding("float".into(), Encoding::BYTE_STREAM_SPLIT)
        .set_data_page_row_count_limit(20)
        .set_write_batch_size(20)
        .build();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    out
}

/// A stream with a dictionary.
fn stream(rows: usize) -> Vec<u8> {
    let words =
        (0..rows).map(|i| Some(["one", "two", "three"][i % 3])).collect::<DictionaryArray<Int8Type>>();
    let numbers = Int32Array::from_iter_values(0..rows as i32);
    let batch = RecordBatch::try_from_iter([
        ("word", Arc::new(words) as ArrayRef),
        ("number", Arc::new(numbers) as ArrayRef),
    ]);
    let batch = batch.unwrap();
    let mut out = Vec::new();
    let mut writer = StreamWriter::try_new(&mut out, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    out
}

/// Opens a file as a user does and reads all of it, up to a bound; the rows, or the error.
fn read(path: &Path, on_error: OnError) -> formats::Result<usize> {
    let options = OpenOptions { on_error, max_record: 1 << 20, ..OpenOptions::default() };
    let table = open(path.to_str().unwrap(), "t", &options)?;
    let Source::Files(set) = &table.source else { panic!("a file is a table of files") };
    let encoding = format(&set.format.encoding)?;
    let scan = ScanOptions {
        schema: Arc::new(Schema::new(table.schema.fields().clone())),
        projection: (0..table.schema.fields().len()).collect(),
        bounds: vec![],
        prefixes: vec![],
        unseen: schema::DeferredValidation::Nothing,
        batch_rows: 64,
        format: set.format.clone(),
    };
    let bytes = std::fs::read(path).unwrap();
    let cut = |cut| -> formats::Result<usize> {
        let file = Arc::new(FileEntry { cut, ..set.files[0].clone() });
        let mut rows = 0;
        for morsel in encoding.split(&file, &scan, 1000)? {
            let mut next = Some(morsel).filter(|morsel| !morsel.is_over());
            while let Some(morsel) = next {
                rows += drive(encoding.reader(&morsel, &scan)?, &bytes)?;
                next = morsel.next();
            }
        }
        Ok(rows)
    };
    // A sample: to read each file in three ways takes three times as long.
    if !encoding.compresses_inside() && crc32fast::hash(&bytes).is_multiple_of(8) {
        // How a file is cut is not damaged with it, but these may meet any bytes too.
        for other in [Splitting::Sequential, Splitting::Units] {
            if set.format.compression != "none" || other == Splitting::Sequential {
                let _ = cut(other);
            }
        }
    }
    cut(Splitting::Anywhere)
}

fn drive(mut reader: Box<dyn FileReader>, bytes: &[u8]) -> formats::Result<usize> {
    let mut rows = 0;
    for _ in 0..BATCHES {
        match reader.next()? {
            Next::Batch(batch) => {
                rows += batch.num_rows();
                batch.columns().iter().for_each(|c| c.to_data().validate_full().unwrap());
            }
            Next::Done => return Ok(rows),
            Next::Wait => panic!("morsels that are read in order never wait"),
            Next::Need(ranges) => {
                for range in ranges {
                    let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(bytes.len());
                    let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
                    reader.give(range, bytes::Bytes::copy_from_slice(&bytes[start..end]))?;
                }
            }
        }
    }
    // A forged count of rows of which no column is stored: a query would go on, within its memory.
    Ok(rows)
}

/// A reproducible stream of numbers (PCG's multiplier and increment).
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) as usize
}

/// Changes a golden file in many ways. Of formats that notice every cut, a cut must be an error.
fn attack(name: &'static str, golden: &[u8], notices_cuts: bool) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    let attempt = |change: &'static str, at: usize, bytes: &[u8], on_error| {
        CASE.set((name, change, at));
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).unwrap();
        let result = read(&path, on_error);
        if let Err(error) = &result {
            let text = error.to_string();
            assert!(!text.is_empty() && text.len() < 2000, "{name}, {change} {at}: {text}");
        }
        result
    };
    let whole = attempt("whole", 0, golden, OnError::Fail).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(whole > 0, "{name}");
    for end in (0..golden.len()).step_by(golden.len().div_ceil(150)) {
        let cut = attempt("cut at", end, &golden[..end], OnError::Fail);
        match cut {
            Ok(rows) if notices_cuts => panic!("{name} cut at {end} was read as {rows} rows"),
            Ok(rows) => assert!(rows <= whole, "{name} cut at {end}: {rows} rows of {whole}"),
            Err(_) => {}
        }
    }
    let ways = [OnError::Fail, OnError::Null, OnError::Skip];
    let mut state = 7;
    for at in (0..golden.len()).step_by(golden.len().div_ceil(400)) {
        let mut bytes = golden.to_vec();
        bytes[at] ^= 1 << (next(&mut state) % 8);
        let _ = attempt("flipped", at, &bytes, ways[at % 3]);
        bytes[at] = [0, 0x7f, 0x80, 0xff, b'"', b'\n', b','][next(&mut state) % 7];
        let _ = attempt("set", at, &bytes, ways[at % 3]);
    }
    for round in 0..200 {
        let mut bytes = golden.to_vec();
        let (from, to) = (next(&mut state) % bytes.len(), next(&mut state) % bytes.len());
        let length = (next(&mut state) % 64).min(bytes.len() - from.max(to));
        match round % 3 {
            0 => bytes.copy_within(from..from + length, to),
            1 => drop(bytes.drain(from..from + length)),
            _ => {
                let piece = bytes[from..from + length].to_vec();
                bytes.splice(to..to, piece);
            }
        }
        let _ = attempt("moved", round, &bytes, ways[round % 3]);
    }
    let most = LARGEST.load(Ordering::Relaxed);
    assert!(most <= MOST, "{name}: {most} bytes were asked for at once");
}

/// Panics that `formats` catches are errors already; the rest is printed.
fn quiet() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !formats::panics::is_caught(info) {
            print(info);
        }
    }));
}

#[test]
fn damaged_files_of_every_format() {
    quiet();
    let batch = table(200);
    for (name, encoding, compression) in [
        ("a.csv", "csv", "none"),
        ("a.jsonl", "jsonl", "none"),
        ("a.csv.snappy", "csv", "snappy"),
        ("a.csv.gz", "csv", "gzip"),
        ("a.csv.zlib", "csv", "zlib"),
        ("a.jsonl.lz4", "jsonl", "lz4"),
        ("a.jsonl.zst", "jsonl", "zstd"),
    ] {
        // A file of several frames may be cut between two; one in which each cut shows is tested elsewhere.
        attack(name, &written(encoding, compression, &batch), false);
    }
    attack("a.txt", &written("text", "none", &batch.project(&[3]).unwrap()), false);
    for compression in ["none", "lz4", "zstd"] {
        attack("a.arrow", &written("arrow", compression, &batch), true);
    }
    attack("a.arrows", &stream(100), false);
    for compression in ["none", "snappy", "lz4", "gzip", "zlib", "zstd"] {
        attack("a.buren", &written("buren", compression, &batch), true);
    }
    for compression in ["none", "snappy", "gzip", "lz4", "zstd"] {
        attack("a.parquet", &written("parquet", compression, &batch), true);
    }
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())]
    {
        attack("b.parquet", &foreign_parquet(&batch, compression), true);
    }
}
