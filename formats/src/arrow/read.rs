//! The reader of a run of record batches of a file. Where no column is wanted, only their metadata is read.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::footer::Footer;
use super::{Slices, message};
use crate::columns::adapt::Adapter;
use crate::columns::guard::guarded;
use crate::columns::tail::cut_short;
use crate::error::Result;
use crate::format::ScanOptions;
use crate::reader::{FileReader, Next};

/// Reads record batches of one file.
pub struct Reader {
    footer: Arc<Footer>,
    adapter: Adapter,
    batch_rows: usize,
    batches: VecDeque<usize>,
    given: Option<Bytes>,
    slices: Option<Slices>,
}

impl Reader {
    /// Prepares reading these record batches.
    pub fn new(footer: Arc<Footer>, batches: Range<usize>, scan: &ScanOptions) -> Result<Reader> {
        Ok(Reader {
            adapter: Adapter::new(&footer.schema, scan)?,
            batches: batches.filter(|&batch| batch < footer.batches.len()).collect(),
            footer,
            batch_rows: scan.batch_rows,
            given: None,
            slices: None,
        })
    }

    fn decode(&self, batch: usize, bytes: &Bytes) -> Result<Slices> {
        let metadata = self.footer.metadata[batch];
        let message = message::message(&bytes[..metadata])?;
        let Footer { schema, dictionaries, .. } = &*self.footer;
        message::columns(&message, bytes.slice(metadata..), schema, dictionaries, self.adapter.read())
    }
}

impl FileReader for Reader {
    fn next(&mut self) -> Result<Next> {
        loop {
            if let Some(slices) = &mut self.slices {
                if let Some(batch) = slices.next(self.batch_rows, &self.adapter)? {
                    return Ok(Next::Batch(batch));
                }
                self.slices = None;
            }
            let Some(&batch) = self.batches.front() else { return Ok(Next::Done) };
            let Some(bytes) = self.given.take() else {
                let mut range = self.footer.batches[batch].clone();
                if self.adapter.read().is_empty() {
                    range.end = range.start + self.footer.metadata[batch] as u64;
                }
                return Ok(Next::Need(vec![range]));
            };
            self.batches.pop_front();
            self.slices = Some(guarded(|| self.decode(batch, &bytes))?);
        }
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        let end = range.start + bytes.len() as u64;
        if end != range.end {
            return Err(cut_short(end));
        }
        self.given = Some(bytes);
        Ok(())
    }
}
