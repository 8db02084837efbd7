//! What was gathered of nested values to arrays.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, ListArray, MapArray, StructArray, UInt32Array, new_empty_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Fields};
use arrow_select::take::take;

use super::super::column::{Column, unfit};
use super::super::fixed::null_buffer;
use super::{Kind, Nested};
use crate::error::{Error, Result};

impl Nested {
    /// The array of all values so far; the column is empty again.
    pub fn take(&mut self) -> Result<ArrayRef> {
        if self.overflows {
            return Err(Error::Unsupported(
                "the lists of a batch hold more than 2,147,483,647 values".into(),
            ));
        }
        let rows = std::mem::take(&mut self.rows);
        let ends = std::mem::take(&mut self.ends);
        let mut spoiled = std::mem::take(&mut self.spoiled);
        spoiled.sort_unstable();
        let nulls = null_buffer(rows, &mut self.nulls);
        let mut columns = self.columns.iter_mut().map(Column::take).collect::<Result<Vec<_>>>()?;
        let mut offsets: Vec<i32> = std::iter::once(0).chain(ends).collect();
        if !spoiled.is_empty() && matches!(self.kind, Kind::List(_) | Kind::Map(..)) {
            let kept = without(&mut offsets, &spoiled);
            for column in &mut columns {
                *column = take(column, &kept, None).map_err(unfit)?;
            }
        }
        let offsets = || OffsetBuffer::new(ScalarBuffer::from(offsets));
        let mut columns = columns.into_iter();
        let mut column = || columns.next().unwrap_or_else(|| new_empty_array(&DataType::Null));
        Ok(match &self.kind {
            Kind::List(item) => {
                Arc::new(ListArray::try_new(item.clone(), offsets(), column(), nulls).map_err(unfit)?)
            }
            Kind::Fixed(item, size) => {
                let lists = FixedSizeListArray::try_new(item.clone(), *size as i32, column(), nulls);
                Arc::new(lists.map_err(unfit)?)
            }
            Kind::Struct(fields, _) => structs(fields, columns.collect(), nulls, rows, &spoiled)?,
            Kind::Map(entry, fields, sorted) => {
                let entries = StructArray::try_new(fields.clone(), columns.collect(), None).map_err(unfit)?;
                let maps = MapArray::try_new(entry.clone(), offsets(), entries, nulls, *sorted);
                Arc::new(maps.map_err(unfit)?)
            }
        })
    }
}

/// Takes the items of these rows, which are ascending, out of the offsets of lists, and gives the numbers of those that
/// are left.
fn without(offsets: &mut [i32], rows: &[u32]) -> UInt32Array {
    let mut kept = Vec::new();
    let mut rows = rows.iter().copied().peekable();
    let mut start = 0;
    for row in 0..offsets.len() - 1 {
        let end = offsets[row + 1];
        if rows.next_if_eq(&(row as u32)).is_none() {
            kept.extend(start as u32..end as u32);
        }
        offsets[row + 1] = kept.len() as i32;
        start = end;
    }
    UInt32Array::from(kept)
}

/// Structs of these columns, of which those of the rows `spoiled` are NULL with all that is in them.
fn structs(
    fields: &Fields,
    columns: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
    rows: usize,
    spoiled: &[u32],
) -> Result<ArrayRef> {
    let array = StructArray::try_new_with_length(fields.clone(), columns, nulls, rows).map_err(unfit)?;
    if spoiled.is_empty() {
        return Ok(Arc::new(array));
    }
    let mut valid: Vec<Option<u32>> = (0..rows as u32).map(Some).collect();
    spoiled.iter().for_each(|&row| valid[row as usize] = None);
    take(&array, &UInt32Array::from(valid), None).map_err(unfit)
}
