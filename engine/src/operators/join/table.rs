//! The table of a join's build side: chains of rows by hash, and the keys to compare.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;

use crate::error::Result;
use crate::state::hash::hash_columns;

const END: u32 = u32::MAX;

/// Key columns in a form in which two rows are compared fast.
pub enum Keys {
    /// No keys: every row equals every row.
    None,
    /// One column of strings.
    Views(StringViewArray),
    /// Any columns, as rows of bytes that compare like the values.
    Rows(Rows),
}

/// The rows of the build side by key.
pub struct Table {
    keys: Keys,
    converter: Option<RowConverter>,
    mask: u64,
    heads: Vec<u32>,
    next: Vec<u32>,
    hashes: Vec<u64>,
}

impl Table {
    /// A table of `rows` rows with these keys. A NULL key equals nothing, or, with `equal_nulls`, another NULL.
    pub fn new(columns: Vec<ArrayRef>, rows: usize, equal_nulls: bool) -> Result<Table> {
        let mut hashes = Vec::new();
        let converter = match columns.as_slice() {
            [] => None,
            [c] if c.data_type() == &DataType::Utf8View && !equal_nulls => None,
            _ => Some(RowConverter::new(
                columns.iter().map(|c| SortField::new(c.data_type().clone())).collect(),
            )?),
        };
        let mut table =
            Table { keys: Keys::None, converter, mask: 0, heads: vec![], next: vec![], hashes: vec![] };
        table.keys = table.probe_keys(columns.clone(), rows, &mut hashes)?;
        let size = (rows * 2).next_power_of_two().max(16);
        table.mask = size as u64 - 1;
        table.heads = vec![END; size];
        table.next = vec![END; rows];
        // Nulls as the values define them: a column of type NULL has no validity bitmap.
        let nulls: Vec<_> = columns.iter().filter_map(|c| c.logical_nulls()).collect();
        let null = |row: usize| !equal_nulls && nulls.iter().any(|n| n.is_null(row));
        // From the last to the first row, so that a chain gives its rows in their order.
        for row in (0..rows).rev().filter(|r| !null(*r)) {
            let slot = (hashes[row] & table.mask) as usize;
            table.next[row] = table.heads[slot];
            table.heads[slot] = row as u32;
        }
        table.hashes = hashes;
        Ok(table)
    }

    /// The keys of a probe batch in the table's form, and their hashes.
    pub fn probe_keys(&self, columns: Vec<ArrayRef>, rows: usize, hashes: &mut Vec<u64>) -> Result<Keys> {
        hash_columns(&columns, rows, hashes)?;
        Ok(match &self.converter {
            Some(converter) => Keys::Rows(converter.convert_columns(&columns)?),
            None => match columns.first() {
                None => Keys::None,
                Some(c) => Keys::Views(c.as_string_view().clone()),
            },
        })
    }

    /// The first row of the table that equals a probe row.
    pub fn first(&self, probe: &Keys, row: usize, hash: u64) -> Option<u32> {
        if let Keys::Views(views) = probe
            && views.is_null(row)
        {
            return None;
        }
        self.find(self.heads[(hash & self.mask) as usize], probe, row, hash)
    }

    /// The next one after `after`.
    pub fn next(&self, after: u32, probe: &Keys, row: usize, hash: u64) -> Option<u32> {
        self.find(self.next[after as usize], probe, row, hash)
    }

    /// The rows of a hash, or so many of them that there are more than `most`.
    pub fn of_hash(&self, hash: u64, most: usize) -> Vec<u32> {
        let (mut rows, mut row) = (Vec::new(), self.heads[(hash & self.mask) as usize]);
        while row != END && rows.len() <= most {
            if self.hashes[row as usize] == hash {
                rows.push(row);
            }
            row = self.next[row as usize];
        }
        rows
    }

    /// Whether all rows of a hash equal a probe row.
    pub fn has_only(&self, probe: &Keys, row: usize, hash: u64) -> bool {
        let mut equal = self.first(probe, row, hash);
        self.of_hash(hash, usize::MAX).into_iter().all(|of_hash| {
            let is_equal = equal == Some(of_hash);
            equal = equal.and_then(|after| self.next(after, probe, row, hash));
            is_equal
        })
    }

    fn find(&self, mut candidate: u32, probe: &Keys, row: usize, hash: u64) -> Option<u32> {
        while candidate != END {
            let c = candidate as usize;
            if self.hashes[c] == hash && self.equal(c, probe, row) {
                return Some(candidate);
            }
            candidate = self.next[c];
        }
        None
    }

    fn equal(&self, build: usize, probe: &Keys, row: usize) -> bool {
        match (&self.keys, probe) {
            (Keys::None, Keys::None) => true,
            (Keys::Views(a), Keys::Views(b)) => {
                let (x, y) = (a.views()[build], b.views()[row]);
                // Length and the first four bytes lie in the lower half.
                x as u64 == y as u64 && (x == y && x as u32 <= 12 || a.value(build) == b.value(row))
            }
            (Keys::Rows(a), Keys::Rows(b)) => a.row(build) == b.row(row),
            _ => unreachable!("both sides have the table's form"),
        }
    }
}
