//! A LIMIT for each combination of a domain.
//!
//! - The first row is the first value of each column by the order. So that the values are those of one row, the order goes on
//!   with the columns that are read above.
//! - Some first rows are the n-th values, for each n one of the rows that take their place.
//! - Any other range is the rows before which there are neither too few nor too many others of the combination. For this the
//!   rows are read twice. Equal rows are one there, with their number, and are repeated as often as they lie in the range.

use std::collections::BTreeSet;

use arrow_schema::DataType;
use datafusion_expr::Operator;
use datafusion_functions_aggregate::first_last::first_value_udaf;
use datafusion_functions_aggregate::nth_value::nth_value_udaf;

use crate::algebra::{
    Aggregate, Call, ColumnId, Expr, JoinKind, Kind, Limit, Rel, Repeat, Sort, SortKey, Values,
};
use crate::error::{Error, Result};

use super::domain::Domain;
use super::push::{Carried, Pushed};
use super::repeatable::{add_keys, is_ordered, is_sorted, make_repeatable};
use super::{
    Above, Unnest, call, case, count_rows, filtered, integer, join, mapped, positive, reads, renumbering,
    take,
};

/// The most calls of the n-th value.
const MOST_CALLS: usize = 64;

/// What is taken of the rows of each combination.
struct Range {
    skip: usize,
    fetch: Option<usize>,
    keys: Vec<SortKey>,
    /// The columns read above.
    needed: Vec<ColumnId>,
}

impl Unnest {
    /// A sort of which some rows are wanted, or a LIMIT.
    pub(super) fn push_limit(&mut self, rel: Rel, domain: &mut Domain, above: &Above) -> Result<Pushed> {
        let (skip, fetch, mut input) = match rel {
            Rel::Limit(Limit { input, skip, fetch }) => (skip, fetch, *input),
            Rel::Sort(Sort { fetch: fetch @ Some(_), input, keys }) => {
                (0, fetch, Rel::Sort(Sort { input, keys, fetch: None }))
            }
            other => return self.push(other, domain, above),
        };
        if skip == 0 && fetch.is_none() {
            return self.push(input, domain, above);
        }
        if fetch == Some(0) {
            let pushed = self.push(input, domain, above)?;
            return Ok(Pushed { rel: filtered(pushed.rel, vec![Expr::boolean(false)]), ..pushed });
        }
        let mut keys = if is_sorted(&input) { unsort(&mut input) } else { vec![] };
        // A key of an aggregate may be an outer column.
        let is_needed = |id: &ColumnId| above.reads(*id) && !domain.outer.contains(id);
        let needed: Vec<ColumnId> = input.columns().into_iter().filter(is_needed).collect();
        let mut read = reads(keys.iter().map(|key| &key.expr));
        read.extend(&needed);
        let pushed = self.push(input, domain, &Above::of(read, None))?;
        domain.inside(keys.iter_mut().map(|key| &mut key.expr), &pushed.columns, &self.columns);
        let ordered = needed.iter().copied().filter(|id| is_ordered(&self.columns.get(*id).data_type));
        let ordered: Vec<ColumnId> = ordered.collect();
        let all_ordered = ordered.len() == needed.len();
        let range = Range { skip, fetch, keys, needed };
        match range.fetch {
            Some(1) if skip == 0 && (all_ordered || range.needed.len() == 1) => {
                Ok(self.first(pushed, range, &ordered))
            }
            Some(n)
                if n.saturating_mul(range.needed.len().max(1)) <= MOST_CALLS
                    && skip < i64::MAX as usize - n =>
            {
                Ok(self.nth(pushed, range, &ordered))
            }
            _ if all_ordered => self.ranked(pushed, range, domain),
            _ => Err(Error::Unsupported("a LIMIT of rows with lists in this correlated subquery".into())),
        }
    }

    fn first(&mut self, pushed: Pushed, mut range: Range, ordered: &[ColumnId]) -> Pushed {
        if range.needed.len() > 1 {
            add_keys(&mut range.keys, ordered, &self.columns);
        }
        let (input, carried, order_by, values) = self.below(pushed, &range);
        let calls = range.needed.iter().zip(values).map(|(id, value)| {
            (*id, Call { order_by: order_by.clone(), ..call(first_value_udaf(), vec![value]) })
        });
        grouped(input, carried, calls.collect())
    }

    /// The rows under other numbers, the columns that carry the combination, the order, and the columns read above.
    fn below(&mut self, pushed: Pushed, range: &Range) -> (Rel, Vec<Carried>, Vec<SortKey>, Vec<Expr>) {
        let (input, numbers) = self.renumbered(pushed.rel);
        let number = renumbering(&numbers);
        let carried = pushed.columns.iter().map(|c| Carried { id: number(c.id), strict: c.strict }).collect();
        let mut keys = range.keys.clone();
        keys.iter_mut().for_each(|key| key.expr.renumber(&number));
        let values = range.needed.iter().map(|id| self.read(number(*id))).collect();
        (input, carried, keys, values)
    }

    fn nth(&mut self, pushed: Pushed, mut range: Range, ordered: &[ColumnId]) -> Pushed {
        add_keys(&mut range.keys, ordered, &self.columns);
        let (input, carried, order_by, values) = self.below(pushed, &range);
        let first = range.skip as i64 + 1;
        let places: Vec<i64> = (first..first + range.fetch.unwrap_or(0) as i64).collect();
        let rows = self.column("rows", DataType::Int64);
        let mut calls = vec![(rows, count_rows())];
        let place = self.column("place", DataType::Int64);
        let mut exprs = Vec::with_capacity(range.needed.len());
        for (id, value) in range.needed.iter().zip(values) {
            let data_type = value.data_type.clone();
            let mut branches = Vec::with_capacity(places.len());
            for place in &places {
                let column = self.like(*id);
                let nth = call(nth_value_udaf(), vec![value.clone(), integer(*place)]);
                calls.push((column, Call { order_by: order_by.clone(), ..nth }));
                branches.push((integer(*place), self.read(column)));
            }
            let operand = Some(Box::new(self.read(place)));
            exprs.push((*id, Expr { kind: Kind::Case { operand, branches, otherwise: None }, data_type }));
        }
        let grouped = grouped(input, carried, calls);
        let cells = places.into_iter().map(|place| vec![integer(place)]).collect();
        let places = Rel::Values(Values { columns: vec![place], rows: cells });
        let on = vec![Expr::compare(self.read(rows), Operator::GtEq, self.read(place))];
        let rel = mapped(join(JoinKind::Inner, grouped.rel, places, on), exprs);
        Pushed { rel, columns: grouped.columns }
    }

    fn ranked(&mut self, pushed: Pushed, mut range: Range, domain: &Domain) -> Result<Pushed> {
        let Pushed { rel: mut input, columns: carried } = pushed;
        // Keys of the order as columns.
        let mut exprs = Vec::new();
        for key in &mut range.keys {
            let id = self.key(&key.expr, &mut exprs);
            key.expr = self.read(id);
        }
        add_keys(&mut range.keys, &range.needed, &self.columns);
        input = mapped(input, exprs);
        let mut keys: BTreeSet<ColumnId> = carried.iter().map(|carried| carried.id).collect();
        keys.extend(range.keys.iter().filter_map(|key| key.expr.as_column()));
        if !make_repeatable(&mut input, &keys, &self.columns) {
            let what = "OFFSET, or a large LIMIT, of random rows in this correlated subquery";
            return Err(Error::Unsupported(what.into()));
        }
        let times = self.column("times", DataType::Int64);
        let keys: Vec<ColumnId> = keys.into_iter().collect();
        let calls = vec![(times, count_rows())];
        let rows =
            Rel::Aggregate(Aggregate { input: Box::new(input), keys: keys.clone(), calls, totals: vec![] });
        let (others, numbers) = self.copy(&rows)?;
        let number = renumbering(&numbers);
        let of_others: Vec<Carried> =
            carried.iter().map(|c| Carried { id: number(c.id), strict: c.strict }).collect();
        let mut on = self.same(domain, &carried, &of_others);
        on.push(self.comes_before(&range.keys, &number));
        let pairs = join(JoinKind::Left, rows, others, on);
        let before = self.column("before", DataType::Int64);
        let sum = call(expressions::functions::sum::sum(), vec![self.read(number(times))]);
        let keys = keys.into_iter().chain([times]).collect();
        let calls = vec![(before, sum)];
        let ranked = Rel::Aggregate(Aggregate { input: Box::new(pairs), keys, calls, totals: vec![] });

        // Equal rows lie at the places from `before` up to `before + times`.
        let start = self.column("start", DataType::Int64);
        let none = self.read(before).is_null();
        let ranked = mapped(ranked, vec![(start, case(vec![(none, integer(0))], self.read(before)))]);
        let sum = |a: Expr, b: Expr| self.arithmetic(a, Operator::Plus, b);
        let (start, end) = (self.read(start), sum(self.read(start), self.read(times)));
        let skip = i64::try_from(range.skip).unwrap_or(i64::MAX);
        let last = range.fetch.map(|n| skip.saturating_add(i64::try_from(n).unwrap_or(i64::MAX)));
        let smaller =
            |a: Expr, b: Expr| case(vec![(Expr::compare(a.clone(), Operator::Lt, b.clone()), a)], b);
        let upper = match last {
            Some(last) => smaller(end, integer(last)),
            None => end,
        };
        let lower =
            case(vec![(Expr::compare(start.clone(), Operator::Lt, integer(skip)), integer(skip))], start);
        let wanted = self.arithmetic(upper, Operator::Minus, lower);
        let times = self.column("wanted", DataType::Int64);
        let rel = mapped(ranked, vec![(times, wanted)]);
        let rel = filtered(rel, vec![positive(self.read(times))]);
        Ok(Pushed { rel: Rel::Repeat(Repeat { input: Box::new(rel), times }), columns: carried })
    }

    fn arithmetic(&self, left: Expr, op: Operator, right: Expr) -> Expr {
        Expr { kind: Kind::Binary(op, Box::new(left), Box::new(right)), data_type: DataType::Int64 }
    }

    /// Whether a row of the columns that `number` gives comes before one of the columns of the keys.
    fn comes_before(&self, keys: &[SortKey], number: &dyn Fn(ColumnId) -> ColumnId) -> Expr {
        keys.iter().rev().fold(Expr::boolean(false), |rest, key| {
            let mine = key.expr.clone();
            let mut other = mine.clone();
            other.renumber(number);
            let op = if key.descending { Operator::Gt } else { Operator::Lt };
            let (first, last) = match key.nulls_first {
                true => (other.clone(), mine.clone()),
                false => (mine.clone(), other.clone()),
            };
            // With NULLs first the other one comes before if it alone is NULL, else if this one alone is.
            let by_null = Expr::and([first.is_null(), last.is_null().not()]);
            let less = Expr::compare(other.clone(), op, mine.clone());
            let same = Expr::compare(other, Operator::IsNotDistinctFrom, mine);
            let later = match rest.as_bool() {
                Some(Some(false)) => None,
                _ => Some(Expr::and([same, rest])),
            };
            Expr::or([less, by_null].into_iter().chain(later))
        })
    }
}

/// A group for each combination.
fn grouped(input: Rel, columns: Vec<Carried>, calls: Vec<(ColumnId, Call)>) -> Pushed {
    let distinct: BTreeSet<ColumnId> = columns.iter().map(|carried| carried.id).collect();
    let keys = distinct.into_iter().collect();
    let rel = Rel::Aggregate(Aggregate { input: Box::new(input), keys, calls, totals: vec![] });
    Pushed { rel, columns }
}

/// Takes the sort out of rows that are sorted.
fn unsort(rel: &mut Rel) -> Vec<SortKey> {
    match rel {
        Rel::Sort(node) => {
            let keys = std::mem::take(&mut node.keys);
            *rel = take(&mut node.input);
            keys
        }
        Rel::Map(node) => unsort(&mut node.input),
        Rel::Filter(node) => unsort(&mut node.input),
        _ => vec![],
    }
}
