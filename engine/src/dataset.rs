//! Rows to the files of a dataset, or to one file: cut into blocks, encoded in parallel, written in order.
//!
//! The bytes follow from the rows and the options alone, not from the number of workers: each file is cut into blocks
//! of exactly the rows that its format asks for, and only the last block of a file has fewer.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use formats::compress::compression;
use formats::format::{Format, format};
use formats::writer::{Block, FileAssembler, FileEncoder};
use schema::manifest::{BlockStart, Manifest, PartFile};
use schema::{FormatOptions, OnError};

use crate::aside::Aside;
use crate::error::Result;
use crate::ordered::{self, Dealer, Limits, Piece, Reader, Stages};
use crate::state::QueryState;

/// Where rows are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// One file.
    File(PathBuf),
    /// A directory with part files and a manifest.
    Dataset(PathBuf),
}

/// How rows are written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The format.
    pub format: FormatOptions,
    /// Threads.
    pub workers: usize,
    /// Whether a file or dataset that is there is replaced.
    pub overwrite: bool,
}

/// The rows to be written, as lanes in their order; see [`crate::ordered`].
pub struct Rows<'a, L> {
    /// The name of the table, for the manifest.
    pub table: Option<String>,
    /// The columns.
    pub schema: SchemaRef,
    /// How many files there are, empty ones included.
    pub files: usize,
    /// Gives the lanes.
    pub deal: Dealer<'a, L>,
    /// Gives batches, each with the number of the file that it belongs to, ascending from lane to lane.
    pub read: Reader<'a, L, (usize, RecordBatch)>,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Files.
    pub files: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

/// Writes rows. The destination appears when everything is written and synced; after an error or a cancel there is
/// nothing.
pub fn write<L: Send>(
    rows: Rows<'_, L>,
    destination: &Destination,
    options: &WriteOptions,
    state: &QueryState,
) -> Result<Written> {
    let Rows { table, schema, files, deal, read } = rows;
    let format = format(&options.format.encoding)?;
    let (path, single) = match destination {
        Destination::File(path) => (path, true),
        Destination::Dataset(path) => (path, false),
    };
    let named = |e: formats::Error| e.at(path);
    let encoder = format.encoder(&schema, &options.format).map_err(named)?;
    let (aside, file) = if single {
        let (aside, file) = Aside::file(path, options.overwrite)?;
        (aside, Some(file))
    } else {
        (Aside::directory(path, options.overwrite)?, None)
    };
    let mut manifest = Manifest::new(table, schema, as_read(format, &options.format), Vec::new());
    if !single {
        // A schema that a manifest can't have is found now and not after hours.
        manifest.print(path).map_err(formats::Error::from)?;
    }
    let mut cutter = Cutter::new(encoder.block_rows(), if single { 1 } else { files });
    let mut sink = Sink {
        directory: aside.path(),
        single: file,
        suffix: suffix(format, &options.format)?,
        offsets: !format.compresses_inside(),
        encoder: &encoder,
        open: None,
        syncing: None,
        written: Vec::new(),
    };
    let stages = Stages {
        deal,
        read,
        weight: |(_, batch)| weight(batch),
        cut: Box::new(|piece, works| {
            match piece {
                Piece::Item((file, batch)) => cutter.add(if single { 0 } else { file }, batch, works),
                Piece::End => cutter.finish(works),
            }
            Ok(())
        }),
        work: Box::new(|work| match work {
            Work::Block(batches) => Ok(Encoded::Block(encoder.encode(&batches).map_err(named)?)),
            Work::EndOfFile => Ok(Encoded::EndOfFile),
        }),
        put: Box::new(|encoded| Ok(sink.put(encoded).map_err(named)?)),
    };
    ordered::run(stages, Limits::new(options.workers), state)?;
    sink.wait_for_sync().map_err(named)?;
    manifest.files = sink.written;
    if !single {
        manifest.write(aside.path()).map_err(formats::Error::from)?;
    }
    aside.commit()?;
    let bytes = manifest.files.iter().map(|file| file.bytes).sum();
    Ok(Written { files: manifest.files.len() as u64, rows: manifest.rows(), bytes })
}

/// How the files are to be read, from how they were written.
fn as_read(format: &dyn Format, options: &FormatOptions) -> FormatOptions {
    let mut read = FormatOptions { on_error: OnError::default(), ..options.clone() };
    if format.compresses_inside() {
        read.compression = "none".into();
    }
    read
}

/// The suffix of the files: `csv.gz`, `parquet`.
fn suffix(format: &dyn Format, options: &FormatOptions) -> Result<String> {
    let encoding = format.extensions().first().copied().unwrap_or(format.name());
    let around = match format.compresses_inside() {
        true => None,
        false => compression(&options.compression)?.extensions().first(),
    };
    Ok(around.map_or(encoding.to_string(), |compression| format!("{encoding}.{compression}")))
}

/// The memory of a batch, about. Buffers that batches of a lane share through views are left out: a lane reads a few
/// MiB of them at a time.
fn weight(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}

/// A piece of work.
enum Work {
    /// To be encoded.
    Block(Vec<RecordBatch>),
    /// The file has no more blocks.
    EndOfFile,
}

/// Its result.
enum Encoded {
    Block(Block),
    EndOfFile,
}

/// Cuts batches into blocks.
struct Cutter {
    block_rows: usize,
    files: usize,
    /// The file that `held` belongs to.
    file: usize,
    held: VecDeque<RecordBatch>,
    held_rows: usize,
}

impl Cutter {
    fn new(block_rows: usize, files: usize) -> Cutter {
        Cutter { block_rows: block_rows.max(1), files, file: 0, held: VecDeque::new(), held_rows: 0 }
    }

    fn add(&mut self, file: usize, batch: RecordBatch, works: &mut Vec<Work>) {
        debug_assert!(self.file <= file && file < self.files, "files ascend");
        while self.file < file {
            self.finish_file(works);
        }
        self.held_rows += batch.num_rows();
        self.held.push_back(batch);
        while self.held_rows >= self.block_rows {
            self.cut(self.block_rows, works);
        }
    }

    fn finish(&mut self, works: &mut Vec<Work>) {
        while self.file < self.files {
            self.finish_file(works);
        }
    }

    fn finish_file(&mut self, works: &mut Vec<Work>) {
        self.cut(self.held_rows, works);
        works.push(Work::EndOfFile);
        self.file += 1;
    }

    fn cut(&mut self, rows: usize, works: &mut Vec<Work>) {
        let mut block = Vec::new();
        let mut missing = rows;
        while missing > 0 {
            let Some(batch) = self.held.pop_front() else { break };
            let taken = batch.num_rows().min(missing);
            if taken < batch.num_rows() {
                self.held.push_front(batch.slice(taken, batch.num_rows() - taken));
            }
            if taken > 0 {
                block.push(batch.slice(0, taken));
            }
            missing -= taken;
        }
        self.held_rows -= rows;
        if rows > 0 {
            works.push(Work::Block(block));
        }
    }
}

/// Writes blocks into files.
struct Sink<'a> {
    directory: &'a Path,
    /// The file to be written, if it is only one.
    single: Option<File>,
    suffix: String,
    /// Whether the manifest tells where blocks begin: not of formats that have a footer for that.
    offsets: bool,
    encoder: &'a Arc<dyn FileEncoder>,
    open: Option<Open>,
    /// Syncs the file before, while the next one is written.
    syncing: Option<JoinHandle<std::io::Result<()>>>,
    written: Vec<PartFile>,
}

/// The file that is being written.
struct Open {
    name: String,
    assembler: Box<dyn FileAssembler>,
    out: Counted,
    rows: u64,
    blocks: Vec<BlockStart>,
}

impl Sink<'_> {
    fn put(&mut self, encoded: Encoded) -> formats::Result<()> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        match encoded {
            Encoded::Block(block) => {
                let rows = block.rows;
                if self.offsets {
                    open.blocks.push(BlockStart { offset: open.out.bytes, rows });
                }
                open.rows += rows;
                open.assembler.append(block, &mut open.out)?;
                self.open = Some(open);
            }
            Encoded::EndOfFile => {
                open.assembler.finish(&mut open.out)?;
                let synced =
                    open.out.file.into_inner().map_err(|e| e.into_error()).and_then(|f| f.sync_all());
                synced.map_err(|e| formats::Error::io("", "write", e))?;
                self.written.push(PartFile {
                    name: open.name,
                    rows: open.rows,
                    bytes: open.out.bytes,
                    crc32: open.out.crc.finalize(),
                    blocks: open.blocks,
                });
            }
        }
        Ok(())
    }

    /// Waits until the file that is being synced, if there is one, lies on disk.
    fn wait_for_sync(&mut self) -> formats::Result<()> {
        let Some(thread) = self.syncing.take() else { return Ok(()) };
        let synced = thread.join().expect("a sync does not panic");
        synced.map_err(|e| formats::Error::io("", "sync", e))
    }

    fn begin(&mut self) -> formats::Result<Open> {
        // Five digits, and more where there are more files, sort as numbers do up to 100,000 files; a dataset is read
        // in the order of its manifest.
        let name = format!("part-{:05}.{}", self.written.len(), self.suffix);
        let file = match self.single.take() {
            Some(file) => file,
            None => {
                let path = self.directory.join(&name);
                File::create_new(path).map_err(|e| formats::Error::io("", "create a file in", e))?
            }
        };
        let mut out = Counted { file: BufWriter::new(file), bytes: 0, crc: crc32fast::Hasher::new() };
        let mut assembler = self.encoder.assembler()?;
        assembler.begin(&mut out)?;
        Ok(Open { name, assembler, out, rows: 0, blocks: Vec::new() })
    }
}

/// A file that counts and sums up its bytes.
struct Counted {
    file: BufWriter<File>,
    bytes: u64,
    crc: crc32fast::Hasher,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.crc.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
