//! How a [`RowReader`] begins with a file: what stands before its records, and whether they are like those of others.

use std::path::PathBuf;

use super::blocks::{Blocks, Refill, Unpacking};
use super::reader::{BYTE_ORDER_MARK, Phase, RowReader};
use super::rewrite;
use super::schema_probe::Like;
use super::split::Border;
use crate::error::{Error, Result};
use crate::reader::Next;

impl RowReader {
    /// Passes a byte order mark at the beginning of the data.
    pub(super) fn mark(&mut self) -> Result<Option<Next>> {
        let (first, last) = self.blocks.rest();
        if first.len() >= BYTE_ORDER_MARK.len() || last {
            if first.starts_with(BYTE_ORDER_MARK) {
                self.blocks.pass(BYTE_ORDER_MARK.len());
            }
            self.phase = Phase::Compare { ended: false };
            return Ok(None);
        }
        self.more(Phase::Compare { ended: false })
    }

    /// Looks whether the first records are like those of other files, if that is to be known.
    pub(super) fn compare(&mut self, ended: bool) -> Result<Option<Next>> {
        let (first, last) = self.blocks.rest();
        let last = last || ended;
        let like = match &mut self.probe {
            Some(alike) if !first.is_empty() => alike.look(first, last),
            Some(_) if !last => Like::Short,
            _ => Like::Same,
        };
        match like {
            Like::Same => {
                self.phase = Phase::Read;
                Ok(None)
            }
            Like::Short if !last => self.more(Phase::Compare { ended: true }),
            Like::Short | Like::Unsure => Err(Error::Unlike { path: PathBuf::new() }),
        }
    }

    /// More bytes of the file's beginning; another phase if there are none.
    fn more(&mut self, ended: Phase) -> Result<Option<Next>> {
        match self.blocks.refill()? {
            Refill::Need(range) => Ok(Some(Next::Need(vec![range]))),
            Refill::Ready => Ok(None),
            // What becomes of such a record is told when all files are looked at.
            Refill::TooLong if self.probe.is_some() => Err(Error::Unlike { path: PathBuf::new() }),
            Refill::TooLong => Err(self.too_long()),
            Refill::Ended => {
                // Rows of files before this one may have to be flushed.
                self.phase = ended;
                Ok(None)
            }
        }
    }

    /// Begins with the file that follows; false if there is none.
    pub(super) fn begin_next(&mut self) -> Result<bool> {
        let Some((source, size)) = self.next.take() else { return Ok(false) };
        let Some((_, scan, border)) = &self.again else { return Ok(false) };
        let decompressor = rewrite::decompressor(&scan.format)?;
        let unpacking = decompressor.map_or(Unpacking::Plain, Unpacking::Stream);
        self.phase = if *border == Border::Unmarked { Phase::Read } else { Phase::Mark };
        self.blocks = Blocks::new(source, 0, unpacking, self.max_record);
        self.size = size;
        self.followed += 1;
        self.decoder.restart();
        Ok(true)
    }
}
