//! Maps: made of lists of keys and values, and taken apart again. No key is NULL or stands in a map twice; keys keep the
//! order in which they are given.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field};
use arrow_select::take::take;
use datafusion_common::{Result, ScalarValue, exec_err, internal_err};

use super::picks::{Lists, Picks, Pool};
use super::{Given, ListFunction, item_of, list_field, list_of};
use crate::functions::aggregates::rows::{Converter, known};
use crate::functions::field;

/// The arguments of these functions have their types already: see `types::maps` of the planner.
const fn of(
    name: &'static str,
    total: bool,
    gives: fn(&[DataType]) -> DataType,
    compute: fn(&Given) -> Result<ArrayRef>,
) -> ListFunction {
    ListFunction { name, takes: &[], least: 0, more: None, gives, total, compute }
}

pub(super) const FUNCTIONS: &[ListFunction] = &[
    of("map", false, |given| map_of(&item(given, 0), &item(given, 1)), made),
    of("map_from_entries", false, |given| of_entries(&item(given, 0)), from_entries),
    of("map_keys", true, |given| list_of(&parts(given).0), keys),
    of("map_values", true, |given| list_of(&parts(given).1), values),
    of("map_entries", true, |given| list_of(&entry(&parts(given))), entries),
    of("map_extract", true, |given| list_of(&parts(given).1), extracted),
    of("map_extract_value", true, |given| parts(given).1, value),
    of("map_concat", false, concatenation, concatenated),
];

/// The type of maps of keys and values of these types.
pub fn map_of(key: &DataType, value: &DataType) -> DataType {
    let entry = vec![Field::new("key", key.clone(), false), Field::new("value", value.clone(), true)];
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entry.into()), false)), false)
}

/// The types of the keys and of the values of maps.
pub fn parts_of(map: &DataType) -> Option<(&DataType, &DataType)> {
    let DataType::Map(entries, _) = map else { return None };
    match entries.data_type() {
        DataType::Struct(fields) => match fields.as_ref() {
            [key, value] => Some((key.data_type(), value.data_type())),
            _ => None,
        },
        _ => None,
    }
}

/// The type of a map's entry as a struct.
fn entry((key, value): &(DataType, DataType)) -> DataType {
    let field = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), true);
    DataType::Struct([field("key", key), field("value", value)].into_iter().collect())
}

/// The type of the items of an argument.
fn item(given: &[DataType], at: usize) -> DataType {
    given.get(at).map_or(DataType::Null, item_of)
}

/// The types of the keys and values of the first argument.
fn parts(given: &[DataType]) -> (DataType, DataType) {
    let parts = given.first().and_then(parts_of);
    parts.map_or((DataType::Null, DataType::Null), |(key, value)| (key.clone(), value.clone()))
}

/// The type of the entries of several maps together. Maps of files may name their entries otherwise.
fn concatenation(given: &[DataType]) -> DataType {
    let (key, value) = parts(given);
    map_of(&key, &value)
}

/// The type of maps of such entries.
fn of_entries(entry: &DataType) -> DataType {
    match entry {
        DataType::Struct(fields) if fields.len() == 2 => map_of(fields[0].data_type(), fields[1].data_type()),
        _ => map_of(&DataType::Null, &DataType::Null),
    }
}

/// A column of maps.
struct Maps(MapArray);

impl Maps {
    /// An argument that is a map.
    fn of(array: &ArrayRef) -> Result<Maps> {
        match array.as_map_opt() {
            Some(maps) => Ok(Maps(maps.clone())),
            None => internal_err!("{} is no map", array.data_type()),
        }
    }

    /// The places of the entries of a row's map.
    fn get(&self, row: usize) -> Option<Range<usize>> {
        let offsets = self.0.value_offsets();
        self.0.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize)
    }

    /// Items that lie as the entries do, as lists.
    fn lists(&self, items: ArrayRef) -> Result<ArrayRef> {
        let field = list_field(items.data_type());
        let (offsets, nulls) = (self.0.offsets().clone(), self.0.nulls().cloned());
        Ok(Arc::new(ListArray::try_new(field, offsets, items, nulls)?))
    }
}

/// Maps of lists of keys and values that lie alike, with nothing between the lists.
fn maps(keys: &ArrayRef, values: &ArrayRef) -> Result<ArrayRef> {
    let (keys, values) = (keys.as_list::<i32>(), values.as_list::<i32>());
    check_keys(keys)?;
    let data_type = map_of(keys.values().data_type(), values.values().data_type());
    let DataType::Map(field, _) = &data_type else { return internal_err!("a map is made") };
    let DataType::Struct(fields) = field.data_type() else { return internal_err!("entries are structs") };
    let columns = vec![keys.values().clone(), values.values().clone()];
    let entries = StructArray::try_new_with_length(fields.clone(), columns, None, keys.values().len())?;
    let (offsets, nulls) = (keys.offsets().clone(), keys.nulls().cloned());
    Ok(Arc::new(MapArray::try_new(field.clone(), offsets, entries, nulls, false)?))
}

/// Maps of lists of keys and values that lie alike. If it is `safe`, a map is NULL whose keys can't be.
///
/// # Errors
/// A key is NULL, or stands in a map twice.
pub fn of_lists(keys: &ArrayRef, values: &ArrayRef, safe: bool) -> Result<ArrayRef> {
    if !safe {
        return maps(keys, values);
    }
    let mut wrong = BTreeSet::new();
    wrong_keys(keys.as_list::<i32>(), &mut |row, _| {
        wrong.insert(row);
        Ok(())
    })?;
    match wrong.is_empty() {
        true => maps(keys, values),
        false => picked(keys, values, &wrong),
    }
}

/// Maps of the lists of each row, of which those of `wrong` are NULL.
fn picked(keys: &ArrayRef, values: &ArrayRef, wrong: &BTreeSet<usize>) -> Result<ArrayRef> {
    let (key_lists, value_lists) = (Lists::of(keys)?, Lists::of(values)?);
    let (mut key_picks, mut value_picks) = (Picks::default(), Picks::default());
    for row in 0..keys.len() {
        match (key_lists.get(row), value_lists.get(row)) {
            (Some(keys), Some(values)) if !wrong.contains(&row) => {
                if keys.len() != values.len() {
                    return exec_err!("a map of {} keys and {} values", keys.len(), values.len());
                }
                key_picks.extend(keys);
                value_picks.extend(values);
                key_picks.end();
                value_picks.end();
            }
            _ => {
                key_picks.null();
                value_picks.null();
            }
        }
    }
    let (key, value) = (item_of(keys.data_type()), item_of(values.data_type()));
    maps(&key_picks.lists(key_lists.values(), &key)?, &value_picks.lists(value_lists.values(), &value)?)
}

/// Refuses keys that are NULL, and those that stand in a map twice.
fn check_keys(lists: &ListArray) -> Result<()> {
    wrong_keys(lists, &mut |_, why| exec_err!("{why}"))
}

/// Tells of each list of keys, of which one is NULL or stands there twice, its row and why.
fn wrong_keys(lists: &ListArray, tell: &mut dyn FnMut(usize, String) -> Result<()>) -> Result<()> {
    let keys = lists.values();
    let known = known(keys);
    let ranges =
        || lists.value_offsets().windows(2).map(|ends| ends[0] as usize..ends[1] as usize).enumerate();
    for (row, mut range) in ranges() {
        if !range.all(&known) {
            tell(row, "a key of a map is NULL".into())?;
        }
    }
    let is_short = |row: usize| lists.value_length(row) < 2;
    if (0..lists.len()).all(is_short) {
        return Ok(());
    }
    let converter = Converter::new(&[(keys.data_type().clone(), false)])?;
    let rows = converter.rows(keys)?;
    let mut sorted: Vec<usize> = Vec::new();
    for (row, range) in ranges() {
        sorted.clear();
        sorted.extend(range);
        sorted.sort_unstable_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
        if let Some(pair) = sorted.windows(2).find(|pair| rows.row(pair[0]) == rows.row(pair[1])) {
            let key = ScalarValue::try_from_array(keys, pair[0])?;
            tell(row, format!("the key {key} stands in a map twice"))?;
        }
    }
    Ok(())
}

/// Of a list of keys and one of values.
fn made(given: &Given) -> Result<ArrayRef> {
    picked(given.arg(0)?, given.arg(1)?, &BTreeSet::new())
}

/// Of a list of structs of a key and a value.
fn from_entries(given: &Given) -> Result<ArrayRef> {
    let lists = Lists::of(given.arg(0)?)?.alone()?;
    let part = |at: usize| -> Result<ArrayRef> {
        let items = match lists.values().as_struct_opt() {
            Some(structs) => field::below(structs, at)?,
            // Lists without items have no type.
            None => new_null_array(&DataType::Null, lists.values().len()),
        };
        let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
        Ok(Arc::new(ListArray::try_new(list_field(items.data_type()), offsets, items, nulls)?))
    };
    maps(&part(0)?, &part(1)?)
}

fn keys(given: &Given) -> Result<ArrayRef> {
    let maps = Maps::of(given.arg(0)?)?;
    maps.lists(maps.0.keys().clone())
}

fn values(given: &Given) -> Result<ArrayRef> {
    let maps = Maps::of(given.arg(0)?)?;
    maps.lists(maps.0.values().clone())
}

fn entries(given: &Given) -> Result<ArrayRef> {
    let maps = Maps::of(given.arg(0)?)?;
    let DataType::Struct(fields) = item_of(given.gives) else { return internal_err!("entries are structs") };
    let columns = vec![maps.0.keys().clone(), maps.0.values().clone()];
    let length = maps.0.keys().len();
    maps.lists(Arc::new(StructArray::try_new_with_length(fields, columns, None, length)?))
}

/// The place of the entry with the key of each row.
fn found(given: &Given) -> Result<Vec<Option<usize>>> {
    let (maps, wanted) = (Maps::of(given.arg(0)?)?, given.arg(1)?);
    let converter = Converter::new(&[(wanted.data_type().clone(), false)])?;
    let (rows, of_wanted) = (converter.rows(maps.0.keys())?, converter.rows(wanted)?);
    let place = |row: usize| maps.get(row)?.find(|at| rows.row(*at) == of_wanted.row(row));
    Ok((0..given.rows).map(place).collect())
}

/// The value of a key, or NULL.
fn value(given: &Given) -> Result<ArrayRef> {
    if given.gives.is_null() {
        return Ok(new_null_array(given.gives, given.rows));
    }
    let maps = Maps::of(given.arg(0)?)?;
    let places = found(given)?.into_iter().map(|place| place.map(|place| place as u32));
    Ok(take(maps.0.values(), &UInt32Array::from_iter(places), None)?)
}

/// A list of the value of a key, or of none.
fn extracted(given: &Given) -> Result<ArrayRef> {
    let maps = Maps::of(given.arg(0)?)?;
    let mut picks = Picks::default();
    for (row, place) in found(given)?.into_iter().enumerate() {
        match maps.get(row) {
            Some(_) => {
                picks.extend(place);
                picks.end();
            }
            None => picks.null(),
        }
    }
    picks.lists(maps.0.values(), &item_of(given.gives))
}

/// The entries of several maps; of a key that stands in more than one, the last value. A map that is NULL has none.
fn concatenated(given: &Given) -> Result<ArrayRef> {
    let all = given.args().iter().map(Maps::of).collect::<Result<Vec<_>>>()?;
    let keys = Pool::of(&all.iter().map(|maps| maps.0.keys()).collect::<Vec<_>>())?;
    let values = Pool::of(&all.iter().map(|maps| maps.0.values()).collect::<Vec<_>>())?;
    let converter = Converter::new(&[(keys.values().data_type().clone(), false)])?;
    let rows = converter.rows(keys.values())?;
    let (mut of_keys, mut of_values) = (Picks::default(), Picks::default());
    for row in 0..given.rows {
        if all.iter().all(|maps| maps.get(row).is_none()) {
            of_keys.null();
            of_values.null();
            continue;
        }
        // The place among those of the row, by its key.
        let mut known = BTreeMap::new();
        let mut chosen: Vec<(usize, usize)> = Vec::new();
        for (column, maps) in all.iter().enumerate() {
            for at in maps.get(row).into_iter().flatten() {
                let (key, value) = (keys.place(column, at), values.place(column, at));
                let place = *known.entry(rows.row(key)).or_insert(chosen.len());
                match chosen.get_mut(place) {
                    Some(entry) => entry.1 = value,
                    None => chosen.push((key, value)),
                }
            }
        }
        of_keys.extend(chosen.iter().map(|(key, _)| *key));
        of_values.extend(chosen.iter().map(|(_, value)| *value));
        of_keys.end();
        of_values.end();
    }
    let (key, value) = (keys.values().data_type(), values.values().data_type());
    maps(&of_keys.lists(keys.values(), key)?, &of_values.lists(values.values(), value)?)
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use arrow_array::types::Int64Type;

    use super::*;

    fn lists(of: &[Option<&[i64]>]) -> ArrayRef {
        let lists = of.iter().map(|list| list.map(|items| items.iter().copied().map(Some)));
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))
    }

    fn call(name: &str, args: Vec<ArrayRef>) -> Result<ArrayRef> {
        let function = FUNCTIONS.iter().find(|function| function.name == name).unwrap();
        let types: Vec<DataType> = args.iter().map(|arg| arg.data_type().clone()).collect();
        let gives = (function.gives)(&types);
        let computed = (function.compute)(&Given { rows: args[0].len(), gives: &gives, args })?;
        assert_eq!(computed.data_type(), &gives);
        Ok(computed)
    }

    #[test]
    fn maps_are_made_and_taken_apart() {
        let keys = lists(&[Some(&[1, 2]), None, Some(&[]), Some(&[7]), Some(&[3])]);
        let values = lists(&[Some(&[10, 20]), Some(&[1]), Some(&[]), None, Some(&[30])]);
        let maps = call("map", vec![keys, values]).unwrap();
        let expected = lists(&[Some(&[1, 2]), None, Some(&[]), None, Some(&[3])]);
        assert_eq!(&call("map_keys", vec![maps.clone()]).unwrap(), &expected);
        let again = call("map_from_entries", vec![call("map_entries", vec![maps.clone()]).unwrap()]).unwrap();
        assert_eq!(&again, &maps);
        let wanted: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), Some(1), None, Some(7), Some(3)]));
        let found = call("map_extract_value", vec![maps.clone(), wanted.clone()]).unwrap();
        assert_eq!(
            found.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
            [Some(20), None, None, None, Some(30)]
        );
        let found = call("map_extract", vec![maps.slice(3, 2), wanted.slice(3, 2)]).unwrap();
        assert_eq!(&found, &lists(&[None, Some(&[30])]));
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        let map = |keys: &[i64], values: &[i64]| {
            call("map", vec![lists(&[Some(keys)]), lists(&[Some(values)])]).unwrap()
        };
        let both = call("map_concat", vec![map(&[1, 2], &[10, 20]), map(&[3, 1], &[30, 11])]).unwrap();
        assert_eq!(&call("map_keys", vec![both.clone()]).unwrap(), &lists(&[Some(&[1, 2, 3])]));
        assert_eq!(&call("map_values", vec![both]).unwrap(), &lists(&[Some(&[11, 20, 30])]));
    }

    #[test]
    fn maps_of_files_name_their_entries_otherwise() {
        let map = call("map", vec![lists(&[Some(&[1])]), lists(&[Some(&[10])])]).unwrap();
        let map = map.as_map();
        let DataType::Map(field, _) = map.data_type() else { panic!("a map") };
        let field = Arc::new(field.as_ref().clone().with_name("key_value"));
        let of_a_file: ArrayRef =
            Arc::new(MapArray::new(field, map.offsets().clone(), map.entries().clone(), None, false));
        let both = call("map_concat", vec![of_a_file.clone(), of_a_file]).unwrap();
        assert_eq!(&call("map_keys", vec![both]).unwrap(), &lists(&[Some(&[1])]));
    }

    #[test]
    fn keys_are_known_and_stand_once() {
        let fails = |keys: ArrayRef| {
            let values = lists(&[Some(&[1, 2])]);
            call("map", vec![keys, values]).unwrap_err().to_string()
        };
        assert!(fails(lists(&[Some(&[5, 5])])).contains("the key 5 stands in a map twice"));
        assert!(fails(lists(&[Some(&[5])])).contains("1 keys and 2 values"));
        let unknown = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None])]);
        assert!(fails(Arc::new(unknown)).contains("NULL"));
    }
}
