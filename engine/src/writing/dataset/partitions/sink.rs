//! Writes blocks to the files of partitions.
//!
//! The sink opens a file for each write of blocks, and closes it after that. So one file is open, however many
//! partitions there are. The sink keeps what a file needs for its footer until the file ends.
//!
//! A file ends when it is large enough, or after the last row. Files also end when all unfinished files keep more than
//! they may: then those that keep most end first. Later rows of their partitions go into new files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};

use formats::writer::{Block, FileAssembler};
use schema::manifest::PartFile;

use super::super::sink::PartSettings;
use super::Partition;

/// Writes blocks into the files of partitions.
pub struct PartitionSink<'a> {
    place: &'a PartSettings,
    columns: usize,
    /// The most column chunks that unfinished files keep.
    bound: usize,
    kept: usize,
    /// The unfinished files by the number of their partition. The order follows from the rows.
    unfinished: BTreeMap<usize, Unfinished>,
    /// The number of files of each partition that has one.
    files: BTreeMap<usize, usize>,
    written: Vec<(usize, PartFile)>,
}

/// A file that may get more blocks.
struct Unfinished {
    /// Its path below the tree.
    name: String,
    assembler: Box<dyn FileAssembler>,
    rows: u64,
    bytes: u64,
    crc: crc32fast::Hasher,
    /// The number of column chunks that the file keeps. The file itself counts as one chunk of each column.
    kept: usize,
}

impl<'a> PartitionSink<'a> {
    /// A sink for files of `columns` columns below the directory of `place`. Unfinished files keep `bound` column
    /// chunks at most.
    pub fn new(place: &'a PartSettings, columns: usize, bound: usize) -> PartitionSink<'a> {
        PartitionSink {
            place,
            columns,
            bound,
            kept: 0,
            unfinished: BTreeMap::new(),
            files: BTreeMap::new(),
            written: Vec::new(),
        }
    }

    /// Appends blocks to the file of a partition.
    pub fn put(&mut self, partition: &Partition, blocks: Vec<Block>) -> formats::Result<()> {
        let known = self.unfinished.remove(&partition.number);
        let (mut file, mut out) = match known {
            Some(file) => {
                let out = File::options().append(true).open(self.place.directory.join(&file.name));
                let out = out.map_err(|e| io("open a file in", e))?;
                (file, BufWriter::new(out))
            }
            None => self.begin(partition)?,
        };
        for block in blocks {
            file.kept += self.columns;
            self.kept += self.columns;
            file.append(block, &mut out)?;
        }
        out.into_inner().map_err(|e| io("write", e.into_error()))?;
        if file.bytes >= self.place.part_bytes {
            return self.end(file);
        }
        self.unfinished.insert(partition.number, file);
        if self.kept > self.bound { self.end_largest() } else { Ok(()) }
    }

    /// Ends all files, and gives each with its number. They are not synced.
    pub fn finish(mut self) -> formats::Result<Vec<(usize, PartFile)>> {
        while let Some((_, file)) = self.unfinished.pop_first() {
            self.end(file)?;
        }
        Ok(self.written)
    }

    fn begin(&mut self, partition: &Partition) -> formats::Result<(Unfinished, BufWriter<File>)> {
        let number = self.files.entry(partition.number).or_insert(0);
        let directory = self.place.directory.join(&partition.directory);
        if *number == 0 {
            fs::create_dir_all(directory).map_err(|e| io("create a directory in", e))?;
        }
        let name = format!("{}/part-{number:05}.{}", partition.directory, self.place.suffix);
        *number += 1;
        let out = File::create_new(self.place.directory.join(&name));
        let mut out = BufWriter::new(out.map_err(|e| io("create a file in", e))?);
        let assembler = self.place.encoder.assembler()?;
        let crc = crc32fast::Hasher::new();
        let mut file = Unfinished { name, assembler, rows: 0, bytes: 0, crc, kept: self.columns };
        self.kept += self.columns;
        let Unfinished { assembler, bytes, crc, .. } = &mut file;
        assembler.begin(&mut Counted { out: &mut out, bytes, crc })?;
        Ok((file, out))
    }

    /// Ends the files that keep most, until at most half of `bound` is kept.
    fn end_largest(&mut self) -> formats::Result<()> {
        let mut order: Vec<(usize, usize)> =
            self.unfinished.iter().map(|(number, file)| (file.kept, *number)).collect();
        order.sort_by_key(|&(kept, number)| (std::cmp::Reverse(kept), number));
        for (_, number) in order {
            if self.kept <= self.bound / 2 {
                break;
            }
            if let Some(file) = self.unfinished.remove(&number) {
                self.end(file)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, mut file: Unfinished) -> formats::Result<()> {
        let out = File::options().append(true).open(self.place.directory.join(&file.name));
        let mut out = BufWriter::new(out.map_err(|e| io("open a file in", e))?);
        let Unfinished { assembler, bytes, crc, .. } = &mut file;
        assembler.finish(&mut Counted { out: &mut out, bytes, crc })?;
        out.into_inner().map_err(|e| io("write", e.into_error()))?;
        self.kept -= file.kept;
        let Unfinished { name, rows, bytes, crc, .. } = file;
        let part = PartFile { name, rows, bytes, crc32: crc.finalize(), blocks: Vec::new() };
        self.written.push((self.written.len(), part));
        Ok(())
    }
}

impl Unfinished {
    fn append(&mut self, block: Block, out: &mut BufWriter<File>) -> formats::Result<()> {
        self.rows += block.rows;
        let Unfinished { assembler, bytes, crc, .. } = self;
        assembler.append(block, &mut Counted { out, bytes, crc })
    }
}

fn io(action: &'static str, source: io::Error) -> formats::Error {
    formats::Error::io("", action, source)
}

/// A file that counts its bytes and computes their checksum.
struct Counted<'a> {
    out: &'a mut BufWriter<File>,
    bytes: &'a mut u64,
    crc: &'a mut crc32fast::Hasher,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.crc.update(&bytes[..n]);
        *self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
