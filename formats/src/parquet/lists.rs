//! Columns of lists whose items hold no lists, which are most of those that there are.
//!
//! The crate decodes two levels for each value and makes places and bits of validity of them, which takes longer than the
//! values. Here the items are decoded as a column of their own, and the levels give the lists around them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, ListArray, RecordBatchReader};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, FieldRef, Fields};
use arrow_select::concat::concat;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{ConvertedType, Encoding, LogicalType, Repetition};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::{SchemaDescriptor, Type};

use super::bad;
use super::chunks::{Below, Chunks};
use super::footer::Footer;
use super::levels::{Depth, Rows};
use crate::error::{Error, Result};

/// A column of lists whose items hold no lists.
pub struct List {
    /// The leaves of the file that belong to it.
    leaves: Range<usize>,
    depths: Vec<Depth>,
    /// The items as a column of their own.
    levels: FieldLevels,
    item: FieldRef,
}

impl List {
    /// A column (its position in [`Footer::schema`]) in these row groups, if it is such a one.
    pub fn of(footer: &Footer, column: usize, groups: &Range<usize>) -> Option<List> {
        let descriptor = footer.arrow().parquet_schema();
        let root = descriptor.root_schema().get_fields().get(column)?;
        let item_type = item_of(root)?;
        let DataType::List(item) = footer.arrow().schema().field(column).data_type() else { return None };
        let of_column: Vec<usize> = (0..descriptor.num_columns())
            .filter(|leaf| descriptor.get_column_root_idx(*leaf) == column)
            .collect();
        let leaves = *of_column.first()?..*of_column.last()? + 1;
        // The list may be NULL, and it may have an item.
        let optional = root.get_basic_info().repetition() == Repetition::OPTIONAL;
        let item_level = 1 + u16::from(optional);
        let depth = |leaf: usize| {
            let value = u16::try_from(descriptor.column(leaf).max_def_level()).ok()?;
            Some(Depth { item: item_level, value })
        };
        let depths = leaves.clone().map(depth).collect::<Option<_>>()?;
        if groups.is_empty() {
            return None;
        }
        // The levels of old files may be in an encoding that is not read here.
        let chunks = footer.parquet().row_groups().get(groups.clone())?;
        let mut chunks =
            chunks.iter().flat_map(|group| group.columns().get(leaves.clone()).unwrap_or_default());
        #[expect(deprecated, reason = "files have it")]
        if chunks.any(|chunk| chunk.encodings().any(|encoding| encoding == Encoding::BIT_PACKED)) {
            return None;
        }
        let alone = Type::group_type_builder("schema").with_fields(vec![item_type.clone()]).build().ok()?;
        let alone = SchemaDescriptor::new(Arc::new(alone));
        let hint = Fields::from(vec![item.clone()]);
        let levels = parquet_to_arrow_field_levels(&alone, ProjectionMask::all(), Some(&hint)).ok()?;
        // Without the list around them the crate might read them as another type.
        let nothing = Chunks {
            metadata: footer.arrow().metadata().clone(),
            group: groups.start,
            first: leaves.start,
            bytes: vec![Some(Bytes::new()); leaves.len()],
            below: None,
        };
        let reader = ParquetRecordBatchReader::try_new_with_row_groups(&levels, &nothing, 1, None).ok()?;
        if reader.schema().field(0).data_type() != item.data_type() {
            return None;
        }
        Some(List { leaves, depths, levels, item: item.clone() })
    }

    /// Reads a row group. `chunk` gives the bytes of a leaf's column chunk.
    pub fn read(
        &self,
        metadata: &Arc<ParquetMetaData>,
        group: usize,
        chunk: impl Fn(usize) -> Option<Bytes>,
        batch_rows: usize,
    ) -> Result<Lists> {
        let rows = Arc::<Mutex<Rows>>::default();
        let chunks = Chunks {
            metadata: metadata.clone(),
            group,
            first: self.leaves.start,
            bytes: self.leaves.clone().map(chunk).collect(),
            below: Some(Below { depths: self.depths.clone(), rows: rows.clone() }),
        };
        let items =
            ParquetRecordBatchReader::try_new_with_row_groups(&self.levels, &chunks, batch_rows, None)
                .map_err(bad)?;
        let (item, most) = (self.item.clone(), batch_rows);
        Ok(Lists {
            items,
            item,
            rows,
            most,
            decoded: VecDeque::new(),
            held: 0,
            next: 0,
            null: 0,
            ended: false,
        })
    }
}

/// The type of a list's items, if they hold no lists: of three levels, as the format has them today.
fn item_of(list: &Type) -> Option<&Arc<Type>> {
    let info = list.get_basic_info();
    let is_list =
        info.converted_type() == ConvertedType::LIST || info.logical_type_ref() == Some(&LogicalType::List);
    if list.is_primitive() || !is_list || info.repetition() == Repetition::REPEATED {
        return None;
    }
    let [repeated] = list.get_fields() else { return None };
    let info = repeated.get_basic_info();
    let is_item = repeated.name() == "array" || repeated.name() == format!("{}_tuple", list.name());
    if repeated.is_primitive() || info.repetition() != Repetition::REPEATED || is_item {
        return None;
    }
    let [item] = repeated.get_fields() else { return None };
    is_flat(item).then_some(item)
}

/// Whether nothing is repeated in it.
fn is_flat(item: &Type) -> bool {
    item.get_basic_info().repetition() != Repetition::REPEATED
        && (item.is_primitive() || item.get_fields().iter().all(|field| is_flat(field)))
}

/// Reads the lists of one row group.
pub struct Lists {
    items: ParquetRecordBatchReader,
    item: FieldRef,
    rows: Arc<Mutex<Rows>>,
    /// The most items that are decoded at a time.
    most: usize,
    /// Items that were decoded and not given yet, and how many.
    decoded: VecDeque<ArrayRef>,
    held: usize,
    /// The next row, and how many of the NULLs lie before it.
    next: usize,
    null: usize,
    ended: bool,
}

impl Lists {
    /// How many of the next `rows` can be given together: those of about one batch of items, and one row at least. Decodes
    /// what they need.
    pub fn ready(&mut self, rows: usize) -> Result<usize> {
        loop {
            if let Some((ready, items)) = self.known(rows) {
                while self.held < items {
                    if !self.decode()? {
                        return Err(Error::corrupt(
                            "not valid Parquet: a list has fewer items than its levels say",
                        ));
                    }
                }
                return Ok(ready);
            }
            if !self.decode()? {
                return Err(Error::corrupt(
                    "not valid Parquet: a column of lists has fewer rows than the others",
                ));
            }
        }
    }

    /// Whether there are more lists or items than were given, when all rows that there should be were.
    pub fn has_more(&self) -> bool {
        let known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        known.counts.len() > self.next || self.held > 0
    }

    /// How many rows can be given, and how many items they have, if enough of them are known.
    fn known(&self, rows: usize) -> Option<(usize, usize)> {
        let known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        // The last list may go on in the next page.
        let whole = known.counts.len().saturating_sub(usize::from(!self.ended));
        let counts = known.counts.get(self.next..whole).unwrap_or_default();
        let (mut ready, mut items) = (0, 0);
        for count in counts.iter().take(rows) {
            let more = items + *count as usize;
            if more > self.most && ready > 0 {
                return Some((ready, items));
            }
            (ready, items) = (ready + 1, more);
        }
        (ready == rows || ready > 0 && items >= self.most).then_some((ready, items))
    }

    /// Decodes some items. False at the end of the row group.
    fn decode(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        match self.items.next() {
            Some(batch) => {
                let batch = batch.map_err(bad)?;
                self.held += batch.num_rows();
                self.decoded.push_back(batch.column(0).clone());
            }
            None => self.ended = true,
        }
        Ok(true)
    }

    /// The next rows, which are ready.
    pub fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        let known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let end = self.next + rows;
        let counts = known.counts.get(self.next..end).unwrap_or_default();
        let offsets = OffsetBuffer::from_lengths(counts.iter().map(|count| *count as usize));
        let nulls = known.nulls[self.null..].iter().take_while(|row| **row < end);
        let mut valid = None;
        for row in nulls {
            self.null += 1;
            let valid = valid.get_or_insert_with(|| {
                let mut valid = BooleanBufferBuilder::new(rows);
                valid.append_n(rows, true);
                valid
            });
            valid.set_bit(row - self.next, false);
        }
        let valid = valid.map(|mut valid| NullBuffer::new(valid.finish()));
        drop(known);
        self.next = end;
        let items = self.items(offsets.last().map_or(0, |last| *last as usize))?;
        Ok(Arc::new(ListArray::try_new(self.item.clone(), offsets, items, valid).map_err(bad)?))
    }

    /// The next items, which are decoded.
    fn items(&mut self, count: usize) -> Result<ArrayRef> {
        let mut left = count;
        let mut parts = Vec::new();
        while left > 0 {
            let Some(first) = self.decoded.front_mut() else {
                return Err(Error::corrupt("not valid Parquet: a list has fewer items than its levels say"));
            };
            let taken = first.len().min(left);
            parts.push(first.slice(0, taken));
            *first = first.slice(taken, first.len() - taken);
            if first.is_empty() {
                self.decoded.pop_front();
            }
            left -= taken;
        }
        self.held -= count;
        match &parts[..] {
            [] => Ok(arrow_array::new_empty_array(self.item.data_type())),
            [part] => Ok(part.clone()),
            _ => concat(&parts.iter().map(|part| part.as_ref()).collect::<Vec<_>>()).map_err(bad),
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::FileEntry;

    use super::*;

    #[test]
    fn lists_of_values_and_structs_are_read_here() {
        for name in ["lists-first-version", "lists-second-version"] {
            let path = format!("{}/fuzz/seeds/parquet/{name}", env!("CARGO_MANIFEST_DIR"));
            let bytes = std::fs::metadata(&path).unwrap().len();
            let footer = Footer::open(&FileEntry::new(&path, bytes, 0)).unwrap();
            let columns = footer.schema().fields().iter().enumerate();
            let own =
                columns.filter(|(column, _)| List::of(&footer, *column, &(0..footer.groups())).is_some());
            let own: Vec<&str> = own.map(|(_, field)| field.name().as_str()).collect();
            assert_eq!(own, ["l", "t", "s"], "but for a number and lists of lists");
        }
    }
}
