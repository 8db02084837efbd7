//! The reader of a run of row groups. It asks for the chunks of one group after the other, and only for those of the
//! columns that are wanted.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use bytes::Bytes;

use super::decode::Column;
use super::footer::Footer;
use super::inspect::located;
use super::select::Selection;
use crate::columns::adapt::Adapter;
use crate::columns::tail::cut_short;
use crate::error::Result;
use crate::format::ScanOptions;
use crate::reader::{FileReader, Next};

/// Reads row groups of one file.
pub struct Reader {
    footer: Arc<Footer>,
    adapter: Adapter,
    selection: Selection,
    batch_rows: usize,
    groups: VecDeque<usize>,
    /// For each column that is read, its bytes in the group that comes next.
    given: Vec<Option<Bytes>>,
    /// The group that is being read, the row that comes next, and the number of rows.
    group: usize,
    columns: Vec<Column>,
    row: usize,
    rows: usize,
}

impl Reader {
    /// Prepares reading these row groups.
    pub fn new(footer: Arc<Footer>, groups: Range<usize>, scan: &ScanOptions) -> Result<Reader> {
        let adapter = Adapter::new(&footer.schema, scan)?;
        let given = vec![None; adapter.read().len()];
        Ok(Reader {
            selection: Selection::new(&footer, scan, adapter.read()),
            groups: groups.filter(|&group| group < footer.groups.len()).collect(),
            footer,
            adapter,
            batch_rows: scan.batch_rows.max(1),
            given,
            group: 0,
            columns: Vec::new(),
            row: 0,
            rows: 0,
        })
    }

    /// What is still to be read of a group.
    fn missing(&self, group: usize) -> Vec<Range<u64>> {
        let chunks = &self.footer.groups[group].chunks;
        let missing = self.adapter.read().iter().zip(&self.given).filter(|(_, given)| given.is_none());
        missing.map(|(&column, _)| chunks[column].range()).filter(|range| !range.is_empty()).collect()
    }

    fn open(&mut self, group: usize) -> Result<()> {
        self.group = group;
        let group = &self.footer.groups[group];
        (self.row, self.rows) = (0, group.rows as usize);
        self.columns.clear();
        let read = self.adapter.read().iter().zip(self.adapter.chars());
        for ((&column, &chars), given) in read.zip(&mut self.given) {
            let (chunk, field) = (&group.chunks[column], self.footer.schema.field(column));
            let column = Column::open(chunk, field.data_type(), self.rows, given.take().unwrap_or_default());
            self.columns.push(column.map_err(|e| located(e, chunk, field.name()))?.cut(chars));
        }
        Ok(())
    }
}

impl Reader {
    /// Rows of the group from the next one on, or those chosen, of a column by its place among those that are read.
    fn read(&self, column: usize, rows: usize, chosen: Option<&[u32]>) -> Result<ArrayRef> {
        self.columns[column].read(self.row, rows, chosen).map_err(|e| {
            let place = self.adapter.read()[column];
            located(e, &self.footer.groups[self.group].chunks[place], self.footer.schema.field(place).name())
        })
    }
}

impl FileReader for Reader {
    fn next(&mut self) -> Result<Next> {
        loop {
            if self.row == self.rows {
                let Some(&group) = self.groups.front() else { return Ok(Next::Done) };
                let missing = self.missing(group);
                if !missing.is_empty() {
                    return Ok(Next::Need(missing));
                }
                self.groups.pop_front();
                self.open(group)?;
                continue;
            }
            let rows = (self.rows - self.row).min(self.batch_rows);
            let chosen = self.selection.choose(&self.columns, self.row, rows)?;
            let chosen = chosen.as_deref();
            let count = chosen.map_or(rows, <[u32]>::len);
            let columns = match count {
                0 => Vec::new(),
                _ => {
                    (0..self.columns.len()).map(|i| self.read(i, rows, chosen)).collect::<Result<Vec<_>>>()?
                }
            };
            self.row += rows;
            if count > 0 {
                return Ok(Next::Batch(self.adapter.adapt(&columns, count)?));
            }
        }
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        let end = range.start + bytes.len() as u64;
        if end != range.end {
            return Err(cut_short(end));
        }
        if let Some(&group) = self.groups.front() {
            let chunks = &self.footer.groups[group].chunks;
            for (&column, given) in self.adapter.read().iter().zip(&mut self.given) {
                if range == chunks[column].range() {
                    *given = Some(bytes.clone());
                }
            }
        }
        Ok(())
    }
}
