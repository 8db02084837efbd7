//! Whether and where an item is in a list, and how many there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};

use super::picks::Lists;
use super::{Given, ListFunction, Takes, item_of};
use crate::functions::aggregates::rows::{Converter, known};

const LIST: &[Takes] = &[Takes::List];
const LIST_ITEM: &[Takes] = &[Takes::List, Takes::Item];
const TWO_LISTS: &[Takes] = &[Takes::List, Takes::List];

pub(super) const FUNCTIONS: &[ListFunction] = &[
    ListFunction {
        name: "array_length",
        takes: &[Takes::List, Takes::Integer],
        least: 1,
        more: None,
        gives: |_| DataType::Int64,
        total: false,
        compute: length,
    },
    ListFunction {
        name: "list_unique",
        takes: LIST,
        least: 1,
        more: None,
        gives: |_| DataType::Int64,
        total: true,
        compute: unique,
    },
    ListFunction {
        name: "list_contains",
        takes: LIST_ITEM,
        least: 2,
        more: None,
        gives: |_| DataType::Boolean,
        total: true,
        compute: contains,
    },
    ListFunction {
        name: "list_position",
        takes: LIST_ITEM,
        least: 2,
        more: None,
        gives: |_| DataType::Int64,
        total: true,
        compute: position,
    },
    ListFunction {
        name: "list_has_any",
        takes: TWO_LISTS,
        least: 2,
        more: None,
        gives: |_| DataType::Boolean,
        total: true,
        compute: |given| has(given, false),
    },
    ListFunction {
        name: "list_has_all",
        takes: TWO_LISTS,
        least: 2,
        more: None,
        gives: |_| DataType::Boolean,
        total: true,
        compute: |given| has(given, true),
    },
];

fn length(given: &Given) -> Result<ArrayRef> {
    let lists = Lists::of(given.arg(0)?)?;
    if let Some(dimensions) = given.args().get(1) {
        let dimensions = dimensions.as_primitive::<Int64Type>();
        if let Some(other) = dimensions.iter().flatten().find(|dimension| *dimension != 1) {
            return exec_err!(
                "array_length() of dimension {other}\n  help: list_transform(list, lambda x: len(x)) has the lengths of its lists"
            );
        }
    }
    let lengths = (0..given.rows).map(|row| lists.get(row).map(|items| items.len() as i64));
    Ok(Arc::new(Int64Array::from_iter(lengths)))
}

/// How many different values there are, without NULL.
fn unique(given: &Given) -> Result<ArrayRef> {
    let lists = Lists::of(given.arg(0)?)?;
    let converter = Converter::new(&[(item_of(given.arg(0)?.data_type()), false)])?;
    let (rows, known) = (converter.rows(lists.values())?, known(lists.values()));
    let counts = (0..given.rows).map(|row| {
        let items = lists.get(row)?;
        let seen: BTreeSet<_> = items.filter(|i| known(*i)).map(|i| rows.row(i)).collect();
        Some(seen.len() as i64)
    });
    Ok(Arc::new(Int64Array::from_iter(counts)))
}

/// Whether an item is in a list. Of NULL that is not known.
fn contains(given: &Given) -> Result<ArrayRef> {
    let (lists, items) = (Lists::of(given.arg(0)?)?, given.arg(1)?);
    let converter = Converter::new(&[(items.data_type().clone(), false)])?;
    let (rows, wanted, known) = (converter.rows(lists.values())?, converter.rows(items)?, known(items));
    let found = (0..given.rows).map(|row| {
        let places = lists.get(row).filter(|_| known(row))?;
        Some(places.into_iter().any(|i| rows.row(i) == wanted.row(row)))
    });
    Ok(Arc::new(BooleanArray::from_iter(found)))
}

/// The place of the first item that is the same, from 1 on; NULL where there is none.
fn position(given: &Given) -> Result<ArrayRef> {
    let (lists, items) = (Lists::of(given.arg(0)?)?, given.arg(1)?);
    let converter = Converter::new(&[(items.data_type().clone(), false)])?;
    let (rows, wanted) = (converter.rows(lists.values())?, converter.rows(items)?);
    let found = (0..given.rows).map(|row| {
        let mut places = lists.get(row)?;
        Some(places.position(|i| rows.row(i) == wanted.row(row))? as i64 + 1)
    });
    Ok(Arc::new(Int64Array::from_iter(found)))
}

/// Whether a list has any, or all, of the values of another one, of which NULL is none.
fn has(given: &Given, all: bool) -> Result<ArrayRef> {
    let (lists, others) = (Lists::of(given.arg(0)?)?, Lists::of(given.arg(1)?)?);
    let converter = Converter::new(&[(item_of(given.arg(0)?.data_type()), false)])?;
    let (rows, wanted) = (converter.rows(lists.values())?, converter.rows(others.values())?);
    let known = known(others.values());
    let found = (0..given.rows).map(|row| {
        let (items, others) = (lists.get(row)?, others.get(row)?);
        let items: BTreeSet<_> = items.map(|i| rows.row(i)).collect();
        let mut others = others.filter(|i| known(*i));
        Some(match all {
            true => others.all(|i| items.contains(&wanted.row(i))),
            false => others.any(|i| items.contains(&wanted.row(i))),
        })
    });
    Ok(Arc::new(BooleanArray::from_iter(found)))
}
