//! Spilling: rows that do not fit in memory lie on disk for a while.
//!
//! The file has no name, so that it is gone when the process ends, in whatever way. It lies in the directory that
//! `TMPDIR` names, or else in `/var/tmp`. Each batch is encoded by [`crate::distributed::wire`]. Its checksum is kept
//! in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use formats::store::atomic::temporary_directory;

use crate::context::memory::account;
use crate::distributed::wire;
use crate::error::{Error, Result};

/// The bytes that are collected before they are written to the file. A larger batch is written at once.
const TOGETHER: usize = 1 << 20;

/// A file with batches on disk.
#[derive(Debug)]
pub struct Spill {
    file: File,
    /// The bytes that were written so far.
    end: u64,
    buffer: Vec<u8>,
}

/// The place of a batch in the file, with its checksum.
#[derive(Debug)]
pub struct Spilled {
    at: u64,
    bytes: usize,
    checksum: u32,
}

impl Spilled {
    /// The bytes that the batch takes on disk.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}

impl Spill {
    /// Makes a file. `None` if the system can't make one. The reason is noted for the error when memory runs out.
    pub fn begin() -> Option<Spill> {
        let directory = temporary_directory();
        match tempfile::tempfile_in(&directory) {
            Ok(file) => Some(Spill { file, end: 0, buffer: Vec::new() }),
            Err(e) => {
                account::refuse(|| format!("{}: {e}", directory.display()));
                None
            }
        }
    }

    /// Writes batches one behind another. Gives the place of each batch, in their order.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn write(&mut self, batches: &[RecordBatch]) -> Result<Vec<Spilled>> {
        self.buffer.clear();
        let mut written = Vec::with_capacity(batches.len());
        for batch in batches {
            let from = self.buffer.len();
            wire::write(batch, &mut self.buffer)?;
            let bytes = &self.buffer[from..];
            let (at, checksum) = (self.end + from as u64, crc32fast::hash(bytes));
            written.push(Spilled { at, bytes: bytes.len(), checksum });
            if self.buffer.len() >= TOGETHER {
                self.flush()?;
            }
        }
        self.flush()?;
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all_at(&self.buffer, self.end).map_err(|e| failed("put there", &e))?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Reads a batch of `schema` back.
    ///
    /// # Errors
    /// The disk fails, or gives other bytes than were written.
    pub fn read(&self, spilled: &Spilled, schema: &SchemaRef) -> Result<RecordBatch> {
        let mut bytes = vec![0; spilled.bytes];
        self.file.read_exact_at(&mut bytes, spilled.at).map_err(|e| failed("read back", &e))?;
        if crc32fast::hash(&bytes) != spilled.checksum {
            return Err(failed(
                "read back",
                &io::Error::other("the disk gives other bytes than were written"),
            ));
        }
        wire::decode(&bytes, schema)
    }

    /// The bytes that were written so far.
    pub fn bytes(&self) -> u64 {
        self.end
    }
}

fn failed(what: &str, e: &io::Error) -> Error {
    let message = format!("what does not fit --memory-limit cannot be {what}: {e}");
    let help = "set TMPDIR to a directory of a disk with more room, or raise --memory-limit";
    formats::Error::location(temporary_directory().display(), message, Some(help.to_string())).into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringViewArray, UInt64Array};

    use super::*;

    #[test]
    fn batches_come_back_and_damaged_ones_do_not() {
        let batch = |rows: u64| {
            let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..rows));
            let texts = (0..rows).map(|row| (row % 3 > 0).then(|| "text ".repeat(row as usize)));
            let texts: ArrayRef = Arc::new(texts.collect::<StringViewArray>());
            RecordBatch::try_from_iter_with_nullable([("n", numbers, false), ("t", texts, true)]).unwrap()
        };
        let mut spill = Spill::begin().unwrap();
        let batches = [batch(7), batch(0), batch(100)];
        let mut spilled = spill.write(&batches).unwrap();
        spilled.extend(spill.write(&batches[..1]).unwrap());
        let schema = batches[0].schema();
        for (place, batch) in [(3, 0), (2, 2), (1, 1), (0, 0)] {
            assert_eq!(spill.read(&spilled[place], &schema).unwrap(), batches[batch]);
        }
        assert_eq!(spill.bytes(), spilled.iter().map(|s| s.bytes as u64).sum::<u64>());
        spill.file.write_all_at(b"!", spilled[2].at + 9).unwrap();
        let error = spill.read(&spilled[2], &schema).unwrap_err().to_string();
        assert!(error.contains("other bytes than were written") && error.contains("TMPDIR"), "{error}");
        spill.file.set_len(spilled[3].at + 1).unwrap();
        assert!(spill.read(&spilled[3], &schema).is_err());
    }
}
