//! Takes lists apart.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take;
use queries::plan::Unnest as Node;

use super::rows_of;
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch, batch_of};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// Gives each row once for each item of its last columns, which are lists, and the items in their place.
pub struct Unnest {
    node: Node,
    schema: SchemaRef,
    current: Option<Current>,
    /// Items that become rows as they lie, where there is nothing beside them.
    alone: Option<ArrayRef>,
}

/// The batch at hand.
struct Current {
    batch: RecordBatch,
    lists: Vec<ListArray>,
    /// The row that is next, and how many items of it have been given.
    row: usize,
    given: usize,
}

/// Items of a list that become rows: so many from a place of the list's values on, and then NULLs.
#[derive(Clone, Copy)]
struct Span {
    from: usize,
    items: usize,
    nulls: usize,
}

impl Unnest {
    /// Gives batches of `schema`.
    pub fn new(node: Node, schema: SchemaRef) -> Unnest {
        Unnest { node, schema, current: None, alone: None }
    }
}

impl Current {
    /// Where the items of a list lie in its values, and how many there are.
    fn list(&self, list: &ListArray) -> (usize, usize) {
        let range = list.value_offsets();
        match list.is_null(self.row) {
            true => (0, 0),
            false => (range[self.row] as usize, (range[self.row + 1] - range[self.row]) as usize),
        }
    }

    /// The rows of the next batch by their numbers, the places of their items from 1 on, and the items of each list.
    fn next(&mut self, keeps: bool) -> (Vec<u32>, Vec<i64>, Vec<Vec<Span>>) {
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        let mut spans: Vec<Vec<Span>> = vec![Vec::new(); self.lists.len()];
        while rows.len() < BATCH_ROWS && self.row < self.batch.num_rows() {
            let most = self.lists.iter().map(|list| self.list(list).1).max().unwrap_or(0);
            let total = if keeps { most.max(1) } else { most };
            let count = (total - self.given).min(BATCH_ROWS - rows.len());
            rows.extend(std::iter::repeat_n(self.row as u32, count));
            places.extend((0..count).map(|i| (self.given + i) as i64 + 1));
            for (list, spans) in self.lists.iter().zip(&mut spans) {
                let (begin, length) = self.list(list);
                let items = length.saturating_sub(self.given).min(count);
                spans.push(Span { from: begin + self.given.min(length), items, nulls: count - items });
            }
            self.given += count;
            if self.given == total {
                (self.row, self.given) = (self.row + 1, 0);
            }
        }
        (rows, places, spans)
    }
}

/// The items of lists side by side, unless a list that is NULL has some.
fn all_items(list: &ListArray) -> Option<ArrayRef> {
    let offsets = list.value_offsets();
    let is_hidden = |row: usize| list.is_null(row) && list.value_length(row) > 0;
    if list.null_count() > 0 && (0..list.len()).any(is_hidden) {
        return None;
    }
    let (first, last) = (*offsets.first()? as usize, *offsets.last()? as usize);
    Some(list.values().slice(first, last - first))
}

/// The items of spans as a column. Those that lie side by side are not copied.
fn items(values: &ArrayRef, spans: &[Span]) -> Result<ArrayRef> {
    let has = || spans.iter().filter(|span| span.items > 0);
    let first = has().next().map_or(0, |span| span.from);
    let mut end = first;
    let is_whole = spans.iter().all(|span| {
        let follows = span.nulls == 0 && (span.items == 0 || span.from == end);
        end += span.items;
        follows
    });
    if is_whole {
        return Ok(values.slice(first, end - first));
    }
    let indices = spans.iter().flat_map(|span| {
        let items = (span.from..span.from + span.items).map(|i| Some(i as u32));
        items.chain(std::iter::repeat_n(None, span.nulls))
    });
    Ok(take(values, &UInt32Array::from_iter(indices), None)?)
}

impl Operator for Unnest {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let batch = rows_of(&given).clone();
        let width = batch.num_columns() - self.node.lists;
        let lists: Vec<ListArray> =
            batch.columns()[width..].iter().map(|list| list.as_list::<i32>().clone()).collect();
        if let ([list], 0, Node { place: false, keeps: false, .. }) = (&lists[..], width, &self.node)
            && let Some(items) = all_items(list)
        {
            self.alone = Some(items);
            return Ok(());
        }
        self.current = Some(Current { batch, lists, row: 0, given: 0 });
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        if let Some(items) = self.alone.take() {
            let rows = items.len().min(BATCH_ROWS);
            if rows == 0 {
                return Ok(Pull::Empty);
            }
            self.alone = Some(items.slice(rows, items.len() - rows));
            let batch = batch_of(&self.schema, vec![items.slice(0, rows)], rows)?;
            return Ok(Pull::Batch(ExchangeBatch::from(batch)));
        }
        let Some(current) = &mut self.current else { return Ok(Pull::Empty) };
        let (rows, places, spans) = current.next(self.node.keeps);
        if rows.is_empty() {
            self.current = None;
            return Ok(Pull::Empty);
        }
        let count = rows.len();
        let rows = UInt32Array::from(rows);
        let width = current.batch.num_columns() - self.node.lists;
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for column in &current.batch.columns()[..width] {
            columns.push(take(column, &rows, None)?);
        }
        for (list, spans) in current.lists.iter().zip(&spans) {
            columns.push(items(list.values(), spans)?);
        }
        if self.node.place {
            let is_kept = |row: &u32| {
                let row = *row as usize;
                current.lists.iter().any(|list| list.is_valid(row) && list.value_length(row) > 0)
            };
            let places = rows.values().iter().zip(places).map(|(row, place)| is_kept(row).then_some(place));
            columns.push(Arc::new(Int64Array::from_iter(places)));
        }
        Ok(Pull::Batch(ExchangeBatch::from(batch_of(&self.schema, columns, count)?)))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int64Type;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    fn list(lists: Vec<Option<Vec<Option<i64>>>>) -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))
    }

    fn unnested(lists: Vec<ArrayRef>, keeps: bool) -> Vec<Vec<Option<i64>>> {
        let rows = lists[0].len();
        let field = |i: usize, t: DataType| Field::new(format!("c{i}"), t, true);
        let given: Vec<ArrayRef> =
            std::iter::once(Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef)
                .chain(lists.iter().cloned())
                .collect();
        let schema = Schema::new(
            given.iter().enumerate().map(|(i, c)| field(i, c.data_type().clone())).collect::<Vec<_>>(),
        );
        let batch = RecordBatch::try_new(Arc::new(schema), given).unwrap();
        let made = Schema::new((0..lists.len() + 2).map(|i| field(i, DataType::Int64)).collect::<Vec<_>>());
        let node = Node { lists: lists.len(), place: true, keeps };
        let mut operator = Unnest::new(node, Arc::new(made));
        operator.push(0, ExchangeBatch::from(batch)).unwrap();
        let mut all = vec![Vec::new(); lists.len() + 2];
        while let Pull::Batch(given) = operator.pull().unwrap() {
            let batch = rows_of(&given);
            assert!(batch.num_rows() <= BATCH_ROWS);
            for (all, column) in all.iter_mut().zip(batch.columns()) {
                all.extend(column.as_primitive::<Int64Type>().iter());
            }
        }
        all
    }

    #[test]
    fn lists_are_taken_apart_side_by_side() {
        let a = list(vec![Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(4)])]);
        let b = list(vec![Some(vec![Some(7)]), Some(vec![Some(8)]), None, Some(vec![])]);
        let rows = unnested(vec![a.clone(), b], false);
        let of = |all: [Option<i64>; 4]| all.to_vec();
        assert_eq!(rows[0], of([Some(0), Some(0), Some(1), Some(3)]));
        assert_eq!(rows[1], of([Some(1), None, None, Some(4)]));
        assert_eq!(rows[2], of([Some(7), None, Some(8), None]));
        assert_eq!(rows[3], of([Some(1), Some(2), Some(1), Some(1)]));
        let kept = unnested(vec![a.slice(1, 3)], true);
        assert_eq!(kept[0], [Some(0), Some(1), Some(2)]);
        assert_eq!(kept[1], [None, None, Some(4)]);
        assert_eq!(kept[2], [None, None, Some(1)]);
    }

    #[test]
    fn items_with_nothing_beside_them_are_given_as_they_lie() {
        let values: Vec<Option<i64>> = (0..2 * BATCH_ROWS as i64).map(Some).collect();
        let long =
            list(vec![Some(vec![Some(-1)]), None, Some(vec![]), Some(values.clone()), Some(vec![None])]);
        // A NULL with items below it.
        let below = long.as_list::<i32>();
        let nulls = arrow_buffer::NullBuffer::from(vec![true, true, true, true, false]);
        let DataType::List(item) = below.data_type() else { panic!("a list") };
        let hidden =
            ListArray::new(item.clone(), below.offsets().clone(), below.values().clone(), Some(nulls));
        let expected = [&[Some(-1)][..], &values, &[None]].concat();
        for (list, expected) in [
            (long.slice(0, 5), &expected[..]),
            (long.slice(1, 3), &values[..]),
            (Arc::new(hidden) as ArrayRef, &expected[..expected.len() - 1]),
        ] {
            let field = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), true);
            let given = Schema::new(vec![field("l", list.data_type())]);
            let made = Schema::new(vec![field("x", &DataType::Int64)]);
            let node = Node { lists: 1, place: false, keeps: false };
            let mut operator = Unnest::new(node, Arc::new(made));
            let batch = RecordBatch::try_new(Arc::new(given), vec![list]).unwrap();
            operator.push(0, ExchangeBatch::from(batch)).unwrap();
            let mut all = Vec::new();
            while let Pull::Batch(given) = operator.pull().unwrap() {
                assert!(rows_of(&given).num_rows() <= BATCH_ROWS);
                all.extend(rows_of(&given).column(0).as_primitive::<Int64Type>().iter());
            }
            assert_eq!(all, expected);
        }
    }

    #[test]
    fn a_long_list_becomes_several_batches() {
        let long: Vec<Option<i64>> = (0..3 * BATCH_ROWS as i64 + 5).map(Some).collect();
        let rows = unnested(vec![list(vec![Some(vec![Some(-1)]), Some(long.clone())])], false);
        assert_eq!(rows[1][1..], long);
        assert_eq!(rows[2][1..], (1..=long.len() as i64).map(Some).collect::<Vec<_>>());
    }
}
