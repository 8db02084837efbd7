//! Items and parts of lists, lists put together and in order.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, StructArray, UInt32Array};
use arrow_schema::{DataType, Field, Fields};
use arrow_select::take::take;
use datafusion_common::{Result, exec_err};

use super::picks::{Lists, Picks, Pool};
use super::{Given, ListFunction, Takes, item_of, list_of};
use crate::functions::aggregates::rows::{Converter, known};

/// The most items of a list that is made longer.
const MOST: usize = 1 << 27;

/// Places of items; none where an argument is NULL.
type Places = Result<Option<Vec<usize>>>;

/// The type of the first argument.
fn first(given: &[DataType]) -> DataType {
    given.first().cloned().unwrap_or(DataType::Null)
}

pub(super) const FUNCTIONS: &[ListFunction] = &[
    ListFunction {
        name: "list_extract",
        takes: &[Takes::List, Takes::Integer],
        least: 2,
        more: None,
        gives: |given| item_of(&first(given)),
        total: true,
        compute: extract,
    },
    ListFunction {
        name: "list_slice",
        takes: &[Takes::List, Takes::Integer, Takes::Integer, Takes::Integer],
        least: 3,
        more: None,
        gives: first,
        total: false,
        compute: slice,
    },
    ListFunction {
        name: "text_extract",
        takes: &[Takes::Text, Takes::Integer],
        least: 2,
        more: None,
        gives: |_| DataType::Utf8View,
        total: true,
        compute: text_extract,
    },
    ListFunction {
        name: "text_slice",
        takes: &[Takes::Text, Takes::Integer, Takes::Integer, Takes::Integer],
        least: 3,
        more: None,
        gives: |_| DataType::Utf8View,
        total: false,
        compute: text_slice,
    },
    ListFunction {
        name: "list_concat",
        takes: &[],
        least: 0,
        more: Some(Takes::List),
        gives: first,
        total: true,
        compute: |given| concatenated(given, false),
    },
    ListFunction {
        name: "list_concat_known",
        takes: &[],
        least: 0,
        more: Some(Takes::List),
        gives: first,
        total: true,
        compute: |given| concatenated(given, true),
    },
    ListFunction {
        name: "list_append",
        takes: &[Takes::List, Takes::Item],
        least: 2,
        more: None,
        gives: first,
        total: true,
        compute: |given| with_item(given, (0, 1), false),
    },
    ListFunction {
        name: "list_prepend",
        takes: &[Takes::Item, Takes::List],
        least: 2,
        more: None,
        gives: |given| given.get(1).cloned().unwrap_or(DataType::Null),
        total: true,
        compute: |given| with_item(given, (1, 0), true),
    },
    ListFunction {
        name: "array_push_front",
        takes: &[Takes::List, Takes::Item],
        least: 2,
        more: None,
        gives: first,
        total: true,
        compute: |given| with_item(given, (0, 1), true),
    },
    ListFunction {
        name: "array_pop_back",
        takes: &[Takes::List],
        least: 1,
        more: None,
        gives: first,
        total: true,
        compute: |given| part(given, |items| items.start..items.end.saturating_sub(1).max(items.start)),
    },
    ListFunction {
        name: "array_pop_front",
        takes: &[Takes::List],
        least: 1,
        more: None,
        gives: first,
        total: true,
        compute: |given| part(given, |items| (items.start + 1).min(items.end)..items.end),
    },
    ListFunction {
        name: "list_reverse",
        takes: &[Takes::List],
        least: 1,
        more: None,
        gives: first,
        total: true,
        compute: |given| rearranged(given, |items| Ok(items.rev().collect())),
    },
    ListFunction {
        name: "list_sort",
        takes: &[Takes::List, Takes::Text, Takes::Text],
        least: 1,
        more: None,
        gives: first,
        total: false,
        compute: |given| sorted(given, false),
    },
    ListFunction {
        name: "list_reverse_sort",
        takes: &[Takes::List, Takes::Text],
        least: 1,
        more: None,
        gives: first,
        total: false,
        compute: |given| sorted(given, true),
    },
    ListFunction {
        name: "list_grade_up",
        takes: &[Takes::List, Takes::Text, Takes::Text],
        least: 1,
        more: None,
        gives: |_| list_of(&DataType::Int64),
        total: false,
        compute: grade_up,
    },
    ListFunction {
        name: "list_distinct",
        takes: &[Takes::List],
        least: 1,
        more: None,
        gives: first,
        total: true,
        compute: distinct,
    },
    ListFunction {
        name: "list_intersect",
        takes: &[Takes::List, Takes::List],
        least: 2,
        more: None,
        gives: first,
        total: true,
        compute: intersected,
    },
    ListFunction {
        name: "flatten",
        takes: &[Takes::Lists],
        least: 1,
        more: None,
        gives: |given| item_of(&first(given)),
        total: true,
        compute: flattened,
    },
    ListFunction {
        name: "list_resize",
        takes: &[Takes::List, Takes::Integer, Takes::Item],
        least: 2,
        more: None,
        gives: first,
        total: false,
        compute: resized,
    },
    ListFunction {
        name: "list_repeat",
        takes: &[Takes::List, Takes::Integer],
        least: 2,
        more: None,
        gives: first,
        total: false,
        compute: repeated,
    },
    ListFunction {
        name: "list_where",
        takes: &[Takes::List, Takes::Conditions],
        least: 2,
        more: None,
        gives: first,
        total: false,
        compute: of_conditions,
    },
    ListFunction {
        name: "list_select",
        takes: &[Takes::List, Takes::Integers],
        least: 2,
        more: None,
        gives: first,
        total: false,
        compute: of_places,
    },
    ListFunction {
        name: "list_zip",
        takes: &[Takes::Any],
        least: 1,
        more: Some(Takes::Any),
        gives: |given| {
            let field = |(i, list): (usize, &DataType)| Field::new(format!("c{i}"), item_of(list), true);
            list_of(&DataType::Struct(given.iter().enumerate().map(field).collect::<Fields>()))
        },
        total: true,
        compute: zipped,
    },
];

/// Items from one place to another, both among them, and every so many. They are of things that have places from 1 on,
/// or from -1 on from the end.
struct Slice {
    low: i64,
    high: i64,
    step: i64,
}

impl Slice {
    /// Of bounds, of which one that is left out is the least or the greatest integer.
    fn of(begin: i64, end: i64, step: i64) -> Result<Slice> {
        // Of a slice that goes back, the bounds are those of its places in their order.
        let (low, high) = match (begin, end) {
            _ if step == 0 => return exec_err!("the step of a slice is 0"),
            (i64::MIN, i64::MAX) => (begin, end),
            _ if step < 0 => (end, begin),
            _ => (begin, end),
        };
        let low = if low == i64::MAX { i64::MIN } else { low };
        let high = if high == i64::MIN { i64::MAX } else { high };
        Ok(Slice { low, high, step })
    }

    /// The places from 0 on, of so many.
    fn places(&self, length: usize) -> Vec<usize> {
        let length = length as i64;
        let from_begin = |bound: i64| if bound < 0 { bound.saturating_add(length + 1) } else { bound };
        let low = if self.low == i64::MIN { 1 } else { from_begin(self.low).max(1) };
        let high = if self.high == i64::MAX { length } else { from_begin(self.high).min(length) };
        if low > high {
            return vec![];
        }
        let every = usize::try_from(self.step.unsigned_abs()).unwrap_or(usize::MAX);
        let all = low as usize - 1..high as usize;
        if self.step > 0 { all.step_by(every).collect() } else { all.rev().step_by(every).collect() }
    }
}

/// The place of an item that is counted from 1 on, or from -1 on from the end.
fn place(items: &Range<usize>, number: i64) -> Option<usize> {
    let at = match number {
        1.. => usize::try_from(number - 1).ok()?,
        0 => return None,
        _ => items.len().checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?,
    };
    (at < items.len()).then(|| items.start + at)
}

fn extract(given: &Given) -> Result<ArrayRef> {
    let (lists, numbers) = (Lists::of(given.arg(0)?)?, given.arg(1)?.as_primitive::<Int64Type>());
    let of_row = |row: usize| {
        let items = lists.get(row).filter(|_| numbers.is_valid(row))?;
        place(&items, numbers.value(row)).map(|place| place as u32)
    };
    Ok(take(lists.values(), &UInt32Array::from_iter((0..given.rows).map(of_row)), None)?)
}

/// The bounds of the slice of each row; NULL where one of them is.
fn slices(given: &Given) -> impl Fn(usize) -> Result<Option<Slice>> {
    let bounds: Vec<Int64Array> = given.args().iter().skip(1).map(|arg| arg.as_primitive().clone()).collect();
    move |row| {
        if bounds.iter().any(|bound| bound.is_null(row)) {
            return Ok(None);
        }
        let of = |at: usize| bounds.get(at).map_or(1, |bound| bound.value(row));
        Slice::of(of(0), of(1), of(2)).map(Some)
    }
}

fn slice(given: &Given) -> Result<ArrayRef> {
    let (lists, slices) = (Lists::of(given.arg(0)?)?, slices(given));
    let mut picks = Picks::default();
    for row in 0..given.rows {
        match (lists.get(row), slices(row)?) {
            (Some(items), Some(slice)) => {
                picks.extend(slice.places(items.len()).into_iter().map(|at| items.start + at));
                picks.end();
            }
            _ => picks.null(),
        }
    }
    picks.lists(lists.values(), &item_of(given.gives))
}

/// The characters of a text.
fn text_slice(given: &Given) -> Result<ArrayRef> {
    let (texts, slices) = (given.arg(0)?.as_string_view(), slices(given));
    let mut parts = StringViewBuilder::new();
    for row in 0..given.rows {
        match slices(row)?.filter(|_| texts.is_valid(row)) {
            Some(slice) => {
                let letters: Vec<char> = texts.value(row).chars().collect();
                let part: String = slice.places(letters.len()).into_iter().map(|at| letters[at]).collect();
                parts.append_value(part);
            }
            None => parts.append_null(),
        }
    }
    Ok(Arc::new(parts.finish()))
}

/// A character of a text; of a place that it has not, none.
fn text_extract(given: &Given) -> Result<ArrayRef> {
    let (texts, numbers) = (given.arg(0)?.as_string_view(), given.arg(1)?.as_primitive::<Int64Type>());
    let mut letters = StringViewBuilder::new();
    for row in 0..given.rows {
        if texts.is_null(row) || numbers.is_null(row) {
            letters.append_null();
            continue;
        }
        let text = texts.value(row);
        let at = place(&(0..text.chars().count()), numbers.value(row));
        let letter = at.and_then(|at| text.chars().nth(at));
        letters.append_value(letter.map(String::from).unwrap_or_default());
    }
    Ok(Arc::new(letters.finish()))
}

/// The items of lists, one list behind the other. A list that is NULL has none, or makes the result NULL where all must be
/// known.
fn concatenated(given: &Given, are_known: bool) -> Result<ArrayRef> {
    let lists = given.args().iter().map(Lists::of).collect::<Result<Vec<_>>>()?;
    let mut picks = Picks::default();
    let item = item_of(given.gives);
    let columns: Vec<&ArrayRef> = lists.iter().map(Lists::values).collect();
    if columns.is_empty() {
        return Ok(arrow_array::new_null_array(given.gives, given.rows));
    }
    let pool = Pool::of(&columns)?;
    for row in 0..given.rows {
        if are_known && lists.iter().any(|lists| lists.get(row).is_none()) {
            picks.null();
            continue;
        }
        for (column, lists) in lists.iter().enumerate() {
            picks.extend(lists.get(row).into_iter().flat_map(|items| pool.places(column, items)));
        }
        picks.end();
    }
    picks.lists(pool.values(), &item)
}

/// A list and an item before or behind it. A list that is NULL has none.
fn with_item(given: &Given, (list, item): (usize, usize), is_first: bool) -> Result<ArrayRef> {
    let lists = Lists::of(given.arg(list)?)?;
    let pool = Pool::of(&[lists.values(), given.arg(item)?])?;
    let mut picks = Picks::default();
    for row in 0..given.rows {
        if is_first {
            picks.push(pool.place(1, row));
        }
        picks.extend(lists.get(row).into_iter().flatten());
        if !is_first {
            picks.push(pool.place(1, row));
        }
        picks.end();
    }
    picks.lists(pool.values(), &item_of(given.gives))
}

fn part(given: &Given, of: impl Fn(Range<usize>) -> Range<usize>) -> Result<ArrayRef> {
    rearranged(given, |items| Ok(of(items).collect()))
}

/// The items of each list that are chosen from its places.
fn rearranged(given: &Given, mut choose: impl FnMut(Range<usize>) -> Result<Vec<usize>>) -> Result<ArrayRef> {
    let lists = Lists::of(given.arg(0)?)?;
    let mut picks = Picks::default();
    for row in 0..given.rows {
        match lists.get(row) {
            Some(items) => {
                picks.extend(choose(items)?);
                picks.end();
            }
            None => picks.null(),
        }
    }
    picks.lists(lists.values(), &item_of(given.gives))
}

/// Puts the places of items in their order. What is said of it, ascending or descending and where NULLs come, stands in
/// the arguments behind the list.
fn ordered(given: &Given, is_reversed: bool) -> Result<impl FnMut(usize, Range<usize>) -> Places> {
    let lists = Lists::of(given.arg(0)?)?;
    let converter = Converter::new(&[(item_of(given.arg(0)?.data_type()), false)])?;
    let values = lists.values().clone();
    let (rows, known) = (converter.rows(&values)?, known(&values));
    let words: Vec<ArrayRef> = given.args().iter().skip(1).cloned().collect();
    Ok(move |row: usize, items: Range<usize>| {
        let (mut descending, mut nulls_first) = (is_reversed, false);
        for word in &words {
            let word = word.as_string_view();
            if word.is_null(row) {
                return Ok(None);
            }
            match word.value(row).trim().to_ascii_uppercase().as_str() {
                "ASC" | "ASCENDING" if !is_reversed => descending = false,
                "DESC" | "DESCENDING" if !is_reversed => descending = true,
                "NULLS FIRST" => nulls_first = true,
                "NULLS LAST" => nulls_first = false,
                other => {
                    return exec_err!(
                        "'{other}' is no order\n  help: write 'ASC', 'DESC', 'NULLS FIRST' or 'NULLS LAST'"
                    );
                }
            }
        }
        let (mut with_value, without): (Vec<usize>, Vec<usize>) = items.partition(|i| known(*i));
        with_value.sort_by(|a, b| {
            let order = rows.row(*a).cmp(&rows.row(*b));
            if descending { order.reverse() } else { order }
        });
        Ok(Some(match nulls_first {
            true => without.into_iter().chain(with_value).collect(),
            false => with_value.into_iter().chain(without).collect(),
        }))
    })
}

fn sorted(given: &Given, is_reversed: bool) -> Result<ArrayRef> {
    let lists = Lists::of(given.arg(0)?)?;
    let mut order = ordered(given, is_reversed)?;
    let mut picks = Picks::default();
    for row in 0..given.rows {
        match lists.get(row).map(|items| order(row, items)).transpose()?.flatten() {
            Some(items) => {
                picks.extend(items);
                picks.end();
            }
            None => picks.null(),
        }
    }
    picks.lists(lists.values(), &item_of(given.gives))
}

/// The places, from 1 on, that the items have before they are sorted.
fn grade_up(given: &Given) -> Result<ArrayRef> {
    let lists = Lists::of(given.arg(0)?)?;
    let mut order = ordered(given, false)?;
    let mut picks = Picks::default();
    let mut most = 0;
    for row in 0..given.rows {
        let items = lists.get(row);
        let begin = items.as_ref().map_or(0, |items| items.start);
        most = most.max(items.as_ref().map_or(0, ExactSizeIterator::len));
        match items.map(|items| order(row, items)).transpose()?.flatten() {
            Some(items) => {
                picks.extend(items.into_iter().map(|at| at - begin));
                picks.end();
            }
            None => picks.null(),
        }
    }
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(1..=most as i64));
    picks.lists(&numbers, &DataType::Int64)
}

/// Each value once, where it stands first, without NULL.
fn distinct(given: &Given) -> Result<ArrayRef> {
    let lists = Lists::of(given.arg(0)?)?;
    let converter = Converter::new(&[(item_of(given.gives), false)])?;
    let (rows, known) = (converter.rows(lists.values())?, known(lists.values()));
    rearranged(given, |items| {
        let mut seen = BTreeSet::new();
        Ok(items.filter(|i| known(*i) && seen.insert(rows.row(*i))).collect())
    })
}

/// Each value of the first list that the second one has too, once, where it stands first, without NULL. A second list that
/// is NULL has none.
fn intersected(given: &Given) -> Result<ArrayRef> {
    let (lists, others) = (Lists::of(given.arg(0)?)?, Lists::of(given.arg(1)?)?);
    let converter = Converter::new(&[(item_of(given.gives), false)])?;
    let (rows, of_others) = (converter.rows(lists.values())?, converter.rows(others.values())?);
    let known = known(lists.values());
    let mut picks = Picks::default();
    for row in 0..given.rows {
        let Some(items) = lists.get(row) else {
            picks.null();
            continue;
        };
        let mut wanted: BTreeSet<_> =
            others.get(row).into_iter().flatten().map(|i| of_others.row(i)).collect();
        picks.extend(items.filter(|i| known(*i) && wanted.remove(&rows.row(*i))));
        picks.end();
    }
    picks.lists(lists.values(), &item_of(given.gives))
}

/// The items of a list's lists. A list that is NULL has none.
fn flattened(given: &Given) -> Result<ArrayRef> {
    let outer = Lists::of(given.arg(0)?)?;
    let inner = Lists::of(outer.values())?;
    let mut picks = Picks::default();
    for row in 0..given.rows {
        match outer.get(row) {
            Some(lists) => {
                picks.extend(lists.filter_map(|list| inner.get(list)).flatten());
                picks.end();
            }
            None => picks.null(),
        }
    }
    picks.lists(inner.values(), &item_of(given.gives))
}

/// As many items as are wanted: the first ones, or more of a value that follows them.
fn resized(given: &Given) -> Result<ArrayRef> {
    let (lists, sizes) = (Lists::of(given.arg(0)?)?, given.arg(1)?.as_primitive::<Int64Type>());
    let values: Vec<&ArrayRef> = [lists.values()].into_iter().chain(given.args().get(2)).collect();
    let pool = Pool::of(&values)?;
    let mut picks = Picks::default();
    for row in 0..given.rows {
        let Some(items) = lists.get(row) else {
            picks.null();
            continue;
        };
        let size = if sizes.is_valid(row) { sizes.value(row) } else { 0 };
        let wanted = usize::try_from(size).ok().filter(|size| *size <= MOST);
        let Some(wanted) = wanted else { return exec_err!("a list of {size} items") };
        let missing = wanted.saturating_sub(items.len());
        picks.extend(items.take(wanted));
        (0..missing).for_each(|_| picks.push((values.len() > 1).then(|| pool.place(1, row))));
        picks.end();
    }
    picks.lists(pool.values(), &item_of(given.gives))
}

fn repeated(given: &Given) -> Result<ArrayRef> {
    let (lists, times) = (Lists::of(given.arg(0)?)?, given.arg(1)?.as_primitive::<Int64Type>());
    let mut picks = Picks::default();
    for row in 0..given.rows {
        let Some(items) = lists.get(row).filter(|_| times.is_valid(row)) else {
            picks.null();
            continue;
        };
        let times = usize::try_from(times.value(row)).unwrap_or(0);
        if items.len().saturating_mul(times) > MOST {
            return exec_err!("a list of {} items, {times} times", items.len());
        }
        (0..if items.is_empty() { 0 } else { times }).for_each(|_| picks.extend(items.clone()));
        picks.end();
    }
    picks.lists(lists.values(), &item_of(given.gives))
}

/// The items at whose places another list is true.
fn of_conditions(given: &Given) -> Result<ArrayRef> {
    let (lists, conditions) = (Lists::of(given.arg(0)?)?, Lists::of(given.arg(1)?)?);
    let holds = conditions.values().as_boolean();
    let mut picks = Picks::default();
    for row in 0..given.rows {
        let (Some(items), Some(places)) = (lists.get(row), conditions.get(row)) else {
            picks.null();
            continue;
        };
        if places.clone().any(|i| holds.is_null(i)) {
            return exec_err!("a condition of list_where() is NULL");
        }
        let begin = items.start;
        let chosen = places.enumerate().filter(|(_, condition)| holds.value(*condition));
        chosen.for_each(|(at, _)| picks.push((at < items.len()).then_some(begin + at)));
        picks.end();
    }
    picks.lists(lists.values(), &item_of(given.gives))
}

/// The items at places that another list has, which are counted from 1 on, and not from the end.
fn of_places(given: &Given) -> Result<ArrayRef> {
    let (lists, wanted) = (Lists::of(given.arg(0)?)?, Lists::of(given.arg(1)?)?);
    let numbers = wanted.values().as_primitive::<Int64Type>();
    let mut picks = Picks::default();
    for row in 0..given.rows {
        let (Some(items), Some(places)) = (lists.get(row), wanted.get(row)) else {
            picks.null();
            continue;
        };
        if places.clone().any(|i| numbers.is_null(i)) {
            return exec_err!("a place of list_select() is NULL");
        }
        for number in places.map(|i| numbers.value(i)) {
            picks.push(if number > 0 { place(&items, number) } else { None });
        }
        picks.end();
    }
    picks.lists(lists.values(), &item_of(given.gives))
}

/// A list of structs of the items of lists at one place. What a shorter list lacks is NULL.
fn zipped(given: &Given) -> Result<ArrayRef> {
    let lists = given.args().iter().map(Lists::of).collect::<Result<Vec<_>>>()?;
    let mut columns: Vec<Vec<Option<u32>>> = vec![Vec::new(); lists.len()];
    let mut picks = Picks::default();
    let mut total = 0;
    for row in 0..given.rows {
        let items: Vec<Range<usize>> = lists.iter().map(|lists| lists.get(row).unwrap_or(0..0)).collect();
        let most = items.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        for (column, items) in columns.iter_mut().zip(&items) {
            column.extend((0..most).map(|at| (at < items.len()).then_some((items.start + at) as u32)));
        }
        picks.extend(total..total + most);
        total += most;
        picks.end();
    }
    let DataType::Struct(fields) = item_of(given.gives) else { return exec_err!("the items are no structs") };
    let taken = lists.iter().zip(columns).zip(&fields);
    let taken = taken.map(|((lists, places), field)| match field.data_type() {
        DataType::Null => Ok(arrow_array::new_null_array(&DataType::Null, total)),
        _ => Ok(take(lists.values(), &UInt32Array::from(places), None)?),
    });
    let structs = StructArray::try_new(fields.clone(), taken.collect::<Result<Vec<_>>>()?, None)?;
    let structs: ArrayRef = Arc::new(structs);
    picks.lists(&structs, &DataType::Struct(fields.clone()))
}
