//! States that are lists of values: a list for each group.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;
use datafusion_common::{Result, exec_err};

/// A column of lists that have so many of the items each, in their order.
///
/// # Errors
/// There are too many items for one column.
pub fn lists(lengths: impl Iterator<Item = usize>, items: ArrayRef) -> Result<ArrayRef> {
    if i32::try_from(items.len()).is_err() {
        return exec_err!("the groups have more than 2^31 values together");
    }
    let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), items, None)?))
}

/// The items of a column of lists, and which of them each list has. A column may be a few of many lists, whose other items
/// are left out.
pub fn items(lists: &ArrayRef) -> (ArrayRef, Vec<Range<usize>>) {
    let lists = lists.as_list::<i32>();
    let offsets: Vec<usize> = lists.value_offsets().iter().map(|offset| *offset as usize).collect();
    let first = offsets[0];
    let ranges = offsets.windows(2).map(|pair| pair[0] - first..pair[1] - first).collect();
    (lists.values().slice(first, offsets[lists.len()] - first), ranges)
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;

    #[test]
    fn a_part_of_the_lists_has_its_items_alone() {
        let all: ArrayRef = Arc::new(Int64Array::from_iter_values(0..6));
        let made = lists([1, 2, 0, 3].into_iter(), all.clone()).unwrap();
        let (found, ranges) = items(&made);
        assert_eq!((&found, ranges.as_slice()), (&all, [0..1, 1..3, 3..3, 3..6].as_slice()));
        let (found, ranges) = items(&made.slice(1, 2));
        assert_eq!((&found, ranges.as_slice()), (&all.slice(1, 2), [0..2, 2..2].as_slice()));
        assert_eq!(items(&made.slice(4, 0)).0.len(), 0);
    }
}
