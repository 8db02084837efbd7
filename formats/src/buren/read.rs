//! The reader of a run of row groups. It asks for the chunks of one group after the other, and only for those of the
//! columns that are wanted.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::decode::Column;
use super::footer::Footer;
use crate::columns::adapt::Adapter;
use crate::columns::tail::cut_short;
use crate::error::{Error, Result};
use crate::format::ScanOptions;
use crate::reader::{FileReader, Next};

/// Reads row groups of one file.
pub struct Reader {
    footer: Arc<Footer>,
    adapter: Adapter,
    batch_rows: usize,
    groups: VecDeque<usize>,
    /// For each column that is read, its bytes in the group that comes next.
    given: Vec<Option<Bytes>>,
    /// The group that is being read, and its rows that are left.
    columns: Vec<Column>,
    rows: usize,
}

impl Reader {
    /// Prepares reading these row groups.
    pub fn new(footer: Arc<Footer>, groups: Range<usize>, scan: &ScanOptions) -> Result<Reader> {
        let adapter = Adapter::new(&footer.schema, scan)?;
        let given = vec![None; adapter.read().len()];
        Ok(Reader {
            groups: groups.filter(|&group| group < footer.groups.len()).collect(),
            footer,
            adapter,
            batch_rows: scan.batch_rows.max(1),
            given,
            columns: Vec::new(),
            rows: 0,
        })
    }

    /// What is still to be read of a group.
    fn missing(&self, group: usize) -> Vec<Range<u64>> {
        let chunks = &self.footer.groups[group].chunks;
        let missing = self.adapter.read().iter().zip(&self.given).filter(|(_, given)| given.is_none());
        missing
            .map(|(&column, _)| {
                let chunk = &chunks[column];
                chunk.offset..chunk.offset + u64::from(chunk.stored)
            })
            .filter(|range| !range.is_empty())
            .collect()
    }

    fn open(&mut self, group: usize) -> Result<()> {
        let group = &self.footer.groups[group];
        self.rows = group.rows as usize;
        self.columns.clear();
        for (&column, given) in self.adapter.read().iter().zip(&mut self.given) {
            let (chunk, field) = (&group.chunks[column], self.footer.schema.field(column));
            let column = Column::open(chunk, field.data_type(), self.rows, given.take().unwrap_or_default());
            self.columns.push(column.map_err(|e| locate(e, chunk.offset, field.name()))?);
        }
        Ok(())
    }
}

impl FileReader for Reader {
    fn next(&mut self) -> Result<Next> {
        while self.rows == 0 {
            let Some(&group) = self.groups.front() else { return Ok(Next::Done) };
            let missing = self.missing(group);
            if !missing.is_empty() {
                return Ok(Next::Need(missing));
            }
            self.groups.pop_front();
            self.open(group)?;
        }
        let rows = self.rows.min(self.batch_rows);
        self.rows -= rows;
        let columns = self.columns.iter_mut().map(|c| c.next(rows)).collect::<Result<Vec<_>>>()?;
        Ok(Next::Batch(self.adapter.adapt(&columns, rows)?))
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        let end = range.start + bytes.len() as u64;
        if end != range.end {
            return Err(cut_short(end));
        }
        if let Some(&group) = self.groups.front() {
            let chunks = &self.footer.groups[group].chunks;
            for (&column, given) in self.adapter.read().iter().zip(&mut self.given) {
                let chunk = &chunks[column];
                if range == (chunk.offset..chunk.offset + u64::from(chunk.stored)) {
                    *given = Some(bytes.clone());
                }
            }
        }
        Ok(())
    }
}

/// Says where a damaged chunk is.
fn locate(mut error: Error, offset: u64, column: &str) -> Error {
    if let Error::Data(data) = &mut error {
        data.offset.get_or_insert(offset);
        data.column.get_or_insert_with(|| column.to_string());
    }
    error
}
