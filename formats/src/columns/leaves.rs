//! Columns whose leaves (the values in lists, structs and maps that are none themselves) get another type.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait, StructArray,
};
use arrow_schema::{DataType, FieldRef};

use crate::error::Result;

/// How a leaf becomes one of a type.
pub type Change<'a> = &'a dyn Fn(&ArrayRef, &DataType) -> Result<ArrayRef>;

/// A column in a type of the same shape: its leaves of another type are changed, the others stay.
pub fn changed(column: &ArrayRef, to: &DataType, change: Change) -> Result<ArrayRef> {
    fn list<O: OffsetSizeTrait>(column: &ArrayRef, item: &FieldRef, change: Change) -> Result<ArrayRef> {
        let list = column.as_list::<O>();
        let items = changed(list.values(), item.data_type(), change)?;
        Ok(Arc::new(GenericListArray::new(
            item.clone(),
            list.offsets().clone(),
            items,
            list.nulls().cloned(),
        )))
    }
    if column.data_type() == to {
        return Ok(column.clone());
    }
    match (column.data_type(), to) {
        (DataType::List(_), DataType::List(item)) => list::<i32>(column, item, change),
        (DataType::LargeList(_), DataType::LargeList(item)) => list::<i64>(column, item, change),
        (DataType::FixedSizeList(..), DataType::FixedSizeList(item, size)) => {
            let list = column.as_fixed_size_list();
            let items = changed(list.values(), item.data_type(), change)?;
            Ok(Arc::new(FixedSizeListArray::new(item.clone(), *size, items, list.nulls().cloned())))
        }
        (DataType::Map(..), DataType::Map(entries, sorted)) => {
            let map = column.as_map();
            let pairs: ArrayRef = Arc::new(map.entries().clone());
            let pairs = changed(&pairs, entries.data_type(), change)?.as_struct().clone();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Ok(Arc::new(MapArray::new(entries.clone(), offsets, pairs, nulls, *sorted)))
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let columns = column.as_struct().columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| changed(column, field.data_type(), change));
            let nulls = column.as_struct().nulls().cloned();
            Ok(Arc::new(StructArray::new(fields.clone(), columns.collect::<Result<_>>()?, nulls)))
        }
        (_, to) => change(column, to),
    }
}
