//! Row groups with columns of lists: these are decoded beside the others, and rows of both put side by side.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::file::metadata::ParquetMetaData;

use super::bad;
use super::chunks::Chunks;
use super::footer::Footer;
use super::lists::{List, Lists};
use crate::error::{Error, Result};

/// Reads columns of row groups, some of which are lists.
pub struct Groups {
    metadata: Arc<ParquetMetaData>,
    /// The row groups that are to come, and where their chunks lie.
    left: VecDeque<(usize, Vec<Range<u64>>)>,
    /// What was given of the first of them.
    given: Vec<(Range<u64>, Bytes)>,
    /// The columns that are lists, each with its place among all that are read.
    lists: Vec<(usize, List)>,
    /// The others as the crate decodes them, if there are any.
    others: Option<FieldLevels>,
    batch_rows: usize,
    current: Option<Group>,
}

/// What is said when more is to be decoded.
pub enum Decoded {
    /// The bytes of these ranges are needed.
    Needs(Vec<Range<u64>>),
    /// The columns of some rows.
    Rows(Vec<ArrayRef>, usize),
    /// All is decoded.
    Nothing,
}

/// A row group that is being decoded.
struct Group {
    /// How many rows are to come.
    left: usize,
    lists: Vec<(usize, Lists)>,
    others: Option<ParquetRecordBatchReader>,
    /// Rows of the others that were decoded and not given yet.
    decoded: Option<RecordBatch>,
}

impl Groups {
    /// Prepares reading these columns (positions in [`Footer::schema`], ascending) of row groups. None if none of them is
    /// a list that is read here.
    pub fn new(
        footer: &Footer,
        groups: Range<usize>,
        columns: &[usize],
        batch_rows: usize,
    ) -> Option<Groups> {
        let of = |(place, column): (usize, &usize)| Some((place, List::of(footer, *column, &groups)?));
        let lists: Vec<(usize, List)> = columns.iter().enumerate().filter_map(of).collect();
        if lists.is_empty() {
            return None;
        }
        let is_list = |place: usize| lists.iter().any(|(list, _)| *list == place);
        let others = columns.iter().enumerate().filter(|(place, _)| !is_list(*place));
        let others: Vec<usize> = others.map(|(_, column)| *column).collect();
        let levels = |roots: Vec<usize>| {
            let descriptor = footer.arrow().parquet_schema();
            let mask = ProjectionMask::roots(descriptor, roots);
            parquet_to_arrow_field_levels(descriptor, mask, Some(footer.arrow().schema().fields())).ok()
        };
        let others = match others.is_empty() {
            true => None,
            false => Some(levels(others)?),
        };
        let left = groups.map(|group| (group, footer.ranges(group, columns).collect())).collect();
        let metadata = footer.arrow().metadata().clone();
        Some(Groups { metadata, left, given: Vec::new(), lists, others, batch_rows, current: None })
    }

    /// Takes the bytes of a range that was needed.
    pub fn give(&mut self, range: Range<u64>, bytes: Bytes) {
        self.given.push((range, bytes));
    }

    /// Goes on.
    pub fn decode(&mut self) -> Result<Decoded> {
        loop {
            if let Some(group) = &mut self.current {
                if let Some((columns, rows)) = group.next(self.batch_rows)? {
                    return Ok(Decoded::Rows(columns, rows));
                }
                self.current = None;
            }
            let Some((group, ranges)) = self.left.front() else { return Ok(Decoded::Nothing) };
            let missing = ranges.iter().filter(|range| !self.given.iter().any(|(given, _)| given == *range));
            let missing: Vec<Range<u64>> = missing.cloned().collect();
            if !missing.is_empty() {
                return Ok(Decoded::Needs(missing));
            }
            self.current = Some(self.open(*group)?);
            self.given.clear();
            self.left.pop_front();
        }
    }

    fn open(&self, group: usize) -> Result<Group> {
        let of = self.metadata.row_group(group);
        let chunk = |leaf: usize| {
            let (start, length) = of.columns().get(leaf)?.byte_range();
            let given = self.given.iter().find(|(range, _)| *range == (start..start + length));
            given.map(|(_, bytes)| bytes.clone())
        };
        let list = |(place, list): &(usize, List)| {
            Ok((*place, list.read(&self.metadata, group, chunk, self.batch_rows)?))
        };
        let lists = self.lists.iter().map(list).collect::<Result<_>>()?;
        let others = self.others.as_ref().map(|levels| {
            let bytes = (0..of.num_columns()).map(chunk).collect();
            let chunks = Chunks { metadata: self.metadata.clone(), group, first: 0, bytes, below: None };
            ParquetRecordBatchReader::try_new_with_row_groups(levels, &chunks, self.batch_rows, None)
        });
        let others = others.transpose().map_err(bad)?;
        let left = usize::try_from(of.num_rows()).map_err(bad)?;
        Ok(Group { left, lists, others, decoded: None })
    }
}

impl Group {
    /// The columns of the next rows.
    fn next(&mut self, batch_rows: usize) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        let mut rows = self.left.min(batch_rows);
        if rows == 0 {
            let more =
                self.decoded.is_some() || self.others.as_mut().is_some_and(|others| others.next().is_some());
            return match more || self.lists.iter().any(|(_, list)| list.has_more()) {
                true => Err(uneven()),
                false => Ok(None),
            };
        }
        for (_, list) in &mut self.lists {
            rows = list.ready(rows)?;
        }
        let mut columns = Vec::new();
        if let Some(others) = &mut self.others {
            let decoded = match self.decoded.take() {
                Some(decoded) => decoded,
                None => match others.next() {
                    Some(batch) => batch.map_err(bad)?,
                    None => return Err(uneven()),
                },
            };
            rows = rows.min(decoded.num_rows());
            columns = decoded.slice(0, rows).columns().to_vec();
            let left = decoded.num_rows() - rows;
            self.decoded = (left > 0).then(|| decoded.slice(rows, left));
        }
        for (place, list) in &mut self.lists {
            // Lists come in the order of their places, so that those before them are there.
            columns.insert(*place, list.take(rows)?);
        }
        self.left -= rows;
        Ok(Some((columns, rows)))
    }
}

fn uneven() -> Error {
    Error::corrupt("not valid Parquet: a column has not as many rows as the footer says")
}
