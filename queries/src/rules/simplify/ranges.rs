//! Ranges of one column that overlap as one: `x BETWEEN 1 AND 5 OR x BETWEEN 4 AND 9` is `x >= 1 AND x <= 9`.
//!
//! It holds in three-valued logic: each range is NULL where the column is, and nowhere else. Floats stay as they are, and
//! ranges that together leave nothing out.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use crate::algebra::{ColumnId, Expr, Kind};
use crate::compile::is_text;

/// Values of a column from one end to the other.
#[derive(Clone)]
struct Range {
    column: Expr,
    from: Option<End>,
    to: Option<End>,
}

/// A constant, and whether it is one of the values.
type End = (ScalarValue, bool);

/// The terms of an OR, of which ranges that overlap are one, where the first of them stood.
pub fn merged(terms: Vec<Expr>) -> Vec<Expr> {
    let mut columns: BTreeMap<ColumnId, Vec<(usize, Range)>> = BTreeMap::new();
    for (at, term) in terms.iter().enumerate() {
        if let Some((id, range)) = range_of(term) {
            columns.entry(id).or_default().push((at, range));
        }
    }
    columns.retain(|_, ranges| ranges.len() > 1);
    if columns.is_empty() {
        return terms;
    }
    let mut terms: Vec<Option<Expr>> = terms.into_iter().map(Some).collect();
    for mut ranges in columns.into_values() {
        // One that is open below comes first.
        ranges.sort_by(|(_, a), (_, b)| match (&a.from, &b.from) {
            (Some((a, _)), Some((b, _))) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        let mut union: Vec<(Vec<usize>, Range)> = Vec::new();
        for (at, range) in ranges {
            match union.last_mut() {
                Some((places, last)) if reaches(last, &range) => {
                    places.push(at);
                    last.extend(range);
                }
                _ => union.push((vec![at], range)),
            }
        }
        for (places, range) in union {
            let Some(first) = places.iter().min().filter(|_| places.len() > 1) else { continue };
            if let Some(e) = range.expr() {
                places.iter().for_each(|at| terms[*at] = None);
                terms[*first] = Some(e);
            }
        }
    }
    terms.into_iter().flatten().collect()
}

/// The range that a term asks for, if it asks for nothing else.
fn range_of(term: &Expr) -> Option<(ColumnId, Range)> {
    let mut found: Option<(ColumnId, Range)> = None;
    let conjuncts = match &term.kind {
        Kind::And(terms) => terms.as_slice(),
        _ => std::slice::from_ref(term),
    };
    for e in conjuncts {
        let (id, own) = bounds(e)?;
        match &mut found {
            None => found = Some((id, own)),
            Some((of, range)) if *of == id => range.narrow(own)?,
            Some(_) => return None,
        }
    }
    let is_empty = |range: &Range| match (&range.from, &range.to) {
        (Some((from, _)), Some((to, _))) => from.partial_cmp(to).is_none_or(Ordering::is_gt),
        _ => false,
    };
    found.filter(|(_, range)| !is_empty(range))
}

/// The range that a comparison of a column with constants is.
fn bounds(e: &Expr) -> Option<(ColumnId, Range)> {
    let end = |column: &Expr, e: &Expr, closed: bool| {
        let value =
            e.as_literal().filter(|value| !value.is_null() && value.data_type() == column.data_type)?;
        Some((value.clone(), closed))
    };
    let (column, from, to) = match &e.kind {
        Kind::Binary(op, column, value) => match op {
            Operator::Gt => (column, Some(end(column, value, false)?), None),
            Operator::GtEq => (column, Some(end(column, value, true)?), None),
            Operator::Lt => (column, None, Some(end(column, value, false)?)),
            Operator::LtEq => (column, None, Some(end(column, value, true)?)),
            _ => return None,
        },
        Kind::Between { expr, low, high, negated: false } => {
            (expr, Some(end(expr, low, true)?), Some(end(expr, high, true)?))
        }
        _ => return None,
    };
    let t = &column.data_type;
    let is_ordered = t.is_integer()
        || is_text(t)
        || matches!(t, DataType::Decimal128(..) | DataType::Date32 | DataType::Timestamp(..));
    let id = column.as_column().filter(|_| is_ordered)?;
    Some((id, Range { column: (**column).clone(), from, to }))
}

/// Whether a range that begins at or behind the beginning of another one begins before that ends.
fn reaches(range: &Range, next: &Range) -> bool {
    match (&range.to, &next.from) {
        (Some((to, closed)), Some((from, also_closed))) => match from.partial_cmp(to) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => *closed || *also_closed,
            _ => false,
        },
        _ => true,
    }
}

impl Range {
    /// Adds another bound of the same values; `None` if there is one already.
    fn narrow(&mut self, other: Range) -> Option<()> {
        for (end, more) in [(&mut self.from, other.from), (&mut self.to, other.to)] {
            if let Some(more) = more {
                if end.is_some() {
                    return None;
                }
                *end = Some(more);
            }
        }
        Some(())
    }

    /// Adds a range that begins within it.
    fn extend(&mut self, next: Range) {
        let same_start = match (&self.from, &next.from) {
            (Some((a, _)), Some((b, closed))) => *closed && a == b,
            _ => false,
        };
        if same_start {
            self.from = next.from;
        }
        self.to = match (self.to.take(), next.to) {
            (Some((a, closed)), Some((b, also_closed))) => Some(match a.partial_cmp(&b) {
                Some(Ordering::Less) => (b, also_closed),
                Some(Ordering::Equal) => (a, closed || also_closed),
                _ => (a, closed),
            }),
            _ => None,
        };
    }

    /// The comparisons that say it; `None` if every value is in it.
    fn expr(self) -> Option<Expr> {
        let Range { column, from, to } = self;
        let compared = |end: Option<End>, [closed, open]: [Operator; 2]| {
            end.map(|(value, is_closed)| {
                let op = if is_closed { closed } else { open };
                Expr::compare(column.clone(), op, Expr::literal(value))
            })
        };
        let ends: Vec<Expr> = compared(from, [Operator::GtEq, Operator::Gt])
            .into_iter()
            .chain(compared(to, [Operator::LtEq, Operator::Lt]))
            .collect();
        (!ends.is_empty()).then(|| Expr::and(ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Sample, int};

    #[test]
    fn ranges_that_overlap_are_one() {
        let mut sample = Sample::default();
        let (x, y) = (sample.number("x"), sample.number("y"));
        let is = |x: &Expr, op, n| Expr::compare(x.clone(), op, int(n));
        let range = |x: &Expr, from, to| Expr::and([is(x, Operator::GtEq, from), is(x, Operator::LtEq, to)]);
        let between = |from, to| {
            let (expr, low, high) = (Box::new(x.clone()), Box::new(int(from)), Box::new(int(to)));
            Expr::condition(Kind::Between { expr, low, high, negated: false })
        };
        let or = |terms: Vec<Expr>| Expr::or(terms);
        sample.simplifies(
            or(vec![range(&x, 10, 20), range(&x, 1, 11), range(&x, 20, 30)]),
            "(x#0 >= 1) AND (x#0 <= 30)",
        );
        sample.simplifies(or(vec![between(4, 9), between(1, 5)]), "(x#0 >= 1) AND (x#0 <= 9)");
        sample.simplifies(
            or(vec![range(&x, 1, 2), is(&y, Operator::Gt, 5), range(&x, 2, 3)]),
            "((x#0 >= 1) AND (x#0 <= 3)) OR (y#1 > 5)",
        );
        sample.simplifies(or(vec![is(&x, Operator::Lt, 5), between(3, 9)]), "x#0 <= 9");
        sample.simplifies(or(vec![is(&x, Operator::Gt, 5), is(&x, Operator::GtEq, 5)]), "x#0 >= 5");
        // Ends that are no values do not meet, and what leaves nothing out stays.
        for kept in [
            vec![is(&x, Operator::Lt, 5), is(&x, Operator::Gt, 5)],
            vec![is(&x, Operator::Lt, 6), is(&x, Operator::Gt, 5)],
            vec![range(&x, 1, 2), range(&x, 4, 5)],
            vec![range(&x, 9, 1), range(&x, 2, 5)],
            vec![range(&x, 1, 5), range(&y, 2, 6)],
        ] {
            let shown = sample.columns.show(&or(kept.clone()));
            sample.simplifies(or(kept), &shown);
        }
    }
}
