//! The group numbers of group keys.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array, StringViewArray, UInt64Array};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer};
use arrow_row::{RowConverter, Rows as ArrowRows, SortField};
use arrow_schema::DataType;
use hashbrown::HashTable;
use queries::plan::KeyLayout;

use super::hash::{comparable, comparable_type, hash_bytes, hash_word};
use super::hash_table::SlotTable;
use crate::error::Result;

/// Numbers groups: equal keys get the same number, and a new key gets the next one.
pub trait GroupKeys: Send {
    /// Writes the number of each of the `rows` rows to `groups`.
    fn intern(&mut self, columns: &[ArrayRef], rows: usize, groups: &mut Vec<usize>) -> Result<()>;

    /// The number of groups.
    fn len(&self) -> usize;

    /// Whether there is no group.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the keys of all groups out, as columns in the order of the group numbers.
    fn take(&mut self) -> Result<Vec<ArrayRef>>;

    /// Makes room for `groups` groups, if that saves growing later.
    fn reserve(&mut self, _groups: usize) {}

    /// The bytes in use.
    fn bytes(&self) -> usize;

    /// The bytes that may be needed at once to take `rows` more rows: the table may grow.
    fn growth(&self, rows: usize) -> usize {
        if rows + self.len() > 0 && (self.len() + rows).next_power_of_two() > self.len().next_power_of_two() {
            self.bytes()
        } else {
            0
        }
    }
}

/// Makes the table for a layout and key types.
pub fn group_keys(layout: KeyLayout, types: &[DataType]) -> Result<Box<dyn GroupKeys>> {
    Ok(match (layout, types) {
        (KeyLayout::None, _) => Box::new(NoKeys),
        (KeyLayout::Word, [t]) => Box::new(Words::new(t.clone())),
        (KeyLayout::View, _) => Box::new(Views::default()),
        _ => Box::new(Rows::new(types)?),
    })
}

/// No keys: all rows are one group.
struct NoKeys;

impl GroupKeys for NoKeys {
    fn intern(&mut self, _columns: &[ArrayRef], rows: usize, groups: &mut Vec<usize>) -> Result<()> {
        // All numbers that were ever written to it are 0.
        groups.resize(rows, 0);
        Ok(())
    }

    fn len(&self) -> usize {
        1
    }

    fn take(&mut self) -> Result<Vec<ArrayRef>> {
        Ok(vec![])
    }

    fn bytes(&self) -> usize {
        0
    }
}

/// Keys of one column, as words of 64 bits.
struct Words {
    data_type: DataType,
    table: HashTable<(u64, u32)>,
    values: Vec<u64>,
    null: Option<u32>,
}

impl Words {
    fn new(data_type: DataType) -> Words {
        Words { data_type, table: HashTable::new(), values: Vec::new(), null: None }
    }
}

/// The values of an integer-like column as 64-bit words.
fn words(column: &ArrayRef) -> Result<Vec<u64>> {
    macro_rules! widen {
        ($t:ty) => {
            column.as_primitive::<$t>().values().iter().map(|v| *v as u64).collect()
        };
    }
    Ok(match column.data_type() {
        DataType::Int8 => widen!(Int8Type),
        DataType::Int16 => widen!(Int16Type),
        DataType::Int32 => widen!(Int32Type),
        DataType::Int64 => widen!(Int64Type),
        DataType::UInt8 => widen!(UInt8Type),
        DataType::UInt16 => widen!(UInt16Type),
        DataType::UInt32 => widen!(UInt32Type),
        DataType::UInt64 => widen!(UInt64Type),
        DataType::Date32 => widen!(Date32Type),
        DataType::Date64 => widen!(Date64Type),
        _ => arrow_cast::cast(column, &DataType::Int64)?
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .map(|v| *v as u64)
            .collect(),
    })
}

impl GroupKeys for Words {
    fn intern(&mut self, columns: &[ArrayRef], rows: usize, groups: &mut Vec<usize>) -> Result<()> {
        groups.clear();
        let column = &columns[0];
        let words = words(column)?;
        for (row, word) in words.iter().enumerate().take(rows) {
            let next = self.values.len() as u32;
            if column.is_null(row) {
                let group = *self.null.get_or_insert_with(|| {
                    self.values.push(0);
                    next
                });
                groups.push(group as usize);
                continue;
            }
            let entry = self
                .table
                .entry(hash_word(*word), |e| e.0 == *word, |e| hash_word(e.0))
                .or_insert_with(|| {
                    self.values.push(*word);
                    (*word, next)
                });
            groups.push(entry.get().1 as usize);
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn take(&mut self) -> Result<Vec<ArrayRef>> {
        let values = std::mem::take(&mut self.values);
        let null = self.null.take();
        self.table = HashTable::new();
        let valid = |i: usize| null != Some(i as u32);
        let keys: ArrayRef = if self.data_type.is_unsigned_integer() {
            Arc::new(values.iter().enumerate().map(|(i, v)| valid(i).then_some(*v)).collect::<UInt64Array>())
        } else {
            Arc::new(
                values.iter().enumerate().map(|(i, v)| valid(i).then_some(*v as i64)).collect::<Int64Array>(),
            )
        };
        // A date is cast by way of its own integer type.
        let keys = match self.data_type {
            DataType::Date32 => arrow_cast::cast(&keys, &DataType::Int32)?,
            _ => keys,
        };
        Ok(vec![arrow_cast::cast(&keys, &self.data_type)?])
    }

    fn bytes(&self) -> usize {
        self.table.capacity() * 17 + self.values.capacity() * 8
    }
}

/// Keys of one string column. A string of at most 12 bytes is its inlined view. Of longer strings the bytes are kept in
/// blocks.
#[derive(Default)]
struct Views {
    short: SlotTable,
    /// Half of the hash and the group number of each longer string.
    long: HashTable<(u32, u32)>,
    /// The view of each group, as [`GroupKeys::take`] gives it.
    views: Vec<u128>,
    /// The bytes of the longer strings.
    blocks: Vec<Vec<u8>>,
    null: Option<u32>,
}

const INLINE: u32 = 12;
/// The most bytes of a block of strings: a view's offset has 32 bits, a buffer's length 31.
const BLOCK: usize = 1 << 30;

/// Half of a hash, in both halves of a word. The hash table takes places from one end of the word and tags from the
/// other.
fn doubled(half: u32) -> u64 {
    u64::from(half) << 32 | u64::from(half)
}

impl Views {
    fn bytes_of(view: u128, blocks: &[Vec<u8>]) -> &[u8] {
        let (length, block, offset) = (view as u32, (view >> 64) as u32, (view >> 96) as u32);
        &blocks[block as usize][offset as usize..][..length as usize]
    }

    /// The group number of a string of more than 12 bytes.
    fn intern_long(&mut self, view: u128, value: &[u8]) -> u32 {
        let Views { long, views, blocks, .. } = self;
        let hash = hash_bytes(value);
        let half = (hash ^ hash >> 32) as u32;
        let found = long.find(doubled(half), |(h, group)| {
            let known = views[*group as usize];
            // The length and the first four bytes are the lower half of a view.
            *h == half && known as u64 == view as u64 && Self::bytes_of(known, blocks) == value
        });
        if let Some((_, group)) = found {
            return *group;
        }
        if blocks.last().is_none_or(|b| b.len() + value.len() > BLOCK) {
            blocks.push(Vec::new());
        }
        let (number, block) = (blocks.len() - 1, blocks.last_mut().expect("one was added"));
        let place = (block.len() as u128) << 96 | (number as u128) << 64;
        block.extend_from_slice(value);
        let group = views.len() as u32;
        views.push(place | u128::from(view as u64));
        long.insert_unique(doubled(half), (half, group), |(h, _)| doubled(*h));
        group
    }
}

impl GroupKeys for Views {
    fn reserve(&mut self, groups: usize) {
        self.short.reserve(groups, &self.views);
        self.views.reserve(groups);
    }

    fn intern(&mut self, columns: &[ArrayRef], rows: usize, groups: &mut Vec<usize>) -> Result<()> {
        groups.clear();
        groups.reserve(rows);
        let column = columns[0].as_string_view();
        let views = &column.views()[..rows];
        let short = || views.iter().fold(true, |short, view| short & (*view as u32 <= INLINE));
        if column.null_count() == 0 && (column.data_buffers().is_empty() || short()) {
            self.short.intern_all(views, &mut self.views, groups);
            return Ok(());
        }
        for (row, view) in views.iter().enumerate() {
            let next = self.views.len() as u32;
            let group = if column.is_null(row) {
                *self.null.get_or_insert_with(|| {
                    self.views.push(0);
                    next
                })
            } else if *view as u32 <= INLINE {
                self.short.intern(*view, &mut self.views)
            } else {
                self.intern_long(*view, column.value(row).as_bytes())
            };
            groups.push(group as usize);
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.views.len()
    }

    fn take(&mut self) -> Result<Vec<ArrayRef>> {
        let all = std::mem::take(self);
        let nulls = all.null.map(|null| {
            let mut valid = BooleanBufferBuilder::new(all.views.len());
            valid.append_n(all.views.len(), true);
            valid.set_bit(null as usize, false);
            NullBuffer::new(valid.finish())
        });
        let blocks: Vec<Buffer> = all.blocks.into_iter().map(Buffer::from_vec).collect();
        // SAFETY: every view is one of a valid array, its length and first four bytes unchanged: inlined as it was, or
        // with the place in `blocks` where the string's bytes, which are valid UTF-8, were put; the view of the null
        // group is the empty string's.
        let keys = unsafe { StringViewArray::new_unchecked(all.views.into(), blocks, nulls) };
        Ok(vec![Arc::new(keys)])
    }

    fn bytes(&self) -> usize {
        self.short.bytes()
            + self.long.capacity() * 9
            + self.views.capacity() * 16
            + self.blocks.iter().map(Vec::capacity).sum::<usize>()
    }
}

/// Keys of any columns, as rows of bytes that compare like the values.
struct Rows {
    converter: RowConverter,
    rows: ArrowRows,
    /// The rows in the form in which equal keys have equal bytes, if that form is another one. The key of a group of
    /// equal intervals is the first of them, as it came. The other form has only its length.
    compared: Option<(RowConverter, ArrowRows)>,
    table: HashTable<(u64, u32)>,
}

impl Rows {
    fn new(types: &[DataType]) -> Result<Rows> {
        let empty = |types: &[DataType]| -> Result<(RowConverter, ArrowRows)> {
            let converter = RowConverter::new(types.iter().map(|t| SortField::new(t.clone())).collect())?;
            let rows = converter.empty_rows(0, 0);
            Ok((converter, rows))
        };
        let (converter, rows) = empty(types)?;
        let comparable: Vec<DataType> = types.iter().map(comparable_type).collect();
        let compared = if comparable == types { None } else { Some(empty(&comparable)?) };
        Ok(Rows { converter, rows, compared, table: HashTable::new() })
    }
}

impl GroupKeys for Rows {
    fn intern(&mut self, columns: &[ArrayRef], rows: usize, groups: &mut Vec<usize>) -> Result<()> {
        groups.clear();
        let new = self.converter.convert_columns(columns)?;
        let new_compared = match &self.compared {
            Some((converter, _)) => {
                let columns: Vec<ArrayRef> = columns.iter().cloned().map(comparable).collect();
                Some(converter.convert_columns(&columns)?)
            }
            None => None,
        };
        for i in 0..rows {
            let row = new_compared.as_ref().unwrap_or(&new).row(i);
            let hash = hash_bytes(row.as_ref());
            let known = self.compared.as_ref().map_or(&self.rows, |(_, rows)| rows);
            let found = self.table.find(hash, |(h, g)| *h == hash && known.row(*g as usize) == row);
            let group = match found {
                Some((_, group)) => *group,
                None => {
                    let group = known.num_rows() as u32;
                    self.rows.push(new.row(i));
                    if let Some((_, compared)) = &mut self.compared {
                        compared.push(row);
                    }
                    self.table.insert_unique(hash, (hash, group), |(h, _)| *h);
                    group
                }
            };
            groups.push(group as usize);
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.rows.num_rows()
    }

    fn take(&mut self) -> Result<Vec<ArrayRef>> {
        let rows = std::mem::replace(&mut self.rows, self.converter.empty_rows(0, 0));
        if let Some((converter, compared)) = &mut self.compared {
            *compared = converter.empty_rows(0, 0);
        }
        self.table = HashTable::new();
        Ok(self.converter.convert_rows(&rows)?)
    }

    fn bytes(&self) -> usize {
        let compared = self.compared.as_ref().map_or(0, |(_, rows)| rows.size());
        self.rows.size() + compared + self.table.capacity() * 17
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_all_lengths_keep_their_number_and_come_back() {
        let text = |i: usize| match i % 7 {
            0 => None,
            6 => Some("ß".repeat(i)),
            n => Some(format!("{}{i}", "x".repeat(4 * n))),
        };
        let strings: Vec<Option<String>> = (0..3000).map(text).collect();
        let mut keys = Views::default();
        let (mut first, mut again) = (Vec::new(), Vec::new());
        for chunk in strings.chunks(700) {
            let column: ArrayRef = Arc::new(StringViewArray::from(chunk.to_vec()));
            keys.intern(std::slice::from_ref(&column), chunk.len(), &mut first).unwrap();
            keys.intern(&[column.slice(1, chunk.len() - 1)], chunk.len() - 1, &mut again).unwrap();
            assert_eq!(first[1..], again[..]);
        }
        let distinct: std::collections::BTreeSet<_> = strings.iter().cloned().collect();
        assert_eq!(keys.len(), distinct.len());
        let given = keys.take().unwrap().remove(0);
        given.to_data().validate_full().expect("views are valid");
        let given: std::collections::BTreeSet<_> =
            given.as_string_view().iter().map(|s| s.map(str::to_string)).collect();
        assert_eq!(given, distinct);
        assert_eq!(keys.len(), 0);
    }
}
