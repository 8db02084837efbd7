//! About how many rows a relation gives, and how many values its columns have.
//!
//! Estimates come from the catalog alone, so that every process plans alike. [`of`] looks at one operator: an estimate
//! is made from the bottom to the top of a tree, each node once.
//!
//! - [`values`]: what is known of columns.
//! - [`kept`]: which part of the rows predicates keep.
//! - [`joined`]: rows of joins.

pub mod joined;
pub mod kept;
pub mod values;

use arrow_schema::DataType;
use schema::{Source, Table};

use crate::algebra::{
    ColumnId, Expr, Facts, Join, JoinKind, Kind, Rel, Scan, Shared, WindowCall, WindowFunction,
};
use values::{Number, Spread, Spreads};

/// The rows of what nothing is known of.
const UNKNOWN_ROWS: f64 = 1e6;

/// What is known of the rows of a relation before they are read.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// About how many rows there are.
    pub rows: f64,
    /// About how many there would be if no filter was below.
    pub whole: f64,
    /// Whether the numbers of rows of all tables below are known, or guessed from their first records.
    pub is_known: bool,
    /// What is known of the columns.
    spreads: Spreads,
}

impl Estimate {
    /// About how many different values a column has, at most as many as there are rows.
    pub fn values(&self, column: ColumnId) -> f64 {
        self.spreads.get(column).map_or(self.rows, |spread| spread.values().min(self.rows))
    }

    /// What is known of the values of a column.
    pub fn column(&self, column: ColumnId) -> Spread {
        let known = self.spreads.get(column).unwrap_or(Spread::of_values(self.rows));
        Spread { whole: known.values(), kept: 1.0, ..known }.at_most(self.rows)
    }

    /// Whether the relation gives the column.
    pub fn has(&self, column: ColumnId) -> bool {
        self.spreads.get(column).is_some()
    }

    /// What is known of all pairs of rows, or of more than two.
    pub fn pairs<'a>(of: impl IntoIterator<Item = &'a Estimate>) -> Estimate {
        let none = Estimate { rows: 1.0, whole: 1.0, is_known: true, spreads: Spreads::default() };
        of.into_iter().fold(none, |all, one| {
            let rows = all.rows * one.rows;
            Estimate {
                rows,
                whole: all.whole * one.whole,
                is_known: all.is_known && one.is_known,
                spreads: Spreads::both(&all.spreads, &one.spreads, rows),
            }
        })
    }

    /// What is known of the values of an expression over the relation's columns. It is known of a column, also where it
    /// is cast or moved by a constant.
    pub fn spread(&self, e: &Expr) -> Option<Spread> {
        self.spreads.of_expr(e)
    }
}

/// About how many items a list has of which nothing is known.
const LIST_ITEMS: f64 = 5.0;

/// The estimate of a relation, by those of its inputs.
pub fn of(rel: &Rel, inputs: &[&Estimate]) -> Estimate {
    let nothing = Estimate { rows: 0.0, whole: 0.0, is_known: true, spreads: Spreads::default() };
    let input = inputs.first().copied().unwrap_or(&nothing);
    match rel {
        Rel::Scan(node) => scan(node),
        Rel::Values(node) => {
            let rows = node.rows.len() as f64;
            let spreads = Spreads::all(node.columns.iter().copied(), rows);
            Estimate { rows, whole: rows, is_known: true, spreads }
        }
        Rel::Filter(node) => {
            let (part, narrowed) = kept::filtered(&node.predicates, input);
            let rows = input.rows * part;
            Estimate { rows, spreads: input.spreads.of_rows(narrowed, rows), ..*input }
        }
        Rel::Map(node) => {
            let spread = |e: &Expr| input.spread(e).unwrap_or(Spread::of_values(input.rows));
            let computed = node.exprs.iter().map(|(id, e)| (*id, spread(e))).collect();
            Estimate { spreads: input.spreads.with(computed), ..*input }
        }
        Rel::Join(node) => join(node, input, inputs.get(1).copied().unwrap_or(&nothing)),
        Rel::Aggregate(node) => {
            let rows = groups(input, &node.keys);
            let key = |id: &ColumnId| (*id, input.spreads.get(*id).unwrap_or(Spread::of_values(rows)));
            let call = |id: ColumnId| (id, Spread::of_values(rows));
            let spreads = node.keys.iter().map(key).chain(node.calls.iter().map(|(id, _)| call(*id)));
            let whole = groups_of_whole(input, &node.keys).max(rows);
            Estimate { rows, whole, is_known: input.is_known, spreads: Spreads::of(spreads.collect()) }
        }
        Rel::Window(node) => {
            let keys: Vec<ColumnId> = node.partition.iter().filter_map(Expr::as_column).collect();
            let each = (input.rows / groups(input, &keys)).max(1.0);
            let values = |call: &WindowCall| match call.function {
                WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => each,
                _ => input.rows,
            };
            let computed =
                node.calls.iter().map(|(id, call)| (*id, Spread::of_values(values(call)))).collect();
            Estimate { spreads: input.spreads.with(computed), ..*input }
        }
        Rel::Expand(node) => {
            let rows = input.rows * node.sets.len() as f64;
            let whole = input.whole * node.sets.len() as f64;
            let key = |from: &ColumnId| {
                input
                    .spreads
                    .get(*from)
                    .map_or(Spread::of_values(rows), |known| Spread { span: None, ..known })
            };
            let keys = node.keys.iter().map(|(id, from)| (*id, key(from)));
            let id = (node.id, Spread::of_values(node.sets.len() as f64));
            Estimate { rows, whole, spreads: input.spreads.with(keys.chain([id]).collect()), ..*input }
        }
        Rel::Sort(node) => fetched(input.clone(), node.fetch),
        Rel::Limit(node) => {
            let rows = (input.rows - node.skip as f64).max(0.0);
            fetched(Estimate { rows, ..input.clone() }, node.fetch)
        }
        Rel::Union(node) => {
            let rows = inputs.iter().map(|input| input.rows).sum();
            let whole = inputs.iter().map(|input| input.whole).sum();
            let is_known = inputs.iter().all(|input| input.is_known);
            let columns = node.columns.iter().enumerate().map(|(at, id)| {
                let parts = node.inputs.iter().zip(inputs).map(|((_, from), input)| {
                    from.get(at)
                        .and_then(|from| input.spreads.get(*from))
                        .map(|spread| spread.at_most(input.rows))
                });
                (*id, parts.reduce(both).flatten().unwrap_or(Spread::of_values(rows)))
            });
            Estimate { rows, whole, is_known, spreads: Spreads::of(columns.collect()) }
        }
        Rel::Repeat(_) => input.clone(),
        Rel::Unnest(node) => {
            let (rows, whole) = (input.rows * LIST_ITEMS, input.whole * LIST_ITEMS);
            let made = node.made().map(|id| (id, Spread::of_values(rows)));
            Estimate { rows, whole, spreads: input.spreads.with(made.collect()), ..*input }
        }
        Rel::Shared(node) => shared(node),
    }
}

/// The values of a column of a union by those of two inputs.
fn both(a: Option<Spread>, b: Option<Spread>) -> Option<Spread> {
    a.zip(b).map(|(a, b)| a.or(b))
}

fn fetched(mut estimate: Estimate, fetch: Option<usize>) -> Estimate {
    if let Some(fetch) = fetch {
        estimate.rows = estimate.rows.min(fetch as f64);
        estimate.whole = estimate.rows;
    }
    estimate
}

fn scan(node: &Scan) -> Estimate {
    let rows = table_rows(&node.table);
    let is_known = node.table.about_rows().is_some() && node.transform.is_none();
    let columns = node.columns.iter().enumerate().map(|(at, id)| {
        let spread = match node.transform {
            Some(_) => Spread::of_values(rows),
            None => column(&node.table, at, rows),
        };
        (*id, spread)
    });
    let estimate = Estimate { rows, whole: rows, is_known, spreads: Spreads::of(columns.collect()) };
    fetched(estimate, node.fetch)
}

/// The estimate of what reads a stage by that of the stage.
fn shared(node: &Shared) -> Estimate {
    let Some(facts) = &node.facts else {
        let spreads = Spreads::all(node.columns.iter().copied(), UNKNOWN_ROWS);
        return Estimate { rows: UNKNOWN_ROWS, whole: UNKNOWN_ROWS, is_known: false, spreads };
    };
    let spreads = Spreads::of(node.columns.iter().copied().zip(facts.columns.iter().copied()).collect());
    let Facts { rows, whole, is_known, .. } = **facts;
    fetched(Estimate { rows, whole, is_known, spreads }, node.fetch)
}

/// The estimate of a relation and all below it.
pub fn of_tree(rel: &Rel) -> Estimate {
    let inputs: Vec<Estimate> = rel.inputs().into_iter().map(of_tree).collect();
    of(rel, &inputs.iter().collect::<Vec<_>>())
}

/// What is known of a column of a table of so many rows.
fn column(table: &Table, at: usize, rows: f64) -> Spread {
    let guess = table.guesses.columns.get(at).copied().unwrap_or_default();
    let known = table.spans.get(at).copied().flatten();
    let data_type = table.schema.fields().get(at).map(|field| field.data_type());
    let is_whole = data_type.is_some_and(|t| t.is_integer() || *t == DataType::Date32);
    let within = match (data_type, known) {
        (Some(DataType::Boolean), _) => Some(2.0),
        (_, Some((from, to))) if is_whole => Some(to - from + 1.0),
        (_, Some(_)) => Some(rows),
        (_, None) => None,
    };
    let most = within.unwrap_or(rows).min(rows);
    let (whole, number) = match guess.values {
        Some(values) if guess.is_counted => ((values as f64).min(most), Number::Counted),
        Some(values) => ((values as f64).min(most), Number::Most),
        None if within.is_some() => (most, Number::Most),
        None => (most, Number::OfRows),
    };
    let span = known.or(guess.span);
    Spread { number, span, is_sampled: known.is_none(), ..Spread::of_values(whole) }
}

fn join(node: &Join, left: &Estimate, right: &Estimate) -> Estimate {
    let is_known = left.is_known && right.is_known;
    let (rows, whole) = joined::rows(node, left, right);
    let spreads = match node.kind {
        kind if kind.gives_right() => Spreads::both(&left.spreads, &right.spreads, rows),
        JoinKind::Mark(mark) => left.spreads.with(vec![(mark, Spread::of_values(2.0))]),
        _ => left.spreads.of_rows(vec![], rows),
    };
    Estimate { rows, whole, is_known, spreads }
}

/// About how many groups these keys make. That is as many of their values as are met if so many rows have any of them
/// (Cardenas, CACM 1975). Of keys with no fewer values than rows it is not known how many there are.
fn groups(input: &Estimate, keys: &[ColumnId]) -> f64 {
    if keys.is_empty() {
        return 1.0;
    }
    let values = keys.iter().map(|key| input.values(*key)).product::<f64>().max(1.0);
    let is_told = |key: &ColumnId| input.spreads.get(*key).is_some_and(|s| s.number != Number::OfRows);
    let most = match keys {
        [key] if is_told(key) => input.rows,
        _ => input.rows.powf(0.85),
    };
    let met = if values < input.rows { values * (1.0 - (-input.rows / values).exp()) } else { values };
    met.min(most).max(1.0)
}

/// About how many groups these keys make where nothing is filtered.
fn groups_of_whole(input: &Estimate, keys: &[ColumnId]) -> f64 {
    let values = |key: &ColumnId| input.spreads.get(*key).map_or(input.whole, |spread| spread.whole);
    keys.iter().map(values).product::<f64>().min(input.whole).max(1.0)
}

/// About how many rows a table has.
pub fn table_rows(table: &Table) -> f64 {
    if let Some(rows) = table.about_rows() {
        return rows as f64;
    }
    match &table.source {
        // The size of a pipe is not known.
        Source::Files(set) if set.bytes() > 0 => {
            let ratio = if set.format.compression == "none" { 1.0 } else { 4.0 };
            let types = table.schema.fields().iter().map(|field| field.data_type());
            set.bytes() as f64 * ratio / types.map(type_width).sum::<f64>().max(1.0)
        }
        _ => UNKNOWN_ROWS,
    }
}

/// About how many bytes a row with columns of these types takes in memory.
pub fn width(types: &[DataType]) -> f64 {
    types.iter().map(type_width).sum::<f64>().max(1.0)
}

fn type_width(t: &DataType) -> f64 {
    match t {
        DataType::Boolean => 1.0,
        other => other.primitive_width().unwrap_or(32) as f64,
    }
}

/// Both sides of an equality.
pub(crate) fn equality(e: &Expr) -> Option<(&Expr, &Expr)> {
    match &e.kind {
        Kind::Binary(datafusion_expr::Operator::Eq, left, right) => Some((left, right)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{Field, Schema};
    use datafusion_common::ScalarValue;
    use datafusion_expr::Operator;

    use schema::{ColumnEstimate, TableEstimates};

    use super::*;
    use crate::algebra::{Aggregate, Columns, Filter};

    /// A table of one column of whole numbers.
    fn table(columns: &mut Columns, rows: u64, span: (f64, f64)) -> (Rel, ColumnId) {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
        let source = Source::Range { start: 0, end: rows as i64, step: 1 };
        let guesses = TableEstimates::default();
        let table =
            Table { name: "t".into(), schema, source, rows: Some(rows), spans: vec![Some(span)], guesses };
        let id = columns.add("x", DataType::Int64);
        let (columns, table) = (vec![id], Arc::new(table));
        (Rel::Scan(Scan { table, transform: None, columns, bounds: vec![], fetch: None }), id)
    }

    #[test]
    fn a_filter_keeps_the_part_of_the_span_that_it_leaves() {
        let mut columns = Columns::default();
        let (input, x) = table(&mut columns, 1000, (0.0, 99.0));
        let least = Expr::literal(ScalarValue::Int64(Some(90)));
        let predicate = Expr::compare(columns.read(x), Operator::GtEq, least);
        let rel = Rel::Filter(Filter { input: Box::new(input), predicates: vec![predicate] });
        let found = of_tree(&rel);
        assert_eq!((found.rows, found.values(x), found.is_known), (100.0, 10.0, true));
    }

    #[test]
    fn equal_keys_join_each_row_with_those_of_its_value() {
        let mut columns = Columns::default();
        let ((a, x), (b, y)) =
            (table(&mut columns, 1000, (0.0, 99.0)), table(&mut columns, 100, (0.0, 99.0)));
        let predicate = Expr::compare(columns.read(x), Operator::Eq, columns.read(y));
        let join = |kind| {
            let (left, right) = (Box::new(a.clone()), Box::new(b.clone()));
            of_tree(&Rel::Join(Join { kind, left, right, predicates: vec![predicate.clone()] })).rows
        };
        assert_eq!(join(JoinKind::Inner), 1000.0);
        assert_eq!(join(JoinKind::Left), 1000.0);
        assert_eq!(join(JoinKind::Semi), 1000.0);
        assert_eq!(join(JoinKind::Anti), 100.0);
    }

    #[test]
    fn a_sample_tells_rows_and_values_and_leaves_some_outside_of_its_span() {
        let mut columns = Columns::default();
        let guess = ColumnEstimate { values: Some(50), is_counted: true, span: Some((0.0, 99.0)) };
        let (mut input, x) = table(&mut columns, 0, (0.0, 0.0));
        if let Rel::Scan(scan) = &mut input {
            let guesses = TableEstimates { rows: Some(10_000), columns: vec![guess] };
            scan.table = Arc::new(Table { rows: None, spans: vec![], guesses, ..Table::clone(&scan.table) });
        }
        let scanned = of_tree(&input);
        assert_eq!((scanned.rows, scanned.values(x), scanned.is_known), (10_000.0, 50.0, true));
        let kept = |op, value| {
            let value = Expr::literal(ScalarValue::Int64(Some(value)));
            let predicates = vec![Expr::compare(columns.read(x), op, value)];
            of_tree(&Rel::Filter(Filter { input: Box::new(input.clone()), predicates })).rows
        };
        assert_eq!(kept(Operator::Eq, 7), 200.0);
        assert_eq!(kept(Operator::GtEq, 90), 1000.0);
        assert_eq!(kept(Operator::GtEq, 500), 100.0);
    }

    #[test]
    fn a_filter_on_one_side_leaves_rows_of_the_other_without_a_match() {
        let mut columns = Columns::default();
        let ((a, x), (b, y)) =
            (table(&mut columns, 1000, (0.0, 99.0)), table(&mut columns, 100, (0.0, 99.0)));
        // What it says nothing of is not narrower.
        let some = Expr::literal(ScalarValue::Boolean(None)).is_null();
        let b = Rel::Filter(Filter { input: Box::new(b), predicates: vec![some] });
        let part = of_tree(&b).rows / 100.0;
        assert!(part < 0.5);
        let key = |to| Expr::compare(columns.read(x), Operator::Eq, columns.read(to));
        let join = |predicates| {
            let (left, right) = (Box::new(a.clone()), Box::new(b.clone()));
            of_tree(&Rel::Join(Join { kind: JoinKind::Inner, left, right, predicates }))
        };
        let one = join(vec![key(y)]);
        assert_eq!((one.rows, one.whole), (1000.0 * part, 1000.0));
        // Two keys say no more than one if one is enough.
        let two = join(vec![key(y), Expr::compare(columns.read(y), Operator::Eq, columns.read(x))]);
        assert_eq!((two.rows, two.whole), (1000.0 * part, 1000.0));
        assert_eq!(two.values(y), 10.0);
    }

    #[test]
    fn there_are_no_more_groups_than_values() {
        let mut columns = Columns::default();
        let (input, x) = table(&mut columns, 1000, (0.0, 99.0));
        let group = |keys| Aggregate { input: Box::new(input.clone()), keys, calls: vec![], totals: vec![] };
        assert_eq!(of_tree(&Rel::Aggregate(group(vec![x]))).rows.round(), 100.0);
        assert_eq!(of_tree(&Rel::Aggregate(group(vec![]))).rows, 1.0);
    }
}
