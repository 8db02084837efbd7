//! Writes blocks to files. A new file begins when the one before has ended or is large enough.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use formats::writer::{Block, FileAssembler, FileEncoder};
use schema::manifest::{BlockChecksum, BlockStart, PartFile};

/// The settings that the sinks of one dataset share.
pub struct PartSettings {
    /// The directory of the files.
    pub directory: std::path::PathBuf,
    /// The suffix of their names: `csv.gz`.
    pub suffix: String,
    /// Whether the manifest says where blocks begin. It doesn't for formats whose footer says that.
    pub offsets: bool,
    /// The encoder of their blocks.
    pub encoder: Arc<dyn FileEncoder>,
    /// The bytes at which a file of a dataset ends.
    pub part_bytes: u64,
    /// The number of the next file.
    pub next: AtomicUsize,
    /// The difference between the numbers of two files.
    pub step: usize,
}

/// An encoded piece of work, see [`super::block_builder::Built`].
pub enum Encoded {
    /// Blocks of the open file.
    Blocks(Vec<Block>),
    /// The file has no more blocks.
    EndOfFile,
}

/// Writes blocks into files, one after another.
pub struct Sink<'a> {
    place: &'a PartSettings,
    /// The file, if only one is written.
    single: Option<File>,
    /// Whether a file without rows is left out.
    skip_empty: bool,
    open: Option<Open>,
    /// The thread that syncs the last complete file, while the next one is written.
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
    /// The bytes of the complete blocks before compression.
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

    /// Notes the size and the checksum of the last block.
    fn end_block(&mut self) {
        let crc = self.out.end_run();
        let raw = self.assembler.raw() - std::mem::replace(&mut self.raw, self.assembler.raw());
        if let Some(block) = self.blocks.last_mut() {
            block.content = Some(BlockChecksum { raw, crc32: crc });
        }
    }
}

impl<'a> Sink<'a> {
    /// A sink that writes into `single`, or into new files in the directory of `place`.
    pub fn new(place: &'a PartSettings, single: Option<File>, skip_empty: bool) -> Sink<'a> {
        Sink { place, single, skip_empty, open: None, syncing: None, written: Vec::new() }
    }

    /// Writes the next piece.
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

    /// Gives the files, once the last one lies on disk.
    pub fn finish(mut self) -> formats::Result<Vec<(usize, PartFile)>> {
        self.wait_for_sync()?;
        Ok(std::mem::take(&mut self.written))
    }

    fn opened(&mut self) -> formats::Result<Open> {
        self.open.take().map_or_else(|| self.begin(), Ok)
    }

    fn begin(&mut self) -> formats::Result<Open> {
        let number = self.place.next.fetch_add(self.place.step, Ordering::Relaxed);
        // Names of five digits sort as numbers up to 100,000 files. Names of more files have more digits. A dataset is
        // read in the order of its manifest.
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

    /// Waits until the file that is being synced lies on disk, if there is one.
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

/// Brings a file to disk. A pipe or a device can't be synced, and needs no sync.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(e) if e.kind() == ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// A file that counts its bytes and computes their checksum.
struct Counted {
    file: BufWriter<File>,
    bytes: u64,
    /// The checksum of the runs of bytes that have ended. `crc` is the checksum of the current run.
    before: crc32fast::Hasher,
    crc: crc32fast::Hasher,
}

impl Counted {
    /// Ends a run of bytes, and gives its checksum.
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
