//! ANY and ALL.
//!
//! `x IN q` is `x = ANY q`, and `x op ALL q` is not `x op' ANY q` with the opposite operator. So there is one
//! comparison with three outcomes. It is true if it is true for some row of q. Else it is NULL if it is NULL for some
//! row, else false.
//!
//! - A term of WHERE is a semi join on the comparison, its opposite an anti join on "the comparison is not false".
//! - Where NULL counts as false, or as true, a mark join on one or the other says all.
//! - Else a mark join says whether it is true for some row. It is NULL for a row where the row's value is NULL, and for
//!   all rows where x is NULL. The numbers of rows and of values say whether there is such a row.
//! - By `<`, `>` and `<>` the least and the greatest value say whether the comparison is true for some row.
//! - What may not be read twice is read once, and the rows for which the comparison is true or NULL are counted.

use arrow_schema::DataType;
use datafusion_expr::Operator;
use datafusion_functions_aggregate::min_max::{max_udaf, min_udaf};

use crate::algebra::{Aggregate, Call, ColumnId, Expr, JoinKind, Kind, Rel, SubqueryKind};
use crate::error::{Error, Result};

use super::exists::bare;
use super::repeatable::is_repeatable;
use super::scalar::{OneRow, is_one_row_of_a_group};
use super::values::{InputRows, Nulls, Side};
use super::{Unnest, call, case, count, count_rows, integer, mapped, positive};

/// Values compared with the rows of a subquery.
pub(super) struct Quantified {
    /// The values: columns or constants.
    values: Vec<Expr>,
    op: Operator,
    rel: Rel,
    columns: Vec<ColumnId>,
    /// It is asked whether the comparison holds for no row.
    negated: bool,
}

impl Quantified {
    /// The comparison with a row. Several values are compared as a whole: the first that differs decides.
    fn compared(&self, unnest: &Unnest) -> Expr {
        let mut pairs = self.values.iter().cloned().zip(self.columns.iter().map(|id| unnest.read(*id)));
        let strict = match self.op {
            Operator::LtEq => Operator::Lt,
            Operator::GtEq => Operator::Gt,
            op => op,
        };
        match self.op {
            Operator::Eq | Operator::IsNotDistinctFrom => {
                Expr::and(pairs.map(|(x, y)| Expr::compare(x, self.op, y)))
            }
            Operator::NotEq | Operator::IsDistinctFrom => {
                Expr::or(pairs.map(|(x, y)| Expr::compare(x, self.op, y)))
            }
            op => {
                let Some((x, y)) = pairs.next_back() else { return Expr::boolean(None) };
                pairs.rev().fold(Expr::compare(x, op, y), |last, (x, y)| {
                    let equal = Expr::compare(x.clone(), Operator::Eq, y.clone());
                    Expr::or([Expr::compare(x, strict, y), Expr::and([equal, last])])
                })
            }
        }
    }

    /// The comparison is true or NULL.
    fn not_false(&self, unnest: &Unnest) -> Expr {
        let compared = self.compared(unnest);
        if self.is_never_null() {
            return compared;
        }
        match (self.values.as_slice(), self.columns.as_slice()) {
            ([x], [y]) => {
                let x_is_null = is_null(x);
                Expr::or([compared].into_iter().chain(x_is_null).chain([unnest.read(*y).is_null()]))
            }
            _ => Expr::or([compared.clone(), compared.is_null()]),
        }
    }

    fn is_never_null(&self) -> bool {
        matches!(self.op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
    }

    /// The value and the column, if there is one of each.
    fn pair(&self) -> Option<(&Expr, ColumnId)> {
        match (self.values.as_slice(), self.columns.as_slice()) {
            ([x], [y]) => Some((x, *y)),
            _ => None,
        }
    }

    /// Whether the least and the greatest value decide.
    fn is_of_order(&self) -> bool {
        let by_order = matches!(
            self.op,
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq | Operator::NotEq
        );
        by_order && self.pair().is_some_and(|(x, _)| has_extremes(&x.data_type))
    }

    fn is_uncorrelated(&self) -> bool {
        self.rel.free().is_empty()
    }
}

impl Unnest {
    /// Makes the values columns or constants.
    pub(super) fn compared(
        &mut self,
        kind: SubqueryKind,
        rel: Rel,
        columns: Vec<ColumnId>,
        place: &mut InputRows,
        side: Side,
        skip: &mut Vec<Expr>,
    ) -> Result<Quantified> {
        let (op, values, negated) = match kind {
            SubqueryKind::Any { op, values } => (op, values, false),
            SubqueryKind::All { op, values } => match op.negate() {
                Some(opposite) => (opposite, values, true),
                None => return Err(Error::Unsupported(format!("{op} ALL of a subquery"))),
            },
            SubqueryKind::Scalar | SubqueryKind::Exists => {
                return Err(Error::Invalid("a subquery that compares nothing".into()));
            }
        };
        if values.len() != columns.len() {
            let (values, columns) = (values.len(), columns.len());
            return Err(Error::Invalid(format!("{values} values compared with {columns} columns")));
        }
        let mut settled = Vec::with_capacity(values.len());
        for value in values {
            let value = self.value(value, place, Nulls::Exact, skip)?;
            settled.push(self.settled(value, place, side, skip));
        }
        Ok(Quantified { values: settled, op, rel, columns, negated })
    }

    /// A term of WHERE or of the condition of an inner join. What is left of it as a condition is added to `rest`.
    pub(super) fn term(&mut self, term: Expr, place: &mut InputRows, rest: &mut Vec<Expr>) -> Result<()> {
        let (mut term, mut not) = (term, false);
        while let Kind::Not(inner) = term.kind {
            (term, not) = (*inner, !not);
        }
        let subquery = match term.kind {
            Kind::Subquery(subquery) if subquery.kind != SubqueryKind::Scalar => *subquery,
            _ => {
                let term = if not { term.not() } else { term };
                rest.push(self.value(term, place, Nulls::False, &mut vec![])?);
                return Ok(());
            }
        };
        let (rel, columns) = self.rows(subquery.rel, subquery.columns)?;
        if subquery.kind == SubqueryKind::Exists {
            let rel = bare(rel);
            if rel.free().is_empty() || is_one_row_of_a_group(&rel) {
                let found =
                    self.exists(rel, place, Side::Left, if not { Nulls::True } else { Nulls::False }, &[])?;
                rest.push(if not { found.not() } else { found });
            } else {
                let kind = if not { JoinKind::Anti } else { JoinKind::Semi };
                place.join(Side::Left, kind, rel, vec![]);
            }
            return Ok(());
        }
        let mut q = self.compared(subquery.kind, rel, columns, place, Side::Left, &mut vec![])?;
        q.negated ^= not;
        let is_uncorrelated = q.is_uncorrelated();
        if is_one_row_of_a_group(&q.rel) || is_uncorrelated && q.is_of_order() {
            rest.push(self.quantified(q, place, Side::Left, Nulls::False, &[])?);
            return Ok(());
        }
        let (kind, predicate) = match q.negated {
            false => (JoinKind::Semi, q.compared(self)),
            true if is_uncorrelated && q.op == Operator::Eq && q.pair().is_some() => {
                (JoinKind::AntiNullAware, q.compared(self))
            }
            true => (JoinKind::Anti, q.not_false(self)),
        };
        place.join(Side::Left, kind, q.rel, predicate.split());
        Ok(())
    }

    /// A comparison as a value.
    pub(super) fn quantified(
        &mut self,
        mut q: Quantified,
        place: &mut InputRows,
        side: Side,
        nulls: Nulls,
        skip: &[Expr],
    ) -> Result<Expr> {
        self.guard(&mut q.rel, place, side, skip);
        let negated = q.negated;
        let nulls = if negated { nulls.opposite() } else { nulls };
        let found = self.found(q, place, side, nulls)?;
        Ok(if negated { found.not() } else { found })
    }

    fn found(&mut self, q: Quantified, place: &mut InputRows, side: Side, nulls: Nulls) -> Result<Expr> {
        if is_one_row_of_a_group(&q.rel) {
            let compared = q.compared(self);
            let OneRow { value, passed } = self.one_row(q.rel, compared, place, side);
            return Ok(match passed {
                None => value,
                Some(passed) if nulls == Nulls::False => Expr::and([passed, value]),
                Some(passed) => case(vec![(passed, value)], Expr::boolean(false)),
            });
        }
        let is_uncorrelated = q.is_uncorrelated();
        if q.is_never_null() || nulls == Nulls::False && !(is_uncorrelated && q.is_of_order()) {
            let compared = q.compared(self);
            return Ok(self.mark(q.rel, compared.split(), place, side));
        }
        if q.is_of_order() && (is_uncorrelated || nulls == Nulls::Exact) {
            return Ok(self.by_order(q, place, side, nulls));
        }
        let splits = q.pair().is_some() && is_repeatable(&q.rel);
        if nulls == Nulls::True && !(splits && is_uncorrelated) {
            let not_false = q.not_false(self);
            return Ok(self.mark(q.rel, vec![not_false], place, side));
        }
        if splits {
            return self.by_mark(q, place, side, nulls);
        }
        Ok(self.by_counts(q, place, side))
    }

    /// A mark for whether it is true for some row, and the numbers of rows and values for whether it is NULL for some row.
    fn by_mark(&mut self, q: Quantified, place: &mut InputRows, side: Side, nulls: Nulls) -> Result<Expr> {
        let compared = q.compared(self);
        let Some((x, y)) = q.pair() else { return Ok(Expr::boolean(None)) };
        let (rel, numbers) = self.copy(&q.rel)?;
        let y = numbers.get(&y).copied().unwrap_or(y);
        let unknown = if q.is_uncorrelated() {
            // 0: no rows; 1: values; 2: a NULL among them.
            let (rows, values) =
                (self.column("rows", DataType::Int64), self.column("values", DataType::Int64));
            let calls = vec![(rows, count_rows()), (values, count(self.read(y)))];
            let aggregate = group(rel, calls);
            let kind = self.column("nulls", DataType::Int64);
            let (rows, values) = (self.read(rows), self.read(values));
            let has_null = Expr::compare(rows.clone(), Operator::Gt, values);
            let e = case(vec![(has_null, integer(2)), (positive(rows), integer(1))], integer(0));
            let kind = self.stage(mapped(aggregate, vec![(kind, e)]), kind);
            let has_null = Expr::compare(kind.clone(), Operator::Eq, integer(2));
            Expr::or([has_null].into_iter().chain(is_null(x).map(|null| Expr::and([null, positive(kind)]))))
        } else {
            self.unknown(x, y, rel, vec![], place, side)
        };
        let found = self.mark(q.rel, compared.split(), place, side);
        Ok(match nulls {
            Nulls::True => Expr::or([found, unknown]),
            _ => three_valued(found, unknown),
        })
    }

    /// The least or the greatest value for whether it is true for some row.
    fn by_order(&mut self, q: Quantified, place: &mut InputRows, side: Side, nulls: Nulls) -> Expr {
        let Some((x, y)) = q.pair() else { return Expr::boolean(None) };
        let (x, data_type) = (x.clone(), x.data_type.clone());
        let extremes = match q.op {
            Operator::Gt | Operator::GtEq => vec![min_udaf()],
            Operator::Lt | Operator::LtEq => vec![max_udaf()],
            _ => vec![min_udaf(), max_udaf()],
        };
        let mut calls = Vec::with_capacity(4);
        for function in extremes {
            let column = self.column(function.name(), data_type.clone());
            calls.push((column, call(function, vec![self.read(y)])));
        }
        let compare = |value: Expr| Expr::compare(x.clone(), q.op, value);
        let is_true = Expr::or(calls.iter().map(|(id, _)| compare(self.read(*id))));
        if nulls == Nulls::False {
            return match calls.as_slice() {
                [(column, _)] => {
                    let value = self.stage(group(q.rel, calls.clone()), *column);
                    compare(value)
                }
                _ => {
                    place.join(side, JoinKind::Left, group(q.rel, calls), vec![]);
                    is_true
                }
            };
        }
        let unknown = self.unknown(&x, y, q.rel, calls, place, side);
        match nulls {
            Nulls::True => case(vec![(is_true, Expr::boolean(true))], unknown),
            _ => three_valued(is_true, unknown),
        }
    }

    /// Whether a comparison that is true for no row is NULL for some. Then there is a y that is NULL, or x is and there
    /// are rows.
    fn unknown(
        &mut self,
        x: &Expr,
        y: ColumnId,
        rel: Rel,
        mut calls: Vec<(ColumnId, Call)>,
        place: &mut InputRows,
        side: Side,
    ) -> Expr {
        let (rows, values) = (self.column("rows", DataType::Int64), self.column("values", DataType::Int64));
        calls.extend([(rows, count_rows()), (values, count(self.read(y)))]);
        place.join(side, JoinKind::Left, group(rel, calls), vec![]);
        let has_null = Expr::compare(self.read(rows), Operator::Gt, self.read(values));
        let x_is_null = is_null(x).map(|null| Expr::and([null, positive(self.read(rows))]));
        Expr::or([has_null].into_iter().chain(x_is_null))
    }

    /// How often it is true and how often NULL.
    fn by_counts(&mut self, q: Quantified, place: &mut InputRows, side: Side) -> Expr {
        let compared = q.compared(self);
        let (trues, nulls) = (self.column("trues", DataType::Int64), self.column("nulls", DataType::Int64));
        let only = |filter: Expr| Call { filter: Some(filter), ..count_rows() };
        let calls = vec![(trues, only(compared.clone())), (nulls, only(compared.is_null()))];
        place.join(side, JoinKind::Left, group(q.rel, calls), vec![]);
        three_valued(positive(self.read(trues)), positive(self.read(nulls)))
    }
}

/// One group of all rows.
fn group(rel: Rel, calls: Vec<(ColumnId, Call)>) -> Rel {
    Rel::Aggregate(Aggregate { input: Box::new(rel), keys: vec![], calls, totals: vec![] })
}

/// True, else NULL, else false.
fn three_valued(is_true: Expr, is_null: Expr) -> Expr {
    let (yes, no, unknown) = (Expr::boolean(true), Expr::boolean(false), Expr::boolean(None));
    case(vec![(is_true, yes), (is_null, unknown)], no)
}

/// Whether an expression is NULL, if it can be.
fn is_null(x: &Expr) -> Option<Expr> {
    match x.as_literal() {
        Some(value) if !value.is_null() => None,
        _ => Some(x.clone().is_null()),
    }
}

/// Whether values of a type have a least and a greatest one by their comparison.
fn has_extremes(t: &DataType) -> bool {
    use DataType::{Date32, Date64, Decimal128, Decimal256, Time32, Time64, Timestamp, Utf8, Utf8View};
    t.is_integer()
        || t.is_floating()
        || matches!(t, Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..))
        || matches!(t, Decimal128(..) | Decimal256(..) | Utf8 | Utf8View)
}
