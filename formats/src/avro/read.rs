//! The reader of a run of blocks of a file. Where no column has bytes in the rows, nothing is read: the blocks are counted
//! already.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray};
use bytes::Bytes;

use super::blocks::{Block, Container};
use super::codec::Codec;
use super::columns::Decoder;
use super::walk::{self, Wrong};
use crate::columns::adapt::Adapter;
use crate::columns::guard::guarded;
use crate::columns::tail::cut_short;
use crate::error::{DataError, Error, Result};
use crate::format::ScanOptions;
use crate::memory;
use crate::reader::{FileReader, Next};

/// Blocks are asked for together up to this size in bytes.
const AT_ONCE: u64 = 1 << 20;

/// Reads blocks of one file.
pub struct Reader {
    container: Arc<Container>,
    adapter: Adapter,
    batch_rows: usize,
    blocks: VecDeque<usize>,
    /// Bytes of the next blocks, and where they begin.
    given: (u64, Bytes),
    /// None if no column that is wanted has bytes.
    decoder: Option<Decoder>,
    /// Rows without bytes that are not given out yet.
    counted: u64,
}

impl Reader {
    /// Prepares reading these blocks.
    pub fn new(container: Arc<Container>, blocks: Range<usize>, scan: &ScanOptions) -> Result<Reader> {
        let header = &container.header;
        let adapter = Adapter::new(&header.schema, scan)?;
        let decoder = match header.has_bytes(adapter.read()) {
            true => Some(Decoder::new(header, adapter.read(), scan.batch_rows)?),
            false => None,
        };
        Ok(Reader {
            adapter,
            decoder,
            batch_rows: scan.batch_rows.max(1),
            blocks: blocks.filter(|&block| block < container.blocks.len()).collect(),
            given: (0, Bytes::new()),
            counted: 0,
            container,
        })
    }

    /// The next rows of columns without bytes.
    fn count(&mut self) -> Result<Next> {
        while self.counted == 0 {
            let Some(block) = self.blocks.pop_front() else { return Ok(Next::Done) };
            self.counted = self.container.blocks[block].rows;
        }
        let rows = self.counted.min(self.batch_rows as u64);
        self.counted -= rows;
        let rows = rows as usize;
        let nulls: ArrayRef = Arc::new(NullArray::new(rows));
        self.adapter.adapt(&vec![nulls; self.adapter.read().len()], rows).map(Next::Batch)
    }

    /// The bytes of the next blocks: one, or as many as are asked for together.
    fn need(&self) -> Result<Next> {
        let blocks = self.blocks.iter().map(|&block| &self.container.blocks[block].data);
        let mut range: Option<Range<u64>> = None;
        for data in blocks {
            match &mut range {
                None => range = Some(data.clone()),
                Some(range) if data.end - range.start <= AT_ONCE => range.end = data.end,
                Some(_) => break,
            }
        }
        let range = range.unwrap_or_default();
        let bytes = range.end - range.start;
        memory::ask(bytes, || format!("a block of {bytes} bytes"))?;
        Ok(Next::Need(vec![range]))
    }

    /// The data of a block, if they were given.
    fn data(&self, block: &Block) -> Option<Bytes> {
        let (start, bytes) = &self.given;
        let from = usize::try_from(block.data.start.checked_sub(*start)?).ok()?;
        let to = usize::try_from(block.data.end - start).ok()?;
        (to <= bytes.len()).then(|| bytes.slice(from..to))
    }
}

/// Unpacks and checks the data of a block.
fn checked(container: &Container, block: &Block, data: &Bytes) -> Result<Bytes> {
    let codec = container.header.codec;
    let at = |mut error: Error| {
        if let Error::Data(error) = &mut error {
            error.offset.get_or_insert(block.data.start);
        }
        error
    };
    let data = guarded(|| codec.unpack(data)).map_err(at)?;
    let bytes = walk::check(&data, block.rows, &container.header.fields);
    let bytes = bytes.map_err(|wrong| error(block, codec, wrong))?;
    memory::ask(bytes, || format!("the columns of a block of {} rows take {bytes} bytes", block.rows))?;
    Ok(data)
}

fn error(block: &Block, codec: Codec, wrong: Wrong) -> Error {
    let Wrong { row, column, at, message } = wrong;
    // What is compressed has no place of its own.
    let at = if codec == Codec::None { at as u64 } else { 0 };
    Error::Data(Box::new(DataError {
        row: column.is_some().then(|| block.before.saturating_add(row).saturating_add(1)),
        offset: Some(block.data.start + at),
        column,
        message: format!("{message}: the file is damaged"),
        ..DataError::default()
    }))
}

impl FileReader for Reader {
    fn next(&mut self) -> Result<Next> {
        loop {
            let Some(decoder) = &mut self.decoder else { return self.count() };
            if decoder.is_full() || self.blocks.is_empty() {
                return match decoder.take(&self.container.header)? {
                    Some((columns, rows)) => self.adapter.adapt(&columns, rows).map(Next::Batch),
                    None => Ok(Next::Done),
                };
            }
            let Some(&next) = self.blocks.front() else { return Ok(Next::Done) };
            let container = self.container.clone();
            let block = &container.blocks[next];
            let Some(data) = self.data(block) else { return self.need() };
            let data = checked(&container, block, &data)?;
            let rows = usize::try_from(block.rows).unwrap_or(usize::MAX);
            if let Some(decoder) = &mut self.decoder {
                decoder.put(rows, data);
            }
            self.blocks.pop_front();
        }
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        let end = range.start + bytes.len() as u64;
        if end != range.end {
            return Err(cut_short(end));
        }
        self.given = (range.start, bytes);
        Ok(())
    }
}
