//! Blocks to files: the next one is begun when one has ended or is large enough.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use formats::writer::{Block, FileAssembler, FileEncoder};
use schema::manifest::{BlockContent, BlockStart, PartFile};

/// What the sinks of one dataset share.
pub struct PartSettings {
    /// Where files are made.
    pub directory: std::path::PathBuf,
    /// The suffix of their names: `csv.gz`.
    pub suffix: String,
    /// Whether the manifest tells where blocks begin: not of formats that have a footer for that.
    pub offsets: bool,
    /// The encoder of their blocks.
    pub encoder: Arc<dyn FileEncoder>,
    /// A file that has so many bytes is ended, if a dataset is written.
    pub part_bytes: u64,
    /// The number of the next file.
    pub next: AtomicUsize,
    /// What the numbers of two files differ by.
    pub step: usize,
}

/// An encoded piece of work.
pub enum Encoded {
    /// Go into the file that is open.
    Blocks(Vec<Block>),
    /// The file has no more blocks.
    EndOfFile,
}

/// Writes blocks into files, one after another.
pub struct Sink<'a> {
    place: &'a PartSettings,
    /// The file to be written, if it is only one.
    single: Option<File>,
    /// Whether a file without rows is left out.
    skip_empty: bool,
    open: Option<Open>,
    /// Syncs the file before, while the next one is written.
    syncing: Option<JoinHandle<io::Result<()>>>,
    /// The files that were written, each with its number.
    written: Vec<(usize, PartFile)>,
}

/// The file that is being written.
struct Open {
    number: usize,
    name: String,
    assembler: Box<dyn FileAssembler>,
    out: Counted,
    rows: u64,
    /// The bytes before compression of the blocks that have ended.
    raw: u64,
    blocks: Vec<BlockStart>,
}

impl Open {
    /// Writes a block, and notes where it begins if `listed`.
    fn append(&mut self, block: Block, listed: bool) -> formats::Result<()> {
        let rows = block.rows;
        if listed {
            if !self.blocks.is_empty() {
                self.end_block();
            }
            self.blocks.push(BlockStart { offset: self.out.bytes, rows, content: None });
        }
        self.rows += rows;
        self.assembler.append(block, &mut self.out)
    }

    /// Notes what the last block holds.
    fn end_block(&mut self) {
        let crc = self.out.end_run();
        let raw = self.assembler.raw() - std::mem::replace(&mut self.raw, self.assembler.raw());
        if let Some(block) = self.blocks.last_mut() {
            block.content = Some(BlockContent { raw, crc32: crc });
        }
    }
}

impl<'a> Sink<'a> {
    /// Writes into `single`, or into files of its own in the directory of `place`.
    pub fn new(place: &'a PartSettings, single: Option<File>, skip_empty: bool) -> Sink<'a> {
        Sink { place, single, skip_empty, open: None, syncing: None, written: Vec::new() }
    }

    /// Takes the next piece.
    pub fn put(&mut self, encoded: Encoded) -> formats::Result<()> {
        let blocks = match encoded {
            Encoded::Blocks(blocks) => blocks,
            Encoded::EndOfFile if self.open.is_none() && self.skip_empty => return Ok(()),
            Encoded::EndOfFile => return self.end(),
        };
        let mut open = self.opened()?;
        for block in blocks {
            open.append(block, self.place.offsets)?;
        }
        let full = open.out.bytes >= self.place.part_bytes;
        self.open = Some(open);
        if full {
            self.end()?;
            self.skip_empty = true;
        }
        Ok(())
    }

    /// The files, when the last one lies on disk.
    pub fn finish(mut self) -> formats::Result<Vec<(usize, PartFile)>> {
        self.wait_for_sync()?;
        Ok(std::mem::take(&mut self.written))
    }

    fn opened(&mut self) -> formats::Result<Open> {
        self.open.take().map_or_else(|| self.begin(), Ok)
    }

    fn begin(&mut self) -> formats::Result<Open> {
        let number = self.place.next.fetch_add(self.place.step, Ordering::Relaxed);
        // Five digits, and more where there are more files, sort as numbers do up to 100,000 files; a dataset is read
        // in the order of its manifest.
        let name = format!("part-{number:05}.{}", self.place.suffix);
        let file = match self.single.take() {
            Some(file) => file,
            None => create(&self.place.directory, &name)?,
        };
        let crc = crc32fast::Hasher::new();
        let mut out = Counted { file: BufWriter::new(file), bytes: 0, before: crc.clone(), crc };
        let mut assembler = self.place.encoder.assembler()?;
        assembler.begin(&mut out)?;
        Ok(Open { number, name, assembler, out, rows: 0, raw: 0, blocks: Vec::new() })
    }

    fn end(&mut self) -> formats::Result<()> {
        let mut open = self.opened()?;
        open.assembler.finish(&mut open.out)?;
        open.end_block();
        let file = open.out.file.into_inner().map_err(|e| io("write", e.into_error()))?;
        self.wait_for_sync()?;
        let spawned = std::thread::Builder::new().name("palais-sync".into()).spawn(move || sync(&file));
        self.syncing = Some(spawned.map_err(|e| io("start a thread to sync", e))?);
        let part = PartFile {
            name: open.name,
            rows: open.rows,
            bytes: open.out.bytes,
            crc32: open.out.before.finalize(),
            blocks: open.blocks,
        };
        self.written.push((open.number, part));
        Ok(())
    }

    /// Waits until the file that is being synced, if there is one, lies on disk.
    fn wait_for_sync(&mut self) -> formats::Result<()> {
        let Some(thread) = self.syncing.take() else { return Ok(()) };
        let synced =
            thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs panicked")));
        synced.map_err(|e| io("sync", e))
    }
}

fn io(action: &'static str, source: io::Error) -> formats::Error {
    formats::Error::io("", action, source)
}

fn create(directory: &Path, name: &str) -> formats::Result<File> {
    File::create_new(directory.join(name)).map_err(|e| io("create a file in", e))
}

/// Brings a file to disk. What can't be synced (a pipe, a device) needs it not.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(e) if e.kind() == ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// A file that counts and sums up its bytes.
struct Counted {
    file: BufWriter<File>,
    bytes: u64,
    /// The checksum of the runs of bytes that have ended, and that of the one that has not.
    before: crc32fast::Hasher,
    crc: crc32fast::Hasher,
}

impl Counted {
    /// Ends a run of bytes; gives its checksum.
    fn end_run(&mut self) -> u32 {
        let run = std::mem::take(&mut self.crc);
        self.before.combine(&run);
        run.finalize()
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.crc.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
