//! What the tests of this package share: reading and writing in memory and in temporary files, and a generator.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use formats::compress::compression;
use formats::format::{Morsel, ScanOptions};
use formats::reader::{Next, Skipped};
use formats::registry::format;
use formats::{Error, Result};
use schema::{FileEntry, FormatOptions};

/// A file that is removed when the test ends.
pub struct TempFile(pub PathBuf);

impl TempFile {
    pub fn new(bytes: &[u8]) -> TempFile {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("formats-test-{}-{number}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        TempFile(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A small deterministic generator (PCG's multiplier and increment).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

pub fn options(encoding: &str) -> FormatOptions {
    FormatOptions { encoding: encoding.into(), ..FormatOptions::default() }
}

pub fn fields(fields: &[(&str, DataType)]) -> SchemaRef {
    Arc::new(Schema::new(fields.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect::<Vec<_>>()))
}

pub fn scan(schema: &SchemaRef, format: &FormatOptions) -> ScanOptions {
    ScanOptions {
        schema: schema.clone(),
        projection: (0..schema.fields().len()).collect(),
        bounds: Vec::new(),
        prefixes: vec![],
        unseen: schema::DeferredValidation::Nothing,
        batch_rows: 1000,
        format: format.clone(),
    }
}

pub fn entry(bytes: &[u8]) -> Arc<FileEntry> {
    Arc::new(FileEntry::new("memory", bytes.len() as u64, 0))
}

/// Reads these morsels of a file in memory, one after another.
pub fn read_morsels(
    bytes: &[u8],
    morsels: &[Morsel],
    scan: &ScanOptions,
) -> Result<(Vec<RecordBatch>, Skipped)> {
    let format = format(&scan.format.encoding)?;
    let mut batches = Vec::new();
    let mut skipped = Skipped::default();
    for morsel in morsels {
        let mut reader = format.reader(morsel, scan)?;
        loop {
            match reader.next()? {
                Next::Batch(batch) => batches.push(batch),
                Next::Done => break,
                Next::Wait => panic!("morsels read in order never wait"),
                Next::Need(ranges) => {
                    for range in ranges {
                        let end = (range.end as usize).min(bytes.len());
                        let start = (range.start as usize).min(end);
                        reader.give(range, Bytes::copy_from_slice(&bytes[start..end]))?;
                    }
                }
            }
        }
        let some = reader.skipped();
        skipped.add(&some);
    }
    Ok((batches, skipped))
}

/// Reads a file in memory as one piece.
pub fn read_whole(bytes: &[u8], scan: &ScanOptions) -> Result<(Vec<RecordBatch>, Skipped)> {
    read_morsels(bytes, &formats::rows::split::whole(&entry(bytes)), scan)
}

pub fn concat(schema: &SchemaRef, batches: &[RecordBatch]) -> RecordBatch {
    let schema = batches.first().map_or(schema.clone(), |b| b.schema());
    concat_batches(&schema, batches).unwrap()
}

/// Writes batches as one file, each as a block.
pub fn write(schema: &SchemaRef, batches: &[RecordBatch], options: &FormatOptions) -> Result<Vec<u8>> {
    let encoder = format(&options.encoding)?.encoder(schema, options)?;
    let mut assembler = encoder.assembler()?;
    let mut out = Vec::new();
    assembler.begin(&mut out)?;
    for batch in batches {
        assembler.append(encoder.encode(std::slice::from_ref(batch))?, &mut out)?;
    }
    assembler.finish(&mut out)?;
    Ok(out)
}

pub fn message(result: Result<impl Sized>) -> String {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(Error::Data(e)) => e.to_string(),
        Err(e) => e.to_string(),
    }
}

/// A file of these pieces, each compressed on its own.
pub fn units(name: &str, pieces: &[&[u8]]) -> Vec<u8> {
    let compression = compression(name).unwrap();
    let mut container = compression.container();
    let mut out = Vec::new();
    container.begin(&mut out).unwrap();
    for piece in pieces {
        let piece = compression.compress(piece.to_vec()).unwrap();
        container.append(&piece.bytes, &piece.about, &mut out).unwrap();
    }
    container.finish(&mut out).unwrap();
    out
}
