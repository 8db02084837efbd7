//! Lists by the places of their items in a column.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::take::take;
use datafusion_common::{Result, exec_err, internal_err};

use super::{item_of, list_field};

/// A column of lists.
pub struct Lists(ListArray);

impl Lists {
    /// An argument that is a list.
    pub fn of(array: &ArrayRef) -> Result<Lists> {
        match array.as_list_opt::<i32>() {
            Some(lists) => Ok(Lists(lists.clone())),
            None => internal_err!("{} is no list", array.data_type()),
        }
    }

    /// The items of all lists, and others between them.
    pub fn values(&self) -> &ArrayRef {
        self.0.values()
    }

    /// The places of the items of a row's list.
    pub fn get(&self, row: usize) -> Option<Range<usize>> {
        let offsets = self.0.value_offsets();
        self.0.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize)
    }

    /// The lists with no other values than their items.
    pub fn alone(&self) -> Result<ListArray> {
        let lists = &self.0;
        let offsets = lists.value_offsets();
        let begins = offsets.first().copied().unwrap_or(0) == 0;
        let ends = offsets.last().is_some_and(|end| *end as usize == lists.values().len());
        let is_null = |row: usize| lists.is_null(row) && lists.value_length(row) > 0;
        if begins && ends && !(0..lists.len()).any(is_null) {
            return Ok(lists.clone());
        }
        let mut picks = Picks::default();
        for row in 0..lists.len() {
            match self.get(row) {
                Some(items) => {
                    picks.extend(items);
                    picks.end();
                }
                None => picks.null(),
            }
        }
        Ok(picks.lists(lists.values(), &item_of(lists.data_type()))?.as_list::<i32>().clone())
    }
}

/// Several columns of one type as one, whose places go on from one to the next.
pub struct Pool {
    values: ArrayRef,
    begins: Vec<usize>,
}

impl Pool {
    /// Of these columns.
    pub fn of(columns: &[&ArrayRef]) -> Result<Pool> {
        let mut begins = Vec::with_capacity(columns.len());
        let mut end = 0;
        for column in columns {
            begins.push(end);
            end += column.len();
        }
        let values = match columns {
            [only] => (*only).clone(),
            _ => concat(&columns.iter().map(|column| column.as_ref()).collect::<Vec<_>>())?,
        };
        Ok(Pool { values, begins })
    }

    /// The values of all columns.
    pub fn values(&self) -> &ArrayRef {
        &self.values
    }

    /// The place of a value of a column.
    pub fn place(&self, column: usize, at: usize) -> usize {
        self.begins[column] + at
    }

    /// The places of values of a column.
    pub fn places(&self, column: usize, at: Range<usize>) -> Range<usize> {
        self.begins[column] + at.start..self.begins[column] + at.end
    }
}

/// Lists that are made one after another.
#[derive(Default)]
pub struct Picks {
    places: Vec<Option<u32>>,
    ends: Vec<usize>,
    valid: Vec<bool>,
}

impl Picks {
    /// Adds an item to the list at hand; `None` is NULL.
    pub fn push(&mut self, place: impl Into<Option<usize>>) {
        self.places.push(place.into().map(|place| place as u32));
    }

    /// Adds items to the list at hand.
    pub fn extend(&mut self, places: impl IntoIterator<Item = usize>) {
        self.places.extend(places.into_iter().map(|place| Some(place as u32)));
    }

    /// Ends the list at hand.
    pub fn end(&mut self) {
        self.ends.push(self.places.len());
        self.valid.push(true);
    }

    /// A row without a list.
    pub fn null(&mut self) {
        self.ends.push(self.places.len());
        self.valid.push(false);
    }

    /// The lists, of items of the values.
    pub fn lists(self, values: &ArrayRef, item: &DataType) -> Result<ArrayRef> {
        if i32::try_from(self.places.len()).is_err() {
            return exec_err!("the lists of a batch have more than 2^31 items");
        }
        let items = match item {
            DataType::Null => arrow_array::new_null_array(item, self.places.len()),
            _ => take(values, &UInt32Array::from(self.places), None)?,
        };
        let mut before = 0;
        let lengths = self.ends.iter().map(|end| end - std::mem::replace(&mut before, *end));
        let offsets = OffsetBuffer::from_lengths(lengths);
        let nulls = self.valid.contains(&false).then(|| NullBuffer::from(self.valid));
        Ok(Arc::new(ListArray::try_new(list_field(item), offsets, items, nulls)?))
    }
}
